// SPDX-License-Identifier: Apache-2.0
// Receive WQEs in use: on-chip memory that holds the buffer list of each message that is being received.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "model/types/work_queue.h"

namespace rxnic {

inline constexpr std::uint32_t kNoWqeSlot = 0xffffffff;

class WqeStore {
 public:
  // A slot for a fetched WQE. Grows when none is free; references stay valid.
  std::uint32_t allocate() {
    ++in_use_;
    if (!free_.empty()) {
      const std::uint32_t slot = free_.back();
      free_.pop_back();
      return slot;
    }
    wqes_.emplace_back();
    return static_cast<std::uint32_t>(wqes_.size() - 1);
  }
  void release(std::uint32_t slot) {
    --in_use_;
    free_.push_back(slot);
  }
  ReceiveWqe& operator[](std::uint32_t slot) { return wqes_[slot]; }
  std::uint32_t in_use() const { return in_use_; }

 private:
  std::deque<ReceiveWqe> wqes_;
  std::vector<std::uint32_t> free_;
  std::uint32_t in_use_ = 0;
};

}  // namespace rxnic
