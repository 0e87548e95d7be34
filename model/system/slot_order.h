// SPDX-License-Identifier: Apache-2.0
// The free slots of a linked-list SRQ, when the driver does not hand them out in the order in which their WQEs
// completed.
//
//   R1  kSequential: the first free slot behind the one that was handed out last, round the ring.
//   R2  kShuffled: any free slot, with equal chances. One seed always gives one sequence of choices.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/host_options.h"

namespace rxnic {

class SlotOrder {
 public:
  // All slots but `first` are free. `order`: not kCompletion.
  SlotOrder(WqeOrder order, std::uint64_t seed, std::uint32_t slots, std::uint32_t first);
  bool empty() const { return free_count_ == 0; }
  void give_back(std::uint32_t slot);
  // The slot to hand out after `last`; precondition: !empty().
  std::uint32_t take(std::uint32_t last);

 private:
  std::uint32_t take_behind(std::uint32_t last);
  std::uint64_t random();

  WqeOrder order_;
  std::uint64_t state_;
  std::uint32_t free_count_ = 0;
  std::vector<std::uint64_t> bits_;   // kSequential: by slot, 1: free
  std::vector<std::uint32_t> slots_;  // kShuffled: the free ones
};

}  // namespace rxnic
