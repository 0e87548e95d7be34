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
void CqeGenerator::carry_out_command(Cycle now) {
  const CqCommand command = *commands.peek(now);
  if (!command_begun_) command_begun_ = begin_command(command, now);
  // A write that was sent ahead of its cycle has gone to the DMA engine in that cycle.
  const bool sent = writes_made_ - writes_.size() >= command_behind_ && (command_behind_ == 0 || now >= last_write_);
  if (!command_begun_ || !sent || !command_replies.can_push(now)) {
    wake();
    return;
  }
  commands.drop(now);
  command_replies.push(now, command_reply_);
  command_begun_ = false;
}

// False when it has to wait for doorbells, or for a context.
bool CqeGenerator::begin_command(const CqCommand& command, Cycle now) {
  command_reply_ = {};
  command_behind_ = 0;
  switch (command.operation) {
    case CqOperation::kCreate:
      return create(command);
    case CqOperation::kDestroy:
      return destroy(command.number);
    case CqOperation::kSettle:
      command_behind_ = writes_made_;
      return true;
    case CqOperation::kAttachSrq:
      attach_srq(command.queue, command.srqn);
      return true;
    case CqOperation::kDetachSrq:
      srqs_[raw(command.queue)] = 0;
      return true;
    case CqOperation::kSetModeration:
      break;
    case CqOperation::kResize:
    case CqOperation::kClose:
      if (!doorbell_waits(command.number, now)) break;
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
    command_behind_ = writes_made_;
    cqs_.close(cq);
    forget_timer(command.number);
    return;
  }
  CqContext c = cq.queue.context();
  command_reply_.fits = cq.queue.producer() - command.consumer <= std::min(command.slots, c.slots);
  if (!command_reply_.fits) return;
  command_behind_ = writes_made_;
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
  const CqContext context = context_of(command);
  if (cqs_.place(context)) {
    waits_.forget(kCommand);
    forget_timer(context.number);
    return true;
  }
  Cq* none = nullptr;
  // When its set has no free line, the context is read as if it existed: another one is evicted for it, and when the
  // read finds none, the line is free.
  if (look_up(kCommand, context.number, none) == ContextLookup::kAbsent) waits_.forget(kCommand);
  return false;
}

// (R16) False when its context, or another request for one, is on its way.
bool CqeGenerator::destroy(Cqn number) {
  if (!cqs_.destroy(number)) return false;
  forget_timer(number);
  return true;
}

// Whether a doorbell of the CQ has come and is not taken yet.
bool CqeGenerator::doorbell_waits(Cqn number, Cycle now) {
  const Doorbell* d = nullptr;
  for (std::uint32_t n = 0; (d = doorbells.peek(now, n)) != nullptr; ++n) {
    if (d->number == raw(number)) return true;
  }
  return false;
}

}  // namespace rxnic
