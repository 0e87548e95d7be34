// SPDX-License-Identifier: Apache-2.0
// Responders that answer one QP much later than others (diagnose.h, R3).
#pragma once

#include "bridge/rxnic/diagnose/connections.h"
#include "bridge/rxnic/diagnose/diagnose.h"

namespace rxnic {

void find_slow_receivers(const Connections& connections, const DiagnoseOptions& options, Diagnosis& d);

}  // namespace rxnic
