// SPDX-License-Identifier: Apache-2.0
// Where the overflow of one tag list lies in host memory: a ring of entries in the order of their appends. What the
// device knows of it; the entries themselves are in memory alone (types/tag_matching.h).
//
//   R1  Positions count the appends; position p is in slot p % slots(). The ring has twice as many slots as a list may
//       have tags. Entries are appended at the tail and taken from the head.
//   R2  An entry that is matched or removed elsewhere than at the head stays as a dead one, marked in memory. Dead
//       entries are read over until they come to the head, or until the ring is compacted.
//   R3  The ring is sparse when it has more dead entries than live ones, and enough to save a read. Compaction copies
//       the live ones towards the head. Between the copied and the others is a gap, which readers skip: it can stop
//       after any entry.
//   R4  A burst reads neighbouring slots: it ends at the gap, at the tail and at the end of the ring. It knows nothing
//       of what it reads: dead entries, and those behind a match, are read, too.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rxnic {

class TagOverflow {
 public:
  explicit TagOverflow(std::uint32_t max_tags)
      : slots_(2 * max_tags), head_(std::uint64_t{slots_} << 32), tail_(head_), unread_(head_) {}
  std::uint32_t slots() const { return slots_; }
  std::uint32_t slot(std::uint64_t position) const { return static_cast<std::uint32_t>(position % slots_); }

  std::uint64_t head() const { return head_; }
  std::uint64_t tail() const { return tail_; }
  bool full() const { return tail_ - head_ == slots_; }
  std::uint32_t dead(std::uint32_t live) const { return static_cast<std::uint32_t>(tail_ - head_ - gap()) - live; }

  std::uint64_t append() { return tail_++; }  // precondition: not full
  // In front of all others; precondition: not full, and no burst is in flight.
  std::uint64_t prepend() { return unread_ = --head_; }
  void drop_head() {
    head_ = after(head_ + 1);
    unread_ = std::max(unread_, head_);
    if (in_gap_ && head_ >= gap_end_) in_gap_ = false;
  }
  // No entry is live: all slots are free.
  void clear() {
    head_ = unread_ = tail_;
    in_gap_ = false;
  }

  // The first position at or after `position` that holds an entry, or the tail.
  std::uint64_t after(std::uint64_t position) const { return in_gap_ && position == gap_begin_ ? gap_end_ : position; }
  // Entries of a burst from `position`, which is not in the gap: `most` at most, 0 at the tail. (R4)
  std::uint32_t burst(std::uint64_t position, std::uint32_t most) const {
    const std::uint64_t end = in_gap_ && position < gap_begin_ ? gap_begin_ : tail_;
    return static_cast<std::uint32_t>(
        std::min({end - position, std::uint64_t{most}, std::uint64_t{slots_} - slot(position)}));
  }
  // The next entry for the CAM: those before it are in flight.
  std::uint64_t unread() const { return unread_; }
  void set_unread(std::uint64_t position) { unread_ = after(position); }

  // Compaction. (R3)
  bool sparse(std::uint32_t live, std::uint32_t burst) const {
    const std::uint32_t idle = dead(live);
    return in_gap_ || (idle > live && (idle >= burst || full()));
  }
  void begin_compaction() {
    if (in_gap_) return;
    in_gap_ = true;
    gap_begin_ = gap_end_ = head_;
  }
  std::uint64_t gap_begin() const { return gap_begin_; }  // of a compaction that has begun: where the next entry goes
  std::uint64_t gap_end() const { return gap_end_; }      // and where it comes from
  // `kept` of the `read` entries behind the gap are copied in front of it.
  void compacted(std::uint32_t read, std::uint32_t kept) {
    gap_begin_ += kept;
    gap_end_ += read;
    if (gap_end_ == tail_) {
      end_compaction();
    } else if (head_ == gap_begin_) {  // none was kept
      head_ = unread_ = gap_end_;
      in_gap_ = false;
    }
  }
  // An entry is put back among the others: those before it were copied one slot towards the head. It ends before
  // `end`, and the next one is at `next`; between them is nothing, or what is left of the gap.
  void inserted(std::uint64_t end, std::uint64_t next) {
    unread_ = --head_;
    if (!in_gap_ || next < gap_end_) return;
    gap_begin_ = end;
    gap_end_ = next;
    if (next == tail_) end_compaction();
  }

 private:
  std::uint64_t gap() const { return in_gap_ ? gap_end_ - gap_begin_ : 0; }
  void end_compaction() {
    tail_ = gap_begin_;
    in_gap_ = false;
  }

  std::uint32_t slots_;
  std::uint64_t head_, tail_;
  std::uint64_t unread_;  // for the CAM
  bool in_gap_ = false;   // the compaction has begun and has not come to the tail
  std::uint64_t gap_begin_ = 0, gap_end_ = 0;
};

}  // namespace rxnic
