// SPDX-License-Identifier: Apache-2.0
// rxnic compare: runs side by side, for people, programs and as a page.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "bridge/rxnic/command/cli_options.h"

namespace rxnic {

class CompareCommand {
 public:
  void describe(CLI::App& app);
  int run() const;

 private:
  std::vector<std::string> folders_;
  std::string html_;
  FormatOption format_;
};

}  // namespace rxnic
