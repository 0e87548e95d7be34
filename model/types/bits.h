// SPDX-License-Identifier: Apache-2.0
// Sets of small numbers as the bits of a word: for example the ports that have work, so that the others are skipped.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace rxnic {

constexpr std::uint64_t bit_of(std::size_t n) { return std::uint64_t{1} << n; }

// Calls f(n) for each n of the set as it is at the call, the lowest first.
template <class F>
constexpr void for_each_bit(std::uint64_t set, F&& f) {
  for (; set != 0; set &= set - 1) f(static_cast<std::size_t>(std::countr_zero(set)));
}

}  // namespace rxnic
