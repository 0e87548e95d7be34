// SPDX-License-Identifier: Apache-2.0
// --lockstep and --rtl: blocks whose RTL is compared with the model, or takes its place. BLOCK: the project's RTL;
// BLOCK=FILE: a user's own, which scripts/build_rtl has made; BLOCK=dpi:ADDRESS: in a simulator of SystemVerilog; with
// :transactions its cycles may be others.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "bridge/rtl/rtl_request.h"

namespace rxnic {

// How --help shows a block: BLOCK, and in braces the names of those that have RTL, which the completion offers.
std::string rtl_block_choices();
// BLOCK or BLOCK=FILE; `may_compare`: also with :transactions behind it. Throws std::invalid_argument that names
// `option`.
RtlChoice parse_rtl_choice(const char* option, const std::string& text, bool may_compare);

class RtlOptions {
 public:
  void describe(CLI::App& app);
  // `folder`: that of --out. Throws std::invalid_argument: a choice that cannot be understood, a block that is named
  // twice.
  RtlRequest request(const std::string& folder) const;
  bool per_cycle() const { return !lockstep_.empty(); }  // the mode that they need

 private:
  std::vector<std::string> lockstep_, rtl_;
  bool always_ = false;
  std::uint64_t random_init_ = 0;
  const CLI::Option* random_init_option_ = nullptr;
};

}  // namespace rxnic
