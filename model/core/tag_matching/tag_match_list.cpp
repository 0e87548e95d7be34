// SPDX-License-Identifier: Apache-2.0
#include "model/core/tag_matching/tag_match_list.h"

#include <algorithm>
#include <bit>

namespace rxnic {

TagMatchList::TagMatchList(std::uint32_t max_tags) : nodes_(max_tags), buckets_(std::bit_ceil(max_tags)) {}

TagMatchList::Bucket& TagMatchList::bucket(std::uint64_t mask, std::uint64_t tag) {
  std::uint64_t h = (mask ^ (tag * 0x9e3779b97f4a7c15u)) * 0xd6e8feb86659fd93u;
  h ^= h >> 32;
  return buckets_[h & (buckets_.size() - 1)];
}

TagMatchList::Match TagMatchList::search(std::uint64_t tag) {
  const std::uint64_t held_from = in_phase() ? ~std::uint64_t{0} : phase_began_;  // (R3)
  std::uint32_t best = kNoTag;
  for (const Mask& m : masks_) {
    const std::uint64_t masked = tag & m.mask;
    for (std::uint32_t n = bucket(m.mask, masked).first; n != kNoTag; n = nodes_[n].next) {
      const Node& node = nodes_[n];
      if (node.entry.tag != masked || node.entry.mask != m.mask) continue;
      // The first of the bucket is the oldest of its kind.
      if (node.age < held_from && (best == kNoTag || node.age < nodes_[best].age)) best = n;  // (R1)
      break;
    }
  }
  Match match;
  match.handle = best;
  if (best == kNoTag) {
    match.overflow_walked = in_overflow_;
    return match;
  }
  if (nodes_[best].place == Place::kOverflow) {
    for (std::uint32_t n = overflow_first_; n != best; n = nodes_[n].younger) ++match.overflow_walked;
    ++match.overflow_walked;
  }
  take_out(best, Place::kConsumed);
  return match;
}

bool TagMatchList::append(const TagEntry& entry, bool cam_has_room) {
  if (entry.handle >= nodes_.size() || posted(entry.handle) || size() == nodes_.size()) return false;  // (R2)
  Node& node = nodes_[entry.handle];
  node.entry = entry;
  node.age = appended_++;
  node.place = cam_has_room && in_overflow_ == 0 ? Place::kCam : Place::kOverflow;  // (R5)
  insert(entry.handle);
  return true;
}

bool TagMatchList::remove(std::uint32_t handle) {
  if (!posted(handle)) return false;  // (R2)
  take_out(handle, Place::kFree);
  return true;
}

void TagMatchList::restore(std::uint32_t handle) {  // (R6)
  Node& node = nodes_[handle];
  if (node.place != Place::kConsumed) return;
  const bool older = overflow_first_ == kNoTag || node.age < nodes_[overflow_first_].age;
  node.place = older ? Place::kCam : Place::kOverflow;
  insert(handle);
}

// In both chains by age: an append is the youngest, a restored entry is among the oldest.
void TagMatchList::insert(std::uint32_t handle) {
  Node& node = nodes_[handle];
  // (1) the list
  if (youngest_ == kNoTag || nodes_[youngest_].age < node.age) {
    node.older = youngest_;
    node.younger = kNoTag;
  } else {
    std::uint32_t after = oldest_;
    while (nodes_[after].age < node.age) after = nodes_[after].younger;
    node.younger = after;
    node.older = nodes_[after].older;
  }
  (node.older == kNoTag ? oldest_ : nodes_[node.older].younger) = handle;
  (node.younger == kNoTag ? youngest_ : nodes_[node.younger].older) = handle;
  // (2) the bucket
  Bucket& b = bucket(node.entry.mask, node.entry.tag);
  if (b.last == kNoTag || nodes_[b.last].age < node.age) {
    node.previous = b.last;
    node.next = kNoTag;
  } else {
    std::uint32_t after = b.first;
    while (nodes_[after].age < node.age) after = nodes_[after].next;
    node.next = after;
    node.previous = nodes_[after].previous;
  }
  (node.previous == kNoTag ? b.first : nodes_[node.previous].next) = handle;
  (node.next == kNoTag ? b.last : nodes_[node.next].previous) = handle;
  // (3) the counts
  if (node.place == Place::kCam) {
    ++in_cam_;
  } else {
    ++in_overflow_;
    if (overflow_first_ == kNoTag || node.age < nodes_[overflow_first_].age) overflow_first_ = handle;
  }
  const auto same = [&](const Mask& m) { return m.mask == node.entry.mask; };
  const auto it = std::find_if(masks_.begin(), masks_.end(), same);
  if (it == masks_.end()) {
    masks_.push_back({node.entry.mask, 1});
  } else {
    ++it->entries;
  }
}

void TagMatchList::take_out(std::uint32_t handle, Place now) {
  Node& node = nodes_[handle];
  if (node.place == Place::kCam) {
    --in_cam_;
  } else {
    --in_overflow_;
    if (overflow_first_ == handle) overflow_first_ = node.younger;
  }
  node.place = now;
  (node.older == kNoTag ? oldest_ : nodes_[node.older].younger) = node.younger;
  (node.younger == kNoTag ? youngest_ : nodes_[node.younger].older) = node.older;
  Bucket& b = bucket(node.entry.mask, node.entry.tag);
  (node.previous == kNoTag ? b.first : nodes_[node.previous].next) = node.next;
  (node.next == kNoTag ? b.last : nodes_[node.next].previous) = node.previous;
  const auto it = std::find_if(masks_.begin(), masks_.end(), [&](const Mask& m) { return m.mask == node.entry.mask; });
  if (--it->entries == 0) {
    *it = masks_.back();
    masks_.pop_back();
  }
}

void TagMatchList::promote(std::uint32_t n) {  // (R5)
  for (; n > 0 && in_overflow_ > 0; --n) {
    nodes_[overflow_first_].place = Place::kCam;
    overflow_first_ = nodes_[overflow_first_].younger;
    --in_overflow_;
    ++in_cam_;
  }
}

void TagMatchList::set_counts(std::uint16_t unexpected, std::uint16_t acknowledged) {  // (R3)
  const bool was_in_phase = in_phase();
  unexpected_ = unexpected;
  acknowledged_ = acknowledged;
  if (was_in_phase && !in_phase()) phase_began_ = appended_;
}

}  // namespace rxnic
