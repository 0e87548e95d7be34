// SPDX-License-Identifier: Apache-2.0
#include "model/core/memory/context_waits.h"

#include <gtest/gtest.h>

#include "model/core/memory/context_cache.h"
#include "model/types/host_memory.h"

namespace rxnic::context_waits_test {
namespace {

struct Record {
  std::uint32_t valid = 0;
  std::uint32_t value = 0;
};

struct Line {
  using Record = context_waits_test::Record;
  Record& record() { return stored; }
  const Record& record() const { return stored; }
  void settle() {}
  Record stored;
};

struct Table {
  using Cache = ContextCache<Line>;
  explicit Table(std::uint32_t lines) : contexts({lines, lines, 4}, address_of) {}
  static BusAddress address_of(std::uint32_t number) { return BusAddress{0x1000} + number * sizeof(Record); }
  Cache& cache() { return contexts; }
  const Cache& cache() const { return contexts; }
  std::uint32_t line_of(std::uint32_t number) const { return contexts.find(number); }
  bool gone(std::uint32_t number) const { return number == closed; }
  bool may_evict(std::uint32_t line) const { return contexts.number_of(line) != kept; }
  void evicted(std::uint32_t) { ++evictions; }
  Cache contexts;
  std::uint32_t closed = Cache::kNone, kept = Cache::kNone;
  std::uint32_t evictions = 0;
};

struct Counters {
  std::uint64_t context_hits = 0, context_misses = 0, context_reads = 0, context_reads_ahead = 0,
                context_write_backs = 0;
};

class ContextWaitsTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kAskers = 3;
  void exists(std::uint32_t number) { memory.store(Table::address_of(number), Record{1, number}); }
  // Carries out what was asked of memory. False when a context did not come.
  bool carry_out() {
    bool all = true;
    while (table.contexts.has_request()) {
      const DmaRequest r = table.contexts.take_request();
      if (r.kind == DmaKind::kWrite) {
        memory.write(r.address, {r.data, r.bytes});
      } else {
        memory.read(r.address, {r.data, r.bytes});
        all &= waits.arrived(static_cast<std::uint32_t>(r.cookie), true);
      }
    }
    return all;
  }
  LocalMemory memory;
  Table table{1};
  Counters counters;
  ContextWaits<Table, Counters, kAskers> waits{table, counters};
};

TEST_F(ContextWaitsTest, AWaitIsOneMiss) {  // R1
  exists(7);
  EXPECT_EQ(waits.look_up(0, 7), ContextLookup::kWaits);
  EXPECT_EQ(waits.look_up(0, 7), ContextLookup::kWaits);
  EXPECT_TRUE(waits.waits(0));
  EXPECT_TRUE(carry_out());
  EXPECT_EQ(waits.look_up(0, 7), ContextLookup::kHere);
  EXPECT_EQ(table.contexts[waits.line(0)].stored.value, 7u);
  waits.use(0);
  EXPECT_FALSE(waits.waits(0));
  EXPECT_EQ(counters.context_misses, 1u);
  EXPECT_EQ(counters.context_reads, 1u);
  EXPECT_EQ(counters.context_hits, 0u) << "it had to wait";
  EXPECT_EQ(waits.look_up(0, 7), ContextLookup::kHere);
  waits.use(0);
  EXPECT_EQ(counters.context_hits, 1u);
}

TEST_F(ContextWaitsTest, WhatWasLookedUpGivesWayWhenItWasUsed) {  // R2
  exists(7);
  exists(8);
  waits.look_up(0, 7);
  carry_out();
  EXPECT_EQ(waits.look_up(0, 7), ContextLookup::kHere);
  EXPECT_EQ(waits.look_up(1, 8), ContextLookup::kWaits);
  EXPECT_TRUE(waits.lacks_way(1)) << "the first one has not used it yet";
  EXPECT_TRUE(waits.read_ahead(0, 8)) << "nor is it evicted for what is read ahead, for whomever";
  EXPECT_EQ(counters.context_reads_ahead, 0u);
  waits.use(0);
  EXPECT_EQ(waits.look_up(1, 8), ContextLookup::kWaits);
  EXPECT_FALSE(waits.lacks_way(1));
  EXPECT_EQ(table.evictions, 1u);
  EXPECT_TRUE(carry_out());
  EXPECT_EQ(waits.look_up(1, 8), ContextLookup::kHere);
}

TEST_F(ContextWaitsTest, WhoYieldsKeepsNothing) {  // R2
  exists(7);
  exists(8);
  waits.look_up(0, 7);
  carry_out();
  waits.look_up(0, 7);
  waits.yield(0);
  waits.look_up(1, 8);
  EXPECT_FALSE(waits.lacks_way(1));
  carry_out();
  waits.use(0);
  EXPECT_EQ(counters.context_hits, 0u) << "it has no line any more";
}

TEST_F(ContextWaitsTest, WhatTheTableKeepsDoesNotGiveWay) {
  exists(7);
  exists(8);
  waits.look_up(0, 7);
  carry_out();
  waits.look_up(0, 7);
  waits.use(0);
  table.kept = 7;
  waits.look_up(1, 8);
  EXPECT_TRUE(waits.lacks_way(1));
  EXPECT_EQ(table.evictions, 0u);
}

TEST_F(ContextWaitsTest, EverybodyLearnsThatThereIsNone) {  // R3
  waits.look_up(0, 7);
  waits.look_up(1, 7);
  waits.look_up(2, 8);
  EXPECT_FALSE(carry_out());
  EXPECT_EQ(waits.look_up(0, 7), ContextLookup::kAbsent);
  EXPECT_EQ(waits.look_up(1, 7), ContextLookup::kAbsent);
  EXPECT_EQ(waits.look_up(2, 8), ContextLookup::kWaits) << "that is another one";
  EXPECT_FALSE(carry_out());
  waits.forget(0);
  exists(7);
  EXPECT_EQ(waits.look_up(0, 7), ContextLookup::kWaits) << "it may have been created since";
  table.closed = 9;
  EXPECT_EQ(waits.look_up(1, 9), ContextLookup::kAbsent);
}

TEST_F(ContextWaitsTest, OneWaitIsForgottenByItsNumber) {
  exists(7);
  waits.look_up(0, 7);
  waits.forget(0, 8);
  EXPECT_TRUE(waits.waits(0));
  waits.forget(0, 7);
  EXPECT_FALSE(waits.waits(0));
}

TEST_F(ContextWaitsTest, OneReadStartsInACycle) {  // R4
  Table lines{4};
  ContextWaits<Table, Counters, kAskers> asked{lines, counters};
  asked.begin_cycle();
  EXPECT_EQ(asked.look_up(0, 1), ContextLookup::kWaits);
  EXPECT_FALSE(asked.deferred());
  EXPECT_EQ(asked.look_up(1, 2), ContextLookup::kWaits);
  EXPECT_FALSE(asked.read_ahead(2, 3));
  EXPECT_TRUE(asked.deferred());
  EXPECT_EQ(counters.context_reads, 1u);
  asked.begin_cycle();
  EXPECT_FALSE(asked.deferred());
  EXPECT_TRUE(asked.read_ahead(2, 3));
  EXPECT_EQ(asked.look_up(1, 2), ContextLookup::kWaits);
  EXPECT_TRUE(asked.deferred());
  EXPECT_EQ(counters.context_reads, 2u);
  EXPECT_EQ(counters.context_misses, 2u) << "that waits is counted once";
}

}  // namespace
}  // namespace rxnic::context_waits_test
