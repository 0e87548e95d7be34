// SPDX-License-Identifier: Apache-2.0
#include "model/types/host_memory.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace rxnic {

inline LocalMemory::Region* LocalMemory::find_region(std::uint64_t index) {
  Recent& r = recent(index);
  if (r.index == index) return r.region;
  const auto it = regions_.find(index);
  if (it == regions_.end()) return nullptr;
  r = {index, it->second.get()};
  return r.region;
}

LocalMemory::Chunk* LocalMemory::find(std::uint64_t index) {
  const Region* region = find_region(index / kRegionChunks);
  return region == nullptr ? nullptr : (*region)[index % kRegionChunks];
}

LocalMemory::Chunk& LocalMemory::add(std::uint64_t index) {
  if (chunks_ % kSlabChunks == 0) slabs_.emplace_back(LargePages<Chunk>::allocate(kSlabChunks));
  Chunk& chunk = slabs_.back()[chunks_++ % kSlabChunks];
  std::unique_ptr<Region>& region = regions_[index / kRegionChunks];
  if (region == nullptr) region = std::make_unique<Region>();
  (*region)[index % kRegionChunks] = &chunk;
  return chunk;
}

inline LocalMemory::Chunk& LocalMemory::touch(std::uint64_t index) {
  Region* const region = find_region(index / kRegionChunks);
  Chunk* const chunk = region == nullptr ? nullptr : (*region)[index % kRegionChunks];
  return chunk == nullptr ? add(index) : *chunk;
}

bool LocalMemory::read(BusAddress from, std::span<std::uint8_t> to) {
  std::uint64_t at = raw(from);
  while (!to.empty()) {
    const std::size_t offset = at % kChunkBytes;
    const std::size_t n = std::min(to.size(), kChunkBytes - offset);
    if (const Chunk* chunk = find(at / kChunkBytes)) {
      std::memcpy(to.data(), chunk->bytes.data() + offset, n);
    } else {
      std::memset(to.data(), 0, n);
    }
    to = to.subspan(n);
    at += n;
  }
  return true;
}

bool LocalMemory::write(BusAddress to, std::span<const std::uint8_t> from) {
  std::uint64_t at = raw(to);
  if (at % kChunkBytes + from.size() <= kChunkBytes) {  // as nearly all are
    if (!from.empty()) std::memcpy(touch(at / kChunkBytes).bytes.data() + at % kChunkBytes, from.data(), from.size());
    return true;
  }
  while (!from.empty()) {
    const std::size_t offset = at % kChunkBytes;
    const std::size_t n = std::min(from.size(), kChunkBytes - offset);
    std::memcpy(touch(at / kChunkBytes).bytes.data() + offset, from.data(), n);
    from = from.subspan(n);
    at += n;
  }
  return true;
}

std::uint64_t LocalMemory::digest() const {
  std::vector<std::uint64_t> order;
  order.reserve(regions_.size());
  for (const auto& [index, region] : regions_) order.push_back(index);
  std::sort(order.begin(), order.end());
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&hash](std::uint64_t word) { hash = (hash ^ word) * 0x100000001b3u; };
  for (const std::uint64_t index : order) {
    const Region& region = *regions_.at(index);
    for (std::uint64_t n = 0; n < kRegionChunks; ++n) {
      if (region[n] == nullptr) continue;
      mix(index * kRegionChunks + n);
      for (std::size_t i = 0; i < kChunkBytes; i += 8) {
        std::uint64_t word;
        std::memcpy(&word, region[n]->bytes.data() + i, 8);
        mix(word);
      }
    }
  }
  return hash;
}

}  // namespace rxnic
