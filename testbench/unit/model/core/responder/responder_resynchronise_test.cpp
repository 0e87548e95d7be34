// SPDX-License-Identifier: Apache-2.0
// A QP of a capture takes a PSN ahead of the expected one as it is (R1, R11 of core/responder/responder.h): the sniffer
// lost packets.
#include "model/core/responder/responder.h"
#include "testbench/unit/model/core/responder/responder_fixture.h"

namespace rxnic::responder_resynchronise_test {
namespace {

using O = Operation;

class ResponderResynchronise : public ResponderFixture {
 protected:
  ResponderResynchronise() : ResponderFixture(Transport::kRc) { restart_capture(); }
  void restart_capture() {
    restart();
    qp.resynchronise = true;
    check({.operation = O::kSendOnly, .psn = 100});
  }
  void expect_gap(std::uint64_t gaps, std::uint64_t missing) {
    EXPECT_EQ(responder.counters().psn_gaps, gaps);
    EXPECT_EQ(responder.counters().psn_gap_packets, missing);
  }
};

TEST_F(ResponderResynchronise, AGapBetweenMessagesIsCounted) {
  CheckedPacket& p = check({.operation = O::kSendOnly, .psn = 104, .ack_request = true});
  expect_executed(p);
  EXPECT_TRUE(p.takes_wqe);
  EXPECT_EQ(p.answer_psn, Psn{104});
  EXPECT_EQ(qp.expected_psn, Psn{105});
  expect_gap(1, 3);
  EXPECT_EQ(responder.counters().truncated_messages, 0u);
  EXPECT_EQ(responder.counters().sequence_naks, 0u);
  expect_executed(check({.operation = O::kSendOnly, .psn = 105}));
  expect_gap(1, 3);
}

// Its first request is not in the capture: it came again behind the gap, or late. (R13)
TEST_F(ResponderResynchronise, ARepeatedReadThatWasNeverSavedIsCarriedOut) {
  check({.operation = O::kSendOnly, .psn = 104});
  CheckedPacket& read = check({.operation = O::kReadRequest, .psn = 102, .length = 64, .arrived = 77});
  EXPECT_EQ(read.outcome, Outcome::kReplay);
  EXPECT_EQ(read.answer_psn, Psn{102});
  EXPECT_EQ(read.local_bytes, 64u);
  EXPECT_EQ(read.message_start, 77u);
  EXPECT_EQ(qp.expected_psn, Psn{105});
  expect_dropped(check({.operation = O::kFetchAdd, .psn = 103}), DropReason::kDuplicateUnsaved);
  qp.access = kLocalWrite;
  expect_dropped(check({.operation = O::kReadRequest, .psn = 102, .length = 64}), DropReason::kDuplicateUnsaved);
}

TEST_F(ResponderResynchronise, AGapInsideASendIsPassedOver) {
  check({.operation = O::kSendFirst, .psn = 101, .payload = kTestMtu});
  CheckedPacket& p = check({.operation = O::kSendMiddle, .psn = 105, .payload = kTestMtu});
  CheckedPacket& last = check({.operation = O::kSendLast, .psn = 106, .payload = 1});
  expect_executed(p);
  expect_executed(last);
  EXPECT_FALSE(p.takes_wqe) << "the message goes on";
  EXPECT_TRUE(last.completes);
  EXPECT_EQ(abandoned, 0u);
  expect_gap(1, 3);
}

TEST_F(ResponderResynchronise, AGapInsideAWriteKeepsItsPlace) {
  for (const bool at_last : {false, true}) {
    restart_capture();
    const std::uint32_t length = 5 * kTestMtu + 7;
    check({.operation = O::kWriteFirst, .psn = 101, .payload = kTestMtu, .length = length});
    CheckedPacket& p = at_last ? check({.operation = O::kWriteLastImm, .psn = 106, .payload = 7})
                               : check({.operation = O::kWriteMiddle, .psn = 104, .payload = kTestMtu});
    expect_executed(p);
    EXPECT_EQ(p.local_va, 0x10000u + (at_last ? 5u : 3u) * kTestMtu);
    EXPECT_EQ(p.local_bytes, at_last ? 7u : kTestMtu);
    EXPECT_EQ(p.message_bytes, at_last ? length : 4u * kTestMtu);
    EXPECT_EQ(qp.write_left, at_last ? 0u : length - 4u * kTestMtu);
  }
  EXPECT_EQ(responder.counters().truncated_messages, 0u);
}

TEST_F(ResponderResynchronise, APieceThatDoesNotFitIsOfAnotherWrite) {
  const PacketSpec other[] = {{.operation = O::kWriteMiddle, .psn = 108, .payload = kTestMtu},   // beyond the end
                              {.operation = O::kWriteLast, .psn = 102, .payload = 9},            // not what is left
                              {.operation = O::kWriteMiddle, .psn = 103, .payload = kTestMtu}};  // LAST was due
  std::uint64_t truncated = 0;
  for (const PacketSpec& spec : other) {
    restart_capture();
    check({.operation = O::kWriteFirst, .psn = 101, .payload = kTestMtu, .length = 3 * kTestMtu});
    PacketSpec shifted = spec;
    if (spec.psn == 102) shifted.psn = 103;
    CheckedPacket& p = check(shifted);
    expect_executed(p);
    EXPECT_EQ(p.local_bytes, 0u) << "its address is not known";
    EXPECT_EQ(p.payload_bytes, 0u);
    EXPECT_EQ(responder.counters().truncated_messages, ++truncated);
  }
}

TEST_F(ResponderResynchronise, ASendWithoutItsFirstTakesAWqe) {  // (R11)
  CheckedPacket& p = check({.operation = O::kSendMiddle, .psn = 103, .payload = kTestMtu, .arrived = 9});
  CheckedPacket& middle = check({.operation = O::kSendMiddle, .psn = 104, .payload = kTestMtu});
  CheckedPacket& last = check({.operation = O::kSendLast, .psn = 105, .payload = 3});
  for (const CheckedPacket* q : {&p, &middle, &last}) expect_executed(*q);
  EXPECT_TRUE(p.takes_wqe && !middle.takes_wqe && !last.takes_wqe);
  EXPECT_TRUE(last.completes);
  EXPECT_EQ(last.message_bytes, 2u * kTestMtu + 3);
  EXPECT_EQ(last.message_start, 9u);
  EXPECT_EQ(qp.msn, 2u);
  EXPECT_EQ(responder.counters().truncated_messages, 1u);
  restart_capture();
  CheckedPacket& only_last = check({.operation = O::kSendLast, .psn = 103, .payload = 3});
  EXPECT_TRUE(only_last.takes_wqe && only_last.completes);
}

TEST_F(ResponderResynchronise, AWriteWithoutItsFirstIsAcknowledgedNotWritten) {  // (R11)
  CheckedPacket& p = check({.operation = O::kWriteMiddle, .psn = 103, .payload = kTestMtu, .ack_request = true});
  CheckedPacket& middle = check({.operation = O::kWriteMiddle, .psn = 104, .payload = kTestMtu});
  CheckedPacket& last =
      check({.operation = O::kWriteLastImm, .psn = 105, .payload = 3, .ack_request = true, .solicited = true});
  for (const CheckedPacket* q : {&p, &middle, &last}) {
    expect_executed(*q);
    EXPECT_EQ(q->local_bytes, 0u);
    EXPECT_EQ(q->payload_bytes, 0u);
  }
  EXPECT_TRUE(p.acknowledge && !p.takes_wqe);
  EXPECT_TRUE(last.takes_wqe && last.completes && last.acknowledge);
  EXPECT_EQ(last.cqe_flags, kCqeImmediate | kCqeSolicited);
  EXPECT_EQ(last.cqe_opcode, CqeOpcode::kReceiveWriteImm);
  EXPECT_EQ(last.message_bytes, 2u * kTestMtu + 3);
  EXPECT_EQ(qp.message, MessageKind::kNone);
  EXPECT_EQ(responder.counters().truncated_messages, 1u);
  expect_executed(check({.operation = O::kSendOnly, .psn = 106}));
}

TEST_F(ResponderResynchronise, AGapInAWriteWithoutItsFirstIsPassedOver) {  // (R11)
  check({.operation = O::kWriteMiddle, .psn = 103, .payload = kTestMtu});
  expect_executed(check({.operation = O::kWriteMiddle, .psn = 110, .payload = kTestMtu}));
  expect_executed(check({.operation = O::kSendOnly, .psn = 120}));
  EXPECT_EQ(responder.counters().truncated_messages, 1u);
  expect_gap(3, 2 + 6 + 9);
}

TEST_F(ResponderResynchronise, ASendWhoseLastWasLostIsAbandoned) {
  check({.operation = O::kSendFirst, .psn = 101, .payload = kTestMtu});
  for (const O next : {O::kSendOnly, O::kWriteOnly, O::kReadRequest, O::kFetchAdd, O::kWriteMiddle}) {
    auto p = make_packet(qp, {.operation = next, .psn = 105});
    EXPECT_TRUE(responder.abandons_message(*p)) << opcode_name(p->h.opcode);
    p->h.psn = qp.expected_psn;
    EXPECT_FALSE(responder.abandons_message(*p)) << "no gap: an error of the peer";
  }
  expect_executed(check({.operation = O::kSendOnly, .psn = 105}));
  EXPECT_EQ(abandoned, 1u);
  EXPECT_EQ(responder.counters().truncated_messages, 1u);
  EXPECT_EQ(qp.message, MessageKind::kNone);
  EXPECT_EQ(qp.msn, 2u) << "the truncated message is not counted";
}

TEST_F(ResponderResynchronise, AWriteWhoseLastWasLostIsAbandoned) {
  check({.operation = O::kWriteFirst, .psn = 101, .payload = kTestMtu, .length = 3 * kTestMtu});
  expect_executed(check({.operation = O::kSendFirst, .psn = 105, .payload = kTestMtu}));
  EXPECT_EQ(abandoned, 1u);
}

TEST_F(ResponderResynchronise, ACaptureMayStartInsideAMessage) {  // (R11)
  for (const O operation : {O::kSendMiddle, O::kSendLast, O::kWriteMiddle, O::kWriteLast}) {
    restart();
    qp.resynchronise = true;
    CheckedPacket& p = check({.operation = operation, .psn = kFirstPsn, .payload = kTestMtu});
    expect_executed(p);
    EXPECT_EQ(p.takes_wqe, p.has(kSend));
  }
  expect_gap(0, 0);
  EXPECT_EQ(responder.counters().truncated_messages, 4u);
}

TEST_F(ResponderResynchronise, WithoutAGapASequenceErrorIsOne) {
  expect_refused(check({.operation = O::kSendMiddle, .psn = 101, .payload = kTestMtu}));
}

TEST_F(ResponderResynchronise, WhatAnRnrNakTookBackIsNoGap) {  // (R1)
  CheckedPacket& p = check({.operation = O::kSendOnly, .psn = 101});
  fail_rnr(p);
  CheckedPacket& next = check({.operation = O::kSendOnly, .psn = 102});
  expect_executed(next);
  EXPECT_FALSE(is_squashed(next));
  expect_gap(0, 0);
  check({.operation = O::kSendOnly, .psn = 104});
  expect_gap(1, 1);
}

TEST_F(ResponderResynchronise, DuplicatesAreStillDuplicates) {
  check({.operation = O::kSendOnly, .psn = 110});
  EXPECT_EQ(check({.operation = O::kSendOnly, .psn = 105}).outcome, Outcome::kAckAgain);
}

class ResynchroniseXrc : public ResponderFixture {
 protected:
  ResynchroniseXrc() : ResponderFixture(Transport::kXrc) { qp.resynchronise = true; }
};

TEST_F(ResynchroniseXrc, ASendWithoutItsFirstTakesItsWqeFromThePacketsSrq) {  // (R10) (R11)
  CheckedPacket& p = check({.operation = O::kSendMiddle, .psn = 103, .payload = kTestMtu, .srq = kOtherSrq});
  expect_executed(p);
  EXPECT_EQ(p.queue, WqId{51});
  EXPECT_EQ(qp.message_queue, WqId{51});
  EXPECT_EQ(qp.message_cq, Cqn{61});
}

}  // namespace
}  // namespace rxnic::responder_resynchronise_test
