// SPDX-License-Identifier: Apache-2.0
// The module tag_match_cam: all of its parameters decide what it does. Packets, completions of operations and accesses
// to memory have one order each.
#include "model/ports/tag_match_cam_ports.h"

#include "model/core/tag_matching/tag_returns.h"
#include "model/ports/block_facts.h"

namespace rxnic {

BlockFacts TagMatchCamPorts::facts(const Params& p) {
  using P = TagMatchCamPorts;
  const TagMatchCamParams& t = p.tag_match_cam;
  return {.parameters = {{"Entries", t.entries},
                         {"MaxTags", t.max_tags},
                         {"Lists", t.lists},
                         {"Organisation", static_cast<std::uint64_t>(t.organisation)},
                         {"SearchCycles", t.search_cycles},
                         {"Hazard", static_cast<std::uint64_t>(t.hazard)},
                         {"BankEntries", t.bank_entries},
                         {"BanksPerCycle", t.banks_per_cycle},
                         {"WildcardsPerCycle", t.wildcards_per_cycle},
                         {"AppendCycles", t.append_cycles},
                         {"OverflowEntriesPerRead", t.overflow_entries_per_read},
                         {"RefillReads", t.refill_reads},
                         {"UnexpectedStatus", static_cast<std::uint64_t>(t.unexpected_status)},
                         {"PipelineDepth", t.pipeline_depth},
                         {"DmaDepth", p.dma_engine.queue_depth},
                         {"MostReturns", most_tag_returns(p)}},
          .ports = {port_of(&P::lists, "lists"), port_of(&P::returned, "returned"), port_of(&P::dma_done, "dma_done"),
                    port_of(&P::in, "in"), port_of(&P::operations, "operations"),
                    port_of(&P::context, "context", {.of = "in", .field = "line"}),
                    port_of(&P::context_write, "context_write", {.order = "line"}), port_of(&P::out, "out"),
                    port_of(&P::list_done, "list_done"), port_of(&P::dma, "dma"), port_of(&P::bursts, "bursts"),
                    port_of(&P::written, "written")},
          .requests = "dma",
          .counters = {{"packets", {{"in"}}}, {"operations", {{"operations"}}}, {"returned", {{"returned"}}}}};
}

}  // namespace rxnic
