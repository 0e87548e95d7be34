// SPDX-License-Identifier: Apache-2.0
// Device ABI, receive side: work queues in host memory as the driver writes them and the device reads them.
// Little-endian, naturally aligned. The layouts hold for the RTL as well.
//
//   R1  A WQE slot is `stride` bytes, a power of two >= 32. Slot i is at base + i * stride.
//   R2  Linked-list SRQ: a slot starts with NextSegment; data segments follow (rules 1.5). The device's next WQE is the
//       one that the previous one names, so it is known only after that one was read. The list's tail is never usable:
//       a queue of n slots holds n - 1 WQEs.
//   R3  Cyclic SRQ and RQ: data segments start at the slot's first byte, WQE k is in slot k mod slots.
//   R4  A list of SGEs that is shorter than the slot ends with an entry whose lkey is kInvalidKey.
//   R5  Doorbell: after the WQEs are visible the driver writes the queue's producer index, a free-running count of WQEs
//       posted. It writes once per post call, whatever the number of WRs (rules 1.4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "model/types/data_segment.h"
#include "model/types/doorbell.h"
#include "model/types/ids.h"
#include "model/types/queue_record.h"

namespace rxnic {

struct NextSegment {
  std::uint16_t next_wqe_index = 0;
  std::uint8_t signature = 0;
  std::uint8_t reserved[13] = {};
};
static_assert(sizeof(NextSegment) == 16);

static_assert(sizeof(DataSegment) == 16);

inline constexpr std::uint32_t kMaxSge = 32;

// A queue's context as the device keeps it in host memory, at queue_context_address() (context.h). valid == 0: there is
// no such queue. No bytes lie between the members.
struct WqRecord : StoredQueue {
  std::uint8_t reserved[7] = {};
};
inline constexpr std::size_t kWqContextBytes = 64;
static_assert(sizeof(WqContext) == 40 && sizeof(WqRecord) == kWqContextBytes);
static_assert(std::has_unique_object_representations_v<WqRecord>);

struct ScatterList {
  std::uint16_t sge_count = 0;
  std::array<DataSegment, kMaxSge> sge;
};

// A receive WQE after it was fetched.
struct ReceiveWqe : ScatterList {
  std::uint32_t wqe_index = 0;    // slot number, returned in the CQE
  bool valid = false;             // false: the slot could not be parsed (a bad WQE: NAK 0x63)
  std::uint64_t total_bytes = 0;  // sum of the SGE lengths
};

}  // namespace rxnic
