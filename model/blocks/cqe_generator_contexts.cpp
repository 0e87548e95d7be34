// SPDX-License-Identifier: Apache-2.0
// CQ contexts: waiting for one, moderated events (R4, R11 .. R14 of cqe_generator.h).
#include <algorithm>

#include "model/blocks/cqe_generator.h"

namespace rxnic {

void CqeGenerator::take_context(Cycle now) {
  const DmaCompletion done = context_dma_done.pop(now);
  waits_.arrived(done.cookie, done.ok);
  again_ |= context_dma_done.can_pop(now);
}

// Whether the packet has a completion, or may get one here: for the WQE that it releases (R8), or because it is a
// response to a request of ours that is given up.
bool CqeGenerator::may_complete(const CompletionRequest& p) const {
  return p.completes || (p.releases_wqe && p.wqe_slot != kNoWqeSlot) || refused_.gives_up(p);
}

// Finds the context, or starts a read of it. kHere: `cq` is the CQ.
ContextLookup CqeGenerator::look_up(Asker asker, Cqn number, Cq*& cq) {
  const ContextLookup found = waits_.look_up(asker, raw(number));
  cq = found == ContextLookup::kHere ? &cqs_[waits_.line(asker)] : nullptr;
  again_ |= waits_.lacks_way(asker);
  return found;
}

// The asker goes on and changes the CQ that it found.
void CqeGenerator::use(Asker asker, const Cq* cq) {
  waits_.use(asker);
  if (cq != nullptr) cqs_.cache().set_dirty(cqs_.cache().line_of(*cq));
}

// A packet that needs no context is as one that has it.
ContextLookup CqeGenerator::look_up_of_packet(const CompletionRequest& p, Cq*& cq) {
  if (!may_complete(p)) return ContextLookup::kHere;
  const ContextLookup found = look_up(kPacket, p.cq, cq);
  if (!doorbells_late_ || found != ContextLookup::kHere) return found;
  const CqRecord& r = cq->record();
  if (r.dead || r.closed || cq->queue.has_room(block_slots(cq->held()) + 1)) return found;
  waits_.yield(kPacket);  // (R13)
  return ContextLookup::kWaits;
}

void CqeGenerator::look_ahead(Cycle now) {  // (R12)
  ahead_ = std::max(ahead_, 1u);
  const CompletionRequest* const p = in.peek(now, ahead_);
  if (p == nullptr) return;
  if (may_complete(*p) && !waits_.read_ahead(kPacket, raw(p->cq))) return;  // tried again when a read has completed
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
  if (timer <= due) return;  // when the timer is due, the event is looked at again
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
    if (look_up(kTimer, t.cq, cq) == ContextLookup::kWaits) {
      next_moderation_ = now;  // looked up again in the next cycle
      return;
    }
    use(kTimer, cq);
    Cycle due = cq != nullptr ? cq->queue.event_due() : kNever;
    if (due <= now) {
      raise(EventType::kCompletion, raw(t.cq), now);
      cq->queue.disarm();
      due = kNever;
    }
    if (cq != nullptr) cq->record().timer = due;
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
  waits_.forget(kTimer, raw(number));
}

void CqeGenerator::create(const CqContext& context, HostMemory& memory) {
  forget_timer(context.number);
  cqs_.create(context, memory);
}

const CompletionQueue* CqeGenerator::find(Cqn number) const {
  const Cq* cq = cqs_.find(number);
  return cq == nullptr ? nullptr : &cq->queue;
}

}  // namespace rxnic
