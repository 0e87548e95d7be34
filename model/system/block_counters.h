// SPDX-License-Identifier: Apache-2.0
// The counters by name, for the report.
#pragma once

#include "model/nic/nic.h"
#include "model/system/run_result.h"
#include "model/types/counter.h"

namespace rxnic {

template <Counted C>
void append_counts(std::vector<NamedCount>& to, const C& counters) {
  Counters<C>::for_each([&to](const CounterInfo& info, std::uint64_t n) { to.emplace_back(info.key, n); }, counters);
}
template <Counted C>
std::vector<NamedCount> named_counts(const C& counters) {
  std::vector<NamedCount> out;
  append_counts(out, counters);
  return out;
}

// Fills r.transport and the counters of r.blocks, which are in the order of nic.blocks().
void collect_counters(const Nic& nic, NicResult& r);

}  // namespace rxnic
