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

}  // namespace rxnic
