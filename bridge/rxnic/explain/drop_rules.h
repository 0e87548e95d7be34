// SPDX-License-Identifier: Apache-2.0
// Which rule of model/RULES.md decides about a packet.
#pragma once

#include <string_view>

#include "model/types/drop_reason.h"
#include "model/types/receive_path.h"

namespace rxnic {

// Section and number, "6.2"; "": the rules say nothing, as about a full packet buffer.
std::string_view rule_of(DropReason reason);
std::string_view rule_of(Outcome outcome);

}  // namespace rxnic
