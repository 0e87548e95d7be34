// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/srq_wqe_fetcher.h"

#include <algorithm>
#include <utility>

#include "model/types/syndrome.h"

namespace rxnic {

namespace {

bool is_unreliable(const Packet& p) { return p.qp->transport == Transport::kUc; }

}  // namespace

SrqWqeFetcher::SrqWqeFetcher(const sc_core::sc_module_name& name, const SrqWqeFetcherParams& params, NicShared& shared,
                             UdTooLongPolicy ud_too_long, WqeErrorStatus wqe_error)
    : Block(name),
      params_(params),
      shared_(shared),
      ud_too_long_(ud_too_long),
      wqe_error_(wqe_error),
      table_({params.queues, params.prefetch_depth, params.wqes_per_read, params.reads_in_flight,
              params.sequential_prefetch}),
      pipeline_(params.pipeline_depth),
      look_ahead_(params.queues > params.pipeline_depth) {}

void SrqWqeFetcher::forget_message(QpContext& qp) {
  if (qp.wqe_slot == kNoWqeSlot) return;
  shared_.wqes.release(qp.wqe_slot);
  keep_open(qp, kNoWqeSlot);
}

bool SrqWqeFetcher::destroy(WqId id) {
  forget_flush(id);
  return table_.destroy(id);
}

void SrqWqeFetcher::reset(WqId id) {
  forget_flush(id);
  table_.reset(id);
}

void SrqWqeFetcher::forget_flush(WqId id) {
  std::erase(late_flushes_, id);
  if (flush_queue_ == id && flush_request_ == kNoPacket) flush_queue_ = kNoWq;
}

Cycle SrqWqeFetcher::step(Cycle now) {
  bool background = false;  // work that no packet waits to see
  bool moved = false;
  lacks_packet_ = lacks_slot_ = false;
  wanted_ = kNoWq;
  // (1) a doorbell
  if (doorbells.can_pop(now)) {
    ring(doorbells.pop(now));
    background = true;
  }
  // (2) WQEs that have come
  if (dma_done.can_pop(now)) {
    const DmaCompletion done = dma_done.pop(now);
    table_.arrived(done.cookie, done.ok);
    background = true;
  }
  if (flushes.can_pop(now)) {
    take_flush_requests(now);
    background = true;
  }
  // (3) the oldest packet, or a flushed WQE, leaves
  Activity activity = Activity::kStarved;
  const bool head_is_ready = pipeline_.ready(now);
  if (!out.can_push(now)) {
    const bool flushing = flush_queue_ != kNoWq || flush_request_ != kNoPacket || flushes.can_pop(now);
    if (head_is_ready || flushing) activity = Activity::kBlocked;
  } else if (flush_turn_ && flush(now)) {
    moved = true;
    flush_turn_ = false;
  } else if (head_is_ready) {
    const PacketHandle h = pipeline_.front();
    Packet& p = shared_.packets[h];
    const Verdict verdict = serve(p, now);
    refused_.report(refusals, now);
    if (verdict == Verdict::kLeaves) {
      leave(pipeline_.pop(), now);
      moved = flush_turn_ = true;
      waiting_ = false;
    } else if (verdict == Verdict::kWaits) {
      activity = lacks_slot_ ? Activity::kWaitWqeStore : Activity::kWaitWqe;
      if (!lacks_slot_) {
        wanted_ = p.queue;
        counters_.waits += !waiting_;
        waiting_ = true;
      }
    } else {
      activity = Activity::kBlocked;
    }
    if (!moved) moved = flush(now);
  } else {
    moved = flush(now);
  }
  // (4) take a packet
  if (!pipeline_.full()) moved |= accept(now);
  // (5) a read
  background |= read_ahead(now);
  // (6) rest
  in.listen(!pipeline_.full());
  tagged.listen(!pipeline_.full());
  if (moved && !background && !lacks_packet_ && !lacks_slot_ && nothing_to_take()) {
    if (pipeline_.empty()) return rest(now, Activity::kBusy, now + 1, Activity::kStarved, kNever);
    const Cycle due = latest(pipeline_.next_ready(), now + 1);
    if (out.full()) return rest(now, Activity::kBusy, due, Activity::kBlocked, kNever);
    return rest(now, Activity::kBusy, due);
  }
  Cycle next = moved || background || lacks_packet_ || lacks_slot_ ? now + 1 : kNever;
  if (!head_is_ready) next = earliest(next, pipeline_.next_ready());
  if (moved) return rest(now, Activity::kBusy, next);
  if (activity != Activity::kStarved) return rest(now, activity, next);
  if (!pipeline_.empty() || background) return rest(now, Activity::kBusy, next);
  return rest(now, lacks_packet_ ? Activity::kBlocked : Activity::kStarved, next);
}

// Until the oldest packet is due or a link brings something.
bool SrqWqeFetcher::nothing_to_take() const {
  const bool flushing = flush_queue_ != kNoWq || flush_request_ != kNoPacket || !flush_requests_.empty() ||
                        !late_flushes_.empty() || !flushes.empty();
  return !flushing && doorbells.empty() && dma_done.empty() && (pipeline_.full() || (in.empty() && tagged.empty()));
}

void SrqWqeFetcher::ring(const Doorbell& d) {
  ++counters_.doorbells;
  const WqId id{d.number};
  if (d.kind == DoorbellKind::kSrqLimit) {
    table_.arm_limit(id, d.value);
  } else if (d.kind == DoorbellKind::kReceive && table_.post(id, d.value) && table_.failed(id) &&
             table_.posted(id) > 0 && !will_be_flushed(id)) {
    late_flushes_.push_back(id);  // (R9)
  }
}

bool SrqWqeFetcher::will_be_flushed(WqId id) const {
  if (flush_queue_ == id) return true;
  if (std::find(late_flushes_.begin(), late_flushes_.end(), id) != late_flushes_.end()) return true;
  return std::any_of(flush_requests_.begin(), flush_requests_.end(),
                     [&](PacketHandle h) { return shared_.packets[h].qp->receive_queue == id; });
}

bool SrqWqeFetcher::accept(Cycle now) {
  const bool from_tagged = tagged.can_pop(now) && (tagged_next_ || !in.can_pop(now));
  if (!from_tagged && !in.can_pop(now)) return false;
  const PacketHandle h = from_tagged ? tagged.pop(now) : in.pop(now);
  tagged_next_ = !from_tagged;
  const Packet& p = shared_.packets[h];
  if (look_ahead_ && p.takes_wqe && p.outcome == Outcome::kExecute) table_.touch(p.queue);  // (R3)
  pipeline_.push(h, now + params_.hit_cycles);                                              // (R1)
  ++counters_.packets;
  return true;
}

bool SrqWqeFetcher::read_ahead(Cycle now) {
  if (!dma.can_push(now)) return false;
  WorkQueueTable::Read read;
  if (!table_.next_read(wanted_, read)) return false;
  DmaRequest request;
  request.cookie = read.id;
  request.address = read.where;
  request.bytes = read.bytes;
  request.data = read.data;
  dma.push(now, request);
  return true;
}

SrqWqeFetcher::Verdict SrqWqeFetcher::serve(Packet& p, Cycle now) {
  if (p.qp == nullptr) return Verdict::kLeaves;
  QpContext& qp = *p.qp;
  if (refused_.refuses(p)) {
    if (give_back(p, now) == Verdict::kBlocked) return Verdict::kBlocked;
    ++counters_.squashed;
    squash(p);
    return Verdict::kLeaves;
  }
  if (waiting_ && table_.supply(p.queue) == WorkQueueTable::Supply::kComing) return Verdict::kWaits;
  const bool received = p.role == PacketRole::kReceived;
  if (p.role == PacketRole::kTruncated || (received && (p.fails_qp || (p.outcome == Outcome::kDrop && p.completes)))) {
    use_open_wqe(p);  // (R6)
    return Verdict::kLeaves;
  }
  if (!received || p.outcome != Outcome::kExecute) return Verdict::kLeaves;
  if (p.tag_verdict == TagVerdict::kMatched) {
    const Verdict verdict = take_match(p, now);
    if (verdict != Verdict::kLeaves || p.outcome != Outcome::kExecute) return verdict;
  } else if (p.takes_wqe) {
    const Verdict verdict = take_wqe(p, now);
    if (verdict != Verdict::kLeaves || p.outcome != Outcome::kExecute) return verdict;
  } else if (p.has(kSend)) {
    p.wqe_slot = qp.wqe_slot;  // (R6)
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

// The packet has a WQE: what that means for it and for the packets of its message that follow.
void SrqWqeFetcher::hold(Packet& p) {
  QpContext& qp = *p.qp;
  attach(p, p.wqe_slot);
  if (p.has(kSend) && table_.exists(p.queue)) p.pd = table_.context(p.queue).pd;
  keep_open(qp, p.wqe_slot);
  qp.wqe_queue = p.queue;
  qp.wqe_cq = p.cq;
  if (p.takes_wqe) qp.wqe_matched = p.tag_verdict == TagVerdict::kMatched;
  if (p.ends_message || p.bad_length) close(p);
  if (p.bad_length) {
    if (is_unreliable(p)) {
      refused_.fail_message(p, DropReason::kInvalidRequest);
      p.completes = true;
      p.status = WcStatus::kRemoteInvalidRequest;
    } else {
      refused_.fail_qp(p, DropReason::kInvalidRequest, kNakInvalidRequest, WcStatus::kRemoteInvalidRequest);
    }
  } else if (is_unreliable(p) && p.has(kSend)) {
    check_unreliable_length(p);
  }
}

// The packet's completion is that of the WQE in `slot`.
void SrqWqeFetcher::attach(Packet& p, std::uint32_t slot) {
  p.wqe_slot = slot;
  p.wqe_index = shared_.wqes[slot].wqe_index;
}

// Nobody behind the packet uses its WQE. (R11)
void SrqWqeFetcher::close(Packet& p) {
  p.releases_wqe = true;
  keep_open(*p.qp, kNoWqeSlot);
}

void SrqWqeFetcher::keep_open(QpContext& qp, std::uint32_t slot) {
  open_ += slot != kNoWqeSlot;
  open_ -= qp.wqe_slot != kNoWqeSlot;
  qp.wqe_slot = slot;
}

void SrqWqeFetcher::check_unreliable_length(Packet& p) {  // (R7)
  const std::uint32_t slot = p.wqe_slot;
  if (p.message_bytes <= shared_.wqes[slot].total_bytes) return;
  ++counters_.too_long;
  refused_.fail_message(p, DropReason::kMessageTooLong);
  if (p.qp->uses_srq) {
    p.completes = true;
    p.status = WcStatus::kLocalLength;
    close(p);
  } else {
    p.wqe_slot = kNoWqeSlot;
    p.releases_wqe = false;
    keep_open(*p.qp, slot);
  }
}

void SrqWqeFetcher::use_open_wqe(Packet& p) {
  QpContext& qp = *p.qp;
  p.completes = qp.wqe_slot != kNoWqeSlot;
  if (!p.completes) return;
  if (p.queue == kNoWq) p.queue = qp.receive_queue;
  attach(p, qp.wqe_slot);
  close(p);
  if (p.fails_qp && p.status == WcStatus::kSuccess) p.status = WcStatus::kFlushed;
}

SrqWqeFetcher::Verdict SrqWqeFetcher::take_wqe(Packet& p, Cycle now) {
  QpContext& qp = *p.qp;
  if (is_unreliable(p) && qp.wqe_slot != kNoWqeSlot) {  // (R7)
    p.wqe_slot = qp.wqe_slot;
    return Verdict::kLeaves;
  }
  const WorkQueueTable::Supply supply = table_.supply(p.queue);
  if (supply == WorkQueueTable::Supply::kComing) return Verdict::kWaits;
  if (supply == WorkQueueTable::Supply::kNone) return refuse(p, DropReason::kNoReceiveWqe, now);  // (R4)
  if (!shared_.wqes.available(p.queue)) return lack_slot(p, now);
  const bool reaches_limit = table_.take_reaches_limit(p.queue);
  if (reaches_limit && events.bound() && !events.can_push(now)) return Verdict::kBlocked;
  const std::uint32_t slot = shared_.wqes.allocate(p.queue);
  ReceiveWqe& wqe = shared_.wqes[slot];
  table_.read_front(p.queue, wqe);
  if (!fits_datagram(p, wqe)) {
    shared_.wqes.release(slot);
    return Verdict::kLeaves;
  }
  table_.take(p.queue);
  ++counters_.wqes;
  if (reaches_limit) {  // (R8)
    ++counters_.limit_events;
    if (events.bound()) events.push(now, {EventType::kSrqLimitReached, table_.context(p.queue).number});
  }
  attach(p, slot);
  if (!wqe.valid) {  // (R5)
    ++counters_.bad_wqes;
    p.releases_wqe = true;
    refused_.fail_qp(p, DropReason::kLocalOperation, kNakRemoteOperation,
                     wqe_error_ == WqeErrorStatus::kLocProt ? WcStatus::kLocalProtection : WcStatus::kLocalQpOperation);
  }
  return Verdict::kLeaves;
}

// A match of the tag matcher: the entry's buffer is the WQE.
SrqWqeFetcher::Verdict SrqWqeFetcher::take_match(Packet& p, Cycle now) {
  if (!shared_.wqes.available(p.queue)) return lack_slot(p, now);
  p.wqe_slot = shared_.wqes.allocate(p.queue);
  ReceiveWqe& wqe = shared_.wqes[p.wqe_slot];
  wqe.wqe_index = p.wqe_index;
  wqe.sge[0] = p.tag_buffer;
  wqe.sge_count = p.tag_buffer.length > 0 ? 1 : 0;
  wqe.total_bytes = p.tag_buffer.length;
  wqe.valid = true;
  p.takes_wqe = true;
  return Verdict::kLeaves;
}

SrqWqeFetcher::Verdict SrqWqeFetcher::lack_slot(Packet& p, Cycle now) {  // (R13)
  lacks_slot_ = shared_.wqes.occupied() > open_;
  return lacks_slot_ ? Verdict::kWaits : refuse(p, DropReason::kWqeStoreFull, now);
}

SrqWqeFetcher::Verdict SrqWqeFetcher::refuse(Packet& p, DropReason reason, Cycle now) {  // (R4)
  if (give_back(p, now) == Verdict::kBlocked) return Verdict::kBlocked;
  counters_.no_wqe += reason == DropReason::kNoReceiveWqe;
  refused_.fail_rnr(p, reason);
  return Verdict::kLeaves;
}

// False: a UD message that is longer than its WQE and is dropped without taking it (R7).
bool SrqWqeFetcher::fits_datagram(Packet& p, const ReceiveWqe& wqe) {
  if (p.qp->transport != Transport::kUd || ud_too_long_ != UdTooLongPolicy::kDrop || !wqe.valid) return true;
  if (p.message_bytes + kGrhBytes <= wqe.total_bytes) return true;
  ++counters_.too_long;
  p.fail(DropReason::kMessageTooLong, Outcome::kDrop, 0, WcStatus::kSuccess);
  p.acknowledge = p.completes = false;
  return false;
}

SrqWqeFetcher::Verdict SrqWqeFetcher::give_back(Packet& p, Cycle now) {  // (R10)
  const bool match = p.tag_verdict == TagVerdict::kMatched;
  if (!match && p.tag_verdict != TagVerdict::kUnexpected) return Verdict::kLeaves;
  if (returned.bound()) {
    if (!returned.can_push(now)) return Verdict::kBlocked;
    returned.push(now, {p.queue, match ? p.wqe_index : kNoTag});
  }
  return Verdict::kLeaves;
}

// A flushed WQE, or the end of a flush. True when something was done.
bool SrqWqeFetcher::flush(Cycle now) {  // (R9)
  if (flush_queue_ == kNoWq && flush_request_ == kNoPacket && !next_flush()) return false;
  QpContext* qp = flush_request_ == kNoPacket ? nullptr : shared_.packets[flush_request_].qp;
  const bool open = qp != nullptr && qp->wqe_slot != kNoWqeSlot;
  const bool rq = flush_queue_ != kNoWq && table_.exists(flush_queue_) && table_.failed(flush_queue_);
  if (!open && (!rq || table_.posted(flush_queue_) == 0)) {
    finish_flush(now);
    return true;
  }
  lacks_packet_ = !shared_.packets.available(PacketClass::kSrqWqeFetcher);
  if (lacks_packet_) return false;
  const PacketHandle h = flushed_packet(qp, flush_queue_);
  Packet& p = shared_.packets[h];
  if (open) {
    attach(p, qp->wqe_slot);
    close(p);
    p.queue = qp->wqe_queue;
    p.cq = qp->wqe_cq;
    if (qp->wqe_matched) p.cqe_opcode = CqeOpcode::kTagReceive;
  } else {
    p.wqe_index = table_.flush_one(flush_queue_);
  }
  ++counters_.flushed;
  leave(h, now);
  if (!open) {
    if (raw(flush_queue_) >= last_flushed_.size()) last_flushed_.resize(std::size_t{raw(flush_queue_)} + 1);
    last_flushed_[raw(flush_queue_)] = left_;
  }
  return true;
}

void SrqWqeFetcher::leave(PacketHandle h, Cycle now) {
  Packet& p = shared_.packets[h];
  p.stamp(Station::kSrqWqeFetcher, now);
  if (p.acknowledge && !p.qp->uses_srq && table_.exists(p.qp->receive_queue)) {  // (R12)
    p.posted_wqes = table_.posted(p.qp->receive_queue);
  }
  out.push(now, h);
  ++left_;
}

void SrqWqeFetcher::take_flush_requests(Cycle now) {  // (R9)
  while (flushes.can_pop(now)) {
    const PacketHandle h = flushes.pop(now);
    const QpContext& qp = *shared_.packets[h].qp;
    const WqId queue = qp.receive_queue;
    refused_.refuse_requests(qp);
    if (table_.exists(queue) && table_.context(queue).kind == WqKind::kRq && !qp.uses_srq) {
      table_.fail(queue, qp.receive_cq);
    }
    flush_requests_.push_back(h);
  }
}

bool SrqWqeFetcher::next_flush() {
  if (!flush_requests_.empty()) {
    flush_request_ = flush_requests_.front();
    flush_queue_ = shared_.packets[flush_request_].qp->receive_queue;
    flush_requests_.erase(flush_requests_.begin());
    return true;
  }
  if (late_flushes_.empty()) return false;
  flush_queue_ = late_flushes_.front();
  late_flushes_.erase(late_flushes_.begin());
  return true;
}

PacketHandle SrqWqeFetcher::flushed_packet(QpContext* qp, WqId queue) {
  const PacketHandle h = shared_.packets.allocate(PacketClass::kSrqWqeFetcher);
  Packet& p = shared_.packets[h];
  p.role = PacketRole::kFlush;
  p.outcome = Outcome::kDrop;
  p.status = WcStatus::kFlushed;
  p.completes = true;
  p.ends_message = true;
  p.queue = queue;
  p.qp = qp;
  if (qp != nullptr) {
    qp->pins.add();
    p.cq = qp->receive_cq;
    p.h.destination_qp = qp->qpn;
  } else {
    p.cq = table_.flush_cq(queue);
    p.h.destination_qp = Qpn{table_.context(queue).number};
  }
  return h;
}

void SrqWqeFetcher::finish_flush(Cycle now) {
  flush_queue_ = kNoWq;
  const PacketHandle h = std::exchange(flush_request_, kNoPacket);
  if (h == kNoPacket) return;
  Packet& p = shared_.packets[h];
  if (p.qp->uses_srq) {
    p.role = PacketRole::kLastWqe;
    p.outcome = Outcome::kDrop;
    p.completes = false;
    leave(h, now);
    return;
  }
  p.qp->pins.remove(now);
  shared_.packets.release(h);
}

void SrqWqeFetcher::hash(StateHash& h) const {
  h.mix(counters_);
  h.mix(table_.counters());
  h.mix(pipeline_.size());
  h.mix(table_.reads_in_flight());
}

}  // namespace rxnic
