// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/srq_wqe_fetcher.h"

#include <algorithm>
#include <utility>

#include "model/types/syndrome.h"

namespace rxnic {

SrqWqeFetcher::SrqWqeFetcher(const sc_core::sc_module_name& name, const SrqWqeFetcherParams& params,
                             QpPartMemory<OpenWqe, OpenWqeWrite, Block> contexts, PacketStamps stamps,
                             UdTooLongPolicy ud_too_long, WqeErrorStatus wqe_error, bool counts_credits,
                             std::uint32_t rendezvous, std::unique_ptr<PrefetchWindow> window,
                             std::unique_ptr<Replacement> replacement)
    : SrqWqeFetcherPorts(name),
      params_(params),
      stamps_(stamps),
      contexts_(contexts),
      ud_too_long_(ud_too_long),
      wqe_error_(wqe_error),
      counts_credits_(counts_credits),
      table_({params.queues,
              params.prefetch_depth,
              params.wqes_per_read,
              params.reads_in_flight,
              params.sequential_prefetch,
              params.prefetch == PrefetchPolicy::kGreedy,
              {params.queue_contexts, params.queue_context_ways, params.queue_misses_in_flight}},
             std::move(window), std::move(replacement)),
      wqe_data_(table_),
      queue_data_(table_.cache()),
      slots_({params.wqe_store_entries, params.wqe_store_share, params.queues}),
      waits_(table_, counters_),
      pipeline_(params.pipeline_depth),
      look_ahead_(params.queues > params.pipeline_depth),
      flush_requests_(contexts_.lines()),
      rendezvous_(rendezvous) {
  contexts_.set_clock(*this);
  bind_memories(*this);
  context_dma_done.show_in(inputs_, kContextDone);
  commands.show_in(inputs_, kCommands);
  doorbells.show_in(inputs_, kDoorbells);
  dma_done.show_in(inputs_, kReadDone);
  flushes.show_in(inputs_, kFlushes);
  rendezvous_places.show_in(inputs_, kRendezvousPlaces);
  released.show_in(inputs_, kReleased);
  tagged.show_in(inputs_, kTagged);
}

void SrqWqeFetcher::bind_memories(SrqWqeFetcherPorts& to) {
  for (auto* port : {&to.context, &to.tagged_context, &to.flush_context, &to.command_context}) port->bind(contexts_);
  to.context_write.bind(contexts_);
  to.fetched_wqes.bind(wqe_data_);
  to.fetched.bind(queue_data_);
  to.written_back.bind(queue_data_);
}

void SrqWqeFetcher::stand_behind(Block& face) {
  face_ = static_cast<SrqWqeFetcherPorts*>(&face);
  bind_memories(*face_);
}

void SrqWqeFetcher::end_of_elaboration() {
  doorbell_places_ = doorbells_ahead_ = doorbells.size() > 0 ? doorbells[0]->capacity() : 0;
}

Cycle SrqWqeFetcher::step(Cycle now) {
  bool background = false, moved = false;  // work was done: other than on packets, and on packets
  lacks_slot_ = lacks_context_ = lacks_late_ = again_ = false;
  wanted_ = kNoWq;
  queue_data_.line = WorkQueue::kNone;
  waits_.begin_cycle();
  // (1) a context comes; a command, a doorbell
  if ((inputs_ & kRareInputs) != 0) {
    background = take_rare_inputs(now);
  } else {
    doorbells_late_ = false;
    doorbells_ahead_ = doorbell_places_;
  }
  // (2) WQEs that have come
  if ((inputs_ & kReadDone) != 0 && dma_done.can_pop(now)) {
    const DmaCompletion done = dma_done.pop(now);
    table_.arrived(done.cookie, done.ok);
    background = true;
  }
  if ((inputs_ & kFlushes) != 0 && flushes.can_pop(now)) background |= take_flush_request(now);
  if ((inputs_ & kRendezvousPlaces) != 0 && rendezvous_places.can_pop(now)) {
    rendezvous_ += rendezvous_places.pop(now).count;
  }
  if ((inputs_ & kReleased) != 0 && released.can_pop(now)) slots_.release(released.pop(now).wqe_slot);
  // (3) the oldest packet, or a flushed WQE, leaves
  const bool flushing = flush_pending();
  Activity activity = Activity::kStarved;
  const bool head_is_ready = pipeline_.ready(now);
  if (!out.can_push(now)) {
    if (head_is_ready || flushing || flushes.can_pop(now)) activity = Activity::kBlocked;
  } else if (flushing && flush_turn_ && flush(now)) {
    moved = true;
    flush_turn_ = false;
  } else if (head_is_ready) {
    WqeRequest& p = pipeline_.front();
    const Verdict verdict = serve(p, now);
    refused_.report(refusals, now);
    if (verdict == Verdict::kLeaves) {
      leave(p, now);
      if (pipeline_.front().asks != kNoWq) table_.served(pipeline_.front().asks);
      waits_.use(kPacket);
      pipeline_.drop();
      moved = flush_turn_ = true;
      waiting_ = false;
    } else if (verdict == Verdict::kWaits && lacks_context_) {
      activity = waits_.lacks_way(kPacket) ? Activity::kWaitContextWay : Activity::kWaitQueueContext;
    } else if (verdict == Verdict::kWaits) {
      activity = lacks_slot_ ? Activity::kWaitWqeStore : Activity::kWaitWqe;
      if (!lacks_slot_) {
        wanted_ = p.queue;
        if (!waiting_) {
          ++counters_.waits;
          table_.waits(p.queue);
        }
        waiting_ = true;
      }
    } else {
      activity = Activity::kBlocked;
    }
    if (flushing && !moved) moved = flush(now);
  } else if (flushing) {
    moved = flush(now);
  }
  // (4) take a packet
  if (!pipeline_.full() && (in.can_pop(now) || (inputs_ & kTagged) != 0)) moved |= accept(now);
  // (5) a read
  if (wanted_ != kNoWq || table_.may_want_read()) background |= read_ahead(now);
  // (6) a request for a context
  if (table_.cache().has_request() && context_dma.can_push(now)) request_context(now);
  background |= again_ || waits_.deferred();
  // (7) rest
  in.listen(!pipeline_.full());
  tagged.listen(!pipeline_.full());
  if (moved && !background && !lacks_slot_ && !lacks_context_ && !(flushing && flush_pending()) && nothing_to_take()) {
    if (pipeline_.empty()) return rest(now, Activity::kBusy, now + 1, Activity::kStarved, kNever);
    const Cycle due = latest(pipeline_.next_ready(), now + 1);
    if (out.full()) return rest(now, Activity::kBusy, due, Activity::kBlocked, kNever);
    return rest(now, Activity::kBusy, due);
  }
  Cycle next = moved || background || lacks_slot_ ? now + 1 : kNever;
  if (!head_is_ready) next = earliest(next, pipeline_.next_ready());
  if (moved) return rest(now, Activity::kBusy, next);
  if (activity != Activity::kStarved) return rest(now, activity, next);
  if (!pipeline_.empty() || background) return rest(now, Activity::kBusy, next);
  return rest(now, Activity::kStarved, next);
}

// Whether there is nothing to do until the oldest packet is due or something comes through a link, but for a flush.
bool SrqWqeFetcher::nothing_to_take() const {
  if ((inputs_ & (kFlushes | kDoorbells | kReadDone)) != 0) return false;
  return pipeline_.full() || (in.empty() && (inputs_ & kTagged) == 0);
}

// A context comes, a command, a doorbell. True when one of them was taken.
bool SrqWqeFetcher::take_rare_inputs(Cycle now) {
  const bool context_comes = context_dma_done.can_pop(now);
  if (context_comes) take_context(now);
  const bool command_waits = commands.can_pop(now) && !carry_out_command(now);
  const bool comes = doorbells.can_pop(now);
  const bool rung = comes && ring(now);
  doorbells_late_ = doorbells_late_ && comes;
  doorbells_ahead_ = command_waits ? doorbells_ahead_ - (rung && doorbells_ahead_ > 0) : doorbell_places_;
  return context_comes || rung;
}

// Takes a doorbell. False: it waits for its context (R14) or for an entry of late_flushes_ (R9).
bool SrqWqeFetcher::ring(Cycle now) {
  const Doorbell d = *doorbells.peek(now);
  const WqId id{d.number};
  const bool of_queue = d.kind == DoorbellKind::kSrqLimit || d.kind == DoorbellKind::kReceive;
  if (of_queue && look_up(kDoorbell, id) == ContextLookup::kWaits) {
    doorbells_late_ = true;  // (R16)
    return false;
  }
  // (R9) The doorbell makes its RQ one that is to be flushed again: does it have to wait for room in the list?
  const bool flushed_again = d.kind == DoorbellKind::kReceive && table_.here(id) && table_.failed(id);
  lacks_late_ = flushed_again && late_flushes_.size() == params_.late_flushes && !will_be_flushed(id);
  counters_.doorbell_waits += lacks_late_ && !doorbell_waits_;
  doorbell_waits_ = lacks_late_;
  if (lacks_late_) return false;
  if (of_queue) waits_.use(kDoorbell);
  doorbells.drop(now);
  ++counters_.doorbells;
  if (d.kind == DoorbellKind::kSrqLimit) {
    table_.arm_limit(id, d.value);
  } else if (d.kind == DoorbellKind::kReceive && table_.post(id, d.value) && table_.failed(id) &&
             table_.posted(id) > 0 && !will_be_flushed(id)) {
    late_flushes_.push_back(id);  // (R9)
  }
  return true;
}

inline bool SrqWqeFetcher::accept(Cycle now) {
  const bool from_tagged = tagged.can_pop(now) && (tagged_next_ || !in.can_pop(now));
  if (!from_tagged && !in.can_pop(now)) return false;
  auto& from = from_tagged ? tagged : in;
  tagged_next_ = !from_tagged;
  const WqeRequest& taken = *from.peek(now);
  pipeline_.push(taken, now + params_.hit_cycles, [&](Waiting& p) {      // (R1)
    if (look_ahead_ && p.takes_wqe && p.outcome == Outcome::kExecute) {  // (R3)
      p.asks = p.queue;
      table_.ask(p.queue);
    }
    read_context_ahead(p);  // (R15)
    stamps_.stamp_taken(p.buffer, Station::kSrqWqeFetcher, now);
  });
  from.drop(now);
  ++counters_.packets;
  return true;
}

inline bool SrqWqeFetcher::read_ahead(Cycle now) {
  if (!dma.can_push(now)) return false;
  WorkQueueTable::Read read;
  if (!table_.next_read(wanted_, read)) {
    again_ |= table_.may_want_read();
    return false;
  }
  DmaRequest request;
  request.cookie = read.id;
  request.address = read.where;
  request.bytes = read.bytes;
  request.data = read.data;
  dma.push(now, request);
  return true;
}

inline SrqWqeFetcher::Verdict SrqWqeFetcher::serve(WqeRequest& p, Cycle now) {
  if (p.line == kNoLine) return Verdict::kLeaves;
  look_up_open_wqe(p.line);
  const Verdict verdict = decide(p, now);
  if (verdict == Verdict::kLeaves) keep_open_wqe(p.line, now);
  return verdict;
}

inline SrqWqeFetcher::Verdict SrqWqeFetcher::decide(WqeRequest& p, Cycle now) {
  if (refused_.refuses(p)) {
    if (give_back(p, now) == Verdict::kBlocked) return Verdict::kBlocked;
    ++counters_.squashed;
    squash(p);
    return Verdict::kLeaves;
  }
  const WqId needed = context_needed(p);
  lacks_context_ = needed != kNoWq && look_up(kPacket, needed) == ContextLookup::kWaits;
  if (lacks_context_) return Verdict::kWaits;
  if (waiting_ && table_.supply(p.queue) == WorkQueueTable::Supply::kComing) return Verdict::kWaits;
  const bool received = p.role == PacketRole::kReceived;
  if (p.role == PacketRole::kTruncated || (received && (p.fails_qp || (p.outcome == Outcome::kDrop && p.completes)))) {
    use_open_wqe(p);  // (R6)
    return Verdict::kLeaves;
  }
  if (!received || p.outcome != Outcome::kExecute) return Verdict::kLeaves;
  if (p.tag_verdict == TagVerdict::kFailed) {  // (R10)
    refused_.fail_qp(p, DropReason::kHostMemory, kNakRemoteOperation, WcStatus::kLocalQpOperation);
    return Verdict::kLeaves;
  }
  if (p.tag_verdict == TagVerdict::kMatched) {
    const Verdict verdict = take_match(p, now);
    if (verdict != Verdict::kLeaves || p.outcome != Outcome::kExecute) return verdict;
  } else if (p.takes_wqe) {
    const Verdict verdict = take_wqe(p, now);
    if (verdict != Verdict::kLeaves || p.outcome != Outcome::kExecute) return verdict;
  } else if (p.has(kSend)) {
    p.wqe_slot = open_wqe_.wqe_slot;  // (R6)
    if (p.wqe_slot == kNoWqeSlot) {
      refused_.fail_qp(p, DropReason::kLocalOperation, kNakRemoteOperation, WcStatus::kLocalQpOperation);
      return Verdict::kLeaves;
    }
  } else {
    return Verdict::kLeaves;
  }
  hold(p);
  return Verdict::kLeaves;
}

inline SrqWqeFetcher::Verdict SrqWqeFetcher::take_wqe(WqeRequest& p, Cycle now) {
  if (p.transport == Transport::kUc && open_wqe_.wqe_slot != kNoWqeSlot) {  // (R7)
    p.wqe_slot = open_wqe_.wqe_slot;
    return Verdict::kLeaves;
  }
  const WorkQueueTable::Supply supply = table_.supply(p.queue);
  if (supply == WorkQueueTable::Supply::kComing) return Verdict::kWaits;
  if (supply == WorkQueueTable::Supply::kNone) {
    if (!doorbells_late_) return refuse(p, DropReason::kNoReceiveWqe, now);  // (R4)
    waits_.yield(kPacket);                                                   // (R16)
    lacks_context_ = true;
    return Verdict::kWaits;
  }
  if (!slots_.available(p.queue)) return lack_slot(p, now);
  const bool reaches_limit = table_.take_reaches_limit(p.queue);
  if (reaches_limit && events.bound() && !events.can_push(now)) return Verdict::kBlocked;
  table_.read_front(p.queue, wqe_);
  if (!fits_datagram(p, wqe_)) return Verdict::kLeaves;
  const std::uint32_t slot = slots_.allocate(p.queue);
  slots_[slot].wqe_index = wqe_.wqe_index;
  slots_[slot].bytes = wqe_.valid ? static_cast<std::uint32_t>(wqe_.total_bytes) : 0;
  write_list(slot, wqe_.sge.data(), wqe_.valid ? wqe_.sge_count : 0u, now);
  table_.take(p.queue);
  ++counters_.wqes;
  if (reaches_limit) {  // (R8)
    ++counters_.limit_events;
    if (events.bound()) events.push(now, {EventType::kSrqLimitReached, table_.context(p.queue).number});
  }
  attach(p, slot);
  if (!wqe_.valid) {  // (R5)
    ++counters_.bad_wqes;
    p.releases_wqe = true;
    refused_.fail_qp(p, DropReason::kLocalOperation, kNakRemoteOperation,
                     wqe_error_ == WqeErrorStatus::kLocProt ? WcStatus::kLocalProtection : WcStatus::kLocalQpOperation);
  }
  return Verdict::kLeaves;
}

// Elements behind the list are zero on the port.
void SrqWqeFetcher::write_list(std::uint32_t slot, const DataSegment* from, std::uint32_t count, Cycle now) {
  ScatterListWrite& write = lists.next();
  for (std::uint32_t n = count; n < write.count; ++n) write.sge[n] = {};
  std::copy_n(from, count, write.sge.begin());
  write.wqe_slot = slot;
  write.count = static_cast<std::uint8_t>(count);
  lists.write_next(now);
}

SrqWqeFetcher::Verdict SrqWqeFetcher::lack_slot(WqeRequest& p, Cycle now) {  // (R13)
  lacks_slot_ = slots_.occupied() > open_;
  return lacks_slot_ ? Verdict::kWaits : refuse(p, DropReason::kWqeStoreFull, now);
}

SrqWqeFetcher::Verdict SrqWqeFetcher::refuse(WqeRequest& p, DropReason reason, Cycle now) {  // (R4)
  if (give_back(p, now) == Verdict::kBlocked) return Verdict::kBlocked;
  counters_.no_wqe += reason == DropReason::kNoReceiveWqe;
  counters_.no_rendezvous += reason == DropReason::kRendezvousFull;
  refused_.fail_rnr(p, p.min_rnr_timer, reason);
  return Verdict::kLeaves;
}

// False: a datagram that is longer than its WQE and is dropped without taking it (R7).
bool SrqWqeFetcher::fits_datagram(WqeRequest& p, const ReceiveWqe& wqe) {
  if (!is_datagram(p.transport) || ud_too_long_ != UdTooLongPolicy::kDrop || !wqe.valid) return true;
  if (p.message_bytes + (p.transport == Transport::kUd ? kGrhBytes : 0) <= wqe.total_bytes) return true;
  ++counters_.too_long;
  p.fail(DropReason::kMessageTooLong, Outcome::kDrop, 0, WcStatus::kSuccess);
  p.acknowledge = p.completes = false;
  return false;
}

void SrqWqeFetcher::leave(WqeRequest& p, Cycle now) {
  stamps_.stamp(p.buffer, Station::kSrqWqeFetcher, now);
  if (p.acknowledge && !p.uses_srq && counts_credits_ && table_.here(p.receive_queue)) {  // (R12)
    p.posted_wqes = table_.posted(p.receive_queue);
  }
  if (p.wqe_slot != kNoWqeSlot) p.wqe_bytes = slots_[p.wqe_slot].bytes;
  out.push(now, p);
  ++left_;
}

void SrqWqeFetcher::hash(StateHash& h) const {
  h.mix(counters_);
  h.mix(table_.counters());
  h.mix(pipeline_.size());
  h.mix(table_.reads_in_flight());
  h.mix(table_.cache().reading());
  h.mix(rendezvous_);
}

}  // namespace rxnic
