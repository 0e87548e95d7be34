// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/grh_scatter.h"

#include <algorithm>

namespace rxnic {

GrhScatter::GrhScatter(const sc_core::sc_module_name& name, const GrhScatterParams& params, NicShared& shared)
    : Block(name), params_(params), shared_(shared), pipeline_(params.latency_cycles) {}

Cycle GrhScatter::step(Cycle now) {
  // (1) the oldest planned packet leaves
  bool blocked = false;
  if (pipeline_.ready(now)) {
    if (out.can_push(now)) {
      const PacketHandle h = pipeline_.pop();
      shared_.packets[h].stamp(Station::kGrhScatter, now);
      out.push(now, h);
    } else {
      blocked = true;
    }
  }
  // (2) the next packet is planned
  if (now >= next_accept_ && !pipeline_.full() && in.can_pop(now)) take(now);
  in.listen(!pipeline_.full());
  // (3) rest
  Cycle next = kNever;
  if (!in.empty() && !pipeline_.full()) next = latest(next_accept_, now + 1);
  if (blocked) return rest(now, Activity::kBlocked, next);
  if (!pipeline_.empty()) {
    const Cycle due = latest(pipeline_.next_ready(), now + 1);
    if (out.full()) return rest(now, Activity::kBusy, due, Activity::kBlocked, next);
    return rest(now, Activity::kBusy, earliest(next, due));
  }
  if (now < next_accept_) return rest(now, Activity::kBusy, next_accept_, Activity::kStarved, next);
  return rest(now, Activity::kStarved, next);
}

void GrhScatter::take(Cycle now) {
  const PacketHandle h = in.pop(now);
  Packet& p = shared_.packets[h];
  const bool squashed_before = p.drop_reason == DropReason::kSquashed;
  counters_.squashed += refused_.squash_when_behind(p) && !squashed_before;  // (R4)
  ReceiveWqe* wqe = nullptr;
  ScatterCursor* cursor = nullptr;
  if (p.wqe_slot != kNoWqeSlot) {  // (R3)
    wqe = &shared_.wqes[p.wqe_slot];
    if (p.wqe_slot >= cursors_.size()) cursors_.resize(std::size_t{p.wqe_slot} * 2 + 1);
    cursor = &cursors_[p.wqe_slot];
  }
  const DropReason before = p.drop_reason;
  const ScatterWork work = plan_scatter(p, wqe, cursor, refused_);
  refused_.report(refusals, now);
  pipeline_.push(h, now + params_.latency_cycles);  // (R1)
  next_accept_ = now + cycles_of(work);
  ++counters_.packets;
  counters_.segments += p.segment_count;
  counters_.bytes += work.bytes;
  counters_.elements += work.elements;
  counters_.failed += p.drop_reason != before;
  counters_.grh_areas += p.segment_count > 0 && p.has(kHasDeth);
}

std::uint32_t GrhScatter::cycles_of(const ScatterWork& work) const {  // (R2)
  const std::uint32_t beats = (work.bytes + params_.bytes_per_cycle - 1) / params_.bytes_per_cycle;
  const std::uint32_t looks = (work.elements + params_.sges_per_cycle - 1) / params_.sges_per_cycle;
  return std::max({1u, beats, looks});
}

void GrhScatter::hash(StateHash& h) const {
  h.mix(counters_);
  h.mix(pipeline_.size());
  h.mix(next_accept_.count);
}

}  // namespace rxnic
