// SPDX-License-Identifier: Apache-2.0
// A WQE fetcher with QPs on lines 0 to 15, and drivers' queues in host memory.
#pragma once

#include <gtest/gtest.h>

#include <numeric>

#include "model/core/receive_queue/wqe_format.h"
#include "model/core/responder/responder.h"
#include "testbench/unit/model/blocks/srq_wqe_fetcher_harness.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic::srq_wqe_fetcher_test {

// With the two links, one read follows another after 550 cycles of 1 ns (NUMBERS.md, SRQ against RQ).
inline constexpr std::uint64_t kReadLatency = 548;

// The driver's side of one queue.
struct Queue {
  WqContext context;
  WqId id = kNoWq;
  std::vector<std::uint32_t> order;  // linked list: slot of WQE k
  std::uint32_t producer = 0;
};

inline SrqWqeFetcherParams defaults() {
  SrqWqeFetcherParams p;
  p.prefetch = PrefetchPolicy::kGreedy;
  p.prefetch_depth = 16;
  p.queues = 64;
  p.wqes_per_read = 4;
  p.reads_in_flight = 16;
  p.hit_cycles = 2;
  p.queue_depth = 4;
  p.pipeline_depth = 4;
  p.sequential_prefetch = true;
  return p;
}

struct Fixture : SrqWqeFetcherHarness {
  explicit Fixture(Bench& b, const SrqWqeFetcherParams& params = defaults()) : Fixture(b, counting_credits(params)) {}
  Fixture(Bench& b, const Params& params)
      : SrqWqeFetcherHarness(b, params, {.wqe_cycles = kReadLatency, .context_cycles = kReadLatency}) {
    for (std::uint32_t line = 0; line < 16; ++line) {
      qp(line).qpn = Qpn{100 + line};
      qp(line).transport = Transport::kRc;
      qp(line).state = QpState::kRts;
      qp(line).min_rnr_timer = 12;
      qp(line).residence = 1;
      qp(line).pins.add();  // so that the line is pinned throughout the test
    }
  }
  QpContext& qp(std::uint32_t line) { return shared.contexts[line]; }

  Queue make(WqKind kind, WqLayout layout, std::uint32_t slots, std::uint32_t limit = 0) {
    Queue q;
    q.context.kind = kind;
    q.context.layout = layout;
    q.context.number = 7;
    q.context.base = BusAddress{0x10000000u * ++queues};
    q.context.slots = slots;
    q.context.stride = 64;
    q.context.pd = Pdn{33};
    q.context.limit = limit;
    q.order.resize(slots);
    std::iota(q.order.begin(), q.order.end(), 0u);
    q.id = dut.create(q.context, host);
    return q;
  }
  std::uint32_t slot_of(const Queue& q, std::uint32_t k) const { return q.order[k % q.context.slots]; }
  // Writes n WQEs of `bytes` bytes and rings the doorbell in `when`.
  void post(Queue& q, std::uint32_t n, Cycle when, std::uint32_t bytes = 4096, std::uint32_t lkey = 0x777) {
    for (std::uint32_t i = 0; i < n; ++i, ++q.producer) {
      std::array<std::uint8_t, 64> slot{};
      const DataSegment sge{bytes, lkey, 0x1000 * (q.producer + 1ull)};
      write_wqe(slot, q.context.layout, slot_of(q, q.producer + 1), {&sge, 1});
      host.write(wqe_address(q.context, slot_of(q, q.producer)), slot);
    }
    ring(q, when, q.producer);
  }
  void ring(const Queue& q, Cycle when, std::uint32_t producer) {
    doorbells.push(when, {DoorbellKind::kReceive, false, raw(q.id), producer});
  }
  // A packet of the QP on a line, as the checker passes it on.
  WqeRequest of_qp(std::uint32_t line) {
    WqeRequest p;
    p.line = line;
    p.residence = qp(line).residence;
    p.epoch = qp(line).epoch;
    describe_qp(p, qp(line));
    shared.contexts.pin(line);
    return p;
  }
  WqeRequest packet(const Queue& q, Operation op = Operation::kSendOnly, std::uint32_t line = 0) {
    qp(line).receive_queue = q.id;
    qp(line).uses_srq = q.context.kind == WqKind::kSrq;
    WqeRequest p = of_qp(line);
    p.buffer = shared.packets.allocate(PacketClass::kReceive);
    p.opcode = opcode_of(p.transport, op);
    p.payload_bytes = 64;
    p.outcome = Outcome::kExecute;
    p.queue = q.id;
    if (p.has(kFirst | kOnly)) qp(line).message_bytes = 0, ++qp(line).messages;
    p.message_sequence = qp(line).messages;
    p.message_bytes = qp(line).message_bytes += 64;
    p.takes_wqe = p.has(kTakesWqe);
    p.ends_message = p.has(kLast | kOnly);
    p.completes = p.ends_message && (p.has(kSend) || p.has(kHasImm));
    return p;
  }
  // Sends a packet and returns it.
  WqeRequest send(Cycle when, const Queue& q, Operation op = Operation::kSendOnly, std::uint32_t line = 0) {
    const WqeRequest p = packet(q, op, line);
    in.push(when, p);
    return p;
  }
  // A packet that the tag matcher has matched with entry 42.
  WqeRequest match(const Queue& q, Operation op = Operation::kSendOnly, std::uint32_t line = 0) {
    WqeRequest p = packet(q, op, line);
    p.tag_verdict = TagVerdict::kMatched;
    p.takes_wqe = false;
    p.wqe_index = 42;
    p.tag_buffer = {4096, 0x777, 0x30000};
    return p;
  }
  FlushRequest ask_flush(Cycle when, std::uint32_t line = 0) {
    const QpContext& of = qp(line);
    const FlushRequest r{line, of.residence, of.qpn, of.transport, of.uses_srq, of.receive_queue, of.receive_cq};
    shared.contexts.pin(line);
    flushes.push(when, r);
    return r;
  }
  // For tests in steps: runs until nothing is due and returns the present cycle.
  Cycle settle() {
    present += 10'000;
    bench.run_to(present);
    return present;
  }
  const ScatterJob& at(std::size_t n) const { return out.value(n); }
  // The buffers of the packets that left, in order.
  std::vector<PacketHandle> buffers() const {
    std::vector<PacketHandle> all;
    for (const ScatterJob& p : out.values()) all.push_back(p.buffer);
    return all;
  }

  std::uint64_t queues = 0;
  Cycle present{};
};

}  // namespace rxnic::srq_wqe_fetcher_test
