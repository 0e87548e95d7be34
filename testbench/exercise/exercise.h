// SPDX-License-Identifier: Apache-2.0
// A block's RTL beside its model under the random stimulus of testbench/cosim: several seeds, in each of the
// configurations that the RTL is built for.
//
//   R1  A run is one seed in one configuration. It is the same for the same RTL, configuration, seed and cycles.
//   R2  With an odd seed the RTL is clocked in every cycle, with an even one when it has to be. (bridge/rtl/lockstep.h)
//   R3  A user's RTL is tried in those of the block's configurations whose parameters it has. When it has none of these
//       it is refused, unless its parameters are given.
//   R4  The first run that differs is repeated with a waveform when there is a folder for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bridge/rtl/twin.h"
#include "bridge/rxnic/command/exercise_options.h"
#include "testbench/cosim/configuration.h"
#include "testbench/cosim/edges.h"

namespace rxnic {

// What was compared in a run.
struct ExerciseRun {
  std::string configuration;
  std::uint64_t seed = 0;
  std::uint64_t cycles = 0;        // of the model
  std::uint64_t clocked = 0;       // of the RTL
  std::uint64_t transactions = 0;  // values that passed, and memory reads; as transactions: without these
  std::uint64_t bits = 0;          // of these; as transactions: 0, they are not counted
  std::vector<std::pair<std::string, std::uint64_t>> ports{};  // transactions of each
  std::vector<std::pair<std::string, std::string>> later{};    // as transactions: cycles later than the model
  std::vector<CoverPoint> cover_points{};
  BoundaryCounts boundaries{};  // what the stimulus had of each
  std::string failure{};        // "": equal
};

struct ExerciseResult {
  ExerciseRequest request;
  std::vector<std::string> configurations;  // that were asked for and that the RTL has
  std::vector<ExerciseRun> runs;            // by configuration, then by seed
  std::uint64_t planned = 0;                // runs
};

// A block whose stimulus there is.
struct ExercisedBlock {
  std::string_view name;
  std::vector<Configuration> configurations;
  Params (*surrounded)(const Params&);   // what the stimulus needs of a NIC
  std::string (*limits)(const Params&);  // what it cannot do; "": nothing
  ExerciseRun (*run)(const ExerciseRequest&, const Configuration&, std::uint64_t seed, const std::string& waves);
};
const std::vector<ExercisedBlock>& exercised_blocks();

// Throws std::invalid_argument: no such block or configuration, or RTL that does not fit; it says what there is.
// `progress(done, planned, what)`: before each run.
ExerciseResult exercise(const ExerciseRequest& request,
                        const std::function<void(std::uint64_t, std::uint64_t, const std::string&)>& progress);

// Whether runs differ, and what was compared, in words; the first difference with its history, and how it is repeated.
std::string exercise_text(const ExerciseResult& result);
std::string exercise_json(const ExerciseResult& result);
// kDone, kLockstep or kNothingCompared (bridge/rxnic/output/exit_status.h).
int exercise_status(const ExerciseResult& result);

}  // namespace rxnic
