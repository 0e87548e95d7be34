// SPDX-License-Identifier: Apache-2.0
#include "model/core/responder/refusal.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "testbench/unit/model/core/packet_builder.h"
#include "testbench/unit/reports.h"

namespace rxnic::refusal_test {
namespace {

using Held = std::unique_ptr<CheckedPacket>;

// Packets of one QP as they leave the checker, one message each.
std::vector<Held> checked(QpContext& qp, std::size_t count, Operation operation = Operation::kSendOnly) {
  std::vector<Held> packets;
  for (std::size_t i = 0; i < count; ++i) {
    packets.push_back(make_packet(qp, {.operation = operation, .psn = qp.expected_psn.value}));
    CheckedPacket& p = *packets.back();
    p.buffer = PacketHandle{qp.messages};
    admit(p);
    p.msn_before = qp.msn;
    p.message_sequence = ++qp.messages;
    p.outcome = p.has(kResponse) ? Outcome::kAnswer : Outcome::kExecute;
    p.takes_wqe = p.has(kTakesWqe);
    p.completes = p.acknowledge = true;
    qp.expected_psn = qp.expected_psn + 1;
    ++qp.msn;
  }
  return packets;
}

struct RefusalTest : testing::Test {
  std::vector<Refusal> reported() {
    Reports reports;
    block.report(reports, Cycle{7});
    return reports.all;
  }
  void fail(CheckedPacket& p) { block.fail_qp(p, DropReason::kRemoteAccess, 0x62, WcStatus::kRemoteAccess); }
  QpContext qp = make_qp(Transport::kRc);
  Refusals block;
};

TEST_F(RefusalTest, RcFailureAnswersCompletesAndIsReported) {  // (R1)
  auto p = checked(qp, 1);
  p[0]->wqe_slot = 3;
  fail(*p[0]);
  EXPECT_EQ(p[0]->outcome, Outcome::kNak);
  EXPECT_TRUE(p[0]->acknowledge);
  EXPECT_TRUE(p[0]->fails_qp);
  EXPECT_EQ(p[0]->syndrome, 0x62u);
  EXPECT_EQ(p[0]->answer_psn, Psn{kFirstPsn});
  EXPECT_EQ(p[0]->answer_msn, 0u) << "the message did not complete";
  EXPECT_TRUE(p[0]->completes);
  EXPECT_EQ(p[0]->status, WcStatus::kRemoteAccess);
  EXPECT_EQ(qp.state, QpState::kRts) << "the transport checker's";
  const auto reports = reported();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].kind, RefusalKind::kError);
  EXPECT_EQ(reports[0].line, qp.line);
  EXPECT_TRUE(reported().empty()) << "once";
}

TEST_F(RefusalTest, WithoutAWqeNothingCompletes) {  // (R1)
  auto p = checked(qp, 1);
  fail(*p[0]);
  EXPECT_FALSE(p[0]->completes);
}

TEST_F(RefusalTest, ALocalErrorOnUdAnswersNothing) {
  qp = make_qp(Transport::kUd);
  auto p = checked(qp, 1);
  p[0]->wqe_slot = 3;
  block.fail_qp(*p[0], DropReason::kLocalOperation, 0x63, WcStatus::kLocalProtection);
  EXPECT_EQ(p[0]->outcome, Outcome::kDrop);
  EXPECT_FALSE(p[0]->acknowledge);
  EXPECT_TRUE(p[0]->completes);
  EXPECT_EQ(reported().size(), 1u);
}

TEST_F(RefusalTest, WhatComesBehindAFailureIsSquashedWhateverItsEpoch) {  // (R1)
  auto p = checked(qp, 3);
  EXPECT_FALSE(block.squash_when_behind(*p[0]));
  fail(*p[0]);
  EXPECT_TRUE(block.squash_when_behind(*p[1]));
  ++qp.epoch;  // an RNR NAK of a packet behind it
  auto later = checked(qp, 1);
  EXPECT_TRUE(block.squash_when_behind(*later[0]));
  EXPECT_EQ(p[1]->drop_reason, DropReason::kSquashed);
  EXPECT_EQ(p[1]->status, WcStatus::kFlushed);
}

TEST_F(RefusalTest, AnOlderFailureSquashesAYoungerOneToo) {  // (R1) its NAK would acknowledge the older packet
  auto p = checked(qp, 2);
  mark_failed(*p[1], DropReason::kInvalidRequest, 0x61, WcStatus::kRemoteInvalidRequest);
  fail(*p[0]);
  EXPECT_TRUE(block.squash_when_behind(*p[1]));
  EXPECT_EQ(p[1]->outcome, Outcome::kDrop);
  EXPECT_FALSE(p[1]->acknowledge);
  EXPECT_FALSE(p[1]->fails_qp);
}

TEST_F(RefusalTest, RnrSquashesItsEpochOnly) {  // (R2)
  qp.min_rnr_timer = 14;
  qp.epoch = 0xffff;  // wraps
  auto p = checked(qp, 3);
  p[0]->msn_before = 41;
  block.fail_rnr(*p[0], qp.min_rnr_timer);
  EXPECT_EQ(p[0]->outcome, Outcome::kNak);
  EXPECT_EQ(p[0]->syndrome, 0x20u | 14u);
  EXPECT_EQ(p[0]->answer_psn, Psn{kFirstPsn});
  EXPECT_EQ(p[0]->answer_msn, 41u);
  EXPECT_EQ(p[0]->status, WcStatus::kSuccess);
  EXPECT_FALSE(p[0]->completes || p[0]->fails_qp);
  EXPECT_TRUE(block.refuses(*p[1]) && block.refuses(*p[2]));
  const auto reports = reported();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].kind, RefusalKind::kNotReady);
  EXPECT_EQ(reports[0].buffer, p[0]->buffer) << "of which the checker keeps what was before it";
  ++qp.epoch;
  auto again = checked(qp, 2);
  EXPECT_FALSE(block.refuses(*again[0]));
  EXPECT_TRUE(block.refuses(*p[2])) << "still on its way";
  block.fail_rnr(*again[0], qp.min_rnr_timer);
  EXPECT_TRUE(block.refuses(*again[1]));
}

TEST_F(RefusalTest, WithoutAWqeUcAndUdDropTheMessageInSilence) {  // (R3)
  for (const Transport t : {Transport::kUc, Transport::kUd}) {
    qp = make_qp(t);
    auto p = checked(qp, 1);
    block.fail_rnr(*p[0], qp.min_rnr_timer);
    EXPECT_EQ(p[0]->outcome, Outcome::kDrop);
    EXPECT_EQ(p[0]->drop_reason, DropReason::kNoReceiveWqe);
    EXPECT_FALSE(p[0]->acknowledge || p[0]->completes);
    EXPECT_TRUE(reported().empty());
  }
}

TEST_F(RefusalTest, OnUcOnlyTheRestOfTheMessageGoes) {  // (R3)
  qp = make_qp(Transport::kUc);
  auto p = checked(qp, 4);
  for (std::size_t i = 0; i < 3; ++i) p[i]->message_sequence = 2;
  EXPECT_FALSE(block.squash_when_behind(*p[0]));
  block.fail_message(*p[1], DropReason::kRemoteAccess);
  EXPECT_TRUE(block.squash_when_behind(*p[2]));
  EXPECT_FALSE(block.squash_when_behind(*p[3])) << "the next message";
  EXPECT_TRUE(reported().empty());
}

TEST_F(RefusalTest, ASquashedPacketCompletesNothing) {  // (R4)
  auto p = checked(qp, 2);
  p[1]->wqe_slot = 8;
  fail(*p[0]);
  for (int twice = 0; twice < 2; ++twice) {
    EXPECT_TRUE(block.squash_when_behind(*p[1]));
    EXPECT_FALSE(p[1]->completes || p[1]->acknowledge);
    EXPECT_EQ(p[1]->wqe_slot, 8u);
  }
}

TEST_F(RefusalTest, AnswersToOurRequestsAreNotSquashed) {  // (R5)
  auto requests = checked(qp, 1);
  auto answers = checked(qp, 1, Operation::kReadResponseOnly);
  fail(*requests[0]);
  EXPECT_FALSE(block.squash_when_behind(*answers[0]));
  EXPECT_EQ(answers[0]->outcome, Outcome::kAnswer);
}

TEST_F(RefusalTest, AnAnswerThatFailsCompletesItsRequestAndSendsNoNak) {  // (R5)
  auto p = checked(qp, 1, Operation::kReadResponseOnly);
  p[0]->message_sequence = 5;
  p[0]->completes = false;  // not signaled: an error completes all the same
  block.fail_qp(*p[0], DropReason::kLocalOperation, 0x63, WcStatus::kLocalProtection);
  EXPECT_EQ(p[0]->outcome, Outcome::kDrop);
  EXPECT_FALSE(p[0]->acknowledge);
  EXPECT_TRUE(p[0]->completes);
  EXPECT_EQ(p[0]->status, WcStatus::kLocalProtection);
  const auto reports = reported();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].kind, RefusalKind::kRequestError);
  EXPECT_EQ(reports[0].request, 5u);
  auto request = checked(qp, 1);
  EXPECT_TRUE(block.refuses(*request[0])) << "its QP is in error";
}

TEST_F(RefusalTest, AnswersBehindOneThatFailedWriteNothing) {  // (R5)
  auto p = checked(qp, 4, Operation::kReadResponseOnly);
  for (std::uint32_t i = 0; i < 4; ++i) {
    p[i]->message_sequence = i < 2 ? 5 : i + 4;  // the first two answer one request
    p[i]->completes = p[i]->ends_message = i != 0 && i != 3;
  }
  block.squash_when_behind(*p[0]);
  EXPECT_EQ(p[0]->outcome, Outcome::kAnswer);
  block.fail_qp(*p[0], DropReason::kHostMemory, 0x63, WcStatus::kLocalProtection);
  for (std::uint32_t i = 1; i < 4; ++i) EXPECT_FALSE(block.squash_when_behind(*p[i]));
  EXPECT_FALSE(p[1]->completes) << "its request has completed in error";
  EXPECT_TRUE(p[2]->completes) << "the table has done with its request";
  EXPECT_EQ(p[2]->status, WcStatus::kFlushed);
  EXPECT_FALSE(p[3]->completes) << "the requester will flush it";
  for (std::uint32_t i = 1; i < 4; ++i) EXPECT_EQ(p[i]->outcome, Outcome::kDrop);
}

TEST_F(RefusalTest, ACompletionBehindAnAnswerThatFailedIsFlushed) {  // (R5)
  auto p = checked(qp, 1, Operation::kReadResponseOnly);
  for (const bool behind : {false, true}) {
    if (behind) block.fail_qp(*p[0], DropReason::kHostMemory, 0x63, WcStatus::kLocalProtection);
    for (const WcStatus status : {WcStatus::kSuccess, WcStatus::kRetryExceeded}) {
      for (const bool completes : {true, false}) {  // false: one that is not reported
        CheckedPacket c;
        c.role = PacketRole::kSendCompletion;
        c.line = qp.line;
        c.completes = completes;
        c.status = status;
        block.squash_when_behind(c);
        EXPECT_EQ(c.completes, completes);
        EXPECT_EQ(c.status, behind ? WcStatus::kFlushed : status);
      }
    }
  }
}

TEST_F(RefusalTest, InternalPacketsAndThoseWithoutAQpAreNotSquashed) {
  auto p = checked(qp, 2);
  fail(*p[0]);
  p[1]->role = PacketRole::kTruncated;
  EXPECT_FALSE(block.squash_when_behind(*p[1]));
  p[1]->role = PacketRole::kReceived;
  EXPECT_TRUE(block.refuses(*p[1]));
  p[1]->line = kNoLine;
  EXPECT_FALSE(block.refuses(*p[1]));
}

TEST_F(RefusalTest, EachQpHasItsOwnAndANewContextHasNone) {  // (R6)
  QpContext other = make_qp(Transport::kRc);
  other.line = 3;
  auto p = checked(qp, 2);
  auto others = checked(other, 1);
  fail(*p[0]);
  EXPECT_FALSE(block.refuses(*others[0]));
  fail(*others[0]);
  EXPECT_TRUE(block.refuses(*p[1]));
  p[1]->residence = 1;
  EXPECT_FALSE(block.refuses(*p[1])) << "another context in the line";
}

TEST_F(RefusalTest, APinTakenOffHoldsToTheEndOfTheCycle) {  // context.h, ContextPins
  ContextPins pins;
  EXPECT_FALSE(pins.held(Cycle{0}));
  pins.add();
  EXPECT_TRUE(pins.held(Cycle{8}));
  pins.remove(Cycle{9});
  EXPECT_TRUE(pins.held(Cycle{9}));
  EXPECT_FALSE(pins.held(Cycle{10}));
  EXPECT_EQ(pins.count(), 0u);
}

}  // namespace
}  // namespace rxnic::refusal_test
