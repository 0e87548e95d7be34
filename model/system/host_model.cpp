// SPDX-License-Identifier: Apache-2.0
#include "model/system/host_model.h"

#include <algorithm>
#include <cstring>

namespace rxnic {

namespace {

// No hardware: the program of a bare capture, which plans so many steps at most.
constexpr std::uint32_t kMaxScheduled = 1u << 17;

std::uint64_t queue_key(bool srq, std::uint32_t number) { return std::uint64_t{srq} << 32 | number; }

bool is_receive(CqeOpcode o) {
  return o == CqeOpcode::kReceive || o == CqeOpcode::kReceiveWriteImm || o == CqeOpcode::kTagNoTag;
}

}  // namespace

HostModel::HostModel(const sc_core::sc_module_name& name, const Params& params, HostMemory& memory)
    : Block(name),
      period_ps_(params.nic.clock_period_ps),
      cqe_bytes_(params.cqe_generator.cqe_bytes),
      max_tags_(params.tag_match_cam.max_tags),
      poll_latency_(cycles(params.host.poll_latency_ps)),
      repost_latency_(cycles(params.host.repost_latency_ps)),
      doorbell_latency_(cycles(params.host.doorbell_latency_ps)),
      memory_(memory),
      tag_steps_(kMaxScheduled + params.tag_match_cam.max_tags),
      naks_(kMaxScheduled),
      polls_(kMaxScheduled),
      posts_(kMaxScheduled),
      doorbells_(kMaxScheduled) {
  landed.show_in(inputs_, kLanded);
  receive_events.show_in(inputs_, kReceiveEvents);
  completion_events.show_in(inputs_, kCompletionEvents);
  page_requests.show_in(inputs_, kPageRequests);
}

void HostModel::add_cq(const CqContext& cq, bool armed) {
  cq_index_.insert(raw(cq.number), static_cast<std::uint32_t>(cqs_.size()));
  cqs_.push_back({cq});
  cqs_.back().armed = armed;
  if (armed) {  // (R8)
    doorbells_.push({Due::Kind::kArm, cq_index_.at(raw(cq.number)), 0}, Cycle{0});
  }
  constexpr std::uint64_t kAtOnce = 4096;
  const std::vector<std::uint8_t> ones(kAtOnce, 0xff);
  const std::uint64_t bytes = std::uint64_t{cq.slots} * cqe_bytes_;
  for (std::uint64_t at = 0; at < bytes; at += kAtOnce) {
    memory_.write(cq.base + at, std::span(ones).first(std::min(kAtOnce, bytes - at)));
  }
}

void HostModel::add_queue(const ReceiveRingParams& params, const std::vector<std::uint64_t>& hold_after) {
  const auto index = static_cast<std::uint32_t>(queues_.size());
  queue_index_.insert(queue_key(params.queue.kind == WqKind::kSrq, params.queue.number), index);
  queues_.emplace_back(params);
  post_soon_.push_back(0);
  holds_.emplace_back(hold_after.rbegin(), hold_after.rend());
  if (!hold_after.empty()) queues_.back().set_limit(hold_after.front());
  if (queues_.back().post(memory_, true)) {
    doorbells_.push({Due::Kind::kRing, index, queues_.back().producer_index()}, Cycle{0});
  }
}

void HostModel::on_rnr_nak(Qpn qpn, Cycle now) {
  naks_.push(qpn, now + 1);
  wake();
}

void HostModel::lift_hold(Qpn qpn, Cycle now) {
  const std::uint32_t queue = queue_index_.find(queue_key(false, raw(qpn)));
  if (queue == FlatIndex::kNone || holds_[queue].empty()) return;
  auto& holds = holds_[queue];
  holds.pop_back();
  queues_[queue].set_limit(holds.empty() ? ~std::uint64_t{0} : holds.back());
  schedule_post(queue, now);
}

bool HostModel::take_events(Cycle now) {
  bool worked = false;
  for (auto* events : {&receive_events, &page_requests}) {
    while (events->can_pop(now)) {
      events->drop(now);
      worked = true;
    }
  }
  while (completion_events.can_pop(now)) {  // (R8)
    const Event event = completion_events.pop(now);
    worked = true;
    if (event.type != EventType::kCompletion) continue;
    const std::uint32_t index = cq_index_.at(event.number);
    if (cqs_[index].armed) polls_.push({Due::Kind::kPoll, index, 0}, now + latest(poll_latency_, Cycle{1}));
  }
  return worked;
}

bool HostModel::take_landed(Cycle now) {
  bool worked = false;
  for (; landed.can_pop(now); landed.drop(now)) {
    const HostNotice& notice = *landed.peek(now);
    const std::uint32_t index = cq_index_.at(notice.number);
    cqs_[index].visible += notice.completions;
    for (std::uint32_t n = 0; latencies_ != nullptr && n < notice.completions; ++n) {
      const WrittenCompletions::Completion c = written_.take(notice, now);
      if (c.received()) latencies_->on_visible(c.status, c.times, now);
      if (c.matched) latencies_->on_matched(c.status, c.times, now);
    }
    worked = true;
    if (cqs_[index].polled_soon || cqs_[index].armed) continue;
    cqs_[index].polled_soon = true;
    polls_.push({Due::Kind::kPoll, index, 0}, now + latest(poll_latency_, Cycle{1}));
  }
  return worked;
}

Cycle HostModel::step(Cycle now) {
  bool worked = false;
  // (1) RNR NAKs, events
  while (naks_.ready(now)) {
    lift_hold(naks_.pop(), now);
    worked = true;
  }
  if ((inputs_ & kEvents) != 0) worked |= take_events(now);
  // (2) CQEs that became visible
  if ((inputs_ & kLanded) != 0) worked |= take_landed(now);
  // (3) polls that are due
  while (polls_.ready(now)) {
    const std::uint32_t index = polls_.pop().index;
    cqs_[index].polled_soon = false;
    poll(index, now);
    worked = true;
  }
  // (4) messages that have been served; posts that are due
  if (!serving_.empty()) worked |= finish_served(now);
  while (posts_.ready(now)) {
    const std::uint32_t index = posts_.pop().index;
    post_soon_[index] = 0;
    worked = true;
    if (queues_[index].post(memory_, false)) {
      doorbells_.push({Due::Kind::kRing, index, queues_[index].producer_index()},
                      now + latest(doorbell_latency_, Cycle{1}));
    }
  }
  // (5) doorbells that are due, in order
  bool full = false;
  while (doorbells_.ready(now) && !full) {
    full = !ring(doorbells_.front(), now);
    if (full) break;
    doorbells_.pop();
    ++counters_.doorbells;
    worked = true;
  }
  // (6) receives that are due, operations on tag lists
  if (scheduled_) worked |= post_due(now);
  bool tags_full = false;
  while (tag_steps_.ready(now) && !tags_full) {
    tags_full = !send_tag(tag_steps_.front(), now);
    if (tags_full) break;
    tag_steps_.pop();
    worked = true;
  }
  if (!first_posted_ && !doorbells_.ready(now) && receive_doorbells.idle(now) && !tag_steps_.ready(now) &&
      tag_operations.idle(now)) {  // (R6)
    first_posted_ = true;
    ready.push(now, {});
  }
  // (7) rest
  Cycle next = earliest(earliest(polls_.next_ready(), posts_.next_ready()),
                        earliest(earliest(doorbells_.next_ready(), tag_steps_.next_ready()), naks_.next_ready()));
  if (scheduled_) next = earliest(next, next_post());
  if (!serving_.empty()) next = earliest(next, serving_.top().done);
  if (full || tags_full || !first_posted_) next = now + 1;
  if (worked) return rest(now, Activity::kBusy, now + 1, Activity::kStarved, next);
  return rest(now, Activity::kStarved, next);
}

BusAddress HostModel::cqe_address(const CqContext& cq, std::uint32_t slot) const {
  return cq.base + std::uint64_t{slot} * cqe_bytes_ + (cqe_bytes_ - sizeof(Cqe));
}

bool HostModel::ring(const Due& due, Cycle now) {
  if (due.kind == Due::Kind::kRing) {
    if (!receive_doorbells.can_push(now)) return false;
    receive_doorbells.push(now, {DoorbellKind::kReceive, false, raw(queues_[due.index].params().id), due.value});
    return true;
  }
  if (!completion_doorbells.can_push(now)) return false;
  const DoorbellKind kind = due.kind == Due::Kind::kArm ? DoorbellKind::kCqArm : DoorbellKind::kCqConsumer;
  completion_doorbells.push(now, {kind, false, raw(cqs_[due.index].context.number), due.value});
  return true;
}

void HostModel::poll(std::uint32_t index, Cycle now) {
  Cq& cq = cqs_[index];
  const std::uint32_t before = cq.consumer;
  while (cq.visible > 0) {  // (R1)
    const std::uint32_t slot = cq.consumer & (cq.context.slots - 1);
    const std::uint8_t expected = (cq.consumer & cq.context.slots) != 0;
    const Cqe cqe = memory_.load<Cqe>(cqe_address(cq.context, slot));
    if (cqe.owner != expected) break;
    ++cq.consumer;
    if (cqe.format != CqeFormat::kTitle) {
      --cq.visible;
      take(cq, cqe, now);
      continue;
    }
    cq.visible -= std::min<std::uint32_t>(cq.visible, cqe.mini_count);
    for (std::uint32_t n = 0; n < cqe.mini_count; ++n) {
      const std::uint32_t mini_slot = (cq.consumer + n / kMiniCqesPerSlot) % cq.context.slots;
      const auto minis = memory_.load<MiniCqeSlot>(cqe_address(cq.context, mini_slot));
      Cqe expanded = cqe;
      expanded.byte_count = minis.mini[n % kMiniCqesPerSlot].byte_count;
      expanded.wqe_index = minis.mini[n % kMiniCqesPerSlot].wqe_index;
      take(cq, expanded, now);
    }
    cq.consumer += (cqe.mini_count + kMiniCqesPerSlot - 1) / kMiniCqesPerSlot;
  }
  if (cq.consumer == before && !cq.armed) return;  // (R8)
  doorbells_.push({cq.armed ? Due::Kind::kArm : Due::Kind::kConsumer, index, cq.consumer},
                  now + latest(doorbell_latency_, Cycle{1}));  // (R3)
}

void HostModel::take(const Cq& cq, const Cqe& cqe, Cycle now) {
  ++counters_.cqes;
  digest_.mix(now.count);
  digest_.mix(std::uint64_t{cqe.qp_number} << 32 | cqe.wqe_index);
  digest_.mix(std::uint64_t{cqe.byte_count} << 32 | static_cast<std::uint32_t>(cqe.status) << 8 |
              static_cast<std::uint32_t>(cqe.opcode));
  digest_.mix(cqe.timestamp);
  if (observer_ != nullptr) observer_->on_cqe(cq.context.number, cqe, now);
  const bool failed = cqe.status != WcStatus::kSuccess;
  if (failed) ++counters_.error_cqes;
  tag_completed(cqe, now);
  if (!is_receive(cqe.opcode) && !TagProgram::is_unexpected(cqe)) return;
  if (!failed) counters_.receive_bytes += cqe.byte_count;
  const bool srq = (cqe.flags & kCqeSrq) != 0;
  const std::uint32_t queue = queue_index_.find(queue_key(srq, srq ? cqe.srq_number : cqe.qp_number));
  if (queue == FlatIndex::kNone) return;
  if (failed && !srq) {  // (R4)
    queues_[queue].complete(cqe.wqe_index);
    queues_[queue].set_limit(0);
    holds_[queue].clear();
  } else if (application_.serves() && !failed) {  // (R7)
    serving_.push({application_.serve(now), ++served_, queue, cqe.wqe_index, false, {}});
  } else {
    give_back(queue, cqe.wqe_index, now);
  }
}

void HostModel::give_back(std::uint32_t queue, std::uint32_t slot, Cycle now) {
  queues_[queue].complete(slot);
  schedule_post(queue, now);
}

bool HostModel::finish_served(Cycle now) {  // (R7)
  bool worked = false;
  while (!serving_.empty() && serving_.top().done <= now) {
    const Served s = serving_.top();
    serving_.pop();
    worked = true;
    if (s.of_tags) {
      schedule_tag(s.step, now);
    } else {
      give_back(s.queue, s.slot, now);
    }
  }
  return worked;
}

void HostModel::schedule_post(std::uint32_t queue, Cycle now) {  // (R2)
  if (post_soon_[queue] != 0) return;
  post_soon_[queue] = 1;
  posts_.push({Due::Kind::kPost, queue, 0}, now + latest(repost_latency_, Cycle{1}));
}

void HostModel::hash(StateHash& h) const {
  for (const std::uint64_t n : {counters_.cqes, counters_.error_cqes, counters_.receive_bytes, counters_.doorbells}) {
    h.mix(n);
  }
  h.mix(digest_.value());
}

}  // namespace rxnic
