// SPDX-License-Identifier: Apache-2.0
// The memories of a NIC, from which an architect estimates its area. on_chip_memories() is the one place that lists
// them.
//
//   R1  Memories and FIFOs between blocks are listed, with the bits that the hardware would need, not those of the C++
//       types. Counters, and pipelines with one entry per stage, are registers and are not listed.
//   R2  A memory that the model does not limit yet has 0 entries: its size is not known, and no sum includes it.
//   R3  A FIFO whose values have no described width (types/descriptors.toml) has entries, but no bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/nic/nic.h"
#include "model/params/params.h"

namespace rxnic {

struct OnChipMemory {
  std::string block;  // its owner; "links": a FIFO between blocks
  std::string name;
  std::uint64_t entries = 0;     // 0: not limited (R2)
  std::uint64_t entry_bits = 0;  // 0: not described (R3)
  std::string holds;             // a sentence
  std::uint64_t bits() const { return entries * entry_bits; }
};

// Grouped by block, in path order; what the blocks of `nic` hold, then its FIFOs. `params` are those of `nic`.
std::vector<OnChipMemory> on_chip_memories(const Params& params, const Nic& nic);

}  // namespace rxnic
