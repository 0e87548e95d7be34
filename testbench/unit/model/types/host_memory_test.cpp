// SPDX-License-Identifier: Apache-2.0
#include "model/types/host_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

namespace rxnic::host_memory_test {
namespace {

constexpr BusAddress kSomewhere{0x12345678};
constexpr std::size_t kChunk = LocalMemory::kChunkBytes;

TEST(LocalMemory, ReadsAsZeroUntilWritten) {
  LocalMemory memory;
  std::array<std::uint8_t, 100> bytes;
  bytes.fill(0xff);
  EXPECT_TRUE(memory.read(kSomewhere, bytes));
  for (const std::uint8_t b : bytes) EXPECT_EQ(b, 0u);
  EXPECT_EQ(memory.resident_bytes(), 0u) << "a read must not allocate memory";
}

TEST(LocalMemory, ReadsWhatWasWritten) {
  LocalMemory memory;
  memory.store(kSomewhere, std::uint64_t{0x1122334455667788});
  EXPECT_EQ(memory.load<std::uint64_t>(kSomewhere), 0x1122334455667788u);
  EXPECT_EQ(memory.load<std::uint8_t>(kSomewhere), 0x88u) << "little-endian";
  EXPECT_EQ(memory.load<std::uint8_t>(kSomewhere + 8), 0u);
}

TEST(LocalMemory, ARangeMayLieAcrossChunks) {
  LocalMemory memory;
  std::vector<std::uint8_t> data(3 * kChunk);
  std::iota(data.begin(), data.end(), std::uint8_t{1});
  const BusAddress at{5 * kChunk - 7};
  EXPECT_TRUE(memory.write(at, data));
  std::vector<std::uint8_t> back(data.size() + 2);
  EXPECT_TRUE(memory.read(BusAddress{raw(at) - 1}, back));
  EXPECT_EQ(back.front(), 0u);
  EXPECT_EQ(back.back(), 0u);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), back.begin() + 1));
  EXPECT_EQ(memory.resident_bytes(), 4 * kChunk);
}

TEST(LocalMemory, AHoleBetweenWrittenChunksIsZero) {
  LocalMemory memory;
  memory.store(BusAddress{0}, std::uint8_t{1});
  memory.store(BusAddress{2 * kChunk}, std::uint8_t{2});
  std::vector<std::uint8_t> back(2 * kChunk + 1, 0xee);
  memory.read(BusAddress{0}, back);
  EXPECT_EQ(std::accumulate(back.begin(), back.end(), 0u), 3u);
}

TEST(LocalMemory, KeepsEachOfManyChunks) {
  LocalMemory memory;
  constexpr std::uint64_t kChunks = 300;
  for (std::uint64_t n = 0; n < kChunks; ++n) memory.store(BusAddress{7 * n * kChunk}, n + 1);
  for (std::uint64_t n = 0; n < kChunks; ++n) {
    EXPECT_EQ(memory.load<std::uint64_t>(BusAddress{7 * n * kChunk}), n + 1);
    EXPECT_EQ(memory.load<std::uint64_t>(BusAddress{7 * n * kChunk + 8}), 0u);
  }
  EXPECT_EQ(memory.resident_bytes(), kChunks * kChunk);
}

TEST(LocalMemory, FarAddressesCostOnlyWhatIsTouched) {
  LocalMemory memory;
  memory.store(BusAddress{0x4000'0000'0000'0000}, std::uint32_t{1});
  memory.store(BusAddress{0xffff'ffff'ffff'fff8}, std::uint64_t{2});
  EXPECT_EQ(memory.load<std::uint32_t>(BusAddress{0x4000'0000'0000'0000}), 1u);
  EXPECT_EQ(memory.load<std::uint64_t>(BusAddress{0xffff'ffff'ffff'fff8}), 2u);
  EXPECT_EQ(memory.resident_bytes(), 2 * kChunk);
}

TEST(LocalMemory, ManyFarPlacesKeepWhatIsWritten) {  // more than the cache of the latest look-ups holds
  LocalMemory memory;
  constexpr std::uint64_t kPlaces = 2000, kApart = 0x1234'5000 * kChunk + 8;
  for (std::uint64_t i = 0; i < kPlaces; ++i) memory.store(BusAddress{i * kApart}, i + 1);
  for (std::uint64_t round = 0; round < 2; ++round) {
    for (std::uint64_t i = 0; i < kPlaces; ++i) {
      EXPECT_EQ(memory.load<std::uint64_t>(BusAddress{i * kApart}), i + 1);
      EXPECT_EQ(memory.load<std::uint64_t>(BusAddress{i * kApart + kChunk}), 0u);
    }
  }
  EXPECT_EQ(memory.resident_bytes(), kPlaces * kChunk) << "reading allocates nothing";
}

TEST(LocalMemory, DigestDependsOnContentsAndNotOnTheOrderOfWrites) {
  LocalMemory a, b, c;
  a.store(BusAddress{0}, 1u);
  a.store(BusAddress{10 * kChunk}, 2u);
  b.store(BusAddress{10 * kChunk}, 2u);
  b.store(BusAddress{0}, 1u);
  c.store(BusAddress{0}, 2u);
  c.store(BusAddress{10 * kChunk}, 1u);
  EXPECT_EQ(a.digest(), b.digest());
  EXPECT_NE(a.digest(), c.digest());
  EXPECT_NE(a.digest(), LocalMemory{}.digest());
}

}  // namespace
}  // namespace rxnic::host_memory_test
