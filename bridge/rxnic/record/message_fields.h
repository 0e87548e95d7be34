// SPDX-License-Identifier: Apache-2.0
// Control messages (bridge/channel/protocol.h) as JSON: {"pd":1,"length":4096,...}, for the log of a run. Names and
// fields come from bridge/channel/messages.toml.
//
//   R1  Every field of the body that belongs to the message's type is there, under its name in messages.toml. Nested
//       structs are nested objects, arrays of bytes are hexadecimal strings.
//   R2  A type that messages.toml does not know is "request_N" and has no fields.
//   R3  Reading refuses a missing, an unknown and an ill-typed field (std::invalid_argument that names it).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bridge/channel/protocol.h"

namespace rxnic {

std::string request_name(channel::Request type);  // "create_cq"
std::string body_text(const channel::Message& message);
channel::Message parse_message(const std::string& type, const nlohmann::json& body);

const char* board_name(channel::Board board);  // "send"
// Throws std::invalid_argument.
channel::Board parse_board(const std::string& name);

}  // namespace rxnic
