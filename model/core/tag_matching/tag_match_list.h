// SPDX-License-Identifier: Apache-2.0
// Tag-matching list of one TM SRQ (rules 5): which posted tag a message matches. Without time.
//
//   R1  Oldest wins: of all entries with (tag & mask) == entry.tag the one appended first is returned and consumed.
//   R2  append fails when max_tags entries are posted, or when the handle is not below max_tags or is in use. remove
//       fails when the entry is not posted: consumed meanwhile, removed, never there.
//   R3  The device counts the unexpected messages. While software's count (acknowledge) differs from it the list is out
//       of phase: entries appended meanwhile match nothing, older ones still match. When the counts agree, all
//       entries match.
//   R4  A sync is asked for when more than 0x3fff unexpected messages are not acknowledged. Counts are modulo 2^16.
//   R5  The oldest entries are in the CAM, the others in the overflow: an entry that finds the overflow not empty, or
//       the CAM full, is appended to the overflow. promote() moves the oldest of the overflow into the CAM.
//   R6  restore() undoes a match: the entry is posted again, with its old age.
//
// Entries of equal mask and tag hash to one bucket, in the order of age; a search does one look-up for each distinct
// mask in the list. So 64 k exact tags and a few kinds of wildcard are as fast as ten.
#pragma once

#include <cstdint>
#include <vector>

#include "model/types/tag_matching.h"

namespace rxnic {

class TagMatchList {
 public:
  explicit TagMatchList(std::uint32_t max_tags);

  struct Match {
    std::uint32_t handle = kNoTag;  // kNoTag: a miss
    // Entries of the overflow that are compared until the result is known: up to the match, or all of it. 0: the CAM
    // knew.
    std::uint32_t overflow_walked = 0;
  };
  Match search(std::uint64_t tag);
  bool append(const TagEntry& entry, bool cam_has_room);
  bool remove(std::uint32_t handle);
  void restore(std::uint32_t handle);  // precondition: consumed, and its handle not used again
  const TagEntry& entry(std::uint32_t handle) const { return nodes_[handle].entry; }
  bool in_overflow(std::uint32_t handle) const { return nodes_[handle].place == Place::kOverflow; }

  std::uint32_t size() const { return in_cam_ + in_overflow_; }
  std::uint32_t in_cam() const { return in_cam_; }
  std::uint32_t in_overflow() const { return in_overflow_; }
  void promote(std::uint32_t n);

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
  struct Node {
    TagEntry entry;
    std::uint64_t age = 0;                           // number of the append
    std::uint32_t previous = kNoTag, next = kNoTag;  // in the bucket
    std::uint32_t older = kNoTag, younger = kNoTag;  // in the list
    Place place = Place::kFree;
  };
  struct Bucket {
    std::uint32_t first = kNoTag, last = kNoTag;
  };
  struct Mask {
    std::uint64_t mask = 0;
    std::uint32_t entries = 0;
  };

  bool posted(std::uint32_t handle) const {
    return handle < nodes_.size() && (nodes_[handle].place == Place::kCam || nodes_[handle].place == Place::kOverflow);
  }
  Bucket& bucket(std::uint64_t mask, std::uint64_t tag);
  void insert(std::uint32_t handle);
  void take_out(std::uint32_t handle, Place now);
  void set_counts(std::uint16_t unexpected, std::uint16_t acknowledged);

  std::vector<Node> nodes_;  // by handle
  std::vector<Bucket> buckets_;
  std::vector<Mask> masks_;  // those in the list
  std::uint32_t oldest_ = kNoTag, youngest_ = kNoTag;
  std::uint32_t overflow_first_ = kNoTag;  // the oldest entry in the overflow
  std::uint32_t in_cam_ = 0, in_overflow_ = 0;
  std::uint64_t appended_ = 0;
  std::uint64_t phase_began_ = 0;  // out of phase: entries of this age and younger are held
  std::uint16_t unexpected_ = 0, acknowledged_ = 0;
};

}  // namespace rxnic
