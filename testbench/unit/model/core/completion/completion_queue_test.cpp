// SPDX-License-Identifier: Apache-2.0
// Rules R1..R5 of model/core/completion/completion_queue.h (rules 3.2, 3.3, 3.5).
#include "model/core/completion/completion_queue.h"

#include <gtest/gtest.h>

namespace rxnic::completion_queue_test {
namespace {

CqContext context(std::uint16_t moderation_count = 0, bool ignore_overrun = false) {
  CqContext c;
  c.slots = 4;
  c.moderation_count = moderation_count;
  c.ignore_overrun = ignore_overrun;
  return c;
}

TEST(CompletionQueue, HasRoomForAsManyAsItHasSlots) {
  CompletionQueue cq(context(), 0);
  EXPECT_TRUE(cq.has_room(4));
  EXPECT_FALSE(cq.has_room(5));
  cq.produce(3, 3, false, Cycle{1});
  EXPECT_TRUE(cq.has_room(1));
  EXPECT_FALSE(cq.has_room(2));
  cq.consume(2);
  EXPECT_TRUE(cq.has_room(3));
  EXPECT_FALSE(cq.has_room(4));
}

TEST(CompletionQueue, IgnoringOverrunsItAlwaysHasRoom) {
  CompletionQueue cq(context(0, true), 0);
  cq.produce(4, 4, false, Cycle{1});
  EXPECT_TRUE(cq.has_room(1));
}

TEST(CompletionQueue, RoomIsRightWhenTheIndicesWrap) {
  CompletionQueue cq(context(), 0);
  for (int i = 0; i < 100; ++i) {
    cq.produce(4, 4, false, Cycle{1});
    EXPECT_FALSE(cq.has_room(1));
    cq.consume(cq.producer());
    EXPECT_TRUE(cq.has_room(4));
  }
}

TEST(CompletionQueue, AConsumerAheadOfTheProducerIsNotBelieved) {
  CompletionQueue cq(context(), 0);
  cq.produce(2, 2, false, Cycle{1});
  cq.consume(3);
  EXPECT_EQ(cq.consumer(), 0u);
  cq.consume(2);
  EXPECT_EQ(cq.consumer(), 2u);
  cq.consume(1);  // backwards
  EXPECT_EQ(cq.consumer(), 2u);
}

TEST(CompletionQueue, NotArmedItHasNoEvent) {
  CompletionQueue cq(context(), 0);
  cq.produce(1, 1, true, Cycle{1});
  EXPECT_EQ(cq.event_due(), kNever);
}

TEST(CompletionQueue, ArmedForAnyTheNextCqeRaisesAnEvent) {
  CompletionQueue cq(context(), 0);
  cq.arm(0, false, Cycle{5});
  EXPECT_EQ(cq.event_due(), kNever);
  cq.produce(1, 1, false, Cycle{9});
  EXPECT_EQ(cq.event_due(), Cycle{9});
  cq.disarm();
  cq.produce(1, 1, false, Cycle{10});
  EXPECT_EQ(cq.event_due(), kNever) << "one event for each arming";
}

TEST(CompletionQueue, ArmedForSolicitedOnlyOthersDoNotCount) {
  CompletionQueue cq(context(), 0);
  cq.arm(0, true, Cycle{5});
  cq.produce(1, 1, false, Cycle{9});
  EXPECT_EQ(cq.event_due(), kNever);
  cq.produce(1, 1, true, Cycle{10});
  EXPECT_EQ(cq.event_due(), Cycle{10});
}

TEST(CompletionQueue, ArmedForAnyItStaysSoWhenItIsArmedForSolicitedOnly) {  // R2
  CompletionQueue cq(context(), 0);
  cq.arm(0, false, Cycle{5});
  cq.arm(0, true, Cycle{6});
  EXPECT_EQ(cq.armed(), CqArm::kAny);
  cq.produce(1, 1, false, Cycle{9});
  EXPECT_EQ(cq.event_due(), Cycle{9});
  cq.disarm();
  cq.arm(1, true, Cycle{10});
  cq.produce(1, 1, false, Cycle{11});
  EXPECT_EQ(cq.event_due(), kNever) << "it has had its event for any";
  cq.arm(2, false, Cycle{12});
  cq.produce(1, 1, false, Cycle{13});
  EXPECT_EQ(cq.event_due(), Cycle{13}) << "from solicited to any";
}

TEST(CompletionQueue, ArmingWithUnseenCqesRaisesAnEventAtOnce) {
  CompletionQueue cq(context(), 0);
  cq.produce(2, 2, false, Cycle{1});
  cq.arm(2, false, Cycle{5});
  EXPECT_EQ(cq.event_due(), kNever) << "all were seen, none was consumed";
  EXPECT_EQ(cq.consumer(), 0u);
  cq.consume(2);
  cq.arm(1, false, Cycle{6});  // an old index: nothing new
  EXPECT_EQ(cq.event_due(), kNever);
  cq.disarm();
  cq.produce(1, 1, false, Cycle{7});
  cq.arm(2, false, Cycle{8});
  EXPECT_EQ(cq.event_due(), Cycle{8});
}

TEST(CompletionQueue, ArmingForSolicitedOnlyLooksAtUnseenSolicitedCqes) {
  CompletionQueue cq(context(), 0);
  cq.produce(1, 1, true, Cycle{1});
  cq.produce(1, 1, false, Cycle{1});
  cq.arm(1, true, Cycle{5});
  EXPECT_EQ(cq.event_due(), kNever) << "the solicited one was seen";
  CompletionQueue other(context(), 0);
  other.produce(1, 1, false, Cycle{1});
  other.produce(1, 1, true, Cycle{1});
  other.arm(1, true, Cycle{5});
  EXPECT_EQ(other.event_due(), Cycle{5});
}

TEST(CompletionQueue, TheCountIsReachedByTheLastOfThem) {
  CompletionQueue cq(context(3), 0);
  cq.arm(0, false, Cycle{1});
  cq.produce(1, 1, false, Cycle{2});
  cq.produce(1, 1, false, Cycle{3});
  EXPECT_EQ(cq.event_due(), kNever);
  cq.produce(1, 1, false, Cycle{4});
  EXPECT_EQ(cq.event_due(), Cycle{4});
}

TEST(CompletionQueue, ThePeriodRunsFromTheFirstOfThem) {
  CompletionQueue cq(context(3), 100);
  cq.arm(0, false, Cycle{1});
  EXPECT_EQ(cq.event_due(), kNever);
  cq.produce(1, 1, false, Cycle{20});
  EXPECT_EQ(cq.event_due(), Cycle{120});
  cq.produce(1, 1, false, Cycle{50});
  EXPECT_EQ(cq.event_due(), Cycle{120});
  cq.produce(1, 1, false, Cycle{60});
  EXPECT_EQ(cq.event_due(), Cycle{60}) << "whichever comes first";
}

TEST(CompletionQueue, ACompressedBlockCountsAllItsCompletions) {
  CompletionQueue cq(context(3), 0);
  cq.arm(0, false, Cycle{1});
  cq.produce(2, 3, false, Cycle{2});
  EXPECT_EQ(cq.producer(), 2u);
  EXPECT_EQ(cq.event_due(), Cycle{2});
}

TEST(CompletionQueue, ModerationCanBeChanged) {
  CompletionQueue cq(context(3), 0);
  cq.set_moderation(2, 0);
  cq.arm(0, false, Cycle{1});
  cq.produce(1, 1, false, Cycle{2});
  EXPECT_EQ(cq.event_due(), kNever);
  cq.produce(1, 1, false, Cycle{3});
  EXPECT_EQ(cq.event_due(), Cycle{3});
}

TEST(CompletionQueue, InAnotherRingItsNumbersBeginAtZero) {
  CompletionQueue cq(context(3), 100);
  cq.produce(1, 1, false, Cycle{1});
  cq.produce(1, 1, true, Cycle{1});
  cq.produce(1, 1, false, Cycle{1});
  CqContext to = context(0);
  to.base = BusAddress{0x7000};
  to.slots = 2;
  cq.renumber(to, 1);
  EXPECT_EQ(cq.consumer(), 0u);
  EXPECT_EQ(cq.producer(), 2u);
  EXPECT_EQ(cq.context().base, BusAddress{0x7000});
  EXPECT_EQ(cq.context().moderation_count, 3) << "how it is moderated stays";
  EXPECT_FALSE(cq.has_room(1));
  cq.arm(0, true, Cycle{5});
  EXPECT_EQ(cq.event_due(), Cycle{105}) << "the solicited one is CQE 0 now, not seen yet";
  cq.renumber(to, 1);
  cq.arm(0, true, Cycle{5});
  EXPECT_EQ(cq.event_due(), kNever) << "it was polled";
}

}  // namespace
}  // namespace rxnic::completion_queue_test
