// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/heap.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace rxnic::verbs::verbs_heap_test {
namespace {

constexpr std::uint64_t kBegin = 16 * kPageBytes, kEnd = 80 * kPageBytes;

TEST(VerbsHeap, RingsAreWholePages) {  // R1
  PageHeap heap(kBegin, kEnd);
  EXPECT_EQ(heap.allocate(1), kBegin);
  EXPECT_EQ(heap.allocate(kPageBytes + 1), kBegin + kPageBytes);
  EXPECT_EQ(heap.allocate(1), kBegin + 3 * kPageBytes);
}

TEST(VerbsHeap, FirstFitAndFreedRunsJoin) {  // R2
  PageHeap heap(kBegin, kEnd);
  const auto a = *heap.allocate(kPageBytes), b = *heap.allocate(2 * kPageBytes), c = *heap.allocate(kPageBytes);
  heap.free(a, kPageBytes);
  heap.free(c, kPageBytes);
  EXPECT_EQ(heap.allocate(2 * kPageBytes), c);  // a's page is too small; c's was merged with the rest
  heap.free(b, 2 * kPageBytes);
  EXPECT_EQ(heap.allocate(3 * kPageBytes), a);
}

TEST(VerbsHeap, TooMuchIsRefused) {
  PageHeap heap(kBegin, kEnd);
  EXPECT_FALSE(heap.allocate(kEnd - kBegin + 1));
  EXPECT_FALSE(heap.allocate(~std::uint64_t{0}));
  EXPECT_FALSE(heap.allocate(0));
  EXPECT_EQ(heap.allocate(kEnd - kBegin), kBegin);
  EXPECT_FALSE(heap.allocate(1));
  EXPECT_EQ(heap.free_bytes(), 0u);
}

TEST(VerbsHeap, RandomUseNeverOverlapsAndEndsAsItBegan) {
  const char* set = std::getenv("RXNIC_SEED");
  const auto seed = set != nullptr ? static_cast<unsigned>(std::stoul(set)) : std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  PageHeap heap(kBegin, kEnd);
  std::map<std::uint64_t, std::uint64_t> held;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0) {
      const std::uint64_t bytes = 1 + random() % (6 * kPageBytes);
      const auto at = heap.allocate(bytes);
      if (!at) continue;
      ASSERT_GE(*at, kBegin);
      ASSERT_LE(*at + bytes, kEnd);
      const auto next = held.lower_bound(*at);
      ASSERT_TRUE(next == held.end() || *at + whole_pages(bytes) <= next->first);
      ASSERT_TRUE(next == held.begin() || std::prev(next)->first + whole_pages(std::prev(next)->second) <= *at);
      held[*at] = bytes;
    } else if (!held.empty()) {
      const auto victim = std::next(held.begin(), static_cast<long>(random() % held.size()));
      heap.free(victim->first, victim->second);
      held.erase(victim);
    }
  }
  for (const auto& [at, bytes] : held) heap.free(at, bytes);
  EXPECT_EQ(heap.free_bytes(), kEnd - kBegin);
  EXPECT_EQ(heap.allocate(kEnd - kBegin), kBegin);
}

TEST(VerbsRecordPool, LowestFreeRecordFirst) {  // R3
  RecordPool<128> pool;
  for (std::uint32_t i = 0; i < 128; ++i) ASSERT_EQ(pool.allocate(), i);
  EXPECT_FALSE(pool.allocate());
  pool.free(100);
  pool.free(3);
  EXPECT_EQ(pool.allocate(), 3u);
  EXPECT_EQ(pool.allocate(), 100u);
  EXPECT_FALSE(pool.allocate());
}

}  // namespace
}  // namespace rxnic::verbs::verbs_heap_test
