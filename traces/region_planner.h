// SPDX-License-Identifier: Apache-2.0
// The pages of a host plan's memory regions (host_plan.h, R4 and R5).
#pragma once

#include <cstdint>

#include "traces/host_plan.h"

namespace rxnic {

constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t step) { return (n + step - 1) / step * step; }

class RegionPlanner {
 public:
  explicit RegionPlanner(unsigned page_shift) : page_shift_(page_shift) {}

  RegionPlan make(Key key, std::uint64_t va, std::uint64_t length, std::uint8_t access);
  // Regions in between hold atomics: nothing else uses their pages, as long as there are enough.
  void begin_atomics() { with_atomics_ = true; }
  void end_atomics();

  bool wrapped() const { return wrapped_; }                             // pages are used again
  bool reuses_atomics() const { return wrapped_ && pool_start_ == 0; }  // those of atomics, too
  std::uint64_t larger() const { return larger_pages_; }                // regions with pages larger than asked for
  unsigned largest_shift() const { return largest_shift_; }             // of the largest pages

 private:
  BusAddress take_page(unsigned shift, bool& aliased);

  unsigned page_shift_;
  std::uint64_t pool_start_ = 0;  // where pages are used again
  std::uint64_t next_page_ = 0;
  std::uint64_t all_pages_ = 0;
  bool wrapped_ = false;
  bool with_atomics_ = false;  // the region being made holds atomics
  std::uint64_t own_large_pages_ = 0;
  std::uint64_t larger_pages_ = 0;
  unsigned largest_shift_ = 0;
  std::uint64_t mtt_bytes_ = 0;
};

}  // namespace rxnic
