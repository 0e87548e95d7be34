// SPDX-License-Identifier: Apache-2.0
// A packet in the transport checker: its descriptor as it arrived, its QP, and the decisions about it.
#pragma once

#include "model/types/context.h"
#include "model/types/parsed_packet.h"
#include "model/types/receive_path.h"

namespace rxnic {

// The responder's part of a QP context before a packet was checked, to be restored when an RNR NAK refuses the packet.
struct ResponderUndo {
  Psn expected_psn;
  std::uint32_t msn = 0;
  MessageKind message = MessageKind::kNone;
  Key write_rkey{};
  std::uint32_t write_left = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t write_va = 0;
  std::uint64_t message_start = 0;
};

struct CheckedPacket : WqeRequest {
  ParsedPacket h;
  ResponderContext* qp = nullptr;
  ResponderUndo undo;
  std::uint32_t missing_psns = 0;  // before it, for observers: its QP was resynchronised
};

// The packet as it comes to the checker.
CheckedPacket examine(const ContextPacket& arrived, ResponderContext& qp);
// The packet joins the QP's present epoch; the fields of its headers and its QP are put into its descriptor.
void admit(CheckedPacket& p);
// Puts the fields of the QP into the descriptor, also of an internal packet.
void describe_qp(WqeRequest& p, const ResponderContext& qp);

}  // namespace rxnic
