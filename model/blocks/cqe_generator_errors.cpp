// SPDX-License-Identifier: Apache-2.0
// Consequences of a QP's error and of a CQ without room (R3, R6, R8, R17 of cqe_generator.h).
#include "model/blocks/cqe_generator.h"
#include "model/types/syndrome.h"

namespace rxnic {

void CqeGenerator::request_flush(std::uint32_t line, bool notify_requester) {
  contexts_[line].flush_requested = true;
  ++counters_.flush_requests;
  const QpAttributes& qp = contexts_.attributes(line);
  if (flushes.bound()) {
    contexts_.pin(line);
    flush_list_.push(
        {line, contexts_.residence(line), qp.qpn, qp.transport, qp.uses_srq, qp.receive_queue, qp.receive_cq}, Cycle{});
  }
  if (notify_requester && failed.bound()) {
    contexts_.pin(line);
    failed_list_.push(line, Cycle{});
  }
}

void CqeGenerator::send_requests(Cycle now) {  // (R6)
  if (!failed_list_.empty() && failed.can_push(now)) {
    const std::uint32_t line = failed_list_.pop();
    failed.push(now, {contexts_.attributes(line).qpn});
    contexts_.unpin(line, now);
  }
  if (!flush_list_.empty() && flushes.can_push(now)) flushes.push(now, flush_list_.pop());
}

// The last packet that uses a WQE completes it unless an earlier one has. (R8)
void CqeGenerator::settle_wqe(CompletionRequest& p) {
  const std::uint32_t slot = p.wqe_slot;
  if (slot >= completed_.size()) completed_.resize(std::size_t{slot} * 2 + 1);
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
  if (!contexts_[f.line].flush_requested) {
    request_flush(f.line, true);
    raise(f.event, raw(contexts_.attributes(f.line).qpn), now);
  }
  contexts_.unpin(f.line, now);
}

void CqeGenerator::overrun(Cq& cq, CompletionRequest& p, Cycle now) {  // (R3)
  ++counters_.discarded;
  if (!cq.record().dead) {
    cq.record().dead = true;
    cq.queue.disarm();
    ++counters_.overruns;
    raise(EventType::kCqError, raw(cq.queue.context().number), now);
  }
  if (p.line != kNoLine && !contexts_[p.line].flush_requested && !p.fails_qp) {
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

void CqeGenerator::handle_error(CompletionRequest& p, Cycle now) {  // (R6)
  if (contexts_[p.line].flush_requested) return;
  if (p.role == PacketRole::kFailure) {  // (R17)
    request_flush(p.line, false);
    return;
  }
  const bool lost_completion = p.drop_reason == DropReason::kCqOverrun;
  const bool by_requester =
      p.role == PacketRole::kSendCompletion && p.status != WcStatus::kSuccess && p.status != WcStatus::kFlushed;
  if (!p.fails_qp && !lost_completion && !by_requester) return;
  request_flush(p.line, !by_requester);
  if (p.completes) return;
  const EventType type = p.fails_qp && p.syndrome == kNakInvalidRequest ? EventType::kQpRequestError
                         : p.fails_qp && p.syndrome == kNakRemoteAccess ? EventType::kQpAccessError
                                                                        : EventType::kQpFatal;
  raise(type, raw(p.qpn), now);
}

}  // namespace rxnic
