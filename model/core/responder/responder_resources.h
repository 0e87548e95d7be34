// SPDX-License-Identifier: Apache-2.0
// READ and atomic requests (ATOMIC WRITE is one) that a responder may be asked to repeat (IBTA volume 1, 9.4.5,
// 9.7.5.1.5). On-chip memory; one ring of max_dest_rd_atomic entries for each QP. The results of atomics are kept by
// who carries them out (blocks/ack_generator.h, R5).
//
//   R1  A new request overwrites the oldest entry.
//   R2  A search finds the entry whose PSN range holds the PSN, the newest first.
//   R3  Entries at or ahead of a new request's PSN are of packets that were taken back (RNR): the new one takes
//       their place, so that a repetition does not evict an entry that may still be asked for.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "model/types/ids.h"
#include "model/types/opcode.h"

namespace rxnic {

struct ResponderResource {
  bool valid = false;
  Operation operation = Operation::kReadRequest;
  Psn first_psn;
  std::uint32_t psn_count = 1;  // READ: number of responses
  std::uint64_t va = 0;
  Key rkey{};
  std::uint32_t bytes = 0;

  bool atomic() const { return (opcode_info(opcode_of(Transport::kRc, operation)).traits & kAtomic) != 0; }
};

inline constexpr std::uint32_t kNoResource = 0xffffffff;

class ResponderResources {
 public:
  // `depth`: max_dest_rd_atomic of the QP, at least 1 (a ring grows, and never shrinks). A handle for operator[].
  std::uint32_t add(Qpn qp, std::uint32_t depth, const ResponderResource& r);
  std::uint32_t find(Qpn qp, Psn psn) const;  // kNoResource when there is none
  ResponderResource& operator[](std::uint32_t handle) { return entries_[handle]; }
  void forget(Qpn qp);

 private:
  struct Ring {
    std::uint32_t base = 0;
    std::uint32_t depth = 0;
    std::uint32_t next = 0;
  };
  std::unordered_map<std::uint32_t, Ring> rings_;
  std::vector<ResponderResource> entries_;
};

}  // namespace rxnic
