// SPDX-License-Identifier: Apache-2.0
// Rules of bridge/rtl/transaction_queues.h.
#include "bridge/rtl/transaction_queues.h"

#include <gtest/gtest.h>

namespace rxnic::transaction_queues_test {
namespace {

constexpr bool kModel = true, kRtl = false;

TransactionQueues::Made made(std::uint64_t cycle, std::uint64_t queue, std::uint32_t bits = 0) {
  return {.cycle = Cycle{cycle}, .queue = queue, .bits = {bits}};
}

TEST(TransactionQueues, EachQueueHasAnOrderOfItsOwn) {  // R1
  TransactionQueues queues;
  EXPECT_FALSE(queues.add(made(10, 1, 0xa), kModel));
  EXPECT_FALSE(queues.add(made(11, 1, 0xb), kModel));
  EXPECT_FALSE(queues.add(made(12, 2, 0xc), kRtl)) << "of another queue";
  const auto first = queues.add(made(20, 1, 0xd), kRtl);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->model.bits[0], 0xau);
  EXPECT_EQ(first->rtl.bits[0], 0xdu);
  const auto second = queues.add(made(21, 1, 0xe), kRtl);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->model.bits[0], 0xbu);
  EXPECT_EQ(second->model.of_queue, 2u);
  EXPECT_EQ(second->rtl.of_queue, 2u);
  const auto other = queues.add(made(22, 2), kModel);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->rtl.bits[0], 0xcu);
  EXPECT_EQ(other->rtl.of_queue, 1u);
  EXPECT_EQ(queues.oldest().made, nullptr);
}

TEST(TransactionQueues, EitherSideMayBeAhead) {  // R1
  TransactionQueues queues;
  for (const bool side : {kModel, kRtl, kModel}) {
    for (std::uint64_t n = 0; n < 3; ++n) EXPECT_FALSE(queues.add(made(n, 5), side));
    for (std::uint64_t n = 0; n < 3; ++n) EXPECT_TRUE(queues.add(made(n, 5), !side));
  }
  EXPECT_EQ(queues.waiting_of_rtl(), 0u);
}

TEST(TransactionQueues, TheOldestIsTheEarliestOfEitherSide) {  // R2
  TransactionQueues queues;
  queues.add(made(30, 1, 0xa), kModel);
  queues.add(made(20, 2, 0xb), kRtl);
  queues.add(made(25, 2, 0xc), kRtl);
  queues.add(made(26, 2, 0xc), kRtl);
  queues.add(made(20, 3, 0xd), kModel);
  EXPECT_EQ(queues.oldest().made->bits[0], 0xbu) << "of two in one cycle that of the lowest queue";
  EXPECT_FALSE(queues.oldest().of_model);
  EXPECT_EQ(queues.oldest_of_model().made->bits[0], 0xdu);
  EXPECT_TRUE(queues.oldest_of_model().of_model);
  EXPECT_EQ(queues.waiting_of_rtl(), 3u);
}

TEST(TransactionQueues, WhatTheRtlAloneHasMadeIsKnownByItsQueue) {
  TransactionQueues queues;
  EXPECT_EQ(queues.last_of_rtl(7), nullptr);
  queues.add(made(1, 7, 0xa), kRtl);
  queues.add(made(2, 7, 0xb), kRtl);
  EXPECT_EQ(queues.last_of_rtl(7)->bits[0], 0xbu);
  queues.add(made(3, 7), kModel);
  EXPECT_EQ(queues.last_of_rtl(7)->bits[0], 0xbu) << "the model has made the first";
  queues.add(made(4, 7), kModel);
  EXPECT_EQ(queues.last_of_rtl(7), nullptr);
  queues.add(made(5, 7), kModel);
  EXPECT_EQ(queues.last_of_rtl(7), nullptr) << "the model is ahead";
}

}  // namespace
}  // namespace rxnic::transaction_queues_test
