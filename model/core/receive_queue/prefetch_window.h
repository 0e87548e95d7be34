// SPDX-License-Identifier: Apache-2.0
// A policy: how far ahead of its packets the WQEs of a queue are prefetched. The WQE fetcher of a NIC has one.
//
//   R1  The window is the number of WQEs that are held, or are on their way, beyond those that packets ask for
//       (wqe_prefetch.h, R1). More than the prefetch depth acts as the depth.
//   R2  The policy is asked when the queue gets a prefetch context, and when a packet begins to wait for its WQE. If
//       the policy asks for this, it is asked for each WQE that a packet takes, too.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/types/work_queue.h"

namespace rxnic {

// What a policy sees of a queue.
struct PrefetchQueue {
  WqKind kind{};
  std::uint32_t number = 0;  // QPN or SRQN
  std::uint32_t depth = 0;   // the most WQEs of a queue on the chip
  std::uint32_t held = 0;    // WQEs that are here or on their way
  std::uint32_t window = 0;  // so far
  std::uint32_t begin = 0;   // with which the parameters would have the queue begin
  bool taken = false;        // a packet has taken a WQE since the queue got its prefetch context
};

class PrefetchWindow {
 public:
  virtual ~PrefetchWindow() = default;
  // Each gives the window from now on. (R2)
  virtual std::uint32_t at_begin(const PrefetchQueue& queue) { return queue.begin; }
  virtual std::uint32_t at_wait(const PrefetchQueue& queue) = 0;
  virtual std::uint32_t at_take(const PrefetchQueue& queue) { return queue.window; }
  virtual bool follows_takes() const { return false; }  // whether at_take() is to be asked
};

// The model's own: the window doubles when a packet waits, but not for the first one, which says nothing of the rate.
class DoublingWindow final : public PrefetchWindow {
 public:
  std::uint32_t at_wait(const PrefetchQueue& queue) override {
    return queue.taken ? std::min(queue.depth, std::max(1u, 2 * queue.window)) : queue.window;
  }
};

}  // namespace rxnic
