// SPDX-License-Identifier: Apache-2.0
// rxnic report: an earlier run once more, for people, programs and as a page; its tables and its incidents.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "bridge/rxnic/command/cli_options.h"

namespace rxnic {

class ReportCommand {
 public:
  void describe(CLI::App& app);
  int run() const;

 private:
  std::string folder_, by_;
  std::uint64_t most_ = 20;
  FormatOption format_;
  bool schema_ = false, incidents_ = false, html_ = false, data_ = false;
};

}  // namespace rxnic
