// SPDX-License-Identifier: Apache-2.0
// The waveforms that a run is to write.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace rxnic {

struct WavesRequest {
  static constexpr std::uint64_t kToTheEnd = std::numeric_limits<std::uint64_t>::max();
  std::string path;  // of the VCD, ends in .vcd; empty: no waves
  std::uint64_t from_ps = 0;
  std::uint64_t to_ps = kToTheEnd;  // does not belong to the window
  std::uint64_t packet = 0;         // not 0: around this packet
  std::uint64_t margin_cycles = 0;  // before it and after it
  bool wanted() const { return !path.empty(); }
};

}  // namespace rxnic
