// SPDX-License-Identifier: Apache-2.0
// Commands of the command processor to the context cache (R8 of qp_context_cache.h).
#include "model/blocks/qp_context_cache.h"
#include "model/types/mailbox.h"

namespace rxnic {

namespace {

// A QP as it was created.
StoredQpContext fresh(const StoredQpContext& qp) {
  StoredQpContext made;
  made.valid = 1;
  made.transport = qp.transport;
  made.qpn = qp.qpn;
  made.pd = qp.pd;
  made.xrcd = qp.xrcd;
  made.receive_cq = qp.receive_cq;
  made.send_cq = qp.send_cq;
  made.receive_queue = qp.receive_queue;
  made.uses_srq = qp.uses_srq;
  made.tag_matching = qp.tag_matching;
  made.resynchronise = qp.resynchronise;
  clear_padding(made);
  return made;
}

}  // namespace

// The command stays in the link until it is answered.
void QpContextCache::carry_out_command(Cycle now) {
  const ContextCommand command = *contexts.peek(now);
  ContextReply reply;
  if (!context_replies.can_push(now) || !carry_out(command, reply, now)) {
    wake();
    return;
  }
  contexts.drop(now);
  context_replies.push(now, reply);
}

// False when it has to wait.
bool QpContextCache::carry_out(const ContextCommand& command, ContextReply& reply, Cycle now) {
  switch (command.operation) {
    case ContextOperation::kBring:
    case ContextOperation::kStop:
      return bring(command, reply, now);
    case ContextOperation::kSettle:
      return settled(command.qpn, now);
    case ContextOperation::kRenew:
      renew(kept_);
      break;
    case ContextOperation::kDrop:
      tags_.drop(kept_);
      states_[kept_] = LineState::kEmpty;
      break;
    case ContextOperation::kRelease:
      break;
  }
  kept_ = kNone;
  stopped_ = false;
  return true;
}

bool QpContextCache::bring(const ContextCommand& command, ContextReply& reply, Cycle now) {
  const std::uint32_t line = tags_.find(raw(command.qpn));
  if (line == kNone) {
    if (!asked_for_) {
      asked_for_ = reading_ < params_.misses_in_flight && fetch(command.qpn, now);
      return false;
    }
    asked_for_ = false;  // the read is done, and there is no such QP
    reply.found = false;
    return true;
  }
  asked_for_ = states_[line] != LineState::kHere;
  if (asked_for_) return false;
  const QpContext& qp = lines_[line];
  kept_ = line;
  stopped_ = command.operation == ContextOperation::kStop;
  reply.line = line;
  reply.uses_srq = qp.uses_srq;
  reply.receive_queue = qp.receive_queue;
  return true;
}

bool QpContextCache::settled(Qpn qpn, Cycle now) {
  if (lines_[kept_].pins.held(now) || (has_head_ && head_.destination_qp == qpn)) return false;
  const SendCompletion* c = nullptr;
  for (std::uint32_t n = 0; (c = commands.peek(now, n)) != nullptr; ++n) {
    if (c->qpn == qpn) return false;
  }
  return true;
}

// With a new residence number, the blocks' records of refused packets of the QP do not apply to it any more
// (core/responder/refusal.h, R6).
void QpContextCache::renew(std::uint32_t line) {
  QpContext& qp = lines_[line];
  static_cast<StoredQpContext&>(qp) = fresh(qp);
  qp.dirty = true;
  qp.residence = ++residences_;
}

}  // namespace rxnic
