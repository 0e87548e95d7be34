// SPDX-License-Identifier: Apache-2.0
// Rules R1..R10 of model/blocks/requester.h: time, order, turns. What goes wrong is in requester_errors_test.cpp.
#include "model/blocks/requester.h"

#include "testbench/unit/model/blocks/requester_fixture.h"

namespace rxnic {
namespace {

using S = SendOpcode;
using Rig = RequesterRig;
using Psns = std::vector<std::uint32_t>;
constexpr std::uint32_t kReadCycles = Rig::kReadCycles, kLatency = Rig::kLatency;

// The first packet of a doorbell that is there in cycle 10 leaves in cycle `expected`, not before.
void expect_first_packet(const std::vector<WqeSpec>& specs, std::uint64_t expected,
                         const RequesterParams& params = Rig::params()) {
  Bench bench;
  Rig rig(bench, params);
  rig.create(Rig::context());
  rig.post(10, specs);
  bench.run_to(Cycle{expected});
  EXPECT_EQ(rig.tx.size(), 0u);  // the sink sees one cycle later what left
  bench.run_to(Cycle{expected + 1});
  ASSERT_EQ(rig.tx.size(), 1u);
  EXPECT_EQ(rig.tx.cycle(0), Cycle{expected});
  EXPECT_EQ(rig.sent(0).posted, Cycle{9});
}

TEST(Requester, AShortWqeAloneComesWithItsDoorbell) {  // (R1)
  expect_first_packet({inline_send(32)}, 10 + kLatency);
  expect_first_packet({{.opcode = S::kRead, .sge = {Rig::segment(64)}}}, 10 + kLatency);
}

TEST(Requester, ItsPayloadIsRead) {  // (R1)
  expect_first_packet({{.sge = {Rig::segment(64)}}}, 10 + kReadCycles + kLatency);
}

TEST(Requester, SeveralWqesAreRead) {  // (R1)
  expect_first_packet({inline_send(), inline_send()}, 10 + kReadCycles + kLatency);
}

TEST(Requester, WqesAndTheirPayloadAreReadOneAfterTheOther) {  // (R1)
  expect_first_packet({{.sge = {Rig::segment(64)}}, {.sge = {Rig::segment(64)}}}, 10 + 2 * kReadCycles + kLatency);
}

TEST(Requester, AWqeThatIsTooLongForADoorbellIsRead) {  // (R1)
  RequesterParams p = Rig::params();
  p.doorbell_wqe_bytes = 64 + 32;
  expect_first_packet({inline_send(32)}, 10 + kLatency, p);
  expect_first_packet({inline_send(33)}, 10 + kReadCycles + kLatency, p);
  p.doorbell_wqe_bytes = 0;
  expect_first_packet({{.sge = {}}}, 10 + kReadCycles + kLatency, p);
}

TEST(Requester, AWqeBehindAnotherThatWaitsIsRead) {  // (R1)
  Bench bench;
  Rig rig(bench);
  rig.create(Rig::context());
  rig.post(10, {{.sge = {Rig::segment(64)}}});
  rig.post(20, {inline_send()});
  bench.run();
  ASSERT_EQ(rig.tx.size(), 2u);
  EXPECT_EQ(rig.tx.cycle(0), Cycle{10 + kReadCycles + kLatency});
  EXPECT_EQ(rig.tx.cycle(1), Cycle{20 + kReadCycles + kLatency});
}

TEST(Requester, PacketsAndWqesKeepTheirDistances) {  // (R2)
  for (const auto& [per_wqe, per_packet] : {std::pair{3u, 2u}, {1u, 1u}, {7u, 2u}, {2u, 5u}}) {
    RequesterParams p = Rig::params();
    p.cycles_per_wqe = per_wqe;
    p.cycles_per_packet = per_packet;
    Bench bench;
    Rig rig(bench, p);
    rig.create(Rig::context());
    rig.post(10, {{.sge = {Rig::segment(3 * Rig::kMtu)}}, inline_send(), inline_send()});
    bench.run();
    ASSERT_EQ(rig.tx.size(), 5u);
    const std::uint64_t first = 10 + 2 * kReadCycles + kLatency, wqe = std::max(per_wqe, per_packet);
    EXPECT_EQ(rig.tx.cycle(0), Cycle{first});
    EXPECT_EQ(rig.tx.cycle(1), Cycle{first + wqe});
    EXPECT_EQ(rig.tx.cycle(2), Cycle{first + wqe + per_packet});
    EXPECT_EQ(rig.tx.cycle(3), Cycle{first + wqe + 2 * per_packet});
    EXPECT_EQ(rig.tx.cycle(4), Cycle{first + 2 * wqe + 2 * per_packet});
  }
}

TEST(Requester, QpsTakeTurns) {  // (R2)
  Bench bench;
  Rig rig(bench);
  for (std::uint32_t n = 1; n <= 3; ++n) rig.create(Rig::context(Transport::kRc, Qpn{n}));
  for (std::uint32_t n = 1; n <= 3; ++n) rig.post(10, {{.sge = {Rig::segment(4 * Rig::kMtu)}}}, Qpn{n});
  rig.post(10 + kReadCycles + kLatency + 9, {inline_send()}, Qpn{2});
  bench.run();
  ASSERT_EQ(rig.tx.size(), 13u);
  std::map<std::uint32_t, int> sent;
  for (std::size_t n = 0; n < 12; ++n) {
    const std::uint32_t qpn = rig.frame(n).udp_source_port;  // differs between the QPs
    ++sent[qpn];
    for (const auto& [other, count] : sent) EXPECT_LE(std::abs(count - sent[qpn]), 1) << n;
  }
  EXPECT_EQ(sent.size(), 3u);
}

TEST(Requester, ItWaitsForRoomOnTheWire) {  // (R2)
  Bench bench;
  Rig rig(bench, Rig::params(), 2);
  rig.create(Rig::context());
  rig.tx.stall(Cycle{0}, Cycle{300});
  rig.post(10, {{.sge = {Rig::segment(6 * Rig::kMtu)}}});
  bench.run();
  ASSERT_EQ(rig.psns(), (Psns{100, 101, 102, 103, 104, 105}));
  bench.engine().settle();
  const std::uint64_t first = 10 + kReadCycles + kLatency;
  EXPECT_EQ(rig.dut.account()[static_cast<std::size_t>(Activity::kBlocked)], 301 - (first + 3 + 2));
  EXPECT_EQ(rig.dut.account()[static_cast<std::size_t>(Activity::kWaitDmaData)], first - 10);
}

TEST(Requester, TheReceivePathIsNotifiedOfARequestWithItsFirstPacket) {  // (R3)
  Bench bench;
  Rig rig(bench);
  rig.create(Rig::context());
  rig.post(10, {{.flags = 0, .sge = {Rig::segment(3 * Rig::kMtu)}},
                {.opcode = S::kRead, .sge = {Rig::segment(2 * Rig::kMtu + 1, 0x100)}}});
  bench.run();
  ASSERT_EQ(rig.notices.size(), 2u);
  EXPECT_EQ(rig.notices.cycle(0), rig.tx.cycle(0));
  EXPECT_EQ(rig.notices.cycle(1), rig.tx.cycle(3));
  const RequestNotice& send = rig.notices.value(0);
  EXPECT_EQ(send.qpn, Rig::kQpn);
  EXPECT_EQ(send.first_psn, Psn{100});
  EXPECT_EQ(send.psn_count, 3u);
  EXPECT_EQ(send.opcode, CqeOpcode::kSend);
  EXPECT_FALSE(send.signaled);
  EXPECT_EQ(send.bytes, 3 * Rig::kMtu);
  EXPECT_EQ(send.wqe, 0u);
  const RequestNotice& read = rig.notices.value(1);
  EXPECT_EQ(read.first_psn, Psn{103});
  EXPECT_EQ(read.psn_count, 3u);
  EXPECT_EQ(read.opcode, CqeOpcode::kRdmaRead);
  EXPECT_TRUE(read.signaled);
  EXPECT_EQ(read.wqe, 1u);
  EXPECT_EQ(read.wqe_index, 1u);
  EXPECT_EQ(read.va, Rig::kVa + 0x100);
  EXPECT_EQ(read.lkey, Rig::kLkey);
}

TEST(Requester, AQueueMaySignalAll) {  // (R3)
  Bench bench;
  Rig rig(bench);
  SendQpContext c = Rig::context();
  c.queue.all_signaled = true;
  rig.create(c);
  WqeSpec wqe = inline_send();
  wqe.flags = 0;
  rig.post(10, {wqe});
  bench.run();
  EXPECT_TRUE(rig.notices.value(0).signaled);
}

TEST(Requester, ARequestThatIsSentAgainIsNotReportedAgain) {  // (R3)
  Bench bench;
  Rig rig(bench);
  rig.create(Rig::context());
  rig.post(10, {inline_send()});
  rig.answer(100, AnswerKind::kNak, 100, 0x60);
  bench.run();
  EXPECT_EQ(rig.psns(), (Psns{100, 100}));
  EXPECT_EQ(rig.notices.size(), 1u);
  EXPECT_EQ(rig.dut.counters().repeated, 1u);
}

TEST(Requester, UnreliableRequestsCompleteWhenTheirLastPacketHasLeft) {  // (R3) (R7)
  Bench bench;
  Rig rig(bench);
  rig.create(Rig::context(Transport::kUc));
  rig.post(10, {{.opcode = S::kWrite, .sge = {Rig::segment(2 * Rig::kMtu)}}, {.flags = 0, .sge = {Rig::segment(5)}}});
  rig.post(300, {inline_send()});
  bench.run();
  ASSERT_EQ(rig.tx.size(), 4u);
  EXPECT_EQ(rig.notices.size(), 0u);
  ASSERT_EQ(rig.completions.size(), 2u) << "the second is not signaled";
  EXPECT_EQ(rig.completions.cycle(0), rig.tx.cycle(1) + 1);
  const SendCompletion& c = rig.completion(0);
  EXPECT_EQ(c.qpn, Rig::kQpn);
  EXPECT_EQ(c.status, WcStatus::kSuccess);
  EXPECT_EQ(c.opcode, CqeOpcode::kRdmaWrite);
  EXPECT_EQ(c.bytes, 2 * Rig::kMtu);
  EXPECT_EQ(c.wqe, 0u);
  EXPECT_EQ(c.sent, rig.completions.cycle(0));
  EXPECT_EQ(rig.completion(1).wqe_index, 2u);
  EXPECT_EQ(rig.dut.counters().completions, 2u);
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
      Rig rig(bench);
      rig.create(Rig::context(transport));
      rig.post(10, {{.opcode = row.opcode,
                     .immediate = 0xabcd,
                     .remote_srqn = 0x77,
                     .remote = {.va = 0x1000, .rkey = 0x666, .compare_add = 11, .swap = 22},
                     .sge = {Rig::segment(row.bytes, 0x300)}}});
      bench.run();
      ASSERT_EQ(rig.tx.size(), 1u);
      const Headers h = rig.frame(0);
      EXPECT_EQ(h.opcode, opcode_of(transport, row.operation));
      EXPECT_EQ(h.psn, Psn{100});
      EXPECT_EQ(h.destination_qp, Rig::kPeer);
      EXPECT_TRUE(h.ack_request);
      EXPECT_EQ(h.encapsulation, Encapsulation::kRoceV2Ipv4);
      EXPECT_EQ(h.source_mac, Rig::kMac);
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
      const auto payload = rig.payload(0);
      EXPECT_EQ(payload.size(), (traits & kHasPayload) != 0 ? row.bytes : 0u);
      for (std::size_t i = 0; i < payload.size(); ++i) ASSERT_EQ(payload[i], Rig::byte_at(0x300 + i));
    }
  }
}

TEST(Requester, AnAtomicWriteIsTheseBytes) {
  Bench bench;
  Rig rig(bench);
  rig.create(Rig::context());
  rig.post(10, {{.opcode = S::kAtomicWrite,
                 .remote = {.va = 0x1122334455667788, .rkey = 0x99aabbcc},
                 .inline_data = {1, 2, 3, 4, 5, 6, 7, 8}}});
  bench.run();
  ASSERT_EQ(rig.tx.size(), 1u);
  const Packet& p = rig.shared.packets[rig.tx.value(0).buffer];
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
  const std::pair<AddressVector, Encapsulation> rows[] = {{Rig::path("fe80::2", 0), Encapsulation::kRoceV1},
                                                          {Rig::path("fe80::2", 1), Encapsulation::kRoceV2Ipv6},
                                                          {Rig::path("10.0.0.2", 2), Encapsulation::kRoceV2Ipv4}};
  for (const auto& [path, encapsulation] : rows) {
    Bench bench;
    Rig rig(bench);
    SendQpContext c = Rig::context();
    c.path = path;
    rig.create(c);
    rig.create(Rig::context(Transport::kUd, Qpn{5}));
    rig.post(10, {inline_send(7)});
    rig.post(100, {{.remote_qpn = 0x99, .remote_qkey = 0x80000000, .address = path, .inline_data = {1, 2, 3}}}, Qpn{5});
    bench.run();
    ASSERT_EQ(rig.tx.size(), 2u);
    EXPECT_EQ(rig.frame(0).encapsulation, encapsulation);
    const Headers ud = rig.frame(1);
    EXPECT_EQ(ud.encapsulation, encapsulation);
    EXPECT_EQ(ud.destination_qp, Qpn{0x99});
    EXPECT_EQ(ud.qkey, 0x1234u);
    EXPECT_EQ(ud.source_qp, Qpn{5});
    EXPECT_EQ(rig.payload(1), (std::vector<std::uint8_t>{1, 2, 3}));
    EXPECT_EQ(rig.completions.size(), 1u);
  }
}

TEST(Requester, ALongMessageArrivesWhole) {
  Bench bench;
  RequesterParams p = Rig::params();
  p.window_packets = 4096;
  Rig rig(bench, p);
  rig.create(Rig::context());
  rig.post(10, {{.sge = {Rig::segment(5000, 100), Rig::segment(1), Rig::segment(0x6000, 0x1000)}}});
  bench.run();
  std::vector<std::uint8_t> expected;
  for (const auto& [from, bytes] : {std::pair{100u, 5000u}, {0u, 1u}, {0x1000u, 0x6000u}}) {
    for (std::uint32_t i = 0; i < bytes; ++i) expected.push_back(Rig::byte_at(from + i));
  }
  std::vector<std::uint8_t> got;
  for (std::size_t n = 0; n < rig.tx.size(); ++n) {
    const auto part = rig.payload(n);
    got.insert(got.end(), part.begin(), part.end());
  }
  EXPECT_EQ(got, expected);
  EXPECT_EQ(rig.dut.counters().payload_bytes, expected.size());
  EXPECT_LE(rig.dut.counters().memory_reads, 1 + 8 + 2u) << "4 KiB at a time";
}

TEST(Requester, InSqdNothingIsBegunAndWhatWasBegunGoesOn) {  // (R9)
  Bench bench;
  Rig rig(bench);
  SendQpContext c = Rig::context();
  rig.create(c);
  rig.post(10, {{.sge = {Rig::segment(4 * Rig::kMtu)}}, inline_send()});
  const std::uint64_t first = 10 + 2 * kReadCycles + kLatency;
  c.qp.state = QpState::kSqd;
  rig.command(first + 1, SendQueueOperation::kModify, c, false, true);
  c.qp.state = QpState::kRts;
  rig.command(first + 201, SendQueueOperation::kModify, c);
  rig.answer(first + 100, AnswerKind::kAck, 103);
  bench.at(Cycle{first + 200}, [&](Cycle) {
    EXPECT_EQ(rig.psns(), (Psns{100, 101, 102, 103}));
    EXPECT_TRUE(rig.dut.drained(Rig::kQpn));
  });
  bench.run();
  EXPECT_EQ(rig.psns(), (Psns{100, 101, 102, 103, 104}));
  EXPECT_EQ(rig.tx.cycle(4), Cycle{first + 201});
  ASSERT_EQ(rig.events.size(), 1u);  // (R11)
  EXPECT_EQ(rig.events.value(0).type, EventType::kQpSqDrained);
  EXPECT_EQ(rig.events.cycle(0), Cycle{first + 100});
}

TEST(Requester, NothingIsSentBelowRts) {  // (R9)
  Bench bench;
  Rig rig(bench);
  SendQpContext c = Rig::context();
  c.qp.state = QpState::kRtr;
  rig.create(c);
  rig.post(10, {inline_send()});
  bench.at(Cycle{500}, [&](Cycle) { EXPECT_EQ(rig.tx.size(), 0u); });
  c.qp.state = QpState::kRts;
  c.sq_psn = 7;
  rig.command(501, SendQueueOperation::kModify, c, true);
  bench.run();
  ASSERT_EQ(rig.psns(), Psns{7});
  EXPECT_EQ(rig.tx.cycle(0), Cycle{501});
}

TEST(Requester, AResetQueueStartsAnewAndTheReceivePathIsNotified) {
  Bench bench;
  Rig rig(bench);
  SendQpContext c = Rig::context();
  c.timeout = 1;
  rig.create(c);
  rig.post(10, {inline_send(), inline_send()});
  rig.command(401, SendQueueOperation::kReset);
  bench.at(Cycle{400}, [&](Cycle) { rig.producers.clear(); });
  c.sq_psn = 55;
  rig.command(501, SendQueueOperation::kModify, c, true);
  bench.at(Cycle{500}, [&](Cycle) { rig.post(510, {inline_send()}); });
  rig.command(701, SendQueueOperation::kDestroy);
  rig.answer(800, AnswerKind::kNak, 55, 0x60);
  bench.at(Cycle{800}, [&](Cycle) { rig.ring(810, 3); });
  bench.run(Cycle{20'000});
  EXPECT_EQ(rig.psns(), (Psns{100, 101, 55}));
  ASSERT_EQ(rig.notices.size(), 5u);
  EXPECT_TRUE(rig.notices.value(2).reset);
  EXPECT_EQ(rig.notices.value(2).qpn, Rig::kQpn);
  EXPECT_EQ(rig.notices.value(3).wqe, 0u);
  EXPECT_TRUE(rig.notices.value(4).reset);
  EXPECT_EQ(rig.completions.size(), 0u);
}

TEST(Requester, ARequestWaitsForAPlaceAndGoesOn) {  // (R3)
  Bench bench;
  Rig rig(bench, Rig::params(), 8, 2);
  rig.create(Rig::context());
  rig.create(Rig::context(Transport::kUc, Qpn{5}));
  rig.post(10, {inline_send(), {.sge = {Rig::segment(3 * Rig::kMtu)}}, inline_send(), inline_send()});
  rig.post(400, {inline_send()}, Qpn{5});
  rig.places.push(Cycle{599}, {1});
  rig.places.push(Cycle{699}, {2});
  bench.run_to(Cycle{598});
  EXPECT_EQ(rig.notices.size(), 2u);
  EXPECT_EQ(rig.tx.size(), 5u) << "what was begun goes on, and so does UC";
  bench.run_to(Cycle{602});
  EXPECT_EQ(rig.tx.size(), 6u);
  bench.run();
  ASSERT_EQ(rig.tx.size(), 7u);
  EXPECT_EQ(rig.tx.cycle(5), Cycle{600});
  EXPECT_EQ(rig.tx.cycle(6), Cycle{700});
  EXPECT_EQ(rig.notices.size(), 4u);
  bench.engine().settle();
  EXPECT_GT(rig.dut.account()[static_cast<std::size_t>(Activity::kWaitResponse)], 150u);
  EXPECT_EQ(rig.dut.counters().table_waits, 2u) << "the third and the fourth";
}

TEST(Requester, UnreliableRequestsWaitForRoomForTheirCompletions) {
  Bench bench;
  RequesterParams params = Rig::params();
  params.packet_buffers = 2;
  Rig rig(bench, params);
  rig.create(Rig::context(Transport::kUc));
  rig.completions.stall(Cycle{0}, Cycle{4000});
  rig.post(10, std::vector<WqeSpec>(16, inline_send()));
  bench.run_to(Cycle{3000});
  EXPECT_EQ(rig.tx.size(), 10u) << "eight in the link, two in the block";
  EXPECT_EQ(rig.dut.activity(), Activity::kBlocked);
  bench.run();
  EXPECT_EQ(rig.tx.size(), 16u);
  EXPECT_EQ(rig.completions.size(), 16u);
}

TEST(Requester, OneQpMoreIsRefusedUntilOneIsGone) {  // (R10)
  Bench bench;
  RequesterParams params = Rig::params();
  params.send_queues = 2;
  Rig rig(bench, params);
  EXPECT_TRUE(rig.dut.create(Rig::context(Transport::kRc, Qpn{1})));
  EXPECT_TRUE(rig.dut.create(Rig::context(Transport::kRc, Qpn{2})));
  EXPECT_FALSE(rig.dut.create(Rig::context(Transport::kRc, Qpn{3})));
  SendQueueCommand create;
  create.operation = SendQueueOperation::kCreate;
  create.qpn = Qpn{3};
  create.transport = Transport::kRc;
  SendQueueCommand destroy;
  destroy.operation = SendQueueOperation::kDestroy;
  destroy.qpn = Qpn{1};
  rig.commands.push(Cycle{9}, create);
  rig.commands.push(Cycle{19}, destroy);
  rig.commands.push(Cycle{29}, create);
  bench.run();
  ASSERT_EQ(rig.command_done.size(), 3u);
  EXPECT_FALSE(rig.command_done.value(0).ok);
  EXPECT_TRUE(rig.command_done.value(1).ok);
  EXPECT_TRUE(rig.command_done.value(2).ok);
  ASSERT_EQ(rig.notices.size(), 1u);
  EXPECT_TRUE(rig.notices.value(0).reset);
}

}  // namespace
}  // namespace rxnic
