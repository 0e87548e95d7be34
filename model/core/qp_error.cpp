// SPDX-License-Identifier: Apache-2.0
#include "model/core/qp_error.h"

namespace rxnic {

namespace {

constexpr std::uint8_t kRnrNak = 0x20;
constexpr std::uint32_t kMoreThanInFlight = 1u << 24;  // packets

bool is_reliable(const QpContext& qp) { return qp.transport == Transport::kRc || qp.transport == Transport::kXrc; }

// `number` in (after, until], circular.
bool between(std::uint32_t number, std::uint32_t after, std::uint32_t until) {
  return number != after && number - after <= until - after;
}

void squash_behind(const Packet& p) {
  QpContext& qp = *p.qp;
  qp.dirty = true;
  // With nothing behind it, what an earlier failure squashes may still be on its way and stays squashed.
  if (p.sequence == qp.checked) return;
  qp.squash_after = p.sequence;
  qp.squash_until = qp.checked;
}

}  // namespace

void number(Packet& p) {
  QpContext& qp = *p.qp;
  qp.dirty = true;
  p.sequence = ++qp.checked;
  // An interval that everybody has left is forgotten before the numbers come round to it again.
  if (p.sequence - qp.squash_until > kMoreThanInFlight) qp.squash_after = qp.squash_until = p.sequence;
}

void fail_qp(Packet& p, DropReason reason, std::uint8_t syndrome, WcStatus status) {  // (R1)
  QpContext& qp = *p.qp;
  const bool answer = p.has(kResponse);  // (R5)
  const bool reliable = is_reliable(qp) && !answer;
  p.fail(reason, reliable ? Outcome::kNak : Outcome::kDrop, syndrome, status);
  p.acknowledge = reliable;
  p.answer_msn = p.undo.msn;
  p.answer_psn = p.h.psn;
  p.completes = answer || p.wqe_slot != 0xffffffff;
  if (answer && is_behind_failed_answer(p)) {
    abandon_answer(p);
    return;
  }
  const bool first = qp.state != QpState::kError;
  if (first || static_cast<std::int32_t>(p.sequence - qp.error_at) < 0) qp.error_at = p.sequence;
  if (first) qp.state_before_error = qp.state;
  qp.state = QpState::kError;
  squash_behind(p);
  if (!answer) return;
  qp.state_before_error = QpState::kError;  // no RNR NAK of the responder takes it back
  qp.request_failed = true;
  qp.failed_request = p.message_sequence;
  qp.failed_answer_at = p.sequence;
}

void abandon_answer(Packet& p) {  // (R5)
  const bool ends_another =
      p.role == PacketRole::kSendCompletion || (p.ends_message && p.message_sequence != p.qp->failed_request);
  p.fail(DropReason::kSquashed, Outcome::kDrop, 0, WcStatus::kFlushed);
  p.completes = ends_another;
}

void fail_requests(Packet& p) {  // (R6)
  QpContext& qp = *p.qp;
  number(p);
  p.segment_count = 0;
  if (qp.state != QpState::kError || static_cast<std::int32_t>(p.sequence - qp.error_at) < 0) qp.error_at = p.sequence;
  qp.state = qp.state_before_error = QpState::kError;
}

void fail_message(Packet& p, DropReason reason) {  // (R3)
  p.fail(reason, Outcome::kDrop, 0, WcStatus::kSuccess);
  p.acknowledge = false;
  p.completes = false;
  p.qp->failed_message = p.message_sequence;
  p.qp->failed_at = p.sequence;
  p.qp->dirty = true;
}

void fail_rnr(Packet& p) {  // (R2)
  QpContext& qp = *p.qp;
  if (!is_reliable(qp)) {
    fail_message(p, DropReason::kNoReceiveWqe);
    return;
  }
  p.fail(DropReason::kNoReceiveWqe, Outcome::kNak, static_cast<std::uint8_t>(kRnrNak | qp.min_rnr_timer),
         WcStatus::kSuccess);
  p.acknowledge = true;
  p.completes = false;
  p.answer_psn = p.h.psn;
  p.answer_msn = p.undo.msn;
  qp.expected_psn = p.undo.expected_psn;
  qp.msn = p.undo.msn;
  qp.message = p.undo.message;
  qp.message_start = p.undo.message_start;
  qp.message_bytes = p.undo.message_bytes;
  qp.write_va = p.undo.write_va;
  qp.write_rkey = p.undo.write_rkey;
  qp.write_left = p.undo.write_left;
  qp.nak_sent = true;
  if (qp.state == QpState::kError && between(qp.error_at, p.sequence, qp.checked)) qp.state = qp.state_before_error;
  squash_behind(p);
}

bool squashed_by_failure(const Packet& p) {
  const QpContext& qp = *p.qp;
  const bool behind_failure = between(p.sequence, qp.squash_after, qp.squash_until);
  const bool rest_of_message = p.message_sequence != 0 && p.message_sequence == qp.failed_message &&
                               static_cast<std::int32_t>(p.sequence - qp.failed_at) > 0;
  return (behind_failure || rest_of_message) && !p.has(kResponse);  // (R5)
}

void squash(Packet& p) {  // (R4)
  const bool holds_new_wqe = p.takes_wqe && p.wqe_slot != 0xffffffff;
  p.fail(DropReason::kSquashed, Outcome::kDrop, 0, WcStatus::kFlushed);
  p.acknowledge = false;
  p.completes = holds_new_wqe;
}

}  // namespace rxnic
