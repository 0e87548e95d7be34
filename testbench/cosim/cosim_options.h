// SPDX-License-Identifier: Apache-2.0
// What the environment says about the random tests of a block and its RTL.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace rxnic {

// RXNIC_COSIM_CYCLES: the cycles of a random test; otherwise what fits into the test set.
inline std::uint64_t cosim_cycles() {
  const char* const text = std::getenv("RXNIC_COSIM_CYCLES");
  return text == nullptr ? 100'000 : std::strtoull(text, nullptr, 0);
}

// RXNIC_COSIM_SEEDS: seeds of the tests with random bits in what reset does not set.
inline std::uint64_t cosim_seeds() {
  const char* const text = std::getenv("RXNIC_COSIM_SEEDS");
  return text == nullptr ? 4 : std::strtoull(text, nullptr, 0);
}

// RXNIC_COSIM_RTL: RTL in a file, as make_twin() takes it, in the place of that of the build; "": none.
inline std::string cosim_rtl() {
  const char* const file = std::getenv("RXNIC_COSIM_RTL");
  return file == nullptr ? std::string() : file;
}

}  // namespace rxnic
