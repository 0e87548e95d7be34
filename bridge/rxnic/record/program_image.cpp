// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/record/program_image.h"

#include <algorithm>

namespace rxnic {

namespace {

// Calls part(address, offset from `address`, bytes) for each page that a range touches.
template <class Part>
void for_each_page(std::uint64_t address, std::uint64_t bytes, Part part) {
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t at = address + done;
    const std::uint64_t here = std::min(bytes - done, ProgramImage::kPageBytes - at % ProgramImage::kPageBytes);
    part(at, done, here);
    done += here;
  }
}

}  // namespace

const ProgramImage::Page* ProgramImage::find(std::uint32_t space, std::uint64_t address) const {
  const auto it = pages_.find(key(space, address));
  return it == pages_.end() ? nullptr : it->second.get();
}

void ProgramImage::put(std::uint32_t space, std::uint64_t address, std::span<const std::uint8_t> from,
                       std::uint32_t stamp, bool by_device) {
  for_each_page(address, from.size(), [&](std::uint64_t at, std::uint64_t offset, std::uint64_t bytes) {
    std::unique_ptr<Page>& page = pages_[key(space, at)];
    if (!page) page = std::make_unique<Page>();
    const std::uint64_t within = at % kPageBytes;
    std::copy_n(from.data() + offset, bytes, page->values.data() + within);
    std::fill_n(page->stamps.data() + within, bytes, stamp | (by_device ? kByDevice : 0));
  });
}

std::uint64_t ProgramImage::get(std::uint32_t space, std::uint64_t address, std::span<std::uint8_t> to) const {
  std::uint64_t unknown = 0;
  for_each_page(address, to.size(), [&](std::uint64_t at, std::uint64_t offset, std::uint64_t bytes) {
    const Page* const page = find(space, at);
    if (page == nullptr) {
      std::fill_n(to.data() + offset, bytes, std::uint8_t{0});
      unknown += bytes;
      return;
    }
    const std::uint64_t within = at % kPageBytes;
    std::copy_n(page->values.data() + within, bytes, to.data() + offset);
    unknown += static_cast<std::uint64_t>(
        std::count(page->stamps.data() + within, page->stamps.data() + within + bytes, std::uint32_t{0}));
  });
  return unknown;
}

ProgramImage::Byte ProgramImage::at(std::uint32_t space, std::uint64_t address) const {
  const Page* const page = find(space, address);
  if (page == nullptr) return {};
  const std::uint32_t stamp = page->stamps[address % kPageBytes];
  return {page->values[address % kPageBytes], stamp & ~kByDevice, (stamp & kByDevice) != 0};
}

bool ProgramImage::is_since(std::uint32_t space, std::uint64_t address, std::uint64_t bytes,
                            std::uint32_t stamp) const {
  bool all = true;
  for_each_page(address, bytes, [&](std::uint64_t at, std::uint64_t, std::uint64_t here) {
    const Page* const page = find(space, at);
    const std::uint64_t within = at % kPageBytes;
    all = all && page != nullptr &&
          std::all_of(page->stamps.data() + within, page->stamps.data() + within + here,
                      [stamp](std::uint32_t s) { return (s & ~kByDevice) >= stamp; });
  });
  return all;
}

}  // namespace rxnic
