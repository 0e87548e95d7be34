// SPDX-License-Identifier: Apache-2.0
// The work queues of a device: WQEs that doorbells posted, WQEs that packets took, and the queues that have WQEs on the
// chip. Without time: that is the fetcher's part (model/blocks/srq_wqe_fetcher.h).
//
//   R1  Doorbell: the producer index counts the WQEs posted, free-running. A doorbell by which the index goes back, or
//       that posts more than the queue holds (slots; slots - 1 for a linked list), is refused and changes nothing.
//   R2  Queues with WQEs on the chip use one of `contexts` prefetch contexts. A doorbell takes a free one; a packet
//       that needs a WQE takes a free one or that of the least recently used queue, whose prefetched WQEs are forgotten
//       and read again when they are needed.
//   R3  At most `reads` reads are in flight. Queues take turns, one read each; one that a packet waits for goes first.
//   R4  SRQ limit (rules 2.3): reached when a WQE is taken and fewer than the limit stay posted. It is then disarmed.
//   R5  An RQ in error hands out nothing; its posted WQEs are flushed one by one, in order, and those posted later too.
//   R6  The number of a queue that is destroyed is given to another one only when no read of it is in flight any more.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/core/receive_queue/wqe_prefetch.h"
#include "model/types/work_queue.h"
#include "model/types/work_queue_table_counters.h"

namespace rxnic {

class WorkQueueTable {
 public:
  struct Sizes {
    std::uint32_t contexts = 64;
    std::uint32_t depth = 16;
    std::uint32_t wqes_per_read = 4;
    std::uint32_t reads = 16;
    bool sequential = true;
  };
  explicit WorkQueueTable(const Sizes& sizes);

  // Control plane. Throws std::invalid_argument when slots or stride break work_queue.h, R1.
  WqId create(const WqContext& context);
  // False while reads of it are in flight: no further read starts, and the call is to be repeated. (R6)
  bool destroy(WqId id);
  void reset(WqId id);  // as if just created
  bool exists(WqId id) const { return raw(id) < queues_.size() && queues_[raw(id)].exists; }
  const WqContext& context(WqId id) const { return queues_[raw(id)].context; }
  std::uint32_t posted(WqId id) const { return queues_[raw(id)].producer - queues_[raw(id)].taken; }

  // Doorbells. False when refused.
  bool post(WqId id, std::uint32_t producer);
  bool arm_limit(WqId id, std::uint32_t limit);

  // Packets.
  enum class Supply : std::uint8_t { kNone, kComing, kReady };
  Supply supply(WqId id);                           // kNone: nothing posted. Binds the queue to a context
  void touch(WqId id);                              // a packet that is near will need a WQE
  void read_front(WqId id, ReceiveWqe& out) const;  // precondition: kReady
  bool take_reaches_limit(WqId id) const;
  void take(WqId id);  // precondition: kReady

  // Reads. `where` and `bytes`: the memory to read; the data goes to `data`.
  struct Read {
    std::uint32_t id = 0;
    BusAddress where{};
    std::uint32_t bytes = 0;
    std::uint8_t* data = nullptr;
  };
  bool next_read(WqId wanted, Read& read);  // `wanted`: kNoWq or the queue that a packet waits for
  void arrived(std::uint32_t id, bool ok);

  // Errors (R5).
  void fail(WqId id, Cqn cq);  // `cq`: where the flushed WQEs complete
  bool failed(WqId id) const { return queues_[raw(id)].failed; }
  Cqn flush_cq(WqId id) const { return queues_[raw(id)].flush_cq; }
  std::uint32_t flush_one(WqId id);  // slot of the flushed WQE; precondition: posted() > 0

  const WorkQueueTableCounters& counters() const { return counters_; }
  std::uint32_t reads_in_flight() const { return static_cast<std::uint32_t>(reads_.size() - free_reads_.size()); }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Queue {
    WqContext context;
    std::uint32_t producer = 0;
    std::uint32_t taken = 0;
    std::uint32_t next_slot = 0;  // of WQE `taken`
    std::uint32_t prefetch = kNone;
    std::uint32_t reads = 0;  // in flight
    Cqn flush_cq{};
    bool exists = false;
    bool closing = false;
    bool failed = false;
  };
  struct Context {
    WqePrefetch prefetch;
    WqId owner = kNoWq;
    std::uint32_t newer = kNone, older = kNone;  // in the order of use
    bool waits = false;                          // is in line for a read
  };
  struct Flight {
    WqePrefetch::Run run;
    std::uint32_t context = 0;
    WqId queue = kNoWq;
    std::vector<std::uint8_t> bytes;
  };

  void clear(Queue& q);
  void use(WqId id);
  void bind(WqId id, bool may_evict);
  void unbind(Queue& q);
  void unlink(std::uint32_t c);
  void link_newest(std::uint32_t c);
  void link_oldest(std::uint32_t c);
  void line_up(std::uint32_t c);
  bool start_read(std::uint32_t c, Read& read);

  Sizes sizes_;
  std::vector<Queue> queues_;
  std::vector<std::uint32_t> free_queues_;
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
