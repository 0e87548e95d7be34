// SPDX-License-Identifier: Apache-2.0
// Indices by a 64-bit key, in one array: to find one touches one cache line, nearly always.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace rxnic {

class FlatIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // A key that is there gets the new index. `index` is not kNone.
  void insert(std::uint64_t key, std::uint32_t index) {
    if ((count_ + 1) * 2 > entries_.size()) grow();
    Entry& e = entries_[place(key)];
    count_ += e.index == kNone;
    e = {key, index};
  }
  std::uint32_t find(std::uint64_t key) const { return entries_[place(key)].index; }
  std::uint32_t at(std::uint64_t key) const {
    const std::uint32_t index = find(key);
    if (index == kNone) throw std::out_of_range("a key without an index");
    return index;
  }

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t index = kNone;
  };
  // Where the key is, or the free place where it would be: at most half of the places are taken.
  std::size_t place(std::uint64_t key) const {
    std::size_t at = key * 0x9e3779b97f4a7c15u >> shift_;
    while (entries_[at].index != kNone && entries_[at].key != key) at = (at + 1) & (entries_.size() - 1);
    return at;
  }
  void grow() {
    const std::vector<Entry> old = std::exchange(entries_, std::vector<Entry>(entries_.size() * 2));
    --shift_;
    for (const Entry& e : old) {
      if (e.index != kNone) entries_[place(e.key)] = e;
    }
  }

  std::vector<Entry> entries_ = std::vector<Entry>(8);
  unsigned shift_ = 61;  // 64 - log2(entries_.size())
  std::size_t count_ = 0;
};

}  // namespace rxnic
