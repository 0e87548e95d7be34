// SPDX-License-Identifier: Apache-2.0
// The order in which the engine steps the blocks within a cycle, and the block that is stepped after all others.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "model/types/splitmix.h"
#include "testbench/unit/model/engine/engine_fixture.h"

namespace rxnic::engine_order_test {
namespace {

constexpr StepOrder kReverse{StepOrder::Kind::kReverse, 0};
constexpr StepOrder random_order(std::uint64_t seed) { return {StepOrder::Kind::kRandom, seed}; }

TEST(EngineOrder, StepsBlocksInTheOrderInWhichTheyWereAdded) {  // (R1)
  for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
    Bench bench(mode);
    std::vector<int> order;
    for (int i = 0; i < 70; ++i) {  // more than a word of the set of active blocks
      bench.add<Probe>(("p" + std::to_string(i)).c_str()).next = [&order, i](Cycle now) {
        order.push_back(i);
        return now.count < 3 ? now + 1 : kNever;
      };
    }
    bench.run();
    ASSERT_EQ(order.size(), 4u * 70);
    for (std::size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], static_cast<int>(i % 70));
  }
}

// Timers of less and of more than kArrivalSlots cycles, which steps by others' wakes cancel.
TEST(EngineOrder, AStepEndsTheTimerThatTheBlockHadSet) {  // (R1, R2)
  const std::uint64_t seed = test_seed(5);
  const auto drawn = [seed](std::uint64_t block, Cycle now, std::uint64_t what) {
    return splitmix64(seed ^ splitmix64(block ^ splitmix64(now.count ^ what << 32)));
  };
  const auto next = [&](std::uint64_t block, Cycle now) {
    const std::uint64_t number = drawn(block, now, 1);
    return number % 8 == 0 ? kNever : now + 1 + (number % 2 == 0 ? number / 8 % 200 : number / 8 % 20);
  };
  constexpr std::uint64_t kLast = 3000;
  for (const std::uint64_t blocks : {1, 5, 70, 250, 300}) {
    const auto woken = [&](std::uint64_t block, Cycle now) { return drawn(block, now, 2) % (3 * blocks); };
    Bench bench;
    std::vector<Probe*> probes;
    for (std::uint64_t b = 0; b < blocks; ++b) probes.push_back(&bench.add<Probe>(("p" + std::to_string(b)).c_str()));
    for (std::uint64_t b = 0; b < blocks; ++b) {
      probes[b]->next = [&, b](Cycle now) {
        if (now.count >= kLast) return kNever;
        if (const std::uint64_t other = woken(b, now); other < blocks) probes[other]->wake();
        return next(b, now);
      };
    }
    bench.run();
    // What is expected: each block is stepped when it was woken in the cycle before, or when its last step has said.
    std::vector<std::vector<Cycle>> steps(blocks);
    std::vector<Cycle> due(blocks);
    std::uint64_t cancelled = 0;
    for (Cycle now{}; now.count < kLast + 300; now += 1) {
      std::vector<bool> wakes(blocks);
      for (std::uint64_t b = 0; b < blocks; ++b) {
        if (due[b] != now) continue;
        steps[b].push_back(now);
        due[b] = kNever;
        if (now.count >= kLast) continue;
        if (const std::uint64_t other = woken(b, now); other < blocks) wakes[other] = true;
        due[b] = next(b, now);
      }
      for (std::uint64_t b = 0; b < blocks; ++b) {
        cancelled += wakes[b] && due[b] != kNever && due[b] > now + 1;
        if (wakes[b]) due[b] = now + 1;
      }
    }
    for (std::uint64_t b = 0; b < blocks; ++b)
      ASSERT_EQ(probes[b]->steps, steps[b]) << "block " << b << " of " << blocks;
    EXPECT_GT(cancelled, 0u) << "or the test says little";
  }
}

// Each of `blocks` blocks is due in the cycles 0 to `last`; the block's number by step.
std::vector<int> steps_in_order(EngineMode mode, StepOrder order, int blocks, std::uint64_t last) {
  Bench bench(mode, kPeriodPs, order);
  std::vector<int> steps;
  for (int i = 0; i < blocks; ++i) {
    bench.add<Probe>(("p" + std::to_string(i)).c_str()).next = [&steps, i, last](Cycle now) {
      steps.push_back(i);
      return now.count < last ? now + 1 : kNever;
    };
  }
  bench.run();
  return steps;
}

TEST(EngineOrder, StepsBlocksInReverse) {  // (R1)
  for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
    const std::vector<int> steps = steps_in_order(mode, kReverse, 70, 3);
    ASSERT_EQ(steps.size(), 4u * 70);
    for (std::size_t i = 0; i < steps.size(); ++i) ASSERT_EQ(steps[i], 69 - static_cast<int>(i % 70));
  }
}

TEST(EngineOrder, StepsBlocksInAFreshRandomOrderInEveryCycle) {  // (R1)
  const std::vector<int> steps = steps_in_order(EngineMode::kFast, random_order(1), 70, 3);
  ASSERT_EQ(steps.size(), 4u * 70);
  std::vector<std::vector<int>> cycles;
  for (int c = 0; c < 4; ++c) cycles.emplace_back(steps.begin() + c * 70, steps.begin() + (c + 1) * 70);
  for (std::size_t c = 0; c < 4; ++c) {
    std::vector<int> sorted = cycles[c];
    std::sort(sorted.begin(), sorted.end());
    for (int i = 0; i < 70; ++i) ASSERT_EQ(sorted[static_cast<std::size_t>(i)], i) << "each block once";
    EXPECT_NE(cycles[c], sorted);
    for (std::size_t d = 0; d < c; ++d) EXPECT_NE(cycles[c], cycles[d]);
  }
  EXPECT_EQ(steps_in_order(EngineMode::kFast, random_order(1), 70, 3), steps);
  EXPECT_EQ(steps_in_order(EngineMode::kStepAll, random_order(1), 70, 3), steps);
  EXPECT_NE(steps_in_order(EngineMode::kFast, random_order(2), 70, 3), steps);
}

TEST(EngineOrder, WhoElseIsDueDoesNotChangeTheOrderOfTwoBlocks) {  // (R1, step_order.h R2)
  const auto steps_of_two = [](bool with_others) {
    Bench bench(EngineMode::kFast, kPeriodPs, random_order(3));
    std::vector<int> steps;
    for (int i = 0; i < 20; ++i) {
      bench.add<Probe>(("p" + std::to_string(i)).c_str()).next = [&steps, i, with_others](Cycle now) {
        if (i == 4 || i == 11) steps.push_back(i);
        return now.count < 50 && (with_others || i == 4 || i == 11) ? now + 1 : kNever;
      };
    }
    bench.run();
    return steps;
  };
  EXPECT_EQ(steps_of_two(true), steps_of_two(false));
}

TEST(EngineOrder, EveryPairOfBlocksIsSteppedBothWaysAboutEquallyOften) {  // (R1)
  constexpr int kBlocks = 12;
  constexpr std::uint64_t kCycles = 2000;
  const std::vector<int> steps = steps_in_order(EngineMode::kFast, random_order(0), kBlocks, kCycles - 1);
  ASSERT_EQ(steps.size(), kBlocks * kCycles);
  std::array<std::array<std::uint64_t, kBlocks>, kBlocks> before{};
  for (std::uint64_t c = 0; c < kCycles; ++c) {
    for (std::size_t i = 0; i < kBlocks; ++i) {
      for (std::size_t j = i + 1; j < kBlocks; ++j) {
        ++before[static_cast<std::size_t>(steps[c * kBlocks + i])][static_cast<std::size_t>(steps[c * kBlocks + j])];
      }
    }
  }
  for (std::size_t i = 0; i < kBlocks; ++i) {
    for (std::size_t j = 0; j < kBlocks; ++j) {
      if (i == j) continue;
      EXPECT_NEAR(static_cast<double>(before[i][j]), kCycles / 2.0, kCycles / 10.0) << i << " " << j;
    }
  }
}

TEST(EngineOrder, TheBlockOutsideIsSteppedAfterAllOthersInEveryOrder) {  // (R7)
  for (const StepOrder order : {StepOrder{}, kReverse, random_order(1), random_order(2)}) {
    for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
      Bench bench(mode, kPeriodPs, order);
      std::uint64_t done = 0;         // steps of the others
      for (int i = 0; i < 64; ++i) {  // the script, which is outside, has a word of its own
        bench.add<Probe>(("p" + std::to_string(i)).c_str()).next = [&done](Cycle now) {
          ++done;
          return now.count < 20 ? now + 1 : kNever;
        };
      }
      std::vector<std::uint64_t> seen;
      for (std::uint64_t c = 0; c < 20; ++c) bench.at(Cycle{c}, [&](Cycle) { seen.push_back(done); });
      bench.run();
      ASSERT_EQ(seen.size(), 20u);
      for (std::size_t c = 0; c < seen.size(); ++c) EXPECT_EQ(seen[c], 64 * (c + 1));
    }
  }
}

// Communicates without a link: a block that is stepped later sees the change of `shared` in the same cycle.
class Gossip final : public Block {
 public:
  Gossip(const sc_core::sc_module_name& name, std::uint64_t& shared) : Block(name), shared_(shared) {}
  void hash(StateHash& h) const override { h.mix(heard_); }
  Cycle step(Cycle now) override {
    heard_ = heard_ * 31 + shared_;
    if (now.count % 7 == 0) ++shared_;
    return rest(now, Activity::kBusy, now.count < 100 ? now + 1 : kNever);
  }

 private:
  std::uint64_t& shared_;
  std::uint64_t heard_ = 0;
};

TEST(EngineOrder, AWriteSeenByAnotherBlockInTheSameCycleShowsInTheStepOrders) {  // (R1)
  const auto digest = [](StepOrder order) {
    Bench bench(EngineMode::kFast, kPeriodPs, order);
    std::uint64_t shared = 0;
    bench.add<Gossip>("first", shared);
    bench.add<Gossip>("second", shared);
    bench.run();
    return bench.state_hash();
  };
  const std::uint64_t path = digest({});
  EXPECT_EQ(digest({}), path);
  EXPECT_NE(digest(kReverse), path);
  EXPECT_NE(digest(random_order(1)), path);
  EXPECT_NE(digest(random_order(2)), path);
}

TEST(EngineOrder, BlocksThatSpeakThroughLinksGiveOneResultInAllOrders) {  // (R1)
  const std::uint64_t seed = test_seed(11);
  for (std::uint64_t round = 0; round < 10; ++round) {
    expect_equal_in_all_orders([&](Bench& bench) { return relay_chain(bench, seed + round); });
  }
}

// A block whose activity changes in a cycle in which it need not be stepped.
class Announcer final : public Block {
 public:
  explicit Announcer(const sc_core::sc_module_name& name) : Block(name) {}
  Cycle step(Cycle now) override {
    if (now < Cycle{40}) return rest(now, Activity::kStarved, Cycle{40});
    if (now < Cycle{60}) return rest(now, Activity::kBusy, Cycle{60}, Activity::kStarved, kNever);
    return rest(now, Activity::kStarved, kNever);
  }
};

TEST(EngineOrder, ReportsToTheBlockOutsideWhenAnotherOneIsDue) {  // (R7)
  for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
    Bench bench(mode);
    for (int i = 0; i < 70; ++i) bench.add<Probe>(("idle" + std::to_string(i)).c_str());
    bench.add<Probe>("timer").next = [](Cycle now) { return now < Cycle{100} ? Cycle{100} : kNever; };
    bench.add<Announcer>("announcer");
    auto& relay = bench.add<Relay>("relay", 0);
    auto& source = bench.source(relay.in);
    bench.sink(relay.out);
    source.push(Cycle{20}, 5);
    std::vector<std::uint64_t> due;
    // The script is the outside block; its own next call does not count.
    for (const std::uint64_t c : {0, 10, 19, 20, 50, 60, 99, 100, 200}) {
      bench.at(Cycle{c}, [&](Cycle) { due.push_back(bench.engine().next_due().count); });
    }
    bench.run();
    const std::uint64_t never = kNever.count;
    EXPECT_EQ(due, (std::vector<std::uint64_t>{20, 20, 20, 21, 60, 100, 100, never, never}));
  }
}

TEST(EngineOrder, NextDueIsTheSameInAllModesAndOrdersUnderTraffic) {  // (R7)
  expect_equal_in_all_orders([](Bench& bench) -> std::uint64_t {
    std::mt19937_64 random(7);
    auto& first = bench.add<Relay>("first", 1);
    auto& second = bench.add<Relay>("second", 2);
    auto& source = bench.source(first.in, 2);
    bench.connect(first.out, second.in, 2);
    auto& sink = bench.sink(second.out, 2);
    sink.accept_when([](Cycle now) { return now.count % 64 < 40; });
    Cycle when{};
    for (int i = 0; i < 300; ++i) source.push(when += random() % 40, i);
    StateHash answers;
    for (std::uint64_t c = 0; c < 8000; c += 1 + random() % 30) {
      bench.at(Cycle{c}, [&](Cycle) { answers.mix(bench.engine().next_due().count); });
    }
    bench.run();
    return answers.value();
  });
}

}  // namespace
}  // namespace rxnic::engine_order_test
