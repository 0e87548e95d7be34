// SPDX-License-Identifier: Apache-2.0
// Forgetting what is cached of a region (R9 of address_translator.h).
#include "model/blocks/address_translator.h"

namespace rxnic {

AddressTranslator::Translated AddressTranslator::translated() const { return begun_; }

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
  wake();
}

void AddressTranslator::invalidate(Key key) {  // (R9)
  const std::uint32_t line = mpt_.find(raw(key) >> 8);
  if (line != SetCache::kNoLine) {
    invalidate(MptEntry{mpt_lines_[line]});
    return;
  }
  MptEntry unknown;
  unknown.key = raw(key);
  forget_pages(0, ~std::uint64_t{0});
  invalidate(unknown);
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
