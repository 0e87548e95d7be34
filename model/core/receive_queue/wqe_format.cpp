// SPDX-License-Identifier: Apache-2.0
#include "model/core/receive_queue/wqe_format.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rxnic {

static_assert(std::endian::native == std::endian::little, "the device ABI is little-endian and copied as it is");

bool parse_wqe(std::span<const std::uint8_t> slot, WqLayout layout, std::uint32_t index, ReceiveWqe& out) {
  out.wqe_index = index;
  out.sge_count = 0;
  out.valid = false;
  out.total_bytes = 0;
  const std::uint8_t* at = slot.data() + wqe_header_bytes(layout);  // (R1)
  const std::uint32_t fit = sges_per_slot(layout, static_cast<std::uint32_t>(slot.size()));
  for (std::uint32_t i = 0; i < fit; ++i, at += sizeof(DataSegment)) {
    DataSegment sge;
    std::memcpy(&sge, at, sizeof sge);
    if (sge.lkey == raw(kInvalidKey)) break;  // (R2)
    if (i == kMaxSge) return false;           // (R4)
    if (sge.length == 0) continue;            // (R3)
    if (sge.lkey == 0) return false;          // (R4)
    out.sge[out.sge_count++] = sge;
    out.total_bytes += sge.length;
  }
  out.valid = out.total_bytes <= kMaxMessageBytes;  // (R4)
  return out.valid;
}

std::uint32_t next_wqe_index(std::span<const std::uint8_t> slot, std::uint32_t slots) {
  NextSegment next;
  std::memcpy(&next, slot.data(), sizeof next);
  return next.next_wqe_index & (slots - 1);  // (R5)
}

bool write_wqe(std::span<std::uint8_t> slot, WqLayout layout, std::uint32_t next, std::span<const DataSegment> sges) {
  const std::uint32_t fit = sges_per_slot(layout, static_cast<std::uint32_t>(slot.size()));
  if (sges.size() > std::min(fit, kMaxSge)) return false;
  if (layout == WqLayout::kLinkedList) {
    NextSegment segment;
    segment.next_wqe_index = static_cast<std::uint16_t>(next);
    std::memcpy(slot.data(), &segment, sizeof segment);
  }
  std::uint8_t* at = slot.data() + wqe_header_bytes(layout);
  if (!sges.empty()) std::memcpy(at, sges.data(), sges.size_bytes());
  if (sges.size() < fit) {  // (R2)
    DataSegment end;
    end.lkey = raw(kInvalidKey);
    std::memcpy(at + sges.size_bytes(), &end, sizeof end);
  }
  return true;
}

}  // namespace rxnic
