// SPDX-License-Identifier: Apache-2.0
// Slots of the store of WQEs in use (core/receive_queue/wqe_store.h): which are free, and whose the others are.
//
//   R1  A slot that is released can be allocated at once: the link that brings the release has taken a cycle.
//   R2  The free slot with the lowest number is allocated.
//   R3  There are `entries` slots. `share` of them are reserved for each of `queues` queues: a queue takes from its
//       share first, whichever queues the others are. The remaining slots are the pool, which all queues share.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

#include "model/types/ids.h"

namespace rxnic {

class WqeSlots {
 public:
  struct Sizes {
    std::uint32_t entries = 1024;
    std::uint32_t share = 0;
    std::uint32_t queues = 0;
  };
  // What the fetcher keeps of a WQE in use.
  struct Slot {
    std::uint32_t wqe_index = 0;
    std::uint32_t bytes = 0;  // of its list
    WqId queue{};
    bool of_share = false;
  };
  explicit WqeSlots(const Sizes& sizes)
      : entries_(sizes.entries),
        share_(sizes.share),
        kept_(static_cast<std::uint32_t>(
            std::min<std::uint64_t>(std::uint64_t{sizes.share} * sizes.queues, sizes.entries))) {}

  // Whether there is a slot for a WQE of `queue`.
  bool available(WqId queue) const { return has_share(queue) || in_pool_ < entries_ - kept_; }
  std::uint32_t allocate(WqId queue = WqId{0}) {  // precondition: available(queue)
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
    free_[slot / kWordBits] |= std::uint64_t{1} << slot % kWordBits;
    if (slots_[slot].of_share) {
      --shares_[raw(slots_[slot].queue)];
      --in_shares_;
    } else {
      --in_pool_;
    }
  }
  Slot& operator[](std::uint32_t slot) { return slots_[slot]; }
  std::uint32_t occupied() const { return in_shares_ + in_pool_; }

 private:
  static constexpr std::uint32_t kWordBits = 64;
  bool has_share(WqId queue) const {
    return in_shares_ < kept_ && (raw(queue) >= shares_.size() ? share_ > 0 : shares_[raw(queue)] < share_);
  }
  void grow() {
    free_.push_back(~std::uint64_t{0});
    slots_.resize(slots_.size() + kWordBits);
  }

  const std::uint32_t entries_;
  const std::uint32_t share_;
  const std::uint32_t kept_;           // of all shares together (R3)
  std::vector<Slot> slots_;            // as many as were ever in use, `entries` at most
  std::vector<std::uint64_t> free_;    // bit per slot
  std::vector<std::uint32_t> shares_;  // by WqId: its slots in slots_ that are of its share
  std::uint32_t in_shares_ = 0;
  std::uint32_t in_pool_ = 0;
};

}  // namespace rxnic
