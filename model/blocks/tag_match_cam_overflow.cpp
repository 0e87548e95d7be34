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
void TagMatchCam::write(Cycle now, BusAddress to, const void* from, std::uint32_t bytes) {
  std::uint8_t* const buffer = write_buffers_.data() + next_write_buffer_;
  next_write_buffer_ = (next_write_buffer_ + write_buffer_bytes_) % write_buffers_.size();
  std::memcpy(buffer, from, bytes);
  DmaRequest request;
  request.kind = DmaKind::kWrite;
  request.address = to;
  request.bytes = bytes;
  request.data = buffer;
  dma.push(now, request);
  asked_ = true;
}

// Marks an entry as dead. (R8)
void TagMatchCam::bury(Cycle now, WqId srq, const List& list, std::uint64_t position) {
  constexpr std::uint32_t kDead = 0;
  write(now, address(srq, list, position) + offsetof(TagOverflowEntry, live), &kDead, sizeof kDead);
  ++counters_.list_writes;
}

// One write of the entries that are to be copied: up to the end of the ring.
bool TagMatchCam::write_copies(Cycle now) {
  if (copies_.done()) return false;
  if (!can_ask(now)) return false;
  const List* const list = find(copies_.list);  // which exists: copies of a list that goes are dropped
  const std::uint32_t left = static_cast<std::uint32_t>(copies_.entries.size()) - copies_.next;
  const std::uint32_t n = std::min(left, list->overflow.slots() - list->overflow.slot(copies_.position));
  write(now, address(copies_.list, *list, copies_.position), &copies_.entries[copies_.next],
        n * static_cast<std::uint32_t>(sizeof(TagOverflowEntry)));
  ++counters_.list_writes;
  copies_.next += n;
  copies_.position += n;
  return true;
}

bool TagMatchCam::read_overflow(Cycle now) {
  if (spilled_.empty()) return false;
  if (!copies_.done() || bursts_used_ == bursts_.size() || !can_ask(now)) return false;
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
  for (std::size_t tried = 0; tried < spilled_.size(); ++tried) {
    const WqId srq = spilled_[refill_turn_++ % spilled_.size()];
    List& list = *lists_[raw(srq)];
    const std::uint64_t from = list.overflow.unread();
    if (list.failed || from == list.overflow.tail()) continue;
    const std::uint32_t n = list.overflow.burst(from, std::min(room(), params_.overflow_entries_per_read));
    list.overflow.set_unread(from + n);
    cam_reserved_ += n;
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
  const std::size_t n = (first_burst_ + bursts_used_++) % bursts_.size();
  bursts_[n] = {srq, list.generation, kind, false, entries, position};
  ++list.in_flight;
  DmaRequest request;
  request.address = address(srq, list, position);
  request.bytes = entries * static_cast<std::uint32_t>(sizeof(TagOverflowEntry));
  request.data = reinterpret_cast<std::uint8_t*>(&burst_entries_[n * params_.overflow_entries_per_read]);
  dma.push(now, request);
  asked_ = true;
}

bool TagMatchCam::look_through_burst(Cycle now) {
  if (bursts_landed_ == 0 || now < cam_free_ || !copies_.done()) return false;
  const Burst burst = bursts_[first_burst_];
  List* list = find(burst.list);
  if (list != nullptr && list->generation != burst.generation) list = nullptr;
  const bool may_write = burst.kind != BurstKind::kRefill || job_.list == burst.list;
  if (list != nullptr && may_write && !can_ask(now)) return false;
  const TagOverflowEntry* const entries = &burst_entries_[first_burst_ * params_.overflow_entries_per_read];
  first_burst_ = static_cast<std::uint32_t>((first_burst_ + 1) % bursts_.size());
  --bursts_used_;
  --bursts_landed_;
  if (burst.kind == BurstKind::kRefill) cam_reserved_ -= burst.entries;
  if (list == nullptr) return true;
  --list->in_flight;
  if (list->failed) return true;
  if (!burst.ok) {
    fail(burst.list, *list);
  } else if (burst.kind == BurstKind::kCompaction) {
    copy_compacted(*list, burst, entries);
  } else if (job_.kind == JobKind::kPutBack && burst.kind == BurstKind::kJob) {
    put_back_between(*list, burst, entries);
  } else {
    look_through(*list, burst, entries, now);
  }
  tidy(burst.list, *list);
  return true;
}

// What the bytes of a burst decide: matches, removals, and what moves into the CAM. (R6, R7, R8)
void TagMatchCam::look_through(List& list, const Burst& burst, const TagOverflowEntry* entries, Cycle now) {
  TagOverflow& overflow = list.overflow;
  std::uint32_t moved = 0;
  for (std::uint32_t i = 0; i < burst.entries; ++i) {
    const TagOverflowEntry& e = entries[i];
    const std::uint64_t position = burst.position + i;
    const bool first = position == overflow.head();
    if (e.live != 0 && !list.tags.holds(e)) return fail(burst.list, list);  // (R9)
    if (e.live == 0) {
      if (first) overflow.drop_head();
    } else if (job_.list == burst.list && decides(list, e)) {
      job_.found = e.handle;
      const bool matched = job_.kind == JobKind::kSearch;
      matched ? list.tags.take(e, first) : list.tags.drop(e, first);
      first ? overflow.drop_head() : bury(now, burst.list, list, position);
    } else if (first && room() > 0) {
      list.tags.move_in(e);
      ++cam_used_;
      ++moved;
      overflow.drop_head();
    }
  }
  counters_.promotions += moved;
  if (moved > 0) occupy(now, moved);  // (R3)
  if (overflow.head() == overflow.tail() && list.tags.in_overflow() > 0) return fail(burst.list, list);
  if (burst.kind != BurstKind::kJob) return;
  job_.position = std::max(overflow.after(burst.position + burst.entries), overflow.head());
  if (job_.kind == JobKind::kRemove && job_.position == overflow.tail()) job_.decided = true;
}

// Whether the entry is what the job looks for. Sets `decided` also when no later entry can be.
bool TagMatchCam::decides(List& list, const TagOverflowEntry& e) {
  if (job_.decided) return false;
  if (job_.kind == JobKind::kRemove) return job_.decided = e.handle == job_.handle;
  const bool too_young = job_.handle != kNoTagEntry && e.sequence > list.tags.sequence(job_.handle);
  const bool matches = !too_young && TagMatchList::matches(e, job_.tag, job_.held_from);
  job_.decided = too_young || matches;
  return matches;
}

void TagMatchCam::copy_compacted(List& list, const Burst& burst, const TagOverflowEntry* entries) {
  TagOverflow& overflow = list.overflow;
  copies_.list = burst.list;
  copies_.position = overflow.gap_begin();
  copies_.next = 0;
  copies_.entries.clear();
  for (std::uint32_t i = 0; i < burst.entries; ++i) {
    if (entries[i].live != 0) copies_.entries.push_back(entries[i]);
  }
  const auto kept = static_cast<std::uint32_t>(copies_.entries.size());
  const bool in_place = copies_.position == burst.position && kept == burst.entries;
  if (in_place) copies_.entries.clear();
  overflow.compacted(burst.entries, kept);
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
