// SPDX-License-Identifier: Apache-2.0
#include "testbench/live/differential.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <stdexcept>

namespace rxnic::live {

namespace {

constexpr ibv_gid kGroup{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 3, 2, 1}};
constexpr int kDeviceRights = Arena::kAllRights | IBV_ACCESS_ZERO_BASED;

void to_reset(ibv_qp* qp) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RESET;
  must(ibv_modify_qp(qp, &attr, IBV_QP_STATE), "ibv_modify_qp(RESET)");
}

void read_all(ibv_context* context) {
  pollfd ready{context->async_fd, POLLIN, 0};
  while (poll(&ready, 1, 0) == 1) take_event(context);
}

}  // namespace

Space::Space(const World& world) : arena(world, kArena) {
  ibv_alloc_dm_attr attributes{kDeviceBytes, 3, 0};
  device = own(ibv_alloc_dm(world.context.get(), &attributes), "ibv_alloc_dm");
  device_region = own(ibv_reg_dm_mr(world.pd.get(), device.get(), 0, kDeviceBytes, kDeviceRights), "ibv_reg_dm_mr");
}

ibv_sge Space::sge(const Piece& piece) const {
  if (piece.at < kArena) return arena.sge(piece.at, piece.bytes);
  return {piece.at - kArena, static_cast<std::uint32_t>(piece.bytes), device_region->lkey};
}

std::uint64_t Space::address(std::size_t at) const { return at < kArena ? arena.address(at) : at - kArena; }

Reference::Bytes Space::fill(std::uint64_t seed) {
  arena.refill(seed);
  Reference::Bytes all(kSpace);
  std::copy_n(arena.bytes(0, kArena).begin(), kArena, all.begin());
  std::copy_n(all.begin() + kPage, kDeviceBytes, all.begin() + kArena);  // of the same bytes
  must(ibv_memcpy_to_dm(device.get(), 0, &all[kArena], kDeviceBytes), "ibv_memcpy_to_dm");
  return all;
}

Reference::Bytes Space::bytes() const {
  Reference::Bytes all(kSpace);
  std::copy_n(arena.bytes(0, kArena).begin(), kArena, all.begin());
  must(ibv_memcpy_from_dm(&all[kArena], device.get(), 0, kDeviceBytes), "ibv_memcpy_from_dm");
  return all;
}

// When much is lost, a QP notices it soon.
Path Differential::path_of_all() const {
  constexpr std::uint8_t kSoon = 4;  // 65 us
  Path path;
  path.min_rnr_timer = 1;
  if (impaired_) path.timeout = kSoon;
  return path;
}

Differential::Differential() {
  ibv_cq_init_attr_ex init{};
  init.cqe = 256;
  init.channel = channel_.get();
  init.wc_flags = std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_TM_INFO;
  b_cq_ = ibv_create_cq_ex(b_.context.get(), &init);
  must(b_cq_ == nullptr ? errno : 0, "ibv_create_cq_ex");
  ibv_xrcd_init_attr domain{};
  domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  domain.fd = -1;
  domain.oflags = O_CREAT;
  xrcd_ = own(ibv_open_xrcd(b_.context.get(), &domain), "ibv_open_xrcd");
  constexpr unsigned int kBindable = Arena::kAllRights | IBV_ACCESS_MW_BIND;
  bindable_ = own(ibv_reg_mr(b_.pd.get(), b_space_.arena.at(0), kArena, kBindable), "ibv_reg_mr");
  fence_.from = make_qp(a_, a_send_.get(), a_receive_.get());
  fence_.to = make_qp(b_, b_send_.get(), b_cq());
  connect_both(fence_.from.get(), a_, fence_.to.get(), b_, path_);
  fence_of_a_.from = make_qp(a_, a_send_.get(), a_receive_.get());
  fence_of_a_.to = make_qp(a_, a_send_.get(), a_receive_.get());
  connect_both(fence_of_a_.from.get(), a_, fence_of_a_.to.get(), a_);
  for (std::size_t n = 0; n < windows_.size(); ++n) make_window(n);
  reference_.emplace(a_space_.arena.address(0));
}

Differential::~Differential() {
  for (Mw& mw : windows_) mw.mw.reset();
  for (ibv_qp* qp : {pair(Way::kGroup).to.get(), group_member2_.get(), group_member_of_a_.get()}) {
    if (qp != nullptr) ibv_detach_mcast(qp, &kGroup, 0);
  }
  group_member2_.reset();
  group_member_of_a_.reset();
  for (auto& pair : pairs_) pair = {};
  for (auto& srq : srqs_) srq.reset();
  fence_ = {};
  fence_of_a_ = {};
  xrcd_.reset();
  ibv_destroy_cq(b_cq());
}

// The first half is of type 1.
void Differential::make_window(std::size_t n) {
  windows_[n].mw.reset();
  windows_[n].mw = own(ibv_alloc_mw(b_.pd.get(), n < windows_.size() / 2 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2), "alloc_mw");
  windows_[n].rkey = windows_[n].mw->rkey;
}

ibv_qp* Differential::receiver(Way way) {
  if (way == Way::kGroup2) return group_member2_.get();
  return way == Way::kGroupOfA ? group_member_of_a_.get() : pair(way).to.get();
}

void Differential::make_srq(Way way) {
  ibv_srq_init_attr_ex init{};
  init.attr = {31, kMostSges, 0};
  init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  init.pd = b_.pd.get();
  init.cq = b_cq();
  init.srq_type = IBV_SRQT_BASIC;
  if (way == Way::kXrc) {
    init.comp_mask |= IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_XRCD;
    init.srq_type = IBV_SRQT_XRC;
    init.xrcd = xrcd_.get();
  }
  if (way == Way::kTags) {
    init.comp_mask |= IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
    init.srq_type = IBV_SRQT_TM;
    init.tm_cap = {kTagCount, 2 * kTagCount + 2};
  }
  srq(way) = own(ibv_create_srq_ex(b_.context.get(), &init), "ibv_create_srq_ex");
}

// A's QP, for ibv_post_send and ibv_wr_*.
Owned<ibv_qp> Differential::make_sender(Way way) {
  constexpr std::uint64_t kSends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  constexpr std::uint64_t kWrites = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
  constexpr std::uint64_t kReliable = IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV;
  ibv_qp_init_attr_ex init{};
  init.send_cq = a_send_.get();
  init.recv_cq = a_receive_.get();
  init.cap = {128, way == Way::kXrc ? 0u : 128u, kMostSges, kMostSges, 64};
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.pd = a_.pd.get();
  init.qp_type = IBV_QPT_RC;
  init.send_ops_flags = kSends | kWrites | kReliable | IBV_QP_EX_WITH_ATOMIC_WRITE;
  if (way == Way::kUc) {
    init.qp_type = IBV_QPT_UC;
    init.send_ops_flags = kSends | kWrites;
  } else if (way == Way::kUd || way == Way::kGroup) {
    init.qp_type = IBV_QPT_UD;
    init.send_ops_flags = kSends;
  } else if (way == Way::kXrc) {
    init.qp_type = IBV_QPT_XRC_SEND;
    init.send_ops_flags = kSends | kWrites | kReliable;
  }
  return own(ibv_create_qp_ex(a_.context.get(), &init), "ibv_create_qp_ex");
}

void Differential::make_qps(Way way) {
  Pair& p = pair(way);
  p.from = make_sender(way);
  QpShape shape;
  shape.type = p.from->qp_type;
  shape.srq = way == Way::kSrq || way == Way::kTags ? srq(way).get() : nullptr;
  if (way == Way::kTags) shape.wrs = shape.inline_bytes = 0;
  if (way == Way::kXrc) {
    ibv_qp_init_attr_ex to{};
    to.qp_type = IBV_QPT_XRC_RECV;
    to.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    to.xrcd = xrcd_.get();
    p.to = own(ibv_create_qp_ex(b_.context.get(), &to), "ibv_create_qp_ex");
  } else {
    p.to = make_qp(b_, b_send_.get(), b_cq(), shape);
  }
  if (way != Way::kUd && way != Way::kGroup) return;
  ibv_ah_attr address = address_of(b_, path_);
  if (way == Way::kGroup) {
    address.grh.dgid = kGroup;
    group_member2_ = make_qp(b_, b_send_.get(), group2_.get(), shape);
    group_member_of_a_ = make_qp(a_, a_send_.get(), group_of_a_.get(), shape);
  }
  p.address = own(ibv_create_ah(a_.pd.get(), &address), "ibv_create_ah");
}

void Differential::set_up(Way way) {
  if (pair(way).from != nullptr) return;
  if (way == Way::kSrq || way == Way::kXrc || way == Way::kTags) make_srq(way);
  make_qps(way);
  connect_both(pair(way).from.get(), a_, pair(way).to.get(), b_, path_);
  if (way != Way::kGroup) return;
  connect(group_member2_.get(), a_, 0, path_);
  connect(group_member_of_a_.get(), a_, 0, path_);
  for (ibv_qp* qp : {pair(way).to.get(), group_member2_.get(), group_member_of_a_.get()}) {
    must(ibv_attach_mcast(qp, &kGroup, 0), "ibv_attach_mcast");
  }
}

void Differential::reset(Way way) {
  to_reset(pair(way).from.get());
  to_reset(pair(way).to.get());
  connect_both(pair(way).from.get(), a_, pair(way).to.get(), b_, path_);
  if (way != Way::kGroup) return;
  for (ibv_qp* qp : {group_member2_.get(), group_member_of_a_.get()}) {
    to_reset(qp);
    connect(qp, a_, 0, path_);
  }
}

void Differential::restore(Way way) {
  if (traces_) std::cout << "way " << static_cast<int>(way) << " goes through RESET\n";
  reset(way);
  const std::vector<Way> queues =
      way == Way::kGroup ? std::vector{way, Way::kGroup2, Way::kGroupOfA} : std::vector{way};
  for (const Way queue : queues) {
    if (has_own_receives(queue)) reference().forget_receives(queue);
  }
  if (way == Way::kTags) {
    reference().forget_fins();
    fins_ = 0;
  }
  for (std::size_t n = 0; n < windows_.size(); ++n) {
    if (reference().window(n).way != way) continue;
    make_window(n);
    reference().window(n) = {};
  }
}

void Differential::read_events() {
  read_all(a_.context.get());
  read_all(b_.context.get());
}

// Completions.

Done Differential::of(const ibv_wc& wc) {
  Done d;
  d.wr_id = wc.wr_id;
  d.status = wc.status;
  d.opcode = wc.opcode;
  d.flags = wc.wc_flags;
  if (wc.opcode == IBV_WC_RECV) d.bytes = wc.byte_len;
  if ((wc.wc_flags & IBV_WC_WITH_IMM) != 0) d.immediate = be32toh(wc.imm_data);
  return d;
}

Done Differential::take_b() {
  ibv_poll_cq_attr attr{};
  const auto end = std::chrono::steady_clock::now() + Patience::current();
  while (ibv_start_poll(b_cq_, &attr) != 0) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("no completion came");
  }
  Done d;
  d.wr_id = b_cq_->wr_id;
  d.status = b_cq_->status;
  d.opcode = ibv_wc_read_opcode(b_cq_);
  d.flags = ibv_wc_read_wc_flags(b_cq_);
  d.bytes = ibv_wc_read_byte_len(b_cq_);
  if ((d.flags & IBV_WC_WITH_IMM) != 0) d.immediate = be32toh(ibv_wc_read_imm_data(b_cq_));
  if ((d.flags & IBV_WC_WITH_INV) != 0) {
    const std::uint32_t key = ibv_wc_read_invalidated_rkey(b_cq_);
    for (std::size_t n = 0; n < windows_.size(); ++n) {
      if (windows_[n].rkey == key) d.invalidated = static_cast<int>(n);
    }
  }
  if ((d.flags & IBV_WC_TM_MATCH) != 0) {
    ibv_wc_tm_info info{};
    ibv_wc_read_tm_info(b_cq_, &info);
    d.tag = info.tag;
    d.context = info.priv;
  }
  ibv_end_poll(b_cq_);
  return d;
}

void Differential::compare(Queue queue, const Done& wanted) {
  constexpr const char* kNames[kQueues] = {"A's send CQ", "B's CQ", "A's receive CQ", "B's second group member",
                                           "A's group member"};
  Done found;
  if (queue == Queue::kReceived) {
    found = take_b();
  } else {
    found = of(take(queue == Queue::kSent       ? a_send_.get()
                    : queue == Queue::kFinished ? a_receive_.get()
                    : queue == Queue::kGroup2   ? group2_.get()
                                                : group_of_a_.get()));
    if (queue == Queue::kSent) found.bytes = 0;
  }
  ++completions_;
  EXPECT_TRUE(found == wanted) << kNames[static_cast<std::size_t>(queue)] << ": found " << found << "; expected "
                               << wanted;
}

void Differential::expect(Reference::Effect& effect, Way way) {
  for (std::size_t q = 0; q < kQueues; ++q) {
    for (const Done& wanted : effect.done[q]) compare(static_cast<Queue>(q), wanted);
  }
  if (effect.dropped || effect.on(Queue::kSent).empty()) {
    fence();
    if (way == Way::kGroup) {  // its copy for A's own QP goes another way
      ibv_sge to = scratch_.sge(64, 8);
      ibv_send_wr wr = send_wr(IBV_WR_RDMA_READ, {&to, 1});
      wr.wr.rdma = {a_space_.address(0), a_space_.rkey(0)};
      post(fence_of_a_.from.get(), wr);
      EXPECT_EQ(take(a_send_.get()).status, IBV_WC_SUCCESS);
    }
  }
  if (!effect.undefined.empty() || !effect.undefined_of_a.empty()) {
    const Reference::Bytes a = a_space_.bytes(), b = b_space_.bytes();
    for (const Piece& p : effect.undefined) std::copy_n(&b[p.at], p.bytes, &reference().b()[p.at]);
    for (const Piece& p : effect.undefined_of_a) std::copy_n(&a[p.at], p.bytes, &reference().a()[p.at]);
  }
  if (!armed_) return;
  const std::vector<Done>& received = effect.on(Queue::kReceived);
  const bool due = std::any_of(received.begin(), received.end(), [&](const Done& d) {
    return !*armed_ || d.is_solicited || d.any_error || d.status != IBV_WC_SUCCESS;
  });
  pollfd ready{channel_->fd, POLLIN, 0};
  const bool found = poll(&ready, 1, due ? static_cast<int>(std::chrono::milliseconds(kPatience).count()) : 0) == 1;
  EXPECT_EQ(found, due) << "an event, armed for " << (*armed_ ? "solicited ones" : "all");
  if (!found) return;
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  must(ibv_get_cq_event(channel_.get(), &cq, &context), "ibv_get_cq_event");
  ibv_ack_cq_events(cq, 1);
  armed_.reset();
  ++events_;
}

void Differential::expect_window_done(std::uint64_t wr_id, ibv_wc_opcode opcode, bool good) {
  Done wanted;
  wanted.wr_id = wr_id;
  wanted.status = good ? IBV_WC_SUCCESS : IBV_WC_MW_BIND_ERR;
  wanted.opcode = opcode;
  const Done found = of(take(b_send_.get()));
  EXPECT_TRUE(found == wanted) << "B's send CQ: found " << found << "; expected " << wanted;
  ++completions_;
}

void Differential::expect_empty() {
  for (ibv_cq* cq : {a_send_.get(), a_receive_.get(), b_cq(), b_send_.get(), group2_.get(), group_of_a_.get()}) {
    ibv_wc wc{};
    while (ibv_poll_cq(cq, 1, &wc) == 1) ADD_FAILURE() << "nobody expected " << of(wc) << ", QP " << wc.qp_num;
  }
}

void Differential::fence() {
  ibv_sge to = scratch_.sge(0, 8);
  ibv_send_wr wr = send_wr(IBV_WR_RDMA_READ, {&to, 1});
  wr.wr.rdma = {b_space_.address(0), b_space_.rkey(0)};
  post(fence_.from.get(), wr);
  EXPECT_EQ(take(a_send_.get()).status, IBV_WC_SUCCESS);
}

void Differential::arm(bool solicited_only) {
  must(ibv_req_notify_cq(b_cq(), solicited_only), "ibv_req_notify_cq");
  armed_ = solicited_only;
}

void Differential::disarm() {
  if (!armed_) return;
  post_receive(fence_.to.get(), std::span<ibv_sge>(), ++ids_);
  ibv_send_wr wr = send_wr(IBV_WR_SEND, std::span<ibv_sge>(), ++ids_);
  wr.send_flags |= IBV_SEND_SOLICITED;
  post(fence_.from.get(), wr);
  Reference::Effect effect;
  Done done;
  done.wr_id = ids_;
  effect.on(Queue::kSent).push_back(done);
  done.wr_id = ids_ - 1;
  done.opcode = IBV_WC_RECV;
  done.is_solicited = true;
  effect.on(Queue::kReceived).push_back(done);
  expect(effect, Way::kRc);
}

}  // namespace rxnic::live
