// SPDX-License-Identifier: Apache-2.0
#include "model/engine/block.h"

#include "model/engine/engine.h"

namespace rxnic {

std::string_view activity_name(Activity a) {
  static constexpr std::array<std::string_view, kActivities> kNames = {
      "starved",       "busy",         "blocked",          "wait_context", "wait_context_way",
      "wait_wqe",      "wait_tag",     "wait_translation", "wait_dma_tag", "wait_dma_credit",
      "wait_dma_data", "wait_response"};
  return kNames[static_cast<std::size_t>(a)];
}

void Block::settle(Cycle now) {
  if (until_ < now) change_as_announced(now);
  if (now <= since_) return;
  account_[static_cast<std::size_t>(activity_)] += now.count - since_.count;
  since_ = now;
}

Activity Block::activity() const { return engine_ != nullptr && until_ <= engine_->now() ? then_ : activity_; }

void Block::wake_from_outside() { engine_->wake_from_outside(); }

}  // namespace rxnic
