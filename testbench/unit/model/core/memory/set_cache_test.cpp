// SPDX-License-Identifier: Apache-2.0
// Rules R1..R3 of model/core/memory/set_cache.h.
#include "model/core/memory/set_cache.h"

#include <gtest/gtest.h>

namespace rxnic::set_cache_test {
namespace {

std::uint32_t insert(SetCache& cache, std::uint64_t key) {
  const std::uint32_t line = cache.place_for(key);
  if (cache.in_use(line)) cache.drop(line);
  cache.assign(line, key);
  return line;
}

TEST(SetCache, FindsWhatWasAssignedAndNothingElse) {
  SetCache cache(4, 2);
  EXPECT_EQ(cache.find(5), SetCache::kNoLine);
  const std::uint32_t line = insert(cache, 5);
  EXPECT_EQ(cache.find(5), line);
  EXPECT_EQ(cache.key(line), 5u);
  EXPECT_EQ(cache.find(1), SetCache::kNoLine);  // same set
  cache.drop(line);
  EXPECT_EQ(cache.find(5), SetCache::kNoLine);
}

TEST(SetCache, KeysOfDifferentSetsDoNotDisplaceEachOther) {  // R1
  SetCache cache(4, 1);
  for (std::uint64_t key = 0; key < 4; ++key) insert(cache, key);
  for (std::uint64_t key = 0; key < 4; ++key) EXPECT_NE(cache.find(key), SetCache::kNoLine);
  insert(cache, 4);
  EXPECT_EQ(cache.find(0), SetCache::kNoLine);
  EXPECT_NE(cache.find(1), SetCache::kNoLine);
}

TEST(SetCache, FreeWayIsTakenFirst) {  // R2
  SetCache cache(1, 3);
  insert(cache, 1);
  cache.drop(insert(cache, 2));
  insert(cache, 3);
  insert(cache, 4);
  for (const std::uint64_t key : {1, 3, 4}) EXPECT_NE(cache.find(key), SetCache::kNoLine);
}

TEST(SetCache, LeastRecentlyTouchedIsEvicted) {  // R2, R3
  SetCache cache(1, 2);
  const std::uint32_t one = insert(cache, 1);
  insert(cache, 2);
  cache.touch(one);
  insert(cache, 3);
  EXPECT_EQ(cache.find(2), SetCache::kNoLine);
  EXPECT_NE(cache.find(1), SetCache::kNoLine);
}

TEST(SetCache, FindDoesNotTouch) {  // R3
  SetCache cache(1, 2);
  insert(cache, 1);
  insert(cache, 2);
  EXPECT_NE(cache.find(1), SetCache::kNoLine);
  insert(cache, 3);
  EXPECT_EQ(cache.find(1), SetCache::kNoLine);
}

TEST(SetCache, LinesThatMayNotBeEvictedStay) {  // R2
  SetCache cache(1, 2);
  const std::uint32_t one = insert(cache, 1), two = insert(cache, 2);
  EXPECT_EQ(cache.place_for(3, [&](std::uint32_t line) { return line != one; }), two);
  EXPECT_EQ(cache.place_for(3, [](std::uint32_t) { return false; }), SetCache::kNoLine);
}

}  // namespace
}  // namespace rxnic::set_cache_test
