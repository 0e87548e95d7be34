// SPDX-License-Identifier: Apache-2.0
// Rules R1..R7 and R11 of model/blocks/rx_parser.h.
#include "model/blocks/rx_parser.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "model/nic/nic_shared.h"
#include "testbench/unit/model/engine/harness.h"
#include "testbench/unit/request_packets.h"

namespace rxnic::rx_parser_test {
namespace {

constexpr Encapsulation kV4 = Encapsulation::kRoceV2Ipv4;

Headers send_headers(Encapsulation e = kV4) { return request_headers(e, Transport::kRc, Operation::kSendOnly, Psn{1}); }

SteeringCommand attach(const Address& group, Qpn qpn) { return {SteeringOperation::kAttach, qpn, group, 0, {}}; }
SteeringCommand detach(const Address& group, Qpn qpn) { return {SteeringOperation::kDetach, qpn, group, 0, {}}; }

struct Fixture {
  explicit Fixture(Bench& b, const RxParserParams& params = {})
      : bench(b),
        shared(b.keep<NicShared>(PacketPool::Quotas{})),
        dut(b.add<RxParser>("dut", params, shared.packets, shared.ledger)),
        in(b.source(dut.in)),
        out(b.sink(dut.out)) {}

  // A packet as it comes from the wire: only its bytes are known.
  PacketHandle frame(const Headers& h, Bytes payload) {
    const PacketHandle handle = place_frame(shared, h, payload);
    shared.packets[handle].h = {};
    return handle;
  }
  PacketHandle raw_frame(const std::vector<std::uint8_t>& bytes) {
    const PacketHandle handle = shared.packets.allocate(PacketClass::kReceive);
    Packet& p = shared.packets[handle];
    std::memcpy(p.frame.data(), bytes.data(), bytes.size());
    p.frame_bytes = static_cast<std::uint32_t>(bytes.size());
    return handle;
  }
  Packet& operator[](PacketHandle h) { return shared.packets[h]; }
  WireFrame wire(PacketHandle h) const {
    const Packet& p = shared.packets[h];
    return {h, static_cast<std::uint16_t>(p.frame_bytes), p.link, false, false};
  }
  std::uint64_t dropped(DropReason r) const { return shared.ledger.counters().dropped[static_cast<std::size_t>(r)]; }
  // Runs one frame that must be dropped for `reason`.
  void expect_drop(PacketHandle h, DropReason reason) { expect_drop(wire(h), reason); }
  void expect_drop(const WireFrame& frame, DropReason reason) {
    in.push(Cycle{0}, frame);
    bench.run();
    EXPECT_EQ(out.size(), 0u);
    EXPECT_EQ(dropped(reason), 1u) << name_of(reason);
    EXPECT_EQ(shared.ledger.counters().seen, 1u);
    EXPECT_EQ(dut.counters().dropped, 1u);
    EXPECT_EQ(shared.packets.in_use(), 0u);
  }

  Bench& bench;
  NicShared& shared;
  RxParser& dut;
  Source<WireFrame>& in;
  Sink<ParsedPacket>& out;
};

TEST(RxParser, APacketLeavesHeaderCyclesAfterItsLastBeat) {
  for (const std::uint32_t header_cycles : {1u, 4u, 9u}) {
    for (const std::uint32_t payload : {0u, 6u, 7u, 70u, 1000u}) {  // 58 bytes of headers and ICRC
      RxParserParams params;
      params.header_cycles = header_cycles;
      Bench bench;
      Fixture fixture(bench, params);
      const PacketHandle h = fixture.frame(send_headers(), counting_bytes(payload));
      const std::uint64_t beats = (fixture[h].frame_bytes + 63) / 64;
      fixture.in.push(Cycle{9}, fixture.wire(h));  // accepted in cycle 10
      const std::uint64_t due = 10 + beats - 1 + header_cycles;
      bench.run_to(Cycle{due});  // the sink takes it one later
      EXPECT_EQ(fixture.out.size(), 0u);
      bench.run_to(Cycle{due + 1});
      ASSERT_EQ(fixture.out.size(), 1u);
      EXPECT_EQ(fixture.out.cycle(0), Cycle{due});
      EXPECT_EQ(fixture[h].stamped(Station::kRxParser), Cycle{due});
      EXPECT_EQ(fixture[h].taken(Station::kRxParser), Cycle{10});
    }
  }
}

TEST(RxParser, TheNextFrameFollowsTheLastBeatWithoutAGap) {
  Bench bench;
  Fixture fixture(bench);
  std::vector<std::uint64_t> expected;
  std::uint64_t start = 10;
  for (const std::uint32_t payload : {64u, 6u, 6u, 1024u, 0u, 128u}) {
    const PacketHandle h = fixture.frame(send_headers(), counting_bytes(payload));
    const std::uint64_t beats = (fixture[h].frame_bytes + 63) / 64;
    fixture.in.push(Cycle{9}, fixture.wire(h));
    expected.push_back(start + beats - 1 + 4);
    start += beats;
  }
  bench.run();
  ASSERT_EQ(fixture.out.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(fixture.out.cycle(i).count, expected[i]);
}

TEST(RxParser, ItsHeadersAndItsIcrcAreFound) {
  Bench bench;
  Fixture fixture(bench);
  const PacketHandle good = fixture.frame(send_headers(), counting_bytes(33));
  const PacketHandle bad = fixture.frame(send_headers(), counting_bytes(33));
  fixture[bad].frame[60] ^= 1;
  fixture.in.push(Cycle{0}, fixture.wire(good));
  fixture.in.push(Cycle{0}, fixture.wire(bad));
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);  // (R6) the checker drops the second
  EXPECT_EQ(fixture.out.value(0).buffer, good);
  EXPECT_TRUE(fixture.out.value(0).icrc_ok);
  EXPECT_FALSE(fixture.out.value(1).icrc_ok);
  EXPECT_EQ(fixture.out.value(0).payload_bytes, 33);
  EXPECT_EQ(fixture.out.value(0).destination_qp, kTestQpn);
  EXPECT_EQ(fixture.dut.counters().icrc_errors, 1u);
  EXPECT_EQ(fixture.shared.ledger.counters().seen, 2u);
}

// The fields that the transport checker uses are those of the headers.
void expect_each_field(bool decoded) {
  struct Row {
    Transport transport;
    Operation operation;
  };
  for (const Row row : {Row{Transport::kRc, Operation::kWriteOnlyImm}, Row{Transport::kRc, Operation::kCompareSwap},
                        Row{Transport::kUd, Operation::kSendOnlyImm}, Row{Transport::kXrc, Operation::kSendOnly},
                        Row{Transport::kRc, Operation::kAtomicAck}, Row{Transport::kRc, Operation::kAtomicWrite}}) {
    for (const Encapsulation e : {kV4, Encapsulation::kRoceV2Ipv6, Encapsulation::kRoceV1, Encapsulation::kIbLocal}) {
      Bench bench;
      Fixture fixture(bench);
      Headers h = request_headers(e, row.transport, row.operation, Psn{0x123456});
      h.ack_request = h.solicited = true;
      h.pkey = 0x8123;
      h.va = 0x1122334455667788;
      h.rkey = Key{0x4200};
      h.length = 777;
      h.swap_add = 0x1111;
      h.compare = 0x2222;
      h.original = 0x3333;
      h.syndrome = 0x1f;
      h.qkey = 0x44;
      h.immediate = 0x55;
      h.xrc_srq = Srqn{0x66};
      const PacketHandle at = fixture.frame(h, counting_bytes(8));
      fixture[at].scratch.fill(0xee);
      fixture[at].id = 9;
      fixture[at].posted = Cycle{3};
      fixture[at].stamp(Station::kWire, Cycle{4});
      Headers parsed;  // zero where there is no such header
      ASSERT_EQ(parse(fixture[at].frame_view(), fixture[at].link, parsed), ParseStatus::kOk);
      if (decoded) {  // (R11) nobody looks at the frame's headers and checksums
        fixture[at].decoded = true;
        fixture[at].h = parsed;
        std::fill_n(fixture[at].frame.begin(), parsed.bth_offset, std::uint8_t{0});
        fixture[at].frame[parsed.icrc_offset] ^= 1;
      }
      fixture.in.push(Cycle{9}, fixture.wire(at));
      bench.run();
      ASSERT_EQ(fixture.out.size(), 1u);
      const ParsedPacket& p = fixture.out.value(0);
      const bool v4 = e == kV4;
      EXPECT_EQ(p.network_header, v4                             ? NetworkHeader::kIpv4
                                  : e == Encapsulation::kIbLocal ? NetworkHeader::kNone
                                                                 : NetworkHeader::kGrh);
      EXPECT_TRUE(p.icrc_ok);
      EXPECT_EQ(p.network_offset, parsed.network_offset);
      EXPECT_EQ(p.payload_offset, parsed.payload_offset);
      EXPECT_EQ(p.payload_bytes, parsed.payload_bytes);
      EXPECT_EQ(p.source, parsed.source);
      EXPECT_EQ(p.destination, parsed.destination);
      EXPECT_EQ(p.source_lid, parsed.source_lid);
      EXPECT_EQ(p.service_level, v4                                ? 0xa
                                 : e == Encapsulation::kRoceV2Ipv6 ? 0x9
                                 : e == Encapsulation::kRoceV1     ? 0
                                                                   : parsed.service_level);
      EXPECT_EQ(p.opcode, parsed.opcode);
      EXPECT_TRUE(p.solicited && p.ack_request);
      EXPECT_EQ(p.pkey, 0x8123u);
      EXPECT_EQ(p.destination_qp, kTestQpn);
      EXPECT_EQ(p.psn, Psn{0x123456});
      EXPECT_EQ(p.syndrome, parsed.syndrome);
      EXPECT_EQ(p.va, parsed.va);
      EXPECT_EQ(p.rkey, parsed.rkey);
      EXPECT_EQ(p.length, parsed.length);
      if (row.operation == Operation::kAtomicWrite) {
        EXPECT_EQ(std::memcmp(&p.swap_add, counting_bytes(8).data(), 8), 0);
      } else {
        EXPECT_EQ(p.swap_add, parsed.swap_add);
      }
      EXPECT_EQ(p.compare, parsed.compare);
      if (row.operation == Operation::kAtomicAck) {
        EXPECT_EQ(std::memcmp(fixture.shared.packets[p.buffer].scratch.data(), &parsed.original, kAtomicBytes), 0);
      }
      EXPECT_EQ(p.qkey, parsed.qkey);
      EXPECT_EQ(p.source_qp, parsed.source_qp);
      EXPECT_EQ(p.immediate, parsed.immediate);
      EXPECT_EQ(p.xrc_srq, parsed.xrc_srq);
      EXPECT_EQ(p.id, 9u);
      EXPECT_EQ(p.posted, Cycle{3});
      EXPECT_EQ(p.arrived, Cycle{4});
    }
  }
}

TEST(RxParser, EachFieldIsReported) { expect_each_field(false); }

TEST(RxParser, EachFieldOfADecodedFrameIsReported) { expect_each_field(true); }

// (R11) Whose frame it is was not looked at before.
TEST(RxParser, TheAddressesOfADecodedFrameAreJudged) {
  for (const DropReason reason : {DropReason::kDestinationAddress, DropReason::kQpnZero}) {
    Bench bench;
    Fixture fixture(bench);
    Headers h = send_headers();
    if (reason == DropReason::kQpnZero) h.destination_qp = Qpn{0};
    const PacketHandle at = fixture.frame(h, counting_bytes(8));
    ASSERT_EQ(parse(fixture[at].frame_view(), fixture[at].link, fixture[at].h), ParseStatus::kOk);
    fixture[at].decoded = true;
    if (reason == DropReason::kDestinationAddress) {
      ASSERT_TRUE(fixture.dut.add_address(Address::ipv4(1)));
    }
    fixture.expect_drop(at, reason);
  }
}

TEST(RxParser, OtherProtocolsAreCountedAndNotDropped) {
  Bench bench;
  Fixture fixture(bench);
  std::vector<std::uint8_t> arp(60, 0);
  arp[12] = 0x08;
  arp[13] = 0x06;
  const PacketHandle h = fixture.raw_frame(arp);
  WireFrame cut = fixture.wire(h);
  cut.cut_short = true;  // (R2) whatever else is wrong with it
  fixture.in.push(Cycle{0}, cut);
  bench.run();
  EXPECT_EQ(fixture.dut.counters().not_rdma, 1u);
  EXPECT_EQ(fixture.shared.ledger.counters().not_rdma, 1u);
  EXPECT_EQ(fixture.shared.ledger.counters().dropped_total(), 0u);
  EXPECT_EQ(fixture.shared.packets.in_use(), 0u);
}

TEST(RxParser, WhatTheCaptureCutShortIsDropped) {
  Bench bench;
  Fixture fixture(bench);
  const PacketHandle h = fixture.frame(send_headers(), counting_bytes(200));
  fixture[h].frame_bytes = 90;
  WireFrame cut = fixture.wire(h);
  cut.cut_short = true;
  fixture.expect_drop(cut, DropReason::kTruncatedInCapture);
}

TEST(RxParser, TooLongIsDropped) {
  Bench bench;
  Fixture fixture(bench);
  const PacketHandle h = fixture.frame(send_headers(), counting_bytes(8));
  WireFrame longer = fixture.wire(h);
  longer.too_long = longer.cut_short = true;
  fixture.expect_drop(longer, DropReason::kTooLong);
}

TEST(RxParser, TooShortIsDropped) {
  Bench bench;
  Fixture fixture(bench);
  const PacketHandle h = fixture.frame(send_headers(), {});
  fixture[h].frame_bytes = 14 + 20 + 8 + 12;  // no ICRC
  fixture.expect_drop(h, DropReason::kTooShort);
}

TEST(RxParser, ALengthThatDisagreesIsDropped) {
  Bench bench;
  Fixture fixture(bench);
  const PacketHandle h = fixture.frame(send_headers(), counting_bytes(64));
  fixture[h].frame_bytes -= 4;
  fixture.expect_drop(h, DropReason::kBadLength);
}

TEST(RxParser, AFragmentIsDropped) {
  Bench bench;
  Fixture fixture(bench);
  const PacketHandle h = fixture.frame(send_headers(), counting_bytes(64));
  fixture[h].frame[14 + 6] = 0x20;  // more fragments
  fixture.expect_drop(h, DropReason::kFragment);
}

TEST(RxParser, AWrongIpv4HeaderChecksumIsDropped) {  // (R3) before its address is looked at
  Bench bench;
  Fixture fixture(bench);
  fixture.dut.add_address(Address::ipv4(0x0a00004d));
  const PacketHandle h = fixture.frame(send_headers(), {});
  fixture[h].frame[14 + 8] ^= 1;  // TTL: masked in the ICRC
  fixture.expect_drop(h, DropReason::kIpChecksum);
}

TEST(RxParser, AWrongUdpChecksumIsDropped) {  // (R3) before its address is looked at; 0 is none
  for (const std::uint16_t checksum : {0, 1}) {
    Bench bench;
    Fixture fixture(bench);
    fixture.dut.add_address(Address::ipv4(0x0a00004d));
    Headers headers = send_headers();
    headers.udp_checksum = checksum;
    const PacketHandle h = fixture.frame(headers, counting_bytes(64));
    fixture.expect_drop(h, checksum == 0 ? DropReason::kDestinationAddress : DropReason::kUdpChecksum);
  }
}

TEST(RxParser, AManufacturersOpcodeIsDropped) {
  for (const std::uint8_t opcode : {0xc0, 0xc4, 0xff}) {
    Bench bench;
    Fixture fixture(bench);
    const PacketHandle h = fixture.frame(send_headers(), counting_bytes(64));
    fixture[h].frame[14 + 20 + 8] = opcode;
    fixture.expect_drop(h, DropReason::kVendorOpcode);
  }
}

TEST(RxParser, APadThatIsLongerThanThePayloadIsDropped) {
  Bench bench;
  Fixture fixture(bench);
  const PacketHandle h = fixture.frame(send_headers(), {});
  fixture[h].frame[14 + 20 + 8 + 1] |= 0x30;
  fixture.expect_drop(h, DropReason::kPad);
}

TEST(RxParser, AnIpv6ExtensionHeaderIsDropped) {
  Bench bench;
  Fixture fixture(bench);
  const PacketHandle h = fixture.frame(send_headers(Encapsulation::kRoceV2Ipv6), counting_bytes(64));
  Packet& p = fixture[h];
  std::memmove(&p.frame[62], &p.frame[54], p.frame_bytes - 54);
  std::memset(&p.frame[54], 0, 8);
  p.frame[20] = 60;  // destination options
  p.frame[54] = 17;
  p.frame_bytes += 8;
  fixture.expect_drop(h, DropReason::kExtensionHeader);
}

TEST(RxParser, AWrongVcrcIsDropped) {  // (R3)
  Bench bench;
  Fixture fixture(bench);
  const PacketHandle h =
      fixture.frame(request_headers(Encapsulation::kIbLocal, Transport::kRc, Operation::kSendOnly, Psn{1}), {});
  fixture[h].frame[fixture[h].frame_bytes - 1] ^= 1;
  fixture.expect_drop(h, DropReason::kVcrc);
}

TEST(RxParser, AnUnknownOpcodeIsDropped) {
  Bench bench;
  Fixture fixture(bench);
  const PacketHandle h = fixture.frame(send_headers(), counting_bytes(64));
  fixture[h].frame[14 + 20 + 8] = 0x1e;
  fixture.expect_drop(h, DropReason::kUnknownOpcode);
}

TEST(RxParser, MissingHeadersAreDropped) {
  Bench bench;
  Fixture fixture(bench);
  const PacketHandle h = fixture.frame(send_headers(), counting_bytes(4));
  fixture[h].frame[14 + 20 + 8] = opcode_of(Transport::kRc, Operation::kWriteOnly);  // needs 16 bytes of RETH
  fixture.expect_drop(h, DropReason::kMissingHeaders);
}

TEST(RxParser, AnotherTransportVersionIsDropped) {
  Bench bench;
  Fixture fixture(bench);
  Headers h = send_headers();
  h.version = 1;
  fixture.expect_drop(fixture.frame(h, {}), DropReason::kVersion);
}

TEST(RxParser, QpnZeroIsDropped) {
  Bench bench;
  Fixture fixture(bench);
  Headers h = send_headers();
  h.destination_qp = Qpn{0};
  fixture.expect_drop(fixture.frame(h, {}), DropReason::kQpnZero);
}

TEST(RxParser, AnAddressOfSomebodyElseIsDroppedFirst) {
  Bench bench;
  Fixture fixture(bench);
  fixture.dut.add_address(Address::ipv4(0x0a000099));
  Headers h = send_headers();
  h.version = 1;
  h.destination_qp = Qpn{0};
  fixture.expect_drop(fixture.frame(h, {}), DropReason::kDestinationAddress);
}

TEST(RxParser, TheFirstCauseIsTheReason) {  // TVER before QPN
  Bench bench;
  Fixture fixture(bench);
  Headers h = send_headers();
  h.version = 1;
  h.destination_qp = Qpn{0};
  fixture.expect_drop(fixture.frame(h, {}), DropReason::kVersion);
}

TEST(RxParser, EachOwnAddressIsAccepted) {
  Bench bench;
  Fixture fixture(bench);
  for (const Encapsulation e : {kV4, Encapsulation::kIbLocal}) {
    fixture.dut.add_address(send_headers(e).destination);
  }
  for (const Encapsulation e : {kV4, Encapsulation::kRoceV2Ipv6, Encapsulation::kIbLocal}) {
    fixture.in.push(Cycle{0}, fixture.wire(fixture.frame(send_headers(e), counting_bytes(5))));
  }
  bench.run();
  EXPECT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.dropped(DropReason::kDestinationAddress), 1u);
}

TEST(RxParser, OneAddressOrGroupMoreIsRefused) {  // (R8)
  Bench bench;
  RxParserParams params;
  params.own_addresses = 4;
  auto& shared = bench.keep<NicShared>(PacketPool::Quotas{});
  auto& dut = bench.add<RxParser>("dut", params, shared.packets, shared.ledger);
  for (std::uint32_t n = 0; n < 2; ++n) EXPECT_TRUE(dut.add_address(Address::ipv4(0x0a000001 + n)));
  for (std::uint32_t n = 0; n < 2; ++n) EXPECT_TRUE(dut.attach_multicast(Address::ipv4(0xe0000001 + n), Qpn{n}));
  EXPECT_FALSE(dut.attach_multicast(Address::ipv4(0xe0000009), Qpn{9}));
  EXPECT_FALSE(dut.add_address(Address::ipv4(0x0a000009)));
  EXPECT_FALSE(dut.attach_multicast(Address::ipv4(0xe0000001), Qpn{5})) << "one more QP";
  EXPECT_TRUE(dut.attach_multicast(Address::ipv4(0xe0000001), Qpn{0})) << "it is already";
  auto& commands = bench.source(dut.commands);
  auto& done = bench.sink(dut.command_done);
  commands.push(Cycle{10}, detach(Address::ipv4(0xe0000002), Qpn{1}));
  bench.at(Cycle{20}, [&](Cycle) { EXPECT_TRUE(dut.add_address(Address::ipv4(0x0a000009))); });
  commands.push(Cycle{30}, attach(Address::ipv4(0xe0000002), Qpn{9}));
  bench.at(Cycle{40}, [&](Cycle) { dut.remove_address(Address::ipv4(0x0a000009)); });
  commands.push(Cycle{50}, attach(Address::ipv4(0xe0000002), Qpn{9}));
  bench.run();
  ASSERT_EQ(done.size(), 3u);
  EXPECT_TRUE(done.value(0).ok);
  EXPECT_FALSE(done.value(1).ok);
  EXPECT_TRUE(done.value(2).ok);
}

Headers multicast_headers() {
  Headers h = request_headers(kV4, Transport::kUd, Operation::kSendOnly, Psn{1});
  h.destination = Address::ipv4(0xe0000005);
  h.destination_qp = kMulticastQpn;
  return h;
}

TEST(RxParser, MulticastWithoutAQpIsDropped) {
  Bench bench;
  Fixture fixture(bench);
  fixture.dut.add_address(Address::ipv4(0x0a000002));
  fixture.expect_drop(fixture.frame(multicast_headers(), {}), DropReason::kMulticastNotAttached);
}

// A parser with three QPs in the group of multicast_headers(), and one in another.
struct GroupFixture : Fixture {
  explicit GroupFixture(Bench& b) : Fixture(b) {
    dut.add_address(Address::ipv4(0x0a000002));
    dut.attach_multicast(Address::ipv4(0xe0000004), Qpn{0x1});
    for (const Qpn qpn : {Qpn{0x44}, Qpn{0x2}, Qpn{0x7}, Qpn{0x44}}) dut.attach_multicast(group, qpn);
  }
  std::vector<Qpn> reached() const {
    std::vector<Qpn> list;
    for (std::size_t n = 0; n < out.size(); ++n) list.push_back(out.value(n).destination_qp);
    return list;
  }
  const Address group = Address::ipv4(0xe0000005);
};

TEST(RxParser, EachQpOfAGroupGetsACopyForItsBeats) {  // R5
  Bench bench;
  GroupFixture fixture(bench);
  const PacketHandle h = fixture.frame(multicast_headers(), counting_bytes(400));
  fixture[h].id = 17;
  fixture[h].scratch.fill(0xee);
  const std::uint64_t beats = (fixture[h].frame_bytes + 63) / 64;
  fixture.in.push(Cycle{9}, fixture.wire(h));
  const PacketHandle next = fixture.frame(send_headers(), counting_bytes(4));
  fixture.in.push(Cycle{9}, fixture.wire(next));
  bench.run();
  ASSERT_EQ(fixture.reached(), (std::vector{Qpn{0x44}, Qpn{0x2}, Qpn{0x7}, kTestQpn}));
  for (std::uint64_t n = 0; n < 3; ++n) {
    const ParsedPacket& p = fixture.out.value(n);
    const Packet& bytes = fixture[p.buffer];
    EXPECT_EQ(fixture.out.cycle(n).count, 10 + (n + 1) * beats - 1 + 4);
    EXPECT_EQ(bytes.taken(Station::kRxParser).count, 10 + n * beats);
    EXPECT_TRUE(std::ranges::equal(bytes.frame_view(), fixture[h].frame_view()));
    EXPECT_EQ(bytes.scratch[19], 0) << "its GRH area is made";
    EXPECT_EQ(bytes.scratch[20], 0x45);
    EXPECT_EQ(bytes.id, 17u);
    EXPECT_TRUE(p.icrc_ok);
    EXPECT_EQ(p.payload_bytes, 400);
  }
  EXPECT_NE(fixture.out.value(0).buffer, fixture.out.value(1).buffer);
  EXPECT_EQ(fixture.out.value(2).buffer, h);
  EXPECT_EQ(fixture.out.cycle(3).count, 10 + 3 * beats + 4);
  EXPECT_EQ(fixture.dut.counters().copies, 2u);
  EXPECT_EQ(fixture.dut.counters().packets, 4u);
  EXPECT_EQ(fixture.shared.ledger.counters().seen, 4u);
}

TEST(RxParser, WhoIsAttachedWhenTheFrameIsTakenGetsACopy) {  // R5
  Bench bench;
  GroupFixture fixture(bench);
  auto& commands = bench.source(fixture.dut.commands);
  bench.sink(fixture.dut.command_done);
  fixture.in.push(Cycle{9}, fixture.wire(fixture.frame(multicast_headers(), counting_bytes(400))));
  fixture.in.push(Cycle{9}, fixture.wire(fixture.frame(multicast_headers(), counting_bytes(400))));
  commands.push(Cycle{10}, detach(fixture.group, Qpn{0x2}));
  commands.push(Cycle{11}, attach(fixture.group, Qpn{0x3}));
  bench.run();
  EXPECT_EQ(fixture.reached(), (std::vector{Qpn{0x44}, Qpn{0x2}, Qpn{0x7}, Qpn{0x44}, Qpn{0x7}, Qpn{0x3}}));
}

TEST(RxParser, ACopyWaitsForAPacketBuffer) {  // R5
  Bench bench;
  GroupFixture fixture(bench);
  fixture.in.push(Cycle{9}, fixture.wire(fixture.frame(multicast_headers(), counting_bytes(4))));
  std::vector<PacketHandle> taken;
  while (fixture.shared.packets.available(PacketClass::kReceive)) {
    taken.push_back(fixture.shared.packets.allocate(PacketClass::kReceive));
  }
  bench.at(Cycle{50}, [&](Cycle) { fixture.shared.packets.release(taken[0]); });
  bench.at(Cycle{90}, [&](Cycle) { fixture.shared.packets.release(taken[1]); });
  bench.run();
  ASSERT_EQ(fixture.reached(), (std::vector{Qpn{0x44}, Qpn{0x2}, Qpn{0x7}}));
  EXPECT_GE(fixture.out.cycle(0), Cycle{50});
  EXPECT_LT(fixture.out.cycle(0), Cycle{60});
  EXPECT_GE(fixture.out.cycle(1), Cycle{90});
}

TEST(RxParser, AMulticastAddressWithAnOrdinaryQpnIsForSomebodyElse) {
  Bench bench;
  Fixture fixture(bench);
  fixture.dut.add_address(Address::ipv4(0x0a000002));
  Headers h = multicast_headers();
  h.destination_qp = kTestQpn;
  fixture.expect_drop(fixture.frame(h, {}), DropReason::kDestinationAddress);
}

TEST(RxParser, ACnpGoesOn) {
  Bench bench;
  Fixture fixture(bench);
  Headers h = send_headers();
  h.opcode = kOpcodeCnp;
  fixture.in.push(Cycle{0}, fixture.wire(fixture.frame(h, {})));
  bench.run();
  EXPECT_EQ(fixture.out.size(), 1u);
}

TEST(RxParser, CongestionMarksAreCounted) {
  Bench bench;
  Fixture fixture(bench);
  Headers h = send_headers();
  h.traffic_class |= 3;
  fixture.in.push(Cycle{0}, fixture.wire(fixture.frame(h, {})));
  fixture.in.push(Cycle{0}, fixture.wire(fixture.frame(send_headers(), {})));
  bench.run();
  EXPECT_EQ(fixture.dut.counters().ecn_marked, 1u);
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_TRUE(fixture.out.value(0).congested);
  EXPECT_FALSE(fixture.out.value(1).congested);
}

TEST(RxParser, ADropLeavesWhenItsPacketWouldHaveLeftAndNeedsNoRoom) {  // (R7)
  Bench bench;
  Fixture fixture(bench);
  Headers bad = send_headers();
  bad.version = 1;
  const PacketHandle h = fixture.frame(bad, counting_bytes(100));  // 3 beats
  fixture.out.accept_when([](Cycle) { return false; });
  fixture.in.push(Cycle{9}, fixture.wire(h));
  bench.run_to(Cycle{10 + 2 + 4 - 1});
  EXPECT_EQ(fixture.dropped(DropReason::kVersion), 0u);
  bench.run_to(Cycle{10 + 2 + 4});
  EXPECT_EQ(fixture.dropped(DropReason::kVersion), 1u);
}

TEST(RxParser, EveryCycleIsAccountedFor) {
  Bench bench;
  auto& shared = bench.keep<NicShared>(PacketPool::Quotas{});
  auto& dut = bench.add<RxParser>("dut", RxParserParams{}, shared.packets, shared.ledger);
  auto& in = bench.source(dut.in);
  auto& out = bench.sink(dut.out, 1);
  out.stall(Cycle{0}, Cycle{41});
  for (int i = 0; i < 2; ++i) {
    const PacketHandle h = place_frame(shared, send_headers(), {});
    in.push(Cycle{9},
            {h, static_cast<std::uint16_t>(shared.packets[h].frame_bytes), LinkLayer::kEthernet, false, false});
  }
  bench.at(Cycle{100}, [](Cycle) {});
  bench.run();
  dut.settle(Cycle{100});
  const CycleAccount& account = dut.account();
  const auto spent = [&](Activity a) { return account[static_cast<std::size_t>(a)]; };
  // 58 bytes: one beat each, taken in 10 and 11. The first leaves in 14. The second finds the link full from 15 until
  // the pop of cycle 41 makes room for cycle 42.
  EXPECT_EQ(spent(Activity::kBusy), 5u);
  EXPECT_EQ(spent(Activity::kBlocked), 27u);
  EXPECT_EQ(spent(Activity::kStarved), 100u - 32u);
}

TEST(RxParser, EveryEncapsulationIsUnderstood) {
  Bench bench;
  Fixture fixture(bench);
  for (const Encapsulation e :
       {kV4, Encapsulation::kRoceV2Ipv6, Encapsulation::kRoceV1, Encapsulation::kIbLocal, Encapsulation::kIbGlobal}) {
    fixture.in.push(Cycle{0}, fixture.wire(fixture.frame(send_headers(e), counting_bytes(21))));
  }
  bench.run();
  ASSERT_EQ(fixture.out.size(), 5u);
  for (const ParsedPacket& p : fixture.out.values()) {
    EXPECT_TRUE(p.icrc_ok);
    EXPECT_EQ(p.payload_bytes, 21);
  }
}

TEST(RxParser, ModesAgreeOnRandomFrames) {
  const std::uint64_t seed = test_seed(11);
  expect_equal_in_all_modes([seed](Bench& bench) {
    std::mt19937_64 random(seed);
    RxParserParams params;
    params.header_cycles = 1 + random() % 6;
    Fixture fixture(bench, params);
    fixture.dut.add_address(send_headers().destination);
    const std::uint64_t slow = 1 + random() % 12;
    fixture.out.accept_when([slow](Cycle c) { return c.count / 8 % slow < 2; });
    fixture.out.on_value([&fixture](Cycle, const ParsedPacket& p) { fixture.shared.packets.release(p.buffer); });
    std::uint64_t cycle = 0;
    for (int i = 0; i < 400; ++i) {
      Headers h = send_headers(random() % 5 == 0 ? Encapsulation::kRoceV2Ipv6 : kV4);
      const PacketHandle handle = fixture.frame(h, counting_bytes(random() % 1500));
      for (std::uint64_t flips = random() % 3; flips > 0; --flips) {
        fixture[handle].frame[random() % fixture[handle].frame_bytes] ^= static_cast<std::uint8_t>(1 << random() % 8);
      }
      cycle += random() % 3 == 0 ? random() % 60 : 0;
      fixture.in.push(Cycle{cycle}, fixture.wire(handle));
    }
    bench.run();
    const LedgerCounters& c = fixture.shared.ledger.counters();
    EXPECT_EQ(c.seen, 400u);
    EXPECT_EQ(fixture.dut.counters().passed + c.dropped_total() + c.not_rdma, 400u);
    EXPECT_EQ(fixture.shared.packets.in_use(), 0u);
    EXPECT_GT(fixture.dut.counters().passed, 100u);
    StateHash h;
    fixture.shared.ledger.hash(h);
    h.mix(bench.state_hash());
    return h.value();
  });
}

TEST(RxParser, GroupsComeAndGoByCommand) {
  Bench bench;
  Fixture fixture(bench);
  auto& commands = bench.source(fixture.dut.commands);
  auto& done = bench.sink(fixture.dut.command_done);
  const Address group = Address::ipv4(0xe0000005);
  commands.push(Cycle{0}, attach(group, Qpn{0x44}));
  commands.push(Cycle{500}, detach(group, Qpn{0x44}));
  fixture.in.push(Cycle{100}, fixture.wire(fixture.frame(multicast_headers(), counting_bytes(4))));
  fixture.in.push(Cycle{1000}, fixture.wire(fixture.frame(multicast_headers(), counting_bytes(4))));
  bench.run();
  EXPECT_EQ(done.size(), 2u);
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.value(0).destination_qp, Qpn{0x44});
  EXPECT_EQ(fixture.dropped(DropReason::kMulticastNotAttached), 1u);
}

}  // namespace
}  // namespace rxnic::rx_parser_test
