// SPDX-License-Identifier: Apache-2.0
#include "model/core/responder/checked_packet.h"

namespace rxnic {

CheckedPacket examine(const ContextPacket& arrived, ResponderContext& qp) {
  CheckedPacket p;
  p.h = arrived;
  p.qp = &qp;
  p.buffer = arrived.buffer;
  p.line = arrived.line;
  p.residence = arrived.residence;
  p.opcode = arrived.opcode;
  return p;
}

void describe_qp(WqeRequest& p, const ResponderContext& qp) {
  p.transport = qp.transport;
  p.uses_srq = qp.uses_srq;
  p.qpn = qp.qpn;
  p.remote_qpn = qp.remote_qpn;
  p.mtu = qp.mtu;
  p.min_rnr_timer = qp.min_rnr_timer;
  p.receive_queue = qp.receive_queue;
}

void admit(CheckedPacket& p) {
  describe_qp(p, *p.qp);
  p.epoch = p.qp->epoch;
  const ParsedPacket& h = p.h;
  p.psn = h.psn;
  p.congested = h.congested;
  p.payload_offset = h.payload_offset;
  p.payload_bytes = h.payload_bytes;
  p.immediate = h.immediate;
  p.solicited = h.solicited;
  p.network_header = h.network_header;
  p.network_offset = h.network_offset;
  p.source_qp = h.source_qp;
  p.source_lid = h.source_lid;
  p.service_level = h.service_level;
  p.operand = h.swap_add;
  p.compare = h.compare;
  p.id = h.id;
  p.posted = h.posted;
}

}  // namespace rxnic
