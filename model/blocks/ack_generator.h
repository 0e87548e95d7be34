// SPDX-License-Identifier: Apache-2.0
// Answer generator: where packets retire, and what goes back for them: ACK, NAK, RNR NAK, READ and atomic responses.
//
//   R1  One packet retires a cycle, in the cycle in which it is taken; its buffer is free then. One that asks for an
//       answer is not taken while queue_depth answers are ready and not started, one whose answer has to wait (R3) not
//       while answers_waiting do.
//   R2  The builder starts an answer every response_cycles at most; it leaves latency_cycles after its start. With
//       nothing in its way the ACK of a packet taken in cycle n leaves in cycle n + latency_cycles. Answers without
//       data, the one that became ready first, and READ data that has come take turns.
//   R3  Answers of a QP leave in the order of its packets: what follows a READ or an atomic waits for its last
//       response. Nothing waits for the answers of another QP (core/responder/answer_table.h). An ACK that waits so
//       gives way to the next one of its QP. A QP whose answers_per_qp answers wait and that asks for one more fails
//       with NAK 0x61.
//   R4  READ: one piece of a response's data is asked for (`gather`) in a cycle, two pieces when it crosses a page, one
//       after the other; the first at the earliest in the cycle in which the request is taken. At most
//       read_responses_in_flight responses are on their way. At most reads_in_progress QPs are
//       served together; they take turns, responses_per_turn each. Data taken in cycle m leaves in cycle m +
//       latency_cycles at the earliest. READs of one QP may overlap. `gathered` keeps the order of `gather`.
//   R5  Atomic: done when all before it in its QP is answered; the packet's `bus` is where. The result is saved, by the
//       packet's resource, before it is answered. A replay answers with the saved result; nothing when there is none.
//       An ATOMIC WRITE likewise: its answer is a READ RESPONSE ONLY without data, sent when the write is done.
//   R6  Coalescing: an ACK is held until coalesce_packets requests of its QP are acknowledged by it, coalesce_timer
//       after the first of them, or until another answer of the QP is due, which it precedes. The newest PSN and MSN
//       are those that go. Half of queue_depth QPs can be held; an ACK that finds no place, or one behind a READ or an
//       atomic, is not held.
//   R7  Memory that fails under a READ or an atomic: NAK 0x63 in its place (0x62 when its translation failed), the QP
//       to the error state, no answer for what is behind (which is carried out and completed, unless the WQE fetcher
//       flushes it). So too for a NAK behind that of an error found later. `failures` notifies the completion
//       generator, `refusals` the transport checker. There is a place for each line of the context cache: what a QP
//       that is to be reported finds besides is not reported.
//   R8  An answer is built in a buffer of its own: without a free one the builder waits (wait_response). Who takes it
//       from `tx` releases it.
//   R9  A command waits until so many packets have retired and no atomic is to be carried out on its region.
#pragma once

#include <memory>
#include <vector>

#include "model/blocks/dma.h"
#include "model/blocks/ledger.h"
#include "model/core/responder/answer_table.h"
#include "model/core/responder/refusal.h"
#include "model/engine/delay_line.h"
#include "model/engine/link.h"
#include "model/params/params.h"
#include "model/types/ack_generator_counters.h"
#include "model/types/command.h"

namespace rxnic {

class AckGenerator final : public Block {
 public:
  AckGenerator(const sc_core::sc_module_name& name, const AckGeneratorParams& params, NicShared& shared,
               std::uint32_t clock_period_ps);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const AckGeneratorCounters& counters() const { return counters_; }
  In<AckRequest> in{"in"};
  Out<GatherSegment> gather{"gather"};
  In<GatheredData> gathered{"gathered"};
  Out<DmaRequest> dma{"dma"};
  In<DmaCompletion> dma_done{"dma_done"};
  Out<WireFrame> tx{"tx"};
  Out<QpFailure> failures{"failures"};
  Out<Refusal> refusals{"refusals"};
  In<RetireCommand> commands{"commands"};
  Out<StepDone> command_done{"command_done"};

 private:
  using Index = AnswerTable::Index;
  static constexpr Index kNone = AnswerTable::kNone;
  static constexpr std::uint32_t kPaths = 4096;
  struct Ready {
    Index answer = kNone;
    bool plain = true;  // counted in ready_plain_
    std::uint64_t ticket = 0;
  };
  struct AtomicResult {
    bool done = false;
    Qpn qpn{};
    Psn psn;
    std::uint64_t original = 0;
  };
  struct OnItsWay {
    Index flow = kNone, answer = kNone;
  };

  void carry_out_command(Cycle now);
  bool has_atomic_on(Key region) const;
  bool take(Cycle now);
  bool has_room(const AckRequest& p) const;
  void answer(const AckRequest& p, Cycle now);
  void owe(const AckRequest& p, OwedAnswer& a);
  void hold(Index flow, Index answer, Cycle now);
  void unhold(Index flow);
  void append(Index flow, Index answer, Cycle now);
  void advance(Index flow, Cycle now);
  Index readable(const AnswerTable::Flow& f) const;
  void issue(Cycle now);
  void issue_read(Index flow, Index at, Cycle now);
  void ask_piece(Cycle now);
  const ReturnPath& return_path(const AckRequest& p);
  void start_build(Cycle now);
  void build_read_response(Cycle now);
  void build_plain(Cycle now);
  void make_ready(Index at, bool plain) { ready_.push({at, plain, next_ticket_++}, Cycle{}); }
  void finish_atomic(Cycle now);
  void make_nak(OwedAnswer& answer, std::uint8_t syndrome);
  void report_failure(std::uint32_t line, EventType event);
  void fail_behind(Index at);
  void discard(Index at, Cycle now);
  void build(PacketHandle h, std::uint32_t payload_bytes, Cycle now);
  void count_ack(std::uint8_t syndrome);
  void leave(const WireFrame& frame, Cycle now);
  std::uint8_t ack_syndrome(const AckRequest& p) const;
  Activity idle_activity() const;
  Cycle busy_until() const { return latest(next_start_, last_leaves_); }
  Activity activity_now(Cycle now, bool refused, bool stalled) const;
  Cycle next_step(Cycle now, bool refused, bool stalled);

  AckGeneratorParams params_;
  NicShared& shared_;
  QpPinPort contexts_;
  std::uint64_t hold_cycles_;
  Refusals refused_;
  AnswerTable answers_;
  std::vector<AtomicResult> results_;               // by handle of the responder resource
  std::vector<DmaRequest> atomic_requests_;         // by answer
  std::vector<Key> atomic_regions_;                 // by answer: that its address was found by
  DelayLine<QpFailure> failed_;                     // to be reported: one of a QP, which has pinned its line
  std::vector<Index> held_;                         // flows with a held ACK, oldest first
  DelayLine<Index> served_;                         // flows with READ data to ask for, in turn
  DelayLine<Index> unserved_;                       // those that wait for their turn to be served
  DelayLine<Index> atomics_;                        // answers to be carried out by the DMA engine
  DelayLine<Ready> ready_;                          // answers without data, waiting for the builder
  DelayLine<OnItsWay> on_their_way_;                // READ data asked for
  DelayLine<WireFrame> line_;                       // the builder's pipeline
  std::vector<std::unique_ptr<ReturnPath>> paths_;  // by the lowest bits of a QPN, from its first response on
  Cycle last_leaves_{};                             // of the answers that went to the port at once
  PieceList pieces_;                                // of the response that is being asked for
  std::uint32_t next_piece_ = 0;
  GatherSegment asking_;
  std::uint32_t ready_plain_ = 0;  // answers that did not wait, ready or held (R1)
  std::uint32_t waiting_ = 0;      // answers in flows
  std::uint64_t next_ticket_ = 0;
  bool data_next_ = false;  // whose turn it is (R2)
  Cycle next_start_{};
  bool wants_buffer_ = false;  // no response buffer was free
  AckGeneratorCounters counters_;
};

}  // namespace rxnic
