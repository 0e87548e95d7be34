// SPDX-License-Identifier: Apache-2.0
// The WQEs posted to a send queue: its doorbells, and the slots as they were read (model/types/send_work_queue.h).
//
//   R1  WQEs have free-running numbers; WQE k is in slot k mod slots. WQEs in [next, producer) were posted and not
//       begun, and those in [next, here) are in the device.
//   R2  A doorbell brings the producer index. Each WQE has the cycle of the doorbell that posted it. When more than
//       kMaxDoorbells doorbells wait, the latest ones share the cycle of the last.
//   R3  A producer index by which more than `slots` WQEs would be unfinished is refused; so is one that goes backwards.
//   R4  Slots are read up to wqes_per_read at a time: as many as are contiguous in the ring and posted. When none is in
//       the device, the next ones may be asked for; until they come nothing else is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/types/host_memory.h"
#include "model/types/send_work_queue.h"

namespace rxnic {

class SendRing {
 public:
  SendRing(const SendQueueContext& queue, std::uint32_t wqes_per_read);
  void reset();

  // `oldest`: the first WQE that is not finished. False: refused. (R3)
  bool ring(std::uint32_t producer, std::uint32_t oldest, Cycle rung);

  std::uint32_t next() const { return next_; }
  std::uint32_t producer() const { return producer_; }
  bool posted() const { return next_ != producer_; }
  bool here() const { return next_ != here_; }  // next() is in the device
  // How many WQEs from next() on one read brings. Precondition: posted() and none is here(). (R4)
  std::uint32_t one_read() const { return contiguous(next_); }
  void fetched(std::uint32_t count) { here_ += count; }
  Cycle rung() const { return doorbells_[first_].rung; }  // of WQE next(). Precondition: posted()
  void take();                                            // next() is begun. Precondition: here()
  void pass(std::uint32_t wqe);  // WQEs before this one, which were posted, are not begun any more

  // The slot of a WQE in [oldest unfinished, producer): from what was read before, or read now. Valid until the next
  // call. Empty when the memory cannot be read.
  std::span<const std::uint8_t> slot(std::uint32_t wqe, HostMemory& memory);
  std::uint32_t slot_index(std::uint32_t wqe) const { return wqe & (queue_.slots - 1); }
  const SendQueueContext& context() const { return queue_; }

 private:
  static constexpr std::uint32_t kMaxDoorbells = 256;  // power of two; not hardware: bookkeeping of the model
  struct Rung {
    std::uint32_t producer = 0;
    Cycle rung{};
  };
  std::uint32_t contiguous(std::uint32_t wqe) const;
  Rung& doorbell(std::uint32_t n) { return doorbells_[(first_ + n) & (doorbells_.size() - 1)]; }

  SendQueueContext queue_;
  std::uint32_t wqes_per_read_;
  std::uint32_t next_ = 0, here_ = 0, producer_ = 0;
  std::vector<Rung> doorbells_;          // a ring of a power of two
  std::uint32_t first_ = 0, count_ = 0;  // of doorbells with WQEs that were not begun
  std::vector<std::uint8_t> read_;       // slots of the WQEs [read_first_, read_first_ + read_count_)
  std::uint32_t read_first_ = 0, read_count_ = 0;
};

}  // namespace rxnic
