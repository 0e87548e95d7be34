// SPDX-License-Identifier: Apache-2.0
#include "model/engine/growing_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <set>

namespace rxnic {
namespace {

TEST(GrowingQueue, KeepsTheOrderOfArrivalWhereverItGrows) {
  for (std::size_t before = 0; before < 40; ++before) {  // places that were used when it grows
    GrowingQueue<std::size_t> queue;
    for (std::size_t n = 0; n < before; ++n) {
      queue.push_back(n);
      queue.pop_front();
    }
    EXPECT_TRUE(queue.empty());
    for (std::size_t n = 0; n < 100; ++n) queue.push_back(n);
    ASSERT_EQ(queue.size(), 100u);
    for (std::size_t n = 0; n < 100; ++n) {
      ASSERT_EQ(queue.front(), n) << "behind " << before;
      queue.pop_front();
    }
    EXPECT_TRUE(queue.empty());
  }
}

TEST(GrowingQueue, GoesRoundInTheMemoryThatItHas) {
  for (std::size_t held = 1; held < 40; ++held) {
    GrowingQueue<std::size_t> queue;
    for (std::size_t n = 0; n < held; ++n) queue.push_back(n);
    std::set<const std::size_t*> places;
    for (std::size_t n = held; n < held + 200; ++n) {
      ASSERT_EQ(queue.front(), n - held) << held << " are held";
      places.insert(&queue.front());
      queue.pop_front();
      queue.push_back(n);
      ASSERT_EQ(queue.size(), held);
    }
    EXPECT_LE(places.size(), std::bit_ceil(std::max<std::size_t>(held, 16))) << held << " are held";
  }
}

}  // namespace
}  // namespace rxnic
