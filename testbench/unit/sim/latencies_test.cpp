// SPDX-License-Identifier: Apache-2.0
// Rules R1..R4 of testbench/sim/latencies.h on a whole NIC at a low rate: nothing waits for another packet.
#include "testbench/sim/latencies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "testbench/unit/sim/traffic_run.h"

namespace rxnic {
namespace {

constexpr std::uint64_t kPackets = 200;

NicResult run(const TrafficMix& mix, const std::vector<std::string>& overrides = {}) {
  TrafficConfig config;
  config.rc_qps = 8;
  config.mix = mix;
  const TrafficRun run(config, kPackets, overrides, {Pace::Kind::kRate, 0.05});
  NicResult r;
  run.latencies.collect(r);
  return r;
}

constexpr TrafficMix kSends{};
constexpr TrafficMix kWrites{.send = 0, .write = 1};
constexpr TrafficMix kReads{.send = 0, .read = 1};

// `of`: the latency that the mix has. It takes as much longer as the parameter is larger.
void expect_contains(const TrafficMix& mix, LatencyResult NicResult::*of, const std::string& parameter,
                     std::uint64_t fast_ns, std::uint64_t slow_ns) {
  const auto run_with = [&](std::uint64_t ns) { return run(mix, {parameter + "=" + std::to_string(ns * 1000)}); };
  const NicResult fast = run_with(fast_ns), slow = run_with(slow_ns);
  EXPECT_EQ((fast.*of).count, kPackets);
  EXPECT_EQ(fast.latency_ns.count + fast.write_ns.count + fast.read_ns.count, kPackets) << "each is of one kind";
  const auto longer = static_cast<double>(slow_ns - fast_ns);
  EXPECT_NEAR(static_cast<double>((slow.*of).p50 - (fast.*of).p50), longer, 0.01 * longer);
  EXPECT_EQ(slow.handed_over_ns.p50, fast.handed_over_ns.p50) << "the hand-over comes before";
}

TEST(Latencies, AReceiveEndsWhenItsCqeIsVisible) {  // R1
  expect_contains(kSends, &NicResult::latency_ns, "dma_engine.write_latency_ps", 250, 5000);
  const NicResult r = run(kSends, {"dma_engine.write_latency_ps=250000"});
  EXPECT_EQ(r.handed_over_ns.count, kPackets);
  EXPECT_GE(r.latency_ns.p50, r.handed_over_ns.p50 + 250);
}

TEST(Latencies, AWriteEndsWhenItsDataIsVisible) {  // R2
  expect_contains(kWrites, &NicResult::write_ns, "dma_engine.write_latency_ps", 250, 5000);
}

TEST(Latencies, AReadContainsThatOfItsData) {  // R3
  expect_contains(kReads, &NicResult::read_ns, "dma_engine.read_latency_ps", 300, 1300);
}

TEST(Latencies, TheStagesAreTheWholeTime) {  // R4
  for (const TrafficMix& mix : {kSends, kWrites}) {
    const NicResult r = run(mix);
    ASSERT_GE(r.stages.size(), 8u);
    EXPECT_EQ(r.stages.front().name, "wire");
    EXPECT_EQ(r.stages.back().name, "host_memory");
    const double sum = std::accumulate(r.stages.begin(), r.stages.end(), 0.0,
                                       [](double all, const StageResult& s) { return all + s.mean; });
    const LatencyResult& whole = mix.write != 0 ? r.write_ns : r.latency_ns;
    // At this rate all but the first few, whose contexts and translations are read, take the same time.
    EXPECT_GE(sum, static_cast<double>(whole.p50) - 5);
    EXPECT_LE(sum, static_cast<double>(whole.max) + 5);
  }
}

TEST(Latencies, AWaitAppearsInItsStage) {  // R4
  const auto mean_of = [](const NicResult& r, const std::string& stage) {
    for (const StageResult& s : r.stages) {
      if (s.name == stage) return s.mean;
    }
    ADD_FAILURE() << stage;
    return 0.0;
  };
  // Room for one QP context: most packets wait for theirs.
  const NicResult r = run(kSends, {"qp_context_cache.sets=1", "qp_context_cache.ways=1"});
  const NicResult quick = run(kSends);
  EXPECT_GT(mean_of(r, "qp_context_cache"), mean_of(quick, "qp_context_cache") + 200);
  EXPECT_NEAR(mean_of(r, "rx_parser"), mean_of(quick, "rx_parser"), 1);
  EXPECT_NEAR(mean_of(r, "grh_scatter"), mean_of(quick, "grh_scatter"), 1);
}

// A WRITE is visible while its packet still waits in the DMA engine for room in the blocks behind.
TEST(Latencies, NoStageEndsAfterTheDataIsVisible) {  // R4
  TrafficConfig config;
  config.rc_qps = 8;
  config.mix = {.send = 1, .write = 1};
  const TrafficRun run(config, kPackets, {"cqe_generator.cycles_per_cqe=64"});
  NicResult r;
  run.latencies.collect(r);
  ASSERT_FALSE(r.stages.empty());
  for (const StageResult& s : r.stages) EXPECT_LE(s.max, std::max(r.latency_ns.max, r.write_ns.max)) << s.name;
}

TEST(Latencies, NothingIsSaidOfWhatDidNotHappen) {
  Latencies none(2325);
  NicResult r;
  none.collect(r);
  EXPECT_EQ(r.latency_ns.count, 0u);
  EXPECT_TRUE(r.stages.empty());
}

}  // namespace
}  // namespace rxnic
