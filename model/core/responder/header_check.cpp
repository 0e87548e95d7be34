// SPDX-License-Identifier: Apache-2.0
#include "model/core/responder/header_check.h"

namespace rxnic {

namespace {

bool type_and_state_fit(const CheckedPacket& p, const ResponderContext& qp) {
  const OpcodeInfo& op = p.op();
  if ((op.traits & kIsCnp) != 0) return !is_datagram(qp.transport) && qp.state != QpState::kReset;  // (R4)
  if (op.transport != qp.transport) return false;
  const bool can_receive =
      qp.state == QpState::kRtr || qp.state == QpState::kRts || qp.state == QpState::kSqd || qp.state == QpState::kSqe;
  if (!can_receive) return false;
  return (op.traits & kResponse) == 0 || qp.state != QpState::kRtr;  // (R2)
}

}  // namespace

DropReason check_headers(const CheckedPacket& p, const ResponderContext& qp) {  // (R1)
  if (!type_and_state_fit(p, qp)) return DropReason::kQpTypeOrState;
  if (qp.transport == Transport::kRaw) return DropReason::kNone;  // it has none of them
  if (qp.transport != Transport::kUd) {
    const bool from_peer = qp.remote.kind == Address::Kind::kNone || qp.remote == p.h.source;
    const bool to_us = qp.local.kind == Address::Kind::kNone || qp.local == p.h.destination;
    if (!from_peer || !to_us) return DropReason::kQpAddress;
  }
  if (!qp.any_pkey && !pkeys_match(p.h.pkey, qp.pkey)) return DropReason::kPkey;
  if (qp.transport == Transport::kUd && p.h.qkey != qp.qkey) return DropReason::kQkey;
  if (!p.h.icrc_ok) return DropReason::kIcrc;
  return DropReason::kNone;
}

}  // namespace rxnic
