// SPDX-License-Identifier: Apache-2.0
// Rules R1..R10 of model/blocks/cqe_generator.h (rules 3.1 .. 3.5; rules 6: CQ full, flush, last WQE).
#include "model/blocks/cqe_generator.h"

#include <gtest/gtest.h>

#include <random>

#include "model/blocks/dma_engine.h"
#include "model/core/receive_queue/wqe_slots.h"
#include "model/types/descriptor_text.h"
#include "testbench/unit/model/blocks/cqe_generator_harness.h"
#include "testbench/unit/model/engine/harness.h"
#include "testbench/unit/request_packets.h"

namespace rxnic::cqe_generator_test {
namespace {

constexpr BusAddress kRing{0x8000};
constexpr Cqn kCq{4};

CqContext cq_context(std::uint32_t slots = 16) {
  CqContext c;
  c.number = kCq;
  c.base = kRing;
  c.slots = slots;
  return c;
}

// From the cycle in which a packet is taken to its event: latency 4, a DMA write of 1 + 1 cycles, event latency 8.
constexpr std::uint64_t kUncongested = 14;

// An event latency that fits into a test's cycles, whatever the default.
CqeGeneratorParams test_params() {
  CqeGeneratorParams params;
  params.event_latency_cycles = 8;
  return params;
}

CqeGeneratorParams compressing(std::uint32_t max = 8, std::uint32_t timeout = 64) {
  CqeGeneratorParams params = test_params();
  params.compression = true;
  params.compression_max = max;
  params.compression_timeout_cycles = timeout;
  return params;
}

struct Fixture : CqeGeneratorHarness {
  explicit Fixture(Bench& b, const CqeGeneratorParams& params = test_params(), const CqContext& cq = cq_context(),
                   const CqeGeneratorLinks& links = {})
      : CqeGeneratorHarness(b, params_with(&Params::cqe_generator, params), links),
        qp(place_qp(shared, test_qp(Transport::kRc))) {
    released.on_value([this](Cycle, const WqeSlot& r) { slots.release(r.wqe_slot); });
    dut.create(cq, host);
    const std::vector<std::uint8_t> ones(64, 0xff);
    for (std::uint32_t i = 0; i < cq.slots; ++i) host.write(kRing + i * 64, ones);
  }

  CompletionRequest packet(QpContext& of, Operation operation = Operation::kSendOnly, std::uint32_t bytes = 64) {
    const Headers h = request_headers(Encapsulation::kRoceV2Ipv4, of.transport, operation, Psn{1});
    CompletionRequest p = accept_packet(shared, of, place_frame(shared, h, counting_bytes(bytes)));
    p.byte_count = bytes;
    p.wqe_index = next_wqe++;
    return p;
  }
  CompletionRequest packet() { return packet(qp); }
  // One that back-pressure of the path to host memory has held up: its CQE may be compressed. (R5)
  CompletionRequest pressed(Cqn cq = kCq) {
    CompletionRequest p = packet();
    p.pressed = true;
    p.cq = cq;
    return p;
  }
  // The pressure ends with it, and it has no completion.
  CompletionRequest unpressed() {
    CompletionRequest p = packet();
    p.completes = false;
    return p;
  }
  void create(Cqn number, bool compress) {
    CqContext cq = cq_context();
    cq.number = number;
    cq.base = BusAddress{0x1000000 * raw(number)};
    cq.compress = compress;
    dut.create(cq, host);
  }
  // A packet that failed its QP, with a WQE or without.
  CompletionRequest failed(QpContext& of, std::uint8_t syndrome, bool with_wqe) {
    CompletionRequest p = packet(of);
    if (with_wqe) p.wqe_slot = slots.allocate();
    p.releases_wqe = with_wqe;
    mark_failed(p, DropReason::kInvalidRequest, syndrome, WcStatus::kRemoteInvalidRequest);
    return p;
  }
  // The packet as it left.
  AckRequest left(const CompletionRequest& p) const {
    for (const AckRequest& a : out.values()) {
      if (a.buffer == p.buffer) return a;
    }
    ADD_FAILURE() << "the packet has not left";
    return {};
  }
  void arm(Cycle when, std::uint32_t consumer, bool solicited_only = false) {
    doorbells.push(when, {DoorbellKind::kCqArm, solicited_only, raw(kCq), consumer});
  }
  void consume(Cycle when, std::uint32_t consumer) {
    doorbells.push(when, {DoorbellKind::kCqConsumer, false, raw(kCq), consumer});
  }
  // Taken in cycle `at`.
  void ask(std::uint64_t at, const CqCommand& command) { commands.push(Cycle{at - 1}, command); }
  Cqe slot(std::uint32_t n) { return host.load<Cqe>(kRing + n * 64); }
  std::size_t count(EventType type) const {
    return static_cast<std::size_t>(
        std::count_if(events.values().begin(), events.values().end(), [&](const Event& e) { return e.type == type; }));
  }

  WqeSlots slots{{}};
  QpContext& qp;
  std::uint32_t next_wqe = 0;
};

TEST(CqeGenerator, WriteAndPacketLeaveAfterLatencyCycles) {
  for (const std::uint32_t latency : {1u, 4u, 11u}) {
    CqeGeneratorParams params = test_params();
    params.latency_cycles = latency;
    Bench bench;
    Fixture fixture(bench, params);
    const CompletionRequest p = fixture.packet();
    fixture.in.push(Cycle{9}, p);       // taken in cycle 10
    bench.run_to(Cycle{10 + latency});  // sinks take it one later
    EXPECT_EQ(fixture.out.size(), 0u);
    EXPECT_EQ(fixture.writes.log().size(), 0u);
    bench.run_to(Cycle{10 + latency + 1});
    ASSERT_EQ(fixture.out.size(), 1u);
    ASSERT_EQ(fixture.writes.log().size(), 1u);
    EXPECT_EQ(fixture.out.cycle(0), Cycle{10 + latency});
    EXPECT_EQ(fixture.writes.log()[0].taken, Cycle{10 + latency + 1});
    EXPECT_EQ(fixture.shared.packets[p.buffer].stamped(Station::kCqeGenerator), Cycle{10 + latency});
    EXPECT_EQ(fixture.shared.packets[p.buffer].taken(Station::kCqeGenerator), Cycle{10});
  }
}

TEST(CqeGenerator, ARendezvousIsHandedToTheRequester) {  // R18
  enum class Case { kGood, kNotOne, kFailed, kSquashed, kClosed };
  for (const Case c : {Case::kGood, Case::kNotOne, Case::kFailed, Case::kSquashed, Case::kClosed}) {
    Bench bench;
    Fixture fixture(bench);
    CompletionRequest p = fixture.packet();
    p.wqe_slot = fixture.slots.allocate();
    fixture.shared.wqes[p.wqe_slot].sge[0] = {5000, 0x777, 0x123450};
    p.releases_wqe = p.completes = true;
    p.cqe_opcode = CqeOpcode::kTagReceive;
    p.rendezvous = c != Case::kNotOne;
    p.pd = Pdn{9};
    p.local_va = 0xabcdef;
    p.local_key = Key{0x888};
    p.local_bytes = 4000;
    p.tag = 77;
    p.tag_context = 0xabc;
    if (c == Case::kFailed) mark_failed(p, DropReason::kMessageTooLong, 0x61, WcStatus::kLocalLength);
    if (c == Case::kSquashed) squash(p);
    if (c == Case::kClosed) p.cq = Cqn{99};
    fixture.in.push(Cycle{9}, p);
    bench.run();
    ASSERT_EQ(fixture.rendezvous.size(), c == Case::kNotOne ? 0u : 1u);
    if (c == Case::kNotOne) continue;
    EXPECT_TRUE(c == Case::kClosed || fixture.rendezvous.cycle(0) == Cycle{10}) << "when the packet is taken";
    const RendezvousRequest& r = fixture.rendezvous.value(0);
    EXPECT_EQ(r.begins, c == Case::kGood);
    EXPECT_EQ(r.qpn, p.qpn);
    EXPECT_EQ(r.handle, p.wqe_index);
    EXPECT_EQ(r.pd, Pdn{9});
    EXPECT_EQ(r.buffer, 0x123450u);
    EXPECT_EQ(r.lkey, Key{0x777});
    EXPECT_EQ(r.bytes, 4000u);
    EXPECT_EQ(r.va, 0xabcdefu);
    EXPECT_EQ(r.rkey, Key{0x888});
    EXPECT_EQ(r.tag, 77u);
    EXPECT_EQ(r.tag_context, 0xabcu);
  }
}

TEST(CqeGenerator, PlacedDataOfOurReadsAndAtomicsIsReportedToTheRequester) {  // R19
  const struct {
    std::uint8_t opcode;  // RC
    Outcome outcome;
    bool reported;
  } cases[] = {{0x0d, Outcome::kAnswer, true},   {0x0e, Outcome::kAnswer, true}, {0x0f, Outcome::kAnswer, true},
               {0x10, Outcome::kAnswer, true},   {0x12, Outcome::kAnswer, true}, {0x11, Outcome::kAnswer, false},
               {0x04, Outcome::kExecute, false}, {0x10, Outcome::kDrop, false}};
  for (const auto& c : cases) {
    Bench bench;
    Fixture fixture(bench);
    CompletionRequest p = fixture.packet();
    p.opcode = c.opcode;
    p.outcome = c.outcome;
    p.psn = Psn{1234};
    fixture.in.push(Cycle{9}, p);
    bench.run();
    ASSERT_EQ(fixture.placed.size(), c.reported ? 1u : 0u) << unsigned{c.opcode};
    if (!c.reported) continue;
    EXPECT_EQ(fixture.placed.cycle(0), Cycle{10});
    EXPECT_EQ(fixture.placed.value(0).qpn, p.qpn);
    EXPECT_EQ(fixture.placed.value(0).psn, Psn{1234});
  }
}

TEST(CqeGenerator, APacketWaitsForRoomForItsWrites) {  // write_depth
  for (const std::uint32_t depth : {3u, 10u}) {
    CqeGeneratorParams params = test_params();
    params.write_depth = depth;
    Bench bench;
    Fixture fixture(bench, params);
    for (int i = 0; i < 2; ++i) fixture.in.push(Cycle{9}, fixture.packet());
    bench.run();
    ASSERT_EQ(fixture.out.size(), 2u);
    EXPECT_EQ(fixture.out.cycle(0), Cycle{14});
    EXPECT_EQ(fixture.out.cycle(1), depth == 3 ? Cycle{18} : Cycle{15}) << "taken when the first write has left";
  }
}

TEST(CqeGenerator, APacketWaitsForRoomForItsEvents) {  // event_depth
  for (const std::uint32_t depth : {5u, 64u}) {
    CqeGeneratorParams params = test_params();
    params.event_depth = depth;
    Bench bench;
    Fixture fixture(bench, params);
    QpContext& other = place_qp(fixture.shared, test_qp(Transport::kRc));
    fixture.in.push(Cycle{9}, fixture.failed(fixture.qp, 0x61, false));
    fixture.in.push(Cycle{9}, fixture.failed(other, 0x61, false));
    bench.run();
    ASSERT_EQ(fixture.events.size(), 2u);
    EXPECT_EQ(fixture.out.cycle(1), depth == 5 ? Cycle{26} : Cycle{15}) << "taken when the first event has left";
  }
}

TEST(CqeGenerator, TheCqeIsInItsSlot) {
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{9}, fixture.packet());
  fixture.in.push(Cycle{9}, fixture.packet(fixture.qp, Operation::kSendOnly, 65));
  bench.run();
  EXPECT_EQ(fixture.slot(0).owner, 0);
  EXPECT_EQ(fixture.slot(0).byte_count, 64u);
  EXPECT_EQ(fixture.slot(0).wqe_index, 0u);
  EXPECT_EQ(fixture.slot(0).qp_number, raw(kTestQpn));
  EXPECT_EQ(fixture.slot(0).timestamp, 10u);
  EXPECT_EQ(fixture.slot(1).byte_count, 65u);
  EXPECT_EQ(fixture.slot(2).owner, 0xff) << "not yet written";
  const TestMemory::Record& write = fixture.writes.log()[0];
  EXPECT_EQ(write.request.cqes, 1u);
  EXPECT_EQ(write.request.cookie, raw(kCq));
  EXPECT_EQ(write.request.address, kRing);
  EXPECT_EQ(write.request.bytes, 64u);
}

TEST(CqeGenerator, CompletionsOccupyItForCyclesPerCqe) {
  for (const std::uint32_t cycles : {1u, 3u}) {
    CqeGeneratorParams params = test_params();
    params.cycles_per_cqe = cycles;
    Bench bench;
    Fixture fixture(bench, params);
    fixture.in.push(Cycle{0}, fixture.packet());
    fixture.in.push(Cycle{0}, fixture.packet(fixture.qp, Operation::kSendFirst, 1024));
    fixture.in.push(Cycle{0}, fixture.packet());
    bench.run();
    EXPECT_EQ(fixture.out.cycle(1).count - fixture.out.cycle(0).count, cycles);
    EXPECT_EQ(fixture.out.cycle(2).count - fixture.out.cycle(1).count, 1u) << "completes nothing";
    EXPECT_EQ(fixture.dut.counters().cqes, 2u);
  }
}

TEST(CqeGenerator, TheOwnerBitTurnsAtTheRingsEnd) {
  Bench bench;
  Fixture fixture(bench, {}, cq_context(4));
  for (int i = 0; i < 4; ++i) fixture.in.push(Cycle{0}, fixture.packet());
  fixture.consume(Cycle{50}, 4);
  for (int i = 0; i < 2; ++i) fixture.in.push(Cycle{60}, fixture.packet());
  bench.run();
  EXPECT_EQ(fixture.slot(0).owner, 1);
  EXPECT_EQ(fixture.slot(1).owner, 1);
  EXPECT_EQ(fixture.slot(2).owner, 0);
  EXPECT_EQ(fixture.slot(1).wqe_index, 5u);
}

TEST(CqeGenerator, AFullCqIsDeadAndItsQpsFail) {
  Bench bench;
  Fixture fixture(bench, {}, cq_context(2));
  QpContext& other = place_qp(fixture.shared, test_qp(Transport::kRc));
  other.qpn = Qpn{0x12};
  fixture.arm(Cycle{0}, 0);
  for (int i = 0; i < 2; ++i) fixture.in.push(Cycle{10}, fixture.packet());
  const CompletionRequest overrun = fixture.packet();
  const CompletionRequest behind = fixture.packet();
  const CompletionRequest others = fixture.packet(other);
  for (const CompletionRequest& p : {overrun, behind, others}) fixture.in.push(Cycle{10}, p);
  fixture.consume(Cycle{100}, 2);
  bench.run();
  EXPECT_EQ(fixture.writes.log().size(), 2u);
  EXPECT_EQ(fixture.count(EventType::kCqError), 1u);
  EXPECT_EQ(fixture.left(overrun).outcome, Outcome::kNak);
  EXPECT_EQ(fixture.left(overrun).syndrome, 0x63);
  EXPECT_EQ(fixture.left(overrun).drop_reason, DropReason::kCqOverrun);
  EXPECT_FALSE(fixture.left(overrun).completes);
  EXPECT_EQ(fixture.left(others).drop_reason, DropReason::kCqOverrun);
  EXPECT_EQ(fixture.left(behind).drop_reason, DropReason::kSquashed);
  ASSERT_EQ(fixture.refusals.size(), 2u);
  EXPECT_EQ(fixture.refusals.value(0).kind, RefusalKind::kError);
  EXPECT_EQ(fixture.refusals.value(0).line, fixture.qp.line);
  EXPECT_EQ(fixture.refusals.value(1).kind, RefusalKind::kError);
  EXPECT_EQ(fixture.refusals.value(1).line, other.line);
  EXPECT_EQ(fixture.count(EventType::kQpFatal), 2u);
  EXPECT_EQ(fixture.flushes.size(), 2u);
  EXPECT_EQ(fixture.dut.counters().overruns, 1u);
}

TEST(CqeGenerator, ItsConsumerIndexMakesRoomInTime) {
  Bench bench;
  Fixture fixture(bench, {}, cq_context(2));
  for (int i = 0; i < 2; ++i) fixture.in.push(Cycle{9}, fixture.packet());
  fixture.consume(Cycle{49}, 1);
  fixture.in.push(Cycle{49}, fixture.packet());  // in the same cycle: the doorbell goes first (R9)
  bench.run();
  EXPECT_EQ(fixture.count(EventType::kCqError), 0u);
  EXPECT_EQ(fixture.writes.log().size(), 3u);
}

TEST(CqeGenerator, IgnoringOverrunsItGoesRound) {
  Bench bench;
  CqContext cq = cq_context(2);
  cq.ignore_overrun = true;
  Fixture fixture(bench, test_params(), cq);
  for (int i = 0; i < 5; ++i) fixture.in.push(Cycle{9}, fixture.packet());
  bench.run();
  EXPECT_EQ(fixture.count(EventType::kCqError), 0u);
  EXPECT_EQ(fixture.slot(0).wqe_index, 4u);
  EXPECT_EQ(fixture.slot(1).wqe_index, 3u);
  EXPECT_EQ(fixture.refusals.size(), 0u);
}

TEST(CqeGenerator, AnArmedCqRaisesOneEventAfterItsCqeHasLanded) {  // R4
  for (const std::uint64_t dma_latency : {1u, 7u, 300u}) {
    Bench bench;
    Fixture fixture(bench, test_params(), cq_context(), {.write_cycles = dma_latency});  // latency 4, event latency 8
    fixture.arm(Cycle{0}, 0);
    fixture.in.push(Cycle{9}, fixture.packet());
    fixture.in.push(Cycle{19}, fixture.packet());
    const std::uint64_t landed = 10 + 4 + 1 + dma_latency;
    bench.run_to(Cycle{landed + 8});
    EXPECT_EQ(fixture.events.size(), 0u);
    bench.run_to(Cycle{landed + 8 + 1});
    ASSERT_EQ(fixture.events.size(), 1u);
    EXPECT_EQ(fixture.events.cycle(0), Cycle{landed + 8});
    EXPECT_EQ(fixture.events.value(0).type, EventType::kCompletion);
    EXPECT_EQ(fixture.events.value(0).number, raw(kCq));
    bench.run();
    EXPECT_EQ(fixture.events.size(), 1u);
  }
}

// Armed between the write of a CQE and its landing: the event comes when it has landed. Armed later: at once.
TEST(CqeGenerator, AnEventArmedForACqeOnItsWayWaitsForIt) {  // R4
  struct Case {
    std::uint64_t armed, event;
  };
  // taken in 10, written in 14, landed in 115
  for (const Case& c : {Case{12, 115 + 8}, Case{100, 115 + 8}, Case{115, 115 + 8}, Case{116, 116 + 12}}) {
    Bench bench;
    Fixture fixture(bench, test_params(), cq_context(), {.write_cycles = 100});
    fixture.in.push(Cycle{9}, fixture.packet());
    fixture.arm(Cycle{c.armed - 1}, 0);
    bench.run();
    ASSERT_EQ(fixture.events.size(), 1u) << c.armed;
    EXPECT_EQ(fixture.events.cycle(0), Cycle{c.event}) << c.armed;
  }
}

TEST(CqeGenerator, AModeratedEventWaitsForTheLastCqeBeforeIt) {  // R4
  Bench bench;
  CqContext cq = cq_context();
  cq.moderation_count = 3;
  cq.moderation_period_us = 2;
  Fixture fixture(bench, test_params(), cq, {.write_cycles = 100});
  fixture.arm(Cycle{0}, 0);
  fixture.in.push(Cycle{9}, fixture.packet());
  fixture.in.push(Cycle{1999}, fixture.packet());  // written in 2004, lands in 2105; the event falls due in 2010
  bench.run();
  ASSERT_EQ(fixture.events.size(), 1u);
  EXPECT_EQ(fixture.events.cycle(0), Cycle{2105 + 8});
}

TEST(CqeGenerator, EventsOfQpsAreBehindTheirCqesToo) {  // R4
  Bench bench;
  Fixture fixture(bench, test_params(), cq_context(), {.write_cycles = 100});
  fixture.in.push(Cycle{9}, fixture.packet());
  fixture.in.push(Cycle{9}, fixture.failed(fixture.qp, 0x61, false));
  bench.run();
  ASSERT_EQ(fixture.events.size(), 1u);
  EXPECT_EQ(fixture.events.value(0).type, EventType::kQpRequestError);
  EXPECT_EQ(fixture.events.cycle(0), Cycle{115 + 8});
}

TEST(CqeGenerator, NobodyIsNotifiedOfTheLandingsOfACqThatIsPolledOnly) {  // R4
  Bench bench;
  CqContext cq = cq_context();
  cq.polled_only = true;
  Fixture fixture(bench, test_params(), cq, {.write_cycles = 100});
  fixture.in.push(Cycle{9}, fixture.packet());
  fixture.in.push(Cycle{9}, fixture.failed(fixture.qp, 0x61, false));
  bench.run();
  EXPECT_FALSE(fixture.writes.log()[0].request.notify);
  EXPECT_EQ(fixture.writes.log()[0].request.cqes, 1u) << "the host is notified";
  ASSERT_EQ(fixture.events.size(), 1u);
  EXPECT_LT(fixture.events.cycle(0), Cycle{115})
      << "an event of a QP does not wait for CQEs of a CQ that is only polled";
}

// The generator connected to the model's DMA engine, which payload and other clients keep busy.
TEST(CqeGenerator, NoEventOvertakesItsCqeInACongestedDmaEngine) {  // R4
  Bench bench;
  CqeGeneratorParams params = test_params();
  params.event_latency_cycles = 1;
  DmaEngineParams slow;
  slow.tlp_rate_mbps = 8000;  // a byte a cycle
  slow.write_latency_ps = 50'000;
  slow.posted_credit_bytes = 1024;
  auto& host = bench.keep<LocalMemory>();
  auto& shared = bench.keep<NicShared>(PacketPool::Quotas{});
  QpContext& qp = place_qp(shared, test_qp(Transport::kRc));
  auto& dut = bench.add<CqeGenerator>("dut", params, shared.contexts, shared.wqes, shared.packets, 1000u);
  auto& engine = bench.add<DmaEngine>("dma_engine", slow, 1000u, shared.packets, host);
  bench.connect(dut.dma, engine.requests[static_cast<std::size_t>(DmaClient::kCqe)]);
  bench.connect(engine.completions[static_cast<std::size_t>(DmaClient::kCqe)], dut.dma_done);
  auto& others = bench.source(engine.requests[static_cast<std::size_t>(DmaClient::kWqe)]);
  auto& in = bench.source(dut.in);
  auto& doorbells = bench.source(dut.doorbells);
  bench.sink(dut.out);
  auto& landed = bench.sink(engine.landed);
  auto& events = bench.sink(dut.events);
  dut.create(cq_context(), host);

  // A program that reacts to each event: it polls all CQEs that are there and arms the CQ again, from there on.
  std::uint32_t polled = 0;
  std::vector<std::uint32_t> found;
  const auto arm = [&](Cycle now) { doorbells.push(now, {DoorbellKind::kCqArm, false, raw(kCq), polled}); };
  events.on_value([&](Cycle now, const Event&) {
    found.push_back(static_cast<std::uint32_t>(landed.size()) - polled);
    polled = static_cast<std::uint32_t>(landed.size());
    doorbells.push(now, {DoorbellKind::kCqConsumer, false, raw(kCq), polled});
    arm(now);
  });
  arm(Cycle{0});
  std::vector<std::uint8_t> block(1000);
  for (int i = 0; i < 200; ++i) {
    others.push(Cycle{0}, {DmaKind::kWrite, false, 0, 0, BusAddress{0x100000}, 1000, block.data(), 0, 0});
  }
  for (std::uint32_t i = 0; i < 60; ++i) {
    const Headers h = request_headers(Encapsulation::kRoceV2Ipv4, qp.transport, Operation::kSendOnly, Psn{i});
    in.push(Cycle{10 + i / 4 * 6000}, accept_packet(shared, qp, place_frame(shared, h, counting_bytes(8))));
  }
  bench.run();
  EXPECT_EQ(landed.size(), 60u);
  EXPECT_EQ(polled, 60u) << "no event is lost";
  EXPECT_GE(found.size(), 15u);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_GT(found[i], 0u) << "event " << i << " came without a new CQE";
}

TEST(CqeGenerator, SolicitedOnlyWaitsForASolicitedCqe) {
  Bench bench;
  Fixture fixture(bench);
  fixture.arm(Cycle{0}, 0, true);
  fixture.in.push(Cycle{9}, fixture.packet());
  CompletionRequest solicited = fixture.packet();
  solicited.solicited = true;
  fixture.in.push(Cycle{29}, solicited);
  bench.run();
  ASSERT_EQ(fixture.events.size(), 1u);
  EXPECT_EQ(fixture.events.cycle(0), Cycle{30 + kUncongested});
}

TEST(CqeGenerator, AnErrorCountsAsSolicited) {
  Bench bench;
  Fixture fixture(bench);
  fixture.arm(Cycle{0}, 0, true);
  fixture.in.push(Cycle{9}, fixture.packet());
  fixture.in.push(Cycle{29}, fixture.failed(fixture.qp, 0x61, true));
  bench.run();
  ASSERT_EQ(fixture.count(EventType::kCompletion), 1u);
  EXPECT_EQ(fixture.events.cycle(0), Cycle{30 + kUncongested});
}

TEST(CqeGenerator, ArmingBehindUnseenCqesRaisesTheEvent) {
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{9}, fixture.packet());
  fixture.arm(Cycle{49}, 0);
  bench.run();
  ASSERT_EQ(fixture.events.size(), 1u);
  EXPECT_EQ(fixture.events.cycle(0), Cycle{50 + 12});
}

TEST(CqeGenerator, ModerationByCount) {
  Bench bench;
  CqContext cq = cq_context();
  cq.moderation_count = 3;
  Fixture fixture(bench, test_params(), cq);
  fixture.arm(Cycle{0}, 0);
  for (const std::uint64_t c : {9, 19, 29, 39}) fixture.in.push(Cycle{c}, fixture.packet());
  bench.run();
  ASSERT_EQ(fixture.events.size(), 1u);
  EXPECT_EQ(fixture.events.cycle(0), Cycle{30 + kUncongested});
}

TEST(CqeGenerator, ModerationByPeriodToTheCycle) {
  Bench bench;
  CqContext cq = cq_context();
  cq.moderation_count = 3;
  cq.moderation_period_us = 2;
  Fixture fixture(bench, test_params(), cq);  // 1 ns a cycle: 2000 cycles
  fixture.arm(Cycle{0}, 0);
  fixture.in.push(Cycle{9}, fixture.packet());
  fixture.in.push(Cycle{500}, fixture.packet());
  bench.run_to(Cycle{10 + 2000 + 12});
  EXPECT_EQ(fixture.events.size(), 0u);
  bench.run_to(Cycle{10 + 2000 + 12 + 1});
  ASSERT_EQ(fixture.events.size(), 1u);
  EXPECT_EQ(fixture.events.cycle(0), Cycle{2022});
  bench.run();
  EXPECT_EQ(fixture.events.size(), 1u);
}

TEST(CqeGenerator, ManyModeratedCqsKeepTheirPeriods) {
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t i = 0; i < 6; ++i) {
    CqContext cq = cq_context();
    cq.number = Cqn{10 + i};
    cq.moderation_count = 100;
    cq.moderation_period_us = static_cast<std::uint16_t>(6 - i);
    fixture.dut.create(cq, fixture.host);
    QpContext& qp = place_qp(fixture.shared, test_qp(Transport::kRc));
    qp.receive_cq = cq.number;
    fixture.doorbells.push(Cycle{0}, {DoorbellKind::kCqArm, false, 10 + i, 0});
    fixture.in.push(Cycle{99}, fixture.packet(qp));
  }
  bench.run();
  ASSERT_EQ(fixture.events.size(), 6u);
  for (std::uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(fixture.events.value(i).number, 15 - i);
    EXPECT_EQ(fixture.events.cycle(i), Cycle{100 + (5 - i) + (i + 1) * 1000 + 12});
  }
}

// With compression and without it the write leaves in the same cycle.
TEST(CqeGenerator, ALoneCompletionIsWrittenAtOnceWithCompressionToo) {  // R5
  for (const bool asks : {false, true}) {
    Bench bench;
    CqContext cq = cq_context();
    cq.compress = asks;
    Fixture fixture(bench, compressing(), cq);
    fixture.arm(Cycle{0}, 0);
    fixture.in.push(Cycle{9}, fixture.packet());
    bench.run_to(Cycle{10 + 4});
    EXPECT_EQ(fixture.writes.log().size(), 0u);
    bench.run_to(Cycle{10 + 4 + 1});
    ASSERT_EQ(fixture.writes.log().size(), 1u);
    EXPECT_EQ(fixture.writes.log()[0].request.bytes, 64u);
    EXPECT_EQ(fixture.slot(0).format, CqeFormat::kPlain);
    bench.run();
    ASSERT_EQ(fixture.events.size(), 1u);
    EXPECT_EQ(fixture.events.cycle(0), Cycle{10 + kUncongested});
  }
}

TEST(CqeGenerator, WithoutBackPressureABurstIsNotCompressed) {  // R5
  Bench bench;
  CqContext cq = cq_context();
  cq.compress = true;
  Fixture fixture(bench, compressing(), cq);
  for (int i = 0; i < 8; ++i) fixture.in.push(Cycle{9}, fixture.packet());
  bench.run();
  ASSERT_EQ(fixture.writes.log().size(), 8u);
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_EQ(fixture.writes.log()[i].taken, Cycle{10 + i + 4 + 1});
  EXPECT_EQ(fixture.dut.counters().compressed, 0u);
}

TEST(CqeGenerator, ASessionEndsWithTheBackPressureToTheCycle) {  // R5
  Bench bench;
  CqContext cq = cq_context();
  cq.compress = true;
  Fixture fixture(bench, compressing(8, 1000), cq);
  for (int i = 0; i < 2; ++i) fixture.in.push(Cycle{9}, fixture.pressed());
  fixture.in.push(Cycle{29}, fixture.unpressed());  // taken in 30, the session ends in 31
  bench.run_to(Cycle{31 + 4});
  EXPECT_EQ(fixture.writes.log().size(), 0u);
  bench.run_to(Cycle{31 + 4 + 1});
  ASSERT_EQ(fixture.writes.log().size(), 1u);
  EXPECT_EQ(fixture.writes.log()[0].request.cqes, 2u);
  EXPECT_EQ(fixture.writes.log()[0].request.bytes, 2 * 64u);
  EXPECT_EQ(fixture.slot(0).mini_count, 2);
}

TEST(CqeGenerator, WithoutBackPressureACompletionIsTheLastOfTheSessionThatItJoins) {  // R5
  for (const bool joins : {true, false}) {
    Bench bench;
    CqContext cq = cq_context();
    cq.compress = true;
    Fixture fixture(bench, compressing(8, 1000), cq);
    for (int i = 0; i < 2; ++i) fixture.in.push(Cycle{9}, fixture.pressed());
    CompletionRequest p = fixture.packet();  // taken in 12
    p.solicited = !joins;
    fixture.in.push(Cycle{9}, p);
    bench.run();
    const auto& log = fixture.writes.log();
    ASSERT_EQ(log.size(), joins ? 1u : 2u);
    EXPECT_EQ(log[0].taken, Cycle{12 + 4 + 1});
    EXPECT_EQ(log[0].request.cqes, joins ? 3u : 2u);
    EXPECT_EQ(fixture.slot(0).mini_count, joins ? 3 : 2);
    if (joins) continue;
    EXPECT_EQ(log[1].taken, Cycle{12 + 4 + 2});
    EXPECT_EQ(log[1].request.address, kRing + 2 * 64);
    EXPECT_EQ(fixture.slot(2).format, CqeFormat::kPlain);
  }
}

TEST(CqeGenerator, SessionsThatTheBackPressureHeldEndOneACycle) {  // R5
  Bench bench;
  Fixture fixture(bench, compressing(8, 1000));
  for (std::uint32_t n = 10; n < 13; ++n) {
    fixture.create(Cqn{n}, true);
    for (int i = 0; i < 2; ++i) fixture.in.push(Cycle{9}, fixture.pressed(Cqn{n}));
  }
  fixture.in.push(Cycle{49}, fixture.unpressed());  // taken in 50
  bench.run();
  ASSERT_EQ(fixture.writes.log().size(), 3u);
  for (std::uint32_t n = 0; n < 3; ++n) {
    EXPECT_EQ(fixture.writes.log()[n].taken, Cycle{51 + n + 4 + 1});
    EXPECT_EQ(fixture.writes.log()[n].request.cookie, 10 + n);
  }
}

// Nothing leaves for memory before cycle 100. The write of the packet taken in 10 fills the link in 14, and the next
// write is due in 15. Packets that are taken from then on begin a session, which ends when that write leaves, in 101.
TEST(CqeGenerator, CompletionsGatherWhileAWriteFindsNoRoom) {  // R5
  for (const std::uint64_t timeout : {1000u, 20u}) {
    Bench bench;
    CqContext cq = cq_context();
    cq.compress = true;
    Fixture fixture(bench, compressing(8, timeout), cq, {.dma = 1});
    fixture.writes.accept_when([](Cycle c) { return c.count >= 100; });
    for (int i = 0; i < 2; ++i) fixture.in.push(Cycle{9}, fixture.packet());
    for (const std::uint64_t when : {13u, 14u, 30u}) fixture.in.push(Cycle{when}, fixture.packet());  // taken one later
    bench.run_to(Cycle{99});
    EXPECT_EQ(fixture.dut.counters().sessions, timeout == 20 ? 1u : 0u);
    EXPECT_EQ(fixture.dut.counters().cqes, timeout == 20 ? 5u : 3u);
    bench.run_to(Cycle{100});
    EXPECT_EQ(fixture.dut.counters().sessions, timeout == 20 ? 1u : 0u) << "there is room from the next cycle on";
    bench.run_to(Cycle{101});
    EXPECT_EQ(fixture.dut.counters().sessions, 1u);
    bench.run();
    ASSERT_EQ(fixture.writes.log().size(), 4u);
    EXPECT_EQ(fixture.writes.log()[3].request.cqes, 2u);
    EXPECT_EQ(fixture.slot(3).mini_count, 2);
  }
}

// Moderation counts completions, those of a session when it is written.
TEST(CqeGenerator, AModeratedEventCountsThoseOfASession) {  // R4, R5
  for (const std::uint16_t count : {4, 5}) {
    Bench bench;
    CqContext cq = cq_context();
    cq.compress = true;
    cq.moderation_count = count;
    cq.moderation_period_us = 5;  // 5,000 cycles
    Fixture fixture(bench, compressing(8, 1000), cq);
    fixture.arm(Cycle{0}, 0);
    for (int i = 0; i < 3; ++i) fixture.in.push(Cycle{9}, fixture.pressed());
    fixture.in.push(Cycle{29}, fixture.packet());  // taken in 30, the last of the session
    bench.run();
    ASSERT_EQ(fixture.events.size(), 1u);
    EXPECT_EQ(fixture.events.cycle(0).count, count == 4 ? 30 + kUncongested : 30 + 5000 + 4 + 8);
  }
}

TEST(CqeGenerator, ASessionEndsAtItsMaximum) {
  Bench bench;
  CqContext cq = cq_context();
  cq.compress = true;
  Fixture fixture(bench, compressing(8), cq);
  for (int i = 0; i < 8; ++i) fixture.in.push(Cycle{9}, fixture.pressed());
  bench.run();
  ASSERT_EQ(fixture.writes.log().size(), 1u);
  EXPECT_EQ(fixture.writes.log()[0].taken, Cycle{10 + 7 + 4 + 1});
  EXPECT_EQ(fixture.writes.log()[0].request.bytes, 3 * 64u);
  EXPECT_EQ(fixture.writes.log()[0].request.cqes, 8u);
  EXPECT_EQ(fixture.slot(0).format, CqeFormat::kTitle);
  EXPECT_EQ(fixture.slot(0).mini_count, 8);
  const auto minis = fixture.host.load<MiniCqeSlot>(kRing + 128);
  EXPECT_EQ(minis.format, CqeFormat::kMini);
  EXPECT_EQ(minis.mini[0].wqe_index, 7u);
  EXPECT_EQ(fixture.dut.counters().cqes, 8u);
  EXPECT_EQ(fixture.dut.counters().slots, 3u);
}

TEST(CqeGenerator, ASessionEndsWithACqeThatDoesNotJoin) {
  Bench bench;
  CqContext cq = cq_context();
  cq.compress = true;
  Fixture fixture(bench, compressing(), cq);
  for (int i = 0; i < 3; ++i) fixture.in.push(Cycle{9}, fixture.pressed());
  CompletionRequest other = fixture.pressed();
  other.solicited = true;
  fixture.in.push(Cycle{9}, other);
  fixture.in.push(Cycle{29}, fixture.failed(fixture.qp, 0x61, true));
  bench.run();
  ASSERT_EQ(fixture.writes.log().size(), 3u);
  EXPECT_EQ(fixture.slot(0).mini_count, 3);
  EXPECT_EQ(fixture.writes.log()[0].request.cqes, 3u);
  EXPECT_EQ(fixture.writes.log()[1].request.cqes, 1u);
  EXPECT_EQ(fixture.writes.log()[0].taken, Cycle{13 + 4 + 1});
  EXPECT_EQ(fixture.slot(2).format, CqeFormat::kPlain) << "a session of one";
  EXPECT_EQ(fixture.slot(2).flags, kCqeSolicited);
  EXPECT_EQ(fixture.slot(3).status, WcStatus::kRemoteInvalidRequest);
  EXPECT_EQ(fixture.dut.counters().sessions, 1u);
}

TEST(CqeGenerator, ASessionEndsAfterItsTimeoutToTheCycle) {
  Bench bench;
  CqContext cq = cq_context();
  cq.compress = true;
  Fixture fixture(bench, compressing(8, 50), cq);
  fixture.in.push(Cycle{9}, fixture.pressed());
  fixture.in.push(Cycle{39}, fixture.pressed());  // taken in 40: 50 cycles more
  bench.run_to(Cycle{40 + 50 + 4});
  EXPECT_EQ(fixture.writes.log().size(), 0u);
  EXPECT_EQ(fixture.out.size(), 2u) << "the packets do not wait for it";
  bench.run_to(Cycle{40 + 50 + 4 + 1});
  ASSERT_EQ(fixture.writes.log().size(), 1u);
  EXPECT_EQ(fixture.slot(0).mini_count, 2);
}

// CQs 10 .. 13, a completion of each in turn, one of 11 once more. Nothing leaves for memory before cycle 300.
TEST(CqeGenerator, SessionsThatWaitedForRoomEndInTheOrderInWhichTheyWereDue) {  // R5
  Bench bench;
  CqeGeneratorParams params = compressing(8, 50);
  params.write_depth = 5;
  Fixture fixture(bench, params, cq_context(), {.dma = 1});
  fixture.writes.accept_when([](Cycle c) { return c.count > 300; });
  for (int i = 0; i < 5; ++i) fixture.in.push(Cycle{9}, fixture.packet());  // plain: the writes are full
  const auto send = [&](std::uint64_t when, std::uint32_t cq) {
    fixture.in.push(Cycle{when}, fixture.pressed(Cqn{cq}));
  };
  for (std::uint32_t n = 10; n < 14; ++n) {
    fixture.create(Cqn{n}, true);
    send(0, n);
  }
  send(2, 11);
  bench.run();
  std::vector<std::uint32_t> order;
  for (const auto& w : fixture.writes.log()) {
    if (w.request.cookie != raw(kCq)) order.push_back(w.request.cookie);
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{10, 12, 13, 11}));
  EXPECT_EQ(fixture.dut.counters().sessions, 1u);
}

TEST(CqeGenerator, TheSessionOfADestroyedCqIsDiscarded) {  // R16
  Bench bench;
  CqContext cq = cq_context();
  cq.compress = true;
  Fixture fixture(bench, compressing(8, 50), cq);
  fixture.in.push(Cycle{9}, fixture.pressed());
  fixture.commands.push(Cycle{19}, {.operation = CqOperation::kDestroy, .number = kCq});
  bench.run();
  EXPECT_EQ(fixture.writes.log().size(), 0u) << "its ring is its program's again";
}

TEST(CqeGenerator, ABlockThatPassesTheRingsEndHasItsTitleWrittenLast) {
  Bench bench;
  CqContext cq = cq_context(4);
  cq.compress = true;
  Fixture fixture(bench, compressing(8), cq);
  fixture.in.push(Cycle{9}, fixture.packet());  // one plain CQE
  for (int i = 0; i < 2; ++i) fixture.in.push(Cycle{199}, fixture.pressed());
  fixture.consume(Cycle{399}, 3);
  for (int i = 0; i < 8; ++i) fixture.in.push(Cycle{499}, fixture.pressed());  // slots 3, 0, 1
  bench.run();
  const auto& log = fixture.writes.log();
  ASSERT_EQ(log.size(), 4u);
  EXPECT_EQ(log[2].request.address, kRing);
  EXPECT_EQ(log[2].request.bytes, 128u);
  EXPECT_EQ(log[2].request.cqes, 0u);
  EXPECT_EQ(log[3].request.address, kRing + 192);
  EXPECT_EQ(log[3].request.cqes, 8u);
  EXPECT_EQ(fixture.slot(3).format, CqeFormat::kTitle);
  EXPECT_EQ(fixture.slot(3).owner, 0);
  EXPECT_EQ(fixture.slot(0).format, CqeFormat::kMini);
  EXPECT_EQ(fixture.slot(0).owner, 1);
}

TEST(CqeGenerator, OnlyACqThatAsksForItIsCompressed) {
  Bench bench;
  Fixture fixture(bench, compressing());
  for (int i = 0; i < 3; ++i) fixture.in.push(Cycle{9}, fixture.pressed());
  bench.run();
  EXPECT_EQ(fixture.writes.log().size(), 3u);
}

TEST(CqeGenerator, AnEventOfACompressedCqFollowsTheWrite) {
  Bench bench;
  CqContext cq = cq_context();
  cq.compress = true;
  Fixture fixture(bench, compressing(8, 50), cq);
  fixture.arm(Cycle{0}, 0);
  fixture.in.push(Cycle{9}, fixture.pressed());
  bench.run();
  ASSERT_EQ(fixture.events.size(), 1u);
  EXPECT_EQ(fixture.events.cycle(0), Cycle{10 + 50 + kUncongested});
}

TEST(CqeGenerator, AHeldSessionCountsForTheRoom) {
  Bench bench;
  CqContext cq = cq_context(2);
  cq.compress = true;
  Fixture fixture(bench, compressing(7, 1000), cq);
  for (int i = 0; i < 7; ++i) fixture.in.push(Cycle{9}, fixture.pressed());  // 2 slots
  fixture.in.push(Cycle{9}, fixture.pressed());                              // a third
  bench.run();
  EXPECT_EQ(fixture.slot(0).mini_count, 7);
  EXPECT_EQ(fixture.count(EventType::kCqError), 1u);
}

TEST(CqeGenerator, AQpErrorAsksForOneFlush) {  // R6
  Bench bench;
  Fixture fixture(bench);
  const CompletionRequest before = fixture.packet();
  CompletionRequest failing = fixture.packet();
  CompletionRequest behind = fixture.packet();
  mark_failed(failing, DropReason::kRemoteAccess, 0x62, WcStatus::kRemoteAccess);
  squash(behind);  // by the block that refused the one before it
  const std::uint32_t pins = fixture.qp.pins.count();
  for (const CompletionRequest& p : {before, failing, behind}) fixture.in.push(Cycle{9}, p);
  bench.run();
  ASSERT_EQ(fixture.flushes.size(), 1u);
  EXPECT_EQ(fixture.flushes.cycle(0), Cycle{12}) << "not with the packet before";
  EXPECT_EQ(fixture.flushes.value(0).line, fixture.qp.line);
  EXPECT_EQ(fixture.qp.pins.count(), pins + 1);
  EXPECT_EQ(fixture.writes.log().size(), 1u) << "the one before completes";
}

TEST(CqeGenerator, AFlushRequestSaysWhatTheFetcherNeedsOfTheQp) {  // R6
  Bench bench;
  Fixture fixture(bench);
  QpContext qp = test_qp(Transport::kXrc);
  qp.qpn = Qpn{0x99};
  qp.uses_srq = true;
  qp.receive_queue = WqId{6};
  qp.receive_cq = Cqn{8};
  QpContext& placed = place_qp(fixture.shared, qp);
  placed.residence = 5;
  fixture.shared.contexts.pin(placed.line);
  fixture.failures.push(Cycle{9}, {placed.line, EventType::kQpFatal});
  bench.run();
  ASSERT_EQ(fixture.flushes.size(), 1u);
  const FlushRequest expected{placed.line, 5, Qpn{0x99}, Transport::kXrc, true, WqId{6}, Cqn{8}};
  EXPECT_EQ(first_difference(fixture.flushes.value(0), expected), "");
}

TEST(CqeGenerator, AnErrorWithoutACompletionIsAnEvent) {
  const std::vector<std::pair<std::uint8_t, EventType>> cases{
      {0x61, EventType::kQpRequestError}, {0x62, EventType::kQpAccessError}, {0x63, EventType::kQpFatal}};
  for (const auto& [syndrome, type] : cases) {
    Bench bench;
    Fixture fixture(bench);
    fixture.in.push(Cycle{9}, fixture.failed(fixture.qp, syndrome, false));
    bench.run();
    ASSERT_EQ(fixture.events.size(), 1u);
    EXPECT_EQ(fixture.events.value(0).type, type);
    EXPECT_EQ(fixture.events.value(0).number, raw(kTestQpn));
    EXPECT_EQ(fixture.events.cycle(0), Cycle{10 + 12});
  }
}

TEST(CqeGenerator, AnErrorWithACompletionIsNoEvent) {
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{9}, fixture.failed(fixture.qp, 0x61, true));
  bench.run();
  EXPECT_EQ(fixture.events.size(), 0u);
  EXPECT_EQ(fixture.slot(0).status, WcStatus::kRemoteInvalidRequest);
  EXPECT_EQ(fixture.slot(0).vendor_error, static_cast<std::uint8_t>(DropReason::kInvalidRequest));
  EXPECT_EQ(fixture.flushes.size(), 1u);
}

TEST(CqeGenerator, FlushRequestsWaitForRoomAndHoldUpNothing) {  // R6
  Bench bench;
  Fixture fixture(bench);
  fixture.flushes.stall(Cycle{0}, Cycle{100});
  fixture.failed_qps.stall(Cycle{0}, Cycle{200});
  std::vector<std::uint32_t> lines;
  for (std::uint32_t i = 0; i < 20; ++i) {
    QpContext& qp = place_qp(fixture.shared, test_qp(Transport::kRc));
    qp.qpn = Qpn{100 + i};
    lines.push_back(qp.line);
    fixture.in.push(Cycle{9}, fixture.failed(qp, 0x61, false));
  }
  bench.run();
  ASSERT_EQ(fixture.out.size(), 20u);
  ASSERT_EQ(fixture.flushes.size(), 20u);
  ASSERT_EQ(fixture.failed_qps.size(), 20u);
  for (std::uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(fixture.out.cycle(i), Cycle{14 + i});
    EXPECT_EQ(fixture.flushes.value(i).line, lines[i]) << "oldest first";
    EXPECT_EQ(fixture.flushes.cycle(i), Cycle{99 + i}) << "one a cycle";
    EXPECT_EQ(fixture.failed_qps.value(i).qpn, Qpn{100 + i});
    EXPECT_EQ(fixture.failed_qps.cycle(i), Cycle{199 + i});
  }
}

TEST(CqeGenerator, AnRnrNakIsNoError) {
  Bench bench;
  Fixture fixture(bench);
  CompletionRequest p = fixture.packet();
  Refusals().fail_rnr(p, 12);
  fixture.in.push(Cycle{9}, p);
  bench.run();
  EXPECT_EQ(fixture.flushes.size(), 0u);
  EXPECT_EQ(fixture.events.size(), 0u);
  EXPECT_EQ(fixture.writes.log().size(), 0u);
}

// An internal packet, which has no buffer.
CompletionRequest internal(const QpContext& qp, PacketRole role) {
  CompletionRequest p;
  p.role = role;
  p.line = qp.line;
  p.residence = qp.residence;
  p.qpn = qp.qpn;
  p.transport = qp.transport;
  return p;
}

TEST(CqeGenerator, LastWqeReachedIsRaisedOnce) {  // R7
  Bench bench;
  Fixture fixture(bench);
  for (int i = 0; i < 2; ++i) {
    CompletionRequest p = internal(fixture.qp, PacketRole::kLastWqe);
    p.outcome = Outcome::kDrop;
    fixture.in.push(Cycle{9}, p);
  }
  bench.run();
  ASSERT_EQ(fixture.events.size(), 1u);
  EXPECT_EQ(fixture.events.value(0).type, EventType::kQpLastWqeReached);
  EXPECT_EQ(fixture.events.value(0).number, raw(kTestQpn));
  EXPECT_EQ(fixture.out.size(), 2u);
}

TEST(CqeGenerator, APacketThatEstablishesCommunicationRaisesAnEventBeforeThatOfItsCompletion) {  // R20
  Bench bench;
  Fixture fixture(bench);
  fixture.arm(Cycle{1}, 0);
  CompletionRequest p = fixture.packet();
  p.establishes = true;
  fixture.in.push(Cycle{9}, p);
  bench.run();
  ASSERT_EQ(fixture.events.size(), 2u);
  EXPECT_EQ(fixture.events.value(0).type, EventType::kQpCommunicationEstablished);
  EXPECT_EQ(fixture.events.value(0).number, raw(kTestQpn));
  EXPECT_EQ(fixture.events.value(1).type, EventType::kCompletion);
}

TEST(CqeGenerator, AFlushedWqeCompletes) {
  Bench bench;
  Fixture fixture(bench);
  CompletionRequest p;
  p.role = PacketRole::kFlush;
  p.outcome = Outcome::kDrop;
  p.completes = p.ends_message = true;
  p.status = WcStatus::kFlushed;
  p.cq = kCq;
  p.wqe_index = 31;
  p.qpn = Qpn{0x55};
  fixture.in.push(Cycle{9}, p);
  bench.run();
  EXPECT_EQ(fixture.slot(0).status, WcStatus::kFlushed);
  EXPECT_EQ(fixture.slot(0).wqe_index, 31u);
  EXPECT_EQ(fixture.slot(0).qp_number, 0x55u);
}

TEST(CqeGenerator, AWqeIsGivenBackWithItsMessagesCompletion) {
  Bench bench;
  Fixture fixture(bench);
  CompletionRequest good = fixture.packet();
  good.wqe_slot = fixture.slots.allocate();
  good.releases_wqe = true;
  // A tag match of two packets: the first completes and keeps the WQE.
  CompletionRequest first = fixture.packet(fixture.qp, Operation::kSendFirst, 1024);
  first.completes = true;
  first.wqe_slot = fixture.slots.allocate();
  fixture.in.push(Cycle{9}, good);
  fixture.in.push(Cycle{9}, first);
  bench.run_to(Cycle{50});
  EXPECT_EQ(fixture.slots.occupied(), 1u);
  EXPECT_EQ(fixture.left(good).wqe_slot, kNoWqeSlot);
  EXPECT_EQ(fixture.left(first).wqe_slot, first.wqe_slot);
  CompletionRequest failing = fixture.packet(fixture.qp, Operation::kSendLast, 10);
  failing.wqe_slot = first.wqe_slot;
  failing.releases_wqe = true;
  mark_failed(failing, DropReason::kMessageTooLong, 0x61, WcStatus::kLocalLength);
  fixture.in.push(Cycle{100}, failing);
  bench.run();
  EXPECT_EQ(fixture.slots.occupied(), 0u);
}

// The message's third packet fails; a later one of it was squashed and is the last to use the WQE.
TEST(CqeGenerator, AWqeCompletesOnce) {  // R8
  for (const bool failed_before : {false, true}) {
    Bench bench;
    Fixture fixture(bench);
    const std::uint32_t slot = fixture.slots.allocate();
    CompletionRequest middle = fixture.packet(fixture.qp, Operation::kSendMiddle, 1024);
    CompletionRequest last = fixture.packet(fixture.qp, Operation::kSendLast, 10);
    middle.wqe_slot = last.wqe_slot = slot;
    if (failed_before) mark_failed(middle, DropReason::kLocalOperation, 0x63, WcStatus::kLocalProtection);
    squash(last);
    last.releases_wqe = true;
    fixture.in.push(Cycle{9}, middle);
    fixture.in.push(Cycle{9}, last);
    bench.run_to(Cycle{50});
    EXPECT_EQ(fixture.writes.log().size(), 1u);
    EXPECT_EQ(fixture.slot(0).status, failed_before ? WcStatus::kLocalProtection : WcStatus::kFlushed);
    EXPECT_EQ(fixture.slots.occupied(), 0u);
    // The slot can be used again: nothing of the failed message is remembered for it.
    CompletionRequest next = fixture.packet();
    next.wqe_slot = fixture.slots.allocate();
    next.releases_wqe = true;
    EXPECT_EQ(next.wqe_slot, slot);
    fixture.in.push(Cycle{60}, next);
    bench.run();
    EXPECT_EQ(fixture.slot(1).status, WcStatus::kSuccess);
  }
}

TEST(CqeGenerator, AnSrqsWqesAreNamedByTheirSrq) {
  Bench bench;
  Fixture fixture(bench);
  fixture.dut.attach_srq(WqId{3}, Srqn{0x77});
  CompletionRequest p = fixture.packet();
  p.queue = WqId{3};
  fixture.in.push(Cycle{9}, p);
  bench.run();
  EXPECT_EQ(fixture.slot(0).srq_number, 0x77u);
  EXPECT_EQ(fixture.slot(0).flags, kCqeSrq);
}

TEST(CqeGenerator, ADestroyedCqGetsNothing) {
  Bench bench;
  Fixture fixture(bench);
  fixture.ask(5, {.operation = CqOperation::kDestroy, .number = kCq});
  fixture.in.push(Cycle{9}, fixture.packet());
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 1u);
  EXPECT_EQ(fixture.replies.cycle(0), Cycle{5});
  EXPECT_EQ(fixture.writes.log().size(), 0u);
  EXPECT_EQ(fixture.dut.counters().discarded, 1u);
  EXPECT_EQ(fixture.model.find(kCq), nullptr);
}

TEST(CqeGenerator, AFullDmaLinkHoldsThePacketsBack) {
  Bench bench;
  Fixture fixture(bench, {}, cq_context(64), {.dma = 1});  // one write every two cycles
  for (int i = 0; i < 20; ++i) fixture.in.push(Cycle{9}, fixture.packet());
  bench.run();
  ASSERT_EQ(fixture.out.size(), 20u);
  for (std::uint32_t i = 0; i < 20; ++i) {
    EXPECT_GE(fixture.out.cycle(i).count + 1, fixture.writes.log()[i].taken.count);
    EXPECT_EQ(fixture.slot(i).wqe_index, i) << "its data stayed until the write was taken";
  }
  fixture.dut.settle(Cycle{100});
  EXPECT_GT(fixture.dut.account()[static_cast<std::size_t>(Activity::kBlocked)], 10u);
}

TEST(CqeGenerator, ModesAndOrdersAgreeOnRandomTraffic) {
  const std::uint64_t seed = test_seed(13);
  expect_equal_in_all_orders([seed](Bench& bench) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    CqeGeneratorParams params = compressing(2 + below(20), 16 + below(100));
    params.cycles_per_cqe = 1 + below(3);
    params.latency_cycles = 1 + below(6);
    Fixture fixture(bench, params, cq_context(16), {.dma = 1 + below(4)});
    std::vector<QpContext*> qps;
    std::vector<bool> has_failed(24, false);
    std::vector<std::uint32_t> consumed(8, 0);
    for (std::uint32_t i = 0; i < 8; ++i) {
      CqContext cq = cq_context(32);
      cq.number = Cqn{i + 10};
      cq.base = BusAddress{0x100000 * (i + 1)};
      cq.compress = i % 2 == 0;
      cq.moderation_count = static_cast<std::uint16_t>(i);
      cq.moderation_period_us = static_cast<std::uint16_t>(i % 3);
      cq.ignore_overrun = i == 7;
      fixture.dut.create(cq, fixture.host);
    }
    for (std::uint32_t i = 0; i < 24; ++i) {
      qps.push_back(&place_qp(fixture.shared, test_qp(i % 4 == 0 ? Transport::kUc : Transport::kRc)));
      qps.back()->qpn = Qpn{100 + i};
      qps.back()->receive_cq = Cqn{10 + i % 8};
    }
    fixture.out.accept_when([](Cycle c) { return c.count / 32 % 4 != 0; });
    fixture.events.accept_when([](Cycle c) { return c.count / 64 % 3 != 0; });
    fixture.out.on_value([&](Cycle, const AckRequest& p) { fixture.shared.packets.release(p.buffer); });
    std::uint64_t cycle = 0;
    for (int i = 0; i < 500; ++i) {
      const std::uint32_t n = below(qps.size());
      const bool fails = below(60) == 0 && !has_failed[n];
      has_failed[n] = has_failed[n] || fails;
      CompletionRequest p =
          fails ? fixture.failed(*qps[n], static_cast<std::uint8_t>(0x61 + below(3)), below(2) == 0)
                : fixture.packet(*qps[n], below(4) == 0 ? Operation::kWriteOnly : Operation::kSendOnly, below(100));
      p.solicited = below(8) == 0;
      p.pressed = i / 16 % 3 != 0;
      cycle += below(5) == 0 ? below(300) : below(3);
      fixture.in.push(Cycle{cycle}, p);
      if (below(3) == 0) {
        const std::uint32_t cq = below(8);
        consumed[cq] += below(4);
        fixture.doorbells.push(Cycle{cycle}, {below(2) == 0 ? DoorbellKind::kCqArm : DoorbellKind::kCqConsumer,
                                              below(2) == 0, 10 + cq, consumed[cq]});
      }
    }
    bench.run();
    EXPECT_EQ(fixture.out.size(), 500u);
    EXPECT_GT(fixture.dut.counters().compressed, 0u);
    EXPECT_GT(fixture.dut.counters().completion_events, 10u);
    EXPECT_GT(fixture.dut.counters().flush_requests, 0u);
    StateHash h;
    h.mix(fixture.host.digest());
    h.mix(bench.state_hash());
    return h.value();
  });
}

// ---- The requester, the ACK generator, the control plane.

CompletionRequest send_completion(Fixture& fixture, WcStatus status) {
  CompletionRequest p = internal(fixture.qp, PacketRole::kSendCompletion);
  fixture.shared.contexts.pin(p.line);
  p.outcome = Outcome::kExecute;
  p.completes = p.ends_message = true;
  p.status = status;
  p.cq = kCq;
  p.cqe_opcode = CqeOpcode::kSend;
  return p;
}

TEST(CqeGenerator, AFailedRequestOfAnUnreliableQpAsksForNoFlush) {  // R6
  for (const Transport transport : {Transport::kUc, Transport::kUd, Transport::kRaw}) {
    Bench bench;
    Fixture fixture(bench);
    CompletionRequest p = send_completion(fixture, WcStatus::kLocalProtection);
    p.transport = transport;
    fixture.in.push(Cycle{9}, p);
    bench.run();
    EXPECT_EQ(fixture.slot(0).status, WcStatus::kLocalProtection);
    EXPECT_EQ(fixture.flushes.size(), 0u);
    EXPECT_EQ(fixture.events.size(), 0u);
  }
}

TEST(CqeGenerator, AFailedRequestAsksForTheFlushOnce) {  // R6
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{9}, send_completion(fixture, WcStatus::kRetryExceeded));
  fixture.in.push(Cycle{9}, send_completion(fixture, WcStatus::kFlushed));
  bench.run();
  ASSERT_EQ(fixture.flushes.size(), 1u);
  EXPECT_EQ(fixture.flushes.value(0).line, fixture.qp.line);
  EXPECT_EQ(fixture.failed_qps.size(), 0u) << "the requester knows";
  EXPECT_EQ(fixture.events.size(), 0u) << "the completion tells";
  EXPECT_EQ(fixture.slot(0).status, WcStatus::kRetryExceeded);
  EXPECT_EQ(fixture.slot(1).status, WcStatus::kFlushed);
}

TEST(CqeGenerator, FlushedAndGoodRequestsAskForNothing) {  // R6
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{9}, send_completion(fixture, WcStatus::kSuccess));
  fixture.in.push(Cycle{9}, send_completion(fixture, WcStatus::kFlushed));
  bench.run();
  EXPECT_EQ(fixture.flushes.size(), 0u);
  EXPECT_EQ(fixture.failed_qps.size(), 0u);
}

TEST(CqeGenerator, TheRequesterIsNotifiedOfWhatTheReceivePathFound) {  // R6
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{9}, fixture.failed(fixture.qp, 0x61, true));
  bench.run();
  ASSERT_EQ(fixture.failed_qps.size(), 1u);
  EXPECT_EQ(fixture.failed_qps.value(0).qpn, kTestQpn);
  EXPECT_EQ(fixture.flushes.size(), 1u);
}

TEST(CqeGenerator, AFailureBehindItIsFlushedAndRaised) {  // R6
  Bench bench;
  Fixture fixture(bench);
  for (int i = 0; i < 2; ++i) {
    fixture.shared.contexts.pin(fixture.qp.line);
    fixture.failures.push(Cycle{9}, {fixture.qp.line, EventType::kQpAccessError});
  }
  bench.run();
  EXPECT_EQ(fixture.flushes.size(), 1u) << "once";
  EXPECT_EQ(fixture.failed_qps.size(), 1u);
  ASSERT_EQ(fixture.events.size(), 1u);
  EXPECT_EQ(fixture.events.value(0).type, EventType::kQpAccessError);
  EXPECT_EQ(fixture.events.value(0).number, raw(kTestQpn));
  EXPECT_EQ(fixture.qp.pins.count(), 1u) << "the flush request's";
}

TEST(CqeGenerator, NoPacketIsTakenWithAFailure) {  // R9
  Bench bench;
  Fixture fixture(bench);
  fixture.shared.contexts.pin(fixture.qp.line);
  fixture.failures.push(Cycle{10}, {fixture.qp.line, EventType::kQpFatal});
  for (int i = 0; i < 3; ++i) fixture.in.push(Cycle{9}, fixture.packet());  // the second one waits in cycle 11
  bench.run();
  ASSERT_EQ(fixture.out.size(), 3u);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{14});
  EXPECT_EQ(fixture.out.cycle(1), Cycle{16});
  EXPECT_EQ(fixture.out.cycle(2), Cycle{17});
}

TEST(CqeGenerator, AFailureThatSoftwareAskedForFlushesOnceAndRaisesNothing) {  // R12
  Bench bench;
  Fixture fixture(bench);
  CompletionRequest p;
  p.role = PacketRole::kFailure;
  p.outcome = Outcome::kDrop;
  p.line = fixture.qp.line;
  p.residence = fixture.qp.residence;
  p.qpn = fixture.qp.qpn;
  for (int i = 0; i < 2; ++i) {
    fixture.qp.pins.add();
    fixture.in.push(Cycle{9}, p);
  }
  bench.run();
  EXPECT_EQ(fixture.out.size(), 2u);
  ASSERT_EQ(fixture.flushes.size(), 1u);
  EXPECT_EQ(fixture.flushes.cycle(0), Cycle{11});
  EXPECT_EQ(fixture.failed_qps.size(), 0u);
  EXPECT_EQ(fixture.events.size(), 0u);
  EXPECT_EQ(fixture.writes.log().size(), 0u);
}

TEST(CqeGenerator, ARequestWhoseCompletionFindsNoRoomFailsItsQp) {  // R3, R6
  Bench bench;
  Fixture fixture(bench, test_params(), cq_context(2));
  for (int i = 0; i < 3; ++i) fixture.in.push(Cycle{9}, send_completion(fixture, WcStatus::kSuccess));
  const CompletionRequest behind = fixture.packet();
  fixture.in.push(Cycle{9}, behind);
  bench.run();
  EXPECT_EQ(fixture.writes.log().size(), 2u);
  ASSERT_EQ(fixture.out.size(), 4u);
  EXPECT_EQ(fixture.out.value(2).drop_reason, DropReason::kCqOverrun);
  EXPECT_FALSE(fixture.out.value(2).completes);
  EXPECT_EQ(fixture.left(behind).drop_reason, DropReason::kSquashed);
  ASSERT_EQ(fixture.refusals.size(), 1u);
  EXPECT_EQ(fixture.refusals.value(0).kind, RefusalKind::kError);
  EXPECT_EQ(fixture.refusals.value(0).line, fixture.qp.line);
  EXPECT_EQ(fixture.count(EventType::kCqError), 1u);
  EXPECT_EQ(fixture.count(EventType::kQpFatal), 1u);
  EXPECT_EQ(fixture.flushes.size(), 1u);
  ASSERT_EQ(fixture.failed_qps.size(), 1u);
  EXPECT_EQ(fixture.failed_qps.value(0).qpn, kTestQpn);
}

TEST(CqeGenerator, AClosedCqGetsNothingButIsThere) {  // R10
  Bench bench;
  Fixture fixture(bench);
  fixture.arm(Cycle{1}, 0);
  fixture.in.push(Cycle{9}, fixture.packet());
  fixture.ask(21, {.operation = CqOperation::kClose, .number = kCq});
  fixture.in.push(Cycle{29}, fixture.packet());
  fixture.arm(Cycle{30}, 0);
  bench.run();
  EXPECT_EQ(fixture.writes.log().size(), 1u);
  EXPECT_EQ(fixture.replies.cycle(0), Cycle{21});
  EXPECT_EQ(fixture.dut.counters().discarded, 1u);
  EXPECT_NE(fixture.model.find(kCq), nullptr);
  EXPECT_EQ(fixture.events.size(), 1u) << "of the first CQE, before it was closed";
  EXPECT_EQ(fixture.refusals.size(), 0u) << "no overrun";
}

TEST(CqeGenerator, ACommandWaitsForTheDoorbellsThatHaveComeAndForNoOthers) {  // R15
  for (const std::uint32_t held : {1u, 3u}) {
    Bench bench;
    Fixture fixture(bench, test_params(), cq_context(), {.doorbells = held});
    CqContext other = cq_context();
    other.number = Cqn{77};
    fixture.dut.create(other, fixture.host);
    for (std::uint32_t i = 0; i < 50; ++i) {  // in each cycle, as far as there is room in their link
      fixture.doorbells.push(Cycle{9}, {DoorbellKind::kCqConsumer, false, 77, i});
    }
    fixture.ask(20, {.operation = CqOperation::kClose, .number = kCq});
    bench.run();
    ASSERT_EQ(fixture.replies.size(), 1u);
    EXPECT_LE(fixture.replies.cycle(0), Cycle{20 + held});
    EXPECT_GE(fixture.replies.cycle(0), Cycle{20 + (held == 1 ? 0 : held)});
  }
}

TEST(CqeGenerator, AResizedCqGoesOnInItsNewRing) {  // R10
  constexpr BusAddress kOther{0x20000};
  Bench bench;
  Fixture fixture(bench);
  for (int i = 0; i < 3; ++i) fixture.in.push(Cycle{9}, fixture.packet());
  fixture.consume(Cycle{100}, 1);  // a doorbell of the old ring: taken first
  fixture.ask(101, {.operation = CqOperation::kResize, .number = kCq, .base = kOther, .slots = 4, .consumer = 1});
  fixture.ask(150, {.operation = CqOperation::kResize, .number = kCq, .base = kRing, .slots = 1, .consumer = 0});
  for (int i = 0; i < 2; ++i) fixture.in.push(Cycle{199}, fixture.packet());
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 2u);
  const CqReply& move = fixture.replies.value(0);
  EXPECT_EQ(fixture.replies.cycle(0), Cycle{102}) << "behind the doorbell";
  EXPECT_TRUE(move.fits);
  EXPECT_EQ(move.first, 1u);
  EXPECT_EQ(move.count, 2u);
  EXPECT_EQ(move.from, kRing);
  EXPECT_EQ(move.stride, 64u);
  EXPECT_FALSE(fixture.replies.value(1).fits);
  for (std::uint32_t n : {2u, 3u}) {
    const auto cqe = fixture.host.load<Cqe>(kOther + n * 64);
    EXPECT_EQ(cqe.wqe_index, n + 1);
    EXPECT_EQ(cqe.owner, 0);
  }
  EXPECT_EQ(fixture.model.find(kCq)->producer(), 4u);
}

// 8 completions take 3 slots, 21 take 4: as many as a block in a ring of 4 holds.
TEST(CqeGenerator, TheSessionOfAResizedCqHasRoomInItsNewRing) {  // R5, R10
  constexpr BusAddress kOther{0x20000};
  for (const bool fills : {false, true}) {
    Bench bench;
    CqContext cq = cq_context();
    cq.compress = cq.ignore_overrun = true;
    Fixture fixture(bench, compressing(64, 1000), cq);
    for (int i = 0; i < (fills ? 21 : 8); ++i) fixture.in.push(Cycle{9}, fixture.pressed());
    fixture.ask(101, {.operation = CqOperation::kResize, .number = kCq, .base = kOther, .slots = 2, .consumer = 0});
    fixture.ask(150, {.operation = CqOperation::kResize, .number = kCq, .base = kOther, .slots = 4, .consumer = 0});
    fixture.in.push(Cycle{199}, fixture.pressed());
    bench.run();
    ASSERT_EQ(fixture.replies.size(), 2u);
    EXPECT_FALSE(fixture.replies.value(0).fits);
    EXPECT_TRUE(fixture.replies.value(1).fits);
    const auto& log = fixture.writes.log();
    ASSERT_EQ(log.size(), fills ? 2u : 1u);
    EXPECT_EQ(log[0].request.address, kOther);
    EXPECT_EQ(log[0].request.cqes, fills ? 21u : 9u);
    if (fills) {
      EXPECT_EQ(log[0].taken, Cycle{200 + 4 + 1}) << "before the one that has no room in its block";
      EXPECT_EQ(log[1].request.cqes, 1u);
    }
  }
}

TEST(CqeGenerator, ACommandIsAnsweredWhenTheWritesBeforeItHaveGone) {  // R11
  Bench bench;
  Fixture fixture(bench, {}, cq_context(64), {.dma = 1});  // one write every two cycles
  for (int i = 0; i < 20; ++i) fixture.in.push(Cycle{9}, fixture.packet());
  fixture.ask(25, {.operation = CqOperation::kSettle});
  fixture.ask(60, {.operation = CqOperation::kClose, .number = Cqn{99}});
  std::size_t made = 0;
  bench.at(Cycle{24}, [&](Cycle) { made = fixture.dut.counters().cqes; });
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 2u);
  EXPECT_GT(fixture.replies.cycle(0), Cycle{25});
  // The last write went into the link in the cycle of the answer, and left it later.
  ASSERT_GT(made, 0u);
  ASSERT_LT(made, 20u);
  EXPECT_GT(fixture.writes.log()[made - 1].taken, fixture.replies.cycle(0));
  EXPECT_LE(fixture.writes.log()[made - 1].taken, fixture.replies.cycle(0) + 2);
  EXPECT_FALSE(fixture.replies.value(1).found);
}

TEST(CqeGenerator, ACommandDoesNotWaitForTheWritesBehindIt) {  // R15
  for (const EngineMode mode : {EngineMode::kFast, EngineMode::kPerCycle}) {
    Bench bench(mode);
    Fixture fixture(bench, {}, cq_context(64));
    for (int i = 0; i < 40; ++i) fixture.in.push(Cycle{9}, fixture.packet());  // one a cycle
    fixture.ask(25, {.operation = CqOperation::kSettle});
    bench.run();
    ASSERT_EQ(fixture.replies.size(), 1u);
    const Cycle last = Cycle{25 + test_params().latency_cycles};  // of those that were made by then
    EXPECT_LE(fixture.replies.cycle(0), last + 1);
    EXPECT_GE(fixture.replies.cycle(0) + 1, last);
    EXPECT_EQ(fixture.dut.counters().cqes, 40u);
  }
}

struct Written final : CompletionObserver {
  struct One {
    std::uint32_t cq;
    std::uint64_t posted, now;
    bool operator==(const One&) const = default;
  };
  void on_written(Cqn cq, const Cqe&, const MessageTimes& times, Cycle now) override {
    seen.push_back({raw(cq), times.posted.count, now.count});
  }
  std::vector<One> seen;
};

TEST(CqeGenerator, TheObserverIsNotifiedOfWhenTheSenderRang) {
  Written observer;
  Bench bench;
  Fixture fixture(bench);
  fixture.dut.set_observer(&observer);
  CompletionRequest p = fixture.packet();
  p.posted = Cycle{5};
  fixture.in.push(Cycle{9}, p);
  bench.run();
  EXPECT_EQ(observer.seen, (std::vector<Written::One>{{raw(kCq), 5, 10}}));
}

// Completions are held in a session of one CQ while one of another CQ is written; the session's last is never written.
TEST(CqeGenerator, TheObserverIsNotifiedInTheOrderOfTheWrites) {
  Written observer;
  Bench bench;
  CqContext cq = cq_context();
  cq.compress = true;
  Fixture fixture(bench, compressing(2, 1000), cq);
  CqContext plain = cq_context();
  plain.number = Cqn{9};
  plain.base = kRing + 0x1000;
  fixture.dut.create(plain, fixture.host);
  fixture.dut.set_observer(&observer);
  std::uint64_t posted = 100;
  for (const Cqn to : {kCq, Cqn{9}, kCq, kCq}) {
    CompletionRequest p = fixture.pressed(to);
    p.posted = Cycle{posted++};
    fixture.in.push(Cycle{9}, p);
  }
  fixture.ask(101, {.operation = CqOperation::kClose, .number = kCq});
  bench.run();
  EXPECT_EQ(observer.seen, (std::vector<Written::One>{{9, 101, 11}, {raw(kCq), 100, 12}, {raw(kCq), 102, 12}}));
}

TEST(CqeGenerator, TheObserverIsNotNotifiedOfWhatFindsNoRoom) {
  Written observer;
  Bench bench;
  Fixture fixture(bench, {}, cq_context(2));
  fixture.dut.set_observer(&observer);
  for (int i = 0; i < 5; ++i) fixture.in.push(Cycle{9}, fixture.packet());
  bench.run();
  EXPECT_EQ(fixture.writes.log().size(), 2u);
  EXPECT_EQ(observer.seen.size(), 2u);
}

}  // namespace
}  // namespace rxnic::cqe_generator_test
