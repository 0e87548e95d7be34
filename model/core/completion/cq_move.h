// SPDX-License-Identifier: Apache-2.0
// Which CQEs of a CQ are moved to its new ring when it is resized. CQEs first .. first + count - 1 of the old ring
// become CQEs 0 .. count - 1 of the new one. The command processor moves them (its R7).
//
//   R1  All that were written and not polled are moved, but no more than either ring has slots; of more than that the
//       oldest are lost.
#pragma once

#include <cstdint>

#include "model/types/completion.h"

namespace rxnic {

struct CqMove {
  BusAddress from{};
  std::uint32_t from_slots = 0;
  std::uint32_t first = 0;  // CQE of the old ring
  std::uint32_t count = 0;
  BusAddress to{};
};

// `consumer`: the first CQE that was not polled. `producer`: one past the last one that was written.
CqMove plan_move(const CqContext& from, const CqContext& to, std::uint32_t consumer, std::uint32_t producer);

}  // namespace rxnic
