// SPDX-License-Identifier: Apache-2.0
// A queue of a block whose length something else bounds. Memory is taken when it is longer than ever before, and kept:
// nothing is allocated for a packet.
#pragma once

#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

namespace rxnic {

template <class T>
class GrowingQueue {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T& front() {
    assert(size_ > 0);
    return slots_[first_];
  }
  const T& front() const {
    assert(size_ > 0);
    return slots_[first_];
  }
  void push_back(T value) {
    if (size_ == mask_ + 1) grow();
    slots_[(first_ + size_++) & mask_] = std::move(value);
  }
  void pop_front() {
    assert(size_ > 0);
    first_ = (first_ + 1) & mask_;
    --size_;
  }

 private:
  void grow() {
    std::vector<T> more(slots_.empty() ? kFirstSlots : 2 * slots_.size());
    for (std::size_t n = 0; n < size_; ++n) more[n] = std::move(slots_[(first_ + n) & mask_]);
    slots_.swap(more);
    mask_ = slots_.size() - 1;
    first_ = 0;
  }

  static constexpr std::size_t kFirstSlots = 16;  // a power of two
  std::vector<T> slots_;
  std::size_t mask_ = ~std::size_t{0};  // slots_.size() - 1
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace rxnic
