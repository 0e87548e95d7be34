// SPDX-License-Identifier: Apache-2.0
// Sentences of a report about what is easily taken for a fault of the model.
#pragma once

#include "model/system/run_result.h"

namespace rxnic {

// Adds a warning when searches in the overflow of tag lists took a good part of the run.
void explain_tag_searches(RunResult& result);

}  // namespace rxnic
