// SPDX-License-Identifier: Apache-2.0
// What surrounds the scatter engine in its random tests: packets, the scatter lists of their WQEs, and a sink that
// takes pieces now and then. Addresses, lengths and places in memories are often at a boundary.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "model/types/descriptor_bits.h"
#include "testbench/cosim/configuration.h"
#include "testbench/cosim/edges.h"
#include "testbench/cosim/random.h"
#include "testbench/unit/model/blocks/grh_scatter_harness.h"

namespace rxnic::grh_scatter_scene {

inline constexpr unsigned kSlotBits = 10;
inline constexpr std::uint32_t kSlots = 1u << kSlotBits;
inline constexpr std::uint32_t kLines = 16;
inline constexpr std::uint32_t kFewSlots = 8;        // that half of the packets use
inline constexpr std::uint32_t kBufferBytes = 8192;  // of a packet: its headers and its payload fit
inline constexpr std::uint32_t kMostHeaders = 100;

// A length that is often short, or about a page.
inline std::uint32_t random_length(Random& random) {
  switch (random.below(6)) {
    case 0:
      return random.below(3);
    case 1:
      return 20 * random.below(4);
    case 2:
      return random.below(5000);
    default:
      return random.below(200);
  }
}
inline std::uint64_t random_address(Random& random, Edges& edges) {
  if (edges.one_in(4)) return edges.address(kBufferBytes);
  const std::uint64_t page = random.bits() & ~std::uint64_t{0xfff};
  return random.one_in(2) ? page + random.below(4096) : page - random.below(100);
}

// One element more or less makes a list as long as a WQE may be, 2^31 bytes, or a byte shorter.
inline void lengthen(ScatterList& wqe, Edges& edges) {
  std::uint32_t bytes = 0;
  for (std::uint32_t i = 0; i < wqe.sge_count; ++i) bytes += wqe.sge[i].length;
  DataSegment& last = wqe.sge[edges.below(wqe.sge_count)];
  last.length = 0x8000'0000u - edges.below(2) - (bytes - last.length);
  edges.count(Boundary::kLength);
}

// The lists do not change: a packet may come to any of them at any time.
inline void make_lists(Random& random, Edges& edges, WqeStore& store) {
  for (std::uint32_t n = 0; n < kSlots; ++n) {
    ScatterList& wqe = store[n];
    wqe.sge_count = static_cast<std::uint16_t>(random.below(kMaxSge + 1));
    const bool sparse = random.one_in(4);
    for (std::uint32_t i = 0; i < wqe.sge_count; ++i) {
      const bool empty = sparse ? !random.one_in(4) : random.one_in(10);
      wqe.sge[i] = {empty ? 0 : random_length(random), static_cast<std::uint32_t>(random.bits()),
                    random_address(random, edges)};
    }
    if (wqe.sge_count != 0 && edges.one_in(4)) lengthen(wqe, edges);
  }
}

// All fields are random; those that decide are likely to.
inline ScatterJob random_job(Random& random, Edges& edges, WqeStore& store, std::uint32_t lines,
                             std::uint32_t residence) {
  std::array<std::uint32_t, words_of_bits(Descriptor<ScatterJob>::kBits)> bits;
  for (std::uint32_t& word : bits) word = static_cast<std::uint32_t>(random.bits());
  ScatterJob p = unpack<ScatterJob>(bits.data());
  constexpr std::array<Transport, 4> kTransports{Transport::kRc, Transport::kUc, Transport::kUd, Transport::kXrc};
  constexpr std::array<Operation, 12> kOperations{
      Operation::kSendFirst,   Operation::kSendMiddle,        Operation::kSendLast,  Operation::kSendOnly,
      Operation::kSendOnlyImm, Operation::kSendOnlyInv,       Operation::kSendOnly,  Operation::kSendMiddle,
      Operation::kWriteMiddle, Operation::kReadResponseFirst, Operation::kAtomicAck, Operation::kReadRequest};
  const Transport transport = kTransports[random.below(4)];
  if (!random.one_in(8)) {
    p.opcode = opcode_of(transport, transport == Transport::kUd && !random.one_in(4)
                                        ? Operation::kSendOnly
                                        : kOperations[random.below(kOperations.size())]);
    p.transport = transport;
  }
  p.id = random.bits();
  p.message_start = random.bits();
  p.buffer = kNoPacket;  // a packet that no observer stamps
  if (!random.one_in(8)) p.role = PacketRole::kReceived;
  if (!random.one_in(4)) p.outcome = p.has(kResponse) ? Outcome::kAnswer : Outcome::kExecute;
  p.line = random.one_in(20) ? kNoLine : place_of(random.below(kLines), static_cast<unsigned>(std::countr_zero(lines)));
  p.residence = residence;
  constexpr std::array<std::uint32_t, 4> kMessages{0, 1, 0x5555'5555, 0xaaaa'aaaa};  // each bit is 0 and 1
  p.message_sequence = kMessages[random.below(4)];
  p.payload_bytes =
      static_cast<std::uint16_t>(random.one_in(8) ? random.below(kBufferBytes - kMostHeaders) : random_length(random));
  p.network_offset = static_cast<std::uint16_t>(random.below(kMostHeaders));
  p.payload_offset = static_cast<std::uint16_t>(random.below(kMostHeaders));
  p.strip_bytes = static_cast<std::uint16_t>(random.one_in(3) ? random.below(32) : 0);
  p.network_header = NetworkHeader{static_cast<std::uint8_t>(random.below(3))};
  p.local_va = random_address(random, edges);
  if (random.one_in(8)) p.local_bytes = 0;
  p.takes_wqe = random.one_in(3);
  p.wqe_slot = random.one_in(12)  ? kNoWqeSlot
               : random.one_in(2) ? place_of(random.below(kFewSlots), kSlotBits)
                                  : random.below(kSlots);
  p.wqe_bytes = 0;
  if (p.wqe_slot == kNoWqeSlot) return p;
  const ScatterList& list = store[p.wqe_slot];
  for (std::uint32_t i = 0; i < list.sge_count; ++i) p.wqe_bytes += list.sge[i].length;
  if (random.one_in(3)) {  // as long as its list, or a byte more
    const std::uint32_t head = p.transport == Transport::kUd ? kGrhBytes : 0;
    const std::uint32_t fits = p.wqe_bytes < head ? 0 : p.wqe_bytes - head;
    if (fits < 4097) p.payload_bytes = static_cast<std::uint16_t>(fits + random.below(2));
    p.takes_wqe = true;
    p.strip_bytes = 0;
  }
  return p;
}

inline GrhScatterParams params_of(std::uint32_t latency, std::uint32_t sges, std::uint32_t bytes) {
  GrhScatterParams p;
  p.latency_cycles = latency;
  p.sges_per_cycle = sges;
  p.bytes_per_cycle = bytes;
  return p;
}

// What the scene needs of a NIC.
inline Params surrounded(Params p) {
  p.srq_wqe_fetcher.wqe_store_entries = kSlots;
  return p;
}

// Those for which the project's RTL is built.
inline std::vector<Configuration> configurations() {
  std::vector<Configuration> all;
  for (const GrhScatterParams& p : {params_of(4, 1, 64), params_of(1, 2, 512), params_of(9, 3, 8)}) {
    Params params;
    params.grh_scatter = p;
    all.push_back({"Latency" + std::to_string(p.latency_cycles) + "Sges" + std::to_string(p.sges_per_cycle) + "Bytes" +
                       std::to_string(p.bytes_per_cycle),
                   surrounded(params)});
  }
  return all;
}

// The block, its lists, and an environment that sends random packets and takes their pieces now and then.
class Scene : public GrhScatterHarness {
 public:
  Scene(Bench& b, const Params& params, std::uint64_t seed, std::uint64_t cycles)
      : Scene(b, params, Random(seed), seed, cycles) {}
  const Edges& edges() const { return edges_; }

 private:
  Scene(Bench& b, const Params& params, Random random, std::uint64_t seed, std::uint64_t cycles)
      : GrhScatterHarness(b, params, {.in = 2 + random.below(4), .out = 3 + random.below(6)}),
        random_(random),
        edges_(seed),
        cycles_(cycles),
        many_bytes_(std::min(4096u, 16 * params.grh_scatter.bytes_per_cycle)) {
    make_lists(random_, edges_, shared.wqes);
    out.set_width(1 + random_.below(4));
    // In spans of 256 cycles the sink takes always, or in one cycle of some.
    out.accept_when([seed](Cycle c) {
      const std::uint64_t span = (c.count >> 8) * 0x9e3779b97f4a7c15u ^ seed;
      const std::uint64_t mixed = (c.count + span) * 0xd1342543de82ef95u >> 40;
      return mixed % (std::uint64_t{1} << (span >> 20) % 5) == 0;
    });
    for (std::uint32_t slot = 0; slot < kSlots; ++slot, ++sent_) in.push(Cycle{}, beginning(slot));
    send_more(Cycle{});
  }

  // Begins the message of a WQE: what continues one later finds how full it is, and no memory has to be 0.
  static ScatterJob beginning(std::uint32_t slot) {
    ScatterJob p{};
    p.opcode = opcode_of(Transport::kRc, Operation::kSendFirst);
    p.transport = Transport::kRc;
    p.role = PacketRole::kReceived;
    p.outcome = Outcome::kExecute;
    p.buffer = kNoPacket;
    p.line = kNoLine;
    p.takes_wqe = true;
    p.wqe_slot = slot;
    return p;
  }

  // Packets are made as time goes on, so that a mismatch in an early cycle needs few of them. Now and then all of them
  // leave before there are more.
  void send_more(Cycle now) {
    const std::size_t waiting = sent_ - in.pushed();
    pause_ = waiting > 0 && (pause_ || random_.one_in(16));
    if (edges_.one_in(24)) long_slot_ = edges_.one_in(3) ? kNoWqeSlot : large_slot();
    if (waiting < 64 && !pause_) {
      std::uint64_t when = now.count;
      while (when < now.count + kSpan) {
        for (std::uint32_t n = 1 + random_.below(30); n > 0; --n, ++sent_) {
          residence_ += random_.one_in(40);
          ScatterJob p = random_job(random_, edges_, shared.wqes, shared.contexts.size(), residence_);
          if (long_slot_ != kNoWqeSlot && edges_.one_in(2)) go_on(p);
          in.push(Cycle{when}, p);
          when += random_.one_in(3) ? random_.below(8) : 0;
        }
        when += random_.one_in(4) ? 200 + random_.below(300) : random_.below(60);
      }
    }
    if (now.count + kSpan < cycles_) bench.at(now + kSpan, [this](Cycle later) { send_more(later); });
  }

  static std::uint32_t bytes_of(const ScatterList& list) {
    std::uint32_t bytes = 0;
    for (std::uint32_t i = 0; i < list.sge_count; ++i) bytes += list.sge[i].length;
    return bytes;
  }
  // One whose list is as long as it may be, and that few other packets use.
  std::uint32_t large_slot() {
    for (std::uint32_t tries = 0; tries < kSlots; ++tries) {
      const std::uint32_t slot = edges_.below(kSlots);
      if (bytes_of(shared.wqes[slot]) >= 0x7fff'ffffu) return slot;
    }
    return kNoWqeSlot;
  }
  // It continues the message of the slot at hand, which gets longer than a counter of 16 bits counts.
  void go_on(ScatterJob& p) {
    p.opcode = opcode_of(Transport::kRc, edges_.one_in(100) ? Operation::kSendLast : Operation::kSendMiddle);
    p.transport = Transport::kRc;
    p.role = PacketRole::kReceived;
    p.outcome = Outcome::kExecute;
    p.line = kNoLine;
    p.takes_wqe = false;
    p.strip_bytes = 0;
    p.wqe_slot = long_slot_;
    p.wqe_bytes = bytes_of(shared.wqes[p.wqe_slot]);
    p.payload_bytes = static_cast<std::uint16_t>(edges_.one_in(4) ? edges_.below(3) : many_bytes_);
  }

  static constexpr std::uint64_t kSpan = 512;
  Random random_;
  Edges edges_;
  std::uint32_t long_slot_ = kNoWqeSlot;  // whose message gets long; kNoWqeSlot: none
  const std::uint64_t cycles_;
  const std::uint32_t many_bytes_;  // of a packet, which does not occupy the block for long
  std::size_t sent_ = 0;
  bool pause_ = false;
  std::uint32_t residence_ = 0x7fff'fff0;  // every bit changes soon
};

}  // namespace rxnic::grh_scatter_scene
