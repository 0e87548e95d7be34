// SPDX-License-Identifier: Apache-2.0
// When a message passed the receive path; for observers.
#pragma once

#include <array>

#include "model/types/ids.h"
#include "model/types/packet.h"

namespace rxnic {

struct MessageTimes {
  Cycle posted{};                       // its sender's doorbell was rung; 0: not known
  Cycle begun{};                        // its first packet arrived; 0: it is of no message
  std::array<Cycle, kStations> left{};  // its last packet left each station; 0: it did not pass it
  Cycle of(Station s) const { return left[static_cast<std::size_t>(s)]; }
};

}  // namespace rxnic
