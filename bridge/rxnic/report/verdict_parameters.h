// SPDX-License-Identifier: Apache-2.0
// The parameters that a verdict names.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "bridge/rxnic/report/verdict.h"
#include "model/types/activity.h"

namespace rxnic {

// "section.key" of those that move a block that is busy, or that waits so; the one to try first first.
std::span<const std::string_view> movers(std::string_view block, Activity activity);
// A mechanism that was on in the run: nothing is left to switch.
bool is_on(std::string_view name, const Params& params);
// As it was in the run. `name`: of a parameter that there is.
VerdictParameter verdict_parameter(std::string_view name, const Params& params);
// A value to try: half of a latency, twice of another number, the other one of two choices. Empty: there is none.
std::string other_value(std::string_view name, const Params& params);

}  // namespace rxnic
