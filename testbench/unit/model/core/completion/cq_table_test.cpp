// SPDX-License-Identifier: Apache-2.0
// Rules R1..R5 of model/core/completion/cq_table.h.
#include "model/core/completion/cq_table.h"

#include <gtest/gtest.h>

#include "model/types/context.h"

namespace rxnic::cq_table_test {
namespace {

CqContext context(std::uint32_t number, std::uint32_t slots = 16, bool compress = false) {
  CqContext c;
  c.number = Cqn{number};
  c.base = BusAddress{0x1000u * number};
  c.slots = slots;
  c.compress = compress;
  return c;
}

CqTable::Options options(std::uint32_t session_limit = 0, std::uint32_t entries = 16, std::uint32_t ways = 4) {
  return {{entries, ways, 2}, session_limit, 1'000'000, 2325};
}

// Carries out a request as the DMA engine does.
void carry_out(CqTable& table, LocalMemory& memory) {
  while (table.cache().has_request()) {
    const DmaRequest r = table.cache().take_request();
    if (r.kind == DmaKind::kRead) {
      memory.read(r.address, {r.data, r.bytes});
    } else {
      memory.write(r.address, {r.data, r.bytes});
    }
  }
}

// Reads a context; the one that is evicted for it is written before.
void bring(CqTable& table, Cqn number, LocalMemory& memory) {
  const auto f = table.cache().fetch(raw(number), false, [&](std::uint32_t l) { return table.may_evict(l); });
  ASSERT_NE(f.line, CqTable::Cache::kNone);
  carry_out(table, memory);
  table.cache().arrived(f.line, true);
}

TEST(CqTable, FindsCqsByTheirNumbers) {
  LocalMemory memory;
  CqTable table(options());
  table.create(context(7), memory);
  table.create(context(3), memory);
  ASSERT_NE(table.find(Cqn{7}), nullptr);
  EXPECT_EQ(table.find(Cqn{7})->queue.context().base, BusAddress{0x7000});
  EXPECT_EQ(table.find(Cqn{3})->queue.context().base, BusAddress{0x3000});
  EXPECT_EQ(table.find(Cqn{4}), nullptr);
  EXPECT_EQ(table.find(Cqn{4000}), nullptr);
}

TEST(CqTable, ALineIsUsedAgainWithoutTheSessionOfTheOneBefore) {  // R1
  LocalMemory memory;
  CqTable table(options(8, 1, 1));
  table.create(context(1), memory);
  for (std::uint32_t n = 2; n < 100; ++n) {
    CqState& before = *table.find(Cqn{n - 1});
    before.open_session().block.add(Cqe{});
    table.grew(before, Cycle{n});
    EXPECT_TRUE(table.destroy(Cqn{n - 1}));
    EXPECT_TRUE(table.sessions().empty());
    EXPECT_EQ(table.find(Cqn{n - 1}), nullptr);
    EXPECT_TRUE(table.place(context(n)));
    carry_out(table, memory);
    ASSERT_NE(table.find(Cqn{n}), nullptr);
    EXPECT_EQ(table.cache().line_of(*table.find(Cqn{n})), 0u);
    EXPECT_EQ(table.find(Cqn{n})->held(), 0u);
  }
}

TEST(CqTable, AClosedCqHoldsNothing) {  // R2
  LocalMemory memory;
  CqTable table(options(8));
  table.create(context(1, 16, true), memory);
  CqState& cq = *table.find(Cqn{1});
  cq.open_session().block.add(Cqe{});
  table.grew(cq, Cycle{9});
  cq.queue.arm(0, false, Cycle{1});
  cq.queue.produce(1, 1, false, Cycle{2});
  table.close(cq);
  EXPECT_TRUE(cq.record().closed);
  EXPECT_EQ(cq.held(), 0u);
  EXPECT_TRUE(table.sessions().empty());
  EXPECT_EQ(cq.queue.event_due(), kNever);
  EXPECT_EQ(table.find(Cqn{1}), &cq);
}

TEST(CqTable, AMovedCqBeginsAtZero) {  // R3
  LocalMemory memory;
  CqTable table(options(8));
  table.create(context(1, 4, true), memory);
  CqState& cq = *table.find(Cqn{1});
  EXPECT_LT(cq.session_limit, 8u + 1) << "no block is longer than the ring";
  cq.queue.produce(3, 3, false, Cycle{1});
  cq.queue.consume(1);
  CqContext wider = context(1, 64, true);
  wider.base = BusAddress{0x90000};
  const CqMove move = table.resize(cq, wider, 1);
  EXPECT_EQ(move.first, 1u);
  EXPECT_EQ(move.count, 2u);
  EXPECT_EQ(cq.queue.producer(), 2u);
  EXPECT_EQ(cq.queue.consumer(), 0u);
  EXPECT_EQ(cq.queue.context().base, BusAddress{0x90000});
  EXPECT_EQ(cq.queue.context().slots, 64u);
  EXPECT_EQ(table.find(Cqn{1})->session_limit, 8u);
}

TEST(CqTable, AnOpenSessionKeepsItsLine) {  // R4
  LocalMemory memory;
  CqTable table(options(8, 1, 1));
  table.create(context(1, 16, true), memory);
  table.create(context(2), memory);
  table.find(Cqn{1})->open_session().block.add(Cqe{});
  const auto may = [&](std::uint32_t l) { return table.may_evict(l); };
  EXPECT_EQ(table.cache().fetch(2, false, may).line, CqTable::Cache::kNone);
  table.find(Cqn{1})->clear_session();
  EXPECT_EQ(table.cache().fetch(2, false, may).line, 0u);
}

TEST(CqTable, ACommandOnACqThatIsHereReachesHostMemoryLater) {  // R5
  LocalMemory memory;
  CqTable table(options(0, 1, 1));
  CqContext first = context(1);
  first.moderation_period_us = 1;
  table.create(first, memory);
  table.create(context(2), memory);
  ASSERT_EQ(table.find(Cqn{2}), nullptr) << "no room: in host memory alone";
  EXPECT_FALSE(table.place(context(3))) << "no line is free";
  bring(table, Cqn{2}, memory);
  CqState& cq = *table.find(Cqn{2});
  table.set_moderation(cq, 3, 2);
  EXPECT_EQ(memory.load<CqRecord>(cq_context_address(Cqn{2})).moderation_count, 0);
  EXPECT_EQ(table.find(Cqn{2})->queue.context().moderation_count, 3);
  cq.queue.arm(0, false, Cycle{100});
  cq.queue.produce(1, 1, false, Cycle{100});
  EXPECT_EQ(cq.queue.event_due(), Cycle{100 + 861}) << "2 us in cycles of 2325 ps, rounded up";
  bring(table, Cqn{1}, memory);
  EXPECT_EQ(memory.load<CqRecord>(cq_context_address(Cqn{2})).moderation_count, 3);
  EXPECT_EQ(memory.load<CqRecord>(cq_context_address(Cqn{2})).moderation_period_us, 2);
}

}  // namespace
}  // namespace rxnic::cq_table_test
