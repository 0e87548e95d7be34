// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a packet are written. The place is a receive WQE's scatter list, the range of a WRITE, or the
// buffer of the request that a response belongs to.
//
//   R1  The elements of a WQE are filled in their order, each to its end, with the bytes of the message in order. Empty
//       elements are skipped. A segment never crosses a 4 KiB boundary of the virtual address.
//   R2  UD: the first 40 bytes of the list are the GRH's. RoCEv2 over IPv4: those that the parser has made
//       (core/wire/parsed.h); IPv6, RoCEv1, InfiniBand with a GRH: those 40 bytes; without any: left as they were. The
//       payload starts at 40, and byte_count counts the 40 (rules 1.3).
//   R3  Tag matching: strip_bytes at the start of the payload are not written and not counted.
//   R4  WRITE: the packet's payload goes to local_va under local_key. So does the payload of a READ response and the
//       value (8 bytes) of an ATOMIC ACK.
//   R5  A message longer than its WQE, found with the packet that goes beyond it: LOC_LEN_ERR. RC and XRC fail the QP
//       with NAK 0x61; UC and UD give the message up. Nothing of the packet is written. (UC on an RQ never comes here,
//       nor does UD where the policy is to drop. The WQE fetcher, which can keep the WQE, has dropped their packets.)
//   R6  byte_count of a completion: the bytes put into the WQE, or those of the WRITE. For a message whose
//       end never came (PacketRole::kTruncated): the bytes put there so far.
//   R7  The work is done in looks. A look at an element finds one piece in the element, or passes the element over. An
//       element is passed over when it is empty. It is also passed over when the 40 bytes that are left as they were
//       end with it or behind it. A packet that writes nothing takes one look, or as many as the elements that it
//       passes over.
#pragma once

#include <cstdint>

#include <array>
#include <cassert>

#include "model/core/responder/refusal.h"
#include "model/types/segment.h"
#include "model/types/work_queue.h"

namespace rxnic {

inline constexpr std::uint64_t kScatterPageBytes = 4096;
inline constexpr std::size_t kMaxPieces = 2 * kMaxSge + 4;  // every SGE of a WQE split once, and the GRH's
inline constexpr std::size_t kMaxLooks = kMaxPieces + kMaxSge;

// One contiguous piece of a packet's data within one page.
struct Piece {
  std::uint64_t va = 0;
  Key key{};
  std::uint32_t bytes = 0;
  BufferArea area = BufferArea::kFrame;  // where its bytes are in the packet buffer ...
  std::uint16_t offset = 0;              // ... from this one on
  std::uint32_t look = 0;                // that finds it
};
class PieceList {
 public:
  std::uint32_t size() const { return size_; }
  const Piece& operator[](std::uint32_t n) const { return pieces_[n]; }
  void clear() { size_ = looks_ = 0; }
  // Appends those of one contiguous range, in `element` of the list.
  void append(std::uint64_t va, Key key, BufferArea area, std::uint32_t offset, std::uint32_t bytes,
              std::uint32_t element = 0);
  void pass_over(std::uint32_t element) { look(element); }
  std::uint32_t looks() const { return looks_; }                               // (R7)
  std::uint32_t element(std::uint32_t look) const { return elements_[look]; }  // that a look looks at

 private:
  std::uint32_t look(std::uint32_t element) {
    assert(looks_ < kMaxLooks);
    elements_[looks_] = static_cast<std::uint8_t>(element);
    return looks_++;
  }
  std::array<Piece, kMaxPieces> pieces_;
  std::array<std::uint8_t, kMaxLooks> elements_;
  std::uint32_t size_ = 0;
  std::uint32_t looks_ = 0;
};

// The fill level of a message's WQE.
struct ScatterCursor {
  std::uint64_t bytes = 0;           // of the message so far
  std::uint32_t element = 0;         // next to be written ...
  std::uint32_t element_offset = 0;  // ... from this byte of it on
};

// The work for a packet, from which the block computes its cycles.
struct ScatterWork {
  std::uint32_t bytes = 0;     // moved
  std::uint32_t elements = 0;  // elements of the list looked at
  std::uint32_t looks = 1;     // (R7)
  bool reads_list = false;     // the looks are at elements of the WQE's list
};

// Fills `pieces`, or fails the packet by `refused`. `list` and `cursor`: those of p.wqe_slot, nullptr when it has none.
ScatterWork plan_scatter(ScatterJob& p, const DataSegment* list, ScatterCursor* cursor, Refusals& refused,
                         PieceList& pieces);

}  // namespace rxnic
