// SPDX-License-Identifier: Apache-2.0
#include "model/core/memory/scatter_plan.h"

#include <algorithm>

#include "model/types/syndrome.h"
#include "model/types/wire_constants.h"

namespace rxnic {

namespace {

// Where some bytes of the packet are; `known` false: there are none, and their destination is left as it is.
struct Source {
  bool known = true;
  BufferArea area = BufferArea::kFrame;
  std::uint32_t offset = 0;
};

// The bytes of the GRH area (R2).
Source grh_area(const ScatterJob& p) {
  if (p.network_header == NetworkHeader::kNone) return {.known = false};
  if (p.network_header == NetworkHeader::kGrh) return {.offset = p.network_offset};
  return {.area = BufferArea::kScratch};
}

// Puts bytes at the cursor (R1). The caller has checked that they fit.
void fill(PieceList& pieces, const DataSegment* list, ScatterCursor& at, Source from, std::uint32_t bytes) {
  at.bytes += bytes;
  while (bytes > 0) {
    const DataSegment& sge = list[at.element];
    const std::uint32_t n = std::min(sge.length - at.element_offset, bytes);
    const bool ends = at.element_offset + n == sge.length;
    if (from.known && n > 0) {
      pieces.append(sge.address + at.element_offset, Key{sge.lkey}, from.area, from.offset, n, at.element);
    } else if (ends) {
      pieces.pass_over(at.element);  // (R7)
    }
    from.offset += n;
    bytes -= n;
    at.element_offset = ends ? 0 : at.element_offset + n;
    at.element += ends;
  }
}

void too_long(ScatterJob& p, Refusals& refused) {  // (R5)
  if (is_reliable(p.transport)) {
    refused.fail_qp(p, DropReason::kMessageTooLong, kNakInvalidRequest, WcStatus::kLocalLength);
    return;
  }
  refused.fail_message(p, DropReason::kMessageTooLong);
  p.completes = true;
  p.status = WcStatus::kLocalLength;
}

ScatterWork plan_send(ScatterJob& p, const DataSegment* list, ScatterCursor& at, Refusals& refused, PieceList& pieces) {
  ScatterWork work;
  if (p.takes_wqe || p.has(kFirst | kOnly)) at = {};
  const std::uint32_t head = p.transport == Transport::kUd ? kGrhBytes : 0;
  const std::uint32_t strip = std::min(p.strip_bytes, p.payload_bytes);  // (R3)
  const std::uint32_t data = p.payload_bytes - strip;
  if (at.bytes + head + data > p.wqe_bytes) {
    too_long(p, refused);
    return work;
  }
  const std::uint32_t first = at.element;
  if (head > 0) fill(pieces, list, at, grh_area(p), head);
  fill(pieces, list, at, {.offset = p.payload_offset + strip}, data);
  work.bytes = head + data;
  work.elements = at.element - first + (at.element_offset > 0);
  work.reads_list = work.bytes > 0;
  if (work.reads_list && pieces.size() == 0 && at.element_offset > 0) pieces.pass_over(at.element);  // (R7)
  work.looks = std::max(1u, pieces.looks());
  if (p.ends_message) p.byte_count = static_cast<std::uint32_t>(at.bytes);  // (R6)
  return work;
}

// (R4)
ScatterWork plan_range(const ScatterJob& p, Source from, std::uint32_t bytes, PieceList& pieces) {
  pieces.append(p.local_va, p.local_key, from.area, from.offset, bytes);
  return {bytes, bytes > 0 ? 1u : 0u, std::max(1u, pieces.looks())};
}

}  // namespace

void PieceList::append(std::uint64_t va, Key key, BufferArea area, std::uint32_t offset, std::uint32_t bytes,
                       std::uint32_t element) {
  while (bytes > 0) {
    const auto room = static_cast<std::uint32_t>(kScatterPageBytes - (va & (kScatterPageBytes - 1)));
    const std::uint32_t n = std::min(room, bytes);
    assert(size_ < kMaxPieces);
    pieces_[size_++] = {va, key, n, area, static_cast<std::uint16_t>(offset), look(element)};
    va += n;
    offset += n;
    bytes -= n;
  }
}

ScatterWork plan_scatter(ScatterJob& p, const DataSegment* list, ScatterCursor* cursor, Refusals& refused,
                         PieceList& pieces) {
  pieces.clear();
  if (p.role == PacketRole::kTruncated && cursor != nullptr) p.byte_count = static_cast<std::uint32_t>(cursor->bytes);
  if (p.role != PacketRole::kReceived) return {};
  if (p.outcome == Outcome::kExecute) {
    if (p.has(kSend) && list != nullptr) return plan_send(p, list, *cursor, refused, pieces);
    if (p.has(kWrite)) {
      if (p.ends_message) p.byte_count = static_cast<std::uint32_t>(p.message_bytes);
      return plan_range(p, {.offset = p.payload_offset}, p.payload_bytes, pieces);
    }
  }
  if (p.outcome == Outcome::kAnswer && p.local_bytes > 0) {
    if (p.has(kReadResponse)) return plan_range(p, {.offset = p.payload_offset}, p.payload_bytes, pieces);
    if (p.has(kHasAtomicAckEth)) return plan_range(p, {.area = BufferArea::kScratch}, kAtomicBytes, pieces);
  }
  return {};
}

}  // namespace rxnic
