// SPDX-License-Identifier: Apache-2.0
// A link's rate in the terms of ibv_port_attr: lanes and rate of a lane.
#pragma once

#include <cstdint>

namespace rxnic::verbs {

struct PortSpeed {
  std::uint8_t width = 2;  // active_width: 1 1X, 2 4X, 4 8X, 8 12X, 16 2X
  std::uint8_t speed = 1;  // active_speed
};

// The fastest pair whose rate is at most `mbps`; of pairs with equal rates the first in kWidths.
constexpr PortSpeed port_speed(std::uint32_t mbps) {
  struct Rate {
    std::uint32_t lane_mbps;  // as verbs programs count it
    std::uint8_t code;
  };
  constexpr Rate kLanes[] = {{2'500, 1},   {5'000, 2},   {10'000, 4},   {14'000, 16},
                             {25'000, 32}, {50'000, 64}, {100'000, 128}};
  struct Width {
    std::uint32_t lanes;
    std::uint8_t code;
  };
  constexpr Width kWidths[] = {{4, 2}, {1, 1}, {2, 16}, {8, 4}, {12, 8}};
  PortSpeed best{1, 1};
  std::uint64_t best_mbps = 0;
  for (const Width& w : kWidths) {
    for (const Rate& r : kLanes) {
      const std::uint64_t total = std::uint64_t{w.lanes} * r.lane_mbps;
      if (total > mbps || total <= best_mbps) continue;
      best = {w.code, r.code};
      best_mbps = total;
    }
  }
  return best;
}

}  // namespace rxnic::verbs
