// SPDX-License-Identifier: Apache-2.0
// Receive WQEs in use: on-chip memory that holds the buffer list of each message that is being received. The WQE
// fetcher allocates its slots, the completion generator releases them.
//
//   R1  A slot that is released in cycle n can be allocated from cycle n + 1 on.
//   R2  The free slot with the lowest number is allocated.
//   R3  There are `entries` slots. `share` of them are reserved for each of `queues` queues: a queue takes from its
//       share first, whichever queues the others are. The remaining slots are the pool, which all queues share.
//   R4  References stay valid.
//   R5  The scatter engine reads the lists over a port; an element that a list does not have is no word. The completion
//       generator reads the first element, and releases slots, over ports.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <deque>
#include <vector>

#include "model/types/context.h"
#include "model/types/read_memory.h"
#include "model/types/scatter_list.h"
#include "model/types/work_queue.h"
#include "model/types/write_memory.h"

namespace rxnic {

class WqeStore final : public ReadMemory<ScatterListRead, DataSegment>,
                       public ReadMemory<WqeSlot, DataSegment>,
                       public WriteMemory<WqeSlot> {
 public:
  struct Sizes {
    std::uint32_t entries = 1024;
    std::uint32_t share = 0;
    std::uint32_t queues = 0;
  };
  // `now`: the present cycle; nullptr: a released slot can be allocated at once.
  WqeStore(const Sizes& sizes, const Cycle* now)
      : now_(now),
        entries_(sizes.entries),
        share_(sizes.share),
        kept_(static_cast<std::uint32_t>(
            std::min<std::uint64_t>(std::uint64_t{sizes.share} * sizes.queues, sizes.entries))) {}

  // Whether there is a slot for a WQE of `queue`.
  bool available(WqId queue) {
    settle_earlier();
    return has_share(queue) || in_pool_ < entries_ - kept_;
  }
  std::uint32_t allocate(WqId queue = WqId{0}) {  // precondition: available(queue)
    settle_earlier();
    const bool of_share = has_share(queue);
    if (of_share) {
      if (raw(queue) >= shares_.size()) shares_.resize(std::size_t{raw(queue)} + 1);
      ++shares_[raw(queue)];
      ++in_shares_;
    } else {
      ++in_pool_;
    }
    assert(occupied() <= entries_);
    std::size_t word = 0;
    while (word < free_.size() && free_[word] == 0) ++word;
    if (word == free_.size()) grow();
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(free_[word]));  // (R2)
    free_[word] &= free_[word] - 1;
    const std::uint32_t slot = static_cast<std::uint32_t>(word) * kWordBits + bit;
    slots_[slot].queue = queue;
    slots_[slot].of_share = of_share;
    return slot;
  }
  void release(std::uint32_t slot) {
    settle_earlier();
    if (now_ != nullptr) released_in_ = *now_;
    released_.push_back(slot);  // (R1)
  }
  ReceiveWqe& operator[](std::uint32_t slot) { return slots_[slot].wqe; }
  const DataSegment* read(const ScatterListRead& at, std::uint32_t& words) const override {  // (R5)
    if (at.wqe_slot >= slots_.size()) return nullptr;
    const ReceiveWqe& wqe = slots_[at.wqe_slot].wqe;
    words = at.element < wqe.sge_count ? wqe.sge_count - at.element : 0u;
    return wqe.sge.data() + std::min<std::size_t>(at.element, kMaxSge);
  }
  const DataSegment* read(const WqeSlot& at, std::uint32_t& words) const override {  // (R5)
    words = at.wqe_slot < slots_.size() ? 1 : 0;
    return words == 0 ? nullptr : slots_[at.wqe_slot].wqe.sge.data();
  }
  void write(Cycle, const WqeSlot& released) override {
    if (released.wqe_slot < slots_.size()) release(released.wqe_slot);
  }
  std::uint32_t size() const { return entries_; }
  // Slots that cannot be allocated in this cycle.
  std::uint32_t occupied() {
    settle_earlier();
    return in_shares_ + in_pool_;
  }
  std::uint32_t in_use() const { return in_shares_ + in_pool_ - static_cast<std::uint32_t>(released_.size()); }

 private:
  static constexpr std::uint32_t kWordBits = 64;
  struct Slot {
    ReceiveWqe wqe;
    WqId queue{};
    bool of_share = false;
  };
  bool has_share(WqId queue) const {
    return in_shares_ < kept_ && (raw(queue) >= shares_.size() ? share_ > 0 : shares_[raw(queue)] < share_);
  }
  void settle_earlier() {
    if (released_.empty() || (now_ != nullptr && released_in_ == *now_)) return;
    for (const std::uint32_t at : released_) {
      free_[at / kWordBits] |= std::uint64_t{1} << at % kWordBits;
      if (slots_[at].of_share) {
        --shares_[raw(slots_[at].queue)];
        --in_shares_;
      } else {
        --in_pool_;
      }
    }
    released_.clear();
  }
  void grow() {
    free_.push_back(~std::uint64_t{0});
    slots_.resize(slots_.size() + kWordBits);
  }

  const Cycle* now_;
  const std::uint32_t entries_;
  const std::uint32_t share_;
  const std::uint32_t kept_;           // of all shares together (R3)
  std::deque<Slot> slots_;             // as many as were ever in use
  std::vector<std::uint64_t> free_;    // bit per slot
  std::vector<std::uint32_t> shares_;  // by WqId: in use of its share
  std::uint32_t in_shares_ = 0;
  std::uint32_t in_pool_ = 0;
  std::vector<std::uint32_t> released_;  // in cycle released_in_
  Cycle released_in_ = kNever;
};

}  // namespace rxnic
