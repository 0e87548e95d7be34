// SPDX-License-Identifier: Apache-2.0
// The memory of a request of ours: checks of its data segments, and reads of its payload.
//
//   R1  A segment is good when its lkey is that of a valid region of the QP's PD, grants `access` and holds the whole
//       segment (core/memory/translation.h). Reading needs no right.
//   R2  Pages with consecutive bus addresses are read together, across segments too, because each read of a program's
//       memory costs time.
//   R3  A read is all or nothing: false when the region no longer exists or a byte is not mapped.
#pragma once

#include <cstdint>
#include <span>

#include "model/types/context.h"
#include "model/types/host_memory.h"
#include "model/types/work_queue.h"

namespace rxnic {

class PayloadReader {
 public:
  explicit PayloadReader(HostMemory& memory) : memory_(memory) {}

  // Every segment is good (R1).
  bool check(std::span<const DataSegment> segments, Pdn pd, std::uint8_t access);
  // Fills `to` with the bytes that begin at byte `offset` of the segments, taken one after the other.
  bool read(std::span<const DataSegment> segments, Pdn pd, std::uint64_t offset, std::span<std::uint8_t> to);

  std::uint64_t reads() const { return reads_; }  // of payload, for counters

 private:
  // A piece that is contiguous in bus addresses and has not been read yet.
  struct Run {
    std::uint64_t bus = 0;
    std::span<std::uint8_t> to;
  };
  bool read_segment(const DataSegment& segment, Pdn pd, std::uint64_t offset, std::span<std::uint8_t> to, Run& run);
  bool extend(Run& run, BusAddress bus, std::span<std::uint8_t> to);
  bool finish(const Run& run);

  HostMemory& memory_;
  std::uint64_t reads_ = 0;
};

}  // namespace rxnic
