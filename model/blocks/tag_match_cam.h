// SPDX-License-Identifier: Apache-2.0
// Tag matching of TM SRQs: a CAM with the oldest tags of each list, the rest in an overflow list in memory. All packets
// of QPs on a TM SRQ pass here; the first packet of a SEND is searched. The decisions are
// model/core/tag_matching/tag_match_list, the places in memory model/core/tag_matching/tag_overflow.
//
//   R1  A search begins in the cycle n in which its packet is taken. It has its result in the CAM in cycle n +
//       search_cycles, when the packet leaves. Packets that need no search take as long. One packet is taken a cycle.
//       These times hold for a parallel CAM of any size. Banked: a search takes r = ceil(ceil(entries / bank_entries) /
//       banks_per_cycle) rounds of a cycle each. Its result and the next packet come r - 1 cycles later. Hashed: exact
//       tags are found in search_cycles. The k wildcards of the list that are not younger than the result are compared
//       one after another. The result comes w = ceil(k / wildcards_per_cycle) cycles later, and the next packet is
//       taken in cycle n + max(w, 1). With hazard = stall a search waits for the result of the search before it of the
//       same list. What is behind the waiting search waits, too. With hazard = forward a search knows which entry the
//       search before it takes.
//   R2  A search and an append accepted in the same cycle: the search does not see the append.
//   R3  An operation accepted in cycle n occupies the CAM for append_cycles (a sync for one). The next packet or
//       operation is taken in cycle n + append_cycles. Its completion, when one is due, leaves then at the earliest
//       (R4). Each entry that moves into the CAM, or is put back there, occupies it as long.
//   R4  Everything leaves in the order in which it was taken.
//   R5  The CAM is shared by all lists and never holds more than `entries` in all. What does not fit is written to the
//       list's overflow in memory, and so is what comes while the overflow has entries. When all entries of the
//       overflow are on their way into the CAM (R6), new entries go to the CAM, too.
//   R6  Refill: while the CAM has room, the oldest entries of the overflows are read, list by list in turn. A read has
//       as many entries as there is room for, at most overflow_entries_per_read; refill_reads reads are in flight at a
//       time. What a read has fetched is looked at entry by entry, in order, one a cycle. Each entry is read over
//       `bursts` in the cycle before, the first one in the cycle in which the read has come. It moves into the CAM in
//       the cycle in which it is looked at, and waits while the CAM is occupied.
//   R7  The CAM cannot decide a search without a match, or with a match that an entry of the overflow may precede. Such
//       a search waits for the reads of its list that are in flight. Their entries are compared as they are looked at.
//       From cycle n + search_cycles on the search walks the rest of the overflow, up to the match or the end. It reads
//       overflow_entries_per_read entries at a time, each read when the entries of the one before have been looked
//       through. The result is there in the cycle in which the deciding entry is looked at. No packet is taken before
//       the next cycle, and no operation on the list meanwhile. Entries that are passed over move into the CAM while
//       there is room. What a read has fetched behind the deciding entry is not looked at.
//   R8  A match behind the head of the overflow list is marked dead by a 4-byte write; the bytes in memory decide.
//       Removal of an entry of the overflow walks it in the same way. When the overflow has more dead entries than live
//       ones, it is compacted, a read and the writes at a time. This happens while the CAM is full and nothing else is
//       to be read. An append that finds all slots in use waits for the compaction. Nothing is read from the read of a
//       compaction to its last write, since the writes change what a slot holds. Every write is of one entry, made when
//       the entry is looked at.
//   R9  A read that fails, or bytes that contradict the list: the list has failed. What is in its CAM goes on matching.
//       A message that the overflow would have to decide fails its QP (TagVerdict failed, refused by the WQE fetcher).
//       Operations on the overflow complete with kTagMatch.
//   R10 Match: the entry's buffer is the message's WQE, for which the WQE fetcher finds room; the TMH is stripped.
//       One packet: one completion, MATCH and DATA_VALID. Several: the first completes with MATCH, the last with
//       DATA_VALID (rules 5.6).
//   R11 Miss: the message goes on to take a WQE, into which its TMH is written too. It counts as unexpected; messages
//       with NO_TAG, FIN or an unknown opcode and those without a whole TMH do not.
//   R12 SYNC_REQ is set in the completion of an operation that leaves the list out of phase. It is also set in the
//       completion of an unexpected message when a sync is wanted (rules 5.5).
//   R13 Append to a full list and removal of a tag that is not posted complete with kTagMatch, signaled or not.
//   R14 `returned`, one a cycle: the fetcher gives back a match, or an unexpected message, that was refused or squashed
//       before it was delivered. A match goes into the CAM again. When that is full, the youngest of the list there, or
//       the entry itself, is written in front of the overflow. An entry that may be younger than some of the overflow
//       is put back between them. The entries before it are read and written one slot on. Nothing else is taken
//       meanwhile, nor in the cycle in which such an entry comes. No more than `most_returns` matches are behind this
//       block at a time: so many wait here.
//   R15 There are `lists` lists at most; one more is refused.
//   R16 A rendezvous request is searched as an eager message when it is one packet of TMH, RVH and kMostRendezvousBytes
//       at most; any other is unexpected. A match completes with MATCH, and nothing of it is placed: the requester
//       reads the message (`rendezvous`). The message's address, key and length go along as local_va, local_key and
//       local_bytes. When the message is longer than the entry's buffer the whole request is placed there instead, and
//       completes with kRendezvousIncomplete, MATCH and DATA_VALID. Its sender then waits for software (rules 5.7).
//   R17 A response or a completion with `rendezvous` belongs to what the device itself sends for a rendezvous. The READ
//       reports the end of the message with DATA_VALID or an error, on the SRQ's CQ. FIN completes nothing.
//   R18 The part of a QP's context that a message leaves is written (`context_write`) when its search is decided. The
//       part of the packet at `in` stands at `context`.
#pragma once

#include <memory>
#include <vector>

#include "model/blocks/ledger.h"
#include "model/core/memory/qp_context_memory.h"
#include "model/core/tag_matching/tag_match_list.h"
#include "model/core/tag_matching/tag_overflow.h"
#include "model/engine/behind_rtl.h"
#include "model/engine/delay_line.h"
#include "model/params/params.h"
#include "model/ports/tag_match_cam_ports.h"
#include "model/types/command.h"
#include "model/types/packet_stamps.h"
#include "model/types/tag_matching.h"

namespace rxnic {

class TagMatchCam final : public TagMatchCamPorts, public BehindRtl {
 public:
  // `most_returns`: see R14.
  TagMatchCam(const sc_core::sc_module_name& name, const TagMatchCamParams& params,
              QpPartMemory<TagContext, TagContextWrite> contexts, PacketStamps stamps, std::uint32_t most_returns = 64);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  void stand_behind(Block& face) override;
  std::uint64_t* counter(std::string_view name) override { return counter_of(counters_, name); }
  void complete(const sc_core::sc_object& port, void* value) override;
  void repeat_setup(const Give& give) const override;
  const TagMatchCamCounters& counters() const override { return counters_; }
  void set_observer(TagObserver* observer) override { observer_ = observer; }

  // Before the simulation starts: adds a TM SRQ, by its number in the fetcher. False: there is no list for it (R15).
  bool create(WqId srq, const WqContext& attributes) override;
  bool has_room() const override { return lists_used_ < params_.lists; }
  const TagMatchList* list(WqId srq) const { return exists(srq) ? &lists_[raw(srq)]->tags : nullptr; }
  std::uint32_t entries_used() const { return cam_used_ + cam_reserved_; }

 protected:
  void end_of_elaboration() override;

 private:
  void bind_memories(TagMatchCamPorts& to);
  struct List {
    WqContext srq;
    TagMatchList tags;
    TagOverflow overflow;
    std::uint32_t generation = 0;
    std::uint32_t in_flight = 0;  // bursts
    bool spilled = false;         // it is in spilled_
    bool failed = false;          // (R9)
    Cycle result_at{};            // of the last search (R1)
  };
  struct Result {
    WqeRequest packet;
    bool walks = false;  // its search goes on in memory: job_
  };
  enum class BurstKind : std::uint8_t { kRefill, kJob, kCompaction };
  struct Burst {  // a read of the overflow, in flight or waiting to be looked through
    WqId list = kNoWq;
    std::uint32_t generation = 0;
    BurstKind kind = BurstKind::kRefill;
    bool ok = false;
    std::uint32_t entries = 0;
    std::uint64_t position = 0;  // of the next entry to be looked at
    std::uint32_t next = 0;      // number of that entry
    bool done() const { return next == entries; }
  };
  enum class JobKind : std::uint8_t { kNone, kSearch, kRemove, kPutBack };
  struct Job {  // what has to read the overflow before anything else is taken
    JobKind kind = JobKind::kNone;
    WqId list = kNoWq;
    bool decided = false;
    bool reads = false;                  // it has begun to read by itself
    bool walked = false;                 // and has done so
    std::uint32_t handle = kNoTagEntry;  // search: the match in the CAM, if any; otherwise the entry it is about
    std::uint32_t found = kNoTagEntry;   // in the overflow
    std::uint64_t tag = 0;               // search
    std::uint64_t held_from = 0;         // search
    std::uint64_t position = 0;          // to be read next; put back: the first entry that is younger
    std::uint64_t destination = 0;       // put back: where the next entry is written
  };
  // The entries that reads have fetched, and those that the DMA engine has not taken.
  struct Fetched final : ReadMemory<TagBurstRead, StoredTag> {
    const StoredTag* read(const TagBurstRead& at, std::uint32_t& words) const override;
    std::vector<TagOverflowEntry> entries;
    std::uint32_t in_burst = 0;  // room for entries
  };
  struct Leaving final : WriteMemory<TagWrite> {
    void write(Cycle, const TagWrite& what) override {
      if (what.slot < entries.size()) static_cast<StoredTag&>(entries[what.slot]) = what.entry;
    }
    std::vector<TagOverflowEntry> entries;
  };

  bool exists(WqId srq) const { return raw(srq) < lists_.size() && lists_[raw(srq)] != nullptr; }
  List* find(WqId srq) { return exists(srq) ? lists_[raw(srq)].get() : nullptr; }
  std::uint32_t room() const { return params_.entries - cam_used_ - cam_reserved_; }
  void occupy(Cycle now, std::uint32_t entries) { cam_free_ = now + std::uint64_t{entries} * params_.append_cycles; }
  bool can_ask(Cycle now) const { return !asked_ && dma.can_push(now); }
  // Its read is in flight, alone.
  bool compacting() const { return bursts_used_ > 0 && bursts_[first_burst_].kind == BurstKind::kCompaction; }

  bool carry_out_command(Cycle now);
  void destroy(WqId srq);
  // Packets.
  bool takes_packets(Cycle now);
  bool stalls(const WqeRequest& p, Cycle now);
  bool starts_search(const WqeRequest& p) const;
  void accept_packet(Cycle now);
  Cycle time_search(const List& list, std::uint32_t found, Cycle now);
  bool search(WqeRequest& p, WqId srq, Cycle& due, Cycle now);
  bool search_on(Cycle now);
  void match(WqeRequest& p, List& list, std::uint32_t handle, Cycle now);
  void match_rendezvous(WqeRequest& p, const TagEntry& entry);
  void miss(WqeRequest& p, List& list, TmhOpcode opcode, Cycle now);
  void label_end(WqeRequest& p, const TagContext& qp) const;
  void keep(const WqeRequest& p, Cycle now);
  void label_own(WqeRequest& p) const;
  // Operations.
  bool accept_operation(Cycle now);
  enum class Taken : std::uint8_t { kWaits, kFails, kDone, kOverflows };
  Taken place(List& list, std::uint32_t handle, Cycle now);
  void add(List& list, const TagOperation& op, Taken taken, Cycle now);
  Taken remove(List& list, const TagOperation& op);
  Taken removed(const TagOperation& op);
  void complete(const TagOperation& op, const List& list, bool ok, Cycle now);
  // The overflow.
  BusAddress address(WqId srq, const List& list, std::uint64_t position) const;
  void write(Cycle now, BusAddress to, const StoredTag& entry);
  void bury(Cycle now, WqId srq, const List& list, std::uint64_t position);
  void request_write(Cycle now, const StoredTag& entry, BusAddress to, std::uint32_t from, std::uint32_t bytes);
  bool read_overflow(Cycle now);
  bool read_for_cam(Cycle now);
  bool compact(Cycle now, bool urgent);
  void read(Cycle now, WqId srq, List& list, std::uint64_t position, std::uint32_t entries, BurstKind kind);
  std::uint8_t* fetched(std::uint32_t burst) {
    return reinterpret_cast<std::uint8_t*>(&fetched_.entries[std::size_t{burst} * fetched_.in_burst]);
  }
  std::uint8_t* leaving(std::uint32_t slot, std::uint32_t from) {
    return reinterpret_cast<std::uint8_t*>(&leaving_.entries[slot]) + from;
  }
  bool look(Cycle now);
  void look_at(List& list, const Burst& burst, const StoredTag& e, Cycle now);
  bool decides(List& list, const StoredTag& e);
  void end_burst(List& list, const Burst& burst);
  void compact_entry(List& list, const Burst& burst, const StoredTag& e, Cycle now);
  void put_back_between(List& list, const Burst& burst, const StoredTag& e, Cycle now);
  void drop_burst();
  void fetch_entry(Cycle now);
  void fail(WqId srq, List& list);
  void note_spilled(WqId srq, List& list);
  void tidy(WqId srq, List& list);
  // Returned matches.
  void take_back(const TagReturn& r);
  bool put_back(Cycle now);
  bool end_put_back(Cycle now);
  void drop_return() { returns_.erase(returns_.begin()); }
  void end_return();

  TagMatchCamParams params_;
  TagMatchCamPorts* face_ = this;  // stand_behind()
  TagObserver* observer_ = nullptr;
  PacketStamps stamps_;
  QpPartMemory<TagContext, TagContextWrite> contexts_;
  std::vector<std::unique_ptr<List>> lists_;  // by WqId
  std::uint32_t lists_used_ = 0, lists_made_ = 0;
  std::uint32_t cam_used_ = 0;
  std::uint32_t cam_reserved_ = 0;  // for entries on their way
  DelayLine<Result> pipeline_;
  Cycle cam_free_{};     // the CAM is occupied until then (R3)
  Cycle search_free_{};  // no packet is taken before (R1)
  Job job_;
  std::vector<Burst> bursts_;  // a ring
  std::uint32_t first_burst_ = 0, bursts_used_ = 0, bursts_landed_ = 0;
  bool at_hand_ = false;  // the next entry of the oldest burst was read over `bursts`
  Fetched fetched_;
  Leaving leaving_;  // used in turn
  std::uint16_t next_leaving_ = 0;
  std::vector<WqId> spilled_;    // lists with something in their overflow
  std::size_t refill_turn_ = 0;  // in spilled_
  std::uint32_t most_returns_;
  std::vector<TagReturn> returns_;
  bool asked_ = false;            // the DMA engine was asked for something in this cycle
  bool came_back_ = false;        // something was returned in this cycle
  bool kept_ = false;             // a search was decided in memory in this cycle
  bool lacks_dma_ = false;        // an operation waits for room in the link to the DMA engine
  bool operation_waits_ = false;  // for reads of the overflow: it goes before the next packet
  TagMatchCamCounters counters_;
};

}  // namespace rxnic
