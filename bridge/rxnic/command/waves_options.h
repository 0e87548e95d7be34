// SPDX-License-Identifier: Apache-2.0
// --waves and the options of its window.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "model/system/waves_request.h"

namespace rxnic {

class WavesOption {
 public:
  static constexpr const char* kFile = "waves.vcd";

  void describe(CLI::App& app);
  bool wanted() const;
  // Into the folder; not wanted(): none. Throws std::invalid_argument.
  WavesRequest request(const std::string& folder) const;

 private:
  bool waves_ = false;
  std::optional<std::string> from_, to_, around_;
};

}  // namespace rxnic
