// SPDX-License-Identifier: Apache-2.0
#include "model/core/tag_matching/tag_match_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <vector>

namespace rxnic::tag_match_list_test {
namespace {

constexpr std::uint64_t kExact = ~std::uint64_t{0};

TagEntry entry(std::uint32_t handle, std::uint64_t tag, std::uint64_t mask = kExact) {
  return {handle, tag, mask, {64, 1, handle * 0x100}};
}

// Append and search as a block does them when all is in the CAM.
bool append(TagMatchList& list, const TagEntry& e, bool to_cam = true) {
  if (!list.accepts(e.handle)) return false;
  list.append(e, to_cam);
  return true;
}
std::uint32_t search(TagMatchList& list, std::uint64_t tag) {
  const std::uint32_t found = list.find(tag);
  if (found != kNoTagEntry) list.consume(found);
  return found;
}

TEST(TagMatchList, OldestOfTwoMatchesWins) {  // R1
  TagMatchList list(8);
  ASSERT_TRUE(append(list, entry(5, 7)));
  ASSERT_TRUE(append(list, entry(2, 7)));
  EXPECT_EQ(search(list, 7), 5u);
  EXPECT_EQ(search(list, 7), 2u);
  EXPECT_EQ(search(list, 7), kNoTagEntry);
}

TEST(TagMatchList, OldestWinsAcrossMasks) {  // R1
  TagMatchList list(8);
  append(list, entry(0, 0x10, 0xf0));
  append(list, entry(1, 0x17));
  append(list, entry(2, 0, 0));
  EXPECT_EQ(search(list, 0x17), 0u);
  EXPECT_EQ(search(list, 0x17), 1u);
  EXPECT_EQ(search(list, 0x17), 2u);
}

TEST(TagMatchList, MaskIsAppliedToTheTagNotToTheEntry) {  // rules 5.2
  TagMatchList list(8);
  append(list, entry(0, 0x1f, 0xf0));  // its tag has bits outside its mask: it can never match
  EXPECT_EQ(search(list, 0x1f), kNoTagEntry);
  append(list, entry(1, 0x10, 0xf0));
  EXPECT_EQ(search(list, 0x1f), 1u);
}

TEST(TagMatchList, AMatchIsConsumed) {  // R1
  TagMatchList list(2);
  append(list, entry(0, 7));
  search(list, 7);
  EXPECT_EQ(list.size(), 0u);
  EXPECT_FALSE(list.remove(0));
}

TEST(TagMatchList, FullAndDoubleHandlesAreRefused) {  // R2
  TagMatchList list(2);
  EXPECT_FALSE(append(list, entry(2, 1)));
  EXPECT_TRUE(append(list, entry(0, 1)));
  EXPECT_FALSE(append(list, entry(0, 2)));
  EXPECT_TRUE(append(list, entry(1, 2)));
  EXPECT_FALSE(append(list, entry(1, 3)));
  EXPECT_TRUE(list.remove(0));
  EXPECT_FALSE(list.remove(0));
  EXPECT_TRUE(append(list, entry(0, 3)));
}

TEST(TagMatchList, EntriesAddedOutOfPhaseMatchNothingUntilSoftwareHasSeenAll) {  // R3
  TagMatchList list(8);
  append(list, entry(0, 1));
  list.count_unexpected();
  EXPECT_FALSE(list.in_phase());
  append(list, entry(1, 1));
  append(list, entry(2, 2));
  EXPECT_EQ(search(list, 2), kNoTagEntry);
  EXPECT_EQ(search(list, 1), 0u);  // the older one goes on matching
  EXPECT_EQ(search(list, 1), kNoTagEntry);
  list.count_unexpected();
  list.acknowledge(1);
  EXPECT_EQ(search(list, 2), kNoTagEntry);
  list.acknowledge(2);
  EXPECT_EQ(search(list, 2), 2u);
  EXPECT_EQ(search(list, 1), 1u);
}

TEST(TagMatchList, WhatMatchedInAnEarlierPhaseGoesOnMatching) {  // R3
  TagMatchList list(8);
  list.count_unexpected();
  append(list, entry(0, 1));
  list.acknowledge(1);
  list.count_unexpected();
  append(list, entry(1, 1));
  EXPECT_EQ(search(list, 1), 0u);
  EXPECT_EQ(search(list, 1), kNoTagEntry);
}

TEST(TagMatchList, ASyncIsWantedBeyond0x3fffUnacknowledged) {  // R4
  TagMatchList list(2);
  for (int i = 0; i < 0x3fff; ++i) list.count_unexpected();
  EXPECT_FALSE(list.wants_sync());
  list.count_unexpected();
  EXPECT_TRUE(list.wants_sync());
  list.acknowledge(1);
  EXPECT_FALSE(list.wants_sync());
}

TEST(TagMatchList, CountsAreModulo2To16) {  // R4
  TagMatchList list(2);
  list.acknowledge(0xfff0);
  for (int i = 0; i < 0xfff0; ++i) list.count_unexpected();
  EXPECT_TRUE(list.in_phase());
  for (int i = 0; i < 0x20; ++i) list.count_unexpected();
  EXPECT_FALSE(list.wants_sync());
  list.acknowledge(0x10);
  EXPECT_TRUE(list.in_phase());
}

TEST(TagMatchList, TheOverflowIsOnlyWhatWasRead) {  // R5
  TagMatchList list(8);
  list.append(entry(0, 10), true);
  StoredTag bytes[4];
  for (std::uint32_t i = 1; i < 5; ++i)
    bytes[i - 1] = TagMatchList::bytes_of(entry(i, 10 + i), list.append(entry(i, 10 + i), false));
  EXPECT_EQ(list.in_cam(), 1u);
  EXPECT_EQ(list.in_overflow(), 4u);
  EXPECT_EQ(search(list, 11), kNoTagEntry);
  bytes[0].tag = 99;
  bytes[0].buffer.length = 5;
  ASSERT_TRUE(list.holds(bytes[0]));
  list.move_in(bytes[0]);
  EXPECT_FALSE(list.holds(bytes[0])) << "it is in the CAM";
  EXPECT_EQ(list.entry(1).buffer.length, 5u);
  EXPECT_EQ(search(list, 11), kNoTagEntry);
  EXPECT_EQ(search(list, 99), 1u);
  list.take(bytes[2], false);
  EXPECT_TRUE(list.consumed(3));
  list.drop(bytes[1], true);
  EXPECT_FALSE(list.consumed(2));
  EXPECT_TRUE(list.accepts(2));
  EXPECT_EQ(list.in_overflow(), 1u);
  bytes[3].live = 0;
  EXPECT_FALSE(list.holds(bytes[3]));
}

TEST(TagMatchList, AnEntryOfTheOverflowIsHeldByItsNumber) {  // R3
  TagMatchList list(8);
  const StoredTag old = TagMatchList::bytes_of(entry(0, 1), list.append(entry(0, 1), false));
  list.count_unexpected();
  const StoredTag held = TagMatchList::bytes_of(entry(1, 1), list.append(entry(1, 1), false));
  EXPECT_TRUE(TagMatchList::matches(old, 1, list.held_from()));
  EXPECT_FALSE(TagMatchList::matches(held, 1, list.held_from()));
  list.acknowledge(1);
  EXPECT_TRUE(TagMatchList::matches(held, 1, list.held_from()));
  EXPECT_FALSE(TagMatchList::matches(held, 2, list.held_from()));
}

TEST(TagMatchList, AnEntryBehindOthersOnTheirWayIsNotSettled) {  // R7
  TagMatchList list(8);
  list.append(entry(0, 1), true);
  const StoredTag on_its_way = TagMatchList::bytes_of(entry(1, 2), list.append(entry(1, 2), false));
  list.append(entry(2, 3), true);
  EXPECT_TRUE(list.settled(0));
  EXPECT_FALSE(list.settled(2));
  list.move_in(on_its_way);
  EXPECT_TRUE(list.settled(2));
  EXPECT_EQ(list.youngest(), 2u);
}

TEST(TagMatchList, WhatIsSpilledIsInFrontOfTheOverflow) {  // R6
  TagMatchList list(8);
  for (std::uint32_t i = 0; i < 3; ++i) list.append(entry(i, i), i < 2);
  EXPECT_TRUE(list.settled(1));
  list.consume(0);
  list.spill(1);
  EXPECT_TRUE(list.in_overflow(1));
  EXPECT_TRUE(list.settled(0)) << "older than all of it";
  list.put_back(0);
  EXPECT_EQ(list.in_overflow(), 3u);
  EXPECT_EQ(list.youngest(), kNoTagEntry);
}

TEST(TagMatchList, WildcardsUpToTheResultAreCounted) {
  TagMatchList list(8);
  list.append(entry(0, 0x10, 0xf0), true);
  list.append(entry(1, 7), true);
  list.append(entry(2, 0x20, 0xf0), true);
  EXPECT_EQ(list.wildcards_before(0), 1u);
  EXPECT_EQ(list.wildcards_before(1), 1u);
  EXPECT_EQ(list.wildcards_before(2), 2u);
  EXPECT_EQ(list.wildcards_before(kNoTagEntry), 2u);
  list.remove(0);
  EXPECT_EQ(list.wildcards_before(1), 0u);
}

TEST(TagMatchList, ARestoredEntryIsAsOldAsItWas) {  // R6
  TagMatchList list(8);
  append(list, entry(0, 7));
  append(list, entry(1, 7));
  ASSERT_EQ(search(list, 7), 0u);
  ASSERT_TRUE(list.consumed(0));
  list.restore(0);
  EXPECT_FALSE(list.consumed(0)) << "only once";
  EXPECT_EQ(list.size(), 2u);
  EXPECT_EQ(search(list, 7), 0u);
  EXPECT_EQ(search(list, 7), 1u);
}

// A reference for the same rules: a plain list that is searched from its start.
class Reference {
 public:
  explicit Reference(std::uint32_t max) : max_(max) {}
  bool append(const TagEntry& e, bool held) {
    if (e.handle >= max_ || find(e.handle) != entries_.end()) return false;
    entries_.push_back({e, held});
    return true;
  }
  bool remove(std::uint32_t handle) {
    const auto it = find(handle);
    if (it == entries_.end()) return false;
    entries_.erase(it);
    return true;
  }
  std::uint32_t search(std::uint64_t tag) {
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (it->held || (tag & it->entry.mask) != it->entry.tag) continue;
      const std::uint32_t handle = it->entry.handle;
      consumed_.emplace(it->entry, static_cast<std::size_t>(it - entries_.begin()));
      entries_.erase(it);
      return handle;
    }
    return kNoTagEntry;
  }
  void restore() {
    entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(consumed_->second), {consumed_->first, false});
  }
  void release() {
    for (Held& h : entries_) h.held = false;
  }

 private:
  struct Held {
    TagEntry entry;
    bool held;
  };
  std::vector<Held>::iterator find(std::uint32_t handle) {
    return std::find_if(entries_.begin(), entries_.end(), [&](const Held& h) { return h.entry.handle == handle; });
  }
  std::uint32_t max_;
  std::vector<Held> entries_;
  std::optional<std::pair<TagEntry, std::size_t>> consumed_;
};

TEST(TagMatchList, RandomOperationsAgreeWithAPlainList) {
  const char* text = std::getenv("RXNIC_SEED");
  const std::uint64_t seed = text == nullptr ? 3 : std::strtoull(text, nullptr, 0);
  std::cout << "RXNIC_SEED=" << seed << '\n';
  std::mt19937_64 random(seed);
  constexpr std::uint32_t kMax = 48;
  TagMatchList list(kMax);
  Reference reference(kMax);
  std::size_t matches = 0, misses = 0, refused = 0, restored = 0;
  for (int i = 0; i < 200000; ++i) {
    const auto handle = static_cast<std::uint32_t>(random() % (kMax + 2));
    const std::uint64_t tag = random() % 8;
    switch (random() % 8) {
      case 0:
      case 1:
      case 2: {
        const std::uint64_t mask = random() % 2 ? kExact : random() % 8;
        const TagEntry e = entry(handle, tag & mask, mask);
        const bool ok = reference.append(e, !list.in_phase());
        ASSERT_EQ(append(list, e), ok) << "step " << i;
        refused += !ok;
        break;
      }
      case 3: {
        const bool ok = reference.remove(handle);
        ASSERT_EQ(list.remove(handle), ok) << "step " << i;
        break;
      }
      case 4:
        list.count_unexpected();
        break;
      case 5:
        list.acknowledge(list.unexpected());
        reference.release();
        break;
      default: {
        const std::uint32_t expected = reference.search(tag);
        ASSERT_EQ(search(list, tag), expected) << "step " << i;
        (expected == kNoTagEntry ? misses : matches)++;
        if (expected != kNoTagEntry && random() % 4 == 0) {
          list.restore(expected);
          reference.restore();
          ++restored;
        }
      }
    }
  }
  EXPECT_GT(matches, 10000u);
  EXPECT_GT(misses, 1000u);
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(restored, 1000u);
}

TEST(TagMatchList, SixtyFourThousandEntriesAreNotSearchedOneByOne) {
  constexpr std::uint32_t kMany = 1u << 16;
  TagMatchList list(kMany);
  for (std::uint32_t i = 0; i < kMany; ++i) ASSERT_TRUE(append(list, entry(i, i % 64 ? i : 3, kExact)));
  // Quadratic work would take minutes.
  for (std::uint32_t i = kMany - 1; i > 0; --i) ASSERT_EQ(search(list, i % 64 ? i : 3) == kNoTagEntry, false);
}

}  // namespace
}  // namespace rxnic::tag_match_list_test
