// SPDX-License-Identifier: Apache-2.0
// Doorbells on their way from the programs of one NIC to one of its doorbell links.
//
//   R1  A doorbell enters the link in the cycle in which it arrives, or when there is room; in order.
//   R2  drop() removes those of a queue that have not entered the link. The NIC waits for those that have before it
//       carries out a command on the queue (blocks/command_processor.h, R3).
#pragma once

#include <cstdint>
#include <deque>

#include "model/engine/link.h"
#include "model/types/work_queue.h"

namespace rxnic {

class DoorbellLine {
 public:
  void push(const Doorbell& doorbell, Cycle arrival) { waiting_.push_back({doorbell, arrival}); }
  // Moves those that have arrived into the link. True when any was moved.
  bool deliver(Out<Doorbell>& out, Cycle now);
  // When the next one arrives; kNever also when the link is full, which wakes its producer.
  Cycle next(Cycle now) const;
  void drop(std::uint32_t number);
  bool waits(std::uint32_t number) const;
  std::size_t size() const { return waiting_.size(); }

 private:
  struct Waiting {
    Doorbell doorbell;
    Cycle arrival;
  };
  std::deque<Waiting> waiting_;
};

}  // namespace rxnic
