// SPDX-License-Identifier: Apache-2.0
// Rules R1..R5 of model/core/requester/payload_locator.h.
#include "model/core/requester/payload_locator.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "testbench/unit/send_wqes.h"

namespace rxnic::payload_locator_test {
namespace {

constexpr Key kKey{0x4200};
constexpr Pdn kPd{7};
constexpr std::uint64_t kVa = 0x10f00;

// Pages of the region: 0x10, 0x11 follow each other in bus addresses, 0x12 is elsewhere.
class PayloadLocatorTest : public testing::Test {
 protected:
  PayloadLocatorTest() {
    const std::uint64_t pages[] = {0x80000, 0x81000, 0x50000};
    put_region(memory, kKey, kPd, kLocalWrite, kVa, 0x2000, pages, 0x900000);
    for (std::uint32_t i = 0; i < 0x2000; ++i) {
      const std::uint64_t va = kVa + i;
      memory.store(BusAddress{pages[(va >> 12) - 0x10] + (va & 0xfff)}, static_cast<std::uint8_t>(i * 7));
    }
  }
  // The n-th byte of the region from `va` on.
  static std::uint8_t at(std::uint64_t va) { return static_cast<std::uint8_t>((va - kVa) * 7); }
  bool check(DataSegment s, Pdn pd = kPd, std::uint8_t access = 0) {
    bool on_demand = false;
    const bool good = locator.check(std::span<const DataSegment>(&s, 1), pd, access, on_demand);
    EXPECT_FALSE(on_demand);
    return good;
  }
  std::size_t pieces_of(std::span<const DataSegment> segments, std::uint64_t offset, std::uint32_t bytes) {
    std::vector<MemoryPiece> pieces;
    EXPECT_TRUE(locator.locate(segments, kPd, offset, bytes, pieces));
    return pieces.size();
  }
  std::vector<std::uint8_t> read(std::span<const DataSegment> segments, std::uint64_t offset, std::size_t bytes) {
    std::vector<MemoryPiece> pieces;
    EXPECT_TRUE(locator.locate(segments, kPd, offset, static_cast<std::uint32_t>(bytes), pieces));
    std::vector<std::uint8_t> all;
    for (const MemoryPiece& p : pieces) {
      std::vector<std::uint8_t> part(p.bytes);
      EXPECT_TRUE(memory.read(p.address, part));
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
  LocalMemory memory;
  PayloadLocator locator{memory};
};

TEST_F(PayloadLocatorTest, ASegmentMustBeWithinARegionOfThePd) {  // (R1)
  EXPECT_TRUE(check({0x2000, raw(kKey), kVa}));
  EXPECT_FALSE(check({0x2001, raw(kKey), kVa}));
  EXPECT_FALSE(check({1, raw(kKey), kVa - 1}));
  EXPECT_FALSE(check({1, raw(kKey) + 1, kVa}));
  EXPECT_FALSE(check({1, raw(kKey), kVa}, Pdn{8}));
  EXPECT_TRUE(check({1, raw(kKey), kVa}, kPd, kLocalWrite));
  EXPECT_FALSE(check({1, raw(kKey), kVa}, kPd, kRemoteRead));
  const DataSegment both[] = {{1, raw(kKey), kVa}, {1, 0x4300, kVa}};
  bool on_demand = false;
  EXPECT_FALSE(locator.check(both, kPd, 0, on_demand));
}

TEST_F(PayloadLocatorTest, PagesAreLookedForUpToTheEndOfTheAddresses) {
  constexpr Key kLast{0x4300};
  constexpr std::uint64_t kBegin = ~std::uint64_t{0x1fff};
  std::uint64_t pages[] = {0x80000, 0x81000};
  put_region(memory, kLast, kPd, kLocalWrite, kBegin, 0x2000, pages, 0xa00000);
  auto region = memory.load<MptEntry>(mpt_address(kLast));
  region.on_demand = 1;
  memory.store(mpt_address(kLast), region);
  const DataSegment all[] = {{0x2000, raw(kLast), kBegin}};
  EXPECT_FALSE(locator.missing(all, kPd, 0, 0x2000));
  memory.store(BusAddress{0xa00008}, kAbsentPage);
  const auto page = locator.missing(all, kPd, 0, 0x2000);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->va, kBegin + 0x1000);
  EXPECT_FALSE(locator.missing(all, kPd, 0, 0x1000));
}

TEST_F(PayloadLocatorTest, BytesAreThoseOfTheSegmentsInOrder) {
  const DataSegment segments[] = {{100, raw(kKey), kVa + 0x50}, {0x1f00, raw(kKey), kVa + 0x100}, {3, raw(kKey), kVa}};
  std::vector<std::uint8_t> expected;
  for (const DataSegment& s : segments) {
    for (std::uint32_t i = 0; i < s.length; ++i) expected.push_back(at(s.address + i));
  }
  for (const std::size_t from :
       {std::size_t{0}, std::size_t{1}, std::size_t{99}, std::size_t{100}, std::size_t{5000}, expected.size() - 1}) {
    for (const std::size_t most : {std::size_t{1000}, expected.size()}) {
      const std::size_t bytes = std::min(most, expected.size() - from);
      EXPECT_EQ(read(segments, from, bytes),
                std::vector<std::uint8_t>(expected.begin() + static_cast<std::ptrdiff_t>(from),
                                          expected.begin() + static_cast<std::ptrdiff_t>(from + bytes)))
          << from;
    }
  }
  std::vector<MemoryPiece> pieces(1);
  EXPECT_FALSE(locator.locate(segments, kPd, 0, static_cast<std::uint32_t>(expected.size() + 1), pieces));
  EXPECT_EQ(pieces.size(), 1u) << "as it was";
}

TEST_F(PayloadLocatorTest, ContiguousPagesAreOnePiece) {  // (R2)
  const DataSegment whole{0x2000, raw(kKey), kVa};
  EXPECT_EQ(pieces_of({&whole, 1}, 0x80, 0x1000), 1u) << "pages 0x10 and 0x11";
  EXPECT_EQ(pieces_of({&whole, 1}, 0, 0x2000), 2u) << "and the third";
  const DataSegment next_to_each_other[] = {{0x80, raw(kKey), kVa}, {0x80, raw(kKey), kVa + 0x80}};
  EXPECT_EQ(pieces_of(next_to_each_other, 0, 0x100), 2u) << "a read for each segment";
}

TEST_F(PayloadLocatorTest, LongPageListsAreReadInParts) {
  constexpr std::uint64_t kPages = 200;
  std::vector<std::uint64_t> pages(kPages);
  for (std::uint64_t i = 0; i < kPages; ++i) pages[i] = 0x1000000 + (i ^ 1) * 0x1000;  // none is behind the one before
  put_region(memory, Key{0x5500}, kPd, 0, 0, kPages << 12, pages, 0xa00000);
  const DataSegment all{kPages << 12, 0x5500, 0};
  std::vector<MemoryPiece> pieces;
  ASSERT_TRUE(locator.locate({&all, 1}, kPd, 0, kPages << 12, pieces));
  ASSERT_EQ(pieces.size(), kPages);
  for (std::uint64_t i = 0; i < kPages; ++i) {
    ASSERT_EQ(raw(pieces[i].address), pages[i]);
    ASSERT_EQ(pieces[i].bytes, 4096u);
  }
}

TEST_F(PayloadLocatorTest, ARegionThatIsGoneIsNowhere) {  // (R3)
  const DataSegment whole{0x2000, raw(kKey), kVa};
  ASSERT_TRUE(check(whole));
  memory.store(mpt_address(kKey), MptEntry{});
  std::vector<MemoryPiece> pieces;
  EXPECT_FALSE(locator.locate({&whole, 1}, kPd, 0, 10, pieces));
}

TEST_F(PayloadLocatorTest, TheFirstAbsentPageOfASegmentIsTheMissingOne) {  // (R4)
  auto region = memory.load<MptEntry>(mpt_address(kKey));
  region.on_demand = 1;
  memory.store(mpt_address(kKey), region);
  const DataSegment segments[] = {{0x40, raw(kKey), kVa}, {0x1f00, raw(kKey), kVa + 0x100}};
  bool on_demand = false;
  EXPECT_TRUE(locator.check(segments, kPd, 0, on_demand));
  EXPECT_TRUE(on_demand);
  EXPECT_FALSE(locator.missing(segments, kPd, 0, 0x1f40)) << "all are there";
  memory.store(BusAddress{region.mtt_base + 16}, kAbsentPage);
  EXPECT_FALSE(locator.missing(segments, kPd, 0, 0x40 + 0x1000)) << "up to the last byte of the page before";
  const auto page = locator.missing(segments, kPd, 0, 0x40 + 0x1001);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->key, kKey);
  EXPECT_EQ(page->va, 0x12000u);
  std::vector<MemoryPiece> pieces;
  EXPECT_FALSE(locator.locate(segments, kPd, 0, 0x40 + 0x1001, pieces)) << "it is nowhere";
  EXPECT_TRUE(pieces.empty());
  EXPECT_TRUE(locator.locate(segments, kPd, 0, 0x40 + 0x1000, pieces));
}

TEST_F(PayloadLocatorTest, PagesOfATree) {  // (R4)
  MptEntry region = memory.load<MptEntry>(mpt_address(kKey));
  region.on_demand = 1;
  region.levels = 2;  // 1 GiB
  region.va = 0;
  region.length = 1u << 30;
  region.mtt_base = 0xa00000;
  memory.store(mpt_address(kKey), region);
  for (std::uint64_t n = 0; n < kTableEntries; ++n) {
    memory.store(BusAddress{0xa00000 + 8 * n}, n == 5 ? std::uint64_t{0xa01000} : kAbsentPage);
    memory.store(BusAddress{0xa01000 + 8 * n}, n == 7 || n == 8 ? 0x80000 + 0x1000 * (n - 7) : kAbsentPage);
  }
  constexpr std::uint64_t kPage = (5u << 21) + (7u << 12);
  const DataSegment segments[] = {{0x3000, raw(kKey), kPage + 0xff0}};
  std::vector<MemoryPiece> pieces;
  ASSERT_TRUE(locator.locate(segments, kPd, 0, 0x1010, pieces));
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].address, BusAddress{0x80ff0});
  EXPECT_EQ(pieces[0].bytes, 0x1010u);
  EXPECT_EQ(locator.missing(segments, kPd, 0, 0x1011)->va, kPage + 0x2000);
  const DataSegment elsewhere[] = {{0x10, raw(kKey), 6u << 21}};
  EXPECT_EQ(locator.missing(elsewhere, kPd, 0, 1)->va, 6u << 21) << "the table is absent";
  EXPECT_FALSE(locator.locate(elsewhere, kPd, 0, 1, pieces));
}

TEST_F(PayloadLocatorTest, ANullRegionHasNoPieces) {  // (R6)
  constexpr Key kNull{0x6600};
  put_region(memory, kNull, kPd, kLocalWrite, 0, ~std::uint64_t{0}, {}, 0);
  auto region = memory.load<MptEntry>(mpt_address(kNull));
  region.kind = MemoryKind::kNull;
  memory.store(mpt_address(kNull), region);
  EXPECT_TRUE(check({100, raw(kNull), 0x123456789}));
  const DataSegment segments[] = {{30, raw(kNull), 7}, {40, raw(kKey), kVa}, {50, raw(kNull), 0}, {60, raw(kKey), kVa}};
  std::vector<MemoryPiece> pieces;
  ASSERT_TRUE(locator.locate(segments, kPd, 10, 160, pieces));
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].at, 20u);
  EXPECT_EQ(pieces[0].bytes, 40u);
  EXPECT_EQ(pieces[1].at, 110u);
  EXPECT_EQ(pieces[1].bytes, 50u);
  pieces.clear();
  ASSERT_TRUE(locator.locate(segments, kPd, 0, 30, pieces));
  EXPECT_TRUE(pieces.empty());
}

}  // namespace
}  // namespace rxnic::payload_locator_test
