// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/address_translator.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "model/types/syndrome.h"

namespace rxnic {

namespace {

// What the packet does names memory of ours by rkey.
bool is_remote(const Packet& p) {
  return p.role == PacketRole::kReceived && p.outcome != Outcome::kAnswer && p.op().access != 0;
}

bool does_something(const Packet& p) {  // (R6)
  if (p.role == PacketRole::kResponse) return p.outcome != Outcome::kNak && p.outcome != Outcome::kDrop;
  if (p.outcome == Outcome::kReplay) return !p.has(kAtomic);  // the saved result is the answer
  return p.outcome == Outcome::kExecute || p.outcome == Outcome::kAnswer;
}

std::uint8_t segment_rights(const Packet& p) {  // (R4, R5)
  return p.role == PacketRole::kResponse || is_remote(p) ? p.access : std::uint8_t{kLocalWrite};
}

}  // namespace

bool AddressTranslator::fail(Packet& p) {  // (R3, R5): true when it was a remote error
  if (p.role == PacketRole::kResponse) {
    p.fail(DropReason::kRemoteAccess, Outcome::kNak, kNakRemoteAccess, WcStatus::kRemoteAccess);
    return true;
  }
  if (!is_remote(p)) {
    refused_.fail_qp(p, DropReason::kLocalOperation, kNakRemoteOperation, WcStatus::kLocalProtection);
    return false;
  }
  if (p.qp->transport == Transport::kUc) {
    refused_.fail_message(p, DropReason::kRemoteAccess);
  } else {
    refused_.fail_qp(p, DropReason::kRemoteAccess, kNakRemoteAccess, WcStatus::kRemoteAccess);
  }
  return true;
}

AddressTranslator::AddressTranslator(const sc_core::sc_module_name& name, const AddressTranslatorParams& params,
                                     NicShared& shared)
    : Block(name),
      params_(params),
      shared_(shared),
      mpt_(params.mpt_sets, params.mpt_ways),
      mpt_lines_(mpt_.lines()),
      mtt_(params.mtt_sets, params.mtt_ways),
      mtt_lines_(mtt_.lines()),
      walks_(params.walks_in_flight),
      lanes_{Lane(in, out, params.hit_cycles + 1), Lane(gather_in, gather_out, params.hit_cycles + 1)} {
  for (std::uint32_t w = params.walks_in_flight; w-- > 0;) free_walks_.push_back(w);
}

Cycle AddressTranslator::step(Cycle now) {
  started_ = again_ = false;
  // (1) a line that came from memory goes into its cache and to whom waits for it
  if (dma_done.can_pop(now)) {
    const DmaCompletion done = dma_done.pop(now);
    fill(done.cookie, done.ok);
    again_ = dma_done.can_pop(now);
  }
  // (2) what is translated leaves
  const bool gathering = !lanes_[1].idle();
  const std::span<Lane> lanes(lanes_.data(), gathering ? 2 : 1);
  for (Lane& lane : lanes) leave(lane, now);
  // (3) the packets at the heads are taken and looked up
  for (Lane& lane : lanes) advance(lane, now);
  // (4) while a head waits, those behind it are looked at
  for (Lane& lane : lanes) look_ahead(lane, now);

  Lane& main = lanes_[0];
  main.in.listen(main.head != kNoPacket || !main.done.full());
  if (!gathering && !again_ && !main.done.empty() && main.last_done > now && main.out.full()) {
    const bool more = main.head == kNoPacket && !main.in.empty() && !main.done.full() && main.free_at > now;
    return rest(now, Activity::kBusy, main.last_done, Activity::kBlocked, more ? main.free_at : kNever);
  }
  Cycle next = kNever;
  const auto at = [&](Cycle c) {
    if (c > now && c < next) next = c;
  };
  bool busy = false, blocked = false, waiting = false;
  for (const Lane& lane : lanes) {
    at(lane.done.next_ready());
    if (!lane.done.empty()) at(lane.last_done);
    if (lane.head == kNoPacket && !lane.in.empty() && !lane.done.full()) at(lane.free_at);
    again_ |= lane.more_due;
    busy |= !lane.done.empty() && lane.last_done > now;
    blocked |= !lane.done.empty() && lane.last_done <= now;
    waiting |= lane.head != kNoPacket;
  }
  if (again_) next = now + 1;
  return rest(now,
              busy      ? Activity::kBusy
              : blocked ? Activity::kBlocked
              : waiting ? Activity::kWaitTranslation
                        : Activity::kStarved,
              next);
}

void AddressTranslator::fill(std::uint32_t index, bool ok) {  // (R2)
  Walk& walk = walks_[index];
  if (walk.table == Table::kMpt) {
    MptEntry entry;
    if (ok) std::memcpy(&entry, walk.data.data(), sizeof entry);
    const std::uint64_t number = (walk.address - raw(icm::kMpt)) / sizeof(MptEntry);
    // An entry that is not valid is not kept: the control plane would have to invalidate what it creates.
    if (!walk.stale && entry.valid != 0) {
      const std::uint32_t line = mpt_.place_for(number);
      mpt_.drop(line);
      mpt_.assign(line, number);
      mpt_lines_[line] = entry;
    }
    for (Lane& lane : lanes_) {
      if (lane.walk != index) continue;
      lane.walk = kNoWalk;
      if (walk.stale) continue;
      lane.missed = false;
      lane.has_region = true;
      lane.region_key = lane.wanted;
      lane.region = entry;
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
    for (Lane& lane : lanes_) {
      if (lane.walk != index) continue;
      lane.walk = kNoWalk;
      if (walk.stale) continue;
      lane.missed = false;
      lane.has_pages = true;
      lane.pages_ok = ok;
      lane.pages_address = walk.address;
      lane.pages = pages;
    }
  }
  walk.busy = false;
  free_walks_.push_back(index);
  for (Lane& lane : lanes_) lane.ahead = 0;
}

void AddressTranslator::leave(Lane& lane, Cycle now) {
  lane.more_due = false;
  if (!lane.done.ready(now) || !lane.out.can_push(now)) return;
  const PacketHandle h = lane.done.pop();
  if (&lane == lanes_.data()) {
    shared_.packets[h].stamp(Station::kAddressTranslator, now);
    ++counters_.packets;
  } else {
    ++counters_.gathers;
  }
  lane.out.push(now, h);
  lane.more_due = lane.done.ready(now) && !lane.out.full();
}

void AddressTranslator::advance(Lane& lane, Cycle now) {
  if (lane.head == kNoPacket) {
    if (now < lane.free_at || lane.done.full() || !lane.in.can_pop(now)) return;
    lane.head = lane.in.pop(now);
    if (lane.ahead > 0) --lane.ahead;
    Packet& p = shared_.packets[lane.head];
    refused_.squash_when_behind(p);
    lane.range_checked = lane.missed = lane.has_region = lane.has_pages = false;
    lane.segment = 0;
    lane.walk = kNoWalk;
  } else if (lane.walk != kNoWalk) {
    return;
  }
  Packet& p = shared_.packets[lane.head];
  std::uint64_t lookups = 1;  // of this cycle and those that follow (R1)
  if (does_something(p)) {
    if (p.segment_count > lane.segment) lookups = p.segment_count - lane.segment;
    const Found found = resolve(lane, p, now);
    if (found == Found::kWait) return;
    if (found == Found::kNowhere) {
      ++(fail(p) ? counters_.remote_errors : counters_.local_errors);
      refused_.report(refusals, now);
      lookups = 1;
    }
  }
  lane.free_at = now + lookups;
  lane.last_done = now + (lookups - 1 + params_.hit_cycles);
  lane.done.push(lane.head, lane.last_done);
  lane.head = kNoPacket;
}

AddressTranslator::Found AddressTranslator::resolve(Lane& lane, Packet& p, Cycle now) {
  const auto allowed = [&](Key key, std::uint8_t access, std::uint64_t va, std::uint64_t bytes) {
    return check_region(lane.region, key, p.pd, access, va, bytes) == RegionCheck::kOk;
  };
  if (!lane.range_checked && p.local_bytes > 0 && p.role == PacketRole::kReceived) {  // (R3)
    if (find_region(lane, p.local_key, now) == Found::kWait) return Found::kWait;
    const std::uint8_t access = is_remote(p) ? p.access : std::uint8_t{kLocalWrite};
    if (!allowed(p.local_key, access, p.local_va, p.local_bytes)) return Found::kNowhere;
    if (p.has(kAtomic) && p.outcome == Outcome::kExecute) {
      const Found found = find_bus(lane, p.local_va, now, p.segments[0].bus);
      if (found != Found::kYes) return found;
    }
  }
  lane.range_checked = true;
  const std::uint8_t access = segment_rights(p);
  for (; lane.segment < p.segment_count; ++lane.segment) {  // (R4)
    Segment& s = p.segments[lane.segment];
    if (find_region(lane, s.key, now) == Found::kWait) return Found::kWait;
    if (!allowed(s.key, access, s.va, s.bytes)) return Found::kNowhere;
    const Found found = find_bus(lane, s.va, now, s.bus);
    if (found != Found::kYes) return found;
  }
  return Found::kYes;
}

AddressTranslator::Found AddressTranslator::find_region(Lane& lane, Key key, Cycle now) {
  if (lane.has_region && lane.region_key == key) return Found::kYes;
  const std::uint32_t line = mpt_.find(raw(key) >> 8);
  if (line == SetCache::kNoLine) {
    counters_.mpt_misses += !lane.missed;
    lane.missed = true;
    lane.wanted = key;
    wait_for(lane, Table::kMpt, raw(mpt_address(key)), now);
    return Found::kWait;
  }
  counters_.mpt_hits += !lane.missed;
  lane.missed = false;
  mpt_.touch(line);
  lane.region = mpt_lines_[line];
  lane.region_key = key;
  lane.has_region = true;
  return Found::kYes;
}

AddressTranslator::Found AddressTranslator::find_bus(Lane& lane, std::uint64_t va, Cycle now, BusAddress& bus) {
  const std::uint64_t entry = mtt_entry_address(lane.region, va);
  const std::uint64_t line_address = entry - entry % kMttLineBytes;
  const std::uint64_t slot = entry % kMttLineBytes / 8;
  if (lane.has_pages && lane.pages_address == line_address) {
    if (!lane.pages_ok) return Found::kNowhere;
    bus = bus_address_in_page(lane.region, lane.pages[slot], va);
    return Found::kYes;
  }
  const std::uint32_t line = mtt_.find(line_address / kMttLineBytes);
  if (line == SetCache::kNoLine) {
    counters_.mtt_misses += !lane.missed;
    lane.missed = true;
    wait_for(lane, Table::kMtt, line_address, now);
    return Found::kWait;
  }
  counters_.mtt_hits += !lane.missed;
  lane.missed = false;
  mtt_.touch(line);
  bus = bus_address_in_page(lane.region, mtt_lines_[line][slot], va);
  return Found::kYes;
}

void AddressTranslator::wait_for(Lane& lane, Table table, std::uint64_t address, Cycle now) {
  lane.walk = pending(table, address);
  if (lane.walk == kNoWalk) lane.walk = start(table, address, now);
}

std::uint32_t AddressTranslator::pending(Table table, std::uint64_t address) const {
  for (std::uint32_t w = 0; w < walks_.size(); ++w) {
    const Walk& walk = walks_[w];
    if (walk.busy && !walk.stale && walk.table == table && walk.address == address) return w;
  }
  return kNoWalk;
}

// kNoWalk when none can be started now; then the link, a completion, or again_ leads here again.
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

void AddressTranslator::look_ahead(Lane& lane, Cycle now) {  // (R8)
  if (lane.head == kNoPacket) return;
  const PacketHandle* const h = lane.ahead == 0 ? &lane.head : lane.in.peek(now, lane.ahead - 1);
  if (h == nullptr || !read_ahead(shared_.packets[*h], now)) return;
  ++lane.ahead;
  if (lane.in.peek(now, lane.ahead - 1) != nullptr) again_ = true;
}

// True when all that it lacks is there or on its way, as far as is known.
bool AddressTranslator::read_ahead(const Packet& p, Cycle now) {
  if (!does_something(p)) return true;
  if (p.local_bytes > 0 && p.role == PacketRole::kReceived) {
    const bool needs_page = p.has(kAtomic) && p.outcome == Outcome::kExecute;
    if (!read_ahead(p.local_key, needs_page ? &p.local_va : nullptr, now)) return false;
  }
  return std::all_of(p.segments.begin(), p.segments.begin() + p.segment_count,
                     [&](const Segment& s) { return read_ahead(s.key, &s.va, now); });
}

bool AddressTranslator::read_ahead(Key key, const std::uint64_t* va, Cycle now) {
  Table table = Table::kMpt;
  std::uint64_t address = raw(mpt_address(key));
  const std::uint32_t line = mpt_.find(raw(key) >> 8);
  if (line != SetCache::kNoLine) {
    const MptEntry& region = mpt_lines_[line];
    if (va == nullptr || check_region(region, key, Pdn{region.pd}, 0, *va, 0) != RegionCheck::kOk) return true;
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

AddressTranslator::Translated AddressTranslator::translated() const {
  const auto inside = [](const Lane& lane) { return lane.done.size() + (lane.head != kNoPacket); };
  return {counters_.packets + inside(lanes_[0]), counters_.gathers + inside(lanes_[1])};
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
  for (Lane& lane : lanes_) lane.has_region = lane.has_pages = false;
  wake();
}

void AddressTranslator::hash(StateHash& h) const { h.mix(counters_); }

}  // namespace rxnic
