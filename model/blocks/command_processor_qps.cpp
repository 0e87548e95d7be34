// SPDX-License-Identifier: Apache-2.0
// Commands on queue pairs.
#include <algorithm>

#include "model/blocks/command_processor.h"

namespace rxnic {

CommandProcessor::Next CommandProcessor::ask_context(ContextOperation operation, Cycle now) {
  return ask(contexts, {operation, Qpn{command_.number}}, now);
}

CommandProcessor::Next CommandProcessor::ask_qp(QpOperation operation, Cycle now) {
  QpCommand c;
  c.operation = operation;
  c.line = place_.line;
  c.qpn = Qpn{command_.number};
  return ask(qps, c, now);
}

CommandProcessor::Next CommandProcessor::ask_send_queue(SendQueueOperation operation, Cycle now) {
  if (!send_queues.bound()) return Next::kGoesOn;
  SendQueueCommand c;
  c.operation = operation;
  c.qpn = Qpn{command_.number};
  return ask(send_queues, c, now);
}

CommandProcessor::Next CommandProcessor::end_unless_qp(Cycle) {
  place_ = context_;
  return place_.found ? Next::kGoesOn : end(CommandStatus::kNoObject);  // (R5)
}

// Create, query, modify.

CommandProcessor::Next CommandProcessor::read_qp(Cycle now) {
  return read(command_.mailbox_address, sizeof(QpMailbox), now);
}

// Reserves the responder resources that the QP needs in its state: for READs and atomics that may be repeated. (R10)
CommandProcessor::Next CommandProcessor::reserve_qp(Cycle now) {
  const StoredQpContext qp = mailbox<QpMailbox>().qp;
  QpCommand c;
  c.operation = QpOperation::kCreate;
  c.qpn = qp.qpn;
  c.transport = qp.transport;
  c.state = static_cast<std::uint8_t>(qp.state);
  c.max_dest_rd_atomic = qp.max_dest_rd_atomic;
  return ask(qps, c, now);
}

CommandProcessor::Next CommandProcessor::give_back_entries(Cycle now) {
  if (send_queue_.ok) return Next::kGoesOn;
  QpCommand c;
  c.operation = QpOperation::kForget;
  c.qpn = mailbox<QpMailbox>().qp.qpn;
  return ask(qps, c, now);
}

CommandProcessor::Next CommandProcessor::store_qp(Cycle now) {
  if (!send_queue_.ok) return end(CommandStatus::kNoRoom);
  return write(qp_context_address(mailbox<QpMailbox>().qp.qpn), kQpContextBytes, now);
}

// With the attributes in the mailbox.
SendQueueCommand CommandProcessor::send_queue_command(SendQueueOperation operation) const {
  const auto m = mailbox<QpMailbox>();
  SendQueueCommand c;
  c.operation = operation;
  c.qpn = m.qp.qpn;
  c.transport = m.qp.transport;
  c.state = static_cast<std::uint8_t>(m.qp.state);
  c.set_psn = command_.set_sq_psn;
  c.notify_drained = command_.notify_drained;
  c.recovers = command_.recovers;
  c.pd = m.qp.pd;
  c.mtu = m.qp.mtu;
  c.pkey = m.qp.pkey;
  c.qkey = m.qp.qkey;
  c.remote_qpn = m.qp.remote_qpn;
  c.base = m.queue.base;
  c.slots = m.queue.slots;
  c.stride = m.queue.stride;
  c.all_signaled = m.queue.all_signaled;
  static_assert(sizeof c.path == sizeof m.path);
  std::memcpy(c.path.data(), &m.path, sizeof m.path);
  c.max_rd_atomic = m.max_rd_atomic;
  c.timeout = m.timeout;
  c.retry_count = m.retry_count;
  c.rnr_retry = m.rnr_retry;
  c.psn = Psn{m.sq_psn};
  return c;
}

CommandProcessor::Next CommandProcessor::create_send_queue(Cycle now) {
  if (!qp_.room) return end(CommandStatus::kNoRoom);
  send_queue_ = {};
  if (!send_queues.bound()) return Next::kGoesOn;
  return ask(send_queues, send_queue_command(SendQueueOperation::kCreate), now);
}

CommandProcessor::Next CommandProcessor::bring_qp(Cycle now) { return ask_context(ContextOperation::kBring, now); }

CommandProcessor::Next CommandProcessor::release_qp(Cycle now) { return ask_context(ContextOperation::kRelease, now); }

CommandProcessor::Next CommandProcessor::query_qp(Cycle now) { return ask_qp(QpOperation::kQuery, now); }

CommandProcessor::Next CommandProcessor::query_send_queue(Cycle now) {
  send_queue_ = {};
  return ask_send_queue(SendQueueOperation::kQuery, now);
}

// In kSqe only the send queue is: the receive path goes on. (R14)
CommandProcessor::Next CommandProcessor::answer_query_qp(Cycle) {
  const bool send_error = static_cast<QpState>(send_queue_.state) == QpState::kSqe;
  reply_.number = send_error && static_cast<QpState>(qp_.state) != QpState::kError ? send_queue_.state : qp_.state;
  reply_.value = qp_.psn.value;
  reply_.psn = send_queue_.psn;
  return Next::kGoesOn;
}

CommandProcessor::Next CommandProcessor::modify_qp(Cycle now) {
  const StoredQpContext qp = mailbox<QpMailbox>().qp;
  QpCommand c;
  c.operation = QpOperation::kModify;
  c.line = place_.line;
  c.qpn = Qpn{command_.number};
  c.state = static_cast<std::uint8_t>(qp.state);
  c.set_psn = command_.set_rq_psn;
  c.psn = Psn{command_.value};
  c.access = qp.access;
  c.min_rnr_timer = qp.min_rnr_timer;
  c.max_dest_rd_atomic = qp.max_dest_rd_atomic;
  c.mtu = qp.mtu;
  c.pkey = qp.pkey;
  c.qkey = qp.qkey;
  c.remote_qpn = qp.remote_qpn;
  c.local = qp.local;
  c.remote = qp.remote;
  return ask(qps, c, now);
}

CommandProcessor::Next CommandProcessor::modify_send_queue(Cycle now) {
  if (qp_.failed) {  // the QP is in the error state: only a reset takes it from there (R9)
    set_status(CommandStatus::kRefused);
    return Next::kGoesOn;
  }
  if (!qp_.room) {
    set_status(CommandStatus::kNoRoom);
    return Next::kGoesOn;
  }
  if (!send_queues.bound()) return Next::kGoesOn;
  return ask(send_queues, send_queue_command(SendQueueOperation::kModify), now);
}

// To the error state. (R4)

CommandProcessor::Next CommandProcessor::fail_qp(Cycle now) { return ask_qp(QpOperation::kFail, now); }

CommandProcessor::Next CommandProcessor::fail_send_queue(Cycle now) {
  return qp_.failed ? Next::kGoesOn : ask_send_queue(SendQueueOperation::kFail, now);
}

// Stops the sending of many QPs by one command: the mailbox is a list of their numbers.

CommandProcessor::Next CommandProcessor::read_silenced(Cycle now) {
  const auto room = static_cast<std::uint32_t>(buffer_.size() / sizeof(std::uint32_t));
  in_buffer_ = std::min(room, command_.value - listed_);
  if (in_buffer_ == 0 || !send_queues.bound()) {
    ends_ = true;
    return Next::kGoesOn;
  }
  return read(command_.mailbox_address + std::uint64_t{listed_} * sizeof(std::uint32_t), in_buffer_ * 4, now);
}

CommandProcessor::Next CommandProcessor::silence(Cycle now) {
  if (in_buffer_ == 0) {
    next_step_ = 0;  // the next part of the list
    return Next::kRepeats;
  }
  const auto room = static_cast<std::uint32_t>(buffer_.size() / sizeof(std::uint32_t));
  std::uint32_t qpn = 0;
  std::memcpy(&qpn, buffer_.data() + std::size_t{listed_ % room} * sizeof qpn, sizeof qpn);
  ++listed_;
  --in_buffer_;
  SendQueueCommand c;
  c.operation = SendQueueOperation::kReset;
  c.qpn = Qpn{qpn};
  ask(send_queues, c, now);
  return Next::kRepeats;
}

// Reset and free. (R3, R6)

CommandProcessor::Next CommandProcessor::stop_qp(Cycle now) { return ask_context(ContextOperation::kStop, now); }

CommandProcessor::Next CommandProcessor::stop_receiving(Cycle now) { return ask_qp(QpOperation::kStop, now); }

CommandProcessor::Next CommandProcessor::reset_send_queue(Cycle now) {
  return ask_send_queue(SendQueueOperation::kReset, now);
}

CommandProcessor::Next CommandProcessor::fence_send_wqes(Cycle now) {
  return send_queues.bound() ? fence(DmaClient::kSendWqe, now) : Next::kGoesOn;
}

CommandProcessor::Next CommandProcessor::fence_payload(Cycle now) {
  return send_queues.bound() ? fence(DmaClient::kSendPayload, now) : Next::kGoesOn;
}

CommandProcessor::Next CommandProcessor::settle_qp(Cycle now) { return ask_context(ContextOperation::kSettle, now); }

CommandProcessor::Next CommandProcessor::reset_receive_queue(Cycle now) {
  WqCommand c;
  c.operation = WqOperation::kReset;
  c.queue = place_.uses_srq ? kNoWq : place_.receive_queue;
  c.line = place_.line;
  return ask(wqs, c, now);
}

CommandProcessor::Next CommandProcessor::settle_cqes(Cycle now) { return ask_cq(CqOperation::kSettle, now); }

CommandProcessor::Next CommandProcessor::forget_qp(Cycle now) { return ask_qp(QpOperation::kForget, now); }

CommandProcessor::Next CommandProcessor::renew_qp(Cycle now) { return ask_context(ContextOperation::kRenew, now); }

CommandProcessor::Next CommandProcessor::destroy_send_queue(Cycle now) {
  return ask_send_queue(SendQueueOperation::kDestroy, now);
}

// In memory first: while the cache holds the context, no block reads it from memory.
CommandProcessor::Next CommandProcessor::clear_qp(Cycle now) {
  StoredQpContext none;
  clear_padding(none);
  std::memcpy(buffer_.data(), &none, sizeof none);
  return write(qp_context_address(Qpn{command_.number}), sizeof none, now);
}

CommandProcessor::Next CommandProcessor::drop_qp(Cycle now) { return ask_context(ContextOperation::kDrop, now); }

}  // namespace rxnic
