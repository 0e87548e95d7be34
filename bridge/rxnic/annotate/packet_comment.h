// SPDX-License-Identifier: Apache-2.0
// What is to be said about a packet of a capture, from the events of its run: words, a verdict, a queue, a direction.
//
//   R1  A packet that reached a NIC is "accepted", "dropped" with the reason's name, or "not RDMA". Each of these
//       stands at as many packets as the report counts. Then follow QP and PSN, message, time in the NIC, CQE, the
//       model's answer and the captured one.
//   R2  A captured answer is "equal", "given", "different" or "not compared", as the report counts it. A difference for
//       which nothing is captured stands at the packet that the model answered.
//   R3  Every other packet says why the run has nothing about it. It is a copy, or is between others, or the receiver's
//       host sends it, or the events do not keep it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bridge/rxnic/annotate/event_window.h"
#include "bridge/rxnic/annotate/packet_notes.h"
#include "traces/capture_reader.h"

namespace rxnic {

struct PacketComment {
  std::string words;
  std::optional<std::uint32_t> queue;  // QP of the receiver
  std::vector<std::uint8_t> verdict;   // 0 (hardware), outcome, drop reason; empty: it reached no NIC, or is not RDMA
  std::uint32_t direction = 0;         // kInbound, kOutbound; 0: not known
};

class PacketComments {
 public:
  // Words about packets, by number, that are appended to what is said: findings of a diagnosis.
  using Findings = std::map<std::uint64_t, std::string>;

  // `notes`: nullptr when a recorded run was repeated, whose wire has several NICs. Throws std::invalid_argument.
  PacketComments(RunEvents& events, const PacketNotes* notes, const Findings& findings);
  // Before the first one of these packets.
  void load(std::uint64_t first, std::uint64_t last);
  // Packets in their order. `frame`: nullptr when the record holds no packet.
  PacketComment of(std::uint64_t number, const CapturedFrame* frame);

 private:
  std::string of_row(const PacketRow& row) const;
  std::string answers_of(const PacketRow& row) const;
  std::string of_answer(const PacketNotes::Answer& answer) const;
  void without_row(std::uint64_t number, const CapturedFrame* frame, PacketComment& out) const;

  RunEvents& events_;
  const PacketNotes* notes_;
  const Findings& findings_;
  std::multimap<std::uint64_t, std::string> uncaptured_;  // R2: by packet
  EventWindow window_;
  bool all_packets_ = true;
  struct Seen {
    std::uint64_t captured_ps = 0, arrived_ps = 0;  // in the capture, in the model
  };
  std::vector<Seen> seen_;  // the packets so far
};

}  // namespace rxnic
