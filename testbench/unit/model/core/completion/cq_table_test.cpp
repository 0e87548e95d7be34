// SPDX-License-Identifier: Apache-2.0
// Rules R1..R3 of model/core/completion/cq_table.h.
#include "model/core/completion/cq_table.h"

#include <gtest/gtest.h>

namespace rxnic {
namespace {

CqContext context(std::uint32_t number, std::uint32_t slots = 16, bool compress = false) {
  CqContext c;
  c.number = Cqn{number};
  c.base = BusAddress{0x1000u * number};
  c.slots = slots;
  c.compress = compress;
  return c;
}

TEST(CqTable, FindsCqsByTheirNumbers) {
  CqTable table(0);
  table.create(context(7), 0);
  table.create(context(3), 0);
  ASSERT_NE(table.find(Cqn{7}), nullptr);
  EXPECT_EQ(table.find(Cqn{7})->queue.context().base, BusAddress{0x7000});
  EXPECT_EQ(table.find(Cqn{3})->queue.context().base, BusAddress{0x3000});
  EXPECT_EQ(table.find(Cqn{4}), nullptr);
  EXPECT_EQ(table.find(Cqn{4000}), nullptr);
}

TEST(CqTable, PlacesAreUsedAgainUnderAnotherStamp) {  // R1
  CqTable table(0);
  table.create(context(1), 0);
  const std::uint32_t place = table.place_of(*table.find(Cqn{1}));
  const std::uint32_t stamp = table.find(Cqn{1})->session_stamp;
  for (std::uint32_t n = 2; n < 100; ++n) {
    table.destroy(Cqn{n - 1});
    EXPECT_EQ(table.find(Cqn{n - 1}), nullptr);
    table.create(context(n), 0);
    EXPECT_EQ(table.place_of(*table.find(Cqn{n})), place);
    EXPECT_NE(table.find(Cqn{n})->session_stamp, stamp);
  }
  EXPECT_EQ(table.places().size(), 1u);
}

TEST(CqTable, AClosedCqHoldsNothing) {  // R2
  CqTable table(8);
  table.create(context(1, 16, true), 0);
  CqState& cq = *table.find(Cqn{1});
  const std::uint32_t stamp = cq.session_stamp;
  cq.session.add(Cqe{});
  cq.queue.arm(0, false, Cycle{1});
  cq.queue.produce(1, 1, false, Cycle{2});
  table.close(Cqn{1});
  EXPECT_TRUE(cq.closed);
  EXPECT_TRUE(cq.session.empty());
  EXPECT_NE(cq.session_stamp, stamp);
  EXPECT_EQ(cq.queue.event_due(), kNever);
  EXPECT_EQ(table.find(Cqn{1}), &cq);
}

TEST(CqTable, AMovedCqBeginsAtZero) {  // R3
  CqTable table(8);
  table.create(context(1, 4, true), 0);
  CqState& cq = *table.find(Cqn{1});
  EXPECT_LT(cq.session_limit, 8u + 1) << "no block is longer than the ring";
  cq.queue.produce(3, 3, false, Cycle{1});
  cq.queue.consume(1);
  CqContext wider = context(1, 64, true);
  wider.base = BusAddress{0x90000};
  const CqMove move = table.resize(wider, 1);
  EXPECT_EQ(move.first, 1u);
  EXPECT_EQ(move.count, 2u);
  EXPECT_EQ(cq.queue.producer(), 2u);
  EXPECT_EQ(cq.queue.consumer(), 0u);
  EXPECT_EQ(cq.queue.context().base, BusAddress{0x90000});
  EXPECT_EQ(cq.queue.context().slots, 64u);
  EXPECT_EQ(table.resize(context(9), 0).count, 0u) << "no such CQ";
}

}  // namespace
}  // namespace rxnic
