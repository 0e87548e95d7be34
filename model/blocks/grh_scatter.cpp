// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/grh_scatter.h"

#include <algorithm>

namespace rxnic {

GrhScatter::GrhScatter(const sc_core::sc_module_name& name, const GrhScatterParams& params, NicShared& shared)
    : Block(name),
      params_(params),
      shared_(shared),
      stages_(params.latency_cycles * params.sges_per_cycle),
      pipeline_(stages_ + static_cast<std::uint32_t>(kMaxPieces)) {}

Cycle GrhScatter::step(Cycle now) {
  // (1) the oldest pieces leave
  bool blocked = false;
  for (std::uint32_t n = 0; n < params_.sges_per_cycle && pipeline_.ready(now) && !blocked; ++n) {
    blocked = !out.can_push(now);
    if (blocked) break;
    const ScatteredSegment& s = pipeline_.front();
    if (s.last) shared_.stamp(s.buffer, Station::kGrhScatter, now);
    out.push(now, s);
    pipeline_.drop();
  }
  // (2) the next packet is planned
  if (now >= next_accept_ && !full() && in.can_pop(now)) take(now);
  in.listen(!full());
  // (3) rest
  Cycle next = kNever;
  if (!full()) next = latest(next_accept_, in.next(now));
  if (blocked) return rest(now, Activity::kBlocked, next);
  if (!pipeline_.empty()) {
    const Cycle due = latest(pipeline_.next_ready(), now + 1);
    if (out.full()) return rest(now, Activity::kBusy, due, Activity::kBlocked, next);
    return rest(now, Activity::kBusy, earliest(next, due));
  }
  const Cycle busy_until = latest(last_leaves_, next_accept_);
  if (now < busy_until) return rest(now, Activity::kBusy, busy_until, Activity::kStarved, next);
  return rest(now, Activity::kStarved, next);
}

void GrhScatter::take(Cycle now) {
  ScatterJob p = in.pop(now);
  shared_.stamp_taken(p.buffer, Station::kGrhScatter, now);
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
  Packet* const buffer = p.buffer == kNoPacket ? nullptr : &shared_.packets[p.buffer];
  const ScatterWork work = plan_scatter(p, buffer, wqe, cursor, refused_, pieces_);
  refused_.report(refusals, now);
  send(p, now);
  next_accept_ = now + cycles_of(work);
  ++counters_.packets;
  counters_.segments += pieces_.size();
  counters_.bytes += work.bytes;
  counters_.elements += work.elements;
  counters_.failed += p.drop_reason != before;
  counters_.grh_areas += pieces_.size() > 0 && p.has(kHasDeth);
}

void GrhScatter::send(const ScatterJob& p, Cycle now) {  // (R1)
  Cycle leaves = now + params_.latency_cycles;
  const std::uint32_t count = std::max(1u, pieces_.size());
  for (std::uint32_t n = 0; n < count; ++n) {
    const CompletionRequest& packet = p;
    if (pipeline_.empty() && out.can_send(now, leaves)) {
      if (n + 1 == count) shared_.stamp(p.buffer, Station::kGrhScatter, leaves);
      out.send(now, leaves, packet, [&](ScatteredSegment& s) { fill(s, p, n); });
      last_leaves_ = leaves;
    } else {
      ScatteredSegment s{packet};
      fill(s, p, n);
      pipeline_.push(s, leaves);
    }
    if ((n + 1) % params_.sges_per_cycle == 0) leaves += 1;
  }
}

// The n-th piece of the packet.
void GrhScatter::fill(ScatteredSegment& s, const ScatterJob& p, std::uint32_t n) const {
  s.access = p.access;
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

std::uint32_t GrhScatter::cycles_of(const ScatterWork& work) const {  // (R2)
  const std::uint32_t beats = (work.bytes + params_.bytes_per_cycle - 1) / params_.bytes_per_cycle;
  const std::uint32_t looks =
      (std::max(work.elements, pieces_.size()) + params_.sges_per_cycle - 1) / params_.sges_per_cycle;
  return std::max({1u, beats, looks});
}

void GrhScatter::hash(StateHash& h) const {
  h.mix(counters_);
  h.mix(pipeline_.size());
  h.mix(next_accept_.count);
}

}  // namespace rxnic
