// SPDX-License-Identifier: Apache-2.0
// Random sequences of posts, tag operations, requests and polls on random sets of QPs, against a plain reference
// (reference.h): the same completions, the same memory. RXNIC_SEED, and RXNIC_SEQUENCES for another number of them.
#include <fcntl.h>
#include <infiniband/tm_types.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>

#include "testbench/live/reference.h"
#include "testbench/live/verbs_pair.h"

namespace rxnic::live {
namespace {

constexpr std::size_t kArena = 16 * kPage;
constexpr std::size_t kTmh = sizeof(ibv_tmh);
constexpr std::uint32_t kTags = 8;
constexpr const char* kNames[] = {"RC", "UC", "UD", "SRQ", "XRC", "tags"};

struct XrcdCloser {
  void operator()(ibv_xrcd* p) const { ibv_close_xrcd(p); }
};

class Differential : public testing::TestWithParam<std::uint32_t> {
 protected:
  Differential() {
    ibv_cq_init_attr_ex init{};
    init.cqe = 256;
    init.wc_flags = std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_TM_INFO;
    b_cq_ = ibv_create_cq_ex(b_.context.get(), &init);
    must(b_cq_ == nullptr ? errno : 0, "ibv_create_cq_ex");
    ibv_xrcd_init_attr domain{};
    domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    domain.fd = -1;
    domain.oflags = O_CREAT;
    xrcd_.reset(ibv_open_xrcd(b_.context.get(), &domain));
    must(xrcd_ == nullptr ? errno : 0, "ibv_open_xrcd");
    make_pair(fence_, Way::kRc);
  }
  ~Differential() override {
    for (auto& pair : pairs_) pair.reset();
    for (auto& srq : srqs_) srq.reset();
    fence_ = {};
    xrcd_.reset();
    ibv_destroy_cq(ibv_cq_ex_to_cq(b_cq_));
  }

  struct Pair {
    Owned<ibv_qp> from, to;
    Owned<ibv_ah> address;
  };

  std::size_t below(std::size_t n) { return random_() % n; }
  bool chance(std::size_t percent) { return below(100) < percent; }
  ibv_cq* b_cq() { return ibv_cq_ex_to_cq(b_cq_); }

  // QPs and SRQs.

  void make_srq(Way way) {
    ibv_srq_init_attr_ex init{};
    init.attr = {16, 4, 0};
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
      init.tm_cap = {kTags, 2 * kTags + 2};
    }
    srq(way) = own(ibv_create_srq_ex(b_.context.get(), &init), "ibv_create_srq_ex");
  }
  Owned<ibv_srq>& srq(Way way) { return srqs_[static_cast<std::size_t>(way)]; }

  void make_pair(Pair& pair, Way way) {
    pair = {};
    QpShape shape;
    shape.sges = 4;
    if (way == Way::kUc) shape.type = IBV_QPT_UC;
    if (way == Way::kUd) shape.type = IBV_QPT_UD;
    Path path;
    path.min_rnr_timer = 1;
    if (way == Way::kXrc) {
      ibv_qp_init_attr_ex to{};
      to.qp_type = IBV_QPT_XRC_RECV;
      to.comp_mask = IBV_QP_INIT_ATTR_XRCD;
      to.xrcd = xrcd_.get();
      pair.to = own(ibv_create_qp_ex(b_.context.get(), &to), "ibv_create_qp_ex");
      shape.type = IBV_QPT_XRC_SEND;
      pair.from = make_qp(a_, a_send_.get(), a_receive_.get(), shape);
    } else {
      pair.from = make_qp(a_, a_send_.get(), a_receive_.get(), shape);
      shape.srq = srq(way).get();
      if (way == Way::kTags) shape.wrs = shape.inline_bytes = 0;
      pair.to = make_qp(b_, b_cq(), b_cq(), shape);
    }
    connect_both(pair.from.get(), a_, pair.to.get(), b_, path);
    if (way != Way::kUd) return;
    ibv_ah_attr address = address_of(b_, path);
    pair.address = own(ibv_create_ah(a_.pd.get(), &address), "ibv_create_ah");
  }

  // Random places.

  Pieces pieces(std::size_t bytes, std::size_t most) {
    Pieces list;
    std::size_t at = below(kArena - bytes - 64 * most), left = bytes;
    for (std::size_t n = 0; n < most && (left > 0 || list.empty()); ++n) {
      const std::size_t part = n + 1 == most ? left : below(left + 1);
      list.push_back({at, part});
      at += part + below(64);
      left -= part;
    }
    if (left > 0) list.back().bytes += left;
    return list;
  }
  std::size_t length() {
    const std::size_t favourites[] = {0, 1, 8, 64, 1023, 1024, 1025, 2048};
    return chance(50) ? favourites[below(std::size(favourites))] : below(3000);
  }
  static std::vector<ibv_sge> sges(Arena& arena, const Pieces& pieces) {
    std::vector<ibv_sge> list;
    for (const Piece& piece : pieces) list.push_back(arena.sge(piece.at, piece.bytes));
    return list;
  }

  // The reference has changed its memory: so do the arenas, where software writes.
  void write_a(std::size_t at, const void* from, std::size_t bytes) {
    std::memcpy(a_arena_.at(at), from, bytes);
    std::memcpy(reference_->a().data() + at, from, bytes);
  }

  // Completions.

  Done of(const ibv_wc& wc) {
    Done d{wc.wr_id, wc.status, wc.opcode, wc.wc_flags, 0, 0, 0, 0, false};
    if (wc.opcode == IBV_WC_RECV) d.bytes = wc.byte_len;
    return d;
  }
  Done take_b() {
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
    if ((d.flags & IBV_WC_TM_MATCH) != 0) {
      ibv_wc_tm_info info{};
      ibv_wc_read_tm_info(b_cq_, &info);
      d.tag = info.tag;
      d.context = info.priv;
    }
    ibv_end_poll(b_cq_);
    ++completions_;
    return d;
  }
  void expect(const Done& found, const Done& wanted, const char* where) {
    EXPECT_TRUE(found == wanted) << where << ": found " << found << "; expected " << wanted;
  }
  void expect(const Reference::Effect& effect) {
    for (const Done& wanted : effect.sent) {
      Done found = of(take(a_send_.get()));
      found.bytes = 0;
      expect(found, wanted, "A's send CQ");
    }
    for (const Done& wanted : effect.received) expect(take_b(), wanted, "B's CQ");
    for (const Done& wanted : effect.finished) expect(of(take(a_receive_.get())), wanted, "A's receive CQ");
    completions_ += effect.sent.size() + effect.finished.size();
    if (effect.dropped || effect.sent.empty()) fence();
    for (const Piece& piece : effect.undefined) {
      std::memcpy(reference_->b().data() + piece.at, b_arena_.at(piece.at), piece.bytes);
    }
  }
  // What A's NIC has sent before has been carried out, and lies in memory: B's NIC reads behind its writes.
  void fence() {
    ibv_sge to = scratch_.sge(0, 8);
    ibv_send_wr wr = send_wr(IBV_WR_RDMA_READ, {&to, 1});
    wr.wr.rdma = {b_arena_.address(0), b_arena_.region->rkey};
    post(fence_.from.get(), wr);
    EXPECT_EQ(take(a_send_.get()).status, IBV_WC_SUCCESS);
  }

  // Steps.

  void receive(Way way) {
    if (reference_->posted(way) >= 8) return;
    const std::size_t bytes = length() + (chance(85) ? 3040 : 0);
    const Pieces to = pieces(bytes, 1 + below(3));
    std::vector<ibv_sge> list = sges(b_arena_, to);
    const std::uint64_t id = ++ids_;
    if (srq(way) != nullptr) {
      post_receive(srq(way).get(), list, id);
    } else {
      post_receive(pair(way).to.get(), list, id);
    }
    reference_->post_receive(way, id, to);
  }
  Pair& pair(Way way) { return *pairs_[static_cast<std::size_t>(way)]; }

  void request(Way way) {
    Reference::Request r;
    r.way = way;
    r.wr_id = ++ids_;
    const ibv_wr_opcode reliable[] = {IBV_WR_SEND,
                                      IBV_WR_SEND_WITH_IMM,
                                      IBV_WR_RDMA_WRITE,
                                      IBV_WR_RDMA_READ,
                                      IBV_WR_RDMA_WRITE_WITH_IMM,
                                      IBV_WR_ATOMIC_FETCH_AND_ADD,
                                      IBV_WR_ATOMIC_CMP_AND_SWP};
    const ibv_wr_opcode unreliable[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
                                        IBV_WR_RDMA_WRITE_WITH_IMM};
    r.opcode = way == Way::kUd ? unreliable[below(2)] : way == Way::kUc ? unreliable[below(4)] : reliable[below(7)];
    if (way == Way::kTags) return tagged(r);
    const bool atomic = r.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || r.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    const bool remote = r.opcode != IBV_WR_SEND && r.opcode != IBV_WR_SEND_WITH_IMM;
    const std::size_t bytes = atomic ? 8 : way == Way::kUd ? std::min<std::size_t>(length(), 1024) : length();
    const bool returns = atomic || r.opcode == IBV_WR_RDMA_READ;
    r.local = pieces(bytes, returns ? 1 : 1 + below(3));
    r.remote = below(kArena - bytes);
    if (atomic && !chance(3)) r.remote &= ~std::size_t{7};
    r.signaled = chance(75);
    // The last packet of a WRITE with immediate may have taken a receive when the first one is refused: the rules leave
    // that open, and of an SRQ it shows.
    const bool open = r.opcode == IBV_WR_RDMA_WRITE_WITH_IMM && way != Way::kRc;
    r.bad_rkey = remote && way != Way::kUc && !open && chance(2);
    r.immediate = static_cast<std::uint32_t>(random_());
    r.compare_add = random_();
    r.swap = random_();
    if (r.opcode == IBV_WR_ATOMIC_CMP_AND_SWP && chance(50)) {
      std::memcpy(&r.compare_add, reference_->b().data() + r.remote, sizeof r.compare_add);
    }
    carry_out(r);
  }

  // A message for the TM SRQ, with a TMH in front of it.
  void tagged(Reference::Request& r) {
    const bool asks = chance(30);
    const std::size_t bytes = asks ? sizeof(ibv_rvh) + (chance(20) ? below(40) : 0) : length();
    const std::size_t at = below(kArena / 2 - kTmh - bytes);
    r.opcode = IBV_WR_SEND;
    r.local = {{at, kTmh + bytes}};
    ibv_tmh tmh{};
    tmh.opcode = static_cast<std::uint8_t>(asks ? IBV_TMH_RNDV : chance(85) ? IBV_TMH_EAGER : IBV_TMH_NO_TAG);
    tmh.app_ctx = htobe32(static_cast<std::uint32_t>(random_()));
    tmh.tag = htobe64(below(4) << 8 | below(3));
    write_a(at, &tmh, sizeof tmh);
    if (asks) {
      ibv_rvh rvh{};
      const std::size_t length_of_message = length();
      rvh.va = htobe64(a_arena_.address(kArena / 2 + below(kArena / 2 - length_of_message)));
      rvh.rkey = htobe32(a_arena_.region->rkey);
      rvh.len = htobe32(static_cast<std::uint32_t>(length_of_message));
      write_a(at + kTmh, &rvh, sizeof rvh);
      while (fins_ < 4) {
        const Piece to{below(kArena / 2 - 64), 64};
        std::vector<ibv_sge> list = sges(a_arena_, {to});
        post_receive(pair(Way::kTags).from.get(), list, ++ids_);
        reference_->post_fin_receive(ids_, to);
        ++fins_;
      }
    }
    carry_out(r);
  }

  void carry_out(const Reference::Request& r) {
    Pair& p = pair(r.way);
    std::vector<ibv_sge> list = sges(a_arena_, r.local);
    ibv_send_wr wr = send_wr(r.opcode, list, r.wr_id);
    wr.send_flags = r.signaled ? IBV_SEND_SIGNALED : 0;
    const bool small = length_of(r.local) <= 64 && (r.opcode == IBV_WR_SEND || r.opcode == IBV_WR_RDMA_WRITE);
    if (small && chance(30)) wr.send_flags |= IBV_SEND_INLINE;
    wr.imm_data = htobe32(r.immediate);
    const std::uint32_t rkey = b_arena_.region->rkey ^ (r.bad_rkey ? 0x5a5a00 : 0);
    if (r.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || r.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic = {b_arena_.address(r.remote), r.compare_add, r.swap, rkey};
    } else {
      wr.wr.rdma = {b_arena_.address(r.remote), rkey};
    }
    if (r.way == Way::kUd) wr.wr.ud = {p.address.get(), p.to->qp_num, Path{}.qkey};
    if (r.way == Way::kXrc) {
      must(ibv_get_srq_num(srq(Way::kXrc).get(), &wr.qp_type.xrc.remote_srqn), "ibv_get_srq_num");
    }
    post(p.from.get(), wr);
    ++requests_;
    Reference::Effect effect = reference_->carry_out(r);
    if (effect.waits) {
      ++waits_;
      receive(r.way);
      effect = reference_->carry_out(r);
    }
    failures_ += effect.fails;
    fins_ -= static_cast<std::uint32_t>(effect.finished.size());
    expect(effect);
    if (!effect.fails) return;
    if (r.way == Way::kTags) {
      fins_ = 0;
      reference_->forget_fins();
    }
    make_pair(p, r.way);
  }

  void operate() {
    Reference::TagOp op;
    op.wr_id = ++ids_;
    op.signaled = chance(50);
    op.sync = chance(60);
    op.unexpected = reference_->unexpected() - (chance(10) && reference_->unexpected() > 0 ? 1 : 0);
    ibv_ops_wr wr{};
    ibv_sge buffer{};
    const std::size_t kind = below(10);
    if (kind < 6 && reference_->tags() < kTags) {
      op.opcode = IBV_WR_TAG_ADD;
      op.recv_wr_id = ++ids_;
      const bool wild = chance(30);
      op.mask = wild ? 0xf00 : ~std::uint64_t{0};
      op.tag = below(4) << 8 | (wild ? 0 : below(3));
      op.to = {below(kArena - 3100), length() + (chance(60) ? 100 : 0)};
      op.entry = ++entries_;
      buffer = b_arena_.sge(op.to.at, op.to.bytes);
      wr.tm.add = {op.recv_wr_id, &buffer, 1, op.tag, op.mask};
    } else if (kind < 8 && !handles_.empty()) {
      op.opcode = IBV_WR_TAG_DEL;
      const auto& [entry, handle] = handles_[below(handles_.size())];
      op.entry = entry;
      wr.tm.handle = handle;
    } else {
      op.opcode = IBV_WR_TAG_SYNC;
    }
    wr.wr_id = op.wr_id;
    wr.opcode = op.opcode;
    wr.flags = (op.signaled ? IBV_OPS_SIGNALED : 0) | (op.sync ? IBV_OPS_TM_SYNC : 0);
    wr.tm.unexpected_cnt = op.unexpected;
    ibv_ops_wr* bad = nullptr;
    must(ibv_post_srq_ops(srq(Way::kTags).get(), &wr, &bad), "ibv_post_srq_ops");
    if (op.opcode == IBV_WR_TAG_ADD) {
      // A handle is used again once its entry is gone: only its newest entry can be meant.
      std::erase_if(handles_, [&](const auto& h) { return h.second == wr.tm.handle; });
      handles_.emplace_back(op.entry, wr.tm.handle);
    }
    ++operations_;
    const std::vector<Done> done = reference_->operate(op);
    for (const Done& wanted : done) expect(take_b(), wanted, "B's CQ");
    if (done.empty()) sync();
  }
  // Waits until the NIC has carried out the operations before.
  void sync() {
    Reference::TagOp op;
    op.wr_id = ++ids_;
    op.signaled = true;
    ibv_ops_wr wr{}, *bad = nullptr;
    wr.wr_id = op.wr_id;
    wr.opcode = IBV_WR_TAG_SYNC;
    wr.flags = IBV_OPS_SIGNALED;
    must(ibv_post_srq_ops(srq(Way::kTags).get(), &wr, &bad), "ibv_post_srq_ops");
    for (const Done& wanted : reference_->operate(op)) expect(take_b(), wanted, "B's CQ");
  }

  void run_sequence(std::uint64_t number) {
    random_.seed(number);
    a_arena_.refill(number);
    b_arena_.refill(~number);
    const std::span<const std::uint8_t> a = a_arena_.bytes(0, kArena), b = b_arena_.bytes(0, kArena);
    reference_.emplace(a, b, a_arena_.address(0));
    fins_ = 0;
    handles_.clear();
    std::vector<Way> ways;
    for (int n = 0; n < kWays; ++n) {
      if (chance(50)) ways.push_back(static_cast<Way>(n));
    }
    if (ways.empty()) ways.push_back(static_cast<Way>(below(kWays)));
    for (const Way way : ways) {
      if (way == Way::kSrq || way == Way::kXrc || way == Way::kTags) make_srq(way);
      make_pair(pairs_[static_cast<std::size_t>(way)].emplace(), way);
    }
    for (std::size_t step = 4 + below(24); step > 0 && !HasFailure(); --step) {
      const Way way = ways[below(ways.size())];
      if (chance(30)) {
        receive(way);
      } else if (way == Way::kTags && chance(50)) {
        operate();
      } else {
        request(way);
      }
    }
    fence();
    a_arena_.expect(0, reference_->a());
    b_arena_.expect(0, reference_->b());
    EXPECT_EQ(a_arena_.differs(), "");
    EXPECT_EQ(b_arena_.differs(), "");
    for (ibv_cq* cq : {a_send_.get(), a_receive_.get(), b_cq()}) {
      ibv_wc wc{};
      while (ibv_poll_cq(cq, 1, &wc) == 1) ADD_FAILURE() << "nobody expected " << of(wc) << ", QP " << wc.qp_num;
    }
    for (auto& pair : pairs_) pair.reset();
    for (auto& srq : srqs_) srq.reset();
    if (!HasFailure()) return;
    std::cout << "sequence " << number << ":";
    for (const Way way : ways) std::cout << ' ' << kNames[static_cast<std::size_t>(way)];
    std::cout << '\n';
  }

  World a_{0}, b_{GetParam() - 1};
  Owned<ibv_cq> a_send_ = a_.cq(), a_receive_ = a_.cq();
  ibv_cq_ex* b_cq_ = nullptr;
  Arena a_arena_{a_, kArena}, b_arena_{b_, kArena}, scratch_{a_, kPage};
  std::unique_ptr<ibv_xrcd, XrcdCloser> xrcd_;
  std::array<Owned<ibv_srq>, kWays> srqs_;
  std::array<std::optional<Pair>, kWays> pairs_;
  Pair fence_;
  std::optional<Reference> reference_;
  std::mt19937_64 random_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> handles_;  // entry, handle
  std::uint32_t entries_ = 0, fins_ = 0;
  std::uint64_t ids_ = 0, requests_ = 0, operations_ = 0, completions_ = 0, waits_ = 0, failures_ = 0;
};

TEST_P(Differential, RandomSequencesAgreeWithAPlainReference) {
  const char* const asked = std::getenv("RXNIC_SEQUENCES");
  const std::uint64_t sequences = asked == nullptr ? 300 : std::strtoull(asked, nullptr, 10);
  const std::uint64_t first = seed() * 1'000'003;
  for (std::uint64_t n = 0; n < sequences && !HasFailure(); ++n) run_sequence(first + n);
  std::cout << sequences << " sequences: " << requests_ << " requests, of which " << waits_ << " waited for a receive, "
            << failures_ << " failed; " << operations_ << " tag operations; " << completions_ << " completions\n";
}

RXNIC_ON_ONE_AND_TWO_NICS(Differential);

}  // namespace
}  // namespace rxnic::live
