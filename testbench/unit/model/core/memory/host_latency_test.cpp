// SPDX-License-Identifier: Apache-2.0
// Rules R1 to R5 of model/core/memory/host_latency.h. A cycle of 1 ps, so that times are cycles.
#include "model/core/memory/host_latency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace rxnic::host_latency_test {
namespace {

constexpr std::uint32_t kDraws = 200'000;

std::vector<std::uint64_t> reads(const DmaEngineParams& p) {
  const LinkTime time(1000, 1);
  HostLatency latency(p, time);
  std::vector<std::uint64_t> out(kDraws);
  for (std::uint64_t& t : out) t = time.to_ps(latency.of_read());
  std::ranges::sort(out);
  return out;
}

TEST(HostLatency, ConstantReadsTakeTheirTime) {  // R1
  const auto all = reads({});
  EXPECT_EQ(all.front(), DmaEngineParams{}.read_latency_ps);
  EXPECT_EQ(all.back(), DmaEngineParams{}.read_latency_ps);
}

TEST(HostLatency, ARangeIsDrawnEvenlyWithBothEnds) {  // R2
  DmaEngineParams p;
  p.read_latency = ReadLatency::kRange;
  p.read_latency_min_ps = 1000;
  p.read_latency_max_ps = 1009;
  const auto all = reads(p);
  EXPECT_EQ(all.front(), 1000u);
  EXPECT_EQ(all.back(), 1009u);
  for (std::uint64_t t = 1000; t <= 1009; ++t) {
    EXPECT_NEAR(static_cast<double>(std::ranges::count(all, t)), kDraws / 10.0, kDraws * 0.005) << t;
  }
}

TEST(HostLatency, ATableHasItsPercentiles) {  // R3
  DmaEngineParams p;
  p.read_latency = ReadLatency::kTable;
  p.read_latency_min_ps = 500'000;
  p.read_latency_p50_ps = 600'000;
  p.read_latency_p90_ps = 900'000;
  p.read_latency_p99_ps = 2'000'000;
  p.read_latency_p999_ps = 9'000'000;
  p.read_latency_max_ps = 50'000'000;
  const auto all = reads(p);
  const auto at = [&](double percentile) {
    return static_cast<double>(all[static_cast<std::size_t>(percentile * kDraws)]);
  };
  EXPECT_GE(all.front(), 500'000u);
  EXPECT_LE(all.back(), 50'000'000u);
  EXPECT_NEAR(at(0.25), 550'000, 2000);
  EXPECT_NEAR(at(0.5), 600'000, 3000);
  EXPECT_NEAR(at(0.9), 900'000, 10'000);
  EXPECT_NEAR(at(0.99), 2'000'000, 150'000);
  EXPECT_NEAR(at(0.999), 9'000'000, 6'000'000);
}

TEST(HostLatency, TimesThatFallCountAsThoseBefore) {  // R3
  DmaEngineParams p;
  p.read_latency = ReadLatency::kTable;
  p.read_latency_min_ps = 700'000;
  p.read_latency_p50_ps = p.read_latency_p90_ps = p.read_latency_p99_ps = p.read_latency_p999_ps = 1000;
  p.read_latency_max_ps = 1000;
  const auto all = reads(p);
  EXPECT_EQ(all.front(), 700'000u);
  EXPECT_EQ(all.back(), 700'000u);
}

TEST(HostLatency, WritesAreSpreadAboveTheirLeast) {  // R4
  DmaEngineParams p;
  p.write_latency_ps = 2000;
  p.write_latency_spread_ps = 9;
  const LinkTime time(1000, 1);
  HostLatency latency(p, time);
  std::vector<std::uint32_t> seen(10);
  for (std::uint32_t i = 0; i < kDraws; ++i) ++seen.at(time.to_ps(latency.of_write()) - 2000);
  for (const std::uint32_t n : seen) EXPECT_NEAR(n, kDraws / 10.0, kDraws * 0.005);
}

TEST(HostLatency, TheSeedDecides) {  // R5
  DmaEngineParams p;
  p.read_latency = ReadLatency::kRange;
  const LinkTime time(1000, 1);
  const auto first = [&](std::uint64_t seed, std::uint32_t writes) {
    p.latency_seed = seed;
    p.write_latency_spread_ps = 1000;
    HostLatency latency(p, time);
    for (std::uint32_t i = 0; i < writes; ++i) latency.of_write();
    std::vector<std::uint64_t> out;
    for (int i = 0; i < 4; ++i) out.push_back(time.to_ps(latency.of_read()));
    return out;
  };
  EXPECT_EQ(first(1, 0), first(1, 0));
  EXPECT_NE(first(1, 0), first(2, 0));
  EXPECT_EQ(first(1, 0), first(1, 5)) << "writes draw from a sequence of their own";
}

}  // namespace
}  // namespace rxnic::host_latency_test
