// SPDX-License-Identifier: Apache-2.0
#include "model/core/completion/completion_queue.h"

namespace rxnic {

void CompletionQueue::set_moderation(std::uint16_t count, std::uint64_t period_cycles) {
  record_.moderation_count = count;
  period_ = period_cycles;
}

void CompletionQueue::consume(std::uint32_t index) {
  if (index - record_.consumer <= record_.producer - record_.consumer) record_.consumer = index;  // (R5)
}

void CompletionQueue::arm(std::uint32_t index, bool for_solicited, Cycle now) {
  const bool solicited_only = for_solicited && record_.armed != CqArm::kAny;
  record_.armed = solicited_only ? CqArm::kSolicited : CqArm::kAny;
  record_.counted = 0;
  record_.due = kNever;
  // (R2, R4) What software has not seen. How many of them are solicited is not kept, only whether one is.
  const std::uint32_t seen = index - record_.consumer <= record_.producer - record_.consumer ? index : record_.consumer;
  const std::uint32_t unseen = record_.producer - seen;
  if (!solicited_only) {
    count(unseen, now);
  } else if (record_.any_solicited && record_.last_solicited - seen - 1 < unseen) {
    count(1, now);
  }
}

void CompletionQueue::produce(std::uint32_t slots, std::uint32_t completions, bool solicited, Cycle now) {
  record_.producer += slots;
  if (solicited) {
    record_.last_solicited = record_.producer;
    record_.any_solicited = true;
  }
  if (record_.armed == CqArm::kAny || (record_.armed == CqArm::kSolicited && solicited)) count(completions, now);
}

void CompletionQueue::count(std::uint32_t completions, Cycle now) {  // (R3)
  if (completions == 0) return;
  if (record_.counted == 0 && period_ != 0) record_.due = now + period_;
  record_.counted += completions;
  if (record_.counted >= record_.moderation_count) record_.due = earliest(record_.due, now);
}

void CompletionQueue::renumber(const CqContext& to, std::uint32_t first) {
  record_.base = to.base;
  record_.slots = to.slots;
  const std::uint32_t unseen = record_.producer - first;
  record_.any_solicited = record_.any_solicited && record_.last_solicited - first - 1 < unseen;
  record_.last_solicited -= first;
  record_.consumer = 0;
  record_.producer = unseen;
}

void CompletionQueue::disarm() {
  record_.armed = CqArm::kNot;
  record_.due = kNever;
}

}  // namespace rxnic
