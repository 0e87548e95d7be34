// SPDX-License-Identifier: Apache-2.0
// A time that is cut into equal parts, of which each adds something up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rxnic {

// The parts: at most so many, each a multiple of some cycles.
struct TimeGrid {
  std::uint64_t from = 0, to = 0, width = 1;  // cycles; `to` is behind the last one
  static TimeGrid over(std::uint64_t from, std::uint64_t to, std::uint64_t most, std::uint64_t multiple) {
    const std::uint64_t length = std::max<std::uint64_t>(to - from, 1);
    const std::uint64_t width = (length + most * multiple - 1) / (most * multiple) * multiple;
    return {from, from + length, width};
  }
  std::size_t parts() const { return static_cast<std::size_t>((to - from + width - 1) / width); }
  // Cycles of part n: the last one may be shorter.
  std::uint64_t cycles(std::size_t n) const { return std::min(width, to - from - n * width); }
};

class TimeBins {
 public:
  explicit TimeBins(const TimeGrid& grid) : grid_(&grid), sums_(grid.parts()) {}
  // At a cycle; nothing outside of the grid counts.
  void add(std::uint64_t at, std::uint64_t value) {
    if (at >= grid_->from && at < grid_->to) sums_[(at - grid_->from) / grid_->width] += value;
  }
  // 1 for each cycle of [from, to).
  void add_time(std::uint64_t from, std::uint64_t to) {
    from = std::max(from, grid_->from);
    to = std::min(to, grid_->to);
    if (from >= to) return;
    for (std::size_t n = (from - grid_->from) / grid_->width; from < to; ++n) {
      const std::uint64_t end = std::min(to, grid_->from + (n + 1) * grid_->width);
      sums_[n] += end - from;
      from = end;
    }
  }
  std::uint64_t operator[](std::size_t n) const { return sums_[n]; }
  const TimeGrid& grid() const { return *grid_; }
  // The sum of each part times `factor`, by its cycles.
  std::vector<double> rates(double factor) const {
    std::vector<double> all;
    for (std::size_t n = 0; n < sums_.size(); ++n) {
      all.push_back(static_cast<double>(sums_[n]) * factor / static_cast<double>(grid_->cycles(n)));
    }
    return all;
  }
  std::vector<double> sums() const { return {sums_.begin(), sums_.end()}; }

 private:
  const TimeGrid* grid_;
  std::vector<std::uint64_t> sums_;
};

}  // namespace rxnic
