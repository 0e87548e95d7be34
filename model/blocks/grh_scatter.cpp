// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/grh_scatter.h"

#include <algorithm>

namespace rxnic {

GrhScatter::GrhScatter(const sc_core::sc_module_name& name, const GrhScatterParams& params, PacketStamps stamps)
    : GrhScatterPorts(name),
      params_(params),
      stamps_(stamps),
      stages_(params.latency_cycles * params.sges_per_cycle),
      pipeline_(stages_ + params.sges_per_cycle - 1) {}

Cycle GrhScatter::step(Cycle now) {
  // (1) the oldest pieces leave
  bool blocked = false;
  for (std::uint32_t n = 0; n < params_.sges_per_cycle && pipeline_.ready(now) && !blocked; ++n) {
    blocked = !out.can_push(now);
    if (blocked) break;
    const ScatteredSegment& s = pipeline_.front();
    if (s.last) stamps_.stamp(s.buffer, Station::kGrhScatter, now);
    out.push(now, s);
    pipeline_.drop();
  }
  // (2) looks at the packet at hand
  if (looking()) {
    if (now >= next_look_ && !full()) look(now);
    // (3) the next packet
  } else if (now >= next_accept_ && !full() && in.can_pop(now)) {
    take(now);
  }
  in.listen(!full() && !looking());
  // (4) rest
  Cycle next = kNever;
  if (!full()) next = looking() ? latest(next_look_, now + 1) : latest(next_accept_, in.next(now));
  if (blocked) return rest(now, Activity::kBlocked, next);
  if (!pipeline_.empty()) {
    const Cycle due = latest(pipeline_.next_ready(), now + 1);
    if (out.full()) return rest(now, Activity::kBusy, due, Activity::kBlocked, next);
    return rest(now, Activity::kBusy, earliest(next, due));
  }
  if (looking()) return rest(now, Activity::kBusy, next);
  const Cycle busy_until = latest(last_leaves_, next_accept_);
  if (now < busy_until) return rest(now, Activity::kBusy, busy_until, Activity::kStarved, next);
  return rest(now, Activity::kStarved, next);
}

inline void GrhScatter::take(Cycle now) {
  job_ = in.pop(now);
  stamps_.stamp_taken(job_.buffer, Station::kGrhScatter, now);
  const bool squashed_before = job_.drop_reason == DropReason::kSquashed;
  counters_.squashed += refused_.squash_when_behind(job_) && !squashed_before;  // (R4)
  const DataSegment* list = nullptr;
  ScatterCursor* cursor = nullptr;
  if (job_.wqe_slot != kNoWqeSlot) {  // (R3)
    list = lists.peek({job_.wqe_slot, 0});
    if (job_.wqe_slot >= cursors_.size()) cursors_.resize(std::size_t{job_.wqe_slot} * 2 + 1);
    cursor = &cursors_[job_.wqe_slot];
  }
  const DropReason before = job_.drop_reason;
  work_ = plan_scatter(job_, list, cursor, refused_, pieces_);
  refused_.report(refusals, now);
  looked_ = sent_ = 0;
  next_accept_ = now + (work_.bytes + params_.bytes_per_cycle - 1) / params_.bytes_per_cycle;  // (R2)
  look(now);
  ++counters_.packets;
  counters_.segments += pieces_.size();
  counters_.bytes += work_.bytes;
  counters_.elements += work_.elements;
  counters_.failed += job_.drop_reason != before;
  counters_.grh_areas += pieces_.size() > 0 && job_.has(kHasDeth);
}

// The looks of this cycle and, while pieces may be sent ahead of their cycle (link.h, R8), those of later ones.
void GrhScatter::look(Cycle now) {
  Cycle cycle = now;
  do {
    look_once(now, cycle);
    cycle += 1;
  } while (looking() && pipeline_.empty() && out.can_send(now, cycle + params_.latency_cycles));
  next_look_ = cycle;
  if (!looking()) next_accept_ = latest(next_accept_, cycle);  // (R2)
}

inline void GrhScatter::look_once(Cycle now, Cycle cycle) {  // (R1)
  if (work_.reads_list)
    lists.note(cycle, {job_.wqe_slot, static_cast<std::uint8_t>(pieces_.element(looked_))});  // (R6)
  looked_ = std::min(looked_ + params_.sges_per_cycle, work_.looks);
  const Cycle leaves = cycle + params_.latency_cycles;
  while (sent_ < pieces_.size() && pieces_[sent_].look < looked_) send(now, leaves, sent_++);
  if (!looking() && pieces_.size() == 0) send(now, leaves, 0);
}

// The n-th piece of the packet.
void GrhScatter::send(Cycle now, Cycle leaves, std::uint32_t n) {
  const CompletionRequest& packet = job_;
  if (pipeline_.empty() && out.can_send(now, leaves)) {
    if (n + 1 >= pieces_.size()) stamps_.stamp(job_.buffer, Station::kGrhScatter, leaves);
    out.send(now, leaves, packet, [&](ScatteredSegment& s) { fill(s, n); });
    last_leaves_ = leaves;
  } else {
    pipeline_.push(packet, leaves, [&](ScatteredSegment& s) { fill(s, n); });
  }
}

void GrhScatter::fill(ScatteredSegment& s, std::uint32_t n) const {
  s.access = job_.access;
  if (pieces_.size() == 0) return;
  const Piece& piece = pieces_[n];
  s.first = n == 0;
  s.last = n + 1 == pieces_.size();
  s.area = piece.area;
  s.offset = piece.offset;
  s.key = piece.key;
  s.va = piece.va;
  s.bytes = piece.bytes;
}

void GrhScatter::hash(StateHash& h) const {
  h.mix(counters_);
  h.mix(pipeline_.size());
  h.mix(next_accept_.count);
  h.mix(looked_);
}

}  // namespace rxnic
