// SPDX-License-Identifier: Apache-2.0
// Values at boundaries, for the scenes that drive a block and its RTL. Sums carry, counters wrap, numbers differ in one
// bit, lengths are at their ends. They have random numbers of their own, and each kind is counted.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/types/splitmix.h"
#include "testbench/cosim/random.h"

namespace rxnic {

// Kinds of boundaries.
enum class Boundary : std::uint8_t { kPage, kFourGib, kTopBit, kAddressEnd, kCounter, kOneBit, kLength, kRing, kCount };
inline constexpr std::size_t kBoundaries = static_cast<std::size_t>(Boundary::kCount);

// "addresses across 4 GiB", for a summary.
constexpr std::string_view name_of(Boundary boundary) {
  constexpr std::array<std::string_view, kBoundaries> kNames{
      "addresses across a page",       "addresses across 4 GiB",         "addresses across 2^63",
      "addresses across 2^64",         "counters before they wrap",      "numbers that differ in one bit",
      "lengths at the ends of ranges", "rings of more than 4,096 slots",
  };
  return kNames[static_cast<std::size_t>(boundary)];
}

// Places in a memory of 2^bits: 0, those that differ from it in one bit, the highest first, then those from the end.
constexpr std::uint32_t place_of(std::uint32_t n, unsigned bits) {
  return n == 0 ? 0 : n <= bits ? 1u << (bits - n) : ((1u << bits) - 1) ^ (n - bits - 1);
}

using BoundaryCounts = std::array<std::uint64_t, kBoundaries>;

class Edges {
 public:
  explicit Edges(std::uint64_t seed) : random_(splitmix64(seed ^ 0x6564'6765'7300'0000u)) {}
  bool one_in(std::uint32_t n) { return random_.one_in(n); }
  std::uint32_t below(std::uint64_t n) { return random_.below(n); }
  void count(Boundary boundary) { ++counts_[static_cast<std::size_t>(boundary)]; }
  const BoundaryCounts& counts() const { return counts_; }

  // An address that is a multiple of `align`, less than `bytes` in front of a boundary, or on it.
  std::uint64_t address(std::uint64_t bytes, std::uint64_t align = 1) {
    constexpr std::array<Boundary, 6> kKinds{Boundary::kPage,    Boundary::kFourGib, Boundary::kFourGib,
                                             Boundary::kFourGib, Boundary::kTopBit,  Boundary::kAddressEnd};
    const Boundary kind = kKinds[random_.below(kKinds.size())];
    count(kind);
    const std::uint64_t at = kind == Boundary::kPage      ? random_.bits() << 12
                             : kind == Boundary::kFourGib ? random_.bits() << 32
                             : kind == Boundary::kTopBit  ? std::uint64_t{1} << 63
                                                          : 0;
    return (at -
            random_.below(std::max<std::uint64_t>(random_.one_in(2) ? std::min<std::uint64_t>(bytes, 64) : bytes, 1))) &
           ~(align - 1);
  }
  // Some steps before a counter of 8, 12, 16, 24, 31 or 32 bits is 0 again.
  std::uint32_t counter(std::uint32_t steps) {
    constexpr std::array<unsigned, 8> kBits{8, 12, 16, 16, 24, 31, 32, 32};
    count(Boundary::kCounter);
    const unsigned bits = kBits[random_.below(kBits.size())];
    const auto high = static_cast<std::uint32_t>(bits == 32 ? 0 : random_.bits() << bits);
    return high - 1 - random_.below(steps);
  }
  // One of `bits` bits, the highest as often as all others.
  std::uint64_t bit(unsigned bits) {
    count(Boundary::kOneBit);
    return std::uint64_t{1} << (random_.one_in(2) ? bits - 1 : random_.below(bits));
  }
  // 0, 1, an MTU, 2^31, the largest number of 32 bits, or one beside it.
  std::uint32_t length() {
    constexpr std::array<std::uint32_t, 8> kLengths{0, 1, 256, 1024, 4096, 0x7fff'ffff, 0x8000'0000, 0xffff'ffff};
    count(Boundary::kLength);
    return kLengths[random_.below(kLengths.size())] + random_.below(2) * (random_.one_in(2) ? 1 : ~0u);
  }

 private:
  Random random_;
  BoundaryCounts counts_{};
};

}  // namespace rxnic
