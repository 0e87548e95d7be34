// SPDX-License-Identifier: Apache-2.0
// How much payload had come by which cycle, for the rate of a run without its beginning and end: connecting, filling,
// draining.
//
//   R1  The steady window is the time in which nine tenths of the payload came. It goes from when a twentieth was there
//       until a twentieth was missing. Its rate is known when kLeast packets or more have brought the payload.
//   R2  At most kMost points are kept: when there are more, every other one goes, and points are further apart from
//       then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/types/ids.h"

namespace rxnic {

class PayloadHistory {
 public:
  static constexpr std::size_t kLeast = 64, kMost = 1024;

  // `bytes` in all have come by now, more than before.
  void reaches(Cycle now, std::uint64_t bytes);
  // Both together: of two NICs.
  void add(const PayloadHistory& other);
  // 0: not known. (R1)
  double steady_bytes_per_cycle() const;

 private:
  struct Point {
    std::uint64_t cycle = 0, bytes = 0;
  };
  double cycle_of(double bytes) const;

  std::vector<Point> points_;
  Point last_;
  std::uint64_t retired_ = 0;
  std::uint64_t apart_ = 0;  // bytes between two points
};

}  // namespace rxnic
