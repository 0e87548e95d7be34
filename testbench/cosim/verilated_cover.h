// SPDX-License-Identifier: Apache-2.0
// The cover properties of a verilated module and how often each was hit.
#pragma once

#include <vector>

#include <verilated.h>
#include "testbench/cosim/twin.h"

namespace rxnic {

std::vector<CoverPoint> cover_points_of(VerilatedContext& context);

}  // namespace rxnic
