// SPDX-License-Identifier: Apache-2.0
// Commands on completion queues and receive queues.
#include <algorithm>
#include <bit>

#include "model/blocks/command_processor.h"
#include "model/types/wq_command.h"

namespace rxnic {

// Completion queues.

CommandProcessor::Next CommandProcessor::read_cq(Cycle now) {
  return read(command_.mailbox_address, sizeof(CqContext), now);
}

// With the attributes in the mailbox.
CqCommand CommandProcessor::cq_command(CqOperation operation) const {
  const auto cq = mailbox<CqContext>();
  CqCommand c;
  c.operation = operation;
  c.number = cq.number;
  c.base = cq.base;
  c.slots = cq.slots;
  c.ignore_overrun = cq.ignore_overrun;
  c.compress = cq.compress;
  c.polled_only = cq.polled_only;
  c.moderation_count = cq.moderation_count;
  c.moderation_period_us = cq.moderation_period_us;
  return c;
}

CommandProcessor::Next CommandProcessor::create_cq(Cycle now) {
  if (!std::has_single_bit(mailbox<CqContext>().slots)) return end(CommandStatus::kRefused);  // (R9)
  return ask(cqs, cq_command(CqOperation::kCreate), now);
}

CommandProcessor::Next CommandProcessor::modify_cq(Cycle now) {
  return ask(cqs, cq_command(CqOperation::kSetModeration), now);
}

CommandProcessor::Next CommandProcessor::resize_cq(Cycle now) {
  if (!std::has_single_bit(mailbox<CqContext>().slots)) return end(CommandStatus::kRefused);  // (R9)
  CqCommand c = cq_command(CqOperation::kResize);
  c.consumer = command_.value;
  new_ring_ = c.base;
  return ask(cqs, c, now);
}

CommandProcessor::Next CommandProcessor::ask_cq(CqOperation operation, Cycle now) {
  CqCommand c;
  c.operation = operation;
  c.number = Cqn{command_.number};
  return ask(cqs, c, now);
}

CommandProcessor::Next CommandProcessor::close_cq(Cycle now) { return ask_cq(CqOperation::kClose, now); }

CommandProcessor::Next CommandProcessor::destroy_cq(Cycle now) { return ask_cq(CqOperation::kDestroy, now); }

CommandProcessor::Next CommandProcessor::end_unless_cq(Cycle) {
  if (!cq_.found) return end(CommandStatus::kNoObject);  // (R5)
  return cq_.fits ? Next::kGoesOn : end(CommandStatus::kRefused);
}

CommandProcessor::Next CommandProcessor::fence_cqes(Cycle now) { return fence(DmaClient::kCqe, now); }

CommandProcessor::Next CommandProcessor::move_cqes(Cycle now) {  // (R7)
  const std::uint32_t stride = cq_.stride;
  if (in_buffer_ == 0) {
    const std::uint32_t slot = (cq_.first + listed_) & (cq_.from_slots - 1);
    const auto room = static_cast<std::uint32_t>(buffer_.size()) / stride;
    in_buffer_ = std::min({cq_.count - listed_, room, cq_.from_slots - slot});
    if (in_buffer_ == 0) return Next::kGoesOn;
    read(cq_.from + std::uint64_t{slot} * stride, in_buffer_ * stride, now);
    return Next::kRepeats;
  }
  // The new ring has a slot for each CQE, so all CQEs are in its first lap. Their owner bit, in the last byte of a
  // slot, is 0.
  for (std::uint32_t n = 1; n <= in_buffer_; ++n) buffer_[std::size_t{n} * stride - 1] = 0;
  write(new_ring_ + std::uint64_t{listed_} * stride, in_buffer_ * stride, now);
  listed_ += in_buffer_;
  in_buffer_ = 0;
  return Next::kRepeats;
}

// Receive queues.

CommandProcessor::Next CommandProcessor::read_wq(Cycle now) {
  return read(command_.mailbox_address, sizeof(WqContext), now);
}

// With the attributes in the mailbox.
WqCommand CommandProcessor::wq_command(WqOperation operation) const {
  return rxnic::wq_command(operation, mailbox<WqContext>());
}

CommandProcessor::Next CommandProcessor::create_wq(Cycle now) {
  return ask(wqs, wq_command(WqOperation::kCreate), now);
}

// After the fetcher, the other blocks that keep something of the queue: tag matcher, transport checker, completion
// generator.
CommandProcessor::Next CommandProcessor::create_tag_list(Cycle now) {
  if (!wq_.ok) return end(CommandStatus::kRefused);  // (R9)
  const auto wq = mailbox<WqContext>();
  done_ = {};
  return wq.tag_matching ? ask(tag_lists, {true, wq_.queue, wq.pd, wq.cq}, now) : Next::kGoesOn;
}

CommandProcessor::Next CommandProcessor::name_srq(Cycle now) {
  const auto wq = mailbox<WqContext>();
  if (!done_.ok || wq.kind != WqKind::kSrq) return Next::kGoesOn;
  return ask(srqs, {true, Srqn{wq.number}, wq_.queue, wq.cq, wq.xrcd, wq.pd}, now);
}

CommandProcessor::Next CommandProcessor::attach_srq(Cycle now) {
  if (!done_.ok) return Next::kGoesOn;
  const auto wq = mailbox<WqContext>();
  reply_.number = raw(wq_.queue);
  if (wq.kind != WqKind::kSrq) return Next::kGoesOn;
  CqCommand c;
  c.operation = CqOperation::kAttachSrq;
  c.queue = wq_.queue;
  c.srqn = Srqn{wq.number};
  return ask(cqs, c, now);
}

// When a block had no room for the queue, the parts that were made are freed again. (R10)
CommandProcessor::Next CommandProcessor::give_back_tag_list(Cycle now) {
  if (done_.ok) {
    ends_ = true;
    return Next::kGoesOn;
  }
  return mailbox<WqContext>().tag_matching ? ask(tag_lists, {false, wq_.queue, {}, {}}, now) : Next::kGoesOn;
}

CommandProcessor::Next CommandProcessor::give_back_wq(Cycle now) {
  WqCommand c;
  c.operation = WqOperation::kDestroy;
  c.queue = wq_.queue;
  return ask(wqs, c, now);
}

CommandProcessor::Next CommandProcessor::end_without_room(Cycle) { return end(CommandStatus::kNoRoom); }

CommandProcessor::Next CommandProcessor::query_wq(Cycle now) {
  WqCommand c;
  c.operation = WqOperation::kQuery;
  c.queue = WqId{command_.number};
  return ask(wqs, c, now);
}

CommandProcessor::Next CommandProcessor::answer_query_wq(Cycle) {
  reply_.number = wq_.limit;
  reply_.value = wq_.posted;
  return Next::kGoesOn;
}

CommandProcessor::Next CommandProcessor::arm_limit(Cycle now) {
  WqCommand c;
  c.operation = WqOperation::kArmLimit;
  c.queue = WqId{command_.number};
  c.limit = command_.value;
  return ask(wqs, c, now);
}

CommandProcessor::Next CommandProcessor::end_unless_wq(Cycle) {
  return wq_.ok ? Next::kGoesOn : end(CommandStatus::kNoObject);  // (R5)
}

// From now on no packet finds the SRQ.
CommandProcessor::Next CommandProcessor::hide_srq(Cycle now) {
  const auto wq = mailbox<WqContext>();
  return wq.kind == WqKind::kSrq ? ask(srqs, {false, Srqn{wq.number}, kNoWq, {}, {}}, now) : Next::kGoesOn;
}

CommandProcessor::Next CommandProcessor::close_wq(Cycle now) {
  WqCommand c;
  c.operation = WqOperation::kClose;
  c.queue = WqId{command_.number};
  return ask(wqs, c, now);
}

// Completions of flushed WQEs pin no context: they are waited for by the number of packets that left up to them.
CommandProcessor::Next CommandProcessor::wait_for_flushed(Cycle now) {
  return ask(retirements, {wq_.packets, Key{}}, now);
}

CommandProcessor::Next CommandProcessor::destroy_wq(Cycle now) {
  WqCommand c;
  c.operation = WqOperation::kDestroy;
  c.queue = WqId{command_.number};
  return ask(wqs, c, now);
}

CommandProcessor::Next CommandProcessor::destroy_tag_list(Cycle now) {
  if (!mailbox<WqContext>().tag_matching) return Next::kGoesOn;
  return ask(tag_lists, {false, WqId{command_.number}, {}, {}}, now);
}

CommandProcessor::Next CommandProcessor::detach_srq(Cycle now) {
  if (mailbox<WqContext>().kind != WqKind::kSrq) return Next::kGoesOn;
  CqCommand c;
  c.operation = CqOperation::kDetachSrq;
  c.queue = WqId{command_.number};
  return ask(cqs, c, now);
}

}  // namespace rxnic
