// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/address_translator.h"

#include "model/types/syndrome.h"

namespace rxnic {

namespace {

// The packet names memory of ours by rkey.
bool is_remote(const ScatteredSegment& p) {
  return p.role == PacketRole::kReceived && p.outcome != Outcome::kAnswer && p.op().access != 0;
}

bool does_something(const ScatteredSegment& p) {                         // (R6)
  if (p.outcome == Outcome::kReplay) return !p.has(kAtomic | kFlushes);  // it gets the saved result
  return p.outcome == Outcome::kExecute || p.outcome == Outcome::kAnswer;
}

bool has_range(const ScatteredSegment& p) {
  return p.first && p.local_bytes > 0 && p.role == PacketRole::kReceived && !p.has(kSend);
}
bool invalidates(const ScatteredSegment& p) {
  return p.last && p.completes && p.outcome == Outcome::kExecute && p.has(kHasIeth);
}
bool needs_bus(const ScatteredSegment& p) { return p.has(kAtomic | kFlushes) && p.outcome == Outcome::kExecute; }
std::uint8_t rights(const ScatteredSegment& p) { return is_remote(p) ? p.access : std::uint8_t{kLocalWrite}; }

// The output of a lane for a segment: the part that is passed on unchanged, and the result.
const CompletionRequest& carried_on(const ScatteredSegment& s) { return s; }
GatherRead carried_on(const GatherSegment&) { return {}; }
void write_result(SegmentWrite& w, const ScatteredSegment& s, bool, BusAddress bus) {
  w.last = s.last;
  w.area = s.area;
  w.offset = s.offset;
  w.bytes = s.bytes;
  w.address = bus;
}
void write_result(GatherRead& r, const GatherSegment& s, bool found, BusAddress bus) {
  r = {s.buffer, s.last, s.offset, s.bytes, bus, !found};
}

}  // namespace

struct AddressTranslator::Rest {
  Cycle next = kNever;
  bool busy = false, blocked = false, waiting = false, page = false;
  void at(Cycle now, Cycle c) {
    if (c > now && c < next) next = c;
  }
};

AddressTranslator::AddressTranslator(const sc_core::sc_module_name& name, const AddressTranslatorParams& params,
                                     PacketStamps stamps, WqeErrorStatus wqe_error, std::unique_ptr<Replacement> mpt,
                                     std::unique_ptr<Replacement> mtt)
    : AddressTranslatorPorts(name),
      params_(params),
      stamps_(stamps),
      bad_receive_(wqe_error == WqeErrorStatus::kLocProt ? WcStatus::kLocalProtection : WcStatus::kLocalQpOperation),
      mpt_(params.mpt_sets, params.mpt_ways, std::move(mpt)),
      mpt_lines_(mpt_.lines()),
      mtt_(params.mtt_sets, params.mtt_ways, std::move(mtt)),
      mtt_lines_(mtt_.lines()),
      walks_(params.walks_in_flight),
      main_(in, out, params.hit_cycles + 1),
      gather_(gather_in, gather_out, params.hit_cycles + 1) {
  for (std::uint32_t w = params.walks_in_flight; w-- > 0;) free_walks_.push_back(w);
}

Cycle AddressTranslator::step(Cycle now) {
  started_ = again_ = false;
  // (1) a command; an entry that came from memory goes into its cache and to the segments that wait for it
  if (commands.can_pop(now)) carry_out_command(now);
  if (page_replies.can_pop(now)) take_page_reply(now);
  if (dma_done.can_pop(now)) {
    const DmaCompletion done = dma_done.pop(now);
    fill(done.cookie, done.ok);
    again_ = dma_done.can_pop(now);
  }
  // (2) translated segments leave
  const bool gathering = !gather_.idle(now);
  leave(main_, now);
  if (gathering) leave(gather_, now);
  // (3) the segments at the heads are taken and looked up
  advance(main_, now);
  if (gathering) advance(gather_, now);
  // (4) while a head waits, those behind it are looked at
  look_ahead(main_, now);
  if (gathering) look_ahead(gather_, now);

  in.listen(main_.has_head || !main_.done.full());
  if (!gathering && !again_ && !main_.done.empty() && main_.last_done > now && out.full()) {
    const bool more = !main_.has_head && !in.empty() && !main_.done.full() && main_.free_at > now;
    return rest(now, Activity::kBusy, main_.last_done, Activity::kBlocked, more ? main_.free_at : kNever);
  }
  Rest all;
  add_to(all, main_, now);
  if (gathering) {
    add_to(all, gather_, now);
    all.at(now, main_.last_done);
    all.at(now, gather_.last_done);
  }
  const Cycle next = again_ ? now + 1 : all.next;
  const Activity idle = all.page ? Activity::kWaitPage : all.waiting ? Activity::kWaitTranslation : Activity::kStarved;
  if (!gathering && main_.done.empty() && now < main_.last_done) {
    return rest(now, Activity::kBusy, main_.last_done, idle, next);
  }
  return rest(now, all.busy ? Activity::kBusy : all.blocked ? Activity::kBlocked : idle, next);
}

template <class From, class To>
void AddressTranslator::add_to(Rest& rest, const Lane<From, To>& lane, Cycle now) {
  rest.at(now, lane.done.next_ready());
  if (!lane.done.empty()) rest.at(now, lane.last_done);
  if (!lane.has_head && !lane.done.full()) rest.at(now, latest(lane.free_at, lane.in.next(now)));
  again_ |= lane.more_due;
  rest.busy |= lane.last_done > now;
  rest.blocked |= !lane.done.empty() && lane.last_done <= now;
  rest.waiting |= lane.has_head;
  rest.page |= lane.page_request != 0;
}

template <class From, class To>
void AddressTranslator::leave(Lane<From, To>& lane, Cycle now) {
  lane.more_due = false;
  if (!lane.done.ready(now) || !lane.out.can_push(now)) return;
  count(lane.done.front(), now);
  lane.out.push(now, lane.done.front());
  lane.done.drop();
  lane.more_due = lane.done.ready(now) && !lane.out.full();
}

void AddressTranslator::count(const SegmentWrite& s, Cycle leaves) {
  if (!s.last) return;
  stamps_.stamp(s.buffer, Station::kAddressTranslator, leaves);
  ++counters_.packets;
}

void AddressTranslator::count(const GatherRead& r, Cycle) { counters_.gathers += r.last; }

template <class From, class To>
void AddressTranslator::advance(Lane<From, To>& lane, Cycle now) {
  if (!lane.has_head) {
    if (now < lane.free_at || lane.done.full() || !lane.in.can_pop(now)) return;
    lane.head = *lane.in.peek(now);
    lane.in.drop(now);
    if (lane.ahead > 0) --lane.ahead;
    lane.free_at = now + 1;
    if (!take(lane.head, now)) return;
    lane.has_head = true;
    lane.range_checked = lane.found = lane.missed = lane.has_region = lane.has_pages = false;
    lane.steps = lane.no_page = false;
    lane.beyond = 0;
    lane.walk = kNoWalk;
  } else if (lane.walk != kNoWalk || lane.page_request != 0 || lane.done.full()) {
    return;
  }
  BusAddress bus{};
  const Found found = resolve(lane, lane.head, now, bus);
  if (found == Found::kWait) return;
  if (found == Found::kNowhere && lane.beyond > 0) {
    lane.head.last = lane.beyond_last;
    lane.beyond = 0;
  }
  lane.free_at = now + 1;
  lane.last_done = now + params_.hit_cycles;
  const bool right = settle(lane.head, found == Found::kYes, now);
  const auto fill = [&](To& to) { write_result(to, lane.head, right, bus); };
  const auto& base = carried_on(lane.head);
  if (lane.done.empty() && lane.out.can_send(now, lane.last_done)) {
    lane.out.send(now, lane.last_done, base, [&](To& to) {
      fill(to);
      count(to, lane.last_done);
    });
  } else {
    lane.done.push(base, lane.last_done, fill);
  }
  lane.has_head = goes_on(lane);
}

// The part of the segment that lies in the page of its first byte; the rest is for goes_on(). (R4)
template <class Segment>
void AddressTranslator::cut_at_page(Lookup& at, Segment& s) {
  if (at.region.paged_offset == 0) return;  // segments lie within pages of the region's addresses
  const std::uint64_t page_bytes = std::uint64_t{1} << at.region.page_shift;
  const std::uint64_t here = page_bytes - ((s.va + at.region.paged_offset) & (page_bytes - 1));
  if (s.bytes <= here) return;
  at.beyond = s.bytes - static_cast<std::uint32_t>(here);
  at.beyond_last = s.last;
  s.bytes = static_cast<std::uint32_t>(here);
  s.last = false;
}

template <class From, class To>
bool AddressTranslator::goes_on(Lane<From, To>& lane) {
  if (lane.beyond == 0) return false;
  From& s = lane.head;
  s.va += s.bytes;
  s.offset = static_cast<std::uint16_t>(s.offset + s.bytes);
  s.bytes = lane.beyond;
  s.last = lane.beyond_last;
  begin_part(s);
  lane.beyond = 0;
  lane.found = lane.missed = false;
  return again_ = true;
}

// False when the segment ends here: its packet has failed and gone on without it. (R4)
bool AddressTranslator::take(ScatteredSegment& s, Cycle now) {
  if (swallows_) {
    swallows_ = !s.last;
    return false;
  }
  stamps_.stamp_taken(s.buffer, Station::kAddressTranslator, now);
  refused_.squash_when_behind(s);
  if (!does_something(s)) s.bytes = 0;
  begun_.packets += s.first;
  return true;
}

bool AddressTranslator::take(GatherSegment&, Cycle) {
  ++begun_.gathers;
  return true;
}

AddressTranslator::Found AddressTranslator::resolve(Lookup& at, ScatteredSegment& s, Cycle now, BusAddress& bus) {
  if (!does_something(s)) return Found::kYes;
  if (!at.found) {
    const Found found = find_bytes(at, s, now);
    if (found != Found::kYes) return found;
    at.found = true;
  }
  bus = at.bus;
  return invalidates(s) ? invalidate_key(at, s, now) : Found::kYes;
}

inline AddressTranslator::Found AddressTranslator::find_bytes(Lookup& at, ScatteredSegment& s, Cycle now) {
  const auto allowed = [&](Key key, std::uint64_t va, std::uint64_t bytes) {
    return check_region(at.region, key, {s.pd, s.qpn}, rights(s), va, bytes) == RegionCheck::kOk;
  };
  if (!at.range_checked && has_range(s)) {  // (R3)
    if (find_region(at, s.local_key, now) == Found::kWait) return Found::kWait;
    if (!allowed(s.local_key, s.local_va, s.local_bytes)) return Found::kNowhere;
    if (needs_bus(s)) {
      const bool aligned = at.region.paged_offset % kAtomicBytes == 0;
      if (s.has(kAtomic) && !aligned) return Found::kNowhere;
      const Found found = find_bus(at, s.local_va, now, s.bus);
      if (found != Found::kYes) return found;
    }
  }
  at.range_checked = true;
  if (s.bytes == 0) return Found::kYes;
  if (find_region(at, s.key, now) == Found::kWait) return Found::kWait;  // (R4)
  if (!allowed(s.key, s.va, s.bytes)) return Found::kNowhere;
  if (at.region.kind == MemoryKind::kNull) {  // (R12)
    counters_.null_bytes += s.bytes;
    s.bytes = 0;
    return Found::kYes;
  }
  cut_at_page(at, s);
  return find_bus(at, s.va, now, at.bus);
}

AddressTranslator::Found AddressTranslator::resolve(Lookup& at, GatherSegment& s, Cycle now, BusAddress& bus) {
  if (find_region(at, s.key, now) == Found::kWait) return Found::kWait;
  const Accessor by{s.pd, s.qpn};
  if (check_region(at.region, s.key, by, kRemoteRead, s.va, s.bytes) != RegionCheck::kOk) return Found::kNowhere;
  cut_at_page(at, s);
  return find_bus(at, s.va, now, bus);
}

// Applies the result of its lookups to the segment: false when its bytes are not to be moved.
bool AddressTranslator::settle(ScatteredSegment& s, bool found, Cycle now) {
  if (found) return true;
  ++(fail(s) ? counters_.remote_errors : counters_.local_errors);
  refused_.report(refusals, now);
  swallows_ = !s.last;
  s.last = true;
  s.bytes = 0;
  return false;
}

bool AddressTranslator::settle(GatherSegment& s, bool found, Cycle) {  // (R5)
  counters_.remote_errors += !found && !gather_failed_;
  gather_failed_ = !s.last && (gather_failed_ || !found);
  return found;
}

bool AddressTranslator::fail(ScatteredSegment& p) {  // (R3, R4): true when it was a remote error
  if (!is_remote(p)) {
    const WcStatus status = p.has(kRequest) ? bad_receive_ : WcStatus::kLocalProtection;
    refused_.fail_qp(p, DropReason::kLocalOperation, kNakRemoteOperation, status);
    return false;
  }
  if (p.transport == Transport::kUc) {
    refused_.fail_message(p, DropReason::kRemoteAccess);
  } else {
    refused_.fail_qp(p, DropReason::kRemoteAccess, kNakRemoteAccess, WcStatus::kRemoteAccess);
  }
  return true;
}

AddressTranslator::Found AddressTranslator::find_region(Lookup& at, Key key, Cycle now) {
  if (at.has_region && at.region_key == key) return Found::kYes;
  const std::uint32_t line = mpt_.find(raw(key) >> 8);
  if (line == SetCache::kNoLine) {
    counters_.mpt_misses += !at.missed;
    at.missed = true;
    at.wanted = key;
    wait_for(at, Table::kMpt, raw(mpt_address(key)), now);
    return Found::kWait;
  }
  counters_.mpt_hits += !at.missed;
  at.missed = false;
  mpt_.touch(line);
  at.region = mpt_lines_[line];
  at.region_key = key;
  at.has_region = true;
  return Found::kYes;
}

AddressTranslator::Found AddressTranslator::find_bus(Lookup& at, std::uint64_t va, Cycle now, BusAddress& bus) {
  if (at.no_page) {
    at.no_page = at.steps = false;
    return Found::kNowhere;
  }
  if (!at.steps) at.step = first_step(at.region);
  at.steps = true;
  const std::uint64_t address = entry_address(at.region, at.step, va);
  std::uint64_t entry = 0;
  if (const Found found = find_entry(at, address, now, entry); found != Found::kYes) return found;
  if (at.region.on_demand != 0 && (entry & kAbsentPage) != 0) return ask_for_page(at, address, va, now);
  if (!is_last(at.region, at.step)) {
    at.step = {entry, static_cast<std::uint8_t>(at.step.level + 1)};
    again_ = true;
    return Found::kWait;
  }
  at.steps = false;
  bus = bus_address_in_page(at.region, entry, va);
  return Found::kYes;
}

inline AddressTranslator::Found AddressTranslator::find_entry(Lookup& at, std::uint64_t address, Cycle now,
                                                              std::uint64_t& entry) {
  const std::uint64_t line_address = address - address % kMttLineBytes;
  const std::uint64_t slot = address % kMttLineBytes / 8;
  if (at.has_pages && at.pages_address == line_address) {
    entry = at.pages[slot];
    return at.pages_ok ? Found::kYes : Found::kNowhere;
  }
  const std::uint32_t line = mtt_.find(line_address / kMttLineBytes);
  if (line == SetCache::kNoLine) {
    counters_.mtt_misses += !at.missed;
    at.missed = true;
    wait_for(at, Table::kMtt, line_address, now);
    return Found::kWait;
  }
  counters_.mtt_hits += !at.missed;
  at.missed = false;
  mtt_.touch(line);
  entry = mtt_lines_[line][slot];
  return Found::kYes;
}

template <class From, class To>
void AddressTranslator::look_ahead(Lane<From, To>& lane, Cycle now) {  // (R8)
  if (!lane.has_head || lane.page_request != 0) return;
  const From* const next = lane.ahead == 0 ? &lane.head : lane.in.peek(now, lane.ahead - 1);
  if (next == nullptr || !read_ahead(*next, now)) return;
  ++lane.ahead;
  if (lane.in.peek(now, lane.ahead - 1) != nullptr) again_ = true;
}

// True when the entries that it needs are cached or being read, as far as they are known.
bool AddressTranslator::read_ahead(const ScatteredSegment& s, Cycle now) {
  if (!does_something(s)) return true;
  if (has_range(s) && !read_ahead(s.local_key, needs_bus(s) ? &s.local_va : nullptr, now)) return false;
  if (s.bytes > 0 && !read_ahead(s.key, &s.va, now)) return false;
  return !invalidates(s) || read_ahead(Key{s.immediate}, nullptr, now);
}

bool AddressTranslator::read_ahead(const GatherSegment& s, Cycle now) { return read_ahead(s.key, &s.va, now); }

void AddressTranslator::hash(StateHash& h) const { h.mix(counters_); }

}  // namespace rxnic
