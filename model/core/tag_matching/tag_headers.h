// SPDX-License-Identifier: Apache-2.0
// The headers of tag matching (types/tag_matching.h) in the descriptor of the packet that begins a message.
//
//   R1  Read of the first packet of a SEND that takes a WQE, when all of the header is there. Without one the opcode is
//       kNoTag, the tag and the context are 0.
//   R2  An RVH is read of a rendezvous request that can be searched for: one packet of TMH, RVH and
//       kMostRendezvousBytes at most. It sets `rendezvous`, and local_va, local_key and local_bytes.
#pragma once

#include <cstdint>

#include "model/types/packet_facts.h"
#include "model/types/receive_path.h"
#include "model/types/tag_matching.h"

namespace rxnic {

// Whether the tag matcher searches for the packet, when it is of a TM SRQ.
inline bool begins_tagged_message(const WqeRequest& p) {
  return p.role == PacketRole::kReceived && p.outcome == Outcome::kExecute && p.has(kSend) && p.takes_wqe;
}

// `payload`: of a packet that begins_tagged_message().
inline void read_tag_headers(WqeRequest& p, const std::uint8_t* payload) {
  if (!p.has(kFirst | kOnly) || p.payload_bytes < kTmhBytes) return;  // (R1)
  const Tmh tmh = parse_tmh(payload);
  p.tmh_opcode = tmh.opcode;
  p.tag = tmh.tag;
  p.tag_context = tmh.app_context;
  if (static_cast<TmhOpcode>(tmh.opcode) != TmhOpcode::kRendezvous || !p.has(kOnly) ||
      p.payload_bytes < kTmhBytes + kRvhBytes || p.payload_bytes > kMostRendezvousBytes) {
    return;
  }
  const Rvh rvh = parse_rvh(payload + kTmhBytes);  // (R2)
  p.rendezvous = true;
  p.local_va = rvh.va;
  p.local_key = Key{rvh.rkey};
  p.local_bytes = rvh.length;
}

}  // namespace rxnic
