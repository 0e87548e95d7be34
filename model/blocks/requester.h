// SPDX-License-Identifier: Apache-2.0
// Requester: carries out what ibv_post_send asks for. Functionally complete; its timing is coarse: no PCIe bandwidth,
// no caches, no address translation time. (The receive path is what is modelled by the cycle; this is what drives it.)
// The decisions are model/core/requester/send_qp and what it is made of: send_ring, send_wqe_format, send_queue,
// request_packet, payload_reader.
//
//   R1  Doorbell taken in cycle n: its WQEs are in the device read_latency later, at once when it is one WQE of at most
//       doorbell_wqe_bytes behind which nothing waits; their payload another read_latency later, unless it is inline or
//       there is none. latency_cycles later the first packet can leave. What was posted before it leaves first.
//   R2  One packet leaves in cycles_per_packet, the first of a WQE cycles_per_wqe after the packet before it at least.
//       QPs with a packet to send take turns.
//   R3  RC: a notice tells the receive path of a request in the cycle in which its first packet leaves, once. Answers
//       come back as AnswerNotices. UC, UD: a signaled request completes when its last packet has left.
//       The receive path has places for own_requests of them and gives them back (`places`): without one no request of
//       RC begins, what was begun and other QPs go on (wait_response, counter table_waits).
//   R4  Going back (core/requester/send_queue.h) costs a read_latency. Timers: a timeout of 4.096 us * 2^code without
//       progress, the wait that an RNR NAK asks for. They are due in the cycle that step() returns.
//   R5  A WQE that fails here (its SGEs, its opcode, its length) completes in error after all before it.
//   R6  After a failure each WQE completes in order, one a cycle: the first with its status, the rest and what is
//       posted later as flushed. When the receive path found the failure: all as flushed.
//   R7  Completions go to the context cache and wait there for their turn (SendCompletion).
//   R8  A producer index that would have more WQEs waiting than the queue has slots is a local QP operation error.
//   R9  kSqd: what was begun goes on, no WQE is begun. Below kRts nothing is sent.
//   R10 send_queues QPs at most, with those that were destroyed and that the receive path has not been told to forget.
//   R11 `commands` of the command processor: taken after what the receive path has found out and after the doorbells,
//       one a cycle. A reset is answered when the receive path has been notified of it, all others at once; a QP that
//       there is no room for is not made (`ok` is false).
//   R12 An event when a QP that was moved to kSqd with notify_drained has the answers to all that was begun; none when
//       it leaves that state before.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/blocks/ledger.h"
#include "model/core/requester/send_qp.h"
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
            NicShared& shared, HostMemory& memory, std::uint32_t own_requests = TransportCheckerParams{}.own_requests);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const RequesterCounters& counters() const { return counters_; }

  // Before the simulation starts. The port's own addresses; before the first QP is in kRts.
  void set_port(const MacAddress& mac, std::span<const SourceGid> gids);
  bool create(const SendQpContext& context);  // false: there are send_queues QPs (R10)
  // Replaces what software sets, the state too (kError: as fail). The SQ's PSN only when asked for.
  void modify(const SendQpContext& context, bool set_sq_psn);
  // For tests. In kSqd: nothing that was begun is without its answer.
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
  // A QP and its part in the block: its timer, its place in the circle of those with a packet.
  struct Sq final : SendQp {
    using SendQp::SendQp;
    std::uint64_t timeout_cycles = 0;  // 0: never
    Cycle deadline = kNever;
    TimerEntry timer;          // not after the deadline
    Cycle not_before{};        // for the next packet
    std::uint64_t number = 0;  // QPs are numbered as they are created
    bool awaits = false;       // counted in awaiting_
    bool flushes = false;      // in flushing_
    Sq* next = nullptr;        // nullptr: not in the circle
    Sq* previous = nullptr;
  };
  enum class Turn : std::uint8_t { kNobody, kSent, kRefused };

  void carry_out_command(Cycle now);
  StepDone carry_out(const SendQueueCommand& command);
  void fail(Qpn qpn);     // to the error state: all that is posted is flushed
  void reset(Qpn qpn);    // as after create(); the receive path forgets its requests
  void destroy(Qpn qpn);  // nothing of it is touched afterwards
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
  void fail(Sq& q, WcStatus status);
  void update(Sq& q);
  void join(Sq& q);
  void leave(Sq& q);
  Sq* find(Qpn qpn) const;
  void set_timeout(Sq& q) const;

  RequesterParams params_;
  std::uint32_t own_requests_;
  std::uint32_t clock_period_ps_;
  std::uint64_t read_cycles_;
  NicShared& shared_;
  SendPort port_;
  std::vector<std::unique_ptr<Sq>> sqs_;
  std::unordered_map<std::uint32_t, Sq*> by_qpn_;
  Sq* turn_ = nullptr;                   // of the circle: whose turn it is
  std::vector<Sq*> flushing_;            // in the order in which they failed
  DelayLine<SendCompletion> successes_;  // of UC and UD, to be sent
  std::vector<Qpn> resets_;              // to be told the receive path
  std::vector<Qpn> draining_;            // QPs that report that they are drained (R12)
  bool command_begun_ = false;           // the one at the head of the link: it waits for its reset to be reported
  StepDone command_reply_;
  TimerHeap<Sq> timers_;            // of a timer that was stopped or moved on until its entry comes up, too
  std::vector<Sq*> due_;            // of one call of run_timers()
  std::uint64_t created_ = 0;       // QPs
  std::uint32_t armed_ = 0;         // QPs with a timer
  std::uint32_t awaiting_ = 0;      // QPs with requests that wait for answers
  std::uint32_t places_taken_ = 0;  // of own_requests
  bool lacks_place_ = false;        // a request waits for one
  Cycle next_timer_ = kNever;       // no timer is before it
  Cycle next_send_{};
  Cycle next_ready_ = kNever;  // of the circle, when nobody could send
  RequesterCounters counters_;
};

}  // namespace rxnic
