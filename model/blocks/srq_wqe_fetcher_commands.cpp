// SPDX-License-Identifier: Apache-2.0
// Commands of the command processor to the receive WQE fetcher (R17, R18 of srq_wqe_fetcher.h).
#include "model/blocks/srq_wqe_fetcher.h"
#include "model/types/wq_command.h"

namespace rxnic {

WqId SrqWqeFetcher::create(const WqContext& attributes, HostMemory& memory) {
  const WqId id = table_.create(attributes, memory);
  created_.push_back(attributes);
  return id;
}

void SrqWqeFetcher::repeat_setup(const Give& give) const {
  for (const WqContext& c : created_) {
    const WqCommand command = wq_command(WqOperation::kSetUp, c);
    give(commands, operations_of<WqCommand>(), &command);
  }
}

// The command stays in the link until it is answered. False: it waits.
bool SrqWqeFetcher::carry_out_command(Cycle now) {
  const WqCommand command = *commands.peek(now);
  WqReply reply;
  if (!command_replies.can_push(now) || !carry_out(command, reply, now)) {
    wake();
    return false;
  }
  commands.drop(now);
  if (!commands.empty()) wake();
  command_replies.push(now, reply);
  return true;
}

// False when it has to wait.
bool SrqWqeFetcher::carry_out(const WqCommand& command, WqReply& reply, Cycle now) {
  const WqId id = command.queue;
  if (command.operation == WqOperation::kCreate) return create(command, reply);
  if (command.operation == WqOperation::kDestroy) return destroy(id);
  if (command.operation != WqOperation::kQuery && doorbells_first(now)) {
    waits_.forget(kCommand);  // its context may be evicted for those that the doorbells need
    return false;
  }
  if (look_up(kCommand, id) == ContextLookup::kWaits) return false;
  if (command.line != kNoLine) forget_message(command.line);
  waits_.use(kCommand);
  reply.ok = table_.here(id);
  if (!reply.ok) return true;
  switch (command.operation) {
    case WqOperation::kCreate:
    case WqOperation::kDestroy:
    case WqOperation::kSetUp:
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
  const WqContext attributes = context_of(command);
  if (new_queue_ == kNoWq) {
    reply.ok = WorkQueueTable::acceptable(attributes);
    if (!reply.ok) return true;
    new_queue_ = table_.new_number();
  }
  if (table_.place(new_queue_, attributes)) {
    waits_.forget(kCommand);
    reply.queue = new_queue_;
    new_queue_ = kNoWq;
    return true;
  }
  // When the context's set has no free line, the context is read as if it existed, and another one is evicted for it.
  // When the read finds no context, the line is free.
  if (look_up(kCommand, new_queue_) == ContextLookup::kAbsent) waits_.forget(kCommand);
  return false;
}

// (R18) False while reads of its WQEs, its context or another request for one are on their way.
bool SrqWqeFetcher::destroy(WqId id) {
  forget_flush(id);
  return table_.destroy(id);
}

// A QP is freed or reset, and none of its packets is in flight: releases the WQE of a message that has not ended.
void SrqWqeFetcher::forget_message(std::uint32_t line) {
  const OpenWqe* const open = command_context.peek({line});
  if (open == nullptr || open->wqe_slot == kNoWqeSlot) return;
  slots_.release(open->wqe_slot);
  --open_;
}

// Whether doorbells that have come before the command at hand may not be taken yet. (R17)
bool SrqWqeFetcher::doorbells_first(Cycle now) { return doorbells.can_pop(now) && doorbells_ahead_ > 0; }

}  // namespace rxnic
