// SPDX-License-Identifier: Apache-2.0
// A block's pipeline: values that become ready in a known cycle, in the order in which they were pushed.
// A push into a full line ends the program, in every build (overflow.h). Memory is taken as far as a line has been
// filled. A line with a place for each of 65,536 queues costs nothing until there are that many.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "model/engine/overflow.h"
#include "model/types/ids.h"

namespace rxnic {

template <class T>
class DelayLine {
 public:
  explicit DelayLine(std::uint32_t capacity)
      : capacity_(capacity), slots_(allocated(std::bit_ceil(capacity))), mask_(std::bit_ceil(capacity) - 1) {}
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == capacity_; }
  std::uint32_t size() const { return size_; }
  std::uint32_t room() const { return capacity_ - size_; }
  void push(const T& value, Cycle ready, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (full()) [[unlikely]]
      delay_line_overflows(capacity_, file, line);
    if (size_ == 0) next_ready_ = ready;
    slots_[(first_ + size_) & mask_] = {value, ready};
    ++size_;
  }
  // A value made of `from`, a descriptor that it extends (or is), and of what `fill` writes.
  template <class From, class Fill>
  void push(const From& from, Cycle ready, Fill fill, const char* file = __builtin_FILE(),
            int line = __builtin_LINE()) {
    if (full()) [[unlikely]]
      delay_line_overflows(capacity_, file, line);
    if (size_ == 0) next_ready_ = ready;
    Slot& slot = slots_[(first_ + size_) & mask_];
    slot.ready = ready;
    ++size_;
    fill(*::new (static_cast<void*>(&slot.value)) T{from});
  }
  bool ready(Cycle now) const { return next_ready_ <= now; }
  Cycle next_ready() const { return next_ready_; }
  T& front() { return slots_[first_].value; }
  Cycle ready_at(std::uint32_t n) const { return slots_[(first_ + n) & mask_].ready; }
  T& at(std::uint32_t n) { return slots_[(first_ + n) & mask_].value; }
  T pop() {
    const T value = slots_[first_].value;
    drop();
    return value;
  }
  // pop() without a result, for a caller that has used front().
  void drop() {
    assert(size_ > 0);
    first_ = (first_ + 1) & mask_;
    next_ready_ = --size_ == 0 ? kNever : slots_[first_].ready;
  }

 private:
  struct Slot {
    T value{};
    Cycle ready{};
  };
  struct Free {
    void operator()(Slot* slots) const { ::operator delete(slots); }
  };
  // Not written before a push does.
  static Slot* allocated(std::uint32_t count) {
    static_assert(std::is_trivially_copyable_v<Slot> && alignof(Slot) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    return static_cast<Slot*>(::operator new(sizeof(Slot) * count));
  }
  Cycle next_ready_ = kNever;  // of the front: read far more often than it changes
  std::uint32_t capacity_;
  std::unique_ptr<Slot[], Free> slots_;
  std::uint32_t mask_;
  std::uint32_t first_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace rxnic
