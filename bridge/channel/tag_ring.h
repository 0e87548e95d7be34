// SPDX-License-Identifier: Apache-2.0
// Operations on the tag list of a TM SRQ, as a program writes them to the device (rules 5.4). To the NIC each operation
// is a write of the host, as a doorbell is. Here operations lie in a ring of the mapping until the simulator takes
// them.
//
//   R1  Operation k is in slot k mod slots. Its doorbell (board kTags) carries the number of operations written so far,
//       modulo 2^32.
//   R2  A slot may be written again when a completion shows that its operation was carried out. This completion is the
//       operation's own one, or that of a later operation or of an entry that a later operation has added.
//   R3  The completion of an operation carries its slot as wqe_index, that of a message that matched the handle.
#pragma once

#include <cstdint>
#include <type_traits>

#include "model/types/data_segment.h"

namespace rxnic::channel {

enum class TagWriteKind : std::uint8_t { kAdd = 1, kDelete, kSync };
inline constexpr std::uint8_t kTagWriteSignaled = 1u << 0;  // it has a completion when it succeeds
inline constexpr std::uint8_t kTagWriteSync = 1u << 1;      // unexpected_count is valid

struct TagWrite {
  TagWriteKind kind{};
  std::uint8_t flags = 0;
  std::uint16_t unexpected_count = 0;  // unexpected messages that the program has seen, modulo 2^16
  std::uint32_t handle = 0;            // kAdd: of the new entry; kDelete
  std::uint64_t tag = 0, mask = 0;     // kAdd
  DataSegment buffer;                  // kAdd
  std::uint8_t reserved[24] = {};
};
inline constexpr std::uint32_t kTagWriteBytes = 64;
static_assert(sizeof(TagWrite) == kTagWriteBytes && std::is_trivially_copyable_v<TagWrite>);

}  // namespace rxnic::channel
