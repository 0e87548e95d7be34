// SPDX-License-Identifier: Apache-2.0
// Which bytes of the programs' memory each post of a recorded run hands to the device.
//
//   R1  A doorbell of a send or receive queue posts the WQEs from the producer index before it to its value. It brings
//       their slots, in a linked list (work_queue.h R2) those that the list names.
//   R2  With a send WQE the doorbell brings what the WQE makes the device read. This is the segments of a SEND or
//       WRITE, the remote range of a READ or an atomic.
//   R3  What a WQE holds is known once the device has read its slot.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bridge/driver/nic_addresses.h"
#include "bridge/driver/verbs_numbers.h"
#include "bridge/rxnic/record/program_image.h"
#include "bridge/rxnic/record/what_if_plan.h"
#include "model/core/requester/send_wqe_format.h"

namespace rxnic {

class PostedMemory {
 public:
  // linked_lists: the SRQs of the run are linked lists.
  PostedMemory(const ProgramImage& image, const std::vector<ProgramSession>& sessions, std::uint32_t nics,
               NicAddresses addresses, bool linked_lists)
      : image_(image), sessions_(sessions), nics_(nics), addresses_(addresses), linked_lists_(linked_lists) {}

  void replied(std::uint32_t session, const channel::Message& message);
  // Stamps of the image are numbers of inputs: `input` is this doorbell's.
  void rung(std::uint32_t session, channel::Board board, std::uint32_t index, std::uint64_t value, std::uint32_t input);
  // After the device has read from the mapping of a session, and the image has it.
  void mapping_read(std::uint32_t session, std::uint64_t address, std::uint64_t bytes);

  // A part of a range, and the first input after `after` that brings this part; 0 when there is none. For memory the
  // inputs up to `last` count, for a slot all. data_only: what a SEND, WRITE or READ reads, no slot and no operand of
  // an atomic.
  struct Part {
    std::uint64_t begin = 0, end = 0;
    std::uint32_t input = 0;
  };
  std::vector<Part> parts(std::uint32_t space, std::uint64_t begin, std::uint64_t end, std::uint32_t after,
                          std::uint32_t last, bool data_only = false) const;

 private:
  enum class QueueKind : std::uint8_t { kSend, kCyclic, kLinkedList };
  struct Queue {
    QueueKind kind = QueueKind::kSend;
    std::uint32_t session = 0;
    std::uint64_t ring = 0;  // offset in the mapping
    std::uint32_t slots = 0, stride = 0;
    Transport transport{};
    std::uint32_t qpn = 0;  // of a QP's queue; SRQs have none
    std::uint32_t producer = 0;
    std::deque<std::uint32_t> posted;  // inputs of the WQEs whose slots were not read yet
    std::uint32_t slot = 0;            // linked list: of the first of these
  };
  enum class What : std::uint8_t { kSlot, kData, kOperand };
  struct Post {
    std::uint64_t begin = 0, end = 0;
    What what = What::kSlot;
  };
  using Place = std::pair<std::uint32_t, std::uint64_t>;   // session, and board << 32 | index, or an offset
  using Number = std::pair<std::uint32_t, std::uint32_t>;  // NIC, and QPN or key
  struct Region {
    std::uint32_t session = 0;
    channel::Memory memory;
  };

  void add_queue(const Queue& queue, channel::Board board, std::uint32_t index);
  void reset(std::uint32_t nic, std::uint32_t qpn);
  void look_at(Queue& queue);
  void bring_wqe(const Queue& queue, std::span<const std::uint8_t> slot, std::uint32_t input);
  void bring_region(std::uint32_t nic, std::uint32_t key, std::uint64_t address, std::uint64_t bytes, What what,
                    std::uint32_t input);
  void bring(std::uint32_t space, const Post& post, std::uint32_t input);
  std::uint32_t nic_of(const Queue& queue) const { return sessions_[queue.session].nic; }

  const ProgramImage& image_;
  const std::vector<ProgramSession>& sessions_;
  std::uint32_t nics_;
  NicAddresses addresses_;
  bool linked_lists_;
  std::map<Place, Queue> queues_;          // by doorbell record
  std::map<Place, Place> rings_;           // by offset of the ring
  std::map<Number, Region> regions_;       // by key
  std::map<Number, std::uint32_t> peers_;  // by QPN: the NIC that it is connected to
  std::unordered_map<std::uint64_t, std::multimap<std::uint32_t, Post>> posts_;  // by 64 KiB of a space; by input
};

}  // namespace rxnic
