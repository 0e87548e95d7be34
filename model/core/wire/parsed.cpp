// SPDX-License-Identifier: Apache-2.0
#include "model/core/wire/parsed.h"

#include <cstring>

#include "model/core/wire/icrc.h"

namespace rxnic {

namespace {

NetworkHeader network_header(const Headers& h) {
  if (h.has_grh) return NetworkHeader::kGrh;
  return h.encapsulation == Encapsulation::kRoceV2Ipv4 ? NetworkHeader::kIpv4 : NetworkHeader::kNone;
}

// RoCE has no service level. In its place a completion of UD says what kind of packet it was. By this kind the program
// reads the 40 bytes in front of the data (RoCEv2 annex, A17.4.5.1). As mlx5 encodes it: bit 3 is set over UDP; bits 2
// to 0 are 0 for a GRH, 1 for IPv6, 2 for IPv4.
std::uint8_t service_level(const Headers& h) {
  switch (h.encapsulation) {
    case Encapsulation::kRoceV2Ipv4:
      return 0xa;
    case Encapsulation::kRoceV2Ipv6:
      return 0x9;
    case Encapsulation::kRoceV1:
      return 0;
    default:
      return h.service_level;
  }
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
  p.service_level = service_level(h);
  p.opcode = h.opcode;
  p.solicited = h.solicited;
  p.ack_request = h.ack_request;
  p.pkey = h.pkey;
  p.destination_qp = h.destination_qp;
  p.psn = h.psn;
  p.syndrome = h.syndrome;
  p.va = h.va;
  p.rkey = h.rkey;
  const bool region_flushed = (opcode_info(h.opcode).traits & kHasFeth) != 0 && (h.immediate & kFethLevelMask) != 0;
  p.length = region_flushed ? 0 : h.length;  // it names no range (rules 6.10)
  p.swap_add = h.swap_add;
  p.compare = h.compare;
  p.qkey = h.qkey;
  p.source_qp = h.source_qp;
  p.immediate = h.immediate;
  p.xrc_srq = h.xrc_srq;
  const bool has_operand = opcode_info(h.opcode).length == LengthRule::kOperand && h.payload_bytes >= kAtomicBytes;
  if (has_operand) std::memcpy(&p.swap_add, frame.data() + h.payload_offset, kAtomicBytes);
}

void make_scratch(const Headers& h, Packet& p) {
  const std::uint32_t traits = opcode_info(h.opcode).traits;
  if ((traits & kHasDeth) != 0 && network_header(h) == NetworkHeader::kIpv4) {
    std::memset(p.scratch.data(), 0, kGrhBytes - kIpv4Bytes);
    std::memcpy(p.scratch.data() + (kGrhBytes - kIpv4Bytes), p.frame.data() + h.network_offset, kIpv4Bytes);
  } else if ((traits & kHasAtomicAckEth) != 0) {
    std::memcpy(p.scratch.data(), &h.original, kAtomicBytes);
  }
}

DropReason wrong_checksum(Bytes frame, const Headers& h) {
  if (!ipv4_checksum_matches(frame, h)) return DropReason::kIpChecksum;
  if (!udp_checksum_matches(frame, h)) return DropReason::kUdpChecksum;
  return icrc_matches(frame, h) ? DropReason::kNone : DropReason::kIcrc;
}

}  // namespace rxnic
