// SPDX-License-Identifier: Apache-2.0
// ACK generator: retires packets and sends the responses to them: ACK, NAK, RNR NAK, READ and atomic responses.
//
//   R1  One packet retires a cycle, in the cycle in which it is taken; its buffer is free then. A packet whose response
//       has to wait (R3) is not taken while answers_waiting responses wait. A packet whose response need not wait is
//       not taken while queue_depth such responses are held (R6), or are ready and not started.
//   R2  The builder starts at most one response every response_cycles; it leaves latency_cycles after its start. When
//       no other response is in its way, the ACK of a packet taken in cycle n leaves in cycle n + latency_cycles.
//       Responses without data, in the order in which they became ready, and READ data that has come take turns.
//   R3  Responses of a QP leave in the order of its packets: those behind a READ or an atomic wait for its last
//       response. No response waits for one of another QP (core/responder/answer_table.h). An ACK that waits so is
//       replaced by the next ACK of its QP. When answers_per_qp responses of a QP wait, its next READ or atomic fails
//       the QP with NAK 0x61. So does one that is not repeated while max_dest_rd_atomic of them wait, when
//       rd_atomic_over_limit is nak and the QP does not resynchronise.
//   R4  READ: the data of a response is asked for (`gather`) in one piece, or in two when it crosses a page. One piece
//       is asked for in a cycle, the first at the earliest in the cycle in which the request is taken. At most
//       read_responses_per_qp responses of a QP, and read_responses_in_flight of all, are on their way: asked for and
//       not started by the builder. At most reads_in_progress QPs are served together. They take turns of
//       responses_per_turn responses, a QP that has as many on their way as it may gives up its turn. Data taken in
//       cycle m leaves in cycle m + latency_cycles at the earliest. READs of one QP may overlap. Data comes in any
//       order. Data of one QP leaves in the order in which it was asked for. Between QPs data leaves in the order in
//       which it came.
//   R5  Atomic: carried out at the packet's `bus` address. The atomic waits until everything before it in its QP has
//       been answered and no other atomic of its bucket is being carried out. A bucket is chosen by bits 3 and up of
//       the address, of atomic_buckets. Atomics of a bucket are carried out in the order in which they came to it, at
//       most atomics_in_flight of all. The result is saved in the packet's responder resource before the response is
//       sent. A replay gets the saved result, and no response when there is none. An ATOMIC WRITE likewise: its
//       response is a READ RESPONSE ONLY without data, sent when the write is done. A FLUSH reads the first byte of its
//       range there, behind the WRITEs before it, and gets the same response. One without a range reads nothing.
//   R6  Coalescing: an ACK is held until it acknowledges coalesce_packets requests of its QP, or until coalesce_timer
//       after the first of them. When another response of the QP is due, the held ACK leaves before that response. It
//       carries the newest PSN and MSN. ACKs of at most queue_depth / 2 QPs are held together; one beyond them, or one
//       behind a READ or an atomic, is not held.
//   R7  A READ or atomic whose memory access fails is answered with NAK 0x63 (0x62 when its translation failed). The QP
//       goes to the error state. Packets behind it get no response, but are carried out and completed unless the WQE
//       fetcher flushes them. Nor is the NAK of a packet behind it sent whose error was found earlier. `failures`
//       notifies the completion generator, `refusals` the transport checker. `failures` has an entry for each line of
//       the context cache. While one of a QP waits there, further failures of the QP are not reported. When the access
//       failed because the program has ended (`gone`), the NAK is not sent either. The QP is then as silent as it will
//       be once it is freed.
//   R8  A response is built in a buffer of its own: without a free one the builder waits (wait_response). The block
//       that takes the frame from `tx` releases it. READ data leaves one to ready responses without data.
//   R9  A command is answered when as many packets as it says have retired and no atomic is still to be carried out on
//       its region.
//   R10 A packet of a connected QP that is marked Congestion Experienced gives a CNP in the cycle in which it retires.
//       It gives none when core/responder/cnp_pacer.h forbids a CNP, or when cnp_depth CNPs wait. The builder makes
//       CNPs before all other responses; R2 and R8 hold for them. A packet that is dropped before it comes here gives
//       none.
#pragma once

#include <memory>
#include <vector>

#include "model/blocks/ledger.h"
#include "model/core/responder/answer_table.h"
#include "model/core/responder/cnp_pacer.h"
#include "model/core/responder/read_scheduler.h"
#include "model/core/responder/refusal.h"
#include "model/engine/delay_line.h"
#include "model/engine/sorted_line.h"
#include "model/params/params.h"
#include "model/ports/ack_generator_ports.h"
#include "model/types/command.h"
#include "model/types/packet_stamps.h"

namespace rxnic {

class AckGenerator final : public AckGeneratorPorts {
 public:
  AckGenerator(const sc_core::sc_module_name& name, const AckGeneratorParams& params, PacketPool& packets,
               Ledger& ledger, QpPinPort contexts, std::uint32_t clock_period_ps, RdAtomicOverLimit over_limit = {},
               std::unique_ptr<ReadScheduler> scheduler = nullptr);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const AckGeneratorCounters& counters() const override { return counters_; }
  void set_observer(ResponseObserver* observer) override { observer_ = observer; }

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
  struct Cnp {
    Headers h;
    std::uint64_t id = 0;  // of the marked packet, for observers
    Qpn qpn{};             // likewise
  };
  struct Bucket {  // of addresses of atomics
    bool busy = false;
    Index first = kNone, last = kNone;  // that wait for it
  };
  struct OnItsWay {  // READ data that was asked for and has not left
    Index flow = kNone, answer = kNone;
    PacketHandle buffer{};
    Cycle came = kNever;
    GatheredData data;
    std::uint32_t next = kNone;  // of the same QP
  };

  // Bits of inputs_.
  static constexpr std::uint64_t kGathered = 1, kAtomicDone = 2;
  static constexpr std::uint64_t kFromMemory = kGathered | kAtomicDone;

  void take_from_memory(Cycle now);
  void carry_out_command(Cycle now);
  bool has_atomic_on(Key region) const;
  bool take(Cycle now);
  bool has_room(const AckRequest& p) const;
  void answer(const AckRequest& p, Cycle now);
  void owe(const AckRequest& p, OwedAnswer& a);
  bool refuses(const AckRequest& p, const AnswerTable::Flow& waiting);
  void hold(Index flow, Index answer, Cycle now);
  void unhold(Index flow);
  void append(Index flow, Index answer, Cycle now);
  void advance(Index flow, Cycle now);
  Index readable(const AnswerTable::Flow& f) const;
  void issue(Cycle now);
  void schedule();
  void issue_read(Index flow, Index at, Cycle now);
  void ask_piece(Cycle now);
  void take_data(Cycle now);
  const ReturnPath& return_path(const AckRequest& p);
  void notify_congestion(const AckRequest& p, Cycle now);
  void start_build(Cycle now);
  void build_cnp(Cycle now);
  void build_read_response(Cycle now);
  void build_plain(Cycle now);
  void make_ready(Index at, bool plain) { ready_.push({at, plain, next_ticket_++}, Cycle{}); }
  void prepare_atomic(const AckRequest& p, Index at);
  Bucket& bucket_of(Index atomic);
  void enter_bucket(Index atomic);
  void leave_bucket(Index atomic);
  void issue_atomic(Cycle now);
  void finish_atomic(Cycle now);
  bool may_do_atomic() const { return !atomics_.empty() && atomics_open_ < params_.atomics_in_flight; }
  void make_nak(OwedAnswer& answer, std::uint8_t syndrome);
  void fail_silently(Index at);
  void fail_qp(const OwedAnswer& a, EventType event);
  void fail_behind(Index at);
  void discard(Index at, Cycle now);
  void build(PacketHandle h, std::uint32_t payload_bytes, Qpn qpn, Cycle begun, Cycle now);
  void count_ack(std::uint8_t syndrome, Qpn qpn, std::uint64_t id, Cycle now);
  void leave(const WireFrame& frame, Cycle now);
  std::uint8_t ack_syndrome(const AckRequest& p) const;
  Activity idle_activity() const;
  Cycle busy_until() const { return latest(next_start_, last_leaves_); }
  Activity activity_now(Cycle now, bool refused, bool stalled) const;
  Cycle next_step(Cycle now, bool refused, bool stalled);

  AckGeneratorParams params_;
  std::uint64_t inputs_ = 0;  // bit by input whose link is not empty
  ResponseObserver* observer_ = nullptr;
  RdAtomicOverLimit over_limit_;
  PacketPool& packets_;
  Ledger& ledger_;
  PacketStamps stamps_;
  QpPinPort contexts_;
  std::uint64_t hold_cycles_;
  Refusals refused_;
  AnswerTable answers_;
  std::vector<AtomicResult> results_;         // by handle of the responder resource
  std::vector<DmaRequest> atomic_requests_;   // by answer
  std::vector<Key> atomic_regions_;           // by answer: key by which its address was found
  DelayLine<QpFailure> failed_;               // to be reported: at most one a QP, whose line is pinned for it
  std::vector<Index> held_;                   // flows with a held ACK, oldest first
  std::unique_ptr<ReadScheduler> scheduler_;  // nullptr: in turn
  DelayLine<Index> served_;                   // flows with READ data to ask for, in turn
  DelayLine<Index> unserved_;                 // flows that wait until they may join served_
  DelayLine<Index> atomics_;                  // atomics that have their bucket, to be carried out
  std::uint32_t atomics_open_ = 0;            // given to the DMA engine
  std::uint32_t atomics_waiting_ = 0;         // for their bucket
  std::vector<Bucket> buckets_;
  std::vector<Index> next_in_bucket_;   // by answer
  DelayLine<Ready> ready_;              // responses without data, waiting for the builder
  CnpPacer cnp_pacer_;                  // which marked packets give a CNP
  DelayLine<Cnp> cnps_;                 // that wait for the builder
  std::vector<OnItsWay> on_their_way_;  // read_responses_in_flight places
  std::vector<std::uint32_t> free_ways_;
  std::uint32_t at_limit_ = 0;                      // flows that are served and have as much on its way as a QP may
  SortedLine<std::uint32_t> data_ready_;            // those that have come and are the first of their QP
  DelayLine<WireFrame> line_;                       // the builder's pipeline
  std::vector<std::unique_ptr<ReturnPath>> paths_;  // by the lowest bits of a QPN, from its first response on
  Cycle last_leaves_{};                             // of the responses that went to the port at once
  PieceList pieces_;                                // of the response that is being asked for
  std::uint32_t next_piece_ = 0;
  GatherSegment asking_;
  std::uint32_t ready_plain_ = 0;  // responses that did not wait, ready or held (R1)
  std::uint32_t waiting_ = 0;      // responses in flows
  std::uint64_t next_ticket_ = 0;
  bool data_next_ = false;  // it is the turn of READ data (R2)
  Cycle next_start_{};
  bool wants_buffer_ = false;  // no response buffer was free
  AckGeneratorCounters counters_;
};

}  // namespace rxnic
