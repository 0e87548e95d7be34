// SPDX-License-Identifier: Apache-2.0
#include "testbench/live/hostile_liar.h"

#include <endian.h>
#include <infiniband/tm_types.h>

#include <array>
#include <cstring>

#include "bridge/cm/mad.h"
#include "testbench/live/xrc_objects.h"

namespace rxnic::live {

namespace {

constexpr std::size_t kReceive = 32 << 10;  // in the arenas: from here on
constexpr std::size_t kBuffer = 1024;
constexpr std::chrono::milliseconds kPatienceOfLiar{10};

struct MwFreer {
  void operator()(ibv_mw* p) const { ibv_dealloc_mw(p); }
};
struct FlowFreer {
  void operator()(ibv_flow* p) const { ibv_destroy_flow(p); }
};

// Numbers that are as often at a limit, or small, as they are random.
std::uint64_t number(std::mt19937_64& random) {
  const std::uint64_t favourites[] = {0, 1, 2, 63, 64, 4096, 0x7fffffff, 0x80000000, 0xffffffff, ~std::uint64_t{0}};
  return random() % 2 == 0 ? favourites[random() % std::size(favourites)] : random() >> (random() % 64);
}
std::uint32_t number32(std::mt19937_64& random) { return static_cast<std::uint32_t>(number(random)); }

}  // namespace

Owned<ibv_srq> make_tag_srq(const World& world, ibv_cq* cq) {
  ibv_srq_init_attr_ex init{};
  init.attr = {16, 1, 0};
  init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
  init.srq_type = IBV_SRQT_TM;
  init.pd = world.pd.get();
  init.cq = cq;
  init.tm_cap = {8, 16};
  return own(ibv_create_srq_ex(world.context.get(), &init), "ibv_create_srq_ex");
}

// The liar's own: a QP whose peer has tags, XRC, windows of both types, raw packets, datagrams.
struct Liar::Queues {
  Queues(const World& here, const World& there, Arena& memory, Arena& others)
      : cq_here(here.cq()), cq_there(there.cq()) {
    tags = make_tag_srq(there, cq_there.get());
    QpShape shape;
    shape.srq = tags.get();
    shape.wrs = shape.inline_bytes = 0;
    sender = make_qp(here, cq_here.get(), cq_here.get());
    receiver = make_qp(there, cq_there.get(), cq_there.get(), shape);
    connect_both(sender.get(), here, receiver.get(), there);
    xrcd.reset(open_xrcd(there.context.get(), -1, O_CREAT));
    must(xrcd == nullptr ? -1 : 0, "ibv_open_xrcd");
    srq = make_srq(there, xrcd.get(), cq_there.get());
    xrc_sender = make_sender(here, cq_here.get());
    xrc_receiver = make_receiver(there, xrcd.get());
    connect_both(xrc_sender.get(), here, xrc_receiver.get(), there);
    raw = make_qp(here, cq_here.get(), cq_here.get(), {.type = IBV_QPT_RAW_PACKET});
    ibv_qp_attr attr{};
    attr.port_num = 1;
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      attr.qp_state = state;
      must(ibv_modify_qp(raw.get(), &attr, IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0)), "ibv_modify_qp");
    }
    datagrams = make_qp(here, cq_here.get(), cq_here.get(), {.type = IBV_QPT_UD});
    Path path;
    path.qkey = cm::kManagementQkey;
    connect(datagrams.get(), there, 0, path);
    ibv_ah_attr address = address_of(there, path);
    ah = own(ibv_create_ah(here.pd.get(), &address), "ibv_create_ah");
    for (std::size_t n = 0; n < windows.size(); ++n) {
      windows[n].reset(ibv_alloc_mw(here.pd.get(), n == 0 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2));
      must(windows[n] == nullptr ? -1 : 0, "ibv_alloc_mw");
    }
    std::array<ibv_sge, 1> list{others.sge(kReceive, kBuffer)};
    for (std::uint64_t tag = 0; tag < 4; ++tag) {
      ibv_ops_wr wr{}, *bad = nullptr;
      wr.opcode = IBV_WR_TAG_ADD;
      wr.tm.add = {tag, list.data(), 1, tag, ~std::uint64_t{0}};
      must(ibv_post_srq_ops(tags.get(), &wr, &bad), "ibv_post_srq_ops");
    }
    for (int n = 0; n < 16; ++n) {
      post_receive(tags.get(), list);
      post_receive(srq.get(), list);
    }
    list[0] = memory.sge(kReceive, kBuffer);
    for (int n = 0; n < 16; ++n) {
      post_receive(sender.get(), list);
      post_receive(raw.get(), list);
    }
  }

  Owned<ibv_cq> cq_here, cq_there;
  Owned<ibv_srq> tags, srq;
  OwnedXrcd xrcd;
  std::array<std::unique_ptr<ibv_mw, MwFreer>, 2> windows;
  Owned<ibv_ah> ah;
  Owned<ibv_qp> sender, receiver, xrc_sender, xrc_receiver, raw, datagrams;
  std::unique_ptr<ibv_flow, FlowFreer> flow;
  int posted = 0;  // sends without a completion
};

Liar::Liar() = default;
Liar::~Liar() = default;

void Liar::lie(std::mt19937_64& random) {
  if (lies_++ % kLies == 0) {  // (R2)
    if (queues_ != nullptr) wait_for_the_end();
    queues_.reset();  // the memory windows before those that are made
    queues_ = std::make_unique<Queues>(here_, there_, memory_, others_);
  }
  switch (random() % 8) {
    case 0:
      return ask_for_rendezvous(random);
    case 1:
      return operate_on_tags(random);
    case 2:
      return bind(random);
    case 3:
      return access(random);
    case 4:
      return send_to_srq(random);
    case 5:
      return send_frame(random);
    case 6:
      return steer(random);
    default:
      return send_to_manager(random);
  }
}

void Liar::wait_for_the_end() {
  const auto end = std::chrono::steady_clock::now() + kPatienceOfLiar;
  for (ibv_wc wc; queues_->posted > 0 && std::chrono::steady_clock::now() < end;) {
    if (ibv_poll_cq(queues_->cq_here.get(), 1, &wc) > 0 && wc.opcode != IBV_WC_RECV) --queues_->posted;
  }
}

void Liar::fill(std::size_t bytes, std::mt19937_64& random) {
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = random();
    std::memcpy(memory_.at(at), &word, sizeof word);
  }
}

void Liar::try_to_post(ibv_qp* qp, ibv_send_wr wr, std::size_t bytes) {
  ibv_sge sge = memory_.sge(0, bytes);
  wr.sg_list = &sge;
  wr.num_sge = wr.opcode == IBV_WR_BIND_MW || wr.opcode == IBV_WR_LOCAL_INV ? 0 : 1;
  wr.send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(qp, &wr, &bad) == 0) ++queues_->posted;  // it may be refused
}

// A TMH of any opcode, behind it an RVH: half of the time of memory that could be read.
void Liar::ask_for_rendezvous(std::mt19937_64& random) {
  fill(512, random);
  ibv_tmh tmh{};
  tmh.opcode = static_cast<std::uint8_t>(random() % (random() % 8 == 0 ? 256 : 4));
  if (random() % 2 == 0) tmh.opcode = IBV_TMH_RNDV;
  tmh.tag = htobe64(random() % 4);
  ibv_rvh rvh{htobe64(number(random)), htobe32(key(random)), htobe32(number32(random))};
  if (random() % 2 == 0) rvh.va = htobe64(memory_.address(random() % memory_.size()));
  std::memcpy(memory_.at(0), &tmh, sizeof tmh);
  std::memcpy(memory_.at(sizeof tmh), &rvh, sizeof rvh);
  const std::size_t lengths[] = {sizeof tmh - 1,          sizeof tmh, sizeof tmh + sizeof rvh - 1,
                                 sizeof tmh + sizeof rvh, 64,         65};
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND;
  try_to_post(queues_->sender.get(), wr, lengths[random() % std::size(lengths)]);
}

void Liar::operate_on_tags(std::mt19937_64& random) {
  ibv_sge sge{random() % 2 == 0 ? number(random) : others_.address(0), number32(random), key(random)};
  if (random() % 2 == 0) sge = others_.sge(0, kBuffer);
  ibv_ops_wr wr{}, *bad = nullptr;
  const ibv_ops_wr_opcode opcodes[] = {IBV_WR_TAG_ADD, IBV_WR_TAG_ADD, IBV_WR_TAG_DEL, IBV_WR_TAG_SYNC};
  wr.opcode = opcodes[random() % std::size(opcodes)];
  wr.flags = static_cast<int>(random() % 4);
  wr.tm.unexpected_cnt = number32(random);
  wr.tm.handle = number32(random);
  wr.tm.add = {random(), &sge, 1, random() % 4, random() % 2 == 0 ? 3 : number(random)};
  (void)ibv_post_srq_ops(queues_->tags.get(), &wr, &bad);
}

void Liar::bind(std::mt19937_64& random) {
  ibv_send_wr wr{};
  if (random() % 3 == 0) {
    wr.opcode = IBV_WR_LOCAL_INV;
    wr.invalidate_rkey = key(random);
    return try_to_post(queues_->sender.get(), wr, 0);
  }
  ibv_mw* const window = queues_->windows[random() % 2].get();
  const ibv_mw_bind_info to{random() % 4 == 0 ? others_.region.get() : memory_.region.get(),
                            memory_.address(0) + number(random), number(random), number32(random) & 0x3f};
  if (random() % 2 == 0) {
    ibv_mw_bind request{};
    request.bind_info = to;
    (void)ibv_bind_mw(queues_->sender.get(), window, &request);
    return;
  }
  wr.opcode = IBV_WR_BIND_MW;
  wr.bind_mw = {window, key(random), to};
  try_to_post(queues_->sender.get(), wr, 0);
}

void Liar::access(std::mt19937_64& random) {
  const ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
                                   IBV_WR_SEND_WITH_INV};
  ibv_send_wr wr{};
  wr.opcode = opcodes[random() % std::size(opcodes)];
  wr.wr.atomic = {number(random), 1, 0, key(random)};
  if (wr.opcode == IBV_WR_RDMA_WRITE || wr.opcode == IBV_WR_RDMA_READ) wr.wr.rdma = {number(random), key(random)};
  if (wr.opcode == IBV_WR_SEND_WITH_INV) wr.invalidate_rkey = key(random);
  try_to_post(queues_->sender.get(), wr, wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : random() % 4096);
}

void Liar::send_to_srq(std::mt19937_64& random) {
  ibv_send_wr wr{};
  wr.opcode = random() % 4 == 0 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;
  wr.wr.rdma = {number(random), key(random)};
  wr.qp_type.xrc.remote_srqn = random() % 2 == 0 ? number_of(queues_->srq.get()) : number32(random);
  try_to_post(queues_->xrc_sender.get(), wr, random() % 4096);
}

// Random bytes from anybody to anybody, or headers of RoCE or IP with random bytes behind them. Not RoCE's own: who has
// raw packets can forge any.
void Liar::send_frame(std::mt19937_64& random) {
  fill(512, random);
  const std::uint16_t types[] = {htobe16(0x0800), htobe16(0x86dd), htobe16(0x8100), htobe16(0x8915)};
  std::memcpy(memory_.at(12), &types[random() % std::size(types)], 2);
  if (random() % 2 == 0) *memory_.at(14) = 0x45;
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND;
  try_to_post(queues_->raw.get(), wr, 14 + random() % 498);
}

void Liar::steer(std::mt19937_64& random) {
  alignas(8) std::array<std::uint8_t, 256> bytes;
  for (std::uint8_t& byte : bytes) byte = random() % 2 == 0 ? 0 : static_cast<std::uint8_t>(random());
  auto& attributes = *reinterpret_cast<ibv_flow_attr*>(bytes.data());
  attributes = {};
  attributes.type = static_cast<ibv_flow_attr_type>(random() % 4);
  attributes.priority = static_cast<std::uint16_t>(number(random));
  attributes.port = 1;
  const ibv_flow_spec_type types[] = {IBV_FLOW_SPEC_ETH, IBV_FLOW_SPEC_IPV4, IBV_FLOW_SPEC_IPV6, IBV_FLOW_SPEC_TCP,
                                      IBV_FLOW_SPEC_UDP};
  const std::uint16_t sizes[] = {sizeof(ibv_flow_spec_eth), sizeof(ibv_flow_spec_ipv4), sizeof(ibv_flow_spec_ipv6),
                                 sizeof(ibv_flow_spec_tcp_udp), sizeof(ibv_flow_spec_tcp_udp)};
  std::size_t at = sizeof attributes;
  for (std::size_t n = random() % 4; n > 0; --n) {
    const std::size_t kind = random() % std::size(types);
    const std::uint32_t type = types[kind];
    if (at + sizes[kind] > bytes.size()) break;
    std::memcpy(bytes.data() + at, &type, sizeof type);
    std::memcpy(bytes.data() + at + sizeof type, &sizes[kind], sizeof sizes[kind]);
    at += sizes[kind];
    ++attributes.num_of_specs;
  }
  attributes.size = static_cast<std::uint16_t>(at);
  queues_->flow.reset(ibv_create_flow(queues_->raw.get(), &attributes));
}

// MADs of every kind with random contents, and random bytes.
void Liar::send_to_manager(std::mt19937_64& random) {
  fill(cm::kMadBytes, random);
  if (random() % 4 != 0) {
    const std::array<std::uint8_t, 4> head{1, 7, 2, 3};  // base version, class, class version, Send
    const std::uint16_t kind = htobe16(static_cast<std::uint16_t>(0x10 + random() % 9));
    std::memcpy(memory_.at(0), head.data(), head.size());
    std::memcpy(memory_.at(16), &kind, sizeof kind);
  }
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND;
  wr.wr.ud = {queues_->ah.get(), cm::kManagementQpn, cm::kManagementQkey};
  try_to_post(queues_->datagrams.get(), wr, random() % 8 == 0 ? random() % 1024 : cm::kMadBytes);
}

// One of its own, one of its neighbours', or any.
std::uint32_t Liar::key(std::mt19937_64& random) {
  const std::uint32_t own = random() % 2 == 0 ? memory_.region->rkey : others_.region->rkey;
  if (random() % 3 == 0) return own;
  return random() % 2 == 0 ? own + static_cast<std::uint32_t>(random() % 2048) - 1024 : number32(random);
}

}  // namespace rxnic::live
