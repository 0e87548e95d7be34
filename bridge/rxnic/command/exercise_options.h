// SPDX-License-Identifier: Apache-2.0
// What `rxnic exercise` is asked for: a block, its RTL, and which random stimulus of testbench/exercise it gets.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "bridge/rtl/rtl_request.h"

namespace rxnic {

// In the folder of --out: the result, and a waveform of the first run that differs, with a save file of GTKWave.
inline constexpr const char* kExerciseFile = "exercise.json";
inline constexpr const char* kExerciseWaves = "exercise.vcd";
inline constexpr const char* kExerciseSaveFile = "exercise.gtkw";

struct ExerciseRequest {
  RtlChoice rtl;
  std::vector<std::string> configurations{};  // names; empty: all that the RTL has
  std::vector<std::string> overrides{};       // instead of these: parameters of the NIC, section.key=value
  std::uint64_t first_seed = 1, seeds = 4;
  std::uint64_t cycles = 200'000;  // of a run
  bool random_init = false;        // bits of the seed in what reset does not set
  bool stop_at_first = false;      // that differs
  bool json = false;
  std::string folder{};  // "": nothing is written
};

class ExerciseOptions {
 public:
  void describe(CLI::App& app);
  // Throws std::invalid_argument: a choice that cannot be understood.
  ExerciseRequest request() const;

 private:
  ExerciseRequest request_;
  std::string block_;
  CLI::Option* seed_ = nullptr;
};

}  // namespace rxnic
