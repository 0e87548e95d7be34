// SPDX-License-Identifier: Apache-2.0
// Doorbells on their way from the programs of one NIC to one of its links.
//
//   R1  A doorbell enters the link in the cycle in which it arrives, or when there is room; in order.
//   R2  drop() removes those of a queue that have not entered the link. The NIC waits for those that have before it
//       carries out a command on the queue (blocks/command_processor.h, R3).
//   R3  Doorbells that have arrived and wait for room are one for each queue and kind. A newer doorbell gives the
//       waiting one its value, and no WQE comes with the waiting one any more. This doorbell keeps its place and the
//       cycle in which it was rung. An arming stays one for all completions when either was. On their way are at most
//       kMostOnTheWay; beyond these the oldest counts as arrived.
//   R4  drop() does not look at the doorbells that wait: destroying many queues takes no longer for them.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <unordered_map>

#include "model/engine/link.h"
#include "model/types/work_queue.h"

namespace rxnic {

class DoorbellLine {
 public:
  static constexpr std::size_t kMostOnTheWay = std::size_t{1} << 20;
  void push(const Doorbell& doorbell, Cycle arrival);
  // Moves those that have arrived into the link. True when any was moved.
  bool deliver(Out<Doorbell>& out, Cycle now) {
    return deliver(now, [&](const Doorbell& doorbell) { return try_push(out, doorbell, now); });
  }
  // As deliver() above with take(doorbell), which returns false when the doorbell has to wait for room. The doorbell is
  // then offered again, perhaps with another value.
  template <class Take>
  bool deliver(Cycle now, Take&& take);
  // When the next one arrives; kNever also when the link is full, which wakes its producer.
  Cycle next(Cycle now) const;
  void drop(std::uint32_t number);
  bool waits(std::uint32_t number) const;
  std::size_t size() const { return coming_.size() + waiting_.size(); }

 private:
  struct Coming {
    Doorbell doorbell;
    Cycle arrival;
    std::uint64_t serial;
  };
  using Waiting = std::list<Doorbell>;
  static bool try_push(Out<Doorbell>& out, const Doorbell& doorbell, Cycle now) {
    if (!out.can_push(now)) return false;
    out.push(now, doorbell);
    return true;
  }
  bool dropped(const Coming& coming) const;
  void arrive(const Doorbell& doorbell);
  void leave();

  std::deque<Coming> coming_;                                    // by arrival
  Waiting waiting_;                                              // for room in the link
  std::unordered_map<std::uint64_t, Waiting::iterator> places_;  // in waiting_, by queue and kind
  // By queue: doorbells that were pushed before this serial number are dropped when they arrive.
  std::unordered_map<std::uint32_t, std::uint64_t> drops_;
  std::uint64_t last_serial_ = 0;
};

template <class Take>
bool DoorbellLine::deliver(Cycle now, Take&& take) {
  bool any = false;
  for (; !coming_.empty() && coming_.front().arrival <= now; coming_.pop_front()) {
    const Doorbell& doorbell = coming_.front().doorbell;
    if (dropped(coming_.front())) continue;
    if (waiting_.empty() && take(doorbell)) {
      any = true;
    } else {
      arrive(doorbell);
    }
  }
  if (coming_.empty()) drops_.clear();
  for (; !waiting_.empty() && take(waiting_.front()); leave()) any = true;
  return any;
}

}  // namespace rxnic
