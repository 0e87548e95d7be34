// SPDX-License-Identifier: Apache-2.0
// What a suite posts, and what it expects a device to send by itself. There is one JSON object a line in the file
// $RXNIC_LIVE_POSTS, when this variable is set. posted.py compares it with wire.pcap, packet by packet. Lines with the
// same "to" are in order of posting.
//
//   {"from": [nic, qpn], "to": [nic, qpn], "by_device": false, "xrc": false, "mtu": bytes, "answer": "good",
//    "opcode": "SEND", "srqn": N, "va": N, "rkey": N, "bytes": N, "imm": N, "compare": N, "swap": N, "hex": "..."}
//
// "by_device": the QP has no send queue for the program. "answer": "good"; "acknowledge": an ACK or a NAK, also to a
// READ; "none": none but RNR NAKs. "srqn": of XRC. "va", "rkey": of WRITEs, READs and atomics. "compare", "swap": of
// atomics. "imm": of what has one. "hex": of what sends data.
#pragma once

#include <infiniband/verbs.h>

#include <fstream>

namespace rxnic::live {

enum class Answer { kGood, kAcknowledge, kNone };

class PostLog {
 public:
  PostLog();
  // A list of WRs that is posted to a connected QP, or that says what a device is to send on it by itself.
  void add(ibv_qp* qp, const ibv_send_wr& list, Answer answer = Answer::kGood);

 private:
  std::ofstream file_;
};

}  // namespace rxnic::live
