// SPDX-License-Identifier: Apache-2.0
#include "model/core/qp_error.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "testbench/unit/plain/packet_builder.h"

namespace rxnic {
namespace {

using Held = std::unique_ptr<Packet>;

// Packets of one QP as they leave the checker, one message each.
std::vector<Held> checked(QpContext& qp, std::size_t count, Operation operation = Operation::kSendOnly) {
  std::vector<Held> packets;
  for (std::size_t i = 0; i < count; ++i) {
    packets.push_back(make_packet(qp, {.operation = operation, .psn = qp.expected_psn.value}));
    Packet& p = *packets.back();
    number(p);
    p.undo.expected_psn = qp.expected_psn;
    p.undo.msn = qp.msn;
    p.message_sequence = ++qp.messages;
    p.outcome = p.has(kResponse) ? Outcome::kAnswer : Outcome::kExecute;
    p.takes_wqe = p.has(kTakesWqe);
    p.completes = p.acknowledge = true;
    qp.expected_psn = qp.expected_psn + 1;
    ++qp.msn;
  }
  return packets;
}

TEST(QpError, RcFailureAnswersCompletesAndMovesTheQpToError) {  // (R1)
  QpContext qp = make_qp(Transport::kRc);
  auto p = checked(qp, 1);
  p[0]->wqe_slot = 3;
  fail_qp(*p[0], DropReason::kRemoteAccess, 0x62, WcStatus::kRemoteAccess);
  EXPECT_EQ(qp.state, QpState::kError);
  EXPECT_EQ(p[0]->outcome, Outcome::kNak);
  EXPECT_TRUE(p[0]->acknowledge);
  EXPECT_EQ(p[0]->syndrome, 0x62u);
  EXPECT_EQ(p[0]->answer_psn, Psn{kFirstPsn});
  EXPECT_EQ(p[0]->answer_msn, 0u) << "the message did not complete";
  EXPECT_TRUE(p[0]->completes);
  EXPECT_EQ(p[0]->status, WcStatus::kRemoteAccess);
  EXPECT_FALSE(is_squashed(*p[0]));
}

TEST(QpError, WithoutAWqeNothingCompletes) {  // (R1)
  QpContext qp = make_qp(Transport::kRc);
  auto p = checked(qp, 1);
  fail_qp(*p[0], DropReason::kRemoteAccess, 0x62, WcStatus::kRemoteAccess);
  EXPECT_FALSE(p[0]->completes);
}

TEST(QpError, ALocalErrorOnUdAnswersNothing) {
  QpContext qp = make_qp(Transport::kUd);
  auto p = checked(qp, 1);
  p[0]->wqe_slot = 3;
  fail_qp(*p[0], DropReason::kLocalOperation, 0x63, WcStatus::kLocalProtection);
  EXPECT_EQ(p[0]->outcome, Outcome::kDrop);
  EXPECT_FALSE(p[0]->acknowledge);
  EXPECT_TRUE(p[0]->completes);
  EXPECT_EQ(qp.state, QpState::kError);
}

TEST(QpError, ExactlyWhatIsBehindAFailureIsSquashed) {  // (R1)
  QpContext qp = make_qp(Transport::kRc);
  auto p = checked(qp, 5);
  fail_qp(*p[2], DropReason::kRemoteAccess, 0x62, WcStatus::kRemoteAccess);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(is_squashed(*p[i]), i > 2) << i;
  auto later = checked(qp, 1);
  EXPECT_FALSE(is_squashed(*later[0])) << "checked after the failure";
}

TEST(QpError, PacketNumbersMayWrapWithinTheInterval) {
  QpContext qp = make_qp(Transport::kRc);
  qp.checked = 0xfffffffd;
  qp.squash_after = qp.squash_until = qp.checked;
  auto p = checked(qp, 6);
  fail_rnr(*p[1]);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(is_squashed(*p[i]), i > 1) << i;
}

TEST(QpError, AnOlderFailureSquashesAYoungerOneToo) {  // (R1) its NAK would acknowledge the older packet
  QpContext qp = make_qp(Transport::kRc);
  auto p = checked(qp, 4);
  fail_qp(*p[3], DropReason::kInvalidRequest, 0x61, WcStatus::kRemoteInvalidRequest);
  EXPECT_FALSE(is_squashed(*p[3]));
  fail_qp(*p[1], DropReason::kRemoteAccess, 0x62, WcStatus::kRemoteAccess);
  for (const Held& h : p) squash_when_behind(*h);
  EXPECT_EQ(p[0]->outcome, Outcome::kExecute);
  EXPECT_EQ(p[1]->outcome, Outcome::kNak);
  EXPECT_EQ(p[2]->outcome, Outcome::kDrop);
  EXPECT_EQ(p[3]->outcome, Outcome::kDrop);
  EXPECT_FALSE(p[3]->acknowledge);
  EXPECT_EQ(qp.state, QpState::kError);
}

TEST(QpError, AFailureWithNothingBehindKeepsTheOldInterval) {
  QpContext qp = make_qp(Transport::kRc);
  auto p = checked(qp, 3);
  fail_rnr(*p[0]);
  auto again = checked(qp, 1);  // the same PSN again, while the squashed ones are still on their way
  fail_qp(*again[0], DropReason::kInvalidRequest, 0x61, WcStatus::kRemoteInvalidRequest);
  EXPECT_TRUE(is_squashed(*p[1]));
  EXPECT_TRUE(is_squashed(*p[2]));
  EXPECT_FALSE(is_squashed(*again[0]));
}

TEST(QpError, AnIntervalIsForgottenBeforeTheNumbersComeRound) {
  QpContext qp = make_qp(Transport::kRc);
  auto p = checked(qp, 3);
  fail_rnr(*p[0]);
  const std::uint32_t inside = p[1]->sequence;
  for (int quarter = 0; quarter < 5; ++quarter) {
    qp.checked += 1u << 30;
    auto between = checked(qp, 1);
    EXPECT_FALSE(is_squashed(*between[0]));
  }
  qp.checked = inside - 1;
  auto round = checked(qp, 1);
  EXPECT_EQ(round[0]->sequence, inside);
  EXPECT_FALSE(is_squashed(*round[0]));
}

TEST(QpError, RnrTakesThePacketBack) {  // (R2)
  QpContext qp = make_qp(Transport::kRc);
  qp.min_rnr_timer = 14;
  qp.message = MessageKind::kWrite;
  auto p = checked(qp, 3);
  p[0]->undo = {Psn{kFirstPsn}, 41, MessageKind::kWrite, Key{0x77}, 12, 500, 0x9000, 33};
  fail_rnr(*p[0]);
  EXPECT_EQ(p[0]->outcome, Outcome::kNak);
  EXPECT_EQ(p[0]->syndrome, 0x20u | 14u);
  EXPECT_EQ(p[0]->answer_psn, Psn{kFirstPsn});
  EXPECT_EQ(p[0]->answer_msn, 41u);
  EXPECT_EQ(p[0]->status, WcStatus::kSuccess);
  EXPECT_FALSE(p[0]->completes);
  EXPECT_EQ(qp.state, QpState::kRts);
  EXPECT_EQ(qp.expected_psn, Psn{kFirstPsn});
  EXPECT_EQ(qp.msn, 41u);
  EXPECT_EQ(qp.message, MessageKind::kWrite);
  EXPECT_EQ(qp.write_rkey, Key{0x77});
  EXPECT_EQ(qp.write_left, 12u);
  EXPECT_EQ(qp.message_bytes, 500u);
  EXPECT_EQ(qp.write_va, 0x9000u);
  EXPECT_EQ(qp.message_start, 33u);
  EXPECT_TRUE(qp.nak_sent) << "silent until it comes again";
  EXPECT_TRUE(is_squashed(*p[1]) && is_squashed(*p[2]));
  EXPECT_TRUE(qp.dirty);
}

TEST(QpError, RnrTakesBackAnErrorThatAPacketBehindCaused) {  // (R2)
  QpContext qp = make_qp(Transport::kRc);
  qp.state = QpState::kRtr;
  auto p = checked(qp, 3);
  fail_qp(*p[2], DropReason::kInvalidRequest, 0x61, WcStatus::kRemoteInvalidRequest);
  fail_rnr(*p[0]);
  EXPECT_EQ(qp.state, QpState::kRtr);
  EXPECT_TRUE(is_squashed(*p[2]));
}

TEST(QpError, RnrTakesBackTwoErrorsOfPacketsBehind) {  // (R2)
  QpContext qp = make_qp(Transport::kRc);
  auto p = checked(qp, 4);
  fail_qp(*p[3], DropReason::kInvalidRequest, 0x61, WcStatus::kRemoteInvalidRequest);
  fail_qp(*p[2], DropReason::kInvalidRequest, 0x61, WcStatus::kRemoteInvalidRequest);
  fail_rnr(*p[1]);
  EXPECT_EQ(qp.state, QpState::kRts);
}

TEST(QpError, RnrLeavesAnErrorAloneThatHasAnotherCause) {  // (R2)
  QpContext qp = make_qp(Transport::kRc);
  auto p = checked(qp, 3);
  qp.state = QpState::kError;  // software
  fail_rnr(*p[0]);
  EXPECT_EQ(qp.state, QpState::kError);
}

TEST(QpError, RnrLeavesAnErrorOfAnAnswerAlone) {  // (R2) (R5)
  for (const bool answer_first : {false, true}) {
    QpContext qp = make_qp(Transport::kRc);
    auto p = checked(qp, 3);
    auto answers = checked(qp, 1, Operation::kReadResponseOnly);
    for (const bool answer : {answer_first, !answer_first}) {
      fail_qp(answer ? *answers[0] : *p[2], DropReason::kLocalOperation, 0x63, WcStatus::kLocalProtection);
    }
    EXPECT_EQ(qp.error_at, p[2]->sequence) << "the oldest";
    fail_rnr(*p[0]);
    EXPECT_EQ(qp.state, QpState::kError);
  }
}

TEST(QpError, WithoutAWqeUcAndUdDropTheMessageInSilence) {  // (R3)
  for (const Transport t : {Transport::kUc, Transport::kUd}) {
    QpContext qp = make_qp(t);
    auto p = checked(qp, 1);
    fail_rnr(*p[0]);
    EXPECT_EQ(p[0]->outcome, Outcome::kDrop);
    EXPECT_EQ(p[0]->drop_reason, DropReason::kNoReceiveWqe);
    EXPECT_FALSE(p[0]->acknowledge || p[0]->completes);
    EXPECT_EQ(qp.state, QpState::kRts);
  }
}

TEST(QpError, OnUcOnlyTheRestOfTheMessageGoes) {  // (R3)
  QpContext qp = make_qp(Transport::kUc);
  auto p = checked(qp, 5);
  for (std::size_t i = 1; i < 4; ++i) p[i]->message_sequence = 2;
  fail_message(*p[2], DropReason::kRemoteAccess);
  EXPECT_FALSE(is_squashed(*p[1])) << "before the failure";
  EXPECT_FALSE(is_squashed(*p[2])) << "the failure keeps its reason";
  EXPECT_TRUE(is_squashed(*p[3]));
  EXPECT_FALSE(is_squashed(*p[4])) << "the next message";
  auto rest = checked(qp, 1);
  rest[0]->message_sequence = 2;
  EXPECT_TRUE(is_squashed(*rest[0])) << "checked after the failure";
}

TEST(QpError, ASquashedPacketCompletesOnlyAWqeOfItsOwn) {  // (R4)
  QpContext qp = make_qp(Transport::kRc);
  auto p = checked(qp, 4);
  p[1]->wqe_slot = 8;  // took a WQE
  p[2]->wqe_slot = 8;  // a later packet of the same message
  p[2]->takes_wqe = false;
  fail_qp(*p[0], DropReason::kRemoteAccess, 0x62, WcStatus::kRemoteAccess);
  for (int twice = 0; twice < 2; ++twice) {
    for (const Held& h : p) squash_when_behind(*h);
    EXPECT_TRUE(p[1]->completes);
    EXPECT_EQ(p[1]->status, WcStatus::kFlushed);
    EXPECT_FALSE(p[2]->completes);
    EXPECT_FALSE(p[3]->completes) << "found no WQE yet";
    EXPECT_FALSE(p[1]->acknowledge || p[2]->acknowledge || p[3]->acknowledge);
    EXPECT_EQ(p[1]->drop_reason, DropReason::kSquashed);
    EXPECT_EQ(p[0]->outcome, Outcome::kNak);
  }
}

TEST(QpError, AnswersToOurRequestsAreNotSquashed) {  // (R5)
  QpContext qp = make_qp(Transport::kRc);
  auto requests = checked(qp, 1);
  auto answers = checked(qp, 1, Operation::kReadResponseOnly);
  fail_rnr(*requests[0]);
  EXPECT_FALSE(is_squashed(*answers[0]));
}

TEST(QpError, AnAnswerThatFailsCompletesItsRequestAndSendsNoNak) {  // (R5)
  QpContext qp = make_qp(Transport::kRc);
  auto p = checked(qp, 1, Operation::kReadResponseOnly);
  p[0]->completes = false;  // not signaled: an error completes all the same
  fail_qp(*p[0], DropReason::kLocalOperation, 0x63, WcStatus::kLocalProtection);
  EXPECT_EQ(p[0]->outcome, Outcome::kDrop);
  EXPECT_FALSE(p[0]->acknowledge);
  EXPECT_TRUE(p[0]->completes);
  EXPECT_EQ(p[0]->status, WcStatus::kLocalProtection);
  EXPECT_EQ(qp.state, QpState::kError);
}

TEST(QpError, AnswersBehindOneThatFailedWriteNothing) {  // (R5)
  QpContext qp = make_qp(Transport::kRc);
  auto p = checked(qp, 4, Operation::kReadResponseOnly);
  for (std::uint32_t i = 0; i < 4; ++i) {
    p[i]->message_sequence = i < 2 ? 5 : i + 4;  // the first two answer one request
    p[i]->completes = p[i]->ends_message = i != 0 && i != 3;
  }
  squash_when_behind(*p[0]);
  EXPECT_EQ(p[0]->outcome, Outcome::kAnswer);
  fail_qp(*p[0], DropReason::kHostMemory, 0x63, WcStatus::kLocalProtection);
  EXPECT_TRUE(qp.request_failed);
  EXPECT_EQ(qp.failed_request, 5u);
  for (std::uint32_t i = 0; i < 4; ++i) squash_when_behind(*p[i]);
  EXPECT_TRUE(p[0]->completes);
  EXPECT_EQ(p[0]->status, WcStatus::kLocalProtection);
  EXPECT_FALSE(p[1]->completes) << "its request has completed in error";
  EXPECT_TRUE(p[2]->completes) << "the table has done with its request";
  EXPECT_EQ(p[2]->status, WcStatus::kFlushed);
  EXPECT_FALSE(p[3]->completes) << "the requester will flush it";
  for (std::uint32_t i = 1; i < 4; ++i) EXPECT_EQ(p[i]->outcome, Outcome::kDrop);
}

TEST(QpError, ACompletionBehindAnAnswerThatFailedIsFlushed) {  // (R5)
  QpContext qp = make_qp(Transport::kRc);
  auto p = checked(qp, 2, Operation::kReadResponseOnly);
  fail_qp(*p[1], DropReason::kHostMemory, 0x63, WcStatus::kLocalProtection);
  for (const auto& [behind, status] : {std::pair{false, WcStatus::kSuccess},
                                       {true, WcStatus::kSuccess},
                                       {false, WcStatus::kRetryExceeded},
                                       {true, WcStatus::kRetryExceeded}}) {
    Packet c;
    c.role = PacketRole::kSendCompletion;
    c.qp = &qp;
    c.completes = true;
    c.status = status;
    c.sequence = p[behind ? 1 : 0]->sequence;  // of the packet before it
    squash_when_behind(c);
    EXPECT_TRUE(c.completes);
    EXPECT_EQ(c.status, behind ? WcStatus::kFlushed : status);
  }
}

TEST(QpError, ASecondAnswerThatFailsIsBehindTheFirst) {  // (R5)
  QpContext qp = make_qp(Transport::kRc);
  auto p = checked(qp, 3, Operation::kReadResponseOnly);
  for (auto& one : p) one->message_sequence = 5;
  fail_qp(*p[1], DropReason::kHostMemory, 0x63, WcStatus::kLocalProtection);
  fail_qp(*p[2], DropReason::kHostMemory, 0x63, WcStatus::kLocalProtection);
  EXPECT_TRUE(p[1]->completes);
  EXPECT_FALSE(p[2]->completes);
  squash_when_behind(*p[0]);
  EXPECT_EQ(p[0]->outcome, Outcome::kAnswer) << "ahead of it";
}

TEST(QpError, AFailedRequestMovesTheQpForGood) {  // (R6)
  QpContext qp = make_qp(Transport::kRc);
  auto p = checked(qp, 1);
  Packet c;
  c.role = PacketRole::kSendCompletion;
  c.qp = &qp;
  c.status = WcStatus::kRetryExceeded;
  c.completes = true;
  fail_requests(c);
  EXPECT_EQ(qp.state, QpState::kError);
  EXPECT_EQ(qp.error_at, c.sequence);
  EXPECT_TRUE(c.completes);
  EXPECT_EQ(c.status, WcStatus::kRetryExceeded);
  fail_rnr(*p[0]);
  EXPECT_EQ(qp.state, QpState::kError);
}

TEST(QpError, InternalPacketsAreNotSquashed) {
  QpContext qp = make_qp(Transport::kRc);
  auto p = checked(qp, 2);
  p[1]->role = PacketRole::kTruncated;
  fail_rnr(*p[0]);
  EXPECT_FALSE(is_squashed(*p[1]));
  p[1]->role = PacketRole::kReceived;
  p[1]->qp = nullptr;
  EXPECT_FALSE(is_squashed(*p[1]));
}

}  // namespace
}  // namespace rxnic
