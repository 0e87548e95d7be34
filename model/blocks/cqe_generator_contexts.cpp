// SPDX-License-Identifier: Apache-2.0
// CQ contexts: who waits for one, commands, moderated events (R4, R10 .. R14 of cqe_generator.h).
#include <algorithm>

#include "model/blocks/cqe_generator.h"

namespace rxnic {

void CqeGenerator::take_context(Cycle now) {
  const DmaCompletion done = context_dma_done.pop(now);
  const std::uint32_t number = cqs_.cache().number_of(done.cookie);
  again_ |= context_dma_done.can_pop(now);
  if (cqs_.cache().arrived(done.cookie, done.ok)) return;
  for (Wait& w : waits_) w.absent |= w.number == number;
}

// It has a completion; or it gets one here, unless it is squashed: for the WQE that it releases (R8), or because it
// answers a request of ours that is given up.
bool CqeGenerator::may_complete(const CompletionRequest& p) const {
  return p.completes || (p.releases_wqe && p.wqe_slot != kNoWqeSlot) || refused_.gives_up(p);
}

// kHere: `cq` is it.
CqeGenerator::Lookup CqeGenerator::look_up(Asker asker, Cqn number, Cq*& cq) {
  cq = cqs_.find(number);
  if (cq != nullptr) return Lookup::kHere;
  Wait& w = waits_[asker];
  if (w.number != raw(number)) {
    w = {};
    w.number = raw(number);
    ++counters_.context_misses;
  }
  if (w.absent) return Lookup::kAbsent;
  w.yields = false;
  w.lacks_way = !cqs_.cache().coming(raw(number)) && cqs_.cache().may_read() && !has_read(raw(number), false, asker);
  again_ |= w.lacks_way;
  return Lookup::kWaits;
}

// False: there is no way for it. (R11)
bool CqeGenerator::has_read(std::uint32_t number, bool ahead, Asker asker) {
  const auto f = cqs_.cache().fetch(number, ahead, [&](std::uint32_t line) {
    if (!cqs_.may_give_way(line)) return false;
    for (std::uint32_t a = 0; a < kAskers; ++a) {
      const Wait& w = waits_[a];
      if ((a != asker || ahead) && w.number == cqs_.cache().number_of(line) && !w.yields) return false;
    }
    return true;
  });
  if (f.line == kNobody) return false;
  ++counters_.context_reads;
  counters_.context_reads_ahead += ahead;
  counters_.context_write_backs += f.writes_back;
  return true;
}

// The asker goes on.
void CqeGenerator::use(Asker asker, Lookup found, const Cq* cq) {
  Wait& w = waits_[asker];
  const bool waited = w.number != kNobody;
  if (waited) w = {};
  if (found != Lookup::kHere || cq == nullptr) return;
  counters_.context_hits += !waited;
  const std::uint32_t line = cqs_.cache().line_of(*cq);
  cqs_.cache().touch(line);
  cqs_.cache().set_dirty(line);
}

// A packet that needs no context is as one that has it.
CqeGenerator::Lookup CqeGenerator::look_up_of_packet(const CompletionRequest& p, Cq*& cq) {
  if (!may_complete(p)) return Lookup::kHere;
  const Lookup found = look_up(kPacket, p.cq, cq);
  if (!doorbells_late_ || found != Lookup::kHere) return found;
  const CqRecord& r = cq->record();
  if (r.dead || r.closed || cq->queue.has_room(block_slots(cq->session.count()) + 1)) return found;
  waits_[kPacket].yields = true;  // (R13)
  return Lookup::kWaits;
}

void CqeGenerator::look_ahead(Cycle now) {  // (R12)
  ahead_ = std::max(ahead_, 1u);
  const CompletionRequest* const p = in.peek(now, ahead_);
  if (p == nullptr) return;
  const std::uint32_t number = raw(p->cq);
  if (may_complete(*p) && cqs_.find(p->cq) == nullptr && !cqs_.cache().coming(number)) {
    if (!cqs_.cache().may_read()) return;  // a completion leads here again
    has_read(number, true, kPacket);
  }
  ++ahead_;
  again_ |= in.peek(now, ahead_) != nullptr;
}

void CqeGenerator::check_event(Cq& cq, Cycle now) {  // (R4)
  const Cycle due = cq.queue.event_due();
  if (due == kNever) return;
  Cycle& timer = cq.record().timer;
  const bool lacks_timer = timer == kNever && due > now && moderated_.size() == params_.moderation_timers;
  if (due <= now || lacks_timer) {
    counters_.unmoderated_events += lacks_timer;
    raise(EventType::kCompletion, raw(cq.queue.context().number), now);
    cq.queue.disarm();
    return;
  }
  if (timer <= due) return;  // it is looked at then
  const Cqn number = cq.queue.context().number;
  if (timer == kNever) {
    moderated_.push_back({number, due});
  } else {
    std::find_if(moderated_.begin(), moderated_.end(), [&](const ModerationTimer& t) { return t.cq == number; })->due =
        due;
  }
  timer = due;
  next_moderation_ = earliest(next_moderation_, due);
}

void CqeGenerator::run_moderation(Cycle now) {  // (R14)
  next_moderation_ = kNever;
  for (std::size_t i = 0; i < moderated_.size();) {
    ModerationTimer& t = moderated_[i];
    if (t.due > now || event_room() == 0) {
      next_moderation_ = earliest(next_moderation_, t.due);
      ++i;
      continue;
    }
    Cq* cq = nullptr;
    const Lookup found = look_up(kTimer, t.cq, cq);
    if (found == Lookup::kWaits) {
      next_moderation_ = now;  // asked again in the next cycle
      return;
    }
    use(kTimer, found, cq);
    Cycle due = found == Lookup::kHere ? cq->queue.event_due() : kNever;
    if (due <= now) {
      raise(EventType::kCompletion, raw(t.cq), now);
      cq->queue.disarm();
      due = kNever;
    }
    if (found == Lookup::kHere) cq->record().timer = due;
    if (due != kNever) {
      t.due = due;
      continue;
    }
    t = moderated_.back();
    moderated_.pop_back();
  }
}

void CqeGenerator::forget_timer(Cqn number) {
  std::erase_if(moderated_, [&](const ModerationTimer& t) { return t.cq == number; });
  if (waits_[kTimer].number == raw(number)) waits_[kTimer] = {};
}

void CqeGenerator::create(const CqContext& context, HostMemory& memory) {
  forget_timer(context.number);
  if (raw(context.number) < last_writes_.size()) last_writes_[raw(context.number)] = 0;
  cqs_.create(context, memory);
}

bool CqeGenerator::destroy(Cqn number, HostMemory& memory) {
  if (!cqs_.destroy(number, memory)) return false;
  forget_timer(number);
  if (raw(number) < last_writes_.size()) last_writes_[raw(number)] = 0;
  wake();  // its line is free
  return true;
}

bool CqeGenerator::close(Cqn number, HostMemory& memory) {
  if (!cqs_.close(number, memory)) return false;
  forget_timer(number);
  return true;
}

std::uint64_t CqeGenerator::last_write(Cqn number) const {
  return raw(number) < last_writes_.size() ? last_writes_[raw(number)] : 0;
}

const CompletionQueue* CqeGenerator::find(Cqn number) const {
  const Cq* cq = cqs_.find(number);
  return cq == nullptr ? nullptr : &cq->queue;
}

}  // namespace rxnic
