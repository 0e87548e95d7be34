// SPDX-License-Identifier: Apache-2.0
#include "testbench/unit/model/engine/harness.h"

#include <cstdlib>
#include <iostream>

namespace rxnic {

std::uint64_t test_seed(std::uint64_t fallback) {
  const char* text = std::getenv("RXNIC_SEED");
  const std::uint64_t seed = text == nullptr ? fallback : std::strtoull(text, nullptr, 0);
  std::cout << "RXNIC_SEED=" << seed << '\n';
  return seed;
}

}  // namespace rxnic
