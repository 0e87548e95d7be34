// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/ack_generator.h"

#include <algorithm>
#include <cstring>

#include "model/types/syndrome.h"

namespace rxnic {

namespace {

// What an atomic asks of memory. (R5)
DmaRequest atomic_request(const Packet& p) {
  DmaRequest r;
  r.address = p.segments[0].bus;
  r.bytes = kAtomicBytes;
  if (p.op().operation == Operation::kAtomicWrite) {
    r.kind = DmaKind::kSwap;
    std::memcpy(&r.operand, p.payload().data(), kAtomicBytes);
    return r;
  }
  r.kind = p.op().operation == Operation::kFetchAdd ? DmaKind::kFetchAdd : DmaKind::kCompareSwap;
  r.operand = p.h.swap_add;
  r.compare = p.h.compare;
  return r;
}

}  // namespace

AckGenerator::AckGenerator(const sc_core::sc_module_name& name, const AckGeneratorParams& params, NicShared& shared,
                           std::uint32_t clock_period_ps)
    : Block(name),
      params_(params),
      shared_(shared),
      hold_cycles_((std::uint64_t{params.coalesce_timer_ps} + clock_period_ps - 1) / clock_period_ps),
      answers_(params.queue_depth + params.answers_waiting),
      atomic_requests_(answers_.room()),
      atomic_regions_(answers_.room()),
      served_(params.reads_in_progress),
      unserved_(2 * answers_.room()),
      atomics_(answers_.room()),
      ready_(answers_.room()),
      on_their_way_(params.read_responses_in_flight),
      line_(params.latency_cycles) {
  held_.reserve(params.queue_depth);
}

Cycle AckGenerator::step(Cycle now) {
  // (1) a built answer leaves
  const bool refused = line_.ready(now) && !tx.can_push(now);
  if (line_.ready(now) && !refused) tx.push(now, line_.pop());
  // (2) an atomic was carried out
  if (dma_done.can_pop(now)) finish_atomic(now);
  // (3) ACKs that were held long enough
  while (!held_.empty() && answers_.flow(held_.front()).held_until <= now) unhold(held_.front());
  // (4) a packet retires
  const bool stalled = take(now);
  // (5) READ data and atomics are asked for
  wants_buffer_ = false;
  issue(now);
  // (6) the builder
  start_build(now);
  // (7) a QP that failed
  refused_.report(refusals, now);
  if (!failed_.empty() && failures.can_push(now)) {
    failures.push(now, failed_.front());
    failed_.erase(failed_.begin());
  }
  // (8) rest
  return rest(now, activity_now(now, refused, stalled), next_step(now, refused, stalled));
}

Activity AckGenerator::activity_now(Cycle now, bool refused, bool stalled) const {
  if (refused) return Activity::kBlocked;
  if (stalled || wants_buffer_) return Activity::kWaitResponse;
  if (!line_.empty() || !ready_.empty() || now < next_start_) return Activity::kBusy;
  return waiting_ > 0 ? Activity::kWaitDmaData : Activity::kStarved;
}

Cycle AckGenerator::next_step(Cycle now, bool refused, bool stalled) {
  Cycle next = kNever;
  const auto at = [&](Cycle c) { next = earliest(next, latest(c, now + 1)); };
  if (!refused) at(line_.next_ready());
  if (now < next_start_ && line_.empty() && ready_.empty()) at(next_start_);  // busy till then
  if (!line_.full() && (!ready_.empty() || !gathered.empty())) at(next_start_);
  if (!held_.empty()) at(answers_.flow(held_.front()).held_until);
  if (!dma_done.empty()) at(now);
  if (!atomics_.empty() && dma.can_push(now)) at(now);
  if (!served_.empty() && !on_their_way_.full() && gather.can_push(now)) at(now);
  if (!failed_.empty() && failures.can_push(now)) at(now);
  if (!in.empty() && !(stalled && !has_room(shared_.packets[*in.peek(now)]))) at(now);
  return next;
}

bool AckGenerator::has_room(const Packet& p) const {  // (R1)
  if (!p.acknowledge) return true;
  const Index flow = p.qp == nullptr ? kNone : answers_.find(raw(p.qp->qpn));
  const bool waits = p.has(kRead | kAtomic) || (flow != kNone && answers_.flow(flow).first != kNone);
  return waits ? waiting_ < params_.answers_waiting : ready_plain_ < params_.queue_depth;
}

// True when a packet must wait for room.
bool AckGenerator::take(Cycle now) {  // (R1)
  if (!in.can_pop(now)) return false;
  const PacketHandle h = *in.peek(now);
  Packet& p = shared_.packets[h];
  if (!has_room(p)) return true;
  in.pop(now);
  ++counters_.packets;
  p.stamp(Station::kAckGenerator, now);
  if (refused_.refuses(p)) {  // (R7) what it did is done and completed: only its answer is not sent
    counters_.suppressed += p.acknowledge;
    p.acknowledge = false;
  }
  if (p.acknowledge && p.qp != nullptr && p.role == PacketRole::kReceived && p.has(kRequest)) answer(p, now);
  shared_.ledger.retire(p, now);
  shared_.packets.release(h);
  return false;
}

// What the packet is to be answered with.
OwedAnswer AckGenerator::owed(const Packet& p) {
  const QpContext& qp = *p.qp;
  const bool nak = p.outcome == Outcome::kNak;
  OwedAnswer a;
  a.h = answer_headers(p.h, qp.remote_qpn);
  a.h.psn = p.answer_psn;
  a.h.msn = p.answer_msn;
  a.h.syndrome = nak ? p.syndrome : ack_syndrome(p);
  if (!nak) a.h.opcode = answer_opcode(p.h.opcode, p.op().answer);
  a.id = p.id;
  a.pd = p.pd;
  a.msn_before = p.undo.msn;
  a.replay = p.outcome == Outcome::kReplay;
  a.resource = p.resource;
  if (p.has(kRead) && !nak) {
    ++counters_.reads;
    if (p.h.length > 0) a.needs = AnswerNeeds::kRead;
    a.read = {p.h.va, p.h.rkey, p.h.length, qp.mtu, p.answer_psn, false};
  } else if (p.has(kAtomic) && !nak) {
    a.needs = AnswerNeeds::kAtomic;
  } else {
    a.gives_way = !nak;
  }
  counters_.replays += a.replay;
  return a;
}

void AckGenerator::answer(const Packet& p, Cycle now) {
  QpContext& qp = *p.qp;
  const Index flow = answers_.find(raw(qp.qpn));
  const bool waits = flow != kNone && answers_.flow(flow).first != kNone;
  OwedAnswer a = owed(p);
  const bool plain = a.needs == AnswerNeeds::kNothing;
  const bool may_be_held = a.gives_way && p.outcome == Outcome::kExecute;
  if (waits && a.gives_way && answers_[answers_.flow(flow).last].gives_way) {  // (R3)
    ++counters_.coalesced;
    answers_[answers_.flow(flow).last] = a;
    return;
  }
  if (!plain) {
    a.qp = &qp;
    qp.pins.add();
    if (waits && answers_.flow(flow).count >= params_.answers_per_qp) {  // (R3)
      ++counters_.too_many;
      a.failed = true;
    }
  }
  const bool too_many = a.failed;
  a.failed = false;
  const Index at = answers_.add(a);
  if (too_many) {
    make_nak(answers_[at], kNakInvalidRequest);
    answers_[at].done = true;
    answers_[at].needs = AnswerNeeds::kAtomic;  // a NAK in its place
  } else if (a.needs == AnswerNeeds::kAtomic) {
    if (!a.replay) {
      atomic_requests_[at] = atomic_request(p);
      atomic_regions_[at] = p.h.rkey;
    }
    if (a.resource >= results_.size()) results_.resize(std::size_t{a.resource} + 1);
  }
  if (may_be_held && !waits && params_.coalesce_packets > 1) {
    ++ready_plain_;
    hold(answers_.find_or_make(raw(qp.qpn)), at, now);
    return;
  }
  if (flow != kNone && answers_.flow(flow).held != kNone) unhold(flow);  // (R6)
  if (plain && !waits) {
    ++ready_plain_;
    make_ready(at, true);
  } else {
    append(answers_.find_or_make(raw(qp.qpn)), at, now);
  }
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

// Moves on what its QP no longer holds up. (R3)
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
      if (a.qp != nullptr) a.qp->pins.remove(now);
      make_ready(at, false);
    } else if (a.issued) {
      break;
    } else if (a.replay) {  // (R5)
      const AtomicResult& saved = results_[a.resource];
      a.done = saved.done && saved.psn == a.h.psn;
      a.failed = !a.done;
      a.h.original = saved.original;
    } else {
      a.issued = true;
      atomics_.push(f.first, Cycle{});
      break;
    }
  }
  if (!f.listed && readable(f) != kNone) {
    f.listed = true;
    f.turns = 0;
    if (served_.full()) {
      unserved_.push(flow, Cycle{});
    } else {
      served_.push(flow, Cycle{});
    }
  }
  answers_.free_if_empty(flow);
}

// The READ of the QP whose data is to be asked for next: those before it are READs asked for to their end.
AckGenerator::Index AckGenerator::readable(const AnswerTable::Flow& f) const {
  const auto is_read = [&](Index at) { return at != kNone && answers_[at].needs == AnswerNeeds::kRead; };
  Index at = f.first;
  while (is_read(at) && answers_[at].read.bytes_left == 0) at = answers_.next(at);
  return is_read(at) ? at : kNone;
}

void AckGenerator::issue(Cycle now) {
  if (!atomics_.empty() && dma.can_push(now)) {
    const Index at = atomics_.pop();
    DmaRequest& request = atomic_requests_[at];
    request.cookie = at;
    request.data = reinterpret_cast<std::uint8_t*>(&answers_[at].original);
    dma.push(now, request);
    ++counters_.atomics;
  }
  const auto leave = [&] {  // the flow at the front has nothing to ask for any more
    const Index flow = served_.pop();
    answers_.flow(flow).listed = false;
    answers_.free_if_empty(flow);
    if (!unserved_.empty()) served_.push(unserved_.pop(), Cycle{});
  };
  while (!served_.empty() && readable(answers_.flow(served_.front())) == kNone) leave();  // what failed meanwhile
  if (served_.empty() || on_their_way_.full() || !gather.can_push(now)) return;
  if (!shared_.packets.available(PacketClass::kResponse)) {
    wants_buffer_ = true;
    return;
  }
  const Index flow = served_.front();
  AnswerTable::Flow& f = answers_.flow(flow);
  issue_read(flow, readable(f), now);
  if (readable(f) == kNone) {
    leave();
  } else if (++f.turns >= params_.responses_per_turn) {  // (R4)
    f.turns = 0;
    served_.push(served_.pop(), Cycle{});
  }
}

void AckGenerator::issue_read(Index flow, Index at, Cycle now) {  // (R4)
  const PacketHandle h = shared_.packets.allocate(PacketClass::kResponse);
  Packet& response = shared_.packets[h];
  OwedAnswer& a = answers_[at];
  response.role = PacketRole::kResponse;
  response.outcome = Outcome::kExecute;
  response.qp = a.qp;  // pinned by the answer
  response.pd = a.pd;
  response.access = kRemoteRead;
  response.id = a.id;
  if (!a.read.begun) a.after = next_ticket_;
  next_read_response(response, a.h, a.read);
  ++a.on_their_way;
  on_their_way_.push({flow, at}, Cycle{});
  gather.push(now, h);
}

void AckGenerator::start_build(Cycle now) {  // (R2)
  if (now < next_start_ || line_.full()) return;
  const bool data = gathered.can_pop(now);
  const auto may_go_first = [&] {  // (R3) what was ready when its READ began is of its QP, perhaps
    return data_next_ && ready_.front().ticket >= answers_[on_their_way_.front().answer].after;
  };
  if (data && (ready_.empty() || may_go_first())) {
    data_next_ = false;
    build_read_response(now);
  } else if (!ready_.empty()) {
    build_plain(now);
  }
}

void AckGenerator::build_plain(Cycle now) {
  if (!shared_.packets.available(PacketClass::kResponse)) {  // (R8)
    wants_buffer_ = true;
    return;
  }
  data_next_ = true;
  const Ready ready = ready_.pop();
  ready_plain_ -= ready.plain;
  const PacketHandle h = shared_.packets.allocate(PacketClass::kResponse);
  Packet& p = shared_.packets[h];
  p.role = PacketRole::kResponse;
  p.id = answers_[ready.answer].id;
  p.h = answers_[ready.answer].h;
  answers_.remove(ready.answer);
  build(h, 0, now);
}

void AckGenerator::build_read_response(Cycle now) {
  const PacketHandle h = gathered.pop(now);
  const OnItsWay from = on_their_way_.pop();
  Packet& p = shared_.packets[h];
  OwedAnswer& a = answers_[from.answer];
  --a.on_their_way;
  p.qp = nullptr;
  if (a.failed) {
    ++counters_.suppressed;
    shared_.packets.release(h);
  } else if (p.outcome == Outcome::kNak || p.drop_reason != DropReason::kNone) {  // (R7)
    const Headers nak = p.h;
    ++counters_.memory_errors;
    make_nak(a, p.syndrome != 0 ? p.syndrome : kNakRemoteOperation);
    p.h = a.h;
    p.h.psn = nak.psn;
    fail_behind(from.answer);
    build(h, 0, now);
  } else {
    counters_.read_bytes += p.h.payload_bytes;
    build(h, p.h.payload_bytes, now);
  }
  if (a.read.bytes_left == 0 && a.on_their_way == 0) advance(from.flow, now);
}

void AckGenerator::finish_atomic(Cycle now) {  // (R5)
  const DmaCompletion done = dma_done.pop(now);
  OwedAnswer& a = answers_[done.cookie];
  a.done = true;
  if (done.ok) {
    a.h.original = a.original;
    results_[a.resource] = {true, a.h.psn, a.original};
  } else {
    ++counters_.memory_errors;
    make_nak(a, kNakRemoteOperation);
    fail_behind(done.cookie);
  }
  advance(answers_.find(raw(a.qp->qpn)), now);
}

// Turns an answer into a NAK, and its QP to the error state. (R7)
void AckGenerator::make_nak(OwedAnswer& a, std::uint8_t syndrome) {
  a.h.opcode = answer_opcode(a.h.opcode, Operation::kAck);
  a.h.syndrome = syndrome;
  a.h.msn = a.msn_before;
  if (failures.bound()) {
    a.qp->pins.add();
    failed_.push_back({a.qp, syndrome == kNakRemoteAccess     ? EventType::kQpAccessError
                             : syndrome == kNakInvalidRequest ? EventType::kQpRequestError
                                                              : EventType::kQpFatal});
  }
  refused_.fail_requests(*a.qp);  // what is behind has passed the other blocks: only its answers are not sent
}

bool AckGenerator::has_atomic_on(Key region) const {
  for (Index at = 0; at < atomic_regions_.size(); ++at) {
    const OwedAnswer& a = answers_[at];
    if (a.needs == AnswerNeeds::kAtomic && !a.replay && !a.done && a.qp != nullptr && atomic_regions_[at] == region) {
      return true;
    }
  }
  return false;
}

void AckGenerator::fail_behind(Index at) {
  for (; at != kNone; at = answers_.next(at)) {
    answers_[at].failed = true;
    answers_[at].read.bytes_left = 0;
  }
}

// An answer that was in a flow is not owed any more.
void AckGenerator::discard(Index at, Cycle now) {
  --waiting_;
  if (answers_[at].qp != nullptr) answers_[at].qp->pins.remove(now);
  answers_.remove(at);
}

void AckGenerator::build(PacketHandle h, std::uint32_t payload_bytes, Cycle now) {
  Packet& p = shared_.packets[h];
  build_answer(p, payload_bytes);
  const bool ack = (p.op().traits & (kAckKind | kHasAtomicAckEth)) == kAckKind;
  const AckKind kind = ack_kind(p.h.syndrome);
  counters_.read_responses += p.has(kReadResponse);
  counters_.atomic_responses += p.has(kHasAtomicAckEth);
  counters_.acks += ack && kind == AckKind::kAck;
  counters_.rnr_naks += ack && kind == AckKind::kRnrNak;
  counters_.naks += ack && kind == AckKind::kNak;
  line_.push(h, now + params_.latency_cycles);
  next_start_ = now + params_.response_cycles;
}

std::uint8_t AckGenerator::ack_syndrome(const Packet& p) const {
  const bool counted = params_.credits == AckCredits::kCounted && !p.qp->uses_srq;
  return counted ? credit_code(p.posted_wqes) : kAckUnlimited;
}

void AckGenerator::hash(StateHash& h) const {
  h.mix(counters_);
  h.mix(std::uint64_t{waiting_} << 32 | ready_plain_);
  h.mix(next_start_.count);
}

}  // namespace rxnic
