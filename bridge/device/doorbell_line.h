// SPDX-License-Identifier: Apache-2.0
// Doorbells on their way from the programs of one NIC to one of its doorbell links.
//
//   R1  A doorbell enters the link in the cycle in which it arrives, or when there is room; in order.
//   R2  drop() removes those of a queue that have not entered the link. passed(m), with m from mark(), holds when the
//       block has taken out all that had entered the link by then: from now on the queue's number can be reused.
#pragma once

#include <cstdint>
#include <deque>

#include "model/engine/link.h"
#include "model/types/work_queue.h"

namespace rxnic {

class DoorbellLine {
 public:
  explicit DoorbellLine(const Link<Doorbell>& link) : link_(link) {}
  void push(const Doorbell& doorbell, Cycle arrival) { waiting_.push_back({doorbell, arrival}); }
  // Moves those that have arrived into the link. True when any was moved.
  bool deliver(Out<Doorbell>& out, Cycle now);
  // When the next one arrives; kNever also when the link is full, which wakes its producer.
  Cycle next(Cycle now) const;
  void drop(std::uint32_t number);
  bool waits(std::uint32_t number) const;
  std::uint64_t mark() const { return link_.transfers(); }
  bool passed(std::uint64_t mark) const { return link_.transfers() - link_.size() >= mark; }
  std::size_t size() const { return waiting_.size(); }

 private:
  struct Waiting {
    Doorbell doorbell;
    Cycle arrival;
  };
  const Link<Doorbell>& link_;
  std::deque<Waiting> waiting_;
};

}  // namespace rxnic
