// SPDX-License-Identifier: Apache-2.0
// The tags of a set-associative cache, with least-recently-used replacement or that of a policy (replacement.h). The
// owner keeps the cached data, by line number.
//
//   R1  A key lives in set key mod sets. A set holds `ways` keys.
//   R2  A new key takes a free way of its set, or else the way that the policy chooses of those that may be evicted.
//       When none may be, the key cannot be cached.
//   R3  assign and touch make a line the most recently used of its set; find does not.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "model/core/memory/replacement.h"

namespace rxnic {

class SetCache {
 public:
  static constexpr std::uint32_t kNoLine = 0xffffffff;

  // `policy` nullptr: the least recently used way is evicted.
  SetCache(std::uint32_t sets, std::uint32_t ways, std::unique_ptr<Replacement> policy = nullptr)
      : mask_(sets - 1),
        ways_(ways),
        keys_(std::size_t{sets} * ways, kFree),
        used_(keys_.size()),
        policy_(std::move(policy)) {
    assert(std::has_single_bit(sets) && ways > 0);
  }
  std::uint32_t lines() const { return static_cast<std::uint32_t>(keys_.size()); }

  std::uint32_t find(std::uint64_t key) const {
    const std::uint32_t first = first_of(key);
    for (std::uint32_t line = first; line < first + ways_; ++line) {
      if (keys_[line] == key) return line;
    }
    return kNoLine;
  }
  void touch(std::uint32_t line) { used_[line] = ++clock_; }  // (R3)

  // The line for `key`, which is not in the cache; `may_evict(line)` is called for lines in use. (R2)
  template <class MayEvict>
  std::uint32_t place_for(std::uint64_t key, MayEvict may_evict) const {
    const std::uint32_t first = first_of(key);
    std::uint32_t best = kNoLine;
    for (std::uint32_t line = first; line < first + ways_; ++line) {
      if (keys_[line] == kFree) return line;
      if (policy_ != nullptr) continue;
      if ((best == kNoLine || used_[line] < used_[best]) && may_evict(line)) best = line;
    }
    return policy_ == nullptr ? best : chosen(first, may_evict);
  }
  std::uint32_t place_for(std::uint64_t key) const {
    return place_for(key, [](std::uint32_t) { return true; });
  }
  void assign(std::uint32_t line, std::uint64_t key) {
    assert(line / ways_ == (key & mask_) && find(key) == kNoLine);
    keys_[line] = key;
    touch(line);
  }
  void drop(std::uint32_t line) { keys_[line] = kFree; }
  bool in_use(std::uint32_t line) const { return keys_[line] != kFree; }
  std::uint64_t key(std::uint32_t line) const { return keys_[line]; }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  std::uint32_t first_of(std::uint64_t key) const { return static_cast<std::uint32_t>(key & mask_) * ways_; }

  template <class MayEvict>
  std::uint32_t chosen(std::uint32_t first, MayEvict may_evict) const {
    std::vector<CacheWay> ways;
    std::vector<std::uint32_t> lines;
    for (std::uint32_t line = first; line < first + ways_; ++line) {
      if (!may_evict(line)) continue;
      ways.push_back({keys_[line], used_[line]});
      lines.push_back(line);
    }
    if (lines.empty()) return kNoLine;
    const std::size_t victim = policy_->victim(ways);
    return lines[victim < lines.size() ? victim : 0];
  }

  std::uint64_t mask_;
  std::uint32_t ways_;
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint64_t> used_;  // by line: clock_ of its last touch
  std::uint64_t clock_ = 0;
  std::unique_ptr<Replacement> policy_;
};

}  // namespace rxnic
