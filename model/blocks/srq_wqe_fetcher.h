// SPDX-License-Identifier: Apache-2.0
// Receive WQE fetcher: doorbells, prefetch of WQEs from SRQs and RQs, the WQE of each message, flush, the SRQ limit
// event. The decisions are model/core/receive_queue/work_queue_table, wqe_prefetch and wqe_format.
//
//   R1  A packet taken in cycle n leaves in cycle n + hit_cycles when its WQE is on the chip by then. Otherwise the
//       packet leaves in the cycle in which the read of its WQE completes, or in which a flush of its QP is requested.
//       Packets leave in order; one is taken and one leaves a cycle; `in` and `tagged` take turns.
//   R2  In each cycle one doorbell, one read completion, one flush request and one new read are handled, in this order.
//       Packets are handled before the new read. So a doorbell taken in cycle n counts for the packet that leaves in n,
//       and its read starts in n. A doorbell says how many WQEs were posted in all. Doorbells of a queue that wait for
//       room at the port have become one (bridge/driver/doorbell_line.h, R3). Doorbells of a queue that are taken
//       before its turn share one read.
//   R3  Prefetch: rules of wqe_prefetch.h and work_queue_table.h. Queues share the prefetch contexts, and the least
//       recently used one loses its own; with a context for each queue none does. Taking a packet starts a prefetch of
//       its queue when there are more prefetch contexts than packets in the block. WQEs that a packet waits for are
//       always read.
//   R4  No WQE posted: RNR NAK on RC and XRC (rules 6), a drop on UC and UD. No WQE is used.
//   R5  A bad WQE is used and fails its QP: NAK 0x63.
//   R6  The later packets of a message get the WQE of the first. So does a packet that fails its QP in the middle of a
//       message, and a packet that completes a message that was given up. The WQE then completes in error.
//   R7  UC: the WQE of a message that ends early is used by the next one. UC and UD longer than the WQE: UC on an RQ
//       and UD (by policy) are dropped and the WQE is kept. UC on an SRQ completes with LOC_LEN_ERR.
//   R8  SRQ limit: an event when a WQE is taken and fewer than the limit stay posted, once for each arming (rules 2.3).
//   R9  Flush of an RQ: one completion kFlushed for each posted WQE, in order, one a cycle, and for those posted later
//       as their doorbells come. The later ones carry no QP context, only the QP's number. The WQEs of an SRQ are not
//       flushed. When the QP was stopped in the middle of a message, that message's WQE is flushed first. Requests of
//       the QP that come later are squashed. The list of flush requests has an entry for each line of the context
//       cache. A request pins its line, and so does each completion that names it (`pins`). When the queue is an SRQ,
//       the completion that ends the flush takes over the pin of the request. The list of RQs to be flushed again, for
//       doorbells after their flush, has late_flushes entries; without a free one the doorbell waits (counter
//       doorbell_waits).
//   R10 Tag matching: a match, or an unexpected message, that is refused or squashed here is returned to the tag
//       matcher. A message that the tag matcher could not decide fails its QP (kHostMemory).
//   R11 The last packet that uses a WQE is marked (releases_wqe): the end of its message, a failure found up to here, a
//       flush.
//   R12 Each packet of a QP with an RQ carries the number of WQEs that were posted when the packet left. The number is
//       for the credit field of its ACK.
//   R13 A WQE that a packet takes, or the buffer of a tag that it matched, needs a slot
//       (core/receive_queue/wqe_slots.h). Its list is written into the store (`lists`) in the cycle in which the packet
//       leaves. `released` gives slots back, one a cycle. Without a free slot the packet waits (kWaitWqeStore) as long
//       as a slot is in use by a message whose last packet has left. This slot will be released whatever happens to the
//       packets here. When every slot is of a message that has not ended, waiting could hold up the packets that would
//       end those messages. The packet is then refused as in R4 (kWqeStoreFull) and takes no WQE, and its sender
//       repeats it.
//   R14 Queue contexts are cached (core/receive_queue/work_queue_table.h). A packet may take or fill a WQE or report
//       credits (R12). Such a packet, a doorbell, a command or a flush may find that its queue's context is not here.
//       It then starts a read of the context in that cycle (`context_dma`), and goes on in the cycle in which the
//       context comes. Those behind it wait, in order; but packets, doorbells, commands and flushes do not wait for
//       each other. A context that one of them waits for is not evicted for another. A queue whose context does not
//       exist has no WQEs.
//   R15 The context of a packet that enters the block is read ahead, and its queue prefetched (R3) when it comes.
//   R16 After a doorbell had to wait for a context, a packet that finds no WQE posted waits too, until no doorbell
//       comes in a cycle. A doorbell of the packet's queue may be among those that wait. So a cache miss causes no RNR
//       NAK.
//   R17 `commands` of the command processor: taken before a doorbell. Arm, close and reset wait for the doorbells that
//       have come. The wait ends when none comes in a cycle, or when as many as their link holds are taken. Destroy
//       waits until no read of its WQEs is in flight; all others are answered when they are carried out. WQEs that are
//       still to be flushed again (R9) when their queue is closed or reset are not flushed.
//   R18 A queue is created in a free line of the cache; when there is none, another context is evicted for it. Its
//       context is written to host memory when it is evicted. A queue that is destroyed is written there as invalid
//       (`context_dma`).
//   R19 A rendezvous request that matched takes one of the requester's places (`rendezvous_places` gives them back).
//       Without a free one it is refused as in R4 (kRendezvousFull). Whatever becomes of it behind this block, the
//       completion generator hands the place on to the requester. In a NIC without a requester there is no limit, and
//       nobody reads the message: its match is its end (DATA_VALID).
//   R20 This block keeps a part of a QP's context. The part is looked up beside each packet, flush request and command
//       that names a line, when the latter is taken. No other block changes this part while the line is pinned. What a
//       packet or a flush leaves of it is written (`context_write`) in the cycle in which it leaves. After a reset it
//       is not written: the context cache makes a new context.
//   R21 What a read has fetched is looked at in the cycle in which the read is completed. WQEs stand at
//       `fetched_wqes`, the context of a queue at `fetched`. A context that is written to host memory leaves over
//       `written_back` in the cycle of its request. One read of a context starts in a cycle.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "model/blocks/ledger.h"
#include "model/core/memory/context_waits.h"
#include "model/core/receive_queue/work_queue_table.h"
#include "model/core/receive_queue/wqe_slots.h"
#include "model/core/responder/refusal.h"
#include "model/engine/behind_rtl.h"
#include "model/engine/delay_line.h"
#include "model/params/params.h"
#include "model/ports/srq_wqe_fetcher_ports.h"
#include "model/types/command.h"
#include "model/types/packet_stamps.h"
#include "model/types/rendezvous.h"
#include "model/types/tag_matching.h"

namespace rxnic {

class SrqWqeFetcher final : public SrqWqeFetcherPorts, public BehindRtl {
 public:
  // `counts_credits`: whether ACKs report them (R12); `rendezvous`: the requester's places (R19).
  SrqWqeFetcher(const sc_core::sc_module_name& name, const SrqWqeFetcherParams& params,
                QpPartMemory<OpenWqe, OpenWqeWrite, Block> contexts, PacketStamps stamps, UdTooLongPolicy ud_too_long,
                WqeErrorStatus wqe_error, bool counts_credits = true,
                std::uint32_t rendezvous = RequesterParams{}.rendezvous,
                std::unique_ptr<PrefetchWindow> window = nullptr, std::unique_ptr<Replacement> replacement = nullptr);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  void stand_behind(Block& face) override;
  std::uint64_t* counter(std::string_view name) override { return counter_of(counters_, name); }
  void complete(const sc_core::sc_object& port, void* value) override;
  void repeat_setup(const Give& give) const override;
  const SrqWqeFetcherCounters& counters() const override { return counters_; }
  const WorkQueueTableCounters& prefetch_counters() const override { return table_.counters(); }

  // Before the first cycle.
  WqId create(const WqContext& attributes, HostMemory& memory) override;
  // For tests. `valid` is 0 when there is no such queue; false: its context is on its way.
  bool read(WqId id, HostMemory& memory, WqRecord& record) const { return table_.read(id, memory, record); }
  // For a queue whose context is here.
  std::uint32_t limit(WqId id) const { return table_.context(id).limit; }
  std::uint32_t posted(WqId id) const { return table_.posted(id); }
  std::uint32_t wqes_in_use() const { return slots_.occupied(); }

 protected:
  void end_of_elaboration() override;

 private:
  void bind_memories(SrqWqeFetcherPorts& to);
  enum class Verdict : std::uint8_t { kLeaves, kWaits, kBlocked };
  // The kinds of input that wait for contexts, each for one of its own (R14).
  enum Asker : std::uint8_t { kCommand, kDoorbell, kPacket, kFlush, kFlushRequest, kAskers };
  // Bits of inputs_.
  static constexpr std::uint64_t kContextDone = 1, kCommands = 2, kDoorbells = 4, kReadDone = 8, kFlushes = 16,
                                 kRendezvousPlaces = 32, kReleased = 64, kTagged = 128;
  static constexpr std::uint64_t kRareInputs = kContextDone | kCommands | kDoorbells;
  // What reads have fetched, and the contexts that are written. (R21)
  struct FetchedWqes final : ReadMemory<WqeRead, DataSegment> {
    explicit FetchedWqes(const WorkQueueTable& t) : table(t) {}
    const DataSegment* read(const WqeRead& at, std::uint32_t& words) const override;
    const WorkQueueTable& table;
  };
  struct Queues final : ReadMemory<QueueLine, StoredQueue>, WriteMemory<QueueWrite> {
    explicit Queues(WorkQueueTable::Cache& c) : cache(c) {}
    const StoredQueue* read(const QueueLine& at, std::uint32_t& words) const override;
    void write(Cycle, const QueueWrite& what) override;
    WorkQueueTable::Cache& cache;
    // The context that came in the last step, as it came. Observers at the end of a cycle would see the line changed.
    std::uint32_t line = WorkQueue::kNone;
    StoredQueue came;
  };

  bool flush_asked() const { return flush_request_.line != kNoLine; }
  bool nothing_to_take() const;
  bool take_rare_inputs(Cycle now);
  // Whether a flush has begun or is to.
  bool flush_pending() const {
    return flush_queue_ != kNoWq || flush_asked() || !flush_requests_.empty() || !late_flushes_.empty();
  }
  bool carry_out_command(Cycle now);
  bool carry_out(const WqCommand& command, WqReply& reply, Cycle now);
  bool create(const WqCommand& command, WqReply& reply);
  bool destroy(WqId id);
  bool doorbells_first(Cycle now);
  void forget_message(std::uint32_t line);
  void take_context(Cycle now);
  ContextLookup look_up(Asker asker, WqId id);
  WqId context_needed(const WqeRequest& p) const;
  void read_context_ahead(const WqeRequest& p);
  bool ring(Cycle now);
  void request_context(Cycle now);
  Verdict serve(WqeRequest& p, Cycle now);
  Verdict decide(WqeRequest& p, Cycle now);
  Verdict take_wqe(WqeRequest& p, Cycle now);
  bool fits_datagram(WqeRequest& p, const ReceiveWqe& wqe);
  void check_unreliable_length(WqeRequest& p, const OpenWqe& taken);
  void hold(WqeRequest& p);
  Verdict take_match(WqeRequest& p, Cycle now);
  Verdict lack_slot(WqeRequest& p, Cycle now);
  Verdict refuse(WqeRequest& p, DropReason reason, Cycle now);
  void write_list(std::uint32_t slot, const DataSegment* from, std::uint32_t count, Cycle now);
  void attach(WqeRequest& p, std::uint32_t slot);
  void look_up_open_wqe(std::uint32_t line);
  void keep_open_wqe(std::uint32_t line, Cycle now);
  void close(WqeRequest& p);
  void use_open_wqe(WqeRequest& p);
  void end_open_wqe(WqeRequest& p);
  Verdict give_back(WqeRequest& p, Cycle now);
  bool accept(Cycle now);
  bool flush(Cycle now);
  bool next_flush();
  bool take_flush_request(Cycle now);
  bool will_be_flushed(WqId id);
  WqeRequest flushed_packet() const;
  void finish_flush(Cycle now);
  void forget_flush(WqId id);
  void leave(WqeRequest& p, Cycle now);
  bool read_ahead(Cycle now);

  SrqWqeFetcherParams params_;
  SrqWqeFetcherPorts* face_ = this;  // stand_behind()
  PacketStamps stamps_;
  QpPartMemory<OpenWqe, OpenWqeWrite, Block> contexts_;
  UdTooLongPolicy ud_too_long_;
  WqeErrorStatus wqe_error_;
  bool counts_credits_;
  WorkQueueTable table_;
  std::vector<WqContext> created_;  // before the first cycle
  FetchedWqes wqe_data_;
  Queues queue_data_;
  WqeSlots slots_;
  ContextWaits<WorkQueueTable, SrqWqeFetcherCounters, kAskers> waits_;
  bool again_ = false;           // something of the contexts is to be done in the next cycle
  bool doorbells_late_ = false;  // (R16)
  bool lacks_context_ = false;   // the oldest packet waits for a context
  bool lacks_late_ = false;      // a doorbell waits for an entry of late_flushes_
  Refusals refused_;
  OpenWqe kept_, open_wqe_;  // of the QP of the packet or flush at hand: as it was looked up, and as it leaves it
  ReceiveWqe wqe_;           // that it may take
  struct Waiting : WqeRequest {
    WqId asks = kNoWq;  // queue that the packet asked for a WQE of
  };
  DelayLine<Waiting> pipeline_;
  std::uint64_t inputs_ = 0;  // bit by input whose link is not empty
  bool look_ahead_;
  bool tagged_next_ = false;
  bool waiting_ = false;  // the oldest packet waits for its WQE, and has been counted
  WqId wanted_ = kNoWq;   // the queue whose WQE it waits for
  // The flush at hand and those that are due because of late doorbells.
  FlushRequest flush_request_;              // line kNoLine: none
  DelayLine<FlushRequest> flush_requests_;  // to be served, the oldest first
  WqId flush_queue_ = kNoWq;
  bool flush_turn_ = false;
  std::vector<WqId> late_flushes_;
  bool doorbell_waits_ = false;  // the oldest doorbell waits for an entry of late_flushes_, and has been counted
  std::uint64_t left_ = 0;
  bool lacks_slot_ = false;            // the oldest packet waits for a slot of the store
  std::uint32_t open_ = 0;             // slots of messages that have not ended: those in QP contexts
  std::uint32_t rendezvous_;           // places of the requester that are free (R19)
  WqId new_queue_ = kNoWq;             // that is being created: it waits for a line
  std::uint32_t doorbell_places_ = 0;  // of their link
  std::uint32_t doorbells_ahead_ = 0;  // most that have come before the command at hand (R17)
  SrqWqeFetcherCounters counters_;
};

}  // namespace rxnic
