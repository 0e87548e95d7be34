// SPDX-License-Identifier: Apache-2.0
// Distribution of times in cycles: cheaper to add to than a Histogram, which it becomes when somebody asks. Times below
// kExact are counted one by one.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/system/histogram.h"

namespace rxnic {

class CycleTimes {
 public:
  static constexpr std::size_t kExact = 2048;

  void add(std::uint64_t cycles, std::uint64_t period_ps) {
    cycles_ += cycles;
    if (cycles < exact_.size()) [[likely]] {
      ++exact_[cycles];
    } else {
      add_first(cycles, period_ps);
    }
  }
  void add(const CycleTimes& other) {
    cycles_ += other.cycles_;
    if (exact_.size() < other.exact_.size()) exact_.resize(other.exact_.size());
    for (std::size_t n = 0; n < other.exact_.size(); ++n) exact_[n] += other.exact_[n];
    long_ns_.add(other.long_ns_);
  }
  std::uint64_t cycles() const { return cycles_; }  // of all times
  Histogram ns(std::uint64_t period_ps) const {
    Histogram all = long_ns_;
    for (std::size_t n = 0; n < exact_.size(); ++n) {
      if (exact_[n] != 0) all.add(n * period_ps / 1000, exact_[n]);
    }
    return all;
  }

 private:
  // One that is too long, or the first one as long as this.
  [[gnu::noinline]] void add_first(std::uint64_t cycles, std::uint64_t period_ps) {
    if (cycles >= kExact) return long_ns_.add(cycles * period_ps / 1000);
    exact_.resize(std::bit_ceil(cycles + 1));
    ++exact_[cycles];
  }

  std::uint64_t cycles_ = 0;
  std::vector<std::uint64_t> exact_;  // messages by cycles, up to those of the longest
  Histogram long_ns_;
};

}  // namespace rxnic
