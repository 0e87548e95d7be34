// SPDX-License-Identifier: Apache-2.0
// Our own requests that wait for their answers, and the decisions on an answer packet (requester side of RC and
// XRC).
//
//   R1  An ACK completes every SEND and WRITE whose last PSN is at or before its own. It does not complete a READ or
//       atomic at or before it whose answer is missing, unless the QP resynchronises: the capture lost the answer.
//   R2  A READ response belongs to the READ whose PSN range holds its PSN; its data goes to the request's buffer at
//       the offset of that PSN. LAST and ONLY complete the READ, and with it every SEND and WRITE before.
//   R3  An ATOMIC ACK completes the atomic of its PSN; the original value goes to the request's buffer. A READ RESPONSE
//       without data completes the ATOMIC WRITE of its PSN, which is otherwise treated as an atomic.
//   R4  A NAK or RNR NAK completes only requests before its PSN: the requester repeats the rest.
//   R5  An answer that no request explains is dropped (kUnsolicitedAnswer), unless the QP resynchronises: then it is
//       accepted and counted, because the capture began later or lost the request.
//   R6  A request that is sent again is not a new one.
//
//   Unless the QP resynchronises:
//   R7  Requests complete in order. Requests behind a READ or atomic whose answer is missing are not completed; an
//       answer to one of them reports a gap (kGap) at the first missing PSN to the requester. So does a READ response
//       that is ahead (dropped: kPsnAhead); one that has come before is dropped as unsolicited. Each response but the
//       last holds the MTU, the last the rest (else dropped: kInvalidRequest).
//   R8  Every accepted answer is reported to the requester, except those of a QP whose requests have failed.
//   R9  A completion that the requester sends (requests in error and flushed; all of UC and UD) is dropped when its
//       WQE has completed already. The first in error ends the QP's requests: no answer completes a request after it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "model/core/responder/checked_packet.h"
#include "model/types/request_counters.h"
#include "model/types/requester_notice.h"
#include "model/types/send_opcode.h"

namespace rxnic {

class RequestTable {
 public:
  void add(const RequestNotice& request);

  // Removes the oldest request that the answer completes from the table, not counting the READ or atomic whose data it
  // carries; false when there is none (any more). Call until false, then check_answer().
  bool take_completed(const CheckedPacket& answer, RequestNotice& completed);
  // Decides on an answer packet: outcome, buffer, completion. Returns the notice for the requester, if there is one.
  std::optional<AnswerNotice> check_answer(CheckedPacket& p);
  // Whether a completion that the requester sent is the first of its WQE (R9).
  bool accept_completion(const CheckedPacket& p);

  const RequestCounters& counters() const { return counters_; }
  std::size_t outstanding(Qpn qpn) const;

 private:
  struct Queue {
    std::deque<RequestNotice> outstanding;
    Psn newest;  // last PSN noted
    bool any = false;
    bool failed = false;          // (R9)
    std::uint32_t next_wqe = 0;   // all before it are completed
    std::uint32_t responses = 0;  // of the oldest READ that have come (R7)
  };
  // A READ or an atomic.
  static bool is_data(const RequestNotice& r) { return (request_info(r.opcode).traits & kSaved) != 0; }
  using Request = std::deque<RequestNotice>::iterator;
  void remove(Queue& q, Request r);
  std::optional<AnswerNotice> check_acknowledge(CheckedPacket& p, Queue& q);
  std::optional<AnswerNotice> check_data(CheckedPacket& p, Queue& q, Request r);
  std::optional<AnswerNotice> refuse(CheckedPacket& p, DropReason reason);
  AnswerNotice gap(const CheckedPacket& p, const Queue& q);

  std::unordered_map<std::uint32_t, Queue> queues_;  // by QPN
  RequestCounters counters_;
};

}  // namespace rxnic
