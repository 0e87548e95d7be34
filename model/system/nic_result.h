// SPDX-License-Identifier: Apache-2.0
// What a report says of a run and of each NIC, from the engine and the blocks.
#pragma once

#include "model/blocks/written_completions.h"
#include "model/nic/nic.h"
#include "model/system/run_result.h"
#include "model/types/counter.h"
#include "model/types/qp_event.h"

namespace rxnic {

template <Counted C>
void append_counts(std::vector<NamedCount>& to, const C& counters) {
  visit_each([&to](std::string_view key, std::uint64_t n) { to.emplace_back(key, n); }, counters);
}
template <Counted C>
std::vector<NamedCount> named_counts(const C& counters) {
  std::vector<NamedCount> out;
  append_counts(out, counters);
  return out;
}

// What happens to the QPs of the NIC is shown to `observer`, before the simulation starts.
void observe_qps(Nic& nic, WrittenCompletions& written, QpObserver& observer);
// How long the run has been, up to the present cycle. Settles the engine.
void collect_time(Engine& engine, RunResult& r);
// Fills r.blocks, in the order of nic.blocks(), r.transport and r.events. The engine has settled.
void collect_blocks(Nic& nic, NicResult& r);
// The blocks, and what the NIC itself has counted of packets, messages and completions.
NicResult nic_result(Nic& nic);
// Adds what one NIC has counted to the sum over all, but for payload and latencies.
void add_nic(NicResult& sum, const NicResult& one);

}  // namespace rxnic
