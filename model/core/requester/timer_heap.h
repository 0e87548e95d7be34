// SPDX-License-Identifier: Apache-2.0
// The timers of many QPs: a binary heap with at most one entry a QP, the earliest first. Its cost grows with the
// logarithm of the number of running timers, not with the number of QPs.
//
// T has a member `TimerEntry timer`.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "model/types/ids.h"

namespace rxnic {

struct TimerEntry {
  static constexpr std::size_t kNone = ~std::size_t{0};
  Cycle at = kNever;
  std::size_t place = kNone;  // in the heap
};

template <class T>
class TimerHeap {
 public:
  bool empty() const { return heap_.empty(); }
  Cycle earliest() const { return heap_.empty() ? kNever : heap_.front()->timer.at; }
  T& front() { return *heap_.front(); }
  // Gives it an entry, or moves the one that it has.
  void set(T& t, Cycle at) {
    if (t.timer.place == TimerEntry::kNone) {
      t.timer.place = heap_.size();
      heap_.push_back(&t);
    }
    t.timer.at = at;
    rise(t.timer.place);
    sink(t.timer.place);
  }
  void remove(T& t) {
    const std::size_t place = t.timer.place;
    if (place == TimerEntry::kNone) return;
    exchange(place, heap_.size() - 1);
    heap_.pop_back();
    t.timer = TimerEntry{};
    if (place == heap_.size()) return;
    rise(place);
    sink(place);
  }

 private:
  void exchange(std::size_t a, std::size_t b) {
    std::swap(heap_[a], heap_[b]);
    heap_[a]->timer.place = a;
    heap_[b]->timer.place = b;
  }
  bool before(std::size_t a, std::size_t b) const { return heap_[a]->timer.at < heap_[b]->timer.at; }
  void rise(std::size_t place) {
    for (; place > 0 && before(place, (place - 1) / 2); place = (place - 1) / 2) exchange(place, (place - 1) / 2);
  }
  void sink(std::size_t place) {
    for (std::size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
      if (child + 1 < heap_.size() && before(child + 1, child)) ++child;
      if (!before(child, place)) return;
      exchange(place, child);
      place = child;
    }
  }

  std::vector<T*> heap_;
};

}  // namespace rxnic
