// SPDX-License-Identifier: Apache-2.0
// rtl/cqe_generator.sv against model/blocks/cqe_generator: random packets, doorbells, commands and failures, with
// random back-pressure.
#include <gtest/gtest.h>

#include <algorithm>

#include "bridge/rtl/rtl_file.h"
#include "bridge/rtl/transactions.h"
#include "bridge/rtl/twin_pins.h"
#include "model/ports/block_facts.h"
#include "testbench/cosim/cqe_generator_scene.h"
#include "testbench/cosim/in_lockstep.h"
#include "testbench/cosim/in_place.h"
#include "testbench/cosim/slow_twin.h"

namespace rxnic::cqe_generator_cosim_test {
namespace {

using cqe_generator_scene::Scene;

class CqeGeneratorCosim : public testing::TestWithParam<Configuration> {
 protected:
  void SetUp() override {
    if (built_rtl().empty()) GTEST_SKIP() << "Verilator is not installed";
    params_ = GetParam().params;
  }
  Params params_;
};

TEST_P(CqeGeneratorCosim, ModelAndRtlAgreeOnRandomPackets) {
  const std::uint64_t seed = test_seed(2026), cycles = cosim_cycles();
  LockstepOptions options;
  options.every_cover = true;
  options.transactions = cycles / 4;
  const auto report = [](const Scene& scene) {
    const CqeGeneratorCounters& c = scene.dut.counters();
    std::cout << c.packets << " packets, " << c.cqes << " CQEs, " << c.sessions << " sessions, " << c.overruns
              << " overruns, " << c.completion_events << " completion events, " << c.flush_requests << " flushes, "
              << c.context_misses << " context misses, " << c.context_reads_ahead << " read ahead, "
              << c.context_write_backs << " written back\n";
  };
  expect_the_same_in_lockstep(
      "cqe_generator", params_, cycles, options, [&](Bench& bench) { return Scene(bench, params_, seed, cycles); },
      report);
}

TEST_P(CqeGeneratorCosim, RandomBitsInWhatResetDoesNotSetMakeNoDifference) {
  constexpr std::uint64_t kCycles = 6000;
  expect_the_same_from_random_bits("cqe_generator", params_, kCycles, [&](Bench& bench, std::uint64_t seed) {
    return Scene(bench, params_, seed, kCycles);
  });
}

TEST_P(CqeGeneratorCosim, TheRtlInTheModelsPlaceGivesTheSame) {
  const std::uint64_t seed = test_seed(7), cycles = 20'000;
  expect_the_same_in_place("cqe_generator", params_, cycles, cycles / 40,
                           [&](Bench& bench) { return Scene(bench, params_, seed, cycles, false); });
}

// Its inputs act on one state: they are offered in the model's order, and the RTL does the same in the same cycles.
TEST_P(CqeGeneratorCosim, AsTransactionsTheyAgreeToo) {
  const std::uint64_t cycles = 20'000;
  Bench bench(EngineMode::kPerCycle);
  Scene scene(bench, params_, test_seed(3), cycles);
  TransactionLockstep lockstep(bench.engine(), scene.dut, make_twin("cqe_generator", params_));
  bench.run();
  expect_the_models_cycles(lockstep.finish(), cycles / 20);
}

// The RTL alone, driven at its pins: a CQ, armed.
class Pins : public TwinPins {
 public:
  explicit Pins(const Params& params, bool compress = false, std::uint16_t count = 0, std::uint16_t period = 0)
      : TwinPins(make_twin("cqe_generator", params)) {
    EXPECT_TRUE(quiescent());
    EXPECT_EQ(give("commands", CqCommand{.operation = CqOperation::kCreate,
                                         .number = Cqn{3},
                                         .base = BusAddress{0x8000},
                                         .slots = 16,
                                         .compress = compress,
                                         .moderation_count = count,
                                         .moderation_period_us = period}),
              0u);
    EXPECT_EQ(give("doorbells", Doorbell{DoorbellKind::kCqArm, false, 3, 0}), 0u);
  }
  // A packet is taken, and its CQE lands in memory; returns the cycles since then.
  std::uint32_t complete() {
    give("in", packet());
    const std::uint32_t waited = wait_for("dma");
    tick();
    offer("dma_done", DmaCompletion{});
    tick();
    withdraw("dma_done");
    return 1 + waited + 2;
  }
  static CompletionRequest packet(bool pressed = false) {
    CompletionRequest p;
    p.pressed = pressed;
    p.opcode = 0x04;
    p.outcome = Outcome::kExecute;
    p.completes = p.ends_message = true;
    p.cq = Cqn{3};
    return p;
  }
};

// All of a CQE is compared but its timestamp: bytes 40 to 47.
TEST(CqeGeneratorFacts, TheTimestampIsTheTimeOfACqe) {
  const BlockFacts facts = CqeGeneratorPorts::facts(Params{});
  for (const PortFacts& p : facts.ports) {
    const bool has_time = p.name == "written";
    EXPECT_EQ(p.time_from, has_time ? 320u : 0u) << p.name;
    EXPECT_EQ(p.time_bits, has_time ? 64u : 0u) << p.name;
  }
}

// RTL of other latencies. Each completion lands, raises an event, and its CQ is armed again.
TEST_P(CqeGeneratorCosim, SlowerRtlMakesTheSameTransactions) {
  constexpr std::uint32_t kMessages = 40;
  const std::uint32_t apart = 200;  // cycles
  Bench bench(EngineMode::kPerCycle);
  CqeGeneratorHarness at(bench, params_,
                         {.dma = params_.dma_engine.queue_depth,
                          .context_dma = params_.dma_engine.queue_depth,
                          .write_cycles = 9,
                          .read_cycles = 13});
  CqContext cq;
  cq.number = Cqn{3};
  cq.base = BusAddress{0x8000};
  cq.slots = 64;
  cq.compress = true;
  at.dut.create(cq, at.host);
  TransactionLockstep lockstep(bench.engine(), at.dut, std::make_unique<SlowTwin>(make_twin("cqe_generator", params_)));
  for (std::uint32_t n = 0; n < kMessages; ++n) {
    at.doorbells.push(Cycle{100 + apart * n}, {DoorbellKind::kCqArm, false, 3, n});
    at.in.push(Cycle{150 + apart * n}, Pins::packet());
  }
  bench.run_to(Cycle{150 + apart * kMessages + 2000});
  EXPECT_EQ(at.out.size(), kMessages);
  EXPECT_EQ(at.events.size(), kMessages);
  expect_later_cycles(lockstep.finish(), 3 * kMessages);
}

TEST_P(CqeGeneratorCosim, WritesAndPacketsLeaveAfterTheirLatencyAtThePins) {  // R1, R21
  Pins rtl(params_);
  EXPECT_EQ(rtl.give("in", Pins::packet()), 0u);
  EXPECT_EQ(rtl.wait_for("dma"), params_.cqe_generator.latency_cycles - 1);
  EXPECT_TRUE(rtl.valid("out")) << "with its write";
  EXPECT_TRUE(rtl.valid("written"));
  const auto request = rtl.value<DmaRequest>("dma");
  EXPECT_EQ(request.address, BusAddress{0x8000});
  EXPECT_EQ(request.bytes, params_.cqe_generator.cqe_bytes);
  EXPECT_EQ(request.cookie, 3u);
  rtl.tick();
  EXPECT_FALSE(rtl.valid("dma"));
  EXPECT_EQ(rtl.failure(), "");
}

TEST_P(CqeGeneratorCosim, CompletionsOccupyItAtThePins) {  // R2
  Pins rtl(params_);
  EXPECT_EQ(rtl.give("in", Pins::packet()), 0u);
  EXPECT_EQ(rtl.give("in", Pins::packet()), params_.cqe_generator.cycles_per_cqe - 1);
  CompletionRequest none = Pins::packet();
  none.completes = false;
  EXPECT_EQ(rtl.give("in", none), params_.cqe_generator.cycles_per_cqe - 1);
  EXPECT_EQ(rtl.give("in", none), 0u);
  EXPECT_EQ(rtl.failure(), "");
}

TEST_P(CqeGeneratorCosim, AnEventFollowsTheLandingAtThePins) {  // R4
  Pins rtl(params_);
  rtl.give("in", Pins::packet());
  for (int n = 0; n < 50; ++n) {
    EXPECT_FALSE(rtl.valid("events")) << "it has not landed";
    rtl.tick();
  }
  std::uint32_t since = 1;  // the landing: in the cycle before
  rtl.offer("dma_done", DmaCompletion{});
  if (!rtl.valid("events")) {
    rtl.tick();
    rtl.withdraw("dma_done");
    since += 1 + rtl.wait_for("events");
  }
  EXPECT_EQ(since, params_.cqe_generator.event_latency_cycles);
  EXPECT_EQ(rtl.value<Event>("events").number, 3u);
}

TEST_P(CqeGeneratorCosim, AModeratedEventFollowsItsPeriodAtThePins) {  // R4, R14
  const CqeGeneratorParams& p = params_.cqe_generator;
  constexpr std::uint16_t kPeriod = 3;
  const std::uint64_t period =
      (kPeriod * p.moderation_unit_ps + params_.nic.clock_period_ps - 1) / params_.nic.clock_period_ps;
  Pins rtl(params_, false, 2, kPeriod);
  const std::uint64_t since = rtl.complete();
  const std::uint64_t latency = period + p.latency_cycles + p.event_latency_cycles;
  ASSERT_GT(latency, since);
  EXPECT_EQ(since + rtl.wait_for("events", 10'000), latency);
  EXPECT_EQ(rtl.value<Event>("events").number, 3u);
  EXPECT_EQ(rtl.failure(), "");
}

TEST_P(CqeGeneratorCosim, AnEventFollowsItsArmingAtThePins) {  // R4, when all CQEs have landed
  Pins rtl(params_);
  rtl.complete();
  rtl.wait_for("events");
  rtl.tick();
  rtl.complete();
  for (int n = 0; n < 100; ++n) {
    EXPECT_FALSE(rtl.valid("events")) << "it is not armed";
    rtl.tick();
  }
  EXPECT_EQ(rtl.give("doorbells", Doorbell{DoorbellKind::kCqArm, false, 3, 1}), 0u);
  EXPECT_EQ(1 + rtl.wait_for("events"),
            params_.cqe_generator.latency_cycles + params_.cqe_generator.event_latency_cycles);
  EXPECT_EQ(rtl.failure(), "");
}

TEST_P(CqeGeneratorCosim, ALoneCompletionIsWrittenAtOnceAtThePins) {  // R5
  Pins rtl(params_, true);
  EXPECT_EQ(rtl.give("in", Pins::packet()), 0u);
  EXPECT_EQ(rtl.wait_for("dma"), params_.cqe_generator.latency_cycles - 1);
  EXPECT_EQ(rtl.value<DmaRequest>("dma").bytes, params_.cqe_generator.cqe_bytes);
  EXPECT_EQ(rtl.failure(), "");
}

TEST_P(CqeGeneratorCosim, ASessionEndsWithTheBackPressureAtThePins) {  // R5
  const CqeGeneratorParams& p = params_.cqe_generator;
  if (!p.compression) return;
  Pins rtl(params_, true);
  rtl.give("in", Pins::packet(true));
  rtl.give("in", Pins::packet(true));
  CompletionRequest last = Pins::packet();
  last.completes = false;
  rtl.give("in", last);
  EXPECT_EQ(rtl.wait_for("dma"), p.latency_cycles) << "a cycle behind the packet";
  EXPECT_EQ(rtl.value<DmaRequest>("dma").cqes, 2u);
  EXPECT_EQ(rtl.failure(), "");
}

TEST_P(CqeGeneratorCosim, CompletionsGatherWhileAWriteFindsNoRoomAtThePins) {  // R5
  const CqeGeneratorParams& p = params_.cqe_generator;
  if (!p.compression || p.latency_cycles < 3) return;  // so many packets do not wait for the write
  Pins rtl(params_, true);
  rtl.set_room("dma", false);
  rtl.give("in", Pins::packet());
  EXPECT_EQ(rtl.wait_for("dma"), p.latency_cycles - 1);
  rtl.give("in", Pins::packet());
  rtl.give("in", Pins::packet());
  EXPECT_EQ(rtl.value<DmaRequest>("dma").cqes, 1u);
  rtl.set_room("dma", true);  // it leaves in this cycle, and the session ends
  rtl.tick();
  EXPECT_EQ(rtl.wait_for("dma"), p.latency_cycles - 1);
  EXPECT_EQ(rtl.value<DmaRequest>("dma").cqes, 2u);
  EXPECT_EQ(rtl.failure(), "");
}

TEST_P(CqeGeneratorCosim, ASessionEndsAfterItsTimeoutAtThePins) {  // R5
  const CqeGeneratorParams& p = params_.cqe_generator;
  Pins rtl(params_, true);
  rtl.give("in", Pins::packet(true));
  if (!p.compression) {  // although the CQ asks for it
    EXPECT_EQ(rtl.wait_for("dma"), p.latency_cycles - 1);
    EXPECT_EQ(rtl.value<DmaRequest>("dma").cqes, 1u);
    return;
  }
  EXPECT_EQ(rtl.give("in", Pins::packet(true)), p.cycles_per_cqe - 1);
  EXPECT_EQ(rtl.wait_for("dma"), p.compression_timeout_cycles + p.latency_cycles - 1);
  EXPECT_EQ(rtl.value<DmaRequest>("dma").cqes, 2u);
}

INSTANTIATE_TEST_SUITE_P(Configurations, CqeGeneratorCosim, testing::ValuesIn(cqe_generator_scene::configurations()),
                         [](const testing::TestParamInfo<Configuration>& of) { return of.param.name; });

}  // namespace
}  // namespace rxnic::cqe_generator_cosim_test
