// SPDX-License-Identifier: Apache-2.0
// The counters of a block whose RTL is in its place, as far as the ports show them (block_facts.h, R7).
#pragma once

#include <cstdint>
#include <vector>

#include "bridge/rtl/twin_ports.h"
#include "model/engine/behind_rtl.h"

namespace rxnic {

class PortCounts {
 public:
  // Counts those of the block's counters that `port` has a part in. Throws std::logic_error when the block has no such
  // counter, or the port no such field.
  PortCounts(const std::vector<CounterFacts>& counters, const TwinJoint& port, BehindRtl& block);
  void passes(const std::vector<std::uint32_t>& bits_of_value);

 private:
  struct Condition {
    TwinJoint::Place field;
    std::uint64_t value = 0;
    bool equal = true;
  };
  struct Count {
    std::uint64_t* counter = nullptr;
    TwinJoint::Place sum{};  // without bits: 1 of each value
    std::vector<Condition> where{};
    bool subtract = false;
  };
  std::vector<Count> counts_;
};

}  // namespace rxnic
