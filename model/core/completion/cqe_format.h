// SPDX-License-Identifier: Apache-2.0
// Completions as they are written to their queue: fields, owner bits, compressed blocks (layouts: types/completion.h).
//
//   R1  A successful CQE has the fields that its opcode fills. A CQE in error has only wqe_index, status, qp_number and
//       vendor_error (the drop reason's number); srq_number and kCqeSrq name the queue of wqe_index.
//   R2  kCqeGrh: UD packets with a GRH, an IPv6 header or an IPv4 header.
//   R3  The owner bit of CQE k is (k / slots) mod 2.
//   R4  CQEs join a compressed session when they are successful and differ only in byte_count, wqe_index and timestamp;
//       all get the title's timestamp. A session of one is written as a plain CQE. A session of n >= 2 is written as a
//       title and ceil(n / 7) slots of mini CQEs, which stand for all n. A session never takes more slots than n plain
//       CQEs.
//   R5  With a stride of 128 bytes a CQE is in the second half of its slot, the first half is zero.
#pragma once

#include <array>
#include <cstdint>

#include "model/types/completion.h"
#include "model/types/receive_path.h"

namespace rxnic {

inline constexpr std::uint32_t kMaxSession = 64;  // completions in a compressed block

// `srq`: SRQN + 1 of the SRQ that wqe_index belongs to, 0 for an RQ.
Cqe make_cqe(const CompletionRequest& p, std::uint32_t srq_plus_1, Cycle now);

// Solicited events: an error counts as solicited.
constexpr bool counts_as_solicited(const Cqe& cqe) {
  return cqe.status != WcStatus::kSuccess || (cqe.flags & kCqeSolicited) != 0;
}

constexpr std::uint8_t owner_bit(std::uint32_t index, std::uint32_t slots) {
  return static_cast<std::uint8_t>((index / slots) & 1);
}

// Slots that a block of `completions` takes.
constexpr std::uint32_t block_slots(std::uint32_t completions) {
  return completions < 2 ? completions : 1 + (completions + kMiniCqesPerSlot - 1) / kMiniCqesPerSlot;
}

// Completions held back to be written together.
class CompressionSession {
 public:
  bool empty() const { return count_ == 0; }
  std::uint32_t count() const { return count_; }
  const Cqe& title() const { return title_; }
  bool joins(const Cqe& cqe) const;
  void add(const Cqe& cqe);
  void clear() { count_ = 0; }
  // Writes the block whose first slot is CQE `index` as block_slots(count()) slots of `stride` bytes, in order.
  void write(std::uint32_t index, std::uint32_t slots, std::uint32_t stride, std::uint8_t* to) const;

 private:
  Cqe title_;
  std::uint32_t count_ = 0;
  std::array<MiniCqe, kMaxSession> minis_;
};

// Writes one 64-byte entry, its owner bit set, into a slot of `stride` bytes (R5).
void write_slot(const Cqe& cqe, std::uint32_t index, std::uint32_t slots, std::uint32_t stride, std::uint8_t* to);

}  // namespace rxnic
