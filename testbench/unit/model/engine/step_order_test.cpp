// SPDX-License-Identifier: Apache-2.0
// Any order of stepping gives the same result: random traffic and captures in path order, reversed and in random
// orders, fast and step-all. A run in the tests is short; a long one takes its sizes from the environment:
//   RXNIC_ORDER_SEEDS=20 RXNIC_ORDER_PACKETS=50000 RXNIC_ORDER_DRAWS=5 unit_sc_tests --gtest_filter='*StepOrder*'
// SEEDS: of the traffic; PACKETS: of each seed; DRAWS: random orders.
#include "model/engine/step_order.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "bridge/rxnic/capture/replay.h"
#include "bridge/rxnic/report/report.h"
#include "testbench/unit/bridge/rxnic/capture/captures.h"
#include "testbench/unit/model/system/random_traffic.h"

namespace rxnic::step_order_test {
namespace {

std::uint64_t size_of_run(const char* name, std::uint64_t in_the_tests) {
  const char* text = std::getenv(name);
  return text == nullptr ? in_the_tests : std::strtoull(text, nullptr, 0);
}
std::uint64_t seeds() { return size_of_run("RXNIC_ORDER_SEEDS", 2); }
std::uint64_t packets() { return size_of_run("RXNIC_ORDER_PACKETS", 3000); }

// All step orders but the default, which is path order.
std::vector<StepOrder> other_orders() {
  std::vector<StepOrder> orders{{StepOrder::Kind::kReverse, 0}};
  const std::uint64_t draws = size_of_run("RXNIC_ORDER_DRAWS", 1);
  for (std::uint64_t seed = 1; seed <= draws; ++seed) orders.push_back({StepOrder::Kind::kRandom, seed});
  return orders;
}

std::string text_of(EngineMode mode, StepOrder order) {
  const std::string name = order.kind == StepOrder::Kind::kPath      ? "path"
                           : order.kind == StepOrder::Kind::kReverse ? "reverse"
                                                                     : std::to_string(order.seed);
  return "--step-order " + name + (mode == EngineMode::kStepAll ? " --step-all" : "");
}

const std::vector<std::string> kConfigs = {"tiny", "nic_100g_gen3", "nic_400g_gen5"};

class StepOrderOfTraffic : public testing::TestWithParam<std::tuple<std::string, std::uint64_t>> {};

TEST_P(StepOrderOfTraffic, DoesNotChangeTheResult) {
  const auto& [config, seed] = GetParam();
  const TrafficOutcome path = run_random_traffic(seed, packets(), config, EngineMode::kFast);
  ASSERT_EQ(path.ledger.seen, packets());
  const auto expect_equal = [&](EngineMode mode, StepOrder order) {
    SCOPED_TRACE(text_of(mode, order));
    const TrafficOutcome other = run_random_traffic(seed, packets(), config, mode, order);
    EXPECT_EQ(other.cycles, path.cycles);
    EXPECT_EQ(other.memory, path.memory);
    EXPECT_EQ(other.hash, path.hash);
    EXPECT_TRUE(other.stages == path.stages) << "where the time of messages went";
    EXPECT_EQ(other.ledger.seen, path.ledger.seen);
    EXPECT_EQ(other.ledger.accepted, path.ledger.accepted);
    EXPECT_EQ(other.ledger.not_rdma, path.ledger.not_rdma);
    EXPECT_EQ(other.ledger.dropped, path.ledger.dropped);
  };
  for (const StepOrder order : other_orders()) expect_equal(EngineMode::kFast, order);
  expect_equal(EngineMode::kStepAll, {});
  for (const StepOrder order : other_orders()) expect_equal(EngineMode::kStepAll, order);
}

INSTANTIATE_TEST_SUITE_P(Traffic, StepOrderOfTraffic,
                         testing::Combine(testing::ValuesIn(kConfigs), testing::Range<std::uint64_t>(1, seeds() + 1)),
                         [](const auto& run) {
                           return std::get<0>(run.param) + "_seed_" + std::to_string(std::get<1>(run.param));
                         });

class StepOrderOfCapture : public testing::TestWithParam<std::tuple<CaptureSide, std::string>> {};

TEST_P(StepOrderOfCapture, DoesNotChangeTheReport) {
  const auto& [side, config] = GetParam();
  ReplayOptions o;
  o.trace = kCaptures + side.file;
  if (!std::filesystem::exists(o.trace)) GTEST_SKIP() << "no ../shared/captures/" << side.file;
  o.receiver = side.receiver;
  o.config = config;
  o.pace = {Pace::Kind::kLineRate, 0};  // stepping through every idle cycle of a capture would take minutes
  for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll}) {
    o.mode = mode;
    o.order = {};
    const std::string path = report_json(replay(o));
    EXPECT_GT(path.size(), 1000u);
    for (const StepOrder order : other_orders()) {
      SCOPED_TRACE(text_of(mode, order));
      o.order = order;
      EXPECT_EQ(report_json(replay(o)), path);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shared, StepOrderOfCapture,
                         testing::Combine(testing::ValuesIn(capture_sides()), testing::ValuesIn(kConfigs)),
                         [](const auto& run) {
                           return side_name(std::get<0>(run.param)) + "_" + std::get<1>(run.param);
                         });

}  // namespace
}  // namespace rxnic::step_order_test
