// SPDX-License-Identifier: Apache-2.0
// Tag matching: headers in front of a message (big-endian, as tm_types.h), and operations on a tag list. Also the
// layout of the list's overflow in memory (little-endian).
//
//   R1  A tag-matching message starts with a TMH; a rendezvous request goes on with an RVH (rules 5.1).
//   R2  The driver chooses an entry's handle, below max_tags, and may use it again when the entry was matched or
//       deleted. It is returned as wqe_index in the completions of the message that matched.
#pragma once

#include <cstdint>

#include "model/types/ids.h"
#include "model/types/tag_operation.h"
#include "model/types/wire.h"
#include "model/types/work_queue.h"

namespace rxnic {

enum class TmhOpcode : std::uint8_t { kNoTag = 0, kRendezvous = 1, kFinish = 2, kEager = 3 };

struct Tmh {
  std::uint8_t opcode = 0;  // TmhOpcode, or anything else that a peer sent
  std::uint32_t app_context = 0;
  std::uint64_t tag = 0;
};
struct Rvh {
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::uint32_t length = 0;  // bytes
};
inline constexpr std::uint32_t kTmhBytes = 16;
inline constexpr std::uint32_t kRvhBytes = 16;
inline constexpr std::uint32_t kMostRendezvousBytes = 64;  // of a rendezvous request: the two, and what software adds

constexpr Tmh parse_tmh(const std::uint8_t* at) { return {at[0], load_be32(at + 4), load_be64(at + 8)}; }
constexpr void build_tmh(const Tmh& tmh, std::uint8_t* to) {
  store_be32(to, std::uint32_t{tmh.opcode} << 24);
  store_be32(to + 4, tmh.app_context);
  store_be64(to + 8, tmh.tag);
}
constexpr Rvh parse_rvh(const std::uint8_t* at) { return {load_be64(at), load_be32(at + 8), load_be32(at + 12)}; }
constexpr void build_rvh(const Rvh& rvh, std::uint8_t* to) {
  store_be64(to, rvh.va);
  store_be32(to + 8, rvh.rkey);
  store_be32(to + 12, rvh.length);
}

inline constexpr std::uint32_t kNoTagEntry = 0xffffffff;  // no entry

static_assert(TagEntry{}.handle == kNoTagEntry && TagReturn{}.handle == kNoTagEntry);

// An entry of a list's overflow as it lies in memory. The overflow is a ring of 2 * max_tags slots, in the order of the
// appends. Slot n of list `srq` is at icm::kTagOverflow + (srq * 2 * max_tags + n) * sizeof(TagOverflowEntry).
struct TagOverflowEntry : StoredTag {
  std::uint8_t reserved[16] = {};
};
static_assert(sizeof(TagOverflowEntry) == 64);
static_assert(std::has_unique_object_representations_v<TagOverflowEntry>);

}  // namespace rxnic
