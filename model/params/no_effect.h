// SPDX-License-Identifier: Apache-2.0
// Parameters that somebody has set and that cannot act in the run at hand: their effect is looked for in vain.
//
//   R1  A parameter acts when the run has the feature that it acts in, and the other parameters the values that it
//       needs (params.toml: acts_in, needs).
//   R2  A parameter counts as set when it has not the value of the named configuration. A file may start from any named
//       configuration. In a run with a file a parameter is set when --set names it, or when no named configuration has
//       its value. So a recorded run, which does not hold the file, finds the same.
//   R3  Times of reads do not fall from one percentile to the next: one that is less than an earlier one cannot act.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/params/descriptor.h"

namespace rxnic {

class RunFeatures {
 public:
  RunFeatures(std::initializer_list<RunFeature> features) {
    for (const RunFeature f : features) add(f);
  }
  void add(RunFeature f) { bits_ |= 1u << static_cast<unsigned>(f); }
  bool has(RunFeature f) const { return f == RunFeature::kAny || (bits_ >> static_cast<unsigned>(f) & 1) != 0; }

 private:
  unsigned bits_ = 0;
};

// What a run of programs on so many NICs has.
RunFeatures features_of_programs(const Params& params, std::uint32_t nics);

// One sentence for each, in the order of params.toml.
std::vector<std::string> parameters_without_effect(const Params& params, std::string_view config,
                                                   std::span<const std::string> overrides, const RunFeatures& run);

}  // namespace rxnic
