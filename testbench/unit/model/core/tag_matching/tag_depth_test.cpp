// SPDX-License-Identifier: Apache-2.0
#include "model/core/tag_matching/tag_depth.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/types/splitmix.h"

namespace rxnic::tag_depth_test {
namespace {

TEST(TagDepth, CountsTheOlderEntriesThatArePosted) {  // R1
  TagDepth list(4);
  for (const std::uint32_t handle : {2u, 0u, 3u}) list.append(handle);
  EXPECT_EQ(list.older(2), 0u);
  EXPECT_EQ(list.older(3), 2u);
  list.remove(0);
  EXPECT_EQ(list.older(3), 1u);
  EXPECT_EQ(list.size(), 2u);
  list.append(0);
  EXPECT_EQ(list.older(0), 2u) << "the youngest now";
}

TEST(TagDepth, AnEntryThatComesBackIsAsOldAsItWas) {  // R2
  TagDepth list(4);
  for (const std::uint32_t handle : {0u, 1u, 2u}) list.append(handle);
  list.remove(0);
  EXPECT_EQ(list.older(2), 1u);
  list.restore(0);
  EXPECT_EQ(list.older(2), 2u);
  EXPECT_EQ(list.older(0), 0u);
}

// Long-lived entries among many that come and go, against a plain list of handles by age.
TEST(TagDepth, AgreesWithALinearSearch) {
  constexpr std::uint32_t kMaxTags = 37;
  constexpr std::uint64_t kSeed = 5;
  Splitmix random(kSeed);
  TagDepth list(kMaxTags);
  std::vector<std::uint32_t> plain, matched, free;
  for (std::uint32_t handle = 0; handle < kMaxTags; ++handle) free.push_back(handle);
  std::uint64_t compared = 0;
  for (std::uint32_t step = 0; step < 20'000; ++step) {
    if (!free.empty() && (plain.empty() || random.below(2) == 0)) {
      const std::uint32_t n = random.below(free.size());
      list.append(free[n]);
      plain.push_back(free[n]);
      free.erase(free.begin() + n);
    } else {
      const std::uint32_t n = random.below(plain.size());
      ASSERT_EQ(list.older(plain[n]), n) << "seed " << kSeed << ", step " << step;
      ++compared;
      list.remove(plain[n]);
      if (random.below(4) == 0) {  // it was taken back
        list.restore(plain[n]);
        continue;
      }
      free.push_back(plain[n]);
      plain.erase(plain.begin() + n);
    }
    ASSERT_EQ(list.size(), plain.size());
  }
  EXPECT_GT(compared, 5000u);
}

}  // namespace
}  // namespace rxnic::tag_depth_test
