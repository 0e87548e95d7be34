// SPDX-License-Identifier: Apache-2.0
#include "model/system/payload_history.h"

#include <algorithm>

namespace rxnic {

void PayloadHistory::reaches(Cycle now, std::uint64_t bytes) {
  if (bytes == last_.bytes) return;
  ++retired_;
  last_ = {now.count, bytes};
  if (!points_.empty() && bytes - points_.back().bytes < apart_) return;
  points_.push_back(last_);
  if (points_.size() < kMost) return;
  for (std::size_t n = 0; 2 * n < points_.size(); ++n) points_[n] = points_[2 * n];  // (R2)
  points_.resize((points_.size() + 1) / 2);
  apart_ = 2 * std::max<std::uint64_t>(apart_, bytes / kMost);
}

// By the time of its points: what the other one has by then is that of its last point before.
void PayloadHistory::add(const PayloadHistory& other) {
  std::vector<Point> both;
  auto a = points_.cbegin(), b = other.points_.cbegin();
  std::uint64_t of_a = 0, of_b = 0;
  while (a != points_.cend() || b != other.points_.end()) {
    const bool from_a = b == other.points_.end() || (a != points_.cend() && a->cycle <= b->cycle);
    const std::uint64_t cycle = from_a ? a->cycle : b->cycle;
    (from_a ? of_a : of_b) = from_a ? (a++)->bytes : (b++)->bytes;
    both.push_back({cycle, of_a + of_b});
  }
  points_ = std::move(both);
  last_ = {std::max(last_.cycle, other.last_.cycle), last_.bytes + other.last_.bytes};
  retired_ += other.retired_;
}

// When so much had come, between two points as if it had come evenly.
double PayloadHistory::cycle_of(double bytes) const {
  const auto behind = std::find_if(points_.begin(), points_.end(),
                                   [bytes](const Point& p) { return static_cast<double>(p.bytes) >= bytes; });
  const Point to = behind == points_.end() ? last_ : *behind;
  if (behind == points_.begin()) return static_cast<double>(to.cycle);
  const Point from = behind[-1];
  if (to.bytes <= from.bytes) return static_cast<double>(to.cycle);
  const double part = (bytes - static_cast<double>(from.bytes)) / static_cast<double>(to.bytes - from.bytes);
  return static_cast<double>(from.cycle) + part * static_cast<double>(to.cycle - from.cycle);
}

double PayloadHistory::steady_bytes_per_cycle() const {
  if (retired_ < kLeast) return 0;
  const double all = static_cast<double>(last_.bytes), begin = cycle_of(all / 20), end = cycle_of(all - all / 20);
  return end > begin ? all * 9 / 10 / (end - begin) : 0;
}

}  // namespace rxnic
