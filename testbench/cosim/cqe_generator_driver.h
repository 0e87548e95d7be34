// SPDX-License-Identifier: Apache-2.0
// What surrounds the completion generator in its random tests: packets of some QPs, and a program that polls, arms and
// changes its CQs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <utility>

#include "model/core/receive_queue/wqe_slots.h"
#include "testbench/cosim/cqe_generator_cqs.h"
#include "testbench/unit/model/blocks/cqe_generator_harness.h"

namespace rxnic::cqe_generator_scene {

// Pushes what comes from outside, as far as there is room, at the sources of the harness. The sinks are stepped first.
class Driver final : public Block {
 public:
  Driver(const sc_core::sc_module_name& name, CqeGeneratorHarness& at, std::uint64_t seed, Cycle end, bool steered)
      : Block(name), at_(at), random_(seed), edges_(seed), end_(end), steered_(steered) {
    at.replies.accept_when([this](Cycle c) { return mood_ != 4 || c.count % 64 == 0 || rests(c) || c >= end_; });
    at.replies.on_value([this](Cycle, const CqReply&) { --asked_; });
    at.released.on_value([this](Cycle, const WqeSlot& r) { slots_.release(r.wqe_slot); });
    at.refusals.on_value([this](Cycle now, const Refusal& r) {
      if (r.kind == RefusalKind::kRequestError) refused_.emplace_back(now, r.line);
    });
  }

  const Edges& edges() const { return edges_; }
  Cycle step(Cycle now) override {
    may_wait_ = now.count >= kFirstRest;
    for (; !refused_.empty() && refused_.front().first < now; refused_.pop_front()) {
      failed_response_ = refused_.front().second;
    }
    if (now >= end_) return rest(now, Activity::kStarved, kNever);
    if (rests(now)) {
      return rest(now, Activity::kStarved, Cycle{may_wait_ ? (now.count / 2048 + 1) * 2048 : kFirstRest});
    }
    if (now.count % kRehearsals < kRehearsal) {
      rehearse(now);
      return rest(now, Activity::kBusy, now + 1);
    }
    if (now.count % 256 == 0) {
      mood_ = random_.below(8);
      focus_ = random_.below(kCqs - 2);
    }
    if (steered_) renew(now);
    if (steered_ && random_.one_in(64)) age(random_.below(kCqs), now);
    const std::uint32_t pace = mood_ == 0 ? 40 : mood_ == 7 ? 20 : mood_ == 1 ? 8 : 1;
    if (random_.one_in(pace) && at_.in.out.can_push(now)) at_.in.out.push(now, packet());
    const std::uint32_t rings = mood_ == 2 ? 2 : moves_timers() ? 3 : mood_ == 6 ? 1 : 12;
    if (random_.one_in(rings) && at_.doorbells.out.can_push(now)) at_.doorbells.out.push(now, doorbell());
    if (asked_ < (mood_ == 4 ? 3 : 1) && random_.one_in(moves_timers() ? 10 : 25) && at_.commands.out.can_push(now)) {
      at_.commands.out.push(now, command());
      ++asked_;
    }
    if (random_.one_in(mood_ == 4 ? 20 : 300) && at_.failures.out.can_push(now)) {
      const std::uint32_t line = any_line();
      at_.shared.contexts.pin(line);
      constexpr EventType kTypes[] = {EventType::kQpAccessError, EventType::kQpFatal, EventType::kQpRequestError};
      at_.failures.out.push(now, {line, kTypes[random_.below(std::size(kTypes))]});
    }
    return rest(now, Activity::kBusy, now + 1);
  }

 private:
  // The block comes to rest, the first time surely: until then no event is moderated for long.
  static bool rests(Cycle c) { return c.count % 2048 >= 1800 || (c.count >= 2048 && c.count < kFirstRest); }
  void rehearse(Cycle now) {
    const Cqn cq = number_of(5);
    if (at_.in.out.can_push(now)) {
      CompletionRequest p;
      p.line = kNoLine;
      p.buffer = PacketHandle{kNoPacket};
      p.opcode = 0x04;
      p.outcome = Outcome::kExecute;
      p.completes = p.ends_message = p.pressed = true;
      p.cq = cq;
      p.qpn = Qpn{random_.below(rehearsed_.overruns ? 2 : 1)};
      p.wqe_index = bits();
      at_.in.out.push(now, p);
      ++rehearsed_packets_;
    }
    if (asked_ > 0 || rehearsed_packets_ < wanted_packets_ || !at_.commands.out.can_push(now)) return;
    rehearsed_ = kRehearsed[next_rehearsed_++ % std::size(kRehearsed)];
    CqCommand c;
    c.operation = rehearsed_.operation;
    c.number = cq;
    c.base = BusAddress{random_.bits()};
    c.slots = rehearsed_.slots;
    c.ignore_overrun = !rehearsed_.overruns;
    c.compress = true;
    at_.commands.out.push(now, c);
    ++asked_;
    rehearsed_packets_ = 0;
    wanted_packets_ = 4 + random_.below(16);
  }

  // QPs that are used again, when none of their packets is in the block.
  void renew(Cycle now) {
    const bool taken = at_.model.failures[0]->popped() != failures_taken_;  // in this cycle
    failures_taken_ = at_.model.failures[0]->popped();
    const bool idle =
        at_.model.in[0]->transfers() == at_.model.out[0]->transfers() && at_.model.failures[0]->size() == 0;
    if (!idle || taken || now.count % 8 != 0) return;
    const std::uint32_t line = any_line();
    QpContext& qp = at_.shared.contexts[line];
    if (line == failed_response_ || qp.pins.held(now)) return;
    if (!qp.flush_requested && !random_.one_in(50)) return;
    qp.flush_requested = qp.last_wqe_event_sent = false;
    ++qp.residence;
    qp.receive_cq = number_of(random_.below(kCqs));
  }
  // A CQ that is not here has been used for long: its numbers are large, or near their ends. What the block writes
  // of this CQ in the same cycle stays.
  void age(std::uint32_t cq, Cycle now) {
    const BusAddress at = cq_context_address(number_of(cq));
    const auto& log = at_.contexts.log();
    const bool written = !log.empty() && log.back().taken == now && log.back().request.address == at;
    CqRecord r;
    if (at_.model.find(number_of(cq)) != nullptr || !at_.model.read(number_of(cq), at_.host, r)) return;
    if (r.valid == 0 && !written) return;
    auto by = static_cast<std::uint32_t>(random_.bits());
    if (edges_.one_in(2)) by = edges_.counter(4) - r.producer;  // wraps with one of the next CQEs
    r.producer += by;
    r.consumer += by;
    r.last_solicited += by;
    if (r.slots > 512 && edges_.one_in(2)) forget_seen(r);
    if (random_.one_in(4)) r.counted = static_cast<std::uint32_t>(random_.bits());
    if (edges_.one_in(4)) r.counted = edges_.counter(2);
    polled_[cq] = r.producer - edges_.below(3);
    if (!written) at_.host.store(at, r);
  }
  // More than 256 CQEs were not seen, up to all slots. An event waits for some more, or for as many in 8 or 16 bits.
  void forget_seen(CqRecord& r) {
    const std::uint32_t unseen = edges_.one_in(2) ? r.slots - edges_.below(3) : 256u << edges_.below(9);
    if (unseen > r.slots) return;
    edges_.count(Boundary::kCounter);
    r.consumer = r.producer - unseen;
    r.any_solicited = edges_.one_in(2);
    r.last_solicited = r.consumer + edges_.below(unseen) + 1;
    r.moderation_count = static_cast<std::uint16_t>(unseen - 2 + edges_.below(4));
  }
  bool moves_timers() const { return mood_ == 5 || mood_ == 7; }  // while sessions time out, too
  // A program knows from its own ring what the model knows of the CQ.
  const CompletionQueue* find(Cqn cq) const { return steered_ ? at_.model.find(cq) : nullptr; }
  std::uint32_t any_cq() {
    const bool some = (mood_ >= 3 && mood_ < 6) || mood_ == 7;
    if (some && !random_.one_in(20)) return focus_ + random_.below(moves_timers() ? 3 : 2);
    return random_.below(random_.one_in(2) ? 4 : kCqs);
  }
  std::uint32_t changed_cq() {
    const std::uint32_t cq = any_cq();
    return cq == kUnpolled && !edges_.one_in(200) ? cq + 1 : cq;
  }
  // Lines of a large cache differ in one bit.
  std::uint32_t any_line() {
    const std::uint32_t n = random_.below(kQps), lines = at_.shared.contexts.size();
    return lines == kQps ? n : place_of(n, static_cast<unsigned>(std::countr_zero(lines)));
  }
  std::uint32_t bits() { return static_cast<std::uint32_t>(random_.bits()); }
  CompletionRequest packet() {
    if (!random_.one_in(mood_ == 3 ? 20 : 3) && last_.completes &&
        last_.wqe_slot == kNoWqeSlot) {  // like the one before
      CompletionRequest p = last_;
      p.pressed = pressed();
      p.wqe_index = bits();
      p.byte_count = bits();
      return p;
    }
    CompletionRequest p;
    p.line = any_line();
    const QpContext& qp = at_.shared.contexts[p.line];
    p.residence = qp.residence;
    p.qpn = qp.qpn;
    p.transport = qp.transport;
    p.uses_srq = qp.uses_srq;
    p.cq = random_.one_in(3) ? qp.receive_cq : number_of(any_cq());
    p.queue = random_.one_in(8) ? kNoWq : WqId{random_.below(kQueues + 1)};
    p.wqe_index = bits();
    p.byte_count = bits();
    p.message_sequence = sequence_of(p.line);
    p.outcome = Outcome::kExecute;
    p.acknowledge = random_.one_in(2);
    p.ends_message = !random_.one_in(4);
    p.pressed = pressed();
    p.completes = p.ends_message && !random_.one_in(5);
    p.solicited = random_.one_in(6);
    p.establishes = random_.one_in(30);
    p.tag = random_.one_in(6) ? random_.bits() : 0;
    p.tag_context = random_.one_in(8) ? bits() : 0;
    p.immediate = bits();
    p.source_qp = Qpn{random_.below(1u << 24)};
    p.source_lid = static_cast<std::uint16_t>(bits());
    p.service_level = static_cast<std::uint8_t>(random_.below(16));
    p.network_header = static_cast<NetworkHeader>(random_.below(3));
    p.cqe_opcode = random_.one_in(8) ? CqeOpcode::kTagReceive : CqeOpcode::kReceive;
    p.cqe_flags = random_.one_in(5) ? static_cast<std::uint16_t>(bits()) : std::uint16_t{0};
    carry(p);
    constexpr std::uint8_t kOpcodes[] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x0a, 0x0b, 0x0c, 0x16,
                                         0x17, 0x13, 0x1d, 0x64, 0x65, 0x24, 0x25, 0xa4, 0x84};
    p.opcode = random_.one_in(2) ? std::uint8_t{0x04} : kOpcodes[random_.below(std::size(kOpcodes))];
    if (random_.one_in(8)) response(p);
    if (random_.one_in(8)) internal(p);
    if (random_.one_in(3) && p.role == PacketRole::kReceived) take_wqe(p);
    if (random_.one_in(60)) {
      constexpr DropReason kReasons[] = {DropReason::kRemoteAccess, DropReason::kInvalidRequest,
                                         DropReason::kHostMemory, DropReason::kTooShort};
      constexpr std::uint8_t kSyndromes[] = {0x61, 0x62, 0x63};
      mark_failed(p, kReasons[random_.below(4)], kSyndromes[random_.below(3)], WcStatus::kRemoteInvalidRequest);
    }
    if (random_.one_in(60)) squash(p);
    if (random_.one_in(100)) {
      p.line = kNoLine;
      p.residence = at_.shared.contexts[at_.shared.contexts.size() - 1].residence;  // has the lowest bits of kNoLine
    }
    last_ = p;
    return p;
  }
  // Back-pressure lasts for some packets.
  bool pressed() {
    if (random_.one_in(pressed_ ? 48 : 6)) pressed_ = !pressed_;
    return pressed_;
  }
  std::uint32_t sequence_of(std::uint32_t line) { return line * 0x9e3779b9u + random_.below(4); }
  // What the block does not look at, or only hands on.
  void carry(CompletionRequest& p) {
    p.buffer = PacketHandle{kNoPacket};
    p.syndrome = static_cast<std::uint8_t>(bits());
    p.congested = random_.one_in(4);
    p.epoch = static_cast<std::uint16_t>(bits());
    p.psn = Psn{random_.below(1u << 24)};
    p.answer_psn = Psn{random_.below(1u << 24)};
    p.answer_msn = random_.below(1u << 24);
    p.msn_before = random_.below(1u << 24);
    p.remote_qpn = Qpn{random_.below(1u << 24)};
    p.mtu = static_cast<std::uint16_t>(random_.below(1u << 13));
    p.pd = Pdn{random_.below(1u << 24)};
    p.posted_wqes = bits();
    p.local_va = random_.bits();
    p.local_key = Key{bits()};
    p.local_bytes = bits();
    p.bus = BusAddress{random_.bits()};
    p.operand = random_.bits();
    p.compare = random_.bits();
    p.resource = bits();
    p.payload_offset = static_cast<std::uint16_t>(random_.below(1u << 13));
    p.payload_bytes = static_cast<std::uint16_t>(random_.below(1u << 13));
    p.message_bytes = random_.bits();
  }
  // Others of a QP one of whose responses has failed are given up.
  bool follow_failed_response(CompletionRequest& p) {
    if (failed_response_ == kNoLine || !random_.one_in(2)) return false;
    p.line = failed_response_;
    p.residence = at_.shared.contexts[p.line].residence;
    p.message_sequence = sequence_of(p.line);
    if (random_.one_in(20)) failed_response_ = kNoLine;
    return true;
  }
  void response(CompletionRequest& p) {
    constexpr std::uint8_t kOpcodes[] = {0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12};
    p.opcode = kOpcodes[random_.below(std::size(kOpcodes))];
    p.outcome = random_.one_in(6) ? Outcome::kDrop : Outcome::kAnswer;
    p.completes = random_.one_in(2);
    follow_failed_response(p);
  }
  void internal(CompletionRequest& p) {
    constexpr PacketRole kRoles[] = {PacketRole::kSendCompletion, PacketRole::kSendCompletion, PacketRole::kFlush,
                                     PacketRole::kLastWqe,        PacketRole::kTagOperation,   PacketRole::kTruncated,
                                     PacketRole::kFailure};
    p.role = kRoles[random_.below(std::size(kRoles))];
    p.opcode = 0;
    if (p.role == PacketRole::kSendCompletion) {
      p.cqe_opcode = CqeOpcode::kSend;
      const bool given_up = follow_failed_response(p);
      p.completes = !random_.one_in(given_up ? 2 : 4);
      if (random_.one_in(given_up ? 2 : 6)) {
        constexpr WcStatus kStatuses[] = {WcStatus::kFlushed, WcStatus::kFlushed, WcStatus::kRetryExceeded,
                                          WcStatus::kGeneral};
        p.status = kStatuses[random_.below(4)];
      }
    } else if (p.role == PacketRole::kFlush) {
      p.status = WcStatus::kFlushed;
      p.completes = true;
      if (random_.one_in(2)) p.line = kNoLine;
    } else {
      p.completes = p.completes && p.role != PacketRole::kLastWqe && p.role != PacketRole::kFailure;
    }
  }
  // The first packet of a message takes a WQE, the last one releases it.
  void take_wqe(CompletionRequest& p) {
    if (!open_.empty() && random_.one_in(2)) {
      p.wqe_slot = open_.front();
      open_.pop_front();
      p.releases_wqe = true;
    } else if (slots_.available(WqId{0})) {
      p.wqe_slot = slots_.allocate();
      at_.shared.wqes[p.wqe_slot].sge[0] = {bits(), bits(), random_.bits()};
      p.releases_wqe = random_.one_in(2);
      if (!p.releases_wqe) open_.push_back(p.wqe_slot);
    }
    if (p.wqe_slot == kNoWqeSlot) return;
    p.completes = p.releases_wqe && p.completes;
    p.rendezvous = random_.one_in(3) && p.releases_wqe;
  }
  Doorbell doorbell() {
    Doorbell d;
    const std::uint32_t cq = any_cq();
    const CompletionQueue* const here = find(number_of(cq));
    std::uint32_t& polled = polled_[cq];
    if (here != nullptr)
      polled = here->producer() - random_.below(std::min(here->producer() - here->consumer(), 3u) + 1);
    d.kind = random_.one_in(2) || mood_ >= 5 ? DoorbellKind::kCqArm : DoorbellKind::kCqConsumer;
    d.number = raw(number_of(cq));
    d.value = random_.one_in(20) ? bits() : polled;
    if (edges_.one_in(16)) d.value = polled - (256u << edges_.below(9));
    if (cq == kUnpolled && !edges_.one_in(200)) {
      d.kind = DoorbellKind::kCqArm;
      d.value = here != nullptr ? here->consumer() : 0;
    }
    d.solicited_only = random_.one_in(3);
    return d;
  }
  CqCommand command() {
    CqCommand c;
    if (moves_timers()) {  // a moderated event becomes due sooner
      c.operation = CqOperation::kSetModeration;
      c.number = number_of(any_cq());
      c.moderation_count = static_cast<std::uint16_t>(2 + random_.below(3));
      c.moderation_period_us = static_cast<std::uint16_t>(1 + random_.below(8));
      return c;
    }
    c.operation = static_cast<CqOperation>(random_.below(8));
    constexpr CqOperation kOfSessions[] = {CqOperation::kResize, CqOperation::kClose, CqOperation::kDestroy};
    if (pressed_ && random_.one_in(2)) c.operation = kOfSessions[random_.below(std::size(kOfSessions))];
    if (random_.one_in(3)) c.operation = CqOperation::kCreate;
    if (random_.one_in(3)) c.operation = CqOperation::kSetModeration;
    const bool of_session = pressed_ && random_.one_in(2);  // the last packet's CQ may have one
    const CqContext made = random_cq(random_, edges_, of_session ? last_.cq : number_of(changed_cq()), may_wait_);
    c.number = made.number;
    c.base = made.base;
    c.slots = made.slots;
    c.ignore_overrun = made.ignore_overrun;
    c.compress = made.compress;
    c.polled_only = made.polled_only;
    c.moderation_count = made.moderation_count;
    c.moderation_period_us = made.moderation_period_us;
    const CompletionQueue* const here = find(c.number);
    c.consumer = here != nullptr && !random_.one_in(8) ? here->consumer() : bits();
    c.queue = WqId{random_.below(kQueues)};
    c.srqn = Srqn{random_.below(1u << 24)};
    c.stored = random_.one_in(8);
    return c;
  }

  CqeGeneratorHarness& at_;
  Random random_;
  Edges edges_;
  Cycle end_;
  const bool steered_;
  bool may_wait_ = false;               // events, for long
  std::uint32_t mood_ = 0, focus_ = 0;  // of some cycles: how much comes, for which CQs
  int asked_ = 0;                       // commands without a reply
  std::uint64_t failures_taken_ = 0;
  bool pressed_ = false;
  Rehearsed rehearsed_{};
  std::uint32_t next_rehearsed_ = 0;
  std::uint32_t rehearsed_packets_ = 0, wanted_packets_ = 0;  // since the last of them, and before the next
  CompletionRequest last_;
  std::deque<std::pair<Cycle, std::uint32_t>> refused_;
  std::uint32_t failed_response_ = kNoLine;
  WqeSlots slots_{{kSlots, 0, 0}};
  std::deque<std::uint32_t> open_;
  std::array<std::uint32_t, kCqs> polled_{};
};

}  // namespace rxnic::cqe_generator_scene
