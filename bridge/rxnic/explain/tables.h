// SPDX-License-Identifier: Apache-2.0
// What happened by QP, message size, opcode or NIC, from the events of a run.
//
//   R1  Rows of QPs are in the order of sickness, as in the report (model/system/table_rows.h, R1).
//   R2  Latencies are those of receives, as in the report: from a message's first packet until its CQE could be seen.
//       Those of a size and an opcode are also those of WRITEs, until their last byte could be seen.
//   R3  Waits are those in front of blocks, in the mean of a packet.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bridge/rxnic/explain/packet_life.h"

namespace rxnic {

enum class TableBy { kQp, kSize, kOpcode, kNic };
// "qp", "size", "opcode", "nic"
TableBy table_of_name(const std::string& name);

// A list of rows, each with the same keys.
nlohmann::ordered_json table_by(RunEvents& events, TableBy by);
// For people: `most` rows, and how many there are besides. Rows of report.json are printed, too: they leave out what
// is 0.
std::string table_text(const nlohmann::ordered_json& rows, TableBy by, std::size_t most);

}  // namespace rxnic
