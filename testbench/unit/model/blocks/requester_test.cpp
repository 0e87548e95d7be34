// SPDX-License-Identifier: Apache-2.0
// Rules R1..R10 of model/blocks/requester.h: time, order, turns. Errors are in requester_errors_test.cpp.
#include "model/blocks/requester.h"

#include "testbench/unit/model/blocks/requester_fixture.h"

namespace rxnic::requester_test {
namespace {

using S = SendOpcode;
using Fixture = RequesterFixture;
using Psns = std::vector<std::uint32_t>;
constexpr std::uint32_t kReadCycles = Fixture::kReadCycles, kLatency = Fixture::kLatency;

// Expects that the first packet of a doorbell taken in cycle 10 leaves in cycle `expected`, not before.
void expect_first_packet(const std::vector<WqeSpec>& specs, std::uint64_t expected,
                         const RequesterParams& params = Fixture::params()) {
  Bench bench;
  Fixture fixture(bench, params);
  fixture.create(Fixture::context());
  fixture.post(10, specs);
  bench.run_to(Cycle{expected});
  EXPECT_EQ(fixture.tx.size(), 0u);  // the sink sees a packet one cycle after it left
  bench.run_to(Cycle{expected + 1});
  ASSERT_EQ(fixture.tx.size(), 1u);
  EXPECT_EQ(fixture.tx.cycle(0), Cycle{expected});
  EXPECT_EQ(fixture.sent(0).posted, Cycle{9});
}

TEST(Requester, AShortWqeAloneComesWithItsDoorbell) {  // (R1)
  expect_first_packet({inline_send(32)}, 10 + kLatency);
  expect_first_packet({{.opcode = S::kRead, .sge = {Fixture::segment(64)}}}, 10 + kLatency);
}

TEST(Requester, ItsPayloadIsRead) {  // (R1)
  expect_first_packet({{.sge = {Fixture::segment(64)}}}, 10 + kReadCycles + kLatency);
}

TEST(Requester, SeveralWqesAreRead) {  // (R1)
  expect_first_packet({inline_send(), inline_send()}, 10 + kReadCycles + kLatency);
}

TEST(Requester, WqesAndTheirPayloadAreReadOneAfterTheOther) {  // (R1)
  expect_first_packet({{.sge = {Fixture::segment(64)}}, {.sge = {Fixture::segment(64)}}},
                      10 + 2 * kReadCycles + kLatency);
}

TEST(Requester, AWqeThatDidNotComeWithItsDoorbellIsRead) {  // (R1)
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context());
  const SendQueueContext sq = Fixture::context().queue;
  fixture.memory.write(sq.base, wqe_bytes(inline_send(), sq.stride));
  fixture.ring(10, 1);
  bench.run();
  ASSERT_EQ(fixture.tx.size(), 1u);
  EXPECT_EQ(fixture.tx.cycle(0), Cycle{10 + kReadCycles + kLatency});
  EXPECT_EQ(fixture.wqe_reads.log().size(), 1u);
}

TEST(Requester, AWqeOfWhichOnlyAPartCameIsRead) {  // (R1)
  for (const bool all : {true, false}) {
    Bench bench;
    Fixture fixture(bench);
    fixture.create(Fixture::context());
    const SendQueueContext sq = Fixture::context().queue;
    fixture.memory.write(sq.base, wqe_bytes(inline_send(32), sq.stride));
    fixture.ring(10, 1, Fixture::kQpn, all ? 64 + 32 : 64 + 31);
    bench.run();
    ASSERT_EQ(fixture.tx.size(), 1u);
    EXPECT_EQ(fixture.wqe_reads.log().size(), all ? 0u : 1u);
  }
}

// The program has rung twice, and its second doorbell was seen.
TEST(Requester, OfTwoWqesNoneCameWithTheDoorbell) {  // (R1)
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context());
  const SendQueueContext sq = Fixture::context().queue;
  for (std::uint32_t n = 0; n < 2; ++n) {
    fixture.memory.write(sq.base + std::uint64_t{n} * sq.stride, wqe_bytes(inline_send(), sq.stride));
  }
  fixture.ring(10, 2, Fixture::kQpn, 256);
  bench.run();
  ASSERT_EQ(fixture.tx.size(), 2u);
  ASSERT_EQ(fixture.wqe_reads.log().size(), 1u);
  EXPECT_EQ(fixture.wqe_reads.log()[0].request.bytes, 2 * sq.stride);
}

// While the entry of a region is written it is nobody's: whoever is stepped first in that cycle finds the same.
TEST(Requester, AHiddenRegionIsNone) {  // payload_locator.h R4
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context(Transport::kUc));
  fixture.hide(9, Fixture::kLkey);
  fixture.post(20, {{.sge = {Fixture::segment(64)}}});
  bench.run();
  EXPECT_EQ(fixture.tx.size(), 0u);
  ASSERT_EQ(fixture.completions.size(), 1u);
  EXPECT_EQ(fixture.completion(0).status, WcStatus::kLocalProtection);
}

TEST(Requester, ARegionIsThereAgainWhenItsEntryIsWritten) {  // payload_locator.h R4
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context());
  fixture.hide(9, Fixture::kLkey);
  fixture.command(15, SendQueueOperation::kSettle);
  fixture.post(20, {{.sge = {Fixture::segment(64)}}});
  bench.run();
  EXPECT_EQ(fixture.tx.size(), 1u);
}

TEST(Requester, AWqeBehindAnotherThatWaitsIsRead) {  // (R1)
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context());
  fixture.post(10, {inline_send(), inline_send()});
  fixture.post(20, {inline_send()});
  bench.run();
  ASSERT_EQ(fixture.tx.size(), 3u);
  EXPECT_EQ(fixture.tx.cycle(1), Cycle{10 + kReadCycles + 3 + kLatency});
  EXPECT_EQ(fixture.tx.cycle(2), Cycle{10 + kReadCycles + 3 + kReadCycles + kLatency}) << "when the others have begun";
}

TEST(Requester, AWqeBehindOneThatHasBegunComesWithItsDoorbell) {  // (R1)
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context());
  fixture.post(10, {{.sge = {Fixture::segment(64)}}});
  fixture.post(20, {inline_send()});
  bench.run();
  ASSERT_EQ(fixture.tx.size(), 2u);
  EXPECT_EQ(fixture.tx.cycle(0), Cycle{10 + kReadCycles + kLatency});
  EXPECT_EQ(fixture.tx.cycle(1), Cycle{10 + kReadCycles + kLatency + 2}) << "in order";
}

TEST(Requester, WqesAreReadByDma) {  // (R1)
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context(Transport::kUc));
  const std::vector<WqeSpec> six(6, inline_send());
  fixture.post(10, six);
  fixture.post(1000, six);
  bench.at(Cycle{1500}, [&](Cycle) { fixture.post(2000, six); });  // slots 12 to 15, 0, 1
  bench.run();
  struct Row {
    std::uint32_t slot, count;
  };
  constexpr Row kRows[] = {{0, 4}, {4, 2}, {6, 4}, {10, 2}, {12, 4}, {0, 2}};
  const auto& log = fixture.wqe_reads.log();
  ASSERT_EQ(log.size(), std::size(kRows));
  const SendQueueContext sq = Fixture::context().queue;
  for (std::size_t n = 0; n < std::size(kRows); ++n) {
    EXPECT_EQ(log[n].request.kind, DmaKind::kRead);
    EXPECT_EQ(log[n].request.address, sq.base + std::uint64_t{kRows[n].slot} * sq.stride) << n;
    EXPECT_EQ(log[n].request.bytes, kRows[n].count * sq.stride) << n;
  }
  EXPECT_EQ(fixture.payload_reads.log().size(), 0u);
}

TEST(Requester, PayloadIsReadByDmaASegmentACycle) {  // (R2)
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context());
  fixture.post(10, {{.sge = {Fixture::segment(100, 7), Fixture::segment(300, 0x1000)}}});
  bench.run();
  struct Row {
    std::uint64_t offset;
    std::uint32_t bytes;
    std::uint64_t cycle;
  };
  constexpr Row kRows[] = {{7, 100, 11}, {0x1000, 156, 12}, {0x1000 + 156, 144, 14}};
  const auto& log = fixture.payload_reads.log();
  ASSERT_EQ(log.size(), std::size(kRows));
  for (std::size_t n = 0; n < std::size(kRows); ++n) {
    EXPECT_EQ(log[n].request.kind, DmaKind::kRead);
    EXPECT_EQ(raw(log[n].request.address), 0x200f00 + kRows[n].offset) << n;
    EXPECT_EQ(log[n].request.bytes, kRows[n].bytes) << n;
    EXPECT_EQ(log[n].taken, Cycle{kRows[n].cycle}) << n;
  }
  ASSERT_EQ(fixture.tx.size(), 2u);
  EXPECT_EQ(fixture.tx.cycle(0), Cycle{11 + kReadCycles + kLatency}) << "after the second segment";
}

// Four of eight packets are made; the fifth waits for the first to leave.
void expect_four_at_once(const RequesterParams& params) {
  Bench bench;
  Fixture fixture(bench, params);
  fixture.create(Fixture::context());
  fixture.post(10, {{.sge = {Fixture::segment(8 * Fixture::kMtu)}}});
  bench.run();
  ASSERT_EQ(fixture.tx.size(), 8u);
  const std::uint64_t first = 10 + kReadCycles + kLatency;
  EXPECT_EQ(fixture.tx.cycle(3), Cycle{first + 3 + 2 * 2});
  EXPECT_EQ(fixture.tx.cycle(4), Cycle{first + kReadCycles + kLatency});
}

// A command between two segments of a packet is answered when the DMA engine has been asked for both.
TEST(Requester, ACommandWaitsForThePayloadThatIsNotAskedForYet) {  // (R11)
  for (const SendQueueOperation operation : {SendQueueOperation::kSettle, SendQueueOperation::kReset}) {
    Bench bench;
    Fixture fixture(bench);
    fixture.create(Fixture::context());
    fixture.post(10, {{.sge = {Fixture::segment(10), Fixture::segment(20, 64), Fixture::segment(30, 128)}}});
    fixture.command(11, operation);
    bench.run();
    const auto& log = fixture.payload_reads.log();
    ASSERT_EQ(log.size(), 3u);
    ASSERT_EQ(fixture.command_done.size(), 1u);
    const bool resets = operation == SendQueueOperation::kReset;  // which the receive path is notified of first
    EXPECT_EQ(fixture.command_done.cycle(0), log.back().taken + resets) << "the cycle after it was asked for";
    EXPECT_EQ(fixture.tx.size(), resets ? 0u : 1u);
  }
}

TEST(Requester, NoPacketIsMadeWhileThePayloadBufferIsFull) {  // (R2)
  RequesterParams params = Fixture::params();
  params.payload_buffer_bytes = 4 * Fixture::kMtu - 1;
  expect_four_at_once(params);
}

TEST(Requester, NoMorePacketsAreMadeThanItHasBuffersFor) {  // (R2)
  RequesterParams params = Fixture::params();
  params.packet_buffers = 4;
  expect_four_at_once(params);
}

TEST(Requester, PacketsAndWqesKeepTheirDistances) {  // (R2)
  for (const auto& [per_wqe, per_packet] : {std::pair{3u, 2u}, {1u, 1u}, {7u, 2u}, {2u, 5u}}) {
    RequesterParams p = Fixture::params();
    p.cycles_per_wqe = per_wqe;
    p.cycles_per_packet = per_packet;
    Bench bench;
    Fixture fixture(bench, p);
    fixture.create(Fixture::context());
    const WqeSpec one_packet{.sge = {Fixture::segment(8)}};
    fixture.post(10, {{.sge = {Fixture::segment(3 * Fixture::kMtu)}}, one_packet, one_packet});
    bench.run();
    ASSERT_EQ(fixture.tx.size(), 5u);
    const std::uint64_t first = 10 + 2 * kReadCycles + kLatency, wqe = std::max(per_wqe, per_packet);
    EXPECT_EQ(fixture.tx.cycle(0), Cycle{first});
    EXPECT_EQ(fixture.tx.cycle(1), Cycle{first + wqe});
    EXPECT_EQ(fixture.tx.cycle(2), Cycle{first + wqe + per_packet});
    EXPECT_EQ(fixture.tx.cycle(3), Cycle{first + wqe + 2 * per_packet});
    EXPECT_EQ(fixture.tx.cycle(4), Cycle{first + 2 * wqe + 2 * per_packet});
  }
}

TEST(Requester, QpsTakeTurns) {  // (R2)
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t n = 1; n <= 3; ++n) fixture.create(Fixture::context(Transport::kRc, Qpn{n}));
  for (std::uint32_t n = 1; n <= 3; ++n) fixture.post(10, {{.sge = {Fixture::segment(4 * Fixture::kMtu)}}}, Qpn{n});
  fixture.post(10 + kReadCycles + kLatency + 9, {inline_send()}, Qpn{2});
  bench.run();
  ASSERT_EQ(fixture.tx.size(), 13u);
  std::map<std::uint32_t, int> sent;
  for (std::size_t n = 0; n < 12; ++n) {
    const std::uint32_t qpn = fixture.frame(n).udp_source_port;  // differs between the QPs
    ++sent[qpn];
    for (const auto& [other, count] : sent) EXPECT_LE(std::abs(count - sent[qpn]), 1) << n;
  }
  EXPECT_EQ(sent.size(), 3u);
}

TEST(Requester, ATurnsPacketsLeaveWhenAllOfItHasBeenGathered) {  // (R2)
  for (const std::uint32_t gather : {1u, 2 * Fixture::kMtu, 4 * Fixture::kMtu}) {
    RequesterParams params = Fixture::params();
    params.gather_bytes = gather;
    Bench bench;
    Fixture fixture(bench, params);
    for (std::uint32_t n = 1; n <= 2; ++n) fixture.create(Fixture::context(Transport::kRc, Qpn{n}));
    for (std::uint32_t n = 1; n <= 2; ++n) fixture.post(10, {{.sge = {Fixture::segment(4 * Fixture::kMtu)}}}, Qpn{n});
    bench.run();
    ASSERT_EQ(fixture.tx.size(), 8u);
    std::string order;
    for (std::size_t n = 0; n < 8; ++n) {
      order += fixture.frame(n).udp_source_port == fixture.frame(0).udp_source_port ? 'a' : 'b';
    }
    EXPECT_EQ(order, gather == 1 ? "abababab" : gather == 2 * Fixture::kMtu ? "aabbaabb" : "aaaabbbb");
    // Packets are made in 10, 13, 15 and 17 when the QP has all turns.
    const std::uint64_t made = gather == 1 ? 0 : gather == 2 * Fixture::kMtu ? 3 : 7;
    EXPECT_EQ(fixture.tx.cycle(0), Cycle{10 + made + kReadCycles + kLatency}) << gather;
    EXPECT_EQ(fixture.tx.cycle(1).count - fixture.tx.cycle(0).count, gather == 1 ? 3u : 2u);
  }
}

TEST(Requester, ATurnEndsWhereItsQpCannotGoOn) {  // (R2)
  RequesterParams params = Fixture::params();
  params.gather_bytes = 1 << 20;
  params.window_packets = 2;
  Bench bench;
  Fixture fixture(bench, params);
  fixture.create(Fixture::context());
  fixture.post(10, {{.sge = {Fixture::segment(4 * Fixture::kMtu)}}});
  bench.run_to(Cycle{1000});
  ASSERT_EQ(fixture.tx.size(), 2u) << "two packets may be outstanding";
  EXPECT_EQ(fixture.tx.cycle(0), Cycle{10 + 3 + kReadCycles + kLatency});
  fixture.answer(2000, AnswerKind::kAck, 101);
  bench.run();
  EXPECT_EQ(fixture.tx.size(), 4u);
}

TEST(Requester, AFullPayloadBufferEndsATurn) {  // (R2)
  RequesterParams params = Fixture::params();
  params.gather_bytes = 1 << 20;
  params.payload_buffer_bytes = 4096;
  params.packet_buffers = 4;
  Bench bench;
  Fixture fixture(bench, params);
  fixture.create(Fixture::context());
  fixture.post(10, {{.sge = {Fixture::segment(20 * Fixture::kMtu)}}});
  bench.run();
  EXPECT_EQ(fixture.tx.size(), 20u);
}

TEST(Requester, AQpsSlowPayloadHoldsUpNoOtherQp) {  // (R2)
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t n = 1; n <= 2; ++n) fixture.create(Fixture::context(Transport::kRc, Qpn{n}));
  fixture.post(10, {{.sge = {Fixture::segment(8)}}}, Qpn{1});
  fixture.post(20, {inline_send()}, Qpn{1});
  fixture.post(21, {inline_send()}, Qpn{2});
  bench.run();
  ASSERT_EQ(fixture.tx.size(), 3u);
  EXPECT_EQ(fixture.tx.cycle(0), Cycle{23 + kLatency}) << "made behind the one before, three cycles apart";
  EXPECT_EQ(fixture.frame(0).psn, Psn{100});
  EXPECT_NE(fixture.frame(0).udp_source_port, fixture.frame(1).udp_source_port);
  EXPECT_EQ(fixture.tx.cycle(1), Cycle{10 + kReadCycles + kLatency});
  EXPECT_EQ(fixture.frame(1).psn, Psn{100});
  EXPECT_EQ(fixture.tx.cycle(2), Cycle{10 + kReadCycles + kLatency + 2}) << "its own next packet waits for it";
  EXPECT_EQ(fixture.frame(2).psn, Psn{101});
}

TEST(Requester, ItWaitsForRoomOnTheWire) {  // (R2)
  Bench bench;
  Fixture fixture(bench, Fixture::params(), 2);
  fixture.create(Fixture::context());
  fixture.tx.stall(Cycle{0}, Cycle{300});
  fixture.post(10, {{.sge = {Fixture::segment(6 * Fixture::kMtu)}}});
  bench.run();
  ASSERT_EQ(fixture.psns(), (Psns{100, 101, 102, 103, 104, 105}));
  bench.engine().settle();
  const std::uint64_t first = 10 + kReadCycles + kLatency;
  EXPECT_EQ(fixture.dut.account()[static_cast<std::size_t>(Activity::kBlocked)], 301 - (first + 3 + 2));
  const std::uint64_t making = 3 + 5 * 2;
  EXPECT_EQ(fixture.dut.account()[static_cast<std::size_t>(Activity::kWaitDmaData)], first - 10 - making + 1);
}

TEST(Requester, TheReceivePathIsNotifiedOfARequestWithItsFirstPacket) {  // (R3)
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context());
  fixture.post(10, {{.flags = 0, .sge = {Fixture::segment(3 * Fixture::kMtu)}},
                    {.opcode = S::kRead, .sge = {Fixture::segment(2 * Fixture::kMtu + 1, 0x100)}}});
  bench.run();
  ASSERT_EQ(fixture.notices.size(), 2u);
  EXPECT_EQ(fixture.notices.cycle(0), Cycle{10 + kReadCycles}) << "made";
  EXPECT_EQ(fixture.notices.cycle(1), Cycle{10 + kReadCycles + 3 + 2 * 2});
  const RequestNotice& send = fixture.notices.value(0);
  EXPECT_EQ(send.qpn, Fixture::kQpn);
  EXPECT_EQ(send.first_psn, Psn{100});
  EXPECT_EQ(send.psn_count, 3u);
  EXPECT_EQ(send.opcode, CqeOpcode::kSend);
  EXPECT_FALSE(send.signaled);
  EXPECT_EQ(send.bytes, 3 * Fixture::kMtu);
  EXPECT_EQ(send.wqe, 0u);
  const RequestNotice& read = fixture.notices.value(1);
  EXPECT_EQ(read.first_psn, Psn{103});
  EXPECT_EQ(read.psn_count, 3u);
  EXPECT_EQ(read.opcode, CqeOpcode::kRdmaRead);
  EXPECT_TRUE(read.signaled);
  EXPECT_EQ(read.wqe, 1u);
  EXPECT_EQ(read.wqe_index, 1u);
  EXPECT_EQ(read.va, Fixture::kVa + 0x100);
  EXPECT_EQ(read.lkey, Fixture::kLkey);
}

TEST(Requester, AQueueMaySignalAll) {  // (R3)
  Bench bench;
  Fixture fixture(bench);
  SendQpContext c = Fixture::context();
  c.queue.all_signaled = true;
  fixture.create(c);
  WqeSpec wqe = inline_send();
  wqe.flags = 0;
  fixture.post(10, {wqe});
  bench.run();
  EXPECT_TRUE(fixture.notices.value(0).signaled);
}

TEST(Requester, ARequestThatIsSentAgainIsNotReportedAgain) {  // (R3)
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context());
  fixture.post(10, {inline_send()});
  fixture.answer(100, AnswerKind::kNak, 100, 0x60);
  bench.run();
  EXPECT_EQ(fixture.psns(), (Psns{100, 100}));
  EXPECT_EQ(fixture.notices.size(), 1u);
  EXPECT_EQ(fixture.dut.counters().repeated, 1u);
  EXPECT_EQ(fixture.dut.counters().requests_repeated, 1u);
}

TEST(Requester, UnreliableRequestsCompleteWhenTheirLastPacketHasLeft) {  // (R3) (R7)
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context(Transport::kUc));
  fixture.post(10, {{.opcode = S::kWrite, .sge = {Fixture::segment(2 * Fixture::kMtu)}},
                    {.flags = 0, .sge = {Fixture::segment(5)}}});
  fixture.post(300, {inline_send()});
  bench.run();
  ASSERT_EQ(fixture.tx.size(), 4u);
  EXPECT_EQ(fixture.notices.size(), 0u);
  ASSERT_EQ(fixture.completions.size(), 2u) << "the second is not signaled";
  EXPECT_EQ(fixture.completions.cycle(0), fixture.tx.cycle(1) + 1);
  const SendCompletion& c = fixture.completion(0);
  EXPECT_EQ(c.qpn, Fixture::kQpn);
  EXPECT_EQ(c.status, WcStatus::kSuccess);
  EXPECT_EQ(c.opcode, CqeOpcode::kRdmaWrite);
  EXPECT_EQ(c.bytes, 2 * Fixture::kMtu);
  EXPECT_EQ(c.wqe, 0u);
  EXPECT_EQ(c.sent, fixture.completions.cycle(0));
  EXPECT_EQ(fixture.completion(1).wqe_index, 2u);
  EXPECT_EQ(fixture.dut.counters().completions, 2u);
}

TEST(Requester, EveryOpcodeHasItsFrame) {
  struct Row {
    S opcode;
    Operation operation;
    std::uint32_t bytes;
  };
  constexpr Row kRows[] = {{S::kSend, Operation::kSendOnly, 61},
                           {S::kSendImm, Operation::kSendOnlyImm, 61},
                           {S::kSendInvalidate, Operation::kSendOnlyInv, 61},
                           {S::kWrite, Operation::kWriteOnly, 61},
                           {S::kWriteImm, Operation::kWriteOnlyImm, 61},
                           {S::kRead, Operation::kReadRequest, 61},
                           {S::kCompareSwap, Operation::kCompareSwap, 8},
                           {S::kFetchAdd, Operation::kFetchAdd, 8},
                           {S::kAtomicWrite, Operation::kAtomicWrite, 8}};
  for (const Transport transport : {Transport::kRc, Transport::kXrc}) {
    for (const Row& row : kRows) {
      if (transport == Transport::kXrc && row.opcode == S::kAtomicWrite) continue;  // RC only
      Bench bench;
      Fixture fixture(bench);
      fixture.create(Fixture::context(transport));
      fixture.post(10, {{.opcode = row.opcode,
                         .immediate = 0xabcd,
                         .remote_srqn = 0x77,
                         .remote = {.va = 0x1000, .rkey = 0x666, .compare_add = 11, .swap = 22},
                         .sge = {Fixture::segment(row.bytes, 0x300)}}});
      bench.run();
      ASSERT_EQ(fixture.tx.size(), 1u);
      const Headers h = fixture.frame(0);
      EXPECT_EQ(h.opcode, opcode_of(transport, row.operation));
      EXPECT_EQ(h.psn, Psn{100});
      EXPECT_EQ(h.destination_qp, Fixture::kPeer);
      EXPECT_TRUE(h.ack_request);
      EXPECT_EQ(h.encapsulation, Encapsulation::kRoceV2Ipv4);
      EXPECT_EQ(h.source_mac, Fixture::kMac);
      const std::uint32_t traits = opcode_info(h.opcode).traits;
      if ((traits & (kHasImm | kHasIeth)) != 0) {
        EXPECT_EQ(h.immediate, 0xabcdu);
      }
      if (transport == Transport::kXrc) {
        EXPECT_EQ(h.xrc_srq, Srqn{0x77});
      }
      if ((traits & kHasReth) != 0) {
        EXPECT_EQ(h.length, row.bytes);
      }
      if ((traits & (kHasReth | kHasAtomicEth)) != 0) {
        EXPECT_EQ(h.va, 0x1000u);
        EXPECT_EQ(h.rkey, Key{0x666});
      }
      const auto payload = fixture.payload(0);
      EXPECT_EQ(payload.size(), (traits & kHasPayload) != 0 ? row.bytes : 0u);
      for (std::size_t i = 0; i < payload.size(); ++i) ASSERT_EQ(payload[i], Fixture::byte_at(0x300 + i));
    }
  }
}

TEST(Requester, AnAtomicWriteIsTheseBytes) {
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context());
  fixture.post(10, {{.opcode = S::kAtomicWrite,
                     .remote = {.va = 0x1122334455667788, .rkey = 0x99aabbcc},
                     .inline_data = {1, 2, 3, 4, 5, 6, 7, 8}}});
  bench.run();
  ASSERT_EQ(fixture.tx.size(), 1u);
  const Packet& p = fixture.shared.packets[fixture.tx.value(0).buffer];
  const std::size_t bth = 14 + 20 + 8;
  ASSERT_EQ(p.frame_bytes, bth + 12 + 16 + 8 + 4) << "BTH, RETH, payload, ICRC";
  EXPECT_EQ(p.frame[bth], 0x1d);
  EXPECT_EQ(p.frame[bth + 1] & 0x30, 0) << "no pad";
  EXPECT_EQ(p.frame[bth + 8] & 0x80, 0x80) << "BTH.A";
  const std::array<std::uint8_t, 24> expected{0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc,
                                              0,    0,    0,    8,    1,    2,    3,    4,    5,    6,    7,    8};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), p.frame.begin() + bth + 12));
}

TEST(Requester, EveryEncapsulationHasItsFrame) {
  const std::pair<AddressVector, Encapsulation> rows[] = {{Fixture::path("fe80::2", 0), Encapsulation::kRoceV1},
                                                          {Fixture::path("fe80::2", 1), Encapsulation::kRoceV2Ipv6},
                                                          {Fixture::path("10.0.0.2", 2), Encapsulation::kRoceV2Ipv4}};
  for (const auto& [path, encapsulation] : rows) {
    Bench bench;
    Fixture fixture(bench);
    SendQpContext c = Fixture::context();
    c.path = path;
    fixture.create(c);
    fixture.create(Fixture::context(Transport::kUd, Qpn{5}));
    fixture.post(10, {inline_send(7)});
    fixture.post(100, {{.remote_qpn = 0x99, .remote_qkey = 0x80000000, .address = path, .inline_data = {1, 2, 3}}},
                 Qpn{5});
    bench.run();
    ASSERT_EQ(fixture.tx.size(), 2u);
    EXPECT_EQ(fixture.frame(0).encapsulation, encapsulation);
    const Headers ud = fixture.frame(1);
    EXPECT_EQ(ud.encapsulation, encapsulation);
    EXPECT_EQ(ud.destination_qp, Qpn{0x99});
    EXPECT_EQ(ud.qkey, 0x1234u);
    EXPECT_EQ(ud.source_qp, Qpn{5});
    EXPECT_EQ(fixture.payload(1), (std::vector<std::uint8_t>{1, 2, 3}));
    EXPECT_EQ(fixture.completions.size(), 1u);
  }
}

TEST(Requester, ALongMessageArrivesWhole) {
  Bench bench;
  RequesterParams p = Fixture::params();
  p.window_packets = 4096;
  Fixture fixture(bench, p);
  fixture.create(Fixture::context());
  fixture.post(10, {{.sge = {Fixture::segment(5000, 100), Fixture::segment(1), Fixture::segment(0x6000, 0x1000)}}});
  bench.run();
  std::vector<std::uint8_t> expected;
  for (const auto& [from, bytes] : {std::pair{100u, 5000u}, {0u, 1u}, {0x1000u, 0x6000u}}) {
    for (std::uint32_t i = 0; i < bytes; ++i) expected.push_back(Fixture::byte_at(from + i));
  }
  std::vector<std::uint8_t> got;
  for (std::size_t n = 0; n < fixture.tx.size(); ++n) {
    const auto part = fixture.payload(n);
    got.insert(got.end(), part.begin(), part.end());
  }
  EXPECT_EQ(got, expected);
  EXPECT_EQ(fixture.dut.counters().payload_bytes, expected.size());
  const auto pieces = (expected.size() + Fixture::kMtu - 1) / Fixture::kMtu + 2;
  EXPECT_LE(fixture.dut.counters().memory_reads, pieces + 5 * 2) << "and at most a page's end in each packet";
}

TEST(Requester, InSqdNothingIsBegunAndWhatWasBegunGoesOn) {  // (R9)
  Bench bench;
  Fixture fixture(bench);
  SendQpContext c = Fixture::context();
  fixture.create(c);
  fixture.post(10, {{.sge = {Fixture::segment(4 * Fixture::kMtu)}}, inline_send()});
  const std::uint64_t first = 10 + kReadCycles;
  c.qp.state = QpState::kSqd;
  fixture.command(first + 1, SendQueueOperation::kModify, c, false, true);
  c.qp.state = QpState::kRts;
  fixture.command(first + 201, SendQueueOperation::kModify, c);
  fixture.answer(first + 150, AnswerKind::kAck, 103);
  bench.at(Cycle{first + 200}, [&](Cycle) {
    EXPECT_EQ(fixture.psns(), (Psns{100, 101, 102, 103}));
    EXPECT_TRUE(fixture.dut.drained(Fixture::kQpn));
  });
  bench.run();
  EXPECT_EQ(fixture.psns(), (Psns{100, 101, 102, 103, 104}));
  EXPECT_EQ(fixture.tx.cycle(4), Cycle{first + 201 + kLatency});
  ASSERT_EQ(fixture.events.size(), 1u);  // (R12)
  EXPECT_EQ(fixture.events.value(0).type, EventType::kQpSqDrained);
  EXPECT_EQ(fixture.events.cycle(0), Cycle{first + 150});
}

// Its last packet is made, and waits for its payload.
TEST(Requester, AnUnreliableQueueIsDrainedWhenItsPacketsHaveLeft) {  // (R12)
  Bench bench;
  Fixture fixture(bench);
  SendQpContext c = Fixture::context(Transport::kUc);
  fixture.create(c);
  fixture.payload_reads.set_latency(300);
  fixture.post(10, {{.sge = {Fixture::segment(8)}}});
  c.qp.state = QpState::kSqd;
  fixture.command(100, SendQueueOperation::kModify, c, false, true);
  bench.run();
  ASSERT_EQ(fixture.tx.size(), 1u);
  ASSERT_EQ(fixture.completions.size(), 1u);
  ASSERT_EQ(fixture.events.size(), 1u);
  EXPECT_GE(fixture.events.cycle(0), fixture.completions.cycle(0));
}

TEST(Requester, NothingIsSentBelowRts) {  // (R9)
  Bench bench;
  Fixture fixture(bench);
  SendQpContext c = Fixture::context();
  c.qp.state = QpState::kRtr;
  fixture.create(c);
  fixture.post(10, {inline_send()});
  bench.at(Cycle{500}, [&](Cycle) { EXPECT_EQ(fixture.tx.size(), 0u); });
  c.qp.state = QpState::kRts;
  c.sq_psn = 7;
  fixture.command(501, SendQueueOperation::kModify, c, true);
  bench.run();
  ASSERT_EQ(fixture.psns(), Psns{7});
  EXPECT_EQ(fixture.tx.cycle(0), Cycle{501 + kReadCycles + kLatency}) << "its WQE is read in kRts";
}

TEST(Requester, AResetQueueStartsAnewAndTheReceivePathIsNotified) {
  Bench bench;
  Fixture fixture(bench);
  SendQpContext c = Fixture::context();
  c.timeout = 1;
  fixture.create(c);
  fixture.post(10, {inline_send(), inline_send()});
  fixture.command(401, SendQueueOperation::kReset);
  bench.at(Cycle{400}, [&](Cycle) { fixture.producers.clear(); });
  c.sq_psn = 55;
  fixture.command(501, SendQueueOperation::kModify, c, true);
  bench.at(Cycle{500}, [&](Cycle) { fixture.post(510, {inline_send()}); });
  fixture.command(701, SendQueueOperation::kDestroy);
  fixture.answer(800, AnswerKind::kNak, 55, 0x60);
  bench.at(Cycle{800}, [&](Cycle) { fixture.ring(810, 3); });
  bench.run(Cycle{20'000});
  EXPECT_EQ(fixture.psns(), (Psns{100, 101, 55}));
  ASSERT_EQ(fixture.notices.size(), 5u);
  EXPECT_TRUE(fixture.notices.value(2).reset);
  EXPECT_EQ(fixture.notices.value(2).qpn, Fixture::kQpn);
  EXPECT_EQ(fixture.notices.value(3).wqe, 0u);
  EXPECT_TRUE(fixture.notices.value(4).reset);
  EXPECT_EQ(fixture.completions.size(), 0u);
}

TEST(Requester, ARequestWaitsForAPlaceAndGoesOn) {  // (R3)
  Bench bench;
  Fixture fixture(bench, Fixture::params(), 8, 2);
  fixture.create(Fixture::context());
  fixture.create(Fixture::context(Transport::kUc, Qpn{5}));
  fixture.post(10, {inline_send(), {.sge = {Fixture::segment(3 * Fixture::kMtu)}}, inline_send(), inline_send()});
  fixture.post(400, {inline_send()}, Qpn{5});
  fixture.places.push(Cycle{599}, {1});
  fixture.places.push(Cycle{699}, {2});
  bench.run_to(Cycle{598});
  EXPECT_EQ(fixture.notices.size(), 2u);
  EXPECT_EQ(fixture.tx.size(), 5u) << "requests that have begun go on, and so does UC";
  bench.run_to(Cycle{602 + kLatency});
  EXPECT_EQ(fixture.tx.size(), 6u);
  bench.run();
  ASSERT_EQ(fixture.tx.size(), 7u);
  EXPECT_EQ(fixture.tx.cycle(5), Cycle{600 + kLatency});
  EXPECT_EQ(fixture.tx.cycle(6), Cycle{700 + kLatency});
  EXPECT_EQ(fixture.notices.size(), 4u);
  bench.engine().settle();
  EXPECT_GT(fixture.dut.account()[static_cast<std::size_t>(Activity::kWaitResponse)], 150u);
  EXPECT_EQ(fixture.dut.counters().table_waits, 2u) << "the third and the fourth";
}

TEST(Requester, UnreliableRequestsWaitForRoomForTheirCompletions) {
  Bench bench;
  RequesterParams params = Fixture::params();
  params.packet_buffers = 2;
  Fixture fixture(bench, params);
  fixture.create(Fixture::context(Transport::kUc));
  fixture.completions.stall(Cycle{0}, Cycle{4000});
  fixture.post(10, std::vector<WqeSpec>(16, inline_send()));
  bench.run_to(Cycle{3000});
  EXPECT_EQ(fixture.tx.size(), 10u) << "eight in the link, two in the block";
  EXPECT_EQ(fixture.dut.activity(), Activity::kBlocked);
  bench.run();
  EXPECT_EQ(fixture.tx.size(), 16u);
  EXPECT_EQ(fixture.completions.size(), 16u);
}

TEST(Requester, OneQpMoreIsRefusedUntilOneIsGone) {  // (R10)
  Bench bench;
  RequesterParams params = Fixture::params();
  params.send_queues = 2;
  Fixture fixture(bench, params);
  EXPECT_TRUE(fixture.dut.create(Fixture::context(Transport::kRc, Qpn{1})));
  EXPECT_TRUE(fixture.dut.create(Fixture::context(Transport::kRc, Qpn{2})));
  EXPECT_FALSE(fixture.dut.create(Fixture::context(Transport::kRc, Qpn{3})));
  SendQueueCommand create;
  create.operation = SendQueueOperation::kCreate;
  create.qpn = Qpn{3};
  create.transport = Transport::kRc;
  SendQueueCommand destroy;
  destroy.operation = SendQueueOperation::kDestroy;
  destroy.qpn = Qpn{1};
  fixture.commands.push(Cycle{9}, create);
  fixture.commands.push(Cycle{19}, destroy);
  fixture.commands.push(Cycle{29}, create);
  bench.run();
  ASSERT_EQ(fixture.command_done.size(), 3u);
  EXPECT_FALSE(fixture.command_done.value(0).ok);
  EXPECT_TRUE(fixture.command_done.value(1).ok);
  EXPECT_TRUE(fixture.command_done.value(2).ok);
  ASSERT_EQ(fixture.notices.size(), 1u);
  EXPECT_TRUE(fixture.notices.value(0).reset);
}

}  // namespace
}  // namespace rxnic::requester_test
