// SPDX-License-Identifier: Apache-2.0
#include "testbench/exercise/exercise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <stdexcept>

#include "bridge/rtl/rtl_blocks.h"
#include "bridge/rtl/rtl_file.h"
#include "bridge/rxnic/output/exit_status.h"
#include "model/params/config.h"
#include "model/params/suggestion.h"

namespace rxnic {

namespace {

const ExercisedBlock& block_of(const std::string& name) {
  for (const ExercisedBlock& block : exercised_blocks()) {
    if (block.name == name) return block;
  }
  std::vector<std::string_view> names;
  for (const ExercisedBlock& block : exercised_blocks()) names.push_back(block.name);
  throw std::invalid_argument(fmt::format("exercise: found block '{}'; expected one of {}{}", name,
                                          fmt::join(names, ", "), suggest(name, names)));
}

std::vector<Configuration> named(const ExercisedBlock& block, const std::vector<std::string>& names) {
  std::vector<std::string_view> known;
  for (const Configuration& c : block.configurations) known.push_back(c.name);
  for (const std::string& name : names) {
    if (std::ranges::count(known, name) != 0) continue;
    throw std::invalid_argument(
        fmt::format("--configs: found '{}'; expected one of {}{}", name, fmt::join(known, ", "), suggest(name, known)));
  }
  std::vector<Configuration> chosen;
  for (const Configuration& c : block.configurations) {
    if (std::ranges::count(names, c.name) != 0) chosen.push_back(c);
  }
  return chosen;
}

// (R3) Those of the project that RTL in a file has.
std::vector<Configuration> fitting(const ExercisedBlock& block, const std::string& file) {
  const RxnicRtl& rtl = load_rtl(file);
  if (rtl.block != block.name) {
    throw std::invalid_argument(fmt::format("{}: block: found {}; expected {}", file, rtl.block, block.name));
  }
  std::vector<Configuration> fit;
  std::vector<std::string> nearest;
  for (const Configuration& c : block.configurations) {
    BlockFacts facts;
    with_rtl_block(block.name, [&](const auto& entry) { facts = entry.facts(c.params); });
    std::vector<std::string> lines = differences(rtl, facts);
    if (lines.empty()) fit.push_back(c);
    if (nearest.empty() || lines.size() < nearest.size()) nearest = std::move(lines);
  }
  if (!fit.empty()) return fit;
  throw std::invalid_argument(
      fmt::format("{}: has none of the configurations in which {} is exercised; from the nearest it differs in\n  {}\n"
                  "for parameters of its own: --set {}.KEY=VALUE for each (rxnic params {} lists them)",
                  file, block.name, fmt::join(nearest, "\n  "), block.name, block.name));
}

std::vector<Configuration> chosen(const ExercisedBlock& block, const ExerciseRequest& request) {
  if (!request.overrides.empty()) {
    const Params params = block.surrounded(load_config(kDefaultConfig, request.overrides));
    const std::string limit = block.limits(params);
    if (!limit.empty()) throw std::invalid_argument(limit);
    return {{fmt::format("{}", fmt::join(request.overrides, " ")), params}};
  }
  if (!request.configurations.empty()) return named(block, request.configurations);
  return request.rtl.file.empty() ? block.configurations : fitting(block, request.rtl.file);
}

}  // namespace

ExerciseResult exercise(const ExerciseRequest& request,
                        const std::function<void(std::uint64_t, std::uint64_t, const std::string&)>& progress) {
  const ExercisedBlock& block = block_of(request.rtl.block);
  const std::vector<Configuration> configurations = chosen(block, request);
  ExerciseResult result{request, {}, {}, configurations.size() * request.seeds};
  for (const Configuration& in : configurations) {
    result.configurations.push_back(in.name);
    make_twin(block.name, in.params, request.rtl.file);  // refuses what does not fit before anything has run
  }
  bool differs = false;
  for (const Configuration& in : configurations) {
    for (std::uint64_t n = 0; n < request.seeds; ++n) {
      const std::uint64_t seed = request.first_seed + n;
      progress(result.runs.size(), result.planned, fmt::format("{}, seed {}", in.name, seed));
      ExerciseRun run = block.run(request, in, seed, "");
      if (!run.failure.empty() && !differs && !request.folder.empty() && !request.rtl.transactions) {  // (R4)
        run = block.run(request, in, seed, (std::filesystem::path(request.folder) / kExerciseWaves).string());
      }
      differs = differs || !run.failure.empty();
      result.runs.push_back(std::move(run));
      if (differs && request.stop_at_first) return result;
    }
  }
  return result;
}

int exercise_status(const ExerciseResult& result) {
  std::uint64_t compared = 0;
  for (const ExerciseRun& run : result.runs) {
    if (!run.failure.empty()) return kLockstep;
    compared += run.transactions;
  }
  return compared == 0 ? kNothingCompared : kDone;
}

}  // namespace rxnic
