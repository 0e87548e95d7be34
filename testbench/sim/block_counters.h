// SPDX-License-Identifier: Apache-2.0
// The counters of each block by name, for the report.
#pragma once

#include "model/nic/nic.h"
#include "testbench/sim/run_result.h"

namespace rxnic {

// Fills r.transport and the counters of r.blocks, which are in the order of nic.blocks().
void collect_counters(const Nic& nic, NicResult& r);

}  // namespace rxnic
