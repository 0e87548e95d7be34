// SPDX-License-Identifier: Apache-2.0
// Work queues of the random tests of the receive WQE fetcher, and WQEs in memory that has a hole.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "model/core/receive_queue/wqe_format.h"
#include "model/types/context.h"
#include "model/types/host_memory.h"
#include "testbench/cosim/edges.h"
#include "testbench/cosim/random.h"

namespace rxnic::srq_wqe_fetcher_scene {

inline constexpr std::uint32_t kLines = 16;  // that QPs are on
inline constexpr std::uint32_t kQueues = 14;
inline constexpr std::uint32_t kAtFirst = 10;          // queues that there are before the first cycle
inline constexpr std::uint32_t kListed = 64;           // longer queues have their WQEs in the order of their slots
inline constexpr BusAddress kHole{0x7000'0000'0000u};  // not mapped from here to the contexts

constexpr bool in_hole(BusAddress at) { return at >= kHole && at < icm::kQueueContexts; }

// Up to 2^bits - 1; as often of few bits as of many.
inline std::uint32_t any_size(Random& random, unsigned bits) {
  return random.below(std::uint64_t{2} << random.below(bits)) &
         static_cast<std::uint32_t>(~std::uint64_t{0} >> (64 - bits));
}

struct Queue {
  WqContext context;
  WqId id = kNoWq;                   // kNoWq: there is none
  std::vector<std::uint32_t> order;  // slot of WQE k; empty: k
  std::uint32_t producer = 0;
  std::uint32_t bound = 0;  // most that are posted
  bool failed = false;      // an RQ: its flush was asked for
  std::uint32_t slot(std::uint32_t k) const {
    return order.empty() ? k & (context.slots - 1) : order[k & (context.slots - 1)];
  }
};

struct Line {
  bool tagged = false;
  std::uint32_t queue = 0;
  std::uint16_t epoch = 0;
  std::uint32_t messages = 0;
  bool in_message = false, of_tag = false;
  WqId message_queue = kNoWq;
  std::uint64_t bytes = 0;
  std::uint32_t in_flight = 0;
  enum { kUp, kFailed, kFlushing, kFlushed, kResetting } state = kUp;
};

// A ring of which a slot among the first ones is across 4 GiB.
inline BusAddress across_four_gib(const WqContext& c, Edges& edges) {
  edges.count(Boundary::kFourGib);
  const std::uint64_t boundary = (1 + std::uint64_t{edges.below((raw(kHole) >> 32) - 1)}) << 32;
  return BusAddress{boundary - std::uint64_t{c.stride} * edges.below(std::min(c.slots, kListed))};
}

inline Queue random_queue(Random& random, Edges& edges) {
  Queue queue;
  WqContext& c = queue.context;
  c.kind = random.one_in(2) ? WqKind::kSrq : WqKind::kRq;
  c.layout = random.one_in(2) ? WqLayout::kLinkedList : WqLayout::kCyclic;
  c.tag_matching = random.one_in(4);
  c.number = random.below(1u << 24);
  // Below the hole, in it, or far behind the contexts of queues.
  c.base = BusAddress{random.one_in(2) ? random.bits() % raw(kHole) & ~0x1full
                                       : (random.bits() | 0x5000'0000'0000'0000u) & ~0x100'0000'001full};
  if (random.one_in(12)) c.base = kHole + 0x100000ull * random.below(1u << 20);
  const bool is_list = c.layout == WqLayout::kLinkedList;
  c.slots = 2u << random.below(6);
  if (random.one_in(8)) c.slots = is_list ? 2u << random.below(16) : 1u << random.below(25);
  static constexpr std::uint16_t kStrides[] = {32, 64, 64, 64, 128, 256, 1024, 4096};
  if (edges.one_in(8)) c.slots = is_list ? 8192u << edges.below(4) : 8192u << edges.below(12);
  if (c.slots > 4096) edges.count(Boundary::kRing);
  c.stride = kStrides[random.below(c.slots > kListed ? 4 : std::size(kStrides))];
  if (!in_hole(c.base) && edges.one_in(3)) c.base = across_four_gib(c, edges);
  c.pd = Pdn{static_cast<std::uint32_t>(random.bits())};
  c.cq = Cqn{random.below(1u << 24)};
  c.xrcd = Xrcdn{static_cast<std::uint32_t>(random.bits())};
  c.limit = random.one_in(2) ? random.below(9) : random.one_in(8) ? any_size(random, 32) : 0;
  if (c.slots > kListed) return queue;
  queue.order.resize(c.slots);
  std::iota(queue.order.begin(), queue.order.end(), 0u);
  if (is_list && random.one_in(2)) {
    for (std::uint32_t i = 0; i < c.slots / 8 + 1; ++i) {
      std::swap(queue.order[random.below(c.slots)], queue.order[random.below(c.slots)]);
    }
  }
  c.first_wqe = static_cast<std::uint16_t>(queue.order[0] + c.slots * random.below(3));
  return queue;
}

// WQE k: a few segments, mostly; some are empty, some make it a bad one.
inline void write_slot(Random& random, Edges& edges, HostMemory& host, const Queue& queue, std::uint32_t k) {
  const WqContext& c = queue.context;
  if (in_hole(c.base)) return;
  std::vector<std::uint8_t> bytes(c.stride);
  const std::uint32_t fit = sges_per_slot(c.layout, c.stride),
                      few = std::min(fit, random.one_in(2) ? 1 : 1 + random.below(3));
  const std::uint32_t count = random.one_in(8) ? std::min(fit, random.below(36)) : few;
  std::vector<DataSegment> sges(count);
  for (DataSegment& sge : sges) {
    sge.length = random.one_in(10)   ? 0
                 : random.one_in(60) ? 0x7fff'ffffu + random.below(3)
                 : random.one_in(3)  ? 256
                 : random.one_in(9)  ? any_size(random, 32)
                                     : random.below(5000);
    sge.lkey = random.one_in(50) ? 0 : random.one_in(60) ? raw(kInvalidKey) : static_cast<std::uint32_t>(random.bits());
    sge.address = edges.one_in(6) ? edges.address(5000) : random.bits();
    if (edges.one_in(40)) sge.length = edges.length();
  }
  if (sges.size() > 1 && edges.one_in(20)) {  // together as long as a WQE may be, a byte more, or 4 GiB
    edges.count(Boundary::kLength);
    sges[1].length = (edges.one_in(3) ? 0u : 0x8000'0000u + edges.below(2)) - sges[0].length;
    sges[1].lkey |= 1;
  }
  if (c.layout == WqLayout::kLinkedList) {
    NextSegment next;
    next.next_wqe_index =
        static_cast<std::uint16_t>(queue.slot(k + 1) + c.slots * (random.one_in(9) ? random.below(999) : 0));
    std::memcpy(bytes.data(), &next, sizeof next);
  }
  if (count < fit) {
    DataSegment end;
    end.lkey = raw(kInvalidKey);
    sges.push_back(end);
  }
  std::memcpy(bytes.data() + wqe_header_bytes(c.layout), sges.data(), sges.size() * sizeof(DataSegment));
  host.write(wqe_address(c, queue.slot(k)), bytes);
}

}  // namespace rxnic::srq_wqe_fetcher_scene
