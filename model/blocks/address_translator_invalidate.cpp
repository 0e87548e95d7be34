// SPDX-License-Identifier: Apache-2.0
// Invalidating a region: for a SEND WITH INVALIDATE, and what is cached of it for a command (R9, R10 of
// address_translator.h).
#include <cstddef>

#include "model/blocks/address_translator.h"

namespace rxnic {

namespace {
constexpr std::uint64_t kMttLines = ~std::uint64_t{0} / kMttLineBytes;
}

AddressTranslator::Found AddressTranslator::invalidate_key(Lookup& at, ScatteredSegment& s, Cycle now) {  // (R9)
  const Key key{s.immediate};
  if (find_region(at, key, now) == Found::kWait) return Found::kWait;
  if (!may_invalidate(at.region, key, {s.pd, s.qpn})) {
    ++counters_.refused_invalidations;
    refused_.fail_qp(s, DropReason::kInvalidation, 0, WcStatus::kRemoteInvalidRequest);
    s.acknowledge = false;
    refused_.report(refusals, now);
    return Found::kYes;
  }
  again_ |= started_;
  if (started_ || !dma.can_push(now)) return Found::kWait;
  started_ = true;
  ++counters_.remote_invalidations;
  DmaRequest request;
  request.kind = DmaKind::kWrite;
  request.address = mpt_address(key) + offsetof(MptEntry, invalidated);
  request.bytes = sizeof(MptEntry::invalidated);
  request.data = &one_;
  dma.push(now, request);
  forget_entry(key);
  forget_copies();
  return Found::kYes;
}

void AddressTranslator::carry_out_command(Cycle now) {  // (R10)
  const RegionCommand command = commands.pop(now);
  MptEntry region;
  region.key = raw(command.key);
  region.page_shift = command.page_shift;
  region.va = command.va;
  region.length = command.length;
  region.mtt_base = raw(command.mtt_base);
  region.levels = command.levels;
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
    at->has_region = at->has_pages = at->steps = false;
}

void AddressTranslator::forget_entry(Key key) {
  const std::uint32_t line = mpt_.find(raw(key) >> 8);
  if (line != SetCache::kNoLine) mpt_.drop(line);
  for (Walk& walk : walks_) {
    walk.stale |= walk.busy && walk.table == Table::kMpt && walk.address == raw(mpt_address(key));
  }
}

void AddressTranslator::invalidate(const MptEntry& region) {  // (R10)
  ++counters_.invalidations;
  forget_entry(Key{region.key});
  if (region.levels != 0) {  // its tables may be anywhere
    forget_pages(0, kMttLines);
  } else if (const std::uint64_t pages = mtt_entries(region); pages > 0) {
    forget_pages(region.mtt_base / kMttLineBytes, (region.mtt_base + 8 * pages - 1) / kMttLineBytes);
  }
  forget_copies();
}

}  // namespace rxnic
