// SPDX-License-Identifier: Apache-2.0
// CQ contexts: waiting for one, moderated events (R4, R11 .. R14 of cqe_generator.h).
#include <algorithm>

#include "model/blocks/cqe_generator.h"

namespace rxnic {

void CqeGenerator::take_context(Cycle now) {
  const DmaCompletion done = context_dma_done.pop(now);
  records_.keep(now, done.cookie);
  waits_.arrived(done.cookie, done.ok);
  again_ |= context_dma_done.can_pop(now);
}

// Whether the packet has a completion, or may get a completion here. A packet may get a completion for the WQE that it
// releases (R8). Or it gets one because it is the response to a request of ours that is given up.
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
  if (!queue_.full() && in.can_pop(now)) {
    queue_.push(*in.peek(now), now);
    in.drop(now);
    again_ |= in.can_pop(now);
  }
  ahead_ = std::max(ahead_, 1u);
  if (ahead_ >= queue_.size()) return;
  const CompletionRequest& p = queue_.at(ahead_);
  if (may_complete(p) && !waits_.read_ahead(kPacket, raw(p.cq))) return;  // tried again when a read has completed
  ++ahead_;
  again_ |= ahead_ < queue_.size();
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
  const auto t =
      std::find_if(moderated_.begin(), moderated_.end(), [&](const ModerationTimer& m) { return m.due <= now; });
  next_moderation_ = now;  // looked at again in the next cycle
  if (t == moderated_.end()) {
    next_moderation_ = kNever;
    for (const ModerationTimer& m : moderated_) next_moderation_ = earliest(next_moderation_, m.due);
    return;
  }
  if (event_room() == 0) return;
  Cq* cq = nullptr;
  if (look_up(kTimer, t->cq, cq) == ContextLookup::kWaits) return;
  use(kTimer, cq);
  Cycle due = cq != nullptr ? cq->queue.event_due() : kNever;
  if (due <= now) {
    raise(EventType::kCompletion, raw(t->cq), now);
    cq->queue.disarm();
    due = kNever;
  }
  if (cq != nullptr) cq->record().timer = due;
  t->due = due;
  if (due == kNever) drop_timer(*t);
}

void CqeGenerator::drop_timer(ModerationTimer& t) {
  t = moderated_.back();
  moderated_.pop_back();
}

void CqeGenerator::forget_timer(Cqn number) {
  const auto t =
      std::find_if(moderated_.begin(), moderated_.end(), [&](const ModerationTimer& m) { return m.cq == number; });
  if (t != moderated_.end()) drop_timer(*t);
  waits_.forget(kTimer, raw(number));
}

void CqeGenerator::create(const CqContext& attributes, HostMemory& memory) {
  forget_timer(attributes.number);
  if (cqs_.create(attributes, memory)) set_up_.push_back(attributes);
}

const CompletionQueue* CqeGenerator::find(Cqn number) const {
  const Cq* cq = cqs_.find(number);
  return cq == nullptr ? nullptr : &cq->queue;
}

}  // namespace rxnic
