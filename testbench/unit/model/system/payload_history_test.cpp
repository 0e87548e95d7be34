// SPDX-License-Identifier: Apache-2.0
#include "model/system/payload_history.h"

#include <gtest/gtest.h>

namespace rxnic {
namespace {

// `packets` of 100 bytes, one in `apart` cycles from `from` on.
PayloadHistory evenly(std::uint64_t from, std::uint64_t packets, std::uint64_t apart) {
  PayloadHistory history;
  for (std::uint64_t n = 1; n <= packets; ++n) history.add(Cycle{from + n * apart}, 100);
  return history;
}

TEST(PayloadHistory, TheRateIsThatOfTheSteadyWindow) {  // R1
  PayloadHistory history = evenly(1'000'000, 1000, 10);
  EXPECT_NEAR(history.steady_bytes_per_cycle(), 10, 0.1) << "a late beginning counts not";
  history.add(Cycle{9'000'000}, 100);
  EXPECT_NEAR(history.steady_bytes_per_cycle(), 10, 0.1) << "nor does a straggler";
}

TEST(PayloadHistory, OfTooFewPacketsNothingIsSaid) {  // R1
  EXPECT_EQ(evenly(0, PayloadHistory::kLeast - 1, 10).steady_bytes_per_cycle(), 0);
  EXPECT_GT(evenly(0, PayloadHistory::kLeast, 10).steady_bytes_per_cycle(), 0);
  EXPECT_EQ(PayloadHistory{}.steady_bytes_per_cycle(), 0);
  PayloadHistory same;  // what has no payload is none
  for (std::uint64_t n = 0; n < 1000; ++n) same.add(Cycle{n}, 0);
  EXPECT_EQ(same.steady_bytes_per_cycle(), 0);
}

TEST(PayloadHistory, TheOrderInWhichPacketsAreNotedDoesNotMatter) {  // R2
  PayloadHistory history;
  for (std::uint64_t n = 250; n < 50'000; ++n) {  // of two QPs in turn, one of which is noted 2,500 cycles later
    history.add(Cycle{10 * (n % 2 == 0 ? n : n - 250)}, 100);
  }
  EXPECT_NEAR(history.steady_bytes_per_cycle(), 10, 0.1);
  PayloadHistory late;  // half of all is noted behind the other half, which came later
  for (std::uint64_t n = 500; n < 1000; ++n) late.add(Cycle{10 * n}, 100);
  for (std::uint64_t n = 0; n < 500; ++n) late.add(Cycle{10 * n}, 100);
  EXPECT_NEAR(late.steady_bytes_per_cycle(), 10, 0.1);
}

TEST(PayloadHistory, ALargeFirstPacketIsNoRate) {  // R1
  PayloadHistory history;
  history.add(Cycle{1000}, 100'000);
  for (std::uint64_t n = 1; n <= 1000; ++n) history.add(Cycle{1000 + 10 * n}, 100);
  EXPECT_NEAR(history.steady_bytes_per_cycle(), 10, 0.1);
}

TEST(PayloadHistory, ManyPacketsAreThinnedOut) {  // R3
  EXPECT_NEAR(evenly(50, 1'000'000, 3).steady_bytes_per_cycle(), 100.0 / 3, 0.3);
}

TEST(PayloadHistory, TwoNicsAddUp) {
  PayloadHistory both = evenly(1000, 20'000, 10);
  both.add(evenly(1000, 10'000, 20));
  EXPECT_NEAR(both.steady_bytes_per_cycle(), 15, 0.15);
  PayloadHistory alone = evenly(1000, 20'000, 10);
  alone.add(PayloadHistory{});
  EXPECT_NEAR(alone.steady_bytes_per_cycle(), 10, 0.1);
}

}  // namespace
}  // namespace rxnic
