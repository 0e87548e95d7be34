// SPDX-License-Identifier: Apache-2.0
// Random numbers of a workload, and its distributions.
//
//   R1  A sample is a function of a uniform number u in [0, 1): the distribution's quantile. Equal seeds give equal
//       samples.
//   R2  A size is a whole number of bytes, rounded down; what is above the page's max_bytes becomes that.
#pragma once

#include <cstdint>
#include <vector>

#include "bridge/rxnic/workload/workload_page.h"

namespace rxnic {

// splitmix64, one for each purpose.
class RandomNumbers {
 public:
  RandomNumbers(std::uint64_t seed, std::uint64_t purpose);
  std::uint64_t next();
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
  std::uint64_t below(std::uint64_t n) { return static_cast<std::uint64_t>(unit() * static_cast<double>(n)); }

 private:
  std::uint64_t state_;
};

class SizeSampler {
 public:
  explicit SizeSampler(const SendersPage& page) : page_(page) {}
  std::uint64_t quantile(double u) const;
  double mean() const;  // bytes: of 4096 quantiles

 private:
  std::uint64_t of_cdf(double u) const;
  SendersPage page_;
};

// Zipf's law over 1..n, as indices 0..n-1: index k has a weight of 1 / (k + 1)^s. s = 0 is the uniform distribution.
class ZipfSampler {
 public:
  ZipfSampler(std::uint64_t n, double s);
  std::uint64_t quantile(double u) const;

 private:
  std::vector<double> shares_;  // cumulative
};

// Quantile of an exponential distribution.
double exponential_quantile(double u, double mean);
// Quantile of the standard normal distribution: P. J. Acklam's rational approximation, relative error below 1.2e-9.
double normal_quantile(double u);

}  // namespace rxnic
