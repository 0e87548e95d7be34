// SPDX-License-Identifier: Apache-2.0
// Time, order and routing of the transport checker; its decisions are tested in testbench/unit/model/core.
#include "model/blocks/transport_checker.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "model/nic/nic_shared.h"
#include "model/types/syndrome.h"
#include "testbench/unit/model/core/packet_builder.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic::transport_checker_test {
namespace {

using O = Operation;

constexpr std::uint32_t kLatency = 6;

TransportCheckerParams params(std::uint32_t cycles_per_packet = 1, std::uint32_t latency = kLatency) {
  TransportCheckerParams p;
  p.cycles_per_packet = cycles_per_packet;
  p.latency_cycles = latency;
  return p;
}

struct Fixture {
  explicit Fixture(Bench& b, const TransportCheckerParams& p = params())
      : bench(b),
        shared(b.keep<NicShared>(PacketPool::Quotas{.receive = 3000, .response = 1})),
        dut(b.add<TransportChecker>("dut", p, shared.packets, shared.ledger, shared.contexts)),
        in(b.source(dut.in, 4)),
        requests(b.source(dut.requests, 4)),
        to_cam(b.sink(dut.to_cam, 2)),
        out(b.sink(dut.to_fetcher, 2)) {}
  // A QP in the context memory.
  QpContext& qp(Transport transport) {
    QpContext& made = shared.contexts[qps++];
    static_cast<StoredQpContext&>(made) = make_qp(transport);
    dut.reserve(made.qpn, made.max_dest_rd_atomic);
    return made;
  }
  ContextPacket packet(QpContext& of, const PacketSpec& spec) {
    ContextPacket p = arrived_packet(of, spec);
    p.buffer = shared.packets.allocate(PacketClass::kReceive);
    of.pins.add();
    return p;
  }
  // Sends a packet that reaches the checker in cycle `at`.
  void arrive(std::uint64_t at, QpContext& of, const PacketSpec& spec) { in.push(Cycle{at - 1}, packet(of, spec)); }
  void request(std::uint64_t at, QpContext& of, std::uint32_t psn, bool signaled = true,
               CqeOpcode opcode = CqeOpcode::kSend) {
    requests.push(Cycle{at - 1}, {.qpn = of.qpn,
                                  .first_psn = Psn{psn},
                                  .opcode = opcode,
                                  .signaled = signaled,
                                  .wqe_index = psn,
                                  .bytes = 10 * psn});
  }
  const WqeRequest& got(std::size_t n) const { return out.value(n); }
  std::uint64_t dropped(DropReason r) const { return shared.ledger.counters().dropped[static_cast<std::size_t>(r)]; }
  std::uint64_t cycles(Activity a) {
    bench.engine().settle();
    return dut.account()[static_cast<std::size_t>(a)];
  }

  Bench& bench;
  NicShared& shared;
  TransportChecker& dut;
  Source<ContextPacket>& in;
  Source<RequestNotice>& requests;
  Sink<WqeRequest>& to_cam;
  Sink<WqeRequest>& out;
  std::uint32_t qps = 0;
};

TEST(TransportChecker, APacketLeavesAfterItsLatencyNotBefore) {  // (R1)
  for (const std::uint32_t latency : {1u, 2u, 6u, 40u}) {
    Bench bench;
    Fixture fixture(bench, params(1, latency));
    QpContext& qp = fixture.qp(Transport::kRc);
    fixture.arrive(10, qp, {});
    bench.run_to(Cycle{10 + latency});
    EXPECT_EQ(fixture.out.size(), 0u);  // the sink sees a packet one cycle after it left
    bench.run_to(Cycle{10 + latency + 1});
    ASSERT_EQ(fixture.out.size(), 1u);
    EXPECT_EQ(fixture.out.cycle(0), Cycle{10 + latency});
    EXPECT_EQ(fixture.shared.packets[fixture.got(0).buffer].stamped(Station::kTransportChecker), Cycle{10 + latency});
    EXPECT_EQ(fixture.shared.packets[fixture.got(0).buffer].taken(Station::kTransportChecker), Cycle{10});
    EXPECT_EQ(fixture.got(0).outcome, Outcome::kExecute);
    bench.run();
  }
}

TEST(TransportChecker, PacketsAreTakenSoManyCyclesApartNotFewer) {  // (R2)
  for (const std::uint32_t apart : {1u, 2u, 7u, 20u}) {
    Bench bench;
    Fixture fixture(bench, params(apart));
    QpContext& qp = fixture.qp(Transport::kRc);
    for (std::uint32_t i = 0; i < 30; ++i) fixture.arrive(10, qp, {.psn = kFirstPsn + i});
    bench.run();
    ASSERT_EQ(fixture.out.size(), 30u);
    for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(fixture.out.cycle(i), Cycle{10 + kLatency + i * apart});
  }
}

TEST(TransportChecker, PacketsOfOneQpWaitForEachOtherWhenNothingIsForwarded) {  // (R13)
  for (const CheckHazard hazard : {CheckHazard::kForward, CheckHazard::kStall}) {
    TransportCheckerParams p = params();
    p.hazard = hazard;
    Bench bench;
    Fixture fixture(bench, p);
    QpContext& a = fixture.qp(Transport::kRc);
    QpContext& b = fixture.qp(Transport::kRc);
    fixture.arrive(10, a, {.psn = kFirstPsn});
    fixture.arrive(10, b, {.psn = kFirstPsn});
    fixture.arrive(10, a, {.psn = kFirstPsn + 1});
    fixture.arrive(10, b, {.psn = kFirstPsn + 1});  // behind one that waits
    bench.run();
    ASSERT_EQ(fixture.out.size(), 4u);
    const bool stalls = hazard == CheckHazard::kStall;
    EXPECT_EQ(fixture.out.cycle(1), Cycle{11 + kLatency});
    EXPECT_EQ(fixture.out.cycle(2), Cycle{stalls ? 10 + 2 * kLatency : 12 + kLatency});
    EXPECT_EQ(fixture.out.cycle(3), Cycle{stalls ? 11 + 2 * kLatency : 13 + kLatency});
    EXPECT_EQ(fixture.dut.counters().hazard_stalls, stalls ? 1u : 0u);
    EXPECT_EQ(fixture.cycles(Activity::kWaitHazard), stalls ? kLatency - 2 : 0u);
  }
}

TEST(TransportChecker, APacketThatIsDroppedTakesItsTimeToo) {  // (R2)
  Bench bench;
  Fixture fixture(bench, params(4));
  QpContext& qp = fixture.qp(Transport::kRc);
  QpContext& reset = fixture.qp(Transport::kRc);
  reset.state = QpState::kReset;
  fixture.arrive(10, reset, {});
  fixture.arrive(10, qp, {.operation = O::kCnp});
  fixture.arrive(10, qp, {});
  bench.run();
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{10 + 2 * 4 + kLatency});
}

TEST(TransportChecker, SilentFailuresEndHere) {  // (R3)
  struct Row {
    DropReason reason;
    void (*spoil)(ContextPacket&, QpContext&);
  };
  constexpr Row kRows[] = {
      {DropReason::kQpTypeOrState, [](ContextPacket&, QpContext& qp) { qp.state = QpState::kInit; }},
      {DropReason::kQpAddress, [](ContextPacket& p, QpContext&) { p.source = Address::ipv4(1); }},
      {DropReason::kPkey, [](ContextPacket& p, QpContext&) { p.pkey = 1; }},
      {DropReason::kIcrc, [](ContextPacket& p, QpContext&) { p.icrc_ok = false; }},
      {DropReason::kPsnAhead, [](ContextPacket& p, QpContext& qp) { p.psn = p.psn + 1, qp.nak_sent = true; }},
      {DropReason::kDuplicateUnsaved,
       [](ContextPacket& p, QpContext&) {
         p.psn = p.psn.previous(), p.opcode = opcode_of(Transport::kRc, O::kFetchAdd);
       }},
      {DropReason::kUnsolicitedAnswer,
       [](ContextPacket& p, QpContext&) { p.opcode = opcode_of(Transport::kRc, O::kAck); }},
  };
  for (const Row& row : kRows) {
    Bench bench;
    Fixture fixture(bench);
    QpContext& qp = fixture.qp(Transport::kRc);
    ContextPacket p = fixture.packet(qp, {});
    row.spoil(p, qp);
    fixture.in.push(Cycle{9}, p);
    bench.run();
    EXPECT_EQ(fixture.out.size(), 0u);
    EXPECT_EQ(fixture.dropped(row.reason), 1u) << name_of(row.reason);
    EXPECT_EQ(fixture.shared.ledger.counters().dropped_total(), 1u);
    EXPECT_EQ(fixture.shared.packets.in_use(), 0u);
    EXPECT_EQ(qp.pins.count(), 0u);
    EXPECT_EQ(fixture.dut.counters().packets, 1u);
  }
}

TEST(TransportChecker, UcAndUdFailuresEndHereToo) {  // (R3)
  Bench bench;
  Fixture fixture(bench);
  QpContext& uc = fixture.qp(Transport::kUc);
  QpContext& ud = fixture.qp(Transport::kUd);
  fixture.arrive(10, uc, {.operation = O::kSendLast, .payload = 1});
  fixture.arrive(11, ud, {.payload = kTestMtu + 1});
  ContextPacket p = fixture.packet(ud, {});
  p.qkey = 0;
  fixture.in.push(Cycle{11}, p);
  bench.run();
  EXPECT_EQ(fixture.out.size(), 0u);
  EXPECT_EQ(fixture.dropped(DropReason::kUcSequence), 1u);
  EXPECT_EQ(fixture.dropped(DropReason::kInvalidRequest), 1u);
  EXPECT_EQ(fixture.dropped(DropReason::kQkey), 1u);
}

TEST(TransportChecker, WhatIsToBeAnsweredTravelsOnInOrder) {  // (R3)
  Bench bench;
  Fixture fixture(bench);
  QpContext& qp = fixture.qp(Transport::kRc);
  fixture.arrive(10, qp, {.psn = 100});
  fixture.arrive(10, qp, {.psn = 105});                                           // NAK 0x60
  fixture.arrive(10, qp, {.psn = 106});                                           // silence
  fixture.arrive(10, qp, {.psn = 100});                                           // duplicate
  fixture.arrive(10, qp, {.operation = O::kSendLast, .psn = 101, .payload = 1});  // NAK 0x61
  bench.run();
  ASSERT_EQ(fixture.out.size(), 4u);
  EXPECT_EQ(fixture.got(0).outcome, Outcome::kExecute);
  EXPECT_EQ(fixture.got(1).syndrome, 0x60u);
  EXPECT_EQ(fixture.got(2).outcome, Outcome::kAckAgain);
  EXPECT_EQ(fixture.got(3).syndrome, 0x61u);
  EXPECT_EQ(fixture.dut.counters().requests, 5u);
}

TEST(TransportChecker, AUcErrorCompletionTravelsOn) {  // (R3)
  Bench bench;
  Fixture fixture(bench);
  QpContext& qp = fixture.qp(Transport::kUc);
  qp.uses_srq = true;
  fixture.arrive(10, qp, {.operation = O::kSendFirst, .psn = 100, .payload = kTestMtu});
  fixture.arrive(10, qp, {.operation = O::kSendOnly, .psn = 101});
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.got(1).outcome, Outcome::kDrop);
  EXPECT_TRUE(fixture.got(1).completes);
}

TEST(TransportChecker, ARefusalOfABlockBehindTakesThePacketBack) {  // (R10)
  Bench bench;
  Fixture fixture(bench);
  auto& refusals = bench.source(fixture.dut.refusals[2]);
  QpContext& qp = fixture.qp(Transport::kRc);
  for (std::uint32_t i = 0; i < 3; ++i) fixture.arrive(10, qp, {.psn = kFirstPsn + i});
  bench.run_to(Cycle{100});
  ASSERT_EQ(fixture.out.size(), 3u);
  const std::uint16_t epoch = qp.epoch;
  refusals.push(Cycle{110}, {RefusalKind::kNotReady, qp.line, 0, fixture.got(1).buffer});
  bench.run_to(Cycle{111});
  EXPECT_EQ(qp.expected_psn, Psn{kFirstPsn + 1});
  EXPECT_EQ(qp.msn, 1u);
  EXPECT_EQ(qp.epoch, epoch + 1);
  EXPECT_TRUE(qp.nak_sent && qp.dirty);
  EXPECT_EQ(qp.state, QpState::kRts);
  refusals.push(Cycle{120}, {RefusalKind::kError, qp.line, 0, kNoPacket});
  bench.run();
  EXPECT_EQ(qp.state, QpState::kError);
}

TEST(TransportChecker, PlacesOfRequestsAreGivenBack) {  // (R6)
  Bench bench;
  TransportCheckerParams p = params();
  p.own_requests = 3;
  Fixture fixture(bench, p);
  auto& places = bench.sink(fixture.dut.places, 1);
  QpContext& qp = fixture.qp(Transport::kRc);
  for (std::uint32_t psn = 1; psn < 5; ++psn) fixture.request(10, qp, psn);
  fixture.arrive(100, qp, {.operation = O::kAck, .psn = 4, .syndrome = kAckUnlimited});
  for (std::uint32_t psn = 5; psn < 8; ++psn) fixture.request(200, qp, psn);
  places.stall(Cycle{100}, Cycle{150});
  bench.run();
  EXPECT_EQ(fixture.dut.request_counters().refused, 1u) << "nobody waited for a place";
  std::uint32_t all = 0;
  for (const RequestPlaces& r : places.values()) all += r.count;
  EXPECT_EQ(all, 4u);
  ASSERT_GE(places.size(), 3u);
  EXPECT_EQ(places.cycle(1), Cycle{149}) << "waits for room in its link";
  EXPECT_EQ(places.value(2).count, 2u) << "and what came meanwhile, together";
}

TEST(TransportChecker, WhatIsReservedIsBounded) {  // (R11)
  Bench bench;
  TransportCheckerParams p = params();
  p.responder_resources = 20;
  NicShared& shared = bench.keep<NicShared>(PacketPool::Quotas{});
  auto& dut = bench.add<TransportChecker>("dut", p, shared.packets, shared.ledger, shared.contexts,
                                          TransportCheckerSizes{.qps = 4, .srqs = 2});
  EXPECT_TRUE(dut.reserve(Qpn{1}, 16));
  EXPECT_FALSE(dut.reserve(Qpn{2}, 5));
  EXPECT_TRUE(dut.reserve(Qpn{2}, 4));
  EXPECT_EQ(dut.resources_left(), 0u);
  EXPECT_TRUE(dut.reserve(Qpn{1}, 0));
  EXPECT_EQ(dut.resources_left(), 16u);
  EXPECT_TRUE(dut.add_srq(Srqn{1}, {}));
  EXPECT_TRUE(dut.add_srq(Srqn{2}, {}));
  EXPECT_FALSE(dut.add_srq(Srqn{3}, {}));
  EXPECT_TRUE(dut.add_srq(Srqn{2}, {})) << "in the place of itself";
  auto& srqs = bench.source(dut.srqs);
  auto& done = bench.sink(dut.srq_done);
  srqs.push(Cycle{10}, {true, Srqn{3}, WqId{3}, {}, {}});
  srqs.push(Cycle{20}, {false, Srqn{1}, kNoWq, {}, {}});
  srqs.push(Cycle{30}, {true, Srqn{3}, WqId{3}, {}, {}});
  bench.run();
  ASSERT_EQ(done.size(), 3u);
  EXPECT_FALSE(done.value(0).ok);
  EXPECT_TRUE(done.value(1).ok);
  EXPECT_TRUE(done.value(2).ok);
}

TEST(TransportChecker, ADescriptorSaysWhatTheHeadersAndTheQpSay) {
  Bench bench;
  Fixture fixture(bench);
  QpContext& qp = fixture.qp(Transport::kRc);
  qp.residence = 9;
  qp.min_rnr_timer = 5;
  qp.uses_srq = true;
  ContextPacket in = fixture.packet(qp, {.operation = O::kSendOnlyImm, .payload = 40, .ack_request = true});
  in.immediate = 0x1234;
  in.solicited = true;
  in.payload_offset = 54;
  in.id = 3;
  in.posted = Cycle{2};
  fixture.in.push(Cycle{9}, in);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 1u);
  const WqeRequest& p = fixture.got(0);
  EXPECT_EQ(p.buffer, in.buffer);
  EXPECT_EQ(p.transport, Transport::kRc);
  EXPECT_EQ(p.opcode, in.opcode);
  EXPECT_EQ(p.psn, Psn{kFirstPsn});
  EXPECT_EQ(p.qpn, qp.qpn);
  EXPECT_EQ(p.line, qp.line);
  EXPECT_EQ(p.residence, 9u);
  EXPECT_EQ(p.remote_qpn, qp.remote_qpn);
  EXPECT_EQ(p.mtu, kTestMtu);
  EXPECT_EQ(p.min_rnr_timer, 5u);
  EXPECT_TRUE(p.uses_srq && p.solicited && p.acknowledge && p.takes_wqe && p.completes);
  EXPECT_EQ(p.receive_queue, kTestQueue);
  EXPECT_EQ(p.payload_offset, 54u);
  EXPECT_EQ(p.payload_bytes, 40u);
  EXPECT_EQ(p.immediate, 0x1234u);
  EXPECT_EQ(p.msn_before, 0u);
  EXPECT_EQ(p.answer_msn, 1u);
  EXPECT_EQ(p.id, 3u);
  EXPECT_EQ(p.posted, Cycle{2});
}

TEST(TransportChecker, TagMatchingQpsGoThroughTheCam) {  // (R4)
  Bench bench;
  Fixture fixture(bench);
  QpContext& tm = fixture.qp(Transport::kRc);
  tm.tag_matching = true;
  QpContext& other = fixture.qp(Transport::kRc);
  fixture.arrive(10, tm, {});
  fixture.arrive(10, other, {});
  fixture.arrive(10, tm, {.operation = O::kReadRequest, .psn = kFirstPsn + 1, .length = 8});
  bench.run();
  ASSERT_EQ(fixture.to_cam.size(), 2u) << "all packets of the QP, so that they stay in order";
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.got(0).line, other.line);
  EXPECT_EQ(fixture.to_cam.cycle(0), Cycle{10 + kLatency});
}

TEST(TransportChecker, AnAckCompletesRequestsOneACycleAheadOfItself) {  // (R5)
  for (const std::uint32_t apart : {1u, 3u}) {
    Bench bench;
    Fixture fixture(bench, params(apart));
    QpContext& qp = fixture.qp(Transport::kRc);
    for (std::uint32_t psn = 1; psn <= 12; ++psn) fixture.request(2 + psn, qp, psn, psn != 2);
    fixture.arrive(40, qp, {.operation = O::kAck, .psn = 11, .syndrome = 0x1f});
    bench.run();
    ASSERT_EQ(fixture.out.size(), 11u) << "ten signaled ones and the ACK; 12 is not acknowledged";
    for (std::size_t i = 0; i < 10; ++i) {
      const WqeRequest& p = fixture.got(i);
      const std::uint32_t psn = i == 0 ? 1 : static_cast<std::uint32_t>(i) + 2;
      EXPECT_EQ(fixture.out.cycle(i), Cycle{40 + kLatency + i});
      EXPECT_EQ(p.role, PacketRole::kSendCompletion);
      EXPECT_EQ(p.wqe_index, psn);
      EXPECT_EQ(p.byte_count, 10 * psn);
      EXPECT_EQ(p.cqe_opcode, CqeOpcode::kSend);
      EXPECT_EQ(p.cq, kTestSendCq);
      EXPECT_EQ(p.status, WcStatus::kSuccess);
      EXPECT_TRUE(p.completes);
      EXPECT_EQ(p.buffer, kNoPacket);
      EXPECT_EQ(p.line, qp.line);
    }
    EXPECT_EQ(fixture.got(10).outcome, Outcome::kAnswer);
    EXPECT_EQ(fixture.out.cycle(10), Cycle{40 + kLatency + 10});
    EXPECT_EQ(qp.pins.count(), 11u) << "each of them holds the context";
    EXPECT_EQ(fixture.dut.counters().completions, 10u);
    EXPECT_EQ(fixture.dut.counters().answers, 1u);
  }
}

TEST(TransportChecker, ANoticeIsTakenInTheCycleInWhichItComes) {  // (R6)
  for (const std::uint64_t late : {0u, 1u}) {
    Bench bench;
    Fixture fixture(bench);
    QpContext& qp = fixture.qp(Transport::kRc);
    fixture.request(40 + late, qp, 1);
    fixture.arrive(40, qp, {.operation = O::kAck, .psn = 1, .syndrome = 0x1f});
    bench.run();
    EXPECT_EQ(fixture.out.size(), late == 0 ? 2u : 0u) << "an answer a cycle before its request answers nothing";
  }
}

TEST(TransportChecker, NoticesAreTakenWhilePacketsAreBlocked) {  // (R6)
  Bench bench;
  Fixture fixture(bench);
  fixture.out.stall(Cycle{0}, Cycle{500});
  QpContext& qp = fixture.qp(Transport::kRc);
  for (std::uint32_t i = 0; i < 40; ++i) fixture.arrive(10, qp, {.psn = kFirstPsn + i});
  for (std::uint32_t psn = 1; psn <= 20; ++psn) fixture.request(100 + psn, qp, psn);
  bench.run_to(Cycle{200});
  EXPECT_EQ(fixture.dut.request_counters().requests, 20u);
  EXPECT_EQ(fixture.dut.activity(), Activity::kBlocked);
  bench.run();
  EXPECT_EQ(fixture.out.size(), 40u);
}

TEST(TransportChecker, ACnpIsCountedAndEndsHere) {  // (R7)
  Bench bench;
  Fixture fixture(bench);
  QpContext& qp = fixture.qp(Transport::kRc);
  fixture.arrive(10, qp, {.operation = O::kCnp});
  bench.run();
  EXPECT_EQ(fixture.out.size(), 0u);
  EXPECT_EQ(fixture.dut.counters().cnps, 1u);
  EXPECT_EQ(fixture.shared.ledger.counters().accepted, 1u);
  EXPECT_EQ(fixture.shared.packets.in_use(), 0u);
  EXPECT_EQ(qp.pins.count(), 0u);
  EXPECT_EQ(qp.expected_psn, Psn{kFirstPsn});
}

TEST(TransportChecker, TheRequesterIsNotifiedOfACnp) {  // (R7)
  for (const bool stalled : {false, true}) {
    Bench bench;
    Fixture fixture(bench);
    auto& answers = bench.sink(fixture.dut.answers, 2);
    if (stalled) answers.stall(Cycle{0}, Cycle{100});
    QpContext& qp = fixture.qp(Transport::kUc);
    for (int n = 0; n < 3; ++n) fixture.arrive(10, qp, {.operation = O::kCnp});
    fixture.arrive(10, fixture.qp(Transport::kUd), {.operation = O::kCnp});  // its QP is of no connected type
    bench.run();
    ASSERT_EQ(answers.size(), 3u);
    for (std::size_t n = 0; n < 3; ++n) {
      EXPECT_EQ(answers.value(n).kind, AnswerKind::kCnp);
      EXPECT_EQ(answers.value(n).qpn, qp.qpn);
      if (!stalled) {
        EXPECT_EQ(answers.cycle(n), Cycle{10 + n});
      }
    }
    EXPECT_EQ(fixture.cycles(Activity::kBlocked), stalled ? 89u : 0u) << "the third waits for room for its notice";
    EXPECT_EQ(fixture.dut.counters().cnps, 3u);
    EXPECT_EQ(fixture.shared.ledger.counters().accepted, 3u);
    EXPECT_EQ(fixture.dropped(DropReason::kQpTypeOrState), 1u);
  }
}

TEST(TransportChecker, ASendWhoseEndACaptureLostCompletesAhead) {  // (R5)
  for (const Transport transport : {Transport::kRc, Transport::kXrc}) {
    Bench bench;
    Fixture fixture(bench);
    QpContext& qp = fixture.qp(transport);
    qp.resynchronise = true;
    fixture.dut.add_srq(Srqn{9}, {.queue = WqId{50}, .cq = Cqn{60}, .xrcd = qp.xrcd});
    fixture.arrive(10, qp, {.operation = O::kSendFirst, .psn = 100, .payload = kTestMtu, .srq = 9, .arrived = 7});
    fixture.arrive(20, qp, {.operation = O::kSendOnly, .psn = 110, .payload = 8, .srq = 9, .arrived = 17});
    bench.run();
    ASSERT_EQ(fixture.out.size(), 3u);
    const WqeRequest& p = fixture.got(1);
    EXPECT_EQ(p.role, PacketRole::kTruncated);
    EXPECT_TRUE(p.completes);
    EXPECT_EQ(p.status, WcStatus::kSuccess);
    EXPECT_EQ(p.message_bytes, kTestMtu);
    EXPECT_EQ(p.message_start, 7u);
    EXPECT_EQ(p.queue, transport == Transport::kXrc ? WqId{50} : kTestQueue);
    EXPECT_EQ(p.cq, transport == Transport::kXrc ? Cqn{60} : kTestReceiveCq);
    EXPECT_EQ(fixture.out.cycle(1), Cycle{20 + kLatency});
    EXPECT_EQ(fixture.out.cycle(2), Cycle{20 + kLatency + 1});
    EXPECT_EQ(fixture.dut.responder_counters().truncated_messages, 1u);
  }
}

TEST(TransportChecker, AWriteWhoseEndACaptureLostCompletesNothing) {  // (R5)
  Bench bench;
  Fixture fixture(bench);
  QpContext& qp = fixture.qp(Transport::kRc);
  qp.resynchronise = true;
  fixture.arrive(10, qp, {.operation = O::kWriteFirst, .psn = 100, .payload = kTestMtu, .length = 3 * kTestMtu});
  fixture.arrive(20, qp, {.operation = O::kSendOnly, .psn = 110});
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.got(1).outcome, Outcome::kExecute);
}

TEST(TransportChecker, XrcSrqsComeAndGo) {
  Bench bench;
  Fixture fixture(bench);
  QpContext& qp = fixture.qp(Transport::kXrc);
  fixture.dut.add_srq(Srqn{9}, {.queue = WqId{50}, .cq = Cqn{60}, .xrcd = qp.xrcd});
  fixture.arrive(10, qp, {.psn = 100, .srq = 9});
  fixture.arrive(20, qp, {.psn = 101, .srq = 9});
  auto& srqs = bench.source(fixture.dut.srqs);
  bench.sink(fixture.dut.srq_done);
  srqs.push(Cycle{14}, {false, Srqn{9}, kNoWq, {}, {}});
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.got(0).queue, WqId{50});
  EXPECT_EQ(fixture.got(1).syndrome, 0x61u);
}

// Commands of the command processor. (R12)
TEST(TransportChecker, SoftwareChangesAQpBetweenPackets) {  // R12
  Bench bench;
  Fixture fixture(bench);
  auto& commands = bench.source(fixture.dut.commands);
  auto& replies = bench.sink(fixture.dut.command_replies);
  QpContext& qp = fixture.qp(Transport::kRc);
  QpCommand c;
  c.line = qp.line;
  c.qpn = qp.qpn;
  commands.push(Cycle{9}, c);  // query
  c.operation = QpOperation::kModify;
  c.state = static_cast<std::uint8_t>(QpState::kRtr);
  c.set_psn = true;
  c.psn = Psn{500};
  c.min_rnr_timer = 9;
  commands.push(Cycle{19}, c);
  c.operation = QpOperation::kStop;
  commands.push(Cycle{29}, c);
  bench.run();
  ASSERT_EQ(replies.size(), 3u);
  EXPECT_EQ(replies.cycle(0), Cycle{10});
  EXPECT_EQ(replies.value(0).state, static_cast<std::uint8_t>(QpState::kRts));
  EXPECT_EQ(replies.value(0).psn, Psn{kFirstPsn});
  EXPECT_EQ(replies.value(2).psn, Psn{500});
  EXPECT_EQ(qp.min_rnr_timer, 9);
  EXPECT_EQ(qp.state, QpState::kReset);
  EXPECT_TRUE(qp.dirty);
}

TEST(TransportChecker, AFailureGoesBehindThePacketsThatWereChecked) {  // R12
  Bench bench;
  Fixture fixture(bench);
  auto& commands = bench.source(fixture.dut.commands);
  auto& replies = bench.sink(fixture.dut.command_replies);
  QpContext& qp = fixture.qp(Transport::kRc);
  QpCommand c;
  c.operation = QpOperation::kFail;
  c.line = qp.line;
  c.qpn = qp.qpn;
  fixture.arrive(10, qp, {.psn = kFirstPsn});
  commands.push(Cycle{10}, c);
  fixture.arrive(11, qp, {.psn = kFirstPsn + 1});
  commands.push(Cycle{100}, c);  // again
  c.operation = QpOperation::kModify;
  c.state = static_cast<std::uint8_t>(QpState::kRts);
  commands.push(Cycle{110}, c);  // only a reset takes the QP from the error state
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.got(0).role, PacketRole::kReceived);
  EXPECT_EQ(fixture.got(1).role, PacketRole::kFailure);
  EXPECT_EQ(fixture.got(1).line, qp.line);
  ASSERT_EQ(replies.size(), 3u);
  EXPECT_FALSE(replies.value(0).failed);
  EXPECT_TRUE(replies.value(1).failed);
  EXPECT_TRUE(replies.value(2).failed);
  EXPECT_EQ(qp.state, QpState::kError);
}

TEST(TransportChecker, NothingIsLostBehindABlockedLink) {
  Bench bench;
  Fixture fixture(bench);
  fixture.out.stall(Cycle{0}, Cycle{200});
  QpContext& qp = fixture.qp(Transport::kRc);
  for (std::uint32_t i = 0; i < 50; ++i) fixture.arrive(10, qp, {.psn = kFirstPsn + i});
  bench.run();
  ASSERT_EQ(fixture.out.size(), 50u);
  for (std::uint32_t i = 0; i < 50; ++i) EXPECT_EQ(fixture.got(i).psn, Psn{kFirstPsn + i});
  EXPECT_GT(fixture.cycles(Activity::kBlocked), 150u);
}

TEST(TransportChecker, ItIsBusyFromTakingAPacketUntilThePacketLeaves) {
  for (const std::uint32_t apart : {1u, 20u}) {
    Bench bench;
    Fixture fixture(bench, params(apart));
    QpContext& qp = fixture.qp(Transport::kRc);
    fixture.arrive(10, qp, {});
    bench.run();
    EXPECT_EQ(fixture.cycles(Activity::kBusy), std::max(kLatency, apart));
    EXPECT_EQ(fixture.cycles(Activity::kStarved), bench.engine().now().count + 1 - std::max(kLatency, apart));
  }
}

TEST(TransportChecker, ModesAgree) {
  const std::uint64_t seed = test_seed(17);
  for (std::uint64_t round = 0; round < 6; ++round) {
    expect_equal_in_all_modes([&](Bench& bench) {
      std::mt19937_64 random(seed + round);
      TransportCheckerParams drawn = params(1 + round % 3, 1 + static_cast<std::uint32_t>(random() % 9));
      drawn.hazard = static_cast<CheckHazard>(round % 2);
      Fixture fixture(bench, drawn);
      const std::array<QpContext*, 4> qps = {&fixture.qp(Transport::kRc), &fixture.qp(Transport::kUc),
                                             &fixture.qp(Transport::kUd), &fixture.qp(Transport::kRc)};
      qps[3]->resynchronise = qps[3]->tag_matching = true;
      for (std::uint32_t i = 0; i < qps.size(); ++i) {
        qps[i]->qpn = Qpn{100 + i};
        fixture.dut.reserve(qps[i]->qpn, qps[i]->max_dest_rd_atomic);
      }
      const auto retire = [&](Cycle now, const WqeRequest& p) { fixture.shared.ledger.retire(p, now); };
      fixture.out.on_value(retire);
      fixture.to_cam.on_value(retire);
      fixture.out.accept_when([](Cycle now) { return now.count % 7 < 4; });
      constexpr O kOperations[] = {O::kSendOnly,    O::kSendFirst, O::kSendMiddle, O::kSendLast, O::kWriteOnly,
                                   O::kReadRequest, O::kAck,       O::kFetchAdd,   O::kCnp};
      std::array<std::uint32_t, 4> psn{kFirstPsn, kFirstPsn, kFirstPsn, kFirstPsn};
      std::uint64_t at = 10;
      for (std::uint32_t i = 0; i < 2500; ++i) {
        at += random() % 16 == 0 ? random() % 50 : random() % 3;
        const std::size_t q = random() % qps.size();
        O operation = kOperations[random() % std::size(kOperations)];
        const std::uint32_t traits = opcode_info(opcode_of(Transport::kRc, operation)).traits;
        const bool full = (traits & (kFirst | kMiddle)) != 0;
        // No sequence errors on the first QP, so that it does not fail. UC and UD have fewer opcodes.
        if (q == 0 && (traits & (kFirst | kMiddle | kLast)) != 0) continue;
        if (q == 1 && (traits & kSend) == 0) continue;
        if (q == 2) operation = O::kSendOnly;
        if (random() % 12 == 0) psn[q] += random() % 3;
        fixture.arrive(at, *qps[q],
                       {.operation = operation,
                        .psn = operation == O::kAck ? i / 8 : psn[q]++,
                        .payload = full                        ? kTestMtu
                                   : operation == O::kSendLast ? 9u
                                                               : 0u});
        if (i % 8 == 0) fixture.request(at, *qps[0], i / 8);
      }
      bench.run();
      EXPECT_EQ(fixture.shared.packets.in_use(), 0u);
      EXPECT_GT(fixture.shared.ledger.counters().accepted, 300u);
      EXPECT_GT(fixture.dut.counters().completions, 10u);
      for (const QpContext* qp : qps) EXPECT_EQ(qp->pins.count(), 0u);
      return bench.state_hash();
    });
  }
}

TEST(TransportChecker, TheRequesterIsNotifiedOfAnAnswerInTheCycleOfItsDecision) {  // (R8)
  Bench bench;
  Fixture fixture(bench);
  auto& answers = bench.sink(fixture.dut.answers);
  QpContext& qp = fixture.qp(Transport::kRc);
  fixture.request(5, qp, 50);
  fixture.request(6, qp, 51);
  fixture.arrive(10, qp, {.operation = O::kAck, .psn = 51, .syndrome = 0x1f});
  fixture.arrive(30, qp, {.operation = O::kAck, .psn = 99, .syndrome = 0x1f});
  bench.run();
  ASSERT_EQ(answers.size(), 1u) << "a response that no request explains is not reported";
  EXPECT_EQ(answers.cycle(0), Cycle{12}) << "after the two completions";
  EXPECT_EQ(answers.value(0).kind, AnswerKind::kAck);
  EXPECT_EQ(answers.value(0).psn, Psn{51});
  EXPECT_EQ(answers.value(0).qpn, qp.qpn);
}

TEST(TransportChecker, AnAnswerWaitsForRoomForItsNotice) {  // (R8)
  Bench bench;
  Fixture fixture(bench);
  auto& answers = bench.sink(fixture.dut.answers, 2);
  answers.stall(Cycle{0}, Cycle{100});
  QpContext& qp = fixture.qp(Transport::kRc);
  for (std::uint32_t i = 0; i < 4; ++i) {
    fixture.request(5, qp, 50 + i, false);
    fixture.arrive(20, qp, {.operation = O::kAck, .psn = 50 + i, .syndrome = 0x1f});
  }
  bench.run();
  ASSERT_EQ(answers.size(), 4u);
  ASSERT_EQ(fixture.out.size(), 4u);
  EXPECT_EQ(fixture.out.cycle(1), Cycle{21 + kLatency});
  EXPECT_EQ(fixture.out.cycle(2), Cycle{101 + kLatency});
}

// A completion that the requester sends for WQE number `wqe`; it reaches the checker in cycle `at`.
void complete(Fixture& fixture, std::uint64_t at, QpContext& qp, std::uint32_t wqe, WcStatus status) {
  ContextPacket p;
  p.is_completion = true;
  p.line = qp.line;
  p.residence = qp.residence;
  p.completion.qpn = qp.qpn;
  p.completion.wqe = wqe;
  p.completion.wqe_index = 100 + wqe;
  p.completion.bytes = 77;
  p.completion.opcode = CqeOpcode::kRdmaWrite;
  p.completion.status = status;
  qp.pins.add();
  fixture.in.push(Cycle{at - 1}, p);
}

TEST(TransportChecker, TheRequestersCompletionsGoOnInTheirOrder) {  // (R9)
  Bench bench;
  Fixture fixture(bench);
  QpContext& qp = fixture.qp(Transport::kUc);
  fixture.arrive(10, qp, {});
  complete(fixture, 10, qp, 0, WcStatus::kSuccess);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.out.cycle(1), Cycle{11 + kLatency});
  EXPECT_EQ(fixture.got(1).role, PacketRole::kSendCompletion);
  EXPECT_EQ(fixture.got(1).cq, kTestSendCq);
  EXPECT_TRUE(fixture.got(1).completes);
  EXPECT_EQ(fixture.got(1).wqe_index, 100u);
  EXPECT_EQ(fixture.got(1).byte_count, 77u);
  EXPECT_EQ(fixture.got(1).cqe_opcode, CqeOpcode::kRdmaWrite);
  EXPECT_EQ(qp.state, QpState::kRts);
  EXPECT_EQ(fixture.dut.counters().completions, 1u);
}

TEST(TransportChecker, OneInErrorMovesTheQpAndFlushedOnesFollow) {  // (R9)
  Bench bench;
  Fixture fixture(bench);
  QpContext& qp = fixture.qp(Transport::kRc);
  fixture.request(5, qp, 50);
  complete(fixture, 10, qp, 0, WcStatus::kRetryExceeded);
  complete(fixture, 11, qp, 1, WcStatus::kFlushed);
  fixture.arrive(12, qp, {.operation = O::kAck, .psn = 50, .syndrome = 0x1f});
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.got(0).status, WcStatus::kRetryExceeded);
  EXPECT_EQ(fixture.got(1).status, WcStatus::kFlushed);
  EXPECT_EQ(qp.state, QpState::kError);
  EXPECT_EQ(fixture.dropped(DropReason::kQpTypeOrState), 1u) << "an answer to a QP in error";
}

TEST(TransportChecker, ASendErrorOfAnUnreliableQpLeavesItReceiving) {  // (R9)
  for (const Transport transport : {Transport::kUc, Transport::kUd}) {
    Bench bench;
    Fixture fixture(bench);
    QpContext& qp = fixture.qp(transport);
    complete(fixture, 10, qp, 0, WcStatus::kLocalProtection);
    complete(fixture, 11, qp, 1, WcStatus::kFlushed);
    complete(fixture, 20, qp, 2, WcStatus::kSuccess);  // it has come back
    complete(fixture, 21, qp, 3, WcStatus::kLocalProtection);
    bench.run();
    ASSERT_EQ(fixture.out.size(), 4u);
    EXPECT_EQ(fixture.got(0).status, WcStatus::kLocalProtection);
    for (std::size_t n = 0; n < 4; ++n) EXPECT_TRUE(fixture.got(n).completes) << n;
    EXPECT_EQ(qp.state, QpState::kRts);
  }
}

TEST(TransportChecker, AWqeThatWasAnsweredIsNotFlushed) {  // (R9)
  Bench bench;
  Fixture fixture(bench);
  QpContext& qp = fixture.qp(Transport::kRc);
  fixture.request(5, qp, 50);
  fixture.arrive(10, qp, {.operation = O::kAck, .psn = 50, .syndrome = 0x1f});
  complete(fixture, 20, qp, 0, WcStatus::kFlushed);
  complete(fixture, 30, qp, 0, WcStatus::kRetryExceeded);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 3u) << "the completion, the ACK, the failure";
  EXPECT_FALSE(fixture.got(2).completes);
  EXPECT_EQ(qp.state, QpState::kError) << "it fails all the same";
  EXPECT_EQ(qp.pins.count(), 3u) << "the dropped one let go of it";
}

}  // namespace
}  // namespace rxnic::transport_checker_test
