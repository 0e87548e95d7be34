// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/qp_context_cache.h"

#include <algorithm>
#include <type_traits>

namespace rxnic {

static_assert(std::is_trivially_copyable_v<QpContext>, "contexts are moved by DMA");

QpContextCache::QpContextCache(const sc_core::sc_module_name& name, const QpContextCacheParams& params,
                               QpContextMemory& lines, Ledger& ledger, PacketStamps stamps,
                               std::unique_ptr<Replacement> replacement)
    : QpContextCachePorts(name),
      params_(params),
      ledger_(ledger),
      stamps_(stamps),
      tags_(params.sets, params.ways, std::move(replacement)),
      lines_(lines),
      states_(tags_.lines(), LineState::kEmpty),
      displaced_(tags_.lines(), kNone),
      requests_(2 * params.misses_in_flight),
      found_(params.hit_cycles + 1) {}

Cycle QpContextCache::step(Cycle now) {
  again_ = false;
  // (1) a context comes from memory; when there is no such QP, the packet that waits for it is dropped
  bool dropped = false;
  if (dma_done.can_pop(now)) {
    const DmaCompletion done = dma_done.pop(now);
    dropped = fill(done.cookie, done.ok, now);
    again_ = dma_done.can_pop(now);
  }
  // (2) a command; the packets that have their context leave
  if (contexts.can_pop(now)) carry_out_command(now);
  leave(now);
  // (3) one packet is taken, or the one that waits goes on
  if (dropped) {
    again_ |= more_to_take(now);
  } else {
    advance(now);
  }
  // (4) while one waits, those behind it are looked at
  look_ahead(now);
  // (5) one DMA request is made
  make_request(now);

  in.listen(has_head_ || !found_.full());
  commands.listen(!has_head_ && !found_.full());
  Cycle next = again_ || head_has_no_way_ ? now + 1 : kNever;
  if (found_.empty()) {
    const Activity waits = head_has_no_way_ ? Activity::kWaitContextWay : Activity::kWaitContext;
    const Activity idle = has_head_ ? waits : Activity::kStarved;
    if (now < last_found_) return rest(now, Activity::kBusy, last_found_, idle, next);
    return rest(now, idle, next);
  }
  if (last_found_ <= now) return rest(now, Activity::kBlocked, next);
  const Cycle due = found_.next_ready();
  if (due > now && !out.full()) next = earliest(next, due);
  return rest(now, Activity::kBusy, last_found_, Activity::kBlocked, next);
}

// True when the packet at the head was dropped because its QP does not exist.
bool QpContextCache::fill(std::uint32_t line, bool ok, Cycle now) {
  settle(line);
  const QpContext& context = lines_[line];
  displaced_[line] = kNone;
  --reading_;
  if (ok && context.valid != 0) {
    states_[line] = LineState::kHere;
    return false;
  }
  const Qpn qpn{static_cast<std::uint32_t>(tags_.key(line))};  // (R6)
  tags_.drop(line);
  states_[line] = LineState::kEmpty;
  if (!has_head_ || head_.destination_qp != qpn) return false;
  give_up_head(DropReason::kQpNotFound, now);
  return true;
}

// A context has come to the line.
void QpContextCache::settle(std::uint32_t line) {
  QpContext& context = lines_[line];
  context.pins = {};
  context.line = line;
  context.dirty = false;
  context.residence = ++residences_;
}

void QpContextCache::give_up_head(DropReason reason, Cycle now) {  // (R6, R7, R8)
  if (!head_.is_completion) {
    counters_.not_found += reason == DropReason::kQpNotFound;
    ledger_.drop(head_.buffer, reason, now);
  }
  has_head_ = false;
  head_has_no_way_ = false;
}

// The context of `p` is in the line: pins it there for the packet.
void QpContextCache::found(ContextPacket& p, std::uint32_t line) {
  p.line = line;
  p.residence = lines_[line].residence;
  lines_.pin(line);
  tags_.touch(line);
}

void QpContextCache::count(const ContextPacket& p, Cycle leaves) {
  stamps_.stamp(p.buffer, Station::kQpContextCache, leaves);
  ++counters_.packets;
}

inline void QpContextCache::leave(Cycle now) {
  if (!found_.ready(now) || !out.can_push(now)) return;
  count(found_.front(), now);
  out.push(now, found_.front());
  found_.drop();
  again_ |= found_.ready(now) && !out.full();
}

bool QpContextCache::take_head(Cycle now) {
  if (commands.can_pop(now)) {  // (R7)
    head_ = ContextPacket{};
    head_.is_completion = true;
    head_.completion = commands.pop(now);
    head_.destination_qp = head_.completion.qpn;
    has_head_ = true;
    ++counters_.commands;
    return true;
  }
  if (!in.can_pop(now)) return false;
  if (head_.is_completion) head_ = ContextPacket{};
  static_cast<ParsedPacket&>(head_) = *in.peek(now);
  in.drop(now);
  stamps_.stamp_taken(head_.buffer, Station::kQpContextCache, now);
  has_head_ = true;
  if (ahead_ > 0) --ahead_;
  return true;
}

// The common case, a packet whose context is here: it goes on at once. False when the case does not apply.
inline bool QpContextCache::pass(Cycle now) {
  if (found_.full() || commands.can_pop(now) || !in.can_pop(now)) return false;
  const ParsedPacket& p = *in.peek(now);
  const std::uint32_t line = tags_.find(raw(p.destination_qp));
  if (line == kNone || states_[line] != LineState::kHere || (stopped_ && line == kept_)) return false;
  ++counters_.hits;
  stamps_.stamp_taken(p.buffer, Station::kQpContextCache, now);
  last_found_ = now + params_.hit_cycles;
  if (found_.empty() && out.can_send(now, last_found_)) {
    out.send(now, last_found_, p, [&](ContextPacket& c) {
      found(c, line);
      count(c, last_found_);
    });
  } else {
    found_.push(p, last_found_, [&](ContextPacket& c) { found(c, line); });
  }
  in.drop(now);
  if (ahead_ > 0) --ahead_;
  again_ |= more_to_take(now) && !found_.full();
  return true;
}

inline void QpContextCache::advance(Cycle now) {
  const bool waited = has_head_;
  if (!waited) {
    if (pass(now) || found_.full() || !take_head(now)) return;
  }
  const Qpn qpn = head_.destination_qp;
  const std::uint32_t line = tags_.find(raw(qpn));
  const bool here = line != kNone && states_[line] == LineState::kHere;
  if (!waited) ++(here ? counters_.hits : counters_.misses);
  head_has_no_way_ = false;
  if (here) {
    if (stopped_ && line == kept_) {  // (R7, R8)
      give_up_head(DropReason::kQpTypeOrState, now);
      again_ |= more_to_take(now);
      return;
    }
    found(head_, line);
    last_found_ = now + params_.hit_cycles;
    found_.push(head_, last_found_);
    has_head_ = false;
    again_ |= more_to_take(now) && !found_.full();
  } else if (line == kNone && reading_ < params_.misses_in_flight) {
    head_has_no_way_ = !fetch(qpn, now);
  }
}

inline void QpContextCache::look_ahead(Cycle now) {  // (R5)
  if (!has_head_) return;
  const ParsedPacket* const p = in.peek(now, ahead_);
  if (p == nullptr) return;
  const Qpn qpn = p->destination_qp;
  if (tags_.find(raw(qpn)) == kNone) {
    if (reading_ >= params_.misses_in_flight) return;  // tried again when a read has completed
    counters_.reads_ahead += fetch(qpn, now);
  }
  ++ahead_;
  again_ |= in.peek(now, ahead_) != nullptr;
}

// Starts a read of the context. False when no way of its set can be had. (R3, R4)
bool QpContextCache::fetch(Qpn qpn, Cycle now) {
  const std::uint32_t line = tags_.place_for(raw(qpn), [&](std::uint32_t l) { return may_evict(l, now); });
  if (line == kNone) return false;
  QpContext& context = lines_[line];
  DmaRequest request;
  request.cookie = line;
  request.bytes = kQpContextBytes;
  request.data = reinterpret_cast<std::uint8_t*>(static_cast<StoredQpContext*>(&context));
  if (states_[line] == LineState::kHere && context.dirty) {
    displaced_[line] = static_cast<std::uint32_t>(tags_.key(line));
    request.kind = DmaKind::kWrite;
    request.address = qp_context_address(Qpn{displaced_[line]});
    requests_.push(request, Cycle{0});
    ++counters_.write_backs;
  }
  // The read may fill the line that is being written: it comes after the write, whose data is taken when the DMA engine
  // accepts it.
  request.kind = DmaKind::kRead;
  request.address = qp_context_address(qpn);
  requests_.push(request, Cycle{0});
  ++counters_.reads;
  tags_.drop(line);
  tags_.assign(line, raw(qpn));
  states_[line] = LineState::kReading;
  ++reading_;
  return true;
}

inline void QpContextCache::make_request(Cycle now) {
  if (requests_.empty() || !dma.can_push(now)) return;
  dma.push(now, requests_.pop());
  again_ |= !requests_.empty();
}

QpContext* QpContextCache::find(Qpn qpn) {
  const std::uint32_t line = tags_.find(raw(qpn));
  return line != kNone && states_[line] == LineState::kHere ? &lines_[line] : nullptr;
}

bool QpContextCache::moving(Qpn qpn) const {
  const std::uint32_t line = tags_.find(raw(qpn));
  if (line != kNone && states_[line] == LineState::kReading) return true;
  return std::find(displaced_.begin(), displaced_.end(), raw(qpn)) != displaced_.end();
}

void QpContextCache::write_back(const QpContext& context, HostMemory& memory) {
  memory.store(qp_context_address(context.qpn), static_cast<const StoredQpContext&>(context));
}

void QpContextCache::flush_to(HostMemory& memory) {
  for (std::uint32_t line = 0; line < tags_.lines(); ++line) {
    QpContext& context = lines_[line];
    if (states_[line] != LineState::kHere || !context.dirty) continue;
    context.dirty = false;
    write_back(context, memory);
  }
}

void QpContextCache::hash(StateHash& h) const {
  h.mix(counters_);
  h.mix(std::uint64_t{reading_});
}

}  // namespace rxnic
