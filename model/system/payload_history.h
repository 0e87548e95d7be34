// SPDX-License-Identifier: Apache-2.0
// How much payload had come by which cycle, for the rate of a run without its beginning and end: connecting, filling,
// draining.
//
//   R1  The steady window is the time in which nine tenths of the payload came. It goes from when a twentieth was there
//       until a twentieth was missing. Its rate is known when kLeast packets or more have brought the payload.
//   R2  Packets are noted in any order: each counts at its own time.
//   R3  Fewer than kMost points are kept. When there are as many, neighbours with little payload become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/types/ids.h"

namespace rxnic {

class PayloadHistory {
 public:
  static constexpr std::size_t kLeast = 64, kMost = 1024;

  // A packet with so much payload had come by then, with its last byte.
  void add(Cycle at, std::uint64_t bytes);
  // Both together: of two NICs.
  void add(const PayloadHistory& other);
  // 0: not known. (R1)
  double steady_bytes_per_cycle() const;

 private:
  struct Point {
    std::uint64_t cycle = 0, bytes = 0;  // what came since the point before, until then
    bool operator<(const Point& other) const { return cycle < other.cycle; }
  };
  struct Reached {
    double cycle = 0, bytes = 0;
  };
  Reached reach(double bytes) const;
  void join_neighbours();

  std::vector<Point> points_;  // by cycle
  std::uint64_t bytes_ = 0;    // of all
  std::uint64_t packets_ = 0;
  std::uint64_t most_joined_ = 0;  // bytes of a point of several packets
};

}  // namespace rxnic
