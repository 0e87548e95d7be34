// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "testbench/unit/model/blocks/srq_wqe_fetcher_fixture.h"

namespace rxnic::srq_wqe_fetcher_test {
namespace {

// Cycles per WQE when `n` packets wait for as many posted WQEs.
double cycles_per_wqe(const SrqWqeFetcherParams& params, WqKind kind, WqLayout layout, bool contiguous) {
  Bench bench;
  Fixture fixture(bench, params);
  constexpr std::uint32_t kPackets = 400;
  Queue q = fixture.make(kind, layout, 512);
  if (!contiguous) {  // in the order in which completions of many QPs would free slots
    std::mt19937 random(1);
    std::shuffle(q.order.begin() + 1, q.order.end(), random);
  }
  fixture.post(q, kPackets, Cycle{1});
  for (std::uint32_t i = 0; i < kPackets; ++i) fixture.send(Cycle{2 + i}, q);
  bench.run();
  EXPECT_EQ(fixture.out.size(), kPackets);
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    EXPECT_EQ(fixture.at(i).wqe_index, fixture.slot_of(q, i));
    EXPECT_EQ(fixture.shared.wqes[fixture.at(i).wqe_slot].sge[0].address, 0x1000u * (i + 1));
  }
  return static_cast<double>(fixture.out.cycle(kPackets - 1).count - fixture.out.cycle(0).count) / (kPackets - 1);
}

TEST(SrqWqeFetcher, HitLeavesAfterHitCyclesAndNotBefore) {  // R1
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  fixture.post(q, 4, Cycle{1});
  fixture.send(Cycle{999}, q);  // taken in cycle 1000
  const std::uint64_t due = 1000 + defaults().hit_cycles;
  bench.run_to(Cycle{due});  // a push in cycle n is seen by the sink in n + 1
  EXPECT_EQ(fixture.out.size(), 0u);
  bench.run_to(Cycle{due + 1});
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{due});
  EXPECT_EQ(fixture.shared.packets[fixture.at(0).buffer].stamped(Station::kSrqWqeFetcher), Cycle{due});
  EXPECT_EQ(fixture.shared.packets[fixture.at(0).buffer].taken(Station::kSrqWqeFetcher), Cycle{1000});
  EXPECT_EQ(fixture.dut.counters().waits, 0u);
}

TEST(SrqWqeFetcher, MissLeavesInTheCycleInWhichItsReadCompletes) {  // R1, R2
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  fixture.post(q, 1, Cycle{9});  // taken in 10, its read starts in 10, is taken by memory in 11
  fixture.send(Cycle{9}, q);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 1u);
  ASSERT_EQ(fixture.wqes.log().size(), 1u);
  EXPECT_EQ(fixture.wqes.log()[0].taken, Cycle{11});
  EXPECT_EQ(fixture.out.cycle(0), Cycle{11 + kReadLatency + 1});
  EXPECT_EQ(fixture.dut.account()[static_cast<std::size_t>(Activity::kWaitWqe)], kReadLatency);  // from 12 on
  EXPECT_EQ(fixture.dut.counters().waits, 1u);
}

TEST(SrqWqeFetcher, OnePacketLeavesInEachCycle) {  // R1
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  fixture.post(q, 8, Cycle{1});
  for (std::uint64_t i = 0; i < 8; ++i) fixture.send(Cycle{1999 + i}, q);
  bench.run();
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(fixture.out.cycle(i), Cycle{2000 + defaults().hit_cycles + i});
}

TEST(SrqWqeFetcher, PacketsThatNeedNoWqeTakeAsLongAndKeepTheirPlace) {  // R1
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  const WqeRequest read = fixture.send(Cycle{4}, q, Operation::kReadRequest);
  fixture.post(q, 1, Cycle{9});
  const WqeRequest send = fixture.send(Cycle{9}, q);
  const WqeRequest behind = fixture.send(Cycle{9}, q, Operation::kReadRequest, 1);
  bench.run();
  EXPECT_EQ(fixture.buffers(), (std::vector{read.buffer, send.buffer, behind.buffer}));
  EXPECT_EQ(fixture.at(0), static_cast<const ScatterJob&>(read)) << "as it came";
  EXPECT_EQ(fixture.out.cycle(0), Cycle{5 + defaults().hit_cycles});
}

TEST(SrqWqeFetcher, BlockedOutputIsReportedAndLosesNothing) {
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 64);
  fixture.out.stall(Cycle{0}, Cycle{3000});
  fixture.post(q, 32, Cycle{1});
  for (std::uint64_t i = 0; i < 32; ++i) fixture.send(Cycle{2000 + i}, q);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 32u);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(fixture.at(i).wqe_index, i);
  EXPECT_GT(fixture.dut.account()[static_cast<std::size_t>(Activity::kBlocked)], 900u);
}

TEST(SrqWqeFetcher, TheTwoInputsTakeTurns) {  // R1
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  std::vector<PacketHandle> expected;
  for (std::uint64_t i = 0; i < 3; ++i) {
    expected.push_back(fixture.send(Cycle{1}, q, Operation::kReadRequest).buffer);
    const WqeRequest other = fixture.packet(q, Operation::kReadRequest);
    expected.push_back(other.buffer);
    fixture.tagged.push(Cycle{1}, other);
  }
  bench.run();
  EXPECT_EQ(fixture.buffers(), expected);
}

TEST(SrqWqeFetcher, LinkedListPaysOneDependentReadForEachWqe) {  // NUMBERS.md, SRQ against RQ
  SrqWqeFetcherParams p = defaults();
  p.sequential_prefetch = false;
  const double list = cycles_per_wqe(p, WqKind::kSrq, WqLayout::kLinkedList, true);
  EXPECT_NEAR(1e3 / list, 1.79, 0.05) << "M WQE/s";  // 1 ns a cycle
  EXPECT_DOUBLE_EQ(list, kReadLatency + 2);
}

TEST(SrqWqeFetcher, CyclicIsAtLeastThreeTimesAsFastAsALinkedList) {  // NUMBERS.md, SRQ against RQ
  SrqWqeFetcherParams p = defaults();
  p.sequential_prefetch = false;
  const double list = cycles_per_wqe(p, WqKind::kSrq, WqLayout::kLinkedList, true);
  const double cyclic = cycles_per_wqe(p, WqKind::kSrq, WqLayout::kCyclic, true);
  const double rq = cycles_per_wqe(p, WqKind::kRq, WqLayout::kCyclic, true);
  EXPECT_LT(3 * cyclic, list);
  EXPECT_DOUBLE_EQ(rq, cyclic);
}

TEST(SrqWqeFetcher, SequentialPrefetchHelpsOnlyWhereWqesAreHandedOutInOrder) {  // NUMBERS.md, SRQ against RQ; rules 1.5
  SrqWqeFetcherParams p = defaults();
  p.sequential_prefetch = true;
  const double cyclic = cycles_per_wqe(p, WqKind::kSrq, WqLayout::kCyclic, true);
  EXPECT_DOUBLE_EQ(cycles_per_wqe(p, WqKind::kSrq, WqLayout::kLinkedList, true), cyclic);
  EXPECT_GT(cycles_per_wqe(p, WqKind::kSrq, WqLayout::kLinkedList, false), 0.95 * kReadLatency);
}

TEST(SrqWqeFetcher, WrongGuessesAreDiscardedAndCounted) {
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kSrq, WqLayout::kLinkedList, 8);
  q.order = {0, 4, 5, 2, 1, 7, 6, 3};
  fixture.post(q, 6, Cycle{1});
  for (int i = 0; i < 6; ++i) fixture.send(Cycle{2}, q);
  bench.run();
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(fixture.at(i).wqe_index, q.order[i]);
  const auto& c = fixture.dut.prefetch_counters();
  EXPECT_GT(c.wqes_discarded, 0u);
  EXPECT_EQ(c.wqes_read - c.wqes_discarded, 6u);
}

TEST(SrqWqeFetcher, AListHoldsOneLessThanItsSlots) {  // work_queue.h R2
  Bench bench;
  Fixture fixture(bench);
  Queue list = fixture.make(WqKind::kSrq, WqLayout::kLinkedList, 8);
  Queue ring = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 8);
  fixture.ring(list, Cycle{1}, 8);
  fixture.ring(ring, Cycle{2}, 9);
  fixture.settle();
  EXPECT_EQ(fixture.dut.prefetch_counters().bad_doorbells, 2u);
  EXPECT_EQ(fixture.model.posted(list.id), 0u);
  fixture.ring(list, fixture.present + 1, 7);
  fixture.ring(ring, fixture.present + 2, 8);
  fixture.settle();
  EXPECT_EQ(fixture.model.posted(list.id), 7u);
  EXPECT_EQ(fixture.model.posted(ring.id), 8u);
  fixture.ring(ring, fixture.present + 1, 7);  // the index goes back
  fixture.doorbells.push(fixture.present + 2, {DoorbellKind::kReceive, false, 99, 1});
  fixture.settle();
  EXPECT_EQ(fixture.dut.prefetch_counters().bad_doorbells, 4u);
}

TEST(SrqWqeFetcher, RingWrapsManyTimes) {
  for (const WqLayout layout : {WqLayout::kCyclic, WqLayout::kLinkedList}) {
    Bench bench;
    Fixture fixture(bench);
    Queue q = fixture.make(WqKind::kSrq, layout, 8);
    for (std::uint64_t i = 0; i < 100; ++i) {
      bench.at(Cycle{1 + 2000 * i}, [&](Cycle now) {
        fixture.post(q, 5, now);
        for (int n = 0; n < 5; ++n) fixture.send(now, q);
      });
    }
    bench.run();
    ASSERT_EQ(fixture.out.size(), 500u);
    for (std::uint32_t i = 0; i < 500; ++i) {
      ASSERT_EQ(fixture.at(i).wqe_index, i % 8);
      ASSERT_EQ(fixture.shared.wqes[fixture.at(i).wqe_slot].sge[0].address, 0x1000u * (i + 1));
    }
    EXPECT_EQ(fixture.dut.prefetch_counters().wqes_discarded, 0u);
  }
}

TEST(SrqWqeFetcher, WqesInOneReadAreContiguousAndNeverCrossTheRingsEnd) {  // wqe_prefetch R2
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  fixture.post(q, 14, Cycle{1});
  for (int i = 0; i < 14; ++i) fixture.send(Cycle{2}, q);
  fixture.settle();
  fixture.post(q, 8, fixture.present + 1);
  fixture.settle();
  std::vector<std::uint32_t> bytes;
  for (const auto& r : fixture.wqes.log()) {
    bytes.push_back(r.request.bytes / 64);
    EXPECT_LE(raw(r.request.address) + r.request.bytes, raw(q.context.base) + 16 * 64);
  }
  EXPECT_EQ(bytes, (std::vector<std::uint32_t>{4, 4, 4, 2, 2, 4, 2}));
}

TEST(SrqWqeFetcher, NoMoreReadsAreInFlightThanTheDeviceHas) {  // R3
  SrqWqeFetcherParams p = defaults();
  p.reads_in_flight = 2;
  p.wqes_per_read = 1;
  Bench bench;
  Fixture fixture(bench, p);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  fixture.post(q, 6, Cycle{1});
  bench.run();
  const auto& log = fixture.wqes.log();
  ASSERT_EQ(log.size(), 6u);
  for (std::size_t i = 2; i < 6; ++i) EXPECT_GE(log[i].taken.count, log[i - 2].taken.count + kReadLatency);
  EXPECT_LT(log[1].taken.count, log[0].taken.count + 10);
}

TEST(SrqWqeFetcher, EvictedQueuesAreReadAgain) {  // work_queue_table R2
  SrqWqeFetcherParams p = defaults();
  p.queues = 2;
  for (const WqLayout layout : {WqLayout::kCyclic, WqLayout::kLinkedList}) {
    Bench bench;
    Fixture fixture(bench, p);
    std::vector<Queue> queues;
    for (int i = 0; i < 3; ++i) queues.push_back(fixture.make(WqKind::kSrq, layout, 16));
    for (Queue& q : queues) fixture.post(q, 10, Cycle{1});
    for (int i = 0; i < 30; ++i) fixture.send(Cycle{2}, queues[i % 3]);
    bench.run();
    ASSERT_EQ(fixture.out.size(), 30u);
    for (std::uint32_t i = 0; i < 30; ++i) {
      EXPECT_EQ(fixture.at(i).wqe_index, i / 3);
      EXPECT_EQ(fixture.shared.wqes[fixture.at(i).wqe_slot].sge[0].address, 0x1000u * (i / 3 + 1));
    }
    EXPECT_GE(fixture.dut.prefetch_counters().evictions, 28u);
  }
}

// Many RQs on few prefetch contexts: a queue has lost its own before its next packet comes.
TEST(SrqWqeFetcher, OnDemandFewWqesAreReadInVain) {  // work_queue_table R2
  constexpr int kQueues = 48, kPackets = 480;
  std::uint64_t last[2] = {};
  for (const PrefetchPolicy policy : {PrefetchPolicy::kDemand, PrefetchPolicy::kGreedy}) {
    SrqWqeFetcherParams p = defaults();
    p.prefetch = policy;
    p.queues = 8;
    Bench bench;
    Fixture fixture(bench, p);
    std::vector<Queue> queues;
    for (int i = 0; i < kQueues; ++i) queues.push_back(fixture.make(WqKind::kSrq, WqLayout::kCyclic, 16));
    for (Queue& q : queues) fixture.post(q, 12, Cycle{1});
    for (int i = 0; i < kPackets; ++i) fixture.send(Cycle{2000}, queues[i % kQueues]);
    bench.run();
    ASSERT_EQ(fixture.out.size(), static_cast<std::size_t>(kPackets));
    last[policy == PrefetchPolicy::kGreedy] = fixture.out.cycle(kPackets - 1).count;
    const auto& c = fixture.dut.prefetch_counters();
    if (policy == PrefetchPolicy::kDemand) {
      EXPECT_LE(c.wqes_read, kPackets * 11 / 10);
    } else {
      EXPECT_GE(c.wqes_read, kPackets * 4);
    }
    const std::uint64_t used_or_counted = kPackets + c.wqes_discarded + c.wqes_evicted;
    EXPECT_GE(c.wqes_read, used_or_counted);
    EXPECT_LE(c.wqes_read, used_or_counted + p.queues * p.prefetch_depth) << "but for those that are still there";
  }
  EXPECT_LE(last[0], last[1]) << "nor does it take longer";
}

TEST(SrqWqeFetcher, SrqLimitIsRaisedExactlyOnceWhenItIsPassed) {  // rules 2.3: post 10, limit 7, 4 sends
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kSrq, WqLayout::kLinkedList, 16, 7);
  fixture.post(q, 10, Cycle{1});
  for (int i = 0; i < 3; ++i) fixture.send(Cycle{5000}, q);
  fixture.settle();
  EXPECT_EQ(fixture.events.size(), 0u);
  fixture.send(fixture.present + 10, q);
  fixture.settle();
  ASSERT_EQ(fixture.events.size(), 1u);
  EXPECT_EQ(fixture.events.value(0).type, EventType::kSrqLimitReached);
  EXPECT_EQ(fixture.events.value(0).number, 7u);
  EXPECT_EQ(fixture.events.cycle(0), fixture.out.cycle(3));  // checked as the WQE is taken
  EXPECT_EQ(fixture.model.limit(q.id), 0u);                  // a query returns 0
  for (int i = 0; i < 3; ++i) fixture.send(fixture.present + 10, q);
  fixture.settle();
  EXPECT_EQ(fixture.events.size(), 1u);  // one-shot
  fixture.doorbells.push(fixture.present + 10, {DoorbellKind::kSrqLimit, false, raw(q.id), 3});
  fixture.settle();
  EXPECT_EQ(fixture.events.size(), 1u);  // armed again: at the next WQE
  fixture.send(fixture.present + 10, q);
  fixture.settle();
  EXPECT_EQ(fixture.events.size(), 2u);
}

TEST(SrqWqeFetcher, NoWqeIsAnRnrNakThatUsesNothing) {  // R4
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  WqeRequest first = fixture.packet(q);
  first.psn = Psn{77};
  first.msn_before = 5;
  first.answer_msn = 6;
  fixture.in.push(Cycle{1}, first);
  fixture.send(Cycle{1}, q, Operation::kReadRequest);
  fixture.settle();
  ASSERT_EQ(fixture.out.size(), 2u);
  const ScatterJob p = fixture.at(0);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{2 + defaults().hit_cycles});
  EXPECT_EQ(p.outcome, Outcome::kNak);
  EXPECT_EQ(p.syndrome, 0x20 | 12);
  EXPECT_EQ(p.answer_psn, Psn{77});
  EXPECT_EQ(p.answer_msn, 5u);
  EXPECT_TRUE(p.acknowledge);
  EXPECT_FALSE(p.completes);
  EXPECT_EQ(p.wqe_slot, kNoWqeSlot);
  EXPECT_EQ(fixture.model.wqes_in_use(), 0u);
  EXPECT_EQ(fixture.qp(0).state, QpState::kRts);
  EXPECT_EQ(fixture.at(1).drop_reason, DropReason::kSquashed);
  EXPECT_EQ(fixture.dut.counters().squashed, 1u);
  // The doorbell comes, the peer tries again.
  ++fixture.qp(0).epoch;  // by the transport checker
  fixture.post(q, 1, fixture.present + 10);
  fixture.send(fixture.present + 20, q);
  fixture.settle();
  EXPECT_EQ(fixture.at(2).outcome, Outcome::kExecute);
  EXPECT_EQ(fixture.at(2).wqe_index, 0u);
}

TEST(SrqWqeFetcher, TheTimerOfAnRnrNakIsThePacketsQps) {  // R4
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  fixture.qp(1).min_rnr_timer = 31;
  fixture.qp(2).min_rnr_timer = 0;
  for (const std::uint32_t line : {0u, 1u, 2u}) fixture.send(Cycle{1}, q, Operation::kSendOnly, line);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 3u);
  EXPECT_EQ(fixture.at(0).syndrome, 0x20 | 12);
  EXPECT_EQ(fixture.at(1).syndrome, 0x20 | 31);
  EXPECT_EQ(fixture.at(2).syndrome, 0x20);
}

TEST(SrqWqeFetcher, ARefusalIsForgottenWithTheStayOfItsContext) {  // refusal.h R6
  for (const bool renewed : {false, true}) {
    Bench bench;
    Fixture fixture(bench);
    Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
    fixture.send(Cycle{1}, q);  // RNR
    fixture.settle();
    if (renewed) ++fixture.qp(0).residence;  // by the context cache
    fixture.send(fixture.present + 10, q, Operation::kReadRequest);
    fixture.settle();
    ASSERT_EQ(fixture.out.size(), 2u);
    EXPECT_EQ(fixture.at(1).drop_reason, renewed ? DropReason::kNone : DropReason::kSquashed);
  }
}

TEST(SrqWqeFetcher, NoWqeIsADropOnUcAndUd) {  // R4
  for (const Transport t : {Transport::kUc, Transport::kUd}) {
    Bench bench;
    Fixture fixture(bench);
    fixture.qp(0).transport = t;
    Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
    fixture.send(Cycle{1}, q);
    bench.run();
    EXPECT_EQ(fixture.at(0).outcome, Outcome::kDrop);
    EXPECT_EQ(fixture.at(0).drop_reason, DropReason::kNoReceiveWqe);
    EXPECT_FALSE(fixture.at(0).completes);
  }
}

TEST(SrqWqeFetcher, ADoorbellOfTheSameCycleCounts) {  // R2
  for (const std::uint64_t late : {0u, 1u}) {
    Bench bench;
    Fixture fixture(bench);
    Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
    fixture.send(Cycle{9}, q);  // taken in 10, decided in 10 + hit_cycles
    fixture.post(q, 1, Cycle{9 + defaults().hit_cycles + late});
    bench.run();
    EXPECT_EQ(fixture.at(0).outcome, late ? Outcome::kNak : Outcome::kExecute);
  }
}

TEST(SrqWqeFetcher, ABadWqeIsUsedAndFailsItsQp) {  // R5
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  fixture.post(q, 1, Cycle{1}, 4096, 0);
  fixture.send(Cycle{1}, q);
  fixture.send(Cycle{1}, q);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);
  const ScatterJob& p = fixture.at(0);
  EXPECT_EQ(p.outcome, Outcome::kNak);
  EXPECT_EQ(p.syndrome, 0x63);
  EXPECT_EQ(p.drop_reason, DropReason::kLocalOperation);
  EXPECT_TRUE(p.completes);
  EXPECT_EQ(p.status, WcStatus::kLocalProtection);
  EXPECT_NE(p.wqe_slot, kNoWqeSlot);
  EXPECT_TRUE(p.fails_qp);
  EXPECT_TRUE(p.releases_wqe);
  EXPECT_EQ(fixture.qp(0).wqe_slot, kNoWqeSlot);
  EXPECT_EQ(fixture.model.posted(q.id), 0u);
  ASSERT_EQ(fixture.refusals.size(), 1u);
  EXPECT_EQ(fixture.refusals.cycle(0), fixture.out.cycle(0));
  EXPECT_EQ(fixture.refusals.value(0).kind, RefusalKind::kError);
  EXPECT_EQ(fixture.refusals.value(0).line, 0u);
  EXPECT_EQ(fixture.at(1).drop_reason, DropReason::kSquashed);
  EXPECT_EQ(fixture.at(1).wqe_slot, kNoWqeSlot);
}

TEST(SrqWqeFetcher, AWqeThatCannotBeReadIsBad) {  // R5
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kSrq, WqLayout::kLinkedList, 16);
  fixture.post(q, 3, Cycle{1});
  fixture.host.unmap_all();
  fixture.send(Cycle{1}, q, Operation::kSendOnly, 0);
  fixture.send(Cycle{1}, q, Operation::kSendOnly, 1);
  bench.run();
  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(fixture.at(i).drop_reason, DropReason::kLocalOperation);
    EXPECT_EQ(fixture.at(i).wqe_index, i);
  }
}

TEST(SrqWqeFetcher, LaterPacketsOfAMessageGetItsWqe) {  // R6
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 16);
  fixture.post(q, 4, Cycle{1});
  fixture.send(Cycle{2000}, q, Operation::kSendFirst, 0);
  fixture.send(Cycle{2000}, q, Operation::kSendFirst, 1);
  fixture.send(Cycle{2000}, q, Operation::kSendMiddle, 0);
  fixture.send(Cycle{2000}, q, Operation::kSendLast, 1);
  fixture.send(Cycle{2000}, q, Operation::kSendOnly, 1);
  fixture.send(Cycle{2000}, q, Operation::kSendLast, 0);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 6u);
  std::vector<std::uint32_t> indices;
  for (std::size_t i = 0; i < 6; ++i) indices.push_back(fixture.at(i).wqe_index);
  EXPECT_EQ(indices, (std::vector<std::uint32_t>{0, 1, 0, 1, 2, 0}));
  EXPECT_EQ(fixture.at(2).wqe_slot, fixture.at(0).wqe_slot);
  EXPECT_EQ(fixture.at(5).pd, Pdn{33});
  EXPECT_EQ(fixture.qp(0).wqe_slot, kNoWqeSlot);
}

TEST(SrqWqeFetcher, AFailureInTheMiddleOfAMessageCompletesItsWqe) {  // R6
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  fixture.post(q, 4, Cycle{1});
  fixture.send(Cycle{2000}, q, Operation::kSendFirst);
  WqeRequest sequence_nak = fixture.packet(q, Operation::kSendLast);
  sequence_nak.outcome = Outcome::kNak;
  sequence_nak.syndrome = 0x60;
  sequence_nak.completes = false;
  fixture.in.push(Cycle{2100}, sequence_nak);
  WqeRequest bad = fixture.packet(q, Operation::kWriteOnly);
  mark_failed(bad, DropReason::kInvalidRequest, 0x61, WcStatus::kRemoteInvalidRequest);
  fixture.in.push(Cycle{2200}, bad);
  bench.run();
  EXPECT_FALSE(fixture.at(1).completes);
  EXPECT_EQ(fixture.at(1).wqe_slot, kNoWqeSlot);
  EXPECT_TRUE(fixture.at(2).completes);
  EXPECT_EQ(fixture.at(2).wqe_slot, fixture.at(0).wqe_slot);
  EXPECT_EQ(fixture.at(2).status, WcStatus::kRemoteInvalidRequest);
  EXPECT_EQ(fixture.qp(0).wqe_slot, kNoWqeSlot);
}

TEST(SrqWqeFetcher, AMessageWhoseEndWasNeverSeenCompletesItsWqe) {  // R6
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  fixture.post(q, 4, Cycle{1});
  fixture.send(Cycle{2000}, q, Operation::kSendFirst);
  for (int i = 0; i < 2; ++i) {
    WqeRequest end = fixture.of_qp(0);  // internal: without a buffer
    end.role = PacketRole::kTruncated;
    end.outcome = Outcome::kDrop;
    end.completes = end.ends_message = true;
    fixture.in.push(Cycle{2001}, end);
  }
  bench.run();
  ASSERT_EQ(fixture.out.size(), 3u);
  EXPECT_EQ(fixture.at(1).queue, q.id);
  EXPECT_EQ(fixture.at(1).wqe_index, 0u);
  EXPECT_TRUE(fixture.at(1).releases_wqe);
  EXPECT_TRUE(fixture.at(1).completes);
  EXPECT_EQ(fixture.at(1).wqe_slot, fixture.at(0).wqe_slot);
  EXPECT_FALSE(fixture.at(2).completes);  // there is no message any more
}

TEST(SrqWqeFetcher, ABadLengthIsRefusedOnlyWhenThereIsAWqe) {  // rules 6: WQE before length
  for (const bool posted : {false, true}) {
    Bench bench;
    Fixture fixture(bench);
    Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
    if (posted) fixture.post(q, 1, Cycle{1});
    WqeRequest p = fixture.packet(q);
    p.bad_length = true;
    fixture.in.push(Cycle{2000}, p);
    bench.run();
    EXPECT_EQ(fixture.at(0).syndrome, posted ? 0x61 : 0x2c);
    EXPECT_EQ(fixture.at(0).completes, posted);
  }
}

TEST(SrqWqeFetcher, UcLeavesTheWqeOfAMessageThatEndsEarlyToTheNext) {  // R7
  Bench bench;
  Fixture fixture(bench);
  fixture.qp(0).transport = Transport::kUc;
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  fixture.post(q, 4, Cycle{1});
  fixture.send(Cycle{2000}, q, Operation::kSendFirst);
  fixture.send(Cycle{2000}, q, Operation::kSendFirst);  // the rest of the message was lost
  fixture.send(Cycle{2000}, q, Operation::kSendLast);
  fixture.send(Cycle{2000}, q, Operation::kSendOnly);
  bench.run();
  EXPECT_EQ(fixture.at(1).wqe_slot, fixture.at(0).wqe_slot);
  EXPECT_EQ(fixture.at(2).wqe_slot, fixture.at(0).wqe_slot);
  EXPECT_EQ(fixture.at(3).wqe_index, 1u);
  EXPECT_EQ(fixture.model.posted(q.id), 2u);
}

TEST(SrqWqeFetcher, UcLongerThanTheWqeIsDroppedOnAnRqAndCompletesOnAnSrq) {  // R7
  for (const WqKind kind : {WqKind::kRq, WqKind::kSrq}) {
    Bench bench;
    Fixture fixture(bench);
    fixture.qp(0).transport = Transport::kUc;
    Queue q = fixture.make(kind, WqLayout::kCyclic, 16);
    fixture.post(q, 2, Cycle{1}, 128);
    fixture.send(Cycle{2000}, q, Operation::kSendFirst);
    fixture.send(Cycle{2000}, q, Operation::kSendMiddle);
    fixture.send(Cycle{2000}, q, Operation::kSendMiddle);  // 192 bytes
    fixture.send(Cycle{2000}, q, Operation::kSendLast);
    fixture.send(Cycle{2000}, q, Operation::kSendOnly);
    bench.run();
    const bool srq = kind == WqKind::kSrq;
    EXPECT_EQ(fixture.at(1).outcome, Outcome::kExecute);
    EXPECT_EQ(fixture.at(2).drop_reason, DropReason::kMessageTooLong);
    EXPECT_EQ(fixture.at(2).completes, srq);
    EXPECT_EQ(fixture.at(2).wqe_slot, srq ? fixture.at(0).wqe_slot : kNoWqeSlot);
    if (srq) {
      EXPECT_EQ(fixture.at(2).status, WcStatus::kLocalLength);
    }
    EXPECT_EQ(fixture.at(3).drop_reason, DropReason::kSquashed);
    EXPECT_FALSE(fixture.at(3).completes);
    EXPECT_EQ(fixture.at(4).outcome, Outcome::kExecute);
    EXPECT_EQ(fixture.at(4).wqe_index, srq ? 1u : 0u);
  }
}

TEST(SrqWqeFetcher, UdLongerThanTheWqeKeepsItOrNotByPolicy) {  // R7
  for (const auto policy : {UdTooLongPolicy::kDrop, UdTooLongPolicy::kErrorCqe}) {
    Bench bench;
    Params params = counting_credits(defaults());
    params.transport_checker.ud_too_long = policy;
    Fixture fixture(bench, params);
    fixture.qp(0).transport = Transport::kUd;
    Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
    fixture.post(q, 1, Cycle{1}, 103);  // one less than 64 and the GRH area
    fixture.send(Cycle{2000}, q);
    bench.run();
    const bool drop = policy == UdTooLongPolicy::kDrop;
    EXPECT_EQ(fixture.at(0).outcome, drop ? Outcome::kDrop : Outcome::kExecute);  // grh_scatter does the rest
    EXPECT_EQ(fixture.model.posted(q.id), drop ? 1u : 0u);
    EXPECT_EQ(fixture.model.wqes_in_use(), drop ? 0u : 1u);
  }
}

TEST(SrqWqeFetcher, FlushOfAnRqGivesOneForEachPostedWqeInOrder) {  // R9
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 8);
  fixture.qp(0).receive_cq = Cqn{5};
  q.context.number = 100;
  fixture.post(q, 6, Cycle{1});
  for (int i = 0; i < 2; ++i) fixture.send(Cycle{2000}, q);
  fixture.settle();
  const std::uint32_t pins = fixture.qp(0).pins.count();
  const auto ask = fixture.present + 10;
  fixture.ask_flush(ask);
  fixture.settle();
  ASSERT_EQ(fixture.out.size(), 6u);
  for (std::uint32_t i = 2; i < 6; ++i) {
    EXPECT_EQ(fixture.at(i).role, PacketRole::kFlush);
    EXPECT_TRUE(fixture.at(i).completes);
    EXPECT_EQ(fixture.at(i).status, WcStatus::kFlushed);
    EXPECT_EQ(fixture.at(i).wqe_index, i);
    EXPECT_EQ(fixture.at(i).cq, Cqn{5});
    EXPECT_EQ(fixture.at(i).queue, q.id);
    EXPECT_EQ(fixture.at(i).buffer, kNoPacket);
    EXPECT_EQ(fixture.at(i).wqe_slot, kNoWqeSlot);
    EXPECT_EQ(fixture.at(i).line, 0u);
    EXPECT_EQ(fixture.at(i).residence, 1u);
    EXPECT_EQ(fixture.at(i).qpn, Qpn{100});
    EXPECT_EQ(fixture.at(i).transport, Transport::kRc);
    EXPECT_FALSE(fixture.at(i).uses_srq);
    EXPECT_EQ(fixture.out.cycle(i).count, ask.count + i - 1);  // one a cycle
  }
  EXPECT_EQ(fixture.qp(0).pins.count(), pins + 4);  // the request's is gone
  EXPECT_EQ(fixture.dut.counters().flushed, 4u);
  // WQEs that are posted now are flushed too.
  fixture.post(q, 2, fixture.present + 10);
  fixture.settle();
  ASSERT_EQ(fixture.out.size(), 8u);
  EXPECT_EQ(fixture.at(6).wqe_index, 6u);
  EXPECT_EQ(fixture.at(7).wqe_index, 7u);
  EXPECT_EQ(fixture.at(7).status, WcStatus::kFlushed);
  EXPECT_EQ(fixture.at(7).cq, Cqn{5});
  EXPECT_EQ(fixture.at(7).line, kNoLine);
  EXPECT_EQ(fixture.at(7).qpn, Qpn{7});
  EXPECT_EQ(fixture.qp(0).pins.count(), pins + 4);
}

TEST(SrqWqeFetcher, ADoorbellWaitsForAPlaceAmongTheLateFlushes) {  // R9
  SrqWqeFetcherParams p = defaults();
  p.late_flushes = 2;
  Bench bench;
  Fixture fixture(bench, p);
  std::vector<Queue> queues;
  for (std::uint32_t line = 0; line < 5; ++line) {
    queues.push_back(fixture.make(WqKind::kRq, WqLayout::kCyclic, 32));
    fixture.packet(queues[line], Operation::kSendOnly, line);  // sets the QP up
    fixture.ask_flush(Cycle{10}, line);
  }
  fixture.out.accept_when([](Cycle now) { return now.count % 5 == 0; });
  fixture.settle();
  EXPECT_EQ(fixture.out.size(), 0u);
  for (const Queue& q : queues) fixture.ring(q, fixture.present + 10, 20);
  bench.run_to(fixture.present + 50);
  EXPECT_EQ(fixture.dut.counters().doorbells, 3u) << "one is being flushed, two wait for it";
  EXPECT_EQ(fixture.dut.counters().doorbell_waits, 1u);
  fixture.settle();
  ASSERT_EQ(fixture.out.size(), 100u);
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(fixture.at(i).queue, queues[i / 20].id);
  EXPECT_EQ(fixture.dut.counters().doorbells, 5u);
  EXPECT_EQ(fixture.dut.counters().doorbell_waits, 2u);
}

// The context of the queue that is flushed next has to be read: the doorbell does not wait for this read.
TEST(SrqWqeFetcher, ADoorbellTakesThePlaceOfALateFlushThatBegins) {  // R9, R14
  SrqWqeFetcherParams p = defaults();
  p.late_flushes = 1;
  p.queue_contexts = 4;
  p.queue_context_ways = 1;
  Bench bench;
  Fixture fixture(bench, p);
  std::vector<Queue> queues;
  for (std::uint32_t line = 0; line < 5; ++line) {
    queues.push_back(fixture.make(WqKind::kRq, WqLayout::kCyclic, 512));
    fixture.packet(queues[line], Operation::kSendOnly, line);  // sets the QP up
    if (line < 3) fixture.ask_flush(Cycle{10}, line);
  }
  fixture.out.accept_when([](Cycle now) { return now.count % 5 == 0; });
  const Cycle from = fixture.settle();
  fixture.ring(queues[1], from + 10, 400);  // is flushed for 2000 cycles
  fixture.ring(queues[0], from + 10, 1);    // is to be flushed next
  fixture.ring(queues[4], from + 10, 1);    // takes the line of its context
  fixture.ring(queues[2], from + 10, 1);
  bench.run_to(from + 1900);
  EXPECT_EQ(fixture.dut.counters().doorbells, 3u);
  EXPECT_EQ(fixture.dut.counters().doorbell_waits, 1u);
  bench.run_to(from + 2100);
  EXPECT_EQ(fixture.out.size(), 400u);
  EXPECT_EQ(fixture.dut.counters().doorbells, 4u);
  bench.run();
  EXPECT_EQ(fixture.out.size(), 402u);
}

TEST(SrqWqeFetcher, AFlushWaitsForRoomInItsLink) {  // R9
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 128);
  fixture.packet(q);  // sets the QP up
  fixture.ring(q, Cycle{1}, 128);
  fixture.ask_flush(Cycle{2000});
  fixture.out.accept_when([](Cycle now) { return now.count % 5 == 0; });
  bench.run();
  ASSERT_EQ(fixture.out.size(), 128u);
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(fixture.at(i).wqe_index, i);
  EXPECT_GT(fixture.dut.account()[static_cast<std::size_t>(Activity::kBlocked)], 400u);
}

TEST(SrqWqeFetcher, ManyFlushesAreServedOneAfterTheOther) {  // R9
  Bench bench;
  Fixture fixture(bench);
  std::vector<Queue> queues;
  for (std::uint32_t line = 0; line < 3; ++line) {
    queues.push_back(fixture.make(WqKind::kRq, WqLayout::kCyclic, 8));
    fixture.qp(line).receive_cq = Cqn{50 + line};
    fixture.packet(queues[line], Operation::kSendOnly, line);  // sets the QP up
    fixture.post(queues[line], 2, Cycle{1});
  }
  for (std::uint32_t line = 0; line < 3; ++line) fixture.ask_flush(Cycle{2000}, line);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 6u);
  for (std::uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(fixture.at(i).line, i / 2);
    EXPECT_EQ(fixture.at(i).qpn, Qpn{100 + i / 2});
    EXPECT_EQ(fixture.at(i).queue, queues[i / 2].id);
    EXPECT_EQ(fixture.at(i).cq, Cqn{50 + i / 2});
    EXPECT_EQ(fixture.at(i).wqe_index, i % 2);
  }
  for (std::uint32_t line = 0; line < 3; ++line)
    EXPECT_EQ(fixture.qp(line).pins.count(), 2u + 2u) << "no pin of a request is left";
}

TEST(SrqWqeFetcher, SrqWqesAreNotFlushedButTheLastWqeIsReported) {  // R9
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 8);
  fixture.post(q, 6, Cycle{1});
  fixture.send(Cycle{2000}, q);
  fixture.settle();
  const std::uint32_t pins = fixture.qp(0).pins.count();
  fixture.ask_flush(fixture.present + 10);
  fixture.settle();
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.at(1).role, PacketRole::kLastWqe);
  EXPECT_EQ(fixture.at(1).buffer, kNoPacket);
  EXPECT_EQ(fixture.at(1).line, 0u);
  EXPECT_EQ(fixture.at(1).residence, 1u);
  EXPECT_EQ(fixture.at(1).qpn, Qpn{100});
  EXPECT_TRUE(fixture.at(1).uses_srq);
  EXPECT_EQ(fixture.qp(0).pins.count(), pins + 1) << "the packet has a pin, and the request none any more";
  EXPECT_FALSE(fixture.at(1).completes);
  EXPECT_EQ(fixture.model.posted(q.id), 5u);
}

TEST(SrqWqeFetcher, AQpStoppedInTheMiddleOfAMessageHasThatWqeFlushedFirst) {  // R9
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 8);
  fixture.post(q, 2, Cycle{1});
  fixture.send(Cycle{2000}, q, Operation::kSendFirst);
  fixture.settle();
  EXPECT_FALSE(fixture.at(0).releases_wqe) << "the message goes on";
  fixture.ask_flush(fixture.present + 10);
  fixture.settle();
  const WqeRequest late = fixture.send(fixture.present + 10, q, Operation::kSendLast);  // checked before the QP failed
  fixture.settle();
  ASSERT_EQ(fixture.out.size(), 4u);
  EXPECT_EQ(fixture.at(1).wqe_index, 0u);
  EXPECT_EQ(fixture.at(1).wqe_slot, fixture.at(0).wqe_slot);
  EXPECT_TRUE(fixture.at(1).releases_wqe);
  EXPECT_EQ(fixture.at(2).wqe_index, 1u);
  EXPECT_EQ(fixture.at(3).buffer, late.buffer);
  EXPECT_EQ(fixture.at(3).drop_reason, DropReason::kSquashed);
  EXPECT_EQ(fixture.at(3).wqe_slot, kNoWqeSlot);
}

TEST(SrqWqeFetcher, TheLastPacketThatUsesAWqeSaysSo) {  // R11
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 8);
  fixture.post(q, 4, Cycle{1});
  for (const Operation o : {Operation::kSendFirst, Operation::kSendMiddle, Operation::kSendLast, Operation::kSendOnly,
                            Operation::kWriteOnlyImm, Operation::kWriteOnly}) {
    fixture.send(Cycle{2000}, q, o);
  }
  bench.run();
  ASSERT_EQ(fixture.out.size(), 6u);
  const bool last[] = {false, false, true, true, true, false};
  for (std::size_t n = 0; n < 6; ++n) EXPECT_EQ(fixture.at(n).releases_wqe, last[n]) << n;
}

TEST(SrqWqeFetcher, APacketCarriesHowManyWqesItsQpHasLeft) {  // R12
  Bench bench;
  Fixture fixture(bench);
  Queue rq = fixture.make(WqKind::kRq, WqLayout::kCyclic, 8);
  Queue srq = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 8);
  fixture.post(rq, 5, Cycle{1});
  fixture.post(srq, 5, Cycle{1});
  for (const bool shared : {false, true}) {
    WqeRequest p = fixture.packet(shared ? srq : rq, Operation::kSendOnly, shared ? 1 : 0);
    p.acknowledge = true;
    fixture.in.push(Cycle{2000}, p);
  }
  bench.run();
  EXPECT_EQ(fixture.at(0).posted_wqes, 4u) << "its own WQE is taken";
  EXPECT_EQ(fixture.at(1).posted_wqes, 0u) << "an SRQ's are not its QP's";
}

TEST(SrqWqeFetcher, AnRnrNakIsReportedWithItsPacketsBuffer) {  // R4
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kRq, WqLayout::kCyclic, 16);
  fixture.packet(q);  // so that the next packet does not have the first buffer
  const WqeRequest p = fixture.send(Cycle{1}, q);
  fixture.settle();
  ASSERT_EQ(fixture.refusals.size(), 1u);
  EXPECT_EQ(fixture.refusals.cycle(0), fixture.out.cycle(0)) << "in the cycle in which the packet leaves";
  EXPECT_EQ(fixture.refusals.value(0).kind, RefusalKind::kNotReady);
  EXPECT_EQ(fixture.refusals.value(0).line, 0u);
  EXPECT_EQ(fixture.refusals.value(0).buffer, p.buffer)
      << "by which the checker finds the QP's state from before the packet";
  EXPECT_EQ(fixture.qp(0).pins.count(), 3u) << "the test's and the packets': the report has none of its own";
}

TEST(SrqWqeFetcher, AMatchThatIsSquashedGoesBackToTheTagMatcher) {  // R10
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 8);
  WqeRequest unexpected = fixture.packet(q);  // RNR
  unexpected.tag_verdict = TagVerdict::kUnexpected;
  fixture.tagged.push(Cycle{1}, unexpected);
  fixture.tagged.push(Cycle{1}, fixture.match(q));
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);
  ASSERT_EQ(fixture.returned.size(), 2u);
  EXPECT_EQ(fixture.returned.value(0).handle, kNoTagEntry);  // an unexpected message less
  EXPECT_EQ(fixture.returned.value(1).handle, 42u);
  EXPECT_EQ(fixture.returned.value(1).srq, q.id);
  EXPECT_EQ(fixture.at(1).drop_reason, DropReason::kSquashed);
  EXPECT_FALSE(fixture.at(1).completes);
  EXPECT_EQ(fixture.model.wqes_in_use(), 0u);
}

TEST(SrqWqeFetcher, AMessageThatTheTagMatcherCouldNotDecideFailsItsQp) {  // R10
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 8);
  fixture.post(q, 4, Cycle{1});
  WqeRequest undecided = fixture.packet(q);
  undecided.tag_verdict = TagVerdict::kFailed;
  fixture.tagged.push(Cycle{999}, undecided);
  fixture.tagged.push(Cycle{999}, fixture.match(q));
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.at(0).outcome, Outcome::kNak);
  EXPECT_EQ(fixture.at(0).syndrome, 0x63);
  EXPECT_EQ(fixture.at(0).drop_reason, DropReason::kHostMemory);
  EXPECT_TRUE(fixture.at(0).fails_qp);
  EXPECT_FALSE(fixture.at(0).completes);
  EXPECT_EQ(fixture.at(1).drop_reason, DropReason::kSquashed);
  ASSERT_EQ(fixture.refusals.size(), 1u);
  EXPECT_EQ(fixture.refusals.value(0).kind, RefusalKind::kError);
  EXPECT_EQ(fixture.returned.size(), 1u) << "the match behind it";
  EXPECT_EQ(fixture.model.wqes_in_use(), 0u);
}

TEST(SrqWqeFetcher, ARendezvousTakesAPlaceOfTheRequester) {  // R19
  Bench bench;
  Params params = counting_credits(defaults());
  params.requester.rendezvous = 1;
  Fixture fixture(bench, params);
  Queue q = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 8);
  const auto ask = [&](std::uint64_t at, std::uint32_t line, bool rendezvous) {
    WqeRequest p = fixture.match(q, Operation::kSendOnly, line);
    p.rendezvous = rendezvous;
    fixture.tagged.push(Cycle{at}, p);
  };
  ask(100, 0, true);
  ask(200, 1, true);   // no place
  ask(300, 2, false);  // needs none
  fixture.places.push(Cycle{400}, {1});
  ask(500, 3, true);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 4u);
  EXPECT_EQ(fixture.at(0).outcome, Outcome::kExecute);
  EXPECT_EQ(fixture.at(1).outcome, Outcome::kNak);
  EXPECT_EQ(fixture.at(1).syndrome, 0x20u | 12u) << "RNR NAK";
  EXPECT_EQ(fixture.at(1).drop_reason, DropReason::kRendezvousFull);
  EXPECT_EQ(fixture.at(1).wqe_slot, kNoWqeSlot);
  EXPECT_EQ(fixture.at(2).outcome, Outcome::kExecute);
  EXPECT_EQ(fixture.at(3).outcome, Outcome::kExecute);
  ASSERT_EQ(fixture.returned.size(), 1u);
  EXPECT_EQ(fixture.returned.value(0).handle, 42u);
  EXPECT_EQ(fixture.dut.counters().no_rendezvous, 1u);
}

TEST(SrqWqeFetcher, AMatchPassesWithItsOwnWqe) {
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 8);
  fixture.tagged.push(Cycle{1}, fixture.match(q, Operation::kSendFirst));
  fixture.tagged.push(Cycle{1}, fixture.packet(q, Operation::kSendLast));
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);
  const ScatterJob& p = fixture.at(0);
  EXPECT_TRUE(p.takes_wqe);  // so that its WQE completes in error when it fails later
  EXPECT_EQ(fixture.at(1).wqe_slot, p.wqe_slot);
  EXPECT_EQ(fixture.at(1).wqe_index, 42u);
  const ScatterList& wqe = fixture.shared.wqes[p.wqe_slot];
  EXPECT_EQ(wqe.sge_count, 1u);
  EXPECT_EQ(wqe.sge[0].address, 0x30000u);
  EXPECT_EQ(p.wqe_bytes, 4096u);
  EXPECT_EQ(fixture.returned.size(), 0u);
}

TEST(SrqWqeFetcher, AMatchThatIsFlushedInItsMiddleIsReportedAsOne) {  // R9
  Bench bench;
  Fixture fixture(bench);
  Queue q = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 8);
  fixture.tagged.push(Cycle{1}, fixture.match(q, Operation::kSendFirst));
  fixture.tagged.push(Cycle{1}, fixture.packet(q, Operation::kSendMiddle));
  fixture.settle();
  fixture.ask_flush(fixture.present + 10);
  fixture.settle();
  ASSERT_GE(fixture.out.size(), 3u);
  EXPECT_EQ(fixture.at(2).role, PacketRole::kFlush);
  EXPECT_EQ(fixture.at(2).wqe_index, 42u);
  EXPECT_EQ(fixture.at(2).cqe_opcode, CqeOpcode::kTagReceive);
}

// A WQE store of `entries`, of which `share` are reserved for each of two queues.
SrqWqeFetcherParams store_of(std::uint32_t entries, std::uint32_t share = 0) {
  SrqWqeFetcherParams p = defaults();
  p.queues = 2;
  p.wqe_store_entries = entries;
  p.wqe_store_share = share;
  return p;
}

TEST(SrqWqeFetcher, AFullStoreHoldsThePacketUntilASlotIsReleased) {  // R13
  Bench bench;
  Fixture fixture(bench, store_of(2));
  Queue q = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 8);
  fixture.post(q, 8, Cycle{1});
  for (int i = 0; i < 3; ++i) fixture.send(Cycle{2000}, q);
  bench.run_to(Cycle{2100});
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.dut.activity(), Activity::kWaitWqeStore);
  bench.at(Cycle{2150}, [&](Cycle now) {
    fixture.released.out.push(now, {fixture.at(0).wqe_slot});
  });  // after the blocks of the cycle
  bench.run();
  ASSERT_EQ(fixture.out.size(), 3u);
  EXPECT_EQ(fixture.out.cycle(2), Cycle{2151});
  EXPECT_EQ(fixture.at(2).wqe_slot, fixture.at(0).wqe_slot);
  EXPECT_EQ(fixture.at(2).outcome, Outcome::kExecute);
  EXPECT_EQ(fixture.dut.counters().waits, 0u) << "its WQE was on the chip";
}

TEST(SrqWqeFetcher, AStoreFullOfMessagesThatHaveNotEndedRefuses) {  // R13
  for (const bool match : {false, true}) {
    Bench bench;
    Fixture fixture(bench, store_of(2));
    Queue q = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 8);
    fixture.post(q, 8, Cycle{1});
    fixture.send(Cycle{2000}, q, Operation::kSendFirst, 0);
    fixture.send(Cycle{2000}, q, Operation::kSendFirst, 1);
    fixture.in.push(Cycle{2000},
                    match ? fixture.match(q, Operation::kSendFirst, 2) : fixture.packet(q, Operation::kSendFirst, 2));
    fixture.send(Cycle{2000}, q, Operation::kSendLast, 2);
    fixture.send(Cycle{2000}, q, Operation::kSendLast, 1);
    bench.run_to(Cycle{2100});
    ASSERT_EQ(fixture.out.size(), 5u) << "packets that end a message pass";
    EXPECT_EQ(fixture.at(2).drop_reason, DropReason::kWqeStoreFull);
    EXPECT_EQ(fixture.at(2).outcome, Outcome::kNak);
    EXPECT_EQ(fixture.at(2).syndrome, 0x20u | 12u) << "RNR NAK";
    EXPECT_EQ(fixture.at(3).drop_reason, DropReason::kSquashed);
    EXPECT_EQ(fixture.at(4).wqe_slot, fixture.at(1).wqe_slot);
    EXPECT_TRUE(fixture.at(4).releases_wqe);
    EXPECT_EQ(fixture.model.posted(q.id), 6u) << "no WQE is used";
    EXPECT_EQ(fixture.returned.size(), match ? 1u : 0u);
    // One message has ended now: a packet that comes waits for its slot.
    fixture.qp(3).epoch = 7;
    fixture.send(Cycle{2100}, q, Operation::kSendOnly, 3);
    bench.run_to(Cycle{2200});
    EXPECT_EQ(fixture.dut.activity(), Activity::kWaitWqeStore);
    bench.at(Cycle{2200}, [&](Cycle now) { fixture.released.out.push(now, {fixture.at(4).wqe_slot}); });
    bench.run();
    ASSERT_EQ(fixture.out.size(), 6u);
    EXPECT_EQ(fixture.at(5).outcome, Outcome::kExecute);
  }
}

TEST(SrqWqeFetcher, AQueueKeepsItsShareOfTheStore) {  // R13
  for (const std::uint32_t share : {0u, 1u}) {
    Bench bench;
    Fixture fixture(bench, store_of(4, share));
    Queue greedy = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 8);
    Queue other = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 8);
    fixture.post(greedy, 8, Cycle{1});
    fixture.post(other, 8, Cycle{1});
    for (std::uint32_t qp = 0; qp < 5; ++qp) fixture.send(Cycle{2000}, greedy, Operation::kSendFirst, qp);
    fixture.send(Cycle{2100}, other, Operation::kSendFirst, 5);
    bench.run();
    ASSERT_EQ(fixture.out.size(), 6u);
    const auto refused = [&](std::size_t n) { return fixture.at(n).drop_reason == DropReason::kWqeStoreFull; };
    EXPECT_FALSE(refused(2));
    EXPECT_EQ(refused(3), share == 1) << "its own share, and the pool of two";
    EXPECT_TRUE(refused(4));
    EXPECT_EQ(refused(5), share == 0);
  }
}

TEST(SrqWqeFetcher, ThePipelineHoldsSoManyPackets) {
  for (const std::uint32_t depth : {1u, 4u}) {
    for (const bool stalled : {false, true}) {
      Bench bench;
      SrqWqeFetcherParams params = defaults();
      params.pipeline_depth = depth;
      Fixture fixture(bench, params);
      Queue q = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 16);
      fixture.post(q, 16, Cycle{1});
      for (int i = 0; i < 16; ++i) fixture.send(Cycle{2000}, q);
      if (stalled) fixture.out.stall(Cycle{0}, Cycle{2100});
      bench.run_to(Cycle{2099});
      EXPECT_EQ(fixture.dut.counters().packets, stalled ? 8 + depth : 16) << "8 are in the link behind";
      bench.run();
      if (stalled) continue;
      const std::uint64_t cycles = fixture.out.cycle(15).count - fixture.out.cycle(11).count;
      EXPECT_EQ(cycles, depth == 1 ? 4u * params.hit_cycles : 4u) << "one at a time, or one a cycle";
    }
  }
}

// Calls in the order of time, each scheduled by the one before.
struct Play {
  std::vector<std::pair<Cycle, std::function<void(Cycle)>>> calls;
  std::size_t next = 0;
  void at(Cycle when, std::function<void(Cycle)> f) { calls.emplace_back(when, std::move(f)); }
  void start(Bench& bench) {
    if (next == calls.size()) return;
    bench.at(calls[next].first, [this, &bench](Cycle now) {
      while (next < calls.size() && calls[next].first <= now) calls[next++].second(now);
      start(bench);
    });
  }
};

// Random queues, doorbells, messages, errors, flushes and stalls.
struct Totals {
  SrqWqeFetcherCounters c;
  WorkQueueTableCounters t;
};
std::uint64_t random_run(Bench& bench, std::uint64_t seed, Totals& total) {
  std::mt19937_64 random(seed);
  SrqWqeFetcherParams params = defaults();
  params.queues = static_cast<std::uint32_t>(2 + random() % 8);
  params.prefetch_depth = static_cast<std::uint32_t>(1 + random() % 8);
  params.wqes_per_read = static_cast<std::uint32_t>(1 + random() % 5);
  params.reads_in_flight = static_cast<std::uint32_t>(1 + random() % 4);
  params.sequential_prefetch = random() % 2;
  params.prefetch = random() % 2 == 0 ? PrefetchPolicy::kDemand : PrefetchPolicy::kGreedy;
  params.hit_cycles = static_cast<std::uint32_t>(1 + random() % 4);
  Fixture& fixture = bench.keep<Fixture>(bench, params);
  fixture.wqes.set_latency(20 + random() % 80);
  auto& queues = bench.keep<std::vector<Queue>>();
  for (int i = 0; i < 6; ++i) {
    const bool list = random() % 2;
    queues.push_back(fixture.make(list || random() % 2 ? WqKind::kSrq : WqKind::kRq,
                                  list ? WqLayout::kLinkedList : WqLayout::kCyclic, 16, random() % 8));
    if (random() % 2) std::shuffle(queues.back().order.begin(), queues.back().order.end(), random);
    queues.back().context.first_wqe = queues.back().order[0];
    queues.back().id =
        fixture.dut.create(queues.back().context, fixture.host);  // the one that make() created is not used
  }
  Cycle when{1};
  auto& play = bench.keep<Play>();
  std::array<bool, 16> inside{};
  for (int i = 0; i < 3000; ++i) {
    when += random() % 4 == 0 ? random() % 100 : random() % 2;
    const auto qp = static_cast<std::uint32_t>(random() % 6);
    Queue& q = queues[qp];
    const std::uint64_t choice = random() % 100;
    if (choice < 15) {
      const auto n = static_cast<std::uint32_t>(1 + random() % 5);
      play.at(when, [&fixture, &q, n](Cycle now) {
        const std::uint32_t room = q.context.layout == WqLayout::kLinkedList ? 15 : 16;
        const std::uint32_t free = room - fixture.model.posted(q.id);
        fixture.post(q, std::min(n, free), now);
      });
    } else if (choice < 16) {
      play.at(when, [&fixture, qp](Cycle now) { fixture.ask_flush(now, qp); });
    } else {
      const Operation op = inside[qp]     ? (random() % 2 ? Operation::kSendMiddle : Operation::kSendLast)
                           : random() % 3 ? (random() % 3 ? Operation::kSendOnly : Operation::kReadRequest)
                                          : Operation::kSendFirst;
      if (op != Operation::kReadRequest) inside[qp] = op == Operation::kSendFirst || op == Operation::kSendMiddle;
      const bool fails = random() % 100 == 0;
      const bool tagged = qp % 2;
      play.at(when, [&fixture, &q, op, qp, fails, tagged](Cycle now) {
        if (!fixture.shared.packets.available(PacketClass::kReceive)) return;
        WqeRequest p = fixture.packet(q, op, qp);
        if (fails) mark_failed(p, DropReason::kInvalidRequest, 0x61, WcStatus::kRemoteInvalidRequest);
        (tagged ? fixture.tagged : fixture.in).push(now, p);
      });
    }
  }
  const std::uint64_t stalls = random();
  fixture.out.accept_when(
      [stalls](Cycle now) { return (stalls >> (now.count / 16 % 64) & 1) != 0 || now.count % 3 == 0; });
  fixture.out.on_value([&fixture](Cycle now, const ScatterJob& p) {
    if (p.releases_wqe) fixture.released.out.push(now, {p.wqe_slot});
    fixture.shared.ledger.retire(p, now);
  });
  play.start(bench);
  bench.run();
  const SrqWqeFetcherCounters& c = fixture.dut.counters();
  total.c.wqes += c.wqes;
  total.c.waits += c.waits;
  total.c.no_wqe += c.no_wqe;
  total.c.flushed += c.flushed;
  total.c.squashed += c.squashed;
  total.c.limit_events += c.limit_events;
  total.t.wqes_discarded += fixture.dut.prefetch_counters().wqes_discarded;
  total.t.evictions += fixture.dut.prefetch_counters().evictions;
  StateHash h;
  h.mix(bench.state_hash());
  mix_all_of(h, fixture.out);
  return h.value();
}

TEST(SrqWqeFetcher, APacketThatWaitsLeavesAtOnceWhenItsQpIsFlushed) {  // R1
  for (const bool flushed : {false, true}) {
    for (const EngineMode mode : {EngineMode::kFast, EngineMode::kStepAll}) {
      Bench bench(mode);
      Fixture fixture(bench);
      Queue q = fixture.make(WqKind::kSrq, WqLayout::kCyclic, 16);
      const WqeRequest waits = fixture.send(Cycle{6}, q);
      fixture.post(q, 1, Cycle{5});
      if (flushed) fixture.ask_flush(Cycle{100});
      bench.run();
      ASSERT_EQ(fixture.out.size(), flushed ? 2u : 1u);
      EXPECT_EQ(fixture.at(0).buffer, waits.buffer);
      EXPECT_EQ(fixture.out.cycle(0), flushed ? Cycle{101} : Cycle{6 + kReadLatency + 2});
      EXPECT_EQ(fixture.at(0).drop_reason, flushed ? DropReason::kSquashed : DropReason::kNone);
      EXPECT_EQ(fixture.model.wqes_in_use(), flushed ? 0u : 1u);
    }
  }
}

TEST(SrqWqeFetcher, AllEngineModesAgreeOnRandomTraffic) {
  const std::uint64_t seed = test_seed(11);
  Totals total;
  for (std::uint64_t i = 0; i < 8; ++i) {
    expect_equal_in_all_modes([&](Bench& bench) { return random_run(bench, seed + i, total); });
  }
  // The test covered every case.
  for (const std::uint64_t n : {total.c.wqes, total.c.waits, total.c.no_wqe, total.c.flushed, total.c.squashed,
                                total.t.wqes_discarded, total.t.evictions}) {
    EXPECT_GT(n, 20u);
  }
  EXPECT_GT(total.c.limit_events, 5u);
}

}  // namespace
}  // namespace rxnic::srq_wqe_fetcher_test
