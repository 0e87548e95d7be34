// SPDX-License-Identifier: Apache-2.0
// The reliable responder (RC, XRC), in the order of its checks: PSN, opcode sequence, opcode enabled, length, queue.
#include "model/core/responder/responder.h"

#include "testbench/unit/model/core/responder/responder_fixture.h"

namespace rxnic::responder_test {
namespace {

using O = Operation;

class ResponderRc : public ResponderFixture {
 protected:
  ResponderRc() : ResponderFixture(Transport::kRc) {}
};
class RecyclingResponder : public ResponderFixture {
 protected:
  RecyclingResponder() : ResponderFixture(Transport::kRc, RdAtomicOverLimit::kRecycle) {}
};
class ResponderXrc : public ResponderFixture {
 protected:
  ResponderXrc() : ResponderFixture(Transport::kXrc) {}
};

// --- the first packet after RTR

TEST_F(ResponderRc, TheFirstRequestThatIsNotDroppedEstablishesTheCommunication) {  // (R14)
  qp.state = QpState::kRtr;
  qp.nak_sent = true;
  EXPECT_FALSE(check({.psn = kFirstPsn + 1}).establishes) << "dropped";
  EXPECT_TRUE(check({.psn = kFirstPsn}).establishes);
  EXPECT_FALSE(check({.psn = kFirstPsn + 1}).establishes);
}

TEST_F(ResponderRc, AQpInRtsIsEstablishedWithoutBeingMarked) {  // (R14)
  EXPECT_FALSE(check({.psn = kFirstPsn}).establishes);
  qp.state = QpState::kRtr;
  EXPECT_FALSE(check({.psn = kFirstPsn + 1}).establishes) << "software has seen RTS before";
}

// --- the work for a packet that is accepted

TEST_F(ResponderRc, ASendOnlyTakesAWqeAndCompletes) {
  CheckedPacket& p =
      check({.operation = O::kSendOnly, .payload = 64, .ack_request = true, .solicited = true, .arrived = 17});
  expect_executed(p);
  EXPECT_TRUE(p.takes_wqe && p.ends_message && p.completes && p.acknowledge);
  EXPECT_EQ(p.queue, kTestQueue);
  EXPECT_EQ(p.cq, kTestReceiveCq);
  EXPECT_EQ(p.pd, kTestPd);
  EXPECT_EQ(p.cqe_opcode, CqeOpcode::kReceive);
  EXPECT_EQ(p.cqe_flags, kCqeSolicited);
  EXPECT_EQ(p.message_bytes, 64u);
  EXPECT_EQ(p.message_start, 17u);
  EXPECT_EQ(p.syndrome, kAckUnlimited);
  EXPECT_EQ(p.answer_psn, Psn{kFirstPsn});
  EXPECT_EQ(p.answer_msn, 1u);
  EXPECT_EQ(qp.expected_psn, Psn{kFirstPsn + 1});
}

TEST_F(ResponderRc, ALongSendTakesOneWqeAndCompletesOnce) {
  CheckedPacket& first = check({.operation = O::kSendFirst, .psn = 100, .payload = kTestMtu, .arrived = 5});
  CheckedPacket& middle = check({.operation = O::kSendMiddle, .psn = 101, .payload = kTestMtu, .arrived = 6});
  CheckedPacket& last = check({.operation = O::kSendLastImm, .psn = 102, .payload = 1, .arrived = 7});
  for (const CheckedPacket* p : {&first, &middle, &last}) expect_executed(*p);
  EXPECT_TRUE(first.takes_wqe && !middle.takes_wqe && !last.takes_wqe);
  EXPECT_TRUE(!first.completes && !middle.completes && last.completes);
  EXPECT_EQ(last.cqe_flags, kCqeImmediate);
  EXPECT_EQ(last.message_bytes, 2u * kTestMtu + 1);
  EXPECT_EQ(last.message_start, 5u);
  EXPECT_EQ(first.message_sequence, last.message_sequence);
  EXPECT_EQ(qp.message, MessageKind::kNone);
}

TEST_F(ResponderRc, AWriteWithoutImmediateTakesNoWqe) {
  CheckedPacket& first = check({.operation = O::kWriteFirst, .psn = 100, .payload = kTestMtu, .length = kTestMtu + 6});
  CheckedPacket& last = check({.operation = O::kWriteLast, .psn = 101, .payload = 6});
  expect_executed(first);
  expect_executed(last);
  EXPECT_FALSE(first.takes_wqe || first.completes || last.takes_wqe || last.completes);
  EXPECT_EQ(first.local_va, 0x10000u);
  EXPECT_EQ(first.local_bytes, kTestMtu + 6u) << "the whole range is checked at the FIRST";
  EXPECT_EQ(last.local_va, 0x10000u + kTestMtu);
  EXPECT_EQ(last.local_bytes, 6u);
  EXPECT_EQ(last.local_key, Key{0x4200});
  EXPECT_EQ(last.access, kRemoteWrite);
}

TEST_F(ResponderRc, AWriteWithImmediateTakesItsWqeAtItsEnd) {  // rules 6
  CheckedPacket& first = check({.operation = O::kWriteFirst, .psn = 100, .payload = kTestMtu, .length = kTestMtu + 6});
  CheckedPacket& last = check({.operation = O::kWriteLastImm, .psn = 101, .payload = 6});
  EXPECT_FALSE(first.takes_wqe);
  EXPECT_TRUE(last.takes_wqe && last.completes);
  EXPECT_EQ(last.cqe_opcode, CqeOpcode::kReceiveWriteImm);
  EXPECT_EQ(last.message_bytes, kTestMtu + 6u);
  CheckedPacket& only = check({.operation = O::kWriteOnlyImm, .psn = 102, .payload = 8, .length = 8});
  EXPECT_TRUE(only.takes_wqe && only.completes);
  EXPECT_EQ(only.cqe_flags, kCqeImmediate);
}

TEST_F(ResponderRc, SendWithInvalidateSaysSo) {
  CheckedPacket& p = check({.operation = O::kSendOnlyInv});
  expect_executed(p);
  EXPECT_EQ(p.cqe_flags, kCqeInvalidated);
}

TEST_F(ResponderRc, AReadIsSavedAndAnsweredUnasked) {  // (R8)
  CheckedPacket& p = check({.operation = O::kReadRequest, .length = 3 * kTestMtu, .ack_request = false});
  expect_executed(p);
  EXPECT_TRUE(p.acknowledge);
  EXPECT_FALSE(p.takes_wqe || p.completes);
  EXPECT_EQ(p.access, kRemoteRead);
  EXPECT_EQ(p.local_bytes, 3u * kTestMtu);
  const ResponderResource& saved = resources[p.resource];
  EXPECT_EQ(saved.operation, O::kReadRequest);
  EXPECT_EQ(saved.first_psn, Psn{kFirstPsn});
  EXPECT_EQ(saved.psn_count, 3u);
}

TEST_F(ResponderRc, AReadAdvancesThePsnByItsResponses) {  // (R7)
  struct Row {
    std::uint32_t bytes, responses;
  };
  for (const Row row : {Row{0, 1}, Row{1, 1}, Row{kTestMtu, 1}, Row{kTestMtu + 1, 2}, Row{4 * kTestMtu, 4},
                        Row{1u << 31, (1u << 31) / kTestMtu}}) {
    restart();
    check({.operation = O::kReadRequest, .length = row.bytes});
    EXPECT_EQ(qp.expected_psn, Psn{kFirstPsn + row.responses}) << row.bytes;
    EXPECT_EQ(qp.msn, 1u);
  }
}

TEST_F(ResponderRc, BothAtomicsAreSavedAndAnsweredUnasked) {  // (R8)
  for (const O operation : {O::kCompareSwap, O::kFetchAdd}) {
    restart();
    CheckedPacket& p = check({.operation = operation});
    expect_executed(p);
    EXPECT_TRUE(p.acknowledge && p.ends_message);
    EXPECT_EQ(p.access, kRemoteAtomic);
    EXPECT_EQ(p.local_bytes, 8u);
    EXPECT_EQ(resources[p.resource].operation, operation);
    EXPECT_EQ(qp.expected_psn, Psn{kFirstPsn + 1});
  }
}

TEST_F(ResponderRc, AnAtomicWriteIsSavedAndAnsweredUnaskedAndTakesNoWqe) {  // (R8)
  CheckedPacket& p = check({.operation = O::kAtomicWrite, .payload = 8, .length = 8});
  expect_executed(p);
  EXPECT_TRUE(p.acknowledge && p.ends_message);
  EXPECT_FALSE(p.takes_wqe || p.completes);
  EXPECT_EQ(p.access, kRemoteWrite);
  EXPECT_EQ(p.local_va, 0x10000u);
  EXPECT_EQ(p.local_bytes, 8u);
  EXPECT_EQ(resources[p.resource].operation, O::kAtomicWrite);
  EXPECT_EQ(resources[p.resource].first_psn, Psn{kFirstPsn});
  EXPECT_EQ(qp.expected_psn, Psn{kFirstPsn + 1});
  EXPECT_EQ(p.answer_msn, 1u);
  EXPECT_EQ(p.message_bytes, 8u);
}

TEST_F(ResponderRc, NoAckUnlessAsked) {  // (R8)
  EXPECT_FALSE(check({.operation = O::kSendOnly, .psn = 100, .ack_request = false}).acknowledge);
  EXPECT_TRUE(check({.operation = O::kWriteOnly, .psn = 101, .ack_request = true}).acknowledge);
}

TEST_F(ResponderRc, MsnCountsMessagesNotPackets) {  // (R7)
  in_send();
  EXPECT_EQ(qp.msn, 0u);
  EXPECT_EQ(check({.operation = O::kSendLast, .psn = 101, .payload = 1}).answer_msn, 1u);
  EXPECT_EQ(check({.operation = O::kFetchAdd, .psn = 102}).answer_msn, 2u);
  EXPECT_EQ(check({.operation = O::kReadRequest, .psn = 103, .length = 4000}).answer_msn, 3u);
}

TEST_F(ResponderRc, MsnAndPsnWrapAt24Bits) {  // (R7)
  qp.msn = 0xffffff;
  qp.expected_psn = Psn{0xffffff};
  EXPECT_EQ(check({.operation = O::kSendOnly, .psn = 0xffffff}).answer_msn, 0u);
  EXPECT_EQ(qp.expected_psn, Psn{0});
  expect_executed(check({.operation = O::kSendOnly, .psn = 0}));
  EXPECT_EQ(check({.operation = O::kSendOnly, .psn = 0xffffff}).outcome, Outcome::kAckAgain) << "behind, not ahead";
}

// --- PSN

TEST_F(ResponderRc, APsnAheadGetsOneNakWithTheExpectedPsn) {  // (R1)
  check({.operation = O::kSendOnly, .psn = 100});
  CheckedPacket& p = check({.operation = O::kSendOnly, .psn = 102});
  EXPECT_EQ(p.outcome, Outcome::kNak);
  EXPECT_EQ(p.drop_reason, DropReason::kPsnAhead);
  EXPECT_EQ(p.syndrome, kNakSequence);
  EXPECT_TRUE(p.acknowledge);
  EXPECT_EQ(p.answer_psn, Psn{101});
  EXPECT_EQ(p.answer_msn, 1u);
  EXPECT_FALSE(p.completes || p.takes_wqe);
  EXPECT_EQ(p.status, WcStatus::kSuccess);
  EXPECT_EQ(qp.state, QpState::kRts) << "the QP goes on";
  EXPECT_EQ(qp.expected_psn, Psn{101});
}

TEST_F(ResponderRc, ThenItIsSilentUntilTheExpectedOneComes) {  // (R1)
  check({.operation = O::kSendOnly, .psn = 101});
  for (const std::uint32_t psn : {102u, 103u, 150u}) {
    expect_dropped(check({.operation = O::kSendOnly, .psn = psn}), DropReason::kPsnAhead);
  }
  EXPECT_EQ(check({.operation = O::kSendOnly, .psn = 99}).outcome, Outcome::kAckAgain) << "duplicates are answered";
  expect_dropped(check({.operation = O::kSendOnly, .psn = 102}), DropReason::kPsnAhead);
  expect_executed(check({.operation = O::kSendOnly, .psn = 100}));
  EXPECT_EQ(check({.operation = O::kSendOnly, .psn = 102}).syndrome, kNakSequence) << "the next gap";
  EXPECT_EQ(responder.counters().sequence_naks, 2u);
}

TEST_F(ResponderRc, ThePsnIsLookedAtBeforeTheOpcodeSequence) {
  in_send();
  EXPECT_EQ(check({.operation = O::kWriteLast, .psn = 105}).syndrome, kNakSequence);
  EXPECT_EQ(check({.operation = O::kWriteLast, .psn = 99}).outcome, Outcome::kAckAgain);
  EXPECT_EQ(qp.state, QpState::kRts);
}

TEST_F(ResponderRc, ADuplicateSendOrWriteIsAcknowledgedNotExecuted) {  // (R2)
  for (std::uint32_t psn = 100; psn < 105; ++psn) check({.operation = O::kSendOnly, .psn = psn});
  for (const O operation : {O::kSendFirst, O::kSendMiddle, O::kSendLast, O::kSendLastImm, O::kSendOnly, O::kSendOnlyImm,
                            O::kSendLastInv, O::kSendOnlyInv, O::kWriteFirst, O::kWriteMiddle, O::kWriteLast,
                            O::kWriteLastImm, O::kWriteOnly, O::kWriteOnlyImm}) {
    CheckedPacket& p = check({.operation = operation, .psn = 102, .payload = 9, .ack_request = false});
    EXPECT_EQ(p.outcome, Outcome::kAckAgain) << opcode_name(p.h.opcode);
    EXPECT_TRUE(p.acknowledge);
    EXPECT_EQ(p.answer_psn, Psn{104}) << "the newest PSN that was taken";
    EXPECT_EQ(p.answer_msn, 5u);
    EXPECT_FALSE(p.takes_wqe || p.completes);
    EXPECT_EQ(p.local_bytes, 0u);
  }
  EXPECT_EQ(qp.expected_psn, Psn{105});
  EXPECT_EQ(qp.msn, 5u);
  EXPECT_EQ(responder.counters().duplicates, 14u);
}

TEST_F(ResponderRc, ADuplicateReadIsReplayed) {  // (R2)
  check({.operation = O::kReadRequest, .psn = 100, .length = 3 * kTestMtu});
  CheckedPacket& whole = check({.operation = O::kReadRequest, .psn = 100, .length = 3 * kTestMtu});
  EXPECT_EQ(whole.outcome, Outcome::kReplay);
  EXPECT_TRUE(whole.acknowledge);
  EXPECT_EQ(whole.answer_psn, Psn{100});
  CheckedPacket& rest =
      check({.operation = O::kReadRequest, .psn = 102, .length = kTestMtu, .va = 0x10000 + 2 * kTestMtu});
  EXPECT_EQ(rest.outcome, Outcome::kReplay);
  EXPECT_EQ(rest.answer_psn, Psn{102});
  EXPECT_EQ(rest.local_va, 0x10000u + 2 * kTestMtu);
  EXPECT_EQ(rest.local_bytes, kTestMtu);
  EXPECT_EQ(rest.access, kRemoteRead);
  EXPECT_EQ(qp.expected_psn, Psn{103});
  EXPECT_EQ(qp.msn, 1u);
}

TEST_F(ResponderRc, WhatIsReplayedBeganWhenItArrivedAgain) {
  for (const Operation operation : {O::kReadRequest, O::kFetchAdd, O::kCompareSwap}) {
    const std::uint32_t psn = qp.expected_psn.value;
    const std::uint32_t length = operation == O::kReadRequest ? 64 : 8;
    check({.operation = operation, .psn = psn, .length = length, .arrived = 500});
    CheckedPacket& again = check({.operation = operation, .psn = psn, .length = length, .arrived = 900});
    EXPECT_EQ(again.outcome, Outcome::kReplay);
    EXPECT_EQ(again.message_start, 900u);
  }
}

TEST_F(ResponderRc, ADuplicateReadOfOtherBytesIsDropped) {  // (R2)
  check({.operation = O::kReadRequest, .psn = 100, .length = 1000});
  const PacketSpec bad[] = {
      {.operation = O::kReadRequest, .psn = 100, .length = 1001},                 // longer
      {.operation = O::kReadRequest, .psn = 100, .length = 999},                  // shorter
      {.operation = O::kReadRequest, .psn = 102, .length = 1000 - 2 * kTestMtu},  // its PSN implies more
      {.operation = O::kReadRequest, .psn = 101, .length = 1000 - 2 * kTestMtu, .va = 0x10000 + 2 * kTestMtu},
      {.operation = O::kReadRequest, .psn = 100, .length = 1000, .va = 0x10001},                  // past the end
      {.operation = O::kReadRequest, .psn = 100, .length = 1, .va = 0xffff},                      // before the start
      {.operation = O::kReadRequest, .psn = 100, .length = 1000, .va = 0x10000, .rkey = 0x4201},  // another region
      {.operation = O::kReadRequest, .psn = 100, .length = 16, .va = 0xffff'ffff'ffff'fff8},      // wraps
      {.operation = O::kReadRequest, .psn = 99, .length = 1000},                                  // never saved
      {.operation = O::kFetchAdd, .psn = 100},                                                    // not an atomic
  };
  for (const PacketSpec& spec : bad) expect_dropped(check(spec), DropReason::kDuplicateUnsaved);
  EXPECT_EQ(qp.state, QpState::kRts);
}

TEST_F(ResponderRc, ADuplicateAtomicIsReplayedFromItsResource) {  // (R2)
  for (const O operation : {O::kCompareSwap, O::kFetchAdd}) {
    restart();
    forget_resources();
    const std::uint32_t resource = check({.operation = operation, .psn = 100}).resource;
    CheckedPacket& again = check({.operation = operation, .psn = 100});
    EXPECT_EQ(again.outcome, Outcome::kReplay);
    EXPECT_EQ(again.resource, resource);
    EXPECT_TRUE(again.acknowledge);
    EXPECT_EQ(again.answer_msn, 1u);
    expect_dropped(check({.operation = operation, .psn = 99}), DropReason::kDuplicateUnsaved);
    expect_dropped(check({.operation = O::kReadRequest, .psn = 100, .length = 8}), DropReason::kDuplicateUnsaved);
  }
}

TEST_F(ResponderRc, ADuplicateAtomicWriteIsReplayedFromItsResource) {  // (R2)
  const PacketSpec write{.operation = O::kAtomicWrite, .psn = 100, .payload = 8, .length = 8};
  const std::uint32_t resource = check(write).resource;
  check({.operation = O::kFetchAdd, .psn = 101});
  CheckedPacket& again = check(write);
  EXPECT_EQ(again.outcome, Outcome::kReplay);
  EXPECT_EQ(again.resource, resource);
  EXPECT_TRUE(again.acknowledge);
  EXPECT_EQ(again.answer_psn, Psn{100});
  EXPECT_EQ(again.answer_msn, 2u);
  const PacketSpec others[] = {{.operation = O::kAtomicWrite, .psn = 99, .payload = 8, .length = 8},   // never saved
                               {.operation = O::kAtomicWrite, .psn = 101, .payload = 8, .length = 8},  // was an ADD
                               {.operation = O::kFetchAdd, .psn = 100},
                               {.operation = O::kReadRequest, .psn = 100, .length = 8}};
  for (const PacketSpec& spec : others) expect_dropped(check(spec), DropReason::kDuplicateUnsaved);
}

TEST_F(ResponderRc, ARepeatedOneThatWasOverwrittenIsDropped) {  // (R13)
  for (const O operation : {O::kFetchAdd, O::kReadRequest}) {
    restart();
    forget_resources();
    resources.reserve(qp.qpn, 2);
    for (std::uint32_t psn = 100; psn < 103; ++psn) check({.operation = operation, .psn = psn, .length = 8});
    EXPECT_EQ(check({.operation = operation, .psn = 101, .length = 8}).outcome, Outcome::kReplay);
    expect_dropped(check({.operation = operation, .psn = 100, .length = 8}), DropReason::kDuplicateUnsaved);
    EXPECT_EQ(qp.state, QpState::kRts);
  }
  EXPECT_EQ(responder.counters().overwritten, 2u);
}

TEST_F(RecyclingResponder, CarriesOutARepeatedReadAgain) {  // (R13)
  resources.reserve(qp.qpn, 2);
  for (std::uint32_t psn = 100; psn < 103; ++psn) check({.operation = O::kReadRequest, .psn = psn, .length = 8});
  CheckedPacket& again = check({.operation = O::kReadRequest, .psn = 100, .length = 8});
  EXPECT_EQ(again.outcome, Outcome::kReplay);
  EXPECT_EQ(again.answer_psn, Psn{100});
  EXPECT_EQ(again.local_va, 0x10000u);
  EXPECT_EQ(again.local_bytes, 8u);
  EXPECT_EQ(again.access, kRemoteRead);
  EXPECT_EQ(qp.expected_psn, Psn{103});
  expect_dropped(check({.operation = O::kFetchAdd, .psn = 100}), DropReason::kDuplicateUnsaved);
}

TEST_F(RecyclingResponder, CarriesOutNoReadThatTheQpForbids) {  // (R13)
  resources.reserve(qp.qpn, 2);
  for (std::uint32_t psn = 100; psn < 103; ++psn) check({.operation = O::kReadRequest, .psn = psn, .length = 8});
  qp.access = kRemoteWrite;
  expect_dropped(check({.operation = O::kReadRequest, .psn = 100, .length = 8}), DropReason::kDuplicateUnsaved);
}

// --- opcode sequence

TEST_F(ResponderRc, OnlyTheOpcodesThatContinueAMessageMayFollow) {  // (R3)
  constexpr O kAll[] = {O::kSendFirst,   O::kSendMiddle,   O::kSendLast,    O::kSendLastImm,  O::kSendOnly,
                        O::kSendOnlyImm, O::kSendLastInv,  O::kSendOnlyInv, O::kWriteFirst,   O::kWriteMiddle,
                        O::kWriteLast,   O::kWriteLastImm, O::kWriteOnly,   O::kWriteOnlyImm, O::kReadRequest,
                        O::kCompareSwap, O::kFetchAdd,     O::kAtomicWrite};
  for (const MessageKind inside : {MessageKind::kNone, MessageKind::kSend, MessageKind::kWrite}) {
    for (const O operation : kAll) {
      restart();
      if (inside == MessageKind::kSend) in_send();
      if (inside == MessageKind::kWrite) in_write();
      const std::uint32_t traits = opcode_info(opcode_of(Transport::kRc, operation)).traits;
      const bool continues = (traits & (kMiddle | kLast)) != 0;
      const std::uint32_t kind = inside == MessageKind::kSend ? kSend : kWrite;
      const bool expected = inside == MessageKind::kNone ? !continues : continues && (traits & kind) != 0;
      const bool full = (traits & (kFirst | kMiddle)) != 0;
      const bool two_left = inside == MessageKind::kWrite && (traits & kLast) != 0;
      if (two_left) check({.operation = O::kWriteMiddle, .psn = qp.expected_psn.value, .payload = kTestMtu});
      const bool data = (traits & kHasPayload) != 0;
      const std::uint32_t bytes = !data ? 0 : full || two_left ? kTestMtu : 8;
      CheckedPacket& p = check({.operation = operation,
                                .psn = qp.expected_psn.value,
                                .payload = bytes,
                                .length = (traits & kFirst) != 0 ? 2 * bytes : bytes});
      if (expected) {
        expect_executed(p);
      } else {
        expect_refused(p);
      }
    }
  }
}

TEST_F(ResponderRc, AfterASequenceErrorNothingIsTaken) {  // (R3) the QP is in the error state: header_check drops
  in_send();
  expect_refused(check({.operation = O::kSendOnly, .psn = 101}));
  EXPECT_EQ(responder.counters().invalid_requests, 1u);
}

TEST_F(ResponderRc, TheSequenceIsLookedAtBeforeTheRights) {
  qp.access = 0;
  expect_refused(check({.operation = O::kWriteMiddle, .psn = 100, .payload = kTestMtu}));
}

// --- opcode enabled

TEST_F(ResponderRc, WhatSoftwareDidNotAllowIsRefused) {  // (R3)
  struct Row {
    O operation;
    std::uint8_t right;
  };
  for (const Row row :
       {Row{O::kWriteOnly, kRemoteWrite}, Row{O::kWriteOnlyImm, kRemoteWrite}, Row{O::kReadRequest, kRemoteRead},
        Row{O::kCompareSwap, kRemoteAtomic}, Row{O::kFetchAdd, kRemoteAtomic}, Row{O::kAtomicWrite, kRemoteWrite}}) {
    const std::uint32_t bytes = row.operation == O::kAtomicWrite ? 8 : 0;
    restart();
    qp.access = static_cast<std::uint8_t>(0xff & ~row.right);
    CheckedPacket& p = check({.operation = row.operation, .payload = bytes, .length = bytes});
    expect_refused(p);
    EXPECT_FALSE(p.takes_wqe) << "refused before a WQE is looked for";
    restart();
    qp.access = row.right;
    expect_executed(check({.operation = row.operation, .payload = bytes, .length = bytes}));
  }
  restart();
  qp.access = 0;
  expect_executed(check({.operation = O::kSendOnly}));
}

TEST_F(ResponderRc, ReadsAndAtomicsNeedResources) {  // (R3)
  for (const O operation : {O::kReadRequest, O::kCompareSwap, O::kFetchAdd, O::kAtomicWrite}) {
    restart();
    qp.max_dest_rd_atomic = 0;
    const std::uint32_t bytes = operation == O::kAtomicWrite ? 8 : 0;
    expect_refused(check({.operation = operation, .payload = bytes, .length = bytes}));
    restart();
    resources.reserve(qp.qpn, 0);
    expect_refused(check({.operation = operation, .payload = bytes, .length = bytes}));
    resources.reserve(qp.qpn, qp.max_dest_rd_atomic);
  }
}

// --- XRC

TEST_F(ResponderXrc, TheWqeComesFromTheSrqOfThePacket) {  // (R10)
  CheckedPacket& a = check({.operation = O::kSendOnly, .psn = 100, .srq = kSrq});
  CheckedPacket& b = check({.operation = O::kSendOnly, .psn = 101, .srq = kOtherSrq});
  CheckedPacket& c = check({.operation = O::kWriteOnlyImm, .psn = 102, .srq = kOtherSrq});
  for (const CheckedPacket* p : {&a, &b, &c}) expect_executed(*p);
  EXPECT_EQ(a.queue, WqId{50});
  EXPECT_EQ(a.cq, Cqn{60}) << "XRC SRQs have a CQ of their own";
  EXPECT_EQ(b.queue, WqId{51});
  EXPECT_EQ(b.cq, Cqn{61});
  EXPECT_EQ(c.queue, WqId{51});
}

TEST_F(ResponderXrc, AnUnknownSrqOrOneOfAnotherDomainIsRefused) {  // (R10)
  expect_refused(check({.operation = O::kSendOnly, .srq = 1234}));
  restart();
  expect_refused(check({.operation = O::kSendFirst, .payload = kTestMtu, .srq = kForeignSrq}));
  restart();
  expect_refused(check({.operation = O::kWriteOnlyImm, .srq = 1234}));
  restart();
  expect_executed(check({.operation = O::kWriteOnly, .srq = 1234}));  // needs no WQE
}

TEST_F(ResponderXrc, TheSrqDoesNotChangeWithinASend) {  // (R10)
  check({.operation = O::kSendFirst, .psn = 100, .payload = kTestMtu, .srq = kOtherSrq});
  expect_executed(check({.operation = O::kSendMiddle, .psn = 101, .payload = kTestMtu, .srq = kOtherSrq}));
  expect_refused(check({.operation = O::kSendLast, .psn = 102, .payload = 1, .srq = kSrq}));
}

TEST_F(ResponderXrc, TheRestIsAsOnRc) {
  EXPECT_EQ(check({.operation = O::kSendOnly, .psn = 101}).syndrome, kNakSequence);
  expect_executed(check({.operation = O::kReadRequest, .psn = 100, .length = 8}));
  EXPECT_EQ(check({.operation = O::kReadRequest, .psn = 100, .length = 8}).outcome, Outcome::kReplay);
  expect_refused(check({.operation = O::kSendLast, .psn = 101, .payload = 1}));
}

// --- RNR: taken back by a block behind (core/responder/refusal.h)

TEST_F(ResponderRc, AnRnrNakOfASendFirstOrOnlyChangesNothing) {
  for (const O operation : {O::kSendFirst, O::kSendOnly}) {
    restart();
    check({.operation = O::kSendOnly, .psn = 100});
    const std::uint32_t bytes = operation == O::kSendFirst ? kTestMtu : 8;
    CheckedPacket& p = check({.operation = operation, .psn = 101, .payload = bytes});
    CheckedPacket& behind = check(
        {.operation = operation == O::kSendFirst ? O::kSendMiddle : O::kSendOnly, .psn = 102, .payload = kTestMtu});
    fail_rnr(p);
    EXPECT_TRUE(is_squashed(behind));
    EXPECT_EQ(qp.expected_psn, Psn{101});
    EXPECT_EQ(qp.msn, 1u);
    EXPECT_EQ(qp.message, MessageKind::kNone);
    expect_dropped(check({.operation = O::kSendOnly, .psn = 103}), DropReason::kPsnAhead);
    EXPECT_FALSE(packets.back()->acknowledge) << "silent, the RNR NAK was the answer";
    CheckedPacket& again = check({.operation = operation, .psn = 101, .payload = bytes});
    expect_executed(again);
    EXPECT_TRUE(again.takes_wqe);
    EXPECT_FALSE(is_squashed(again));
  }
}

TEST_F(ResponderRc, AnRnrNakOfAWriteLastWithImmediateKeepsTheWrite) {
  check({.operation = O::kWriteFirst, .psn = 100, .payload = kTestMtu, .length = kTestMtu + 10, .arrived = 50});
  CheckedPacket& p = check({.operation = O::kWriteLastImm, .psn = 101, .payload = 10, .arrived = 60});
  check({.operation = O::kWriteOnly, .psn = 102, .payload = 4, .length = 4, .va = 0x99999, .arrived = 70});
  fail_rnr(p);
  EXPECT_EQ(qp.message, MessageKind::kWrite);
  EXPECT_EQ(qp.write_left, 10u);
  CheckedPacket& again = check({.operation = O::kWriteLastImm, .psn = 101, .payload = 10, .arrived = 500});
  expect_executed(again);
  EXPECT_EQ(again.local_va, 0x10000u + kTestMtu);
  EXPECT_EQ(again.message_bytes, kTestMtu + 10u);
  EXPECT_EQ(again.message_start, 50u);
  EXPECT_EQ(qp.msn, 1u);
}

TEST_F(ResponderRc, ARefusalThatIsTakenBackIsNotCounted) {  // (R12)
  CheckedPacket& p = check({.operation = O::kSendOnly, .psn = 100});
  expect_refused(check({.operation = O::kSendLast, .psn = 101, .payload = 1}));
  EXPECT_EQ(responder.counters().invalid_requests, 1u);
  fail_rnr(p);
  EXPECT_NE(qp.state, QpState::kError);
  EXPECT_EQ(responder.counters().invalid_requests, 0u);
  check({.operation = O::kSendOnly, .psn = 100});
  expect_refused(check({.operation = O::kSendLast, .psn = 101, .payload = 1}));
  EXPECT_EQ(responder.counters().invalid_requests, 1u);
}

TEST_F(ResponderRc, AReadThatWasTakenBackLeavesTheOlderOneSaved) {
  resources.reserve(qp.qpn, 2);
  check({.operation = O::kReadRequest, .psn = 100, .length = 8});
  for (int attempt = 0; attempt < 4; ++attempt) {
    CheckedPacket& send = check({.operation = O::kSendOnly, .psn = 101});
    check({.operation = O::kReadRequest, .psn = 102, .length = 8});
    fail_rnr(send);
  }
  EXPECT_EQ(check({.operation = O::kReadRequest, .psn = 100, .length = 8}).outcome, Outcome::kReplay);
}

}  // namespace
}  // namespace rxnic::responder_test
