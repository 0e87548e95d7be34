// SPDX-License-Identifier: Apache-2.0
#include "model/engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "testbench/unit/model/engine/engine_fixture.h"

namespace rxnic::engine_test {
namespace {

void wait_ps(std::uint64_t ps) { sc_core::wait(sc_core::sc_time(static_cast<double>(ps), sc_core::SC_PS)); }

TEST(Engine, SkipsCyclesInWhichNothingIsDue) {  // (R2)
  Bench bench;
  auto& probe = bench.add<Probe>("probe");
  probe.next = [](Cycle now) { return now.count < 5000 ? now + 1000 : kNever; };
  bench.run();
  std::vector<Cycle> expected;
  for (std::uint64_t c = 0; c <= 5000; c += 1000) expected.push_back(Cycle{c});
  EXPECT_EQ(probe.steps, expected);
  EXPECT_EQ(bench.engine().now(), Cycle{5000});
  EXPECT_EQ(bench.engine().steps(), 6u + 1) << "and one step of the script";
}

TEST(Engine, AnyNumberOfBlocksIsSteppedWhenEachIsDue) {  // (R1, R2)
  for (const std::uint64_t blocks : {1, 63, 64, 100, 129, 200, 255, 300}) {
    Bench bench;
    std::vector<Probe*> probes;
    const auto next = [](std::uint64_t block, Cycle now) {
      const Cycle due = now + (1 + (7 * block + now.count) % 100);
      return due.count < 500 && block % 3 != 0 ? due : kNever;
    };
    for (std::uint64_t b = 0; b < blocks; ++b) {
      probes.push_back(&bench.add<Probe>(("probe" + std::to_string(b)).c_str()));
      probes[b]->next = [b, next](Cycle now) { return next(b, now); };
    }
    bench.run();
    for (std::uint64_t b = 0; b < blocks; ++b) {
      std::vector<Cycle> expected;
      for (Cycle c{}; c != kNever; c = next(b, c)) expected.push_back(c);
      ASSERT_EQ(probes[b]->steps, expected) << "block " << b << " of " << blocks;
    }
  }
}

TEST(Engine, StepAllStepsEveryBlockInEveryCycle) {  // (R4)
  Bench bench(EngineMode::kStepAll);
  auto& idle = bench.add<Probe>("idle");
  auto& probe = bench.add<Probe>("probe");
  probe.next = [](Cycle now) { return now.count < 100 ? Cycle{100} : kNever; };
  bench.run();
  EXPECT_EQ(idle.steps.size(), 101u);
  EXPECT_EQ(probe.steps.size(), 101u);
  EXPECT_EQ(bench.engine().steps(), 3u * 101);
}

TEST(Engine, OneActivationRunsAhead) {  // (R3)
  Bench bench;
  auto& probe = bench.add<Probe>("probe");
  probe.next = [](Cycle now) { return now.count < 1000 ? now + 1 : kNever; };
  bench.run();
  ASSERT_EQ(probe.steps.size(), 1001u);
  for (const auto& t : probe.times) EXPECT_EQ(t, sc_core::SC_ZERO_TIME);
}

// A probe that was stepped in 36 cycles by an engine with this quantum, in the kernel of the bench.
const Probe& stepped_with(Bench& bench, std::uint64_t quantum) {
  EngineParams params;
  params.quantum_cycles = quantum;
  auto& engine = bench.keep<Engine>("second", params);
  auto& probe = bench.keep<Probe>("probe");
  engine.add(probe);
  probe.next = [](Cycle now) { return now.count < 35 ? now + 1 : kNever; };
  bench.run();
  EXPECT_EQ(probe.steps.size(), 36u);
  return probe;
}

TEST(Engine, AnActivationEndsWithTheQuantum) {  // (R3)
  Bench bench;
  const Probe& probe = stepped_with(bench, 10);
  for (std::size_t i = 0; i < probe.steps.size(); ++i) {
    EXPECT_EQ(probe.times[i].value() / kPeriodPs, probe.steps[i].count / 10 * 10) << i;
  }
}

TEST(Engine, AQuantumOfZeroIsACycle) {  // (R3)
  for (const std::uint64_t quantum : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    Bench bench;
    const Probe& probe = stepped_with(bench, quantum);
    for (std::size_t i = 0; i < probe.steps.size(); ++i) {
      EXPECT_EQ(probe.times[i].value() / kPeriodPs, quantum <= 1 ? probe.steps[i].count : 0) << i;
    }
  }
}

TEST(Engine, AQuantumThatChangesActsOnTheNextActivation) {  // (R3)
  Bench bench;
  auto& probe = bench.add<Probe>("probe");
  std::uint64_t quantum = 10, asked = 0;
  bench.engine().set_quantum([&] { return ++asked, quantum; });
  probe.next = [&](Cycle now) {
    if (now.count == 25) quantum = 3;
    if (now.count == 34) quantum = 0;
    if (now.count == 38) quantum = ~std::uint64_t{0};
    return now.count < 60 ? now + 1 : kNever;
  };
  bench.run();
  ASSERT_EQ(probe.steps.size(), 61u);
  for (std::uint64_t c = 0; c <= 60; ++c) {
    const std::uint64_t begun = c < 30 ? c / 10 * 10 : c < 36 ? c / 3 * 3 : std::min<std::uint64_t>(c, 39);
    EXPECT_EQ(probe.times[c].value() / kPeriodPs, begun) << c;
  }
  EXPECT_EQ(asked, 3u + 2 + 3 + 1) << "once an activation";
}

TEST(Engine, NoQuantumChangesAResult) {  // (R3)
  const auto hash = [](std::uint64_t quantum) {
    Bench bench;
    bench.engine().set_quantum([quantum] { return quantum; });
    return relay_chain(bench, 7);
  };
  const std::uint64_t expected = hash(1u << 20);
  for (const std::uint64_t quantum : {0, 1, 2, 7, 100}) EXPECT_EQ(hash(quantum), expected) << quantum;
}

TEST(Engine, PerCycleGivesEachActiveCycleItsOwnTime) {  // (R4)
  Bench bench(EngineMode::kPerCycle);
  auto& probe = bench.add<Probe>("probe");
  probe.next = [](Cycle now) { return now.count < 100 ? now + 7 : kNever; };
  std::vector<Cycle> sampled;
  bench.engine().add_probe([&](Cycle now) {
    sampled.push_back(now);
    EXPECT_EQ(sc_core::sc_time_stamp(), bench.engine().time_of(now));
    EXPECT_EQ(probe.steps.back(), now) << "sampled after the cycle";
  });
  bench.run();
  EXPECT_EQ(sampled, probe.steps);
  EXPECT_EQ(sampled.size(), 16u);
}

TEST(Engine, ProbesBelongToPerCycleMode) {  // (R4)
  for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll}) {
    Bench bench(mode);
    bool sampled = false;
    bench.engine().add_probe([&](Cycle) { sampled = true; });
    bench.run();
    EXPECT_FALSE(sampled);
  }
}

TEST(Engine, TheThreeModesAgree) {  // (R4)
  const std::uint64_t seed = test_seed(5);
  for (std::uint64_t round = 0; round < 30; ++round) {
    expect_equal_in_all_modes([&](Bench& bench) { return relay_chain(bench, seed + round); });
  }
}

TEST(Engine, EveryCycleOfEveryBlockHasOneActivity) {
  for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
    Bench bench(mode);
    auto& source = bench.add<Source<int>>("source");
    auto& relay = bench.add<Relay>("relay", 1);
    bench.connect(source.out, relay.in);
    bench.sink(relay.out, 1).stall(Cycle{0}, Cycle{300});
    for (int i = 0; i < 20; ++i) source.push(Cycle{10}, i);
    bench.run();
    bench.engine().settle();
    const std::uint64_t cycles = bench.engine().now().count + 1;
    for (const Block* block : bench.engine().blocks()) {
      const CycleAccount& a = block->account();
      EXPECT_EQ(std::accumulate(a.begin(), a.end(), std::uint64_t{0}), cycles) << block->name();
    }
    const CycleAccount& a = relay.account();
    EXPECT_GT(a[static_cast<std::size_t>(Activity::kStarved)], 10u);
    EXPECT_GT(a[static_cast<std::size_t>(Activity::kBlocked)], 200u);
  }
}

TEST(Engine, AnActivityLastsFromItsStepToTheNext) {
  Bench bench;
  auto& probe = bench.add<Probe>("probe");  // starved until its first step, then busy
  probe.next = [](Cycle now) { return now.count < 40 ? Cycle{40} : kNever; };
  bench.run();
  bench.engine().settle();
  EXPECT_EQ(probe.account()[static_cast<std::size_t>(Activity::kBusy)], 41u);
  bench.engine().settle();
  EXPECT_EQ(probe.account()[static_cast<std::size_t>(Activity::kBusy)], 41u) << "settling twice changes nothing";
}

// (R3) (R6) A thread pushes in the middle of a cycle, whether or not the engine has blocks to step.
TEST(Engine, APushFromOutsideIsSeenInTheNextCycle) {
  for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
    for (const bool busy : {false, true}) {
      Bench bench(mode, kPeriodPs);
      if (busy) bench.add<Probe>("busy").next = [](Cycle now) { return now.count < 5000 ? now + 1 : kNever; };
      auto& link = bench.link<int>();
      auto& sink = bench.add<Sink<int>>("sink");
      sink.in.bind(link);
      bench.keep<Outsider>("outsider", [&] {
        for (const std::uint64_t ps : {500u, 1000u, 99000u, 1900000u}) {  // 0.5, 1.5, 100.5, 2000.5 cycles
          wait_ps(ps);
          link.push(bench.engine().outside_now(), 1);
        }
      });
      bench.run();
      ASSERT_EQ(sink.size(), 4u);
      EXPECT_EQ(sink.cycle(0), Cycle{0});  // popped one later
      EXPECT_EQ(sink.cycle(1), Cycle{1});
      EXPECT_EQ(sink.cycle(2), Cycle{100});
      EXPECT_EQ(sink.cycle(3), Cycle{2000});
    }
  }
}

TEST(Engine, ModesAgreeOnWhatComesFromOutside) {  // (R6)
  expect_equal_in_all_modes([](Bench& bench) {
    auto& link = bench.link<int>();
    auto& relay = bench.add<Relay>("relay", 3);
    relay.in.bind(link);
    bench.sink(relay.out);
    bench.keep<Outsider>("outsider", [&bench, &link] {
      std::mt19937_64 random(9);
      wait_ps(500);
      for (int i = 0; i < 200; ++i) {
        const Cycle now = bench.engine().outside_now();
        if (link.can_push(now)) link.push(now, i);
        wait_ps((1 + random() % 30) * kPeriodPs);
      }
    });
    bench.run();
    return bench.state_hash();
  });
}

TEST(Engine, APushOnAClockEdgeIsNotLost) {  // (R6) the cycle of the push is not defined
  for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
    Bench bench(mode, kPeriodPs);
    bench.add<Probe>("busy").next = [](Cycle now) { return now.count < 500 ? now + 3 : kNever; };
    auto& link = bench.link<int>(2);
    auto& sink = bench.add<Sink<int>>("sink");
    sink.in.bind(link);
    bench.keep<Outsider>("outsider", [&] {
      for (int i = 0; i < 300; ++i) {
        wait_ps(7 * kPeriodPs);
        link.push(bench.engine().outside_now(), i);
      }
    });
    bench.run();
    EXPECT_EQ(sink.size(), 300u);
  }
}

TEST(Engine, DoesNotRunAheadOfAProcessThatHasNotRunYet) {  // (R3) the process may wait for anything
  Bench bench;
  bench.add<Probe>("busy").next = [](Cycle now) { return now.count < 100 ? now + 1 : kNever; };
  bench.keep<Outsider>("outsider", [&] {
    wait_ps(10 * kPeriodPs + kPeriodPs / 2);
    EXPECT_EQ(bench.engine().now(), Cycle{10});
  });
  sc_core::sc_start();  // nothing else is pending, not even an end
  EXPECT_EQ(bench.engine().now(), Cycle{100});
}

// Wakes a block at time zero, before the engine has run.
class EarlyWaker final : public sc_core::sc_module {
 public:
  EarlyWaker(const sc_core::sc_module_name& name, Block& block) : sc_module(name), block_(block) {
    SC_HAS_PROCESS(EarlyWaker);
    SC_METHOD(run);
  }

 private:
  void run() { block_.wake(); }
  Block& block_;
};

TEST(Engine, AnOldNotificationDoesNotRunACycleBeforeItsTime) {  // (R3)
  Bench bench;                                                  // for its kernel
  auto& sink = bench.keep<Sink<int>>("late_sink");
  bench.keep<EarlyWaker>("waker", sink);
  auto& engine = bench.keep<Engine>("second", EngineParams{});
  auto& busy = bench.keep<Probe>("busy");
  busy.next = [](Cycle now) { return now.count < 100 ? now + 1 : kNever; };
  engine.add(busy);
  engine.add(sink);
  auto& link = bench.keep<Link<int>>("late_link", 2u);
  sink.in.bind(link);
  bench.keep<Outsider>("outsider", [&] {
    wait_ps(kPeriodPs / 2);
    EXPECT_EQ(engine.now(), Cycle{0});
    link.push(engine.outside_now(), 1);
  });
  bench.run();
  ASSERT_EQ(sink.size(), 1u);
  EXPECT_EQ(sink.cycle(0), Cycle{0});
}

TEST(Engine, StartsAgainWhenItIsWokenAfterNothingWasDue) {  // (R5)
  for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
    Bench bench(mode, kPeriodPs);
    auto& link = bench.link<int>();
    auto& sink = bench.add<Sink<int>>("sink");
    sink.in.bind(link);
    bench.run_to(Cycle{100});
    EXPECT_LT(bench.engine().now(), Cycle{100}) << "nothing was due";
    link.push(bench.engine().outside_now(), 1);  // between two runs
    bench.run_to(Cycle{200});
    ASSERT_EQ(sink.size(), 1u);
    EXPECT_EQ(sink.cycle(0), Cycle{100});
    bench.run_to(Cycle{300});
    EXPECT_EQ(sink.size(), 1u);
  }
}

TEST(Engine, ABlockWakesAProcessInTheMiddleOfItsCycle) {  // (R6)
  for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
    Bench bench(mode, kPeriodPs);
    auto& event = bench.keep<sc_core::sc_event>("event");
    auto& link = bench.link<int>();
    bench.add<Probe>("probe").next = [&](Cycle now) {
      if (now.count == 50) bench.engine().notify(event);
      return now.count < 500 ? now + 1 : kNever;
    };
    auto& sink = bench.add<Sink<int>>("sink");
    sink.in.bind(link);
    bench.keep<Outsider>("outsider", [&] {
      sc_core::wait(event);
      EXPECT_EQ(sc_core::sc_time_stamp().value(), 50 * kPeriodPs + kPeriodPs / 2);
      EXPECT_EQ(bench.engine().now(), Cycle{50});
      EXPECT_EQ(bench.engine().outside_now(), Cycle{50});
      wait_ps(3 * kPeriodPs);
      EXPECT_EQ(bench.engine().now(), Cycle{53});
      link.push(bench.engine().outside_now(), 1);
    });
    bench.run();
    ASSERT_EQ(sink.size(), 1u);
    EXPECT_EQ(sink.cycle(0), Cycle{53});
  }
}

TEST(Engine, StopEndsTheRunAfterTheCycle) {
  Bench bench;
  auto& probe = bench.add<Probe>("probe");
  probe.next = [&](Cycle now) {
    if (now.count == 30) bench.engine().stop();
    return now + 1;
  };
  bench.run_to(Cycle{1000});
  EXPECT_EQ(probe.steps.back(), Cycle{30});
}

TEST(Engine, TheDigestDistinguishesStates) {
  const auto digest = [](int packets) {
    Bench bench;
    auto& source = bench.add<Source<int>>("source");
    bench.sink(source.out);
    for (int i = 0; i < packets; ++i) source.push(Cycle{10}, i);
    bench.run();
    return bench.state_hash();
  };
  EXPECT_EQ(digest(3), digest(3));
  EXPECT_NE(digest(3), digest(4));
}

TEST(Engine, TimeIsCyclesOfTheClockPeriod) {
  Bench bench(EngineMode::kFast, 2326);
  EXPECT_EQ(bench.engine().time_of(Cycle{1'000'000'007}).value(), std::uint64_t{2326} * 1'000'000'007u);
}

}  // namespace
}  // namespace rxnic::engine_test
