// SPDX-License-Identifier: Apache-2.0
#include "model/system/cycle_times.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace rxnic {
namespace {

std::vector<std::pair<std::uint64_t, std::uint64_t>> buckets(const Histogram& h) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
  h.for_each([&](std::uint64_t value, std::uint64_t count) { all.emplace_back(value, count); });
  return all;
}

// Around each power of two, where the counts grow and where they end.
TEST(CycleTimes, AreTheHistogramOfTheSameTimes) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  for (const std::uint64_t period_ps : {std::uint64_t{1000}, std::uint64_t{833}, std::uint64_t{4001}}) {
    CycleTimes one, other;
    Histogram expected;
    std::uint64_t cycles = 0;
    for (int n = 0; n < 20'000; ++n) {
      const std::uint64_t power = std::uint64_t{1} << random() % 16;
      const std::uint64_t time = power - 1 + random() % 3;
      (random() % 2 == 0 ? one : other).add(time, period_ps);
      expected.add(time * period_ps / 1000);
      cycles += time;
    }
    one.add(other);
    EXPECT_EQ(buckets(one.ns(period_ps)), buckets(expected));
    EXPECT_EQ(one.ns(period_ps).count(), 20'000u);
    EXPECT_EQ(one.ns(period_ps).max(), expected.max());
    EXPECT_EQ(one.cycles(), cycles);
  }
}

// Three times for each stay, in one object or in three.
TEST(StayTimes, AreTheCycleTimesOfTheirParts) {
  constexpr std::uint64_t kSeed = 12, kPeriodPs = 833;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  const auto time = [&random] { return (std::uint64_t{1} << random() % 14) - 1 + random() % 3; };
  StayTimes one, other;
  CycleTimes whole, wait, block;
  for (int n = 0; n < 20'000; ++n) {
    const std::uint64_t waited = random() % 2 == 0 ? 1 : time(), inside = time();
    (random() % 2 == 0 ? one : other).add(waited, inside, kPeriodPs);
    whole.add(waited + inside, kPeriodPs);
    wait.add(waited, kPeriodPs);
    block.add(inside, kPeriodPs);
  }
  one.add(other);
  for (const auto& [part, expected] :
       {std::pair(StayTimes::Part::kWhole, &whole), std::pair(StayTimes::Part::kWait, &wait),
        std::pair(StayTimes::Part::kBlock, &block)}) {
    EXPECT_EQ(buckets(one.ns(part, kPeriodPs)), buckets(expected->ns(kPeriodPs)));
    EXPECT_EQ(one.ns(part, kPeriodPs).max(), expected->ns(kPeriodPs).max());
    EXPECT_EQ(one.cycles(part), expected->cycles());
  }
}

TEST(CycleTimes, WithoutTimesAreEmpty) {
  EXPECT_EQ(CycleTimes{}.ns(1000).count(), 0u);
  CycleTimes sum;
  sum.add(CycleTimes{});
  EXPECT_EQ(sum.cycles(), 0u);
}

}  // namespace
}  // namespace rxnic
