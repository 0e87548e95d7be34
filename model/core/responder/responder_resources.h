// SPDX-License-Identifier: Apache-2.0
// READ and atomic requests (ATOMIC WRITE is one) that a responder may be asked to repeat (IBTA volume 1, 9.4.5,
// 9.7.5.1.5). On-chip memory; each QP has a ring of entries of it. The results of atomics are kept by who carries them
// out (blocks/ack_generator.h, R5), an entry for each entry here.
//
//   R1  A new request overwrites the oldest entry.
//   R2  A search finds the entry whose PSN range holds the PSN, the newest first.
//   R3  Entries at or ahead of a new request's PSN are of packets that were taken back (RNR). The new request takes
//       their place, so that a repetition does not push out an entry that may still be asked for.
//   R4  There are `entries` of them. A QP has those that were reserved for it, and no others. When fewer are reserved
//       than before, the oldest are given back; when more are reserved, what is saved stays.
//   R5  The newest PSN that was overwritten is kept: PSNs up to it that are not found were overwritten.
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
};

inline constexpr std::uint32_t kNoResource = 0xffffffff;

class ResponderResources {
 public:
  explicit ResponderResources(std::uint32_t entries) : left_(entries) {}

  // The QP has `n` entries from now on. False when fewer than it asks for are free: nothing has changed.
  bool reserve(Qpn qp, std::uint32_t n);  // (R4)
  std::uint32_t reserved(Qpn qp) const;
  std::uint32_t left() const { return left_; }
  // A handle for operator[]. Precondition: the QP has an entry.
  std::uint32_t add(Qpn qp, const ResponderResource& r);
  std::uint32_t find(Qpn qp, Psn psn) const;  // kNoResource when there is none
  bool overwrote(Qpn qp, Psn psn) const;      // (R5) precondition: find() finds nothing
  const ResponderResource& operator[](std::uint32_t handle) const { return entries_[handle].request; }

 private:
  struct Entry {
    ResponderResource request;
    std::uint32_t older = kNoResource, newer = kNoResource;  // in the QP's ring; of a free entry: the next free one
  };
  struct Ring {
    std::uint32_t oldest = kNoResource;  // to be overwritten next
    std::uint32_t depth = 0;
    bool overwrote = false;
    Psn newest_overwritten;
  };
  std::uint32_t take();
  void insert(Ring& ring);
  void remove_oldest(Ring& ring);

  std::unordered_map<std::uint32_t, Ring> rings_;  // by QPN, each with an entry at least
  std::vector<Entry> entries_;                     // as many as were ever reserved
  std::uint32_t free_ = kNoResource;               // of them, given back
  std::uint32_t left_;
};

}  // namespace rxnic
