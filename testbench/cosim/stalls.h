// SPDX-License-Identifier: Apache-2.0
// Back-pressure of the scenes that drive a block and its RTL.
#pragma once

#include <cstdint>
#include <functional>

#include "model/types/ids.h"
#include "model/types/splitmix.h"

namespace rxnic {

// When the sink number `n` of a scene accepts a value (Sink::accept_when). Time is in spans of 128 cycles. In one of
// `kinds` spans the sink accepts in a sixteenth of the cycles. In another one it accepts in all but one of `share`, and
// in the other spans always.
struct Stalls {
  std::uint64_t seed;
  std::uint64_t kinds;
  std::function<bool(Cycle)> operator()(std::uint64_t n, std::uint32_t share) const {
    return [seed = seed, kinds = kinds, n, share](Cycle c) {
      const std::uint64_t span = splitmix64(seed + n + c.count / 128), cycle = splitmix64(seed ^ (n << 40) ^ c.count);
      return span % kinds == 0 ? cycle % 16 == 0 : span % kinds == 1 ? cycle % share != 0 : true;
    };
  }
};

}  // namespace rxnic
