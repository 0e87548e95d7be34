// SPDX-License-Identifier: Apache-2.0
#include "model/core/requester/request_table.h"

#include <gtest/gtest.h>

#include <vector>

#include "model/types/syndrome.h"
#include "testbench/unit/model/core/packet_builder.h"

namespace rxnic::request_table_test {
namespace {

constexpr std::uint8_t kRnrNak = rnr_nak(14);

class RequestTableTest : public testing::Test {
 protected:
  void request(std::uint32_t psn, std::uint32_t count, CqeOpcode opcode = CqeOpcode::kSend, std::uint32_t bytes = 0) {
    table.add({.qpn = qp.qpn,
               .first_psn = Psn{psn},
               .psn_count = count,
               .opcode = opcode,
               .wqe = wqe++,
               .wqe_index = psn,
               .bytes = bytes,
               .va = 0x50000,
               .lkey = Key{0x900}});
  }
  // The WQEs that a response completes before its own request; the decision on the response is in `last`.
  std::vector<std::uint32_t> answer(const PacketSpec& spec) {
    last = make_packet(qp, spec);
    std::vector<std::uint32_t> completed;
    RequestNotice notice;
    while (table.take_completed(*last, notice)) completed.push_back(notice.wqe_index);
    reported = table.check_answer(*last);
    return completed;
  }
  std::vector<std::uint32_t> atomic_ack(std::uint32_t psn) {
    return answer({.operation = Operation::kAtomicAck, .psn = psn, .syndrome = kAckUnlimited});
  }
  // The notice to the requester of the last response.
  testing::AssertionResult was_reported(AnswerKind kind, std::uint32_t psn) const {
    if (!reported) return testing::AssertionFailure() << "nothing";
    if (reported->kind == kind && reported->psn == Psn{psn} && reported->qpn == qp.qpn)
      return testing::AssertionSuccess();
    return testing::AssertionFailure() << "kind " << int(reported->kind) << " psn " << reported->psn.value;
  }
  // A completion that the requester sends for WQE number `wqe`.
  bool completion(std::uint32_t number, WcStatus status = WcStatus::kFlushed) {
    CheckedPacket p;
    p.qp = &qp;
    p.role = PacketRole::kSendCompletion;
    p.status = status;
    p.message_sequence = number;
    return table.accept_completion(p);
  }
  std::vector<std::uint32_t> ack(std::uint32_t psn, std::uint8_t syndrome = kAckUnlimited) {
    return answer({.operation = Operation::kAck, .psn = psn, .syndrome = syndrome});
  }
  std::vector<std::uint32_t> read_response(Operation operation, std::uint32_t psn, std::uint32_t bytes) {
    return answer({.operation = operation, .psn = psn, .payload = bytes, .syndrome = kAckUnlimited});
  }

  QpContext qp = make_qp(Transport::kRc);
  RequestTable table{{}};
  std::unique_ptr<CheckedPacket> last;
  std::optional<AnswerNotice> reported;
  std::uint32_t wqe = 0;
  using Wqes = std::vector<std::uint32_t>;
};

TEST_F(RequestTableTest, AnAckCompletesWhatEndsAtOrBeforeIt) {  // (R1)
  request(10, 1);
  request(11, 3, CqeOpcode::kRdmaWrite);
  request(14, 2);
  EXPECT_EQ(ack(12), Wqes{10});
  EXPECT_EQ(last->outcome, Outcome::kAnswer);
  EXPECT_EQ(ack(13), Wqes{11});
  EXPECT_EQ(ack(13), Wqes{}) << "a repetition completes nothing";
  EXPECT_EQ(last->outcome, Outcome::kAnswer);
  EXPECT_EQ(ack(15), Wqes{14});
  EXPECT_EQ(table.outstanding(qp.qpn), 0u);
  EXPECT_EQ(table.counters().completed, 3u);
}

TEST_F(RequestTableTest, PsnsMayWrap) {  // (R1)
  request(0xfffffe, 4);
  EXPECT_EQ(ack(0), Wqes{});
  EXPECT_EQ(ack(1), Wqes{0xfffffe});
}

TEST_F(RequestTableTest, AnAckDoesNotCompleteAReadBeforeItNorWhatIsBehind) {  // (R1) (R7)
  request(9, 1);
  request(10, 2, CqeOpcode::kRdmaRead, 2 * kTestMtu);
  request(12, 1);
  EXPECT_EQ(ack(12), Wqes{9});
  EXPECT_EQ(last->outcome, Outcome::kAnswer);
  EXPECT_TRUE(was_reported(AnswerKind::kGap, 10));
  EXPECT_EQ(table.outstanding(qp.qpn), 2u);
  EXPECT_EQ(table.counters().gaps, 1u);
  read_response(Operation::kReadResponseFirst, 10, kTestMtu);
  EXPECT_TRUE(was_reported(AnswerKind::kReadResponse, 10));
  EXPECT_EQ(ack(12), Wqes{});
  EXPECT_TRUE(was_reported(AnswerKind::kGap, 11)) << "the first that is missing";
  read_response(Operation::kReadResponseOnly, 11, kTestMtu);  // asked for again
  EXPECT_TRUE(last->completes);
  EXPECT_EQ(ack(12), Wqes{12});
  EXPECT_TRUE(was_reported(AnswerKind::kAck, 12));
}

TEST_F(RequestTableTest, InACaptureAReadWhoseAnswerWasLostIsDone) {  // (R1)
  qp.resynchronise = true;
  request(10, 2, CqeOpcode::kRdmaRead, 2 * kTestMtu);
  request(12, 1);
  EXPECT_EQ(ack(12), (Wqes{10, 12}));
}

TEST_F(RequestTableTest, EachReadResponseGoesToItsPlace) {  // (R2)
  request(10, 3, CqeOpcode::kRdmaRead, 2 * kTestMtu + 5);
  EXPECT_EQ(read_response(Operation::kReadResponseFirst, 10, kTestMtu), Wqes{});
  EXPECT_EQ(last->local_va, 0x50000u);
  EXPECT_EQ(last->local_bytes, kTestMtu);
  EXPECT_EQ(last->local_key, Key{0x900});
  EXPECT_EQ(last->access, kLocalWrite);
  EXPECT_EQ(last->pd, kTestPd);
  EXPECT_FALSE(last->completes);
  read_response(Operation::kReadResponseMiddle, 11, kTestMtu);
  EXPECT_EQ(last->local_va, 0x50000u + kTestMtu);
  EXPECT_FALSE(last->completes);
  read_response(Operation::kReadResponseLast, 12, 5);
  EXPECT_EQ(last->local_va, 0x50000u + 2 * kTestMtu);
  EXPECT_EQ(last->local_bytes, 5u);
  EXPECT_TRUE(last->completes && last->ends_message);
  EXPECT_EQ(last->cqe_opcode, CqeOpcode::kRdmaRead);
  EXPECT_EQ(last->cq, kTestSendCq);
  EXPECT_EQ(last->wqe_index, 10u);
  EXPECT_EQ(last->byte_count, 2u * kTestMtu + 5);
  EXPECT_EQ(table.outstanding(qp.qpn), 0u);
}

TEST_F(RequestTableTest, TheLastReadResponseCompletesSendsBeforeIt) {  // (R2)
  request(9, 1);
  request(10, 2, CqeOpcode::kRdmaRead, kTestMtu + 1);
  request(12, 1);
  EXPECT_EQ(read_response(Operation::kReadResponseFirst, 10, kTestMtu), Wqes{9});
  EXPECT_EQ(read_response(Operation::kReadResponseLast, 11, 1), Wqes{});
  EXPECT_TRUE(last->completes);
  EXPECT_EQ(table.outstanding(qp.qpn), 1u);
}

TEST_F(RequestTableTest, AResponseWithMoreThanWasAskedForIsDropped) {
  request(10, 1, CqeOpcode::kRdmaRead, 8);
  read_response(Operation::kReadResponseOnly, 10, 9);
  EXPECT_EQ(last->outcome, Outcome::kDrop);
  EXPECT_EQ(last->drop_reason, DropReason::kInvalidRequest);
  read_response(Operation::kReadResponseOnly, 10, 8);
  EXPECT_EQ(last->outcome, Outcome::kAnswer);
}

TEST_F(RequestTableTest, AnAtomicAckGoesToTheBufferOfItsAtomic) {  // (R3)
  request(10, 1, CqeOpcode::kFetchAdd, 8);
  EXPECT_EQ(answer({.operation = Operation::kAtomicAck, .psn = 10, .syndrome = kAckUnlimited}), Wqes{});
  EXPECT_TRUE(last->completes);
  EXPECT_EQ(last->cqe_opcode, CqeOpcode::kFetchAdd);
  EXPECT_EQ(last->local_va, 0x50000u);
  EXPECT_EQ(last->local_bytes, 8u);
}

TEST_F(RequestTableTest, AReadResponseWithoutDataCompletesAnAtomicWrite) {  // (R3)
  request(9, 1);
  request(10, 1, CqeOpcode::kAtomicWrite, 8);
  EXPECT_EQ(read_response(Operation::kReadResponseOnly, 10, 0), Wqes{9});
  EXPECT_EQ(last->outcome, Outcome::kAnswer);
  EXPECT_TRUE(last->completes && last->ends_message);
  EXPECT_EQ(last->cqe_opcode, CqeOpcode::kAtomicWrite);
  EXPECT_EQ(last->byte_count, 8u);
  EXPECT_EQ(last->local_bytes, 0u) << "it brings nothing";
  EXPECT_TRUE(was_reported(AnswerKind::kReadResponse, 10));
  EXPECT_EQ(table.outstanding(qp.qpn), 0u);
  read_response(Operation::kReadResponseOnly, 10, 0);
  EXPECT_EQ(last->drop_reason, DropReason::kUnsolicitedAnswer) << "again";
}

TEST_F(RequestTableTest, NothingElseCompletesAnAtomicWrite) {  // (R1) (R3) (R7)
  request(10, 1, CqeOpcode::kAtomicWrite, 8);
  request(11, 1);
  EXPECT_EQ(ack(11), Wqes{});
  EXPECT_TRUE(was_reported(AnswerKind::kGap, 10));
  atomic_ack(10);
  EXPECT_EQ(last->drop_reason, DropReason::kUnsolicitedAnswer);
  for (const std::uint32_t bytes : {1u, 8u}) {
    read_response(Operation::kReadResponseOnly, 10, bytes);
    EXPECT_EQ(last->drop_reason, DropReason::kInvalidRequest) << bytes;
  }
  EXPECT_EQ(table.outstanding(qp.qpn), 2u);
}

TEST_F(RequestTableTest, AnAtomicAckIsNotForARead) {  // (R3)
  request(10, 1, CqeOpcode::kRdmaRead, 8);
  answer({.operation = Operation::kAtomicAck, .psn = 10});
  EXPECT_EQ(last->drop_reason, DropReason::kUnsolicitedAnswer);
  EXPECT_EQ(table.outstanding(qp.qpn), 1u);
}

TEST_F(RequestTableTest, ANakCompletesWhatIsBeforeItsPsn) {  // (R4)
  for (const std::uint8_t syndrome : {kNakSequence, kRnrNak}) {
    table = RequestTable({});
    request(10, 1);
    request(11, 1);
    EXPECT_EQ(ack(11, syndrome), Wqes{10});
    EXPECT_EQ(last->outcome, Outcome::kAnswer);
    EXPECT_EQ(table.outstanding(qp.qpn), 1u);
    EXPECT_EQ(table.counters().naks, 1u);
  }
}

TEST_F(RequestTableTest, AnAnswerThatNoRequestExplainsIsDropped) {  // (R5)
  ack(10);
  EXPECT_EQ(last->drop_reason, DropReason::kUnsolicitedAnswer);
  request(10, 1);
  ack(11);
  EXPECT_EQ(last->drop_reason, DropReason::kUnsolicitedAnswer) << "never sent";
  read_response(Operation::kReadResponseOnly, 10, 8);
  EXPECT_EQ(last->drop_reason, DropReason::kUnsolicitedAnswer) << "a SEND has no response";
}

TEST_F(RequestTableTest, InACaptureItIsAcceptedAndCounted) {  // (R5)
  qp.resynchronise = true;
  read_response(Operation::kReadResponseOnly, 10, 8);
  EXPECT_EQ(last->outcome, Outcome::kAnswer);
  EXPECT_EQ(last->local_bytes, 0u);
  EXPECT_EQ(last->payload_bytes, 0u) << "nowhere to put it";
  EXPECT_FALSE(last->completes);
  EXPECT_EQ(table.counters().unexplained_answers, 1u);
}

TEST_F(RequestTableTest, ARequestThatIsSentAgainIsNotNew) {  // (R6)
  request(10, 2);
  request(10, 2);
  request(12, 1);
  request(12, 1);
  request(11, 1);
  EXPECT_EQ(table.outstanding(qp.qpn), 2u);
  EXPECT_EQ(table.counters().requests, 5u);
  EXPECT_EQ(table.counters().repeated, 3u);
  EXPECT_EQ(ack(12), (Wqes{10, 12}));
}

TEST_F(RequestTableTest, ReadResponsesAreTakenInOrder) {  // (R7)
  request(10, 3, CqeOpcode::kRdmaRead, 3 * kTestMtu);
  read_response(Operation::kReadResponseMiddle, 11, kTestMtu);
  EXPECT_EQ(last->drop_reason, DropReason::kPsnAhead);
  EXPECT_TRUE(was_reported(AnswerKind::kGap, 10));
  read_response(Operation::kReadResponseFirst, 10, kTestMtu);
  EXPECT_EQ(last->outcome, Outcome::kAnswer);
  read_response(Operation::kReadResponseFirst, 10, kTestMtu);
  EXPECT_EQ(last->drop_reason, DropReason::kUnsolicitedAnswer) << "again";
  EXPECT_FALSE(reported);
  read_response(Operation::kReadResponseLast, 12, kTestMtu);
  EXPECT_EQ(last->drop_reason, DropReason::kPsnAhead);
  EXPECT_TRUE(was_reported(AnswerKind::kGap, 11));
  EXPECT_EQ(table.outstanding(qp.qpn), 1u);
}

TEST_F(RequestTableTest, AReadBehindAnUnansweredOneWaitsForIt) {  // (R7)
  request(10, 1, CqeOpcode::kFetchAdd, 8);
  request(11, 1, CqeOpcode::kRdmaRead, 8);
  read_response(Operation::kReadResponseOnly, 11, 8);
  EXPECT_EQ(last->drop_reason, DropReason::kPsnAhead);
  EXPECT_TRUE(was_reported(AnswerKind::kGap, 10));
  atomic_ack(10);
  EXPECT_TRUE(was_reported(AnswerKind::kAtomicAck, 10));
  read_response(Operation::kReadResponseOnly, 11, 8);
  EXPECT_TRUE(last->completes);
}

TEST_F(RequestTableTest, EachResponseHasTheLengthOfItsPlace) {  // (R7)
  request(10, 2, CqeOpcode::kRdmaRead, kTestMtu + 5);
  read_response(Operation::kReadResponseFirst, 10, kTestMtu - 4);
  EXPECT_EQ(last->drop_reason, DropReason::kInvalidRequest);
  EXPECT_FALSE(reported);
  read_response(Operation::kReadResponseFirst, 10, kTestMtu);
  read_response(Operation::kReadResponseLast, 11, 4);
  EXPECT_EQ(last->drop_reason, DropReason::kInvalidRequest);
  read_response(Operation::kReadResponseLast, 11, 5);
  EXPECT_TRUE(last->completes);
}

TEST_F(RequestTableTest, TheRequesterIsNotifiedOfNaks) {  // (R8)
  request(10, 1);
  request(11, 1);
  ack(11, kNakSequence);
  EXPECT_TRUE(was_reported(AnswerKind::kNak, 11));
  EXPECT_EQ(reported->syndrome, kNakSequence);
  ack(11, kRnrNak);
  EXPECT_TRUE(was_reported(AnswerKind::kRnrNak, 11));
  EXPECT_EQ(reported->syndrome, kRnrNak);
}

TEST_F(RequestTableTest, ANakBehindAMissingResponseIsAGapUnlessItIsTheEnd) {  // (R7)
  request(10, 1, CqeOpcode::kRdmaRead, 8);
  request(11, 1);
  for (const std::uint8_t syndrome : {kNakSequence, kRnrNak}) {
    ack(11, syndrome);
    EXPECT_TRUE(was_reported(AnswerKind::kGap, 10));
    ack(10, syndrome);
    EXPECT_FALSE(was_reported(AnswerKind::kGap, 10)) << "of the READ itself";
  }
  ack(11, 0x62);
  EXPECT_TRUE(was_reported(AnswerKind::kNak, 11)) << "no response will come any more";
}

TEST_F(RequestTableTest, WhatTheRequesterCompletesIsCompletedOnce) {  // (R9)
  for (std::uint32_t psn = 10; psn < 14; ++psn) request(psn, 1);
  EXPECT_EQ(ack(11), (Wqes{10, 11}));
  EXPECT_FALSE(completion(1)) << "acknowledged meanwhile";
  EXPECT_TRUE(completion(2));
  EXPECT_FALSE(completion(2));
  EXPECT_TRUE(completion(3));
  EXPECT_TRUE(completion(4)) << "never sent";
}

TEST_F(RequestTableTest, AfterAFailureNoAnswerCompletesAnything) {  // (R8) (R9)
  for (std::uint32_t psn = 10; psn < 13; ++psn) request(psn, 1);
  EXPECT_TRUE(completion(0, WcStatus::kRetryExceeded));
  EXPECT_EQ(ack(12), Wqes{});
  EXPECT_FALSE(reported);
  request(13, 1);
  EXPECT_EQ(ack(13), Wqes{});
  EXPECT_EQ(table.outstanding(qp.qpn), 0u);
}

TEST_F(RequestTableTest, ARequestWhoseAnswerFailedIsNotFlushedAgain) {  // (R9)
  request(10, 2, CqeOpcode::kRdmaRead, 2 * kTestMtu);
  request(12, 1);
  qp.request_failed = true;
  qp.failed_request = 0;
  EXPECT_FALSE(completion(0));
  EXPECT_TRUE(completion(1));
}

TEST_F(RequestTableTest, SuccessesOfUcAndUdAllPass) {  // (R9)
  for (std::uint32_t n = 0x7ffffff0; n < 0x80000010; ++n) ASSERT_TRUE(completion(n, WcStatus::kSuccess));
  EXPECT_TRUE(completion(0x80000010, WcStatus::kLocalProtection));
}

TEST_F(RequestTableTest, AResetForgetsTheQp) {
  request(10, 1);
  completion(5, WcStatus::kLocalProtection);
  table.add({.qpn = qp.qpn, .first_psn = {}, .reset = true});
  wqe = 0;
  request(3, 1);
  EXPECT_EQ(ack(3), Wqes{3});
  EXPECT_TRUE(completion(1));
}

TEST_F(RequestTableTest, QpsDoNotSeeEachOther) {
  request(10, 1);
  QpContext other = make_qp(Transport::kRc);
  other.qpn = Qpn{0x99};
  RequestNotice notice;
  EXPECT_FALSE(table.take_completed(*make_packet(other, {.operation = Operation::kAck, .psn = 10}), notice));
  EXPECT_EQ(table.outstanding(other.qpn), 0u);
  EXPECT_EQ(table.outstanding(qp.qpn), 1u);
}

TEST_F(RequestTableTest, UnsignaledReadsCompleteNothing) {
  table.add({.qpn = qp.qpn, .first_psn = Psn{10}, .opcode = CqeOpcode::kRdmaRead, .signaled = false, .bytes = 8});
  read_response(Operation::kReadResponseOnly, 10, 8);
  EXPECT_EQ(last->outcome, Outcome::kAnswer);
  EXPECT_TRUE(last->ends_message);
  EXPECT_FALSE(last->completes);
}

TEST_F(RequestTableTest, ARequestThatFindsNoPlaceIsNotNoted) {  // (R10)
  table = RequestTable({.requests = 3, .qps = 1});
  for (std::uint32_t psn = 10; psn < 14; ++psn) request(psn, 1);
  EXPECT_EQ(table.counters().refused, 1u);
  EXPECT_EQ(table.in_use(), 3u);
  EXPECT_EQ(ack(13), (Wqes{10, 11, 12})) << "the fourth was never noted";
  EXPECT_EQ(last->outcome, Outcome::kAnswer);
  EXPECT_EQ(table.in_use(), 0u);
  for (std::uint32_t psn = 14; psn < 17; ++psn) request(psn, 1);
  EXPECT_EQ(table.counters().refused, 1u);
  EXPECT_EQ(ack(16), (Wqes{14, 15, 16}));
  table.add({.qpn = Qpn{raw(qp.qpn) + 1}, .first_psn = Psn{1}});
  EXPECT_EQ(table.counters().refused, 2u) << "nor a request of one QP more";
  table.add({.qpn = qp.qpn, .reset = true});
  table.add({.qpn = Qpn{raw(qp.qpn) + 1}, .first_psn = Psn{2}});
  EXPECT_EQ(table.counters().refused, 2u);
}

TEST_F(RequestTableTest, EveryPlaceIsGivenBackOnce) {  // (R10)
  table = RequestTable({.requests = 4, .qps = 2});
  request(10, 1);
  request(11, 1);
  request(12, 1, CqeOpcode::kRdmaRead, 8);
  EXPECT_EQ(table.take_freed(), 0u);
  ack(10);
  EXPECT_EQ(table.take_freed(), 1u);
  EXPECT_EQ(table.take_freed(), 0u);
  request(11, 1);  // repeated
  EXPECT_EQ(table.take_freed(), 1u);
  read_response(Operation::kReadResponseOnly, 12, 8);
  EXPECT_EQ(table.take_freed(), 2u) << "the READ, and what was before it";
  request(13, 1);
  request(14, 1);
  completion(4);
  EXPECT_EQ(table.take_freed(), 2u) << "flushed";
  request(15, 1);
  EXPECT_EQ(table.take_freed(), 1u) << "of a QP that has failed";
  table.add({.qpn = qp.qpn, .reset = true});
  EXPECT_EQ(table.take_freed(), 0u);
  request(16, 1);
  table.add({.qpn = qp.qpn, .reset = true});
  EXPECT_EQ(table.take_freed(), 1u);
  EXPECT_EQ(table.in_use(), 0u);
}

}  // namespace
}  // namespace rxnic::request_table_test
