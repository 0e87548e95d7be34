// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/region_targets.h"

#include <gtest/gtest.h>

#include <vector>

namespace rxnic::region_targets_test {
namespace {

constexpr std::uint64_t kRegionBytes = 1000;

ReceiverPage page_of(RegionLocality locality, std::uint64_t regions) {
  ReceiverPage page;
  page.locality = locality;
  page.regions = regions;
  page.stride = 300;
  return page;
}

TEST(RegionTargets, SequentialTargetsFollowEachOther) {  // R2
  RandomNumbers random(1, 1);
  RegionTargets targets(page_of(RegionLocality::kSequential, 2), kRegionBytes);
  const std::vector<std::pair<std::uint32_t, std::uint64_t>> expected = {{0, 0}, {0, 400}, {1, 0}, {1, 400}, {0, 0}};
  for (const auto& [region, offset] : expected) {
    const RegionTarget t = targets.next(400, random);
    EXPECT_EQ(t.region, region);
    EXPECT_EQ(t.offset, offset);
  }
}

TEST(RegionTargets, AStrideLeavesGaps) {  // R2
  RandomNumbers random(1, 1);
  RegionTargets targets(page_of(RegionLocality::kStride, 1), kRegionBytes);
  for (const std::uint64_t offset : {0u, 300u, 600u, 0u, 300u}) EXPECT_EQ(targets.next(200, random).offset, offset);
}

TEST(RegionTargets, UniformTargetsAreSpreadOverAllRegions) {  // R1
  constexpr std::uint64_t kSeed = 3, kBins = 40, kDraws = 40'000;
  constexpr double kCritical = 62.43;  // chi-square, 39 degrees of freedom, 1 %
  RandomNumbers random(kSeed, 1);
  RegionTargets targets(page_of(RegionLocality::kUniform, 4), kRegionBytes);
  std::vector<double> bins(kBins);
  for (std::uint64_t n = 0; n < kDraws; ++n) {
    const RegionTarget t = targets.next(1, random);
    ASSERT_LT(t.offset, kRegionBytes);
    ++bins[t.region * 10 + t.offset / 100];
  }
  double chi = 0;
  for (const double count : bins) chi += (count - 1000) * (count - 1000) / 1000;
  EXPECT_LT(chi, kCritical) << "seed " << kSeed;
}

TEST(RegionTargets, ZipfFavoursTheFirstRegions) {  // R1
  constexpr std::uint64_t kSeed = 4, kDraws = 30'000;
  constexpr double kCritical = 11.34;  // chi-square, 3 degrees of freedom, 1 %
  RandomNumbers random(kSeed, 1);
  RegionTargets targets(page_of(RegionLocality::kZipf, 4), kRegionBytes);
  std::vector<double> found(4);
  for (std::uint64_t n = 0; n < kDraws; ++n) ++found[targets.next(64, random).region];
  constexpr double kSum = 1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4;
  double chi = 0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    const double expected = kDraws / kSum / static_cast<double>(k + 1);
    chi += (found[k] - expected) * (found[k] - expected) / expected;
  }
  EXPECT_LT(chi, kCritical) << "seed " << kSeed;
}

}  // namespace
}  // namespace rxnic::region_targets_test
