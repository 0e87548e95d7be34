// SPDX-License-Identifier: Apache-2.0
// The generator splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
#pragma once

#include <cstdint>

namespace rxnic {

// What is added to the state from one number to the next.
inline constexpr std::uint64_t kSplitmixStep = 0x9e3779b97f4a7c15u;

// The number that follows state `x`: a bijection of 64 bits.
constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x += kSplitmixStep;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A sequence of numbers from one seed.
class Splitmix {
 public:
  explicit Splitmix(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    const std::uint64_t number = splitmix64(state_);
    state_ += kSplitmixStep;
    return number;
  }
  // 0 <= value < n, for n up to 2^32.
  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>((next() >> 32) * n >> 32); }
  // 0 <= value < 1, in steps of 2^-53.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(std::uint32_t parts_per_million) { return below(1'000'000) < parts_per_million; }

 private:
  std::uint64_t state_;
};

}  // namespace rxnic
