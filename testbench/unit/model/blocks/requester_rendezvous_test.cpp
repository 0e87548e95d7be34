// SPDX-License-Identifier: Apache-2.0
// R14 of the requester: messages that the device reads itself, and their FIN.
#include "model/types/syndrome.h"
#include "testbench/unit/model/blocks/requester_fixture.h"

namespace rxnic::requester_rendezvous_test {
namespace {

struct RendezvousFixture : RequesterFixture {
  static constexpr std::uint64_t kRemote = 0x12345000;
  static constexpr Key kRkey{0x9900};

  explicit RendezvousFixture(Bench& b, std::uint8_t max_rd_atomic = 4) : RequesterFixture(b) {
    SendQpContext c = context();
    c.queue = {};  // no ring
    c.max_rd_atomic = max_rd_atomic;
    create(c);
  }
  // A request that can be taken in cycle `at`.
  void begin(std::uint64_t at, std::uint32_t handle, std::uint32_t bytes, Key lkey = kLkey, Qpn qpn = kQpn) {
    RendezvousRequest r;
    r.begins = true;
    r.qpn = qpn;
    r.handle = handle;
    r.pd = kPd;
    r.buffer = kVa + 0x100 * handle;
    r.lkey = lkey;
    r.bytes = bytes;
    r.va = kRemote;
    r.rkey = kRkey;
    r.tag = 0x1122334455667788 + handle;
    r.tag_context = 0xabc;
    rendezvous.push(Cycle{at - 1}, r);
  }
  std::uint32_t places_back() {
    std::uint32_t all = 0;
    for (std::size_t n = 0; n < rendezvous_places.size(); ++n) all += rendezvous_places.value(n).count;
    return all;
  }
};

TEST(RequesterRendezvous, IsAReadAndThenAFin) {
  Bench bench;
  RendezvousFixture f(bench);
  f.begin(10, 3, 600);  // three responses
  f.answer(200, AnswerKind::kReadResponse, 102);
  f.answer(400, AnswerKind::kAck, 103);
  bench.run();
  ASSERT_EQ(f.tx.size(), 2u);
  const Headers read = f.frame(0), fin = f.frame(1);
  EXPECT_EQ(read.opcode, opcode_of(Transport::kRc, Operation::kReadRequest));
  EXPECT_EQ(read.va, f.kRemote);
  EXPECT_EQ(read.rkey, f.kRkey);
  EXPECT_EQ(read.length, 600u);
  EXPECT_EQ(f.psns(), (std::vector<std::uint32_t>{100, 103}));
  ASSERT_EQ(f.notices.size(), 2u);
  const RequestNotice& noticed = f.notices.value(0);
  EXPECT_TRUE(noticed.rendezvous);
  EXPECT_TRUE(noticed.signaled);
  EXPECT_EQ(noticed.wqe_index, 3u);
  EXPECT_EQ(noticed.va, f.kVa + 0x300);
  EXPECT_EQ(noticed.lkey, f.kLkey);
  EXPECT_EQ(noticed.bytes, 600u);
  EXPECT_FALSE(f.notices.value(1).rendezvous);
  EXPECT_FALSE(f.notices.value(1).signaled);
  EXPECT_EQ(fin.opcode, opcode_of(Transport::kRc, Operation::kSendOnly));
  const auto bytes = f.payload(1);
  ASSERT_EQ(bytes.size(), 32u);
  const Tmh tmh = parse_tmh(bytes.data());
  const Rvh rvh = parse_rvh(bytes.data() + kTmhBytes);
  EXPECT_EQ(tmh.opcode, static_cast<int>(TmhOpcode::kFinish));
  EXPECT_EQ(tmh.tag, 0x112233445566778bu);
  EXPECT_EQ(tmh.app_context, 0xabcu);
  EXPECT_EQ(rvh.va, f.kRemote);
  EXPECT_EQ(rvh.rkey, raw(f.kRkey));
  EXPECT_EQ(rvh.length, 600u);
  EXPECT_EQ(f.dut.counters().rendezvous, 1u);
  EXPECT_EQ(f.dut.counters().fins, 1u);
  EXPECT_EQ(f.completions.size(), 0u) << "the receive path's, when the data has come";
  EXPECT_TRUE(f.wqe_reads.log().empty());
  EXPECT_EQ(f.places_back(), 1u);
}

TEST(RequesterRendezvous, BeginsInTheCycleInWhichItComes) {
  Bench bench;
  RendezvousFixture f(bench);
  f.begin(10, 0, 100);
  bench.run_to(Cycle{10 + f.kLatency});
  EXPECT_EQ(f.tx.size(), 0u);
  bench.run_to(Cycle{11 + f.kLatency});
  EXPECT_EQ(f.tx.size(), 1u);
}

// The place is free again when FIN is acknowledged, in that cycle, and not before.
TEST(RequesterRendezvous, PlaceComesBackWithTheAcknowledgementOfFin) {
  Bench bench;
  RendezvousFixture f(bench);
  f.begin(10, 0, 100);
  f.answer(200, AnswerKind::kReadResponse, 100);
  f.answer(400, AnswerKind::kAck, 101);
  bench.run_to(Cycle{400});
  EXPECT_EQ(f.places_back(), 0u);
  bench.run_to(Cycle{401});
  EXPECT_EQ(f.places_back(), 1u);
}

TEST(RequesterRendezvous, FinGoesBeforeReadsThatHaveNotBegun) {
  Bench bench;
  RendezvousFixture f(bench, 2);
  for (std::uint32_t n = 0; n < 4; ++n) f.begin(10 + n, n, 100);
  f.answer(200, AnswerKind::kReadResponse, 100);
  bench.run();
  EXPECT_EQ(f.psns(), (std::vector<std::uint32_t>{100, 101, 102, 103}));
  EXPECT_EQ(parse_tmh(f.payload(2).data()).tag, 0x1122334455667788u);
  EXPECT_EQ(f.frame(3).opcode, opcode_of(Transport::kRc, Operation::kReadRequest));
  EXPECT_EQ(f.notices.value(3).wqe_index, 2u);
}

TEST(RequesterRendezvous, RepeatsWithoutReadingAWqe) {
  Bench bench;
  RendezvousFixture f(bench);
  f.begin(10, 0, 600);
  f.answer(200, AnswerKind::kReadResponse, 100);
  f.answer(300, AnswerKind::kGap, 101);
  f.answer(500, AnswerKind::kReadResponse, 102);
  f.answer(600, AnswerKind::kNak, 103, kNakSequence);
  bench.run();
  EXPECT_EQ(f.psns(), (std::vector<std::uint32_t>{100, 101, 103, 103}));
  EXPECT_EQ(f.payload(2), f.payload(3));
  EXPECT_TRUE(f.wqe_reads.log().empty());
  EXPECT_EQ(f.dut.counters().memory_reads, 0u);
}

TEST(RequesterRendezvous, FailuresCompleteEachMessageWithItsHandle) {
  Bench bench;
  RendezvousFixture f(bench, 1);
  for (std::uint32_t n = 0; n < 3; ++n) f.begin(10 + n, 5 + n, 100);
  f.answer(200, AnswerKind::kReadResponse, 100);
  f.answer(400, AnswerKind::kNak, 101, kNakRemoteOperation);  // FIN of the first
  f.begin(600, 9, 100);                                       // comes too late
  bench.run();
  ASSERT_EQ(f.completions.size(), 4u);
  const std::uint32_t handles[] = {5, 6, 7, 9};
  for (std::size_t n = 0; n < 4; ++n) {
    EXPECT_TRUE(f.completion(n).rendezvous);
    EXPECT_EQ(f.completion(n).wqe_index, handles[n]) << n;
    EXPECT_EQ(f.completion(n).opcode, n == 0 ? CqeOpcode::kSend : CqeOpcode::kRdmaRead) << n;
    EXPECT_EQ(f.completion(n).status, n == 0 ? WcStatus::kRemoteOperation : WcStatus::kFlushed) << n;
  }
  EXPECT_EQ(f.places_back(), 4u);
}

// A NAK acknowledges what is before it; but the data of the READ there has not come.
TEST(RequesterRendezvous, AReadWithoutItsDataFailsWithTheNakBehindIt) {
  Bench bench;
  RendezvousFixture f(bench);
  for (std::uint32_t n = 0; n < 3; ++n) f.begin(10 + n, 5 + n, 100);
  f.answer(400, AnswerKind::kNak, 101, kNakRemoteAccess);
  bench.run();
  ASSERT_EQ(f.completions.size(), 3u);
  for (std::size_t n = 0; n < 3; ++n) {
    EXPECT_EQ(f.completion(n).wqe_index, 5 + n);
    EXPECT_EQ(f.completion(n).opcode, CqeOpcode::kRdmaRead);
    EXPECT_EQ(f.completion(n).status, n == 0 ? WcStatus::kRemoteAccess : WcStatus::kFlushed);
  }
  EXPECT_EQ(f.tx.size(), 3u) << "no FIN";
  EXPECT_EQ(f.places_back(), 3u);
}

TEST(RequesterRendezvous, NoFinIsPostedBehindAReadThatCannotBeCarriedOut) {
  Bench bench;
  RendezvousFixture f(bench);
  f.begin(10, 1, 100);
  f.begin(20, 2, 100, Key{0x1234});
  f.answer(200, AnswerKind::kReadResponse, 100);
  bench.run();
  EXPECT_EQ(f.tx.size(), 1u);
  ASSERT_EQ(f.completions.size(), 2u);
  EXPECT_EQ(f.completion(0).wqe_index, 2u);
  EXPECT_EQ(f.completion(0).status, WcStatus::kLocalProtection);
  EXPECT_EQ(f.completion(1).opcode, CqeOpcode::kSend);
  EXPECT_EQ(f.completion(1).status, WcStatus::kFlushed);
  EXPECT_EQ(f.places_back(), 2u);
}

TEST(RequesterRendezvous, BufferThatMayNotBeWrittenFailsIt) {
  Bench bench;
  RendezvousFixture f(bench);
  f.begin(10, 2, 100, Key{0x1234});
  bench.run();
  EXPECT_EQ(f.tx.size(), 0u);
  ASSERT_EQ(f.completions.size(), 1u);
  EXPECT_EQ(f.completion(0).status, WcStatus::kLocalProtection);
  EXPECT_EQ(f.completion(0).wqe_index, 2u);
  EXPECT_EQ(f.places_back(), 1u);
}

TEST(RequesterRendezvous, MessageLongerThanAnyFailsIt) {
  Bench bench;
  RendezvousFixture f(bench);
  f.begin(10, 2, kMaxSendBytes + 1);
  bench.run();
  ASSERT_EQ(f.completions.size(), 1u);
  EXPECT_EQ(f.completion(0).status, WcStatus::kLocalLength);
}

TEST(RequesterRendezvous, WhatCannotBeginGivesItsPlaceBack) {
  Bench bench;
  RendezvousFixture f(bench);
  f.create(f.context(Transport::kRc, Qpn{0x13}));  // with a ring
  RendezvousRequest refused;
  refused.qpn = f.kQpn;
  f.rendezvous.push(Cycle{9}, refused);
  f.begin(11, 0, 100, f.kLkey, Qpn{0x99});  // there is no such QP
  f.begin(12, 0, 100, f.kLkey, Qpn{0x13});
  bench.run();
  EXPECT_EQ(f.places_back(), 3u);
  EXPECT_EQ(f.tx.size(), 0u);
  EXPECT_EQ(f.dut.counters().rendezvous, 0u);
}

TEST(RequesterRendezvous, ResetForgetsThemAndGivesTheirPlacesBack) {
  Bench bench;
  RendezvousFixture f(bench);
  for (std::uint32_t n = 0; n < 2; ++n) f.begin(10, n, 100);
  f.answer(100, AnswerKind::kReadResponse, 100);
  f.command(200, SendQueueOperation::kReset, f.contexts.at(raw(f.kQpn)));
  f.begin(300, 7, 100);  // in kReset
  bench.run();
  EXPECT_EQ(f.places_back(), 3u);
  EXPECT_EQ(f.completions.size(), 0u);
  EXPECT_EQ(f.tx.size(), 3u);
}

TEST(RequesterRendezvous, DoorbellOfAQpWithoutRingDoesNothing) {
  Bench bench;
  RendezvousFixture f(bench);
  f.ring(10, 1);
  f.begin(20, 0, 100);
  bench.run();
  EXPECT_EQ(f.tx.size(), 1u);
  EXPECT_EQ(f.completions.size(), 0u);
}

}  // namespace
}  // namespace rxnic::requester_rendezvous_test
