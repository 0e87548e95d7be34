// SPDX-License-Identifier: Apache-2.0
// What happens to a QP, and to the packets behind, when a packet cannot be carried out. Any block may find that out.
//
//   R1  A packet that fails on RC moves its QP to the error state. Packets of the QP that were checked after it are
//       squashed wherever they are, also those that have failed themselves; those checked before it complete.
//   R2  RNR: the QP goes back to what it was before the packet; packets behind are squashed, and an error state that
//       one of them caused is taken back; the QP stays usable and is silent until the packet's PSN comes again
//       (rules 6).
//   R3  UC, UD: only the rest of the packet's message is dropped.
//   R4  A squashed packet that has taken a receive WQE completes it with kFlushed; others complete nothing. It
//       answers nothing.
//   R5  Answers to requests of our own are not squashed by what fails on the responder's side. One that fails sends no
//       NAK: its request completes in error. Answers behind it write nothing; what completes behind it does so as
//       flushed. The others are the requester's to complete.
//   R6  A request that the requester found to fail moves the QP to the error state for good; what was checked before
//       it completes.
#pragma once

#include "model/types/packet.h"

namespace rxnic {

// Numbers the packet within its QP as it is checked.
void number(Packet& p);

// RC, XRC and local errors of any transport: QP to the error state. The packet answers `syndrome` (RC, XRC) and, when
// it holds a WQE, completes it with `status`.
void fail_qp(Packet& p, DropReason reason, std::uint8_t syndrome, WcStatus status);
// UC, UD: the message is given up.
void fail_message(Packet& p, DropReason reason);
// No receive WQE: RNR NAK on RC and XRC, a drop on UC and UD.
void fail_rnr(Packet& p);
// `p` is a completion in error of the requester's (PacketRole::kSendCompletion): the QP follows.
void fail_requests(Packet& p);

// A packet that was checked before this one, or the beginning of its UC message, has failed.
bool squashed_by_failure(const Packet& p);
inline bool is_squashed(const Packet& p) {
  if (p.qp == nullptr || p.role != PacketRole::kReceived) return false;
  const bool no_failure = p.qp->squash_after == p.qp->squash_until && p.message_sequence != p.qp->failed_message;
  return !no_failure && squashed_by_failure(p);
}
void squash(Packet& p);
// An answer, or what it completes, behind an answer that failed (R5).
inline bool is_behind_failed_answer(const Packet& p) {
  if (p.qp == nullptr || !p.qp->request_failed) return false;
  const auto behind = static_cast<std::int32_t>(p.sequence - p.qp->failed_answer_at);
  if (p.role == PacketRole::kSendCompletion) return p.status != WcStatus::kFlushed && behind >= 0;
  return p.role == PacketRole::kReceived && p.has(kResponse) && behind > 0;
}
void abandon_answer(Packet& p);
// What every block does with a packet that it takes. May be repeated.
inline void squash_when_behind(Packet& p) {
  if (is_squashed(p)) {
    squash(p);
  } else if (is_behind_failed_answer(p)) {
    abandon_answer(p);
  }
}

}  // namespace rxnic
