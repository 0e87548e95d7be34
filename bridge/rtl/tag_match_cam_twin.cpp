// SPDX-License-Identifier: Apache-2.0
// The module tag_match_cam: all of its parameters decide what it does. Packets, completions of operations and accesses
// to memory have one order each.
#include "bridge/rtl/twin_facts.h"
#include "model/core/tag_matching/tag_returns.h"
#include "model/types/command.h"
#include "model/types/dma.h"
#include "model/types/receive_path.h"
#include "model/types/tag_operation.h"

namespace rxnic {

TwinFacts tag_match_cam_facts(const Params& p) {
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
          .ports = {input_of<TagListCommand>("lists"), input_of<TagReturn>("returned"),
                    input_of<DmaCompletion>("dma_done"), input_of<WqeRequest>("in"),
                    input_of<TagOperation>("operations"), lookup_of<ContextLine, TagContext>("context", "in", "line"),
                    write_of<TagContextWrite>("context_write", "line"), output_of<WqeRequest>("out", 1, ""),
                    output_of<StepDone>("list_done", 1, ""), output_of<DmaRequest>("dma", 1, ""),
                    read_of<TagBurstRead, StoredTag>("bursts", 1), write_of<TagWrite>("written", "")},
          .requests = "dma",
          .counters = {{"packets", {{"in"}}}, {"operations", {{"operations"}}}, {"returned", {{"returned"}}}}};
}

}  // namespace rxnic
