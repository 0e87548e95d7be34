// SPDX-License-Identifier: Apache-2.0
// The memory of a request of ours: checks of its data segments, and the bus addresses of its payload.
//
//   R1  A segment is good when its lkey is that of a valid region of the QP's PD, not of a window. The region grants
//       `access` and holds the whole segment (core/memory/translation.h). Reading needs no right.
//   R2  Pages of a segment with consecutive bus addresses are one piece. Pieces of two segments are not joined.
//   R3  All or nothing: false when a region no longer exists, or the segments are shorter.
//   R4  A page that is absent (core/memory/translation.h, R7) has to be asked for before: here it is nowhere.
//   R5  The region whose key is hidden counts as none. Its entry in memory is being written, and what a read of the
//       entry would find in that cycle must not matter.
//   R6  Bytes of a null region have no piece (core/memory/translation.h, R8). The pieces say where in the payload they
//       begin, and what no piece covers is zeros.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/core/memory/translation.h"
#include "model/types/context.h"
#include "model/types/host_memory.h"
#include "model/types/work_queue.h"

namespace rxnic {

// Contiguous in bus addresses.
struct MemoryPiece {
  BusAddress address{};
  std::uint32_t bytes = 0;
  std::uint32_t at = 0;  // of a payload: its first byte there
};

class PayloadLocator {
 public:
  explicit PayloadLocator(HostMemory& memory) : memory_(memory) {}

  void hide(std::optional<Key> key) { hidden_ = key; }  // (R5) nothing: no region is hidden
  // Every segment is good (R1). `on_demand`: pages of one of them may be absent.
  bool check(std::span<const DataSegment> segments, Pdn pd, std::uint8_t access, bool& on_demand);
  // The first page that is absent (R4) of those that locate() would look for.
  std::optional<MissingPage> missing(std::span<const DataSegment> segments, Pdn pd, std::uint64_t offset,
                                     std::uint32_t bytes);
  // Adds to `pieces` the `bytes` that begin at byte `offset` of the segments, taken one after the other: the payload.
  bool locate(std::span<const DataSegment> segments, Pdn pd, std::uint64_t offset, std::uint32_t bytes,
              std::vector<MemoryPiece>& pieces);

 private:
  bool load_region(const DataSegment& segment, Pdn pd, std::uint8_t access, MptEntry& region);
  bool locate_in(const DataSegment& segment, Pdn pd, std::uint64_t offset, std::uint32_t bytes, std::uint32_t done,
                 std::vector<MemoryPiece>& pieces);
  // Calls with each segment that holds some of the bytes, where in it they begin and how many; until it says false.
  template <class Visit>
  static bool each(std::span<const DataSegment> segments, std::uint64_t offset, std::uint32_t bytes, Visit visit);
  std::uint32_t load_pages(const MptEntry& region, std::uint64_t va, std::uint64_t count, std::uint64_t* pages);

  HostMemory& memory_;
  std::optional<Key> hidden_;
};

}  // namespace rxnic
