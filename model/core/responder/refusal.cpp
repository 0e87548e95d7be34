// SPDX-License-Identifier: Apache-2.0
#include "model/core/responder/refusal.h"

#include "model/types/syndrome.h"

namespace rxnic {

namespace {

void abandon_answer(Packet& p, std::uint32_t failed_request) {  // (R5)
  const bool ends_another =
      p.role == PacketRole::kSendCompletion || (p.ends_message && p.message_sequence != failed_request);
  p.fail(DropReason::kSquashed, Outcome::kDrop, 0, WcStatus::kFlushed);
  p.completes = ends_another;
}

}  // namespace

bool Refusals::refuses(const Packet& p) const {
  if (records_.empty() || p.qp == nullptr || p.role != PacketRole::kReceived || p.has(kResponse)) return false;
  const Record* const r = find(*p.qp);
  if (r == nullptr) return false;
  return r->requests || (r->has_epoch && r->epoch == p.epoch) || (r->message != 0 && r->message == p.message_sequence);
}

bool Refusals::squash_when_behind(Packet& p) {
  if (records_.empty() || p.qp == nullptr) return false;
  if (refuses(p)) {
    squash(p);
    return true;
  }
  const Record* const r = find(*p.qp);
  if (r == nullptr || !r->answers) return false;
  const bool answer = p.role == PacketRole::kReceived && p.has(kResponse);
  const bool completion = p.role == PacketRole::kSendCompletion && p.status != WcStatus::kFlushed;
  if (answer || completion) abandon_answer(p, r->request);
  return false;
}

void Refusals::fail_qp(Packet& p, DropReason reason, std::uint8_t syndrome, WcStatus status) {
  mark_failed(p, reason, syndrome, status);
  Refusal refusal{Refusal::Kind::kError, p.qp, 0, {}};
  Record& r = record(*p.qp);
  r.requests = true;
  if (p.has(kResponse)) {  // (R5)
    refusal.kind = Refusal::Kind::kRequestError;
    refusal.request = r.request = p.message_sequence;
    r.answers = true;
  }
  reports_.push_back(refusal);
}

void Refusals::fail_message(Packet& p, DropReason reason) {  // (R3)
  p.fail(reason, Outcome::kDrop, 0, WcStatus::kSuccess);
  p.acknowledge = false;
  p.completes = false;
  record(*p.qp).message = p.message_sequence;
}

void Refusals::fail_rnr(Packet& p, DropReason reason) {  // (R2)
  const QpContext& qp = *p.qp;
  if (!is_reliable(qp.transport)) {
    fail_message(p, reason);
    return;
  }
  p.fail(reason, Outcome::kNak, rnr_nak(qp.min_rnr_timer), WcStatus::kSuccess);
  p.acknowledge = true;
  p.completes = false;
  p.answer_psn = p.h.psn;
  p.answer_msn = p.undo.msn;
  Record& r = record(qp);
  r.epoch = p.epoch;
  r.has_epoch = true;
  reports_.push_back({Refusal::Kind::kNotReady, p.qp, 0, p.undo});
}

void Refusals::fail_requests(QpContext& qp) {
  refuse_requests(qp);
  reports_.push_back({Refusal::Kind::kError, &qp, 0, {}});
}

Refusals::Record& Refusals::record(const QpContext& qp) {
  if (qp.line >= records_.size()) records_.resize(std::size_t{qp.line} + 1);
  Record& r = records_[qp.line];
  if (r.residence != qp.residence) {  // (R6)
    r = {};
    r.residence = qp.residence;
  }
  return r;
}

const Refusals::Record* Refusals::find(const QpContext& qp) const {
  if (qp.line >= records_.size()) return nullptr;
  const Record& r = records_[qp.line];
  return r.residence == qp.residence ? &r : nullptr;
}

void squash(Packet& p) {  // (R4)
  p.fail(DropReason::kSquashed, Outcome::kDrop, 0, WcStatus::kFlushed);
  p.acknowledge = p.completes = p.fails_qp = false;
}

void mark_failed(Packet& p, DropReason reason, std::uint8_t syndrome, WcStatus status) {  // (R1)
  const bool answer = p.has(kResponse);                                                   // (R5)
  const bool reliable = is_reliable(p.qp->transport) && !answer;
  p.fail(reason, reliable ? Outcome::kNak : Outcome::kDrop, syndrome, status);
  p.acknowledge = reliable;
  p.answer_msn = p.undo.msn;
  p.answer_psn = p.h.psn;
  p.completes = answer || p.wqe_slot != 0xffffffff;
  p.fails_qp = true;
}

}  // namespace rxnic
