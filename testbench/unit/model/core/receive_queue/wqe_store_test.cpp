// SPDX-License-Identifier: Apache-2.0
#include "model/core/receive_queue/wqe_store.h"

#include <gtest/gtest.h>

namespace rxnic {
namespace {

TEST(WqeStore, ASlotIsFreeFromTheNextCycleOn) {  // R1
  Cycle now{5};
  WqeStore store(&now);
  const std::uint32_t first = store.allocate();
  store.release(first);
  EXPECT_NE(store.allocate(), first);
  now = Cycle{6};
  EXPECT_EQ(store.allocate(), first);
}

TEST(WqeStore, TheLowestFreeSlotIsTakenInWhateverOrderTheyCameBack) {  // R2
  for (const bool reversed : {false, true}) {
    Cycle now{5};
    WqeStore store(&now);
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

TEST(WqeStore, EachUserHasSlotsOfItsOwn) {  // R2
  for (const bool other_first : {false, true}) {
    WqeStore store;
    if (other_first) store.allocate(WqeUser::kTagMatchCam);
    const std::uint32_t mine = store.allocate();
    if (!other_first) store.allocate(WqeUser::kTagMatchCam);
    EXPECT_EQ(mine, 0u);
    EXPECT_EQ(store.in_use(), 2u);
  }
}

TEST(WqeStore, ItGrowsAndReferencesStay) {  // R3
  WqeStore store;
  ReceiveWqe& first = store[store.allocate()];
  first.total_bytes = 77;
  for (int i = 0; i < 1000; ++i) store.allocate();
  EXPECT_EQ(&store[0], &first);
  EXPECT_EQ(store[0].total_bytes, 77u);
  EXPECT_EQ(store.in_use(), 1001u);
}

}  // namespace
}  // namespace rxnic
