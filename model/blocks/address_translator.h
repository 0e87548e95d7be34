// SPDX-License-Identifier: Apache-2.0
// Address translator: turns keys and virtual addresses into bus addresses. It checks regions by the MPT and finds pages
// in the MTT, has a cache of each, and walkers that read host memory for both.
//
//   R1  A segment that is taken in cycle n and found in the caches is pushed in cycle n + hit_cycles. The next segment
//       is taken in cycle n + 1.
//   R2  On a miss the entry is read from memory: the MPT entry first, then the MTT line of 8 pages. When it comes in
//       cycle m, the segment goes on in m with its remaining lookups, as if it had been taken then.
//   R3  Local range (local_bytes > 0, but not of a SEND): the whole range is checked before the packet's first segment.
//       The check uses the packet's access flags. A failure fails RC and XRC with NAK 0x62 and abandons a UC message.
//       On a response to a request of ours it is a local error. A READ or WRITE of length zero is not checked. The bus
//       address of an atomic goes on in `bus`.
//   R4  Segments of a WRITE are checked as in R3, with its access flags. Segments of a SEND or a response are checked
//       for local write and the packet's PD. A failure there is a local error: NAK 0x63, wqe_error_status for a
//       receive, kLocalProtection for a response. The segments before the one that fails have gone on and are written.
//       The failing one goes on without bytes, as the packet's last, and the others end here. A segment may cross a
//       page of a zero-based region, whose addresses do not show where its pages end. Such a segment goes on in parts,
//       one a cycle.
//   R5  Segments of `gather_in` (responses being built) are checked for remote read. Segments that fail go on as
//       `failed`.
//   R6  Packets that access no memory (failed, squashed, internal) pass in hit_cycles, without bytes.
//   R7  Each input keeps its order. The two inputs share only the caches and the walkers.
//   R8  While a packet waits, the packets behind it are looked at, one a cycle. The entries and lines that these
//       packets miss are read as well. Up to walks_in_flight reads are in flight together; one starts in a cycle. Each
//       entry or line is read once however many segments wait for it.
//   R9  SEND WITH INVALIDATE (rules 6.6): after the lookups of the message's last segment, the MPT entry of its key.
//       An entry that may be invalidated is marked so in host memory, and leaves the cache. Otherwise the bytes are
//       placed, too, but the receive completes with REM_INV_REQ_ERR and the QP fails; there is no response.
//   R10 A command (`commands`, taken before a segment) invalidates the cached entries of a region, and those that are
//       being read. The answer, in the same cycle, gives the numbers of packets and gather segments begun before. When
//       as many have been served, nothing uses the old entries any more.
//   R11 An absent page (core/memory/translation.h, R7) is asked for with an event (`page_requests`). The segment, with
//       those behind it, waits for the reply (`page_replies`). After the reply the entry is read again; when there is
//       no such page, the segment is an error as in R3 to R5. A cached entry may be absent though the page has become
//       present: it is asked for as well. In a region with a tree each level is a lookup of its own, one a cycle.
//   R12 A segment for a null region is checked as any other, in the same cycles. No page is looked up, and it goes on
//       without bytes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/blocks/ledger.h"
#include "model/core/memory/set_cache.h"
#include "model/core/memory/translation.h"
#include "model/core/responder/refusal.h"
#include "model/engine/delay_line.h"
#include "model/params/params.h"
#include "model/ports/address_translator_ports.h"
#include "model/types/command.h"
#include "model/types/doorbell.h"
#include "model/types/event.h"
#include "model/types/packet_stamps.h"
#include "model/types/segment.h"

namespace rxnic {

class AddressTranslator final : public AddressTranslatorPorts {
 public:
  AddressTranslator(const sc_core::sc_module_name& name, const AddressTranslatorParams& params, PacketStamps stamps,
                    WqeErrorStatus wqe_error = {}, std::unique_ptr<Replacement> mpt = nullptr,
                    std::unique_ptr<Replacement> mtt = nullptr);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const AddressTranslatorCounters& counters() const override { return counters_; }

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
  // The lookups of the segment at the head of an input.
  struct Lookup {
    bool range_checked = false;
    bool found = false;  // the bytes' address is `bus`
    BusAddress bus{};
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
    PageStep step;                   // of the lookup at hand (R11)
    bool steps = false;              // it has begun
    std::uint32_t page_request = 0;  // number of the one whose reply is waited for, 0: none
    std::uint64_t absent = 0;        // MTT line of its entry
    bool no_page = false;            // the reply was that there is none
    Cycle asked{};
    std::uint32_t beyond = 0;  // bytes of the segment behind its page, for another part (R4)
    bool beyond_last = false;  // that part is the last of its packet
    std::uint32_t ahead = 0;   // segments that were looked at since the last entry came, counting the head
  };
  template <class From, class To>
  struct Lane : Lookup {  // one input with its output, and the segment at its head
    Lane(In<From>& input, Out<To>& output, std::uint32_t depth) : in(input), out(output), done(depth) {}
    In<From>& in;
    Out<To>& out;
    DelayLine<To> done;  // translated, on the way out
    Cycle last_done{};   // when the last of them is due
    Cycle free_at{};     // when the next segment may be taken
    From head;
    bool has_head = false;
    bool more_due = false;
    bool idle(Cycle now) const { return !has_head && done.empty() && in.empty() && last_done <= now; }
  };
  struct Rest;  // end of a step: when the next one is due, and what the lanes do

  void carry_out_command(Cycle now);
  void invalidate(const MptEntry& region);
  void fill(std::uint32_t walk, bool ok);
  void fill_region(Lookup& at, const Walk& walk, const MptEntry& entry);
  void fill_pages(Lookup& at, const Walk& walk, const PageLine& pages, bool ok);
  template <class From, class To>
  void leave(Lane<From, To>& lane, Cycle now);
  template <class From, class To>
  void advance(Lane<From, To>& lane, Cycle now);
  template <class From, class To>
  void look_ahead(Lane<From, To>& lane, Cycle now);
  template <class From, class To>
  void add_to(Rest& rest, const Lane<From, To>& lane, Cycle now);
  bool take(ScatteredSegment& s, Cycle now);
  bool take(GatherSegment& s, Cycle now);
  Found resolve(Lookup& at, ScatteredSegment& s, Cycle now, BusAddress& bus);
  Found find_bytes(Lookup& at, ScatteredSegment& s, Cycle now);
  template <class Segment>
  void cut_at_page(Lookup& at, Segment& s);
  template <class From, class To>
  bool goes_on(Lane<From, To>& lane);
  void begin_part(ScatteredSegment& s) { s.first = false; }
  void begin_part(GatherSegment&) { ++begun_.gathers; }
  Found invalidate_key(Lookup& at, ScatteredSegment& s, Cycle now);
  Found resolve(Lookup& at, GatherSegment& s, Cycle now, BusAddress& bus);
  bool settle(ScatteredSegment& s, bool found, Cycle now);
  bool settle(GatherSegment& s, bool found, Cycle now);
  bool fail(ScatteredSegment& s);
  void count(const SegmentWrite& s, Cycle leaves);
  void count(const GatherRead& s, Cycle leaves);
  Found find_region(Lookup& at, Key key, Cycle now);
  Found find_bus(Lookup& at, std::uint64_t va, Cycle now, BusAddress& bus);
  Found find_entry(Lookup& at, std::uint64_t address, Cycle now, std::uint64_t& entry);
  Found ask_for_page(Lookup& at, std::uint64_t entry_address, std::uint64_t va, Cycle now);
  void take_page_reply(Cycle now);
  void wait_for(Lookup& at, Table table, std::uint64_t address, Cycle now);
  std::uint32_t pending(Table table, std::uint64_t address) const;
  std::uint32_t start(Table table, std::uint64_t address, Cycle now);
  bool read_ahead(const ScatteredSegment& s, Cycle now);
  bool read_ahead(const GatherSegment& s, Cycle now);
  bool read_ahead(Key key, const std::uint64_t* va, Cycle now);
  void forget_entry(Key key);
  void forget_pages(std::uint64_t first, std::uint64_t last);
  void forget_copies();

  const AddressTranslatorParams params_;
  PacketStamps stamps_;
  const WcStatus bad_receive_;  // of a receive whose lkey is bad
  SetCache mpt_;
  std::vector<MptEntry> mpt_lines_;
  SetCache mtt_;
  std::vector<PageLine> mtt_lines_;
  std::vector<Walk> walks_;
  std::vector<std::uint32_t> free_walks_;
  Refusals refused_;
  Lane<ScatteredSegment, SegmentWrite> main_;
  Lane<GatherSegment, GatherRead> gather_;
  RegionReply begun_;
  std::uint32_t last_page_request_ = 0;  // 24 bits
  std::uint8_t one_ = 1;                 // source of writes to host memory
  bool swallows_ = false;                // discards the remaining segments of a packet that failed
  bool gather_failed_ = false;           // a segment of the response at `gather_in`
  bool started_ = false;                 // a DMA request, in this cycle
  bool again_ = false;                   // there is work left for the next cycle
  AddressTranslatorCounters counters_;
};

}  // namespace rxnic
