// SPDX-License-Identifier: Apache-2.0
// R2, R8 and R9 of model/blocks/rx_parser.h: frames that are not RDMA, flows and RSS; checksums. Which flow takes a
// frame, and where a hash leads: flow_table_test.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "model/blocks/rx_parser.h"
#include "model/core/wire/icrc.h"
#include "model/core/wire/ip_offload.h"
#include "model/nic/nic_shared.h"
#include "model/types/flow.h"
#include "testbench/unit/ip_packets.h"
#include "testbench/unit/model/engine/harness.h"
#include "testbench/unit/request_packets.h"

namespace rxnic::rx_parser_steering_test {
namespace {

constexpr std::uint16_t kType = 0x88b5;

std::vector<std::uint8_t> foreign_frame(std::size_t bytes, std::uint16_t type = kType) {
  std::vector<std::uint8_t> frame(bytes);
  for (std::size_t n = 0; n < bytes; ++n) frame[n] = static_cast<std::uint8_t>(n * 3);
  frame[0] = 2;
  if (bytes >= 14) store_be16(&frame[12], type);
  return frame;
}

struct Fixture {
  explicit Fixture(Bench& b, const RxParserParams& params = {})
      : bench(b),
        shared(b.keep<NicShared>(PacketPool::Quotas{})),
        dut(b.add<RxParser>("dut", params, shared.packets, shared.ledger)),
        in(b.source(dut.in)),
        out(b.sink(dut.out)),
        commands(b.source(dut.commands)),
        done(b.sink(dut.command_done)) {}

  void push(std::uint64_t at, const std::vector<std::uint8_t>& bytes, bool cut_short = false,
            LinkLayer link = LinkLayer::kEthernet) {
    const PacketHandle h = shared.packets.allocate(PacketClass::kReceive);
    Packet& p = shared.packets[h];
    std::memcpy(p.frame.data(), bytes.data(), bytes.size());
    p.frame_bytes = static_cast<std::uint32_t>(bytes.size());
    p.link = link;
    p.id = 77;
    in.push(Cycle{at - 1}, {h, static_cast<std::uint16_t>(bytes.size()), link, false, cut_short});
  }
  // Frames of that EtherType go to the QP from cycle `at` on.
  void add_flow(std::uint64_t at, std::uint32_t number, Qpn qpn, std::uint16_t type = kType) {
    FlowMailbox m;
    store_be16(m.value.ether_type.data(), type);
    m.mask.ether_type = {0xff, 0xff};
    m.qpn = raw(qpn);
    command(at, SteeringOperation::kAddFlow, {}, number, m);
  }
  template <class Mailbox>
  void command(std::uint64_t at, SteeringOperation operation, Qpn qpn, std::uint32_t number, const Mailbox& mailbox) {
    SteeringCommand c;
    c.operation = operation;
    c.qpn = qpn;
    c.flow = number;
    std::memcpy(c.mailbox.data(), &mailbox, sizeof mailbox);
    commands.push(Cycle{at - 1}, c);
  }
  std::vector<Qpn> reached() const {
    std::vector<Qpn> all;
    for (std::size_t n = 0; n < out.size(); ++n) all.push_back(out.value(n).destination_qp);
    return all;
  }

  Bench& bench;
  NicShared& shared;
  RxParser& dut;
  Source<WireFrame>& in;
  Sink<ParsedPacket>& out;
  Source<SteeringCommand>& commands;
  Sink<SteeringReply>& done;
};

// In the cycle in which a packet of RDMA would leave.
TEST(RxParserSteering, AFrameGoesToItsFlowsQp) {
  for (const std::size_t bytes : {std::size_t{14}, std::size_t{64}, std::size_t{65}, std::size_t{4118}}) {
    Bench bench;
    RxParserParams params;
    params.header_cycles = 5;
    Fixture f(bench, params);
    f.add_flow(1, 1, Qpn{0x44});
    f.push(100, foreign_frame(bytes));
    bench.run();
    ASSERT_EQ(f.out.size(), 1u);
    EXPECT_EQ(f.out.cycle(0), Cycle{100 + (bytes + 63) / 64 - 1 + 5});
    const ParsedPacket& p = f.out.value(0);
    EXPECT_EQ(p.destination_qp, Qpn{0x44});
    EXPECT_EQ(p.opcode, opcode_of(Transport::kRaw, Operation::kSendOnly));
    EXPECT_EQ(p.payload_offset, 0u);
    EXPECT_EQ(p.payload_bytes, bytes);
    EXPECT_EQ(p.network_header, NetworkHeader::kNone);
    EXPECT_TRUE(p.icrc_ok);
    EXPECT_EQ(p.id, 77u);
    EXPECT_EQ(f.dut.counters().steered, 1u);
    EXPECT_EQ(f.dut.counters().passed, 1u);
    EXPECT_EQ(f.dut.counters().not_rdma, 0u);
    EXPECT_EQ(f.dut.counters().icrc_errors, 0u);
  }
}

TEST(RxParserSteering, WhatNoFlowTakesIsCountedAsBefore) {
  Bench bench;
  Fixture f(bench);
  f.push(10, foreign_frame(64));
  f.add_flow(50, 1, Qpn{0x44});
  f.push(100, foreign_frame(64, kType + 1));
  f.push(200, foreign_frame(64), true);
  f.push(300, foreign_frame(13));
  f.command(400, SteeringOperation::kRemoveFlow, {}, 1, FlowMailbox{});
  f.push(500, foreign_frame(64));
  bench.run();
  EXPECT_EQ(f.out.size(), 0u);
  EXPECT_EQ(f.dut.counters().not_rdma, 5u);
  EXPECT_EQ(f.dut.counters().steered, 0u);
  EXPECT_EQ(f.shared.packets.in_use(), 0u);
}

TEST(RxParserSteering, RdmaIsNoFlows) {
  Bench bench;
  Fixture f(bench);
  FlowMailbox all;
  all.kind = FlowKind::kAllDefault;
  all.qpn = 0x44;
  f.command(1, SteeringOperation::kAddFlow, {}, 1, all);
  const Headers h = request_headers(Encapsulation::kRoceV2Ipv4, Transport::kRc, Operation::kSendOnly, Psn{1});
  const PacketHandle handle = place_frame(f.shared, h, counting_bytes(4));
  const std::vector<std::uint8_t> bytes(f.shared.packets[handle].frame_view().begin(),
                                        f.shared.packets[handle].frame_view().end());
  f.shared.packets.release(handle);
  f.push(100, bytes);
  // The opcode by which the NIC itself marks a frame is none on the wire.
  std::vector<std::uint8_t> marked = bytes;
  marked[14 + 20 + 8] = opcode_of(Transport::kRaw, Operation::kSendOnly);
  f.push(200, marked);
  bench.run();
  EXPECT_EQ(f.reached(), std::vector{h.destination_qp});
  EXPECT_EQ(f.dut.counters().steered, 0u);
  EXPECT_EQ(f.shared.ledger.counters().dropped[static_cast<std::size_t>(DropReason::kVendorOpcode)], 1u);
}

TEST(RxParserSteering, AnRssQpHandsItsFramesOn) {
  Bench bench;
  Fixture f(bench);
  RssMailbox rss;
  rss.log_entries = 1;
  rss.qpns = {0x51, 0x52};
  rss.fields = 0;  // the hash of nothing is 0
  f.add_flow(1, 1, Qpn{0x44});
  f.command(10, SteeringOperation::kAddRss, Qpn{0x44}, 0, rss);
  f.push(100, foreign_frame(64));
  f.command(200, SteeringOperation::kRemoveRss, Qpn{0x44}, 0, rss);
  f.push(300, foreign_frame(64));
  bench.run();
  EXPECT_EQ(f.reached(), (std::vector{Qpn{0x51}, Qpn{0x44}}));
}

TEST(RxParserSteering, OneFlowOrContextMoreIsRefused) {  // (R8)
  Bench bench;
  RxParserParams params;
  params.flows = 2;
  params.rss_contexts = 1;
  Fixture f(bench, params);
  for (std::uint32_t n = 1; n <= 3; ++n) f.add_flow(10 * n, n, Qpn{n});
  f.command(40, SteeringOperation::kRemoveFlow, {}, 1, FlowMailbox{});
  f.add_flow(50, 4, Qpn{4});
  f.command(60, SteeringOperation::kAddRss, Qpn{1}, 0, RssMailbox{});
  f.command(70, SteeringOperation::kAddRss, Qpn{2}, 0, RssMailbox{});
  f.command(80, SteeringOperation::kRemoveRss, Qpn{1}, 0, RssMailbox{});
  f.command(90, SteeringOperation::kAddRss, Qpn{2}, 0, RssMailbox{});
  bench.run();
  std::vector<bool> ok;
  for (std::size_t n = 0; n < f.done.size(); ++n) ok.push_back(f.done.value(n).ok);
  EXPECT_EQ(ok, (std::vector{true, true, false, true, true, true, false, true, true}));
}

TEST(RxParserSteering, SaysWhetherTheChecksumsAreGood) {  // (R9)
  Bench bench;
  Fixture f(bench);
  f.add_flow(1, 1, Qpn{0x44}, kEtherTypeIpv4);
  PacketBytes frame = ip_packet({.protocol = kProtocolUdp});
  fill_checksums(frame, IpFraming::kEthernet);
  f.push(100, frame);
  ++frame.back();
  f.push(200, frame);
  PacketBytes datagram = ip_packet({.ipoib = true});
  fill_checksums(datagram, IpFraming::kIpoib);
  for (const Transport t : {Transport::kUd, Transport::kRc}) {
    Headers h = request_headers(Encapsulation::kRoceV2Ipv4, t, Operation::kSendOnly, Psn{1});
    std::vector<std::uint8_t> rdma(kMaxFrameBytes);
    rdma.resize(build(h, datagram, rdma));
    seal(rdma, h);
    f.push(t == Transport::kUd ? 300 : 400, rdma);
  }
  bench.run();
  ASSERT_EQ(f.out.size(), 4u);
  EXPECT_TRUE(f.out.value(0).checksums_ok);
  EXPECT_FALSE(f.out.value(1).checksums_ok);
  EXPECT_TRUE(f.out.value(2).checksums_ok) << "IP over InfiniBand";
  EXPECT_FALSE(f.out.value(3).checksums_ok) << "no datagram";
  EXPECT_EQ(f.dut.counters().checksums_ok, 2u);
  EXPECT_EQ(f.out.cycle(1).count - f.out.cycle(0).count, 100u) << "it takes no time of its own";
}

TEST(RxParserSteering, AFlowSaysWhatItHasCountedUntilItIsRemoved) {  // R8
  Bench bench;
  Fixture f(bench);
  f.add_flow(1, 1, Qpn{0x44});
  f.push(100, foreign_frame(64));
  f.push(200, foreign_frame(1000));
  f.push(300, foreign_frame(64, kType + 1));
  f.command(400, SteeringOperation::kReadFlow, {}, 1, FlowMailbox{});
  f.push(500, foreign_frame(64));
  f.command(600, SteeringOperation::kRemoveFlow, {}, 1, FlowMailbox{});
  f.command(700, SteeringOperation::kReadFlow, {}, 1, FlowMailbox{});
  bench.run();
  ASSERT_EQ(f.done.size(), 4u);
  EXPECT_EQ(f.done.value(0).packets, 0u);
  EXPECT_EQ(f.done.value(1).packets, 2u);
  EXPECT_EQ(f.done.value(1).bytes, 1064u);
  EXPECT_EQ(f.done.value(2).packets, 3u);
  EXPECT_EQ(f.done.value(2).bytes, 1128u);
  EXPECT_EQ(f.done.value(3).packets, 0u);
}

}  // namespace
}  // namespace rxnic::rx_parser_steering_test
