// SPDX-License-Identifier: Apache-2.0
// Carries out a host plan: regions, seeds, CQs, queues and QPs as the plan describes them.
#pragma once

#include "testbench/sim/simulation.h"
#include "traces/host_plan.h"

namespace rxnic {

void set_up(Simulation& sim, const HostPlan& plan);

}  // namespace rxnic
