// SPDX-License-Identifier: Apache-2.0
#include "model/types/large_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace rxnic::large_pages_test {
namespace {

using Bytes = LargePages<std::uint8_t>;

std::uintptr_t address(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

TEST(LargePages, GiveZeroesFromTheBeginOfAPage) {
  for (const std::size_t count : {Bytes::kPageBytes, Bytes::kPageBytes + 1, 2 * Bytes::kPageBytes + 4096}) {
    for (int again = 0; again < 2; ++again) {  // what was in use before, too
      std::uint8_t* const memory = Bytes::allocate(count);
      EXPECT_EQ(address(memory) % Bytes::kPageBytes, 0u) << count;
      EXPECT_TRUE(std::all_of(memory, memory + count, [](std::uint8_t byte) { return byte == 0; })) << count;
      std::memset(memory, 0xa5, count);
      Bytes::deallocate(memory, count);
    }
  }
}

TEST(LargePages, GiveSmallTablesTheirAlignment) {
  struct alignas(256) Line {
    std::uint32_t number = 7;
  };
  std::vector<std::vector<Line, LargePages<Line>>> tables;
  for (const std::size_t count : {1u, 3u, 8191u, 8192u, 8193u}) {
    const auto& table = tables.emplace_back(count);
    EXPECT_EQ(address(table.data()) % alignof(Line), 0u) << count;
    EXPECT_EQ(table.back().number, 7u);
  }
}

}  // namespace
}  // namespace rxnic::large_pages_test
