// SPDX-License-Identifier: Apache-2.0
// R17 of model/blocks/requester.h, R12 of core/requester/send_qp.h: TSO and checksums on RAW_PACKET and UD QPs.
#include <algorithm>

#include "testbench/unit/ip_packets.h"
#include "testbench/unit/model/blocks/requester_fixture.h"

namespace rxnic::requester_tso_test {
namespace {

using Fixture = RequesterFixture;
using Ends = std::vector<Fixture::Ended>;

SendQpContext context(Transport transport) {
  SendQpContext c = Fixture::context(transport);
  c.qp.mtu = transport == Transport::kRaw ? 4118 : 1024;
  if (transport == Transport::kRaw) c.path = {};
  return c;
}
WqeSpec tso(PacketBytes header, std::uint16_t mss, std::uint32_t bytes) {
  WqeSpec spec{.opcode = SendOpcode::kTso, .mss = mss, .header = std::move(header)};
  spec.address = Fixture::path();
  spec.remote_qpn = raw(Fixture::kPeer);
  spec.remote_qkey = 0x99;
  if (bytes > 0) spec.sge = {Fixture::segment(bytes)};
  return spec;
}
PacketBytes message_of(Fixture& f, std::size_t n, Transport transport) {
  if (transport == Transport::kUd) return f.payload(n);
  const Bytes frame = f.sent(n).frame_view();
  return {frame.begin(), frame.end()};
}

class RequesterTso : public testing::TestWithParam<Transport> {};

TEST_P(RequesterTso, EachSegmentIsAPacketOfItsOwn) {
  for (const bool v6 : {false, true}) {
    IpSpec s{.v6 = v6, .ipoib = GetParam() == Transport::kUd, .tcp_options = 12, .payload = 0};
    Bench bench;
    Fixture f(bench);
    f.create(context(GetParam()));
    f.post(10, {tso(ip_packet(s), 500, 1201)});
    bench.run();
    ASSERT_EQ(f.tx.size(), 3u);
    std::size_t at = 0;
    for (std::size_t n = 0; n < 3; ++n) {
      const PacketBytes p = message_of(f, n, GetParam());
      const std::size_t data = n == 2 ? 201 : 500;
      ASSERT_EQ(p.size(), s.payload_at() + data);
      const std::uint8_t* const ip = &p[s.ip_at()];
      EXPECT_EQ(load_be16(ip + (v6 ? 4 : 2)), p.size() - (v6 ? s.transport_at() : s.ip_at()));
      if (!v6) {
        EXPECT_EQ(load_be16(ip + 4), static_cast<std::uint16_t>(s.identification + n));
      }
      EXPECT_EQ(load_be32(&p[s.transport_at() + 4]), static_cast<std::uint32_t>(s.sequence + at));
      EXPECT_EQ(p[s.transport_at() + 13], n == 0 ? 0x90 : n == 1 ? 0x10 : 0x19);
      EXPECT_TRUE(has_good_checksums(p, s, p.size())) << n;
      for (std::size_t i = 0; i < data; ++i) ASSERT_EQ(p[s.payload_at() + i], Fixture::byte_at(at + i)) << n;
      at += data;
    }
    EXPECT_EQ(f.ended(), (Ends{{0, WcStatus::kSuccess}})) << "one completion, of all";
    EXPECT_EQ(f.completion(0).opcode, CqeOpcode::kTso);
    EXPECT_EQ(f.completion(0).bytes, 1201u);
    EXPECT_EQ(f.dut.counters().wqes, 1u);
    EXPECT_EQ(f.dut.counters().segments, 3u);
    EXPECT_EQ(f.dut.counters().checksums, 3u);
    EXPECT_EQ(f.dut.counters().payload_bytes, 1201 + 3 * s.payload_at()) << "each has a header";
  }
}

// The WQE comes with its doorbell in cycle 10. The second packet is made 3 cycles after the first, the others 2 apart.
// The payload of each is there 50 cycles after it was asked for, and the packet leaves 24 cycles later.
TEST_P(RequesterTso, ASegmentCostsWhatAPacketCosts) {
  Bench bench;
  Fixture f(bench);
  f.create(context(GetParam()));
  WqeSpec spec = tso(ip_packet({.ipoib = GetParam() == Transport::kUd, .payload = 0}), 100, 400);
  spec.sge = {Fixture::segment(400, 0x100)};  // from the beginning of a page
  f.post(10, {spec});
  bench.run();
  ASSERT_EQ(f.tx.size(), 4u);
  const std::uint64_t first = 10 + Fixture::kReadCycles + Fixture::kLatency;
  const std::uint64_t made[] = {0, 3, 5, 7};
  for (std::size_t n = 0; n < 4; ++n) EXPECT_EQ(f.tx.cycle(n).count, first + made[n]) << n;
  EXPECT_EQ(f.dut.counters().memory_reads, 4u) << "one for each segment, none for the WQE";
}

TEST_P(RequesterTso, AnotherHeaderIsRepeated) {
  PacketBytes header(40);
  for (std::size_t n = 0; n < header.size(); ++n) header[n] = static_cast<std::uint8_t>(n * 9 + 1);
  Bench bench;
  Fixture f(bench);
  f.create(context(GetParam()));
  f.post(10, {tso(header, 300, 450), tso(header, 300, 0)});
  bench.run();
  ASSERT_EQ(f.tx.size(), 3u);
  for (std::size_t n = 0; n < 3; ++n) {
    const PacketBytes p = message_of(f, n, GetParam());
    ASSERT_GE(p.size(), header.size());
    EXPECT_TRUE(std::equal(header.begin(), header.end(), p.begin())) << n;
    if (n == 0) {
      EXPECT_EQ(p[40], Fixture::byte_at(0));
    }
    if (n == 1) {
      EXPECT_EQ(p[40], Fixture::byte_at(300));
    }
  }
  EXPECT_EQ(f.ended(), (Ends{{0, WcStatus::kSuccess}, {1, WcStatus::kSuccess}}));
}

TEST_P(RequesterTso, WhatTheDeviceCannotCutFails) {
  RequesterParams params = Fixture::params();
  params.max_tso_bytes = 2000;
  const PacketBytes header = ip_packet({.ipoib = GetParam() == Transport::kUd, .payload = 0});
  const std::uint16_t most = static_cast<std::uint16_t>(context(GetParam()).qp.mtu - header.size());
  for (const auto& [spec, status] : {std::pair{tso(header, 100, 2000), WcStatus::kSuccess},
                                     std::pair{tso(header, 100, 2001), WcStatus::kLocalLength},
                                     std::pair{tso(header, most, 2000), WcStatus::kSuccess},
                                     std::pair{tso(header, 0, 2000), WcStatus::kLocalQpOperation},
                                     std::pair{tso({}, 100, 2000), WcStatus::kLocalQpOperation}}) {
    Bench bench;
    Fixture f(bench, params, 64);
    f.create(context(GetParam()));
    f.post(10, {spec});
    bench.run();
    EXPECT_EQ(f.ended(), (Ends{{0, status}})) << spec.mss << ' ' << spec.header.size();
    if (status != WcStatus::kSuccess) {
      EXPECT_EQ(f.tx.size(), 0u);
    }
  }
}

TEST_P(RequesterTso, DataThatIsNotMappedEndsTheMessage) {
  Bench bench;
  Fixture f(bench);
  f.create(context(GetParam()));
  WqeSpec spec = tso(ip_packet({.ipoib = GetParam() == Transport::kUd, .payload = 0}), 100, 300);
  spec.sge = {{300, 0xbad, Fixture::kVa}};
  f.post(10, {spec});
  bench.run();
  EXPECT_EQ(f.tx.size(), 0u);
  EXPECT_EQ(f.ended(), (Ends{{0, WcStatus::kLocalProtection}}));
}

TEST_P(RequesterTso, ChecksumsOfAMessageInMemory) {
  for (const std::uint8_t flags : {kSendSignaled, static_cast<SendFlag>(kSendSignaled | kSendChecksums)}) {
    const IpSpec s{.protocol = kProtocolUdp, .ipoib = GetParam() == Transport::kUd, .payload = 77};
    const PacketBytes message = ip_packet(s);
    Bench bench;
    Fixture f(bench);
    f.memory.write(BusAddress{0x200f00}, message);
    f.create(context(GetParam()));
    WqeSpec spec = tso({}, 0, static_cast<std::uint32_t>(message.size()));
    spec.opcode = SendOpcode::kSend;
    spec.flags = flags;
    f.post(10, {spec});
    bench.run();
    ASSERT_EQ(f.tx.size(), 1u);
    const PacketBytes p = message_of(f, 0, GetParam());
    const bool filled = (flags & kSendChecksums) != 0;
    EXPECT_EQ(has_good_checksums(p, s, p.size()), filled);
    if (!filled) {
      EXPECT_EQ(p, message);
    }
    EXPECT_EQ(f.dut.counters().checksums, filled ? 1u : 0u);
    EXPECT_EQ(f.dut.counters().segments, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, RequesterTso, testing::Values(Transport::kRaw, Transport::kUd),
                         [](const auto& of) { return of.param == Transport::kRaw ? "Raw" : "Ud"; });

}  // namespace
}  // namespace rxnic::requester_tso_test
