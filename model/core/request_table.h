// SPDX-License-Identifier: Apache-2.0
// Our own requests that wait for their answers, and the decisions on an answer packet (requester side of RC and
// XRC).
//
//   R1  An ACK completes every SEND and WRITE whose last PSN is at or before its own. A READ or atomic at or before
//       it whose answer did not come is not completed by it, unless the QP resynchronises: a capture lost the answer.
//   R2  A READ response belongs to the READ whose PSN range holds its PSN; its data goes to the request's buffer at
//       the offset of that PSN. LAST and ONLY complete the READ, and with it every SEND and WRITE before.
//   R3  An ATOMIC ACK completes the atomic of its PSN; the original value goes to the request's buffer.
//   R4  A NAK or RNR NAK completes what is before its PSN and nothing else: the requester repeats the rest.
//   R5  An answer that no request explains is dropped (kUnsolicitedAnswer), unless the QP resynchronises: then it is
//       accepted and counted, because the capture began later or lost the request.
//   R6  A request that is sent again is not a new one.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "model/types/packet.h"

namespace rxnic {

// A request of ours that goes out: what the send queue tells the receive path.
struct RequestNotice {
  Qpn qpn{};
  Psn first_psn;
  std::uint32_t psn_count = 1;          // request packets, or responses of a READ
  CqeOpcode opcode = CqeOpcode::kSend;  // kSend, kRdmaWrite, kRdmaRead, kCompareSwap, kFetchAdd
  bool signaled = true;
  std::uint32_t wqe_index = 0;
  std::uint32_t bytes = 0;
  std::uint64_t va = 0;  // READ, atomic: where the data goes
  Key lkey{};
};

struct RequestCounters {
  std::uint64_t requests = 0;  // requests noted
  std::uint64_t repeated = 0;  // of them sent again (not noted twice)
  std::uint64_t completed = 0;
  std::uint64_t unexplained_answers = 0;  // accepted without a request (R5)
  std::uint64_t naks = 0;                 // NAK and RNR NAK received
};

class RequestTable {
 public:
  void add(const RequestNotice& request);

  // The oldest request that the answer completes besides the READ or atomic that it carries the data of, removed from
  // the table; false when there is none (any more). Call until false, then check_answer().
  bool take_completed(const Packet& answer, RequestNotice& completed);
  // Decides on an answer packet: outcome, buffer, completion.
  void check_answer(Packet& p);

  const RequestCounters& counters() const { return counters_; }
  std::size_t outstanding(Qpn qpn) const;

 private:
  struct Queue {
    std::deque<RequestNotice> outstanding;
    Psn newest;  // last PSN noted
    bool any = false;
  };
  static bool is_data(const RequestNotice& r) {
    return r.opcode == CqeOpcode::kRdmaRead || r.opcode == CqeOpcode::kCompareSwap || r.opcode == CqeOpcode::kFetchAdd;
  }
  std::unordered_map<std::uint32_t, Queue> queues_;  // by QPN
  RequestCounters counters_;
};

}  // namespace rxnic
