// SPDX-License-Identifier: Apache-2.0
// What the captured receiver answered to packets that cannot be read here: a wrong ICRC, a manufacturer's opcode, a
// packet that the capture cut. Its NIC may have known the opcode, or got the packet whole.
//
//   R1  A packet to the receiver is kept by its sender, QPN and PSN, the newest kMostKept. An answer with the packet's
//       PSN to the packet's sender is the answer to this packet when it goes to a fitting QP. Fitting is a QP that the
//       survey has paired with the packet's, or one that is not paired. Each packet is answered once.
//   R2  An ACK for a later PSN on a paired QP covers it, too.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/types/drop_reason.h"
#include "traces/capture_reader.h"
#include "traces/survey.h"

namespace rxnic {

// Reads opcode, QPN and PSN of a frame that parse() refused, as far as the frame has them. False: it shows no opcode.
bool read_bth(Bytes frame, Headers& h);

class UnreadableRequests {
 public:
  static constexpr std::size_t kMostKept = 1024;
  static constexpr std::size_t kMostNotes = 100;

  explicit UnreadableRequests(const ReceiverSurvey& survey);
  // A frame to the receiver, and why it is dropped.
  void request(const CapturedFrame& frame, DropReason reason);
  // An answer of the captured receiver.
  void answer(const CapturedFrame& frame);

  std::uint64_t answered() const { return answered_; }
  const std::vector<std::string>& notes() const { return notes_; }  // the first ones, in words

 private:
  struct Kept {
    Address source;
    Qpn qpn{};
    Psn psn;
    std::uint8_t opcode = 0;
    DropReason reason = DropReason::kNone;
    std::uint64_t number = 0, time_ps = 0;
  };
  void note(const Kept& request, const CapturedFrame& answer);

  std::map<std::pair<Address, std::uint32_t>, Qpn> own_;  // our QP by the peer's address and QPN
  std::deque<Kept> kept_;
  std::uint64_t answered_ = 0;
  std::vector<std::string> notes_;
};

// "ICRC wrong", "manufacturer's opcode 0xc5"...
std::string unreadable_words(DropReason reason);
std::string opcode_words(std::uint8_t opcode);

}  // namespace rxnic
