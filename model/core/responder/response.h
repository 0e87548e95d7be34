// SPDX-License-Identifier: Apache-2.0
// The frames that answer requests: ACK, NAK, RNR NAK, ATOMIC ACK, READ responses (rules 6; IBTA volume 1, 9.7.5).
//
//   R1  An answer takes the path of its request back: MAC addresses, network addresses and LIDs swapped, VLAN, flow
//       label, SL and UDP source port kept. Hop limit 64; DSCP of the request; ECT(0) when the request was ECN capable,
//       otherwise 0. Destination QP: the QP's peer. Transport and P_Key are the request's. Never solicited, never
//       asking for an ACK.
//   R2  A READ of n bytes is answered by max(1, ceil(n / MTU)) packets, with successive PSNs from the request's on.
//       They are ONLY, or FIRST, MIDDLEs of the MTU, and LAST. AETH on FIRST, LAST and ONLY.
//   R3  The data of a READ response lies in 4 KiB pieces of the responder's memory (core/memory/scatter_plan.h, R1).
//   R4  Credit field of an ACK: code c of the table of IBTA volume 1, 9.7.7.2.2 (0x1f: unlimited or not counted).
//   R5  Every answer is sealed with its ICRC.
//   R6  A congestion notification packet (RoCEv2 annex A17.9) takes the same path, of any transport. It has opcode
//       0x81, BECN, PSN 0, and behind the BTH 16 reserved bytes of 0.
#pragma once

#include <cstdint>

#include "model/core/memory/scatter_plan.h"
#include "model/types/packet.h"

namespace rxnic {

// Largest code that promises no more than `wqes` receive WQEs (R4).
std::uint8_t credit_code(std::uint32_t wqes);

// The headers that all answers to `request` share (R1); the opcode is that of an ACK.
Headers answer_headers(const Headers& request, Qpn peer);

// The CNP for a packet, made from the headers that all answers to it share. (R6)
Headers cnp_headers(const Headers& answer);

constexpr std::uint8_t answer_opcode(std::uint8_t like, Operation operation) {
  return opcode_of(static_cast<Transport>(like >> 5), operation);
}

// A READ that is being answered.
struct ReadInProgress {
  std::uint64_t va = 0;
  Key key{};
  std::uint32_t bytes_left = 0;
  std::uint32_t mtu = 0;
  Psn psn;             // of the next response
  bool begun = false;  // FIRST was made
};

// Makes `p` the next response of a READ with bytes left (R2), with headers as in `shared`. `pieces` says where the data
// is to be read from and where in the frame it goes (R3). build_answer() completes it when the data is there.
void next_read_response(Packet& p, const Headers& shared, ReadInProgress& read, PieceList& pieces);

// Writes and seals the frame from p.h; `payload_bytes` of it are in place.
WireFrame build_answer(PacketHandle h, Packet& p, std::uint32_t payload_bytes);

}  // namespace rxnic
