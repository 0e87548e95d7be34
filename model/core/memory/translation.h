// SPDX-License-Identifier: Apache-2.0
// The accesses that an MPT entry allows, and the MTT entry of a page (model/types/context.h).
//
//   R1  The checks in their order: the key is that of a valid entry; the PD is the region's. Then: every right asked
//       for is granted; the range lies inside the region. The first check that fails is reported. An entry that was
//       invalidated has no valid key, and a type 2 window has one for the QP alone that it is bound on.
//   R2  A range that ends with the region's last byte is inside; no sum of address and length can wrap around it.
//   R3  Pages are aligned: page 0 of a region is the one that holds its first byte, wherever in the page that is. A
//       zero-based one has addresses that lie elsewhere in their pages: paged_offset is added to them before.
//   R4  A remote request may invalidate a fast-registered region of its PD, or a type 2 window that is bound on its
//       QP. It exists from then on without allowing anything.
//   R5  Binding a window (rules 4.4): the window exists and is of the QP's PD. A window of type 2 is invalid, and its
//       new key differs from its last. The region exists, is of that PD and no window, lets windows be bound to it, is
//       not zero-based, and holds the window. It may be written locally when the window may be written remotely. A type
//       1 window may also be bound to nothing. A region with a tree has no windows.
//   R6  A region with `levels` has a tree instead of a list. The tree has tables of kTableEntries entries, each the bus
//       address of a table of the next level, on the last level of a page. Page 0 of it is the one of address 0.
//   R7  An entry with kAbsentPage names nothing: the page has to be asked for (on-demand regions).
//   R8  A null region has neither pages nor MTT entries. It is checked as any other. What is written to it goes
//       nowhere, what is read from it is zeros, and no page of it is looked up (ibv_alloc_null_mr(3)).
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
// Number of MTT entries of the region, which has a list.
std::uint64_t mtt_entries(const MptEntry& region);

inline constexpr std::uint64_t kAbsentPage = 1;  // in an entry (R7)
inline constexpr std::uint32_t kTableBits = 9;
inline constexpr std::uint64_t kTableEntries = std::uint64_t{1} << kTableBits;
inline constexpr std::uint8_t kTreeLevels = 4;  // 2^48 bytes of 4 KiB pages
inline constexpr std::uint8_t kTreePageShift = 12;

// Where the lookup of an address stands: in a list at its only entry, in a tree at the entry of a table. (R6)
struct PageStep {
  std::uint64_t table = 0;  // bus address
  std::uint8_t level = 0;
};
constexpr PageStep first_step(const MptEntry& region) { return {region.mtt_base, 0}; }
constexpr bool is_last(const MptEntry& region, const PageStep& step) { return step.level + 1 >= region.levels; }
// Bus address of the entry of `va`, which is inside the region.
std::uint64_t entry_address(const MptEntry& region, const PageStep& step, std::uint64_t va);

// What is asked for when an entry is absent: of the region, not of the window by which the address came.
struct MissingPage {
  Key key{};
  std::uint64_t va = 0;
};
MissingPage missing_page(const MptEntry& region, std::uint64_t va);

}  // namespace rxnic
