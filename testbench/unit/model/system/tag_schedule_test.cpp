// SPDX-License-Identifier: Apache-2.0
#include "model/system/tag_schedule.h"

#include <gtest/gtest.h>

namespace rxnic::tag_schedule_test {
namespace {

using Action = TagProgram::Action;
constexpr std::uint64_t kExact = ~std::uint64_t{0};

TagSchedule schedule(std::uint32_t entries, std::vector<TagPost> posts) {
  TagListParams p;
  p.srq = WqId{3};
  p.entries = p.buffers = entries;
  p.buffer_bytes = 64;
  return {p, std::move(posts)};
}
Cqe cqe_of(CqeOpcode opcode, std::uint32_t entry, std::uint16_t flags, std::uint64_t tag = 0) {
  Cqe c;
  c.opcode = opcode;
  c.wqe_index = entry;
  c.flags = flags;
  c.tag = tag;
  return c;
}
Cqe matched(std::uint32_t entry) { return cqe_of(CqeOpcode::kTagReceive, entry, kCqeTagMatch | kCqeTagDataValid); }
Cqe unexpected(std::uint64_t tag) { return cqe_of(CqeOpcode::kTagReceive, 0, 0, tag); }
Cqe deleted(std::uint32_t entry, bool ok) {
  Cqe c = cqe_of(CqeOpcode::kTagDelete, entry, 0);
  if (!ok) c.status = WcStatus::kTagMatch;
  return c;
}

TEST(TagSchedule, AReceiveSearchesTheUnexpectedMessagesFirst) {  // R1, R4, R5
  TagSchedule s = schedule(4, {{100, 0x20, 0xf0}, {200, 0x31, kExact}, {300, 0x31, kExact}});
  for (const std::uint64_t tag : {0x31u, 0x25u, 0x24u})
    EXPECT_EQ(s.completed(unexpected(tag)).kind, Action::Kind::kNone);
  EXPECT_EQ(s.next_ps(), 100u);
  EXPECT_EQ(s.post().kind, Action::Kind::kNone) << "it takes the oldest that its mask admits, 0x25";
  EXPECT_EQ(s.post().kind, Action::Kind::kNone) << "0x31";
  const Action last = s.post();
  EXPECT_EQ(last.kind, Action::Kind::kAppend);
  EXPECT_EQ(last.entry, 0u);
  const auto op = s.operation(last);
  ASSERT_TRUE(op.has_value());
  EXPECT_EQ(op->entry.tag, 0x31u);
  EXPECT_EQ(op->unexpected_count, 3u);
  EXPECT_FALSE(s.next_ps().has_value());
  const Histogram& depths = s.unexpected_depths();
  EXPECT_EQ(depths.count(), 3u);
  EXPECT_EQ(depths.max(), 1u) << "passed 1 for 0x25, 0 for 0x31, and the 1 that was left";
}

TEST(TagSchedule, AReceiveWaitsForAHandle) {  // R2
  TagSchedule s = schedule(1, {{100, 1, kExact}, {200, 2, kExact}});
  EXPECT_EQ(s.post().entry, 0u);
  EXPECT_FALSE(s.next_ps().has_value());
  s.completed(cqe_of(CqeOpcode::kTagReceive, 0, kCqeTagMatch));
  EXPECT_FALSE(s.next_ps().has_value()) << "its data is to come";
  s.completed(cqe_of(CqeOpcode::kTagReceive, 0, kCqeTagDataValid));
  EXPECT_EQ(s.next_ps(), 200u);
}

TEST(TagSchedule, APostedReceiveOfAnUnexpectedMessageIsDeleted) {  // R3
  TagSchedule s = schedule(4, {{100, 5, kExact}, {200, 5, kExact}, {300, 5, kExact}});
  s.post();
  s.post();
  const Action first = s.completed(unexpected(5));
  EXPECT_EQ(first.kind, Action::Kind::kDelete);
  EXPECT_EQ(first.entry, 0u) << "the oldest one";
  s.completed(deleted(0, true));
  const Action second = s.completed(unexpected(5));
  EXPECT_EQ(second.entry, 1u);
  s.completed(matched(1));
  s.completed(deleted(1, false));
  // The second message has no receive: the next one finds it.
  EXPECT_EQ(s.post().kind, Action::Kind::kNone);
}

}  // namespace
}  // namespace rxnic::tag_schedule_test
