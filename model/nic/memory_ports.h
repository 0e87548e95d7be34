// SPDX-License-Identifier: Apache-2.0
// What hardware would make each on-chip memory of, and how many ports it needs. It is an estimate by the rules below.
// The bits themselves are exact (on_chip_memory.h).
//
//   R1  A memory whose entries are all compared with a key in the same cycle is a CAM.
//   R2  A pipeline with a place for each stage is flip-flops. So is a memory of less than kLeastSramBits, or of fewer
//       than kLeastSramEntries entries, for which a compiled SRAM does not pay.
//   R3  Every other memory is SRAM. A set-associative cache is: the ways of a set are one word, compared behind it.
//   R4  Ports are the most reads and the most writes of the model's blocks in a cycle in which all of them are busy.
//   R5  The tags of TM SRQs are a CAM when they are searched in parallel. Banked, they are SRAM whose word is a bank:
//       with a read port for each of banks_per_cycle. Hashed, they have a read port for the bucket and one for each of
//       wildcards_per_cycle.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/nic/on_chip_memory.h"

namespace rxnic {

enum class StorageKind : std::uint8_t { kSram, kCam, kFlipFlops };
inline constexpr std::string_view kStorageKindNames[] = {"sram", "cam", "flip_flops"};

inline constexpr std::uint64_t kLeastSramBits = 1024;
inline constexpr std::uint64_t kLeastSramEntries = 8;

struct MemoryPorts {
  StorageKind kind = StorageKind::kSram;
  std::uint32_t reads = 1;  // of a CAM: searches
  std::uint32_t writes = 1;
  std::string_view rule;  // who reads and writes it, or why it is no SRAM
};

// What a memory of a NIC with these parameters is. Nothing when no rule is written for it.
std::optional<MemoryPorts> memory_ports(const OnChipMemory& memory, const Params& params);

}  // namespace rxnic
