// SPDX-License-Identifier: Apache-2.0
#include "model/core/receive_queue/wqe_slots.h"

#include <gtest/gtest.h>

namespace rxnic::wqe_slots_test {
namespace {

constexpr WqId kA{3}, kB{5}, kC{9};

TEST(WqeSlots, ASlotIsFreeWhenItIsReleased) {  // R1
  WqeSlots slots({.entries = 2});
  const std::uint32_t first = slots.allocate();
  EXPECT_NE(slots.allocate(), first);
  EXPECT_FALSE(slots.available(kA));
  slots.release(first);
  EXPECT_EQ(slots.occupied(), 1u);
  EXPECT_TRUE(slots.available(kA));
  EXPECT_EQ(slots.allocate(), first);
}

TEST(WqeSlots, TheLowestFreeSlotIsTakenInWhateverOrderTheyCameBack) {  // R2
  for (const bool reversed : {false, true}) {
    WqeSlots slots({});
    const std::uint32_t a = slots.allocate(), b = slots.allocate(), c = slots.allocate();
    slots.release(reversed ? c : a);
    slots.release(reversed ? a : c);
    EXPECT_EQ(slots.allocate(), a);
    EXPECT_EQ(slots.allocate(), c);
    EXPECT_LT(a, b);
  }
}

// How many slots `queue` gets.
std::uint32_t fill(WqeSlots& slots, WqId queue) {
  std::uint32_t n = 0;
  for (; slots.available(queue); ++n) slots.allocate(queue);
  return n;
}

TEST(WqeSlots, SharesAreKeptAndThePoolIsForAll) {  // R3
  WqeSlots slots({.entries = 10, .share = 2, .queues = 3});
  EXPECT_EQ(fill(slots, kA), 2u + 4u);
  EXPECT_EQ(fill(slots, kB), 2u);
  EXPECT_EQ(fill(slots, kC), 2u);
  EXPECT_EQ(slots.occupied(), 10u);
}

TEST(WqeSlots, MoreQueuesThanSharesTakeFromThePool) {  // R3
  WqeSlots slots({.entries = 4, .share = 1, .queues = 1});
  EXPECT_EQ(slots.allocate(kA), 0u);
  EXPECT_EQ(fill(slots, kB), 3u) << "the one share is taken";
  EXPECT_FALSE(slots.available(kC));
  slots.release(0);
  EXPECT_TRUE(slots.available(kC)) << "and given to who comes next";
}

TEST(WqeSlots, WhatIsReleasedGoesBackToWhereItCameFrom) {  // R3
  WqeSlots slots({.entries = 3, .share = 1, .queues = 2});
  const std::uint32_t own = slots.allocate(kA);
  const std::uint32_t pooled = slots.allocate(kA);
  EXPECT_FALSE(slots.available(kA));
  slots.release(own);
  EXPECT_EQ(fill(slots, kA), 1u) << "its share again";
  slots.release(pooled);
  EXPECT_EQ(fill(slots, kB), 2u) << "its own share and the pool";
}

TEST(WqeSlots, FewerEntriesThanShares) {  // R3
  WqeSlots slots({.entries = 2, .share = 1, .queues = 8});
  EXPECT_EQ(fill(slots, kA), 1u);
  EXPECT_EQ(fill(slots, kB), 1u);
  EXPECT_FALSE(slots.available(kC));
}

}  // namespace
}  // namespace rxnic::wqe_slots_test
