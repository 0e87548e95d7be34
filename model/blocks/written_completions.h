// SPDX-License-Identifier: Apache-2.0
// The completions of one NIC between the write of their CQE and the notice that it is visible (HostNotice). Writes
// become visible in order, with compression several completions at once.
#pragma once

#include <cassert>

#include "model/blocks/cqe_generator.h"
#include "model/engine/growing_queue.h"
#include "model/types/dma.h"

namespace rxnic {

class WrittenCompletions final : public CompletionObserver {
 public:
  struct Completion {
    CqeOpcode opcode = CqeOpcode::kReceive;
    WcStatus status = WcStatus::kSuccess;
    MessageTimes times;
    bool matched = false;  // says that a message has matched a tag, not yet that its data is there
    bool received() const { return opcode >= CqeOpcode::kReceive && !matched; }
  };
  void on_written(Cqn, const Cqe& cqe, const MessageTimes& times, Cycle) override {
    const bool matched = (cqe.flags & (kCqeTagMatch | kCqeTagDataValid)) == kCqeTagMatch;
    waiting_.push_back({cqe.opcode, cqe.status, times, matched});
  }
  std::size_t waiting() const { return waiting_.size(); }
  // The next one of those that the notice says are visible.
  Completion take(const HostNotice& notice) {
    assert(!waiting_.empty());
    Completion first = waiting_.front();
    waiting_.pop_front();
    first.times.is_taken(Station::kHostMemory, notice.started);
    return first;
  }

 private:
  GrowingQueue<Completion> waiting_;
};

}  // namespace rxnic
