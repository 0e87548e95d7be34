// SPDX-License-Identifier: Apache-2.0
// Rules R1..R7 of model/core/memory/context_cache.h.
#include "model/core/memory/context_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace rxnic::context_cache_test {
namespace {

struct Line {
  struct Record {
    std::uint32_t number = 0;
    std::uint32_t value = 0;
    std::uint8_t valid = 0;
    std::uint8_t reserved[7] = {};
  };
  Record& record() { return kept; }
  const Record& record() const { return kept; }
  void settle() { ++settled; }
  Record kept;
  unsigned settled = 0;
};
using Cache = ContextCache<Line>;

BusAddress address_of(std::uint32_t number) { return BusAddress{0x1000 + std::uint64_t{number} * 16}; }
Line::Record record(std::uint32_t number, std::uint32_t value = 0) { return {number, value, 1, {}}; }
constexpr auto kAnyMayBeEvicted = [](std::uint32_t) { return true; };

// Carries out the requests; the caller completes the reads.
std::vector<DmaRequest> carry_out(Cache& cache, HostMemory& memory) {
  std::vector<DmaRequest> done;
  while (cache.has_request()) {
    const DmaRequest r = cache.take_request();
    done.push_back(r);
    if (r.kind == DmaKind::kRead) {
      memory.read(r.address, {r.data, r.bytes});
    } else {
      memory.write(r.address, {r.data, r.bytes});
    }
  }
  return done;
}

TEST(ContextCache, AMissIsOneReadIntoAFreeLine) {  // R1, R3
  LocalMemory memory;
  Cache cache({2, 2, 2}, address_of);
  memory.store(address_of(5), record(5, 55));
  EXPECT_EQ(cache.find(5), Cache::kNone);
  const auto f = cache.fetch(5, false, kAnyMayBeEvicted);
  ASSERT_NE(f.line, Cache::kNone);
  EXPECT_FALSE(f.evicts);
  EXPECT_TRUE(cache.coming(5));
  EXPECT_EQ(cache.find(5), Cache::kNone) << "on its way";
  EXPECT_TRUE(cache.may_read());
  const auto asked = carry_out(cache, memory);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].kind, DmaKind::kRead);
  EXPECT_EQ(asked[0].address, address_of(5));
  EXPECT_EQ(asked[0].bytes, sizeof(Line::Record));
  EXPECT_TRUE(cache.arrived(asked[0].cookie, true));
  ASSERT_EQ(cache.find(5), f.line);
  EXPECT_EQ(cache[f.line].record().value, 55u);
  EXPECT_EQ(cache[f.line].settled, 1u);
  EXPECT_EQ(cache.reading(), 0u);
}

TEST(ContextCache, TheLeastRecentlyUsedOfThoseThatMayGivesWay) {  // R1
  LocalMemory memory;
  Cache cache({2, 2, 4}, address_of);
  cache.create(1, record(1), memory);
  cache.create(2, record(2), memory);
  cache.touch(cache.find(1));
  const std::uint32_t first = cache.find(1), second = cache.find(2);
  EXPECT_EQ(cache.fetch(3, false, [&](std::uint32_t l) { return l != second; }).line, first);
  EXPECT_EQ(cache.fetch(4, false, [](std::uint32_t) { return false; }).line, Cache::kNone);
  EXPECT_EQ(cache.fetch(4, false, kAnyMayBeEvicted).line, second) << "a line that is read is not evicted";
  EXPECT_EQ(cache.fetch(5, false, kAnyMayBeEvicted).line, Cache::kNone);
}

TEST(ContextCache, AChangedContextIsWrittenAheadOfTheRead) {  // R2
  LocalMemory memory;
  Cache cache({1, 1, 1}, address_of);
  cache.create(1, record(1, 10), memory);
  memory.store(address_of(2), record(2, 20));
  cache[cache.find(1)].record().value = 11;
  cache.set_dirty(cache.find(1));
  const auto f = cache.fetch(2, false, kAnyMayBeEvicted);
  EXPECT_TRUE(f.evicts && f.writes_back);
  EXPECT_FALSE(cache.may_read());
  const auto asked = carry_out(cache, memory);
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].kind, DmaKind::kWrite);
  EXPECT_EQ(asked[0].address, address_of(1));
  EXPECT_EQ(asked[1].kind, DmaKind::kRead);
  EXPECT_EQ(memory.load<Line::Record>(address_of(1)).value, 11u);
  EXPECT_TRUE(cache.arrived(f.line, true));
  EXPECT_FALSE(cache.fetch(1, false, kAnyMayBeEvicted).writes_back) << "the other one was not changed";
}

TEST(ContextCache, WhatIsNotValidIsNotKept) {  // R4
  LocalMemory memory;
  Cache cache({2, 2, 2}, address_of);
  for (const bool mapped : {true, false}) {
    if (!mapped) memory.store(address_of(5), record(5));
    const auto f = cache.fetch(5, false, kAnyMayBeEvicted);
    carry_out(cache, memory);
    EXPECT_FALSE(cache.arrived(f.line, mapped));
    EXPECT_EQ(cache.find(5), Cache::kNone);
    EXPECT_FALSE(cache.coming(5));
  }
  const auto f = cache.fetch(5, false, kAnyMayBeEvicted);
  carry_out(cache, memory);
  EXPECT_TRUE(cache.arrived(f.line, true)) << "created meanwhile";
}

TEST(ContextCache, WhatWasReadAheadStaysForOthersThatAreReadAhead) {  // R5
  LocalMemory memory;
  Cache cache({1, 1, 1}, address_of);
  for (std::uint32_t n : {1u, 2u}) memory.store(address_of(n), record(n));
  const auto f = cache.fetch(1, true, kAnyMayBeEvicted);
  carry_out(cache, memory);
  cache.arrived(f.line, true);
  EXPECT_EQ(cache.fetch(2, true, kAnyMayBeEvicted).line, Cache::kNone);
  cache.touch(f.line);
  EXPECT_EQ(cache.fetch(2, true, kAnyMayBeEvicted).line, f.line) << "it has been used";
  carry_out(cache, memory);
  cache.arrived(f.line, true);
  EXPECT_EQ(cache.fetch(1, false, kAnyMayBeEvicted).line, f.line) << "not ahead";
}

TEST(ContextCache, OneIsCreatedWhereItIsOrInAFreeLine) {  // R6, R7
  LocalMemory memory;
  Cache cache({1, 1, 1}, address_of);
  EXPECT_EQ(cache.create(1, record(1, 10), memory), 0u);
  EXPECT_EQ(cache.create(2, record(2, 20), memory), Cache::kNone) << "no line is free";
  EXPECT_EQ(memory.load<Line::Record>(address_of(2)).value, 20u);
  EXPECT_EQ(cache.place(3, record(3, 30)), Cache::kNone) << "no line is free";
  EXPECT_EQ(cache.place(1, record(1, 15)), 0u);
  EXPECT_EQ(memory.load<Line::Record>(address_of(1)).value, 10u) << "created on the chip";
  EXPECT_EQ(cache[0].settled, 2u);
  Line::Record out;
  EXPECT_TRUE(cache.read(1, memory, out));
  EXPECT_EQ(out.value, 15u);
  // When there is no free line, the context is read; when the read finds none, the line is free.
  const auto f = cache.fetch(3, false, kAnyMayBeEvicted);
  EXPECT_TRUE(f.writes_back);
  EXPECT_EQ(cache.place(3, record(3, 30)), Cache::kNone) << "it is coming";
  carry_out(cache, memory);
  EXPECT_FALSE(cache.arrived(f.line, true));
  EXPECT_EQ(memory.load<Line::Record>(address_of(1)).value, 15u);
  EXPECT_EQ(cache.place(3, record(3, 30)), f.line);
  EXPECT_EQ(memory.load<Line::Record>(address_of(3)).valid, 0);
  EXPECT_TRUE(cache.fetch(2, false, kAnyMayBeEvicted).writes_back) << "host memory has not seen it";
}

TEST(ContextCache, OneThatIsRemovedIsInvalidInHostMemory) {  // R6
  LocalMemory memory;
  Cache cache({1, 1, 1}, address_of);
  cache.create(1, record(1, 10), memory);
  cache.create(2, record(2, 20), memory);
  const auto f = cache.fetch(2, false, kAnyMayBeEvicted);
  EXPECT_FALSE(cache.remove(2)) << "it is coming";
  EXPECT_FALSE(cache.remove(1)) << "another request waits";
  carry_out(cache, memory);
  cache.arrived(f.line, true);
  EXPECT_TRUE(cache.remove(2));
  EXPECT_EQ(cache.find(2), Cache::kNone);
  EXPECT_EQ(cache.place(3, record(3)), f.line) << "the line is free again";
  EXPECT_FALSE(cache.remove(1)) << "another request waits";
  const auto asked = carry_out(cache, memory);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].kind, DmaKind::kWrite);
  EXPECT_EQ(memory.load<Line::Record>(address_of(2)).valid, 0);
  EXPECT_EQ(memory.load<Line::Record>(address_of(1)).valid, 1);
  EXPECT_TRUE(cache.remove(1)) << "in host memory alone";
  carry_out(cache, memory);
  EXPECT_EQ(memory.load<Line::Record>(address_of(1)).valid, 0);
  EXPECT_EQ(cache.find(3), f.line);
}

// Creates, changes, uses and removes contexts at random, with a much smaller cache: no change is lost.
TEST(ContextCache, NothingIsLostInRandomUse) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
  LocalMemory memory;
  Cache cache({8, 2, 3}, address_of);
  std::map<std::uint32_t, std::uint32_t> expected;
  std::vector<std::uint32_t> coming;  // lines
  std::uint64_t compared = 0, written_back = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint32_t n = below(64);
    if (below(50) == 0) {
      if (expected.contains(n)) {
        if (cache.remove(n)) expected.erase(n);
      } else if (cache.place(n, record(n, 0)) != Cache::kNone) {
        expected[n] = 0;
      }
      continue;
    }
    const std::uint32_t line = cache.find(n);
    if (line != Cache::kNone) {
      ASSERT_EQ(cache[line].record().number, n);
      ASSERT_EQ(cache[line].record().value, expected.at(n));
      ++compared;
      cache.touch(line);
      if (below(2) == 0) {
        ++cache[line].record().value;
        ++expected[n];
        cache.set_dirty(line);
      }
    } else if (!cache.coming(n) && cache.may_read()) {
      const auto f = cache.fetch(n, below(2) == 0, kAnyMayBeEvicted);
      written_back += f.writes_back;
      if (f.line != Cache::kNone) coming.push_back(f.line);
    }
    if (!coming.empty() && below(3) == 0) {
      carry_out(cache, memory);
      const std::uint32_t number = cache.number_of(coming.front());
      EXPECT_EQ(cache.arrived(coming.front(), true), expected.contains(number));
      coming.erase(coming.begin());
    }
  }
  EXPECT_GT(compared, 1000u);
  EXPECT_GT(written_back, 1000u);
}

}  // namespace
}  // namespace rxnic::context_cache_test
