// SPDX-License-Identifier: Apache-2.0
// rxnic exercise: checks what it is asked for, and goes on as the program rxnic_exercise (testbench/exercise). This
// program is built when it is first asked for (scripts/rxnic), so that rxnic itself is built sooner.
#pragma once

#include <CLI/CLI.hpp>

#include "bridge/rxnic/command/exercise_options.h"

namespace rxnic {

class ExerciseCommand {
 public:
  void describe(CLI::App& app) { options_.describe(app); }
  // `argv`: of rxnic. Returns when the other program cannot be started alone: throws std::invalid_argument that names
  // it, or std::runtime_error.
  int run(int argc, const char* const* argv) const;

 private:
  ExerciseOptions options_;
};

}  // namespace rxnic
