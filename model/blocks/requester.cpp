// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/requester.h"

#include <algorithm>
#include <utility>

#include "model/types/syndrome.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kPsPerMicrosecond = 1'000'000;
constexpr std::uint64_t kTimeoutUnitPs = 4'096'000;
constexpr std::uint32_t kGreatestTimeout = 31;

}  // namespace

Requester::Requester(const sc_core::sc_module_name& name, const RequesterParams& params, std::uint32_t clock_period_ps,
                     PacketPool& packets, HostMemory& memory, std::uint32_t own_requests, std::uint32_t link_gbps)
    : RequesterPorts(name),
      params_(params),
      rate_rules_(params, link_gbps, clock_period_ps),
      own_requests_(own_requests),
      clock_period_ps_(clock_period_ps),
      packets_(packets),
      port_(memory, params.rendezvous),
      made_(params.packet_buffers),
      leaving_(params.packet_buffers),
      successes_(params.packet_buffers) {
  for (std::uint32_t n = params.packet_buffers; n-- > 0;) free_made_.push_back(n);
}

Cycle Requester::step(Cycle now) {
  // (1) what was read, notices of the receive path, doorbells, a command
  if (wqe_dma_done.can_pop(now)) take_wqes(now);
  take_payload(now);
  while (answers.can_pop(now)) take_answer(answers.pop(now), now);
  while (placed.bound() && placed.can_pop(now)) take_placed(placed.pop(now));
  while (failed.can_pop(now)) fail(failed.pop(now).qpn);  // (R6)
  while (places.can_pop(now)) places_taken_ -= places.pop(now).count;
  while (rendezvous.can_pop(now)) take_rendezvous(rendezvous.pop(now), now);
  while (doorbells.can_pop(now)) take_doorbell(doorbells.pop(now), now);
  if (windows_done.bound() && windows_done.can_pop(now)) take_window_done(now);
  if (commands.can_pop(now) && asked_for_all()) carry_out_command(now);
  // (2) timers
  if (now >= next_timer_) run_timers(now);
  // (3) resets and drained QPs are reported
  send_resets(now);
  if (!draining_.empty()) report_drained(now);
  // (4) a completion
  const Turn completed = complete_one(now);
  // (5) a packet leaves, another is made
  const Turn sent = send_made(now);
  const Turn made = make_one(now);
  // (6) reads, windows
  const bool read = ask_for_wqes(now) | ask_for_payload(now) | ask_for_window(now);
  // (7) places of rendezvous
  const bool keeps_places = give_back_places(now);
  // (8) rest
  const bool refused = completed == Turn::kRefused || sent == Turn::kRefused || made == Turn::kRefused;
  Cycle next = next_timer_;
  if (now < next_make_) {
    next = earliest(next, next_make_);
  } else if (turn_ != nullptr && made != Turn::kRefused) {
    next = earliest(next, next_ready_);
  }
  if (sent != Turn::kRefused) next = earliest(next, latest(leaving_.next_ready(), next_leave_));
  if (now < next_leave_) next = earliest(next, next_leave_);
  const bool without_buffer = made == Turn::kRefused && !packets_.available(PacketClass::kRequest);
  const bool more = completed != Turn::kRefused && (!successes_.empty() || !flushing_.empty());
  if (completed == Turn::kSent || more || read || !resets_.empty() || without_buffer || keeps_places) {
    next = now + 1;
  }
  if (refused) return rest(now, Activity::kBlocked, next);
  if (completed == Turn::kSent || now < next_make_ || now < next_leave_) return rest(now, Activity::kBusy, next);
  if (turn_ != nullptr && may_make()) {
    return rest(now, lacks_place_ ? Activity::kWaitResponse : Activity::kWaitRate, next);
  }
  if (packets_made() > 0 || !asked_.empty() || free_reading_.size() < reading_.size()) {
    return rest(now, Activity::kWaitDmaData, next);
  }
  if (!page_asks_.empty()) return rest(now, Activity::kWaitPage, next);
  if (!windows_open_.empty()) return rest(now, Activity::kWaitBlock, next);
  return rest(now, awaiting_ > 0 ? Activity::kWaitResponse : Activity::kStarved, next);
}

// Inputs.

void Requester::take_doorbell(const Doorbell& doorbell, Cycle now) {  // (R1)
  if (doorbell.kind == DoorbellKind::kPageReply) {
    take_page_reply(doorbell, now);
    return;
  }
  Sq* q = find(Qpn{doorbell.number});
  if (q == nullptr) return;
  ++counters_.doorbells;
  q->post(doorbell.value, doorbell.rung, doorbell.wqe_bytes);
  update(*q);
}

void Requester::take_answer(const AnswerNotice& notice, Cycle now) {
  Sq* q = find(notice.qpn);
  if (q == nullptr || q->failed()) return;
  if (notice.kind == AnswerKind::kCnp) {
    take_cnp(*q, now);
    return;
  }
  WcStatus status = WcStatus::kSuccess;
  const SendVerdict verdict = q->queue().answer(notice, status);
  if (!placed.bound()) q->queue().place(notice.psn);
  if (q->has_own_wqes()) counters_.fins += q->settle_rendezvous(verdict == SendVerdict::kFail, now);
  switch (verdict) {
    case SendVerdict::kNothing:
      return;
    case SendVerdict::kFail:
      fail(*q, status);
      return;
    case SendVerdict::kWait:
      ++counters_.rnr_waits;
      notify({QpEventKind::kRnrWait, raw(q->qpn())}, now);
      arm(*q, now + cycles_in(rnr_timer_us(notice.syndrome) * kPsPerMicrosecond, clock_period_ps_));
      break;
    case SendVerdict::kBack:
      ++counters_.went_back;
      notify({QpEventKind::kWentBack, raw(q->qpn())}, now);
      ask_again(*q);
      restart_timer(*q, now);
      break;
    case SendVerdict::kProgress:
      if (!q->queue().waiting()) restart_timer(*q, now);
      break;
  }
  update(*q);
}

void Requester::take_cnp(Sq& q, Cycle now) {  // (R13)
  ++counters_.cnps;
  if (!params_.dcqcn) return;
  const bool limited = q.rate.limited();
  counters_.rate_increases += q.rate.advance(rate_rules_, now);
  counters_.rate_recoveries += limited && !q.rate.limited();
  q.rate.cnp(rate_rules_, now);
}

// A packet of a QP with a reduced rate is made. (R13)
void Requester::count_bytes(Sq& q, std::uint32_t bytes, Cycle now) {
  ++counters_.paced;
  counters_.rate_increases += q.rate.advance(rate_rules_, now);
  counters_.rate_increases += q.rate.sent(rate_rules_, now, bytes);
  counters_.rate_recoveries += !q.rate.limited();
  if (q.rate.limited()) q.not_before = latest(q.not_before, q.rate.next());
}

void Requester::fail(Sq& q, WcStatus status) {
  if (q.reliable() && !q.failed()) drop_made(q);
  q.fail(status);
  disarm(q);
  update(q);
}

// Timers. (R4)

// Runs the timers that are due, in the order in which their QPs were created.
void Requester::run_timers(Cycle now) {
  due_.clear();
  while (timers_.earliest() <= now) {
    Sq& q = timers_.front();
    timers_.remove(q);
    if (q.deadline > now) {
      queue_timer(q);
    } else {
      due_.push_back(&q);
    }
  }
  std::sort(due_.begin(), due_.end(), [](const Sq* a, const Sq* b) { return a->number < b->number; });
  for (Sq* q : due_) time_out(*q, now);
  while (!timers_.empty() && timers_.earliest() != timers_.front().deadline) {
    Sq& q = timers_.front();
    timers_.remove(q);
    queue_timer(q);
  }
  next_timer_ = timers_.earliest();
}

void Requester::time_out(Sq& q, Cycle now) {
  if (q.awaits_page && !q.queue().waiting()) {  // (R16)
    disarm(q);
    return;
  }
  if (q.queue().waiting()) {
    q.queue().resume();
  } else {
    WcStatus status = WcStatus::kSuccess;
    const SendVerdict verdict = q.queue().timeout(status);
    ++counters_.timeouts;
    notify({QpEventKind::kTimeout, raw(q.qpn())}, now);
    if (verdict == SendVerdict::kFail) {
      fail(q, status);
      return;
    }
  }
  ++counters_.went_back;
  notify({QpEventKind::kWentBack, raw(q.qpn())}, now);
  ask_again(q);
  restart_timer(q, now);
  update(q);
}

// Every response restarts a timer. An entry that is now too early stays, and is corrected when its time comes.
void Requester::queue_timer(Sq& q) {
  if (q.deadline < q.timer.at) timers_.set(q, q.deadline);
}

void Requester::restart_timer(Sq& q, Cycle now) {
  disarm(q);
  const Cycle from = q.rate.limited() ? latest(now, q.rate.next()) : now;  // (R13)
  if (q.queue().unanswered() && q.timeout_cycles != 0) arm(q, from + q.timeout_cycles);
}

void Requester::arm(Sq& q, Cycle deadline) {
  armed_ += q.deadline == kNever;
  q.deadline = deadline;
  queue_timer(q);
  next_timer_ = earliest(next_timer_, deadline);
}

void Requester::disarm(Sq& q) {
  if (q.deadline == kNever) return;
  q.deadline = kNever;
  if (--armed_ == 0) next_timer_ = kNever;
}

// Completions and resets, for the receive path.

void Requester::send_resets(Cycle now) {
  while (!resets_.empty() && notices.can_push(now)) {
    RequestNotice notice;
    notice.qpn = resets_.front();
    notice.reset = true;
    notices.push(now, notice);
    resets_.erase(resets_.begin());
  }
}

Requester::Turn Requester::complete_one(Cycle now) {
  if (successes_.empty() && flushing_.empty()) return Turn::kNobody;
  if (!completions.can_push(now)) return Turn::kRefused;
  if (!successes_.empty()) {
    push_completion(successes_.pop(), now);
    ++counters_.completions;
    return Turn::kSent;
  }
  Sq& q = *flushing_.front();  // (R6)
  const SendCompletion c = q.take_flush();
  push_completion(c, now);
  ++(c.status == WcStatus::kFlushed ? counters_.flushed : counters_.errors);
  if (!q.has_flush()) {
    q.flushes = false;
    flushing_.erase(flushing_.begin());
    resume(q);
    update(q);
  }
  return Turn::kSent;
}

// A QP that recovers goes on when its old WQEs are flushed. What was asked for them is not for the next ones. (R6)
void Requester::resume(Sq& q) {
  if (!q.resume()) return;
  ++q.resets;
  q.reads = q.goes_back = q.asks_window = q.awaits_page = false;
}

void Requester::push_completion(SendCompletion c, Cycle now) {  // (R7)
  c.sent = now;
  completions.push(now, c);
}

// Outputs.

// Brings the block's state of a QP up to date; to be called after every change of the QP.
void Requester::update(Sq& q) {
  const bool sends = q.has_packet() && !q.goes_back && !q.awaits_page;
  if (q.stop_reached() && q.made == 0) {  // (R5)
    fail(q, q.stop_status());
    return;
  }
  const bool awaits = q.reliable() && !q.queue().empty();
  if (awaits != q.awaits) awaiting_ += awaits ? 1 : -1;
  q.awaits = awaits;
  if (q.has_flush() && !q.flushes && q.made == 0) {
    q.flushes = true;
    flushing_.push_back(&q);
  }
  if (!q.reads && q.wqes_to_read() > 0) {
    q.reads = true;
    asked_.push_back({false, q.qpn(), q.number, q.resets, 0});
  }
  if (!q.asks_window && q.made == 0 && q.has_window_request()) {
    q.asks_window = true;
    window_asks_.push_back({q.qpn(), q.number, q.resets});
  }
  if (sends) {
    join(q);
  } else {
    leave(q);
  }
}

Requester::Turn Requester::make_one(Cycle now) {  // (R2)
  if (now < next_make_) return Turn::kNobody;
  next_ready_ = kNever;
  if (open_turn_ != kNone && asked_for_all()) {
    Sq* const q = find(made_[open_turn_].qpn, made_[open_turn_].number);
    const bool goes_on = q != nullptr && q->next != nullptr && q->not_before <= now && has_place(*q) && may_make();
    if (goes_on && make_packet(*q, now) == Turn::kSent) return Turn::kSent;
    end_turn(now);
  }
  if (turn_ == nullptr) lacks_place_ = false;
  if (turn_ == nullptr || !may_make()) return Turn::kNobody;
  const bool lacked_place = std::exchange(lacks_place_, false);
  Sq* q = turn_;
  do {
    if (q->not_before <= now && has_place(*q)) return make_packet(*q, now);
    if (q->not_before <= now) {
      lacks_place_ = true;
    } else {
      next_ready_ = earliest(next_ready_, q->not_before);
    }
    q = q->next;
  } while (q != turn_);
  counters_.table_waits += lacks_place_ && !lacked_place;
  return Turn::kNobody;
}

bool Requester::has_place(const Sq& q) const {  // (R3)
  return places_taken_ < own_requests_ || !q.reliable() || q.queue().unsent();
}

// The circle of QPs with a packet: a QP joins behind all others.

void Requester::join(Sq& q) {
  if (q.next != nullptr) return;
  if (turn_ == nullptr) {
    turn_ = q.next = q.previous = &q;
    return;
  }
  q.next = turn_;
  q.previous = turn_->previous;
  q.previous->next = q.next->previous = &q;
}

void Requester::leave(Sq& q) {
  if (q.next == nullptr) return;
  q.previous->next = q.next;
  q.next->previous = q.previous;
  if (turn_ == &q) turn_ = q.next == &q ? nullptr : q.next;
  q.next = q.previous = nullptr;
}

void Requester::set_timeout(Sq& q) const {
  const std::uint32_t code = std::min<std::uint32_t>(q.context().timeout, kGreatestTimeout);
  q.timeout_cycles = code == 0 ? 0 : cycles_in(kTimeoutUnitPs << code, clock_period_ps_);
}

void Requester::hash(StateHash& h) const {
  h.mix(counters_);
  h.mix(next_make_.count);
  h.mix(next_leave_.count);
  h.mix(packets_made());
  h.mix(port_.rendezvous.in_use());
  h.mix(windows_open_.size());
  h.mix(page_asks_.size());
}

}  // namespace rxnic
