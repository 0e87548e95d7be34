// SPDX-License-Identifier: Apache-2.0
// Receive WQEs in use: on-chip memory that holds the buffer list of each message that is being received. The WQE
// fetcher writes the lists and has the slots (core/receive_queue/wqe_slots.h).
//
//   R1  Whoever reads a list does so over a port; an element that a list does not have is no word.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/types/read_memory.h"
#include "model/types/scatter_list.h"
#include "model/types/work_queue.h"
#include "model/types/write_memory.h"

namespace rxnic {

class WqeStore final : public ReadMemory<ScatterListRead, DataSegment>,
                       public ReadMemory<WqeSlot, DataSegment>,
                       public WriteMemory<ScatterListWrite> {
 public:
  explicit WqeStore(std::uint32_t entries) : entries_(entries) {}
  void write(Cycle, const ScatterListWrite& what) override {
    if (what.wqe_slot >= entries_) return;
    ScatterList& list = (*this)[what.wqe_slot];
    list.sge_count = std::min<std::uint16_t>(what.count, kMaxSge);
    std::copy_n(what.sge.begin(), list.sge_count, list.sge.begin());
  }
  const DataSegment* read(const ScatterListRead& at, std::uint32_t& words) const override {  // (R1)
    if (at.wqe_slot >= lists_.size()) return nullptr;
    const ScatterList& list = lists_[at.wqe_slot];
    words = at.element < list.sge_count ? list.sge_count - at.element : 0u;
    return list.sge.data() + std::min<std::size_t>(at.element, kMaxSge);
  }
  ScatterList& operator[](std::uint32_t slot) {
    if (slot >= lists_.size()) lists_.resize(std::size_t{slot} + 1);
    return lists_[slot];
  }
  const DataSegment* read(const WqeSlot& at, std::uint32_t& words) const override {  // the first element (R1)
    words = at.wqe_slot < lists_.size() ? 1 : 0;
    return words == 0 ? nullptr : lists_[at.wqe_slot].sge.data();
  }
  std::uint32_t size() const { return entries_; }

 private:
  const std::uint32_t entries_;
  std::vector<ScatterList> lists_;  // as many as were ever in use
};

}  // namespace rxnic
