// SPDX-License-Identifier: Apache-2.0
// The work queues of a device. The table has a cache of their contexts (core/memory/context_cache.h), what doorbells
// posted, what packets took, and which queues have WQEs on the chip. It has no time: the fetcher
// (model/blocks/srq_wqe_fetcher.h) says when.
//
//   R1  Doorbell: the producer index counts the WQEs posted, free-running. A doorbell by which the index goes back is
//       refused and changes nothing. So is a doorbell that posts more than the queue holds (slots; slots - 1 for a
//       linked list).
//   R2  Queues with WQEs on the chip use one of `contexts` prefetch contexts. A doorbell takes a free prefetch context.
//       A packet that needs a WQE takes a free context, or that of the least recently used queue. This queue's
//       prefetched WQEs are forgotten, and read again when they are needed. Unless `greedy`, the WQEs that packets ask
//       for are read, and a window ahead of them (wqe_prefetch.h, R1). The window begins with one read's worth when a
//       doorbell gave the queue its context. It begins with none when a packet took the context from another queue.
//   R3  At most `reads` reads are in flight. Queues that may want a read are in a line and take turns, one read each;
//       one queue is looked at in a cycle. A queue that a packet waits for goes first.
//   R4  SRQ limit (rules 2.3): reached when a WQE is taken and fewer than the limit stay posted. It is then disarmed.
//   R5  An RQ in error hands out nothing; its posted WQEs are flushed one by one, in order, and those posted later too.
//   R6  The number of a queue that is destroyed is given to another one only when no read of it is in flight any more.
//   R7  Doorbells, packets and errors reach only queues whose contexts are here. A context is not evicted while
//       reads of its WQEs are in flight. With it go its WQEs on the chip, which are read again when they are needed.
//   R8  A read is of no more bytes than wqes_per_read WQEs of kMaxSge + 1 segments have: of longer slots it brings
//       fewer. A read of a single WQE brings the bytes that the device looks at. Reads complete in the order in which
//       they were started.
//   R9  Commands reach only queues that are here; one is created and removed as context_cache.h says (R6).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/core/memory/context_cache.h"
#include "model/core/receive_queue/wqe_prefetch.h"
#include "model/types/work_queue.h"
#include "model/types/work_queue_table_counters.h"

namespace rxnic {

struct WorkQueue {
  using Record = WqRecord;
  static constexpr std::uint32_t kNone = 0xffffffff;
  Record& record() { return context; }
  const Record& record() const { return context; }
  // Clears what the line held for the queue before. This queue had no reads in flight and has lost its prefetch
  // context. It may have been evicted while it was being destroyed.
  void settle() {
    asked = 0;
    closing = false;
  }
  WqRecord context;
  std::uint32_t prefetch = kNone;  // prefetch context
  std::uint32_t reads = 0;         // in flight
  std::uint32_t asked = 0;         // packets in the fetcher that need a WQE, as far as they are known
  bool closing = false;            // destroyed, but for its reads
};

class WorkQueueTable {
 public:
  using Cache = ContextCache<WorkQueue>;
  struct Sizes {
    std::uint32_t contexts = 64;
    std::uint32_t depth = 16;
    std::uint32_t wqes_per_read = 4;
    std::uint32_t reads = 16;
    bool sequential = true;
    bool greedy = true;
    ContextCacheSizes queues{64, 4, 8};
  };
  // Without policies: those of the model.
  explicit WorkQueueTable(const Sizes& sizes, std::unique_ptr<PrefetchWindow> window = nullptr,
                          std::unique_ptr<Replacement> replacement = nullptr);

  // Before the first cycle. Throws std::invalid_argument when the context is not acceptable.
  WqId create(const WqContext& context, HostMemory& memory);
  // Whether slots and stride keep to work_queue.h, R1, R2.
  static bool acceptable(const WqContext& context);
  // Commands (R9).
  WqId new_number();  // for another queue
  // Creates the queue of that number. False, and nothing done: no line is free, or its context is on its way.
  bool place(WqId id, const WqContext& context);
  // The queue must exist. False while reads of it are in flight: nothing more is read, and it is to be called again.
  // (R6) So, too, when its context is on its way.
  bool destroy(WqId id);
  void reset(WqId id);  // as if just created; precondition: it is here
  // For tests.
  bool read(WqId id, HostMemory& memory, WqRecord& record) const { return cache_.read(raw(id), memory, record); }

  // Contexts. The context of a queue that is being destroyed is not here.
  Cache& cache() { return cache_; }
  const Cache& cache() const { return cache_; }
  bool here(WqId id) const { return find(id) != nullptr; }
  // nullptr: it is not here.
  const WqRecord* find_context(WqId id) const {
    const WorkQueue* const q = find(id);
    return q == nullptr ? nullptr : &q->context;
  }
  // core/memory/context_waits.h
  std::uint32_t line_of(std::uint32_t number) const {
    const std::uint32_t line = cache_.find(number);
    return line == kNone || cache_[line].closing ? kNone : line;
  }
  bool gone(std::uint32_t number) const {
    const std::uint32_t line = cache_.find(number);
    return WqId{number} == kNoWq || (line != kNone && cache_[line].closing);
  }
  bool may_evict(std::uint32_t line) const { return cache_[line].reads == 0; }  // (R7)
  void evicted(std::uint32_t line) { unbind(line); }

  // For a queue that is here.
  const WqRecord& context(WqId id) const { return find(id)->context; }
  std::uint32_t posted(WqId id) const { return context(id).producer - context(id).taken; }

  // Doorbells. False when refused.
  bool post(WqId id, std::uint32_t producer);
  bool arm_limit(WqId id, std::uint32_t limit);

  // Packets.
  enum class Supply : std::uint8_t { kNone, kComing, kReady };
  Supply supply(WqId id);                           // kNone: nothing posted. Binds the queue to a context
  void ask(WqId id);                                // a packet that is near will need a WQE
  void served(WqId id);                             // it has taken one, or needs none any more
  void waits(WqId id);                              // a packet begins to wait; precondition: supply() is kComing
  void read_front(WqId id, ReceiveWqe& out) const;  // precondition: kReady
  bool take_reaches_limit(WqId id) const { return reaches_limit(context(id)); }
  void take(WqId id);  // precondition: kReady

  // Reads. `where` and `bytes`: the memory to read; the data goes to `data`, and is looked at when it has arrived.
  struct Read {
    std::uint32_t id = 0;
    BusAddress where{};
    std::uint32_t bytes = 0;
    std::uint8_t* data = nullptr;
  };
  // `wanted`: kNoWq or the queue that a packet waits for. False: neither it nor the first in the line wants a read.
  bool next_read(WqId wanted, Read& read);
  bool may_want_read() const { return line_size_ > 0 && !free_reads_.empty(); }
  void arrived(std::uint32_t id, bool ok);
  std::span<DataSegment> read_buffer(std::uint32_t id) { return reads_[id % reads_.size()].data; }
  std::span<const DataSegment> read_buffer(std::uint32_t id) const { return reads_[id % reads_.size()].data; }

  // Errors (R5).
  void fail(WqId id, Cqn cq);  // `cq`: where the flushed WQEs complete
  bool failed(WqId id) const { return context(id).failed; }
  Cqn flush_cq(WqId id) const { return context(id).flush_cq; }
  std::uint32_t flush_one(WqId id);  // slot of the flushed WQE; precondition: posted() > 0

  const WorkQueueTableCounters& counters() const { return counters_; }
  std::uint32_t reads_in_flight() const { return static_cast<std::uint32_t>(reads_.size() - free_reads_.size()); }

 private:
  static constexpr std::uint32_t kNone = WorkQueue::kNone;
  struct Context {
    WqePrefetch prefetch;
    std::uint32_t owner = kNone;                 // line of the queue that it serves
    std::uint32_t newer = kNone, older = kNone;  // in the order of use
    bool waits = false;                          // is in line for a read
  };
  struct Flight {
    WqePrefetch::Run run;
    std::uint32_t context = 0;
    std::uint32_t queue = kNone;  // its line
    std::vector<DataSegment> data;
  };

  static void clear(WqRecord& q);
  static WqRecord record_of(const WqContext& context);
  // nullptr: not here.
  WorkQueue* find(WqId id) {
    const std::uint32_t line = line_of(raw(id));
    return line == kNone ? nullptr : &cache_[line];
  }
  const WorkQueue* find(WqId id) const { return const_cast<WorkQueueTable*>(this)->find(id); }
  void changed(const WorkQueue& q) { cache_.set_dirty(cache_.line_of(q)); }
  void use(WorkQueue& q);
  void bind(WorkQueue& q, bool may_evict);
  void unbind(std::uint32_t line);
  void unlink(std::uint32_t c);
  void link_newest(std::uint32_t c);
  void link_oldest(std::uint32_t c);
  void line_up(std::uint32_t c);
  bool start_read(std::uint32_t c, bool waited_for, Read& read);
  static bool reaches_limit(const WqRecord& q) {  // (R4)
    return q.limit != 0 && q.producer - q.taken - 1 < q.limit;
  }

  Sizes sizes_;
  std::unique_ptr<PrefetchWindow> window_;
  std::uint32_t buffer_bytes_;  // of a read (R8)
  Cache cache_;
  std::uint32_t numbers_ = 0;                // that were ever given to queues, for commands
  std::vector<std::uint32_t> free_numbers_;  // of them
  std::vector<Context> contexts_;
  std::vector<std::uint32_t> free_contexts_;
  std::uint32_t newest_ = kNone, oldest_ = kNone;
  std::vector<std::uint32_t> line_;  // ring of the contexts that may want a read
  std::uint32_t line_first_ = 0, line_size_ = 0;
  std::vector<Flight> reads_;
  std::vector<std::uint32_t> free_reads_;
  WorkQueueTableCounters counters_;
};

}  // namespace rxnic
