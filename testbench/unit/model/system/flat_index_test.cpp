// SPDX-License-Identifier: Apache-2.0
#include "model/system/flat_index.h"

#include <gtest/gtest.h>

namespace rxnic::flat_index_test {
namespace {

TEST(FlatIndex, FindsWhatWasInsertedAndNothingElse) {
  FlatIndex index;
  EXPECT_EQ(index.find(0), FlatIndex::kNone);
  for (std::uint32_t n = 0; n < 5000; ++n) index.insert(std::uint64_t{n} << 12, n);
  for (std::uint32_t n = 0; n < 5000; ++n) {
    ASSERT_EQ(index.find(std::uint64_t{n} << 12), n);
    ASSERT_EQ(index.find((std::uint64_t{n} << 12) + 1), FlatIndex::kNone);
  }
  EXPECT_EQ(index.at(0), 0u);
  EXPECT_THROW(index.at(1), std::out_of_range);
}

TEST(FlatIndex, AKeyThatIsThereGetsTheNewIndex) {
  FlatIndex index;
  for (std::uint32_t n = 0; n < 100; ++n) index.insert(7, n);
  EXPECT_EQ(index.find(7), 99u);
}

}  // namespace
}  // namespace rxnic::flat_index_test
