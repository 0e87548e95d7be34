// SPDX-License-Identifier: Apache-2.0
// What belongs to the last keys that were used, so many of them at most.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace rxnic::cm {

template <class Key, class Value>
class Recent {
 public:
  explicit Recent(std::size_t most) : most_(most) {}

  // Null: none is kept of this key.
  const Value* use(const Key& key) {
    const auto found = kept_.find(key);
    if (found == kept_.end()) return nullptr;
    found->second.used = ++uses_;
    return &found->second.value;
  }
  // To be called for a key of which none is kept. The one that was used longest ago makes room.
  void keep(const Key& key, Value value) {
    if (kept_.size() >= most_) {
      kept_.erase(std::min_element(kept_.begin(), kept_.end(),
                                   [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
    }
    kept_.insert_or_assign(key, Kept{std::move(value), ++uses_});
  }
  void clear() { kept_.clear(); }

 private:
  struct Kept {
    Value value;
    std::uint64_t used;
  };
  std::size_t most_;
  std::map<Key, Kept> kept_;
  std::uint64_t uses_ = 0;
};

}  // namespace rxnic::cm
