// SPDX-License-Identifier: Apache-2.0
// Carries out a host plan: regions, seeds, CQs, queues, tags and QPs as the plan describes them.
#pragma once

#include <string>
#include <vector>

#include "model/params/no_effect.h"
#include "model/params/params.h"
#include "model/system/simulation.h"
#include "traces/host_plan.h"

namespace rxnic {

// The parameters of a NIC for the plan. The QPs of a bare capture have no send side: requester.send_queues is no limit
// to them. Throws std::invalid_argument, which names every parameter that is too small.
Params params_for(const HostPlan& plan, Params params);

// What the parameters decide of the options: compression, the layout of SRQs. Options that ask for compression set its
// parameter.
void complete_host_options(HostOptions& options, Params& params);

// What a run with such a host has. (model/params/no_effect.h)
RunFeatures features_of(const HostOptions& options, const HostPlan& plan);

// The host in words.
std::string host_text(const HostOptions& options, const HostPlan& plan);

// The ids that plan.queues got.
std::vector<WqId> set_up(Simulation& sim, const HostPlan& plan);

}  // namespace rxnic
