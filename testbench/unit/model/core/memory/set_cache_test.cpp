// SPDX-License-Identifier: Apache-2.0
// Rules R1..R3 of model/core/memory/set_cache.h.
#include "model/core/memory/set_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>

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

struct MostRecent final : Replacement {
  explicit MostRecent(std::size_t& of, bool answer) : asked(of), answers(answer) {}
  std::size_t victim(std::span<const CacheWay> ways) const override {
    asked = ways.size();
    const auto less = [](const CacheWay& a, const CacheWay& b) { return a.used < b.used; };
    return answers ? static_cast<std::size_t>(std::max_element(ways.begin(), ways.end(), less) - ways.begin()) : 99;
  }
  std::size_t& asked;
  const bool answers;
};

TEST(SetCache, APolicyChoosesAmongThoseThatMayBeEvicted) {  // R2
  std::size_t asked = 0;
  SetCache cache(1, 4, std::make_unique<MostRecent>(asked, true));
  for (std::uint64_t key = 10; key < 14; ++key) cache.assign(cache.place_for(key), key);
  EXPECT_EQ(asked, 0u) << "while a way is free the policy is not asked";
  cache.touch(cache.find(11));
  EXPECT_EQ(cache.key(cache.place_for(20)), 11u);
  EXPECT_EQ(asked, 4u);
  EXPECT_EQ(cache.key(cache.place_for(20, [&](std::uint32_t line) { return cache.key(line) != 11; })), 13u);
  EXPECT_EQ(asked, 3u);
  EXPECT_EQ(cache.place_for(20, [](std::uint32_t) { return false; }), SetCache::kNoLine);
}

TEST(SetCache, AnAnswerThatIsNoIndexIsTheFirst) {  // replacement.h
  std::size_t asked = 0;
  SetCache cache(1, 2, std::make_unique<MostRecent>(asked, false));
  for (std::uint64_t key = 10; key < 12; ++key) cache.assign(cache.place_for(key), key);
  EXPECT_EQ(cache.key(cache.place_for(20)), 10u);
}

}  // namespace
}  // namespace rxnic::set_cache_test
