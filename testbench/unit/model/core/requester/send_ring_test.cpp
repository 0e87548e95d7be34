// SPDX-License-Identifier: Apache-2.0
// Rules R1..R4 of model/core/requester/send_ring.h.
#include "model/core/requester/send_ring.h"

#include <gtest/gtest.h>

#include "testbench/unit/faulty_memory.h"

namespace rxnic::send_ring_test {
namespace {

constexpr std::uint32_t kSlots = 8, kStride = 128;

class SendRingTest : public testing::Test {
 protected:
  SendRingTest() {
    for (std::uint32_t i = 0; i < kSlots; ++i) memory.store(BusAddress{0x1000 + i * kStride}, i);
  }
  std::uint32_t first_byte(std::uint32_t wqe) {
    const auto slot = ring.slot(wqe, memory);
    EXPECT_EQ(slot.size(), kStride);
    return slot.empty() ? 99 : slot[0];
  }
  FaultyMemory memory;
  SendRing ring{{BusAddress{0x1000}, kSlots, kStride}, 4};
};

TEST_F(SendRingTest, WqesHaveTheCycleOfTheirDoorbell) {  // (R2)
  EXPECT_FALSE(ring.posted());
  ASSERT_TRUE(ring.ring(2, 0, Cycle{90}));
  ASSERT_TRUE(ring.ring(3, 0, Cycle{190}));
  EXPECT_EQ(ring.rung(), Cycle{90});
  ring.take();
  EXPECT_EQ(ring.rung(), Cycle{90});
  ring.take();
  EXPECT_EQ(ring.rung(), Cycle{190});
  EXPECT_EQ(ring.next(), 2u);
  ring.take();
  EXPECT_FALSE(ring.posted());
}

TEST_F(SendRingTest, WqesAreInTheDeviceWhenTheyWereFetched) {  // (R1) (R4)
  ASSERT_TRUE(ring.ring(6, 0, {}));
  EXPECT_FALSE(ring.here());
  EXPECT_EQ(ring.one_read(), 4u) << "at a time";
  ring.fetched(4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(ring.here());
    ring.take();
  }
  EXPECT_FALSE(ring.here());
  EXPECT_EQ(ring.one_read(), 2u) << "posted";
  ASSERT_TRUE(ring.ring(12, 4, {}));
  EXPECT_EQ(ring.one_read(), 4u);
  ring.fetched(4);
  for (int i = 0; i < 2; ++i) ring.take();
  EXPECT_TRUE(ring.here());
  ring.reset();
  EXPECT_FALSE(ring.here());
  ASSERT_TRUE(ring.ring(6, 0, {}));
  ring.fetched(3);
  for (int i = 0; i < 3; ++i) ring.take();
  ASSERT_TRUE(ring.ring(11, 3, {}));
  ring.fetched(4);
  for (int i = 0; i < 4; ++i) ring.take();
  EXPECT_EQ(ring.one_read(), 1u) << "up to the ring's end";
}

TEST_F(SendRingTest, ManyDoorbellsShareTheLast) {  // (R2)
  SendRing wide({BusAddress{0x1000}, 1024, kStride}, 4);
  for (std::uint32_t i = 1; i <= 300; ++i) ASSERT_TRUE(wide.ring(i, 0, Cycle{i}));
  for (std::uint32_t i = 1; i < 256; ++i, wide.take()) ASSERT_EQ(wide.rung(), Cycle{i});
  for (std::uint32_t i = 256; i <= 300; ++i, wide.take()) ASSERT_EQ(wide.rung(), Cycle{300});
  EXPECT_FALSE(wide.posted());
}

TEST_F(SendRingTest, AProducerIndexBeyondTheRingIsRefused) {  // (R3)
  EXPECT_FALSE(ring.ring(kSlots + 1, 0, {}));
  EXPECT_TRUE(ring.ring(kSlots, 0, {}));
  EXPECT_FALSE(ring.ring(kSlots + 1, 0, {}));
  EXPECT_TRUE(ring.ring(kSlots + 1, 1, {})) << "one was finished";
  EXPECT_EQ(ring.producer(), kSlots + 1);
}

TEST_F(SendRingTest, AProducerIndexThatGoesBackIsRefused) {  // (R3)
  ASSERT_TRUE(ring.ring(5, 0, {}));
  EXPECT_FALSE(ring.ring(4, 3, {}));
  EXPECT_FALSE(ring.ring(2, 3, {})) << "before the oldest";
  EXPECT_TRUE(ring.ring(5, 3, {})) << "nothing new";
  EXPECT_EQ(ring.producer(), 5u);
}

TEST_F(SendRingTest, IndicesWrap) {  // (R1) (R3)
  SendRing old = ring;
  for (std::uint32_t i = 1; i <= 20; ++i) {
    ASSERT_TRUE(old.ring(i, i - 1, {}));
    EXPECT_EQ(old.slot(i - 1, memory)[0], (i - 1) % kSlots);
    old.take();
  }
}

TEST_F(SendRingTest, ContiguousPostedSlotsAreReadTogether) {  // (R4)
  ring.ring(6, 0, {});
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(first_byte(i), i);
  EXPECT_EQ(memory.reads.size(), 1u) << "four at a time";
  EXPECT_EQ(first_byte(4), 4u);
  EXPECT_EQ(first_byte(5), 5u);
  EXPECT_EQ(memory.reads.size(), 2u) << "two were posted";
  ring.ring(10, 4, {});
  for (std::uint32_t i = 6; i < 8; ++i) EXPECT_EQ(first_byte(i), i);
  EXPECT_EQ(memory.reads.size(), 3u) << "up to the ring's end";
  EXPECT_EQ(first_byte(8), 0u);
  EXPECT_EQ(memory.reads.size(), 4u);
}

TEST_F(SendRingTest, ASlotIsReadAgainWhenItsNumberIsAnother) {  // (R1)
  ring.ring(1, 0, {});
  EXPECT_EQ(first_byte(0), 0u);
  memory.store(BusAddress{0x1000}, std::uint8_t{77});
  EXPECT_EQ(first_byte(0), 0u) << "as it was read";
  for (std::uint32_t i = 0; i < 8; ++i) ring.take(), ring.ring(i + 2, i + 1, {});
  EXPECT_EQ(first_byte(8), 77u);
}

TEST_F(SendRingTest, MemoryThatIsNotThereGivesNothing) {
  FaultyMemory nowhere;
  nowhere.unmap_all();
  ring.ring(1, 0, {});
  EXPECT_TRUE(ring.slot(0, nowhere).empty());
  EXPECT_EQ(first_byte(0), 0u) << "read again, and there now";
}

TEST_F(SendRingTest, ResetStartsFromZero) {
  ring.ring(5, 0, {});
  ring.take();
  first_byte(0);
  ring.reset();
  EXPECT_FALSE(ring.posted());
  memory.store(BusAddress{0x1000}, std::uint8_t{66});
  ASSERT_TRUE(ring.ring(1, 0, Cycle{4}));
  EXPECT_EQ(ring.rung(), Cycle{4});
  EXPECT_FALSE(ring.here());
  EXPECT_EQ(first_byte(0), 66u);
}

}  // namespace
}  // namespace rxnic::send_ring_test
