// SPDX-License-Identifier: Apache-2.0
// The overflow of the tag lists in memory: bursts that are read, what their bytes decide, and what is written.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "model/blocks/tag_match_cam.h"

namespace rxnic {

BusAddress TagMatchCam::address(WqId srq, const List& list, std::uint64_t position) const {
  const std::uint64_t slot = std::uint64_t{raw(srq)} * list.overflow.slots() + list.overflow.slot(position);
  return icm::kTagOverflow + slot * sizeof(TagOverflowEntry);
}

// Precondition: can_ask().
void TagMatchCam::write(Cycle now, BusAddress to, const StoredTag& entry) {
  request_write(now, entry, to, 0, static_cast<std::uint32_t>(sizeof(TagOverflowEntry)));
  ++counters_.list_writes;
}

// Marks an entry as dead. (R8)
void TagMatchCam::bury(Cycle now, WqId srq, const List& list, std::uint64_t position) {
  constexpr auto kAt = static_cast<std::uint32_t>(offsetof(StoredTag, live));
  request_write(now, {}, address(srq, list, position), kAt, sizeof StoredTag::live);
  ++counters_.list_writes;
}

// Writes `bytes` of the entry at `to`, those from byte `from` on.
void TagMatchCam::request_write(Cycle now, const StoredTag& entry, BusAddress to, std::uint32_t from,
                                std::uint32_t bytes) {
  written.write(now, {next_leaving_, entry});
  DmaRequest request;
  request.kind = DmaKind::kWrite;
  request.cookie = next_leaving_;
  request.address = to + from;
  request.bytes = bytes;
  request.data = leaving(next_leaving_, from);
  dma.push(now, request);
  asked_ = true;
  if (++next_leaving_ == leaving_.entries.size()) next_leaving_ = 0;
}

// A request of RTL: the cookie says where its bytes are. A request that names no place has the bytes of the first.
void TagMatchCam::complete(const sc_core::sc_object& port, void* value) {
  if (&port != &face_->dma) return;
  auto& request = *static_cast<DmaRequest*>(value);
  const auto from = static_cast<std::uint32_t>(raw(request.address) % sizeof(TagOverflowEntry));
  const bool writes = request.kind == DmaKind::kWrite;
  const std::size_t places = writes ? leaving_.entries.size() : bursts_.size();
  const std::uint32_t place = request.cookie < places ? request.cookie : 0;
  request.data = writes ? leaving(place, from) : fetched(place);
  request.bytes = std::min(request.bytes, static_cast<std::uint32_t>(sizeof(TagOverflowEntry)) *
                                                  (writes ? 1 : params_.overflow_entries_per_read) -
                                              (writes ? from : 0));
}

bool TagMatchCam::read_overflow(Cycle now) {
  if (spilled_.empty()) return false;
  if (bursts_used_ == bursts_.size() || !can_ask(now)) return false;
  if (job_.kind == JobKind::kNone) {
    const bool waits = !returns_.empty() || operation_waits_;
    if (!waits && room() > 0) return !compacting() && read_for_cam(now);
    return bursts_used_ == 0 && compact(now, waits);
  }
  List* const list = find(job_.list);
  if (list == nullptr || !job_.reads || job_.decided || bursts_used_ > 0) return false;
  const std::uint32_t n = list->overflow.burst(job_.position, params_.overflow_entries_per_read);
  if (job_.kind == JobKind::kSearch) {
    counters_.walks += !job_.walked;
    ++counters_.walk_reads;
  } else {
    ++counters_.list_reads;
  }
  job_.walked = true;
  read(now, job_.list, *list, job_.position, n, BurstKind::kJob);
  return true;
}

bool TagMatchCam::read_for_cam(Cycle now) {  // (R6)
  std::size_t turn = refill_turn_;
  for (std::size_t tried = 0; tried < spilled_.size(); ++tried) {
    if (turn >= spilled_.size()) turn = 0;
    const WqId srq = spilled_[turn++];
    List& list = *lists_[raw(srq)];
    const std::uint64_t from = list.overflow.unread();
    if (list.failed || from == list.overflow.tail()) continue;
    const std::uint32_t n = list.overflow.burst(from, std::min(room(), params_.overflow_entries_per_read));
    list.overflow.set_unread(from + n);
    cam_reserved_ += n;
    refill_turn_ = turn;
    ++counters_.refill_reads;
    read(now, srq, list, from, n, BurstKind::kRefill);
    return true;
  }
  return false;
}

// The next read of a list that is to be compacted; `urgent`: only of one all of whose slots are in use. (R8)
bool TagMatchCam::compact(Cycle now, bool urgent) {
  for (const WqId srq : spilled_) {
    List& list = *lists_[raw(srq)];
    if (list.failed || (urgent && !list.overflow.full())) continue;
    if (!list.overflow.sparse(list.tags.in_overflow(), params_.overflow_entries_per_read)) continue;
    list.overflow.begin_compaction();
    const std::uint64_t from = list.overflow.gap_end();
    ++counters_.list_reads;
    read(now, srq, list, from, list.overflow.burst(from, params_.overflow_entries_per_read), BurstKind::kCompaction);
    return true;
  }
  return false;
}

void TagMatchCam::read(Cycle now, WqId srq, List& list, std::uint64_t position, std::uint32_t entries, BurstKind kind) {
  const auto n = static_cast<std::uint32_t>((first_burst_ + bursts_used_++) % bursts_.size());
  bursts_[n] = {srq, list.generation, kind, false, entries, position, 0};
  ++list.in_flight;
  DmaRequest request;
  request.cookie = n;
  request.address = address(srq, list, position);
  request.bytes = entries * static_cast<std::uint32_t>(sizeof(TagOverflowEntry));
  request.data = fetched(n);
  dma.push(now, request);
  asked_ = true;
}

const StoredTag* TagMatchCam::Fetched::read(const TagBurstRead& at, std::uint32_t& words) const {
  const std::size_t n = std::size_t{at.burst} * in_burst + at.entry;
  words = n < entries.size() ? 1 : 0;
  return words == 0 ? nullptr : &entries[n];
}

// The next entry that is to be looked at is read. (R6)
void TagMatchCam::fetch_entry(Cycle now) {
  if (at_hand_ || bursts_landed_ == 0) return;
  bursts.note(now, {static_cast<std::uint8_t>(first_burst_), static_cast<std::uint8_t>(bursts_[first_burst_].next)});
  at_hand_ = true;
}

// Looks at the entry at hand. (R6)
bool TagMatchCam::look(Cycle now) {
  if (!at_hand_ || now < cam_free_) return false;
  Burst& burst = bursts_[first_burst_];
  List* list = find(burst.list);
  if (list != nullptr && list->generation != burst.generation) list = nullptr;
  if (list == nullptr || list->failed) {
    if (list != nullptr) --list->in_flight;
    drop_burst();
    if (list != nullptr) tidy(burst.list, *list);
    return true;
  }
  const bool may_write = burst.kind != BurstKind::kRefill || job_.list == burst.list;
  if (may_write && !can_ask(now)) return false;
  if (!burst.ok) {
    fail(burst.list, *list);
  } else {
    look_at(*list, burst,
            *bursts.peek({static_cast<std::uint8_t>(first_burst_), static_cast<std::uint8_t>(burst.next)}), now);
  }
  at_hand_ = false;
  ++burst.next;
  burst.position += 1;
  if (burst.kind == BurstKind::kRefill) --cam_reserved_;
  const bool ends = burst.done() || list->failed || (burst.kind == BurstKind::kJob && job_.decided);
  if (!ends) return true;
  if (!list->failed) end_burst(*list, burst);
  --list->in_flight;
  drop_burst();
  tidy(burst.list, *list);
  return true;
}

// The rest of the oldest burst is not looked at.
void TagMatchCam::drop_burst() {
  const Burst& burst = bursts_[first_burst_];
  if (burst.kind == BurstKind::kRefill) cam_reserved_ -= burst.entries - burst.next;
  first_burst_ = static_cast<std::uint32_t>((first_burst_ + 1) % bursts_.size());
  --bursts_used_;
  --bursts_landed_;
  at_hand_ = false;
}

// What the bytes of an entry decide: a match, a removal, and what moves into the CAM. (R6, R7, R8)
void TagMatchCam::look_at(List& list, const Burst& burst, const StoredTag& e, Cycle now) {
  if (burst.kind == BurstKind::kCompaction) return compact_entry(list, burst, e, now);
  if (burst.kind == BurstKind::kJob && job_.kind == JobKind::kPutBack) return put_back_between(list, burst, e, now);
  TagOverflow& overflow = list.overflow;
  const bool first = burst.position == overflow.head();
  if (e.live == 0) {
    if (first) overflow.drop_head();
    return;
  }
  if (!list.tags.holds(e)) return fail(burst.list, list);  // (R9)
  if (job_.list == burst.list && decides(list, e)) {
    job_.found = e.handle;
    const bool matched = job_.kind == JobKind::kSearch;
    matched ? list.tags.take(e, first) : list.tags.drop(e, first);
    first ? overflow.drop_head() : bury(now, burst.list, list, burst.position);
  } else if (first && room() + (burst.kind == BurstKind::kRefill) > 0) {
    list.tags.move_in(e);
    ++cam_used_;
    overflow.drop_head();
    ++counters_.promotions;
    occupy(now, 1);  // (R3)
  }
}

// All entries of a burst have been looked at, or its job is decided.
void TagMatchCam::end_burst(List& list, const Burst& burst) {
  TagOverflow& overflow = list.overflow;
  const bool own = burst.kind == BurstKind::kJob && job_.list == burst.list;
  if (own && job_.kind == JobKind::kPutBack) {
    job_.decided = job_.decided || job_.position == overflow.tail();
    return;
  }
  if (overflow.head() == overflow.tail() && list.tags.in_overflow() > 0) return fail(burst.list, list);
  if (!own) return;
  job_.position = std::max(overflow.after(burst.position), overflow.head());
  if (job_.kind == JobKind::kRemove && job_.position == overflow.tail()) job_.decided = true;
}

// Whether the entry is what the job looks for. Sets `decided` also when no later entry can be.
bool TagMatchCam::decides(List& list, const StoredTag& e) {
  if (job_.decided) return false;
  if (job_.kind == JobKind::kRemove) return job_.decided = e.handle == job_.handle;
  const bool too_young = job_.handle != kNoTagEntry && e.sequence > list.tags.sequence(job_.handle);
  const bool matches = !too_young && TagMatchList::matches(e, job_.tag, job_.held_from);
  job_.decided = too_young || matches;
  return matches;
}

// A live entry goes to the end of those that are in front of the gap.
void TagMatchCam::compact_entry(List& list, const Burst& burst, const StoredTag& e, Cycle now) {
  TagOverflow& overflow = list.overflow;
  overflow.begin_compaction();
  const std::uint64_t to = overflow.gap_begin();
  const bool kept = e.live != 0;
  if (kept && to != burst.position) write(now, address(burst.list, list, to), e);
  overflow.compacted(1, kept);
}

void TagMatchCam::fail(WqId srq, List& list) {  // (R9)
  ++counters_.bad_reads;
  list.failed = true;
  if (job_.list != srq) return;
  if (job_.kind == JobKind::kRemove) job_.decided = true;
  if (job_.kind == JobKind::kPutBack) {
    job_ = {};
    drop_return();
  }
}

void TagMatchCam::note_spilled(WqId srq, List& list) {
  if (list.spilled) return;
  list.spilled = true;
  spilled_.push_back(srq);
}

// Nothing is left in the overflow: its slots are free.
void TagMatchCam::tidy(WqId srq, List& list) {
  if (!list.spilled || list.tags.in_overflow() > 0 || list.in_flight > 0) return;
  list.overflow.clear();
  list.spilled = false;
  spilled_.erase(std::find(spilled_.begin(), spilled_.end(), srq));
}

}  // namespace rxnic
