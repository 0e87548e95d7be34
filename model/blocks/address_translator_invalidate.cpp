// SPDX-License-Identifier: Apache-2.0
// Invalidating the cached entries of a region (R9 of address_translator.h).
#include "model/blocks/address_translator.h"

namespace rxnic {

void AddressTranslator::carry_out_command(Cycle now) {  // (R9)
  const RegionCommand command = commands.pop(now);
  MptEntry region;
  region.key = raw(command.key);
  region.page_shift = command.page_shift;
  region.va = command.va;
  region.length = command.length;
  region.mtt_base = raw(command.mtt_base);
  invalidate(region);
  command_replies.push(now, begun_);
}

void AddressTranslator::forget_pages(std::uint64_t first, std::uint64_t last) {  // numbers of MTT lines
  if (last - first < mtt_.lines()) {
    for (std::uint64_t number = first; number <= last; ++number) {
      if (const std::uint32_t line = mtt_.find(number); line != SetCache::kNoLine) mtt_.drop(line);
    }
  } else {
    for (std::uint32_t line = 0; line < mtt_.lines(); ++line) {
      if (mtt_.in_use(line) && mtt_.key(line) >= first && mtt_.key(line) <= last) mtt_.drop(line);
    }
  }
  for (Walk& walk : walks_) {
    const std::uint64_t number = walk.address / kMttLineBytes;
    walk.stale |= walk.busy && walk.table == Table::kMtt && number >= first && number <= last;
  }
}

void AddressTranslator::forget_copies() {
  for (Lookup* at : {static_cast<Lookup*>(&main_), static_cast<Lookup*>(&gather_)})
    at->has_region = at->has_pages = false;
}

void AddressTranslator::invalidate(const MptEntry& region) {  // (R9)
  ++counters_.invalidations;
  const std::uint32_t line = mpt_.find(region.key >> 8);
  if (line != SetCache::kNoLine) mpt_.drop(line);
  const std::uint64_t address = raw(mpt_address(Key{region.key}));
  for (Walk& walk : walks_) walk.stale |= walk.busy && walk.table == Table::kMpt && walk.address == address;
  if (const std::uint64_t pages = mtt_entries(region); pages > 0) {
    forget_pages(region.mtt_base / kMttLineBytes, (region.mtt_base + 8 * pages - 1) / kMttLineBytes);
  }
  forget_copies();
}

}  // namespace rxnic
