// SPDX-License-Identifier: Apache-2.0
// The accesses that an MPT entry allows, and the MTT entry of a page (model/types/context.h).
//
//   R1  The checks in their order: the key is that of a valid entry; the PD is the region's; every right asked for is
//       granted; the range lies inside the region. The first that fails is reported. One that was invalidated
//       has no valid key, and a type 2 window has one for the QP alone that it is bound on.
//   R2  A range that ends with the region's last byte is inside; no sum of address and length can wrap around it.
//   R3  Pages are aligned: page 0 of a region is the one that holds its first byte, wherever in the page that is. A
//       zero-based one has addresses that lie elsewhere in their pages: paged_offset is added to them before.
//   R4  A remote request may invalidate a fast-registered region of its PD, or a type 2 window that is bound on its
//       QP. It exists from then on without allowing anything.
//   R5  Binding a window (rules 4.4): the window exists and is of the QP's PD; one of type 2 is invalid, and its new
//       key differs from its last. The region exists, is of that PD and no window, lets windows be bound to it, is not
//       zero-based, may be written locally when the window may be written remotely, and holds the window. A type 1
//       window may also be bound to nothing.
#pragma once

#include <cstdint>

#include "model/types/context.h"

namespace rxnic {

enum class RegionCheck : std::uint8_t { kOk, kBadKey, kWrongPd, kNoRight, kOutOfBounds };

// Who accesses memory.
struct Accessor {
  Pdn pd{};
  Qpn qpn{};
};

RegionCheck check_region(const MptEntry& region, Key key, const Accessor& by, std::uint8_t access, std::uint64_t va,
                         std::uint64_t bytes);

// (R4)
bool may_invalidate(const MptEntry& region, Key key, const Accessor& by);

// The part of a region that a window shall be bound to; no bytes: none.
struct WindowBinding {
  Key key{};  // the window's new one
  std::uint64_t va = 0, length = 0;
  std::uint8_t access = 0;  // AccessFlag
};
// (R5) The window, as far as it decides by itself; with the region.
bool may_bind(const MptEntry& window, const WindowBinding& binding, const Accessor& by);
bool may_bind_to(const MptEntry& region, Key key, const WindowBinding& binding, const Accessor& by);
// The window's entry from then on. Without bytes `region` is not looked at.
MptEntry bound(const MptEntry& window, const WindowBinding& binding, const MptEntry& region, const Accessor& by);

inline constexpr std::uint32_t kMttLineBytes = 64;  // of the MTT, read at a time
inline constexpr std::uint32_t kMttLineEntries = kMttLineBytes / 8;

// Bus address of the MTT entry of the page that holds `va`, which is inside the region.
std::uint64_t mtt_entry_address(const MptEntry& region, std::uint64_t va);
// Bus address of `va`, given its page's MTT entry.
BusAddress bus_address_in_page(const MptEntry& region, std::uint64_t page, std::uint64_t va);
// Number of MTT entries of the region.
std::uint64_t mtt_entries(const MptEntry& region);

}  // namespace rxnic
