// SPDX-License-Identifier: Apache-2.0
// Completion generator: CQEs, their events, and what follows from a QP's error.
//
//   R1  A packet taken in cycle n is decided in cycle n. Its CQE's DMA write leaves in cycle n + latency_cycles (one
//       write a cycle), the packet in the same cycle, or with the last write that is due before it.
//   R2  A packet with a completion occupies the block for cycles_per_cqe cycles, any other for one.
//   R3  A CQ without room (core/completion/completion_queue.h): one kCqError event, the CQ is dead, and every QP that
//       completes on it goes to the error state (RC: NAK 0x63).
//   R4  An event comes behind every CQE that was written before it fell due, as an interrupt does that is posted behind
//       them: it leaves event_latency_cycles after the last of them has landed in host memory. When all of them have,
//       an event that falls due in cycle d leaves in cycle d + latency_cycles + event_latency_cycles. CQEs of CQs that
//       are polled only are not waited for, and cost no notice.
//   R5  Compression, when both the parameter and the CQ ask for it: a session ends with a completion that does not
//       join, at compression_max completions, and compression_timeout_cycles after the last one that joined. Events
//       count what is written.
//   R6  A packet that moves its QP to the error state: one request (kFlush) to the WQE fetcher to flush the QP's
//       receive queue, and when no completion reports the error one kQpRequestError (NAK 0x61), kQpAccessError (0x62)
//       or kQpFatal event. The requests wait in a list and never hold up the packets. So too for a completion of the
//       requester that is in error and not flushed, and for what the ACK generator found (`failures`). The requester is
//       notified of the QP (`failed`) unless it was who failed it. Both lists have a place for each line of the context
//       cache: a QP in them is pinned, and enters them once.
//   R7  kLastWqe: one kQpLastWqeReached event a QP.
//   R8  A WQE completes once: an error in the middle of its message is its completion, and what comes later of the
//       message completes nothing. Its slot in the store is released with the last packet that uses it (releases_wqe),
//       which completes it, as flushed when it was squashed, when nothing else has.
//   R9  Within a cycle: landings; writes, packets, events out; then a doorbell, a failure, timers, a flush request, the
//       next packet.
//   R10 A CQ that is closed gets nothing any more: its completions are discarded, its doorbells do nothing. One that is
//       resized writes to its new ring from the next completion on (numbers: core/completion/cq_move.h).
#pragma once

#include <vector>

#include "model/blocks/dma.h"
#include "model/blocks/ledger.h"
#include "model/core/completion/cq_table.h"
#include "model/core/responder/refusal.h"
#include "model/engine/delay_line.h"
#include "model/engine/link.h"
#include "model/params/params.h"
#include "model/types/cqe_generator_counters.h"

namespace rxnic {

// Told of each completion as its DMA write is made up, in the order in which they land (HostNotice); of one that is
// never written it is not told. Nothing in the model depends on it.
class CompletionObserver {
 public:
  virtual ~CompletionObserver() = default;
  // `posted`: when the sender's doorbell was rung, of a receive completion (0: not known).
  virtual void on_written(Cqn cq, CqeOpcode opcode, Cycle posted, Cycle now) = 0;
};

class CqeGenerator final : public Block {
 public:
  CqeGenerator(const sc_core::sc_module_name& name, const CqeGeneratorParams& params, NicShared& shared,
               std::uint32_t clock_period_ps);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const CqeGeneratorCounters& counters() const { return counters_; }

  // Control plane. Completions whose WQE comes from `queue` name the SRQ.
  void create(const CqContext& context);
  void destroy(Cqn number);
  void close(Cqn number) { cqs_.close(number); }  // (R10)
  // (R10) How what was not polled from `consumer` on is to be moved, once the writes up to last_write() are done.
  CqMove resize(const CqContext& context, std::uint32_t consumer) { return cqs_.resize(context, consumer); }
  // Writes handed to the DMA engine, in all and up to the last one to this CQ. They are counted as they are decided.
  std::uint64_t writes() const { return writes_made_; }
  std::uint64_t last_write(Cqn number) const;
  // Asks for the flush of a QP in the error state that nothing is in flight of.
  void fail(std::uint32_t line);
  void set_moderation(Cqn number, std::uint16_t count, std::uint16_t period_us);
  void attach_srq(WqId queue, Srqn srqn);
  void detach_srq(WqId queue) { srqs_[raw(queue)] = 0; }
  std::uint32_t cqe_bytes() const { return params_.cqe_bytes; }
  const CompletionQueue* find(Cqn number) const;  // nullptr: no such CQ
  void set_observer(CompletionObserver* observer) { observer_ = observer; }

  In<CompletionRequest> in{"in"};
  Out<AckRequest> out{"out"};
  Out<DmaRequest> dma{"dma"};
  In<DmaCompletion> dma_done{"dma_done"};  // CQEs that have landed
  Out<FlushRequest> flushes{"flushes"};
  Out<FailedQp> failed{"failed"};
  Out<Refusal> refusals{"refusals"};
  In<QpFailure> failures{"failures"};
  Out<Event> events{"events"};
  In<Doorbell> doorbells{"doorbells"};

 protected:
  void end_of_elaboration() override;

 private:
  using Cq = CqState;
  struct HeldEvent {
    Event event;
    std::uint64_t behind = 0;  // CQE writes that are to land before it
  };
  struct SessionTimer {
    std::uint32_t cq = 0;
    std::uint32_t stamp = 0;
  };

  void take_landings(Cycle now);
  bool send_due(Cycle now);
  void ring_doorbell(Cycle now);
  void run_timers(Cycle now);
  void take_failure(Cycle now);
  void request_flush(std::uint32_t line, bool tell_requester);
  void send_requests(Cycle now);
  bool can_take() const;
  std::uint32_t event_room() const;
  void settle_wqe(CompletionRequest& p);
  void take(Cycle now);
  Cycle next_step(Cycle now, bool refused, bool stalled) const;

  void complete(CompletionRequest& p, Cycle now);
  void overrun(Cq& cq, CompletionRequest& p, Cycle now);
  void write_cqe(Cq& cq, const Cqe& cqe, Cycle posted, Cycle now);
  void write_session(Cq& cq, Cycle now);
  std::uint8_t* take_buffer(std::uint32_t slots);
  void write(const DmaRequest& r, Cycle now);
  void send(Cq& cq, std::uint8_t* block, std::uint32_t slots, std::uint32_t completions, Cycle now);
  void check_event(Cq& cq, Cycle now);
  void handle_error(CompletionRequest& p, Cycle now);
  void raise(EventType type, std::uint32_t number, Cycle now);
  std::uint32_t srq_plus_1(WqId queue) const;
  std::uint64_t period_cycles(std::uint16_t period_us) const;

  CqeGeneratorParams params_;
  NicShared& shared_;
  QpContextPort<CompletionContext> contexts_;
  std::uint32_t clock_period_ps_;
  CqTable cqs_;
  std::vector<std::uint32_t> srqs_;  // by WqId: SRQN + 1
  std::vector<bool> completed_;      // by slot of the WQE store: completed in error and still in use (R8)
  Refusals refused_;
  std::vector<std::uint8_t> buffers_;  // CQEs until the DMA engine has taken them, used in turn
  std::uint32_t buffer_slots_ = 0;
  std::uint32_t next_buffer_ = 0;
  DelayLine<DmaRequest> writes_;
  DelayLine<AckRequest> pipeline_;
  bool writes_in_step_;  // each write leaves in a cycle of its own, latency_cycles after its packet, if not blocked
  Cycle last_leaves_{};  // of those that were sent at once
  Cycle last_write_{};   // likewise, of the writes
  DelayLine<HeldEvent> held_events_;  // (R4)
  DelayLine<Event> events_;
  DelayLine<SessionTimer> session_timers_;
  std::vector<std::uint32_t> moderated_;  // CQs with an event due later
  Cycle next_moderation_ = kNever;        // not after the first of them
  DelayLine<FlushRequest> flush_list_;    // QPs whose flush is to be asked for, pinned (R6)
  DelayLine<std::uint32_t> failed_list_;  // lines of those that the requester is to be notified of, pinned
  std::uint64_t writes_made_ = 0;
  std::uint64_t blocks_made_ = 0;    // CQEs and sessions whose landing is told, each with one completion of its DMA
  std::uint64_t blocks_landed_ = 0;  // of them
  CompletionObserver* observer_ = nullptr;
  Cycle next_accept_{};
  CqeGeneratorCounters counters_;
};

}  // namespace rxnic
