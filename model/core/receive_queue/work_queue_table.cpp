// SPDX-License-Identifier: Apache-2.0
#include "model/core/receive_queue/work_queue_table.h"

#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

#include "model/core/receive_queue/wqe_format.h"

namespace rxnic {

namespace {

constexpr std::uint32_t kMaxStride = 4096;

void check(const WqContext& c) {
  const bool list = c.layout == WqLayout::kLinkedList;
  const std::uint32_t most = list ? 1u << 16 : 1u << 24;
  if (!std::has_single_bit(c.slots) || c.slots > most || (list && c.slots < 2)) {
    throw std::invalid_argument("work queue: " + std::to_string(c.slots) +
                                " slots; expected a power of two, 2 to 65536 for a linked list");
  }
  if (!std::has_single_bit(c.stride) || c.stride < 32 || c.stride > kMaxStride) {
    throw std::invalid_argument("work queue: a stride of " + std::to_string(c.stride) +
                                " bytes; expected a power of two from 32 to 4096");
  }
}

}  // namespace

WorkQueueTable::WorkQueueTable(const Sizes& sizes) : sizes_(sizes), line_(sizes.contexts), reads_(sizes.reads) {
  contexts_.reserve(sizes.contexts);
  for (std::uint32_t i = 0; i < sizes.contexts; ++i) contexts_.push_back({WqePrefetch(sizes.depth)});
  for (std::uint32_t i = sizes.contexts; i-- > 0;) free_contexts_.push_back(i);
  for (std::uint32_t i = sizes.reads; i-- > 0;) free_reads_.push_back(i);
}

WqId WorkQueueTable::create(const WqContext& context) {
  check(context);
  std::uint32_t index = static_cast<std::uint32_t>(queues_.size());
  if (free_queues_.empty()) {
    queues_.emplace_back();
  } else {
    index = free_queues_.back();
    free_queues_.pop_back();
  }
  Queue& q = queues_[index];
  q.context = context;
  q.exists = true;
  clear(q);
  return WqId{index};
}

bool WorkQueueTable::destroy(WqId id) {  // (R6)
  if (raw(id) >= queues_.size()) return true;
  Queue& q = queues_[raw(id)];
  if (q.exists) {
    unbind(q);
    q.exists = false;
    q.closing = true;
  }
  if (q.reads > 0) return false;
  if (std::exchange(q.closing, false)) free_queues_.push_back(raw(id));
  return true;
}

void WorkQueueTable::reset(WqId id) {
  unbind(queues_[raw(id)]);
  clear(queues_[raw(id)]);
}

void WorkQueueTable::clear(Queue& q) {
  q.producer = q.taken = 0;
  q.next_slot = q.context.layout == WqLayout::kLinkedList ? q.context.first_wqe & (q.context.slots - 1) : 0;
  q.prefetch = kNone;
  q.failed = false;
}

bool WorkQueueTable::post(WqId id, std::uint32_t producer) {  // (R1)
  if (!exists(id)) {
    ++counters_.bad_doorbells;
    return false;
  }
  Queue& q = queues_[raw(id)];
  const std::uint32_t room = q.context.slots - (q.context.layout == WqLayout::kLinkedList ? 1 : 0);
  const bool goes_back = producer - q.taken < q.producer - q.taken;
  if (goes_back || producer - q.taken > room) {
    ++counters_.bad_doorbells;
    return false;
  }
  q.producer = producer;
  if (q.failed || q.producer == q.taken) return true;
  if (q.prefetch == kNone) bind(id, false);
  if (q.prefetch != kNone) line_up(q.prefetch);
  return true;
}

bool WorkQueueTable::arm_limit(WqId id, std::uint32_t limit) {
  if (!exists(id)) {
    ++counters_.bad_doorbells;
    return false;
  }
  queues_[raw(id)].context.limit = limit;
  return true;
}

WorkQueueTable::Supply WorkQueueTable::supply(WqId id) {
  if (!exists(id)) return Supply::kNone;
  const Queue& q = queues_[raw(id)];
  if (q.failed || q.producer == q.taken) return Supply::kNone;
  use(id);
  return contexts_[q.prefetch].prefetch.ready() ? Supply::kReady : Supply::kComing;
}

void WorkQueueTable::touch(WqId id) {
  if (!exists(id)) return;
  const Queue& q = queues_[raw(id)];
  if (!q.failed && q.producer != q.taken) use(id);
}

void WorkQueueTable::use(WqId id) {
  Queue& q = queues_[raw(id)];
  if (q.prefetch == kNone) {
    bind(id, true);
  } else if (q.prefetch != newest_) {
    unlink(q.prefetch);
    link_newest(q.prefetch);
  }
}

void WorkQueueTable::read_front(WqId id, ReceiveWqe& out) const {
  const Queue& q = queues_[raw(id)];
  const WqePrefetch::Wqe wqe = contexts_[q.prefetch].prefetch.front();
  parse_wqe(wqe.bytes, q.context.layout, wqe.slot, out);
  if (!wqe.readable) out.valid = false;
}

bool WorkQueueTable::take_reaches_limit(WqId id) const {  // (R4)
  const Queue& q = queues_[raw(id)];
  return q.context.limit != 0 && q.producer - q.taken - 1 < q.context.limit;
}

void WorkQueueTable::take(WqId id) {
  Queue& q = queues_[raw(id)];
  if (take_reaches_limit(id)) q.context.limit = 0;
  ++q.taken;
  q.next_slot = contexts_[q.prefetch].prefetch.pop();
  line_up(q.prefetch);
}

bool WorkQueueTable::next_read(WqId wanted, Read& read) {  // (R3)
  if (free_reads_.empty()) return false;
  if (wanted != kNoWq && exists(wanted)) {
    const std::uint32_t c = queues_[raw(wanted)].prefetch;
    if (c != kNone && start_read(c, read)) return true;
  }
  while (line_size_ > 0) {
    const std::uint32_t c = line_[line_first_];
    line_first_ = line_first_ + 1 == line_.size() ? 0 : line_first_ + 1;
    --line_size_;
    contexts_[c].waits = false;
    if (contexts_[c].owner == kNoWq || !start_read(c, read)) continue;
    line_up(c);  // it may need more reads
    return true;
  }
  return false;
}

bool WorkQueueTable::start_read(std::uint32_t c, Read& read) {
  Context& context = contexts_[c];
  const Queue& q = queues_[raw(context.owner)];
  WqePrefetch::Run run;
  if (!context.prefetch.next_run(q.producer, sizes_.wqes_per_read, sizes_.sequential, run)) return false;
  context.prefetch.started(run);
  const std::uint32_t id = free_reads_.back();
  free_reads_.pop_back();
  Flight& flight = reads_[id];
  flight.run = run;
  flight.context = c;
  flight.queue = context.owner;
  ++queues_[raw(flight.queue)].reads;
  const std::uint32_t bytes = run.count * q.context.stride;
  if (flight.bytes.size() < bytes) flight.bytes.resize(bytes);
  read = {id, wqe_address(q.context, run.slot), bytes, flight.bytes.data()};
  ++counters_.reads;
  counters_.wqes_read += run.count;
  return true;
}

void WorkQueueTable::arrived(std::uint32_t id, bool ok) {
  Flight& flight = reads_[id];
  --queues_[raw(flight.queue)].reads;
  counters_.wqes_discarded += contexts_[flight.context].prefetch.arrived(flight.run, ok, flight.bytes.data());
  line_up(flight.context);
  free_reads_.push_back(id);
}

void WorkQueueTable::fail(WqId id, Cqn cq) {  // (R5)
  Queue& q = queues_[raw(id)];
  q.failed = true;
  q.flush_cq = cq;
  unbind(q);
}

std::uint32_t WorkQueueTable::flush_one(WqId id) {
  Queue& q = queues_[raw(id)];
  return q.taken++ & (q.context.slots - 1);
}

void WorkQueueTable::bind(WqId id, bool may_evict) {  // (R2)
  Queue& q = queues_[raw(id)];
  if (free_contexts_.empty()) {
    if (!may_evict) return;
    ++counters_.evictions;
    unbind(queues_[raw(contexts_[oldest_].owner)]);
  }
  const std::uint32_t c = free_contexts_.back();
  free_contexts_.pop_back();
  Context& context = contexts_[c];
  context.owner = id;
  context.prefetch.bind(q.context, q.taken,
                        q.context.layout == WqLayout::kLinkedList ? q.next_slot : q.taken & (q.context.slots - 1));
  q.prefetch = c;
  if (may_evict) {
    link_newest(c);
  } else {
    link_oldest(c);
  }
  line_up(c);
}

void WorkQueueTable::unbind(Queue& q) {
  if (q.prefetch == kNone) return;
  const std::uint32_t c = q.prefetch;
  q.prefetch = kNone;
  contexts_[c].prefetch.unbind();
  contexts_[c].owner = kNoWq;
  unlink(c);
  free_contexts_.push_back(c);
}

void WorkQueueTable::unlink(std::uint32_t c) {
  const Context& x = contexts_[c];
  (x.newer == kNone ? newest_ : contexts_[x.newer].older) = x.older;
  (x.older == kNone ? oldest_ : contexts_[x.older].newer) = x.newer;
}

void WorkQueueTable::link_newest(std::uint32_t c) {
  contexts_[c].newer = kNone;
  contexts_[c].older = newest_;
  (newest_ == kNone ? oldest_ : contexts_[newest_].newer) = c;
  newest_ = c;
}

void WorkQueueTable::link_oldest(std::uint32_t c) {
  contexts_[c].older = kNone;
  contexts_[c].newer = oldest_;
  (oldest_ == kNone ? newest_ : contexts_[oldest_].older) = c;
  oldest_ = c;
}

void WorkQueueTable::line_up(std::uint32_t c) {
  if (contexts_[c].waits || contexts_[c].owner == kNoWq) return;
  contexts_[c].waits = true;
  line_[line_first_ + line_size_ < line_.size() ? line_first_ + line_size_ : line_first_ + line_size_ - line_.size()] =
      c;
  ++line_size_;
}

}  // namespace rxnic
