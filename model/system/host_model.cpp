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
      poll_latency_(cycles(params.host.poll_latency_ps)),
      repost_latency_(cycles(params.host.repost_latency_ps)),
      doorbell_latency_(cycles(params.host.doorbell_latency_ps)),
      memory_(memory),
      tag_steps_(kMaxScheduled + params.tag_match_cam.max_tags),
      naks_(kMaxScheduled),
      polls_(kMaxScheduled),
      posts_(kMaxScheduled),
      doorbells_(kMaxScheduled) {}

void HostModel::add_cq(const CqContext& cq) {
  cq_index_.insert(raw(cq.number), static_cast<std::uint32_t>(cqs_.size()));
  cqs_.push_back({cq});
  const std::vector<std::uint8_t> ones(cqe_bytes_, 0xff);
  for (std::uint32_t i = 0; i < cq.slots; ++i) memory_.write(cq.base + std::uint64_t{i} * cqe_bytes_, ones);
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

void HostModel::add_tag_list(TagListParams params) {
  const auto list = static_cast<std::uint32_t>(tag_lists_.size());
  tag_index_[params.srq_number] = list;
  for (std::uint32_t i = 0; i < params.entries; ++i) {
    tag_steps_.push({list, {TagProgram::Action::Kind::kAppend, i}}, Cycle{0});
  }
  tag_lists_.emplace_back(std::move(params));
}

bool HostModel::send_tag(const TagStep& step, Cycle now) {  // (R5)
  if (!tag_operations.can_push(now)) return false;
  if (const auto operation = tag_lists_[step.list].operation(step.action)) tag_operations.push(now, *operation);
  return true;
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

Cycle HostModel::step(Cycle now) {
  bool worked = false;
  // (1) RNR NAKs, events
  while (naks_.ready(now)) {
    lift_hold(naks_.pop(), now);
    worked = true;
  }
  for (auto* events : {&receive_events, &completion_events, &page_requests}) {
    while (events->can_pop(now)) {
      events->drop(now);
      worked = true;
    }
  }
  // (2) CQEs that became visible
  while (landed.can_pop(now)) {
    const HostNotice notice = landed.pop(now);
    const std::uint32_t index = cq_index_.at(notice.number);
    cqs_[index].visible += notice.completions;
    for (std::uint32_t n = 0; latencies_ != nullptr && n < notice.completions; ++n) {
      const WrittenCompletions::Completion c = written_.take(notice, now);
      if (c.received()) latencies_->on_visible(c.status, c.times, now);
      if (c.matched) latencies_->on_matched(c.status, c.times, now);
    }
    worked = true;
    if (cqs_[index].polled_soon) continue;
    cqs_[index].polled_soon = true;
    polls_.push({Due::Kind::kPoll, index, 0}, now + latest(poll_latency_, Cycle{1}));
  }
  // (3) polls that are due
  while (polls_.ready(now)) {
    const std::uint32_t index = polls_.pop().index;
    cqs_[index].polled_soon = false;
    poll(index, now);
    worked = true;
  }
  // (4) posts that are due
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
  // (6) operations on tag lists
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
  completion_doorbells.push(now, {DoorbellKind::kCqConsumer, false, raw(cqs_[due.index].context.number), due.value});
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
  if (cq.consumer == before) return;
  doorbells_.push({Due::Kind::kConsumer, index, cq.consumer}, now + latest(doorbell_latency_, Cycle{1}));  // (R3)
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
  const bool of_tags = cqe.opcode == CqeOpcode::kTagReceive || cqe.opcode == CqeOpcode::kTagDelete;
  const auto tags = of_tags ? tag_index_.find(cqe.srq_number) : tag_index_.end();
  if (tags != tag_index_.end()) {
    const TagProgram::Action action = tag_lists_[tags->second].completed(cqe);
    if (action.kind != TagProgram::Action::Kind::kNone) {
      tag_steps_.push({tags->second, action}, now + latest(repost_latency_, Cycle{1}));
    }
  }
  if (!is_receive(cqe.opcode) && !TagProgram::is_unexpected(cqe)) return;
  if (!failed) counters_.receive_bytes += cqe.byte_count;
  const bool srq = (cqe.flags & kCqeSrq) != 0;
  const std::uint32_t queue = queue_index_.find(queue_key(srq, srq ? cqe.srq_number : cqe.qp_number));
  if (queue == FlatIndex::kNone) return;
  queues_[queue].complete(cqe.wqe_index);
  if (failed && !srq) {  // (R4)
    queues_[queue].set_limit(0);
    holds_[queue].clear();
    return;
  }
  schedule_post(queue, now);
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
