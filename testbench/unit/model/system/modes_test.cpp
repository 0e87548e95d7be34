// SPDX-License-Identifier: Apache-2.0
// The three engine modes give one result: random traffic of all opcodes and all error causes, 10^6 packets over 20
// seeds.
#include <gtest/gtest.h>

#include <iostream>

#include "testbench/unit/model/system/random_traffic.h"

namespace rxnic::modes_test {
namespace {

constexpr std::uint64_t kSeeds = 20;
constexpr std::uint64_t kPacketsPerSeed = 50'000;

class RandomTraffic : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomTraffic, GivesOneResultInAllModes) {
  const std::uint64_t seed = GetParam();
  std::cout << "seed " << seed << '\n';
  const auto run = [seed](EngineMode mode, bool decoded) {
    return run_random_traffic(seed, kPacketsPerSeed, seed % 2 == 0 ? "tiny" : "nic_100g_gen3", mode, {}, decoded);
  };
  const TrafficOutcome fast = run(EngineMode::kFast, false);
  const TrafficOutcome step_all = run(EngineMode::kStepAll, false);
  const TrafficOutcome per_cycle = run(EngineMode::kPerCycle, true);  // rx_parser.h, R11: the frames are decoded before
  EXPECT_EQ(fast.hash, step_all.hash);
  EXPECT_EQ(fast.hash, per_cycle.hash);
  EXPECT_EQ(fast.cycles, step_all.cycles);
  EXPECT_GE(fast.stages.size(), 3 * 8u);
  EXPECT_TRUE(fast.stages == step_all.stages) << "where the time of messages went";
  EXPECT_TRUE(fast.stages == per_cycle.stages);
  EXPECT_LT(fast.steps, step_all.steps / 2) << "the fast mode skips nothing";
  // How much was compared.
  EXPECT_EQ(fast.ledger.seen, kPacketsPerSeed);
  EXPECT_EQ(fast.ledger.seen, fast.ledger.accepted + fast.ledger.not_rdma + fast.ledger.dropped_total());
  EXPECT_GT(fast.ledger.accepted, kPacketsPerSeed / 2);
  for (std::size_t i = 1; i < kInjectedCauses; ++i) {
    if (static_cast<Injected>(i) == Injected::kFragment && seed % 4 >= 2) continue;  // IPv4 only
    EXPECT_GT(fast.injected[i], 0u) << injected_name(static_cast<Injected>(i));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTraffic, testing::Range<std::uint64_t>(1, kSeeds + 1));

}  // namespace
}  // namespace rxnic::modes_test
