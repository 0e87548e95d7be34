// SPDX-License-Identifier: Apache-2.0
#include "model/core/responder/response.h"

#include <algorithm>
#include <array>

#include "model/core/wire/ecn.h"
#include "model/core/wire/icrc.h"
#include "model/types/syndrome.h"

namespace rxnic {

namespace {

constexpr std::uint8_t kDscpMask = 0xfc;

// Number of credits of each code below 0x1f.
constexpr std::array<std::uint32_t, kAckUnlimited> kCredits = {
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

Operation position(bool first, bool last) {
  if (first) return last ? Operation::kReadResponseOnly : Operation::kReadResponseFirst;
  return last ? Operation::kReadResponseLast : Operation::kReadResponseMiddle;
}

}  // namespace

std::uint8_t credit_code(std::uint32_t wqes) {  // (R4)
  const auto above = std::upper_bound(kCredits.begin(), kCredits.end(), wqes);
  return static_cast<std::uint8_t>(above - kCredits.begin() - 1);
}

Headers answer_headers(const Headers& request, Qpn peer) {  // (R1)
  Headers h;
  h.link = request.link;
  h.encapsulation = request.encapsulation;
  h.has_grh = request.has_grh;
  h.traffic_class = request.traffic_class & kDscpMask;
  if ((request.traffic_class & kEcnMask) != 0) h.traffic_class |= kEct0;
  h.hop_limit = kDefaultHopLimit;
  h.service_level = request.service_level;
  h.virtual_lane = request.virtual_lane;
  h.vlan_tags = request.vlan_tags;
  h.vlan = request.vlan;
  h.outer_vlan = request.outer_vlan;
  h.udp_source_port = request.udp_source_port;
  h.flow_label = request.flow_label;
  h.source_lid = request.destination_lid;
  h.destination_lid = request.source_lid;
  h.source_mac = request.destination_mac;
  h.destination_mac = request.source_mac;
  h.source = request.destination;
  h.destination = request.source;
  h.opcode = answer_opcode(request.opcode, Operation::kAck);
  h.migrated = request.migrated;
  h.pkey = request.pkey;
  h.destination_qp = peer;
  h.psn = request.psn;
  return h;
}

Headers cnp_headers(const Headers& answer) {
  Headers h = answer;
  h.opcode = kOpcodeCnp;
  h.becn = true;
  h.psn = Psn{0};
  return h;
}

void next_read_response(Packet& p, const Headers& shared, ReadInProgress& read, PieceList& pieces) {  // (R2)
  const std::uint32_t bytes = std::min(read.bytes_left, read.mtu);
  const bool last = bytes == read.bytes_left;
  p.h = shared;
  p.h.opcode = answer_opcode(shared.opcode, position(!read.begun, last));
  p.h.psn = read.psn;
  p.h.payload_bytes = static_cast<std::uint16_t>(bytes);
  pieces.clear();
  pieces.append(read.va, read.key, BufferArea::kFrame, static_cast<std::uint32_t>(payload_offset_for(p.h)),
                bytes);  // (R3)
  read.va += bytes;
  read.bytes_left -= bytes;
  read.psn = read.psn + 1;
  read.begun = true;
}

WireFrame build_answer(PacketHandle h, Packet& p, std::uint32_t payload_bytes) {
  p.frame_bytes = static_cast<std::uint32_t>(build_in_place(p.h, payload_bytes, p.frame));
  seal({p.frame.data(), p.frame_bytes}, p.h);  // (R5)
  p.sealed = true;
  p.link = p.h.link;
  p.destination = p.h.destination;
  return {h, static_cast<std::uint16_t>(p.frame_bytes), p.link, false, false};
}

}  // namespace rxnic
