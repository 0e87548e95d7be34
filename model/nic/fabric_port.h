// SPDX-License-Identifier: Apache-2.0
// The parts of a fabric that its sources have in common: frames on their way, and each NIC's port.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "model/nic/fabric.h"

namespace rxnic {

struct Fabric::Frame {
  Instant first_byte;  // at the receiver's line
  Cycle posted{};
  Cycle complete{};  // last byte at the receiver
  std::uint32_t bytes = 0;
  LinkLayer link = LinkLayer::kEthernet;
  bool sealed = false;       // its ICRC is known to be right (R16)
  std::uint64_t number = 0;  // in the order in which frames leave (R11)
  Frame* next = nullptr;     // in its queue, or free
  Nic* given_to = nullptr;   // before it has left (R11)
  PacketHandle given{};
  std::array<std::uint8_t, kMaxFrameBytes> data;
};

// What came over a frame on its way to a NIC.
struct Fabric::Harm {
  std::uint32_t to = 0;
  NetworkHarm what{};
};

// Frames of one sender for one receiver.
struct Fabric::Queue {
  struct List {
    Frame* first = nullptr;
    Frame* last = nullptr;
    bool empty() const { return first == nullptr; }
    void push(Frame* frame) {
      (first == nullptr ? first : last->next) = frame;
      last = frame;
    }
    // Before the frames whose first byte comes later: one that is held back is overtaken.
    void insert(Frame* frame) {
      if (first == nullptr || last->first_byte <= frame->first_byte) return push(frame);
      Frame** at = &first;
      while ((*at)->first_byte <= frame->first_byte) at = &(*at)->next;
      frame->next = *at;
      *at = frame;
    }
    Frame* pop() {
      Frame* const frame = first;
      first = frame->next;
      frame->next = nullptr;
      return frame;
    }
  };
  List waiting;
  List coming;                      // with watches_queues_: not at the switch yet
  std::uint32_t bytes = 0;          // of both
  std::uint32_t waiting_bytes = 0;  // with watches_queues_
};

struct Fabric::Port {
  Port(std::uint32_t n, std::uint32_t ports, const LinkTime& time)
      : number(n),
        answers(("answers_" + std::to_string(n)).c_str()),
        requests(("requests_" + std::to_string(n)).c_str()),
        wire(("wire_" + std::to_string(n)).c_str()),
        tx(time),
        rx(time),
        queues(ports) {}
  std::uint32_t number;
  Nic* nic = nullptr;
  In<WireFrame> answers, requests;
  Out<WireFrame> wire;
  // The NIC's line to the switch.
  Line tx;
  PacketHandle sending = kNoPacket;
  std::uint32_t sending_to = FabricRoutes::kNobody;
  std::vector<Frame*> carried;  // copies of the frame being sent, one for each receiver
  bool request_next = false;
  bool pause_counted = false;
  Instant resumes;             // before, its line is paused (R14)
  std::uint64_t crossing = 0;  // number of the frame that it sends, among those to others (R13)
  std::vector<Harm> harms;     // of the frame being sent
  // The line to the NIC.
  Line rx;
  std::vector<Queue> queues;        // by sender
  std::uint64_t waiting = 0;        // bit by sender whose queue is not empty
  std::uint64_t coming = 0;         // bit by sender with frames on their way to the switch
  std::uint64_t waiting_bytes = 0;  // of all senders, at the switch
  Frame* arriving = nullptr;
  Instant arrives;  // as much of it as R12 says
  QpObserver* qp_observer = nullptr;
  bool refused = false;  // the NIC has no free packet buffer and does not notify when it gets one: ask again
};

}  // namespace rxnic
