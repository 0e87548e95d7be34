// SPDX-License-Identifier: Apache-2.0
// Carries out a host plan: regions, seeds, CQs, queues, tags and QPs as the plan describes them.
#pragma once

#include <vector>

#include "testbench/sim/simulation.h"
#include "traces/host_plan.h"

namespace rxnic {

// The ids that plan.queues got.
std::vector<WqId> set_up(Simulation& sim, const HostPlan& plan);

}  // namespace rxnic
