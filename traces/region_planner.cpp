// SPDX-License-Identifier: Apache-2.0
#include "traces/region_planner.h"

#include <algorithm>

namespace rxnic {
namespace {

constexpr std::uint64_t kDataBase = 0x1'0000'0000;
constexpr std::uint64_t kDataBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kLargePagesBase = 0x1000'0000'0000'0000;  // R4: pages above 2 MiB, aligned
constexpr unsigned kLargestPooledShift = 21;
constexpr unsigned kHugeShift = 30;
constexpr std::uint64_t kMaxPages = std::uint64_t{1} << 20;
constexpr std::uint64_t kManyPages = std::uint64_t{1} << 22;  // in all; above it each page list is short
constexpr std::uint64_t kFewPages = 512;

}  // namespace

RegionPlan RegionPlanner::make(Key key, std::uint64_t va, std::uint64_t length, std::uint8_t access) {
  unsigned shift = page_shift_;
  const auto pages_at = [&](unsigned s) { return ((va + (length - 1)) >> s) - (va >> s) + 1; };
  const std::uint64_t most = all_pages_ < kManyPages ? kMaxPages : kFewPages;
  while (pages_at(shift) > most) ++shift;
  larger_pages_ += shift != page_shift_;
  largest_shift_ = std::max(largest_shift_, shift);
  RegionPlan r;
  r.mpt.key = raw(key);
  r.mpt.valid = 1;
  r.mpt.access = access;
  r.mpt.page_shift = static_cast<std::uint8_t>(shift);
  r.mpt.pd = raw(HostPlan::kPd);
  r.mpt.va = va;
  r.mpt.length = length;
  r.mpt.mtt_base = raw(icm::kMtt) + mtt_bytes_;
  const std::uint64_t pages = pages_at(shift);
  r.pages.reserve(pages);
  for (std::uint64_t i = 0; i < pages; ++i) r.pages.push_back(take_page(shift, r.aliased));
  all_pages_ += pages;
  mtt_bytes_ += round_up(pages * sizeof(std::uint64_t), 64);
  return r;
}

void RegionPlanner::end_atomics() {
  with_atomics_ = false;
  if (!wrapped_ && next_page_ <= kDataBytes / 2) pool_start_ = next_page_;
}

BusAddress RegionPlanner::take_page(unsigned shift, bool& aliased) {
  if (shift > kLargestPooledShift) {
    if (with_atomics_ && shift <= kHugeShift) return BusAddress{kLargePagesBase + (++own_large_pages_ << kHugeShift)};
    aliased = true;
    return BusAddress{kLargePagesBase};
  }
  const std::uint64_t size = std::uint64_t{1} << shift;
  next_page_ = round_up(next_page_, size);
  if (next_page_ + size > kDataBytes) {
    wrapped_ = true;
    next_page_ = round_up(pool_start_, size);
  }
  aliased |= wrapped_;
  const BusAddress page{kDataBase + next_page_};
  next_page_ += size;
  return page;
}

}  // namespace rxnic
