// SPDX-License-Identifier: Apache-2.0
// --lockstep and --rtl: blocks whose RTL is compared with the model, or takes its place.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace rxnic {

struct RtlRequest {
  std::vector<std::string> lockstep;  // names of blocks
  std::vector<std::string> rtl;
  bool always = false;  // clock the RTL in every cycle
  bool wanted() const { return !lockstep.empty() || !rtl.empty(); }
};

class RtlOptions {
 public:
  void describe(CLI::App& app);
  // Throws std::invalid_argument: a block that is named twice.
  RtlRequest request() const;
  bool per_cycle() const { return !request_.lockstep.empty(); }  // the mode that they need

 private:
  RtlRequest request_;
};

}  // namespace rxnic
