// SPDX-License-Identifier: Apache-2.0
#include "bridge/rtl/cycle_spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace rxnic {

namespace {

constexpr unsigned kExactBits = 8;           // (R1)
constexpr std::size_t kMostOfTheirOwn = 12;  // differences that have a line each (R2)
constexpr unsigned kBarColumns = 36;
constexpr double kMedian = 0.5, kRare = 0.99;

std::uint64_t size_of(std::int64_t cycles) { return static_cast<std::uint64_t>(cycles < 0 ? -cycles : cycles); }

// The multiple of a power of two below it that it is kept as.
std::int64_t kept(std::int64_t cycles) {
  const auto width = static_cast<unsigned>(std::bit_width(size_of(cycles)));
  if (width <= kExactBits) return cycles;
  const unsigned dropped = width - kExactBits - 1;
  const auto size = static_cast<std::int64_t>(size_of(cycles) >> dropped << dropped);
  return cycles < 0 ? -size : size;
}

// The differences that share a line: 0 alone, 1 alone, 2 and 3, 4 to 7...
struct Range {
  std::int64_t first, last;
  bool operator<(const Range& other) const { return first < other.first; }
  std::string text() const { return first == last ? fmt::format("{}", first) : fmt::format("{}..{}", first, last); }
};
Range range_of(std::int64_t cycles) {
  if (cycles == 0) return {0, 0};
  const auto least = static_cast<std::int64_t>(std::bit_floor(size_of(cycles)));
  return cycles > 0 ? Range{least, 2 * least - 1} : Range{-2 * least + 1, -least};
}

}  // namespace

void CycleSpread::add(std::int64_t cycles) {
  min_ = count_ == 0 ? cycles : std::min(min_, cycles);
  max_ = count_ == 0 ? cycles : std::max(max_, cycles);
  ++counts_[kept(cycles)];
  ++count_;
}

std::int64_t CycleSpread::percentile(double fraction) const {
  const double wanted = std::max(1.0, std::ceil(fraction * static_cast<double>(count_)));
  std::uint64_t below = 0;
  for (const auto& [cycles, count] : counts_) {
    below += count;
    if (static_cast<double>(below) >= wanted) return std::clamp(cycles, min_, max_);
  }
  return max_;
}

std::string CycleSpread::text() const {
  return fmt::format("min {}   median {}   p99 {}   max {}", min_, percentile(kMedian), percentile(kRare), max_);
}

std::vector<std::string> CycleSpread::histogram() const {
  std::map<Range, std::uint64_t> lines;
  for (const auto& [cycles, count] : counts_) {
    lines[counts_.size() <= kMostOfTheirOwn ? Range{cycles, cycles} : range_of(cycles)] += count;
  }
  std::uint64_t most = 1;
  for (const auto& [range, count] : lines) most = std::max(most, count);
  std::vector<std::string> out;
  for (const auto& [range, count] : lines) {
    std::string bar;
    const std::uint64_t columns = std::max<std::uint64_t>(1, count * kBarColumns / most);
    for (unsigned n = 0; n < kBarColumns; ++n) bar += n < columns ? "█" : " ";
    out.push_back(fmt::format("{:>14} {} {:>12} {:>6.2f} %", range.text(), bar, count,
                              100.0 * static_cast<double>(count) / static_cast<double>(count_)));
  }
  return out;
}

}  // namespace rxnic
