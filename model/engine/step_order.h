// SPDX-License-Identifier: Apache-2.0
// The order in which the engine steps the blocks that are due in a cycle.
//
//   R1  kPath is the order in which the blocks were added, kReverse the opposite.
//   R2  kRandom derives an order from the seed, the cycle and the blocks' numbers alone. So two blocks that are due in
//       a cycle are stepped in the same sequence whichever others are due, and therefore in every engine mode.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/types/ids.h"
#include "model/types/splitmix.h"

namespace rxnic {

struct StepOrder {
  enum class Kind : std::uint8_t { kPath, kReverse, kRandom };
  Kind kind = Kind::kPath;
  std::uint64_t seed = 0;  // of kRandom

  // What key() takes for a cycle.
  std::uint64_t salt(Cycle now) const { return kind == Kind::kRandom ? splitmix64(splitmix64(seed) ^ now.count) : 0; }
  // The sort key of the n-th added block in a cycle, smallest first.
  std::uint64_t key(std::uint64_t salt, std::size_t n) const {
    if (kind == Kind::kRandom) return splitmix64(salt ^ n);
    return kind == Kind::kReverse ? ~std::uint64_t{n} : n;
  }
};

}  // namespace rxnic
