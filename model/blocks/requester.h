// SPDX-License-Identifier: Apache-2.0
// Requester: sends the requests that ibv_post_send posts. Functionally complete; its timing is coarse: no PCIe
// bandwidth, no caches, no address translation time. (The model by the cycle is of the receive path; the requester
// gives it traffic.) The decisions are model/core/requester/send_qp and its parts: send_ring, send_wqe_format,
// send_queue, request_packet, payload_reader.
//
//   R1  The WQEs of a doorbell that is taken in cycle n are in the device read_latency later, or at once when it is one
//       WQE of at most doorbell_wqe_bytes and no other waits before it; their payload is read another read_latency
//       later, unless it is inline or there is none. latency_cycles later the first packet can leave. WQEs that were
//       posted before leave first.
//   R2  Packets leave at least cycles_per_packet apart; the packet after the first one of a WQE at least cycles_per_wqe
//       after it. QPs with a packet to send take turns.
//   R3  RC: a notice reports a request to the receive path in the cycle in which its first packet leaves, once.
//       Responses are reported back as AnswerNotices. The receive path has places for own_requests requests and gives
//       them back (`places`): without a free one no request of RC begins; requests that have begun and QPs of other
//       transports go on (wait_response, counter table_waits). UC, UD: a signaled request completes when its last
//       packet has left.
//   R4  Going back (core/requester/send_queue.h) costs a read_latency. Timers: a timeout of 4.096 us * 2^code without
//       progress, the wait that an RNR NAK asks for. They are due in the cycle that step() returns.
//   R5  A WQE that fails here (its SGEs, its opcode, its length) completes in error after all before it.
//   R6  After a failure each WQE completes in order, one a cycle: the first with its status, the rest and those posted
//       later as flushed. When the receive path found the failure: all as flushed.
//   R7  Completions go to the context cache and wait there for their turn (SendCompletion).
//   R8  A producer index by which more WQEs would wait than the queue has slots is a local QP operation error.
//   R9  kSqd: WQEs that have begun go on, no WQE is begun. Below kRts nothing is sent.
//   R10 At most send_queues QPs, including destroyed ones until the receive path has been notified to forget them.
//   R11 `commands` of the command processor: taken after the notices of the receive path and after the doorbells, one a
//       cycle. A reset is answered when the receive path has been notified of it, all others at once; a QP that there
//       is no room for is not made (`ok` is false).
//   R12 A QP that was moved to kSqd with notify_drained raises an event when all requests that it has begun are
//       acknowledged; none when it leaves that state before.
//   R13 A QP whose rate CNPs have reduced (core/requester/send_rate.h) sends its next packet when the rate allows it;
//       other QPs go on (wait_rate). Its timeout begins when the next packet may leave: waiting for the rate is no lack
//       of progress. Its packets of RoCEv2 say that they are ECN capable.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/blocks/ledger.h"
#include "model/core/requester/send_qp.h"
#include "model/core/requester/send_rate.h"
#include "model/core/requester/timer_heap.h"
#include "model/engine/delay_line.h"
#include "model/engine/link.h"
#include "model/params/params.h"
#include "model/types/command.h"
#include "model/types/event.h"
#include "model/types/refusal.h"
#include "model/types/requester_counters.h"
#include "model/types/requester_notice.h"

namespace rxnic {

class Requester final : public Block {
 public:
  Requester(const sc_core::sc_module_name& name, const RequesterParams& params, std::uint32_t clock_period_ps,
            NicShared& shared, HostMemory& memory, std::uint32_t own_requests = TransportCheckerParams{}.own_requests,
            std::uint32_t link_gbps = NicParams{}.link_gbps);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const RequesterCounters& counters() const { return counters_; }

  // Before the simulation starts, and before the first QP is in kRts: sets the port's own addresses.
  void set_port(const MacAddress& mac, std::span<const SourceGid> gids);
  bool create(const SendQpContext& context);  // false: there are send_queues QPs (R10)
  // Replaces the attributes that software sets, the state too (kError: as fail); the SQ's PSN only with `set_sq_psn`.
  void modify(const SendQpContext& context, bool set_sq_psn);
  // For tests. In kSqd: all requests that have begun are acknowledged.
  bool drained(Qpn qpn) const;

  In<Doorbell> doorbells{"doorbells"};
  In<AnswerNotice> answers{"answers"};
  In<FailedQp> failed{"failed"};  // QPs that the receive path moved to the error state
  In<RequestPlaces> places{"places"};
  Out<RequestNotice> notices{"notices"};
  Out<SendCompletion> completions{"completions"};
  Out<WireFrame> tx{"tx"};
  In<SendQueueCommand> commands{"commands"};
  Out<StepDone> command_done{"command_done"};
  Out<Event> events{"events"};  // may stay unbound

 private:
  // A QP and the block's state of it: its timer, its place in the circle of QPs with a packet to send.
  struct Sq final : SendQp {
    using SendQp::SendQp;
    std::uint64_t timeout_cycles = 0;  // 0: never
    Cycle deadline = kNever;
    TimerEntry timer;          // not after the deadline
    Cycle not_before{};        // for the next packet
    SendRate rate;             // (R13)
    std::uint64_t number = 0;  // QPs are numbered as they are created
    bool awaits = false;       // counted in awaiting_
    bool flushes = false;      // in flushing_
    Sq* next = nullptr;        // nullptr: not in the circle
    Sq* previous = nullptr;
  };
  enum class Turn : std::uint8_t { kNobody, kSent, kRefused };

  void carry_out_command(Cycle now);
  StepDone carry_out(const SendQueueCommand& command);
  void fail(Qpn qpn);     // to the error state: all posted WQEs are flushed
  void reset(Qpn qpn);    // as after create(); the receive path forgets its requests
  void destroy(Qpn qpn);  // its memory is not accessed afterwards
  void report_drained(Cycle now);
  void take_doorbell(const Doorbell& doorbell, Cycle now);
  void take_answer(const AnswerNotice& notice, Cycle now);
  void run_timers(Cycle now);
  void restart_timer(Sq& q, Cycle now);
  void arm(Sq& q, Cycle deadline);
  void disarm(Sq& q);
  void queue_timer(Sq& q);
  void time_out(Sq& q, Cycle now);
  void send_resets(Cycle now);
  Turn complete_one(Cycle now);
  void push_completion(SendCompletion c, Cycle now);
  Turn send_one(Cycle now);
  Turn send_packet(Sq& q, Cycle now);
  bool has_place(const Sq& q) const;
  void take_cnp(Sq& q, Cycle now);
  void count_bytes(Sq& q, std::uint32_t bytes, Cycle now);
  void fail(Sq& q, WcStatus status);
  void update(Sq& q);
  void join(Sq& q);
  void leave(Sq& q);
  Sq* find(Qpn qpn) const;
  void set_timeout(Sq& q) const;

  RequesterParams params_;
  SendRateRules rate_rules_;
  std::uint32_t own_requests_;
  std::uint32_t clock_period_ps_;
  std::uint64_t read_cycles_;
  NicShared& shared_;
  SendPort port_;
  std::vector<std::unique_ptr<Sq>> sqs_;
  std::unordered_map<std::uint32_t, Sq*> by_qpn_;
  Sq* turn_ = nullptr;                   // the QP of the circle whose turn it is
  std::vector<Sq*> flushing_;            // QPs with WQEs to flush, in the order in which they failed
  DelayLine<SendCompletion> successes_;  // of UC and UD, to be sent
  std::vector<Qpn> resets_;              // QPs whose reset is to be reported to the receive path
  std::vector<Qpn> draining_;            // QPs that report that they are drained (R12)
  bool command_begun_ = false;           // the command at the head of the link waits for its reset to be reported
  StepDone command_reply_;
  TimerHeap<Sq> timers_;            // entries may be of timers that were since stopped or restarted
  std::vector<Sq*> due_;            // of one call of run_timers()
  std::uint64_t created_ = 0;       // QPs
  std::uint32_t armed_ = 0;         // QPs with a timer
  std::uint32_t awaiting_ = 0;      // QPs with requests that wait for responses
  std::uint32_t places_taken_ = 0;  // of own_requests
  bool lacks_place_ = false;        // a request waits for one
  bool paces_ = false;              // no QP of the circle could send, one of them because of its rate
  Cycle next_timer_ = kNever;       // no timer is due before it
  Cycle next_send_{};
  Cycle next_ready_ = kNever;  // when no QP of the circle could send: when the first one can
  RequesterCounters counters_;
};

}  // namespace rxnic
