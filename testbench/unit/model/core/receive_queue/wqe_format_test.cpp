// SPDX-License-Identifier: Apache-2.0
#include "model/core/receive_queue/wqe_format.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

namespace rxnic::wqe_format_test {
namespace {

std::vector<DataSegment> segments(std::initializer_list<std::uint32_t> lengths) {
  std::vector<DataSegment> sges;
  for (const std::uint32_t n : lengths) {
    sges.push_back({n, 0x1234, 0x1000 * (sges.size() + 1)});
  }
  return sges;
}

class WqeFormat : public testing::TestWithParam<WqLayout> {};
INSTANTIATE_TEST_SUITE_P(Layouts, WqeFormat, testing::Values(WqLayout::kCyclic, WqLayout::kLinkedList));

TEST_P(WqeFormat, WhatIsWrittenIsParsed) {
  std::vector<std::uint8_t> slot(64, 0xee);
  ASSERT_TRUE(write_wqe(slot, GetParam(), 77, segments({100, 200})));
  ReceiveWqe wqe;
  ASSERT_TRUE(parse_wqe(slot, GetParam(), 5, wqe));
  EXPECT_EQ(wqe.wqe_index, 5u);
  ASSERT_EQ(wqe.sge_count, 2u);
  EXPECT_EQ(wqe.total_bytes, 300u);
  EXPECT_EQ(wqe.sge[0].length, 100u);
  EXPECT_EQ(wqe.sge[1].address, 0x2000u);
  EXPECT_EQ(wqe.sge[1].lkey, 0x1234u);
}

TEST_P(WqeFormat, AFullSlotNeedsNoEnd) {  // R2
  const std::uint32_t fit = sges_per_slot(GetParam(), 64);
  std::vector<std::uint8_t> slot(64);
  ASSERT_TRUE(write_wqe(slot, GetParam(), 0, std::vector<DataSegment>(fit, DataSegment{10, 1, 0})));
  ReceiveWqe wqe;
  ASSERT_TRUE(parse_wqe(slot, GetParam(), 0, wqe));
  EXPECT_EQ(wqe.sge_count, fit);
  EXPECT_FALSE(write_wqe(slot, GetParam(), 0, std::vector<DataSegment>(fit + 1, DataSegment{10, 1, 0})));
}

TEST_P(WqeFormat, NothingAfterTheInvalidKeyIsUsed) {  // R2
  std::vector<std::uint8_t> slot(128);
  auto sges = segments({10, 20, 30});
  sges[1].lkey = raw(kInvalidKey);
  ASSERT_TRUE(write_wqe(slot, GetParam(), 0, sges));
  ReceiveWqe wqe;
  ASSERT_TRUE(parse_wqe(slot, GetParam(), 0, wqe));
  EXPECT_EQ(wqe.total_bytes, 10u);
}

TEST_P(WqeFormat, EmptySegmentsArePassedOverWhateverTheirKey) {  // R3
  std::vector<std::uint8_t> slot(128);
  auto sges = segments({0, 20, 0});
  sges[0].lkey = 0;
  ASSERT_TRUE(write_wqe(slot, GetParam(), 0, sges));
  ReceiveWqe wqe;
  ASSERT_TRUE(parse_wqe(slot, GetParam(), 0, wqe));
  EXPECT_EQ(wqe.sge_count, 1u);
  EXPECT_EQ(wqe.sge[0].address, 0x2000u);
}

TEST_P(WqeFormat, AnEmptyListIsAGoodWqeOfNoBytes) {
  std::vector<std::uint8_t> slot(32, 0xee);
  ASSERT_TRUE(write_wqe(slot, GetParam(), 0, {}));
  ReceiveWqe wqe;
  EXPECT_TRUE(parse_wqe(slot, GetParam(), 0, wqe));
  EXPECT_EQ(wqe.total_bytes, 0u);
}

TEST_P(WqeFormat, AKeyOfZeroIsBad) {  // R4
  std::vector<std::uint8_t> slot(64);
  auto sges = segments({10, 20});
  sges[1].lkey = 0;
  ASSERT_TRUE(write_wqe(slot, GetParam(), 0, sges));
  ReceiveWqe wqe;
  EXPECT_FALSE(parse_wqe(slot, GetParam(), 9, wqe));
  EXPECT_FALSE(wqe.valid);
  EXPECT_EQ(wqe.wqe_index, 9u);
}

TEST_P(WqeFormat, MoreThanTwoGibibytesAreBad) {  // R4
  std::vector<std::uint8_t> slot(64);
  ReceiveWqe wqe;
  ASSERT_TRUE(write_wqe(slot, GetParam(), 0, segments({0x7fffffff, 1})));
  EXPECT_TRUE(parse_wqe(slot, GetParam(), 0, wqe));
  ASSERT_TRUE(write_wqe(slot, GetParam(), 0, segments({0x7fffffff, 2})));
  EXPECT_FALSE(parse_wqe(slot, GetParam(), 0, wqe));
  ASSERT_TRUE(write_wqe(slot, GetParam(), 0, segments({0xffffffff, 0xffffffff})));
  EXPECT_FALSE(parse_wqe(slot, GetParam(), 0, wqe));
}

TEST_P(WqeFormat, MoreSegmentsThanTheDeviceTakesAreBad) {  // R4
  std::vector<std::uint8_t> slot(1024);
  ReceiveWqe wqe;
  ASSERT_TRUE(write_wqe(slot, GetParam(), 0, std::vector<DataSegment>(kMaxSge, DataSegment{1, 1, 0})));
  EXPECT_TRUE(parse_wqe(slot, GetParam(), 0, wqe));
  for (std::size_t at = wqe_header_bytes(GetParam()); at + 16 <= slot.size(); at += 16) slot[at] = slot[at + 4] = 1;
  for (std::size_t at = wqe_header_bytes(GetParam()); at + 16 <= slot.size(); at += 16) slot[at + 5] = 0;
  EXPECT_FALSE(parse_wqe(slot, GetParam(), 0, wqe));
  EXPECT_EQ(wqe.sge_count, kMaxSge);
}

TEST(WqeFormatNext, AnIndexOutsideTheQueueIsTakenModuloItsSlots) {  // R5
  std::vector<std::uint8_t> slot(32);
  ASSERT_TRUE(write_wqe(slot, WqLayout::kLinkedList, 13, {}));
  EXPECT_EQ(next_wqe_index(slot, 16), 13u);
  EXPECT_EQ(next_wqe_index(slot, 8), 5u);
}

TEST(WqeFormatSizes, StridesArePowersOfTwoThatHoldTheSegments) {
  EXPECT_EQ(stride_for(WqLayout::kCyclic, 1), 32u);
  EXPECT_EQ(stride_for(WqLayout::kCyclic, 3), 64u);
  EXPECT_EQ(stride_for(WqLayout::kLinkedList, 1), 32u);
  EXPECT_EQ(stride_for(WqLayout::kLinkedList, 3), 64u);
  EXPECT_EQ(stride_for(WqLayout::kLinkedList, 4), 128u);
}

TEST(WqeFormatFuzz, RandomBytesNeverGiveMoreThanTheDeviceTakes) {
  const char* text = std::getenv("RXNIC_SEED");
  const std::uint64_t seed = text == nullptr ? 1 : std::strtoull(text, nullptr, 0);
  std::cout << "RXNIC_SEED=" << seed << '\n';
  std::mt19937_64 random(seed);
  std::vector<std::uint8_t> slot(1024);
  std::size_t good = 0;
  for (int i = 0; i < 20000; ++i) {
    for (auto& byte : slot) byte = static_cast<std::uint8_t>(random() % 3 == 0 ? random() : 0);
    const std::size_t stride = std::size_t{32} << random() % 6;
    ReceiveWqe wqe;
    good += parse_wqe({slot.data(), stride}, i % 2 ? WqLayout::kCyclic : WqLayout::kLinkedList, 0, wqe);
    ASSERT_LE(wqe.sge_count, kMaxSge);
    if (wqe.valid) {
      ASSERT_LE(wqe.total_bytes, kMaxMessageBytes);
    }
  }
  EXPECT_GT(good, 0u);
}

}  // namespace
}  // namespace rxnic::wqe_format_test
