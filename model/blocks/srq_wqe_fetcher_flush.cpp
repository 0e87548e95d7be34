// SPDX-License-Identifier: Apache-2.0
// The flush of RQs in the error state (R9 of srq_wqe_fetcher.h).
#include <algorithm>

#include "model/blocks/srq_wqe_fetcher.h"

namespace rxnic {

void SrqWqeFetcher::forget_flush(WqId id) {
  std::erase(late_flushes_, id);
  waits_.forget(kFlush, raw(id));
  if (flush_queue_ == id && !flush_asked()) flush_queue_ = kNoWq;
}

bool SrqWqeFetcher::will_be_flushed(WqId id) {
  if (flush_queue_ == id) return true;
  if (std::find(late_flushes_.begin(), late_flushes_.end(), id) != late_flushes_.end()) return true;
  for (std::uint32_t n = 0; n < flush_requests_.size(); ++n) {
    if (flush_requests_.at(n).receive_queue == id) return true;
  }
  return false;
}

// False when the request was not taken: it waits for its queue's context.
bool SrqWqeFetcher::take_flush_request(Cycle now) {  // (R9)
  const FlushRequest r = *flushes.peek(now);
  refused_.refuse_requests(r.line, r.residence);
  if (!r.uses_srq && r.receive_queue != kNoWq) {
    if (look_up(kFlushRequest, r.receive_queue) == ContextLookup::kWaits) return false;
    waits_.use(kFlushRequest);
    const bool rq = table_.here(r.receive_queue) && table_.context(r.receive_queue).kind == WqKind::kRq;
    if (rq) table_.fail(r.receive_queue, r.receive_cq);
  }
  flush_requests_.push(r, Cycle{});
  flushes.drop(now);
  return true;
}

bool SrqWqeFetcher::next_flush() {
  if (!flush_requests_.empty()) {
    flush_request_ = flush_requests_.pop();
    flush_queue_ = flush_request_.receive_queue;
    return true;
  }
  if (late_flushes_.empty()) return false;
  flush_queue_ = late_flushes_.front();
  late_flushes_.erase(late_flushes_.begin());
  again_ |= lacks_late_;  // a doorbell waits for its entry
  return true;
}

// The packet of a flushed WQE: of the QP whose flush was requested, or in a later flush (R9) of the queue alone.
WqeRequest SrqWqeFetcher::flushed_packet() const {
  WqeRequest p;
  p.role = PacketRole::kFlush;
  p.outcome = Outcome::kDrop;
  p.status = WcStatus::kFlushed;
  p.completes = true;
  p.ends_message = true;
  p.queue = flush_queue_;
  if (flush_asked()) {
    p.line = flush_request_.line;
    p.residence = flush_request_.residence;
    p.transport = flush_request_.transport;
    p.uses_srq = flush_request_.uses_srq;
    p.receive_queue = flush_request_.receive_queue;
    p.cq = flush_request_.receive_cq;
    p.qpn = flush_request_.qpn;
  } else {
    p.cq = table_.flush_cq(flush_queue_);
    p.qpn = Qpn{table_.context(flush_queue_).number};
  }
  return p;
}

void SrqWqeFetcher::finish_flush(Cycle now) {
  if (flush_asked() && flush_request_.uses_srq) {
    flush_queue_ = kNoWq;
    WqeRequest p = flushed_packet();
    p.role = PacketRole::kLastWqe;
    p.status = WcStatus::kSuccess;
    p.completes = p.ends_message = false;
    leave(p, now);  // with the pin of the request
  } else if (flush_asked()) {
    pins.write(now, {flush_request_.line, false});
  }
  flush_queue_ = kNoWq;
  flush_request_ = {};
}

// Sends one flushed WQE, or ends a flush. True when something was done.
bool SrqWqeFetcher::flush(Cycle now) {  // (R9)
  if (flush_queue_ == kNoWq && !flush_asked() && !next_flush()) return false;
  if (flush_asked()) look_up_open_wqe(flush_request_.line);
  const bool open = flush_asked() && open_wqe_.wqe_slot != kNoWqeSlot;
  if (flush_queue_ != kNoWq) {
    if (look_up(kFlush, flush_queue_) == ContextLookup::kWaits) return false;
    waits_.use(kFlush);
  }
  const bool rq = flush_queue_ != kNoWq && table_.here(flush_queue_) && table_.failed(flush_queue_);
  if (!open && (!rq || table_.posted(flush_queue_) == 0)) {
    finish_flush(now);
    return true;
  }
  WqeRequest p = flushed_packet();
  if (open) {
    end_open_wqe(p);
    keep_open_wqe(p.line, now);
  } else {
    p.wqe_index = table_.flush_one(flush_queue_);
  }
  ++counters_.flushed;
  if (flush_asked()) pins.write(now, {p.line, true});
  leave(p, now);
  return true;
}

}  // namespace rxnic
