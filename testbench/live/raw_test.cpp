// SPDX-License-Identifier: Apache-2.0
// RAW_PACKET QPs: Ethernet frames as the program wrote them, flow steering by every field, and receive WQs over which
// an RSS QP spreads frames.
#include <endian.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::raw_test {
namespace {

constexpr std::size_t kMac = 6, kEthernet = 14, kLeast = 60, kMost = 4096 + kEthernet + 8;
constexpr std::uint16_t kIpv4 = 0x0800, kIpv6 = 0x86dd, kLocal = 0x88b5;  // the last: for experiments (IEEE 802)
constexpr std::uint8_t kTcp = 6, kUdp = 17;
using Mac = std::array<std::uint8_t, kMac>;
constexpr Mac kNobody{0x02, 0xaa, 0, 0, 0, 1}, kGroup{0x03, 0xaa, 0, 0, 0, 1};

struct FlowFreer {
  void operator()(ibv_flow* p) const { ibv_destroy_flow(p); }
};
using Flow = std::unique_ptr<ibv_flow, FlowFreer>;

// Specifications behind their attributes, as ibv_create_flow(3) wants them.
class FlowRequest {
 public:
  explicit FlowRequest(ibv_flow_attr_type type = IBV_FLOW_ATTR_NORMAL, std::uint16_t priority = 0) {
    attributes().type = type;
    attributes().priority = priority;
    attributes().port = 1;
    attributes().size = sizeof(ibv_flow_attr);
  }
  ibv_flow_attr& attributes() { return *reinterpret_cast<ibv_flow_attr*>(bytes_.data()); }
  template <class Spec>
  FlowRequest& add(ibv_flow_spec_type type, Spec spec) {
    spec.type = type;
    spec.size = sizeof spec;
    std::memcpy(bytes_.data() + attributes().size, &spec, sizeof spec);
    attributes().size = static_cast<std::uint16_t>(attributes().size + sizeof spec);
    ++attributes().num_of_specs;
    return *this;
  }
  FlowRequest& to(const Mac& mac) {
    ibv_flow_spec_eth spec{};
    std::memcpy(spec.val.dst_mac, mac.data(), kMac);
    std::memset(spec.mask.dst_mac, 0xff, kMac);
    return add(IBV_FLOW_SPEC_ETH, spec);
  }
  FlowRequest& of_type(std::uint16_t type) {
    ibv_flow_spec_eth spec{};
    spec.val.ether_type = htobe16(type);
    spec.mask.ether_type = 0xffff;
    return add(IBV_FLOW_SPEC_ETH, spec);
  }
  FlowRequest& ports(ibv_flow_spec_type type, std::uint16_t source, std::uint16_t destination) {
    ibv_flow_spec_tcp_udp spec{};
    spec.val = {htobe16(destination), htobe16(source)};
    spec.mask = {0xffff, 0xffff};
    return add(type, spec);
  }

 private:
  alignas(8) std::array<std::uint8_t, 512> bytes_{};
};

Flow flow(ibv_qp* qp, FlowRequest request) {
  Flow made(ibv_create_flow(qp, &request.attributes()));
  if (made == nullptr) must(errno, "ibv_create_flow");
  return made;
}
int refused(ibv_qp* qp, FlowRequest request) {
  const Flow made(ibv_create_flow(qp, &request.attributes()));
  return made == nullptr ? errno : 0;
}

Mac mac_of(const World& world) { return {0x02, 0x72, 0x78, 0, 0, static_cast<std::uint8_t>(world.nic + 1)}; }

class Raw : public PairTest {
 protected:
  // A QP with a CQ of its own for receives.
  struct Receiver {
    explicit Receiver(Side& of) : side(of) {
      qp = make_qp(of.world, of.send_cq.get(), cq.get(), {.type = IBV_QPT_RAW_PACKET});
      ready(qp.get());
    }
    Side& side;
    Owned<ibv_cq> cq = side.world.cq();
    Owned<ibv_qp> qp;
  };
  static void ready(ibv_qp* qp) {
    ibv_qp_attr attr{};
    attr.port_num = 1;
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      attr.qp_state = state;
      must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0)), "ibv_modify_qp");
    }
  }
  // A frame in the sender's arena, at its start: these addresses and this type, the rest as the arena is.
  void write_frame(const Mac& to, std::uint16_t type) {
    std::memcpy(a.arena.at(0), to.data(), kMac);
    std::memcpy(a.arena.at(kMac), mac_of(a.world).data(), kMac);
    put(12, htobe16(type));
    a.arena.accept(0, kMost);
  }
  template <class T>
  void put(std::size_t at, T value) {
    std::memcpy(a.arena.at(at), &value, sizeof value);
    a.arena.accept(at, sizeof value);
  }
  // An IPv4 or IPv6 packet of TCP or UDP.
  void write_ipv4(std::uint32_t source, std::uint32_t destination, std::uint8_t protocol, std::uint16_t source_port,
                  std::uint16_t destination_port) {
    write_frame(kNobody, kIpv4);
    put(14, std::array<std::uint8_t, 12>{0x45, 0x10, 0, 200, 0, 0, 0x40, 0, 33, protocol, 0, 0});
    put(26, htobe32(source));
    put(30, htobe32(destination));
    put(34, htobe16(source_port));
    put(36, htobe16(destination_port));
  }
  void write_ipv6(std::uint8_t source, std::uint8_t destination, std::uint8_t next, std::uint16_t source_port,
                  std::uint16_t destination_port) {
    write_frame(kNobody, kIpv6);
    put(14, std::array<std::uint8_t, 8>{0x60, 2, 0x12, 0x34, 0, 180, next, 44});
    std::array<std::uint8_t, 16> address{0x20, 0x01, 0xd, 0xb8};
    address[15] = source;
    put(22, address);
    address[15] = destination;
    put(38, address);
    put(54, htobe16(source_port));
    put(56, htobe16(destination_port));
  }
  ibv_wc_status send(std::size_t bytes, unsigned flags = 0) {
    std::array<ibv_sge, 1> source{a.arena.sge(0, bytes)};
    ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
    wr.send_flags |= flags;
    post(sender.qp.get(), wr);
    return take(a.send_cq.get()).status;
  }
  // The frame comes to `to`, and to nobody else.
  void expect_reaches(Receiver& to, std::size_t bytes = 300, unsigned flags = 0) {
    std::array<ibv_sge, 1> sink{to.side.arena.sge(8 * kPage, kMost)};
    post_receive(to.qp.get(), sink);
    EXPECT_EQ(send(bytes, flags), IBV_WC_SUCCESS);
    const ibv_wc wc = take(to.cq.get());
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    EXPECT_EQ(wc.wc_flags, 0u) << "no GRH, no immediate data";
    EXPECT_EQ(wc.byte_len, std::max(bytes, kLeast));
    EXPECT_EQ(wc.qp_num, to.qp->qp_num);
    to.side.arena.expect(8 * kPage, a.arena.bytes(0, bytes));
    if (bytes < kLeast) to.side.arena.expect(8 * kPage + bytes, std::vector<std::uint8_t>(kLeast - bytes));
    expect_nothing_else_written();
  }
  // The frame comes to `first`, and back to its sender.
  void expect_reaches_with_copy() {
    a.arena.expect(8 * kPage, a.arena.bytes(0, 300));
    std::array<ibv_sge, 1> sink{b.arena.sge(8 * kPage, kMost)};
    post_receive(first.qp.get(), sink);
    EXPECT_EQ(send(300), IBV_WC_SUCCESS);
    EXPECT_EQ(take(first.cq.get()).byte_len, 300u);
    EXPECT_EQ(take(sender.cq.get()).byte_len, 300u);
    b.arena.expect(8 * kPage, a.arena.bytes(0, 300));
    expect_nothing_else_written();
  }
  void expect_nobody() {
    EXPECT_EQ(send(300), IBV_WC_SUCCESS);
    drain();
    for (Receiver* r : {&sender, &first, &second}) EXPECT_TRUE(is_empty(r->cq.get()));
  }
  // Something that comes later has come.
  void drain() {
    const Flow later = flow(first.qp.get(), FlowRequest().of_type(kLocal + 1));
    const std::vector<std::uint8_t> frame(a.arena.bytes(0, kEthernet).begin(), a.arena.bytes(0, kEthernet).end());
    write_frame(kNobody, kLocal + 1);
    expect_reaches(first, 64);
    std::memcpy(a.arena.at(0), frame.data(), frame.size());
    a.arena.accept(0, frame.size());
  }

  Receiver sender{a}, first{b}, second{b};
};

TEST_P(Raw, FramesArriveAsTheyWereWritten) {
  write_frame(mac_of(b.world), kLocal);
  const Flow all = flow(first.qp.get(), FlowRequest().to(mac_of(b.world)));
  for (const std::size_t bytes : {kEthernet, kLeast - 1, kLeast, std::size_t{1514}, kMost})
    expect_reaches(first, bytes);
  expect_reaches(first, 40, IBV_SEND_INLINE);
}

TEST_P(Raw, WhatIsNoFrameIsALengthError) {
  for (const std::size_t bytes : {kEthernet - 1, kMost + 1}) {
    EXPECT_EQ(send(bytes), IBV_WC_LOC_LEN_ERR) << bytes;
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RESET;
    must(ibv_modify_qp(sender.qp.get(), &attr, IBV_QP_STATE), "ibv_modify_qp");
    ready(sender.qp.get());
  }
}

TEST_P(Raw, EachFieldIsCompared) {
  struct Case {
    const char* what;
    FlowRequest first, second;  // of which the first one takes the frame
  };
  ibv_flow_spec_ipv4 source{}, destination{}, neither{};
  source.val.src_ip = htobe32(0x0a010203);
  destination.val.dst_ip = htobe32(0x0a010204);
  neither.val.dst_ip = htobe32(0x0a010205);
  source.mask.src_ip = destination.mask.dst_ip = neither.mask.dst_ip = 0xffffffff;
  ibv_flow_spec_ipv4_ext ext{}, other_ext{};
  ext.val = {0, 0, kUdp, 0x10, 33, 0};
  ext.mask = {0, 0, 0xff, 0xff, 0xff, 0};
  other_ext = ext;
  other_ext.val.ttl = 34;
  const std::vector<Case> cases{
      {"source", FlowRequest().add(IBV_FLOW_SPEC_IPV4, source), FlowRequest().add(IBV_FLOW_SPEC_IPV4, neither)},
      {"destination", FlowRequest().add(IBV_FLOW_SPEC_IPV4, destination),
       FlowRequest().add(IBV_FLOW_SPEC_IPV4, neither)},
      {"protocol, TOS, TTL", FlowRequest().add(IBV_FLOW_SPEC_IPV4_EXT, ext),
       FlowRequest().add(IBV_FLOW_SPEC_IPV4_EXT, other_ext)},
      {"ports", FlowRequest().ports(IBV_FLOW_SPEC_UDP, 1000, 2000), FlowRequest().ports(IBV_FLOW_SPEC_UDP, 1000, 2001)},
      {"TCP or UDP", FlowRequest().ports(IBV_FLOW_SPEC_UDP, 1000, 2000),
       FlowRequest().ports(IBV_FLOW_SPEC_TCP, 1000, 2000)},
      {"type", FlowRequest().of_type(kIpv4), FlowRequest().of_type(kIpv6)},
      {"MAC address", FlowRequest().to(kNobody), FlowRequest().to(kGroup)},
  };
  write_ipv4(0x0a010203, 0x0a010204, kUdp, 1000, 2000);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const Flow right = flow(first.qp.get(), c.first), wrong = flow(second.qp.get(), c.second);
    expect_reaches(first);
  }
  ibv_flow_spec_ipv6 v6{}, other_v6{};
  const std::array<std::uint8_t, 4> prefix{0x20, 0x01, 0xd, 0xb8};
  std::memcpy(v6.val.src_ip, prefix.data(), 4);
  v6.val.src_ip[15] = 7;
  std::memset(v6.mask.src_ip, 0xff, 16);
  v6.val.flow_label = htobe32(0x21234);
  v6.mask.flow_label = htobe32(0xfffff);
  v6.val.next_hdr = kTcp;
  v6.mask.next_hdr = 0xff;
  v6.val.hop_limit = 44;
  v6.mask.hop_limit = 0xff;
  other_v6 = v6;
  other_v6.val.src_ip[15] = 8;
  write_ipv6(7, 9, kTcp, 5, 6);
  const Flow right = flow(first.qp.get(), FlowRequest().add(IBV_FLOW_SPEC_IPV6, v6).ports(IBV_FLOW_SPEC_TCP, 5, 6));
  const Flow wrong = flow(second.qp.get(), FlowRequest().add(IBV_FLOW_SPEC_IPV6, other_v6));
  expect_reaches(first);
}

// As in the example of ibv_read_counters(3).
TEST_P(Raw, CountersAddUpTheirFlows) {
  ibv_counters_init_attr none{};
  ibv_counters* const counters = ibv_create_counters(b.world.context.get(), &none);
  ASSERT_NE(counters, nullptr);
  const auto attach = [&](ibv_counter_description what, std::uint32_t index, ibv_flow* to = nullptr) {
    ibv_counter_attach_attr attr{what, index, 0};
    return ibv_attach_counters_point_flow(counters, &attr, to);
  };
  EXPECT_EQ(attach(IBV_COUNTER_PACKETS, 0), 0);
  EXPECT_EQ(attach(IBV_COUNTER_BYTES, 2), 0);
  EXPECT_EQ(attach(static_cast<ibv_counter_description>(7), 0), ENOTSUP);
  const auto counted = [&](std::uint16_t type) {
    ibv_flow_spec_counter_action count{};
    count.counters = counters;
    return FlowRequest().of_type(type).add(IBV_FLOW_SPEC_ACTION_COUNT, count);
  };
  using Values = std::array<std::uint64_t, 3>;
  const auto read = [&] {
    Values values{9, 9, 9};
    must(ibv_read_counters(counters, values.data(), 3, 0), "ibv_read_counters");
    return values;
  };
  EXPECT_EQ(read(), Values{}) << "no flow has them";
  write_frame(kNobody, kLocal);
  {
    const Flow one = flow(first.qp.get(), counted(kLocal)), two = flow(second.qp.get(), counted(kLocal + 1));
    EXPECT_EQ(attach(IBV_COUNTER_BYTES, 1), EBUSY);
    EXPECT_EQ(attach(IBV_COUNTER_BYTES, 1, one.get()), ENOTSUP);
    EXPECT_EQ(ibv_destroy_counters(counters), EBUSY);
    expect_reaches(first, 300);
    expect_reaches(first, 1000);
    EXPECT_EQ(read(), (Values{2, 0, 1300}));
    write_frame(kNobody, kLocal + 1);
    expect_reaches(second, 40);
    EXPECT_EQ(read(), (Values{3, 0, 1360})) << "a frame has 60 bytes at least";
  }
  EXPECT_EQ(read(), (Values{3, 0, 1360})) << "the flows are gone";
  Values few{};
  EXPECT_EQ(ibv_read_counters(counters, few.data(), 2, 0), EINVAL);
  EXPECT_EQ(ibv_destroy_counters(counters), 0);
}

TEST_P(Raw, PriorityAndThenAgeDecide) {
  write_frame(kNobody, kLocal);
  const Flow every = flow(second.qp.get(), FlowRequest(IBV_FLOW_ATTR_ALL_DEFAULT));
  expect_reaches(second);
  const Flow later = flow(second.qp.get(), FlowRequest(IBV_FLOW_ATTR_NORMAL, 5).of_type(kLocal));
  {
    const Flow sooner = flow(first.qp.get(), FlowRequest(IBV_FLOW_ATTR_NORMAL, 4).of_type(kLocal));
    expect_reaches(first);
  }
  expect_reaches(second);
  const Flow younger = flow(first.qp.get(), FlowRequest(IBV_FLOW_ATTR_NORMAL, 5).of_type(kLocal));
  expect_reaches(second);
}

TEST_P(Raw, DefaultsTakeWhatNoFlowTakes) {
  write_frame(kGroup, kLocal);
  const Flow groups = flow(first.qp.get(), FlowRequest(IBV_FLOW_ATTR_MC_DEFAULT));
  const Flow every = flow(second.qp.get(), FlowRequest(IBV_FLOW_ATTR_ALL_DEFAULT));
  expect_reaches(first);
  write_frame(kNobody, kLocal);
  expect_reaches(second);
  // RDMA is not a flow's: a datagram goes to its QP.
  reconnect({.type = IBV_QPT_UD, .all_signaled = true});
  const Path path;
  ibv_ah_attr to = address_of(b.world, path);
  const Owned<ibv_ah> ah = own(ibv_create_ah(a.world.pd.get(), &to), "ibv_create_ah");
  std::array<ibv_sge, 1> sink{b.arena.sge(8 * kPage, 200)}, source{a.arena.sge(0, 100)};
  post_receive(b.qp.get(), sink);
  ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
  wr.wr.ud = {ah.get(), b.qp->qp_num, path.qkey};
  post(a.qp.get(), wr);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(take(b.receive_cq.get()).byte_len, 140u);
  EXPECT_TRUE(is_empty(second.cq.get()));
}

// To the NIC that has it; to everybody when it is a group's or nobody's.
TEST_P(Raw, FramesGoByTheirMacAddress) {
  if (GetParam() != 2) return;
  const Flow here = flow(sender.qp.get(), FlowRequest().of_type(kLocal));
  const Flow there = flow(first.qp.get(), FlowRequest().of_type(kLocal));
  write_frame(mac_of(b.world), kLocal);
  expect_reaches(first);
  write_frame(mac_of(a.world), kLocal);
  expect_reaches(sender);
  for (const Mac& mac : {kGroup, kNobody}) {
    write_frame(mac, kLocal);
    std::array<ibv_sge, 1> sink{a.arena.sge(8 * kPage, kMost)};
    post_receive(sender.qp.get(), sink);
    expect_reaches_with_copy();
  }
}

TEST_P(Raw, WithoutAFlowNobodyGetsAFrame) {
  write_frame(mac_of(b.world), kLocal);
  expect_nobody();
  flow(first.qp.get(), FlowRequest().of_type(kLocal)).reset();
  expect_nobody();
}

TEST_P(Raw, AFrameWithoutAReceiveIsLost) {
  write_frame(kNobody, kLocal);
  const Flow all = flow(first.qp.get(), FlowRequest().of_type(kLocal));
  EXPECT_EQ(send(100), IBV_WC_SUCCESS);
  drain();
  expect_reaches(first);
}

TEST_P(Raw, AQpIsInUseByItsFlows) {
  Flow all = flow(first.qp.get(), FlowRequest().of_type(kLocal));
  EXPECT_EQ(ibv_destroy_qp(first.qp.get()), EBUSY);
  all.reset();
  EXPECT_EQ(ibv_destroy_qp(first.qp.release()), 0);
  first.qp = make_qp(b.world, b.send_cq.get(), first.cq.get(), {.type = IBV_QPT_RAW_PACKET});
}

TEST_P(Raw, WhatIsNotSupportedIsSaid) {
  ibv_qp* const qp = first.qp.get();
  FlowRequest sniffs(IBV_FLOW_ATTR_SNIFFER), dont_trap, egress, port, unknown;
  dont_trap.attributes().flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
  egress.attributes().flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
  port.attributes().port = 2;
  unknown.attributes().flags = 1u << 20;
  EXPECT_EQ(refused(qp, sniffs), EOPNOTSUPP);
  EXPECT_EQ(refused(qp, dont_trap), EOPNOTSUPP);
  EXPECT_EQ(refused(qp, egress), EOPNOTSUPP);
  EXPECT_EQ(refused(qp, port), EINVAL);
  EXPECT_EQ(refused(qp, unknown), EINVAL);
  EXPECT_EQ(refused(qp, FlowRequest().add(IBV_FLOW_SPEC_VXLAN_TUNNEL, ibv_flow_spec_tunnel{})), EOPNOTSUPP);
  EXPECT_EQ(refused(qp, FlowRequest().add(IBV_FLOW_SPEC_ACTION_DROP, ibv_flow_spec_action_drop{})), EOPNOTSUPP);
  EXPECT_EQ(refused(qp, FlowRequest(IBV_FLOW_ATTR_ALL_DEFAULT).of_type(kLocal)), EINVAL);
  reconnect();
  EXPECT_EQ(refused(b.qp.get(), FlowRequest().of_type(kLocal)), EINVAL) << "not a RAW_PACKET QP";
}

// rules 4.5.
TEST_P(Raw, AFailedSendStopsTheQpUntilItIsMovedToRts) {
  const auto state = [&] {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    must(ibv_query_qp(sender.qp.get(), &attr, IBV_QP_STATE, &init), "ibv_query_qp");
    EXPECT_EQ(attr.qp_state, attr.cur_qp_state);
    return attr.qp_state;
  };
  write_frame(kNobody, kLocal);
  std::array<ibv_sge, 1> source{a.arena.sge(0, 200)};
  source[0].lkey ^= 0x5a5a00;
  ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
  for (int n = 0; n < 2; ++n) {
    post(sender.qp.get(), wr);
    EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_LOC_PROT_ERR);
    EXPECT_EQ(state(), IBV_QPS_SQE);
    EXPECT_EQ(send(200), IBV_WC_WR_FLUSH_ERR);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTS;
    must(ibv_modify_qp(sender.qp.get(), &attr, IBV_QP_STATE), "ibv_modify_qp");
    EXPECT_EQ(state(), IBV_QPS_RTS);
    EXPECT_EQ(send(200), IBV_WC_SUCCESS);
  }
}

// Four WQs, two of them on each CQ, and a QP that spreads frames over them.
class Rss : public Raw {
 protected:
  static constexpr std::uint32_t kLog = 2, kQueues = 1u << kLog;
  void SetUp() override {
    for (std::uint32_t n = 0; n < kQueues; ++n) {
      ibv_wq_init_attr init{};
      init.wq_type = IBV_WQT_RQ;
      init.max_wr = 64;
      init.max_sge = 2;
      init.pd = b.world.pd.get();
      init.cq = cqs[n % 2].get();
      wqs[n] = ibv_create_wq(b.world.context.get(), &init);
      ASSERT_NE(wqs[n], nullptr) << errno;
      set(n, IBV_WQS_RDY);
    }
    ibv_rwq_ind_table_init_attr of_table{kLog, wqs.data(), 0};
    table = ibv_create_rwq_ind_table(b.world.context.get(), &of_table);
    ASSERT_NE(table, nullptr);
    spreads.reset(make(IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_PORT_UDP));
    ASSERT_NE(spreads, nullptr) << errno;
  }
  void TearDown() override {
    spreads.reset();
    EXPECT_EQ(ibv_destroy_wq(wqs[0]), EBUSY) << "it is in the table";
    EXPECT_EQ(ibv_destroy_rwq_ind_table(table), 0);
    for (ibv_wq* wq : wqs) EXPECT_EQ(ibv_destroy_wq(wq), 0);
  }
  void set(std::uint32_t n, ibv_wq_state state) {
    ibv_wq_attr attr{IBV_WQ_ATTR_STATE, state, IBV_WQS_RESET, 0, 0};
    EXPECT_EQ(ibv_modify_wq(wqs[n], &attr), 0);
  }
  ibv_qp* make(std::uint64_t fields) {
    ibv_qp_init_attr_ex init{};
    init.qp_type = IBV_QPT_RAW_PACKET;
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
    init.pd = b.world.pd.get();
    init.rwq_ind_tbl = table;
    init.rx_hash_conf = {IBV_RX_HASH_FUNC_TOEPLITZ, static_cast<std::uint8_t>(key.size()), key.data(), fields};
    return ibv_create_qp_ex(b.world.context.get(), &init);
  }
  // Toeplitz's hash by its definition: each bit of the input that is one adds 32 bits of the key from there on.
  std::uint32_t hash(const std::vector<std::uint8_t>& input) const {
    std::uint32_t sum = 0;
    for (std::size_t bit = 0; bit < input.size() * 8; ++bit) {
      if ((input[bit / 8] & 0x80 >> bit % 8) == 0) continue;
      for (std::size_t n = 0; n < 32; ++n) {
        const std::size_t at = bit + n;
        if ((key[at / 8] & 0x80 >> at % 8) != 0) sum ^= 0x80000000u >> n;
      }
    }
    return sum;
  }
  void post(std::uint32_t n, std::size_t place) {
    ibv_sge sink = b.arena.sge(place, kMost);
    ibv_recv_wr wr{n, nullptr, &sink, 1}, *bad = nullptr;
    EXPECT_EQ(ibv_post_wq_recv(wqs[n], &wr, &bad), 0);
  }

  std::array<Owned<ibv_cq>, 2> cqs{b.world.cq(), b.world.cq()};
  std::array<ibv_wq*, kQueues> wqs{};
  ibv_rwq_ind_table* table = nullptr;
  Owned<ibv_qp> spreads;
  std::array<std::uint8_t, 40> key = [] {
    std::array<std::uint8_t, 40> made{};
    for (std::size_t n = 0; n < made.size(); ++n) made[n] = static_cast<std::uint8_t>(n * 37 + 11);
    return made;
  }();
};

TEST_P(Rss, FramesGoWhereTheirHashSays) {
  const Flow all = flow(spreads.get(), FlowRequest().of_type(kIpv4));
  std::array<int, kQueues> got{};
  for (std::uint32_t n = 0; n < 64; ++n) {
    const std::uint32_t source = 0x0a000000 + n * 77;
    const auto port = static_cast<std::uint16_t>(1000 + n * 13);
    const bool udp = n % 4 != 3;
    write_ipv4(source, 0x0a000001, udp ? kUdp : kTcp, port, 53);
    std::vector<std::uint8_t> input{static_cast<std::uint8_t>(source >> 24), static_cast<std::uint8_t>(source >> 16),
                                    static_cast<std::uint8_t>(source >> 8), static_cast<std::uint8_t>(source)};
    if (udp) {
      input.push_back(static_cast<std::uint8_t>(port >> 8));
      input.push_back(static_cast<std::uint8_t>(port));
    }
    const std::uint32_t wanted = hash(input) % kQueues;
    post(wanted, 8 * kPage);
    EXPECT_EQ(send(200), IBV_WC_SUCCESS);
    const ibv_wc wc = take(cqs[wanted % 2].get());
    EXPECT_EQ(wc.qp_num, wqs[wanted]->wq_num) << n;
    EXPECT_EQ(wc.wr_id, wanted);
    EXPECT_EQ(wc.byte_len, 200u);
    b.arena.expect(8 * kPage, a.arena.bytes(0, 200));
    expect_nothing_else_written();
    ++got[wanted];
  }
  for (const int count : got) EXPECT_GT(count, 5);
}

TEST_P(Rss, AWqHasItsStates) {
  const Flow all = flow(spreads.get(), FlowRequest().of_type(kLocal));
  write_frame(kNobody, kLocal);  // no field of the hash: queue 0
  post(0, 8 * kPage);
  set(0, IBV_WQS_ERR);
  EXPECT_EQ(take(cqs[0].get()).status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(send(200), IBV_WC_SUCCESS);
  set(0, IBV_WQS_RESET);
  ibv_sge sink = b.arena.sge(8 * kPage, kMost);
  ibv_recv_wr wr{7, nullptr, &sink, 1}, *bad = nullptr;
  EXPECT_EQ(ibv_post_wq_recv(wqs[0], &wr, &bad), EINVAL);
  EXPECT_EQ(bad, &wr);
  set(0, IBV_WQS_RDY);
  post(0, 8 * kPage);
  EXPECT_EQ(send(200), IBV_WC_SUCCESS);
  EXPECT_EQ(take(cqs[0].get()).status, IBV_WC_SUCCESS);
  b.arena.expect(8 * kPage, a.arena.bytes(0, 200));
  expect_nothing_else_written();
  ibv_wq_attr attr{IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE, IBV_WQS_RDY, IBV_WQS_ERR, 0, 0};
  EXPECT_EQ(ibv_modify_wq(wqs[0], &attr), EINVAL) << "it is not in that state";
}

// A completion is lost: the CQ and the WQ that it is of have an event each, the other WQs none.
TEST_P(Rss, AWqWhoseCqOverrunsHasAFatalError) {
  TearDown();
  cqs[0] = b.world.cq(4);
  SetUp();
  const Flow all = flow(spreads.get(), FlowRequest().of_type(kLocal));
  write_frame(kNobody, kLocal);  // queue 0
  const int room = cqs[0]->cqe;
  ASSERT_LT(room, 60);
  for (int n = 0; n < room + 2; ++n) post(0, 8 * kPage);
  for (int n = 0; n < room; ++n) EXPECT_EQ(send(200), IBV_WC_SUCCESS);
  EXPECT_FALSE(has_event(b.world.context->async_fd));
  EXPECT_EQ(send(200), IBV_WC_SUCCESS);
  const ibv_async_event of_cq = take_whole_event(b.world.context.get());
  EXPECT_EQ(of_cq.event_type, IBV_EVENT_CQ_ERR);
  EXPECT_EQ(of_cq.element.cq, cqs[0].get());
  const ibv_async_event of_wq = take_whole_event(b.world.context.get());
  EXPECT_EQ(of_wq.event_type, IBV_EVENT_WQ_FATAL);
  EXPECT_EQ(of_wq.element.wq, wqs[0]);
  EXPECT_EQ(send(200), IBV_WC_SUCCESS) << "the sender does not notice";
  EXPECT_FALSE(has_event(b.world.context->async_fd));
  b.arena.accept(8 * kPage, 200);
}

// rules 3.6.
TEST_P(Rss, UnreadEventsGoWithTheirWq) {
  TearDown();
  cqs[0] = b.world.cq(4);
  SetUp();
  {
    const Flow all = flow(spreads.get(), FlowRequest().of_type(kLocal));
    write_frame(kNobody, kLocal);  // queue 0
    for (int n = 0; n < cqs[0]->cqe + 2; ++n) post(0, 8 * kPage);
    for (int n = 0; n < cqs[0]->cqe + 1; ++n) EXPECT_EQ(send(200), IBV_WC_SUCCESS);
  }
  EXPECT_EQ(take_event(b.world.context.get()), IBV_EVENT_CQ_ERR);
  pollfd ready{b.world.context->async_fd, POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, 10'000), 1) << "IBV_EVENT_WQ_FATAL";
  TearDown();
  EXPECT_FALSE(has_event(b.world.context->async_fd));
  SetUp();
  b.arena.accept(8 * kPage, 200);
}

TEST_P(Rss, TheQpHasNoQueuesAndNoState) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  EXPECT_EQ(ibv_query_qp(spreads.get(), &attr, IBV_QP_STATE, &init), EOPNOTSUPP);
  attr.qp_state = IBV_QPS_INIT;
  EXPECT_EQ(ibv_modify_qp(spreads.get(), &attr, IBV_QP_STATE), EOPNOTSUPP);
  std::array<ibv_sge, 1> list{b.arena.sge(0, 100)};
  ibv_send_wr wr = send_wr(IBV_WR_SEND, list), *bad = nullptr;
  EXPECT_EQ(ibv_post_send(spreads.get(), &wr, &bad), EINVAL);
  EXPECT_EQ(ibv_destroy_rwq_ind_table(table), EBUSY);
  const Flow all = flow(spreads.get(), FlowRequest().of_type(kIpv4));
  EXPECT_EQ(ibv_destroy_qp(spreads.get()), EBUSY);
  EXPECT_EQ(make(IBV_RX_HASH_IPSEC_SPI), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

RXNIC_ON_ONE_AND_TWO_NICS(Raw);
RXNIC_ON_ONE_AND_TWO_NICS(Rss);

}  // namespace
}  // namespace rxnic::live::raw_test
