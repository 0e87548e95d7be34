// SPDX-License-Identifier: Apache-2.0
// Rules R11..R14 of model/blocks/cqe_generator.h: CQ contexts over host memory.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "testbench/unit/model/blocks/cqe_generator_harness.h"
#include "testbench/unit/model/engine/harness.h"
#include "testbench/unit/request_packets.h"

namespace rxnic::cqe_generator_contexts_test {
namespace {

constexpr std::uint64_t kReadLatency = CqeGeneratorLinks{}.read_cycles;
// Cycles from the request for a context to its use: the link, the memory, the link.
constexpr std::uint64_t kMiss = 1 + kReadLatency + 1;
// A miss when the evicted context was changed: its write goes first.
constexpr std::uint64_t kMissAndWriteBack = kMiss + 1;

CqContext context(std::uint32_t number, std::uint32_t slots = 16) {
  CqContext c;
  c.number = Cqn{number};
  c.base = BusAddress{0x100000u * (number + 1)};
  c.slots = slots;
  return c;
}

CqeGeneratorParams small(std::uint32_t entries, std::uint32_t ways = 16, std::uint32_t misses = 2) {
  CqeGeneratorParams p;
  p.event_latency_cycles = 8;
  p.cq_contexts = entries;
  p.cq_context_ways = ways;
  p.cq_misses_in_flight = misses;
  return p;
}

struct Fixture : CqeGeneratorHarness {
  Fixture(Bench& b, const CqeGeneratorParams& params)
      : CqeGeneratorHarness(b, params_with(&Params::cqe_generator, params), {.in = 32, .commands = 1}),
        qp(place_qp(shared, test_qp(Transport::kRc))) {
    out.on_value([this](Cycle, const AckRequest& p) { shared.packets.release(p.buffer); });
  }
  void create(const CqContext& c) {
    const std::vector<std::uint8_t> ones(std::size_t{c.slots} * 64, 0xff);
    host.write(c.base, ones);
    dut.create(c, host);
  }
  void create(std::uint32_t n) { create(context(n)); }
  void create(std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t n = from; n <= to; ++n) create(context(n));
  }
  CompletionRequest packet(std::uint32_t cq) {
    const Headers h = request_headers(Encapsulation::kRoceV2Ipv4, qp.transport, Operation::kSendOnly, Psn{1});
    CompletionRequest p = accept_packet(shared, qp, place_frame(shared, h, counting_bytes(8)));
    p.cq = Cqn{cq};
    p.wqe_index = next_wqe++;
    return p;
  }
  void push(std::uint64_t when, std::uint32_t cq, bool pressed = false) {
    CompletionRequest p = packet(cq);
    p.pressed = pressed;
    in.push(Cycle{when}, p);
  }
  void arm(std::uint64_t when, std::uint32_t cq, std::uint32_t consumer = 0) {
    doorbells.push(Cycle{when}, {DoorbellKind::kCqArm, false, cq, consumer});
  }
  void consume(std::uint64_t when, std::uint32_t cq, std::uint32_t consumer) {
    doorbells.push(Cycle{when}, {DoorbellKind::kCqConsumer, false, cq, consumer});
  }
  void ask(std::uint64_t when, const CqCommand& command) { commands.push(Cycle{when}, command); }
  Cqe slot(std::uint32_t cq, std::uint32_t n) { return host.load<Cqe>(context(cq).base + n * 64); }
  CqRecord record(std::uint32_t cq) {
    CqRecord r;
    EXPECT_TRUE(model.read(Cqn{cq}, host, r));
    return r;
  }
  const CqeGeneratorCounters& counters() const { return dut.counters(); }

  QpContext& qp;
  std::uint32_t next_wqe = 0;
};

TEST(CqeGeneratorContexts, ACreatedCqIsHereAndItsPacketWaitsForNothing) {  // R1, R11
  Bench bench;
  Fixture fixture(bench, small(2));
  fixture.create(1, 2);
  fixture.push(9, 1);
  fixture.push(9, 2);
  bench.run_to(Cycle{14});
  EXPECT_EQ(fixture.out.size(), 0u);
  bench.run_to(Cycle{15});
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{14});
  bench.run();
  EXPECT_EQ(fixture.out.cycle(1), Cycle{15});
  EXPECT_EQ(fixture.counters().context_hits, 2u);
  EXPECT_EQ(fixture.counters().context_misses, 0u);
  EXPECT_EQ(fixture.contexts.log().size(), 0u);
}

TEST(CqeGeneratorContexts, AMissTakesAReadToTheCycle) {  // R11
  Bench bench;
  Fixture fixture(bench, small(1));
  fixture.create(1, 2);  // 2 has no line
  fixture.push(9, 2);    // looked at in 10
  bench.run_to(Cycle{11});
  ASSERT_EQ(fixture.contexts.log().size(), 1u);
  EXPECT_EQ(fixture.contexts.log()[0].taken, Cycle{11}) << "asked for in 10";
  EXPECT_EQ(fixture.contexts.log()[0].request.kind, DmaKind::kRead);
  EXPECT_EQ(fixture.contexts.log()[0].request.address, cq_context_address(Cqn{2}));
  EXPECT_EQ(fixture.contexts.log()[0].request.bytes, 64u);
  bench.run_to(Cycle{40});
  EXPECT_EQ(fixture.dut.activity(), Activity::kWaitCqContext);
  bench.run_to(Cycle{10 + kMiss + 4});
  EXPECT_EQ(fixture.out.size(), 0u);
  bench.run_to(Cycle{10 + kMiss + 4 + 1});
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{10 + kMiss + 4});
  EXPECT_EQ(fixture.shared.packets[fixture.out.value(0).buffer].taken(Station::kCqeGenerator), Cycle{10})
      << "the read is no wait in front of the block";
  EXPECT_EQ(fixture.slot(2, 0).timestamp, 10 + kMiss);
  EXPECT_EQ(fixture.counters().context_misses, 1u);
  EXPECT_EQ(fixture.counters().context_reads, 1u);
  EXPECT_EQ(fixture.counters().context_write_backs, 0u) << "1 was not changed";
  fixture.dut.settle(Cycle{100});
  EXPECT_EQ(fixture.dut.account()[static_cast<std::size_t>(Activity::kWaitCqContext)], kMiss);
}

// All state of a context is written to memory when it is evicted, and is the same when it has been read again.
TEST(CqeGeneratorContexts, AContextComesBackAsItWent) {
  Bench bench;
  Fixture fixture(bench, small(1));
  CqContext c = context(1);
  c.moderation_count = 3;
  c.moderation_period_us = 50;
  fixture.create(c);
  fixture.create(2, 2);
  CompletionRequest solicited = fixture.packet(1);
  solicited.solicited = true;
  fixture.in.push(Cycle{9}, fixture.packet(1));
  fixture.in.push(Cycle{9}, solicited);
  fixture.consume(49, 1, 1);
  fixture.doorbells.push(Cycle{59}, {DoorbellKind::kCqArm, true, 1, 2});
  solicited = fixture.packet(1);
  solicited.solicited = true;
  fixture.in.push(Cycle{99}, solicited);  // counts: an event is due in 50,100
  CqRecord before;
  bench.at(Cycle{150}, [&](Cycle) { before = fixture.record(1); });
  fixture.push(199, 2);
  bench.run_to(Cycle{400});
  ASSERT_EQ(fixture.model.find(Cqn{1}), nullptr);
  const auto stored = fixture.host.load<CqRecord>(cq_context_address(Cqn{1}));
  EXPECT_EQ(std::memcmp(&stored, &before, sizeof stored), 0);
  EXPECT_EQ(stored.producer, 3u);
  EXPECT_EQ(stored.consumer, 1u);
  EXPECT_EQ(stored.last_solicited, 3u);
  EXPECT_EQ(stored.armed, CqArm::kSolicited);
  EXPECT_EQ(stored.counted, 1u);
  EXPECT_EQ(stored.due, Cycle{50'100});
  EXPECT_EQ(fixture.counters().context_write_backs, 1u);
  for (std::uint64_t i = 0; i < 2; ++i) {  // two more that count: the event
    solicited = fixture.packet(1);
    solicited.solicited = true;
    fixture.in.push(Cycle{999}, solicited);
  }
  bench.run_to(Cycle{1000 + kMiss + 1 + 30});
  ASSERT_EQ(fixture.events.size(), 1u) << "it is still armed, and two of three CQEs had been counted";
  EXPECT_EQ(fixture.slot(1, 4).wqe_index, 5u);
  EXPECT_EQ(fixture.record(1).producer, 5u);
  bench.run();
  EXPECT_EQ(fixture.events.size(), 1u);
}

TEST(CqeGeneratorContexts, ADoorbellBringsTheContextIn) {  // R11
  Bench bench;
  Fixture fixture(bench, small(1));
  fixture.create(1, 2);
  fixture.push(9, 2);   // 2 is here
  fixture.push(99, 1);  // 1 is here
  fixture.arm(199, 2);  // looked at in 200; one CQE is not seen
  bench.run();
  ASSERT_EQ(fixture.events.size(), 1u);
  EXPECT_EQ(fixture.events.value(0).number, 2u);
  EXPECT_EQ(fixture.events.cycle(0), Cycle{200 + kMissAndWriteBack + 12});
  EXPECT_EQ(fixture.counters().context_misses, 3u);
}

TEST(CqeGeneratorContexts, AModeratedEventBringsTheContextIn) {  // R11, R14
  Bench bench;
  Fixture fixture(bench, small(1));
  CqContext c = context(1);
  c.moderation_count = 3;
  c.moderation_period_us = 2;
  fixture.create(c);
  fixture.create(2, 2);
  fixture.arm(0, 1);
  fixture.push(9, 1);
  fixture.push(99, 2);
  bench.run();
  ASSERT_EQ(fixture.events.size(), 1u);
  EXPECT_EQ(fixture.events.value(0).number, 1u);
  EXPECT_EQ(fixture.events.cycle(0), Cycle{10 + 2000 + kMissAndWriteBack + 12});
  EXPECT_EQ(fixture.record(1).armed, CqArm::kNot);
  EXPECT_EQ(fixture.record(1).timer, kNever);
}

TEST(CqeGeneratorContexts, WithoutATimerAnEventIsRaisedAtOnce) {  // R14
  Bench bench;
  CqeGeneratorParams params = small(4);
  params.moderation_timers = 2;
  Fixture fixture(bench, params);
  for (std::uint32_t n = 1; n <= 3; ++n) {
    CqContext c = context(n);
    c.moderation_count = 3;
    c.moderation_period_us = 2;
    fixture.create(c);
    fixture.arm(0, n);
    fixture.push(9, n);
  }
  bench.run();
  ASSERT_EQ(fixture.events.size(), 3u);
  EXPECT_EQ(fixture.events.value(0).number, 3u);
  EXPECT_EQ(fixture.events.cycle(0), Cycle{12 + 14});
  EXPECT_EQ(fixture.events.cycle(1), Cycle{2010 + 12});
  EXPECT_EQ(fixture.counters().unmoderated_events, 1u);
}

// Every line holds a CQ with an open session. The packet of another CQ waits until one of these sessions ends.
TEST(CqeGeneratorContexts, OpenSessionsKeepTheirLinesAndEnd) {
  Bench bench;
  CqeGeneratorParams params = small(2);
  params.compression = true;
  params.compression_timeout_cycles = 500;
  Fixture fixture(bench, params);
  for (std::uint32_t n = 1; n <= 2; ++n) {
    CqContext c = context(n);
    c.compress = true;
    fixture.create(c);
  }
  fixture.create(3, 3);
  fixture.push(9, 1, true);
  fixture.push(9, 2, true);
  fixture.push(9, 3);
  fixture.push(9, 1);  // behind it, in order
  bench.run_to(Cycle{300});
  EXPECT_EQ(fixture.dut.activity(), Activity::kWaitContextWay);
  EXPECT_EQ(fixture.contexts.log().size(), 0u);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 4u);
  EXPECT_EQ(fixture.out.cycle(2), Cycle{510 + kMissAndWriteBack + 4}) << "CQ 1's session ended in 510";
  EXPECT_EQ(fixture.slot(1, 0).wqe_index, 0u);
  EXPECT_EQ(fixture.slot(2, 0).wqe_index, 1u);
  EXPECT_EQ(fixture.slot(3, 0).wqe_index, 2u);
  EXPECT_EQ(fixture.slot(1, 1).wqe_index, 3u);
  fixture.dut.settle(Cycle{1000});
  EXPECT_EQ(fixture.dut.account()[static_cast<std::size_t>(Activity::kWaitContextWay)], 510u - 12);
}

TEST(CqeGeneratorContexts, ThoseBehindAMissAreReadAhead) {  // R12
  for (const std::uint32_t misses : {1u, 2u, 4u}) {
    Bench bench;
    Fixture fixture(bench, small(4, 16, misses));
    fixture.create(1, 8);  // 1 .. 4 are here
    for (std::uint32_t n = 5; n <= 8; ++n) fixture.push(9, n);
    bench.run();
    ASSERT_EQ(fixture.out.size(), 4u);
    const auto& log = fixture.contexts.log();
    ASSERT_EQ(log.size(), 4u);
    for (std::uint32_t n = 1; n < misses; ++n) EXPECT_EQ(log[n].taken, Cycle{11 + n}) << "one a cycle";
    EXPECT_EQ(fixture.out.cycle(0), Cycle{10 + kMiss + 4});
    const std::uint64_t last = 10 + (4 / misses) * kMiss + 3 + 4;
    EXPECT_LE(fixture.out.cycle(3), Cycle{last + 4 / misses}) << misses;
    EXPECT_GE(fixture.out.cycle(3), Cycle{10 + (4 / misses) * kMiss + 4}) << misses;
    EXPECT_EQ(fixture.counters().context_reads_ahead, misses == 1 ? 0u : misses == 2 ? 2u : 3u);
    for (std::uint32_t n = 0; n < 4; ++n) EXPECT_EQ(fixture.out.value(n).qpn, fixture.qp.qpn);
  }
}

TEST(CqeGeneratorContexts, SoManyPacketsWaitForTheirContexts) {  // R12
  for (const std::uint32_t misses : {1u, 4u}) {
    Bench bench;
    Fixture fixture(bench, small(4, 16, misses));
    fixture.create(1, 16);  // 1 .. 4 are here
    for (std::uint32_t n = 5; n <= 16; ++n) fixture.push(9, n);
    bench.run_to(Cycle{10 + misses + 2});
    EXPECT_EQ(fixture.dut.in[0]->size(), 12 - misses - 1);
    bench.run_to(Cycle{10 + kMiss});
    EXPECT_EQ(fixture.dut.in[0]->size(), 12 - misses - 1) << "no packet is taken";
    bench.run();
    ASSERT_EQ(fixture.out.size(), 12u);
    for (std::uint32_t n = 5; n <= 16; ++n) EXPECT_EQ(fixture.slot(n, 0).wqe_index, n - 5) << "in order";
  }
}

// A full CQ, whose consumer index is in a doorbell behind one that waits for its context.
TEST(CqeGeneratorContexts, ALateConsumerIndexOverrunsNoCq) {  // R13
  for (const std::uint32_t entries : {1u, 2u}) {
    Bench bench;
    Fixture fixture(bench, small(entries));
    fixture.create(context(1, 2));
    fixture.create(2, 9);
    for (int i = 0; i < 2; ++i) fixture.push(9, 1);
    for (std::uint32_t n = 5; n <= 8; ++n) fixture.arm(99, n);
    fixture.consume(99, 1, 2);
    fixture.push(104, 1);
    fixture.push(104, 1);
    bench.run();
    EXPECT_EQ(fixture.counters().overruns, 0u);
    ASSERT_EQ(fixture.out.size(), 4u);
    EXPECT_EQ(fixture.slot(1, 1).wqe_index, 3u);
    EXPECT_GE(fixture.out.cycle(2), Cycle{100 + 4 * kMiss});
    EXPECT_EQ(fixture.record(1).consumer, 2u);
  }
}

TEST(CqeGeneratorContexts, ACqThatIsFullOverrunsWhenNoDoorbellCanHelp) {  // R13, R3
  Bench bench;
  Fixture fixture(bench, small(1));
  fixture.create(context(1, 2));
  fixture.create(2, 9);
  for (int i = 0; i < 2; ++i) fixture.push(9, 1);
  for (std::uint32_t n = 5; n <= 8; ++n) fixture.arm(99, n);
  fixture.push(104, 1);
  bench.run();
  EXPECT_EQ(fixture.counters().overruns, 1u);
  EXPECT_EQ(fixture.out.size(), 3u);
  EXPECT_TRUE(fixture.record(1).dead);
}

TEST(CqeGeneratorContexts, ACqThatDoesNotExistIsNotKept) {  // R11
  Bench bench;
  Fixture fixture(bench, small(4));
  fixture.create(1, 1);
  fixture.push(9, 5);
  fixture.arm(9, 6);
  fixture.push(99, 1);
  bench.at(Cycle{200}, [&](Cycle) { fixture.create(5, 5); });
  fixture.push(299, 5);
  bench.run();
  EXPECT_EQ(fixture.counters().discarded, 1u);
  EXPECT_FALSE(fixture.out.value(0).completes);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{10 + kMiss + 1 + 4}) << "its read is behind the doorbell's";
  EXPECT_EQ(fixture.out.cycle(1), Cycle{104}) << "the line of 1 was never needed";
  EXPECT_EQ(fixture.out.cycle(2), Cycle{304}) << "it has been created meanwhile, and its context is here";
  EXPECT_EQ(fixture.slot(5, 0).wqe_index, 2u);
}

// A program arms each CQ and polls it when it is notified. There are the same CQEs, all of them polled, with few cache
// lines as with many.
struct Ring {
  std::uint32_t polled = 0;
  std::vector<std::uint32_t> wqes;
};
std::map<std::uint32_t, Ring> run_program(Bench& bench, const CqeGeneratorParams& params, std::uint64_t seed,
                                          CqeGeneratorCounters* counters = nullptr) {
  constexpr std::uint32_t kCqs = 40, kPackets = 600;
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
  Fixture fixture(bench, params);
  std::map<std::uint32_t, Ring> rings;
  for (std::uint32_t n = 1; n <= kCqs; ++n) {
    CqContext c = context(n, 32);
    c.compress = n % 3 == 0;
    c.moderation_count = static_cast<std::uint16_t>(n % 4);
    c.moderation_period_us = static_cast<std::uint16_t>(n % 4 == 0 ? 0 : 1 + n % 2);
    fixture.create(c);
    rings[n];
    fixture.arm(0, n);
  }
  const auto poll = [&](std::uint32_t n) {
    Ring& ring = rings[n];
    for (;;) {
      const auto cqe = fixture.host.load<Cqe>(context(n).base + ring.polled % 32 * 64);
      if (cqe.owner != ring.polled / 32 % 2) return;
      if (cqe.format == CqeFormat::kTitle) {
        for (std::uint32_t i = 0; i < cqe.mini_count; ++i) {
          const auto minis = fixture.host.load<MiniCqeSlot>(context(n).base + (ring.polled + 1 + i / 7) % 32 * 64);
          ring.wqes.push_back(minis.mini[i % 7].wqe_index);
        }
      } else {
        ring.wqes.push_back(cqe.wqe_index);
      }
      ring.polled += block_slots(cqe.format == CqeFormat::kTitle ? cqe.mini_count : 1);
    }
  };
  fixture.events.on_value([&](Cycle now, const Event& e) {
    EXPECT_EQ(e.type, EventType::kCompletion);
    bench.at(now + 1, [&, n = e.number](Cycle then) {
      poll(n);
      fixture.consume(then.count + 1, n, rings[n].polled);
      fixture.arm(then.count + 1, n, rings[n].polled);
    });
  });
  std::uint64_t cycle = 10;
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    cycle += below(20) == 0 ? below(500) : below(3);
    fixture.push(cycle, 1 + (below(3) == 0 ? below(4) : below(kCqs)), i / 8 % 4 != 0);
  }
  bench.run();
  EXPECT_EQ(fixture.out.size(), kPackets);
  EXPECT_EQ(fixture.counters().overruns, 0u);
  std::size_t polled = 0;
  for (const auto& [n, ring] : rings) polled += ring.wqes.size();
  EXPECT_EQ(polled, kPackets) << "events were raised for all CQEs";
  if (counters != nullptr) *counters = fixture.counters();
  return rings;
}

CqeGeneratorParams program_params(std::uint32_t entries, std::uint32_t ways, bool compression) {
  CqeGeneratorParams p = small(entries, ways);
  p.compression = compression;
  p.compression_timeout_cycles = 100;
  p.moderation_timers = 40;
  return p;
}

TEST(CqeGeneratorContexts, WhatIsCompletedDoesNotDependOnTheSizeOfTheCache) {
  const std::uint64_t seed = test_seed(17);
  for (const bool compression : {false, true}) {
    std::map<std::uint32_t, Ring> expected;
    {
      Bench bench;
      CqeGeneratorCounters c;
      expected = run_program(bench, program_params(64, 4, compression), seed, &c);
      EXPECT_EQ(c.context_misses, 0u);
    }
    for (const std::uint32_t entries : {1u, 2u, 8u}) {
      Bench bench;
      CqeGeneratorCounters c;
      const auto found = run_program(bench, program_params(entries, 2, compression), seed, &c);
      EXPECT_GT(c.context_misses, 300u);
      EXPECT_GT(c.context_write_backs, 300u);
      for (const auto& [n, ring] : expected) EXPECT_EQ(found.at(n).wqes, ring.wqes) << entries << " lines, CQ " << n;
    }
  }
}

TEST(CqeGeneratorContexts, ModesAndOrdersAgreeOnFewLines) {
  const std::uint64_t seed = test_seed(18);
  for (const std::uint32_t entries : {1u, 4u}) {
    expect_equal_in_all_orders([seed, entries](Bench& bench) {
      StateHash h;
      for (const auto& [n, ring] : run_program(bench, program_params(entries, 2, true), seed)) {
        for (const std::uint32_t w : ring.wqes) h.mix(w);
      }
      h.mix(bench.state_hash());
      return h.value();
    });
  }
}

TEST(CqeGeneratorContexts, ACommandOnACqWhoseContextIsNotHereHasItRead) {  // R11, R15
  Bench bench;
  Fixture fixture(bench, small(1));
  fixture.create(1, 2);  // 2 has no line
  fixture.ask(99, {.operation = CqOperation::kSetModeration, .number = Cqn{2}, .moderation_count = 3});
  fixture.ask(299, {.operation = CqOperation::kClose, .number = Cqn{1}});
  fixture.ask(499, {.operation = CqOperation::kClose, .number = Cqn{7}});
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 3u);
  EXPECT_EQ(fixture.replies.cycle(0), Cycle{100 + kMiss});
  EXPECT_TRUE(fixture.replies.value(0).found);
  EXPECT_EQ(fixture.record(2).moderation_count, 3);
  EXPECT_TRUE(fixture.replies.value(1).found);
  EXPECT_TRUE(fixture.record(1).closed);
  EXPECT_FALSE(fixture.replies.value(2).found);
  EXPECT_EQ(fixture.counters().context_misses, 3u);
}

TEST(CqeGeneratorContexts, ACqIsCreatedInALineThatAnotherGivesUp) {  // R16
  Bench bench;
  Fixture fixture(bench, small(1));
  fixture.create(1);
  fixture.consume(9, 1, 0);  // it is changed
  const CqContext made = context(2);
  fixture.ask(99, {.operation = CqOperation::kCreate, .number = Cqn{2}, .base = made.base, .slots = made.slots});
  fixture.ask(299, {.operation = CqOperation::kDestroy, .number = Cqn{1}});
  fixture.push(399, 2);
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 2u);
  EXPECT_EQ(fixture.replies.cycle(0), Cycle{100 + kMiss + 1}) << "its read is behind the write of CQ 1's context";
  EXPECT_EQ(fixture.replies.cycle(1), Cycle{300}) << "it is not here";
  EXPECT_EQ(fixture.host.load<CqRecord>(cq_context_address(Cqn{1})).valid, 0);
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{404});
  EXPECT_EQ(fixture.record(2).producer, 1u);
  EXPECT_EQ(fixture.host.load<CqRecord>(cq_context_address(Cqn{2})).valid, 0) << "CQ 2 has not been evicted";
}

// A doorbell of another CQ needs the only line while the command waits for a doorbell of its own.
TEST(CqeGeneratorContexts, ACommandKeepsNoLineThatDoorbellsNeed) {  // R11, R15
  Bench bench;
  Fixture fixture(bench, small(1));
  fixture.create(1, 2);
  fixture.arm(99, 2);
  fixture.arm(99, 1);
  fixture.arm(99, 2);
  fixture.ask(99, {.operation = CqOperation::kClose, .number = Cqn{1}});
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 1u);
  EXPECT_TRUE(fixture.record(1).closed);
}

}  // namespace
}  // namespace rxnic::cqe_generator_contexts_test
