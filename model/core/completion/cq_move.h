// SPDX-License-Identifier: Apache-2.0
// Moves the CQEs of a CQ to its new ring when it is resized.
//
//   R1  CQEs first .. first + count - 1 of the old ring become CQEs 0 .. count - 1 of the new one, in order, whole
//       slots, with the owner bits of their new numbers. Software's fill bytes stay in the slots behind them.
//   R2  No more CQEs move than either ring has slots; of more than that the oldest are lost.
#pragma once

#include <cstdint>

#include "model/types/completion.h"
#include "model/types/host_memory.h"

namespace rxnic {

struct CqMove {
  BusAddress from{};
  std::uint32_t from_slots = 0;
  std::uint32_t first = 0;  // CQE of the old ring
  std::uint32_t count = 0;
  BusAddress to{};
};

// Everything from CQE `consumer` on that was written before CQE `producer`. (R2)
CqMove plan_move(const CqContext& from, const CqContext& to, std::uint32_t consumer, std::uint32_t producer);
// (R1) `stride`: bytes of a slot.
void move_cqes(HostMemory& memory, const CqMove& move, std::uint32_t stride);

}  // namespace rxnic
