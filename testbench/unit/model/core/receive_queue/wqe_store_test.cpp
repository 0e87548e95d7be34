// SPDX-License-Identifier: Apache-2.0
#include "model/core/receive_queue/wqe_store.h"

#include <gtest/gtest.h>

namespace rxnic::wqe_store_test {
namespace {

constexpr WqId kA{3}, kB{5}, kC{9};

TEST(WqeStore, ASlotIsFreeFromTheNextCycleOn) {  // R1
  Cycle now{5};
  WqeStore store({.entries = 2}, &now);
  const std::uint32_t first = store.allocate();
  store.release(first);
  EXPECT_EQ(store.occupied(), 1u);
  EXPECT_EQ(store.in_use(), 0u);
  EXPECT_NE(store.allocate(), first);
  EXPECT_FALSE(store.available(kA));
  now = Cycle{6};
  EXPECT_TRUE(store.available(kA));
  EXPECT_EQ(store.allocate(), first);
}

TEST(WqeStore, TheLowestFreeSlotIsTakenInWhateverOrderTheyCameBack) {  // R2
  for (const bool reversed : {false, true}) {
    Cycle now{5};
    WqeStore store({}, &now);
    const std::uint32_t a = store.allocate(), b = store.allocate(), c = store.allocate();
    now = Cycle{6};
    store.release(reversed ? c : a);
    store.release(reversed ? a : c);
    now = Cycle{7};
    EXPECT_EQ(store.allocate(), a);
    EXPECT_EQ(store.allocate(), c);
    EXPECT_LT(a, b);
  }
}

// How many slots `queue` gets.
std::uint32_t fill(WqeStore& store, WqId queue) {
  std::uint32_t n = 0;
  for (; store.available(queue); ++n) store.allocate(queue);
  return n;
}

TEST(WqeStore, SharesAreKeptAndThePoolIsForAll) {  // R3
  WqeStore store({.entries = 10, .share = 2, .queues = 3}, nullptr);
  EXPECT_EQ(fill(store, kA), 2u + 4u);
  EXPECT_EQ(fill(store, kB), 2u);
  EXPECT_EQ(fill(store, kC), 2u);
  EXPECT_EQ(store.occupied(), 10u);
}

TEST(WqeStore, MoreQueuesThanSharesTakeFromThePool) {  // R3
  WqeStore store({.entries = 4, .share = 1, .queues = 1}, nullptr);
  EXPECT_EQ(store.allocate(kA), 0u);
  EXPECT_EQ(fill(store, kB), 3u) << "the one share is taken";
  EXPECT_FALSE(store.available(kC));
  store.release(0);
  EXPECT_TRUE(store.available(kC)) << "and given to who comes next";
}

TEST(WqeStore, WhatIsReleasedGoesBackToWhereItCameFrom) {  // R3
  WqeStore store({.entries = 3, .share = 1, .queues = 2}, nullptr);
  const std::uint32_t own = store.allocate(kA);
  const std::uint32_t pooled = store.allocate(kA);
  EXPECT_FALSE(store.available(kA));
  store.release(own);
  EXPECT_EQ(fill(store, kA), 1u) << "its share again";
  store.release(pooled);
  EXPECT_EQ(fill(store, kB), 2u) << "its own share and the pool";
}

TEST(WqeStore, FewerEntriesThanShares) {  // R3
  WqeStore store({.entries = 2, .share = 1, .queues = 8}, nullptr);
  EXPECT_EQ(fill(store, kA), 1u);
  EXPECT_EQ(fill(store, kB), 1u);
  EXPECT_FALSE(store.available(kC));
}

TEST(WqeStore, ReferencesStay) {  // R4
  WqeStore store({.entries = 2000}, nullptr);
  ReceiveWqe& first = store[store.allocate()];
  first.total_bytes = 77;
  for (int i = 0; i < 1000; ++i) store.allocate();
  EXPECT_EQ(&store[0], &first);
  EXPECT_EQ(store[0].total_bytes, 77u);
  EXPECT_EQ(store.in_use(), 1001u);
}

}  // namespace
}  // namespace rxnic::wqe_store_test
