// SPDX-License-Identifier: Apache-2.0
// Requester: sends the requests that ibv_post_send posts. Functionally complete; its timing is coarse: no caches, no
// time for the translation of addresses. (The model by the cycle is of the receive path; the requester gives it
// traffic.) The decisions are model/core/requester/send_qp and its parts: send_ring, send_wqe_format, send_queue,
// request_packet, payload_locator.
//
//   R1  WQEs are read by DMA when none of the QP is in the device, up to wqes_per_read at once. A QP has one read at a
//       time. QPs take turns in the order in which they came to need a read. A WQE may come with its doorbell (SendQp,
//       R6).
//   R2  Packets are made at least cycles_per_packet apart, the packet after the first one of a WQE at least
//       cycles_per_wqe after it. QPs with a packet to send take turns. A QP keeps its turn until it has made packets
//       with gather_bytes of payload of a message. The turn also ends with the message, or when the QP cannot make
//       another packet now. The payload, unless it is inline, is read by DMA from then on, one piece a cycle. No packet
//       is made while payload_buffer_bytes or more have not left. The packets of a turn can leave latency_cycles after
//       the last byte of all of them has come. So gather_bytes, not the MTU, says how much is gathered. With no payload
//       to read they can leave latency_cycles after the turn. They leave behind the packets that the QP made before.
//       Packets leave cycles_per_packet apart, in the order in which they can leave. Packets of the same cycle leave in
//       the order in which they could have left but for their QP. So a slow read holds up its own QP's packets.
//   R3  RC: a notice reports a request to the receive path in the cycle in which its first packet is made, once.
//       Responses are reported back as AnswerNotices, and those of READs and atomics once more when their data has left
//       for memory (`placed`). The receive path has places for own_requests requests and gives them back (`places`).
//       Without a free place no request of RC begins. Requests that have begun and QPs of other transports go on
//       (wait_response, counter table_waits). UC, UD: a signaled request completes when its last packet has left.
//   R4  Going back (core/requester/send_queue.h) costs a read of a WQE. Timers: a timeout of 4.096 us * 2^code without
//       progress, and the wait that an RNR NAK asks for. The timeout is counted from when a packet of the QP left and
//       found no timeout running. They are due in the cycle that step() returns.
//   R5  A WQE that fails here (its SGEs, its opcode, its length, memory that is not there) completes in error after all
//       before it. A packet whose payload is not there does not leave, and none of the QP that was made behind it but
//       those of earlier WQEs.
//   R6  After a failure each WQE completes in order, one a cycle: the first with its status, the rest and those posted
//       later as flushed. When the receive path found the failure: all as flushed. Packets of RC and XRC that were made
//       before the failure and have not left do not leave, of whichever WQE they are. UC, UD and RAW_PACKET are in kSqe
//       after a failure that was found here (SendQp, R4).
//   R7  Completions go to the context cache and wait there for their turn (SendCompletion).
//   R8  A producer index by which more WQEs would wait than the queue has slots is a local QP operation error.
//   R9  kSqd: WQEs that have begun go on, no WQE is begun. Below kRts nothing is sent.
//   R10 At most send_queues QPs, including destroyed ones until the receive path has been notified to forget them.
//   R11 `commands` of the command processor are taken after the notices of the receive path and after the doorbells,
//       one a cycle. A command waits until the DMA engine has been asked for all payload of the packet made last. So
//       after the answer to a reset the DMA engine is asked for nothing of the QP. A reset, and a destruction, is
//       answered when the receive path has been notified of it; all other commands are answered at once. A QP that
//       there is no room for is not made (`ok` is false).
//   R12 A QP that was moved to kSqd with notify_drained raises an event when all requests that it has begun are
//       acknowledged. A QP that leaves that state before raises none.
//   R13 A QP whose rate CNPs have reduced (core/requester/send_rate.h) sends its next packet when the rate allows it;
//       other QPs go on (wait_rate). Its timeout begins when the next packet may leave: waiting for the rate is no lack
//       of progress. Its packets of RoCEv2 say that they are ECN capable.
//   R14 A rendezvous (core/requester/rendezvous_table.h) is begun in the cycle in which it comes. Its place is given
//       back (`rendezvous_places`) when its FIN is acknowledged, its WQE flushed, or its QP reset or not there any
//       more. Going back to a WQE of the device itself costs no read.
//   R15 A WQE that the command processor carries out (SendQp, R9) goes to it, one a cycle (`windows`). QPs take their
//       turn in the order in which they came to such a WQE. The answer comes on `windows_done`. When it is signaled and
//       done it completes as a request of UC.
//   R16 A QP whose next packet needs an absent page asks for the page with an event (SendQp, R10). The QP sends nothing
//       until the reply, a doorbell, has come; other QPs go on (wait_page). Its timeout begins again with the reply.
//       When nobody takes events there is no such page.
//   R17 A message of TSO is made packet by packet, as one of several packets, and has one completion. IP checksums
//       (SendQp, R12) are made as the packet leaves: their time is a part of latency_cycles, as the ICRC's is.
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
#include "model/engine/growing_queue.h"
#include "model/engine/sorted_line.h"
#include "model/params/params.h"
#include "model/ports/requester_ports.h"
#include "model/types/command.h"
#include "model/types/dma.h"
#include "model/types/event.h"
#include "model/types/refusal.h"
#include "model/types/rendezvous.h"
#include "model/types/requester_notice.h"

namespace rxnic {

class Requester final : public RequesterPorts {
 public:
  Requester(const sc_core::sc_module_name& name, const RequesterParams& params, std::uint32_t clock_period_ps,
            PacketPool& packets, HostMemory& memory, std::uint32_t own_requests = TransportCheckerParams{}.own_requests,
            std::uint32_t link_gbps = NicParams{}.link_gbps);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const RequesterCounters& counters() const override { return counters_; }

  // Before the simulation starts, and before the first QP is in kRts: sets the port's own addresses.
  void set_port(const MacAddress& mac, std::span<const SourceGid> gids) override;
  bool create(const SendQpContext& context) override;  // false: there are send_queues QPs (R10)
  // Replaces the attributes that software sets, the state too (kError: as fail); the SQ's PSN only with `set_sq_psn`.
  void modify(const SendQpContext& context, bool set_sq_psn, bool recovers = false) override;
  // For tests. In kSqd: all requests that have begun are acknowledged.
  bool drained(Qpn qpn) const;

 private:
  // A QP and the block's state of it: its timer, its place in the circle of QPs with a packet to send.
  struct Sq final : SendQp {
    using SendQp::SendQp;
    std::uint64_t timeout_cycles = 0;  // 0: never
    Cycle deadline = kNever;
    TimerEntry timer;                 // not after the deadline
    Cycle not_before{};               // for the next packet
    SendRate rate;                    // (R13)
    std::uint64_t number = 0;         // QPs are numbered as they are created
    std::uint32_t made = 0;           // UC, UD: packets that have not left, before whose completion none other comes
    std::uint32_t resets = 0;         // so far: what was asked for before the last one is not for this queue
    bool reads = false;               // asks for WQEs, or waits for them (R1)
    bool asks_window = false;         // in window_asks_ (R15)
    bool goes_back = false;           // reads a WQE to send it again (R4)
    bool awaits = false;              // counted in awaiting_
    bool flushes = false;             // in flushing_
    bool awaits_page = false;         // (R16)
    std::uint32_t last_made = kNone;  // place of its packet made last, while that has not left
    Sq* next = nullptr;               // nullptr: not in the circle
    Sq* previous = nullptr;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  enum class Turn : std::uint8_t { kNobody, kSent, kRefused };
  struct WindowAsk {  // a WQE that the command processor carries out (R15)
    Qpn qpn;
    std::uint64_t number = 0;  // of the QP
    std::uint32_t resets = 0;
  };
  struct WqeRead {       // that is asked for or under way
    bool again = false;  // to send its packets again (R4)
    Qpn qpn;
    std::uint64_t number = 0;  // of the QP
    std::uint32_t resets = 0;
    std::uint32_t count = 0;  // WQEs
  };
  struct PageAsk {  // a page request without a reply (R16)
    std::uint32_t id = 0;
    Qpn qpn;
    std::uint64_t number = 0;  // of the QP
    std::uint32_t resets = 0;
    std::uint32_t wqe = 0;
  };
  struct Made {                  // a packet on its way to the port
    std::uint32_t turn = kNone;  // place of the first packet of its turn
    std::uint32_t pieces = 0;    // in the first of a turn: of the payload of all of it, that have not come
    std::uint32_t last = kNone;  // likewise: place of the last one
    bool open = false;           // likewise: the turn goes on
    Cycle ready = kNever;        // when it can leave, but for those of its QP before it
    bool waits = false;          // for one of its QP
    std::uint32_t next = kNone;  // place of the next packet of its QP
    WireFrame frame;
    Qpn qpn;
    std::uint64_t number = 0;  // of the QP
    std::uint32_t wqe = 0;
    std::uint32_t bytes = 0;  // of payload
    bool reliable = false;
    bool checksums = false;  // are to be filled in (R17)
    bool lost = false;       // its payload could not be read
    bool dropped = false;
    bool completes = false;
    SendCompletion completion;
  };

  void carry_out_command(Cycle now);
  SendQueueReply carry_out(const SendQueueCommand& command);
  void fail(Qpn qpn);   // to the error state: all posted WQEs are flushed
  void reset(Qpn qpn);  // as after create(); the receive path forgets its requests
  void destroy(Qpn qpn);
  void report_drained(Cycle now);
  void take_doorbell(const Doorbell& doorbell, Cycle now);
  bool ask_for_page(Sq& q, Cycle now);
  void take_page_reply(const Doorbell& reply, Cycle now);
  void take_rendezvous(const RendezvousRequest& request, Cycle now);
  bool give_back_places(Cycle now);
  void take_window_done(Cycle now);
  bool ask_for_window(Cycle now);
  void take_wqes(Cycle now);
  bool ask_for_wqes(Cycle now);
  bool ask_for_payload(Cycle now);
  void take_payload(Cycle now);
  void end_turn(Cycle now);
  void be_ready(std::uint32_t turn, Cycle cycle);
  void remove_made(std::uint32_t place);
  std::uint32_t packets_made() const { return static_cast<std::uint32_t>(made_.size() - free_made_.size()); }
  void ask_again(Sq& q);
  Turn send_made(Cycle now);
  void drop_made(Sq& q);
  void lose(Made& first);
  void take_answer(const AnswerNotice& notice, Cycle now);
  void take_placed(const AnswerNotice& notice);
  void run_timers(Cycle now);
  void restart_timer(Sq& q, Cycle now);
  void arm(Sq& q, Cycle deadline);
  void disarm(Sq& q);
  void queue_timer(Sq& q);
  void time_out(Sq& q, Cycle now);
  void send_resets(Cycle now);
  Turn complete_one(Cycle now);
  void push_completion(SendCompletion c, Cycle now);
  bool asked_for_all() const { return asked_pieces_ == payload_.pieces.size(); }
  bool may_make() const { return !free_made_.empty() && made_bytes_ < params_.payload_buffer_bytes && asked_for_all(); }
  Turn make_one(Cycle now);
  Turn make_packet(Sq& q, Cycle now);
  bool has_place(const Sq& q) const;
  void take_cnp(Sq& q, Cycle now);
  void count_bytes(Sq& q, std::uint32_t bytes, Cycle now);
  void fail(Sq& q, WcStatus status);
  void resume(Sq& q);
  void update(Sq& q);
  void join(Sq& q);
  void leave(Sq& q);
  Sq* find(Qpn qpn) const;
  Sq* find(Qpn qpn, std::uint64_t number) const;  // nullptr: it is another QP by now
  template <class Asked>
  Sq* find(const Asked& by) const {  // nullptr: it was reset or destroyed since
    Sq* const q = find(by.qpn, by.number);
    return q != nullptr && q->resets == by.resets ? q : nullptr;
  }
  void set_timeout(Sq& q) const;

  RequesterParams params_;
  SendRateRules rate_rules_;
  std::uint32_t own_requests_;
  std::uint32_t clock_period_ps_;
  PacketPool& packets_;
  SendState port_;
  std::vector<std::unique_ptr<Sq>> sqs_;
  std::unordered_map<std::uint32_t, Sq*> by_qpn_;
  Sq* turn_ = nullptr;            // the QP of the circle whose turn it is
  GrowingQueue<WqeRead> asked_;   // not given to the DMA engine yet
  std::vector<WqeRead> reading_;  // by cookie: as many as were ever read together
  std::vector<std::uint32_t> free_reading_;
  GrowingQueue<WindowAsk> window_asks_;   // not given to the command processor yet
  GrowingQueue<WindowAsk> windows_open_;  // in the order in which they are answered
  std::vector<PageAsk> page_asks_;
  std::uint32_t last_page_ask_ = 0;  // 24 bits
  std::vector<Made> made_;           // packet_buffers places (R2)
  std::vector<std::uint32_t> free_made_;
  SortedLine<std::uint32_t> leaving_;   // those that wait for none of their QP, by when they can leave
  std::uint32_t made_bytes_ = 0;        // of payload in made_
  std::uint32_t open_turn_ = kNone;     // the turn that goes on: place of its first packet
  std::uint32_t turn_bytes_ = 0;        // of payload in it
  SendQp::Payload payload_;             // of the packet made last, of whose pieces
  std::size_t asked_pieces_ = 0;        // so many are given to the DMA engine
  std::uint8_t* payload_at_ = nullptr;  // in its frame
  std::uint32_t payload_place_ = 0;     // of that packet in made_
  Cycle next_leave_{};
  std::vector<Sq*> flushing_;            // QPs with WQEs to flush, in the order in which they failed
  DelayLine<SendCompletion> successes_;  // of UC and UD, to be sent
  std::vector<Qpn> resets_;              // QPs whose reset is to be reported to the receive path
  std::vector<Qpn> draining_;            // QPs that report that they are drained (R12)
  bool command_begun_ = false;           // the command at the head of the link waits for its reset to be reported
  SendQueueReply command_reply_;
  TimerHeap<Sq> timers_;            // entries may be of timers that were since stopped or restarted
  std::vector<Sq*> due_;            // of one call of run_timers()
  std::uint64_t created_ = 0;       // QPs
  std::uint32_t armed_ = 0;         // QPs with a timer
  std::uint32_t awaiting_ = 0;      // QPs with requests that wait for responses
  std::uint32_t places_taken_ = 0;  // of own_requests
  bool lacks_place_ = false;        // a request waits for one
  std::uint32_t places_freed_ = 0;  // of rendezvous, not given back yet
  Cycle next_timer_ = kNever;       // no timer is due before it
  Cycle next_make_{};
  Cycle next_ready_ = kNever;  // when no QP of the circle could send: when the first one can
  RequesterCounters counters_;
};

}  // namespace rxnic
