// SPDX-License-Identifier: Apache-2.0
#include "model/types/ids.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace rxnic::ids_test {
namespace {

TEST(Ids, NumbersOfDifferentKindsDoNotMix) {
  EXPECT_FALSE((std::is_convertible_v<Qpn, Srqn>));
  EXPECT_FALSE((std::is_convertible_v<std::uint32_t, Qpn>));
  EXPECT_FALSE((std::is_convertible_v<Cycle, std::uint64_t>));
  EXPECT_FALSE((std::is_convertible_v<std::uint64_t, Cycle>));
  EXPECT_EQ(raw(Qpn{7}), 7u);
  EXPECT_EQ(raw(BusAddress{0x1000} + 0x20), 0x1020u);
}

TEST(Psn, KeepsTheLow24Bits) {
  EXPECT_EQ(Psn{0x1000005}.value, 5u);
  EXPECT_EQ((Psn{0xffffff} + 1).value, 0u);
  EXPECT_EQ((Psn{0xfffffe} + 5).value, 3u);
  EXPECT_EQ(Psn{0}.previous().value, 0xffffffu);
}

TEST(Psn, DistanceIsSignedAndCircular) {
  EXPECT_EQ(Psn{5} - Psn{5}, 0);
  EXPECT_EQ(Psn{6} - Psn{5}, 1);
  EXPECT_EQ(Psn{5} - Psn{6}, -1);
  EXPECT_EQ(Psn{0} - Psn{0xffffff}, 1);
  EXPECT_EQ(Psn{0xffffff} - Psn{0}, -1);
}

TEST(Psn, HalfTheCircleAheadIsBehind) {
  EXPECT_EQ(Psn{0x7fffff} - Psn{0}, 0x7fffff);
  EXPECT_EQ(Psn{0x800000} - Psn{0}, -0x800000);
  EXPECT_EQ(Psn{0x7fffff + 0x123456} - Psn{0x123456}, 0x7fffff);
  EXPECT_EQ(Psn{0x800000 + 0x123456} - Psn{0x123456}, -0x800000);
}

TEST(Cycle, IsOrderedAndNeverComesLast) {
  EXPECT_LT(Cycle{4}, Cycle{5});
  EXPECT_LT(Cycle{~std::uint64_t{0} - 1}, kNever);
  EXPECT_EQ(earliest(kNever, Cycle{3}), Cycle{3});
  EXPECT_EQ(latest(Cycle{4}, Cycle{3}), Cycle{4});
  EXPECT_EQ(Cycle{4} + 3, Cycle{7});
  EXPECT_EQ(Cycle{4} - Cycle{3}, Cycle{1});
}

}  // namespace
}  // namespace rxnic::ids_test
