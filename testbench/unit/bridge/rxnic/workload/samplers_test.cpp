// SPDX-License-Identifier: Apache-2.0
// The distributions of workloads against their definitions: Pearson's chi-square test of classes, the
// Kolmogorov-Smirnov test of continuous ones. A false alarm has a probability of 0.1 %; the seeds are fixed, so that it
// does not come.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "bridge/rxnic/workload/page_reader.h"
#include "bridge/rxnic/workload/samplers.h"

namespace rxnic {
namespace {

constexpr std::uint64_t kSeed = 54;
constexpr int kSamples = 20000;
constexpr double kNormal999 = 3.0902;  // quantile of the standard normal distribution at 0.999

// Quantile of the chi-square distribution at 0.999 (E. B. Wilson, M. M. Hilferty, 1931).
double chi_square_999(double freedom) {
  const double a = 2 / (9 * freedom);
  return freedom * std::pow(1 - a + kNormal999 * std::sqrt(a), 3);
}

// Pearson's statistic over its critical value; `shares` add up to 1.
double chi_square_ratio(const std::vector<double>& shares, const std::vector<std::uint64_t>& counts) {
  double statistic = 0, all = 0;
  for (const std::uint64_t n : counts) all += static_cast<double>(n);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double expected = shares[i] * all;
    EXPECT_GE(expected, 5) << "class " << i << " is too small for the test";
    statistic += (static_cast<double>(counts[i]) - expected) * (static_cast<double>(counts[i]) - expected) / expected;
  }
  return statistic / chi_square_999(static_cast<double>(shares.size()) - 1);
}

// The Kolmogorov-Smirnov statistic over its critical value at 0.1 %, 1.949 / sqrt(n).
double kolmogorov_ratio(std::vector<double> samples, const std::function<double(double)>& cdf) {
  std::ranges::sort(samples);
  const auto n = static_cast<double>(samples.size());
  double distance = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double f = cdf(samples[i]);
    distance = std::max({distance, f - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - f});
  }
  return distance * std::sqrt(n) / 1.949;
}

std::vector<std::uint64_t> sizes_of(const SendersPage& page, int samples = kSamples) {
  RandomNumbers random(kSeed, 1);
  const SizeSampler sampler(page);
  std::vector<std::uint64_t> sizes;
  for (int i = 0; i < samples; ++i) sizes.push_back(sampler.quantile(random.unit()));
  return sizes;
}

std::vector<double> as_real(const std::vector<std::uint64_t>& sizes) { return {sizes.begin(), sizes.end()}; }

TEST(WorkloadSamplers, UniformNumbersAreUniformAndStreamsAreIndependent) {
  std::vector<double> numbers, pairs;
  RandomNumbers one(kSeed, 1), other(kSeed, 2);
  for (int i = 0; i < kSamples; ++i) {
    const double u = one.unit(), v = other.unit();
    ASSERT_TRUE(u >= 0 && u < 1);
    numbers.push_back(u);
    pairs.push_back(u + v < 1 ? u + v : u + v - 1);  // uniform again, if they are independent
  }
  EXPECT_LT(kolmogorov_ratio(numbers, [](double x) { return x; }), 1) << "seed " << kSeed;
  EXPECT_LT(kolmogorov_ratio(pairs, [](double x) { return x; }), 1) << "seed " << kSeed;
  EXPECT_GT(kolmogorov_ratio(numbers, [](double x) { return std::pow(x, 1.1); }), 1) << "the test sees no difference";
}

TEST(WorkloadSamplers, FixedSizesAreFixed) {
  SendersPage page;
  page.bytes = 4096;
  for (const std::uint64_t size : sizes_of(page, 100)) EXPECT_EQ(size, 4096u);
}

TEST(WorkloadSamplers, UniformSizesHaveEqualSharesWithBothLimits) {
  SendersPage page;
  page.size = SizeKind::kUniform;
  page.min_bytes = 10;
  page.max_bytes = 29;
  std::vector<std::uint64_t> counts(20);
  for (const std::uint64_t size : sizes_of(page)) ++counts.at(size - 10);
  EXPECT_LT(chi_square_ratio(std::vector<double>(20, 0.05), counts), 1) << "seed " << kSeed;
  std::vector<double> other(20, 0.05);
  other.front() = 0.045, other.back() = 0.055;
  counts.front() = counts.front() * 5 / 4;
  EXPECT_GT(chi_square_ratio(other, counts), 1) << "the test sees no difference";
}

TEST(WorkloadSamplers, LogNormalSizesHaveTheirMedianAndSigma) {
  SendersPage page;
  page.size = SizeKind::kLogNormal;
  page.median_bytes = 1'000'000;
  page.max_bytes = 1 << 30;
  page.sigma = 0.7;
  const std::vector<double> sizes = as_real(sizes_of(page));
  const auto cdf = [](double sigma) {
    return [sigma](double x) { return 0.5 * std::erfc(-std::log(x / 1e6) / sigma / std::sqrt(2.0)); };
  };
  EXPECT_LT(kolmogorov_ratio(sizes, cdf(0.7)), 1) << "seed " << kSeed;
  EXPECT_GT(kolmogorov_ratio(sizes, cdf(0.75)), 1) << "the test sees no difference";
}

TEST(WorkloadSamplers, LargestSizeCutsTheTail) {
  SendersPage page;
  page.size = SizeKind::kLogNormal;
  page.max_bytes = 2000;
  const auto sizes = sizes_of(page);
  EXPECT_EQ(*std::ranges::max_element(sizes), 2000u);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(sizes, 2000u)) / kSamples, 0.2516, 0.02);  // P(Z > ln(2000/1024))
}

TEST(WorkloadSamplers, BimodalSizesHaveTheirShares) {
  SendersPage page;
  page.size = SizeKind::kBimodal;
  page.large_percent = 12.5;
  std::vector<std::uint64_t> counts(2);
  for (const std::uint64_t size : sizes_of(page)) {
    ASSERT_TRUE(size == page.small_bytes || size == page.large_bytes);
    ++counts[size == page.large_bytes];
  }
  EXPECT_LT(chi_square_ratio({0.875, 0.125}, counts), 1) << "seed " << kSeed;
  EXPECT_GT(chi_square_ratio({0.86, 0.14}, counts), 1) << "the test sees no difference";
}

// The distribution that the points of a file draw: linear between them, with a step at the first.
double drawn_cdf(const std::vector<CdfPoint>& points, double x) {
  if (x < points.front().bytes) return 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (x < points[i].bytes) {
      const double way = (x - points[i - 1].bytes) / (points[i].bytes - points[i - 1].bytes);
      return points[i - 1].share + way * (points[i].share - points[i - 1].share);
    }
  }
  return 1;
}

TEST(WorkloadSamplers, PublishedDistributionsAreThoseOfTheirPoints) {
  for (const NamedText& along : named_sizes()) {
    SendersPage page;
    page.size = SizeKind::kCdf;
    page.max_bytes = std::uint64_t{1} << 30;
    page.cdf_points = parse_sizes(along.text, std::string(along.file));
    std::vector<double> bounds;  // classes: up to each point
    std::vector<double> shares;
    std::vector<std::uint64_t> counts;
    double last = 0;
    for (const CdfPoint& p : page.cdf_points) {
      if (p.share - last < 1e-9) continue;
      bounds.push_back(p.bytes);
      shares.push_back(p.share - last);
      last = p.share;
    }
    counts.resize(bounds.size());
    const auto sizes = sizes_of(page);
    for (const std::uint64_t size : sizes) {
      ++counts.at(
          static_cast<std::size_t>(std::ranges::lower_bound(bounds, static_cast<double>(size)) - bounds.begin()));
    }
    EXPECT_LT(chi_square_ratio(shares, counts), 1) << along.name << ", seed " << kSeed;
    if (page.cdf_points.front().share > 0) continue;  // a step: no continuous distribution
    EXPECT_LT(kolmogorov_ratio(as_real(sizes), [&](double x) { return drawn_cdf(page.cdf_points, x + 0.5); }), 1.1)
        << along.name << ", seed " << kSeed;
  }
  EXPECT_GE(named_sizes().size(), 2u);
}

TEST(WorkloadSamplers, MeanIsThatOfTheSamples) {
  SendersPage page;
  page.size = SizeKind::kUniform;
  page.min_bytes = 100;
  page.max_bytes = 300;
  EXPECT_NEAR(SizeSampler(page).mean(), 200, 0.5);
}

TEST(WorkloadSamplers, ZipfHasItsShares) {
  for (const double s : {0.0, 0.9, 1.3}) {
    const ZipfSampler zipf(50, s);
    RandomNumbers random(kSeed, 3);
    std::vector<double> shares;
    double sum = 0;
    for (int k = 1; k <= 50; ++k) shares.push_back(std::pow(k, -s)), sum += shares.back();
    for (double& share : shares) share /= sum;
    std::vector<std::uint64_t> counts(50);
    for (int i = 0; i < kSamples; ++i) ++counts.at(zipf.quantile(random.unit()));
    EXPECT_LT(chi_square_ratio(shares, counts), 1) << "s " << s << ", seed " << kSeed;
    std::swap(counts[0], counts[49]);
    EXPECT_EQ(chi_square_ratio(shares, counts) > 1, s > 0) << "the test sees no difference";
  }
}

TEST(WorkloadSamplers, ExponentialTimesHaveTheirMean) {
  RandomNumbers random(kSeed, 4);
  std::vector<double> times;
  for (int i = 0; i < kSamples; ++i) times.push_back(exponential_quantile(random.unit(), 500));
  const auto cdf = [](double mean) { return [mean](double x) { return 1 - std::exp(-x / mean); }; };
  EXPECT_LT(kolmogorov_ratio(times, cdf(500)), 1) << "seed " << kSeed;
  EXPECT_GT(kolmogorov_ratio(times, cdf(530)), 1) << "the test sees no difference";
}

TEST(WorkloadSamplers, NormalQuantileInvertsTheNormalDistribution) {
  for (const double u : {1e-9, 0.001, 0.02, 0.03, 0.25, 0.5, 0.8, 0.97, 0.98, 0.999999}) {
    EXPECT_NEAR(0.5 * std::erfc(-normal_quantile(u) / std::sqrt(2.0)), u, u * 1e-8) << u;
  }
}

}  // namespace
}  // namespace rxnic
