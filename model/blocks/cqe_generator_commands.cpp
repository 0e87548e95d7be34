// SPDX-License-Identifier: Apache-2.0
// Commands of the command processor to the completion generator (R15, R16 of cqe_generator.h).
#include <algorithm>

#include "model/blocks/cqe_generator.h"

namespace rxnic {

namespace {

CqContext context_of(const CqCommand& command) {
  CqContext c;
  c.number = command.number;
  c.base = command.base;
  c.slots = command.slots;
  c.ignore_overrun = command.ignore_overrun;
  c.compress = command.compress;
  c.polled_only = command.polled_only;
  c.moderation_count = command.moderation_count;
  c.moderation_period_us = command.moderation_period_us;
  return c;
}

}  // namespace

// The command stays in the link until it is answered.
bool CqeGenerator::carry_out_command(Cycle now) {
  const CqCommand command = *commands.peek(now);
  if (!command_begun_) command_begun_ = begin_command(command, now);
  const bool sent = writes_made_ - writes_.size() >= command_behind_ && now >= command_sent_;
  if (!command_begun_ || !sent || !command_replies.can_push(now)) {
    wake();
    return false;
  }
  commands.drop(now);
  if (!commands.empty()) wake();
  command_replies.push(now, command_reply_);
  command_begun_ = false;
  doorbells_passed_ = 0;
  return true;
}

// Those that were made up to now. One that was sent ahead of its cycle goes to the DMA engine in that cycle.
void CqeGenerator::wait_for_writes() {
  command_behind_ = writes_made_;
  command_sent_ = last_write_;
}

// False when it has to wait for doorbells, or for a context.
bool CqeGenerator::begin_command(const CqCommand& command, Cycle now) {
  command_reply_ = {};
  command_behind_ = 0;
  command_sent_ = {};
  switch (command.operation) {
    case CqOperation::kCreate:
      return create(command);
    case CqOperation::kDestroy:
      return destroy(command.number);
    case CqOperation::kSettle:
      wait_for_writes();
      return true;
    case CqOperation::kAttachSrq:
      attach_srq(command.queue, command.srqn);
      return true;
    case CqOperation::kDetachSrq:
      set_srq(command.queue, 0);
      return true;
    case CqOperation::kSetModeration:
      break;
    case CqOperation::kResize:
    case CqOperation::kClose:
      if (!doorbells.can_pop(now) || doorbells_passed_ >= doorbells_held_) break;
      waits_.forget(kCommand);  // its context may be evicted for those that the doorbells need
      return false;
  }
  Cq* cq = nullptr;
  if (look_up(kCommand, command.number, cq) == ContextLookup::kWaits) return false;
  use(kCommand, cq);
  command_reply_.found = cq != nullptr;
  if (cq != nullptr) change(*cq, command);
  return true;
}

// Carries out a command on a CQ whose context is here.
void CqeGenerator::change(Cq& cq, const CqCommand& command) {
  if (command.operation == CqOperation::kSetModeration) {
    cqs_.set_moderation(cq, command.moderation_count, command.moderation_period_us);
    return;
  }
  if (command.operation == CqOperation::kClose) {  // (R10)
    wait_for_writes();
    cqs_.close(cq);
    forget_timer(command.number);
    return;
  }
  CqContext c = cq.queue.context();
  const std::uint64_t unseen = cq.queue.producer() - command.consumer;
  command_reply_.fits = unseen + block_slots(cq.held()) <= std::min(command.slots, c.slots);
  if (!command_reply_.fits) return;
  wait_for_writes();
  c.base = command.base;
  c.slots = command.slots;
  const CqMove move = cqs_.resize(cq, c, command.consumer);
  command_reply_.from = move.from;
  command_reply_.from_slots = move.from_slots;
  command_reply_.stride = static_cast<std::uint16_t>(params_.cqe_bytes);
  command_reply_.first = move.first;
  command_reply_.count = move.count;
}

// (R16) False when it waits for a line.
bool CqeGenerator::create(const CqCommand& command) {
  const CqContext made = context_of(command);
  if (cqs_.place(made, command.stored)) {
    waits_.forget(kCommand);
    forget_timer(made.number);
    return true;
  }
  Cq* none = nullptr;
  // When the context's set has no free line, the context is read as if it existed, and another one is evicted for it.
  // When the read finds no context, the line is free.
  if (look_up(kCommand, made.number, none) == ContextLookup::kAbsent) waits_.forget(kCommand);
  return false;
}

// (R16) False when its context, or another request for one, is on its way.
bool CqeGenerator::destroy(Cqn number) {
  if (!cqs_.destroy(number)) return false;
  forget_timer(number);
  return true;
}

// SRQs, and the CQs that are here, in the order in which they were created.
void CqeGenerator::repeat_setup(const Give& give) const {
  const auto give_command = [&](const CqCommand& c) { give(commands, operations_of<CqCommand>(), &c); };
  for (std::uint32_t q = 0; q < srqs_.size(); ++q) {
    if (srqs_[q] == 0) continue;
    give_command({.operation = CqOperation::kAttachSrq, .queue = WqId{q}, .srqn = Srqn{srqs_[q] - 1}});
  }
  for (const CqContext& c : set_up_) {
    give_command({.operation = CqOperation::kCreate,
                  .number = c.number,
                  .base = c.base,
                  .slots = c.slots,
                  .ignore_overrun = c.ignore_overrun,
                  .compress = c.compress,
                  .polled_only = c.polled_only,
                  .moderation_count = c.moderation_count,
                  .moderation_period_us = c.moderation_period_us,
                  .stored = true});
  }
}

}  // namespace rxnic
