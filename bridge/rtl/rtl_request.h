// SPDX-License-Identifier: Apache-2.0
// Which blocks' RTL a run compares with the model, and which takes the model's place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rxnic {

struct RtlChoice {
  std::string block;
  std::string file{};         // "": the RTL that was built with the program; or "dpi:ADDRESS" (make_twin())
  bool transactions = false;  // compare them, not cycles
};

struct RtlRequest {
  std::vector<RtlChoice> lockstep;
  std::vector<RtlChoice> rtl;
  bool always = false;                         // clock the RTL in every cycle
  std::optional<std::uint64_t> random_init{};  // seed of what reset does not set
  std::string folder{};                        // for the waveform of a mismatch
  bool wanted() const { return !lockstep.empty() || !rtl.empty(); }
};

}  // namespace rxnic
