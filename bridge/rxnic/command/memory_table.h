// SPDX-License-Identifier: Apache-2.0
// What `rxnic params --memory` prints: every on-chip memory of a NIC, by block (model/nic/on_chip_memory.h).
#pragma once

#include <span>
#include <string>

#include "model/nic/on_chip_memory.h"

namespace rxnic {

// One line a memory, sums by block and in all. What has no size or no width yet is marked with '?' and is in no sum.
std::string memory_text(std::span<const OnChipMemory> memories);

// {"memories": [{"block", "name", "entries", "entry_bits", "bits", "holds"}], "blocks": {block: bits}, "bits": sum};
// entries and entry_bits are null where they are not known, and bits then, too.
std::string memory_json(std::span<const OnChipMemory> memories);

// The memories of a NIC with these parameters and a requester.
std::vector<OnChipMemory> memories_of(const Params& params);

}  // namespace rxnic
