// SPDX-License-Identifier: Apache-2.0
// Random numbers of the scenes that drive a block and its RTL.
#pragma once

#include <cstdint>
#include <random>

namespace rxnic {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(engine_() % n); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  std::uint64_t bits() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace rxnic
