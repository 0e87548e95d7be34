// SPDX-License-Identifier: Apache-2.0
// Parts of a summary: the sickest QPs of a run, a workload.
#pragma once

#include "bridge/rxnic/report/summary_writer.h"
#include "model/system/run_result.h"

namespace rxnic {

// A row for each of the five that come first (model/system/table_rows.h, R1) and have trouble, and how many there are
// besides. The columns are the four gravest kinds of trouble. Nothing when all QPs are well.
void sickest_qps(SummaryWriter& w, const RunResult& r);

// What the senders and the network of a workload did.
void workload(SummaryWriter& w, const WorkloadResult& r);

}  // namespace rxnic
