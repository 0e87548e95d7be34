// SPDX-License-Identifier: Apache-2.0
// The background refill of the tag matcher's CAM: what it saves, what it costs.
#include <gtest/gtest.h>

#include <iostream>

#include "testbench/unit/model/blocks/tag_match_cam_fixture.h"

namespace rxnic::tag_match_cam_refill_test {
namespace {

using namespace tag_match_cam_test;

struct InOrder {
  std::uint64_t walks = 0;
  std::uint64_t matches = 0;
  double cycles_per_message = 0;
};

// A receiver that keeps `kept` tags posted and appends each again 20 cycles after its match. Its sender has `window`
// messages in flight, whose tags count up modulo `kept`.
InOrder in_order(std::uint32_t kept, std::uint32_t entries, std::uint32_t window, std::uint32_t messages,
                 std::uint64_t latency) {
  TagMatchCamParams params = defaults();
  params.entries = entries;
  params.max_tags = 1024;
  Bench bench;
  Fixture fixture(bench, params);
  fixture.memory.set_latency(latency);
  for (std::uint32_t i = 0; i < kept; ++i) fixture.add(Cycle{1}, i, i);
  std::uint32_t sent = 0;
  const auto send = [&](Cycle when) {
    if (sent < messages) fixture.send(when, sent % kept);
    ++sent;
  };
  constexpr Cycle kStart{10'000};
  Cycle last = kStart;
  fixture.out.on_value([&](Cycle now, const WqeRequest& p) {
    fixture.shared.packets.release(p.buffer);
    last = now;
    send(now + 1);
    if (p.tag_verdict == TagVerdict::kMatched) fixture.add(now + 20, p.wqe_index, p.tag);
  });
  for (std::uint32_t i = 0; i < window; ++i) send(kStart);
  bench.run();
  const TagMatchCamCounters& c = fixture.dut.counters();
  InOrder result{c.walks, c.matches, static_cast<double>(last.count - kStart.count) / messages};
  std::cout << kept << " tags on " << entries << " entries, " << messages << " messages in order, " << window
            << " in flight: " << result.walks << " walks, " << c.refill_waits << " waits, " << c.refill_reads
            << " reads of " << c.promotions << " entries, " << result.cycles_per_message << " cycles a message\n";
  return result;
}

TEST(TagMatchCamRefill, MessagesInOrderHardlyEverWalkMemory) {
  const InOrder one_too_many = in_order(17, 16, 1, 400, 178);
  EXPECT_EQ(one_too_many.matches, 400u);
  EXPECT_LE(one_too_many.walks, 4u);
  const InOrder big = in_order(300, 256, 32, 4000, 178);
  EXPECT_EQ(big.matches, 4000u);
  EXPECT_LE(big.walks, 40u);
  EXPECT_LE(big.cycles_per_message, 8.0);
}

// Three matches make room for three: the reads of one entry each are in flight together, the third waits for the first.
TEST(TagMatchCamRefill, SoManyReadsAreInFlight) {  // R6
  TagMatchCamParams params = defaults();
  params.refill_reads = 2;
  Bench bench;
  Fixture fixture(bench, params);
  for (std::uint32_t i = 0; i < 12; ++i) fixture.add(Cycle{1}, i, i);
  for (std::uint64_t i = 0; i < 3; ++i) fixture.send(Cycle{99 + i}, i);
  bench.run();
  const auto reads = fixture.requests(DmaKind::kRead);
  ASSERT_EQ(reads.size(), 3u);
  EXPECT_EQ(reads[1].taken, reads[0].taken + 1);
  EXPECT_EQ(reads[2].taken, reads[0].taken + kReadLatency + 2 + 1);  // its entry has been looked at
  EXPECT_EQ(fixture.list().in_cam(), 8u);
  EXPECT_EQ(fixture.dut.counters().promotions, 3u);
  EXPECT_EQ(fixture.dut.counters().refill_reads, 3u);
}

// Refill costs the CAM as much as an append: nothing is taken while an entry moves in.
TEST(TagMatchCamRefill, AnEntryThatMovesInOccupiesTheCam) {  // R3
  TagMatchCamParams params = defaults();
  params.append_cycles = 20;
  Bench bench;
  Fixture fixture(bench, params);
  for (std::uint32_t i = 0; i < 9; ++i) fixture.add(Cycle{1}, i, i);
  fixture.send(Cycle{499}, 0);  // taken in cycle 500, read in 501, landed in 501 + latency + 2
  const std::uint64_t landed = 501 + kReadLatency + 2;
  fixture.send(Cycle{landed + 1}, 1);
  bench.run();
  EXPECT_EQ(fixture.dut.counters().promotions, 1u);
  EXPECT_EQ(fixture.out.cycle(1), Cycle{landed + 1 + 20 + 4});
}

// Each list in turn, and all of them together never hold more than the CAM.
TEST(TagMatchCamRefill, ListsAreRefilledInTurn) {  // R5, R6
  TagMatchCamParams params = defaults();
  params.refill_reads = 1;
  params.overflow_entries_per_read = 1;
  Bench bench;
  Fixture fixture(bench, params);
  fixture.dut.create(WqId{0}, {});
  for (std::uint32_t i = 0; i < 12; ++i) fixture.add(Cycle{1}, i, i);
  for (std::uint32_t i = 0; i < 4; ++i) {
    TagOperation op = fixture.operation(TagOpcode::kAdd, i, i);
    op.srq = WqId{0};
    fixture.operations.push(Cycle{50}, op);
  }
  for (std::uint64_t i = 0; i < 4; ++i) fixture.send(Cycle{199}, i);
  bench.run();
  EXPECT_EQ(fixture.list().in_cam(), 6u);
  EXPECT_EQ(fixture.model.list(WqId{0})->in_cam(), 2u);
  EXPECT_EQ(fixture.model.entries_used(), 8u);
}

// An operation has waited for a returned match, with packets behind it. Then it only lacks room for its write to the
// overflow: packets pass it from the next cycle on, although nothing else happens then.
TEST(TagMatchCamRefill, PacketsPassAnOperationThatWaitsForNothingButItsWrite) {
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t i = 0; i < 8; ++i) fixture.add(Cycle{1}, i, 10 + i);  // the CAM is full
  fixture.send(Cycle{100}, 10);
  fixture.add(Cycle{110}, 8, 18);
  fixture.memory.accept_when([](Cycle c) { return c.count == 400 || c.count > 1000; });
  for (std::uint32_t i = 9; i < 17; ++i) fixture.add(Cycle{200}, i, 10 + i);  // the link of requests is full
  fixture.returned.push(Cycle{300}, {kSrq, 0});                               // goes in front of them in cycle 401
  fixture.add(Cycle{310}, 17, 27);
  fixture.send(Cycle{320}, 11);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.out.cycle(1), Cycle{407}) << "taken in 403; the operation was looked at in 402";
  EXPECT_EQ(fixture.at(1).wqe_index, 1u);
  EXPECT_EQ(fixture.dut.counters().overflow_appends, 9u);
}

}  // namespace
}  // namespace rxnic::tag_match_cam_refill_test
