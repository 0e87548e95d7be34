// SPDX-License-Identifier: Apache-2.0
// The blocks whose stimulus there is, a line each, and a run of one.
#include <fmt/format.h>

#include <memory>

#include "bridge/rtl/lockstep.h"
#include "bridge/rtl/transactions.h"
#include "testbench/cosim/cqe_generator_scene.h"
#include "testbench/cosim/grh_scatter_scene.h"
#include "testbench/cosim/srq_wqe_fetcher_scene.h"
#include "testbench/cosim/tag_match_cam_scene.h"
#include "testbench/exercise/exercise.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kDrain = 20'000;  // cycles that RTL of other latencies has behind the stimulus

std::unique_ptr<Twin> rtl_of(const ExerciseRequest& request, const Configuration& in, std::uint64_t seed) {
  return make_twin(request.rtl.block, in.params, request.rtl.file, request.random_init ? seed | 1 : 0);
}

template <class Scene>
ExerciseRun in_lockstep(const ExerciseRequest& request, const Configuration& in, std::uint64_t seed,
                        const std::string& waves) {
  Bench bench(EngineMode::kPerCycle);
  Scene scene(bench, in.params, seed, request.cycles);
  const LockstepOptions options{.always = seed % 2 != 0, .transactions = 0, .waves = waves};  // (R2)
  Lockstep lockstep(bench.engine(), scene.dut, rtl_of(request, in, seed), options);
  bench.run_to(Cycle{request.cycles});
  LockstepResult r = lockstep.finish();
  return {.configuration = in.name,
          .seed = seed,
          .cycles = r.cycles,
          .clocked = r.clocked,
          .transactions = r.transactions,
          .bits = r.bits,
          .ports = std::move(r.ports),
          .cover_points = std::move(r.cover_points),
          .boundaries = scene.edges().counts(),
          .failure = std::move(r.failure)};
}

template <class Scene>
ExerciseRun as_transactions(const ExerciseRequest& request, const Configuration& in, std::uint64_t seed) {
  Bench bench(EngineMode::kPerCycle);
  Scene scene(bench, in.params, seed, request.cycles);
  TransactionLockstep lockstep(bench.engine(), scene.dut, rtl_of(request, in, seed),
                               {.always = seed % 2 != 0, .least = 0});
  bench.run_to(Cycle{request.cycles + kDrain});
  TransactionResult r = lockstep.finish();
  ExerciseRun run{.configuration = in.name,
                  .seed = seed,
                  .cycles = r.cycles,
                  .clocked = r.clocked,
                  .transactions = r.transactions(),
                  .cover_points = std::move(r.cover_points),
                  .boundaries = scene.edges().counts(),
                  .failure = std::move(r.failure)};
  for (const TransactionResult::Port& p : r.ports) {
    run.ports.emplace_back(p.name, p.later.count());
    if (p.later.count() != 0) run.later.emplace_back(p.name, p.later.text());
  }
  return run;
}

template <class Scene>
ExerciseRun run_of(const ExerciseRequest& request, const Configuration& in, std::uint64_t seed,
                   const std::string& waves) {
  return request.rtl.transactions ? as_transactions<Scene>(request, in, seed)
                                  : in_lockstep<Scene>(request, in, seed, waves);
}

std::string less_than(const char* key, std::uint64_t found, std::uint64_t least) {
  return found >= least ? "" : fmt::format("{}: found {}; expected {} or more for this stimulus", key, found, least);
}

}  // namespace

const std::vector<ExercisedBlock>& exercised_blocks() {
  const auto no_limits = [](const Params&) { return std::string(); };
  static const std::vector<ExercisedBlock> kAll{
      {"cqe_generator", cqe_generator_scene::configurations(),
       [](const Params& p) { return cqe_generator_scene::surrounded(p); },
       [](const Params& p) {
         return less_than("srq_wqe_fetcher.wqe_store_entries", p.srq_wqe_fetcher.wqe_store_entries,
                          cqe_generator_scene::kSlots);
       },
       &run_of<cqe_generator_scene::Scene>},
      {"grh_scatter", grh_scatter_scene::configurations(),
       [](const Params& p) { return grh_scatter_scene::surrounded(p); }, no_limits, &run_of<grh_scatter_scene::Scene>},
      {"srq_wqe_fetcher", srq_wqe_fetcher_scene::configurations(),
       [](const Params& p) { return srq_wqe_fetcher_scene::surrounded(p); },
       [](const Params& p) { return less_than("qp_context_cache.sets", p.qp_context_cache.sets, 32); },
       &run_of<srq_wqe_fetcher_scene::Scene>},
      {"tag_match_cam", tag_match_cam_scene::configurations(),
       [](const Params& p) { return tag_match_cam_scene::surrounded(p); },
       [](const Params& p) {
         const std::string entries = less_than("tag_match_cam.entries", p.tag_match_cam.entries, 16);
         return entries.empty() ? less_than("tag_match_cam.lists", p.tag_match_cam.lists, 4) : entries;
       },
       &run_of<tag_match_cam_scene::Scene>},
  };
  return kAll;
}

}  // namespace rxnic
