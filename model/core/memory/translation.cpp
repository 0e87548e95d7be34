// SPDX-License-Identifier: Apache-2.0
#include "model/core/memory/translation.h"

namespace rxnic {

namespace {
constexpr std::uint8_t kLeastPageShift = 12;
constexpr std::uint8_t kGreatestPageShift = 48;
}  // namespace

RegionCheck check_region(const MptEntry& region, Key key, Pdn pd, std::uint8_t access, std::uint64_t va,
                         std::uint64_t bytes) {  // (R1)
  if (region.valid == 0 || region.invalidated != 0 || region.key != raw(key)) return RegionCheck::kBadKey;
  if (region.page_shift < kLeastPageShift || region.page_shift > kGreatestPageShift) return RegionCheck::kBadKey;
  if (region.pd != raw(pd)) return RegionCheck::kWrongPd;
  if ((region.access & access) != access) return RegionCheck::kNoRight;
  if (va < region.va) return RegionCheck::kOutOfBounds;
  const std::uint64_t offset = va - region.va;  // (R2)
  if (offset > region.length || bytes > region.length - offset) return RegionCheck::kOutOfBounds;
  return RegionCheck::kOk;
}

bool may_invalidate(const MptEntry& region, Key key, Pdn pd, Qpn qpn) {  // (R4)
  if (region.valid == 0 || region.invalidated != 0 || region.key != raw(key) || region.pd != raw(pd)) return false;
  return region.kind == MemoryKind::kFastRegistered || (region.kind == MemoryKind::kWindow2 && region.window_qp == qpn);
}

std::uint64_t mtt_entry_address(const MptEntry& region, std::uint64_t va) {  // (R3)
  return region.mtt_base + 8 * ((va >> region.page_shift) - (region.va >> region.page_shift));
}

BusAddress bus_address_in_page(const MptEntry& region, std::uint64_t page, std::uint64_t va) {
  const std::uint64_t within = (std::uint64_t{1} << region.page_shift) - 1;
  return BusAddress{page + (va & within)};
}

std::uint64_t mtt_entries(const MptEntry& region) {
  if (region.length == 0 || region.page_shift > kGreatestPageShift) return 0;
  return ((region.va + (region.length - 1)) >> region.page_shift) - (region.va >> region.page_shift) + 1;
}

}  // namespace rxnic
