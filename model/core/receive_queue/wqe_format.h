// SPDX-License-Identifier: Apache-2.0
// Receive WQEs as bytes (model/types/work_queue.h): parsed by the fetcher, written by a driver.
//
//   R1  Data segments start at the slot's first byte; in a linked list a NextSegment stands before them.
//   R2  The list ends with the slot, or before a segment whose lkey is kInvalidKey.
//   R3  A segment of length 0 is skipped, whatever its lkey.
//   R4  A WQE is bad (`valid` false) when a segment's lkey is 0, or when its segments hold more than 2^31 bytes
//       together. A WQE with more than kMaxSge segments, those of length 0 among them, is bad, too. Only the index of a
//       bad WQE is used. So the device looks at kMaxSge + 1 segments at most.
//   R5  A next index outside the queue is taken modulo its slots, so that a program's mistake stays within its queue.
#pragma once

#include <cstdint>
#include <span>

#include "model/types/wire_constants.h"
#include "model/types/work_queue.h"

namespace rxnic {

// Bytes of a slot in front of the data segments.
constexpr std::uint32_t wqe_header_bytes(WqLayout layout) {
  return layout == WqLayout::kLinkedList ? sizeof(NextSegment) : 0;
}
// Data segments that fit into a slot.
constexpr std::uint32_t sges_per_slot(WqLayout layout, std::uint32_t stride) {
  return (stride - wqe_header_bytes(layout)) / sizeof(DataSegment);
}
// The smallest stride for WQEs of `sges` segments.
constexpr std::uint32_t stride_for(WqLayout layout, std::uint32_t sges) {
  std::uint32_t stride = 32;
  while (sges_per_slot(layout, stride) < sges) stride *= 2;
  return stride;
}
// Bytes of a slot that the device looks at. (R4)
constexpr std::uint32_t wqe_bytes_used(WqLayout layout, std::uint32_t stride) {
  constexpr std::uint32_t kSegments = (kMaxSge + 1) * sizeof(DataSegment);
  return stride < wqe_header_bytes(layout) + kSegments ? stride : wqe_header_bytes(layout) + kSegments;
}
constexpr BusAddress wqe_address(const WqContext& queue, std::uint32_t slot) {
  return queue.base + std::uint64_t{slot} * queue.stride;
}

// Reads the WQE of slot `index`. False, as `out.valid`, when it is bad.
bool parse_wqe(std::span<const std::uint8_t> slot, WqLayout layout, std::uint32_t index, ReceiveWqe& out);
// Slot of the next WQE of a linked list.
std::uint32_t next_wqe_index(std::span<const std::uint8_t> slot, std::uint32_t slots);

// Writes a WQE, for drivers and tests; a linked list's `next` is where the next WQE will be. False when it does not
// fit.
bool write_wqe(std::span<std::uint8_t> slot, WqLayout layout, std::uint32_t next, std::span<const DataSegment> sges);

}  // namespace rxnic
