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

std::uint64_t cycles_in(std::uint64_t ps, std::uint32_t clock_period_ps) {
  return (ps + clock_period_ps - 1) / clock_period_ps;
}

}  // namespace

Requester::Requester(const sc_core::sc_module_name& name, const RequesterParams& params, std::uint32_t clock_period_ps,
                     NicShared& shared, HostMemory& memory, std::uint32_t own_requests, std::uint32_t link_gbps)
    : Block(name),
      params_(params),
      rate_rules_(params, link_gbps, clock_period_ps),
      own_requests_(own_requests),
      clock_period_ps_(clock_period_ps),
      read_cycles_(cycles_in(params.read_latency_ps, clock_period_ps)),
      shared_(shared),
      port_(memory),
      successes_(params.packet_buffers) {}

Cycle Requester::step(Cycle now) {
  // (1) notices of the receive path, doorbells, a command
  while (answers.can_pop(now)) take_answer(answers.pop(now), now);
  while (failed.can_pop(now)) fail(failed.pop(now).qpn);  // (R6)
  while (places.can_pop(now)) places_taken_ -= places.pop(now).count;
  while (doorbells.can_pop(now)) take_doorbell(doorbells.pop(now), now);
  if (commands.can_pop(now)) carry_out_command(now);
  // (2) timers
  if (now >= next_timer_) run_timers(now);
  // (3) resets and drained QPs are reported
  send_resets(now);
  if (!draining_.empty()) report_drained(now);
  // (4) a completion
  const Turn completed = complete_one(now);
  // (5) a packet
  const Turn sent = send_one(now);
  counters_.memory_reads = port_.reads();
  // (6) rest
  const bool refused = completed == Turn::kRefused || sent == Turn::kRefused;
  Cycle next = next_timer_;
  if (now < next_send_) {
    next = earliest(next, next_send_);
  } else if (turn_ != nullptr && sent != Turn::kRefused) {
    next = earliest(next, next_ready_);
  }
  const bool without_buffer = refused && !shared_.packets.available(PacketClass::kRequest);
  const bool more = completed != Turn::kRefused && (!successes_.empty() || !flushing_.empty());
  if (completed == Turn::kSent || more || !resets_.empty() || without_buffer) next = now + 1;
  if (refused) return rest(now, Activity::kBlocked, next);
  if (completed == Turn::kSent || now < next_send_) return rest(now, Activity::kBusy, next);
  if (turn_ != nullptr) {
    const Activity waits = paces_ ? Activity::kWaitRate : Activity::kWaitDmaData;
    return rest(now, lacks_place_ ? Activity::kWaitResponse : waits, next);
  }
  return rest(now, awaiting_ > 0 ? Activity::kWaitResponse : Activity::kStarved, next);
}

// Inputs.

void Requester::take_doorbell(const Doorbell& doorbell, Cycle now) {  // (R1)
  Sq* q = find(Qpn{doorbell.number});
  if (q == nullptr) return;
  ++counters_.doorbells;
  const Cycle soon = now + params_.latency_cycles;
  q->post(doorbell.value, soon, soon + read_cycles_, doorbell.rung);
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
  switch (q->queue().answer(notice, status)) {
    case SendVerdict::kNothing:
      return;
    case SendVerdict::kFail:
      fail(*q, status);
      return;
    case SendVerdict::kWait:
      ++counters_.rnr_waits;
      arm(*q, now + cycles_in(rnr_timer_us(notice.syndrome) * kPsPerMicrosecond, clock_period_ps_));
      break;
    case SendVerdict::kBack:
      ++counters_.went_back;
      q->not_before = latest(q->not_before, now + read_cycles_);  // (R4)
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

// A packet of a QP with a reduced rate leaves. (R13)
void Requester::count_bytes(Sq& q, std::uint32_t bytes, Cycle now) {
  ++counters_.paced;
  counters_.rate_increases += q.rate.advance(rate_rules_, now);
  counters_.rate_increases += q.rate.sent(rate_rules_, now, bytes);
  counters_.rate_recoveries += !q.rate.limited();
  if (q.rate.limited()) q.not_before = latest(q.not_before, q.rate.next());
}

void Requester::fail(Sq& q, WcStatus status) {
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
  if (q.queue().waiting()) {
    q.queue().resume();
  } else {
    WcStatus status = WcStatus::kSuccess;
    const SendVerdict verdict = q.queue().timeout(status);
    ++counters_.timeouts;
    if (verdict == SendVerdict::kFail) {
      fail(q, status);
      return;
    }
  }
  ++counters_.went_back;
  q.not_before = latest(q.not_before, now + read_cycles_);
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
  }
  return Turn::kSent;
}

void Requester::push_completion(SendCompletion c, Cycle now) {  // (R7)
  c.sent = now;
  completions.push(now, c);
}

// Outputs.

// Brings the block's state of a QP up to date; to be called after every change of the QP.
void Requester::update(Sq& q) {
  const bool sends = q.has_packet();
  if (q.stop_reached()) {  // (R5)
    fail(q, q.stop_status());
    return;
  }
  const bool awaits = q.reliable() && !q.queue().empty();
  if (awaits != q.awaits) awaiting_ += awaits ? 1 : -1;
  q.awaits = awaits;
  if (q.has_flush() && !q.flushes) {
    q.flushes = true;
    flushing_.push_back(&q);
  }
  if (sends) {
    join(q);
  } else {
    leave(q);
  }
}

Requester::Turn Requester::send_one(Cycle now) {  // (R2)
  const bool lacked_place = std::exchange(lacks_place_, lacks_place_ && now < next_send_);
  if (now < next_send_ || turn_ == nullptr) return Turn::kNobody;
  next_ready_ = kNever;
  paces_ = false;
  Sq* q = turn_;
  do {
    const Cycle fetched = q->ready(read_cycles_);
    const Cycle ready = latest(q->not_before, fetched);
    if (ready <= now && has_place(*q)) return send_packet(*q, now);
    if (ready <= now) {
      lacks_place_ = true;
    } else {
      next_ready_ = earliest(next_ready_, ready);
      paces_ |= q->rate.limited() && q->rate.next() == ready && fetched < ready;
    }
    q = q->next;
  } while (q != turn_);
  counters_.table_waits += lacks_place_ && !lacked_place;
  return Turn::kNobody;
}

bool Requester::has_place(const Sq& q) const {  // (R3)
  return places_taken_ < own_requests_ || !q.reliable() || q.queue().unsent();
}

Requester::Turn Requester::send_packet(Sq& q, Cycle now) {
  const bool room = tx.can_push(now) && notices.can_push(now) && !successes_.full();
  if (!room || !shared_.packets.available(PacketClass::kRequest)) return Turn::kRefused;
  turn_ = q.next;
  const bool begins = !q.queue().unsent();
  counters_.wqes += begins;
  next_send_ = now + (begins ? std::max(params_.cycles_per_wqe, params_.cycles_per_packet) : params_.cycles_per_packet);
  RequestPacket packet;
  Bytes payload;
  if (q.make_packet(packet, payload)) {
    if (begins && q.reliable()) {  // (R3)
      notices.push(now, q.notice());
      places_taken_ += places.bound();
    }
    const PacketHandle h = shared_.packets.allocate(PacketClass::kRequest, kMostHeaderBytes + payload.size());
    const WireFrame frame = q.write_frame(packet, payload, h, shared_.packets[h]);
    tx.push(now, frame);
    if (q.rate.limited()) count_bytes(q, frame.bytes, now);
    ++counters_.packets;
    counters_.repeated += packet.repeated;
    counters_.payload_bytes += payload.size();
    const SendRequest request = q.queue().current();
    const bool done = q.queue().sent();
    if (done && !q.reliable() && q.signaled(request.flags)) successes_.push(q.success(request), now);  // (R3)
    if (q.reliable() && (q.deadline == kNever || q.rate.limited())) restart_timer(q, now);
  }
  update(q);
  return Turn::kSent;
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
  h.mix(next_send_.count);
}

}  // namespace rxnic
