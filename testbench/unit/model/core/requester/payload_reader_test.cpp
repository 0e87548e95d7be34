// SPDX-License-Identifier: Apache-2.0
// Rules R1..R3 of model/core/requester/payload_reader.h.
#include "model/core/requester/payload_reader.h"

#include <gtest/gtest.h>

#include <numeric>

#include "testbench/unit/send_wqes.h"

namespace rxnic {
namespace {

constexpr Key kKey{0x4200};
constexpr Pdn kPd{7};
constexpr std::uint64_t kVa = 0x10f00;

// Pages of the region: 0x10, 0x11 follow each other in bus addresses, 0x12 is elsewhere.
class PayloadReaderTest : public testing::Test {
 protected:
  PayloadReaderTest() {
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
    return reader.check(std::span<const DataSegment>(&s, 1), pd, access);
  }
  LocalMemory memory;
  PayloadReader reader{memory};
};

TEST_F(PayloadReaderTest, ASegmentMustBeWithinARegionOfThePd) {  // (R1)
  EXPECT_TRUE(check({0x2000, raw(kKey), kVa}));
  EXPECT_FALSE(check({0x2001, raw(kKey), kVa}));
  EXPECT_FALSE(check({1, raw(kKey), kVa - 1}));
  EXPECT_FALSE(check({1, raw(kKey) + 1, kVa}));
  EXPECT_FALSE(check({1, raw(kKey), kVa}, Pdn{8}));
  EXPECT_TRUE(check({1, raw(kKey), kVa}, kPd, kLocalWrite));
  EXPECT_FALSE(check({1, raw(kKey), kVa}, kPd, kRemoteRead));
  const DataSegment both[] = {{1, raw(kKey), kVa}, {1, 0x4300, kVa}};
  EXPECT_FALSE(reader.check(both, kPd, 0));
}

TEST_F(PayloadReaderTest, BytesAreThoseOfTheSegmentsInOrder) {
  const DataSegment segments[] = {{100, raw(kKey), kVa + 0x50}, {0x1f00, raw(kKey), kVa + 0x100}, {3, raw(kKey), kVa}};
  std::vector<std::uint8_t> expected;
  for (const DataSegment& s : segments) {
    for (std::uint32_t i = 0; i < s.length; ++i) expected.push_back(at(s.address + i));
  }
  std::vector<std::uint8_t> all(expected.size());
  ASSERT_TRUE(reader.read(segments, kPd, 0, all));
  EXPECT_EQ(all, expected);
  for (const std::size_t from :
       {std::size_t{1}, std::size_t{99}, std::size_t{100}, std::size_t{5000}, all.size() - 1}) {
    std::vector<std::uint8_t> part(std::min<std::size_t>(1000, expected.size() - from));
    ASSERT_TRUE(reader.read(segments, kPd, from, part));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), expected.begin() + static_cast<std::ptrdiff_t>(from))) << from;
  }
  std::vector<std::uint8_t> too_much(expected.size() + 1);
  EXPECT_FALSE(reader.read(segments, kPd, 0, too_much));
}

TEST_F(PayloadReaderTest, ContiguousPagesAreOneRead) {  // (R2)
  std::vector<std::uint8_t> bytes(0x1000);
  const DataSegment whole{0x2000, raw(kKey), kVa};
  ASSERT_TRUE(reader.read({&whole, 1}, kPd, 0x80, bytes));  // pages 0x10 and 0x11
  EXPECT_EQ(reader.reads(), 1u);
  bytes.resize(0x2000);
  ASSERT_TRUE(reader.read({&whole, 1}, kPd, 0, bytes));
  EXPECT_EQ(reader.reads(), 3u) << "and one of the third page";
  const DataSegment next_to_each_other[] = {{0x80, raw(kKey), kVa}, {0x80, raw(kKey), kVa + 0x80}};
  bytes.resize(0x100);
  ASSERT_TRUE(reader.read(next_to_each_other, kPd, 0, bytes));
  EXPECT_EQ(reader.reads(), 4u);
}

TEST_F(PayloadReaderTest, LongPageListsAreReadInParts) {
  constexpr std::uint64_t kPages = 200;
  std::vector<std::uint64_t> pages(kPages);
  for (std::uint64_t i = 0; i < kPages; ++i) pages[i] = 0x1000000 + (i ^ 1) * 0x1000;  // none is behind the one before
  put_region(memory, Key{0x5500}, kPd, 0, 0, kPages << 12, pages, 0xa00000);
  for (std::uint64_t i = 0; i < kPages; ++i) memory.store(BusAddress{pages[i]}, i);
  std::vector<std::uint8_t> bytes(kPages << 12);
  const DataSegment all{kPages << 12, 0x5500, 0};
  ASSERT_TRUE(reader.read({&all, 1}, kPd, 0, bytes));
  for (std::uint64_t i = 0; i < kPages; ++i) ASSERT_EQ(bytes[i << 12], i);
}

TEST_F(PayloadReaderTest, ARegionThatIsGoneCannotBeRead) {  // (R3)
  const DataSegment whole{0x2000, raw(kKey), kVa};
  ASSERT_TRUE(check(whole));
  memory.store(mpt_address(kKey), MptEntry{});
  std::vector<std::uint8_t> bytes(10);
  EXPECT_FALSE(reader.read({&whole, 1}, kPd, 0, bytes));
}

TEST_F(PayloadReaderTest, BytesThatAreNotMappedFailTheRead) {  // (R3)
  struct Hole final : HostMemory {
    explicit Hole(HostMemory& m) : below(m) {}
    bool read(BusAddress from, std::span<std::uint8_t> to) override {
      const bool hits = raw(from) < 0x50010 && raw(from) + to.size() > 0x50010;
      return !hits && below.read(from, to);
    }
    bool write(BusAddress, std::span<const std::uint8_t>) override { return false; }
    HostMemory& below;
  } hole{memory};
  PayloadReader with_hole(hole);
  const DataSegment whole{0x2000, raw(kKey), kVa};
  std::vector<std::uint8_t> bytes(0x1110);
  EXPECT_TRUE(with_hole.read({&whole, 1}, kPd, 0, bytes));
  bytes.resize(0x1111);
  EXPECT_FALSE(with_hole.read({&whole, 1}, kPd, 0, bytes));
}

}  // namespace
}  // namespace rxnic
