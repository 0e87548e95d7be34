// SPDX-License-Identifier: Apache-2.0
// The responder of UC (R4 of core/responder/responder.h), on an RQ and on an SRQ, and of UD (R5).
#include "model/core/responder/responder.h"
#include "testbench/unit/model/core/responder/responder_fixture.h"

namespace rxnic::responder_unreliable_test {
namespace {

using O = Operation;

class ResponderUc : public ResponderFixture {
 protected:
  ResponderUc() : ResponderFixture(Transport::kUc) {}
  void on_srq() {
    restart();
    qp.uses_srq = true;
  }
};
class ResponderUd : public ResponderFixture {
 protected:
  ResponderUd() : ResponderFixture(Transport::kUd) {}
};

void expect_error_completion(const CheckedPacket& p) {
  EXPECT_EQ(p.outcome, Outcome::kDrop);
  EXPECT_TRUE(p.completes);
  EXPECT_EQ(p.status, WcStatus::kRemoteInvalidRequest);
  EXPECT_FALSE(p.acknowledge);
  EXPECT_EQ(p.qp->state, QpState::kRts);
}
void expect_silent(const CheckedPacket& p, DropReason reason) {
  expect_dropped(p, reason);
  EXPECT_FALSE(p.completes);
  EXPECT_EQ(p.qp->state, QpState::kRts);
}

TEST_F(ResponderUc, AMessageIsTakenAndNeverAcknowledged) {
  CheckedPacket& first = check({.operation = O::kSendFirst, .psn = 100, .payload = kTestMtu, .ack_request = true});
  CheckedPacket& last = check({.operation = O::kSendLast, .psn = 101, .payload = 1, .ack_request = true});
  expect_executed(first);
  expect_executed(last);
  EXPECT_FALSE(first.acknowledge || last.acknowledge);
  EXPECT_TRUE(first.takes_wqe && last.completes);
  EXPECT_EQ(last.message_bytes, kTestMtu + 1u);
}

TEST_F(ResponderUc, AGapDropsUntilTheNextMessage) {  // (R4)
  in_send();
  expect_silent(check({.operation = O::kSendMiddle, .psn = 102, .payload = kTestMtu}), DropReason::kUcSequence);
  expect_silent(check({.operation = O::kSendMiddle, .psn = 103, .payload = kTestMtu}), DropReason::kUcSequence);
  expect_silent(check({.operation = O::kSendLast, .psn = 104, .payload = 1}), DropReason::kUcSequence);
  CheckedPacket& next = check({.operation = O::kSendFirst, .psn = 105, .payload = kTestMtu});
  expect_executed(next);
  expect_executed(check({.operation = O::kSendLast, .psn = 106, .payload = 1}));
}

TEST_F(ResponderUc, TheMissingPacketDoesNotMendTheMessage) {  // (R4)
  in_send();
  check({.operation = O::kSendMiddle, .psn = 102, .payload = kTestMtu});
  expect_silent(check({.operation = O::kSendMiddle, .psn = 101, .payload = kTestMtu}), DropReason::kUcSequence);
}

TEST_F(ResponderUc, ANewMessageIsTakenAtAnyPsn) {  // (R4)
  for (const std::uint32_t psn : {99u, 100u, 5000u}) {
    restart();
    expect_executed(check({.operation = O::kSendOnly, .psn = psn}));
    EXPECT_EQ(qp.expected_psn, Psn{psn + 1});
    expect_executed(check({.operation = O::kWriteFirst, .psn = psn + 7, .payload = kTestMtu, .length = 2 * kTestMtu}));
    expect_executed(check({.operation = O::kWriteLast, .psn = psn + 8, .payload = kTestMtu}));
  }
}

TEST_F(ResponderUc, WithoutItsFirstAMessageIsDropped) {  // (R4)
  for (const O operation : {O::kSendMiddle, O::kSendLast, O::kWriteMiddle, O::kWriteLast, O::kWriteLastImm}) {
    restart();
    CheckedPacket& p = check({.operation = operation, .payload = kTestMtu});
    expect_silent(p, DropReason::kUcSequence);
    EXPECT_FALSE(p.takes_wqe);
  }
}

TEST_F(ResponderUc, OnAnRqANewMessageInsideAnotherIsTaken) {  // (R4) its WQE is used again
  for (const O operation : {O::kSendOnly, O::kWriteOnly}) {
    restart();
    in_send();
    expect_executed(check({.operation = operation, .psn = 101}));
    EXPECT_EQ(qp.message, MessageKind::kNone);
  }
  restart();
  in_write();
  expect_executed(check({.operation = O::kSendFirst, .psn = 101, .payload = kTestMtu}));
  EXPECT_EQ(qp.message_bytes, kTestMtu);
}

TEST_F(ResponderUc, OnAnSrqItCompletesTheOldOneInErrorAndIsDropped) {  // (R4)
  for (const O operation : {O::kSendFirst, O::kSendOnly, O::kWriteOnly}) {
    on_srq();
    in_send();
    CheckedPacket& p =
        check({.operation = operation, .psn = 101, .payload = operation == O::kSendFirst ? kTestMtu : 0u});
    expect_error_completion(p);
    EXPECT_EQ(p.message_sequence, packets.front()->message_sequence) << "it is the old message's WQE";
    expect_silent(check({.operation = O::kSendLast, .psn = 102, .payload = 1}), DropReason::kUcSequence);
    expect_executed(check({.operation = O::kSendOnly, .psn = 103}));
    packets.clear();
  }
  EXPECT_EQ(responder.counters().invalid_requests, 3u);
}

TEST_F(ResponderUc, OnAnSrqAWriteHoldsNoWqeThatCouldComplete) {  // (R4)
  on_srq();
  in_write();
  expect_executed(check({.operation = O::kSendOnly, .psn = 101}));
}

TEST_F(ResponderUc, AWrongContinuationDropsTheRest) {  // (R4)
  in_send();
  expect_silent(check({.operation = O::kWriteMiddle, .psn = 101, .payload = kTestMtu}), DropReason::kUcSequence);
  expect_silent(check({.operation = O::kSendLast, .psn = 102, .payload = 1}), DropReason::kUcSequence);
  on_srq();
  in_send();
  expect_error_completion(check({.operation = O::kWriteLast, .psn = 101, .payload = 1}));
  expect_silent(check({.operation = O::kSendLast, .psn = 102, .payload = 1}), DropReason::kUcSequence);
}

TEST_F(ResponderUc, AWrongLengthDropsTheRest) {  // (R4) (R6)
  in_send();
  expect_silent(check({.operation = O::kSendMiddle, .psn = 101, .payload = kTestMtu - 1}), DropReason::kInvalidRequest);
  expect_silent(check({.operation = O::kSendLast, .psn = 102, .payload = 1}), DropReason::kUcSequence);
  restart();
  in_write();
  expect_silent(check({.operation = O::kWriteLast, .psn = 101, .payload = 1}), DropReason::kInvalidRequest);
  on_srq();
  in_send();
  expect_error_completion(check({.operation = O::kSendLast, .psn = 101, .payload = 0}));
}

TEST_F(ResponderUc, AWrongLengthAtTheStartIsJudgedWithItsWqeOnAnSrqOnly) {  // (R9)
  expect_silent(check({.operation = O::kSendFirst, .payload = 1}), DropReason::kInvalidRequest);
  EXPECT_EQ(qp.message, MessageKind::kSkip);
  on_srq();
  CheckedPacket& p = check({.operation = O::kSendFirst, .payload = 1});
  EXPECT_EQ(p.outcome, Outcome::kExecute);
  EXPECT_TRUE(p.bad_length && p.takes_wqe);
}

TEST_F(ResponderUc, WritesThatAreNotAllowedAreDropped) {  // "not enabled"
  qp.access = 0;
  expect_silent(check({.operation = O::kWriteFirst, .psn = 100, .payload = kTestMtu, .length = 600}),
                DropReason::kInvalidRequest);
  expect_silent(check({.operation = O::kWriteMiddle, .psn = 101, .payload = kTestMtu}), DropReason::kUcSequence);
  CheckedPacket& imm = check({.operation = O::kWriteOnlyImm, .psn = 102});
  expect_silent(imm, DropReason::kInvalidRequest);
  EXPECT_FALSE(imm.takes_wqe);
  expect_executed(check({.operation = O::kSendOnly, .psn = 103}));
}

TEST_F(ResponderUc, TheSequenceIsLookedAtBeforeTheRights) {
  qp.access = 0;
  expect_silent(check({.operation = O::kWriteLast, .psn = 100, .payload = 1}), DropReason::kUcSequence);
}

TEST_F(ResponderUc, WithoutAWqeTheMessageIsDroppedAndTheNextTaken) {
  CheckedPacket& first = check({.operation = O::kSendFirst, .psn = 100, .payload = kTestMtu});
  fail_rnr(first);
  CheckedPacket& last = check({.operation = O::kSendLast, .psn = 101, .payload = 1});
  EXPECT_TRUE(is_squashed(last));
  EXPECT_FALSE(is_squashed(check({.operation = O::kSendOnly, .psn = 102})));
}

TEST_F(ResponderUc, ResynchronisingIsNotForUc) {
  qp.resynchronise = true;
  in_send();
  check({.operation = O::kSendOnly, .psn = 150});
  EXPECT_EQ(abandoned, 0u);
  EXPECT_EQ(responder.counters().psn_gaps, 0u);
}

TEST_F(ResponderUd, ASendOnlyIsTakenWhateverItsPsn) {  // (R5)
  for (const std::uint32_t psn : {100u, 7u, 0xffffffu}) {
    CheckedPacket& p = check({.operation = O::kSendOnlyImm, .psn = psn, .payload = 10, .ack_request = true});
    expect_executed(p);
    EXPECT_TRUE(p.takes_wqe && p.completes);
    EXPECT_FALSE(p.acknowledge);
    EXPECT_EQ(p.cqe_flags, kCqeImmediate);
  }
}

TEST_F(ResponderUd, IsNotConnected) {  // (R14)
  qp.state = QpState::kRtr;
  EXPECT_FALSE(check({.operation = O::kSendOnly}).establishes);
}

TEST_F(ResponderUd, ItIsAtMostTheMtu) {  // (R5)
  expect_executed(check({.operation = O::kSendOnly, .payload = kTestMtu}));
  CheckedPacket& p = check({.operation = O::kSendOnly, .payload = kTestMtu + 1});
  expect_silent(p, DropReason::kInvalidRequest);
  EXPECT_FALSE(p.takes_wqe);
}

}  // namespace
}  // namespace rxnic::responder_unreliable_test
