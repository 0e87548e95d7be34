// SPDX-License-Identifier: Apache-2.0
#include "model/core/responder/responder.h"

#include "model/types/syndrome.h"

namespace rxnic {

namespace {

bool starts_message(const CheckedPacket& p) { return p.has(kFirst | kOnly); }
bool is_inside(const ResponderContext& qp) {
  return qp.message == MessageKind::kSend || qp.message == MessageKind::kWrite;
}

ResponderUndo undo_of(const ResponderContext& qp) {
  return {qp.expected_psn, qp.msn,           qp.message,  qp.write_rkey,
          qp.write_left,   qp.message_bytes, qp.write_va, qp.message_start};
}

void begin_message(CheckedPacket& p) {
  ResponderContext& qp = *p.qp;
  ++qp.messages;
  qp.message_start = p.h.arrived.count;
  qp.message_bytes = 0;
}

void establish(CheckedPacket& p) {  // (R14)
  ResponderContext& qp = *p.qp;
  const bool dropped = p.outcome == Outcome::kDrop && !p.completes;
  if (dropped || qp.established || is_datagram(qp.transport)) return;
  qp.established = true;
  p.establishes = qp.state == QpState::kRtr;
}

}  // namespace

bool Responder::abandons_message(const CheckedPacket& p) const {
  const ResponderContext& qp = *p.qp;
  return qp.resynchronise && is_reliable(qp.transport) && is_inside(qp) && p.h.psn - qp.expected_psn > 0 &&
         !(p.has(kMiddle | kLast) && in_sequence(p));
}

void Responder::abandon_message(ResponderContext& qp) {
  qp.message = MessageKind::kNone;
  ++counters_.truncated_messages;
}

void Responder::check(CheckedPacket& p) {
  ResponderContext& qp = *p.qp;
  admit(p);
  p.undo = undo_of(qp);
  p.msn_before = qp.msn;
  p.pd = memory_domain(p);
  p.cq = qp.receive_cq;
  p.syndrome = kAckUnlimited;
  switch (qp.transport) {
    case Transport::kRc:
    case Transport::kXrc:
      check_reliable(p);
      break;
    case Transport::kUc:
      check_unreliable(p);
      break;
    default:
      check_datagram(p);
  }
  establish(p);
}

void Responder::check_reliable(CheckedPacket& p) {
  ResponderContext& qp = *p.qp;
  const std::int32_t distance = p.h.psn - qp.expected_psn;
  if (distance < 0) return duplicate(p);  // (R2)
  if (distance > 0) {                     // (R1)
    if (!qp.resynchronise) return refuse_ahead(p);
    resynchronise(p, static_cast<std::uint32_t>(distance));
  } else if ((qp.resynchronise || qp.starts_inside) && qp.messages == 0 && p.has(kMiddle | kLast)) {
    begin_in_the_middle(p);  // the first packet of a capture
  }
  qp.nak_sent = false;
  const bool enabled = (p.op().access & ~qp.access) == 0 && (!p.has(kSaved) || may_save(qp));
  if (!in_sequence(p) || !enabled) return refuse(p);  // (R3)
  if (!length_is_legal(p)) {
    if (!p.has(kTakesWqe) && !p.takes_wqe) return refuse(p);
    p.bad_length = true;  // (R9)
  }
  if (!find_queue(p)) return refuse(p);  // (R10)
  take(p);
}

// Whether the QP has a resource for a READ or an atomic.
bool Responder::may_save(const ResponderContext& qp) const {
  return qp.max_dest_rd_atomic > 0 && resources_.reserved(qp.qpn) > 0;
}

void Responder::refuse_ahead(CheckedPacket& p) {
  ResponderContext& qp = *p.qp;
  p.drop_reason = DropReason::kPsnAhead;
  p.outcome = Outcome::kDrop;
  if (qp.nak_sent) return;
  qp.nak_sent = true;
  ++counters_.sequence_naks;
  p.outcome = Outcome::kNak;
  p.acknowledge = true;
  p.syndrome = kNakSequence;
  p.answer_psn = qp.expected_psn;
  p.answer_msn = qp.msn;
}

void Responder::check_unreliable(CheckedPacket& p) {  // (R4)
  ResponderContext& qp = *p.qp;
  const bool starts = starts_message(p);
  if (!starts && p.h.psn != qp.expected_psn) {
    if (is_inside(qp)) qp.message = MessageKind::kSkip;
    return drop(p, DropReason::kUcSequence);
  }
  const bool in_place = starts ? !(qp.uses_srq && qp.message == MessageKind::kSend) : in_sequence(p);
  if (!in_place) return give_up(p, DropReason::kUcSequence);
  if (starts) qp.message = MessageKind::kNone;
  if ((p.op().access & ~qp.access) != 0) return give_up(p, DropReason::kInvalidRequest);
  if (!length_is_legal(p)) {
    if (!p.has(kTakesWqe) || !qp.uses_srq) return give_up(p, DropReason::kInvalidRequest);
    p.bad_length = true;  // (R9)
  }
  find_queue(p);
  take(p);
}

// UC: drops the packet and the rest of its message; an SRQ's WQE that the QP holds completes in error.
void Responder::give_up(CheckedPacket& p, DropReason reason) {
  ResponderContext& qp = *p.qp;
  const bool holds_srq_wqe = qp.uses_srq && qp.message == MessageKind::kSend;
  drop(p, reason);
  qp.expected_psn = p.h.psn + 1;
  qp.message = MessageKind::kSkip;
  if (holds_srq_wqe || reason == DropReason::kInvalidRequest) ++counters_.invalid_requests;
  if (!holds_srq_wqe) return;
  p.message_sequence = qp.messages;
  p.completes = true;
  p.status = WcStatus::kRemoteInvalidRequest;
}

void Responder::check_datagram(CheckedPacket& p) {  // (R5)
  ResponderContext& qp = *p.qp;
  if (!p.has(kOnly) || !p.has(kSend) || p.h.payload_bytes > qp.mtu) {
    ++counters_.invalid_requests;
    return drop(p, DropReason::kInvalidRequest);
  }
  find_queue(p);
  take(p);
  p.acknowledge = false;
}

// Accepts the packet's PSN. The packets in the gap are not known: the current message goes on when the packet can
// belong to it.
void Responder::resynchronise(CheckedPacket& p, std::uint32_t missing) {
  ResponderContext& qp = *p.qp;
  if (!qp.nak_sent) {
    ++counters_.psn_gaps;
    counters_.psn_gap_packets += missing;
    p.missing_psns = missing;
  }
  qp.expected_psn = p.h.psn;
  if (!p.has(kMiddle | kLast)) return;
  if (qp.message == MessageKind::kSend && p.has(kSend)) return;
  if (qp.message == MessageKind::kSkip && p.has(kWrite)) return;
  if (qp.message == MessageKind::kWrite && p.has(kWrite)) {
    const std::uint64_t skipped = std::uint64_t{missing} * qp.mtu;
    const std::uint64_t after = skipped + p.h.payload_bytes;
    if (p.has(kLast) ? after == qp.write_left : after < qp.write_left) {
      qp.write_va += skipped;
      qp.write_left -= static_cast<std::uint32_t>(skipped);
      qp.message_bytes += skipped;
      return;
    }
  }
  begin_in_the_middle(p);
}

void Responder::begin_in_the_middle(CheckedPacket& p) {  // (R11)
  ++counters_.truncated_messages;
  begin_message(p);
  p.takes_wqe = p.has(kSend);
  p.qp->message = p.has(kSend) ? MessageKind::kSend : MessageKind::kSkip;
}

bool Responder::in_sequence(const CheckedPacket& p) const {
  const ResponderContext& qp = *p.qp;
  switch (qp.message) {
    case MessageKind::kNone:
      return starts_message(p);
    case MessageKind::kSkip:  // (R11); UC: only a new message ends it
      return starts_message(p) || (is_reliable(qp.transport) && p.has(kWrite));
    case MessageKind::kSend:
      return p.has(kSend) && p.has(kMiddle | kLast);
    case MessageKind::kWrite:
      return p.has(kWrite) && p.has(kMiddle | kLast);
  }
  return false;
}

bool Responder::length_is_legal(const CheckedPacket& p) const {  // (R6)
  const ResponderContext& qp = *p.qp;
  const std::uint32_t payload = p.h.payload_bytes;
  if (p.has(kAtomic) && p.h.va % kAtomicBytes != 0) return false;
  switch (p.op().length) {
    case LengthRule::kNone:
      return payload == 0 && p.h.length <= kMaxMessageBytes;
    case LengthRule::kOperand:
      return payload == kAtomicBytes && p.h.length == kAtomicBytes;
    case LengthRule::kPart:
      break;
  }
  if (p.has(kFirst | kMiddle) ? payload != qp.mtu : payload > qp.mtu) return false;
  if (p.has(kLast) && payload == 0) return false;
  if (!p.has(kWrite)) return true;
  if (qp.message == MessageKind::kSkip && !starts_message(p)) return true;  // (R11)
  if (p.has(kFirst | kOnly) && p.h.length > kMaxMessageBytes) return false;
  const std::uint32_t left = p.has(kFirst | kOnly) ? p.h.length : qp.write_left;
  return p.has(kOnly | kLast) ? payload == left : payload < left;
}

const SrqEntry* Responder::named_srq(const CheckedPacket& p) const {  // (R10)
  const auto it = srqs_.find(raw(p.h.xrc_srq));
  return it == srqs_.end() || it->second.xrcd != p.qp->xrcd ? nullptr : &it->second;
}
Pdn Responder::memory_domain(const CheckedPacket& p) const {  // (R10)
  const SrqEntry* const srq = p.qp->transport == Transport::kXrc ? named_srq(p) : nullptr;
  return srq == nullptr ? p.qp->pd : srq->pd;
}

bool Responder::find_queue(CheckedPacket& p) const {
  const ResponderContext& qp = *p.qp;
  p.queue = qp.receive_queue;
  if (qp.transport != Transport::kXrc || !p.has(kSend | kHasImm)) return true;
  const SrqEntry* const srq = named_srq(p);
  if (srq == nullptr) return false;
  p.queue = srq->queue;
  p.cq = srq->cq;
  return p.takes_wqe || p.has(kTakesWqe) || p.queue == qp.message_queue;
}

void Responder::take(CheckedPacket& p) {
  ResponderContext& qp = *p.qp;
  const bool starts = starts_message(p);
  if (starts) begin_message(p);
  p.outcome = Outcome::kExecute;
  p.acknowledge = p.h.ack_request && qp.transport != Transport::kUc;  // (R8)
  p.answer_psn = p.h.psn;
  p.message_sequence = qp.messages;
  p.message_start = qp.message_start;
  p.takes_wqe = p.takes_wqe || p.has(kTakesWqe);
  p.cqe_opcode = p.op().received;
  p.ends_message = p.has(kLast | kOnly);
  if (p.has(kSaved)) {
    take_read_or_atomic(p);
  } else {
    qp.message_bytes += p.h.payload_bytes;
    qp.expected_psn = p.h.psn + 1;
  }
  p.message_bytes = qp.message_bytes;
  if (p.has(kWrite)) take_write(p, starts);
  if (p.has(kSend)) {
    p.completes = p.ends_message;
    if (!p.ends_message) qp.message = MessageKind::kSend;
    if (p.takes_wqe) {
      qp.message_queue = p.queue;
      qp.message_cq = p.cq;
    }
  }
  if (p.completes) {
    if (p.h.solicited) p.cqe_flags |= kCqeSolicited;
    if (p.has(kHasImm)) p.cqe_flags |= kCqeImmediate;
    if (p.has(kHasIeth)) p.cqe_flags |= kCqeInvalidated;
    if (p.h.checksums_ok) p.cqe_flags |= kCqeChecksumsOk;
  }
  if (p.ends_message) {
    qp.message = MessageKind::kNone;
    qp.msn = (qp.msn + 1) & k24Bits;  // (R7)
  }
  p.answer_msn = qp.msn;
}

void Responder::take_write(CheckedPacket& p, bool starts) {
  ResponderContext& qp = *p.qp;
  p.completes = p.has(kHasImm);
  if (qp.message == MessageKind::kSkip && !starts) {  // (R11)
    p.payload_bytes = 0;
    return;
  }
  if (starts) {
    qp.write_va = p.h.va;
    qp.write_rkey = p.h.rkey;
    qp.write_left = p.h.length;
  }
  p.local_va = qp.write_va;
  p.local_key = qp.write_rkey;
  p.local_bytes = starts ? p.h.length : p.h.payload_bytes;
  p.access = kRemoteWrite;
  qp.write_va += p.h.payload_bytes;
  qp.write_left -= p.h.payload_bytes;
  if (!p.ends_message) qp.message = MessageKind::kWrite;
}

void Responder::take_read_or_atomic(CheckedPacket& p) {  // (R7) (R8)
  ResponderContext& qp = *p.qp;
  const bool atomic = p.has(kAtomic);
  ResponderResource r;
  r.operation = p.op().operation;
  r.first_psn = p.h.psn;
  r.bytes = atomic ? kAtomicBytes : p.h.length;
  r.psn_count = p.has(kRead) ? packets_of(p.h.length, qp.mtu) : 1;
  r.va = p.h.va;
  r.rkey = p.h.rkey;
  p.resource = resources_.add(qp.qpn, r);
  p.acknowledge = true;
  p.local_va = r.va;
  p.local_key = r.rkey;
  p.local_bytes = r.bytes;
  p.access = p.op().access;
  qp.message_bytes = r.bytes;
  qp.expected_psn = p.h.psn + r.psn_count;
}

void Responder::apply(const Refusal& refusal, ResponderContext& qp, const ResponderUndo& before) {  // (R12)
  if (refusal.kind != RefusalKind::kNotReady) {
    fail_for_good(qp);
    if (refusal.kind != RefusalKind::kRequestError) return;
    qp.request_failed = true;
    qp.failed_request = refusal.request;
    return;
  }
  ++qp.epoch;
  qp.expected_psn = before.expected_psn;
  qp.msn = before.msn;
  qp.message = before.message;
  qp.message_start = before.message_start;
  qp.message_bytes = before.message_bytes;
  qp.write_va = before.write_va;
  qp.write_rkey = before.write_rkey;
  qp.write_left = before.write_left;
  qp.nak_sent = true;
  if (!qp.own_error) return;
  --counters_.invalid_requests;
  qp.state = qp.state_before_error;
  qp.own_error = false;
}

void Responder::refuse(CheckedPacket& p) {
  ResponderContext& qp = *p.qp;
  ++counters_.invalid_requests;
  if (p.undo.message == MessageKind::kSend) {  // it completes the WQE that the message holds
    p.queue = qp.message_queue;
    p.cq = qp.message_cq;
  }
  mark_failed(p, DropReason::kInvalidRequest, kNakInvalidRequest, WcStatus::kRemoteInvalidRequest);
  qp.state_before_error = qp.state;
  qp.own_error = true;
  qp.state = QpState::kError;
}

void Responder::drop(CheckedPacket& p, DropReason reason) {
  p.fail(reason, Outcome::kDrop, 0, WcStatus::kSuccess);
  p.acknowledge = false;
}

}  // namespace rxnic
