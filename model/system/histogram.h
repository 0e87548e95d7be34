// SPDX-License-Identifier: Apache-2.0
// Distribution of a latency in bounded memory. Buckets of a Histogram are 1/256 of their value wide, so a percentile is
// right within 0.4 %. Those of a CoarseHistogram, of which there are thousands, are 1/32 wide: within 3.2 %.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rxnic {

template <unsigned kSubBits, class Count>
class BasicHistogram {
 public:
  void add(std::uint64_t value, Count times = 1) {
    const std::size_t i = index(value);
    if (i >= buckets_.size()) [[unlikely]]
      grow(i + 1);
    buckets_[i] += times;
    count_ += times;
    if (value > max_) max_ = value;
  }
  // Asks for the memory that add(value) will change.
  void prefetch(std::uint64_t value) const {
    const std::size_t i = index(value);
    if (i < buckets_.size()) __builtin_prefetch(&buckets_[i], 1);
  }
  void add(const BasicHistogram& other) {
    if (buckets_.size() < other.buckets_.size()) buckets_.resize(other.buckets_.size());
    for (std::size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    if (other.max_ > max_) max_ = other.max_;
  }
  std::uint64_t count() const { return count_; }
  std::uint64_t max() const { return max_; }
  // The least value that at least `fraction` (0..1) of all are not above; the bucket's upper end, at most max().
  std::uint64_t percentile(double fraction) const {
    if (count_ == 0) return 0;
    auto wanted = static_cast<std::uint64_t>(fraction * static_cast<double>(count_));
    if (static_cast<double>(wanted) < fraction * static_cast<double>(count_)) ++wanted;
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      below += buckets_[i];
      if (below >= wanted && below > 0) return upper(i) < max_ ? upper(i) : max_;
    }
    return max_;
  }
  // Calls f(value, count) for each bucket that is not empty, from the least value on: the bucket's upper end, at most
  // max().
  template <class F>
  void for_each(F f) const {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      if (buckets_[i] != 0) f(upper(i) < max_ ? upper(i) : max_, buckets_[i]);
    }
  }

 private:
  static std::size_t index(std::uint64_t v) {
    if (v < (1u << kSubBits)) return v;
    const auto shift = static_cast<unsigned>(std::bit_width(v)) - 1 - kSubBits;
    return (static_cast<std::size_t>(shift) << kSubBits) + (v >> shift);
  }
  static std::uint64_t upper(std::size_t i) {
    if (i < (2u << kSubBits)) return i;
    const std::size_t shift = (i >> kSubBits) - 1;
    return (((i & ((1u << kSubBits) - 1)) + (1u << kSubBits) + 1) << shift) - 1;
  }
  // In whole powers of two of values, so that this is rare; inlined, it would make every add() save its registers.
  [[gnu::noinline]] void grow(std::size_t buckets) {
    constexpr std::size_t kAtOnce = std::size_t{1} << kSubBits;
    buckets_.resize((buckets + kAtOnce - 1) / kAtOnce * kAtOnce);
  }
  std::vector<Count> buckets_;  // up to that of the largest value
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
};

using Histogram = BasicHistogram<8, std::uint64_t>;
using CoarseHistogram = BasicHistogram<5, std::uint32_t>;

}  // namespace rxnic
