// SPDX-License-Identifier: Apache-2.0
#include "model/core/memory/translation.h"

namespace rxnic {

namespace {
constexpr std::uint8_t kLeastPageShift = 12;
constexpr std::uint8_t kGreatestPageShift = 48;
}  // namespace

RegionCheck check_region(const MptEntry& region, Key key, const Accessor& by, std::uint8_t access, std::uint64_t va,
                         std::uint64_t bytes) {  // (R1)
  if (region.valid == 0 || region.invalidated != 0 || region.key != raw(key)) return RegionCheck::kBadKey;
  if (region.page_shift < kLeastPageShift || region.page_shift > kGreatestPageShift) return RegionCheck::kBadKey;
  if (region.kind == MemoryKind::kWindow2 && region.window_qp != by.qpn) return RegionCheck::kBadKey;
  if (region.pd != raw(by.pd)) return RegionCheck::kWrongPd;
  if ((region.access & access) != access) return RegionCheck::kNoRight;
  if (va < region.va) return RegionCheck::kOutOfBounds;
  const std::uint64_t offset = va - region.va;  // (R2)
  if (offset > region.length || bytes > region.length - offset) return RegionCheck::kOutOfBounds;
  return RegionCheck::kOk;
}

bool may_invalidate(const MptEntry& region, Key key, const Accessor& by) {  // (R4)
  if (region.valid == 0 || region.invalidated != 0 || region.key != raw(key) || region.pd != raw(by.pd)) return false;
  return region.kind == MemoryKind::kFastRegistered ||
         (region.kind == MemoryKind::kWindow2 && region.window_qp == by.qpn);
}

bool may_bind(const MptEntry& window, const WindowBinding& binding, const Accessor& by) {  // (R5)
  if (window.valid == 0 || !is_window(window.kind) || window.pd != raw(by.pd)) return false;
  if ((window.key ^ raw(binding.key)) >> 8 != 0) return false;
  if (window.kind == MemoryKind::kWindow1) return true;
  return window.invalidated != 0 && binding.length > 0 && window.key != raw(binding.key);
}

bool may_bind_to(const MptEntry& region, Key key, const WindowBinding& binding, const Accessor& by) {  // (R5)
  if (is_window(region.kind) || (region.access & kZeroBased) != 0 || region.levels != 0) return false;
  const bool written = (binding.access & (kRemoteWrite | kRemoteAtomic)) != 0;
  const auto needed = static_cast<std::uint8_t>(kBindWindow | (written ? kLocalWrite : 0));
  return check_region(region, key, by, needed, binding.va, binding.length) == RegionCheck::kOk;
}

MptEntry bound(const MptEntry& window, const WindowBinding& binding, const MptEntry& region, const Accessor& by) {
  MptEntry entry = window;
  entry.key = raw(binding.key);
  entry.invalidated = binding.length == 0;
  entry.bound_to = 0;
  if (binding.length == 0) return entry;
  const bool zero_based = (binding.access & kZeroBased) != 0;
  entry.bound_to = region.key;
  entry.access = binding.access & (kRemoteRights | kZeroBased);
  entry.page_shift = region.page_shift;
  entry.on_demand = region.on_demand;
  entry.window_qp = by.qpn;
  entry.va = zero_based ? 0 : binding.va;
  entry.length = binding.length;
  entry.mtt_base = mtt_entry_address(region, binding.va);
  entry.paged_offset = zero_based ? binding.va : 0;
  return entry;
}

// (R3)

std::uint64_t mtt_entry_address(const MptEntry& region, std::uint64_t va) {
  const auto page = [&](std::uint64_t at) { return (at + region.paged_offset) >> region.page_shift; };
  return region.mtt_base + 8 * (page(va) - page(region.va));
}

BusAddress bus_address_in_page(const MptEntry& region, std::uint64_t page, std::uint64_t va) {
  const std::uint64_t within = (std::uint64_t{1} << region.page_shift) - 1;
  return BusAddress{page + ((va + region.paged_offset) & within)};
}

std::uint64_t entry_address(const MptEntry& region, const PageStep& step, std::uint64_t va) {  // (R6)
  if (region.levels == 0) return mtt_entry_address(region, va);
  const std::uint32_t shift = region.page_shift + kTableBits * (region.levels - 1u - step.level);
  return step.table + 8 * (va >> shift & (kTableEntries - 1));
}

MissingPage missing_page(const MptEntry& region, std::uint64_t va) {
  if (!is_window(region.kind)) return {Key{region.key}, va};
  return {Key{region.bound_to}, va + region.paged_offset};
}

std::uint64_t mtt_entries(const MptEntry& region) {
  if (region.length == 0 || region.page_shift > kGreatestPageShift) return 0;
  if (region.kind == MemoryKind::kNull) return 0;  // (R8)
  const std::uint64_t first = region.va + region.paged_offset;
  return ((first + (region.length - 1)) >> region.page_shift) - (first >> region.page_shift) + 1;
}

}  // namespace rxnic
