// SPDX-License-Identifier: Apache-2.0
// Values that become ready in a known cycle, and are taken in the order of those cycles. Values of one cycle are taken
// in the order in which they were pushed. A push costs as many moves as there are values that become ready later. A
// push into a full line ends the program, in every build (overflow.h).
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

#include "model/engine/overflow.h"
#include "model/types/ids.h"

namespace rxnic {

template <class T>
class SortedLine {
 public:
  explicit SortedLine(std::uint32_t capacity)
      : capacity_(capacity), slots_(std::bit_ceil(capacity)), mask_(std::bit_ceil(capacity) - 1) {}
  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  void push(const T& value, Cycle ready, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (size_ == capacity_) [[unlikely]]
      delay_line_overflows(capacity_, file, line);
    std::uint32_t n = size_++;
    for (; n > 0 && at(n - 1).ready > ready; --n) at(n) = at(n - 1);
    at(n) = {value, ready};
    next_ready_ = slots_[first_].ready;
  }
  Cycle next_ready() const { return next_ready_; }
  bool ready(Cycle now) const { return next_ready_ <= now; }
  const T& front() const { return slots_[first_].value; }
  T pop() {
    assert(size_ > 0);
    const T value = slots_[first_].value;
    first_ = (first_ + 1) & mask_;
    next_ready_ = --size_ == 0 ? kNever : slots_[first_].ready;
    return value;
  }

 private:
  struct Slot {
    T value{};
    Cycle ready{};
  };
  Slot& at(std::uint32_t n) { return slots_[(first_ + n) & mask_]; }

  Cycle next_ready_ = kNever;  // of the front: read far more often than it changes
  std::uint32_t capacity_;
  std::vector<Slot> slots_;
  std::uint32_t mask_;
  std::uint32_t first_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace rxnic
