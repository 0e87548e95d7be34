// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/ack_generator.h"

#include <algorithm>

#include "model/types/syndrome.h"

namespace rxnic {

AckGenerator::AckGenerator(const sc_core::sc_module_name& name, const AckGeneratorParams& params, PacketPool& packets,
                           Ledger& ledger, QpPinPort contexts, std::uint32_t clock_period_ps,
                           RdAtomicOverLimit over_limit, std::unique_ptr<ReadScheduler> scheduler)
    : AckGeneratorPorts(name),
      params_(params),
      over_limit_(over_limit),
      packets_(packets),
      ledger_(ledger),
      stamps_(packets),
      contexts_(contexts),
      hold_cycles_(cycles_in(params.coalesce_timer_ps, clock_period_ps)),
      answers_(params.queue_depth + params.answers_waiting),
      atomic_requests_(answers_.room()),
      atomic_regions_(answers_.room()),
      failed_(contexts_.lines()),
      scheduler_(std::move(scheduler)),
      served_(params.reads_in_progress),
      unserved_(2 * answers_.room()),
      atomics_(answers_.room()),
      buckets_(params.atomic_buckets),
      next_in_bucket_(answers_.room()),
      ready_(answers_.room()),
      cnp_pacer_(params.cnp_scope, params.cnp_timers, cycles_in(params.cnp_interval_ps, clock_period_ps)),
      cnps_(params.cnp_depth),
      on_their_way_(params.read_responses_in_flight),
      data_ready_(params.read_responses_in_flight),
      line_(params.latency_cycles),
      paths_(kPaths) {
  gathered.show_in(inputs_, kGathered);
  dma_done.show_in(inputs_, kAtomicDone);
  held_.reserve(params.queue_depth);
  for (std::uint32_t n = params.read_responses_in_flight; n-- > 0;) free_ways_.push_back(n);
}

Cycle AckGenerator::step(Cycle now) {
  // (1) a built response leaves
  bool refused = false;
  if (line_.ready(now)) {
    refused = !tx.can_push(now);
    if (!refused) tx.push(now, line_.pop());
  }
  // (2) READ data has come, an atomic has been carried out
  if ((inputs_ & kFromMemory) != 0) take_from_memory(now);
  // (3) ACKs that were held long enough become ready
  while (!held_.empty() && answers_.flow(held_.front()).held_until <= now) unhold(held_.front());
  // (4) a packet retires
  const bool stalled = in.can_pop(now) && !take(now);
  // (5) READ data and atomics are asked for
  wants_buffer_ = false;
  if (may_do_atomic() || !served_.empty() || next_piece_ < pieces_.size()) issue(now);
  // (6) the builder starts a response
  if (!ready_.empty() || !cnps_.empty() || !data_ready_.empty()) start_build(now);
  // (7) a QP that failed is reported
  refused_.report(refusals, now);
  if (!failed_.empty() && failures.can_push(now)) {
    failures.push(now, failed_.pop());
  }
  // (8) a command
  if (commands.can_pop(now)) carry_out_command(now);
  // (9) rest
  const Activity activity = activity_now(now, refused, stalled);
  const Cycle next = next_step(now, refused, stalled);
  if (activity == Activity::kBusy && line_.empty() && ready_.empty() && cnps_.empty()) {
    return rest(now, activity, busy_until(), idle_activity(), next);
  }
  return rest(now, activity, next);
}

void AckGenerator::take_from_memory(Cycle now) {
  while (gathered.can_pop(now)) take_data(now);
  if (dma_done.can_pop(now)) finish_atomic(now);
}

Activity AckGenerator::activity_now(Cycle now, bool refused, bool stalled) const {
  if (refused) return Activity::kBlocked;
  if (stalled || wants_buffer_) return Activity::kWaitResponse;
  if (!line_.empty() || !ready_.empty() || !cnps_.empty() || now < busy_until()) return Activity::kBusy;
  return idle_activity();
}

Activity AckGenerator::idle_activity() const {
  if (atomics_waiting_ > 0 || !atomics_.empty()) return Activity::kWaitAtomic;
  return waiting_ > 0 ? Activity::kWaitDmaData : Activity::kStarved;
}

inline Cycle AckGenerator::next_step(Cycle now, bool refused, bool stalled) {
  Cycle next = kNever;
  const auto at = [&](Cycle c) { next = earliest(next, latest(c, now + 1)); };
  if (!refused) at(line_.next_ready());
  if (!line_.full() && (!ready_.empty() || !cnps_.empty() || !data_ready_.empty())) at(next_start_);
  if (!held_.empty()) at(answers_.flow(held_.front()).held_until);
  if ((inputs_ & kAtomicDone) != 0) at(now);
  if (may_do_atomic() && dma.can_push(now)) at(now);
  const bool asks = next_piece_ < pieces_.size() || (!served_.empty() && !free_ways_.empty());
  if (asks && gather.can_push(now)) at(now);
  if (!failed_.empty() && failures.can_push(now)) at(now);
  if (!(stalled && !has_room(*in.peek(now)))) at(in.next(now));
  return next;
}

bool AckGenerator::has_room(const AckRequest& p) const {  // (R1)
  if (!p.acknowledge) return true;
  const Index flow = p.line == kNoLine ? kNone : answers_.find(raw(p.qpn));
  const bool waits = p.has(kSaved) || (flow != kNone && answers_.flow(flow).first != kNone);
  return waits ? waiting_ < params_.answers_waiting : ready_plain_ < params_.queue_depth;
}

// False: the packet must wait for room.
inline bool AckGenerator::take(Cycle now) {  // (R1)
  AckRequest& p = *in.peek(now);
  if (!has_room(p)) return false;
  ++counters_.packets;
  stamps_.stamp(p.buffer, Station::kAckGenerator, now);
  if (refused_.refuses(p)) {  // (R7) it has been carried out and completed: only its response is not sent
    counters_.suppressed += p.acknowledge;
    p.acknowledge = false;
  }
  if (p.acknowledge && p.line != kNoLine && p.role == PacketRole::kReceived && p.has(kRequest)) answer(p, now);
  if (p.congested) notify_congestion(p, now);
  ledger_.retire(p, now);
  in.drop(now);
  return true;
}

// The way back to the sender, taken from the request's frame.
const ReturnPath& AckGenerator::return_path(const AckRequest& p) {
  const Packet& buffer = packets_[p.buffer];
  std::unique_ptr<ReturnPath>& kept = paths_[raw(p.qpn) % kPaths];
  if (kept == nullptr) kept = std::make_unique<ReturnPath>();
  ReturnPath& path = *kept;
  if (!path.is_of(buffer.frame_view(), buffer.link, p.remote_qpn)) {
    Headers h;
    parse(buffer.frame_view(), buffer.link, h);
    path.remember(buffer.frame_view(), h, p.remote_qpn);
  }
  return path;
}

// Fills in the response to the packet.
void AckGenerator::owe(const AckRequest& p, OwedAnswer& a) {
  const bool nak = p.outcome == Outcome::kNak;
  const ReturnPath& path = return_path(p);
  static_cast<AnswerState&>(a) = {};
  a.id = p.id;
  a.begun = Cycle{p.message_start};
  a.pd = p.pd;
  a.msn_before = p.msn_before;
  a.qpn = p.qpn;
  a.replay = p.outcome == Outcome::kReplay;
  a.counted = !nak && !a.replay && p.has(kSaved);
  a.resource = p.resource;
  a.syndrome = nak ? p.syndrome : ack_syndrome(p);
  counters_.replays += a.replay;
  if (nak || !p.has(kSaved)) {
    a.gives_way = !nak;
    a.destination = path.headers().destination;
    if (path.knows_ack()) {
      path.write_ack(p.answer_psn, a.syndrome, p.answer_msn, a.ack);
      return;
    }
  }
  a.ack.bytes = 0;
  a.h = path.headers();
  a.h.psn = p.answer_psn;
  a.h.msn = p.answer_msn;
  a.h.syndrome = a.syndrome;
  if (nak) return;
  a.h.opcode = answer_opcode(p.opcode, p.op().answer);
  if (p.has(kRead)) {
    ++counters_.reads;
    if (p.local_bytes > 0) a.needs = AnswerNeeds::kRead;
    a.read = {p.local_va, p.local_key, p.local_bytes, p.mtu, p.answer_psn, false};
  } else if (p.has(kAtomic) || (p.has(kFlushes) && p.local_bytes > 0)) {
    a.needs = AnswerNeeds::kAtomic;
  }
}

inline void AckGenerator::answer(const AckRequest& p, Cycle now) {
  const Index flow = answers_.find(raw(p.qpn));
  const bool waits = flow != kNone && answers_.flow(flow).first != kNone;
  const bool gives_way = p.outcome != Outcome::kNak && !p.has(kSaved);
  if (waits && gives_way && answers_[answers_.flow(flow).last].gives_way) {  // (R3)
    ++counters_.coalesced;
    owe(p, answers_[answers_.flow(flow).last]);
    return;
  }
  const Index at = answers_.add();
  OwedAnswer& a = answers_[at];
  owe(p, a);
  const bool plain = a.needs == AnswerNeeds::kNothing;
  const bool may_be_held = gives_way && p.outcome == Outcome::kExecute;
  const bool refused = waits && p.has(kSaved) && refuses(p, answers_.flow(flow));
  if (!plain || refused) {
    a.line = p.line;
    a.residence = p.residence;
    contexts_.pin(a.line);
  }
  if (refused) {
    make_nak(a, kNakInvalidRequest);
    a.done = true;
    a.needs = AnswerNeeds::kAtomic;  // so that the NAK waits in its place
  } else if (a.needs == AnswerNeeds::kAtomic) {
    prepare_atomic(p, at);
  }
  if (may_be_held && !waits && params_.coalesce_packets > 1) {
    ++ready_plain_;
    hold(answers_.find_or_make(raw(p.qpn)), at, now);
    return;
  }
  if (flow != kNone && answers_.flow(flow).held != kNone) unhold(flow);  // (R6)
  if (plain && !waits) {
    ++ready_plain_;
    make_ready(at, true);
  } else {
    append(answers_.find_or_make(raw(p.qpn)), at, now);
  }
}

// Whether a READ or an atomic is beyond what its QP may have unanswered. (R3)
bool AckGenerator::refuses(const AckRequest& p, const AnswerTable::Flow& waiting) {
  const QpAttributes& qp = contexts_.attributes(p.line);
  const bool over_limit = p.outcome == Outcome::kExecute && waiting.counted >= qp.max_dest_rd_atomic;
  const bool too_many = waiting.count >= params_.answers_per_qp;
  counters_.over_limit += over_limit;
  counters_.too_many += too_many;
  return too_many || (over_limit && over_limit_ == RdAtomicOverLimit::kNak && !qp.resynchronise);
}

void AckGenerator::hold(Index flow, Index answer, Cycle now) {  // (R6)
  AnswerTable::Flow& f = answers_.flow(flow);
  if (f.held == kNone) {
    if (held_.size() >= params_.queue_depth / 2) {
      make_ready(answer, true);
      answers_.free_if_empty(flow);
      return;
    }
    f.held_requests = 0;
    f.held_until = now + hold_cycles_;
    held_.push_back(flow);
  } else {
    ++counters_.coalesced;
    --ready_plain_;
    answers_.remove(f.held);
  }
  f.held = answer;
  if (++f.held_requests >= params_.coalesce_packets) unhold(flow);
}

void AckGenerator::unhold(Index flow) {
  AnswerTable::Flow& f = answers_.flow(flow);
  make_ready(f.held, true);
  f.held = kNone;
  held_.erase(std::find(held_.begin(), held_.end(), flow));
  answers_.free_if_empty(flow);
}

void AckGenerator::append(Index flow, Index answer, Cycle now) {
  answers_.append(flow, answer);
  ++waiting_;
  advance(flow, now);
}

// Moves on the responses of the flow that need not wait any more. (R3)
void AckGenerator::advance(Index flow, Cycle now) {
  AnswerTable::Flow& f = answers_.flow(flow);
  while (f.first != kNone) {
    OwedAnswer& a = answers_[f.first];
    if (a.needs == AnswerNeeds::kRead) {
      if (a.read.bytes_left > 0 || a.on_their_way > 0) break;
      discard(answers_.take_first(flow), now);
    } else if (a.failed && !a.issued) {
      ++counters_.suppressed;
      discard(answers_.take_first(flow), now);
    } else if (a.needs == AnswerNeeds::kNothing || a.done) {
      const Index at = answers_.take_first(flow);
      --waiting_;
      if (a.line != kNoLine) contexts_.unpin(a.line, now);
      make_ready(at, false);
    } else if (a.issued) {
      break;
    } else if (a.replay) {  // (R5)
      const AtomicResult& saved = results_[a.resource];
      a.done = saved.done && saved.qpn == a.qpn && saved.psn == a.h.psn;
      a.failed = !a.done;
      a.h.original = saved.original;
    } else {
      a.issued = true;
      enter_bucket(f.first);
      break;
    }
  }
  if (!f.listed && readable(f) != kNone) {
    f.listed = true;
    f.turns = 0;
    if (served_.size() + at_limit_ >= params_.reads_in_progress) {
      unserved_.push(flow, Cycle{});
    } else {
      served_.push(flow, Cycle{});
    }
  }
  answers_.free_if_empty(flow);
}

// Turns a response into a NAK and moves its QP to the error state. (R7)
void AckGenerator::make_nak(OwedAnswer& a, std::uint8_t syndrome) {
  a.h.opcode = answer_opcode(a.h.opcode, Operation::kAck);
  a.h.syndrome = syndrome;
  a.h.msn = a.msn_before;
  fail_qp(a, syndrome == kNakRemoteAccess     ? EventType::kQpAccessError
             : syndrome == kNakInvalidRequest ? EventType::kQpRequestError
                                              : EventType::kQpFatal);
}

// Moves the QP to the error state; neither this response nor one behind it is sent. (R7)
void AckGenerator::fail_silently(Index at) {
  fail_behind(at);
  fail_qp(answers_[at], EventType::kQpFatal);
}

void AckGenerator::fail_qp(const OwedAnswer& a, EventType event) {
  // Packets behind it have passed the other blocks: only their responses are not sent.
  refused_.fail_requests(a.line, a.residence);
  if (!failures.bound()) return;
  for (std::uint32_t n = 0; n < failed_.size(); ++n) {
    if (failed_.at(n).line == a.line) return;
  }
  contexts_.pin(a.line);
  failed_.push({a.line, event}, Cycle{});
}

void AckGenerator::fail_behind(Index at) {
  for (; at != kNone; at = answers_.next(at)) {
    OwedAnswer& a = answers_[at];
    a.failed = true;
    if (a.read.bytes_left > 0) counters_.suppressed += packets_of(a.read.bytes_left, a.read.mtu);
    a.read.bytes_left = 0;
  }
}

// Removes a response that was in a flow and is not to be sent.
void AckGenerator::discard(Index at, Cycle now) {
  --waiting_;
  if (answers_[at].line != kNoLine) contexts_.unpin(answers_[at].line, now);
  answers_.remove(at);
}

std::uint8_t AckGenerator::ack_syndrome(const AckRequest& p) const {
  const bool counted = params_.credits == AckCredits::kCounted && !p.uses_srq;
  return counted ? credit_code(p.posted_wqes) : kAckUnlimited;
}

void AckGenerator::hash(StateHash& h) const {
  h.mix(counters_);
  h.mix(std::uint64_t{waiting_} << 32 | ready_plain_);
  h.mix(std::uint64_t{cnps_.size()} << 32 | cnp_pacer_.timers_running());
  h.mix(next_start_.count);
}

}  // namespace rxnic
