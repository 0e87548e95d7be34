// SPDX-License-Identifier: Apache-2.0
// Rules R1..R4 of testbench/sim/latencies.h on a whole NIC at a low rate: nothing waits for another packet.
#include "testbench/sim/latencies.h"

#include <gtest/gtest.h>

#include <numeric>

#include "model/params/config.h"
#include "testbench/sim/host_setup.h"
#include "testbench/sim/simulation.h"
#include "testbench/sim/traffic_stream.h"

namespace rxnic {
namespace {

constexpr std::uint64_t kPackets = 200;

NicResult run(const TrafficMix& mix, const std::vector<std::string>& overrides = {}) {
  TrafficConfig config;
  config.rc_qps = 8;
  config.mix = mix;
  TrafficStream traffic(config, kPackets);
  Simulation::Options options;
  options.params = load_config(kDefaultConfig, overrides);
  options.pace = {Pace::Kind::kRate, 0.05};
  Latencies latencies(options.params.nic.clock_period_ps);
  options.latencies = &latencies;
  Simulation sim(options, traffic);
  set_up(sim, make_host_plan(traffic.survey(), {}));
  sim.run();
  NicResult r;
  latencies.collect(r);
  return r;
}

constexpr TrafficMix kSends{};
constexpr TrafficMix kWrites{.send = 0, .write = 1};
constexpr TrafficMix kReads{.send = 0, .read = 1};

TEST(Latencies, AReceiveEndsWhenItsCqeIsVisible) {  // R1
  const NicResult fast = run(kSends, {"dma_engine.write_latency_ps=250000"});
  const NicResult slow = run(kSends, {"dma_engine.write_latency_ps=5000000"});
  EXPECT_EQ(fast.latency_ns.count, kPackets);
  EXPECT_EQ(fast.write_ns.count + fast.read_ns.count, 0u);
  EXPECT_NEAR(static_cast<double>(slow.latency_ns.p50 - fast.latency_ns.p50), 4750, 0.01 * 4750);
  EXPECT_EQ(slow.handed_over_ns.p50, fast.handed_over_ns.p50) << "the hand-over comes before";
  EXPECT_GE(fast.latency_ns.p50, fast.handed_over_ns.p50 + 250);
}

TEST(Latencies, AWriteEndsWhenItsDataIsVisible) {  // R2
  const NicResult fast = run(kWrites, {"dma_engine.write_latency_ps=250000"});
  const NicResult slow = run(kWrites, {"dma_engine.write_latency_ps=5000000"});
  EXPECT_EQ(fast.write_ns.count, kPackets);
  EXPECT_EQ(fast.latency_ns.count + fast.read_ns.count, 0u);
  EXPECT_NEAR(static_cast<double>(slow.write_ns.p50 - fast.write_ns.p50), 4750, 0.01 * 4750);
}

TEST(Latencies, AReadContainsThatOfItsData) {  // R3
  const NicResult fast = run(kReads, {"dma_engine.read_latency_ps=300000"});
  const NicResult slow = run(kReads, {"dma_engine.read_latency_ps=1300000"});
  EXPECT_EQ(fast.read_ns.count, kPackets);
  EXPECT_EQ(fast.latency_ns.count + fast.write_ns.count, 0u);
  EXPECT_NEAR(static_cast<double>(slow.read_ns.p50 - fast.read_ns.p50), 1000, 0.01 * 1000);
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

TEST(Latencies, NothingIsSaidOfWhatDidNotHappen) {
  Latencies none(2325);
  NicResult r;
  none.collect(r);
  EXPECT_EQ(r.latency_ns.count, 0u);
  EXPECT_TRUE(r.stages.empty());
}

}  // namespace
}  // namespace rxnic
