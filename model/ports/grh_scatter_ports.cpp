// SPDX-License-Identifier: Apache-2.0
// The module grh_scatter: LatencyCycles, SgesPerCycle and BytesPerCycle are its timing, the others sizes of memories.
#include "model/ports/grh_scatter_ports.h"

#include "model/ports/block_facts.h"

namespace rxnic {

BlockFacts GrhScatterPorts::facts(const Params& p) {
  using P = GrhScatterPorts;
  const std::uint32_t sges = p.grh_scatter.sges_per_cycle;
  return {.parameters = {{"LatencyCycles", p.grh_scatter.latency_cycles},
                         {"SgesPerCycle", sges},
                         {"BytesPerCycle", p.grh_scatter.bytes_per_cycle},
                         {"WqeSlots", p.srq_wqe_fetcher.wqe_store_entries, true},
                         {"ContextLines", std::uint64_t{p.qp_context_cache.sets} * p.qp_context_cache.ways, true}},
          .ports = {port_of(&P::in, "in"), port_of(&P::lists, "lists", {.lanes = sges}),
                    port_of(&P::out, "out", {.lanes = sges, .order = "qpn"}),
                    port_of(&P::refusals, "refusals", {.always_room = true, .order = "line"})},
          .counters = {
              {"packets", {{"in"}}},
              {"segments", {{"out", "", {{"bytes", 0, false}}}}},
              {"bytes", {{"out", "bytes"}}},
              {"grh_areas", {{"out", "", {{"bytes", 0, false}, {"first", 1}, equals("transport", Transport::kUd)}}}},
              {"squashed",
               {{"out", "", {equals("drop_reason", DropReason::kSquashed), {"last", 1}}},
                {"in", "", {equals("drop_reason", DropReason::kSquashed)}, true}}}}};
}

}  // namespace rxnic
