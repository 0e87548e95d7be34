// SPDX-License-Identifier: Apache-2.0
#include "model/core/memory/scatter_plan.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "model/types/syndrome.h"

namespace rxnic {

namespace {

bool is_datagram(const Packet& p) { return p.qp->transport == Transport::kUd; }

// The bytes of the GRH area, nullptr when the packet has none (R2).
const std::uint8_t* grh_area(Packet& p) {
  if (p.h.has_grh) return p.frame.data() + p.h.network_offset;
  if (p.h.encapsulation != Encapsulation::kRoceV2Ipv4) return nullptr;
  std::memset(p.grh_area.data(), 0, kGrhBytes - kIpv4Bytes);
  std::memcpy(p.grh_area.data() + (kGrhBytes - kIpv4Bytes), p.frame.data() + p.h.network_offset, kIpv4Bytes);
  return p.grh_area.data();
}

// Puts bytes at the cursor (R1); `data` nullptr passes over them. The caller has seen that they fit.
void fill(Packet& p, const ReceiveWqe& wqe, ScatterCursor& at, const std::uint8_t* data, std::uint32_t bytes) {
  at.bytes += bytes;
  while (bytes > 0) {
    const DataSegment& sge = wqe.sge[at.element];
    const std::uint32_t n = std::min(sge.length - at.element_offset, bytes);
    if (data != nullptr) {
      append_range(p, sge.address + at.element_offset, Key{sge.lkey}, data, n);
      data += n;
    }
    bytes -= n;
    at.element_offset += n;
    if (at.element_offset == sge.length) {
      ++at.element;
      at.element_offset = 0;
    }
  }
}

void too_long(Packet& p, Refusals& refused) {  // (R5)
  if (is_reliable(p.qp->transport)) {
    refused.fail_qp(p, DropReason::kMessageTooLong, kNakInvalidRequest, WcStatus::kLocalLength);
    return;
  }
  refused.fail_message(p, DropReason::kMessageTooLong);
  p.completes = true;
  p.status = WcStatus::kLocalLength;
}

ScatterWork plan_send(Packet& p, const ReceiveWqe& wqe, ScatterCursor& at, Refusals& refused) {
  ScatterWork work;
  if (p.takes_wqe || p.has(kFirst | kOnly)) at = {};
  const std::uint32_t head = is_datagram(p) ? kGrhBytes : 0;
  const std::uint32_t strip = std::min(p.strip_bytes, p.h.payload_bytes);  // (R3)
  const std::uint32_t data = p.h.payload_bytes - strip;
  if (at.bytes + head + data > wqe.total_bytes) {
    too_long(p, refused);
    return work;
  }
  const std::uint32_t first = at.element;
  if (head > 0) fill(p, wqe, at, grh_area(p), head);
  fill(p, wqe, at, p.frame.data() + p.h.payload_offset + strip, data);
  work.bytes = head + data;
  work.elements = at.element - first + (at.element_offset > 0);
  if (p.ends_message) p.byte_count = static_cast<std::uint32_t>(at.bytes);  // (R6)
  return work;
}

// (R4)
ScatterWork plan_range(Packet& p, const std::uint8_t* data, std::uint32_t bytes) {
  append_range(p, p.local_va, p.local_key, data, bytes);
  return {bytes, bytes > 0 ? 1u : 0u};
}

}  // namespace

void append_range(Packet& p, std::uint64_t va, Key key, const std::uint8_t* data, std::uint32_t bytes) {
  while (bytes > 0) {
    const auto room = static_cast<std::uint32_t>(kScatterPageBytes - (va & (kScatterPageBytes - 1)));
    const std::uint32_t n = std::min(room, bytes);
    assert(p.segment_count < kMaxSegments);
    p.segments[p.segment_count++] = {va, BusAddress{}, data, key, n};
    va += n;
    data += n;
    bytes -= n;
  }
}

ScatterWork plan_scatter(Packet& p, const ReceiveWqe* wqe, ScatterCursor* cursor, Refusals& refused) {
  p.segment_count = 0;
  if (p.role == PacketRole::kTruncated && cursor != nullptr) p.byte_count = static_cast<std::uint32_t>(cursor->bytes);
  if (p.role != PacketRole::kReceived) return {};
  if (p.outcome == Outcome::kExecute) {
    if (p.has(kSend) && wqe != nullptr) return plan_send(p, *wqe, *cursor, refused);
    if (p.has(kWrite)) {
      if (p.ends_message) p.byte_count = static_cast<std::uint32_t>(p.message_bytes);
      return plan_range(p, p.frame.data() + p.h.payload_offset, p.h.payload_bytes);
    }
  }
  if (p.outcome == Outcome::kAnswer && p.local_bytes > 0) {
    if (p.has(kReadResponse)) return plan_range(p, p.frame.data() + p.h.payload_offset, p.h.payload_bytes);
    if (p.has(kHasAtomicAckEth)) {
      return plan_range(p, reinterpret_cast<const std::uint8_t*>(&p.h.original), kAtomicBytes);
    }
  }
  return {};
}

}  // namespace rxnic
