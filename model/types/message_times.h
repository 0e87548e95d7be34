// SPDX-License-Identifier: Apache-2.0
// When a message passed the receive path; for observers.
#pragma once

#include "model/types/ids.h"
#include "model/types/packet.h"

namespace rxnic {

struct MessageTimes {
  Cycle posted{};            // its sender's doorbell was rung; 0: not known
  Cycle begun{};             // its first packet arrived; 0: it is of no message
  Passages passed{};         // its last packet
  std::uint64_t packet = 0;  // number of that packet (Packet::id); 0: not known
  Qpn qpn{};                 // its QP
  bool ended = false;        // by that packet, whose opcode this is:
  std::uint8_t opcode = 0;
  std::uint64_t bytes = 0;  // of the message, up to that packet
  Cycle left(Station s) const { return passed[static_cast<std::size_t>(s)].left; }
  void leaves(Station s, Cycle c) { passed[static_cast<std::size_t>(s)].left = c; }
  void is_taken(Station s, Cycle c) { passed[static_cast<std::size_t>(s)].taken = c; }
};

}  // namespace rxnic
