// SPDX-License-Identifier: Apache-2.0
// The packet buffer: the bytes of packets on their way through the NIC, and fields that only observers read. Links
// carry descriptors (descriptors.toml), which refer to a packet by its PacketHandle.
//
//   R1  Every packet that enters leaves exactly once: accepted or dropped for one reason (model/blocks/ledger.h).
//   R2  Within a queue pair packets never overtake each other; drops leave at once.
//   R3  Each block stamps the packet twice, for observers. The first stamp is the cycle in which the block takes the
//       packet from its input, the second that in which the packet leaves. A packet that goes in segments is taken, and
//       leaves, with its last one. The ACK generator takes a packet in the cycle in which the packet leaves.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/types/drop_reason.h"
#include "model/types/ids.h"
#include "model/types/station.h"
#include "model/types/wire.h"

namespace rxnic {

inline constexpr std::size_t kStations = static_cast<std::size_t>(Station::kCount);
inline constexpr std::size_t kDropReasons = static_cast<std::size_t>(DropReason::kCount);

// The block that allocates a buffer: one for each class.
enum class PacketClass : std::uint8_t {
  kReceive,   // the wire
  kResponse,  // the ACK generator, for responses
  kRequest,   // the requester
};
inline constexpr std::size_t kPacketClasses = 3;

// Most bytes of the link header, all other headers, pad, ICRC and VCRC of a packet.
inline constexpr std::size_t kMostHeaderBytes = 128;

// When a block had a packet (R3); 0: it had not, or no stamp is made.
struct Passage {
  Cycle taken{};
  Cycle left{};
};
using Passages = std::array<Passage, kStations>;

// A short frame is stored in the packet itself, so that thousands of waiting ones stay in the caches of the machine.
class alignas(64) Packet {
 public:
  static constexpr std::size_t kShortFrame = 256;

  Packet() { frame = short_; }
  // Room in `frame` for so many bytes.
  void hold(std::size_t bytes) {
    if (bytes <= kShortFrame) {
      frame = short_;
      return;
    }
    hold_long();
  }

  std::span<std::uint8_t> frame;
  std::uint32_t frame_bytes = 0;  // in `frame`, link header to ICRC
  PacketClass pool_class = PacketClass::kReceive;
  LinkLayer link = LinkLayer::kEthernet;
  bool sealed = false;   // a NIC of the model has computed the ICRC, and nothing that it covers has changed since
  bool decoded = false;  // `h` is what a received frame says, which has no fault (model/blocks/rx_parser.h, R11)

  // For observers.
  std::uint64_t id = 0;  // number in its trace or on the wire, counts from 1; 0: unknown
  Cycle posted{};        // in which its sender's doorbell was rung; 0: not known
  Passages stamps{};     // (R3)

  Cycle complete{};  // in which its last byte has come; a received frame may be begun with before

  // What follows is for some packets alone. All packets use what stands before, four lines of the machine's cache.
  alignas(64) std::array<std::uint8_t, kGrhBytes> scratch;  // made by the parser (BufferArea)
  Headers h;                                                // of a frame that the NIC builds from them, or decoded
  Address destination;                                      // the fabric's way, of a frame that the NIC built

  Bytes frame_view() const { return {frame.data(), frame_bytes}; }
  void stamp(Station s, Cycle now) { stamps[static_cast<std::size_t>(s)].left = now; }
  void stamp_taken(Station s, Cycle now) { stamps[static_cast<std::size_t>(s)].taken = now; }
  Cycle stamped(Station s) const { return stamps[static_cast<std::size_t>(s)].left; }
  Cycle taken(Station s) const { return stamps[static_cast<std::size_t>(s)].taken; }
  // The frame of another one, with its number and times.
  void copy(const Packet& from);
  // No bytes, number or times. All else keeps its value until whoever allocated the packet sets it.
  void reset();

 private:
  void hold_long();

  std::unique_ptr<std::array<std::uint8_t, kMaxFrameBytes>> long_;  // kept once it was needed
  alignas(64) std::array<std::uint8_t, kShortFrame> short_{};
};

// Packets, with a quota for each class, so that arriving packets can never take the buffers that responses and requests
// need to drain.
//   R1  A packet that is released in cycle n can be allocated from cycle n + 1 on.
//   R2  A class may be without a limit. So is kReceive in a NIC. Its packets are bounded by the bytes of the packet
//       buffer and by the entries of the links and blocks behind it. The memory for packets grows with those that are
//       in use.
class PacketPool {
 public:
  static constexpr std::uint32_t kNoLimit = 0xffffffff;
  struct Quotas {
    std::uint32_t receive = 512;
    std::uint32_t response = 64;
    std::uint32_t request = 0;
  };
  // `now`: the present cycle; nullptr: a released packet can be allocated at once.
  explicit PacketPool(const Quotas& quotas, const Cycle* now = nullptr);
  Packet& operator[](PacketHandle h) { return *packets_[raw(h)]; }
  const Packet& operator[](PacketHandle h) const { return *packets_[raw(h)]; }
  bool available(PacketClass c) const {
    const Quota& q = quotas_[static_cast<std::size_t>(c)];
    return q.left > (now_ != nullptr && q.released_in == *now_ ? q.released : 0);
  }
  // Precondition: available(c). With room for a frame of so many bytes.
  PacketHandle allocate(PacketClass c, std::size_t bytes = kMaxFrameBytes);
  void release(PacketHandle h);
  // For observers: looks through all free ones.
  bool is_free(PacketHandle h) const {
    const auto end = free_.begin() + free_count_;
    return std::find(free_.begin(), end, h) != end;
  }
  std::uint32_t in_use() const { return static_cast<std::uint32_t>(packets_.size()) - free_count_; }
  // Whether no packet was in use when the present cycle began, whoever has been stepped in it. For a NIC without
  // requester.
  bool was_empty() const {
    if (now_ == nullptr) return in_use() == 0;
    // While none is in use only one block allocates, for an answer that it owes: one in a cycle.
    const bool all_are_new = in_use() == 0 || (in_use() == 1 && allocated_in_ == *now_);
    return all_are_new && std::ranges::none_of(quotas_, [this](const Quota& q) { return q.released_in == *now_; });
  }

 private:
  struct Quota {
    std::uint32_t left = 0;
    std::uint32_t released = 0;  // of them in cycle released_in
    Cycle released_in = kNever;
  };
  void add_chunk();

  static constexpr std::uint32_t kChunk = 64;  // packets for which memory is got at once
  const Cycle* now_;
  std::array<Quota, kPacketClasses> quotas_;
  std::vector<std::unique_ptr<Packet[]>> chunks_;
  std::vector<Packet*> packets_;    // by handle
  std::vector<PacketHandle> free_;  // the first free_count_; as long as there are packets
  std::uint32_t free_count_ = 0;
  Cycle allocated_in_ = kNever;  // the latest one
};

}  // namespace rxnic
