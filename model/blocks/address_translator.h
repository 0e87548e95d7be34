// SPDX-License-Identifier: Apache-2.0
// Keys and virtual addresses become bus addresses: region checks from the MPT, pages from the MTT, a cache of each, and
// walkers that read host memory for both.
//
//   R1  A packet that is taken in cycle n with k segments, all found in the caches, is pushed in cycle n + max(1, k) -
//       1 + hit_cycles, and the next one is taken in cycle n + max(1, k) at the earliest.
//   R2  A miss is read from memory: MPT first, then the MTT line of 8 pages. When a line comes in cycle m, the packet
//       goes on in m with what it still has to look up, as if it had been taken then.
//   R3  Local range (local_bytes > 0): the whole of it is checked with the packet's access flags before anything else.
//       It fails RC and XRC with NAK 0x62, UC by giving up the message; an answer to a request of ours is a local
//       error. A READ or WRITE of length zero is not checked. An atomic has its bus address left in segments[0].bus,
//       its segment_count stays 0.
//   R4  Segments: of a WRITE as R3, with its access flags; of a SEND or an answer local write and the packet's PD are
//       asked for, and a failure is a local error (NAK 0x63, kLocalProtection). All are good before the packet goes
//       on.
//   R5  Packets of `gather_in` (responses being made) that fail come out with outcome kNak, drop reason kRemoteAccess,
//       syndrome 0x62 and no segments.
//   R6  Packets that do nothing (failed, squashed, internal) pass in hit_cycles.
//   R7  Each input keeps its order. The two share caches and walkers and nothing else.
//   R8  While a packet waits, the packets behind it are looked at, one a cycle, and what they miss is read as well, up
//       to walks_in_flight reads together, one started in a cycle. A line is read once however many wait for it.
//   R9  invalidate: what is cached of a region is forgotten, also what is on its way.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/blocks/dma.h"
#include "model/blocks/ledger.h"
#include "model/core/memory/set_cache.h"
#include "model/core/memory/translation.h"
#include "model/core/responder/refusal.h"
#include "model/engine/delay_line.h"
#include "model/engine/link.h"
#include "model/params/params.h"
#include "model/types/address_translator_counters.h"

namespace rxnic {

class AddressTranslator final : public Block {
 public:
  AddressTranslator(const sc_core::sc_module_name& name, const AddressTranslatorParams& params, NicShared& shared);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const AddressTranslatorCounters& counters() const { return counters_; }

  // (R9) Control plane, whenever an MPT entry or its pages change. With the entry as it was, only its pages go; with
  // the key alone, all cached pages go when the entry itself is not cached.
  void invalidate(Key key);
  void invalidate(const MptEntry& region);
  // Packets of each input that have bus addresses by now, all or some of them. What an invalidation comes too late for
  // has been done when so many have been served.
  struct Translated {
    std::uint64_t packets = 0;
    std::uint64_t gathers = 0;
  };
  Translated translated() const;

  In<PacketHandle> in;
  Out<PacketHandle> out;
  In<PacketHandle> gather_in;
  Out<PacketHandle> gather_out;
  Out<Refusal> refusals;
  Out<DmaRequest> dma;
  In<DmaCompletion> dma_done;

 private:
  static constexpr std::uint32_t kNoWalk = 0xffffffff;
  using PageLine = std::array<std::uint64_t, kMttLineEntries>;
  enum class Table : std::uint8_t { kMpt, kMtt };
  enum class Found : std::uint8_t { kYes, kWait, kNowhere };
  struct alignas(64) Walk {  // a read of one MPT entry or MTT line
    std::array<std::uint8_t, 64> data{};
    std::uint64_t address = 0;
    Table table = Table::kMpt;
    bool busy = false;
    bool stale = false;  // invalidated meanwhile
  };
  struct Lane {  // one input with its output, and the packet at its head
    Lane(In<PacketHandle>& from, Out<PacketHandle>& to, std::uint32_t depth) : in(from), out(to), done(depth) {}
    In<PacketHandle>& in;
    Out<PacketHandle>& out;
    DelayLine<PacketHandle> done;  // translated, on the way out
    Cycle last_done{};             // when the last of them is due
    Cycle free_at{};               // when the next packet may be taken
    PacketHandle head = kNoPacket;
    bool range_checked = false;
    std::uint16_t segment = 0;     // next to translate
    bool missed = false;           // the lookup at hand was counted as a miss
    std::uint32_t walk = kNoWalk;  // that the head waits for
    Key wanted{};
    bool has_region = false;  // `region` is the MPT entry that `region_key` found
    Key region_key{};
    MptEntry region;
    bool has_pages = false;  // `pages` came from memory for this head
    bool pages_ok = false;
    std::uint64_t pages_address = 0;
    PageLine pages{};
    std::uint32_t ahead = 0;  // packets that were looked at since the last line came, the head is the first
    bool more_due = false;
    bool idle() const { return head == kNoPacket && done.empty() && in.empty(); }
  };

  void fill(std::uint32_t walk, bool ok);
  bool fail(Packet& p);
  void leave(Lane& lane, Cycle now);
  void advance(Lane& lane, Cycle now);
  Found resolve(Lane& lane, Packet& p, Cycle now);
  Found find_region(Lane& lane, Key key, Cycle now);
  Found find_bus(Lane& lane, std::uint64_t va, Cycle now, BusAddress& bus);
  void wait_for(Lane& lane, Table table, std::uint64_t address, Cycle now);
  std::uint32_t pending(Table table, std::uint64_t address) const;
  std::uint32_t start(Table table, std::uint64_t address, Cycle now);
  void look_ahead(Lane& lane, Cycle now);
  bool read_ahead(const Packet& p, Cycle now);
  bool read_ahead(Key key, const std::uint64_t* va, Cycle now);
  void forget_pages(std::uint64_t first, std::uint64_t last);
  void forget_copies();

  const AddressTranslatorParams params_;
  NicShared& shared_;
  SetCache mpt_;
  std::vector<MptEntry> mpt_lines_;
  SetCache mtt_;
  std::vector<PageLine> mtt_lines_;
  std::vector<Walk> walks_;
  std::vector<std::uint32_t> free_walks_;
  Refusals refused_;
  std::array<Lane, 2> lanes_;  // main path, gather
  bool started_ = false;       // a walk, in this cycle
  bool again_ = false;         // something is left to start in the next cycle
  AddressTranslatorCounters counters_;
};

}  // namespace rxnic
