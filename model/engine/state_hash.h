// SPDX-License-Identifier: Apache-2.0
// Digest of model state: equal histories, equal digest. Not for security.
#pragma once

#include <cstdint>

#include "model/types/counter.h"

namespace rxnic {

class StateHash {
 public:
  void mix(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9e3779b97f4a7c15u;
    value_ ^= value_ >> 29;
  }
  template <Counted C>
  void mix(const C& counters) {
    Counters<C>::for_each([this](const CounterInfo&, std::uint64_t n) { mix(n); }, counters);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x5851f42d4c957f2du;
};

}  // namespace rxnic
