// SPDX-License-Identifier: Apache-2.0
// `rxnic workload`: the pages that come along, the keys of a page, and a page as files.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "bridge/rxnic/command/cli_options.h"

namespace rxnic {

class WorkloadCommand {
 public:
  void describe(CLI::App& app);
  int run();

 private:
  int write();

  CLI::App* app_ = nullptr;
  CommonOptions common_;
  std::string page_, out_;
  std::uint64_t seed_ = 1;
  bool keys_ = false;
  FormatOption format_;
};

}  // namespace rxnic
