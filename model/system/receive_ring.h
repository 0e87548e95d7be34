// SPDX-License-Identifier: Apache-2.0
// The driver's side of one receive queue: which slot the next WQE goes to, which buffer it names, when a slot is free
// again.
//
//   R1  A buffer is posted again only after its completion was polled (rules 1.2).
//   R2  Linked list: slots are handed out in the order of the free list; a polled WQE's slot goes to the list's end
//       (rules 1.5). With another order (slot_order.h) the slot behind the one that is posted is any free one.
//   R3  Cyclic: slots are handed out in ring order; a slot whose last WQE was not polled yet ends the posting.
//   R4  One doorbell a post call, whatever the number of WQEs (rules 1.4).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/system/slot_order.h"
#include "model/types/host_memory.h"
#include "model/types/work_queue.h"

namespace rxnic {

struct ReceiveRingParams {
  WqId id = kNoWq;
  WqContext queue;
  std::uint32_t wqes = 0;                // posted at most
  std::uint32_t sges = 1;                // the buffer is cut into so many pieces
  std::vector<std::uint32_t> sge_bytes;  // their lengths; empty: of equal length, the last takes the rest
  std::uint32_t buffer_bytes = 0;
  std::uint64_t buffer_base = 0;  // virtual address; buffer i is at buffer_base + i * buffer_stride
  std::uint64_t buffer_stride = 0;
  Key lkey{};
  std::uint32_t refill_batch = 1;          // WQEs per post call, at least (the first fill apart)
  WqeOrder order = WqeOrder::kCompletion;  // linked list only
  std::uint64_t seed = 1;                  // of kShuffled
};

// Rings of thousands of QPs are touched in any order, so each keeps what it needs in few cache lines.
class alignas(64) ReceiveRing {
 public:
  explicit ReceiveRing(const ReceiveRingParams& params);

  // The WQE in `slot` was completed and polled.
  void complete(std::uint32_t slot);
  // Posts what can be posted when it is at least a batch (or `all`). True when the doorbell is to be rung.
  bool post(HostMemory& memory, bool all);
  // Never posts WQE number `limit` or a later one until the limit is moved: a program that is late.
  void set_limit(std::uint64_t limit) { limit_ = limit; }
  std::uint32_t producer_index() const { return producer_; }
  std::uint32_t posted() const { return outstanding_; }
  const ReceiveRingParams& params() const { return params_; }

 private:
  static constexpr std::uint32_t kNoBuffer = 0xffffffff;
  // One cache line serves a slot and the buffer that is posted in it, when the completions come in order.
  struct Place {
    std::uint32_t buffer = kNoBuffer;  // of the WQE posted in this slot
    std::uint32_t next = 0;            // linked list: the slot behind this one
    std::uint32_t free = 0;            // a place of the queue of free buffers
  };
  void write(HostMemory& memory, std::uint32_t slot, std::uint32_t buffer, std::uint32_t next);
  void write(HostMemory& memory, std::uint32_t slot, std::uint32_t next, std::span<const DataSegment> sges);

  std::vector<Place> places_;          // by slot; the first params_.wqes hold the queue of free buffers, too
  std::uint32_t first_free_ = 0;       // where the next buffer is taken; it is returned at the queue's end
  std::uint32_t free_count_ = 0;       // buffers in the queue
  std::uint32_t head_ = 0, tail_ = 0;  // of the list of free slots
  std::uint32_t producer_ = 0;
  std::uint32_t outstanding_ = 0;
  std::uint64_t limit_ = ~std::uint64_t{0};
  ReceiveRingParams params_;
  std::vector<DataSegment> pieces_;  // of the WQE being written, when it has several
  // Linked list in another order than that of completion: the free slots but head_. Null: they are the list from it.
  std::unique_ptr<SlotOrder> order_;
};

}  // namespace rxnic
