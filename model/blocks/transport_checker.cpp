// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/transport_checker.h"

#include "model/core/responder/header_check.h"
#include "model/core/tag_matching/tag_headers.h"

namespace rxnic {

TransportChecker::TransportChecker(const sc_core::sc_module_name& name, const TransportCheckerParams& params,
                                   PacketPool& packets, Ledger& ledger, QpContextPort<ResponderContext> contexts,
                                   const TransportCheckerSizes& sizes)
    : TransportCheckerPorts(name),
      params_(params),
      most_srqs_(sizes.srqs),
      packets_(packets),
      ledger_(ledger),
      stamps_(packets),
      contexts_(contexts),
      resources_(params.responder_resources),
      responder_(resources_, srqs_, params.rd_atomic_over_limit),
      requests_table_({params.own_requests, sizes.qps}),
      pipeline_(params.latency_cycles),  // one entry a stage: internal packets may enter in every cycle
      recent_(params.latency_cycles) {
  for (std::size_t n = 0; n < kRefusers; ++n) refusals[n].show_in(inputs_, bit_of(n));
  requests.show_in(inputs_, kRequests);
  srqs.show_in(inputs_, kSrqs);
  commands.show_in(inputs_, kCommands);
}

void TransportChecker::take_notices(Cycle now) {
  for (auto& refused : refusals) {
    for (; refused.can_pop(now); refused.pop(now)) {
      const Refusal& r = *refused.peek(now);
      ResponderUndo undo;
      if (r.kind == RefusalKind::kNotReady) undo = undo_[raw(r.buffer)];
      responder_.apply(r, contexts_[r.line], undo);  // (R10)
      contexts_.set_dirty(r.line);
    }
  }
  while (requests.can_pop(now)) requests_table_.add(requests.pop(now));
  if (srqs.can_pop(now)) change_srqs(now);
}

Cycle TransportChecker::step(Cycle now) {
  bool blocked = false;
  // (1) refusals of later blocks; notices of our own requests; an SRQ command
  if ((inputs_ & kNotices) != 0) take_notices(now);
  // (2) packets whose latency has passed leave, in order
  if (pipeline_.ready(now)) {
    const WqeRequest& p = pipeline_.front();
    auto& out = way_out(p);
    if (out.can_push(now)) {
      stamps_.stamp(p.buffer, Station::kTransportChecker, now);
      out.push(now, p);
      pipeline_.drop();
    } else {
      blocked = true;
    }
  }
  // (3) a command; accept a packet
  if ((inputs_ & kCommands) != 0 && commands.can_pop(now)) carry_out_command(now);
  no_room_for_notice_ = false;
  if (now >= next_accept_ && in.can_pop(now) && !pipeline_.full()) accept(now);
  in.listen(!pipeline_.full());
  // (4) places for requests are given back
  give_back_places(now);
  // (5) rest
  Cycle next = places_freed_ > 0 ? now + 1 : kNever;
  if (!pipeline_.full()) next = earliest(next, latest(next_accept_, in.next(now)));
  if (blocked) return rest(now, Activity::kBlocked, next);
  const Cycle due = pipeline_.empty() ? kNever : latest(pipeline_.next_ready(), now + 1);
  if (no_room_for_notice_) return rest(now, Activity::kBlocked, earliest(next, due));
  if (now < stalled_until_) return rest(now, Activity::kWaitHazard, earliest(next, due));
  const Cycle busy_until = latest(last_leaves_, next_accept_);
  if (!pipeline_.empty()) {
    if (way_out(pipeline_.front()).full()) return rest(now, Activity::kBusy, due, Activity::kBlocked, next);
    return rest(now, Activity::kBusy, earliest(next, due));
  }
  if (now < busy_until) return rest(now, Activity::kBusy, busy_until, Activity::kStarved, next);
  return rest(now, Activity::kStarved, next);
}

void TransportChecker::send(WqeRequest& p, Cycle now) {  // (R1)
  const Cycle leaves = now + params_.latency_cycles;
  auto& out = way_out(p);
  if (&out == &to_cam && begins_tagged_message(p)) {  // (R4)
    read_tag_headers(p, packets_[p.buffer].frame.data() + p.payload_offset);
  }
  if (!pipeline_.empty() || !out.can_send(now, leaves)) {
    pipeline_.push(p, leaves);
    return;
  }
  stamps_.stamp(p.buffer, Station::kTransportChecker, leaves);
  out.send(now, leaves, p, [](WqeRequest&) {});
  last_leaves_ = leaves;
}

inline void TransportChecker::give_back_places(Cycle now) {  // (R6)
  const std::uint32_t freed = requests_table_.take_freed();
  if (!places.bound()) return;
  places_freed_ += freed;
  if (places_freed_ == 0 || !places.can_push(now)) return;
  places.push(now, {places_freed_});
  places_freed_ = 0;
}

bool TransportChecker::add_srq(Srqn srqn, const SrqEntry& entry) {  // (R11)
  if (!srqs_.contains(raw(srqn)) && srqs_.size() >= most_srqs_) return false;
  srqs_[raw(srqn)] = entry;
  return true;
}

// Whether a packet waits for one of the same QP. (R13)
bool TransportChecker::stalls(std::uint32_t line, Cycle now) {
  while (recent_.ready(now)) recent_.drop();
  for (std::uint32_t n = recent_.size(); n-- > 0;) {
    if (recent_.at(n) != line) continue;
    next_accept_ = stalled_until_ = recent_.ready_at(n);
    ++counters_.hazard_stalls;
    return true;
  }
  return false;
}

inline void TransportChecker::taken(std::uint32_t line, Cycle now) {
  next_accept_ = now + params_.cycles_per_packet;
  if (params_.hazard == CheckHazard::kStall) recent_.push(line, now + params_.latency_cycles);
}

inline void TransportChecker::accept(Cycle now) {
  const ContextPacket& arrived = *in.peek(now);
  if (params_.hazard == CheckHazard::kStall && stalls(arrived.line, now)) return;
  CheckedPacket p = examine(arrived, contexts_[arrived.line]);
  if (arrived.is_completion) {
    take_completion(p, arrived.completion, now);
    in.drop(now);
    taken(p.line, now);
    return;
  }
  const DropReason reason = check_headers(p, *p.qp);
  const bool notifies = reason == DropReason::kNone && p.has(kResponse | kIsCnp) && answers.bound();
  if (notifies && !answers.can_push(now)) {
    no_room_for_notice_ = true;
    return;
  }
  if (reason != DropReason::kNone || p.has(kIsCnp)) {  // (R3, R7)
    ++counters_.packets;
    counters_.cnps += reason == DropReason::kNone;
    if (notifies) answers.push(now, {p.qp->qpn, p.h.psn, AnswerKind::kCnp, 0});
    in.drop(now);
    ledger_.drop(p.buffer, reason, now, p.line);
    taken(p.line, now);
    return;
  }
  if (goes_first(p, now)) {
    next_accept_ = now + 1;
    return;
  }
  in.drop(now);
  stamps_.stamp_taken(p.buffer, Station::kTransportChecker, now);
  ++counters_.packets;
  decide(p, now);
  taken(p.line, now);
}

inline void TransportChecker::decide(CheckedPacket& p, Cycle now) {
  contexts_.set_dirty(p.line);
  if (p.has(kResponse)) {
    ++counters_.answers;
    admit(p);
    const auto notice = requests_table_.check_answer(p);
    if (notice && answers.bound()) answers.push(now, *notice);  // (R8)
  } else {
    ++counters_.requests;
    responder_.check(p);
    if (p.missing_psns != 0) notify({QpEventKind::kGap, raw(p.qpn), p.missing_psns, p.id}, now);
    if (raw(p.buffer) >= undo_.size()) undo_.resize(std::size_t{raw(p.buffer)} * 2 + 1);
    undo_[raw(p.buffer)] = p.undo;
  }
  if (p.outcome == Outcome::kDrop && !p.completes) {  // (R3)
    ledger_.drop(p.buffer, p.drop_reason, now, p.line);
    return;
  }
  send(p, now);
}

void TransportChecker::take_completion(CheckedPacket& p, const SendCompletion& completion, Cycle now) {  // (R9)
  describe_qp(p, *p.qp);
  p.role = PacketRole::kSendCompletion;
  p.outcome = Outcome::kExecute;
  p.ends_message = true;
  p.status = completion.status;
  p.cqe_opcode = completion.opcode;
  p.wqe_index = completion.wqe_index;
  p.rendezvous = completion.rendezvous;
  p.byte_count = completion.bytes;
  p.message_bytes = completion.bytes;
  p.message_sequence = completion.wqe;
  p.message_start = completion.sent.count;
  p.cq = p.qp->send_cq;
  p.completes = requests_table_.accept_completion(p);
  const bool fails = is_reliable(p.transport) && p.status != WcStatus::kSuccess && p.status != WcStatus::kFlushed;
  if (fails) {
    fail_for_good(*p.qp);
    contexts_.set_dirty(p.line);
  }
  if (!p.completes && !fails) {
    contexts_.unpin(p.line, now);
    return;
  }
  counters_.completions += p.completes;
  send(p, now);
}

// Work that comes before the packet takes a cycle of its own: an internal packet completes a request of ours or a
// truncated message. True when there was some.
bool TransportChecker::goes_first(CheckedPacket& p, Cycle now) {
  return p.has(kResponse) ? complete_requests(p, now) : complete_truncated(p, now);
}

WqeRequest TransportChecker::internal_packet(const CheckedPacket& cause, PacketRole role) {
  WqeRequest p;
  describe_qp(p, *cause.qp);
  p.role = role;
  p.line = cause.line;
  p.residence = cause.residence;
  contexts_.pin(p.line);
  p.outcome = Outcome::kExecute;
  p.completes = true;
  p.ends_message = true;
  p.message_start = cause.h.arrived.count;
  return p;
}

bool TransportChecker::complete_requests(CheckedPacket& answer, Cycle now) {  // (R5)
  RequestNotice completed;
  do {
    if (!requests_table_.take_completed(answer, completed)) return false;
  } while (!completed.signaled);
  WqeRequest p = internal_packet(answer, PacketRole::kSendCompletion);
  p.cq = answer.qp->send_cq;
  p.cqe_opcode = completed.opcode;
  p.message_sequence = completed.wqe;
  p.wqe_index = completed.wqe_index;
  p.rendezvous = completed.rendezvous;
  p.byte_count = completed.bytes;
  p.message_bytes = completed.bytes;
  ++counters_.completions;
  send(p, now);
  return true;
}

inline bool TransportChecker::complete_truncated(CheckedPacket& next, Cycle now) {
  if (!responder_.abandons_message(next)) return false;
  ResponderContext& qp = *next.qp;
  if (qp.message == MessageKind::kSend) {
    WqeRequest p = internal_packet(next, PacketRole::kTruncated);
    p.cq = qp.message_cq;
    p.queue = qp.message_queue;
    p.message_start = qp.message_start;
    p.message_bytes = qp.message_bytes;
    send(p, now);
  }
  responder_.abandon_message(qp);
  contexts_.set_dirty(next.line);
  return true;
}

void TransportChecker::hash(StateHash& h) const {
  h.mix(counters_);
  h.mix(responder_counters());
  h.mix(request_counters());
  ledger_.hash(h);
}

}  // namespace rxnic
