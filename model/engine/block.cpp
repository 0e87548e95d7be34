// SPDX-License-Identifier: Apache-2.0
#include "model/engine/block.h"

#include "model/engine/engine.h"

namespace rxnic {

void Block::settle(Cycle now) {
  if (until_ < now) change_as_announced(now);
  if (now <= since_) return;
  account_[static_cast<std::size_t>(activity_)] += now.count - since_.count;
  since_ = now;
}

Activity Block::activity() const { return engine_ != nullptr && until_ <= engine_->now() ? then_ : activity_; }

Cycle Block::cycle() const {
  if (engine_ != nullptr) return engine_->now();
  return time_of_ != nullptr ? time_of_->cycle() : kNever;
}

void Block::notify_observer() const { activity_observer_->on_activity(*this, activity_, since_); }

void Block::wake_from_outside() { engine_->wake_from_outside(); }

}  // namespace rxnic
