// SPDX-License-Identifier: Apache-2.0
// The occurrences of a direction as findings, in words.
#pragma once

#include <vector>

#include "bridge/rxnic/diagnose/direction.h"
#include "bridge/rxnic/diagnose/management.h"

namespace rxnic {

// "QP 0x13 at 10.0.0.2 (from 10.0.0.1 QP 0x23)"
std::string direction_text(const DirectionEnds& ends);

// One finding for each cause. `promises`: what connection management said of the requester; nullptr: nothing.
// `end_ps`: of the last packet of the capture.
std::vector<Finding> findings_of(const Direction& d, const Management::Promises* promises, std::uint64_t end_ps);

// A finding about the direction, without its words.
Finding finding_of(const Direction& d, FindingCause cause, Weight weight);

}  // namespace rxnic
