// SPDX-License-Identifier: Apache-2.0
// What went wrong in a run, in the order of time: a list of rows with the keys of report.json. The events hold all of
// them, a report the first ones.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "bridge/rxnic/explain/packet_life.h"
#include "bridge/rxnic/explain/run_events.h"

namespace rxnic {

nlohmann::ordered_json incidents_of(RunEvents& events);
// For people: `most` rows, and how many there are besides.
std::string incidents_text(const nlohmann::ordered_json& rows, std::uint64_t most);
// The frames that a query chooses by their numbers and that no NIC got: the network lost them, or a full switch dropped
// them.
nlohmann::ordered_json lost_frames_of(RunEvents& events, const PacketQuery& query);
std::string lost_frame_text(const nlohmann::ordered_json& row);

}  // namespace rxnic
