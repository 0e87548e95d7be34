// SPDX-License-Identifier: Apache-2.0
#include "model/system/payload_history.h"

#include <algorithm>
#include <iterator>

namespace rxnic {

void PayloadHistory::add(Cycle at, std::uint64_t bytes) {
  if (bytes == 0) return;
  ++packets_;
  bytes_ += bytes;
  const Point point{at.count, bytes};
  const bool newest = points_.empty() || !(point < points_.back());
  if (newest && !points_.empty() && points_.back().bytes + bytes <= most_joined_) {
    points_.back() = {at.count, points_.back().bytes + bytes};
    return;
  }
  points_.insert(newest ? points_.end() : std::upper_bound(points_.begin(), points_.end(), point), point);  // (R2)
  if (points_.size() >= kMost) join_neighbours();
}

void PayloadHistory::add(const PayloadHistory& other) {
  std::vector<Point> both;
  both.reserve(points_.size() + other.points_.size());
  std::merge(points_.begin(), points_.end(), other.points_.begin(), other.points_.end(), std::back_inserter(both));
  points_ = std::move(both);
  bytes_ += other.bytes_;
  packets_ += other.packets_;
  if (points_.size() >= kMost) join_neighbours();
}

// (R3) Two neighbours that are left have more than 4 / kMost of the payload: about half of kMost are left at most.
void PayloadHistory::join_neighbours() {
  most_joined_ = 4 * bytes_ / kMost;
  std::size_t last = 0;
  for (std::size_t n = 1; n < points_.size(); ++n) {
    const std::uint64_t joined = points_[last].bytes + points_[n].bytes;
    if (joined <= most_joined_) {
      points_[last] = {points_[n].cycle, joined};
    } else {
      points_[++last] = points_[n];
    }
  }
  points_.resize(last + 1);
}

// When so much had come, between two points as if it had come evenly. When the first point was reached is all that is
// known of its bytes: it counts as a whole.
PayloadHistory::Reached PayloadHistory::reach(double bytes) const {
  double before = 0, from = 0;
  for (const Point& p : points_) {
    const double to = static_cast<double>(p.cycle), here = static_cast<double>(p.bytes);
    if (before + here >= bytes) {
      if (before == 0) return {to, here};
      return {from + (bytes - before) / here * (to - from), bytes};
    }
    before += here;
    from = to;
  }
  return {from, before};
}

double PayloadHistory::steady_bytes_per_cycle() const {
  if (packets_ < kLeast) return 0;
  const double all = static_cast<double>(bytes_);
  const Reached begin = reach(all / 20), end = reach(all - all / 20);
  return end.cycle > begin.cycle ? (end.bytes - begin.bytes) / (end.cycle - begin.cycle) : 0;
}

}  // namespace rxnic
