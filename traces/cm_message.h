// SPDX-License-Identifier: Apache-2.0
// Connection management on QP1, as far as a survey of a capture needs it (IBTA volume 1, 12.6; MADs 13.4.2).
//
//   R1  A MAD is read when it is one of the CM class (0x07, version 2) and a REQ or a REP. Any other MAD is ignored.
//   R2  The starting PSN is the one with which the other side begins: the first PSN that the sender will receive.
#pragma once

#include <optional>

#include "model/types/wire.h"

namespace rxnic {

inline constexpr std::uint32_t kGsiQkey = 0x80010000;
inline constexpr std::uint32_t kMadBytes = 256;

struct CmMessage {
  bool reply = false;  // REP, otherwise REQ
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;  // REP: local_id of the REQ
  Qpn local_qpn{};
  Psn starting_psn;
  std::uint8_t responder_resources = 0;
  std::uint16_t mtu = 0;  // of the path, bytes; REQ only
};

std::optional<CmMessage> parse_cm(Bytes mad);

}  // namespace rxnic
