// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/samplers.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace rxnic {

namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;
constexpr int kMeanQuantiles = 4096;

template <std::size_t N>
double polynomial(const std::array<double, N>& coefficients, double x) {
  double value = 0;
  for (const double c : coefficients) value = value * x + c;
  return value;
}

}  // namespace

RandomNumbers::RandomNumbers(std::uint64_t seed, std::uint64_t purpose) : state_(seed * kGolden + purpose) {
  state_ = next() ^ purpose * 0xd1342543de82ef95u;
}

std::uint64_t RandomNumbers::next() {
  std::uint64_t z = state_ += kGolden;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

std::uint64_t SizeSampler::quantile(double u) const {
  switch (page_.size) {
    case SizeKind::kFixed:
      return page_.bytes;
    case SizeKind::kUniform:
      return page_.min_bytes +
             static_cast<std::uint64_t>(u * static_cast<double>(page_.max_bytes - page_.min_bytes + 1));
    case SizeKind::kLogNormal: {
      const double bytes = static_cast<double>(page_.median_bytes) * std::exp(page_.sigma * normal_quantile(u));
      return static_cast<std::uint64_t>(std::min(bytes, static_cast<double>(page_.max_bytes)));
    }
    case SizeKind::kBimodal:
      return u * 100 < page_.large_percent ? page_.large_bytes : page_.small_bytes;
    case SizeKind::kCdf:
      break;
  }
  return std::min(of_cdf(u), page_.max_bytes);
}

std::uint64_t SizeSampler::of_cdf(double u) const {
  const auto& points = page_.cdf_points;
  const auto next = std::ranges::upper_bound(points, u, {}, &CdfPoint::share);
  if (next == points.begin() || next == points.end()) {
    return static_cast<std::uint64_t>(next == points.end() ? points.back().bytes : points.front().bytes);
  }
  const CdfPoint& low = *(next - 1);
  const double way = (u - low.share) / (next->share - low.share);
  return static_cast<std::uint64_t>(low.bytes + way * (next->bytes - low.bytes));
}

double SizeSampler::mean() const {
  double sum = 0;
  for (int i = 0; i < kMeanQuantiles; ++i) sum += static_cast<double>(quantile((i + 0.5) / kMeanQuantiles));
  return sum / kMeanQuantiles;
}

ZipfSampler::ZipfSampler(std::uint64_t n, double s) : shares_(n) {
  double sum = 0;
  for (std::uint64_t k = 0; k < n; ++k) shares_[k] = sum += std::pow(static_cast<double>(k + 1), -s);
  for (double& share : shares_) share /= sum;
}

std::uint64_t ZipfSampler::quantile(double u) const {
  const auto at = std::ranges::upper_bound(shares_, u);
  return static_cast<std::uint64_t>(std::min(at, shares_.end() - 1) - shares_.begin());
}

double exponential_quantile(double u, double mean) { return -mean * std::log1p(-u); }

double normal_quantile(double u) {
  constexpr std::array kA{-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                          1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr std::array kB{-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                          6.680131188771972e+01,  -1.328068155288572e+01, 1.0};
  constexpr std::array kC{-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                          -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr std::array kD{7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00,
                          1.0};
  constexpr double kLow = 0.02425;
  constexpr double kLeast = 0x1p-54;  // of a u that is 0
  u = std::clamp(u, kLeast, 1 - 0x1p-53);
  if (u >= kLow && u <= 1 - kLow) {
    const double q = u - 0.5;
    return polynomial(kA, q * q) * q / polynomial(kB, q * q);
  }
  const double q = std::sqrt(-2 * std::log(std::min(u, 1 - u)));
  const double tail = polynomial(kC, q) / polynomial(kD, q);
  return u < kLow ? tail : -tail;
}

}  // namespace rxnic
