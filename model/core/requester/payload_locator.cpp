// SPDX-License-Identifier: Apache-2.0
#include "model/core/requester/payload_locator.h"

#include <algorithm>
#include <array>

namespace rxnic {

namespace {

constexpr std::uint64_t kEntriesPerRead = 64;  // of the MTT

}  // namespace

bool PayloadLocator::load_region(const DataSegment& segment, Pdn pd, std::uint8_t access, MptEntry& region) {
  const Key key{segment.lkey};
  if (key == hidden_) return false;  // (R5)
  if (!memory_.read(mpt_address(key), {reinterpret_cast<std::uint8_t*>(&region), sizeof region})) return false;
  if (is_window(region.kind)) return false;
  return check_region(region, key, {pd, {}}, access, segment.address, segment.length) == RegionCheck::kOk;
}

bool PayloadLocator::check(std::span<const DataSegment> segments, Pdn pd, std::uint8_t access,
                           bool& on_demand) {  // (R1)
  MptEntry region;
  on_demand = false;
  return std::all_of(segments.begin(), segments.end(), [&](const DataSegment& s) {
    const bool good = load_region(s, pd, access, region);
    on_demand |= good && region.on_demand != 0;
    return good;
  });
}

template <class Visit>
bool PayloadLocator::each(std::span<const DataSegment> segments, std::uint64_t offset, std::uint32_t bytes,
                          Visit visit) {
  for (const DataSegment& segment : segments) {
    if (bytes == 0) break;
    if (offset >= segment.length) {
      offset -= segment.length;
      continue;
    }
    const auto here = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, segment.length - offset));
    if (!visit(segment, offset, here)) return false;
    bytes -= here;
    offset = 0;
  }
  return bytes == 0;
}

bool PayloadLocator::locate(std::span<const DataSegment> segments, Pdn pd, std::uint64_t offset, std::uint32_t bytes,
                            std::vector<MemoryPiece>& pieces) {
  const std::size_t before = pieces.size();
  std::uint32_t done = 0;
  const bool all = each(segments, offset, bytes, [&](const DataSegment& segment, std::uint64_t at, std::uint32_t here) {
    done += here;
    return locate_in(segment, pd, at, here, done - here, pieces);
  });
  if (!all) pieces.resize(before);
  return all;
}

std::optional<MissingPage> PayloadLocator::missing(std::span<const DataSegment> segments, Pdn pd, std::uint64_t offset,
                                                   std::uint32_t bytes) {
  std::optional<MissingPage> found;
  each(segments, offset, bytes, [&](const DataSegment& segment, std::uint64_t at, std::uint32_t here) {
    MptEntry region;
    if (!load_region(segment, pd, 0, region) || region.on_demand == 0) return true;
    const std::uint64_t page_bytes = std::uint64_t{1} << region.page_shift;
    for (std::uint64_t done = 0; done < here;) {
      const std::uint64_t va = segment.address + at + done;
      std::uint64_t page = 0;
      if (load_pages(region, va, 1, &page) == 1 && (page & kAbsentPage) != 0) {
        found = missing_page(region, va);
        return false;
      }
      done += page_bytes - ((va + region.paged_offset) & (page_bytes - 1));
    }
    return true;
  });
  return found;
}

// Loads the entries from that of `va` on, of at most `count` pages, and returns their number; 0: they cannot be read.
// From a tree one entry is loaded; when its table is absent, the entry says so.
std::uint32_t PayloadLocator::load_pages(const MptEntry& region, std::uint64_t va, std::uint64_t count,
                                         std::uint64_t* pages) {
  if (region.levels != 0) count = 1;
  for (PageStep step = first_step(region);; step = {pages[0], static_cast<std::uint8_t>(step.level + 1)}) {
    const auto bytes = static_cast<std::size_t>(count * sizeof(std::uint64_t));
    if (!memory_.read(BusAddress{entry_address(region, step, va)}, {reinterpret_cast<std::uint8_t*>(pages), bytes})) {
      return 0;
    }
    if (is_last(region, step) || (pages[0] & kAbsentPage) != 0) return static_cast<std::uint32_t>(count);
  }
}

// `done`: bytes of the payload before these.
bool PayloadLocator::locate_in(const DataSegment& segment, Pdn pd, std::uint64_t offset, std::uint32_t bytes,
                               std::uint32_t done, std::vector<MemoryPiece>& pieces) {
  MptEntry region;
  if (!load_region(segment, pd, 0, region)) return false;
  if (region.kind == MemoryKind::kNull) return true;  // (R6)
  const std::size_t first = pieces.size();
  const std::uint64_t page_bytes = std::uint64_t{1} << region.page_shift;
  std::uint64_t va = segment.address + offset;
  const auto paged = [&region](std::uint64_t at) { return at + region.paged_offset; };
  std::array<std::uint64_t, kEntriesPerRead> pages;
  while (bytes > 0) {
    const std::uint64_t last_page = paged(va + (bytes - 1)) >> region.page_shift;
    const std::uint64_t wanted = std::min(kEntriesPerRead, last_page - (paged(va) >> region.page_shift) + 1);
    const std::uint32_t count = load_pages(region, va, wanted, pages.data());
    if (count == 0) return false;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (region.on_demand != 0 && (pages[i] & kAbsentPage) != 0) return false;  // (R4)
      const auto here =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, page_bytes - (paged(va) & (page_bytes - 1))));
      const BusAddress at = bus_address_in_page(region, pages[i], va);
      if (pieces.size() > first && pieces.back().address + pieces.back().bytes == at) {  // (R2)
        pieces.back().bytes += here;
      } else {
        pieces.push_back({at, here, done});
      }
      bytes -= here;
      done += here;
      va += here;
    }
  }
  return true;
}

}  // namespace rxnic
