// SPDX-License-Identifier: Apache-2.0
#include "model/core/requester/request_table.h"

#include "model/types/syndrome.h"

namespace rxnic {

namespace {

Psn last_psn(const RequestNotice& r) { return r.first_psn + (r.psn_count - 1); }
bool holds(const RequestNotice& r, Psn psn) { return psn - r.first_psn >= 0 && psn - last_psn(r) <= 0; }
bool is_nak(std::uint8_t syndrome) { return ack_kind(syndrome) != AckKind::kAck; }
// The response is an ATOMIC ACK, for a request that is_data().
bool is_atomic(const RequestNotice& r) { return request_info(r.opcode).answer == Operation::kAtomicAck; }

// The last PSN that an answer acknowledges. (R4)
Psn good_until(const CheckedPacket& answer) {
  const bool nak = answer.has(kAckKind) && is_nak(answer.h.syndrome);
  return nak ? answer.h.psn.previous() : answer.h.psn;
}

}  // namespace

RequestTable::Queue* RequestTable::find(Qpn qpn) {
  const auto it = queues_.find(raw(qpn));
  return it == queues_.end() ? nullptr : &it->second;
}

RequestTable::Queue* RequestTable::find_or_make(Qpn qpn) {
  if (Queue* q = find(qpn)) return q;
  return queues_.size() < sizes_.qps ? &queues_[raw(qpn)] : nullptr;  // (R10)
}

void RequestTable::append(Queue& q, const RequestNotice& request) {
  Index at = free_;
  if (at == kNone) {
    at = static_cast<Index>(places_.size());
    places_.emplace_back();
  } else {
    free_ = places_[at].next;
  }
  places_[at] = {request, q.last, kNone};
  (q.last == kNone ? q.first : places_[q.last].next) = at;
  q.last = at;
  ++used_;
}

void RequestTable::release(Queue& q, Index at) {
  Place& place = places_[at];
  (place.previous == kNone ? q.first : places_[place.previous].next) = place.next;
  (place.next == kNone ? q.last : places_[place.next].previous) = place.previous;
  place.next = free_;
  free_ = at;
  --used_;
  ++freed_;
}

void RequestTable::clear(Queue& q) {
  while (q.first != kNone) release(q, q.first);
}

void RequestTable::add(const RequestNotice& request) {
  if (request.reset) {
    if (Queue* q = find(request.qpn)) clear(*q);
    queues_.erase(raw(request.qpn));
    return;
  }
  Queue* const q = find_or_make(request.qpn);
  ++counters_.requests;
  const bool repeated = q != nullptr && q->any && request.first_psn - q->newest <= 0;  // (R6)
  const bool refused = !repeated && (q == nullptr || (!q->failed && used_ == sizes_.requests));
  counters_.repeated += repeated;
  counters_.refused += refused;  // (R10)
  if (q != nullptr && !repeated) {
    q->any = true;
    q->newest = last_psn(request);
    if (!q->failed && !refused) {
      append(*q, request);
      return;
    }
  }
  ++freed_;
}

std::size_t RequestTable::outstanding(Qpn qpn) const {
  const auto it = queues_.find(raw(qpn));
  std::size_t n = 0;
  for (Index at = it == queues_.end() ? kNone : it->second.first; at != kNone; at = places_[at].next) ++n;
  return n;
}

void RequestTable::remove(Queue& q, Index at) {
  const RequestNotice& r = places_[at].request;
  q.next_wqe = r.wqe + 1;
  if (is_data(r)) q.responses = 0;
  release(q, at);
  ++counters_.completed;
}

bool RequestTable::take_completed(const CheckedPacket& answer, RequestNotice& completed) {
  Queue* const q = find(answer.qp->qpn);
  if (q == nullptr) return false;
  const Psn limit = good_until(answer);  // (R1) (R2) (R4)
  for (Index at = q->first; at != kNone; at = places_[at].next) {
    const RequestNotice& r = places_[at].request;
    if (last_psn(r) - limit > 0) return false;
    if (is_data(r)) {
      if (!answer.qp->resynchronise) return false;  // (R7)
      // Its answer is this packet, or was lost: in a capture that loses packets it is done all the same.
      if (holds(r, answer.h.psn)) continue;
    }
    completed = r;
    remove(*q, at);
    return true;
  }
  return false;
}

std::optional<AnswerNotice> RequestTable::check_answer(CheckedPacket& p) {
  ResponderContext& qp = *p.qp;
  p.outcome = Outcome::kAnswer;
  p.pd = qp.pd;
  p.cq = qp.send_cq;
  p.acknowledge = false;
  Queue* const q = find(qp.qpn);
  if (p.has(kAckKind) && !p.has(kHasAtomicAckEth)) {
    if (is_nak(p.h.syndrome)) ++counters_.naks;
    // An ACK for what has already been completed is a repetition, one for what was never sent explains nothing.
    const bool known = q != nullptr && q->any && p.h.psn - q->newest <= 0;
    if (known) return check_acknowledge(p, *q);
  } else if (q != nullptr) {
    const bool atomic = p.has(kHasAtomicAckEth);
    const auto is_its = [&](const RequestNotice& n) {
      return is_data(n) && is_atomic(n) == atomic && holds(n, p.h.psn);
    };
    Index at = q->first;
    while (at != kNone && !is_its(places_[at].request)) at = places_[at].next;
    if (at != kNone) return check_data(p, *q, at);
  }
  if (!qp.resynchronise) return refuse(p, DropReason::kUnsolicitedAnswer);  // (R5)
  ++counters_.unexplained_answers;
  p.payload_bytes = 0;
  return std::nullopt;
}

std::optional<AnswerNotice> RequestTable::check_acknowledge(CheckedPacket& p, Queue& q) {
  if (q.failed) return std::nullopt;  // (R8)
  const RequestNotice* const oldest = q.first == kNone ? nullptr : &places_[q.first].request;
  const bool data_missing = !p.qp->resynchronise && oldest != nullptr && is_data(*oldest) &&
                            good_until(p) - (oldest->first_psn + q.responses) >= 0;
  if (data_missing && !ends_qp(p.h.syndrome)) return gap(p, q);  // (R7)
  AnswerNotice notice{p.qp->qpn, p.h.psn, AnswerKind::kAck, p.h.syndrome};
  if (is_nak(p.h.syndrome)) {
    notice.kind = ack_kind(p.h.syndrome) == AckKind::kRnrNak ? AnswerKind::kRnrNak : AnswerKind::kNak;
  }
  return notice;
}

std::optional<AnswerNotice> RequestTable::check_data(CheckedPacket& p, Queue& q, Index at) {
  const RequestNotice* const r = &places_[at].request;
  const bool in_order = !p.qp->resynchronise;
  const auto number = static_cast<std::uint32_t>(p.h.psn - r->first_psn);
  const std::uint64_t offset = std::uint64_t{number} * p.qp->mtu;
  const bool last = number + 1 == r->psn_count;
  if (in_order) {  // (R7)
    const bool first = at == q.first;
    if (first && number < q.responses) return refuse(p, DropReason::kUnsolicitedAnswer);
    if (!first || number > q.responses) {
      refuse(p, DropReason::kPsnAhead);
      return gap(p, q);
    }
  }
  if (!is_atomic(*r)) {
    const std::uint64_t asked = (request_info(r->opcode).traits & kReturnsData) != 0 ? r->bytes : 0;
    const bool too_long = offset + p.h.payload_bytes > asked;
    const bool too_short = in_order && p.h.payload_bytes != (last ? asked - offset : p.qp->mtu);
    if (too_long || too_short) return refuse(p, DropReason::kInvalidRequest);
  }
  p.message_sequence = r->wqe;
  p.local_va = r->va + (is_atomic(*r) ? 0 : offset);  // (R2)
  p.local_key = r->lkey;
  p.local_bytes = is_atomic(*r) ? kAtomicBytes : p.h.payload_bytes;  // (R3)
  p.access = kLocalWrite;
  p.message_bytes = r->bytes;
  p.ends_message = is_atomic(*r) || (in_order ? last : p.has(kLast | kOnly));
  p.wqe_index = r->wqe_index;
  p.rendezvous = r->rendezvous;
  p.byte_count = r->bytes;
  p.cqe_opcode = r->opcode;
  p.completes = p.ends_message && r->signaled;
  const AnswerNotice notice{p.qp->qpn, p.h.psn, is_atomic(*r) ? AnswerKind::kAtomicAck : AnswerKind::kReadResponse, 0};
  ++q.responses;
  if (p.ends_message) remove(q, at);
  return notice;
}

std::optional<AnswerNotice> RequestTable::refuse(CheckedPacket& p, DropReason reason) {
  p.fail(reason, Outcome::kDrop, 0, WcStatus::kSuccess);
  return std::nullopt;
}

// The missing PSN belongs to the oldest request that answers have not completed: a READ or an atomic.
AnswerNotice RequestTable::gap(const CheckedPacket& p, const Queue& q) {
  ++counters_.gaps;
  return {p.qp->qpn, places_[q.first].request.first_psn + q.responses, AnswerKind::kGap, p.h.syndrome};
}

bool RequestTable::accept_completion(const CheckedPacket& p) {  // (R9)
  Queue* const found = find_or_make(p.qp->qpn);
  if (found == nullptr) return true;
  Queue& q = *found;
  const std::uint32_t wqe = p.message_sequence;
  if (p.status == WcStatus::kSuccess) {
    q.next_wqe = wqe + 1;
    return true;
  }
  q.failed = is_reliable(p.qp->transport);  // others go on when software says so
  clear(q);
  q.responses = 0;
  if (static_cast<std::int32_t>(wqe - q.next_wqe) < 0) return false;
  q.next_wqe = wqe + 1;
  return !p.qp->request_failed || p.qp->failed_request != wqe;
}

}  // namespace rxnic
