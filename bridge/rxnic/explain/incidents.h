// SPDX-License-Identifier: Apache-2.0
// What went wrong in a run, in the order of time: a list of rows with the keys of report.json. The events hold all of
// them, a report the first ones.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "bridge/rxnic/explain/run_events.h"

namespace rxnic {

nlohmann::ordered_json incidents_of(RunEvents& events);
// For people: `most` rows, and how many there are besides.
std::string incidents_text(const nlohmann::ordered_json& rows, std::uint64_t most);

}  // namespace rxnic
