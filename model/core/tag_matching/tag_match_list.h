// SPDX-License-Identifier: Apache-2.0
// Tag-matching list of one TM SRQ (rules 5): which posted tag a message matches. Without time.
//
//   R1  Oldest wins: of all entries with (tag & mask) == entry.tag the one appended first is returned and consumed.
//   R2  An append fails when max_tags entries are posted, or when the handle is not below max_tags or is in use. A
//       remove fails when the entry is not posted: consumed meanwhile, removed, never there.
//   R3  The device counts the unexpected messages. While software's count (acknowledge) differs from it the list is out
//       of phase: entries appended meanwhile match nothing, older ones still match. When the counts agree, all
//       entries match.
//   R4  A sync is asked for when more than 0x3fff unexpected messages are not acknowledged. Counts are modulo 2^16.
//   R5  Entries are in the CAM or in the overflow. The device keeps the entries that are in the CAM. It knows how many
//       entries are in the overflow, and which handles are there. Tags, masks, buffers and ages of the overflow are the
//       bytes in memory (StoredTag): what the block has read decides. An entry that was read moves into the CAM
//       (move_in), is matched (take) or removed (drop).
//   R6  A match can be undone: the entry is posted again, with its old age, in the CAM (restore) or in the overflow
//       (put_back).
//   R7  The entries of the overflow are younger than those in the CAM, save one case. While all of the overflow is on
//       its way into the CAM, younger entries may be appended to the CAM. Such entries are not `settled`: an entry of
//       the overflow may be older.
//
// Entries of equal mask and tag hash to one bucket, in the order of age. A search does one look-up for each distinct
// mask in the CAM. So 64 k exact tags and a few kinds of wildcard are as fast as ten.
#pragma once

#include <cstdint>
#include <vector>

#include "model/types/tag_matching.h"

namespace rxnic {

class TagMatchList {
 public:
  explicit TagMatchList(std::uint32_t max_tags);

  // The CAM.
  std::uint32_t find(std::uint64_t tag) const;  // the oldest match in the CAM; kNoTagEntry: none
  void consume(std::uint32_t handle);           // of the CAM
  // Entries with a wildcard that are older than `found`, and `found` itself when it has a wildcard. They are compared
  // one after another before `found` is the result. kNoTagEntry: all entries with a wildcard.
  std::uint32_t wildcards_before(std::uint32_t found) const;
  std::uint32_t youngest() const { return by_age_.last; }  // of the CAM; kNoTagEntry: it is empty
  bool in_cam(std::uint32_t handle) const { return is(handle, Place::kCam); }
  bool consumed(std::uint32_t handle) const { return is(handle, Place::kConsumed); }
  const TagEntry& entry(std::uint32_t handle) const { return nodes_[handle].entry; }      // in the CAM or consumed
  std::uint64_t sequence(std::uint32_t handle) const { return nodes_[handle].sequence; }  // as entry()
  bool settled(std::uint32_t handle) const { return in_overflow_ == 0 || sequence(handle) < overflow_from_; }  // (R7)

  bool accepts(std::uint32_t handle) const;  // (R2)
  // Precondition: accepts(entry.handle). Returns the number of the append.
  std::uint64_t append(const TagEntry& entry, bool to_cam);
  bool remove(std::uint32_t handle);   // an entry of the CAM
  void restore(std::uint32_t handle);  // precondition: consumed, and its handle not used again

  // The overflow.
  bool in_overflow(std::uint32_t handle) const { return is(handle, Place::kOverflow); }
  static StoredTag bytes_of(const TagEntry& entry, std::uint64_t sequence);
  StoredTag bytes_of(std::uint32_t handle) const { return bytes_of(entry(handle), sequence(handle)); }
  bool holds(const StoredTag& e) const { return e.live == 1 && in_overflow(e.handle); }
  // Entries of this number and younger ones are held. (R3)
  std::uint64_t held_from() const { return in_phase() ? ~std::uint64_t{0} : phase_began_; }
  static bool matches(const StoredTag& e, std::uint64_t tag, std::uint64_t held_from) {
    return (tag & e.mask) == e.tag && e.sequence < held_from;
  }
  // `e` was read, and is there. `first`: no live one is before it.
  void move_in(const StoredTag& e);
  void take(const StoredTag& e, bool first);
  void drop(const StoredTag& e, bool first);
  void spill(std::uint32_t handle);     // the youngest of the CAM goes in front of the overflow
  void put_back(std::uint32_t handle);  // as restore(), but into the overflow
  // The overflow has been read: its entries are younger than this consumed one.
  void settle(std::uint32_t handle) { overflow_from_ = sequence(handle) + 1; }

  std::uint32_t size() const { return in_cam_ + in_overflow_; }
  std::uint32_t in_cam() const { return in_cam_; }
  std::uint32_t in_overflow() const { return in_overflow_; }

  // Phases.
  void count_unexpected() { set_counts(static_cast<std::uint16_t>(unexpected_ + 1), acknowledged_); }
  void discount_unexpected() { set_counts(static_cast<std::uint16_t>(unexpected_ - 1), acknowledged_); }
  void acknowledge(std::uint16_t seen_by_software) { set_counts(unexpected_, seen_by_software); }
  bool in_phase() const { return unexpected_ == acknowledged_; }
  bool wants_sync() const { return static_cast<std::uint16_t>(unexpected_ - acknowledged_) > kMostUnacknowledged; }
  std::uint16_t unexpected() const { return unexpected_; }

  static constexpr std::uint16_t kMostUnacknowledged = 0x3fff;

 private:
  enum class Place : std::uint8_t { kFree, kCam, kOverflow, kConsumed };
  struct Chain {  // by age
    std::uint32_t first = kNoTagEntry, last = kNoTagEntry;
  };
  struct Neighbours {
    std::uint32_t older = kNoTagEntry, younger = kNoTagEntry;
  };
  struct Node {
    TagEntry entry;              // not of an entry in the overflow
    std::uint64_t sequence = 0;  // the same
    Neighbours in_bucket, in_list, in_wildcards;
    Place place = Place::kFree;
  };
  struct Mask {
    std::uint64_t mask = 0;
    std::uint32_t entries = 0;
  };

  bool is(std::uint32_t handle, Place place) const { return handle < nodes_.size() && nodes_[handle].place == place; }
  std::uint32_t bucket(std::uint64_t mask, std::uint64_t tag) const;
  void link(Chain& chain, Neighbours Node::*at, std::uint32_t handle);
  void unlink(Chain& chain, Neighbours Node::*at, std::uint32_t handle);
  void enter_cam(std::uint32_t handle);
  void leave_cam(std::uint32_t handle, Place now);
  void leave_overflow(const StoredTag& e, Place now, bool first);
  void set_counts(std::uint16_t unexpected, std::uint16_t acknowledged);

  std::vector<Node> nodes_;  // by handle
  std::vector<Chain> buckets_;
  std::vector<Mask> masks_;  // those in the CAM
  Chain by_age_;             // the CAM
  Chain wildcards_;          // those of the CAM with a mask that is not all ones
  std::uint32_t in_cam_ = 0, in_overflow_ = 0;
  std::uint64_t appended_ = 0;
  std::uint64_t overflow_from_ = 0;  // no entry of the overflow is older
  std::uint64_t phase_began_ = 0;    // out of phase: entries of this number and younger are held
  std::uint16_t unexpected_ = 0, acknowledged_ = 0;
};

}  // namespace rxnic
