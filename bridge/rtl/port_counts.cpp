// SPDX-License-Identifier: Apache-2.0
#include "bridge/rtl/port_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace rxnic {

PortCounts::PortCounts(const std::vector<CounterFacts>& counters, const TwinJoint& port, BehindRtl& block) {
  const auto place = [&port](std::string_view field) {
    const TwinJoint::Place found = port.place_of(field);
    if (found.bits == 0) throw std::logic_error(fmt::format("port {}: has no field {}", port.twin.name, field));
    return found;
  };
  for (const CounterFacts& c : counters) {
    for (const PortCount& of_port : c.counts) {
      if (of_port.port != port.twin.name || !port.joined()) continue;
      Count count{.counter = block.counter(c.name), .subtract = of_port.subtract};
      if (count.counter == nullptr)
        throw std::logic_error(fmt::format("port {}: its block has no counter {}", port.twin.name, c.name));
      if (!of_port.sum.empty()) count.sum = place(of_port.sum);
      for (const PortCount::Condition& w : of_port.where) {
        const TwinJoint::Place bits = w.bits != 0 ? TwinJoint::Place{w.from, w.bits} : place(w.field);
        count.where.push_back({bits, w.value, w.equal});
      }
      counts_.push_back(count);
    }
  }
}

void PortCounts::passes(const std::vector<std::uint32_t>& bits_of_value) {
  const auto number = [&](TwinJoint::Place at) { return get_bits(bits_of_value.data(), at.from, at.bits); };
  for (const Count& c : counts_) {
    const bool counts = std::all_of(c.where.begin(), c.where.end(),
                                    [&](const Condition& w) { return (number(w.field) == w.value) == w.equal; });
    if (!counts) continue;
    const std::uint64_t by = c.sum.bits == 0 ? 1 : number(c.sum);
    *c.counter += c.subtract ? -by : by;
  }
}

}  // namespace rxnic
