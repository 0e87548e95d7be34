// SPDX-License-Identifier: Apache-2.0
// Send WQEs as bytes (model/types/send_work_queue.h), as the requester reads them.
//
//   R1  An opcode is known and one of its transport (rules 4; types/opcode_table.h).
//   R2  Data segments, at most kMaxSge, lie within the slot. A segment of length 0 is skipped, whatever its lkey.
//       Inline data lies within the slot; only SEND, WRITE and ATOMIC WRITE have it.
//   R3  READ, COMPARE_SWAP and FETCH_ADD have one data segment that is not empty; the returned data goes there. An
//       atomic's is 8 bytes long, a READ of no bytes has none. An ATOMIC WRITE's data is 8 bytes, as a WRITE's.
//   R4  A message has at most kMaxSendBytes; on UD and RAW_PACKET at most the MTU, on RAW_PACKET at least an Ethernet
//       header.
//   R5  BIND_MW and LOCAL_INV have neither data segments nor inline data.
//   R6  TSO has a header of 1 to kMaxTsoHeaderBytes, which lies within the slot, an MSS that is not 0, and no inline
//       data. Header and segment together are not longer than a message of the transport (R4), and the data is not
//       longer than max_tso. On RAW_PACKET the header is not shorter than an Ethernet header.
//   R7  kSendChecksums: UD and RAW_PACKET only.
//   R8  A violation of R1..R3, R5, R7 and of the first sentence of R6 is a local QP operation error. A violation of R4
//       and of the lengths in R6 is a local length error.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "model/types/completion.h"
#include "model/types/send_opcode.h"
#include "model/types/send_work_queue.h"

namespace rxnic {

// A send WQE after it was read.
struct SendWqe {
  SendOpcode opcode = SendOpcode::kSend;
  std::uint8_t flags = 0;  // SendFlag
  std::uint16_t sge_count = 0;
  std::uint16_t mss = 0;    // TSO, else 0
  std::uint32_t bytes = 0;  // of the message; TSO: without the header
  std::uint32_t immediate = 0;
  std::uint32_t remote_qpn = 0, remote_qkey = 0, remote_srqn = 0;
  RemoteSegment remote;                       // WRITE, READ, atomics
  WindowSegment window;                       // BIND_MW
  AddressVector address;                      // UD
  const std::uint8_t* inline_data = nullptr;  // kSendInline: in the slot that was parsed
  std::span<const std::uint8_t> header;       // TSO: likewise
  std::array<DataSegment, kMaxSge> sge;

  std::span<const DataSegment> segments() const { return {sge.data(), sge_count}; }
};

// kSuccess, or how the WQE completes. `mtu`: bytes.
WcStatus parse_send_wqe(std::span<const std::uint8_t> slot, Transport transport, std::uint32_t mtu, SendWqe& out,
                        std::uint32_t max_tso = kMaxSendBytes);

}  // namespace rxnic
