// SPDX-License-Identifier: Apache-2.0
// The driver's side of receive queues and tag lists: which slot, which tag comes next.
#include "model/system/receive_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "model/system/tag_program.h"

namespace rxnic::receive_ring_test {
namespace {

constexpr std::uint32_t kSlots = 64;

class Ring {
 public:
  explicit Ring(WqeOrder order, std::uint64_t seed = 1, WqLayout layout = WqLayout::kLinkedList)
      : ring_(params(order, seed, layout)) {
    ring_.post(memory_, true);
  }
  // The slots that were posted since the last call, in the order of the list.
  std::vector<std::uint32_t> posted() {
    std::vector<std::uint32_t> slots;
    for (; followed_ < ring_.producer_index(); ++followed_) {
      slots.push_back(next_);
      next_ = memory_.load<NextSegment>(BusAddress{next_ * std::uint64_t{32}}).next_wqe_index;
    }
    return slots;
  }
  std::vector<std::uint32_t> complete(const std::vector<std::uint32_t>& slots) {
    for (const std::uint32_t slot : slots) ring_.complete(slot);
    ring_.post(memory_, true);
    return posted();
  }

 private:
  static ReceiveRingParams params(WqeOrder order, std::uint64_t seed, WqLayout layout) {
    ReceiveRingParams p;
    p.queue.kind = WqKind::kSrq;
    p.queue.layout = layout;
    p.queue.slots = kSlots;
    p.queue.stride = 32;
    p.wqes = kSlots - 1;
    p.buffer_bytes = p.buffer_stride = 64;
    p.order = order;
    p.seed = seed;
    return p;
  }
  LocalMemory memory_;
  ReceiveRing ring_;
  std::uint32_t followed_ = 0, next_ = 0;
};

std::vector<std::uint32_t> ascending(std::uint32_t n) {
  std::vector<std::uint32_t> v(n);
  for (std::uint32_t i = 0; i < n; ++i) v[i] = i;
  return v;
}

TEST(ReceiveRing, SlotsComeInTheOrderOfTheirCompletion) {  // R2
  Ring ring(WqeOrder::kCompletion);
  EXPECT_EQ(ring.posted(), ascending(kSlots - 1));
  EXPECT_EQ(ring.complete({7, 3, 5}), (std::vector<std::uint32_t>{63, 7, 3}));
  EXPECT_EQ(ring.complete({1}), (std::vector<std::uint32_t>{5}));
}

TEST(ReceiveRing, SequentialSlotsGoRoundTheRing) {  // slot_order.h R1
  Ring ring(WqeOrder::kSequential);
  EXPECT_EQ(ring.posted(), ascending(kSlots - 1));
  EXPECT_EQ(ring.complete({7, 3, 5}), (std::vector<std::uint32_t>{63, 3, 5}));
  EXPECT_EQ(ring.complete({6, 1, 9}), (std::vector<std::uint32_t>{7, 9, 1}));
  EXPECT_EQ(ring.complete({63}), (std::vector<std::uint32_t>{6}));
}

TEST(ReceiveRing, ShuffledSlotsFollowNoOrderButTheSeed) {  // slot_order.h R2
  const auto orders = [](std::uint64_t seed) {
    Ring ring(WqeOrder::kShuffled, seed);
    std::vector<std::uint32_t> all = ring.posted();
    for (std::uint32_t round = 0; round < 20; ++round) {
      const std::vector<std::uint32_t> used(all.end() - (kSlots - 1), all.end() - 40);
      const std::vector<std::uint32_t> more = ring.complete(used);
      EXPECT_EQ(more.size(), used.size());
      // A slot is handed out only when its WQE is complete.
      const std::set<std::uint32_t> in_use(all.end() - 40, all.end());
      for (const std::uint32_t slot : more) EXPECT_FALSE(in_use.contains(slot));
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  };
  const std::vector<std::uint32_t> first = orders(1);
  EXPECT_EQ(orders(1), first);
  EXPECT_NE(orders(2), first);
  std::size_t sequential = 0;
  for (std::size_t i = 1; i < first.size(); ++i) sequential += first[i] == first[i - 1] + 1;
  EXPECT_LT(sequential, first.size() / 10);
  EXPECT_EQ(std::set<std::uint32_t>(first.begin(), first.begin() + kSlots - 1).size(), kSlots - 1) << "each once";
}

TEST(ReceiveRing, ACyclicQueueHasTheOrderOfItsRing) {  // R3
  LocalMemory memory;
  for (const WqeOrder order : {WqeOrder::kCompletion, WqeOrder::kSequential, WqeOrder::kShuffled}) {
    ReceiveRingParams p;
    p.queue.slots = 4;
    p.queue.stride = 32;
    p.wqes = 4;
    p.order = order;
    ReceiveRing ring(p);
    EXPECT_TRUE(ring.post(memory, true));
    ring.complete(1);
    EXPECT_FALSE(ring.post(memory, true)) << "slot 0 is not free";
    ring.complete(0);
    EXPECT_TRUE(ring.post(memory, true));
    EXPECT_EQ(ring.producer_index(), 6u);
  }
}

using Action = TagProgram::Action;

TagListParams tag_params(std::uint32_t entries, std::optional<std::vector<std::uint64_t>> tags) {
  TagListParams p;
  p.srq = WqId{3};
  p.entries = entries;
  p.tags = std::move(tags);
  p.first_tag = 100;
  p.buffers = 2;
  p.buffer_bytes = 64;
  p.buffer_base = 0x1000;
  return p;
}
Cqe tag_cqe(std::uint32_t entry, std::uint16_t flags) {
  Cqe c;
  c.opcode = CqeOpcode::kTagReceive;
  c.wqe_index = entry;
  c.flags = flags;
  return c;
}
Cqe unexpected_cqe(std::uint64_t tag) {
  Cqe c = tag_cqe(0, 0);
  c.tag = tag;
  return c;
}
Cqe delete_cqe(std::uint32_t entry, bool ok) {
  Cqe c;
  c.opcode = CqeOpcode::kTagDelete;
  c.wqe_index = entry;
  if (!ok) c.status = WcStatus::kTagMatch;
  return c;
}
constexpr Action append(std::uint32_t entry) { return {Action::Kind::kAppend, entry}; }
std::uint64_t appended(TagProgram& program, std::uint32_t entry) {
  const auto op = program.operation(append(entry));
  EXPECT_TRUE(op.has_value());
  if (!op) return 0;
  EXPECT_EQ(op->opcode, TagOpcode::kAdd);
  EXPECT_EQ(op->entry.handle, entry);
  return op->entry.tag;
}

TEST(TagProgram, TagsAreThoseOfTheMessagesToCome) {  // R1, R2
  TagListParams params = tag_params(2, std::vector<std::uint64_t>{0x105, 0x206, 0x307, 0x408});
  params.mask = 0xff;
  TagProgram program(params);
  const auto first = program.operation(append(0));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->entry.tag, 5u);
  EXPECT_EQ(first->entry.mask, 0xffu);
  EXPECT_EQ(first->entry.buffer.address, 0x1000u);
  EXPECT_EQ(appended(program, 1), 6u);
  EXPECT_EQ(program.completed(tag_cqe(1, kCqeTagMatch)).kind, Action::Kind::kNone) << "its end is to come";
  const Action again = program.completed(tag_cqe(1, kCqeTagDataValid));
  EXPECT_EQ(again.kind, Action::Kind::kAppend);
  EXPECT_EQ(again.entry, 1u);
  EXPECT_EQ(appended(program, 1), 7u);
  program.completed(unexpected_cqe(0x408));  // not posted yet: it will not be
  EXPECT_EQ(program.completed(tag_cqe(0, kCqeTagMatch | kCqeTagDataValid)).kind, Action::Kind::kAppend);
  EXPECT_FALSE(program.operation(append(0)).has_value());
}

TEST(TagProgram, ATagWhoseMessageCameUnexpectedIsDeleted) {  // R3, R5
  TagProgram program(tag_params(2, std::vector<std::uint64_t>{5, 5, 6, 5, 7}));
  EXPECT_EQ(appended(program, 0), 5u);
  EXPECT_EQ(appended(program, 1), 5u);
  const Action oldest = program.completed(unexpected_cqe(5));
  EXPECT_EQ(oldest.kind, Action::Kind::kDelete);
  EXPECT_EQ(oldest.entry, 0u);
  const auto op = program.operation(oldest);
  ASSERT_TRUE(op.has_value());
  EXPECT_EQ(op->opcode, TagOpcode::kDelete);
  EXPECT_EQ(op->entry.handle, 0u);
  EXPECT_TRUE(op->signaled);
  EXPECT_TRUE(op->tm_sync);
  EXPECT_EQ(op->unexpected_count, 1u);
  EXPECT_EQ(program.completed(delete_cqe(0, true)).kind, Action::Kind::kAppend);
  EXPECT_EQ(appended(program, 0), 6u);
  // A deletion that fails: the entry has matched, and the next tag 5 is left out.
  EXPECT_EQ(program.completed(unexpected_cqe(5)).entry, 1u);
  EXPECT_EQ(program.completed(delete_cqe(1, false)).kind, Action::Kind::kNone);
  EXPECT_EQ(program.completed(tag_cqe(1, kCqeTagMatch | kCqeTagDataValid)).kind, Action::Kind::kAppend);
  EXPECT_EQ(appended(program, 1), 7u);
}

TEST(TagProgram, WithoutTagsAnEntryKeepsItsOwn) {  // R4
  TagProgram program(tag_params(4, std::nullopt));
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t entry = 0; entry < 4; ++entry) {
      EXPECT_EQ(appended(program, entry), 100u + entry);
      EXPECT_EQ(program.completed(tag_cqe(entry, kCqeTagMatch | kCqeTagDataValid)).kind, Action::Kind::kAppend);
    }
  }
  EXPECT_EQ(program.completed(unexpected_cqe(100)).kind, Action::Kind::kNone);
  EXPECT_EQ(program.operation(append(0))->unexpected_count, 1u);
}

}  // namespace
}  // namespace rxnic::receive_ring_test
