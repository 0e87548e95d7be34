// SPDX-License-Identifier: Apache-2.0
// Our own requests that wait for their answers, and the decisions on an answer packet (requester side of RC and
// XRC).
//
//   R1  An ACK completes every SEND and WRITE whose last PSN is at or before its own. It does not complete a READ or
//       atomic at or before it whose answer is missing, unless the QP resynchronises: the capture lost the answer.
//   R2  A READ response belongs to the READ whose PSN range holds its PSN. Its data goes to the request's buffer at the
//       offset of that PSN. LAST and ONLY complete the READ, and with it every SEND and WRITE before.
//   R3  An ATOMIC ACK completes the atomic of its PSN; the original value goes to the request's buffer. A READ RESPONSE
//       without data completes the ATOMIC WRITE of its PSN, which is otherwise treated as an atomic.
//   R4  A NAK or RNR NAK completes only requests before its PSN: the requester repeats the rest.
//   R5  An answer that no request explains is dropped (kUnsolicitedAnswer). A QP that resynchronises accepts and counts
//       such an answer, because the capture began later or lost the request.
//   R6  A request that is sent again is not a new one.
//
//   Unless the QP resynchronises:
//   R7  Requests complete in order. Requests behind a READ or atomic whose answer is missing are not completed. An
//       answer to one of these requests reports a gap (kGap) at the first missing PSN to the requester. So does a READ
//       response that is ahead (dropped: kPsnAhead); one that has come before is dropped as unsolicited. Each response
//       but the last holds the MTU, the last the rest (else dropped: kInvalidRequest).
//   R8  Every accepted answer is reported to the requester, except those of a QP whose requests have failed.
//   R9  A completion that the requester sends (requests in error and flushed; all of UC and UD) is dropped when its
//       WQE has been completed. The first in error ends the QP's requests: no answer completes anything after it.
//   R10 On-chip memory: places for `requests` requests of all QPs together, and what is kept of each of `qps` QPs. A
//       request that finds no place is counted and not noted: its answers find nothing. A requester that has no more
//       requests out than the places that it was given back (take_freed) always finds one.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/core/responder/checked_packet.h"
#include "model/types/request_counters.h"
#include "model/types/requester_notice.h"
#include "model/types/send_opcode.h"

namespace rxnic {

class RequestTable {
 public:
  struct Sizes {
    std::uint32_t requests = 65536;
    std::uint32_t qps = 8192;
  };
  explicit RequestTable(const Sizes& sizes) : sizes_(sizes) {}

  void add(const RequestNotice& request);
  // Places that are free again since the last call, and those that requests did not take after all. (R10)
  std::uint32_t take_freed() { return std::exchange(freed_, 0); }

  // Removes the oldest request that the answer completes from the table, not counting the READ or atomic whose data it
  // carries. False when there is none (any more). Call until false, then check_answer().
  bool take_completed(const CheckedPacket& answer, RequestNotice& completed);
  // Decides on an answer packet: outcome, buffer, completion. Returns the notice for the requester, if there is one.
  std::optional<AnswerNotice> check_answer(CheckedPacket& p);
  // Whether a completion that the requester sent is the first of its WQE (R9).
  bool accept_completion(const CheckedPacket& p);

  const RequestCounters& counters() const { return counters_; }
  std::size_t outstanding(Qpn qpn) const;
  std::uint32_t in_use() const { return used_; }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0xffffffff;
  struct Place {
    RequestNotice request;
    Index previous = kNone, next = kNone;  // in the QP's list; of a free place: the next free one
  };
  struct Queue {
    Index first = kNone, last = kNone;  // requests without their answer, in the order of their PSNs
    Psn newest;                         // last PSN noted
    bool any = false;
    bool failed = false;          // (R9)
    std::uint32_t next_wqe = 0;   // all before it are completed
    std::uint32_t responses = 0;  // of the oldest READ that have come (R7)
  };
  // A READ or an atomic.
  static bool is_data(const RequestNotice& r) { return (request_info(r.opcode).traits & kSaved) != 0; }
  Queue* find(Qpn qpn);
  Queue* find_or_make(Qpn qpn);  // nullptr: there is no place for one more QP
  void append(Queue& q, const RequestNotice& request);
  void release(Queue& q, Index at);
  void clear(Queue& q);
  void remove(Queue& q, Index at);
  std::optional<AnswerNotice> check_acknowledge(CheckedPacket& p, Queue& q);
  std::optional<AnswerNotice> check_data(CheckedPacket& p, Queue& q, Index at);
  std::optional<AnswerNotice> refuse(CheckedPacket& p, DropReason reason);
  AnswerNotice gap(const CheckedPacket& p, const Queue& q);

  Sizes sizes_;
  std::unordered_map<std::uint32_t, Queue> queues_;  // by QPN
  std::vector<Place> places_;                        // as many as were ever in use
  Index free_ = kNone;                               // of them
  std::uint32_t used_ = 0;
  std::uint32_t freed_ = 0;
  RequestCounters counters_;
};

}  // namespace rxnic
