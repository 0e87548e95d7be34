// SPDX-License-Identifier: Apache-2.0
// Parts of a summary: where cycles and the times of messages went.
#pragma once

#include <string>
#include <vector>

#include "bridge/rxnic/report/summary_writer.h"
#include "model/system/run_result.h"

namespace rxnic {

// A bar for each block that had work, under the heading `where`.
void cycle_stacks(SummaryWriter& w, const std::string& where, const std::vector<BlockResult>& blocks);

// A row for each kind of latency that there was; `region`: the run has one, and they are of it.
void latency_table(SummaryWriter& w, const NicResult& r, bool region);

// Where the time of a message went, block by block: its last packet. The longest mean stay fills the bar: first the
// wait in front of the block, then the time in it.
void stage_bars(SummaryWriter& w, const NicResult& r);

}  // namespace rxnic
