// SPDX-License-Identifier: Apache-2.0
// Rules R1..R10 of model/blocks/address_translator.h.
#include "model/nic/nic_shared.h"
#include "testbench/unit/model/blocks/address_translator_fixture.h"

#include <random>

#include "model/types/descriptor_text.h"
#include "testbench/unit/faulty_memory.h"

namespace rxnic::address_translator_test {
namespace {

using Fixture = AddressTranslatorFixture;
constexpr Pdn kPd = Fixture::kPd;
constexpr std::uint64_t kLatency = Fixture::kLatency, kWalk = Fixture::kWalk;

AddressTranslatorParams small() { return small_translator(); }

TEST(AddressTranslator, HitComesAfterHitCycles) {  // R1
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1);
  fixture.push(Cycle{0}, fixture.send(1, {0}));  // fills the caches
  const Segments p = fixture.send(1, {1});
  fixture.push(Cycle{999}, p);
  bench.run_to(Cycle{1002});
  EXPECT_EQ(fixture.out.size(), 1u) << "it can be popped one cycle after it left";
  bench.run_to(Cycle{1003});
  EXPECT_EQ(fixture.out.size(), 2u);
  bench.run();
  EXPECT_EQ(fixture.out.cycle(1), Cycle{1002});
  EXPECT_EQ(fixture.only(p).address, Fixture::bus(1, 1, 16));
  EXPECT_EQ(fixture.shared.packets[p[0].buffer].stamped(Station::kAddressTranslator), Cycle{1002});
  EXPECT_EQ(fixture.shared.packets[p[0].buffer].taken(Station::kAddressTranslator), Cycle{1000});
  EXPECT_EQ(fixture.dut.counters().mpt_hits, 1u);
  EXPECT_EQ(fixture.dut.counters().mtt_hits, 1u);
}

TEST(AddressTranslator, EachSegmentTakesACycle) {  // R1
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1);
  fixture.push(Cycle{0}, fixture.send(1, {0, 8}));
  Segments p = fixture.send(1, {0, 1, 2, 9});
  fixture.push(Cycle{999}, p);
  fixture.push(Cycle{999}, fixture.send(1, {0}));
  fixture.push(Cycle{999}, fixture.send(1, {0}));
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2 + 4 + 2u);
  for (std::uint32_t n = 0; n < 6; ++n) EXPECT_EQ(fixture.out.cycle(2 + n), Cycle{1000 + n + 2});
  EXPECT_EQ(fixture.dut.counters().packets, 4u);
  EXPECT_EQ(fixture.shared.packets[p[0].buffer].stamped(Station::kAddressTranslator), Cycle{1005})
      << "with its last one";
  EXPECT_EQ(fixture.shared.packets[p[0].buffer].taken(Station::kAddressTranslator), Cycle{1003}) << "likewise";
}

TEST(AddressTranslator, SegmentsGoOnWithTheirAddressAndTheirPacket) {  // R1
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1);
  Segments p = fixture.send(1, {3, 8, 5}, 100);
  for (ScatteredSegment& s : p) {
    s.completes = true;
    s.byte_count = 300;
    s.area = s.first ? BufferArea::kScratch : BufferArea::kFrame;
  }
  fixture.push(Cycle{0}, p);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 3u);
  const std::uint64_t pages[] = {3, 8, 5};
  for (std::uint32_t n = 0; n < 3; ++n) {
    const SegmentWrite& w = fixture.out.value(n);
    EXPECT_EQ(w.address, Fixture::bus(1, pages[n], 16));
    EXPECT_EQ(w.bytes, 100u);
    EXPECT_EQ(w.offset, 100 * n);
    EXPECT_EQ(w.area, n == 0 ? BufferArea::kScratch : BufferArea::kFrame);
    EXPECT_EQ(w.last, n == 2);
    EXPECT_EQ(first_difference<CompletionRequest>(w, p[n]), "");
  }
}

TEST(AddressTranslator, MissReadsTheRegionAndThenThePage) {  // R2
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1);
  const Segments p = fixture.send(1, {9});
  fixture.push(Cycle{9}, p);
  bench.run_to(Cycle{10 + 2 * kWalk - 1});
  EXPECT_EQ(fixture.dut.activity(), Activity::kWaitTranslation);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{10 + 2 * kWalk + 2});
  EXPECT_EQ(fixture.only(p).address, Fixture::bus(1, 9, 16));
  ASSERT_EQ(fixture.memory.log().size(), 2u);
  EXPECT_EQ(fixture.memory.log()[0].request.address, mpt_address(Fixture::key(1)));
  EXPECT_EQ(fixture.memory.log()[1].request.address, icm::kMtt + (0x10000 + 64));
  EXPECT_EQ(fixture.dut.counters().mpt_misses, 1u);
  EXPECT_EQ(fixture.dut.counters().mtt_misses, 1u);
}

TEST(AddressTranslator, WhatIsBeforeAMissGoesOn) {  // R2
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1);
  fixture.push(Cycle{0}, fixture.send(1, {0}));
  fixture.push(Cycle{999}, fixture.send(1, {0, 9, 1}));
  bench.run();
  ASSERT_EQ(fixture.out.size(), 4u);
  EXPECT_EQ(fixture.out.cycle(1), Cycle{1002});
  EXPECT_EQ(fixture.out.cycle(2), Cycle{1001 + kWalk + 2});
  EXPECT_EQ(fixture.out.cycle(3), Cycle{1001 + kWalk + 3});
}

TEST(AddressTranslator, OneMttLineHoldsEightPages) {  // R2
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1);
  fixture.push(Cycle{0}, fixture.send(1, {0, 1, 2, 3, 4, 5, 6, 7}));
  bench.run();
  EXPECT_EQ(fixture.dut.counters().walks, 2u);
  ASSERT_EQ(fixture.out.size(), 8u);
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(fixture.out.value(i).address, Fixture::bus(1, i, 16));
}

TEST(AddressTranslator, RemoteRangeIsCheckedWhole) {  // R3
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1);
  auto& refusals = bench.sink(fixture.dut.refusals);
  const Segments good = fixture.write(fixture.rc, 1, 0, 1024, 16 * 4096);  // FIRST: the RETH's length
  const Segments bad = fixture.write(fixture.rc, 1, 0, 1024, 16 * 4096 + 1);
  fixture.push(Cycle{0}, good);
  fixture.push(Cycle{0}, bad);
  bench.run();
  EXPECT_EQ(fixture.only(good).outcome, Outcome::kExecute);
  EXPECT_EQ(fixture.only(good).address, Fixture::bus(1, 0));
  EXPECT_EQ(fixture.only(bad).outcome, Outcome::kNak);
  EXPECT_EQ(fixture.only(bad).syndrome, 0x62);
  EXPECT_EQ(fixture.only(bad).drop_reason, DropReason::kRemoteAccess);
  EXPECT_EQ(fixture.only(bad).bytes, 0u);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals.value(0).kind, RefusalKind::kError);
  EXPECT_EQ(refusals.value(0).line, fixture.rc.line);
  EXPECT_EQ(fixture.dut.counters().remote_errors, 1u);
}

TEST(AddressTranslator, ARangeThatFailsWritesNothingOfItsPacket) {  // R3: before the packet's first segment
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1);
  const Segments bad =
      fixture.write(fixture.rc, 1, 4096 - 512, 1024, 16 * 4096);  // two segments, each of which is allowed
  ASSERT_EQ(bad.size(), 2u);
  fixture.push(Cycle{0}, bad);
  bench.run();
  EXPECT_EQ(fixture.only(bad).syndrome, 0x62);
  EXPECT_EQ(fixture.only(bad).bytes, 0u);
}

TEST(AddressTranslator, TheRangeIsCheckedOnceAPacket) {  // R3
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1);
  fixture.push(Cycle{0}, fixture.send(1, {0}));
  Segments p = fixture.write(fixture.rc, 1, 4096 - 512, 1024);
  p[1].local_bytes = 17 * 4096;  // not checked again
  fixture.push(Cycle{999}, p);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 3u);
  EXPECT_EQ(fixture.out.cycle(1), Cycle{1002});
  EXPECT_EQ(fixture.out.cycle(2), Cycle{1003});
  EXPECT_EQ(fixture.out.value(2).address, Fixture::bus(1, 1));
  EXPECT_EQ(fixture.dut.counters().remote_errors, 0u);
}

TEST(AddressTranslator, RemoteRightsKeyAndDomainAreChecked) {  // R3
  for (int what = 0; what < 3; ++what) {
    Bench bench;
    Fixture fixture(bench);
    fixture.region(1, what == 0 ? kLocalWrite | kRemoteRead : kLocalWrite | kRemoteWrite);
    Segments p = fixture.write(fixture.rc, 1, 0, 64);
    if (what == 1) p[0].local_key = Key{raw(Fixture::key(1)) ^ 1};
    if (what == 2) p[0].pd = Pdn{8};
    fixture.push(Cycle{0}, p);
    bench.run();
    EXPECT_EQ(fixture.only(p).syndrome, 0x62) << what;
    EXPECT_EQ(fixture.only(p).bytes, 0u) << what;
  }
}

TEST(AddressTranslator, UcGivesUpTheMessageOnly) {  // R3
  Bench bench;
  Fixture fixture(bench);
  auto& refusals = bench.sink(fixture.dut.refusals);
  fixture.region(1, kLocalWrite);
  const Segments bad = fixture.write(fixture.uc, 1, 0, 64);
  Segments same = fixture.write(fixture.uc, 1, 64, 64);
  same[0].message_sequence = bad[0].message_sequence;
  const Segments next = fixture.send(fixture.uc, 1, {0});
  for (const Segments& p : {bad, same, next}) fixture.push(Cycle{0}, p);
  bench.run();
  EXPECT_EQ(fixture.only(bad).outcome, Outcome::kDrop);
  EXPECT_EQ(fixture.only(bad).drop_reason, DropReason::kRemoteAccess);
  EXPECT_FALSE(fixture.only(bad).acknowledge);
  EXPECT_FALSE(fixture.only(bad).fails_qp);
  EXPECT_EQ(fixture.only(same).drop_reason, DropReason::kSquashed);
  EXPECT_EQ(fixture.only(same).bytes, 0u);
  EXPECT_EQ(fixture.only(next).outcome, Outcome::kExecute);
  EXPECT_EQ(refusals.size(), 0u) << "the QP stays as it is";
}

TEST(AddressTranslator, LengthZeroIsNotChecked) {  // R3
  Bench bench;
  Fixture fixture(bench);
  const Segments p = fixture.write(fixture.rc, 99, 0, 0);
  fixture.push(Cycle{9}, p);
  bench.run();
  EXPECT_EQ(fixture.only(p).outcome, Outcome::kExecute);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{12});
  EXPECT_EQ(fixture.dut.counters().walks, 0u);
}

TEST(AddressTranslator, AnswerIntoABadBufferIsALocalError) {  // R3
  Bench bench;
  Fixture fixture(bench);
  auto& refusals = bench.sink(fixture.dut.refusals);
  fixture.region(1, kRemoteRead);
  Segments p = fixture.with_range(fixture.rc, Operation::kReadResponseOnly, 1, 0, 64, 0, Outcome::kAnswer);
  Fixture::add(p, Fixture::key(1), Fixture::va(1), 64);
  fixture.push(Cycle{0}, p);
  bench.run();
  EXPECT_EQ(fixture.only(p).drop_reason, DropReason::kLocalOperation);
  EXPECT_EQ(fixture.only(p).status, WcStatus::kLocalProtection);
  EXPECT_EQ(fixture.only(p).bytes, 0u);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals.value(0).kind, RefusalKind::kRequestError);
  EXPECT_EQ(refusals.value(0).request, p[0].message_sequence);
}

TEST(AddressTranslator, AnswersBehindOneThatFailedWriteNothing) {  // R6 (core/responder/refusal.h, R5)
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1, kRemoteRead);
  fixture.region(2);
  const auto answer = [&](std::uint32_t n) {
    Segments p = fixture.with_range(fixture.rc, Operation::kReadResponseOnly, n, 0, 128, 0, Outcome::kAnswer);
    Fixture::add(p, Fixture::key(n), Fixture::va(n), 64);
    Fixture::add(p, Fixture::key(n), Fixture::va(n) + 4096, 64);
    fixture.push(Cycle{0}, p);
    return p;
  };
  answer(1);
  const Segments behind = answer(2);
  bench.run();
  for (const SegmentWrite& w : fixture.left(behind)) {
    EXPECT_EQ(w.outcome, Outcome::kDrop);
    EXPECT_EQ(w.bytes, 0u);
  }
  EXPECT_TRUE(fixture.left(behind).back().last);
}

TEST(AddressTranslator, AtomicGetsItsBusAddress) {  // R3
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1);
  const Segments p = fixture.with_range(fixture.rc, Operation::kFetchAdd, 1, 4096 * 3 + 8, 8, kRemoteAtomic);
  fixture.push(Cycle{0}, p);
  bench.run();
  EXPECT_EQ(fixture.only(p).bytes, 0u);
  EXPECT_EQ(fixture.only(p).bus, Fixture::bus(1, 3, 8));
}

TEST(AddressTranslator, AtomicWriteNeedsTheRightToWriteAndIsNotLookedUpAgain) {  // R3, R6
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1, kRemoteWrite);
  fixture.region(2, kRemoteAtomic | kRemoteRead);
  const auto packet = [&](std::uint32_t region, Outcome outcome) {
    Segments p =
        fixture.with_range(fixture.rc, Operation::kAtomicWrite, region, 4096 * 3 + 8, 8, kRemoteWrite, outcome);
    fixture.push(Cycle{0}, p);
    return p;
  };
  const Segments good = packet(1, Outcome::kExecute), replay = packet(9, Outcome::kReplay),
                 bad = packet(2, Outcome::kExecute);
  bench.run();
  EXPECT_EQ(fixture.only(good).outcome, Outcome::kExecute);
  EXPECT_EQ(fixture.only(good).bytes, 0u);
  EXPECT_EQ(fixture.only(good).bus, Fixture::bus(1, 3, 8));
  EXPECT_EQ(fixture.only(replay).outcome, Outcome::kReplay);
  EXPECT_EQ(fixture.only(bad).drop_reason, DropReason::kRemoteAccess);
  EXPECT_EQ(fixture.only(bad).syndrome, 0x62);
}

TEST(AddressTranslator, BadLkeyIsALocalErrorWithNak63) {  // R4
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1, kRemoteWrite);  // no local write
  Segments p = fixture.send(1, {0});
  p[0].wqe_slot = 5;
  fixture.push(Cycle{0}, p);
  bench.run();
  EXPECT_EQ(fixture.only(p).syndrome, 0x63);
  EXPECT_EQ(fixture.only(p).status, WcStatus::kLocalProtection);
  EXPECT_TRUE(fixture.only(p).completes);
  EXPECT_EQ(fixture.only(p).bytes, 0u);
  EXPECT_EQ(fixture.dut.counters().local_errors, 1u);
}

TEST(AddressTranslator, AParameterChoosesTheStatusOfAReceiveWithABadLkey) {  // R4
  Bench bench;
  Fixture fixture(bench, small(), WqeErrorStatus::kLocQpOp);
  fixture.region(1, kRemoteRead);
  Segments receive = fixture.send(1, {0});
  Segments answer = fixture.with_range(fixture.rc, Operation::kReadResponseOnly, 1, 0, 64, 0, Outcome::kAnswer);
  Fixture::add(answer, Fixture::key(1), Fixture::va(1), 64);
  fixture.push(Cycle{0}, receive);
  fixture.push(Cycle{50}, answer);
  bench.run();
  EXPECT_EQ(fixture.only(receive).status, WcStatus::kLocalQpOperation);
  EXPECT_EQ(fixture.only(answer).status, WcStatus::kLocalProtection) << "no receive";
}

TEST(AddressTranslator, WhatIsBeforeASegmentThatFailsHasGoneOnAndTheRestEndsHere) {  // R4
  Bench bench;
  Fixture fixture(bench);
  auto& refusals = bench.sink(fixture.dut.refusals);
  fixture.region(1);
  fixture.push(Cycle{0}, fixture.send(1, {0, 8}));
  Segments p = fixture.send(1, {0, 1, 2, 3, 4});
  p[2].va = Fixture::va(1) + 16 * 4096 - 63;  // ends one byte beyond the region
  const Segments behind = fixture.send(1, {0, 1}), others = fixture.send(fixture.uc, 1, {0});
  fixture.push(Cycle{999}, p);
  fixture.push(Cycle{999}, behind);
  fixture.push(Cycle{999}, others);
  bench.run();
  const std::vector<SegmentWrite> left = fixture.left(p);
  ASSERT_EQ(left.size(), 3u);
  for (std::uint32_t n = 0; n < 2; ++n) {
    EXPECT_EQ(left[n].outcome, Outcome::kExecute);
    EXPECT_EQ(left[n].bytes, 64u);
    EXPECT_EQ(left[n].address, Fixture::bus(1, n, 16));
    EXPECT_FALSE(left[n].last);
  }
  EXPECT_EQ(left[2].outcome, Outcome::kNak);
  EXPECT_EQ(left[2].syndrome, 0x63);
  EXPECT_EQ(left[2].bytes, 0u);
  EXPECT_TRUE(left[2].last) << "the packet goes on with it";
  EXPECT_EQ(fixture.out.cycle(4), Cycle{1000 + 2 + 2});
  for (const SegmentWrite& w : fixture.left(behind)) {
    EXPECT_EQ(w.drop_reason, DropReason::kSquashed);
    EXPECT_EQ(w.bytes, 0u);
  }
  EXPECT_TRUE(fixture.left(behind).back().last);
  EXPECT_EQ(fixture.only(others).bytes, 64u) << "another QP's";
  EXPECT_EQ(fixture.out.cycle(fixture.out.size() - 1), Cycle{1000 + 7 + 2}) << "a segment that ends here takes a cycle";
  EXPECT_EQ(refusals.size(), 1u);
  EXPECT_EQ(fixture.dut.counters().local_errors, 1u);
  EXPECT_EQ(fixture.dut.counters().packets, 4u);
}

TEST(AddressTranslator, TheRestOfAPacketThatFailedEndsHereWheneverItComes) {  // R4
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1, kLocalWrite);
  const Segments p = fixture.write(fixture.uc, 1, 4096 - 64, 4096 + 128);
  ASSERT_EQ(p.size(), 3u);
  const Segments next = fixture.send(fixture.uc, 1, {0});
  fixture.in.push(Cycle{0}, p[0]);
  fixture.in.push(Cycle{1000}, p[1]);
  fixture.in.push(Cycle{2000}, p[2]);
  fixture.push(Cycle{3000}, next);
  bench.run();
  EXPECT_EQ(fixture.only(p).drop_reason, DropReason::kRemoteAccess);
  EXPECT_EQ(fixture.only(next).bytes, 64u) << "another message";
  EXPECT_EQ(fixture.out.cycle(1), Cycle{3001 + kWalk + 2});
}

TEST(AddressTranslator, APacketBehindAFailedLastSegmentIsWhole) {  // R4
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1);
  Segments p = fixture.send(1, {0, 1});
  p[1].key = Fixture::key(9);
  const Segments next = fixture.send(fixture.uc, 1, {0, 1});
  fixture.push(Cycle{0}, p);
  fixture.push(Cycle{0}, next);
  bench.run();
  EXPECT_EQ(fixture.left(p).size(), 2u);
  EXPECT_EQ(fixture.left(p)[1].outcome, Outcome::kNak);
  ASSERT_EQ(fixture.left(next).size(), 2u);
  EXPECT_EQ(fixture.left(next)[1].address, Fixture::bus(1, 1, 16));
}

TEST(AddressTranslator, UnmappedPageTableIsAnError) {  // R4
  Bench bench;
  auto& host = bench.keep<LocalMemory>();
  FaultyMemory no_mtt(host);
  no_mtt.is_unmapped = [](BusAddress at) { return at >= icm::kMtt; };
  auto& shared = bench.keep<NicShared>(PacketPool::Quotas{});
  auto& dut = bench.add<AddressTranslator>("dut", small(), shared.packets);
  auto& in = bench.source(dut.in);
  auto& out = bench.sink(dut.out);
  bench.memory(dut.dma, dut.dma_done, no_mtt, kLatency);
  MptEntry e;
  e.key = 0x142;
  e.valid = 1;
  e.access = kLocalWrite;
  e.length = 4096;
  e.mtt_base = raw(icm::kMtt);
  host.store(mpt_address(Key{0x142}), e);
  ScatteredSegment s;
  s.line = place_qp(shared, test_qp(Transport::kRc)).line;
  s.transport = Transport::kRc;
  s.outcome = Outcome::kExecute;
  s.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
  s.key = Key{0x142};
  s.bytes = 8;
  in.push(Cycle{0}, s);
  bench.run();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out.value(0).drop_reason, DropReason::kLocalOperation);
  EXPECT_EQ(out.value(0).bytes, 0u);
}

TEST(AddressTranslator, SegmentsOfAResponseThatMayNotBeReadGoOnAsFailed) {  // R5
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1, kLocalWrite);
  fixture.region(2);
  const GatherSegments forbidden = fixture.response(1, {0, 1}), allowed = fixture.response(2, {0, 1});
  GatherSegments half = fixture.response(2, {0, 1});
  half[1].va = Fixture::va(2) + 16 * 4096 - 63;  // ends one byte beyond the region
  for (const GatherSegments& r : {forbidden, allowed, half}) fixture.push(Cycle{0}, r);
  bench.run();
  ASSERT_EQ(fixture.gather_out.size(), 6u);
  const bool failed[] = {true, true, false, false, false, true};
  for (std::uint32_t n = 0; n < 6; ++n) {
    const GatherRead& r = fixture.gather_out.value(n);
    const GatherSegments& of = n < 2 ? forbidden : n < 4 ? allowed : half;
    EXPECT_EQ(r.failed, failed[n]) << n;
    EXPECT_EQ(r.buffer, of[0].buffer);
    EXPECT_EQ(r.last, n % 2 == 1);
    EXPECT_EQ(r.offset, of[n % 2].offset);
    EXPECT_EQ(r.bytes, 64u);
    if (!r.failed) {
      EXPECT_EQ(r.address, Fixture::bus(2, n % 2, 16));
    }
  }
  EXPECT_EQ(fixture.dut.counters().gathers, 3u) << "responses";
  EXPECT_EQ(fixture.dut.counters().remote_errors, 2u) << "responses, too";
}

TEST(AddressTranslator, TheDomainOfAResponseIsChecked) {  // R5
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1);
  GatherSegments r = fixture.response(1, {0});
  r[0].pd = Pdn{8};
  fixture.push(Cycle{0}, r);
  bench.run();
  ASSERT_EQ(fixture.gather_out.size(), 1u);
  EXPECT_TRUE(fixture.gather_out.value(0).failed);
}

TEST(AddressTranslator, AWindowOfType2IsForItsQpAlone) {  // R3, R5
  for (const bool its_own : {true, false}) {
    Bench bench;
    Fixture fixture(bench);
    MptEntry e = fixture.region(1);
    e.kind = MemoryKind::kWindow2;
    e.window_qp = its_own ? fixture.rc.qpn : Qpn{0x777};
    fixture.host.store(mpt_address(Fixture::key(1)), e);
    const Segments p = fixture.write(fixture.rc, 1, 16, 64);
    fixture.push(Cycle{0}, p);
    fixture.push(Cycle{0}, fixture.response(1, {0}));
    bench.run();
    EXPECT_EQ(fixture.only(p).outcome, its_own ? Outcome::kExecute : Outcome::kNak);
    ASSERT_EQ(fixture.gather_out.size(), 1u);
    EXPECT_EQ(fixture.gather_out.value(0).failed, !its_own);
  }
}

// Addresses from 0 on; the first byte is byte 0x123 of page 0: pages end at 0xedd, 0x1edd...
MptEntry zero_based(Fixture& fixture, std::uint64_t length = 8192) {
  MptEntry e = fixture.region(1, kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic | kZeroBased);
  e.va = 0;
  e.length = length;
  e.paged_offset = Fixture::va(1) + 0x123;
  fixture.host.store(mpt_address(Fixture::key(1)), e);
  return e;
}

TEST(AddressTranslator, ASegmentOfAZeroBasedRegionIsCutWhereItsPageEnds) {  // R4
  Bench bench;
  Fixture fixture(bench);
  zero_based(fixture);
  Segments p = fixture.packet(fixture.rc, Operation::kSendOnly);
  Fixture::add(p, Fixture::key(1), 0xeb0, 100);
  Fixture::add(p, Fixture::key(1), 0x1000, 64);
  fixture.push(Cycle{0}, fixture.send(fixture.uc, 1, {}));
  fixture.push(Cycle{500}, p);  // misses
  fixture.push(Cycle{1000}, p);
  bench.run();
  const std::vector<SegmentWrite> w = fixture.left(p);
  ASSERT_EQ(w.size(), 6u);
  for (std::size_t n = 0; n < 6; n += 3) {
    EXPECT_EQ(w[n].address, Fixture::bus(1, 0, 0xeb0 + 0x123));
    EXPECT_EQ(w[n].bytes, 45u);
    EXPECT_EQ(w[n].offset, p[0].offset);
    EXPECT_EQ(w[n + 1].address, Fixture::bus(1, 1));
    EXPECT_EQ(w[n + 1].bytes, 55u);
    EXPECT_EQ(w[n + 1].offset, p[0].offset + 45);
    EXPECT_EQ(w[n + 2].address, Fixture::bus(1, 1, 0x123));
    EXPECT_TRUE(!w[n].last && !w[n + 1].last && w[n + 2].last);
  }
  const std::size_t first = fixture.out.size() - 3;
  EXPECT_EQ(fixture.out.cycle(first + 1), fixture.out.cycle(first) + 1) << "a part is a segment";
  EXPECT_EQ(fixture.out.cycle(first + 2), fixture.out.cycle(first) + 2);
}

// The region goes while the other part waits for the page behind.
TEST(AddressTranslator, APartThatFailsEndsItsPacketAlone) {  // R4
  Bench bench;
  Fixture fixture(bench);
  const MptEntry e = zero_based(fixture, 16 * 4096);
  Segments p = fixture.packet(fixture.rc, Operation::kSendOnly);
  Fixture::add(p, Fixture::key(1), 8 * 4096 - 0x130, 100);  // the next page is of another MTT line
  const Segments next = fixture.packet(fixture.uc, Operation::kSendOnly);
  fixture.push(Cycle{0}, p);
  fixture.push(Cycle{0}, next);
  bench.at(Cycle{2 * kWalk + 30}, [&](Cycle) { fixture.host.store(mpt_address(Fixture::key(1)), MptEntry{}); });
  fixture.invalidate(Cycle{2 * kWalk + 30}, e);
  bench.run();
  const std::vector<SegmentWrite> w = fixture.left(p);
  ASSERT_EQ(w.size(), 2u);
  EXPECT_EQ(w[0].bytes, 13u);
  EXPECT_TRUE(!w[0].last && w[1].last);
  EXPECT_EQ(w[1].bytes, 0u);
  EXPECT_EQ(w[1].drop_reason, DropReason::kLocalOperation);
  EXPECT_EQ(fixture.left(next).size(), 1u);
}

TEST(AddressTranslator, APieceOfAResponseIsCutWhereItsPageEnds) {  // R4
  Bench bench;
  Fixture fixture(bench);
  zero_based(fixture);
  GatherSegments r = fixture.response(1, {0}, 100);
  r[0].va = 0xeb0;
  fixture.push(Cycle{0}, r);
  MptEntry another;
  another.key = raw(Fixture::key(5));
  fixture.invalidate(Cycle{5000}, another);
  bench.run();
  ASSERT_EQ(fixture.gather_out.size(), 2u);
  const GatherRead &a = fixture.gather_out.value(0), &b = fixture.gather_out.value(1);
  EXPECT_TRUE(!a.failed && !b.failed && !a.last && b.last);
  EXPECT_EQ(a.address, Fixture::bus(1, 0, 0xeb0 + 0x123));
  EXPECT_EQ(a.bytes, 45u);
  EXPECT_EQ(b.address, Fixture::bus(1, 1));
  EXPECT_EQ(b.bytes, 55u);
  EXPECT_EQ(b.offset, r[0].offset + 45);
  EXPECT_EQ(fixture.command_replies.value(0).gathers, 2u) << "a part is a segment";
}

TEST(AddressTranslator, AnAtomicOnAnOperandThatIsNotAlignedIsRefused) {  // R3
  for (const std::uint64_t offset : {0x120u, 0x123u}) {
    Bench bench;
    Fixture fixture(bench);
    MptEntry e = zero_based(fixture);
    e.paged_offset = Fixture::va(1) + offset;
    fixture.host.store(mpt_address(Fixture::key(1)), e);
    Segments p = fixture.with_range(fixture.rc, Operation::kFetchAdd, 1, 0, 8, kRemoteAtomic);
    p[0].local_va = 8;
    fixture.push(Cycle{0}, p);
    bench.run();
    EXPECT_EQ(fixture.only(p).outcome, offset == 0x120 ? Outcome::kExecute : Outcome::kNak);
  }
}

TEST(AddressTranslator, SquashedAndFailedPacketsPass) {  // R6
  Bench bench;
  Fixture fixture(bench);
  Segments first = fixture.send(1, {}), second = fixture.send(1, {});
  mark_failed(first[0], DropReason::kInvalidRequest, 0x61, WcStatus::kSuccess);
  squash(second[0]);
  ScatteredSegment internal;
  internal.role = PacketRole::kLastWqe;
  fixture.push(Cycle{9}, first);
  fixture.push(Cycle{9}, second);
  fixture.in.push(Cycle{9}, internal);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 3u);
  for (std::uint32_t n = 0; n < 3; ++n) EXPECT_EQ(fixture.out.cycle(n), Cycle{12 + n});
  EXPECT_EQ(fixture.only(first).drop_reason, DropReason::kInvalidRequest);
  EXPECT_EQ(fixture.only(second).drop_reason, DropReason::kSquashed);
  EXPECT_EQ(fixture.dut.counters().walks, 0u);
}

TEST(AddressTranslator, MissOnOneInputDoesNotHoldUpTheOther) {  // R7
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1);
  fixture.region(2);
  fixture.push(Cycle{0}, fixture.response(2, {0}));
  fixture.push(Cycle{999}, fixture.send(1, {0}));
  fixture.push(Cycle{999}, fixture.response(2, {0}));
  bench.run();
  EXPECT_EQ(fixture.gather_out.cycle(1), Cycle{1002});
  EXPECT_EQ(fixture.out.cycle(0), Cycle{1000 + 2 * kWalk + 2});
}

TEST(AddressTranslator, MissesOfWaitingPacketsOverlap) {  // R8
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t n = 1; n <= 8; ++n) {
    fixture.region(n);
    fixture.push(Cycle{9}, fixture.send(n, {0}));
  }
  bench.run();
  ASSERT_EQ(fixture.out.size(), 8u);
  EXPECT_EQ(fixture.dut.counters().walks, 16u);
  EXPECT_LT(fixture.out.cycle(7), Cycle{10 + 2 * kWalk + 40});
}

TEST(AddressTranslator, MissesOfAPacketsSegmentsOverlap) {  // R8
  Bench bench;
  Fixture fixture(bench);
  Segments p = fixture.packet(fixture.rc, Operation::kSendOnly);
  for (std::uint32_t n = 1; n <= 8; ++n) {
    fixture.region(n);
    Fixture::add(p, Fixture::key(n), Fixture::va(n), 64);
  }
  fixture.push(Cycle{9}, p);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 8u);
  EXPECT_EQ(fixture.dut.counters().walks, 16u);
  EXPECT_LT(fixture.out.cycle(7), Cycle{10 + 2 * kWalk + 40});
}

TEST(AddressTranslator, WalksInFlightAreBounded) {  // R8
  AddressTranslatorParams p = small();
  p.walks_in_flight = 1;
  Bench bench;
  Fixture fixture(bench, p);
  for (std::uint32_t n = 1; n <= 8; ++n) {
    fixture.region(n);
    fixture.push(Cycle{9}, fixture.send(n, {0}));
  }
  bench.run();
  ASSERT_EQ(fixture.out.size(), 8u);
  EXPECT_GE(fixture.out.cycle(7), Cycle{10 + 16 * kWalk});
}

TEST(AddressTranslator, LineIsReadOnceForAllThatWait) {  // R8
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1);
  for (int i = 0; i < 6; ++i) fixture.push(Cycle{9}, fixture.send(1, {0, 1}));
  fixture.push(Cycle{9}, fixture.response(1, {2}));
  bench.run();
  EXPECT_EQ(fixture.dut.counters().walks, 2u);
  EXPECT_EQ(fixture.packets_out(), 6u);
  EXPECT_EQ(fixture.responses_out(), 1u);
}

TEST(AddressTranslator, SmallestCachesStillMakeProgress) {
  AddressTranslatorParams p = small();
  p.mpt_sets = p.mpt_ways = p.mtt_sets = p.mtt_ways = 1;
  Bench bench;
  Fixture fixture(bench, p);
  for (std::uint32_t n = 1; n <= 4; ++n) fixture.region(n);
  for (std::uint32_t i = 0; i < 40; ++i) {
    if (i % 2 == 0) {
      fixture.push(Cycle{0}, fixture.send(1 + i % 4, {0, 8, 0, 8}));
    } else {
      fixture.push(Cycle{0}, fixture.response(1 + i % 4, {0, 8, 0, 8}));
    }
  }
  bench.run(Cycle{1'000'000});
  EXPECT_EQ(fixture.packets_out(), 20u);
  EXPECT_EQ(fixture.responses_out(), 20u);
}

TEST(AddressTranslator, InvalidatedRegionIsReadAgain) {  // R10
  Bench bench;
  Fixture fixture(bench);
  MptEntry e = fixture.region(1);
  const MptEntry other = fixture.region(2);
  const Segments before = fixture.send(1, {0}), moved = fixture.send(1, {0}), gone = fixture.send(1, {0});
  fixture.push(Cycle{0}, fixture.send(2, {0}));
  fixture.push(Cycle{0}, before);
  bench.at(Cycle{500}, [&](Cycle) { fixture.host.store(BusAddress{e.mtt_base}, std::uint64_t{0xabc000}); });
  fixture.invalidate(Cycle{500}, e);
  fixture.push(Cycle{1000}, moved);
  bench.at(Cycle{1500}, [&](Cycle) { fixture.host.store(mpt_address(Fixture::key(1)), MptEntry{}); });
  fixture.invalidate(Cycle{1500}, e);
  fixture.push(Cycle{2000}, gone);
  fixture.push(Cycle{2500}, fixture.send(fixture.uc, 2, {0}));
  bench.run();
  EXPECT_EQ(fixture.only(before).address, Fixture::bus(1, 0, 16));
  EXPECT_EQ(fixture.only(moved).address, BusAddress{0xabc010});
  EXPECT_EQ(fixture.only(gone).outcome, Outcome::kNak);
  EXPECT_EQ(fixture.dut.counters().invalidations, 2u);
  EXPECT_EQ(fixture.dut.counters().walks, 2u + 2u + 2u + 1u) << "of the other region nothing is read again";
  EXPECT_EQ(other.valid, 1);
}

TEST(AddressTranslator, WalkThatIsInvalidatedOnItsWayIsRepeated) {  // R10
  Bench bench;
  Fixture fixture(bench);
  const MptEntry e = fixture.region(1);
  const Segments p = fixture.send(1, {0});
  fixture.push(Cycle{0}, p);
  bench.at(Cycle{50}, [&](Cycle) { fixture.host.store(mpt_address(Fixture::key(1)), MptEntry{}); });
  fixture.invalidate(Cycle{50}, e);
  bench.run();
  EXPECT_EQ(fixture.dut.counters().walks, 2u);
  EXPECT_EQ(fixture.only(p).outcome, Outcome::kNak);
}

// What SEND WITH INVALIDATE does with the smallest caches, which hold the entry of its data or that of its key.
TEST(AddressTranslator, ASendInvalidatesItsKeyBehindItsData) {  // R9
  for (const std::uint32_t ways : {1u, 2u}) {
    Bench bench;
    AddressTranslatorParams params = small();
    params.mpt_sets = 1;
    params.mpt_ways = ways;
    Fixture fixture(bench, params);
    fixture.region(1);
    MptEntry e = fixture.region(2);
    e.kind = MemoryKind::kFastRegistered;
    fixture.host.store(mpt_address(Fixture::key(2)), e);
    Segments p = fixture.send(1, {0, 1});
    for (ScatteredSegment& s : p) {
      s.opcode = opcode_of(Transport::kRc, Operation::kSendOnlyInv);
      s.completes = true;
      s.immediate = raw(Fixture::key(2));
    }
    const Segments before = fixture.with_range(fixture.rc, Operation::kWriteOnly, 2, 0, 64, kRemoteWrite);
    const Segments after = fixture.with_range(fixture.rc, Operation::kWriteOnly, 2, 0, 64, kRemoteWrite);
    fixture.push(Cycle{0}, before);
    fixture.push(Cycle{0}, p);
    fixture.push(Cycle{0}, after);
    bench.run();
    EXPECT_EQ(fixture.only(before).outcome, Outcome::kExecute);
    EXPECT_EQ(fixture.only(after).outcome, Outcome::kNak);
    EXPECT_EQ(fixture.host.load<MptEntry>(mpt_address(Fixture::key(2))).invalidated, 1);
    EXPECT_EQ(fixture.host.load<MptEntry>(mpt_address(Fixture::key(2))).valid, 1);
    EXPECT_EQ(fixture.dut.counters().remote_invalidations, 1u);
    EXPECT_EQ(fixture.dut.counters().refused_invalidations, 0u);
  }
}

TEST(AddressTranslator, CreatedRegionIsSeenWithoutInvalidate) {
  Bench bench;
  Fixture fixture(bench);
  const Segments before = fixture.send(1, {0}), after = fixture.send(fixture.uc, 1, {0});
  fixture.push(Cycle{0}, before);
  bench.at(Cycle{500}, [&](Cycle) { fixture.region(1); });
  fixture.push(Cycle{1000}, after);
  bench.run();
  EXPECT_EQ(fixture.only(before).outcome, Outcome::kNak);
  EXPECT_EQ(fixture.only(after).address, Fixture::bus(1, 0, 16));
}

TEST(AddressTranslator, ACommandLearnsWhatWasBegun) {
  Bench bench;
  Fixture fixture(bench);
  fixture.region(1);
  Segments failing = fixture.send(1, {0, 1, 2});
  failing[1].key = Fixture::key(9);
  fixture.push(Cycle{0}, fixture.send(1, {0, 1}));
  fixture.push(Cycle{0}, failing);
  fixture.push(Cycle{0}, fixture.send(fixture.uc, 1, {0}));
  fixture.push(Cycle{0}, fixture.response(1, {0, 1}));
  MptEntry another;
  another.key = raw(Fixture::key(5));
  fixture.invalidate(Cycle{9}, another);
  fixture.invalidate(Cycle{5000}, another);
  bench.run();
  ASSERT_EQ(fixture.command_replies.size(), 2u);
  EXPECT_EQ(fixture.command_replies.cycle(0), Cycle{10});
  EXPECT_EQ(fixture.command_replies.value(0).packets, 1u) << "which waits for its region";
  EXPECT_EQ(fixture.command_replies.value(0).gathers, 1u);
  EXPECT_EQ(fixture.command_replies.value(1).packets, 3u);
  EXPECT_EQ(fixture.command_replies.value(1).gathers, 2u) << "segments";
}

TEST(AddressTranslator, AllModesAndOrdersAgreeOnRandomTraffic) {
  const std::uint64_t seed = test_seed(1);
  for (std::uint64_t round = 0; round < 10; ++round) {
    expect_equal_in_all_orders([&](Bench& bench) {
      std::mt19937_64 random(seed + round);
      AddressTranslatorParams params = small();
      params.mpt_sets = 1u << random() % 3;
      params.mtt_sets = 1u << random() % 4;
      params.walks_in_flight = static_cast<std::uint32_t>(1 + random() % 4);
      params.hit_cycles = static_cast<std::uint32_t>(1 + random() % 4);
      Fixture fixture(bench, params);
      for (std::uint32_t n = 1; n <= 12; ++n) fixture.region(n);
      Cycle when[2] = {};
      std::size_t packets = 0, responses = 0;
      for (int i = 0; i < 400; ++i) {
        const std::uint64_t lane = random() % 2;
        const auto n = static_cast<std::uint32_t>(1 + random() % 13);  // 13 does not exist
        QpContext& qp = random() % 40 != 0 ? fixture.uc : fixture.rc;
        const std::vector<std::uint64_t> pages{random() % 16, random() % 17, random() % 16};
        const bool writes = random() % 3 == 0;
        const std::uint64_t offset = random() % 70000;
        when[lane] += random() % 8 == 0 ? random() % 400 : random() % 3;
        if (lane == 1) {
          fixture.push(when[1], fixture.response(n, pages));
          ++responses;
        } else {
          fixture.push(when[0], writes ? fixture.write(qp, n, offset, 512) : fixture.send(qp, n, pages));
          ++packets;
        }
      }
      Cycle asked{};
      for (int i = 0; i < 5; ++i) {
        fixture.invalidate(asked += random() % 1000, fixture.region(static_cast<std::uint32_t>(1 + random() % 12)));
      }
      fixture.out.accept_when([](Cycle c) { return c.count % 64 < 40; });
      bench.run();
      EXPECT_EQ(fixture.packets_out(), packets);
      EXPECT_EQ(fixture.responses_out(), responses);
      EXPECT_GT(fixture.dut.counters().local_errors + fixture.dut.counters().remote_errors, 0u);
      StateHash h;
      h.mix(bench.state_hash());
      for (const SegmentWrite& w : fixture.out.values()) {
        h.mix(static_cast<std::uint64_t>(w.outcome) << 32 | w.last << 16 | w.bytes);
        h.mix(raw(w.address));
      }
      for (const GatherRead& r : fixture.gather_out.values()) h.mix(raw(r.address) << 1 | r.failed);
      return h.value();
    });
  }
}

}  // namespace
}  // namespace rxnic::address_translator_test
