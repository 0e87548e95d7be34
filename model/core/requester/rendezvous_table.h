// SPDX-License-Identifier: Apache-2.0
// Rendezvous of all QPs: messages that matched a tag and that the device reads from their sender itself (rules 5.7).
//
//   R1  Each has an entry from its match until its FIN is acknowledged, or its QP has failed or is reset. The WQE
//       fetcher lets no more rendezvous requests pass than there are entries free, so that one is always found.
//   R2  The READ takes the message from the address of the RVH to the buffer of the entry that matched, in the SRQ's
//       protection domain. FIN is a SEND of 32 bytes: a TMH with the opcode FIN, and tag and context of the request's;
//       the request's RVH.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/core/requester/send_wqe_format.h"
#include "model/types/rendezvous.h"
#include "model/types/tag_matching.h"

namespace rxnic {

class RendezvousTable {
 public:
  explicit RendezvousTable(std::uint32_t entries) : entries_(entries) {}

  // The new entry. Precondition: one is free. (R1)
  std::uint32_t add(const RendezvousRequest& request);
  // It was not begun: its place is free again.
  void refuse() { ++freed_; }
  void release(std::uint32_t entry);
  std::uint32_t take_freed() { return std::exchange(freed_, 0); }  // since the last call

  const RendezvousRequest& operator[](std::uint32_t entry) const { return rows_[entry].request; }
  std::uint32_t size() const { return entries_; }
  std::uint32_t in_use() const { return used_; }
  // Its requests as send WQEs (R2). `inline_data` of FIN is valid until the entry is released.
  SendWqe read_wqe(std::uint32_t entry) const;
  SendWqe finish_wqe(std::uint32_t entry) const;

 private:
  struct Row {
    RendezvousRequest request;
    std::array<std::uint8_t, kTmhBytes + kRvhBytes> fin{};
  };
  std::uint32_t entries_;
  std::uint32_t used_ = 0;
  std::uint32_t freed_ = 0;
  std::vector<Row> rows_;  // as many as were ever in use
  std::vector<std::uint32_t> free_;
};

}  // namespace rxnic
