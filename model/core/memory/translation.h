// SPDX-License-Identifier: Apache-2.0
// The accesses that an MPT entry allows, and the MTT entry of a page (model/types/context.h).
//
//   R1  The checks in their order: the key is that of a valid entry; the PD is the region's; every right asked for is
//       granted; the range lies inside the region. The first that fails is reported. One that was invalidated
//       has no valid key.
//   R2  A range that ends with the region's last byte is inside; no sum of address and length can wrap around it.
//   R3  Pages are aligned: page 0 of a region is the one that holds its first byte, wherever in the page that is.
//   R4  A remote request may invalidate a fast-registered region of its PD, or a type 2 window that is bound on its
//       QP. It exists from then on without allowing anything.
#pragma once

#include <cstdint>

#include "model/types/context.h"

namespace rxnic {

enum class RegionCheck : std::uint8_t { kOk, kBadKey, kWrongPd, kNoRight, kOutOfBounds };

RegionCheck check_region(const MptEntry& region, Key key, Pdn pd, std::uint8_t access, std::uint64_t va,
                         std::uint64_t bytes);

// (R4)
bool may_invalidate(const MptEntry& region, Key key, Pdn pd, Qpn qpn);

inline constexpr std::uint32_t kMttLineBytes = 64;  // of the MTT, read at a time
inline constexpr std::uint32_t kMttLineEntries = kMttLineBytes / 8;

// Bus address of the MTT entry of the page that holds `va`, which is inside the region.
std::uint64_t mtt_entry_address(const MptEntry& region, std::uint64_t va);
// Bus address of `va`, given its page's MTT entry.
BusAddress bus_address_in_page(const MptEntry& region, std::uint64_t page, std::uint64_t va);
// Number of MTT entries of the region.
std::uint64_t mtt_entries(const MptEntry& region);

}  // namespace rxnic
