// SPDX-License-Identifier: Apache-2.0
// Is the packet for this QP? The checks of rules 6 between "QP found" and the PSN, in their order. Each failure is a
// silent drop with a reason of its own.
//
//   R1  QP type and state; then addresses (RC, UC, XRC); then P_Key; then Q_Key (UD); then ICRC: the first that
//       fails counts.
//   R2  Requests need RTR or later, answers RTS or later. RESET, INIT and the error state take nothing.
//   R3  P_Keys match when their low 15 bits are equal and not zero and at least one of them is a full member.
//       A QP with any_pkey (captures) takes all.
//   R4  A CNP is for a QP of any connected type; it has no Q_Key.
#pragma once

#include "model/core/responder/checked_packet.h"

namespace rxnic {

// kNone when the packet may go on.
DropReason check_headers(const CheckedPacket& p, const ResponderContext& qp);

constexpr bool pkeys_match(std::uint16_t a, std::uint16_t b) {
  return (a & kPkeyBase) != 0 && (a & kPkeyBase) == (b & kPkeyBase) && ((a | b) & ~kPkeyBase) != 0;
}

}  // namespace rxnic
