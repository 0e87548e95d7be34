// SPDX-License-Identifier: Apache-2.0
// Reads of MPT entries and MTT lines from host memory, and requests for absent pages (R2, R8, R11 of
// address_translator.h).
#include <cstring>

#include "model/blocks/address_translator.h"

namespace rxnic {

namespace {
constexpr std::uint32_t kMostPageRequests = 0xffffff;  // their numbers have 24 bits
}

void AddressTranslator::fill(std::uint32_t index, bool ok) {  // (R2)
  Walk& walk = walks_[index];
  if (walk.table == Table::kMpt) {
    MptEntry entry;
    if (ok) std::memcpy(&entry, walk.data.data(), sizeof entry);
    const std::uint64_t number = (walk.address - raw(icm::kMpt)) / sizeof(MptEntry);
    // An entry that is not valid is not cached: otherwise the control plane had to invalidate it to create the region.
    if (!walk.stale && entry.valid != 0) {
      const std::uint32_t line = mpt_.place_for(number);
      mpt_.drop(line);
      mpt_.assign(line, number);
      mpt_lines_[line] = entry;
    }
    for (Lookup* at : {static_cast<Lookup*>(&main_), static_cast<Lookup*>(&gather_)}) {
      if (at->walk == index) fill_region(*at, walk, entry);
    }
  } else {
    PageLine pages{};
    if (ok) std::memcpy(pages.data(), walk.data.data(), sizeof pages);
    if (!walk.stale && ok) {
      const std::uint64_t number = walk.address / kMttLineBytes;
      const std::uint32_t line = mtt_.place_for(number);
      mtt_.drop(line);
      mtt_.assign(line, number);
      mtt_lines_[line] = pages;
    }
    for (Lookup* at : {static_cast<Lookup*>(&main_), static_cast<Lookup*>(&gather_)}) {
      if (at->walk == index) fill_pages(*at, walk, pages, ok);
    }
  }
  walk.busy = false;
  free_walks_.push_back(index);
  main_.ahead = gather_.ahead = 0;
}

void AddressTranslator::fill_region(Lookup& at, const Walk& walk, const MptEntry& entry) {
  at.walk = kNoWalk;
  if (walk.stale) return;
  at.missed = false;
  at.has_region = true;
  at.region_key = at.wanted;
  at.region = entry;
}

void AddressTranslator::fill_pages(Lookup& at, const Walk& walk, const PageLine& pages, bool ok) {
  at.walk = kNoWalk;
  if (walk.stale) return;
  at.missed = false;
  at.has_pages = true;
  at.pages_ok = ok;
  at.pages_address = walk.address;
  at.pages = pages;
}

void AddressTranslator::wait_for(Lookup& at, Table table, std::uint64_t address, Cycle now) {
  at.walk = pending(table, address);
  if (at.walk == kNoWalk) at.walk = start(table, address, now);
}

std::uint32_t AddressTranslator::pending(Table table, std::uint64_t address) const {
  for (std::uint32_t w = 0; w < walks_.size(); ++w) {
    const Walk& walk = walks_[w];
    if (walk.busy && !walk.stale && walk.table == table && walk.address == address) return w;
  }
  return kNoWalk;
}

// kNoWalk when none can be started now; then the link, a read completion or again_ has it tried again.
std::uint32_t AddressTranslator::start(Table table, std::uint64_t address, Cycle now) {
  if (started_) {
    again_ = true;
    return kNoWalk;
  }
  if (free_walks_.empty() || !dma.can_push(now)) return kNoWalk;
  const std::uint32_t index = free_walks_.back();
  free_walks_.pop_back();
  Walk& walk = walks_[index];
  walk.address = address;
  walk.table = table;
  walk.busy = true;
  walk.stale = false;
  DmaRequest request;
  request.cookie = index;
  request.address = BusAddress{address};
  request.bytes = static_cast<std::uint32_t>(walk.data.size());
  request.data = walk.data.data();
  dma.push(now, request);
  started_ = true;
  ++counters_.walks;
  return index;
}

// Absent pages. (R11)

AddressTranslator::Found AddressTranslator::ask_for_page(Lookup& at, std::uint64_t entry, std::uint64_t va, Cycle now) {
  if (!page_requests.can_push(now)) return Found::kWait;
  last_page_request_ = last_page_request_ % kMostPageRequests + 1;
  at.page_request = last_page_request_;
  at.absent = entry / kMttLineBytes;
  at.asked = now;
  const MissingPage page = missing_page(at.region, va);
  page_requests.push(now, {EventType::kPageRequest, at.page_request, page.key, page.va});
  ++counters_.page_requests;
  return Found::kWait;
}

void AddressTranslator::take_page_reply(Cycle now) {
  const Doorbell reply = page_replies.pop(now);
  for (Lookup* at : {static_cast<Lookup*>(&main_), static_cast<Lookup*>(&gather_)}) {
    if (at->page_request == 0 || at->page_request != reply.number) continue;
    forget_pages(at->absent, at->absent);
    counters_.page_wait_cycles += now.count - at->asked.count;
    at->page_request = 0;
    at->no_page = reply.value != 0;
    at->has_pages = at->steps = false;
  }
}

bool AddressTranslator::read_ahead(Key key, const std::uint64_t* va, Cycle now) {
  Table table = Table::kMpt;
  std::uint64_t address = raw(mpt_address(key));
  const std::uint32_t line = mpt_.find(raw(key) >> 8);
  if (line != SetCache::kNoLine) {
    const MptEntry& region = mpt_lines_[line];
    if (va == nullptr || check_region(region, key, {Pdn{region.pd}, region.window_qp}, 0, *va, 0) != RegionCheck::kOk)
      return true;
    if (region.levels != 0 || region.kind == MemoryKind::kNull) return true;
    table = Table::kMtt;
    address = mtt_entry_address(region, *va);
    address -= address % kMttLineBytes;
    if (mtt_.find(address / kMttLineBytes) != SetCache::kNoLine) return true;
  }
  if (pending(table, address) != kNoWalk) return true;
  if (start(table, address, now) == kNoWalk) return false;
  ++counters_.walks_ahead;
  return true;
}

}  // namespace rxnic
