// SPDX-License-Identifier: Apache-2.0
// Values at boundaries (edges.h): each kind is what it says, and is counted.
#include "testbench/cosim/edges.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <set>

namespace rxnic::edges_test {
namespace {

constexpr std::uint32_t kDraws = 2000;

std::uint64_t counted(const Edges& edges, Boundary kind) { return edges.counts()[static_cast<std::size_t>(kind)]; }

TEST(Edges, AnAddressIsLessThanItsBytesBeforeABoundary) {
  constexpr std::uint64_t kBytes = 8192, kAlign = 64;
  Edges edges(1);
  std::uint64_t across_four_gib = 0, at_the_end = 0, across_top = 0;
  for (std::uint32_t n = 0; n < kDraws; ++n) {
    const std::uint64_t at = edges.address(kBytes, kAlign), behind = at + kBytes;
    EXPECT_EQ(at % kAlign, 0u);
    EXPECT_NE(at >> 12, behind >> 12);
    across_four_gib += at >> 32 != behind >> 32;
    across_top += at >> 63 == 0 && behind >> 63 == 1;
    at_the_end += behind < at || at == 0;
  }
  EXPECT_GE(across_four_gib, counted(edges, Boundary::kFourGib) - kDraws / 20);  // the others are on it
  EXPECT_GE(counted(edges, Boundary::kFourGib), kDraws / 3);
  EXPECT_GT(across_top, kDraws / 20);
  EXPECT_GT(at_the_end, kDraws / 10);
}

TEST(Edges, ACounterWrapsWithinItsSteps) {
  constexpr std::uint32_t kSteps = 4;
  Edges edges(2);
  std::uint32_t wraps = 0;
  for (std::uint32_t n = 0; n < kDraws; ++n) {
    const std::uint32_t at = edges.counter(kSteps);
    EXPECT_NE(at & 0xff, (at + kSteps) & 0xff);
    EXPECT_LT((at + kSteps) & 0xff, kSteps);
    wraps += at + kSteps < at;
  }
  EXPECT_GT(wraps, kDraws / 8);
  EXPECT_EQ(counted(edges, Boundary::kCounter), kDraws);
}

TEST(Edges, ABitIsOneBitAndOftenTheHighest) {
  Edges edges(3);
  std::uint32_t highest = 0;
  std::set<std::uint64_t> seen;
  for (std::uint32_t n = 0; n < kDraws; ++n) {
    const std::uint64_t bit = edges.bit(64);
    EXPECT_EQ(std::popcount(bit), 1);
    highest += bit >> 63 != 0;
    seen.insert(bit);
  }
  EXPECT_GT(highest, kDraws / 3);
  EXPECT_EQ(seen.size(), 64u);
}

TEST(Edges, PlacesDifferFromTheFirstInOneBit) {
  constexpr unsigned kBits = 8;
  std::set<std::uint32_t> seen;
  for (std::uint32_t n = 0; n < 16; ++n) {
    const std::uint32_t place = place_of(n, kBits);
    EXPECT_LT(place, 1u << kBits);
    if (n > 0 && n <= kBits) {
      EXPECT_EQ(std::popcount(place), 1) << n;
    }
    seen.insert(place);
  }
  EXPECT_EQ(seen.size(), 16u);
}

}  // namespace
}  // namespace rxnic::edges_test
