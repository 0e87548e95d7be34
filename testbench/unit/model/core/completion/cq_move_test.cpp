// SPDX-License-Identifier: Apache-2.0
// Rule R1 of model/core/completion/cq_move.h.
#include "model/core/completion/cq_move.h"

#include <gtest/gtest.h>

namespace rxnic::cq_move_test {
namespace {

constexpr BusAddress kOld{0x10000}, kNew{0x20000};

CqContext ring(BusAddress base, std::uint32_t slots) {
  CqContext c;
  c.base = base;
  c.slots = slots;
  return c;
}

TEST(CqMove, WhatWasNotPolledIsMoved) {  // R1
  for (const std::uint32_t first : {0u, 5u, 14u, 21u, 0xfffffffau}) {
    const CqMove move = plan_move(ring(kOld, 8), ring(kNew, 32), first, first + 6);
    EXPECT_EQ(move.from, kOld);
    EXPECT_EQ(move.from_slots, 8u);
    EXPECT_EQ(move.to, kNew);
    EXPECT_EQ(move.first, first);
    EXPECT_EQ(move.count, 6u);
  }
  EXPECT_EQ(plan_move(ring(kOld, 16), ring(kNew, 64), 130, 130).count, 0u);
}

TEST(CqMove, NoMoreThanEitherRingHolds) {  // R1
  EXPECT_EQ(plan_move(ring(kOld, 8), ring(kNew, 8), 13, 21).count, 8u) << "a full one fits into one of its size";
  const CqMove shrinks = plan_move(ring(kOld, 64), ring(kNew, 8), 100, 130);
  EXPECT_EQ(shrinks.first, 122u);
  EXPECT_EQ(shrinks.count, 8u);
  const CqMove nonsense = plan_move(ring(kOld, 16), ring(kNew, 64), 200, 130);  // a consumer ahead of the producer
  EXPECT_EQ(nonsense.first, 114u);
  EXPECT_EQ(nonsense.count, 16u);
}

}  // namespace
}  // namespace rxnic::cq_move_test
