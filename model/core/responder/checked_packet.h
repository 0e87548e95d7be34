// SPDX-License-Identifier: Apache-2.0
// A packet in the transport checker: what came in, its QP, and what is decided of it.
#pragma once

#include "model/types/context.h"
#include "model/types/parsed_packet.h"
#include "model/types/receive_path.h"

namespace rxnic {

// What the responder's part of a QP context was before a packet was checked: an RNR NAK takes the packet back.
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
  bool resynchronised = false;  // its PSN was ahead and taken as it is
};

// The packet as it comes to the checker.
CheckedPacket examine(const ContextPacket& arrived, ResponderContext& qp);
// The packet belongs to the QP's present epoch; what its headers and its QP say is put into its descriptor.
void admit(CheckedPacket& p);
// What is said of the QP, for an internal packet too.
void describe_qp(WqeRequest& p, const ResponderContext& qp);

}  // namespace rxnic
