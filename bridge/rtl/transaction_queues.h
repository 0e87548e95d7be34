// SPDX-License-Identifier: Apache-2.0
// What one side has made at an output and the other one has not (R3 of transactions.h).
//
//   R1  In each queue the model's transaction n and the RTL's transaction n are a pair. Queues do not wait for each
//       other, nor does either side for the other one.
//   R2  The oldest transaction that waits is that of the earliest cycle. When several are of one cycle, it is that
//       of the queue with the lowest number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "model/types/ids.h"

namespace rxnic {

class TransactionQueues {
 public:
  // A transaction that one side has made.
  struct Made {
    Cycle cycle;
    std::uint64_t number = 0;           // at its port, from 1 on
    std::uint64_t queue = 0;            // number of its queue
    std::uint64_t of_queue = 0;         // its number there, from 1 on
    std::vector<std::uint32_t> bits{};  // of its value
    std::vector<std::byte> value{};     // of the model's
  };
  struct Pair {
    Made model, rtl;
  };
  struct Oldest {
    const Made* made = nullptr;  // nullptr: nothing waits
    bool of_model = true;
  };

  // Gives the transaction its number in its queue. Without the other side's the transaction waits.
  std::optional<Pair> add(Made made, bool by_model);
  Oldest oldest() const { return oldest_of(true); }
  Oldest oldest_of_model() const { return oldest_of(false); }
  std::uint64_t waiting_of_rtl() const;
  // The RTL's newest of a queue; nullptr: the model has made it, too.
  const Made* last_of_rtl(std::uint64_t queue) const;

 private:
  struct Queue {
    std::deque<Made> waiting;
    bool of_model = false;
  };
  Oldest oldest_of(bool either_side) const;

  std::map<std::uint64_t, Queue> queues_;              // those in which something waits
  std::map<std::uint64_t, std::uint64_t> numbers_[2];  // transactions of each queue, by the RTL and by the model
};

}  // namespace rxnic
