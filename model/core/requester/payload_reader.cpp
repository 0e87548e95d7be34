// SPDX-License-Identifier: Apache-2.0
#include "model/core/requester/payload_reader.h"

#include <algorithm>
#include <array>

#include "model/core/memory/translation.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kEntriesPerRead = 64;  // of the MTT

bool load_region(HostMemory& memory, const DataSegment& segment, Pdn pd, std::uint8_t access, MptEntry& region) {
  const Key key{segment.lkey};
  if (!memory.read(mpt_address(key), {reinterpret_cast<std::uint8_t*>(&region), sizeof region})) return false;
  return check_region(region, key, pd, access, segment.address, segment.length) == RegionCheck::kOk;
}

}  // namespace

bool PayloadReader::check(std::span<const DataSegment> segments, Pdn pd, std::uint8_t access) {  // (R1)
  MptEntry region;
  return std::all_of(segments.begin(), segments.end(),
                     [&](const DataSegment& s) { return load_region(memory_, s, pd, access, region); });
}

bool PayloadReader::read(std::span<const DataSegment> segments, Pdn pd, std::uint64_t offset,
                         std::span<std::uint8_t> to) {
  Run run;
  for (const DataSegment& segment : segments) {
    if (to.empty()) break;
    if (offset >= segment.length) {
      offset -= segment.length;
      continue;
    }
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), segment.length - offset));
    if (!read_segment(segment, pd, offset, to.first(bytes), run)) return false;
    to = to.subspan(bytes);
    offset = 0;
  }
  return to.empty() && finish(run);
}

bool PayloadReader::read_segment(const DataSegment& segment, Pdn pd, std::uint64_t offset, std::span<std::uint8_t> to,
                                 Run& run) {
  MptEntry region;
  if (!load_region(memory_, segment, pd, 0, region)) return false;
  const std::uint64_t page_bytes = std::uint64_t{1} << region.page_shift;
  std::uint64_t va = segment.address + offset;
  std::array<std::uint64_t, kEntriesPerRead> pages;
  while (!to.empty()) {
    const std::uint64_t last_page = (va + (to.size() - 1)) >> region.page_shift;
    const std::uint64_t count = std::min(kEntriesPerRead, last_page - (va >> region.page_shift) + 1);
    const auto entries = static_cast<std::size_t>(count * sizeof(std::uint64_t));
    if (!memory_.read(BusAddress{mtt_entry_address(region, va)},
                      {reinterpret_cast<std::uint8_t*>(pages.data()), entries})) {
      return false;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t in_page = page_bytes - (va & (page_bytes - 1));
      const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), in_page));
      if (!extend(run, bus_address_in_page(region, pages[i], va), to.first(bytes))) return false;
      to = to.subspan(bytes);
      va += bytes;
    }
  }
  return true;
}

bool PayloadReader::extend(Run& run, BusAddress bus, std::span<std::uint8_t> to) {  // (R2)
  if (!run.to.empty() && run.bus + run.to.size() == raw(bus)) {
    run.to = {run.to.data(), run.to.size() + to.size()};
    return true;
  }
  if (!finish(run)) return false;
  run = {raw(bus), to};
  return true;
}

bool PayloadReader::finish(const Run& run) {
  if (run.to.empty()) return true;
  ++reads_;
  return memory_.read(BusAddress{run.bus}, run.to);
}

}  // namespace rxnic
