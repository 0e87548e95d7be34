// SPDX-License-Identifier: Apache-2.0
#include "model/engine/block.h"

#include "model/engine/engine.h"

namespace rxnic {

std::string_view activity_name(Activity a) {
  static constexpr std::array<std::string_view, kActivities> kNames = {
      "starved",  "busy",             "blocked",      "wait_context",    "wait_context_way", "wait_wqe",
      "wait_tag", "wait_translation", "wait_dma_tag", "wait_dma_credit", "wait_dma_data",    "wait_response"};
  return kNames[static_cast<std::size_t>(a)];
}

void Block::settle(Cycle now) {
  if (now <= since_) return;
  account_[static_cast<std::size_t>(activity_)] += now.count - since_.count;
  since_ = now;
}

void Block::wake() {
  if (engine_ != nullptr) engine_->wake(index_);
}

}  // namespace rxnic
