// SPDX-License-Identifier: Apache-2.0
#include "model/core/requester/timer_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rxnic::timer_heap_test {
namespace {

struct Timed {
  TimerEntry timer;
};

TEST(TimerHeap, TheEarliestIsInFront) {
  std::vector<Timed> all(3);
  TimerHeap<Timed> heap;
  EXPECT_EQ(heap.earliest(), kNever);
  heap.set(all[0], Cycle{30});
  heap.set(all[1], Cycle{10});
  heap.set(all[2], Cycle{20});
  EXPECT_EQ(heap.earliest(), Cycle{10});
  EXPECT_EQ(&heap.front(), &all[1]);
}

TEST(TimerHeap, AnEntryMovesBothWays) {
  std::vector<Timed> all(2);
  TimerHeap<Timed> heap;
  heap.set(all[0], Cycle{10});
  heap.set(all[1], Cycle{20});
  heap.set(all[0], Cycle{30});
  EXPECT_EQ(&heap.front(), &all[1]);
  heap.set(all[0], Cycle{5});
  EXPECT_EQ(&heap.front(), &all[0]);
}

TEST(TimerHeap, ARemovedEntryIsGoneAndMayComeBack) {
  Timed t;
  TimerHeap<Timed> heap;
  heap.set(t, Cycle{10});
  heap.remove(t);
  heap.remove(t);
  EXPECT_TRUE(heap.empty());
  heap.set(t, Cycle{20});
  EXPECT_EQ(heap.earliest(), Cycle{20});
}

TEST(TimerHeap, ItAgreesWithASearchThroughAll) {
  std::vector<Timed> all(37);
  TimerHeap<Timed> heap;
  std::uint32_t random = 1;
  for (int i = 0; i < 10000; ++i) {
    random = random * 1664525 + 1013904223;
    Timed& t = all[(random >> 8) % all.size()];
    if ((random >> 28) < 4) {
      heap.remove(t);
    } else {
      heap.set(t, Cycle{random >> 20});
    }
    Cycle first = kNever;
    for (const Timed& a : all) first = earliest(first, a.timer.at);
    ASSERT_EQ(heap.earliest(), first) << "after step " << i;
  }
}

}  // namespace
}  // namespace rxnic::timer_heap_test
