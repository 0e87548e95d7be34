// SPDX-License-Identifier: Apache-2.0
#include "model/core/tag_matching/tag_match_list.h"

#include <algorithm>
#include <bit>

namespace rxnic {

namespace {

constexpr std::uint64_t kExactMask = ~std::uint64_t{0};

}  // namespace

TagMatchList::TagMatchList(std::uint32_t max_tags) : nodes_(max_tags), buckets_(std::bit_ceil(max_tags)) {}

std::uint32_t TagMatchList::bucket(std::uint64_t mask, std::uint64_t tag) const {
  std::uint64_t h = (mask ^ (tag * 0x9e3779b97f4a7c15u)) * 0xd6e8feb86659fd93u;
  h ^= h >> 32;
  return static_cast<std::uint32_t>(h & (buckets_.size() - 1));
}

std::uint32_t TagMatchList::find(std::uint64_t tag) const {
  const std::uint64_t held_from = this->held_from();  // (R3)
  std::uint32_t best = kNoTagEntry;
  for (const Mask& m : masks_) {
    const std::uint64_t masked = tag & m.mask;
    for (std::uint32_t n = buckets_[bucket(m.mask, masked)].first; n != kNoTagEntry; n = nodes_[n].in_bucket.younger) {
      const Node& node = nodes_[n];
      if (node.entry.tag != masked || node.entry.mask != m.mask) continue;
      // The first of the bucket is the oldest of its kind.
      if (node.sequence < held_from && (best == kNoTagEntry || node.sequence < nodes_[best].sequence))
        best = n;  // (R1)
      break;
    }
  }
  return best;
}

void TagMatchList::consume(std::uint32_t handle) { leave_cam(handle, Place::kConsumed); }

std::uint32_t TagMatchList::wildcards_before(std::uint32_t found) const {
  std::uint32_t compared = 0;
  for (std::uint32_t n = wildcards_.first; n != kNoTagEntry; n = nodes_[n].in_wildcards.younger) {
    if (found != kNoTagEntry && nodes_[n].sequence > nodes_[found].sequence) break;
    ++compared;
  }
  return compared;
}

bool TagMatchList::accepts(std::uint32_t handle) const {
  return handle < nodes_.size() && !in_cam(handle) && !in_overflow(handle) && size() < nodes_.size();
}

std::uint64_t TagMatchList::append(const TagEntry& entry, bool to_cam) {
  Node& node = nodes_[entry.handle];
  const std::uint64_t sequence = appended_++;
  if (to_cam) {
    node.entry = entry;
    node.sequence = sequence;
    enter_cam(entry.handle);
    return sequence;
  }
  if (in_overflow_++ == 0) overflow_from_ = sequence;
  node.place = Place::kOverflow;
  node.entry = {};  // (R5)
  return sequence;
}

bool TagMatchList::remove(std::uint32_t handle) {
  if (!in_cam(handle)) return false;  // (R2)
  leave_cam(handle, Place::kFree);
  return true;
}

void TagMatchList::restore(std::uint32_t handle) { enter_cam(handle); }  // (R6)

StoredTag TagMatchList::bytes_of(const TagEntry& entry, std::uint64_t sequence) {
  StoredTag e;
  e.tag = entry.tag;
  e.mask = entry.mask;
  e.buffer = entry.buffer;
  e.sequence = sequence;
  e.handle = entry.handle;
  e.live = 1;
  return e;
}

void TagMatchList::move_in(const StoredTag& e) {
  leave_overflow(e, Place::kCam, true);
  enter_cam(e.handle);
}

void TagMatchList::take(const StoredTag& e, bool first) { leave_overflow(e, Place::kConsumed, first); }

void TagMatchList::drop(const StoredTag& e, bool first) { leave_overflow(e, Place::kFree, first); }

void TagMatchList::leave_overflow(const StoredTag& e, Place now, bool first) {
  Node& node = nodes_[e.handle];
  node.entry = {e.handle, e.tag, e.mask, e.buffer};
  node.sequence = e.sequence;
  node.place = now;
  --in_overflow_;
  if (first) overflow_from_ = e.sequence + 1;
}

void TagMatchList::spill(std::uint32_t handle) {
  leave_cam(handle, Place::kConsumed);
  put_back(handle);
}

void TagMatchList::put_back(std::uint32_t handle) {
  Node& node = nodes_[handle];
  if (in_overflow_++ == 0 || node.sequence < overflow_from_) overflow_from_ = node.sequence;
  node.place = Place::kOverflow;
  node.entry = {};
}

// In a chain by age: an append is the youngest, a restored entry is among the oldest.
void TagMatchList::link(Chain& chain, Neighbours Node::*at, std::uint32_t handle) {
  const std::uint64_t sequence = nodes_[handle].sequence;
  std::uint32_t older = chain.last;
  std::uint32_t younger = chain.first;
  while (true) {  // from both ends
    if (older == kNoTagEntry || nodes_[older].sequence < sequence) {
      younger = older == kNoTagEntry ? chain.first : (nodes_[older].*at).younger;
      break;
    }
    if (nodes_[younger].sequence > sequence) {
      older = (nodes_[younger].*at).older;
      break;
    }
    older = (nodes_[older].*at).older;
    younger = (nodes_[younger].*at).younger;
  }
  nodes_[handle].*at = {older, younger};
  (older == kNoTagEntry ? chain.first : (nodes_[older].*at).younger) = handle;
  (younger == kNoTagEntry ? chain.last : (nodes_[younger].*at).older) = handle;
}

void TagMatchList::unlink(Chain& chain, Neighbours Node::*at, std::uint32_t handle) {
  const Neighbours n = nodes_[handle].*at;
  (n.older == kNoTagEntry ? chain.first : (nodes_[n.older].*at).younger) = n.younger;
  (n.younger == kNoTagEntry ? chain.last : (nodes_[n.younger].*at).older) = n.older;
}

void TagMatchList::enter_cam(std::uint32_t handle) {
  Node& node = nodes_[handle];
  node.place = Place::kCam;
  ++in_cam_;
  link(by_age_, &Node::in_list, handle);
  link(buckets_[bucket(node.entry.mask, node.entry.tag)], &Node::in_bucket, handle);
  if (node.entry.mask != kExactMask) link(wildcards_, &Node::in_wildcards, handle);
  const auto same = [&](const Mask& m) { return m.mask == node.entry.mask; };
  const auto it = std::find_if(masks_.begin(), masks_.end(), same);
  if (it == masks_.end()) {
    masks_.push_back({node.entry.mask, 1});
  } else {
    ++it->entries;
  }
}

void TagMatchList::leave_cam(std::uint32_t handle, Place now) {
  Node& node = nodes_[handle];
  node.place = now;
  --in_cam_;
  unlink(by_age_, &Node::in_list, handle);
  unlink(buckets_[bucket(node.entry.mask, node.entry.tag)], &Node::in_bucket, handle);
  if (node.entry.mask != kExactMask) unlink(wildcards_, &Node::in_wildcards, handle);
  const auto it = std::find_if(masks_.begin(), masks_.end(), [&](const Mask& m) { return m.mask == node.entry.mask; });
  if (--it->entries == 0) {
    *it = masks_.back();
    masks_.pop_back();
  }
}

void TagMatchList::set_counts(std::uint16_t unexpected, std::uint16_t acknowledged) {  // (R3)
  const bool was_in_phase = in_phase();
  unexpected_ = unexpected;
  acknowledged_ = acknowledged;
  if (was_in_phase && !in_phase()) phase_began_ = appended_;
}

}  // namespace rxnic
