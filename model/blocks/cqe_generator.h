// SPDX-License-Identifier: Apache-2.0
// Completion generator: writes CQEs, raises events, and has the queues of a QP in error flushed.
//
//   R1  A packet taken in cycle n is decided in cycle n. Its CQE's DMA write leaves in cycle n + latency_cycles (one
//       write a cycle). The packet leaves in the same cycle, or with the last write that is due before it.
//   R2  A packet with a completion occupies the block for cycles_per_cqe cycles, any other for one.
//   R3  A CQ without room (core/completion/completion_queue.h): one kCqError event, and the CQ is dead. Every QP that
//       completes on the CQ goes to the error state (RC: NAK 0x63).
//   R4  An event reaches software after every CQE that was written before the event fell due, like an interrupt that is
//       posted behind their writes. The event leaves event_latency_cycles after the last of those CQEs has landed in
//       host memory. When all have landed already, an event that falls due in cycle d leaves in cycle d +
//       latency_cycles + event_latency_cycles. CQEs of CQs that are only polled are not waited for, and their landing
//       is not reported.
//   R5  Compression acts when both the parameter and the CQ ask for it, while the path to host memory is under
//       back-pressure. Back-pressure: a CQE's write is due and finds no room in `dma` in this cycle. There is also
//       back-pressure when the last packet that was taken is `pressed` (dma_engine.h R15). A completion that comes then
//       begins a session, or joins one. Any other is written at once, with the session that it joins. A session ends
//       before a completion that does not join it, and at compression_max completions. A session also ends
//       compression_timeout_cycles after the last completion that joined, and without back-pressure. One session a
//       cycle ends so, the one that is due first before the others. Events count completions when they are written.
//   R6  A packet that moves its QP to the error state makes one request to the WQE fetcher (`flushes`) to flush the
//       QP's receive queue. When no completion reports the error, the packet also raises one kQpRequestError (NAK
//       0x61), kQpAccessError (0x62) or kQpFatal event. So do a completion of the requester (RC, XRC) that is in error
//       and not flushed, and a failure that the ACK generator found (`failures`). The requester is notified of the QP
//       (`failed`) unless it found the error itself. Requests and notices wait in two lists and never hold up packets.
//       Each list has an entry for each line of the context cache: a QP in it is pinned, and enters it once. The part
//       of the context of the QP stands at `context` (of the packet) and `failure_context`. It is written over
//       `context_write`, with the pins of the two lists. The notice's pin is removed over `unpinned`.
//   R7  kLastWqe: one kQpLastWqeReached event a QP.
//   R8  A WQE completes once: an error in the middle of its message completes it, and later packets of the message do
//       not. The last packet that uses the WQE (releases_wqe) releases its slot in the store (`released`). When the WQE
//       has not completed before, this packet completes the WQE, as flushed when the packet was squashed.
//   R9  The order within a cycle: first a CQ context that has come, and landings. Then writes, packets and events
//       leave. Then come a command, a doorbell, a failure, a session, a moderated event, a flush request and the next
//       packet. One DMA request for a context comes last. No packet is looked at in the cycle in which a failure is
//       taken.
//   R10 Nothing is written to a CQ that is closed: its completions are discarded, its doorbells do nothing. A CQ that
//       is resized writes to its new ring from the next completion on (numbers: core/completion/cq_move.h). What was
//       not polled and what its session holds must have room in it.
//   R11 CQ contexts are cached (core/completion/cq_table.h). A packet with a completion, a doorbell, a command or a
//       moderated event may find that its CQ's context is not here. It then starts a read of the context in that cycle
//       (`context_dma`), and goes on in the cycle in which the context comes. Those behind it wait, in order; but
//       doorbells, commands, events and packets do not wait for each other. A context that one of them waits for is not
//       evicted for another. A CQ whose context does not exist is treated as one that is closed. One read starts in a
//       cycle. The record that it fetches stands at `fetched`; one that is written back leaves over `written_back` with
//       its request.
//   R12 A packet that waits for a context is taken into a queue of cq_misses_in_flight + 1 packets. So is one packet
//       behind it in each cycle, with what stands beside them. The packets of the queue are looked at, one a cycle, and
//       their contexts are read ahead.
//   R13 After a doorbell had to wait for a context, a packet whose CQ has no room waits, too. The packet waits until no
//       doorbell is there at the beginning of a cycle. A doorbell that waits may bring the consumer index that makes
//       room. So a cache miss overruns no CQ.
//   R14 A deferred event holds one of moderation_timers, whether its CQ's context is here or not. With no free timer
//       the event is raised at once. One expired timer is looked at in a cycle, the one of the lowest index. When a
//       timer leaves the table, the last entry fills the gap.
//   R15 `commands` of the command processor are taken before a doorbell. Close and resize wait until no doorbell is
//       there, or until as many doorbells have been taken since they came as the doorbells' link holds. Close, resize
//       and settle are answered when the writes that were made up to then have gone to the DMA engine. All other
//       commands, and those of a CQ that does not exist, are answered when they are carried out.
//   R16 A CQ is created in a free line of the cache; when there is none, another context is evicted for it. Its context
//       is written to host memory when it is evicted. A CQ that is destroyed is written there as invalid
//       (`context_dma`), and what its session holds is discarded.
//   R17 kFailure: the QP is flushed as in R6, without an event: software has asked for it.
//   R18 A rendezvous request that matched is handed to the requester (`rendezvous`) when it is taken. The requester
//       begins the request when it completes with success; otherwise the request is there for its place alone. The
//       entry's buffer, which is the first scatter element of its WQE, stands at `wqe`.
//   R19 A response to a READ or atomic of ours is reported to the requester when it is taken (`placed`): its data has
//       left for memory.
//   R20 A packet that establishes communication raises one kQpCommunicationEstablished event, before the events of its
//       completion.
//   R21 The CQEs of a write are written over `written` in the cycle in which its request leaves.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "model/blocks/ledger.h"
#include "model/core/completion/completion_memories.h"
#include "model/core/completion/cq_table.h"
#include "model/core/memory/context_waits.h"
#include "model/core/memory/replacement.h"
#include "model/core/receive_queue/wqe_store.h"
#include "model/core/responder/refusal.h"
#include "model/engine/behind_rtl.h"
#include "model/engine/delay_line.h"
#include "model/params/params.h"
#include "model/ports/cqe_generator_ports.h"
#include "model/types/command.h"
#include "model/types/message_times.h"
#include "model/types/packet_stamps.h"
#include "model/types/rendezvous.h"
#include "model/types/requester_notice.h"

namespace rxnic {

class CqeGenerator final : public CqeGeneratorPorts, public BehindRtl {
 public:
  // `queues`: WqIds below this number may be SRQs.
  CqeGenerator(const sc_core::sc_module_name& name, const CqeGeneratorParams& params, CompletionQps<Block> contexts,
               const WqeStore& wqes, PacketStamps stamps, std::uint32_t clock_period_ps, std::uint32_t queues = 1024,
               std::unique_ptr<Replacement> replacement = nullptr);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  void stand_behind(Block& face) override;
  std::uint64_t* counter(std::string_view name) override { return counter_of(counters_, name); }
  void complete(const sc_core::sc_object& port, void* value) override;
  void taken(const sc_core::sc_object& port, const void* value) override;
  void repeat_setup(const Give& give) const override;
  const CqeGeneratorCounters& counters() const override { return counters_; }

  // Before the first cycle: commands repeat it for RTL.
  void create(const CqContext& attributes, HostMemory& memory) override;
  // Completions whose WQE comes from `queue` name the SRQ.
  void attach_srq(WqId queue, Srqn srqn) override;
  // For tests. `valid` is 0 when there is no such CQ; false: its context is on its way.
  bool read(Cqn number, HostMemory& memory, CqRecord& record) const {
    return cqs_.cache().read(raw(number), memory, record);
  }
  const CompletionQueue* find(Cqn number) const;  // nullptr: its context is not here
  void set_observer(CompletionObserver* observer) override { observer_ = observer; }

 protected:
  void end_of_elaboration() override;

 private:
  void bind_memories(CqeGeneratorPorts& to);
  using Cq = CqState;
  struct HeldEvent {
    Event event;
    std::uint64_t behind = 0;  // CQE writes that are to land before it
  };
  struct CqeBlock {  // CQEs that are written by one request
    DmaRequest request;
    std::uint32_t first = 0;  // in staged_
    std::uint32_t slots = 0;
  };
  struct Notice {
    std::uint32_t line = 0;
    Qpn qpn{};
  };
  struct ModerationTimer {
    Cqn cq{};
    Cycle due{};
  };
  // The kinds of input that wait for contexts, each for one of its own (R11).
  enum Asker : std::uint8_t { kCommand, kDoorbell, kTimer, kPacket, kAskers };

  // Bits of inputs_.
  static constexpr std::uint64_t kContextDone = 1, kLanded = 2, kCommands = 4, kDoorbells = 8, kFailures = 16;
  static constexpr std::uint64_t kRareInputs = kCommands | kDoorbells | kFailures;

  bool take_rare_inputs(Cycle now);
  bool carry_out_command(Cycle now);
  bool begin_command(const CqCommand& command, Cycle now);
  void wait_for_writes();
  bool create(const CqCommand& command);
  bool destroy(Cqn number);
  void change(Cq& cq, const CqCommand& command);
  void take_context(Cycle now);
  ContextLookup look_up(Asker asker, Cqn number, Cq*& cq);
  bool may_complete(const CompletionRequest& p) const;
  ContextLookup look_up_of_packet(const CompletionRequest& p, Cq*& cq);
  void use(Asker asker, const Cq* cq);
  void look_ahead(Cycle now);
  void forget_timer(Cqn number);
  void drop_timer(ModerationTimer& t);
  void take_landings(Cycle now);
  bool send_due(Cycle now);
  void ring_doorbell(Cycle now);
  void run_timers(Cycle now);
  void run_moderation(Cycle now);
  void take_failure(Cycle now);
  void request_flush(const CompletionQp& qp, bool notify_requester, bool unpins, Cycle now);
  void send_requests(Cycle now);
  bool can_take(const CompletionRequest& p, Cycle now) const;
  void hand_over(const CompletionRequest& p, Cycle now);
  std::uint32_t event_room() const;
  void settle_wqe(CompletionRequest& p);
  void take(Cq* cq, Cycle now);
  Cycle next_step(Cycle now, bool refused, bool stalled) const;
  bool session_is_due(Cycle now) const;

  void complete_wqe(CompletionRequest& p, Cq* found, Cycle now);
  void overrun(Cq& cq, CompletionRequest& p, Cycle now);
  void write_cqe(Cq& cq, const Cqe& cqe, const CompletionRequest& p, Cycle now);
  MessageTimes times_of(const CompletionRequest& p) const;
  MessageTimes times_of_taken(const Cqe* cqe, Cqn cq);
  void notify_written(const Cq& cq, const Cqe& cqe, MessageTimes times, Cycle now);
  void write_session(Cq& cq, Cycle now);
  std::uint32_t stage(std::uint32_t slots);
  std::uint8_t* staged(std::uint32_t slot) { return &staged_[std::size_t{slot} * LeavingCqes::kCqeBytes]; }
  DmaRequest leave(const CqeBlock& b, Cycle leaves);
  void write(const CqeBlock& b, Cycle now);
  void send(Cq& cq, std::uint32_t first, std::uint32_t slots, std::uint32_t completions, Cycle now);
  void check_event(Cq& cq, Cycle now);
  void handle_error(const CompletionRequest& p, Cycle now);
  void raise(EventType type, std::uint32_t number, Cycle now);
  void set_srq(WqId queue, std::uint32_t srq_plus_1);
  std::uint32_t srq_plus_1(WqId queue) const;

  CqeGeneratorParams params_;
  CqeGeneratorPorts* face_ = this;  // stand_behind()
  const WqeStore& wqes_;
  PacketStamps stamps_;
  CompletionQps<Block> contexts_;
  CqTable cqs_;
  CqRecords<Block> records_;
  ContextWaits<CqTable, CqeGeneratorCounters, kAskers> waits_;
  std::uint64_t inputs_ = 0;            // bit by input whose link is not empty
  bool waiting_ = false;                // the packet at the head waits for a context
  bool again_ = false;                  // there is work on contexts left for the next cycle
  bool doorbells_late_ = false;         // (R13)
  DelayLine<CompletionRequest> queue_;  // (R12)
  std::uint32_t ahead_ = 0;             // packets of it that were looked at
  std::vector<std::uint32_t> srqs_;     // by WqId: SRQN + 1
  std::vector<bool> completed_;         // by slot of the WQE store: completed in error and still in use (R8)
  Refusals refused_;
  std::vector<std::uint8_t> staged_;  // CQEs of `writes_`, used in turn
  std::uint32_t next_staged_ = 0;
  LeavingCqes leaving_;
  std::uint32_t next_place_ = 0;
  DelayLine<CqeBlock> writes_;
  DelayLine<AckRequest> pipeline_;
  bool writes_in_step_;  // each write leaves in a cycle of its own, latency_cycles after its packet, if not blocked
  bool write_waits_ = false;          // one that is due found no room in this cycle (R5)
  bool pressed_ = false;              // the last packet that was taken (R5)
  Cycle last_leaves_{};               // of packets that were sent at once
  Cycle last_write_{};                // of writes that were sent at once
  DelayLine<HeldEvent> held_events_;  // (R4)
  DelayLine<Event> events_;
  std::vector<ModerationTimer> moderated_;  // CQs with an event due later
  Cycle next_moderation_ = kNever;          // not after the first of their due cycles
  DelayLine<FlushRequest> flush_list_;      // QPs whose flush is to be requested, pinned (R6)
  DelayLine<Notice> failed_list_;           // QPs that the requester is to be notified of, pinned
  std::uint64_t writes_made_ = 0;
  std::uint64_t blocks_made_ = 0;    // CQEs and sessions whose landing is reported, once for each
  std::uint64_t blocks_landed_ = 0;  // of them
  CompletionObserver* observer_ = nullptr;
  struct Taken {  // a packet that RTL has taken, for the observer
    Cqn cq;
    Qpn qpn;
    std::uint32_t wqe_index;
    MessageTimes times;
  };
  std::deque<Taken> taken_;
  Cycle next_accept_{};
  std::vector<CqContext> set_up_;       // created before the first cycle, and here then
  bool command_waits_ = false;          // a command is at the head of the link
  std::uint32_t doorbells_held_ = 1;    // in their link
  std::uint32_t doorbells_passed_ = 0;  // that were taken while the command waited
  bool command_begun_ = false;          // it waits for writes
  std::uint64_t command_behind_ = 0;    // the last write that it waits for ...
  Cycle command_sent_{};                // ... and when that leaves, if it was sent at once
  CqReply command_reply_;
  CqeGeneratorCounters counters_;
};

}  // namespace rxnic
