// SPDX-License-Identifier: Apache-2.0
// rxnic explain: what became of a packet, a message, a QP.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "bridge/rxnic/command/cli_options.h"

namespace rxnic {

class ExplainCommand {
 public:
  void describe(CLI::App& app);
  int run() const;

 private:
  int print_table() const;

  CLI::App* app_ = nullptr;
  std::string folder_, packets_, qp_, psn_, by_;
  std::uint64_t message_ = 0, wr_id_ = 0, nic_ = 0;
  std::uint64_t slowest_ = 0, most_ = 20;
  bool drops_ = false, incidents_ = false;
  FormatOption format_;
};

}  // namespace rxnic
