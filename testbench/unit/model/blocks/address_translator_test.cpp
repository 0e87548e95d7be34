// SPDX-License-Identifier: Apache-2.0
// Rules R1..R9 of model/blocks/address_translator.h.
#include "model/blocks/address_translator.h"

#include <gtest/gtest.h>

#include <random>

#include "model/core/responder/refusal.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic {
namespace {

constexpr Pdn kPd{7};
constexpr std::uint64_t kLatency = 100;  // of the test memory, from taking a request to its completion
// From a walk's start to the cycle in which its line is used.
constexpr std::uint64_t kWalk = kLatency + 2;

AddressTranslatorParams small() {
  AddressTranslatorParams p;
  p.mpt_sets = 16;
  p.mpt_ways = 2;
  p.mtt_sets = 16;
  p.mtt_ways = 2;
  p.hit_cycles = 2;
  p.walks_in_flight = 8;
  return p;
}

struct Rig {
  explicit Rig(Bench& b, const AddressTranslatorParams& params = small())
      : bench(b),
        host(b.keep<LocalMemory>()),
        shared(b.keep<NicShared>(PacketPool::Quotas{})),
        dut(b.add<AddressTranslator>("dut", params, shared)),
        in(b.source(dut.in)),
        out(b.sink(dut.out)),
        gather_in(b.source(dut.gather_in)),
        gather_out(b.sink(dut.gather_out)),
        memory(b.memory(dut.dma, dut.dma_done, host, kLatency)) {
    rc.transport = Transport::kRc;
    uc.transport = Transport::kUc;
  }
  static Key key(std::uint32_t n) { return Key{n << 8 | 0x42}; }
  static std::uint64_t va(std::uint32_t n) { return std::uint64_t{n} << 32; }
  static std::uint64_t bus(std::uint32_t n, std::uint64_t page) {
    return 0x1'0000'0000u * n + 0x100'0000u + page * 0x2000u;
  }
  // Region n: `pages` pages of 4 KiB at va(n), page i at bus(n, i).
  MptEntry region(std::uint32_t n, std::uint8_t access = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic,
                  std::uint64_t pages = 16) {
    MptEntry e;
    e.key = raw(key(n));
    e.valid = 1;
    e.access = access;
    e.pd = raw(kPd);
    e.va = va(n);
    e.length = pages * 4096;
    e.mtt_base = raw(icm::kMtt) + std::uint64_t{n} * 0x10000;
    host.store(mpt_address(key(n)), e);
    for (std::uint64_t i = 0; i < pages; ++i) host.store(BusAddress{e.mtt_base + 8 * i}, bus(n, i));
    return e;
  }
  PacketHandle packet(Transport transport, Operation operation) {
    const PacketHandle h = shared.packets.allocate(PacketClass::kReceive);
    Packet& p = shared.packets[h];
    p.h.opcode = opcode_of(transport, operation);
    p.qp = transport == Transport::kUc ? &uc : &rc;
    p.message_sequence = ++p.qp->messages;
    p.outcome = Outcome::kExecute;
    p.pd = kPd;
    return h;
  }
  // A SEND with one segment in each of `pages` of region n.
  PacketHandle send(std::uint32_t n, std::initializer_list<std::uint64_t> pages, std::uint32_t bytes = 64) {
    const PacketHandle h = packet(Transport::kRc, Operation::kSendOnly);
    Packet& p = shared.packets[h];
    for (const std::uint64_t page : pages) {
      Segment& s = p.segments[p.segment_count++];
      s.va = va(n) + 4096 * page + 16;
      s.key = key(n);
      s.bytes = bytes;
    }
    return h;
  }
  PacketHandle write(Transport transport, std::uint32_t n, std::uint64_t offset, std::uint32_t bytes) {
    const PacketHandle h = packet(transport, Operation::kWriteOnly);
    Packet& p = shared.packets[h];
    p.local_key = key(n);
    p.local_va = va(n) + offset;
    p.local_bytes = bytes;
    p.access = kRemoteWrite;
    if (bytes > 0) {
      p.segment_count = 1;
      p.segments[0].va = p.local_va;
      p.segments[0].key = p.local_key;
      p.segments[0].bytes = bytes;
    }
    return h;
  }
  Packet& at(PacketHandle h) { return shared.packets[h]; }

  Bench& bench;
  LocalMemory& host;
  NicShared& shared;
  AddressTranslator& dut;
  Source<PacketHandle>& in;
  Sink<PacketHandle>& out;
  Source<PacketHandle>& gather_in;
  Sink<PacketHandle>& gather_out;
  TestMemory& memory;
  QpContext rc, uc;
};

TEST(AddressTranslator, HitComesAfterHitCycles) {  // R1
  Bench bench;
  Rig rig(bench);
  rig.region(1);
  rig.in.push(Cycle{0}, rig.send(1, {0}));  // fills the caches
  const PacketHandle h = rig.send(1, {1});
  rig.in.push(Cycle{999}, h);
  bench.run_to(Cycle{1001});
  EXPECT_EQ(bench.engine().links()[1]->transfers(), 1u);  // the link at `out`
  bench.run_to(Cycle{1002});
  EXPECT_EQ(bench.engine().links()[1]->transfers(), 2u);
  bench.run();
  EXPECT_EQ(rig.out.cycle(1), Cycle{1002});
  EXPECT_EQ(rig.at(h).segments[0].bus, BusAddress{Rig::bus(1, 1) + 16});
  EXPECT_EQ(rig.at(h).stamped(Station::kAddressTranslator), Cycle{1002});
  EXPECT_EQ(rig.dut.counters().mpt_hits, 1u);
  EXPECT_EQ(rig.dut.counters().mtt_hits, 1u);
}

TEST(AddressTranslator, EachSegmentTakesACycle) {  // R1
  Bench bench;
  Rig rig(bench);
  rig.region(1);
  rig.in.push(Cycle{0}, rig.send(1, {0}));
  rig.in.push(Cycle{999}, rig.send(1, {0, 1, 2, 3}));
  rig.in.push(Cycle{999}, rig.send(1, {0}));
  rig.in.push(Cycle{999}, rig.send(1, {0}));
  bench.run();
  ASSERT_EQ(rig.out.size(), 4u);
  EXPECT_EQ(rig.out.cycle(1), Cycle{1000 + 3 + 2});
  EXPECT_EQ(rig.out.cycle(2), Cycle{1000 + 4 + 2});
  EXPECT_EQ(rig.out.cycle(3), Cycle{1000 + 5 + 2});
}

TEST(AddressTranslator, MissReadsTheRegionAndThenThePage) {  // R2
  Bench bench;
  Rig rig(bench);
  rig.region(1);
  const PacketHandle h = rig.send(1, {9});
  rig.in.push(Cycle{9}, h);
  bench.run_to(Cycle{10 + 2 * kWalk - 1});
  EXPECT_EQ(rig.dut.activity(), Activity::kWaitTranslation);
  bench.run();
  ASSERT_EQ(rig.out.size(), 1u);
  EXPECT_EQ(rig.out.cycle(0), Cycle{10 + 2 * kWalk + 2});
  EXPECT_EQ(rig.at(h).segments[0].bus, BusAddress{Rig::bus(1, 9) + 16});
  ASSERT_EQ(rig.memory.log().size(), 2u);
  EXPECT_EQ(rig.memory.log()[0].request.address, mpt_address(Rig::key(1)));
  EXPECT_EQ(rig.memory.log()[1].request.address, icm::kMtt + (0x10000 + 64));
  EXPECT_EQ(rig.dut.counters().mpt_misses, 1u);
  EXPECT_EQ(rig.dut.counters().mtt_misses, 1u);
}

TEST(AddressTranslator, OneMttLineHoldsEightPages) {  // R2
  Bench bench;
  Rig rig(bench);
  rig.region(1);
  const PacketHandle h = rig.send(1, {0, 1, 2, 3, 4, 5, 6, 7});
  rig.in.push(Cycle{0}, h);
  bench.run();
  EXPECT_EQ(rig.dut.counters().walks, 2u);
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_EQ(rig.at(h).segments[i].bus, BusAddress{Rig::bus(1, i) + 16});
}

TEST(AddressTranslator, RemoteRangeIsCheckedWhole) {  // R3
  Bench bench;
  Rig rig(bench);
  rig.region(1);
  auto& refusals = bench.sink(rig.dut.refusals);
  const PacketHandle good = rig.write(Transport::kRc, 1, 0, 1024);
  rig.at(good).local_bytes = 16 * 4096;  // FIRST: the RETH's length
  const PacketHandle bad = rig.write(Transport::kRc, 1, 0, 1024);
  rig.at(bad).local_bytes = 16 * 4096 + 1;
  rig.in.push(Cycle{0}, good);
  rig.in.push(Cycle{0}, bad);
  bench.run();
  EXPECT_EQ(rig.at(good).outcome, Outcome::kExecute);
  EXPECT_EQ(rig.at(good).segments[0].bus, BusAddress{Rig::bus(1, 0)});
  EXPECT_EQ(rig.at(bad).outcome, Outcome::kNak);
  EXPECT_EQ(rig.at(bad).syndrome, 0x62);
  EXPECT_EQ(rig.at(bad).drop_reason, DropReason::kRemoteAccess);
  EXPECT_EQ(rig.at(bad).segment_count, 0u);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals.value(0).kind, Refusal::Kind::kError);
  EXPECT_EQ(refusals.value(0).qp, &rig.rc);
  EXPECT_EQ(rig.dut.counters().remote_errors, 1u);
}

TEST(AddressTranslator, RemoteRightsKeyAndDomainAreChecked) {  // R3
  for (int what = 0; what < 3; ++what) {
    Bench bench;
    Rig rig(bench);
    rig.region(1, what == 0 ? kLocalWrite | kRemoteRead : kLocalWrite | kRemoteWrite);
    const PacketHandle h = rig.write(Transport::kRc, 1, 0, 64);
    if (what == 1) rig.at(h).local_key = Key{raw(Rig::key(1)) ^ 1};
    if (what == 2) rig.at(h).pd = Pdn{8};
    rig.in.push(Cycle{0}, h);
    bench.run();
    EXPECT_EQ(rig.at(h).syndrome, 0x62) << what;
  }
}

TEST(AddressTranslator, UcGivesUpTheMessageOnly) {  // R3
  Bench bench;
  Rig rig(bench);
  rig.region(1, kLocalWrite);
  const PacketHandle h = rig.write(Transport::kUc, 1, 0, 64);
  rig.in.push(Cycle{0}, h);
  bench.run();
  EXPECT_EQ(rig.at(h).outcome, Outcome::kDrop);
  EXPECT_EQ(rig.at(h).drop_reason, DropReason::kRemoteAccess);
  EXPECT_FALSE(rig.at(h).acknowledge);
  EXPECT_NE(rig.uc.state, QpState::kError);
}

TEST(AddressTranslator, LengthZeroIsNotChecked) {  // R3
  Bench bench;
  Rig rig(bench);
  const PacketHandle h = rig.write(Transport::kRc, 99, 0, 0);
  rig.in.push(Cycle{9}, h);
  bench.run();
  EXPECT_EQ(rig.at(h).outcome, Outcome::kExecute);
  EXPECT_EQ(rig.out.cycle(0), Cycle{12});
  EXPECT_EQ(rig.dut.counters().walks, 0u);
}

TEST(AddressTranslator, AnswerIntoABadBufferIsALocalError) {  // R3
  Bench bench;
  Rig rig(bench);
  rig.region(1, kRemoteRead);
  const PacketHandle h = rig.packet(Transport::kRc, Operation::kReadResponseOnly);
  rig.at(h).outcome = Outcome::kAnswer;
  rig.at(h).local_key = Rig::key(1);
  rig.at(h).local_va = Rig::va(1);
  rig.at(h).local_bytes = 64;
  rig.in.push(Cycle{0}, h);
  bench.run();
  EXPECT_EQ(rig.at(h).drop_reason, DropReason::kLocalOperation);
  EXPECT_EQ(rig.at(h).status, WcStatus::kLocalProtection);
}

TEST(AddressTranslator, AtomicGetsItsBusAddress) {  // R3
  Bench bench;
  Rig rig(bench);
  rig.region(1);
  const PacketHandle h = rig.packet(Transport::kRc, Operation::kFetchAdd);
  rig.at(h).local_key = Rig::key(1);
  rig.at(h).local_va = Rig::va(1) + 4096 * 3 + 8;
  rig.at(h).local_bytes = 8;
  rig.at(h).access = kRemoteAtomic;
  rig.in.push(Cycle{0}, h);
  bench.run();
  EXPECT_EQ(rig.at(h).segment_count, 0u);
  EXPECT_EQ(rig.at(h).segments[0].bus, BusAddress{Rig::bus(1, 3) + 8});
}

TEST(AddressTranslator, AtomicWriteNeedsTheRightToWriteAndIsNotLookedUpAgain) {  // R3, R6
  Bench bench;
  Rig rig(bench);
  rig.region(1, kRemoteWrite);
  rig.region(2, kRemoteAtomic | kRemoteRead);
  const auto packet = [&](std::uint32_t region, Outcome outcome) {
    const PacketHandle h = rig.packet(Transport::kRc, Operation::kAtomicWrite);
    rig.at(h).outcome = outcome;
    rig.at(h).local_key = Rig::key(region);
    rig.at(h).local_va = Rig::va(region) + 4096 * 3 + 8;
    rig.at(h).local_bytes = 8;
    rig.at(h).access = kRemoteWrite;
    rig.in.push(Cycle{0}, h);
    return h;
  };
  const PacketHandle good = packet(1, Outcome::kExecute), replay = packet(9, Outcome::kReplay),
                     bad = packet(2, Outcome::kExecute);
  bench.run();
  EXPECT_EQ(rig.at(good).outcome, Outcome::kExecute);
  EXPECT_EQ(rig.at(good).segment_count, 0u);
  EXPECT_EQ(rig.at(good).segments[0].bus, BusAddress{Rig::bus(1, 3) + 8});
  EXPECT_EQ(rig.at(replay).outcome, Outcome::kReplay);
  EXPECT_EQ(rig.at(bad).drop_reason, DropReason::kRemoteAccess);
  EXPECT_EQ(rig.at(bad).syndrome, 0x62);
}

TEST(AddressTranslator, BadLkeyIsALocalErrorWithNak63) {  // R4
  Bench bench;
  Rig rig(bench);
  rig.region(1, kRemoteWrite);  // no local write
  const PacketHandle h = rig.send(1, {0});
  rig.at(h).wqe_slot = 5;
  rig.in.push(Cycle{0}, h);
  bench.run();
  EXPECT_EQ(rig.at(h).syndrome, 0x63);
  EXPECT_EQ(rig.at(h).status, WcStatus::kLocalProtection);
  EXPECT_TRUE(rig.at(h).completes);
  EXPECT_EQ(rig.dut.counters().local_errors, 1u);
}

TEST(AddressTranslator, OneBadSegmentOfManyWritesNothing) {  // R4
  Bench bench;
  Rig rig(bench);
  rig.region(1);
  const PacketHandle h = rig.send(1, {0, 1, 2});
  rig.at(h).segments[2].va = Rig::va(1) + 16 * 4096 - 63;  // one byte beyond
  rig.in.push(Cycle{0}, h);
  bench.run();
  EXPECT_EQ(rig.at(h).segment_count, 0u);
  EXPECT_EQ(rig.at(h).outcome, Outcome::kNak);
}

TEST(AddressTranslator, UnmappedPageTableIsAnError) {  // R4
  class NoMtt final : public HostMemory {
   public:
    explicit NoMtt(HostMemory& below) : below_(below) {}
    bool read(BusAddress from, std::span<std::uint8_t> to) override {
      return from < icm::kMtt && below_.read(from, to);
    }
    bool write(BusAddress to, std::span<const std::uint8_t> from) override { return below_.write(to, from); }

   private:
    HostMemory& below_;
  };
  Bench bench;
  auto& host = bench.keep<LocalMemory>();
  NoMtt no_mtt(host);
  auto& shared = bench.keep<NicShared>(PacketPool::Quotas{});
  auto& dut = bench.add<AddressTranslator>("dut", small(), shared);
  auto& in = bench.source(dut.in);
  bench.sink(dut.out);
  bench.memory(dut.dma, dut.dma_done, no_mtt, kLatency);
  MptEntry e;
  e.key = 0x142;
  e.valid = 1;
  e.access = kLocalWrite;
  e.length = 4096;
  e.mtt_base = raw(icm::kMtt);
  host.store(mpt_address(Key{0x142}), e);
  QpContext qp;
  qp.transport = Transport::kRc;
  const PacketHandle h = shared.packets.allocate(PacketClass::kReceive);
  Packet& p = shared.packets[h];
  p.qp = &qp;
  p.outcome = Outcome::kExecute;
  p.h.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
  p.segment_count = 1;
  p.segments[0].key = Key{0x142};
  p.segments[0].va = 0;
  p.segments[0].bytes = 8;
  in.push(Cycle{0}, h);
  bench.run();
  EXPECT_EQ(p.drop_reason, DropReason::kLocalOperation);
}

TEST(AddressTranslator, ResponseThatMayNotBeReadComesBackAsNak) {  // R5
  Bench bench;
  Rig rig(bench);
  rig.region(1, kLocalWrite);
  rig.region(2);
  PacketHandle made[2];
  for (std::uint32_t i = 0; i < 2; ++i) {
    made[i] = rig.send(i + 1, {0, 1});
    rig.at(made[i]).role = PacketRole::kResponse;
    rig.at(made[i]).access = kRemoteRead;
    rig.at(made[i]).qp = nullptr;
    rig.gather_in.push(Cycle{0}, made[i]);
  }
  bench.run();
  EXPECT_EQ(rig.at(made[0]).outcome, Outcome::kNak);
  EXPECT_EQ(rig.at(made[0]).syndrome, 0x62);
  EXPECT_EQ(rig.at(made[0]).segment_count, 0u);
  EXPECT_EQ(rig.at(made[1]).outcome, Outcome::kExecute);
  EXPECT_EQ(rig.at(made[1]).segments[1].bus, BusAddress{Rig::bus(2, 1) + 16});
  EXPECT_EQ(rig.gather_out.values(), (std::vector{made[0], made[1]}));
}

TEST(AddressTranslator, SquashedAndFailedPacketsPass) {  // R6
  Bench bench;
  Rig rig(bench);
  const PacketHandle first = rig.send(1, {0}), second = rig.send(1, {0});
  mark_failed(rig.at(first), DropReason::kInvalidRequest, 0x61, WcStatus::kSuccess);
  squash(rig.at(second));
  rig.in.push(Cycle{9}, first);
  rig.in.push(Cycle{9}, second);
  bench.run();
  EXPECT_EQ(rig.out.cycle(0), Cycle{12});
  EXPECT_EQ(rig.out.cycle(1), Cycle{13});
  EXPECT_EQ(rig.dut.counters().walks, 0u);
}

TEST(AddressTranslator, MissOnOneInputDoesNotHoldUpTheOther) {  // R7
  Bench bench;
  Rig rig(bench);
  rig.region(1);
  rig.region(2);
  const PacketHandle warm = rig.send(2, {0}), hit = rig.send(2, {0});
  rig.at(warm).role = rig.at(hit).role = PacketRole::kResponse;
  rig.gather_in.push(Cycle{0}, warm);
  rig.in.push(Cycle{999}, rig.send(1, {0}));
  rig.gather_in.push(Cycle{999}, hit);
  bench.run();
  EXPECT_EQ(rig.gather_out.cycle(1), Cycle{1002});
  EXPECT_EQ(rig.out.cycle(0), Cycle{1000 + 2 * kWalk + 2});
}

TEST(AddressTranslator, MissesOfWaitingPacketsOverlap) {  // R8
  Bench bench;
  Rig rig(bench);
  for (std::uint32_t n = 1; n <= 8; ++n) {
    rig.region(n);
    rig.in.push(Cycle{9}, rig.send(n, {0}));
  }
  bench.run();
  ASSERT_EQ(rig.out.size(), 8u);
  EXPECT_EQ(rig.dut.counters().walks, 16u);
  EXPECT_LT(rig.out.cycle(7), Cycle{10 + 2 * kWalk + 40});
}

TEST(AddressTranslator, WalksInFlightAreBounded) {  // R8
  AddressTranslatorParams p = small();
  p.walks_in_flight = 1;
  Bench bench;
  Rig rig(bench, p);
  for (std::uint32_t n = 1; n <= 8; ++n) {
    rig.region(n);
    rig.in.push(Cycle{9}, rig.send(n, {0}));
  }
  bench.run();
  ASSERT_EQ(rig.out.size(), 8u);
  EXPECT_GE(rig.out.cycle(7), Cycle{10 + 16 * kWalk});
}

TEST(AddressTranslator, LineIsReadOnceForAllThatWait) {  // R8
  Bench bench;
  Rig rig(bench);
  rig.region(1);
  for (int i = 0; i < 6; ++i) rig.in.push(Cycle{9}, rig.send(1, {0, 1}));
  const PacketHandle response = rig.send(1, {2});
  rig.at(response).role = PacketRole::kResponse;
  rig.gather_in.push(Cycle{9}, response);
  bench.run();
  EXPECT_EQ(rig.dut.counters().walks, 2u);
  EXPECT_EQ(rig.out.size(), 6u);
  EXPECT_EQ(rig.gather_out.size(), 1u);
}

TEST(AddressTranslator, SmallestCachesStillMakeProgress) {
  AddressTranslatorParams p = small();
  p.mpt_sets = p.mpt_ways = p.mtt_sets = p.mtt_ways = 1;
  Bench bench;
  Rig rig(bench, p);
  for (std::uint32_t n = 1; n <= 4; ++n) rig.region(n);
  for (std::uint32_t i = 0; i < 40; ++i) {
    const PacketHandle h = rig.send(1 + i % 4, {0, 8, 0, 8});
    if (i % 2 == 0) {
      rig.in.push(Cycle{0}, h);
    } else {
      rig.at(h).role = PacketRole::kResponse;
      rig.gather_in.push(Cycle{0}, h);
    }
  }
  bench.run(Cycle{1'000'000});
  EXPECT_EQ(rig.out.size(), 20u);
  EXPECT_EQ(rig.gather_out.size(), 20u);
}

TEST(AddressTranslator, InvalidatedRegionIsReadAgain) {  // R9
  for (const bool by_key : {true, false}) {
    Bench bench;
    Rig rig(bench);
    MptEntry e = rig.region(1);
    const PacketHandle before = rig.send(1, {0}), moved = rig.send(1, {0}), gone = rig.send(1, {0});
    rig.in.push(Cycle{0}, before);
    bench.at(Cycle{500}, [&](Cycle) {  // another page
      rig.host.store(BusAddress{e.mtt_base}, std::uint64_t{0xabc000});
      by_key ? rig.dut.invalidate(Rig::key(1)) : rig.dut.invalidate(e);
    });
    rig.in.push(Cycle{1000}, moved);
    bench.at(Cycle{1500}, [&](Cycle) {
      rig.host.store(mpt_address(Rig::key(1)), MptEntry{});
      by_key ? rig.dut.invalidate(Rig::key(1)) : rig.dut.invalidate(e);
    });
    rig.in.push(Cycle{2000}, gone);
    bench.run();
    EXPECT_EQ(rig.at(before).segments[0].bus, BusAddress{Rig::bus(1, 0) + 16});
    EXPECT_EQ(rig.at(moved).segments[0].bus, BusAddress{0xabc010});
    EXPECT_EQ(rig.at(gone).outcome, Outcome::kNak);
  }
}

TEST(AddressTranslator, WalkThatIsInvalidatedOnItsWayIsRepeated) {  // R9
  Bench bench;
  Rig rig(bench);
  rig.region(1);
  const PacketHandle h = rig.send(1, {0});
  rig.in.push(Cycle{0}, h);
  bench.at(Cycle{50}, [&](Cycle) {
    rig.host.store(mpt_address(Rig::key(1)), MptEntry{});
    rig.dut.invalidate(Rig::key(1));
  });
  bench.run();
  EXPECT_EQ(rig.dut.counters().walks, 2u);
  EXPECT_EQ(rig.at(h).outcome, Outcome::kNak);
}

TEST(AddressTranslator, CreatedRegionIsSeenWithoutInvalidate) {
  Bench bench;
  Rig rig(bench);
  const PacketHandle before = rig.send(1, {0}), after = rig.send(1, {0});
  rig.at(after).qp = &rig.uc;
  rig.uc.line = 1;
  rig.in.push(Cycle{0}, before);
  bench.at(Cycle{500}, [&](Cycle) { rig.region(1); });
  rig.in.push(Cycle{1000}, after);
  bench.run();
  EXPECT_EQ(rig.at(before).outcome, Outcome::kNak);
  EXPECT_EQ(rig.at(after).segments[0].bus, BusAddress{Rig::bus(1, 0) + 16});
}

TEST(AddressTranslator, AllModesAgreeOnRandomTraffic) {
  const std::uint64_t seed = test_seed(1);
  for (std::uint64_t round = 0; round < 10; ++round) {
    expect_equal_in_all_modes([&](Bench& bench) {
      std::mt19937_64 random(seed + round);
      AddressTranslatorParams p = small();
      p.mpt_sets = 1u << random() % 3;
      p.mtt_sets = 1u << random() % 4;
      p.walks_in_flight = static_cast<std::uint32_t>(1 + random() % 4);
      p.hit_cycles = static_cast<std::uint32_t>(1 + random() % 4);
      Rig rig(bench, p);
      for (std::uint32_t n = 1; n <= 12; ++n) rig.region(n);
      Cycle when[2] = {};
      for (int i = 0; i < 400; ++i) {
        const std::uint64_t lane = random() % 2;
        const auto n = static_cast<std::uint32_t>(1 + random() % 13);  // 13 does not exist
        const PacketHandle h =
            random() % 3 == 0 ? rig.write(random() % 2 == 0 ? Transport::kRc : Transport::kUc, n, random() % 70000, 512)
                              : rig.send(n, {random() % 16, random() % 17, random() % 16});
        if (random() % 40 != 0) rig.at(h).qp = &rig.uc;
        when[lane] += random() % 8 == 0 ? random() % 400 : random() % 3;
        if (lane == 1) rig.at(h).role = PacketRole::kResponse;
        (lane == 0 ? rig.in : rig.gather_in).push(when[lane], h);
      }
      for (int i = 0; i < 5; ++i) {
        const Key key = Rig::key(static_cast<std::uint32_t>(1 + random() % 12));
        bench.at(Cycle{random() % 5000}, [&rig, key](Cycle) { rig.dut.invalidate(key); });
      }
      rig.out.accept_when([](Cycle c) { return c.count % 64 < 40; });
      bench.run();
      EXPECT_EQ(rig.out.size() + rig.gather_out.size(), 400u);
      StateHash h;
      h.mix(bench.state_hash());
      for (const PacketHandle x : rig.out.values()) h.mix(static_cast<std::uint64_t>(rig.at(x).outcome));
      return h.value();
    });
  }
}

}  // namespace
}  // namespace rxnic
