// SPDX-License-Identifier: Apache-2.0
// One QP of a sender: which packet it sends next, and what an answer of the NIC means to it. Without time, but for the
// times that it is given. (IBTA volume 1, 9.7)
//
//   R1  Packets go out in the order of their messages. The last packet of a message, a READ and an atomic ask for an
//       answer. At most `reads` READs and atomics are under way.
//   R2  RC, XRC: an ACK of a PSN answers all packets up to it, and so does a response. A READ is answered by its data
//       alone, an atomic by its own acknowledgement. An ACK beyond a READ whose data is missing means that the data was
//       lost: the QP goes back to it.
//   R3  RC, XRC: a sequence NAK lets the QP go back to its PSN, an RNR NAK does so when the NAK's time is over. So does
//       the timeout, to the oldest packet without an answer. After `retries` timeouts in succession, and after any
//       other NAK, the QP has failed: it sends nothing any more.
//   R4  A READ that is repeated asks for what is missing.
//   R5  UC, UD: a message is answered when its last packet was sent.
#pragma once

#include <cstdint>
#include <deque>

#include "bridge/rxnic/workload/mix_kinds.h"
#include "model/types/ids.h"
#include "model/types/wire.h"

namespace rxnic {

struct SenderMessage {
  const MixKind* kind = nullptr;
  std::uint32_t bytes = 0;  // of payload, with the headers of tag matching; of a READ: asked for
  std::uint64_t va = 0;     // of the target, and its key
  Key rkey{};
  std::uint32_t immediate = 0;
  std::uint64_t swap_add = 0, compare = 0;
  std::uint64_t tag = 0;
  std::uint32_t announced = 0;  // of a rendezvous: bytes of the message
};

// What a packet carries behind its headers.
struct SenderPayload {
  std::uint32_t bytes = 0;
  TagUse tag = TagUse::kNone;  // it begins with a TMH, or with a TMH and an RVH
  std::uint64_t tag_value = 0;
  std::uint64_t va = 0;  // RVH
  std::uint32_t rkey = 0, announced = 0;
};

class SenderQp {
 public:
  struct Limits {
    Transport transport = Transport::kRc;
    std::uint32_t mtu = 1024;
    std::uint32_t reads = 16;
    std::uint64_t timeout_ps = 0;
    std::uint32_t retries = 7;
  };
  SenderQp(const Limits* limits, Psn first) : limits_(limits), first_(first) {}

  void post(const SenderMessage& message);
  // Whether a packet can go out at this time.
  bool can_send(std::uint64_t now_ps) const;
  // The next packet: fills opcode, PSN and extension headers in. The QP can_send().
  SenderPayload next(Headers& h);
  // The packet that next() gave last is on the wire.
  void sent(std::uint64_t now_ps);
  // The NIC's answer. Returns the number of messages that it answers.
  std::uint32_t on_answer(const Headers& h, std::uint64_t now_ps);
  // Messages answered without an answer (R5), since the last call.
  std::uint32_t take_sent();
  // When the timeout is over, or the time of an RNR NAK: the QP looks at it then. 0: nothing to wait for.
  std::uint64_t alarm_ps() const;
  void on_alarm(std::uint64_t now_ps);

  bool failed() const { return failed_; }
  std::size_t under_way() const { return messages_.size(); }  // posted, and not answered
  std::uint64_t repeated() const { return repeated_; }        // packets that were sent before
  std::uint64_t timeouts() const { return timeouts_; }

 private:
  struct Posted {
    SenderMessage m;
    std::uint64_t first = 0;  // its first packet, counted from the QP's first one
    std::uint64_t count = 1;  // PSNs
    bool counts_as_read = false;
  };
  bool reliable() const { return is_reliable(limits_->transport); }
  std::uint64_t count_of(const SenderMessage& m) const;
  std::uint64_t number_of(Psn psn) const;
  std::uint32_t take_answer(const Headers& h, std::uint64_t number, std::uint64_t now_ps);
  std::uint32_t advance(std::uint64_t number);
  void go_back(std::uint64_t number);
  void wait_again(std::uint64_t now_ps);

  const Limits* limits_;
  Psn first_;
  std::deque<Posted> messages_;
  std::size_t cursor_ = 0;        // message of the next packet
  std::uint64_t end_ = 0;         // number behind the last posted packet
  std::uint64_t next_ = 0;        // number of the next packet
  std::uint64_t highest_ = 0;     // number behind the last that was ever sent
  std::uint64_t unanswered_ = 0;  // number of the oldest packet without an answer
  std::uint64_t went_back_ = ~std::uint64_t{0};
  std::uint32_t reads_ = 0;  // under way
  std::uint32_t sent_messages_ = 0;
  std::uint64_t blocked_until_ps_ = 0;
  std::uint64_t deadline_ps_ = 0;
  std::uint32_t timeouts_in_row_ = 0;
  bool failed_ = false;
  std::uint64_t repeated_ = 0, timeouts_ = 0;
};

}  // namespace rxnic
