// SPDX-License-Identifier: Apache-2.0
// Commands of the command processor to the receive WQE fetcher (R17, R18 of srq_wqe_fetcher.h).
#include <stdexcept>

#include "model/blocks/srq_wqe_fetcher.h"

namespace rxnic {

namespace {

WqContext context_of(const WqCommand& command) {
  WqContext c;
  c.kind = command.is_srq ? WqKind::kSrq : WqKind::kRq;
  c.layout = command.linked_list ? WqLayout::kLinkedList : WqLayout::kCyclic;
  c.tag_matching = command.tag_matching;
  c.number = command.number;
  c.base = command.base;
  c.slots = command.slots;
  c.stride = command.stride;
  c.first_wqe = command.first_wqe;
  c.pd = command.pd;
  c.cq = command.cq;
  c.xrcd = command.xrcd;
  c.limit = command.limit;
  return c;
}

}  // namespace

// The command stays in the link until it is answered.
void SrqWqeFetcher::carry_out_command(Cycle now) {
  const WqCommand command = *commands.peek(now);
  WqReply reply;
  if (!command_replies.can_push(now) || !carry_out(command, reply, now)) {
    wake();
    return;
  }
  commands.drop(now);
  command_replies.push(now, reply);
}

// False when it has to wait.
bool SrqWqeFetcher::carry_out(const WqCommand& command, WqReply& reply, Cycle now) {
  const WqId id = command.queue;
  if (command.operation == WqOperation::kCreate) return create(command, reply);
  if (command.operation == WqOperation::kDestroy) return destroy(id);
  if (command.operation != WqOperation::kQuery && doorbell_waits(id, now)) {
    waits_.forget(kCommand);  // its context may be evicted for those that the doorbells need
    return false;
  }
  if (command.line != kNoLine) forget_message(contexts_[command.line]);
  if (look_up(kCommand, id) == ContextLookup::kWaits) return false;
  waits_.use(kCommand);
  reply.ok = table_.here(id);
  if (!reply.ok) return true;
  switch (command.operation) {
    case WqOperation::kCreate:
    case WqOperation::kDestroy:
      break;
    case WqOperation::kQuery:
      reply.limit = limit(id);
      reply.posted = posted(id);
      break;
    case WqOperation::kArmLimit:
      table_.arm_limit(id, command.limit);
      break;
    case WqOperation::kReset:
      table_.reset(id);
      [[fallthrough]];
    case WqOperation::kClose:
      forget_flush(id);
      reply.packets = left_;
      break;
  }
  return true;
}

// (R18) False when it waits for a line.
bool SrqWqeFetcher::create(const WqCommand& command, WqReply& reply) {
  const WqContext context = context_of(command);
  if (new_queue_ == kNoWq) {
    try {
      new_queue_ = table_.new_number(context);
    } catch (const std::invalid_argument&) {
      reply.ok = false;
      return true;
    }
  }
  if (table_.place(new_queue_, context)) {
    waits_.forget(kCommand);
    reply.queue = new_queue_;
    new_queue_ = kNoWq;
    return true;
  }
  // When its set has no free line, the context is read as if it existed: another one is evicted for it, and when the
  // read finds none, the line is free.
  if (look_up(kCommand, new_queue_) == ContextLookup::kAbsent) waits_.forget(kCommand);
  return false;
}

// (R18) False while reads of its WQEs, its context or another request for one are on their way.
bool SrqWqeFetcher::destroy(WqId id) {
  forget_flush(id);
  return table_.destroy(id);
}

// A QP is freed or reset, and none of its packets is in flight: releases the WQE of a message that has not ended.
void SrqWqeFetcher::forget_message(OpenWqe& qp) {
  if (qp.wqe_slot == kNoWqeSlot) return;
  shared_.wqes.release(qp.wqe_slot);
  keep_open(qp, kNoWqeSlot);
}

// Whether a doorbell of the queue has come and is not taken yet.
bool SrqWqeFetcher::doorbell_waits(WqId id, Cycle now) {
  const Doorbell* d = nullptr;
  for (std::uint32_t n = 0; (d = doorbells.peek(now, n)) != nullptr; ++n) {
    if (d->number == raw(id)) return true;
  }
  return false;
}

}  // namespace rxnic
