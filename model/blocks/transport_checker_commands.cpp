// SPDX-License-Identifier: Apache-2.0
// Commands of the command processor to the transport checker (R11, R12 of transport_checker.h).
#include "model/blocks/transport_checker.h"

namespace rxnic {

namespace {

// Takes over the attributes that ibv_modify_qp may change.
void take_attributes(ResponderContext& qp, const QpCommand& from) {
  if (qp.state < QpState::kRtr) qp.established = false;
  qp.state = static_cast<QpState>(from.state);
  qp.own_error = false;
  qp.access = from.access;
  qp.remote_qpn = from.remote_qpn;
  qp.local = from.local;
  qp.remote = from.remote;
  qp.mtu = from.mtu;
  qp.pkey = from.pkey;
  qp.qkey = from.qkey;
  qp.min_rnr_timer = from.min_rnr_timer;
  qp.max_dest_rd_atomic = from.max_dest_rd_atomic;
  if (!from.set_psn) return;
  qp.expected_psn = from.psn;  // a new connection
  qp.msn = 0;
  qp.message = MessageKind::kNone;
  qp.nak_sent = false;
}

}  // namespace

bool TransportChecker::reserve(const ResponderContext& qp) {  // (R11)
  const bool ready = qp.state >= QpState::kRtr && qp.state <= QpState::kSqe;
  return reserve(qp.qpn, ready && is_reliable(qp.transport) ? qp.max_dest_rd_atomic : 0);
}

void TransportChecker::carry_out_command(Cycle now) {
  const QpCommand command = *commands.peek(now);
  QpReply reply;
  if (command.line != kNoLine) {
    ResponderContext& qp = contexts_[command.line];
    const bool failed = qp.state == QpState::kError;
    const bool for_good = failed && !qp.own_error;
    reply.state = static_cast<std::uint8_t>(qp.state);
    reply.failed = command.operation == QpOperation::kFail ? for_good : failed;
    reply.psn = qp.expected_psn;
    if (command.operation == QpOperation::kFail && !for_good && !fail(command, now)) {
      wake();
      return;
    }
    if (command.operation == QpOperation::kModify && !failed) {
      ResponderContext changed = qp;
      take_attributes(changed, command);
      reply.room = reserve(changed);
      if (reply.room) qp = changed;
    }
    if (command.operation == QpOperation::kStop) qp.state = QpState::kReset;
    if (command.operation != QpOperation::kQuery) contexts_.set_dirty(command.line);
  }
  if (command.operation == QpOperation::kCreate) {
    ResponderContext qp;
    qp.qpn = command.qpn;
    qp.transport = command.transport;
    qp.state = static_cast<QpState>(command.state);
    qp.max_dest_rd_atomic = command.max_dest_rd_atomic;
    reply.room = reserve(qp);
  }
  if (command.operation == QpOperation::kForget) reserve(command.qpn, 0);
  commands.drop(now);
  command_replies.push(now, reply);
}

// Moves the QP to the error state, for good. Packets checked before go on ahead of the failure, and an RNR NAK for one
// of them does not undo it. False when there is no room for the internal packet.
bool TransportChecker::fail(const QpCommand& command, Cycle now) {
  if (pipeline_.full()) return false;
  ResponderContext& qp = contexts_[command.line];
  WqeRequest p;
  describe_qp(p, qp);
  p.role = PacketRole::kFailure;
  p.line = command.line;
  p.residence = contexts_.residence(command.line);
  p.outcome = Outcome::kDrop;
  contexts_.pin(p.line);
  fail_for_good(qp);
  send(p, now);
  next_accept_ = latest(next_accept_, now + 1);
  return true;
}

void TransportChecker::change_srqs(Cycle now) {
  if (!srq_done.can_push(now)) return wake();
  const SrqCommand command = srqs.pop(now);
  StepDone done;
  if (command.add) {
    done.ok = add_srq(command.srqn, {command.queue, command.cq, command.xrcd, command.pd});
  } else {
    srqs_.erase(raw(command.srqn));
  }
  srq_done.push(now, done);
}

}  // namespace rxnic
