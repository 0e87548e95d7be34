// SPDX-License-Identifier: Apache-2.0
#include "model/core/responder/refusal.h"

#include "model/types/context.h"
#include "model/types/syndrome.h"

namespace rxnic {

namespace {

void abandon_answer(PathPacket& p, std::uint32_t failed_request) {  // (R5)
  const bool ends_another =
      p.role == PacketRole::kSendCompletion ? p.completes : p.ends_message && p.message_sequence != failed_request;
  p.fail(DropReason::kSquashed, Outcome::kDrop, 0, WcStatus::kFlushed);
  p.completes = ends_another;
}

}  // namespace

bool Refusals::refuses_some(const PathPacket& p) const {
  if (p.line == kNoLine || p.role != PacketRole::kReceived || p.has(kResponse)) return false;
  const Record* const r = find(p);
  if (r == nullptr) return false;
  return r->requests || (r->has_epoch && r->epoch == p.epoch) || (r->message != 0 && r->message == p.message_sequence);
}

bool Refusals::squash_behind(PathPacket& p) {
  if (refuses(p)) {
    squash(p);
    return true;
  }
  if (gives_up(p)) abandon_answer(p, find(p)->request);
  return false;
}

bool Refusals::gives_up_some(const PathPacket& p) const {
  if (p.line == kNoLine) return false;
  const Record* const r = find(p);
  if (r == nullptr || !r->answers) return false;
  const bool answer = p.role == PacketRole::kReceived && p.has(kResponse);
  const bool completion = p.role == PacketRole::kSendCompletion && p.status != WcStatus::kFlushed;
  return answer || completion;
}

void Refusals::fail_qp(PathPacket& p, DropReason reason, std::uint8_t syndrome, WcStatus status) {
  mark_failed(p, reason, syndrome, status);
  Refusal refusal{RefusalKind::kError, p.line, 0, kNoPacket};
  Record& r = record(p.line, p.residence);
  r.requests = true;
  if (p.has(kResponse)) {  // (R5)
    refusal.kind = RefusalKind::kRequestError;
    refusal.request = r.request = p.message_sequence;
    r.answers = true;
  }
  reports_.push_back(refusal);
}

void Refusals::fail_message(PathPacket& p, DropReason reason) {  // (R3)
  p.fail(reason, Outcome::kDrop, 0, WcStatus::kSuccess);
  p.acknowledge = false;
  p.completes = false;
  record(p.line, p.residence).message = p.message_sequence;
}

void Refusals::fail_rnr(PathPacket& p, std::uint8_t timer, DropReason reason) {  // (R2)
  if (!is_reliable(p.transport)) {
    fail_message(p, reason);
    return;
  }
  p.fail(reason, Outcome::kNak, rnr_nak(timer), WcStatus::kSuccess);
  p.acknowledge = true;
  p.completes = false;
  p.answer_psn = p.psn;
  p.answer_msn = p.msn_before;
  Record& r = record(p.line, p.residence);
  r.epoch = p.epoch;
  r.has_epoch = true;
  reports_.push_back({RefusalKind::kNotReady, p.line, 0, p.buffer});
}

void Refusals::fail_requests(std::uint32_t line, std::uint32_t residence) {
  refuse_requests(line, residence);
  reports_.push_back({RefusalKind::kError, line, 0, kNoPacket});
}

Refusals::Record& Refusals::record(std::uint32_t line, std::uint32_t residence) {
  if (line != kNoLine && line >= records_.size()) records_.resize(std::size_t{line} + 1);
  Record& r = line == kNoLine ? without_line_ : records_[line];
  if (r.residence != residence) {  // (R6)
    r = {};
    r.residence = residence;
  }
  return r;
}

const Refusals::Record* Refusals::find(const PathPacket& p) const {
  if (p.line >= records_.size()) return nullptr;
  const Record& r = records_[p.line];
  return r.residence == p.residence ? &r : nullptr;
}

void squash(PathPacket& p) {  // (R4)
  p.fail(DropReason::kSquashed, Outcome::kDrop, 0, WcStatus::kFlushed);
  p.acknowledge = p.completes = p.fails_qp = false;
}

void mark_failed(PathPacket& p, DropReason reason, std::uint8_t syndrome, WcStatus status) {  // (R1)
  const bool answer = p.has(kResponse);                                                       // (R5)
  const bool reliable = is_reliable(p.transport) && !answer;
  p.fail(reason, reliable ? Outcome::kNak : Outcome::kDrop, syndrome, status);
  p.acknowledge = reliable;
  p.answer_msn = p.msn_before;
  p.answer_psn = p.psn;
  p.completes = answer || p.wqe_slot != kNoWqeSlot;
  p.fails_qp = true;
}

}  // namespace rxnic
