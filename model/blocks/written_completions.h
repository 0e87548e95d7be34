// SPDX-License-Identifier: Apache-2.0
// The completions of one NIC between the write of their CQE and the notice that it is visible (HostNotice). Writes
// become visible in order, with compression several completions at once.
#pragma once

#include <cassert>

#include "model/blocks/cqe_generator.h"
#include "model/engine/growing_queue.h"
#include "model/types/dma.h"
#include "model/types/qp_event.h"

namespace rxnic {

// Is notified of completions; nothing in the model depends on it.
class VisibleObserver : public CompletionObserver {
 public:
  // The next one of those that were written can be seen in host memory; its write was started in cycle `started`.
  virtual void on_visible(Cycle started, Cycle now) = 0;
};

class WrittenCompletions final : public CompletionObserver, public QpNotifier {
 public:
  struct Completion {
    CqeOpcode opcode = CqeOpcode::kReceive;
    WcStatus status = WcStatus::kSuccess;
    MessageTimes times;
    bool matched = false;  // says that a message has matched a tag, not yet that its data is there
    bool received() const { return opcode >= CqeOpcode::kReceive && !matched; }
  };
  void set_observer(VisibleObserver* observer) { observer_ = observer; }
  void on_written(Cqn cq, const Cqe& cqe, const MessageTimes& times, Cycle now) override {
    if (observer_ != nullptr) observer_->on_written(cq, cqe, times, now);
    if (cqe.status != WcStatus::kSuccess) {
      const auto status = static_cast<std::uint32_t>(cqe.status);
      notify({QpEventKind::kErrorCqe, raw(times.qpn), status, times.packet}, now);
    }
    const bool matched = (cqe.flags & (kCqeTagMatch | kCqeTagDataValid)) == kCqeTagMatch;
    waiting_.push_back({cqe.opcode, cqe.status, times, matched});
  }
  std::size_t waiting() const { return waiting_.size(); }
  // The next one of those that the notice says are visible.
  Completion take(const HostNotice& notice, Cycle now) {
    assert(!waiting_.empty());
    if (observer_ != nullptr) observer_->on_visible(notice.started, now);
    Completion first = waiting_.front();
    waiting_.pop_front();
    first.times.is_taken(Station::kHostMemory, notice.started);
    return first;
  }

 private:
  VisibleObserver* observer_ = nullptr;
  GrowingQueue<Completion> waiting_;
};

}  // namespace rxnic
