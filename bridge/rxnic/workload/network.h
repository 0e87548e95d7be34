// SPDX-License-Identifier: Apache-2.0
// What the network of a page does to the frames of its senders on their way to the NIC, and to those of the NIC.
// What happens to a frame follows from the seed and the frame's number alone (model/core/wire/impairments.h).
//
//   R1  Frames to the NIC are counted from 1 as the senders' links bring them to the switch. Those that the NIC sends
//       are counted from 1 for themselves.
//   R2  A reordered frame waits until `reorder_depth` others have passed, but no longer than 10 us.
//   R3  A pause holds its frame and all that follow for `pause_time`.
//   R4  Times are whole nanoseconds, and no frame is older than the one before it: a capture has them so.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "bridge/rxnic/workload/workload_page.h"
#include "model/core/wire/impairments.h"
#include "model/types/wire.h"

namespace rxnic {

struct NetworkCounts {
  std::uint64_t lost = 0, corrupted = 0, duplicated = 0, reordered = 0, marked = 0, pauses = 0, answers_lost = 0;
};

class WorkloadNetwork {
 public:
  static constexpr std::uint64_t kLongestWaitPs = 10'000'000;  // (R2)

  WorkloadNetwork(const NetworkPage& page, std::uint64_t seed);

  // The next frame of a sender, which reaches the NIC at `time_ps` at the earliest. A mark is set in its headers before
  // it is built and sealed; then deliver() takes it.
  void begin(Headers& h);
  void deliver(std::span<std::uint8_t> frame, std::uint64_t time_ps);
  // The next frame for the NIC, valid until the next call of deliver(), and as long as the one that it was given.
  // False: there is none now.
  bool next(Bytes& frame, std::uint64_t& time_ps);
  // When a frame that others should overtake waits no longer; 0: none waits.
  std::uint64_t release_ps() const { return held_.empty() ? 0 : held_.front().until_ps; }
  void release();  // all that wait
  // A frame of the NIC: whether it gets to its peer.
  bool answer_arrives();

  const NetworkCounts& counts() const { return counts_; }

 private:
  struct Held {
    std::vector<std::uint8_t> frame;
    std::uint64_t after = 0;  // may go when so many have been delivered
    std::uint64_t until_ps = 0;
  };
  struct Ready {
    std::vector<std::uint8_t> frame;
    std::uint64_t time_ps = 0;
  };
  void pass(Bytes frame, std::uint64_t time_ps);
  std::uint64_t in_order(std::uint64_t time_ps);

  Impairments impairments_, answers_impairments_;
  std::uint64_t depth_, pause_ps_;
  FrameFate fate_;
  std::uint64_t number_ = 0, answers_ = 0, passed_ = 0;
  std::uint64_t last_ps_ = 0;
  std::deque<Held> held_;  // the oldest first
  std::deque<Ready> ready_;
  Bytes only_;  // a frame to which nothing happens, when it is the only one: not copied
  std::vector<std::uint8_t> given_;
  NetworkCounts counts_;
};

}  // namespace rxnic
