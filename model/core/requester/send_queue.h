// SPDX-License-Identifier: Apache-2.0
// Requests of one QP in the order of its SQ. The queue knows their PSNs and packets, which are outstanding, and the
// effect of answers and timeouts (IBTA volume 1, 9.7 and 9.9.2). It has no time: the caller has the timer.
//
//   R1  A SEND or WRITE of n bytes is max(1, ceil(n / MTU)) packets with successive PSNs. A READ is one packet that
//       takes the PSNs of its responses; an atomic is one packet with one PSN. A message of TSO is cut at its MSS.
//   R2  A packet is sent while fewer than `window` request packets are without an answer. READ and atomics: fewer than
//       max_rd_atomic at a time. A fenced request waits until no READ or atomic is outstanding, and until the data of
//       all of them has left for memory (place()). So it may read what they have brought.
//   R3  BTH.A: on the last packet of a request, on every ack_every-th packet, and on one that fills the window.
//   R4  An answer acknowledges everything before it (AnswerNotice); one for a PSN that was never sent is ignored.
//   R5  NAK 0x60 and kGap: the queue goes back to the first PSN without an answer. It does so once for each such PSN,
//       because further ones report the same loss. So does a timeout, and an RNR NAK after its time.
//   R6  Each time that it goes back costs one of retry_count, an RNR NAK one of rnr_retry (7: costs nothing). Progress
//       of the acknowledged PSN restores both counts. With none left the request fails.
//   R7  A READ that was answered in part is repeated from its first missing response on.
//   R8  NAK 0x61, 0x62, 0x63: the oldest request fails.
//   R9  UC, UD: a request is done when its last packet was sent.
#pragma once

#include <cstdint>
#include <vector>

#include "model/core/requester/send_wqe_format.h"
#include "model/types/requester_notice.h"

namespace rxnic {

// A WQE that was begun.
struct SendRequest {
  std::uint32_t wqe = 0;  // free-running number
  SendOpcode opcode = SendOpcode::kSend;
  std::uint8_t flags = 0;  // SendFlag
  Psn first_psn;           // set by begin(), as the next two
  std::uint32_t psn_count = 1;
  std::uint32_t packets = 1;
  std::uint32_t bytes = 0;
  std::uint32_t immediate = 0;
  std::uint32_t remote_srqn = 0;
  std::uint16_t mss = 0;  // TSO: bytes of a packet; 0: they are the MTU's
  RemoteSegment remote;
  Cycle posted{};  // passed on, not used here
};

// One packet of a request.
struct RequestPacket {
  std::uint32_t number = 0;  // PSN less the request's first one
  Psn psn;
  std::uint32_t offset = 0;  // of its first byte in the message
  std::uint32_t bytes = 0;   // of payload; READ: asked for
  bool first = false, last = false;
  bool ack_request = false;
  bool repeated = false;
  bool repeats_request = false;  // the first one of its request that is repeated since the queue went back
};

struct SendQueueLimits {
  std::uint32_t mtu = 1024;
  bool reliable = true;
  std::uint32_t window = 128;  // power of two
  std::uint32_t ack_every = 16;
  std::uint8_t max_rd_atomic = 1;
  std::uint8_t retry_count = 7;
  std::uint8_t rnr_retry = 7;
};

// Why no request can be begun.
enum class SendHold : std::uint8_t { kNone, kUnsent, kWindow, kData, kFence };

// The effect of an answer or a timeout.
enum class SendVerdict : std::uint8_t { kNothing, kProgress, kBack, kWait, kFail };

class SendQueue {
 public:
  // Limits may change while requests are outstanding, except the window.
  void set_limits(const SendQueueLimits& limits);
  // Empty; the next request begins with this PSN.
  void restart(Psn psn);
  void set_psn(Psn psn) { next_psn_ = unacked_ = sent_end_ = data_end_ = placed_ = psn; }  // while empty

  SendHold hold(SendOpcode opcode, std::uint8_t flags, std::uint32_t bytes) const;
  // Precondition: hold() is kNone.
  const SendRequest& begin(const SendRequest& request);

  // The next packet, of `current()`. Precondition: has_packet().
  bool has_packet() const {
    return cursor_ < size_ && !waiting_ && (!limits_.reliable || in_flight() < limits_.window);
  }
  const SendRequest& current() const { return at(cursor_); }
  RequestPacket packet() const;
  // It was sent; whether it was the last of its request.
  bool sent();

  // RC. kFail: `status` is the reason. kWait: until resume(), for the time of the RNR code in the notice.
  SendVerdict answer(const AnswerNotice& notice, WcStatus& status);
  SendVerdict timeout(WcStatus& status);
  // The data of the response `psn` of a READ or atomic has left for memory, as that of all before it. (R2)
  void place(Psn psn);
  void resume();

  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  const SendRequest& oldest() const { return at(0); }
  bool unanswered() const { return unacked_ != sent_end_; }  // something sent has no answer
  bool waiting() const { return waiting_; }                  // for resume()
  bool unsent() const { return cursor_ < size_; }            // packets to send, now or later
  Psn next_psn() const { return next_psn_; }

 private:
  SendRequest& at(std::uint32_t n) { return ring_[(first_ + n) & (ring_.size() - 1)]; }
  const SendRequest& at(std::uint32_t n) const { return ring_[(first_ + n) & (ring_.size() - 1)]; }
  std::uint32_t most_bytes(const SendRequest& r) const { return r.mss != 0 ? r.mss : limits_.mtu; }  // of a packet
  std::uint32_t in_flight() const;
  bool acknowledge(Psn end);
  void pop();
  void go_back();
  SendVerdict try_again(WcStatus& status);

  SendQueueLimits limits_;
  std::vector<SendRequest> ring_;  // window requests: each has a packet without an answer
  std::uint32_t first_ = 0, size_ = 0;
  std::uint32_t cursor_ = 0;         // request of the next packet; size_: none
  std::uint32_t cursor_number_ = 0;  // its number
  std::uint32_t extra_ = 0;          // PSNs of READs before the cursor, one of each not counted
  std::uint32_t data_ = 0;           // READs and atomics outstanding
  std::uint32_t since_ack_request_ = 0;
  Psn next_psn_;  // of the next request
  Psn unacked_;   // first without an answer
  Psn sent_end_;  // after the last that was sent
  Psn data_end_;  // after the newest READ or atomic
  Psn placed_;    // after the newest response whose data has left for memory
  bool waiting_ = false;
  bool went_back_ = false;  // to unacked_
  bool resumes_ = false;    // no packet was sent since the queue went back
  std::uint8_t retries_left_ = 0;
  std::uint8_t rnr_left_ = 0;
};

}  // namespace rxnic
