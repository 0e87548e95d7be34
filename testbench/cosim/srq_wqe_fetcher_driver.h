// SPDX-License-Identifier: Apache-2.0
// What surrounds the receive WQE fetcher in its random tests. QPs have packets that follow each other as the transport
// checker passes them on. A program posts WQEs and asks for commands. The blocks behind give back slots and places and
// ask for flushes; there are memory, and sinks that stall. All decide by what they see at the ports, so that RTL may
// stand in the model's place.
#pragma once

#include <array>
#include <bit>
#include <deque>
#include <optional>

#include "model/types/opcode.h"
#include "model/types/wq_command.h"
#include "testbench/cosim/srq_wqe_fetcher_queues.h"
#include "testbench/unit/model/blocks/srq_wqe_fetcher_harness.h"

namespace rxnic::srq_wqe_fetcher_scene {

// Pushes what comes from outside, as far as there is room, at the sources of the harness. The sinks are stepped first.
class Driver final : public Block {
 public:
  Driver(const sc_core::sc_module_name& name, SrqWqeFetcherHarness& at, std::uint64_t seed, Cycle end)
      : Block(name),
        at_(at),
        random_(seed),
        edges_(seed),
        end_(end),
        cache_bits_(std::countr_zero(at.shared.contexts.size())) {
    at.out.on_value([this](Cycle now, const ScatterJob& p) { left_.push_back({now, p}); });
    at.refusals.on_value([this](Cycle now, const Refusal& r) { refused_.push_back({now, r}); });
    at.replies.accept_when([this](Cycle c) { return mood_ != 8 || c.count % 64 == 0; });
    at.replies.on_value([this](Cycle, const WqReply& r) { reply_ = r; });
  }

  // `cached`: contexts of queues that the device holds. The others have taken many WQEs already.
  void create_at_first(std::uint32_t cached) {
    for (std::uint32_t n = 0; n < kAtFirst; ++n) queues_[n] = random_queue(random_, edges_);
    for (std::uint32_t n = cached; n < kAtFirst; ++n) {  // most of those that are old are long
      while (queues_[n].context.slots <= 4096 && !edges_.one_in(8)) queues_[n] = random_queue(random_, edges_);
    }
    for (std::uint32_t n = 0; n < kAtFirst; ++n) queues_[n].id = at_.dut.create(queues_[n].context, at_.host);
    for (std::uint32_t n = cached; n < kAtFirst; ++n) grow_old(queues_[n]);
    for (PacketHandle& buffer : buffers_) buffer = at_.shared.packets.allocate(PacketClass::kReceive);
    for (std::uint32_t n = 0; n < kLines; ++n) {
      at_.shared.contexts[line_of(n)].residence = any_number();
      renew(n);
    }
  }
  const Edges& edges() const { return edges_; }
  // The n-th QP's line of the context cache.
  std::uint32_t line_of(std::uint32_t n) const { return place_of(n, static_cast<unsigned>(cache_bits_)); }
  void see(Cycle now, const ContextPin& p) { pins_.push_back({now, p}); }

  Cycle step(Cycle now) override {
    if (now < quiet_until_) return rest(now, Activity::kBusy, quiet_until_);
    look(now);

    if (now >= end_) return rest(now, Activity::kBusy, now + 1);
    if (now.count % 256 == 0 && ((mood_ != 5 && mood_ != 7) || random_.one_in(4))) {
      mood_ = random_.one_in(10) ? 5 : random_.one_in(8) ? 7 : random_.below(10);
      focus_ = random_.below(kQueues);
      patience_ = mood_ == 5 ? 1 : 1u << random_.below(random_.one_in(4) ? 9 : 4);
    }
    if (mood_ == 9) {
      quiet_until_ = Cycle{(now.count | 255) + 1};
      at_.replies.rest_until(quiet_until_);
      return rest(now, Activity::kBusy, quiet_until_);
    }
    const std::uint32_t pace = mood_ == 0 ? 30 : mood_ == 1 ? 6 : 1;
    for (auto* from : {&at_.in, &at_.tagged}) {
      if (random_.one_in(pace) && from->out.can_push(now)) send(now, from->out, from == &at_.tagged);
    }
    if (random_.one_in(mood_ == 2 || mood_ == 7 ? 2 : mood_ == 3 ? 40 : 6) && at_.doorbells.out.can_push(now))
      ring(now);
    if (!asked_ && random_.one_in(mood_ == 3 ? 20 : 5) && at_.commands.out.can_push(now)) command(now);
    if (mood_ == 8 && others_.size() < 3 && random_.one_in(16) && at_.commands.out.can_push(now)) ask_for_nothing(now);
    flush(now);
    if (owed_ > 0 && random_.one_in(mood_ < 6 ? 500 : 60) && at_.places.out.can_push(now)) {
      const std::uint32_t count = 1 + random_.below(owed_);
      owed_ -= count;
      at_.places.out.push(now, {count});
    }
    return rest(now, Activity::kBusy, now + 1);
  }

 private:
  template <class T>
  struct Seen {
    Cycle when;
    T value;
  };

  void look(Cycle now) {
    for (; !left_.empty() && left_.front().when < now; left_.pop_front()) {
      const ScatterJob& p = left_.front().value;
      if (p.releases_wqe && p.wqe_slot != kNoWqeSlot) slots_.push_back({now + random_.below(patience_), p.wqe_slot});
      owed_ += p.rendezvous && p.takes_wqe;
      if (p.line == kNoLine) continue;
      Line& line = lines_[at_line(p.line)];
      if (p.role == PacketRole::kFlush || p.role == PacketRole::kLastWqe) {
        at_.shared.contexts.unpin(p.line, now);
        if (p.role == PacketRole::kLastWqe) line.state = Line::kFlushed;
        continue;
      }
      --line.in_flight;
      if (p.fails_qp && line.state == Line::kUp) line.state = Line::kFailed;
    }
    for (; !refused_.empty() && refused_.front().when < now; refused_.pop_front()) {
      const Refusal& r = refused_.front().value;
      if (r.kind != RefusalKind::kNotReady) continue;
      Line& line = lines_[at_line(r.line)];
      ++line.epoch;
      line.in_message = false;
    }
    for (; !pins_.empty() && pins_.front().when < now; pins_.pop_front()) {
      if (!pins_.front().value.pins) lines_[at_line(pins_.front().value.line)].state = Line::kFlushed;
    }
    if (!slots_.empty() && (slots_.front().when <= now || mood_ == 5) && at_.released.out.can_push(now)) {
      at_.released.out.push(now, {slots_.front().value});
      slots_.pop_front();
    }
    if (reply_) answer(*reply_);
    reply_.reset();
  }
  std::uint32_t at_line(std::uint32_t line) const {
    std::uint32_t n = 0;
    while (line_of(n) != line) ++n;
    return n;
  }
  std::uint32_t any_number() { return static_cast<std::uint32_t>(random_.bits()); }
  // In host memory: a queue that all of its WQEs were taken of.
  void grow_old(Queue& queue) {
    auto record = at_.host.load<WqRecord>(queue_context_address(queue.id));
    queue.producer = edges_.one_in(4) ? any_number() : edges_.counter(8);
    record.producer = record.taken = queue.producer;
    if (record.layout == WqLayout::kLinkedList) record.next_slot = queue.slot(queue.producer);
    at_.host.store(queue_context_address(queue.id), record);
  }
  // A QP that is used again, or another one on its line.
  void renew(std::uint32_t n) {
    Line& line = lines_[n];
    QpContext& qp = at_.shared.contexts[line_of(n)];
    static constexpr Transport kTransports[] = {Transport::kRc, Transport::kRc, Transport::kUc,  Transport::kUd,
                                                Transport::kRc, Transport::kUc, Transport::kXrc, Transport::kRaw};
    line = {};
    line.tagged = random_.one_in(2);
    line.messages = edges_.one_in(2) ? any_number() : edges_.counter(8);
    line.epoch = static_cast<std::uint16_t>(any_number());
    do line.queue = random_.below(random_.one_in(2) ? 3 : kQueues);
    while (queues_[line.queue].id == kNoWq);
    const Queue& queue = queues_[line.queue];
    ++qp.residence;
    static_cast<OpenWqe&>(qp) = {};
    qp.qpn = Qpn{random_.below(1u << 24)};
    qp.transport = kTransports[random_.below(std::size(kTransports))];
    if (line.tagged && qp.transport == Transport::kUc) qp.transport = Transport::kRc;  // what is tagged is reliable
    qp.uses_srq = queue.context.kind == WqKind::kSrq;
    qp.receive_queue = queue.id;
    qp.receive_cq = Cqn{random_.below(1u << 24)};
  }

  // Work queues
  std::uint32_t any_queue() {
    if (mood_ >= 3 && mood_ != 5 && !random_.one_in(6)) return (focus_ + random_.below(2)) % kQueues;
    return random_.below(mood_ == 5 || random_.one_in(2) ? 3 : kQueues);
  }
  std::uint32_t failed_queue() {  // if there is one
    std::uint32_t n = random_.below(kQueues);
    for (std::uint32_t i = 0; i < kQueues && !queues_[n].failed; ++i) n = (n + 1) % kQueues;
    return n;
  }
  bool in_focus(std::uint32_t n) const { return n == focus_ || n == (focus_ + 1) % kQueues; }
  void ring(Cycle now) {
    Queue& queue = queues_[mood_ == 7 ? failed_queue() : any_queue()];
    Doorbell d;
    d.kind = DoorbellKind::kReceive;
    d.number = queue.id == kNoWq ? (random_.one_in(20) ? raw(kNoWq) : unused_number()) : raw(queue.id);
    d.value = queue.producer;
    d.solicited_only = random_.one_in(2);
    d.wqe_bytes = static_cast<std::uint16_t>(any_number());
    const std::uint32_t room = queue.context.slots - (queue.context.layout == WqLayout::kLinkedList ? 1 : 0);
    if (random_.one_in(40)) {
      d.kind = static_cast<DoorbellKind>(1 + random_.below(5));
      d.value = random_.one_in(2) ? random_.below(4) : any_number();
    } else if (random_.one_in(50)) {
      d.value += random_.one_in(2) ? ~random_.below(3) : room + 1 + random_.below(9);  // mostly refused
      if (d.value - queue.producer <= room) d.value = queue.producer;
    } else if (queue.id != kNoWq && queue.bound < room && queue.context.kind == WqKind::kSrq && random_.one_in(50)) {
      const std::uint32_t count = 1 + random_.below(room - queue.bound);  // as memory is there, mostly zeros
      queue.producer += count;
      queue.bound += count;
      d.value = queue.producer;
    } else if (queue.id != kNoWq && queue.bound < std::min(room, kListed)) {
      const std::uint32_t most = std::min(room, kListed) - queue.bound,
                          count = 1 + random_.below(std::min(most, mood_ == 2 ? 2u : 12u));
      for (std::uint32_t k = 0; k < count; ++k) write_slot(random_, edges_, at_.host, queue, queue.producer++);
      queue.bound += count;
      d.value = queue.producer;
    }
    at_.doorbells.out.push(now, d);
  }

  // A number of no queue.
  std::uint32_t unused_number() {
    return random_.one_in(2) ? kQueues + random_.below(9) : random_.below(1u << 24) | 1u << 12;
  }

  // Commands: one that matters at a time
  void command(Cycle now) {
    WqCommand c;
    const std::uint32_t n = mood_ == 7 ? failed_queue() : any_queue();
    Queue& queue = queues_[n];
    c.queue = queue.id;
    of_ = n;
    for (std::uint32_t l = 0; l < kLines; ++l) {
      Line& line = lines_[l];
      const bool goes = line.state == Line::kFlushed
                            ? mood_ != 7
                            : line.state == Line::kUp && random_.one_in(line.in_message && mood_ != 5 ? 20 : 400);
      if (!goes || line.in_flight > 0 || !random_.one_in(3)) continue;
      line.state = Line::kResetting;
      of_ = line.queue;
      c.operation = WqOperation::kReset;
      c.line = line_of(l);
      const bool of_rq = queues_[line.queue].context.kind == WqKind::kRq && !random_.one_in(8);
      c.queue = of_rq ? queues_[line.queue].id : kNoWq;
      return ask(now, c);
    }
    if (queue.id == kNoWq) {
      made_ = random_queue(random_, edges_);
      c = wq_command(WqOperation::kCreate, made_.context);
      if (random_.one_in(12)) c.slots = std::array{0u, 6u, 3 | any_number(), 1u << 25}[random_.below(4)];
      if (random_.one_in(20)) c.stride = random_.one_in(2) ? 96 | any_number() << 16 : 16;
    } else if (random_.one_in(25) && (!in_use(n) || random_.one_in(6))) {
      c.operation = WqOperation::kDestroy;
    } else if (random_.one_in(12)) {
      c.operation = random_.one_in(2) ? WqOperation::kArmLimit : WqOperation::kClose;
      c.limit = random_.one_in(4) ? any_size(random_, 32) : random_.below(20);
      if (random_.one_in(9)) c.queue = WqId{unused_number()};
    } else if (mood_ == 7 && queue.failed && random_.one_in(3)) {
      c.operation = WqOperation::kClose;
    } else if (doorbells_idle() && others_.empty()) {
      c.operation = WqOperation::kQuery;
    } else {
      return;
    }
    ask(now, c);
  }
  bool doorbells_idle() const { return at_.dut.doorbells[0]->size() == 0; }
  bool in_use(std::uint32_t n) const {
    for (const Line& line : lines_) {
      if (line.queue == n) return true;
    }
    return false;
  }
  void ask(Cycle now, const WqCommand& c) {
    at_.commands.out.push(now, c);
    others_.push_back(false);
    asked_ = true;
    posted_before_ = queues_[of_].producer;
    command_ = c;
  }
  // A command that does nothing, behind others that have no reply yet.
  void ask_for_nothing(Cycle now) {
    WqCommand c;
    c.operation = WqOperation::kArmLimit;
    c.queue = WqId{unused_number()};
    at_.commands.out.push(now, c);
    others_.push_back(true);
  }
  void answer(const WqReply& reply) {
    const bool of_nothing = others_.front();
    others_.pop_front();
    if (of_nothing) return;
    asked_ = false;
    Queue& queue = queues_[of_];
    if (command_.operation == WqOperation::kCreate && reply.ok) {
      queue = made_;
      queue.id = reply.queue;
    } else if (command_.operation == WqOperation::kDestroy) {
      queue = {};
    } else if (command_.operation == WqOperation::kQuery && reply.ok) {
      queue.bound = reply.posted + (queue.producer - posted_before_);
    } else if (command_.operation == WqOperation::kReset) {
      if (command_.queue != kNoWq) queue.producer = queue.bound = 0, queue.failed = false;
      renew(at_line(command_.line));
    }
  }

  // Packets
  void send(Cycle now, Out<WqeRequest>& to, bool of_tag) {
    constexpr int kTries = 24;
    for (int tries = 0; tries < kTries; ++tries) {
      const std::uint32_t n = mood_ == 6 ? (focus_ + random_.below(3)) % kLines : random_.below(kLines);
      Line& line = lines_[n];
      if (mood_ == 5 && tries + 1 < kTries && (line.queue >= 3 || (line.in_message && !random_.one_in(8)))) continue;
      if (mood_ >= 3 && mood_ != 5 && tries + 1 < kTries && !in_focus(line.queue)) continue;
      const bool goes = line.state == Line::kUp || (line.state < Line::kFlushed && random_.one_in(8));
      if (line.tagged != of_tag || !goes) continue;
      const WqeRequest p = packet(n, line);
      if (p.line != kNoLine) ++line.in_flight;
      return to.push(now, p);
    }
  }
  WqeRequest packet(std::uint32_t n, Line& line) {
    const QpContext& qp = at_.shared.contexts[line_of(n)];
    WqeRequest p;
    pass_through(p);
    p.line = line_of(n);
    p.residence = qp.residence;
    p.epoch = line.epoch;
    p.transport = qp.transport;
    p.uses_srq = qp.uses_srq;
    p.qpn = qp.qpn;
    p.receive_queue = p.queue = qp.receive_queue;
    p.cq = qp.receive_cq;
    p.acknowledge = is_reliable(p.transport) && random_.one_in(2);
    p.outcome = Outcome::kExecute;
    if (random_.one_in(10)) {
      without_wqe(p, line);
    } else if (line.in_message && !(p.transport == Transport::kUc && random_.one_in(8))) {
      go_on(p, line);
    } else {
      begin(p, line);
    }
    p.message_sequence = line.messages;
    p.message_bytes = line.bytes;
    return p;
  }
  // What the block only passes on, or puts into what it writes.
  void pass_through(WqeRequest& p) {
    p.buffer = random_.one_in(4) ? kNoPacket : buffers_[random_.below(buffers_.size())];
    p.drop_reason = static_cast<DropReason>(random_.below(kDropReasons));
    p.status = static_cast<WcStatus>(random_.below(4));
    p.syndrome = static_cast<std::uint8_t>(any_number());
    p.congested = random_.one_in(2);
    p.psn = Psn{random_.below(1u << 24)};
    p.answer_psn = Psn{random_.below(1u << 24)};
    p.answer_msn = random_.below(1u << 24);
    p.msn_before = random_.below(1u << 24);
    p.remote_qpn = Qpn{random_.below(1u << 24)};
    p.mtu = static_cast<std::uint16_t>(random_.below(1u << 13));
    p.pd = Pdn{any_number()};
    p.local_va = random_.bits();
    p.local_key = Key{any_number()};
    p.local_bytes = any_number();
    p.bus = BusAddress{random_.bits()};
    p.operand = random_.bits();
    p.compare = random_.bits();
    p.resource = any_number();
    p.payload_offset = static_cast<std::uint16_t>(random_.below(1u << 13));
    p.payload_bytes = static_cast<std::uint16_t>(random_.below(1u << 13));
    p.cqe_flags = static_cast<std::uint16_t>(any_number());
    p.wqe_index = any_number();
    p.byte_count = any_number();
    p.tag = random_.bits();
    p.tag_context = any_number();
    p.immediate = any_number();
    p.solicited = random_.one_in(2);
    p.establishes = random_.one_in(2);
    p.network_header = static_cast<NetworkHeader>(random_.below(3));
    p.source_qp = Qpn{random_.below(1u << 24)};
    p.source_lid = static_cast<std::uint16_t>(any_number());
    p.service_level = static_cast<std::uint8_t>(random_.below(16));
    p.access = static_cast<std::uint8_t>(any_number());
    p.strip_bytes = static_cast<std::uint16_t>(random_.below(1u << 13));
    p.network_offset = static_cast<std::uint16_t>(random_.below(1u << 13));
    p.min_rnr_timer = static_cast<std::uint8_t>(random_.below(32));
    p.tmh_opcode = static_cast<std::uint8_t>(any_number());
  }
  void without_wqe(WqeRequest& p, Line& line) {
    switch (random_.below(6)) {
      case 0:
        p.role = PacketRole::kSendCompletion;
        p.completes = random_.one_in(2);
        break;
      case 1:
        p.role = PacketRole::kTagOperation;
        p.line = kNoLine;
        break;
      case 2:
        p.role = line.in_message ? PacketRole::kTruncated : PacketRole::kFailure;
        p.outcome = Outcome::kDrop;
        p.ends_message = true;
        line.in_message = false;
        break;
      case 3:
        p.opcode = opcode_of(p.transport, Operation::kReadResponseOnly);
        p.outcome = Outcome::kAnswer;
        break;
      case 4:
        p.opcode = opcode_of(p.transport, Operation::kSendOnly);
        p.outcome = random_.one_in(2) ? Outcome::kAckAgain : Outcome::kDrop;
        p.completes = random_.one_in(3);
        break;
      default:
        p.opcode = opcode_of(p.transport, Operation::kWriteOnly);
    }
  }
  void go_on(WqeRequest& p, Line& line) {
    p.ends_message = mood_ != 5 && random_.one_in(3);
    p.completes = p.ends_message;
    p.opcode = opcode_of(p.transport, p.ends_message ? Operation::kSendLast : Operation::kSendMiddle);
    p.queue = line.message_queue;
    line.bytes += 64 + random_.below(2000);
    p.bad_length = random_.one_in(60);
    if (random_.one_in(60)) give_up(p, line);
    line.in_message = line.in_message && !p.ends_message;
  }
  // The checker has found a failure in the middle of a message, or its end will not come.
  void give_up(WqeRequest& p, Line& line) {
    if (random_.one_in(2)) {
      p.fails_qp = true;
      p.outcome = is_reliable(p.transport) ? Outcome::kNak : Outcome::kDrop;
      p.drop_reason = DropReason::kInvalidRequest;
      p.status = random_.one_in(2) ? WcStatus::kSuccess : WcStatus::kRemoteInvalidRequest;
    } else {
      p.outcome = Outcome::kDrop;
      p.status = WcStatus::kRemoteInvalidRequest;
      p.completes = true;
    }
    line.in_message = false;
  }
  void begin(WqeRequest& p, Line& line) {
    ++line.messages;
    line.bytes = random_.one_in(5) ? 256 : random_.below(random_.one_in(3) ? 9000 : 300);
    if (random_.one_in(40)) line.bytes = random_.bits() >> random_.below(64);
    if (edges_.one_in(30)) line.bytes = edges_.length();
    const bool many = !is_datagram(p.transport) && (mood_ == 5 || random_.one_in(3));
    p.opcode = opcode_of(p.transport, many ? Operation::kSendFirst : Operation::kSendOnly);
    if (!many && !is_datagram(p.transport) && random_.one_in(6))
      p.opcode = opcode_of(p.transport, Operation::kWriteOnlyImm);
    p.takes_wqe = true;
    p.ends_message = p.completes = !many;
    p.bad_length = random_.one_in(90);
    if (p.transport == Transport::kXrc) {
      const Queue& other = queues_[random_.below(kQueues)];
      if (other.id != kNoWq && other.context.kind == WqKind::kSrq) p.queue = other.id;
      if (!line.tagged && random_.one_in(20)) p.queue = WqId{unused_number()};  // it has been destroyed
    }
    line.message_queue = p.queue;
    line.in_message = many;
    if (line.tagged && p.opcode == opcode_of(p.transport, many ? Operation::kSendFirst : Operation::kSendOnly)) {
      tag(p);
    }
    if (random_.one_in(150)) give_up(p, line);
    if (p.outcome != Outcome::kExecute) p.takes_wqe = random_.one_in(2);
  }
  void tag(WqeRequest& p) {
    static constexpr TagVerdict kVerdicts[] = {TagVerdict::kMatched, TagVerdict::kMatched, TagVerdict::kUnexpected,
                                               TagVerdict::kNoTag, TagVerdict::kOrdinary};
    p.tag_verdict = random_.one_in(60) ? TagVerdict::kFailed : kVerdicts[random_.below(std::size(kVerdicts))];
    if (p.tag_verdict != TagVerdict::kMatched) return;
    p.takes_wqe = false;
    p.rendezvous = p.ends_message && random_.one_in(2);
    p.tag_buffer = {random_.one_in(6)   ? 0
                    : random_.one_in(6) ? any_number()
                                        : random_.below(9000),
                    any_number(), random_.bits()};
  }
  void flush(Cycle now) {
    const std::uint32_t n = random_.below(kLines);
    Line& line = lines_[n];
    if (line.state == Line::kUp && mood_ != 5 && random_.one_in(mood_ == 7 ? 10 : 200))
      line.state = Line::kFailed;  // by software
    if (line.state != Line::kFailed || !at_.flushes.out.can_push(now)) return;
    if (queues_[line.queue].context.kind == WqKind::kRq) queues_[line.queue].failed = true;
    line.state = Line::kFlushing;
    const QpContext& qp = at_.shared.contexts[line_of(n)];
    at_.shared.contexts.pin(line_of(n));
    at_.flushes.out.push(
        now, {line_of(n), qp.residence, qp.qpn, qp.transport, qp.uses_srq, qp.receive_queue, qp.receive_cq});
  }

  SrqWqeFetcherHarness& at_;
  Random random_;
  Edges edges_;
  Cycle end_;
  const int cache_bits_;                               // of the number of a line
  Cycle quiet_until_{};                                // nothing comes, so that cycles can be left out
  std::uint32_t mood_ = 5, focus_ = 0, patience_ = 1;  // of some cycles: how much comes, for which queues
  std::array<PacketHandle, 8> buffers_{};
  std::uint32_t owed_ = 0;  // places for rendezvous that are to be given back
  bool asked_ = false;
  std::deque<bool> others_;  // commands without a reply: whether for nothing
  std::uint32_t of_ = 0, posted_before_ = 0;
  WqCommand command_;
  Queue made_;
  std::array<Queue, kQueues> queues_;
  std::array<Line, kLines> lines_;
  std::deque<Seen<ScatterJob>> left_;
  std::deque<Seen<Refusal>> refused_;
  std::optional<WqReply> reply_;
  std::deque<Seen<ContextPin>> pins_;
  std::deque<Seen<std::uint32_t>> slots_;
};

}  // namespace rxnic::srq_wqe_fetcher_scene
