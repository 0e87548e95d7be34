// SPDX-License-Identifier: Apache-2.0
// Tag matching through the whole NIC (rules 5): the buffer that a message is written to, its completions, phases, and
// matches that are taken back.
#include "testbench/unit/model/nic/nic_fixture.h"

namespace rxnic::nic_tags_test {
namespace {

using Op = Operation;

class NicTags : public NicTest {
 protected:
  static constexpr std::uint32_t kQpn = 0x21;
  static constexpr std::uint64_t kFull = ~std::uint64_t{0};

  void make(std::uint32_t wqes, std::uint32_t bytes = 4000) {
    queue = &srq(7, WqLayout::kLinkedList, 16, [](WqContext& c) { c.tag_matching = true; });
    q = &qp(Transport::kRc, kQpn, queue);
    if (wqes > 0) buffer = buffers(*queue, wqes, bytes);
    tags = region(16 * 4096, {kAllRights, kPd, 2000});
  }
  // The buffer of entry `handle`.
  std::uint64_t tagged(std::uint32_t handle) const { return tags.va + handle * 4096; }
  void add(std::uint32_t handle, std::uint64_t tag, std::uint64_t at_ns = 0, std::uint64_t mask = kFull,
           std::uint32_t bytes = 4000, bool signaled = false) {
    TagOperation o;
    o.opcode = TagOpcode::kAdd;
    o.signaled = signaled;
    o.srq = queue->id;
    o.wqe_index = 1000 + handle;
    o.entry = {handle, tag, mask, {bytes, raw(tags.key), tagged(handle)}};
    operate(o, at_ns);
  }
  void remove(std::uint32_t handle, bool signaled, std::uint64_t at_ns) {
    TagOperation o;
    o.opcode = TagOpcode::kDelete;
    o.signaled = signaled;
    o.srq = queue->id;
    o.wqe_index = 2000 + handle;
    o.entry.handle = handle;
    operate(o, at_ns);
  }
  void sync(std::uint16_t seen, bool signaled, std::uint64_t at_ns) {
    TagOperation o;
    o.opcode = TagOpcode::kSync;
    o.signaled = signaled;
    o.tm_sync = true;
    o.unexpected_count = seen;
    o.srq = queue->id;
    o.wqe_index = 3000;
    operate(o, at_ns);
  }
  // Sends a message that begins with a TMH and has `bytes` of data; returns all of its bytes.
  ByteVector send_message(std::uint32_t psn, TmhOpcode opcode, std::uint64_t tag, std::uint32_t bytes) {
    ByteVector all = pattern(psn, bytes + kTmhBytes);
    build_tmh({static_cast<std::uint8_t>(opcode), 0xc0ffee, tag}, all.data());
    const std::size_t packets = (all.size() + kMtu - 1) / kMtu;
    for (std::size_t i = 0; i < packets; ++i) {
      const bool last = i + 1 == packets;
      const auto from = all.begin() + static_cast<long>(i * kMtu);
      Request r;
      r.op = packets == 1 ? Op::kSendOnly : i == 0 ? Op::kSendFirst : last ? Op::kSendLast : Op::kSendMiddle;
      r.psn = psn + static_cast<std::uint32_t>(i);
      r.payload = ByteVector(from, last ? all.end() : from + kMtu);
      send(*q, r);
    }
    return all;
  }
  static ByteVector data_of(const ByteVector& message) { return {message.begin() + kTmhBytes, message.end()}; }
  // Whether its wqe_index is a handle (types/completion.h R3).
  static bool names_entry(const Completion& c) { return (c.cqe.flags & (kCqeTagMatch | kCqeTagDataValid)) != 0; }
  static std::uint16_t flags_of(const Completion& c) { return c.cqe.flags & ~kCqeSrq; }
  void expect_tag(std::size_t n, CqeOpcode opcode, std::uint32_t index, std::uint32_t bytes, std::uint16_t flags,
                  std::uint64_t tag) {
    ASSERT_GT(cqes.size(), n);
    const Cqe& c = cqes[n].cqe;
    EXPECT_EQ(cqes[n].cq, kSrqCq) << n;
    EXPECT_EQ(c.status, WcStatus::kSuccess) << n;
    EXPECT_EQ(static_cast<int>(c.opcode), static_cast<int>(opcode)) << n;
    EXPECT_EQ(c.wqe_index, index) << n;
    EXPECT_EQ(c.byte_count, bytes) << n;
    EXPECT_EQ(flags_of(cqes[n]), flags) << n;
    EXPECT_EQ(c.tag, tag) << n;
    EXPECT_EQ(c.tag_context, 0xc0ffeeu) << n;
    EXPECT_EQ(c.srq_number, 7u) << n;
  }

  Queue* queue = nullptr;
  QpContext* q = nullptr;
  std::vector<DataSegment> buffer;
  Region tags;
};

TEST_F(NicTags, EagerMatchInOnePacketIsOneCompletion) {
  make(2);
  add(3, 0xabc);
  expect_written(tagged(3), data_of(send_message(100, TmhOpcode::kEager, 0xabc, 500)));
  run();
  ASSERT_EQ(cqes.size(), 1u);
  expect_tag(0, CqeOpcode::kTagReceive, 3, 500, kCqeTagMatch | kCqeTagDataValid, 0xabc);
  expect_answers(1);
  expect_ack(0, 100, 1);
}

TEST_F(NicTags, EagerMatchOfSeveralPacketsIsTwoCompletions) {
  make(2);
  add(3, 0xabc);
  add(4, 0xabd);
  expect_written(tagged(3), data_of(send_message(100, TmhOpcode::kEager, 0xabc, 3 * kMtu)));
  expect_written(tagged(4), data_of(send_message(104, TmhOpcode::kEager, 0xabd, kMtu - 15)));
  run();
  ASSERT_EQ(cqes.size(), 4u);
  expect_tag(0, CqeOpcode::kTagReceive, 3, 0, kCqeTagMatch, 0xabc);
  expect_tag(1, CqeOpcode::kTagReceive, 3, 3 * kMtu, kCqeTagDataValid, 0xabc);
  expect_tag(2, CqeOpcode::kTagReceive, 4, 0, kCqeTagMatch, 0xabd);
  expect_tag(3, CqeOpcode::kTagReceive, 4, kMtu - 15, kCqeTagDataValid, 0xabd);
  expect_answers(2);
}

TEST_F(NicTags, MissTakesAWqeWithTheHeaders) {
  make(2);
  add(3, 0xabc);
  expect_written(buffer[0].address, send_message(100, TmhOpcode::kEager, 0x111, 500));
  expect_written(buffer[1].address, send_message(101, TmhOpcode::kEager, 0x112, 2 * kMtu));
  run();
  ASSERT_EQ(cqes.size(), 2u);
  expect_tag(0, CqeOpcode::kTagReceive, 0, 500 + kTmhBytes, 0, 0x111);
  expect_tag(1, CqeOpcode::kTagReceive, 1, 2 * kMtu + kTmhBytes, 0, 0x112);
}

TEST_F(NicTags, MissIsAnOrdinaryReceiveByPolicy) {
  set("tag_match_cam.unexpected_status=\"recv\"");
  make(1);
  expect_written(buffer[0].address, send_message(100, TmhOpcode::kEager, 0x111, 500));
  run();
  ASSERT_EQ(cqes.size(), 1u);
  EXPECT_EQ(cqes[0].cqe.opcode, CqeOpcode::kReceive);
}

TEST_F(NicTags, NoTagTakesAWqeWhateverIsInTheList) {
  make(1);
  add(3, 0, 0, 0);
  expect_written(buffer[0].address, send_message(100, TmhOpcode::kNoTag, 0xabc, 50));
  run();
  ASSERT_EQ(cqes.size(), 1u);
  EXPECT_EQ(cqes[0].cqe.opcode, CqeOpcode::kTagNoTag);
  expect_receive(0, kQpn, 0, 50 + kTmhBytes);
}

TEST_F(NicTags, OldestOfTwoMatchesWinsAndIsConsumed) {
  make(1);
  add(5, 0x100, 0, 0xf00);
  add(2, 0x123);
  expect_written(tagged(5), data_of(send_message(100, TmhOpcode::kEager, 0x123, 10)));
  expect_written(tagged(2), data_of(send_message(101, TmhOpcode::kEager, 0x123, 20)));
  expect_written(buffer[0].address, send_message(102, TmhOpcode::kEager, 0x123, 30));
  run();
  ASSERT_EQ(cqes.size(), 3u);
  EXPECT_EQ(cqes[0].cqe.wqe_index, 5u);
  EXPECT_EQ(cqes[1].cqe.wqe_index, 2u);
  expect_tag(2, CqeOpcode::kTagReceive, 0, 30 + kTmhBytes, 0, 0x123);
}

// More entries than the CAM holds: the oldest wins wherever it is.
TEST_F(NicTags, OverflowIsSearchedToo) {
  set("tag_match_cam.entries=2");
  make(1);
  for (std::uint32_t i = 0; i < 8; ++i) add(i, 0x100 + i % 4);
  std::uint32_t psn = 100;
  for (const std::uint32_t handle : {3u, 7u, 2u, 0u, 4u, 1u, 6u, 5u}) {
    expect_written(tagged(handle), data_of(send_message(psn++, TmhOpcode::kEager, 0x100 + handle % 4, 10 + handle)));
  }
  expect_written(buffer[0].address, send_message(psn, TmhOpcode::kEager, 0x100, 9));
  run();
  ASSERT_EQ(cqes.size(), 9u);
  std::size_t n = 0;
  for (const std::uint32_t handle : {3u, 7u, 2u, 0u, 4u, 1u, 6u, 5u}) {
    expect_tag(n++, CqeOpcode::kTagReceive, handle, 10 + handle, kCqeTagMatch | kCqeTagDataValid, 0x100 + handle % 4);
  }
}

TEST_F(NicTags, OperationsCompleteWhenSignaled) {
  make(1);
  add(1, 0x1, 0, kFull, 4000, true);
  add(2, 0x2, 0, kFull, 4000, false);
  remove(1, true, 1000);
  remove(2, false, 1000);
  sync(0, true, 2000);
  at(10'000);
  expect_written(buffer[0].address, send_message(100, TmhOpcode::kEager, 0x1, 8));
  run();
  std::vector<std::pair<CqeOpcode, std::uint32_t>> found;
  for (const Completion& c : cqes) {
    EXPECT_EQ(c.cq, kSrqCq);
    EXPECT_EQ(c.cqe.status, WcStatus::kSuccess);
    if (c.cqe.wqe_index >= 1000) found.emplace_back(c.cqe.opcode, c.cqe.wqe_index);
  }
  const std::vector<std::pair<CqeOpcode, std::uint32_t>> expected = {
      {CqeOpcode::kTagAdd, 1001}, {CqeOpcode::kTagDelete, 2001}, {CqeOpcode::kTagSync, 3000}};
  EXPECT_EQ(found, expected);
}

TEST_F(NicTags, DeleteOfAConsumedEntryFails) {
  make(1);
  add(1, 0x1);
  expect_written(tagged(1), data_of(send_message(100, TmhOpcode::kEager, 0x1, 8)));
  remove(1, false, 50'000);
  run();
  ASSERT_EQ(cqes.size(), 2u);
  EXPECT_EQ(cqes[1].cqe.status, WcStatus::kTagMatch);
  EXPECT_EQ(cqes[1].cqe.opcode, CqeOpcode::kTagDelete);
  EXPECT_EQ(cqes[1].cqe.wqe_index, 2001u);
}

// After an unexpected message, entries that software adds before it has seen the message match nothing; older ones do.
TEST_F(NicTags, EntriesAddedOutOfPhaseMatchOnlyAfterTheSync) {
  make(4);
  add(1, 0x1);
  expect_written(buffer[0].address, send_message(100, TmhOpcode::kEager, 0x9, 8));  // unexpected: out of phase
  add(2, 0x2, 20'000, kFull, 4000, true);
  at(30'000);
  expect_written(buffer[1].address, send_message(101, TmhOpcode::kEager, 0x2, 8));   // entry 2 is too new
  expect_written(tagged(1), data_of(send_message(102, TmhOpcode::kEager, 0x1, 8)));  // entry 1 is not
  sync(1, true, 50'000);                                                             // one of two seen
  at(60'000);
  expect_written(buffer[2].address, send_message(103, TmhOpcode::kEager, 0x2, 8));
  sync(3, true, 80'000);
  at(90'000);
  expect_written(tagged(2), data_of(send_message(104, TmhOpcode::kEager, 0x2, 8)));
  run();
  ASSERT_EQ(cqes.size(), 8u);
  EXPECT_EQ(cqes[0].cqe.wqe_index, 0u);
  EXPECT_EQ(cqes[1].cqe.opcode, CqeOpcode::kTagAdd);
  EXPECT_EQ(flags_of(cqes[1]), kCqeTagSyncRequest);
  expect_tag(2, CqeOpcode::kTagReceive, 1, 8 + kTmhBytes, 0, 0x2);
  expect_tag(3, CqeOpcode::kTagReceive, 1, 8, kCqeTagMatch | kCqeTagDataValid, 0x1);
  EXPECT_EQ(flags_of(cqes[4]), kCqeTagSyncRequest);
  expect_tag(5, CqeOpcode::kTagReceive, 2, 8 + kTmhBytes, 0, 0x2);
  EXPECT_EQ(cqes[6].cqe.opcode, CqeOpcode::kTagSync);
  EXPECT_EQ(flags_of(cqes[6]), 0u);
  expect_tag(7, CqeOpcode::kTagReceive, 2, 8, kCqeTagMatch | kCqeTagDataValid, 0x2);
}

TEST_F(NicTags, NoTagDoesNotCountAsUnexpected) {
  make(2);
  expect_written(buffer[0].address, send_message(100, TmhOpcode::kNoTag, 0x9, 8));
  add(2, 0x2, 20'000, kFull, 4000, true);
  at(30'000);
  expect_written(tagged(2), data_of(send_message(101, TmhOpcode::kEager, 0x2, 8)));
  run();
  ASSERT_EQ(cqes.size(), 3u);
  EXPECT_EQ(flags_of(cqes[1]), 0u);
  EXPECT_EQ(cqes[2].cqe.wqe_index, 2u);
}

TEST_F(NicTags, EagerPayloadLongerThanTheBufferIsALengthError) {
  make(2);
  add(3, 0xabc, 0, kFull, 499);
  send_message(100, TmhOpcode::kEager, 0xabc, 500);
  run();
  expect_answers(1);
  expect_ack(0, 100, 0, 0x61);
  ASSERT_EQ(cqes.size(), 1u);
  expect_error(0, kQpn, 3, WcStatus::kLocalLength);
  EXPECT_TRUE(names_entry(cqes[0]));
  EXPECT_EQ(cqes[0].cq, kSrqCq);
  EXPECT_EQ(cqes[0].cqe.opcode, CqeOpcode::kTagReceive);
  EXPECT_EQ(events(EventType::kQpLastWqeReached), 1u);
}

// A match behind a message that found no WQE: refused with it, its entry is posted again and matches the retry.
TEST_F(NicTags, MatchBehindAnRnrIsTakenBack) {
  make(0);
  add(1, 0x1);
  add(2, 0x2);
  const auto late = buffers(*queue, 1, 4000);
  ring(*queue, 50'000);
  const auto burst = [&](bool last_time) {
    const ByteVector miss = send_message(100, TmhOpcode::kEager, 0x9, 40);
    const ByteVector one = send_message(101, TmhOpcode::kEager, 0x1, 2 * kMtu);
    const ByteVector two = send_message(104, TmhOpcode::kEager, 0x2, 60);
    if (!last_time) return;
    expect_written(late[0].address, miss);
    expect_written(tagged(1), data_of(one));
    expect_written(tagged(2), data_of(two));
  };
  burst(false);
  at(100'000);
  burst(true);
  sync(1, true, 200'000);  // the refused miss was not counted twice: in phase again
  run();
  expect_answers(4);
  expect_ack(0, 100, 0, 0x20 | kRnrTimer);
  expect_ack(1, 100, 1);
  expect_ack(2, 103, 2);
  expect_ack(3, 104, 3);
  ASSERT_EQ(cqes.size(), 5u);
  expect_tag(0, CqeOpcode::kTagReceive, 0, 40 + kTmhBytes, 0, 0x9);
  expect_tag(1, CqeOpcode::kTagReceive, 1, 0, kCqeTagMatch, 0x1);
  expect_tag(2, CqeOpcode::kTagReceive, 1, 2 * kMtu, kCqeTagDataValid, 0x1);
  expect_tag(3, CqeOpcode::kTagReceive, 2, 60, kCqeTagMatch | kCqeTagDataValid, 0x2);
  EXPECT_EQ(flags_of(cqes[4]), 0u);
}

// The buffer of a match is checked like any other: a bad lkey is a local error.
TEST_F(NicTags, BadBufferOfAnEntryIsALocalError) {
  make(2);
  TagOperation o;
  o.opcode = TagOpcode::kAdd;
  o.srq = queue->id;
  o.entry = {3, 0xabc, kFull, {100, 0x77700, 0x1000}};
  operate(o, 0);
  send_message(100, TmhOpcode::kEager, 0xabc, 50);
  run();
  expect_answers(1);
  expect_ack(0, 100, 0, 0x63);
  ASSERT_EQ(cqes.size(), 1u);
  expect_error(0, kQpn, 3, WcStatus::kLocalProtection);
  EXPECT_TRUE(names_entry(cqes[0]));
}

// An unexpected message that fails completes its WQE: its number is not a handle.
TEST_F(NicTags, UnexpectedMessageThatFailsNamesAWqe) {
  make(2, 100);
  add(0, 0xabc);
  send_message(100, TmhOpcode::kEager, 0x9, 100);
  run();
  ASSERT_EQ(cqes.size(), 1u);
  expect_error(0, kQpn, 0, WcStatus::kLocalLength);
  EXPECT_FALSE(names_entry(cqes[0]));
}

// The interruption comes by a packet that is none of the message's.
TEST_F(NicTags, MatchedMessageThatAnotherRequestInterruptsCompletesItsEntryInError) {
  make(2);
  add(3, 0xabc);
  ByteVector first = pattern(100, kMtu);
  build_tmh({static_cast<std::uint8_t>(TmhOpcode::kEager), 0xc0ffee, 0xabc}, first.data());
  send(*q, {.op = Op::kSendFirst, .psn = 100, .payload = first});
  send(*q, {.op = Op::kWriteOnly, .psn = 101, .bytes = 5, .va = tags.va, .rkey = tags.key});
  expect_written(tagged(3), data_of(first));
  run();
  expect_answers(1);
  expect_ack(0, 101, 0, 0x61);
  ASSERT_EQ(cqes.size(), 2u);
  EXPECT_NE(cqes[1].cqe.status, WcStatus::kSuccess);
  EXPECT_EQ(cqes[1].cqe.wqe_index, 3u);
  EXPECT_TRUE(names_entry(cqes[1]));
  EXPECT_EQ(cqes[1].cqe.opcode, CqeOpcode::kTagReceive);
  EXPECT_EQ(cqes[1].cq, kSrqCq);
}

// A matched message whose middle is refused completes its entry in error, on the SRQ's CQ.
TEST_F(NicTags, MatchedMessageThatFailsCompletesItsEntryInError) {
  make(2);
  add(3, 0xabc);
  ByteVector first = pattern(100, kMtu);
  build_tmh({static_cast<std::uint8_t>(TmhOpcode::kEager), 0xc0ffee, 0xabc}, first.data());
  send(*q, {.op = Op::kSendFirst, .psn = 100, .payload = first});
  send(*q, {.op = Op::kSendMiddle, .psn = 101, .bytes = 5});
  expect_written(tagged(3), data_of(first));
  run();
  expect_answers(1);
  expect_ack(0, 101, 0, 0x61);
  ASSERT_EQ(cqes.size(), 2u);
  expect_tag(0, CqeOpcode::kTagReceive, 3, 0, kCqeTagMatch, 0xabc);
  expect_error(1, kQpn, 3, WcStatus::kRemoteInvalidRequest);
  EXPECT_TRUE(names_entry(cqes[1]));
  EXPECT_EQ(cqes[1].cqe.opcode, CqeOpcode::kTagReceive);
  EXPECT_EQ(cqes[1].cq, kSrqCq);
}

// The QP fails for another reason in the meantime.
TEST_F(NicTags, MatchedMessageOfAQpThatFailsElsewhereIsFlushed) {
  make(2);
  add(3, 0xabc);
  request_of_ours({.qpn = q->qpn,
                   .first_psn = Psn{7},
                   .opcode = CqeOpcode::kRdmaRead,
                   .wqe_index = 77,
                   .bytes = 8,
                   .va = 0x1000,
                   .lkey = Key{0x77700}});
  ByteVector first = pattern(100, kMtu);
  build_tmh({static_cast<std::uint8_t>(TmhOpcode::kEager), 0xc0ffee, 0xabc}, first.data());
  send(*q, {.op = Op::kSendFirst, .psn = 100, .payload = first});
  expect_written(tagged(3), data_of(first));
  send(*q, {.op = Op::kReadResponseOnly, .psn = 7, .bytes = 8});
  run();
  ASSERT_EQ(cqes.size(), 3u);
  std::size_t flushed = 0;
  for (const Completion& c : cqes) {
    if (c.cqe.status != WcStatus::kFlushed) continue;
    ++flushed;
    EXPECT_EQ(c.cq, kSrqCq);
    EXPECT_EQ(c.cqe.wqe_index, 3u);
    EXPECT_TRUE(names_entry(c));
    EXPECT_EQ(c.cqe.opcode, CqeOpcode::kTagReceive);
  }
  EXPECT_EQ(flushed, 1u);
}

}  // namespace
}  // namespace rxnic::nic_tags_test
