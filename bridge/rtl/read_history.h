// SPDX-License-Identifier: Apache-2.0
// What the model has read from a memory, for RTL that reads the same later: its owner may have used the place again by
// then.
//
//   R1  An address has the words that the model read there nearest to a given cycle. Those that stand there now count
//       as read now, so that RTL that is not far behind gets them.
//   R2  Reads are forgotten that are older than `kKept` cycles before the work that the RTL has still to do.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "model/types/ids.h"

namespace rxnic {

class ReadHistory {
 public:
  using Bits = std::vector<std::uint32_t>;
  static constexpr std::uint64_t kKept = 4096;

  // The model has read in cycle `now`; the RTL has work to do that the model did in cycle `behind`.
  void note(const Bits& address, const Bits& words, Cycle now, Cycle behind);
  // nullptr: what stands there now is nearest. (R1)
  const Bits* near(const Bits& address, Cycle when, Cycle now) const;
  std::size_t addresses() const { return by_address_.size(); }

 private:
  struct Contents {
    Cycle first, last;  // reads in these cycles and between them gave the same
    Bits words;
  };
  void forget(Cycle before);

  std::map<Bits, std::deque<Contents>> by_address_;
  std::deque<std::pair<Cycle, Bits>> reads_;  // the address of each, the oldest one first
};

}  // namespace rxnic
