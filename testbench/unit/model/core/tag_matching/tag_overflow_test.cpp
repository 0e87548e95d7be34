// SPDX-License-Identifier: Apache-2.0
#include "model/core/tag_matching/tag_overflow.h"

#include <gtest/gtest.h>

namespace rxnic::tag_overflow_test {
namespace {

TEST(TagOverflow, TheRingHasTwiceAsManySlotsAsTags) {  // R1
  TagOverflow ring(4);
  EXPECT_EQ(ring.slots(), 8u);
  for (std::uint32_t i = 0; i < 8; ++i) {
    EXPECT_FALSE(ring.full());
    EXPECT_EQ(ring.slot(ring.append()), i);
  }
  EXPECT_TRUE(ring.full());
  ring.drop_head();
  EXPECT_EQ(ring.slot(ring.append()), 0u);
  ring.drop_head();
  EXPECT_EQ(ring.slot(ring.prepend()), 1u);
  EXPECT_EQ(ring.head(), ring.unread());
}

TEST(TagOverflow, ABurstEndsAtTheTailAndAtTheEndOfTheRing) {  // R4
  TagOverflow ring(4);
  for (int i = 0; i < 6; ++i) ring.append();
  EXPECT_EQ(ring.burst(ring.head(), 4), 4u);
  EXPECT_EQ(ring.burst(ring.head() + 4, 4), 2u) << "the tail";
  EXPECT_EQ(ring.burst(ring.tail(), 4), 0u);
  for (int i = 0; i < 5; ++i) ring.drop_head();
  for (int i = 0; i < 5; ++i) ring.append();
  EXPECT_EQ(ring.burst(ring.head(), 8), 3u) << "the end of the ring";
  EXPECT_EQ(ring.burst(ring.head() + 3, 8), 3u);
}

TEST(TagOverflow, CompactionLeavesAGapThatReadersSkip) {  // R3
  TagOverflow ring(8);
  for (int i = 0; i < 8; ++i) ring.append();
  EXPECT_FALSE(ring.sparse(4, 4)) << "four of eight are dead";
  EXPECT_FALSE(ring.sparse(3, 8)) << "to read eight takes one read anyway";
  EXPECT_TRUE(ring.sparse(3, 4));
  ring.begin_compaction();
  EXPECT_EQ(ring.gap_begin(), ring.head());
  ring.compacted(4, 2);
  const std::uint64_t copied = ring.head() + 2;
  EXPECT_EQ(ring.gap_begin(), copied);
  EXPECT_EQ(ring.dead(3), 3u);
  EXPECT_TRUE(ring.sparse(3, 4)) << "it is not at its end";
  EXPECT_EQ(ring.burst(ring.head(), 8), 2u);
  EXPECT_EQ(ring.after(copied), copied + 2);
  EXPECT_EQ(ring.burst(ring.after(copied), 8), 4u);
  ring.append();
  ring.compacted(5, 2);
  EXPECT_EQ(ring.tail(), ring.head() + 4);
  EXPECT_EQ(ring.after(ring.head() + 4), ring.tail());
}

TEST(TagOverflow, TheHeadPassesTheGap) {  // R3
  TagOverflow ring(8);
  for (int i = 0; i < 8; ++i) ring.append();
  const std::uint64_t first = ring.head();
  ring.begin_compaction();
  ring.compacted(4, 1);
  ring.drop_head();
  EXPECT_EQ(ring.head(), first + 4);
  EXPECT_EQ(ring.dead(4), 0u);
  ring.begin_compaction();
  ring.compacted(2, 0);
  EXPECT_EQ(ring.head(), first + 6) << "none was kept";
  EXPECT_EQ(ring.unread(), ring.head());
}

TEST(TagOverflow, AnEntryIsPutBackBeforeOrBehindTheGap) {  // R3
  for (const std::uint32_t older : {1u, 2u, 3u}) {
    TagOverflow ring(8);
    ring.append();
    ring.drop_head();  // the slot before the head is not behind the end of the ring
    for (int i = 0; i < 8; ++i) ring.append();
    const std::uint64_t first = ring.head();
    ring.begin_compaction();
    ring.compacted(4, 2);  // at 0, 1 and 4..7
    const std::uint64_t next = ring.after(first + older + (older > 2 ? 2 : 0));
    ring.inserted(first + older, next);
    EXPECT_EQ(ring.head(), first - 1);
    EXPECT_EQ(ring.dead(7), 0u) << older;
    EXPECT_EQ(ring.burst(ring.head(), 8), older == 1 ? 3u : older + 1);
    EXPECT_EQ(ring.after(ring.head() + (older == 1 ? 3 : older + 1)), first + (older == 3 ? 5 : 4));
  }
}

TEST(TagOverflow, ClearedItIsEmpty) {  // R2
  TagOverflow ring(2);
  for (int i = 0; i < 4; ++i) ring.append();
  ring.clear();
  EXPECT_FALSE(ring.full());
  EXPECT_EQ(ring.head(), ring.tail());
  EXPECT_EQ(ring.unread(), ring.tail());
}

}  // namespace
}  // namespace rxnic::tag_overflow_test
