// SPDX-License-Identifier: Apache-2.0
// The module grh_scatter: LatencyCycles, SgesPerCycle and BytesPerCycle are its timing, the others sizes of memories.
#include "bridge/rtl/twin_facts.h"
#include "model/types/data_segment.h"
#include "model/types/receive_path.h"
#include "model/types/refusal.h"
#include "model/types/scatter_list.h"
#include "model/types/segment.h"

namespace rxnic {

TwinFacts grh_scatter_facts(const Params& p) {
  const std::uint32_t sges = p.grh_scatter.sges_per_cycle;
  return {.parameters = {{"LatencyCycles", p.grh_scatter.latency_cycles},
                         {"SgesPerCycle", sges},
                         {"BytesPerCycle", p.grh_scatter.bytes_per_cycle},
                         {"WqeSlots", p.srq_wqe_fetcher.wqe_store_entries, true},
                         {"ContextLines", std::uint64_t{p.qp_context_cache.sets} * p.qp_context_cache.ways, true}},
          .ports = {input_of<ScatterJob>("in"), read_of<ScatterListRead, DataSegment>("lists", sges),
                    output_of<ScatteredSegment>("out", sges, "qpn"), output_without_ready<Refusal>("refusals", "line")},
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
