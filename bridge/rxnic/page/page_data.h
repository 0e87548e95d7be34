// SPDX-License-Identifier: Apache-2.0
// The data of a page: what is known of a run, in a size that does not depend on its packets.
//
//   R1  It is made of report.json, and of events.rxev when the folder has it: that is read once. Without events, charts
//       that need them say by which command they are kept.
//   R2  Equal files give equal bytes. No time of day, no path but the report's is in it.
//   R3  Bounds: 500 parts of time, 8 NICs with charts of their own, 5,000 QPs (the sickest), 100 drops of each reason.
#pragma once

#include <string>

#include "bridge/rxnic/page/chart.h"
#include "model/system/run_result.h"

namespace rxnic {

inline constexpr const char* kPageSchema = "rxnic.page/1";

// Reads the report of a run. Throws std::invalid_argument.
RunResult read_result(const std::string& folder);
// The data of one run: verdict, figures, facts, charts and tables. `name`: among several runs. Throws
// std::invalid_argument: the events are none.
Json run_data(const std::string& folder, const RunResult& result, const std::string& name);
// {"schema":, "runs": [...]}: of one run, or of several to compare.
Json page_data(Json runs);

}  // namespace rxnic
