// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/cqe_generator.h"

#include <algorithm>
#include <cstring>

#include "model/types/syndrome.h"

namespace rxnic {

namespace {

constexpr std::uint32_t kWritesOfPacket = 3;  // a session's block that wraps, and a plain CQE
constexpr std::uint32_t kEventsOfPacket = 5;  // established, two completion events, CQ error, QP error

// A rendezvous request that the WQE fetcher let pass. (R18)
bool hands_over(const CompletionRequest& p) {
  return p.rendezvous && p.role == PacketRole::kReceived && p.has(kSend) && p.wqe_slot != kNoWqeSlot;
}

// A response whose READ or atomic a fenced request may wait for. (R19)
bool places_data(const CompletionRequest& p) {
  return p.role == PacketRole::kReceived && p.outcome == Outcome::kAnswer && p.has(kReadResponse | kHasAtomicAckEth);
}

}  // namespace

CqeGenerator::CqeGenerator(const sc_core::sc_module_name& name, const CqeGeneratorParams& params,
                           CompletionQps<Block> contexts, const WqeStore& wqes, PacketStamps stamps,
                           std::uint32_t clock_period_ps, std::uint32_t queues,
                           std::unique_ptr<Replacement> replacement)
    : CqeGeneratorPorts(name),
      params_(params),
      wqes_(wqes),
      stamps_(stamps),
      contexts_(contexts),
      cqs_({{params.cq_contexts, params.cq_context_ways, params.cq_misses_in_flight},
            params.compression ? params.compression_max : 0,
            params.moderation_unit_ps,
            clock_period_ps},
           std::move(replacement)),
      records_(cqs_.cache(), *this),
      waits_(cqs_, counters_),
      queue_(params.cq_misses_in_flight + 1),
      srqs_(queues),
      completed_(wqes.size()),
      leaving_(params.compression ? block_slots(std::min(params.compression_max, kMaxSession)) : 1, params.cqe_bytes),
      writes_(params.write_depth),
      pipeline_(params.latency_cycles),
      writes_in_step_(!params.compression && params.write_depth >= params.latency_cycles + kWritesOfPacket),
      held_events_(params.event_depth),
      events_(params.event_depth),
      flush_list_(contexts_.lines()),
      failed_list_(contexts_.lines()) {
  staged_.resize(std::size_t{params.write_depth + 2} * leaving_.slots() * LeavingCqes::kCqeBytes);
  contexts_.set_clock(*this);
  bind_memories(*this);
  context_dma_done.show_in(inputs_, kContextDone);
  dma_done.show_in(inputs_, kLanded);
  commands.show_in(inputs_, kCommands);
  doorbells.show_in(inputs_, kDoorbells);
  failures.show_in(inputs_, kFailures);
}

void CqeGenerator::bind_memories(CqeGeneratorPorts& to) {
  to.context.bind(contexts_);
  to.failure_context.bind(contexts_);
  to.context_write.bind(contexts_);
  to.unpinned.bind(contexts_);
  to.wqe.bind(wqes_);
  to.fetched.bind(records_);
  to.written_back.bind(records_);
  to.written.bind(leaving_, leaving_.slots());
}

void CqeGenerator::stand_behind(Block& face) {
  face_ = static_cast<CqeGeneratorPorts*>(&face);
  bind_memories(*face_);
}

// A write's data must stay in its place until the DMA engine has taken the request from the link.
void CqeGenerator::end_of_elaboration() {
  leaving_.set_places((face_->dma.size() > 0 ? face_->dma[0]->capacity() : 0) + 1);
  if (doorbells.size() > 0) doorbells_held_ = doorbells[0]->capacity();
}

Cycle CqeGenerator::step(Cycle now) {
  again_ = false;
  waits_.begin_cycle();
  // (1) a context comes; events whose CQEs have landed are released; a write, the packet behind it and an event that
  // are due leave
  if ((inputs_ & kContextDone) != 0 && context_dma_done.can_pop(now)) take_context(now);
  if ((inputs_ & kLanded) != 0 || !held_events_.empty()) take_landings(now);
  const bool due = writes_.ready(now) || pipeline_.ready(now) || events_.ready(now);
  write_waits_ = false;
  const bool refused = due && send_due(now);
  // (2) a command, a doorbell, (3) a QP that failed behind this block
  bool failure = false;
  if ((inputs_ & kRareInputs) != 0) {
    failure = take_rare_inputs(now);
  } else {
    command_waits_ = doorbells_late_ = false;
  }
  // (4) a session times out, a moderated event falls due
  if (now >= next_moderation_ || !cqs_.sessions().empty()) run_timers(now);
  // (5) a flush request, a notice to the requester
  if (!flush_list_.empty() || !failed_list_.empty()) send_requests(now);
  // (6) the next packet
  bool stalled = false;
  waiting_ = false;
  const bool queued = !queue_.empty();
  if (!failure && now >= next_accept_ && (queued || in.can_pop(now))) {
    const CompletionRequest& p = queued ? queue_.front() : *in.peek(now);
    stalled = !can_take(p, now);
    if (!stalled) {
      Cq* cq = nullptr;
      stamps_.stamp_begun(p.buffer, Station::kCqeGenerator, now);
      const ContextLookup found = look_up_of_packet(p, cq);
      waiting_ = found == ContextLookup::kWaits;
      if (!waiting_) {
        use(kPacket, cq);
        take(cq, now);
      }
    }
    if (waiting_) look_ahead(now);
  }
  // (7) a request for a context
  if (cqs_.cache().has_request() && context_dma.can_push(now)) {
    const DmaRequest request = cqs_.cache().take_request();
    if (request.kind == DmaKind::kWrite) {
      CqWriteBack what{request.cookie, {}};
      std::memcpy(&what.record, request.data, sizeof what.record);
      written_back.write(now, what);
    }
    context_dma.push(now, request);
    again_ |= cqs_.cache().has_request();
  }
  again_ |= failure || waits_.deferred();
  // (8) rest
  const Cycle next = next_step(now, refused, stalled);
  if (refused || stalled) return rest(now, Activity::kBlocked, next);
  if (waiting_) {
    return rest(now, waits_.lacks_way(kPacket) ? Activity::kWaitContextWay : Activity::kWaitCqContext, next);
  }
  if (!writes_.empty() || !pipeline_.empty()) return rest(now, Activity::kBusy, next);
  const Cycle busy_until = latest(last_leaves_, next_accept_);
  if (now < busy_until) return rest(now, Activity::kBusy, busy_until, Activity::kStarved, next);
  return rest(now, Activity::kStarved, next);
}

// Returns whether a failure was taken.
bool CqeGenerator::take_rare_inputs(Cycle now) {
  command_waits_ = commands.can_pop(now) && !carry_out_command(now);
  doorbells_late_ = doorbells_late_ && doorbells.can_pop(now);
  if (doorbells.can_pop(now) && event_room() > 0) ring_doorbell(now);
  const bool failure = failures.can_pop(now) && event_room() > 0;
  if (failure) take_failure(now);
  return failure;
}

void CqeGenerator::take_landings(Cycle now) {  // (R4)
  if (dma_done.can_pop(now)) {
    dma_done.drop(now);
    ++blocks_landed_;
    again_ |= dma_done.can_pop(now);
  }
  while (!held_events_.empty() && held_events_.front().behind <= blocks_landed_) {
    events_.push(held_events_.pop().event, now + (params_.event_latency_cycles - 1));  // it has landed in now - 1
  }
}

std::uint32_t CqeGenerator::event_room() const { return params_.event_depth - held_events_.size() - events_.size(); }

// True when there is no room for a write or packet that is due.
bool CqeGenerator::send_due(Cycle now) {  // (R1)
  write_waits_ = writes_.ready(now) && !dma.can_push(now);
  bool blocked = write_waits_;
  if (writes_.ready(now) && !write_waits_) dma.push(now, leave(writes_.pop(), now));
  if (pipeline_.ready(now) && !writes_.ready(now)) {
    if (out.can_push(now)) {
      stamps_.stamp(pipeline_.front().buffer, Station::kCqeGenerator, now);
      out.push(now, pipeline_.front());
      pipeline_.drop();
    } else {
      blocked = true;
    }
  }
  if (events_.ready(now) && events.can_push(now)) events.push(now, events_.pop());
  return blocked;
}

inline Cycle CqeGenerator::next_step(Cycle now, bool refused, bool stalled) const {
  Cycle next = kNever;
  // Output that is due and was not sent waits for room in a link, which wakes the block, or for the next cycle.
  const auto at = [&](Cycle c) {
    if (c > now)
      next = earliest(next, c);
    else if (!refused)
      next = now + 1;
  };
  at(writes_.next_ready());
  at(pipeline_.next_ready());
  if (events_.next_ready() > now || (events.bound() && events.can_push(now))) {
    next = earliest(next, latest(events_.next_ready(), now + 1));
  }
  const bool rings = (inputs_ & kDoorbells) != 0 && !waits_.waits(kDoorbell);
  if (rings || (inputs_ & kFailures) != 0 || !flush_list_.empty() || !failed_list_.empty() || again_) next = now + 1;
  if (!cqs_.sessions().empty()) {
    next = session_is_due(now) ? now + 1 : earliest(next, latest(cqs_.sessions().first_ends(), now + 1));
  }
  next = earliest(next, latest(next_moderation_, now + 1));
  if (!queue_.empty() && !stalled && !waiting_) next = earliest(next, latest(next_accept_, now + 1));
  if (waiting_ ? !queue_.full() : queue_.empty() && !stalled) {
    next = earliest(next, latest(next_accept_, in.next(now)));
  }
  return next;
}

void CqeGenerator::ring_doorbell(Cycle now) {
  const Doorbell d = *doorbells.peek(now);
  Cq* cq = nullptr;
  if (look_up(kDoorbell, Cqn{d.number}, cq) == ContextLookup::kWaits) {
    doorbells_late_ = true;  // (R13)
    return;
  }
  use(kDoorbell, cq);
  doorbells.drop(now);
  again_ |= doorbells_late_;
  doorbells_passed_ += command_waits_;
  if (cq == nullptr || cq->record().dead || cq->record().closed) return;
  if (d.kind == DoorbellKind::kCqConsumer) cq->queue.consume(d.value);
  if (d.kind != DoorbellKind::kCqArm) return;
  cq->queue.arm(d.value, d.solicited_only, now);
  check_event(*cq, now);
}

// (R5) The first one: by its timeout, or because nothing holds the path to host memory up.
bool CqeGenerator::session_is_due(Cycle now) const {
  const SessionList& open = cqs_.sessions();
  return open.first_ends() <= now || (!open.empty() && !pressed_ && !write_waits_);
}

void CqeGenerator::run_timers(Cycle now) {
  const bool room = writes_.room() >= kWritesOfPacket && event_room() > 0;
  if (session_is_due(now) && room) write_session(cqs_[cqs_.sessions().first()], now);
  if (now >= next_moderation_) run_moderation(now);
}

inline bool CqeGenerator::can_take(const CompletionRequest& p, Cycle now) const {
  if (places_data(p) && placed.bound() && !placed.can_push(now)) return false;
  if (hands_over(p) && rendezvous.bound() && !rendezvous.can_push(now)) return false;
  return !pipeline_.full() && writes_.room() >= kWritesOfPacket && event_room() >= kEventsOfPacket;
}

inline void CqeGenerator::take(Cq* cq, Cycle now) {
  const bool queued = !queue_.empty();
  CompletionRequest p = queued ? queue_.front() : *in.peek(now);
  ++counters_.packets;
  pressed_ = p.pressed;
  const bool squashed_before = p.drop_reason == DropReason::kSquashed;
  counters_.squashed += refused_.squash_when_behind(p) && !squashed_before;
  if (p.wqe_slot != kNoWqeSlot) settle_wqe(p);
  if (p.establishes) raise(EventType::kQpCommunicationEstablished, raw(p.qpn), now);  // (R20)
  next_accept_ = now + (p.completes ? params_.cycles_per_cqe : 1u);                   // (R2)
  if (p.completes) complete_wqe(p, cq, now);
  if (hands_over(p) && rendezvous.bound()) hand_over(p, now);
  if (places_data(p) && placed.bound()) placed.push(now, {p.qpn, p.psn, AnswerKind::kReadResponse, 0});  // (R19)
  if (p.line != kNoLine) handle_error(p, now);
  refused_.report(refusals, now);
  if (p.releases_wqe && p.wqe_slot != kNoWqeSlot) {  // (R8)
    if (released.bound()) released.push(now, {p.wqe_slot});
    p.wqe_slot = kNoWqeSlot;
  }
  const Cycle leaves = now + params_.latency_cycles;
  if (writes_.empty() && pipeline_.empty() && out.can_send(now, leaves)) {
    const AckRequest& carried_on = p;
    stamps_.stamp(p.buffer, Station::kCqeGenerator, leaves);
    out.send(now, leaves, carried_on, [](AckRequest&) {});
    last_leaves_ = leaves;
  } else {
    pipeline_.push(p, leaves);
  }
  queued ? queue_.drop() : in.drop(now);
  if (ahead_ > 0) --ahead_;
}

void CqeGenerator::hand_over(const CompletionRequest& p, Cycle now) {  // (R18)
  const DataSegment& buffer = *wqe.peek({p.wqe_slot});
  RendezvousRequest r;
  r.begins = p.completes && p.outcome == Outcome::kExecute && p.status == WcStatus::kSuccess;
  r.qpn = p.qpn;
  r.handle = p.wqe_index;
  r.pd = p.pd;
  r.buffer = buffer.address;
  r.lkey = Key{buffer.lkey};
  r.bytes = p.local_bytes;
  r.va = p.local_va;
  r.rkey = p.local_key;
  r.tag = p.tag;
  r.tag_context = p.tag_context;
  rendezvous.push(now, r);
}

inline void CqeGenerator::complete_wqe(CompletionRequest& p, Cq* found, Cycle now) {
  if (found == nullptr || found->record().closed) {
    ++counters_.discarded;
    p.completes = false;
    return;
  }
  Cq& cq = *found;
  const Cqe cqe = make_cqe(p, srq_plus_1(p.queue), now);
  const bool compressible = cq.session_limit > 1 && cqe.status == WcStatus::kSuccess;
  const bool joins = compressible && cq.held() > 0 && cq.held() < cq.session_limit && cq.session->block.joins(cqe);
  if (cq.held() > 0 && !joins) write_session(cq, now);  // (R5)
  if (cq.record().dead || !cq.queue.has_room(block_slots(cq.held() + 1))) {
    overrun(cq, p, now);
    return;
  }
  counters_.error_cqes += cqe.status != WcStatus::kSuccess;
  const bool pressed = p.pressed || write_waits_;
  if (!compressible || (!pressed && cq.held() == 0)) {
    write_cqe(cq, cqe, p, now);
    return;
  }
  CqState::Session& session = cq.open_session();
  if (observer_ != nullptr) session.times[session.block.count()] = times_of(p);
  session.block.add(cqe);
  if (cq.held() == cq.session_limit || !pressed) {
    write_session(cq, now);
  } else {
    cqs_.grew(cq, now + params_.compression_timeout_cycles);
  }
}

void CqeGenerator::raise(EventType type, std::uint32_t number, Cycle now) {
  const bool completion = type == EventType::kCompletion;
  counters_.completion_events += completion;
  counters_.qp_events += !completion && type != EventType::kCqError;
  if (!events.bound()) return;
  if (held_events_.empty() && blocks_landed_ == blocks_made_) {
    events_.push({type, number}, now + (params_.latency_cycles + params_.event_latency_cycles));
  } else {
    held_events_.push({{type, number}, blocks_made_}, now);
  }
}

void CqeGenerator::attach_srq(WqId queue, Srqn srqn) { set_srq(queue, raw(srqn) + 1); }

void CqeGenerator::set_srq(WqId queue, std::uint32_t srq_plus_1) {
  if (raw(queue) < srqs_.size()) srqs_[raw(queue)] = srq_plus_1;
}

std::uint32_t CqeGenerator::srq_plus_1(WqId queue) const { return raw(queue) < srqs_.size() ? srqs_[raw(queue)] : 0; }

void CqeGenerator::hash(StateHash& h) const {
  h.mix(counters_);
  const CqTable::Cache& cache = cqs_.cache();
  for (std::uint32_t line = 0; line < cache.size(); ++line) {
    if (!cache.here(line)) continue;
    h.mix(cache.number_of(line));
    h.mix(cache[line].queue.producer());
    h.mix(cache[line].queue.consumer());
    h.mix(cache[line].held());
  }
  h.mix(cache.reading());
  h.mix(next_accept_.count);
  h.mix(pressed_);
  h.mix(queue_.size());
  h.mix(writes_.size() + pipeline_.size() + held_events_.size() + events_.size() + flush_list_.size() +
        failed_list_.size());
}

}  // namespace rxnic
