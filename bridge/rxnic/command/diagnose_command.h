// SPDX-License-Identifier: Apache-2.0
// rxnic diagnose: what is wrong in a capture.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "bridge/rxnic/command/cli_options.h"

namespace rxnic {

class DiagnoseCommand {
 public:
  void describe(CLI::App& app);
  int run() const;
  bool reads(const std::string& file) const;

 private:
  CommonOptions common_;
  std::vector<std::string> captures_;
  std::vector<std::uint16_t> udp_ports_;
  std::uint64_t most_ = 20;
  bool causes_ = false;
  FormatOption format_;
};

}  // namespace rxnic
