// SPDX-License-Identifier: Apache-2.0
// Options that the commands of rxnic have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "bridge/rxnic/report/report.h"
#include "model/engine/step_order.h"

namespace rxnic {

struct CommonOptions {
  std::string config;
  std::vector<std::string> overrides;
  CommonOptions();
  void describe(CLI::App& app);
};

// For an option's transform(): "64M" as a number of bytes.
std::string size_in_bytes(std::string text);

// --format of what is printed: text, json or csv; `json` is --json, which some commands have besides.
enum class Format { kText, kJson, kCsv };
struct FormatOption {
  std::string text = "text";
  bool json = false;
  CLI::Option* describe(CLI::App& app);
  Format format() const;
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

// For a summary on this descriptor.
SummaryStyle terminal_style(int descriptor);

}  // namespace rxnic
