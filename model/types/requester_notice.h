// SPDX-License-Identifier: Apache-2.0
// What the requester and the receive path tell each other about requests of our own.
#pragma once

#include <cstdint>

#include "model/types/completion.h"
#include "model/types/ids.h"

namespace rxnic {

// A request of ours that goes out: what the requester tells the transport checker, once, as its first packet leaves.
struct RequestNotice {
  Qpn qpn{};
  Psn first_psn;
  std::uint32_t psn_count = 1;          // request packets, or responses of a READ
  CqeOpcode opcode = CqeOpcode::kSend;  // of a send queue
  bool signaled = true;
  bool reset = false;           // not a request: forget everything of this QP (it was reset or destroyed)
  std::uint32_t wqe = 0;        // free-running number of the WQE in its SQ
  std::uint32_t wqe_index = 0;  // its slot
  std::uint32_t bytes = 0;
  std::uint64_t va = 0;  // READ, atomic: where the data goes
  Key lkey{};
};

enum class AnswerKind : std::uint8_t {
  kAck,           // everything up to and with `psn` is acknowledged
  kReadResponse,  // the READ response with `psn` was accepted (an ATOMIC WRITE has one too); everything before it is
                  // acknowledged
  kAtomicAck,     // the same for an atomic
  kNak,           // `syndrome`; everything before `psn` is acknowledged
  kRnrNak,        // the same; the timer code is in `syndrome`
  kGap,           // an answer came that is behind an unanswered READ or atomic, whose next missing PSN is `psn`
};

// An answer to requests of ours: what the transport checker tells the requester.
struct AnswerNotice {
  Qpn qpn{};
  Psn psn;
  AnswerKind kind = AnswerKind::kAck;
  std::uint8_t syndrome = 0;
};

}  // namespace rxnic
