// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/transport_checker.h"

#include "model/core/responder/header_check.h"

namespace rxnic {

TransportChecker::TransportChecker(const sc_core::sc_module_name& name, const TransportCheckerParams& params,
                                   NicShared& shared)
    : Block(name),
      params_(params),
      shared_(shared),
      responder_(resources_, srqs_),
      pipeline_(params.latency_cycles) {}  // one place a stage: internal packets enter in every cycle

Cycle TransportChecker::step(Cycle now) {
  bool blocked = false;
  // (1) what was refused behind; notices of our own requests
  for (auto& refused : refusals) {
    for (; refused.can_pop(now); refused.pop(now)) {
      const Refusal& r = *refused.peek(now);
      responder_.apply(r);  // (R10)
      r.qp->pins.remove(now);
    }
  }
  while (requests.can_pop(now)) requests_table_.add(requests.pop(now));
  // (2) packets whose latency has passed leave, in order
  if (pipeline_.ready(now)) {
    const PacketHandle h = pipeline_.front();
    Packet& p = shared_.packets[h];
    auto& out = way_out(h);
    if (out.can_push(now)) {
      p.stamp(Station::kTransportChecker, now);
      out.push(now, h);
      pipeline_.pop();
    } else {
      blocked = true;
    }
  }
  // (3) accept a packet
  no_internal_packet_ = false;
  if (now >= next_accept_ && in.can_pop(now) && !pipeline_.full()) accept(now);
  in.listen(!pipeline_.full());
  // (4) rest
  Cycle next = kNever;
  if (!in.empty() && !pipeline_.full()) next = latest(next_accept_, now + 1);
  if (blocked) return rest(now, Activity::kBlocked, next);
  const Cycle due = pipeline_.empty() ? kNever : latest(pipeline_.next_ready(), now + 1);
  if (no_internal_packet_) return rest(now, Activity::kBlocked, earliest(next, due));
  if (!pipeline_.empty()) {
    if (way_out(pipeline_.front()).full()) return rest(now, Activity::kBusy, due, Activity::kBlocked, next);
    return rest(now, Activity::kBusy, earliest(next, due));
  }
  if (now < next_accept_) return rest(now, Activity::kBusy, next_accept_, Activity::kStarved, next);
  return rest(now, Activity::kStarved, next);
}

void TransportChecker::accept(Cycle now) {
  const PacketHandle h = *in.peek(now);
  Packet& p = shared_.packets[h];
  if (p.role == PacketRole::kSendCompletion) {
    in.pop(now);
    take_completion(h, now);
    next_accept_ = now + params_.cycles_per_packet;
    return;
  }
  const DropReason reason = check_headers(p, *p.qp);
  if (reason != DropReason::kNone) {  // (R3)
    ++counters_.packets;
    in.pop(now);
    shared_.ledger.drop(h, reason, now);
    next_accept_ = now + params_.cycles_per_packet;
    return;
  }
  if (p.has(kIsCnp)) {  // (R7)
    ++counters_.packets;
    ++counters_.cnps;
    in.pop(now);
    shared_.ledger.retire(p, now);
    shared_.packets.release(h);
    next_accept_ = now + params_.cycles_per_packet;
    return;
  }
  if (p.has(kResponse) && answers.bound() && !answers.can_push(now)) {
    no_internal_packet_ = true;
    return;
  }
  if (goes_first(p, now)) {
    next_accept_ = now + 1;
    return;
  }
  in.pop(now);
  ++counters_.packets;
  decide(h, now);
  next_accept_ = now + params_.cycles_per_packet;
}

void TransportChecker::decide(PacketHandle h, Cycle now) {
  Packet& p = shared_.packets[h];
  if (p.has(kResponse)) {
    ++counters_.answers;
    admit(p);
    const auto notice = requests_table_.check_answer(p);
    if (notice && answers.bound()) answers.push(now, *notice);  // (R8)
  } else {
    ++counters_.requests;
    responder_.check(p);
  }
  if (p.outcome == Outcome::kDrop && !p.completes) {  // (R3)
    shared_.ledger.drop(h, p.drop_reason, now);
    return;
  }
  pipeline_.push(h, now + params_.latency_cycles);
}

void TransportChecker::take_completion(PacketHandle h, Cycle now) {  // (R9)
  Packet& p = shared_.packets[h];
  p.cq = p.qp->send_cq;
  p.completes = requests_table_.accept_completion(p);
  const bool fails = p.status != WcStatus::kSuccess && p.status != WcStatus::kFlushed;
  if (fails) fail_for_good(*p.qp);
  if (!p.completes && !fails) {
    shared_.ledger.retire(p, now);
    shared_.packets.release(h);
    return;
  }
  counters_.completions += p.completes;
  pipeline_.push(h, now + params_.latency_cycles);
}

// An internal packet that completes something goes first, in a cycle of its own.
bool TransportChecker::goes_first(Packet& p, Cycle now) {
  return p.has(kResponse) ? complete_requests(p, now) : complete_truncated(p, now);
}

PacketHandle TransportChecker::internal_packet(const Packet& cause, PacketRole role) {
  const PacketHandle h = shared_.packets.allocate(PacketClass::kTransportChecker);
  Packet& p = shared_.packets[h];
  p.role = role;
  p.qp = cause.qp;
  p.qp->pins.add();
  p.outcome = Outcome::kExecute;
  p.completes = true;
  p.ends_message = true;
  p.stamps = cause.stamps;
  p.message_start = p.stamped(Station::kWire).count;
  return h;
}

bool TransportChecker::complete_requests(Packet& answer, Cycle now) {  // (R5)
  while (!completing_) {
    if (!requests_table_.take_completed(answer, completed_)) return false;
    completing_ = completed_.signaled;
  }
  if (!shared_.packets.available(PacketClass::kTransportChecker)) return no_internal_packet_ = true;
  completing_ = false;
  const PacketHandle h = internal_packet(answer, PacketRole::kSendCompletion);
  Packet& p = shared_.packets[h];
  p.cq = p.qp->send_cq;
  p.cqe_opcode = completed_.opcode;
  p.message_sequence = completed_.wqe;
  p.wqe_index = completed_.wqe_index;
  p.byte_count = completed_.bytes;
  p.message_bytes = completed_.bytes;
  ++counters_.completions;
  pipeline_.push(h, now + params_.latency_cycles);
  return true;
}

bool TransportChecker::complete_truncated(Packet& next, Cycle now) {
  if (!responder_.abandons_message(next)) return false;
  QpContext& qp = *next.qp;
  if (qp.message == MessageKind::kSend) {
    if (!shared_.packets.available(PacketClass::kTransportChecker)) return no_internal_packet_ = true;
    const PacketHandle h = internal_packet(next, PacketRole::kTruncated);
    Packet& p = shared_.packets[h];
    p.cq = qp.message_cq;
    p.queue = qp.message_queue;
    p.message_start = qp.message_start;
    p.message_bytes = qp.message_bytes;
    pipeline_.push(h, now + params_.latency_cycles);
  }
  responder_.abandon_message(qp);
  return true;
}

void TransportChecker::hash(StateHash& h) const {
  h.mix(counters_);
  h.mix(responder_counters());
  h.mix(request_counters());
  shared_.ledger.hash(h);
}

}  // namespace rxnic
