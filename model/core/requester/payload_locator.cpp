// SPDX-License-Identifier: Apache-2.0
#include "model/core/requester/payload_locator.h"

#include <algorithm>
#include <array>

#include "model/core/memory/translation.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kEntriesPerRead = 64;  // of the MTT

}  // namespace

bool PayloadLocator::load_region(const DataSegment& segment, Pdn pd, std::uint8_t access, MptEntry& region) {
  const Key key{segment.lkey};
  if (key == hidden_) return false;  // (R4)
  if (!memory_.read(mpt_address(key), {reinterpret_cast<std::uint8_t*>(&region), sizeof region})) return false;
  if (is_window(region.kind)) return false;
  return check_region(region, key, {pd, {}}, access, segment.address, segment.length) == RegionCheck::kOk;
}

bool PayloadLocator::check(std::span<const DataSegment> segments, Pdn pd, std::uint8_t access) {  // (R1)
  MptEntry region;
  return std::all_of(segments.begin(), segments.end(),
                     [&](const DataSegment& s) { return load_region(s, pd, access, region); });
}

bool PayloadLocator::locate(std::span<const DataSegment> segments, Pdn pd, std::uint64_t offset, std::uint32_t bytes,
                            std::vector<MemoryPiece>& pieces) {
  const std::size_t before = pieces.size();
  for (const DataSegment& segment : segments) {
    if (bytes == 0) break;
    if (offset >= segment.length) {
      offset -= segment.length;
      continue;
    }
    const auto here = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, segment.length - offset));
    if (!locate_in(segment, pd, offset, here, pieces)) {
      pieces.resize(before);
      return false;
    }
    bytes -= here;
    offset = 0;
  }
  if (bytes > 0) pieces.resize(before);
  return bytes == 0;
}

bool PayloadLocator::locate_in(const DataSegment& segment, Pdn pd, std::uint64_t offset, std::uint32_t bytes,
                               std::vector<MemoryPiece>& pieces) {
  MptEntry region;
  if (!load_region(segment, pd, 0, region)) return false;
  const std::size_t first = pieces.size();
  const std::uint64_t page_bytes = std::uint64_t{1} << region.page_shift;
  std::uint64_t va = segment.address + offset;
  const auto paged = [&region](std::uint64_t at) { return at + region.paged_offset; };
  std::array<std::uint64_t, kEntriesPerRead> pages;
  while (bytes > 0) {
    const std::uint64_t last_page = paged(va + (bytes - 1)) >> region.page_shift;
    const std::uint64_t count = std::min(kEntriesPerRead, last_page - (paged(va) >> region.page_shift) + 1);
    const auto entries = static_cast<std::size_t>(count * sizeof(std::uint64_t));
    if (!memory_.read(BusAddress{mtt_entry_address(region, va)},
                      {reinterpret_cast<std::uint8_t*>(pages.data()), entries})) {
      return false;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto here =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, page_bytes - (paged(va) & (page_bytes - 1))));
      const BusAddress at = bus_address_in_page(region, pages[i], va);
      if (pieces.size() > first && pieces.back().address + pieces.back().bytes == at) {  // (R2)
        pieces.back().bytes += here;
      } else {
        pieces.push_back({at, here});
      }
      bytes -= here;
      va += here;
    }
  }
  return true;
}

}  // namespace rxnic
