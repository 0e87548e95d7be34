// SPDX-License-Identifier: Apache-2.0
#include "model/core/completion/completion_queue.h"

namespace rxnic {

void CompletionQueue::set_moderation(std::uint16_t count, std::uint64_t period_cycles) {
  context_.moderation_count = count;
  period_ = period_cycles;
}

void CompletionQueue::consume(std::uint32_t index) {
  if (index - consumer_ <= producer_ - consumer_) consumer_ = index;  // (R5)
}

void CompletionQueue::arm(std::uint32_t index, bool solicited_only, Cycle now) {
  armed_ = solicited_only ? CqArm::kSolicited : CqArm::kAny;
  counted_ = 0;
  due_ = kNever;
  // (R2, R4) CQEs that software has not seen. The queue knows only whether one of them is solicited, not how many.
  const std::uint32_t seen = index - consumer_ <= producer_ - consumer_ ? index : consumer_;
  const std::uint32_t unseen = producer_ - seen;
  if (!solicited_only) {
    count(unseen, now);
  } else if (any_solicited_ && last_solicited_ - seen - 1 < unseen) {
    count(1, now);
  }
}

void CompletionQueue::produce(std::uint32_t slots, std::uint32_t completions, bool solicited, Cycle now) {
  producer_ += slots;
  if (solicited) {
    last_solicited_ = producer_;
    any_solicited_ = true;
  }
  if (armed_ == CqArm::kAny || (armed_ == CqArm::kSolicited && solicited)) count(completions, now);
}

void CompletionQueue::count(std::uint32_t completions, Cycle now) {  // (R3)
  if (completions == 0) return;
  if (counted_ == 0 && period_ != 0) due_ = now + period_;
  counted_ += completions;
  if (counted_ >= context_.moderation_count) due_ = earliest(due_, now);
}

void CompletionQueue::renumber(const CqContext& to, std::uint32_t first) {
  context_.base = to.base;
  context_.slots = to.slots;
  const std::uint32_t unseen = producer_ - first;
  any_solicited_ = any_solicited_ && last_solicited_ - first - 1 < unseen;
  last_solicited_ -= first;
  consumer_ = 0;
  producer_ = unseen;
}

void CompletionQueue::disarm() {
  armed_ = CqArm::kNot;
  due_ = kNever;
}

}  // namespace rxnic
