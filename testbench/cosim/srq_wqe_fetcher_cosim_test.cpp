// SPDX-License-Identifier: Apache-2.0
// rtl/srq_wqe_fetcher.sv against model/blocks/srq_wqe_fetcher: random packets, doorbells, commands and flushes, with
// random back-pressure; its latencies; in the model's place; as transactions.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "testbench/cosim/cosim_options.h"
#include "testbench/cosim/lockstep.h"
#include "testbench/cosim/srq_wqe_fetcher_scene.h"

namespace rxnic::srq_wqe_fetcher_cosim_test {
namespace {

using srq_wqe_fetcher_scene::params_of;
using srq_wqe_fetcher_scene::Scene;

struct Configuration {
  SrqWqeFetcherParams fetcher;
  bool other = false;  // than the defaults: what other blocks' parameters say
};

class SrqWqeFetcherCosim : public testing::TestWithParam<Configuration> {
 protected:
  void SetUp() override {
    if (built_rtl().empty()) GTEST_SKIP() << "Verilator is not installed";
    params_ = params_of(GetParam().fetcher, GetParam().other);
  }
  Params params_;
};

TEST_P(SrqWqeFetcherCosim, ModelAndRtlAgreeOnRandomPackets) {
  const std::uint64_t seed = test_seed(2026), cycles = cosim_cycles();
  for (const bool always : {false, true}) {
    Bench bench(EngineMode::kPerCycle);
    Scene scene(bench, params_, seed, cycles);
    LockstepOptions options;
    options.always = always;
    options.every_port = options.every_cover = true;
    options.transactions = cycles / 4;
    Lockstep lockstep(bench.engine(), scene.dut, make_twin("srq_wqe_fetcher", params_, cosim_rtl()), options);
    bench.run_to(Cycle{cycles});
    const LockstepResult result = lockstep.finish();
    EXPECT_EQ(result.failure, "");
    std::cout << result.text("srq_wqe_fetcher") << '\n';
    const SrqWqeFetcherCounters& c = scene.dut.counters();
    const WorkQueueTableCounters& t = scene.dut.prefetch_counters();
    std::cout << c.packets << " packets, " << c.wqes << " WQEs, " << c.waits << " waits, " << c.no_wqe
              << " without WQE, " << c.bad_wqes << " bad, " << c.flushed << " flushed, " << c.limit_events
              << " limit events, " << t.reads << " reads, " << t.evictions << " evictions, " << t.wqes_discarded
              << " discarded, " << c.context_misses << " context misses, " << c.context_write_backs
              << " written back\n";
    if (HasFailure()) return;
  }
}

SrqWqeFetcherParams small() {
  SrqWqeFetcherParams p;
  p.prefetch_depth = 5;
  p.queues = 5;
  p.wqes_per_read = 3;
  p.reads_in_flight = 3;
  p.hit_cycles = 1;
  p.pipeline_depth = 4;
  p.wqe_store_entries = 10;
  p.wqe_store_share = 2;
  p.late_flushes = 1;
  p.queue_contexts = 8;
  p.queue_context_ways = 2;
  p.queue_misses_in_flight = 2;
  return p;
}
SrqWqeFetcherParams greedy() {
  SrqWqeFetcherParams p;
  p.prefetch = PrefetchPolicy::kGreedy;
  p.prefetch_depth = 8;
  p.queues = 3;
  p.wqes_per_read = 4;
  p.reads_in_flight = 8;
  p.hit_cycles = 7;
  p.pipeline_depth = 12;
  p.sequential_prefetch = false;
  p.wqe_store_entries = 8;
  p.wqe_store_share = 0;
  p.late_flushes = 2;
  p.queue_contexts = 4;
  p.queue_context_ways = 4;
  p.queue_misses_in_flight = 1;
  return p;
}
// As CMakeLists.txt says it (twins.py).
std::string name_of(const testing::TestParamInfo<Configuration>& info) {
  const SrqWqeFetcherParams& p = info.param.fetcher;
  return fmt::format("PrefetchDepth{}Queues{}QueueContexts{}", p.prefetch_depth, p.queues, p.queue_contexts);
}
INSTANTIATE_TEST_SUITE_P(Configurations, SrqWqeFetcherCosim,
                         testing::Values(Configuration{}, Configuration{small(), true}, Configuration{greedy()}),
                         name_of);

}  // namespace
}  // namespace rxnic::srq_wqe_fetcher_cosim_test
