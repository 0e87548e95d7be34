// SPDX-License-Identifier: Apache-2.0
// How deep a linear search of one tag list would go: the posted entries that are older than the one that matched. Their
// ages are a binary indexed tree (Fenwick, Software: Practice and Experience 24, 1994), so that each call takes
// logarithmic time. For statistics alone.
//
//   R1  An entry is known by its handle, below max_tags. An append makes it the youngest.
//   R2  An entry that was matched may come back with its old age, as long as its handle was not appended again.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace rxnic {

class TagDepth {
 public:
  explicit TagDepth(std::uint32_t max_tags)
      : places_(2 * std::bit_ceil(max_tags)), handles_(places_ + 1, kNone), at_(max_tags, 0), tree_(places_ + 1, 0) {}

  std::uint32_t size() const { return size_; }
  void append(std::uint32_t handle) {
    if (next_ > places_) compact();
    handles_[at_[handle]] = kNone;
    at_[handle] = next_;
    handles_[next_++] = handle;
    count(at_[handle], 1);
  }
  // The entries that are older than this one. Precondition: it is posted.
  std::uint32_t older(std::uint32_t handle) const {
    std::uint32_t sum = 0;
    for (std::uint32_t n = at_[handle] - 1; n > 0; n &= n - 1) sum += tree_[n];
    return sum;
  }
  void remove(std::uint32_t handle) { count(at_[handle], ~std::uint32_t{0}); }
  void restore(std::uint32_t handle) { count(at_[handle], 1); }  // (R2)

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;

  void count(std::uint32_t place, std::uint32_t change) {
    size_ += change;
    for (std::uint32_t n = place; n <= places_; n += n & (~n + 1)) tree_[n] += change;
  }
  std::uint32_t counted(std::uint32_t place) const {
    std::uint32_t sum = tree_[place];
    const std::uint32_t parent = place & (place - 1);
    for (std::uint32_t n = place - 1; n != parent; n &= n - 1) sum -= tree_[n];
    return sum;
  }
  // Numbers all handles anew from 1 on, in the order of their ages.
  void compact() {
    std::vector<std::uint32_t> tree(places_ + 1, 0);
    std::uint32_t to = 1;
    for (std::uint32_t place = 1; place < next_; ++place) {
      const std::uint32_t handle = handles_[place];
      if (handle == kNone) continue;
      tree[to] = counted(place);
      at_[handle] = to;
      handles_[to++] = handle;
    }
    for (std::uint32_t place = to; place <= places_; ++place) handles_[place] = kNone;
    next_ = to;
    for (std::uint32_t n = 1; n <= places_; ++n) {
      const std::uint32_t above = n + (n & (~n + 1));
      if (above <= places_) tree[above] += tree[n];
    }
    tree_ = std::move(tree);
  }

  std::uint32_t places_;
  std::vector<std::uint32_t> handles_;  // by place, from 1 on
  std::vector<std::uint32_t> at_;       // by handle: its place; 0: none
  std::vector<std::uint32_t> tree_;     // posted entries
  std::uint32_t next_ = 1;              // place of the next append
  std::uint32_t size_ = 0;
};

}  // namespace rxnic
