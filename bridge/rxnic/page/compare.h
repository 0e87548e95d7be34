// SPDX-License-Identifier: Apache-2.0
// Runs side by side: what differs in their configurations, and their figures.
//
//   R1  Runs are called A, B, C... in the order of the command line.
//   R2  A change is that from A, in per cent of A; none is given where A has 0, or lacks the figure.
//   R3  Where the runs are of different sources, conditions or hosts it says so first: then their figures differ for
//       other reasons, too.
#pragma once

#include <string>
#include <vector>

#include "bridge/rxnic/page/chart.h"
#include "model/system/run_result.h"

namespace rxnic {

struct ComparedRun {
  std::string name;  // (R1)
  std::string folder;
  RunResult result;
};

// {"runs": [...], "ran": [{"what":, "A":, "B":...}], "parameters": [{"parameter":, "A":, "B":...}],
//  "figures": [{"figure":, "unit":, "A":, "B":, "change_B":...}]}
Json comparison_json(const std::vector<ComparedRun>& runs);
std::string comparison_text(const std::vector<ComparedRun>& runs);

}  // namespace rxnic
