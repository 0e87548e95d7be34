// SPDX-License-Identifier: Apache-2.0
// Answer generator: where packets retire, and what goes back for them: ACK, NAK, RNR NAK, READ and atomic responses.
//
//   R1  One packet retires a cycle, in the cycle in which it is taken. One that asks for an answer is not taken while
//       queue_depth answers are pending (being prepared, waiting for memory, or waiting for the builder).
//   R2  The builder starts an answer every response_cycles at most, the one that became ready first; it leaves
//       latency_cycles after its start. With nothing in its way the ACK of a packet taken in cycle n leaves in cycle n
//       + latency_cycles.
//   R3  Answers of a QP leave in the order of its packets: what follows a READ or an atomic waits for its last
//       response.
//   R4  READ: one response's data is asked for (`gather`) in a cycle, the QPs taking turns, the first at the earliest
//       in the cycle in which the request is taken; at most read_responses_in_flight are on their way. Data taken in
//       cycle m leaves in cycle m + latency_cycles at the earliest. READs of one QP may overlap. `gathered` keeps the
//       order of `gather`.
//   R5  Atomic: done when all before it in its QP is answered; segments[0].bus is where. The result is saved, by the
//       packet's resource, before it is answered. A replay answers with the saved result; nothing when there is none.
//       An ATOMIC WRITE likewise: its answer is a READ RESPONSE ONLY without data, sent when the write is done.
//   R6  Coalescing: an ACK is held until coalesce_packets requests of its QP are acknowledged by it, coalesce_timer
//       after the first of them, or until another answer of the QP is due, which it precedes. The newest PSN and MSN
//       are those that go. Half of queue_depth QPs can be held; an ACK that finds no place, or one behind a READ or an
//       atomic, is not held.
//   R7  Memory that fails under a READ or an atomic: NAK 0x63 in its place (0x62 when its translation failed), the QP
//       to the error state, no answer for what is behind (which is carried out and completed, unless the WQE fetcher
//       flushes it). So too for a NAK behind that of an error found later. `failures` notifies the completion
//       generator, `refusals` the transport checker.
//   R8  ACKs and atomic responses are built in their request's own buffer, READ responses in buffers of their own. Who
//       takes them from `tx` releases them.
#pragma once

#include <vector>

#include "model/blocks/dma.h"
#include "model/blocks/ledger.h"
#include "model/core/refusal.h"
#include "model/core/response.h"
#include "model/engine/delay_line.h"
#include "model/engine/link.h"
#include "model/params/params.h"

namespace rxnic {

struct AckGeneratorCounters {
  std::uint64_t packets = 0;           // packets retired
  std::uint64_t acks = 0;              // ACKs sent
  std::uint64_t naks = 0;              // NAKs sent, RNR excluded
  std::uint64_t rnr_naks = 0;          // RNR NAKs sent
  std::uint64_t coalesced = 0;         // ACKs that a later one made superfluous
  std::uint64_t reads = 0;             // READs answered, replays too
  std::uint64_t read_responses = 0;    // packets of those answers, and the answers to ATOMIC WRITEs
  std::uint64_t read_bytes = 0;        // payload of them
  std::uint64_t atomics = 0;           // atomics carried out, ATOMIC WRITEs too
  std::uint64_t atomic_responses = 0;  // ATOMIC ACKs sent, replays too
  std::uint64_t replays = 0;           // duplicate READs and atomics answered again
  std::uint64_t memory_errors = 0;     // READs and atomics whose memory failed
  std::uint64_t suppressed = 0;        // answers not sent: behind a failure
};

class AckGenerator final : public Block {
 public:
  AckGenerator(const sc_core::sc_module_name& name, const AckGeneratorParams& params, NicShared& shared,
               std::uint32_t clock_period_ps);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const AckGeneratorCounters& counters() const { return counters_; }
  // Packets that have retired.
  std::uint64_t retired() const { return counters_.packets; }
  // For the control plane: an atomic on memory of this region is still to be carried out.
  bool has_atomic_on(Key region) const;

  In<PacketHandle> in{"in"};
  Out<PacketHandle> gather{"gather"};
  In<PacketHandle> gathered{"gathered"};
  Out<DmaRequest> dma{"dma"};
  In<DmaCompletion> dma_done{"dma_done"};
  Out<PacketHandle> tx{"tx"};
  Out<QpFailure> failures{"failures"};
  Out<Refusal> refusals{"refusals"};

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};
  enum class Kind : std::uint8_t { kAnswer, kRead, kAtomic };
  // An answer that is not ready or must wait for one of its QP.
  struct Job {
    Kind kind = Kind::kAnswer;
    bool failed = false;              // something before it in its QP failed: no answer
    bool issued = false;              // atomic: asked for
    bool done = false;                // atomic: `original` of the answer is known, or it is a NAK
    bool replay = false;              // atomic: answered with what was saved
    PacketHandle packet = kNoPacket;  // the request; its headers are those of the answer
    QpContext* qp = nullptr;          // READ, atomic: pinned
    ReadInProgress read;
    std::uint32_t on_their_way = 0;  // READ: responses that wait for memory
    std::uint64_t original = 0;      // atomic: where DMA puts the value
    DmaRequest request;              // atomic
    Key region{};                    // atomic: that its address was found by
    Index next = kNone;              // of the same QP
  };
  // A QP with answers that wait.
  struct Flow {
    std::uint32_t qpn = 0;
    Index first = kNone, last = kNone;  // jobs
    Index next_in_bucket = kNone;
    bool listed = false;            // in issuing_
    PacketHandle held = kNoPacket;  // a coalesced ACK
    std::uint32_t held_requests = 0;
    Cycle held_until = kNever;
  };
  struct Ready {
    PacketHandle packet = kNoPacket;
    std::uint64_t ticket = 0;
  };
  struct AtomicResult {
    bool done = false;
    Psn psn;
    std::uint64_t original = 0;
  };
  struct OnItsWay {
    Index flow = kNone, job = kNone;
    std::uint64_t ticket = 0;
  };

  bool take(Cycle now);
  void answer(PacketHandle h, Cycle now);
  void hold(PacketHandle h, Index flow, std::uint32_t qpn, Cycle now);
  void unhold(Index flow);
  void append(std::uint32_t qpn, const Job& job, Cycle now);
  void advance(Index flow, Cycle now);
  Index readable(const Flow& f) const;
  void issue(Cycle now);
  void issue_read(Index flow, Index at, Cycle now);
  void start_build(Cycle now);
  void build_read_response(Cycle now);
  void finish_atomic(Cycle now);
  void make_nak(Packet& p, const Job& job, std::uint8_t syndrome);
  void fail_behind(Index at);
  void tell_failure(QpContext& qp, std::uint8_t syndrome);
  void make_ready(PacketHandle h) { ready_.push({h, next_ticket_++}, Cycle{}); }
  void discard(PacketHandle h);
  void build(PacketHandle h, std::uint32_t payload_bytes, Cycle now);
  void free_first(Flow& f, Cycle now);
  std::size_t bucket(std::uint32_t qpn) const;
  Index find_flow(std::uint32_t qpn) const;
  Index make_flow(std::uint32_t qpn);
  void free_if_empty(Index flow);
  std::uint8_t ack_syndrome(const Packet& p) const;
  Activity activity_now(Cycle now, bool refused, bool stalled) const;
  Cycle next_step(Cycle now, bool refused, bool stalled) const;

  AckGeneratorParams params_;
  NicShared& shared_;
  std::uint64_t hold_cycles_;
  Refusals refused_;
  std::vector<AtomicResult> results_;  // by handle of the responder resource
  std::vector<Job> jobs_;
  std::vector<Index> free_jobs_;
  std::vector<Flow> flows_;
  std::vector<Index> free_flows_;
  std::vector<Index> buckets_;
  std::vector<QpFailure> failed_;     // to be told
  std::vector<Index> held_;           // flows with a held ACK, oldest first
  DelayLine<Index> issuing_;          // flows with READ data to ask for, in turn
  DelayLine<Index> atomics_;          // jobs to be sent to the DMA engine
  DelayLine<Ready> ready_;            // answers waiting for the builder
  DelayLine<OnItsWay> on_their_way_;  // READ data asked for
  DelayLine<PacketHandle> line_;      // the builder's pipeline
  std::uint32_t pending_ = 0;         // answers accepted and not started (R1)
  std::uint64_t next_ticket_ = 0;
  Cycle next_start_{};
  bool wants_buffer_ = false;  // no response buffer was free: nothing tells when one is
  AckGeneratorCounters counters_;
};

}  // namespace rxnic
