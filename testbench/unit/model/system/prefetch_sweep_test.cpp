// SPDX-License-Identifier: Apache-2.0
// The depth of the WQE prefetch, by number of RQs and latency of a PCI Express read: deeper is never slower.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "testbench/unit/model/system/traffic_run.h"

namespace rxnic::prefetch_sweep_test {
namespace {

constexpr std::uint64_t kPackets = 10'000;
constexpr std::array kDepths{1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u};

struct Outcome {
  std::uint64_t cycles = 0, wqes_read = 0;
};

Outcome run(std::uint32_t queues, std::uint32_t read_ns, std::uint32_t depth) {
  TrafficConfig config;
  config.rc_qps = queues;
  const TrafficRun run(config, kPackets,
                       {"srq_wqe_fetcher.prefetch_depth=" + std::to_string(depth),
                        "dma_engine.read_latency_ps=" + std::to_string(read_ns * 1000)});
  EXPECT_EQ(run.packets().accepted, kPackets);
  return {run.sim.engine.now().count, run.sim.nic.srq_wqe_fetcher.prefetch_counters().wqes_read};
}

class PrefetchSweep : public testing::TestWithParam<std::uint32_t> {};

TEST_P(PrefetchSweep, DeeperIsNeverSlower) {
  const std::uint32_t queues = GetParam();
  for (const std::uint32_t read_ns : {400u, 900u, 1500u}) {
    double best = 1e9;
    std::printf("%4u RQs, read %4u ns: cycles (WQEs read) a packet:", queues, read_ns);
    for (const std::uint32_t depth : kDepths) {
      const Outcome o = run(queues, read_ns, depth);
      const double cycles = static_cast<double>(o.cycles) / kPackets;
      std::printf("  %u: %.2f (%.2f)", depth, cycles, static_cast<double>(o.wqes_read) / kPackets);
      EXPECT_LE(cycles, 1.02 * best) << "depth " << depth;
      best = std::min(best, cycles);
    }
    std::printf("\n");
  }
}

INSTANTIATE_TEST_SUITE_P(Rqs, PrefetchSweep, testing::Values(1u, 64u, 1000u));

}  // namespace
}  // namespace rxnic::prefetch_sweep_test
