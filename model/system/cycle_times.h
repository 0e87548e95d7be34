// SPDX-License-Identifier: Apache-2.0
// Distribution of times in cycles: cheaper to add to than a Histogram, which it becomes when somebody asks. Times below
// kExact are counted one by one.
#pragma once

#include <array>
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

// Stays at one place in cycles: how long each was, and how long its two parts were, the wait and the time in the block.
// What three CycleTimes would hold, but cheaper to add to.
class StayTimes {
 public:
  enum class Part : std::uint8_t { kWhole, kWait, kBlock };
  static constexpr std::size_t kExact = CycleTimes::kExact;

  void add(std::uint64_t wait, std::uint64_t block, std::uint64_t period_ps) {
    cycles_[kWait] += wait;
    cycles_[kBlock] += block;
    if (wait + block < exact_.size()) [[likely]] {
      ++exact_[wait + block][kWhole];
      ++exact_[wait][kWait];
      ++exact_[block][kBlock];
    } else {
      add_first({wait + block, wait, block}, period_ps);
    }
  }
  void add(const StayTimes& other) {
    if (exact_.size() < other.exact_.size()) exact_.resize(other.exact_.size());
    for (std::size_t part = 0; part < kParts; ++part) {
      cycles_[part] += other.cycles_[part];
      for (std::size_t n = 0; n < other.exact_.size(); ++n) exact_[n][part] += other.exact_[n][part];
      long_ns_[part].add(other.long_ns_[part]);
    }
  }
  std::uint64_t cycles(Part of) const {  // of all stays
    return of == Part::kWhole ? cycles_[kWait] + cycles_[kBlock] : cycles_[static_cast<std::size_t>(of)];
  }
  Histogram ns(Part of, std::uint64_t period_ps) const {
    const auto part = static_cast<std::size_t>(of);
    Histogram all = long_ns_[part];
    for (std::size_t n = 0; n < exact_.size(); ++n) {
      if (exact_[n][part] != 0) all.add(n * period_ps / 1000, exact_[n][part]);
    }
    return all;
  }

 private:
  static constexpr std::size_t kWhole = 0, kWait = 1, kBlock = 2, kParts = 3;
  template <class T>
  using OfParts = std::array<T, kParts>;
  // One that is too long, or the first one as long as this.
  [[gnu::noinline]] void add_first(const OfParts<std::uint64_t>& cycles, std::uint64_t period_ps) {
    for (std::size_t part = 0; part < kParts; ++part) {
      if (cycles[part] >= kExact) {
        long_ns_[part].add(cycles[part] * period_ps / 1000);
        continue;
      }
      if (cycles[part] >= exact_.size()) exact_.resize(std::bit_ceil(cycles[part] + 1));
      ++exact_[cycles[part]][part];
    }
  }

  OfParts<std::uint64_t> cycles_{};            // the whole is the sum of both
  std::vector<OfParts<std::uint64_t>> exact_;  // stays by cycles, up to those of the longest
  OfParts<Histogram> long_ns_;
};

}  // namespace rxnic
