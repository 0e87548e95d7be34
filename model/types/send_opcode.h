// SPDX-License-Identifier: Apache-2.0
// Facts of a request by the opcode of its send WQE, and of a completion by that of its CQE (opcode_table.h). Any byte
// that a program wrote may be asked for: one that is no opcode has no facts, and completes as a SEND.
#pragma once

#include <cstddef>

#include "model/types/completion.h"
#include "model/types/opcode.h"
#include "model/types/send_work_queue.h"

namespace rxnic {

// Facts of the request's ONLY packet on RC. traits are 0 when there is none.
const OpcodeInfo& request_info(SendOpcode o);
// Of the requests that complete with `o`.
const OpcodeInfo& request_info(CqeOpcode o);
inline bool has(SendOpcode o, std::uint32_t traits) { return (request_info(o).traits & traits) != 0; }

// The operation of one of its packets: the ONLY one whatever its place when it has no other; kUnknown without any.
Operation operation_of(SendOpcode o, bool first, bool last);
// Whether `transport` has it.
bool is_legal(SendOpcode o, Transport transport);
// The opcode of its completion.
CqeOpcode completion_opcode(SendOpcode o);

// "RECV", "TM_RECV"; "?" for no opcode.
const char* cqe_opcode_name(CqeOpcode o);

}  // namespace rxnic
