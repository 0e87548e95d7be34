// SPDX-License-Identifier: Apache-2.0
// Timed tests of a block: its environment (bench.h), and what compares the engine's modes and step orders.
//
//   TEST(GrhScatter, AllModesAgree) {
//     expect_equal_in_all_modes([](Bench& bench) { ...build...; bench.run(); return bench.state_hash(); });
//   }
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "testbench/unit/model/engine/bench.h"

namespace rxnic {

// Runs scenario(Bench&), which builds, runs and returns a digest, in the three modes and expects equal digests.
template <class Scenario>
void expect_equal_in_all_modes(Scenario scenario, std::uint32_t clock_period_ps = 1000) {
  const auto digest = [&](EngineMode mode) -> std::uint64_t {
    Bench bench(mode, clock_period_ps);
    return scenario(bench);
  };
  const std::uint64_t fast = digest(EngineMode::kFast);
  EXPECT_EQ(digest(EngineMode::kStepAll), fast) << "step-all differs from fast";
  EXPECT_EQ(digest(EngineMode::kPerCycle), fast) << "per-cycle differs from fast";
}

// The scenario is equal in all modes with each of several step orders.
template <class Scenario>
void expect_equal_in_all_orders(Scenario scenario, std::uint32_t clock_period_ps = 1000) {
  const auto digest = [&](EngineMode mode, StepOrder order) -> std::uint64_t {
    Bench bench(mode, clock_period_ps, order);
    return scenario(bench);
  };
  using Kind = StepOrder::Kind;
  const std::uint64_t path = digest(EngineMode::kFast, {});
  for (const StepOrder order : {StepOrder{}, {Kind::kReverse, 0}, {Kind::kRandom, 1}, {Kind::kRandom, 2}}) {
    for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll, EngineMode::kPerCycle}) {
      EXPECT_EQ(digest(mode, order), path)
          << "order " << static_cast<int>(order.kind) << " seed " << order.seed << " mode " << static_cast<int>(mode);
    }
  }
}

// Seed of a random test: RXNIC_SEED or `fallback`; printed, so that a failure can be repeated.
std::uint64_t test_seed(std::uint64_t fallback);

}  // namespace rxnic
