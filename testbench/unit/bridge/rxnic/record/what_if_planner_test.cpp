// SPDX-License-Identifier: Apache-2.0
// What a plan is made of: counts of outputs, what is known of memory, what each input waits for and brings.
#include "bridge/rxnic/record/what_if_planner.h"

#include <gmock/gmock.h>

#include <map>
#include <numeric>

#include "bridge/rxnic/record/what_if_programs.h"
#include "testbench/unit/bridge/rxnic/record/what_if_parts.h"

namespace rxnic::what_if_planner_test {
namespace {

TEST(DeviceOutputs, ReachedIsTheFirstCycleWithTheCount) {
  DeviceOutputs outputs;
  const std::uint32_t cq = outputs.number_of({OutputKind::kCqes, 0, 1, 7});
  EXPECT_EQ(outputs.number_of({OutputKind::kCqes, 0, 1, 7}), cq);
  EXPECT_NE(outputs.number_of({OutputKind::kCqes, 1, 1, 7}), cq);
  outputs.add(cq, 2, Cycle{10});
  outputs.add(cq, 1, Cycle{10});
  outputs.add(cq, 4, Cycle{20});
  EXPECT_EQ(outputs.reached(cq, 0), Cycle{0});
  EXPECT_EQ(outputs.reached(cq, 3), Cycle{10});
  EXPECT_EQ(outputs.reached(cq, 4), Cycle{20});
  EXPECT_EQ(outputs.reached(cq, 7), Cycle{20});
  EXPECT_EQ(outputs.reached(cq, 8), std::nullopt);
  EXPECT_EQ(outputs.without_counts().count(cq), 0u);
  EXPECT_EQ(outputs.without_counts().number_of({OutputKind::kCqes, 0, 1, 7}), cq);
}

TEST(ProgramImage, KnowsBytesAcrossPagesAndWhenTheyWerePut) {
  ProgramImage image;
  const std::uint8_t data[] = {1, 2, 3, 4};
  image.put(3, 2 * ProgramImage::kPageBytes - 2, data, 5);
  std::uint8_t found[6] = {9, 9, 9, 9, 9, 9};
  EXPECT_EQ(image.get(3, 2 * ProgramImage::kPageBytes - 3, found), 2u);
  EXPECT_THAT(found, testing::ElementsAre(0, 1, 2, 3, 4, 0));
  EXPECT_EQ(image.get(2, 2 * ProgramImage::kPageBytes - 2, found), 6u) << "another space";
  EXPECT_TRUE(image.is_since(3, 2 * ProgramImage::kPageBytes - 2, 4, 5));
  EXPECT_FALSE(image.is_since(3, 2 * ProgramImage::kPageBytes - 2, 4, 6));
  EXPECT_FALSE(image.is_since(3, 2 * ProgramImage::kPageBytes - 3, 4, 5));
  ProgramImage other;
  const auto all = [](std::uint32_t) { return true; };
  EXPECT_EQ(image.differences(other, all), 4u);
  other.put(3, 2 * ProgramImage::kPageBytes - 2, std::span(data, 3), 1);
  EXPECT_EQ(image.differences(other, all), 1u);
  EXPECT_EQ(image.differences(other, [](std::uint32_t space) { return space != 3; }), 0u);
}

TEST_F(WhatIfParts, ADoorbellWaitsForWhatItsProgramHasSeen) {
  open(Cycle{10}, kA);
  open(Cycle{20}, kB);
  planner_->completed(Cycle{30}, kA, kCq, 2);
  planner_->completed(Cycle{40}, kB, kCq, 5);
  ring(Cycle{100}, kA, 1);
  ring(Cycle{110}, kA, 2);
  planner_->notified(Cycle{120}, kA);
  planner_->written(Cycle{125}, kA, kBuffer, letters(7, 'x'), true);
  planner_->written(Cycle{126}, kA, ProgramMemory::kShared + kRing, letters(9, 'x'), true);
  ring(Cycle{130}, kA, 3);
  const WhatIfPlan plan = planner_->finish(Cycle{200});
  ASSERT_EQ(plan.inputs.size(), 6u);
  const auto counts = [&](std::size_t n) {
    std::map<OutputKind, std::uint64_t> found;
    for (const AwaitedCount& a : plan.inputs[n].awaited) found[plan.outputs.source(a.source).kind] += a.count;
    return found;
  };
  using Counts = std::map<OutputKind, std::uint64_t>;
  EXPECT_EQ(counts(2), (Counts{{OutputKind::kCqes, 2}}));
  EXPECT_EQ(plan.inputs[2].replies, 2u);
  EXPECT_EQ(plan.inputs[2].after_output, 70u);
  EXPECT_EQ(plan.inputs[2].after_reply, 80u);
  EXPECT_EQ(counts(3), Counts{}) << "nothing has risen since";
  EXPECT_EQ(plan.inputs[3].after_output, 80u);
  EXPECT_EQ(counts(4), (Counts{{OutputKind::kEvents, 1}, {OutputKind::kData, 7}}));
  EXPECT_EQ(plan.inputs[4].after_output, 5u);
  EXPECT_EQ(counts(5), (Counts{{OutputKind::kCqes, 7}, {OutputKind::kEvents, 1}, {OutputKind::kData, 7}}))
      << "the end waits for all programs";
  EXPECT_EQ(plan.inputs[5].after_output, 75u);
}

TEST_F(WhatIfParts, ClientsOfOneProcessAreOneProgram) {
  open(Cycle{10}, kA, 77);
  open(Cycle{20}, kB, 77);
  planner_->completed(Cycle{30}, kB, kCq, 1);
  ring(Cycle{100}, kA, 1);
  const WhatIfPlan plan = planner_->finish(Cycle{200});
  EXPECT_EQ(plan.programs.size(), 1u);
  EXPECT_EQ(plan.inputs[2].awaited.size(), 1u);
  EXPECT_EQ(space_of(plan.sessions[0], 0, kBuffer), space_of(plan.sessions[1], 1, kBuffer));
  EXPECT_NE(space_of(plan.sessions[0], 0, ProgramMemory::kShared),
            space_of(plan.sessions[1], 1, ProgramMemory::kShared));
}

// Two posts of a slot and of a buffer, and reads that come late: each change belongs to the post that brings it.
TEST_F(WhatIfParts, MemoryChangesWithThePostThatBringsIt) {
  open(Cycle{1}, kA);                        // 1
  make_objects(Cycle{2}, kA);                // 2, 3
  ring(Cycle{10}, kA, 1);                    // 4
  ring(Cycle{11}, kA, 2);                    // 5
  ring(Cycle{12}, kA, 1, Board::kConsumer);  // 6
  planner_->read(kA, slot_address(0), wqe(kBuffer, 100), true);
  planner_->read(kA, kBuffer, letters(100, 'a'), true);
  planner_->read(kA, slot_address(1), wqe(kBuffer + 200, 50), true);
  ring(Cycle{20}, kA, 5);                    // 7: slots 2, 3 and 0 again
  ring(Cycle{21}, kA, 3, Board::kConsumer);  // 8
  planner_->read(kA, kBuffer + 200, letters(50, 'b'), true);
  planner_->read(kA, slot_address(2), wqe(kBuffer + 300, 10), true);
  planner_->read(kA, slot_address(3), wqe(kBuffer, 100), true);
  planner_->read(kA, slot_address(0), wqe(kBuffer + 400, 10), true);
  planner_->read(kA, kBuffer, letters(100, 'c'), true);
  const WhatIfPlan plan = planner_->finish(Cycle{100});
  EXPECT_EQ(changing(plan), (std::vector<std::uint32_t>{4, 5, 7}));
  EXPECT_EQ(plan.unposted_bytes, 0u);
  const auto bytes = [&](std::uint32_t n) {
    return std::accumulate(plan.inputs[n - 1].changes.begin(), plan.inputs[n - 1].changes.end(), std::size_t{0},
                           [](std::size_t sum, const MemoryChange& c) { return sum + c.bytes.size(); });
  };
  EXPECT_EQ(bytes(4), kStride + 100u);
  EXPECT_EQ(bytes(5), kStride + 50u);
  EXPECT_GT(bytes(7), 2 * kStride + 100u) << "two new slots, and what differs in the third";
}

TEST_F(WhatIfParts, WhatTheDeviceWroteIsNoChange) {
  open(Cycle{1}, kA);
  make_objects(Cycle{2}, kA);
  planner_->written(Cycle{5}, kA, kBuffer, letters(100, 'd'), true);
  ring(Cycle{10}, kA, 1);  // 4
  planner_->read(kA, slot_address(0), wqe(kBuffer, 120), true);
  std::vector<std::uint8_t> data = letters(100, 'd');
  data.resize(120, 'e');
  planner_->read(kA, kBuffer, data, true);
  const WhatIfPlan plan = planner_->finish(Cycle{100});
  std::size_t own = 0;
  for (const MemoryChange& c : plan.inputs[3].changes) {
    if (is_own_memory(c.space)) own += c.bytes.size();
  }
  EXPECT_EQ(own, 20u);
}

TEST_F(WhatIfParts, InTheOpenLoopItComesWithThePostThatReadsIt) {
  for (const bool keep_data : {false, true}) {
    planner_.emplace(1, NicAddresses{}, true, keep_data);
    open(Cycle{1}, kA);
    make_objects(Cycle{2}, kA);
    planner_->written(Cycle{5}, kA, kBuffer, letters(100, 'd'), true);
    ring(Cycle{10}, kA, 1);  // 4
    planner_->read(kA, slot_address(0), wqe(kBuffer, 100), true);
    planner_->read(kA, kBuffer, letters(100, 'd'), true);
    const WhatIfPlan plan = planner_->finish(Cycle{100});
    std::size_t own = 0;
    for (const MemoryChange& c : plan.inputs[3].changes) own += is_own_memory(c.space) ? c.bytes.size() : 0;
    EXPECT_EQ(own, keep_data ? 100u : 0u);
  }
}

TEST_F(WhatIfParts, AChangeWithoutAPostIsCounted) {
  open(Cycle{1}, kA);
  make_objects(Cycle{2}, kA);
  ring(Cycle{10}, kA, 9, Board::kArm);  // 4
  planner_->read(kA, kBuffer, letters(30, 'a'), true);
  ring(Cycle{11}, kA, 9, Board::kArm);
  const WhatIfPlan plan = planner_->finish(Cycle{100});
  EXPECT_EQ(plan.unposted_bytes, 30u);
  EXPECT_EQ(changing(plan), std::vector<std::uint32_t>{4});
}

TEST_F(WhatIfParts, AnAccessFailsWhileItFailedInTheRecord) {
  open(Cycle{1}, kA);      // 1
  ring(Cycle{10}, kA, 1);  // 2
  planner_->read(kA, kBuffer, letters(8, 'a'), true);
  ring(Cycle{20}, kA, 2);  // 3
  planner_->read(kA, kBuffer, letters(8, 0), false);
  planner_->written(Cycle{21}, kA, kBuffer + 64, letters(8, 0), false);
  ring(Cycle{30}, kA, 3);  // 4
  ring(Cycle{40}, kA, 4);  // 5
  planner_->read(kA, kBuffer, letters(8, 'a'), true);
  ring(Cycle{50}, kA, 5);  // 6
  const WhatIfPlan plan = planner_->finish(Cycle{100});
  PlannedMemory memory(plan);
  std::uint8_t data[8];
  std::vector<bool> reads, writes;
  for (std::uint32_t n = 1; n <= 6; ++n) {
    memory.begin(n);
    reads.push_back(memory.read(kA, kBuffer + 4, data));
    writes.push_back(memory.write(kA, kBuffer + 64, data));
  }
  EXPECT_EQ(reads, (std::vector<bool>{true, true, false, false, false, true}));
  EXPECT_EQ(writes, (std::vector<bool>{true, true, false, false, false, false}));
}

}  // namespace
}  // namespace rxnic::what_if_planner_test
