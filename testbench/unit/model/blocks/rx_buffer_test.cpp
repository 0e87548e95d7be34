// SPDX-License-Identifier: Apache-2.0
#include "model/blocks/rx_buffer.h"

#include <gtest/gtest.h>

#include <random>

#include "model/nic/nic_shared.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic::rx_buffer_test {
namespace {

constexpr std::uint32_t kSmallest = 16384;  // bytes, the least that rx_buffer_bytes may be

struct Fixture {
  Fixture(Bench& bench, RxFullPolicy policy, std::uint32_t out_capacity = 8)
      : shared(bench.keep<NicShared>(PacketPool::Quotas{.receive = PacketPool::kNoLimit, .response = 1})),
        dut(bench.add<RxBuffer>("dut", WireParams{.rx_buffer_bytes = kSmallest, .rx_full = policy}, shared.ledger)),
        in(bench.source(dut.in, 64)),
        out(bench.sink(dut.out, out_capacity)) {}
  WireFrame frame(std::uint32_t bytes) {
    const PacketHandle h = shared.packets.allocate(PacketClass::kReceive);
    shared.packets[h].id = next_id++;
    return {h, static_cast<std::uint16_t>(bytes), LinkLayer::kEthernet, false, false};
  }
  std::uint64_t id(std::size_t n) { return shared.packets[out.value(n).buffer].id; }
  std::uint64_t dropped() const {
    return shared.ledger.counters().dropped[static_cast<std::size_t>(DropReason::kRxBufferFull)];
  }
  NicShared& shared;
  RxBuffer& dut;
  Source<WireFrame>& in;
  Sink<WireFrame>& out;
  std::uint64_t next_id = 0;
};

TEST(RxBuffer, APacketLeavesOneCycleAfterItCameNotBefore) {  // (R1)
  Bench bench;
  Fixture fixture(bench, RxFullPolicy::kPause);
  fixture.in.push(Cycle{9}, fixture.frame(64));  // comes in cycle 10
  bench.run_to(Cycle{11});
  EXPECT_EQ(fixture.out.size(), 0u);  // the sink sees in 12 the packet that left in 11
  bench.run();
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{11});
}

TEST(RxBuffer, OneLeavesACycleInOrder) {  // (R1)
  Bench bench;
  Fixture fixture(bench, RxFullPolicy::kPause);
  for (int i = 0; i < 20; ++i) fixture.in.push(Cycle{9}, fixture.frame(64));
  bench.run();
  ASSERT_EQ(fixture.out.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(fixture.out.cycle(i), Cycle{11 + i});
    EXPECT_EQ(fixture.id(i), i);
  }
  EXPECT_EQ(fixture.dut.counters().packets, 20u);
  EXPECT_EQ(fixture.dut.counters().high_water_bytes, 20u * 64);
}

TEST(RxBuffer, WhatDoesNotFitIsDroppedAndCounted) {  // (R2)
  Bench bench;
  Fixture fixture(bench, RxFullPolicy::kDrop, 1);
  fixture.out.stall(Cycle{0}, Cycle{100});
  for (int i = 0; i < 6; ++i) fixture.in.push(Cycle{9 + 2ull * i}, fixture.frame(4096));
  bench.run();
  // The first has gone on into the link; four are in the buffer; one was dropped because there was no room.
  EXPECT_EQ(fixture.dropped(), 1u);
  EXPECT_EQ(fixture.dut.counters().dropped, 1u);
  EXPECT_EQ(fixture.shared.ledger.counters().seen, 1u) << "the dropped packet: the parser counts the others";
  EXPECT_EQ(fixture.out.size(), 5u);
  EXPECT_EQ(fixture.dut.counters().high_water_bytes, kSmallest);
  EXPECT_EQ(fixture.shared.packets.in_use(), 5u) << "the dropped packet's buffer is free again";
}

TEST(RxBuffer, TheLastByteThatFitsIsTaken) {  // (R2)
  for (const std::uint32_t last : {64u, 65u}) {
    Bench bench;
    Fixture fixture(bench, RxFullPolicy::kDrop, 1);
    fixture.out.stall(Cycle{0}, Cycle{100});
    fixture.in.push(Cycle{5}, fixture.frame(64));  // fills the link behind
    for (int i = 0; i < 4; ++i) fixture.in.push(Cycle{10}, fixture.frame(4080));
    fixture.in.push(Cycle{20}, fixture.frame(last));
    bench.run();
    EXPECT_EQ(fixture.dropped(), last == 64 ? 0u : 1u);
  }
}

TEST(RxBuffer, BytesAloneDecideWhatFits) {  // (R2)
  for (const std::uint32_t bytes : {1u, 16u, 64u}) {
    Bench bench;
    Fixture fixture(bench, RxFullPolicy::kDrop, 1);
    fixture.out.stall(Cycle{0}, Cycle{40'000});
    const std::uint32_t fit = kSmallest / bytes;
    for (std::uint32_t i = 0; i < fit + 2; ++i)
      fixture.in.push(Cycle{9}, fixture.frame(bytes));  // one is in the link behind
    bench.run();
    EXPECT_EQ(fixture.dropped(), 1u) << bytes << " bytes";
    EXPECT_EQ(fixture.dut.counters().high_water_bytes, kSmallest);
  }
}

TEST(RxBuffer, WithPauseItWaitsOnTheWire) {  // (R2)
  Bench bench;
  Fixture fixture(bench, RxFullPolicy::kPause, 1);
  fixture.out.stall(Cycle{0}, Cycle{100});
  for (int i = 0; i < 50; ++i) fixture.in.push(Cycle{9}, fixture.frame(4096));
  bench.run_to(Cycle{99});
  EXPECT_EQ(fixture.dut.counters().packets, 5u);
  EXPECT_EQ(fixture.dut.activity(), Activity::kBlocked);
  bench.run();
  EXPECT_EQ(fixture.dropped(), 0u);
  ASSERT_EQ(fixture.out.size(), 50u);
  for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(fixture.id(i), i);
  EXPECT_LE(fixture.dut.counters().high_water_bytes, kSmallest);
}

TEST(RxBuffer, EveryCycleIsAccountedFor) {
  Bench bench;
  Fixture fixture(bench, RxFullPolicy::kPause);
  for (int i = 0; i < 3; ++i) fixture.in.push(Cycle{9}, fixture.frame(64));
  bench.run();
  bench.engine().settle();
  const CycleAccount& a = fixture.dut.account();
  EXPECT_EQ(a[static_cast<std::size_t>(Activity::kBusy)], 4u) << "10 to 13: three came, one left in each of 11, 12, 13";
  EXPECT_EQ(a[static_cast<std::size_t>(Activity::kStarved)], bench.engine().now().count + 1 - 4);
}

// `open`: of three times 64 cycles, how many let packets leave. With one the buffer is mostly full, with three empty.
TEST(RxBuffer, ModesAgree) {
  const std::uint64_t seed = test_seed(3);
  for (const RxFullPolicy policy : {RxFullPolicy::kPause, RxFullPolicy::kDrop}) {
    for (const std::uint64_t open : {1u, 2u, 3u}) {
      expect_equal_in_all_modes([seed, policy, open](Bench& bench) {
        std::mt19937_64 random(seed);
        Fixture fixture(bench, policy, 2);
        fixture.out.accept_when([open](Cycle now) { return now.count / 64 % 3 < open; });
        Cycle at{0};
        for (int i = 0; i < 500; ++i) {
          at += random() % 8 == 0 ? random() % 300 : random() % 2;
          const bool empty = random() % 16 == 0;
          fixture.in.push(at, fixture.frame(empty ? 0 : 64 + static_cast<std::uint32_t>(random() % 4000)));
        }
        bench.run();
        EXPECT_EQ(fixture.out.size() + fixture.dropped(), 500u);
        EXPECT_EQ(fixture.dropped() > 0, policy == RxFullPolicy::kDrop) << open;
        return bench.state_hash();
      });
    }
  }
}

}  // namespace
}  // namespace rxnic::rx_buffer_test
