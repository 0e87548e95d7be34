// SPDX-License-Identifier: Apache-2.0
#include "model/core/receive_queue/work_queue_table.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

#include "model/core/receive_queue/wqe_format.h"
#include "model/types/context.h"

namespace rxnic {

namespace {

constexpr std::uint32_t kMaxStride = 4096;

bool slots_acceptable(const WqContext& c) {
  const bool list = c.layout == WqLayout::kLinkedList;
  const std::uint32_t most = list ? 1u << 16 : 1u << 24;
  return std::has_single_bit(c.slots) && c.slots <= most && (!list || c.slots >= 2);
}

bool stride_acceptable(const WqContext& c) {
  return std::has_single_bit(c.stride) && c.stride >= 32 && c.stride <= kMaxStride;
}

void check(const WqContext& c) {
  if (!slots_acceptable(c)) {
    throw std::invalid_argument("work queue: " + std::to_string(c.slots) +
                                " slots; expected a power of two, 2 to 65536 for a linked list");
  }
  if (!stride_acceptable(c)) {
    throw std::invalid_argument("work queue: a stride of " + std::to_string(c.stride) +
                                " bytes; expected a power of two from 32 to 4096");
  }
}

BusAddress context_address(std::uint32_t number) { return queue_context_address(WqId{number}); }

}  // namespace

WorkQueueTable::WorkQueueTable(const Sizes& sizes, std::unique_ptr<PrefetchWindow> window,
                               std::unique_ptr<Replacement> replacement)
    : sizes_(sizes),
      window_(std::move(window)),
      buffer_bytes_(sizes.wqes_per_read * wqe_bytes_used(WqLayout::kCyclic, kMaxStride)),
      cache_(sizes.queues, context_address, std::move(replacement)),
      line_(sizes.contexts),
      reads_(sizes.reads) {
  constexpr std::uint32_t kLongest = wqe_bytes_used(WqLayout::kLinkedList, kMaxStride);
  for (Flight& f : reads_) f.data.resize(std::max(buffer_bytes_, kLongest) / sizeof(DataSegment));
  contexts_.reserve(sizes.contexts);
  for (std::uint32_t i = 0; i < sizes.contexts; ++i) contexts_.push_back({WqePrefetch(sizes.depth, window_.get())});
  for (std::uint32_t i = sizes.contexts; i-- > 0;) free_contexts_.push_back(i);
  for (std::uint32_t i = sizes.reads; i-- > 0;) free_reads_.push_back(i);
}

bool WorkQueueTable::acceptable(const WqContext& context) {
  return slots_acceptable(context) && stride_acceptable(context);
}

WqId WorkQueueTable::new_number() {
  if (free_numbers_.empty()) return WqId{numbers_++};
  const WqId id{free_numbers_.back()};
  free_numbers_.pop_back();
  return id;
}

WqRecord WorkQueueTable::record_of(const WqContext& context) {
  WqRecord record;
  static_cast<WqContext&>(record) = context;
  record.valid = 1;
  clear(record);
  return record;
}

WqId WorkQueueTable::create(const WqContext& context, HostMemory& memory) {
  check(context);
  const WqId id = new_number();
  cache_.create(raw(id), record_of(context), memory);
  return id;
}

bool WorkQueueTable::place(WqId id, const WqContext& context) {
  return cache_.place(raw(id), record_of(context)) != kNone;
}

bool WorkQueueTable::destroy(WqId id) {  // (R6)
  if (raw(id) >= numbers_) return true;
  const std::uint32_t line = cache_.find(raw(id));
  if (line != kNone) {
    unbind(line);
    cache_[line].closing = cache_[line].reads > 0;
    if (cache_[line].closing) return false;
  }
  if (!cache_.remove(raw(id))) return false;
  free_numbers_.push_back(raw(id));
  return true;
}

void WorkQueueTable::reset(WqId id) {
  WorkQueue& q = *find(id);
  unbind(cache_.line_of(q));
  clear(q.context);
  changed(q);
}

void WorkQueueTable::clear(WqRecord& q) {
  q.producer = q.taken = 0;
  q.next_slot = q.layout == WqLayout::kLinkedList ? q.first_wqe & (q.slots - 1) : 0;
  q.failed = false;
}

bool WorkQueueTable::post(WqId id, std::uint32_t producer) {  // (R1)
  WorkQueue* const queue = find(id);
  if (queue == nullptr) {
    ++counters_.bad_doorbells;
    return false;
  }
  WqRecord& q = queue->context;
  const std::uint32_t room = q.slots - (q.layout == WqLayout::kLinkedList ? 1 : 0);
  const bool goes_back = producer - q.taken < q.producer - q.taken;
  if (goes_back || producer - q.taken > room) {
    ++counters_.bad_doorbells;
    return false;
  }
  q.producer = producer;
  changed(*queue);
  if (q.failed || q.producer == q.taken) return true;
  if (queue->prefetch == kNone) bind(*queue, false);
  if (queue->prefetch != kNone) line_up(queue->prefetch);
  return true;
}

bool WorkQueueTable::arm_limit(WqId id, std::uint32_t limit) {
  WorkQueue* const queue = find(id);
  if (queue == nullptr) {
    ++counters_.bad_doorbells;
    return false;
  }
  queue->context.limit = limit;
  changed(*queue);
  return true;
}

WorkQueueTable::Supply WorkQueueTable::supply(WqId id) {
  WorkQueue* const queue = find(id);
  if (queue == nullptr) return Supply::kNone;
  const WqRecord& q = queue->context;
  if (q.failed || q.producer == q.taken) return Supply::kNone;
  use(*queue);
  return contexts_[queue->prefetch].prefetch.ready() ? Supply::kReady : Supply::kComing;
}

void WorkQueueTable::ask(WqId id) {
  WorkQueue* const queue = find(id);
  if (queue == nullptr) return;
  ++queue->asked;
  const WqRecord& q = queue->context;
  if (q.failed || q.producer == q.taken) return;
  use(*queue);
  line_up(queue->prefetch);
}

void WorkQueueTable::served(WqId id) {
  WorkQueue* const queue = find(id);
  if (queue != nullptr && queue->asked > 0) --queue->asked;
}

void WorkQueueTable::waits(WqId id) {
  const std::uint32_t c = find(id)->prefetch;
  contexts_[c].prefetch.waited();
  line_up(c);
}

void WorkQueueTable::use(WorkQueue& q) {
  if (q.prefetch == kNone) {
    bind(q, true);
  } else if (q.prefetch != newest_) {
    unlink(q.prefetch);
    link_newest(q.prefetch);
  }
}

void WorkQueueTable::read_front(WqId id, ReceiveWqe& out) const {
  const WorkQueue& q = *find(id);
  const WqePrefetch::Wqe wqe = contexts_[q.prefetch].prefetch.front();
  parse_wqe(wqe.bytes, q.context.layout, wqe.slot, out);
  if (!wqe.readable) out.valid = false;
}

void WorkQueueTable::take(WqId id) {
  WorkQueue& q = *find(id);
  if (reaches_limit(q.context)) q.context.limit = 0;
  ++q.context.taken;
  q.context.next_slot = contexts_[q.prefetch].prefetch.pop();
  changed(q);
  line_up(q.prefetch);
}

bool WorkQueueTable::next_read(WqId wanted, Read& read) {  // (R3)
  if (free_reads_.empty()) return false;
  if (wanted != kNoWq && here(wanted)) {
    const std::uint32_t c = find(wanted)->prefetch;
    if (c != kNone && start_read(c, true, read)) return true;
  }
  if (line_size_ == 0) return false;
  const std::uint32_t c = line_[line_first_];
  line_first_ = line_first_ + 1 == line_.size() ? 0 : line_first_ + 1;
  --line_size_;
  contexts_[c].waits = false;
  if (contexts_[c].owner == kNone || !start_read(c, false, read)) return false;
  line_up(c);  // it may want more
  return true;
}

bool WorkQueueTable::start_read(std::uint32_t c, bool waited_for, Read& read) {
  Context& context = contexts_[c];
  WorkQueue& q = cache_[context.owner];
  WqePrefetch::Run run;
  const std::uint32_t asked = sizes_.greedy ? 0 : std::max<std::uint32_t>(q.asked, waited_for);
  const std::uint32_t stride = q.context.stride;
  const bool long_slots = sizes_.wqes_per_read * stride > buffer_bytes_;
  const std::uint32_t most = long_slots ? std::max(1u, buffer_bytes_ / stride) : sizes_.wqes_per_read;  // (R8)
  if (!context.prefetch.next_run(q.context.producer, asked, most, sizes_.sequential, run)) return false;
  context.prefetch.started(run);
  const std::uint32_t id = free_reads_.back();
  free_reads_.pop_back();
  Flight& flight = reads_[id];
  flight.run = run;
  flight.context = c;
  flight.queue = context.owner;
  ++q.reads;
  const std::uint32_t bytes = run.count > 1 ? run.count * stride : wqe_bytes_used(q.context.layout, stride);
  read = {id, wqe_address(q.context, run.slot), bytes, reinterpret_cast<std::uint8_t*>(flight.data.data())};
  ++counters_.reads;
  counters_.wqes_read += run.count;
  return true;
}

void WorkQueueTable::arrived(std::uint32_t id, bool ok) {
  Flight& flight = reads_[id];
  --cache_[flight.queue].reads;
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(flight.data.data());
  counters_.wqes_discarded += contexts_[flight.context].prefetch.arrived(flight.run, ok, bytes);
  line_up(flight.context);
  free_reads_.push_back(id);
}

void WorkQueueTable::fail(WqId id, Cqn cq) {  // (R5)
  WorkQueue& q = *find(id);
  q.context.failed = true;
  q.context.flush_cq = cq;
  changed(q);
  unbind(cache_.line_of(q));
}

std::uint32_t WorkQueueTable::flush_one(WqId id) {
  WorkQueue& q = *find(id);
  changed(q);
  return q.context.taken++ & (q.context.slots - 1);
}

void WorkQueueTable::bind(WorkQueue& q, bool may_evict) {  // (R2)
  if (free_contexts_.empty()) {
    if (!may_evict) return;
    ++counters_.evictions;
    unbind(contexts_[oldest_].owner);
  }
  const std::uint32_t c = free_contexts_.back();
  free_contexts_.pop_back();
  Context& context = contexts_[c];
  context.owner = cache_.line_of(q);
  context.prefetch.bind(
      q.context, q.context.taken,
      q.context.layout == WqLayout::kLinkedList ? q.context.next_slot : q.context.taken & (q.context.slots - 1),
      sizes_.greedy ? sizes_.depth
      : may_evict   ? 0
                    : sizes_.wqes_per_read);
  q.prefetch = c;
  if (may_evict) {
    link_newest(c);
  } else {
    link_oldest(c);
  }
  line_up(c);
}

void WorkQueueTable::unbind(std::uint32_t line) {
  WorkQueue& q = cache_[line];
  if (q.prefetch == kNone) return;
  const std::uint32_t c = q.prefetch;
  q.prefetch = kNone;
  counters_.wqes_evicted += contexts_[c].prefetch.unbind();
  contexts_[c].owner = kNone;
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
  if (contexts_[c].waits || contexts_[c].owner == kNone) return;
  contexts_[c].waits = true;
  line_[line_first_ + line_size_ < line_.size() ? line_first_ + line_size_ : line_first_ + line_size_ - line_.size()] =
      c;
  ++line_size_;
}

}  // namespace rxnic
