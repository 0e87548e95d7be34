// SPDX-License-Identifier: Apache-2.0
// Facts of a request by the opcode of its send WQE, and of a completion by that of its CQE (opcode_table.h). The
// argument may be any byte that a program wrote: one that is no opcode has no facts, and completes as a SEND.
#pragma once

#include <cstddef>

#include "model/types/completion.h"
#include "model/types/opcode.h"
#include "model/types/send_work_queue.h"

namespace rxnic {

// Facts of the request's ONLY packet on RC. traits are 0 when there is none.
const OpcodeInfo& request_info(SendOpcode o);
// Facts of the requests that complete with `o`.
const OpcodeInfo& request_info(CqeOpcode o);
inline bool has(SendOpcode o, std::uint32_t traits) { return (request_info(o).traits & traits) != 0; }

// The operation of one of its packets: ONLY, whatever the place, when it has no others; kUnknown when it has none.
Operation operation_of(SendOpcode o, bool first, bool last);
// The device carries it out by itself: it sends nothing.
bool is_local(SendOpcode o);
// Whether `transport` has it.
bool is_legal(SendOpcode o, Transport transport);
// The opcode of its completion.
CqeOpcode completion_opcode(SendOpcode o);

// "RECV", "TM_RECV"; "?" for no opcode.
const char* cqe_opcode_name(CqeOpcode o);

}  // namespace rxnic
