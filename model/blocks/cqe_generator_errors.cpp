// SPDX-License-Identifier: Apache-2.0
// Consequences of a QP's error and of a CQ without room (R3, R6, R8, R17 of cqe_generator.h).
#include "model/blocks/cqe_generator.h"
#include "model/types/syndrome.h"

namespace rxnic {

void CqeGenerator::request_flush(const CompletionQp& qp, bool notify_requester, bool unpins, Cycle now) {
  ++counters_.flush_requests;
  flush_list_.push(qp.flush, Cycle{});
  if (notify_requester) failed_list_.push({qp.flush.line, qp.flush.qpn}, Cycle{});
  CompletionContext part = qp.part;
  part.flush_requested = true;
  context_write.write(now, {qp.flush.line, part, static_cast<std::uint8_t>(notify_requester ? 2 : 1), unpins});
}

// What nobody takes is gone.
void CqeGenerator::send_requests(Cycle now) {  // (R6)
  if (!failed_list_.empty() && (!failed.bound() || failed.can_push(now))) {
    const Notice n = failed_list_.pop();
    if (failed.bound()) failed.push(now, {n.qpn});
    unpinned.write(now, {n.line});
  }
  if (!flush_list_.empty() && (!flushes.bound() || flushes.can_push(now))) {
    const FlushRequest r = flush_list_.pop();
    if (flushes.bound()) flushes.push(now, r);
  }
}

// The last packet that uses a WQE completes it unless an earlier one has. (R8)
void CqeGenerator::settle_wqe(CompletionRequest& p) {
  const std::uint32_t slot = p.wqe_slot;
  if (slot >= completed_.size()) return;
  if (completed_[slot]) {
    p.completes = false;
  } else if (p.releases_wqe && !p.completes) {
    p.completes = true;
    if (p.status == WcStatus::kSuccess) {
      p.status = p.drop_reason == DropReason::kRemoteAccess ? WcStatus::kRemoteAccess : WcStatus::kFlushed;
    }
  }
  completed_[slot] = !p.releases_wqe && (completed_[slot] || (p.completes && p.status != WcStatus::kSuccess));
}

void CqeGenerator::take_failure(Cycle now) {  // (R6)
  const QpFailure f = failures.pop(now);
  const CompletionQp& qp = *failure_context.peek({f.line});
  if (qp.part.flush_requested) {
    context_write.write(now, {f.line, qp.part, 0, true});
    return;
  }
  raise(f.event, raw(qp.flush.qpn), now);
  request_flush(qp, true, true, now);
}

void CqeGenerator::overrun(Cq& cq, CompletionRequest& p, Cycle now) {  // (R3)
  ++counters_.discarded;
  if (!cq.record().dead) {
    cq.record().dead = true;
    cq.queue.disarm();
    ++counters_.overruns;
    raise(EventType::kCqError, raw(cq.queue.context().number), now);
  }
  if (p.line != kNoLine && !p.fails_qp && !context.peek({p.line})->part.flush_requested) {
    if (p.role == PacketRole::kReceived) {
      refused_.fail_qp(p, DropReason::kCqOverrun, kNakRemoteOperation, WcStatus::kGeneral);
      p.acknowledge = p.acknowledge && p.has(kRequest);
    } else {
      p.drop_reason = DropReason::kCqOverrun;
      refused_.fail_requests(p.line, p.residence);
    }
  }
  p.completes = false;
}

// (R6, R7)
void CqeGenerator::handle_error(const CompletionRequest& p, Cycle now) {
  const bool asked_for = p.role == PacketRole::kFailure;  // (R17)
  const bool lost_completion = p.drop_reason == DropReason::kCqOverrun;
  const bool by_requester = p.role == PacketRole::kSendCompletion && is_reliable(p.transport) &&
                            p.status != WcStatus::kSuccess && p.status != WcStatus::kFlushed;
  if (p.role == PacketRole::kLastWqe) {
    CompletionContext part = context.peek({p.line})->part;
    if (part.last_wqe_event_sent) return;
    part.last_wqe_event_sent = true;
    context_write.write(now, {p.line, part, 0, false});
    raise(EventType::kQpLastWqeReached, raw(p.qpn), now);
    return;
  }
  if (!asked_for && !p.fails_qp && !lost_completion && !by_requester) return;
  const CompletionQp& qp = *context.peek({p.line});
  if (qp.part.flush_requested) return;
  request_flush(qp, !asked_for && !by_requester, false, now);
  if (asked_for || p.completes) return;
  const EventType type = p.fails_qp && p.syndrome == kNakInvalidRequest ? EventType::kQpRequestError
                         : p.fails_qp && p.syndrome == kNakRemoteAccess ? EventType::kQpAccessError
                                                                        : EventType::kQpFatal;
  raise(type, raw(p.qpn), now);
}

}  // namespace rxnic
