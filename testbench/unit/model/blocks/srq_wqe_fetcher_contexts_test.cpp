// SPDX-License-Identifier: Apache-2.0
// Rules R14..R16 of model/blocks/srq_wqe_fetcher.h: contexts of RQs and SRQs over host memory.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include "model/core/receive_queue/wqe_format.h"
#include "model/core/responder/responder.h"
#include "model/types/wq_command.h"
#include "testbench/unit/model/blocks/srq_wqe_fetcher_harness.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic::srq_wqe_fetcher_contexts_test {
namespace {

constexpr std::uint64_t kReadLatency = SrqWqeFetcherLinks{}.context_cycles;
// Cycles from a request to memory to the use of its data: the link, the memory, the link.
constexpr std::uint64_t kMiss = 1 + kReadLatency + 1;
// A miss when the evicted context was changed: its write goes first.
constexpr std::uint64_t kMissAndWriteBack = kMiss + 1;
constexpr std::uint64_t kHit = 2;

SrqWqeFetcherParams small(std::uint32_t entries, std::uint32_t ways = 16, std::uint32_t misses = 2) {
  SrqWqeFetcherParams p;
  p.prefetch_depth = 4;
  p.queues = 8;
  p.wqes_per_read = 4;
  p.reads_in_flight = 4;
  p.hit_cycles = kHit;
  p.pipeline_depth = 4;
  p.queue_contexts = entries;
  p.queue_context_ways = ways;
  p.queue_misses_in_flight = misses;
  p.wqe_store_share = 0;
  return p;
}

// The driver's side of one queue.
struct Queue {
  WqContext context;
  WqId id = kNoWq;
  std::vector<std::uint32_t> order;  // slot of WQE k
  std::uint32_t producer = 0;
};

struct Fixture : SrqWqeFetcherHarness {
  Fixture(Bench& b, const SrqWqeFetcherParams& params)
      : SrqWqeFetcherHarness(b, counting_credits(params), {.in = 16, .doorbells = 16, .commands = 1}) {
    for (std::uint32_t line = 0; line < 64; ++line) {
      QpContext& qp = shared.contexts[line];
      qp.qpn = Qpn{100 + line};
      qp.transport = Transport::kRc;
      qp.state = QpState::kRts;
      qp.min_rnr_timer = 12;
      qp.residence = 1;
      qp.pins.add();
    }
    out.on_value([this](Cycle now, const ScatterJob& p) {
      if (p.releases_wqe) released.out.push(now, {p.wqe_slot});
      shared.ledger.retire(p, now);
    });
  }
  Queue make(WqKind kind = WqKind::kRq, WqLayout layout = WqLayout::kCyclic, std::uint32_t slots = 16,
             std::uint32_t limit = 0) {
    Queue q = describe(kind, layout, slots, limit);
    q.id = dut.create(q.context, host);
    return q;
  }
  Queue describe(WqKind kind = WqKind::kRq, WqLayout layout = WqLayout::kCyclic, std::uint32_t slots = 16,
                 std::uint32_t limit = 0) {
    Queue q;
    q.context.kind = kind;
    q.context.layout = layout;
    q.context.number = 7 + made;
    q.context.base = BusAddress{0x100000u * ++made};
    q.context.slots = slots;
    q.context.stride = 64;
    q.context.pd = Pdn{33};
    q.context.limit = limit;
    q.order.resize(slots);
    std::iota(q.order.begin(), q.order.end(), 0u);
    return q;
  }
  std::uint32_t slot_of(const Queue& q, std::uint32_t k) const { return q.order[k % q.context.slots]; }
  void post(Queue& q, std::uint32_t n, std::uint64_t when) {
    for (std::uint32_t i = 0; i < n; ++i, ++q.producer) {
      std::array<std::uint8_t, 64> slot{};
      const DataSegment sge{4096, 0x777, 0x1000 * (q.producer + 1ull)};
      write_wqe(slot, q.context.layout, slot_of(q, q.producer + 1), {&sge, 1});
      host.write(wqe_address(q.context, slot_of(q, q.producer)), slot);
    }
    doorbells.push(Cycle{when}, {DoorbellKind::kReceive, false, raw(q.id), q.producer});
  }
  void arm_limit(const Queue& q, std::uint32_t limit, std::uint64_t when) {
    doorbells.push(Cycle{when}, {DoorbellKind::kSrqLimit, false, raw(q.id), limit});
  }
  WqeRequest packet(const Queue& q, Operation op = Operation::kSendOnly, std::uint32_t line = 0) {
    QpContext& qp = shared.contexts[line];
    qp.receive_queue = q.id;
    qp.receive_cq = Cqn{5};
    qp.uses_srq = q.context.kind == WqKind::kSrq;
    WqeRequest p;
    p.line = line;
    p.residence = qp.residence;
    p.epoch = qp.epoch;
    describe_qp(p, qp);
    shared.contexts.pin(line);
    p.buffer = shared.packets.allocate(PacketClass::kReceive);
    p.opcode = opcode_of(p.transport, op);
    p.payload_bytes = 64;
    p.outcome = Outcome::kExecute;
    p.queue = q.id;
    p.message_sequence = ++qp.messages;
    p.message_bytes = 64;
    p.takes_wqe = p.has(kTakesWqe);
    p.ends_message = true;
    p.completes = p.takes_wqe;
    return p;
  }
  void send(const Queue& q, std::uint64_t when, std::uint32_t line = 0) {
    in.push(Cycle{when}, packet(q, Operation::kSendOnly, line));
  }
  void flush(std::uint64_t when, std::uint32_t line = 0) {
    const QpContext& of = shared.contexts[line];
    shared.contexts.pin(line);
    flushes.push(Cycle{when}, {line, of.residence, of.qpn, of.transport, of.uses_srq, of.receive_queue, of.receive_cq});
  }
  void ask(std::uint64_t when, const WqCommand& command) { commands.push(Cycle{when}, command); }
  void destroy(std::uint64_t when, const Queue& q) { ask(when, {.operation = WqOperation::kDestroy, .queue = q.id}); }
  void create(std::uint64_t when, const Queue& q) { ask(when, wq_command(WqOperation::kCreate, q.context)); }
  WqRecord record(const Queue& q) {
    WqRecord r;
    EXPECT_TRUE(model.read(q.id, host, r));
    return r;
  }
  const SrqWqeFetcherCounters& counters() const { return dut.counters(); }
  std::uint64_t account(Activity a, std::uint64_t until) {
    dut.settle(Cycle{until});
    return dut.account()[static_cast<std::size_t>(a)];
  }

  std::uint32_t made = 0;
};

TEST(SrqWqeFetcherContexts, ACreatedQueueIsHere) {  // R1, R14
  Bench bench;
  Fixture fixture(bench, small(2));
  Queue q[2] = {fixture.make(), fixture.make()};
  for (Queue& one : q) fixture.post(one, 2, 1);
  fixture.send(q[0], 499);
  fixture.send(q[1], 499);
  bench.run_to(Cycle{500 + kHit});
  EXPECT_EQ(fixture.out.size(), 0u);
  bench.run();
  EXPECT_EQ(fixture.out.cycle(0), Cycle{500 + kHit});
  EXPECT_EQ(fixture.out.cycle(1), Cycle{500 + kHit + 1});
  EXPECT_EQ(fixture.counters().context_hits, 4u);
  EXPECT_EQ(fixture.counters().context_misses, 0u);
  EXPECT_EQ(fixture.contexts.log().size(), 0u);
}

// Without a WQE the only latency is the read of the context, which starts when the packet is taken.
TEST(SrqWqeFetcherContexts, AMissTakesAReadToTheCycle) {  // R14, R15
  Bench bench;
  Fixture fixture(bench, small(1));
  fixture.make();
  Queue q = fixture.make();  // has no line
  fixture.send(q, 9);        // taken in 10
  bench.run_to(Cycle{40});
  ASSERT_EQ(fixture.contexts.log().size(), 1u);
  EXPECT_EQ(fixture.contexts.log()[0].taken, Cycle{11}) << "asked for in 10";
  EXPECT_EQ(fixture.contexts.log()[0].request.kind, DmaKind::kRead);
  EXPECT_EQ(fixture.contexts.log()[0].request.address, queue_context_address(q.id));
  EXPECT_EQ(fixture.contexts.log()[0].request.bytes, 64u);
  EXPECT_EQ(fixture.dut.activity(), Activity::kWaitQueueContext);
  bench.run_to(Cycle{10 + kMiss});
  EXPECT_EQ(fixture.out.size(), 0u);
  bench.run_to(Cycle{10 + kMiss + 1});
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{10 + kMiss});
  EXPECT_EQ(fixture.out.value(0).drop_reason, DropReason::kNoReceiveWqe);
  EXPECT_EQ(fixture.counters().context_misses, 1u);
  EXPECT_EQ(fixture.counters().context_reads, 1u);
  EXPECT_EQ(fixture.counters().context_reads_ahead, 1u);
  EXPECT_EQ(fixture.account(Activity::kWaitQueueContext, 100), kMiss - kHit);
}

// With a WQE posted: its read starts in the cycle in which the context comes.
TEST(SrqWqeFetcherContexts, AContextAndItsWqeAreReadOneAfterTheOther) {  // R14, R15
  Bench bench;
  Fixture fixture(bench, small(1));
  Queue other = fixture.make(), q = fixture.make();
  fixture.post(q, 4, 1);
  fixture.post(other, 4, 299);  // takes the line
  fixture.send(q, 599);
  bench.run_to(Cycle{600 + kMissAndWriteBack + kMiss});
  EXPECT_EQ(fixture.out.size(), 0u);
  bench.run_to(Cycle{600 + kMissAndWriteBack + kMiss + 1});
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.value(0).wqe_index, 0u);
  EXPECT_EQ(fixture.out.value(0).pd, Pdn{33});
  EXPECT_EQ(fixture.counters().context_write_backs, 2u);
}

TEST(SrqWqeFetcherContexts, AContextComesBackAsItWent) {
  for (const WqLayout layout : {WqLayout::kCyclic, WqLayout::kLinkedList}) {
    Bench bench;
    Fixture fixture(bench, small(1));
    Queue q = fixture.make(WqKind::kSrq, layout);
    if (layout == WqLayout::kLinkedList) q.order = {0, 4, 5, 2, 1, 7, 6, 3, 8, 9, 10, 11, 12, 13, 14, 15};
    Queue other = fixture.make();
    fixture.post(q, 7, 1);
    fixture.arm_limit(q, 4, 2);
    fixture.send(q, 299);
    fixture.send(q, 299);
    WqRecord before;
    bench.at(Cycle{990}, [&](Cycle) { before = fixture.record(q); });
    fixture.post(other, 4, 999);
    bench.run_to(Cycle{1500});
    const auto stored = fixture.host.load<WqRecord>(queue_context_address(q.id));
    EXPECT_EQ(std::memcmp(&stored, &before, sizeof stored), 0);
    EXPECT_EQ(stored.producer, 7u);
    EXPECT_EQ(stored.taken, 2u);
    EXPECT_EQ(stored.next_slot, layout == WqLayout::kLinkedList ? 5u : 2u);
    EXPECT_EQ(stored.limit, 4u);
    fixture.send(q, 1999);
    fixture.send(q, 1999);
    bench.run();
    ASSERT_EQ(fixture.out.size(), 4u);
    for (std::uint32_t n = 0; n < 4; ++n) EXPECT_EQ(fixture.out.value(n).wqe_index, q.order[n]);
    ASSERT_EQ(fixture.events.size(), 1u) << "the limit is still armed";
    EXPECT_EQ(fixture.events.value(0).type, EventType::kSrqLimitReached);
    EXPECT_EQ(fixture.record(q).limit, 0u) << "and disarmed by the event";
  }
}

TEST(SrqWqeFetcherContexts, ArmingALimitBringsTheContextIn) {  // R14
  Bench bench;
  Fixture fixture(bench, small(1));
  Queue other = fixture.make();
  Queue q = fixture.make(WqKind::kSrq);
  fixture.post(q, 4, 1);
  fixture.post(other, 4, 299);
  fixture.arm_limit(q, 4, 599);
  fixture.post(other, 4, 899);
  fixture.send(q, 1299);
  bench.run();
  EXPECT_EQ(fixture.events.size(), 1u);
}

// The context is not evicted while reads of its WQEs are in flight.
TEST(SrqWqeFetcherContexts, LinesWithReadsInFlightAreWaitedFor) {  // R14
  Bench bench;
  Fixture fixture(bench, small(2));
  Queue q[3] = {fixture.make(), fixture.make(), fixture.make()};
  fixture.wqes.set_latency(400);
  fixture.post(q[0], 2, 9);
  fixture.post(q[1], 2, 9);
  fixture.send(q[2], 19);
  fixture.send(q[0], 19, 1);  // behind it, in order
  bench.run_to(Cycle{300});
  EXPECT_EQ(fixture.dut.activity(), Activity::kWaitContextWay);
  EXPECT_EQ(fixture.contexts.log().size(), 0u);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{10 + 402 + kMissAndWriteBack}) << "the first read came in 412";
  EXPECT_EQ(fixture.out.value(0).drop_reason, DropReason::kNoReceiveWqe);
  EXPECT_EQ(fixture.out.value(1).wqe_index, 0u);
  EXPECT_EQ(fixture.counters().wqes, 1u);
  EXPECT_GT(fixture.account(Activity::kWaitContextWay, 1000), 380u);
}

// A packet finds no WQE posted, while its queue's doorbell is behind others whose contexts have to come.
TEST(SrqWqeFetcherContexts, ALateDoorbellMakesNoRnrNak) {  // R16
  for (const std::uint32_t entries : {1u, 2u, 4u}) {
    Bench bench;
    Fixture fixture(bench, small(entries));
    std::vector<Queue> q;
    for (int n = 0; n < 10; ++n) q.push_back(fixture.make());
    fixture.send(q[0], 5);  // the context is here, no WQE is posted, no doorbell waits
    for (std::uint32_t n = 6; n < 10; ++n) fixture.post(q[n], 1, 99);
    fixture.post(q[0], 2, 99);
    fixture.send(q[0], 103, 1);
    fixture.send(q[0], 103, 1);
    bench.run();
    ASSERT_EQ(fixture.out.size(), 3u);
    EXPECT_EQ(fixture.counters().no_wqe, 1u);
    EXPECT_EQ(fixture.out.value(0).drop_reason, DropReason::kNoReceiveWqe);
    EXPECT_EQ(fixture.out.value(1).wqe_index, 0u);
    EXPECT_EQ(fixture.out.value(2).wqe_index, 1u);
    EXPECT_GE(fixture.out.cycle(1), Cycle{100 + 4 * kMiss});
  }
}

TEST(SrqWqeFetcherContexts, WithoutADoorbellThatHelpsThereIsNoWqe) {  // R16, R4
  Bench bench;
  Fixture fixture(bench, small(1));
  std::vector<Queue> q;
  for (int n = 0; n < 10; ++n) q.push_back(fixture.make());
  for (std::uint32_t n = 6; n < 10; ++n) fixture.post(q[n], 1, 99);
  fixture.send(q[0], 103);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.value(0).drop_reason, DropReason::kNoReceiveWqe);
}

TEST(SrqWqeFetcherContexts, AFlushBringsItsQueueIn) {  // R14, R9
  Bench bench;
  Fixture fixture(bench, small(1));
  Queue other = fixture.make(), q = fixture.make();
  fixture.packet(q, Operation::kSendOnly, 3);  // the QP of line 3 has this queue
  fixture.post(q, 3, 1);
  fixture.post(other, 1, 199);
  fixture.flush(399, 3);        // looked at in 400
  fixture.post(other, 2, 599);  // another queue's doorbell
  fixture.post(q, 1, 799);      // posted later: flushed, too
  bench.run();
  ASSERT_EQ(fixture.out.size(), 4u);
  for (std::uint32_t n = 0; n < 4; ++n) {
    EXPECT_EQ(fixture.out.value(n).role, PacketRole::kFlush);
    EXPECT_EQ(fixture.out.value(n).wqe_index, n);
    EXPECT_EQ(fixture.out.value(n).cq, Cqn{5});
  }
  EXPECT_EQ(fixture.out.cycle(0), Cycle{400 + kMissAndWriteBack});
  EXPECT_EQ(fixture.out.value(3).qpn, Qpn{8}) << "of the queue";
  EXPECT_TRUE(fixture.record(q).failed);
  EXPECT_EQ(fixture.record(q).flush_cq, Cqn{5});
}

TEST(SrqWqeFetcherContexts, CreditsNeedTheContext) {  // R12, R14
  Bench bench;
  Fixture fixture(bench, small(1));
  Queue other = fixture.make(), q = fixture.make();
  fixture.post(q, 3, 1);
  fixture.post(other, 1, 199);
  WqeRequest write = fixture.packet(q, Operation::kWriteOnly);
  write.acknowledge = true;
  fixture.in.push(Cycle{399}, write);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{400 + kMissAndWriteBack});
  EXPECT_EQ(fixture.out.value(0).posted_wqes, 3u);
}

TEST(SrqWqeFetcherContexts, AQueueThatDoesNotExistIsNotKept) {  // R14
  Bench bench;
  Fixture fixture(bench, small(2));
  Queue q = fixture.make(), gone = fixture.make();
  fixture.destroy(1, gone);
  fixture.send(gone, 9);
  fixture.post(gone, 1, 199);
  fixture.post(q, 1, 299);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{10 + kMiss});
  EXPECT_EQ(fixture.out.value(0).drop_reason, DropReason::kNoReceiveWqe);
  EXPECT_EQ(fixture.dut.prefetch_counters().bad_doorbells, 1u);
  EXPECT_EQ(fixture.record(q).producer, 1u);
  Queue again = fixture.make();
  EXPECT_EQ(again.id, gone.id);
  EXPECT_EQ(fixture.record(again).producer, 0u);
}

TEST(SrqWqeFetcherContexts, ACommandOnAQueueWhoseContextIsNotHereHasItRead) {  // R14, R17
  Bench bench;
  Fixture fixture(bench, small(1));
  Queue here = fixture.make(WqKind::kSrq), other = fixture.make(WqKind::kSrq);
  fixture.post(here, 3, 1);
  fixture.ask(99, {.operation = WqOperation::kArmLimit, .queue = other.id, .limit = 7});
  fixture.ask(299, {.operation = WqOperation::kQuery, .queue = other.id});
  fixture.ask(399, {.operation = WqOperation::kQuery, .queue = here.id});
  fixture.ask(599, {.operation = WqOperation::kQuery, .queue = WqId{77}});
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 4u);
  EXPECT_EQ(fixture.replies.cycle(0), Cycle{100 + kMissAndWriteBack});
  EXPECT_EQ(fixture.replies.cycle(1), Cycle{300}) << "it is here";
  EXPECT_EQ(fixture.replies.value(1).limit, 7u);
  EXPECT_EQ(fixture.replies.value(1).posted, 0u);
  EXPECT_EQ(fixture.replies.cycle(2), Cycle{400 + kMissAndWriteBack});
  EXPECT_EQ(fixture.replies.value(2).posted, 3u);
  EXPECT_FALSE(fixture.replies.value(3).ok);
}

TEST(SrqWqeFetcherContexts, AQueueIsCreatedInALineThatAnotherGivesUp) {  // R18
  Bench bench;
  Fixture fixture(bench, small(1));
  Queue q = fixture.make();
  fixture.post(q, 3, 1);
  Queue made = fixture.describe(WqKind::kSrq, WqLayout::kCyclic, 32, 5);
  fixture.create(99, made);
  fixture.destroy(199, q);
  fixture.ask(299, {.operation = WqOperation::kQuery, .queue = WqId{1}});
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 3u);
  EXPECT_EQ(fixture.replies.cycle(0), Cycle{100 + kMissAndWriteBack});
  EXPECT_EQ(fixture.replies.value(0).queue, WqId{1});
  EXPECT_EQ(fixture.replies.cycle(1), Cycle{200}) << "it is not here";
  EXPECT_EQ(fixture.host.load<WqRecord>(queue_context_address(q.id)).valid, 0);
  EXPECT_EQ(fixture.replies.cycle(2), Cycle{300}) << "it was not evicted";
  EXPECT_EQ(fixture.replies.value(2).limit, 5u);
  EXPECT_EQ(fixture.host.load<WqRecord>(queue_context_address(WqId{1})).valid, 0);
}

// A doorbell of another queue needs the only line while the command waits for doorbells of its own.
TEST(SrqWqeFetcherContexts, ACommandKeepsNoLineThatDoorbellsNeed) {  // R14, R17
  Bench bench;
  Fixture fixture(bench, small(1));
  Queue q = fixture.make(), other = fixture.make();
  fixture.post(other, 1, 99);
  fixture.post(q, 2, 99);
  fixture.post(other, 1, 99);
  fixture.ask(99, {.operation = WqOperation::kClose, .queue = q.id});
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 1u);
  EXPECT_EQ(fixture.record(q).producer, 2u);
  EXPECT_EQ(fixture.record(other).producer, 2u);
}

// Queues are created and destroyed while others are used; numbers are reused, and no state of the queue before is left.
TEST(SrqWqeFetcherContexts, ManyAreCreatedAndDestroyed) {
  Bench bench;
  Fixture fixture(bench, small(4, 2));
  std::vector<Queue> q;
  for (int n = 0; n < 8; ++n) q.push_back(fixture.make());
  std::uint32_t destroyed = 0;
  std::uint64_t sent = 0;
  for (std::uint64_t round = 0; round < 300; ++round) {
    bench.at(Cycle{100 + round * 800}, [&, round](Cycle now) {
      Queue& one = q[round % 8];
      fixture.destroy(now.count, one);
      one = fixture.describe();
      fixture.create(now.count, one);
    });
    bench.at(Cycle{500 + round * 800}, [&, round](Cycle now) {
      ASSERT_EQ(fixture.replies.size(), 2 * round + 2) << "both commands are done";
      q[round % 8].id = fixture.replies.value(2 * round + 1).queue;
      ++destroyed;
      for (std::uint32_t n : {0u, 3u, 5u}) {
        Queue& used = q[(round + n) % 8];
        EXPECT_EQ(fixture.record(used).valid, 1);
        fixture.post(used, 1, now.count);
        fixture.send(used, now.count, n);
        ++sent;
      }
    });
  }
  bench.run();
  EXPECT_EQ(destroyed, 300u);
  EXPECT_EQ(fixture.out.size(), sent);
  EXPECT_EQ(fixture.counters().wqes, sent);
  EXPECT_GT(fixture.counters().context_misses, 300u);
}

// Packets of many queues whose WQEs are posted in time: each gets the same WQE with few cache lines as with many.
using Taken = std::map<std::uint32_t, std::vector<std::uint32_t>>;  // by queue: slots
Taken run_traffic(Bench& bench, const SrqWqeFetcherParams& params, std::uint64_t seed,
                  SrqWqeFetcherCounters* counters = nullptr) {
  constexpr std::uint32_t kQueues = 40, kPackets = 800;
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
  Fixture& fixture = bench.keep<Fixture>(bench, params);
  auto& queues = bench.keep<std::vector<Queue>>();
  for (std::uint32_t n = 0; n < kQueues; ++n) {
    const bool list = below(2) == 0;
    Queue q = fixture.make(list || below(2) == 0 ? WqKind::kSrq : WqKind::kRq,
                           list ? WqLayout::kLinkedList : WqLayout::kCyclic, 1024, n % 5);
    if (list) std::shuffle(q.order.begin() + 1, q.order.end(), random);
    queues.push_back(q);
  }
  std::uint64_t when = 10;
  std::vector<std::uint32_t> posted(kQueues, 0), used(kQueues, 0);
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    when += below(30) == 0 ? below(600) : below(3);
    const std::uint32_t n = below(3) == 0 ? below(4) : below(kQueues);
    if (used[n] == posted[n]) {
      const std::uint32_t more = 1 + below(5);
      bench.at(Cycle{when}, [&fixture, &queues, n, more](Cycle now) { fixture.post(queues[n], more, now.count); });
      posted[n] += more;
    }
    ++used[n];
    bench.at(Cycle{when + 1}, [&fixture, &queues, n](Cycle now) { fixture.send(queues[n], now.count, n); });
    if (below(40) == 0) {
      const std::uint32_t limit = below(4);
      bench.at(Cycle{when},
               [&fixture, &queues, n, limit](Cycle now) { fixture.arm_limit(queues[n], limit, now.count); });
    }
  }
  bench.run();
  EXPECT_EQ(fixture.out.size(), kPackets);
  EXPECT_EQ(fixture.counters().no_wqe, 0u) << params.queue_contexts << " lines";
  EXPECT_EQ(fixture.dut.prefetch_counters().bad_doorbells, 0u);
  Taken taken;
  for (const ScatterJob& p : fixture.out.values()) taken[raw(p.queue)].push_back(p.wqe_index);
  for (std::uint32_t n = 0; n < kQueues; ++n) {
    const std::vector<std::uint32_t>& slots = taken[raw(queues[n].id)];
    EXPECT_EQ(slots.size(), used[n]);
    for (std::uint32_t k = 0; k < slots.size(); ++k)
      EXPECT_EQ(slots[k], fixture.slot_of(queues[n], k)) << "queue " << n;
  }
  if (counters != nullptr) *counters = fixture.counters();
  return taken;
}

TEST(SrqWqeFetcherContexts, WhatPacketsTakeDoesNotDependOnTheSizeOfTheCache) {
  const std::uint64_t seed = test_seed(21);
  Taken expected;
  SrqWqeFetcherCounters c;
  {
    Bench bench;
    expected = run_traffic(bench, small(64, 4), seed, &c);
    EXPECT_EQ(c.context_misses, 0u);
  }
  for (const std::uint32_t entries : {1u, 2u, 8u}) {
    Bench bench;
    EXPECT_EQ(run_traffic(bench, small(entries, 2), seed, &c), expected) << entries << " lines";
    EXPECT_GT(c.context_misses, 300u);
    EXPECT_GT(c.context_write_backs, 300u);
  }
}

TEST(SrqWqeFetcherContexts, ModesAndOrdersAgreeOnFewLines) {
  const std::uint64_t seed = test_seed(22);
  for (const std::uint32_t entries : {1u, 4u}) {
    expect_equal_in_all_orders([seed, entries](Bench& bench) {
      StateHash h;
      for (const auto& [queue, slots] : run_traffic(bench, small(entries, 2), seed)) {
        for (const std::uint32_t s : slots) h.mix(s);
      }
      h.mix(bench.state_hash());
      return h.value();
    });
  }
}

}  // namespace
}  // namespace rxnic::srq_wqe_fetcher_contexts_test
