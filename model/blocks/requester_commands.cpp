// SPDX-License-Identifier: Apache-2.0
// Objects that the driver sets up before the simulation starts, and commands of the command processor (R11, R12 of
// requester.h).
#include <algorithm>
#include <cstring>

#include "model/blocks/requester.h"

namespace rxnic {

namespace {

SendQpContext context_of(const SendQueueCommand& command) {
  SendQpContext c;
  c.qp.valid = 1;
  c.qp.qpn = command.qpn;
  c.qp.transport = command.transport;
  c.qp.state = static_cast<QpState>(command.state);
  c.qp.pd = command.pd;
  c.qp.mtu = command.mtu;
  c.qp.pkey = command.pkey;
  c.qp.qkey = command.qkey;
  c.qp.remote_qpn = command.remote_qpn;
  c.queue = {command.base, command.slots, command.stride, command.all_signaled};
  std::memcpy(&c.path, command.path.data(), sizeof c.path);
  c.max_rd_atomic = command.max_rd_atomic;
  c.timeout = command.timeout;
  c.retry_count = command.retry_count;
  c.rnr_retry = command.rnr_retry;
  c.sq_psn = command.psn.value;
  return c;
}

}  // namespace

// The command stays in the link until it is answered. (R11)
void Requester::carry_out_command(Cycle now) {
  if (!command_begun_) command_reply_ = carry_out(*commands.peek(now));
  command_begun_ = true;
  if (!resets_.empty() || !command_done.can_push(now)) {
    wake();
    return;
  }
  commands.drop(now);
  command_done.push(now, command_reply_);
  command_begun_ = false;
}

SendQueueReply Requester::carry_out(const SendQueueCommand& command) {
  switch (command.operation) {
    case SendQueueOperation::kCreate:
      return {create(context_of(command))};
    case SendQueueOperation::kModify:
      modify(context_of(command), command.set_psn, command.recovers);
      std::erase(draining_, command.qpn);
      if (command.notify_drained && static_cast<QpState>(command.state) == QpState::kSqd) {
        draining_.push_back(command.qpn);
      }
      break;
    case SendQueueOperation::kQuery:
      if (const Sq* const q = find(command.qpn)) {
        return {true, static_cast<std::uint8_t>(q->context().qp.state), q->queue().next_psn()};
      }
      break;
    case SendQueueOperation::kFail:
      fail(command.qpn);
      break;
    case SendQueueOperation::kReset:
      reset(command.qpn);
      break;
    case SendQueueOperation::kDestroy:
      destroy(command.qpn);
      break;
    case SendQueueOperation::kHide:
      port_.locator.hide(command.key);
      break;
    case SendQueueOperation::kSettle:
      port_.locator.hide({});
      break;
  }
  return {};
}

// WQEs that the command processor carries out. (R15)

// True when it gave one to it, or shall do so in the next cycle.
bool Requester::ask_for_window(Cycle now) {
  while (!window_asks_.empty() && windows.can_push(now)) {
    Sq* const q = find(window_asks_.front());
    const WindowAsk ask = window_asks_.front();
    window_asks_.pop_front();
    if (q == nullptr) continue;
    q->asks_window = false;
    if (!q->has_window_request()) continue;  // its state has changed since
    windows.push(now, q->begin_window_request());
    windows_open_.push_back(ask);
    ++counters_.wqes;
    ++counters_.window_requests;
    update(*q);
    return true;
  }
  return !window_asks_.empty();
}

void Requester::take_window_done(Cycle now) {
  if (successes_.full()) return;
  const StepDone done = windows_done.pop(now);
  Sq* const q = find(windows_open_.front());
  windows_open_.pop_front();
  if (q == nullptr || !q->window_request_begun()) return;  // it has failed since
  const SendRequest request = q->end_window_request(done.ok);
  if (done.ok && q->signaled(request.flags)) successes_.push(q->success(request), now);
  update(*q);
}

// (R12)
void Requester::report_drained(Cycle now) {
  std::erase_if(draining_, [&](Qpn qpn) {
    const Sq* const q = find(qpn);
    if (q == nullptr || q->context().qp.state != QpState::kSqd) return true;
    if (!drained(qpn) || !events.bound() || !events.can_push(now)) return false;
    events.push(now, {EventType::kQpSqDrained, raw(qpn)});
    return true;
  });
}

void Requester::set_port(const MacAddress& mac, std::span<const SourceGid> gids) {
  port_.mac = mac;
  port_.gids.assign(gids.begin(), gids.end());
}

Requester::Sq* Requester::find(Qpn qpn) const {
  const auto at = by_qpn_.find(raw(qpn));
  return at == by_qpn_.end() ? nullptr : at->second;
}

Requester::Sq* Requester::find(Qpn qpn, std::uint64_t number) const {
  Sq* const q = find(qpn);
  return q != nullptr && q->number == number ? q : nullptr;
}

bool Requester::create(const SendQpContext& context) {
  const auto gone = [this](Qpn qpn) { return find(qpn) == nullptr; };
  if (sqs_.size() + std::count_if(resets_.begin(), resets_.end(), gone) >= params_.send_queues) return false;  // (R10)
  sqs_.push_back(std::make_unique<Sq>(context, params_, port_));
  Sq& q = *sqs_.back();
  q.number = created_++;
  by_qpn_[raw(q.qpn())] = &q;
  set_timeout(q);
  return true;
}

void Requester::modify(const SendQpContext& context, bool set_sq_psn, bool recovers) {
  Sq* q = find(context.qp.qpn);
  if (q == nullptr) return;
  if (recovers) q->recover();
  q->configure(context);
  resume(*q);
  set_timeout(*q);
  if (set_sq_psn && q->queue().empty()) q->queue().set_psn(Psn{context.sq_psn});
  if (context.qp.state == QpState::kError) {
    fail(*q, WcStatus::kFlushed);
  } else {
    update(*q);
  }
}

void Requester::fail(Qpn qpn) {
  if (Sq* q = find(qpn)) fail(*q, WcStatus::kFlushed);
}

void Requester::reset(Qpn qpn) {
  Sq* q = find(qpn);
  if (q == nullptr) return;
  q->reset();
  ++q->resets;
  q->reads = q->goes_back = q->asks_window = q->awaits_page = false;
  drop_made(*q);
  q->not_before = Cycle{};
  q->rate.reset();
  q->flushes = false;
  std::erase(flushing_, q);
  disarm(*q);
  update(*q);
  for (std::uint32_t n = successes_.size(); n > 0; --n) {
    const SendCompletion c = successes_.pop();
    if (c.qpn != qpn) successes_.push(c, Cycle{});
  }
  if (std::find(resets_.begin(), resets_.end(), qpn) == resets_.end()) resets_.push_back(qpn);
  std::erase(draining_, qpn);
}

void Requester::destroy(Qpn qpn) {
  reset(qpn);
  for (const auto& q : sqs_) {
    if (q->qpn() == qpn) timers_.remove(*q);
  }
  by_qpn_.erase(raw(qpn));
  std::erase_if(sqs_, [&](const auto& q) { return q->qpn() == qpn; });
}

bool Requester::drained(Qpn qpn) const {
  const Sq* q = find(qpn);
  return q == nullptr || (q->queue().empty() && q->made == 0 && !q->window_request_begun());
}

}  // namespace rxnic
