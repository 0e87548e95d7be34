// SPDX-License-Identifier: Apache-2.0
#include "model/core/wire/parsed.h"

#include <cstring>

namespace rxnic {

namespace {

NetworkHeader network_header(const Headers& h) {
  if (h.has_grh) return NetworkHeader::kGrh;
  return h.encapsulation == Encapsulation::kRoceV2Ipv4 ? NetworkHeader::kIpv4 : NetworkHeader::kNone;
}

}  // namespace

void describe(Bytes frame, const Headers& h, ParsedPacket& p) {
  p.network_header = network_header(h);
  p.network_offset = h.network_offset;
  p.payload_offset = h.payload_offset;
  p.payload_bytes = h.payload_bytes;
  p.source = h.source;
  p.destination = h.destination;
  p.source_lid = h.source_lid;
  p.service_level = h.service_level;
  p.opcode = h.opcode;
  p.solicited = h.solicited;
  p.ack_request = h.ack_request;
  p.pkey = h.pkey;
  p.destination_qp = h.destination_qp;
  p.psn = h.psn;
  p.syndrome = h.syndrome;
  p.va = h.va;
  p.rkey = h.rkey;
  p.length = h.length;
  p.swap_add = h.swap_add;
  p.compare = h.compare;
  p.original = h.original;
  p.qkey = h.qkey;
  p.source_qp = h.source_qp;
  p.immediate = h.immediate;
  p.xrc_srq = h.xrc_srq;
  const bool has_operand = opcode_info(h.opcode).length == LengthRule::kOperand && h.payload_bytes >= kAtomicBytes;
  if (has_operand) std::memcpy(&p.swap_add, frame.data() + h.payload_offset, kAtomicBytes);
}

}  // namespace rxnic
