// SPDX-License-Identifier: Apache-2.0
// RoCEv2 on another UDP port than 4791: early hardware (1021), mirrors and gateways that write their own.
//
//   R1  A datagram looks like RoCEv2 when it is right in all that can be checked without its ICRC. These are the
//       lengths, a known opcode with its headers and pad, TVER 0, and reserved bits 0. Besides, the QPN is not 0, and
//       the P_Key is that of the default partition.
//   R2  Its ICRC is right for the port that it has, or for 4791: then a mirror changed the port.
//   R3  A frame that is read as RoCEv2 gets port 4791. An ICRC that was right stays right, and so does a UDP checksum
//       then, by becoming 0 (none); a wrong ICRC stays wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/types/wire.h"

namespace rxnic {

// model/core/wire/icrc.h has both.
using IcrcCheck = bool (*)(Bytes frame, const Headers& h);
using IcrcSeal = void (*)(std::span<std::uint8_t> frame, const Headers& h);

struct OtherUdpPort {
  std::uint16_t port = 0;
  bool icrc_right = false;
};
// R1, R2, for an Ethernet frame that parse() does not know. `check` may be nullptr: no ICRC is right.
std::optional<OtherUdpPort> looks_like_roce(Bytes frame, IcrcCheck check);

// R3: the frame with port 4791 in `to`, when its UDP port is one of `ports`.
bool to_roce_port(Bytes frame, std::span<const std::uint16_t> ports, IcrcCheck check, IcrcSeal seal,
                  std::vector<std::uint8_t>& to);

}  // namespace rxnic
