// SPDX-License-Identifier: Apache-2.0
// What the commands of rxnic have in common: options, files, exit statuses.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "model/engine/step_order.h"
#include "testbench/sim/report.h"

namespace rxnic {

enum ExitStatus : int { kDone = 0, kOther = 1, kUsage = 2, kTrace = 3, kLockstep = 4, kNothingCompared = 5 };

struct CommonOptions {
  std::string config;
  std::vector<std::string> overrides;
  CommonOptions();
  void describe(CLI::App& app);
};

// Whether a text is a seed, for an option; what is wrong with it otherwise.
std::string refuse_seed(const std::string& text);
// --seed.
void describe_seed(CLI::App& app, std::uint64_t& seed);

// --step-order.
struct StepOrderOption {
  std::string text = "path";
  void describe(CLI::App& app);
  StepOrder order() const;  // throws std::invalid_argument
};

// Both throw std::runtime_error or std::invalid_argument that names the path.
void write_file(const std::string& path, const std::string& text);
void make_folder(const std::string& option, const std::string& path);
std::string read_file(const std::string& path, const std::string& expected);

// For a summary on this descriptor.
SummaryStyle terminal_style(int descriptor);

}  // namespace rxnic
