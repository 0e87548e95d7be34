// SPDX-License-Identifier: Apache-2.0
#include "traces/answer_compare.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rxnic::answer_compare_test {
namespace {

const Address kPeer = Address::ipv4(0x0a000001);
const Address kReceiver = Address::ipv4(0x0a000002);
constexpr std::uint32_t kOwn = 0x21, kPeerQpn = 0x11;

ReceiverSurvey survey() {
  ReceiverSurvey s;
  s.receiver = kReceiver;
  SurveyedQp q;
  q.qpn = Qpn{kOwn};
  q.peer = kPeer;
  q.peer_qpn = Qpn{kPeerQpn};
  q.paired_by = PairedBy::kPsn;
  q.mtu = 1024;
  q.has_requests = true;
  q.msn_known = true;
  s.qps.push_back(q);
  return s;
}

// What is notified (answer_observer.h).
struct Notified final : AnswerObserver {
  std::map<AnswerVerdict, std::uint64_t> verdicts;
  std::map<std::uint64_t, std::uint64_t> packets;
  std::uint64_t without_words = 0;
  void on_compared(const ComparedAnswer& a) override {
    ++verdicts[a.verdict];
    without_words += a.verdict == AnswerVerdict::kDifferent && a.words.empty();
    if (a.captured != 0) ++packets[a.captured];
  }
};

struct Compare {
  Notified notified;
  AnswerCompare c;
  std::uint64_t packet = 0, number = 0;
  std::set<std::uint64_t> answers;  // captured

  explicit Compare(CompareOptions options = {}, const ReceiverSurvey& s = survey())
      : c(s, (options.observer = &notified, options)) {}
  static Headers request_headers(std::uint32_t psn, Operation op = Operation::kSendOnly, std::uint32_t length = 0) {
    Headers h;
    h.source = kPeer;
    h.destination = kReceiver;
    h.opcode = opcode_of(Transport::kRc, op);
    h.destination_qp = Qpn{kOwn};
    h.psn = Psn{psn};
    h.length = length;
    return h;
  }
  static Headers answer(std::uint32_t psn, std::uint32_t msn, Operation op = Operation::kAck,
                        std::uint8_t syndrome = 0x1f, std::uint16_t payload = 0, std::uint64_t original = 0) {
    Headers h;
    h.source = kReceiver;
    h.destination = kPeer;
    h.opcode = opcode_of(Transport::kRc, op);
    h.destination_qp = Qpn{kPeerQpn};
    h.psn = Psn{psn};
    h.msn = msn;
    h.syndrome = syndrome;
    h.payload_bytes = payload;
    h.original = original;
    return h;
  }
  void requests(std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t p = first; p != end; ++p) request(request_headers(p));
  }
  void request(const Headers& h) {
    c.request(h);
    ++packet;
  }
  void captured(const Headers& h) {
    c.captured(h, ++packet);
    answers.insert(packet);
  }
  void model(const Headers& h) { c.model(h, ++number); }
  void expect(std::uint64_t equal, std::uint64_t different) {
    c.finish();
    EXPECT_EQ(c.counts().equal, equal);
    EXPECT_EQ(c.counts().different, different);
    EXPECT_EQ(c.counts().compared, equal + c.counts().given + different);
    EXPECT_EQ(c.differences().size(), different);
    expect_notified();
  }
  // answer_observer.h R1
  void expect_notified() {
    EXPECT_EQ(notified.verdicts[AnswerVerdict::kEqual] + notified.verdicts[AnswerVerdict::kCovered], c.counts().equal);
    EXPECT_LE(notified.verdicts[AnswerVerdict::kCovered], c.counts().covered);  // the others' MSN differs
    EXPECT_EQ(notified.verdicts[AnswerVerdict::kGiven], c.counts().given);
    EXPECT_EQ(notified.verdicts[AnswerVerdict::kDifferent], c.counts().different);
    EXPECT_EQ(notified.without_words, 0u);
    std::set<std::uint64_t> once;
    for (const auto& [number_of, times] : notified.packets) {
      EXPECT_EQ(times, 1u) << number_of;
      once.insert(number_of);
    }
    EXPECT_EQ(once, answers);
  }
};

TEST(AnswerCompare, EqualAnswersAreEqualWhicheverComesFirst) {
  Compare t;
  t.requests(0, 3);
  t.captured(t.answer(0, 1));
  t.model(t.answer(0, 1));
  t.model(t.answer(1, 2));
  t.model(t.answer(2, 3));
  t.captured(t.answer(1, 2));
  t.captured(t.answer(2, 3));
  t.expect(3, 0);
}

TEST(AnswerCompare, ALaterAnswerOfTheModelCovers) {
  Compare t;
  t.requests(0, 3);
  t.captured(t.answer(0, 1));
  t.captured(t.answer(1, 2));
  t.captured(t.answer(2, 3));
  t.model(t.answer(2, 3));
  t.expect(3, 0);
  EXPECT_EQ(t.c.counts().covered, 2u);
}

TEST(AnswerCompare, ACoveredAckIsComparedByMsn) {  // R7
  Compare t;
  t.requests(0, 4);
  t.captured(t.answer(0, 1));
  t.captured(t.answer(1, 3));  // wrong
  t.captured(t.answer(2, 3));
  t.model(t.answer(3, 4));
  t.expect(2, 1);
  EXPECT_NE(t.c.differences().at(0).find("MSN 3, the model 2"), std::string::npos) << t.c.differences()[0];
}

TEST(AnswerCompare, ACoveredAckBehindAGapHasNoKnownMsn) {  // R7
  Compare t;
  t.requests(0, 1);
  t.requests(5, 7);
  t.captured(t.answer(0, 1));
  t.captured(t.answer(5, 6));
  t.model(t.answer(6, 3));
  t.expect(2, 0);
  EXPECT_EQ(t.c.counts().covered, 2u);
}

// Five WRITEs and a SEND at the PSNs from 0 on.
void writes_and_a_send(Compare& t) {
  for (std::uint32_t p = 0; p < 5; ++p) t.request(t.request_headers(p, Operation::kWriteOnly));
  t.requests(5, 6);
}

TEST(AnswerCompare, AReceiverWhoseMsnLeavesWritesOutIsNamedOnce) {  // R7
  for (const bool covered : {false, true}) {
    Compare t;
    writes_and_a_send(t);
    for (std::uint32_t p = 0; p < 6; ++p) {
      t.captured(t.answer(p, p < 5 ? 1 : 2));  // it began with 1
      if (!covered) t.model(t.answer(p, p + 1));
    }
    if (covered) t.model(t.answer(5, 6));
    t.expect(6, 0);
    ASSERT_EQ(t.c.rules().size(), 1u);
    EXPECT_NE(t.c.rules()[0].find("QP 0x11: the captured receiver's MSN leaves WRITEs"), std::string::npos);
  }
}

TEST(AnswerCompare, AReceiverThatLeavesWritesOutHasToGoOnSo) {  // R7
  Compare t;
  writes_and_a_send(t);
  t.requests(6, 7);
  const std::uint32_t msns[] = {1, 1, 1, 2, 1, 2, 4};  // wrong: the fourth and the last
  for (std::uint32_t p = 0; p < 7; ++p) {
    t.captured(t.answer(p, msns[p]));
    t.model(t.answer(p, p + 1));
  }
  t.expect(5, 2);
  EXPECT_EQ(t.c.rules().size(), 1u);
}

TEST(AnswerCompare, AReceiverThatCountsEveryMessageDeviatesNowhere) {  // R7
  Compare t;
  writes_and_a_send(t);
  for (std::uint32_t p = 0; p < 6; ++p) {
    t.captured(t.answer(p, p + 1));
    t.model(t.answer(p, p + 1));
  }
  t.expect(6, 0);
  EXPECT_TRUE(t.c.rules().empty());
}

TEST(AnswerCompare, WhatWasTakenFromTheCaptureIsGiven) {  // R8
  ReceiverSurvey s = survey();
  s.qps[0].rnr_after_receives = {1};
  Compare t({.withheld_wqes = true}, s);
  Headers atomic = t.request_headers(0, Operation::kFetchAdd);
  for (std::uint32_t p = 0; p < 3; ++p) {
    atomic.psn = Psn{p};
    atomic.va = p < 2 ? 0x1000 : 0x2000;
    t.request(atomic);
    t.captured(t.answer(p, p + 1, Operation::kAtomicAck, 0x1f, 0, 40 + p));
    t.model(t.answer(p, p + 1, Operation::kAtomicAck, 0x1f, 0, 40 + p));
  }
  t.requests(3, 4);
  t.captured(t.answer(3, 3, Operation::kAck, 0x21));
  t.model(t.answer(3, 3, Operation::kAck, 0x21));
  t.expect(1, 0);
  EXPECT_EQ(t.c.counts().given, 3u) << "the first results at two addresses, and the RNR NAK";
}

TEST(AnswerCompare, AnswersThatTheCapturedReceiverCoalescedAreNoDifference) {
  Compare t;
  t.requests(0, 3);
  for (std::uint32_t p = 0; p < 3; ++p) t.model(t.answer(p, p + 1));
  t.captured(t.answer(2, 3));
  t.expect(1, 0);
  EXPECT_EQ(t.c.counts().of(Uncompared::kNoAnswer), 0u);
}

TEST(AnswerCompare, CreditsAreAFreeChoice) {
  Compare t;
  t.requests(0, 1);
  t.captured(t.answer(0, 1, Operation::kAck, 0x09));
  t.model(t.answer(0, 1, Operation::kAck, 0x1f));
  t.expect(1, 0);
}

TEST(AnswerCompare, AnotherMsnIsADifferenceInWords) {
  Compare t;
  t.requests(0, 1);
  t.captured(t.answer(0, 2));
  t.model(t.answer(0, 1));
  t.expect(0, 1);
  EXPECT_EQ(t.c.differences()[0], "packet 2 to 10.0.0.1 QP 0x11, PSN 0: captured RC ACKNOWLEDGE: MSN 2, the model 1");
}

TEST(AnswerCompare, PsnsAndMsnsGoRound) {
  Compare t;
  t.requests(0xfffffe, 0x1000001);
  for (std::uint32_t i = 0; i < 3; ++i) {
    t.captured(t.answer(0xfffffe + i, 0xffffff + i));
    t.model(t.answer(0xfffffe + i, (0xffffff + i) & 0xffffff));
  }
  t.c.finish();
  EXPECT_EQ(t.c.counts().compared, 3u);
}

TEST(AnswerCompare, NoAnswerOfTheModelIsADifference) {
  Compare t;
  t.requests(0, 2);
  t.captured(t.answer(0, 1));
  t.captured(t.answer(1, 2));
  t.model(t.answer(0, 1));
  t.expect(1, 1);
  EXPECT_NE(t.c.differences()[0].find("the model did not answer"), std::string::npos);
}

TEST(AnswerCompare, ANakOfTheModelInsteadIsNamed) {
  Compare t;
  t.requests(0, 1);
  t.captured(t.answer(0, 1));
  t.model(t.answer(0, 0, Operation::kAck, 0x61));
  t.c.finish();
  EXPECT_EQ(t.c.counts().different, 2u);  // the ACK that is missing, and the NAK that nobody sent
  EXPECT_NE(t.c.differences()[0].find("the model sent NAK 0x61 at PSN 0"), std::string::npos);
  EXPECT_NE(t.c.differences()[1].find("the captured receiver sent none"), std::string::npos);
}

TEST(AnswerCompare, NaksAreComparedByCode) {
  for (const std::uint8_t code : {0x60, 0x61, 0x62, 0x63}) {
    Compare t;
    t.requests(0, 1);
    t.captured(t.answer(0, 0, Operation::kAck, code));
    t.model(t.answer(0, 0, Operation::kAck, 0x61));
    t.expect(code == 0x61, code != 0x61);
  }
}

TEST(AnswerCompare, RnrNaksAreEqualWhateverTheTimer) {
  Compare t;
  t.requests(0, 1);
  t.captured(t.answer(0, 0, Operation::kAck, 0x2c));
  t.model(t.answer(0, 0, Operation::kAck, 0x21));
  t.requests(0, 1);
  t.captured(t.answer(0, 1));
  t.model(t.answer(0, 1));
  t.expect(2, 0);
}

TEST(AnswerCompare, AnRnrNakThatTheModelDidNotSendIsADifference) {
  Compare t;
  t.requests(0, 1);
  t.captured(t.answer(0, 0, Operation::kAck, 0x2c));
  t.model(t.answer(0, 1));
  t.requests(0, 1);
  t.captured(t.answer(0, 1));
  t.expect(1, 1);
  EXPECT_NE(t.c.differences()[0].find("captured RNR NAK: the model acknowledged"), std::string::npos);
}

TEST(AnswerCompare, ReadResponsesComparePositionAndLength) {
  const auto run = [](Operation op, std::uint16_t bytes, std::uint64_t equal, std::uint64_t different) {
    Compare t;
    t.request(t.request_headers(0, Operation::kReadRequest, 1500));
    t.captured(t.answer(0, 1, Operation::kReadResponseFirst, 0x1f, 1024));
    t.captured(t.answer(1, 1, Operation::kReadResponseLast, 0x1f, 476));
    t.model(t.answer(0, 1, Operation::kReadResponseFirst, 0x1f, 1024));
    t.model(t.answer(1, 1, op, 0x1f, bytes));
    t.expect(equal, different);
  };
  run(Operation::kReadResponseLast, 476, 2, 0);
  run(Operation::kReadResponseLast, 475, 1, 1);
  run(Operation::kReadResponseMiddle, 476, 1, 1);
}

// Four responses, of which the requester has got two: it asks for the others again, and they are a FIRST and a LAST.
TEST(AnswerCompare, AReadThatIsAskedForAgainIsComparedWithItsOwnResponses) {  // R2
  for (const bool model_first : {true, false}) {
    Compare t;
    const auto response = [&t](std::uint32_t psn, Operation op) { return t.answer(psn, 1, op, 0x1f, 1024); };
    const Headers whole[] = {response(0, Operation::kReadResponseFirst), response(1, Operation::kReadResponseMiddle),
                             response(2, Operation::kReadResponseMiddle), response(3, Operation::kReadResponseLast)};
    const Headers rest[] = {response(2, Operation::kReadResponseFirst), response(3, Operation::kReadResponseLast)};
    t.request(t.request_headers(0, Operation::kReadRequest, 4096));
    t.captured(whole[0]);
    t.captured(whole[1]);
    if (model_first) {
      for (const Headers& h : whole) t.model(h);
    }
    t.request(t.request_headers(2, Operation::kReadRequest, 2048));
    for (const Headers& h : rest) t.captured(h);
    if (!model_first) {
      for (const Headers& h : whole) t.model(h);
    }
    for (const Headers& h : rest) t.model(h);
    t.expect(4, 0);
    EXPECT_EQ(t.c.counts().of(Uncompared::kNoAnswer), 2u);
  }
}

TEST(AnswerCompare, ARepetitionWithAnotherPositionIsADifference) {  // R2
  Compare t;
  t.request(t.request_headers(0, Operation::kReadRequest, 2048));
  t.request(t.request_headers(1, Operation::kReadRequest, 1024));
  t.captured(t.answer(1, 1, Operation::kReadResponseMiddle, 0x1f, 1024));
  t.model(t.answer(0, 1, Operation::kReadResponseFirst, 0x1f, 1024));
  t.model(t.answer(1, 1, Operation::kReadResponseLast, 0x1f, 1024));
  t.expect(0, 1);
}

TEST(AnswerCompare, ANewConnectionKnowsNoRepeatedReadsOfTheOldOne) {  // R2
  Compare t;
  t.request(t.request_headers(0, Operation::kReadRequest, 4096));
  t.request(t.request_headers(2, Operation::kReadRequest, 2048));
  t.c.restart(kPeer, Qpn{kOwn});
  t.request(t.request_headers(2, Operation::kReadRequest, 1024));
  t.captured(t.answer(2, 1, Operation::kReadResponseOnly, 0x1f, 1024));
  t.model(t.answer(2, 1, Operation::kReadResponseOnly, 0x1f, 512));
  EXPECT_EQ(t.c.counts().different, 1u) << "no other answer is waited for";
  t.expect(0, 1);
}

TEST(AnswerCompare, ANewConnectionGivesNoResultAtTheOldOnesPsn) {  // R8
  Compare t;
  Headers atomic = t.request_headers(0, Operation::kFetchAdd);
  atomic.va = 0x1000;
  for (const bool again : {false, true}) {
    if (again) t.c.restart(kPeer, Qpn{kOwn});
    t.request(atomic);
    t.captured(t.answer(0, 1, Operation::kAtomicAck, 0x1f, 0, 40));
    t.model(t.answer(0, 1, Operation::kAtomicAck, 0x1f, 0, 40));
  }
  t.expect(1, 0);
  EXPECT_EQ(t.c.counts().given, 1u) << "memory was filled with the first result";
}

TEST(AnswerCompare, ASequenceNakThatTheModelPassesIsALossOnTheWay) {  // R3
  Compare t;
  t.requests(0, 3);
  t.captured(t.answer(0, 1));
  t.captured(t.answer(1, 1, Operation::kAck, 0x60));
  for (std::uint32_t p = 0; p < 3; ++p) t.model(t.answer(p, p + 1));
  t.expect(1, 0);
  EXPECT_EQ(t.c.counts().of(Uncompared::kLostOnTheWay), 1u);
}

TEST(AnswerCompare, AReadResponseIsNotCovered) {
  Compare t;
  t.request(t.request_headers(0, Operation::kReadRequest, 10));
  t.requests(1, 2);
  t.captured(t.answer(0, 1, Operation::kReadResponseOnly, 0x1f, 10));
  t.model(t.answer(1, 2));
  t.expect(0, 1);
}

TEST(AnswerCompare, AtomicResultsAreCompared) {
  for (const bool results : {true, false}) {
    Compare t({.atomic_results = results});
    t.request(t.request_headers(0, Operation::kFetchAdd));
    t.captured(t.answer(0, 1, Operation::kAtomicAck, 0x1f, 0, 41));
    t.model(t.answer(0, 1, Operation::kAtomicAck, 0x1f, 0, 42));
    t.expect(!results, results);
    EXPECT_EQ(t.c.counts().of(Uncompared::kAtomicResult), results ? 0u : 1u);
  }
}

TEST(AnswerCompare, AtomicResultsCountOnlyBeforeTheFirstGap) {
  Compare t;
  t.requests(0, 1);
  t.request(t.request_headers(7, Operation::kFetchAdd));
  t.captured(t.answer(7, 3, Operation::kAtomicAck, 0x1f, 0, 41));
  t.model(t.answer(7, 2, Operation::kAtomicAck, 0x1f, 0, 42));
  t.expect(1, 0);
  EXPECT_EQ(t.c.counts().of(Uncompared::kAtomicResult), 1u);
}

TEST(AnswerCompare, AfterAGapTheMsnIsTakenAnew) {
  Compare t;
  t.requests(0, 1);
  t.captured(t.answer(0, 1));
  t.model(t.answer(0, 1));
  t.requests(5, 7);
  t.captured(t.answer(5, 4));
  t.model(t.answer(5, 2));
  t.captured(t.answer(6, 5));
  t.model(t.answer(6, 3));
  EXPECT_EQ(t.c.counts().msn_rebased, 1u);
  t.requests(7, 8);
  t.captured(t.answer(7, 7));  // off by one now
  t.model(t.answer(7, 4));
  t.expect(3, 1);
}

TEST(AnswerCompare, CapturedAnswersWithoutARequestAreNotCompared) {
  Compare t;
  t.captured(t.answer(0, 1));  // before the start
  t.requests(1, 2);
  t.requests(4, 5);
  t.captured(t.answer(3, 4));  // in a gap
  t.captured(t.answer(4, 5));
  t.model(t.answer(1, 2));
  t.model(t.answer(4, 3));
  t.expect(1, 0);
  EXPECT_EQ(t.c.counts().of(Uncompared::kNoRequest), 2u);
}

TEST(AnswerCompare, ARequestThatWasCapturedLateStillCounts) {
  Compare t;
  t.requests(0, 1);
  t.requests(2, 3);
  t.captured(t.answer(1, 2));
  t.requests(1, 2);  // the capture has them out of order
  t.model(t.answer(2, 3));
  t.expect(1, 0);
  EXPECT_EQ(t.c.counts().of(Uncompared::kNoRequest), 0u);
}

TEST(AnswerCompare, AnswersThatTheCaptureLostAreNotCompared) {
  Compare t;
  t.request(t.request_headers(0, Operation::kReadRequest, 10));
  t.requests(1, 4);
  t.model(t.answer(0, 1, Operation::kReadResponseOnly, 0x1f, 10));
  t.model(t.answer(1, 2));
  t.model(t.answer(2, 3));
  t.model(t.answer(3, 4));
  t.captured(t.answer(1, 2));
  t.expect(1, 0);
  EXPECT_EQ(t.c.counts().of(Uncompared::kNoAnswer), 3u);
}

TEST(AnswerCompare, RepetitionsMayBeAnsweredWithALaterMsn) {
  Compare t;
  t.requests(0, 2);
  t.captured(t.answer(0, 1));
  t.captured(t.answer(1, 2));
  t.requests(0, 1);
  t.captured(t.answer(0, 2));
  t.model(t.answer(0, 1));
  t.model(t.answer(1, 2));
  t.model(t.answer(0, 1));
  t.c.finish();
  EXPECT_EQ(t.c.counts().compared, 3u);
}

TEST(AnswerCompare, UnpairedQpsAreNotCompared) {
  Compare t;
  Headers h = t.answer(0, 1);
  h.destination_qp = Qpn{0x99};
  t.captured(h);
  t.model(h);
  t.expect(0, 0);
  EXPECT_EQ(t.c.counts().of(Uncompared::kQpNotPaired), 2u);
}

TEST(AnswerCompare, CnpsAreCountedAndNotCompared) {  // R5
  Compare t;
  t.requests(0, 1);
  Headers cnp = t.answer(0, 0);
  cnp.opcode = kOpcodeCnp;
  t.captured(cnp);
  t.model(cnp);
  t.model(cnp);
  t.captured(t.answer(0, 1));
  t.model(t.answer(0, 1));
  t.expect(1, 0);
  EXPECT_EQ(t.c.counts().of(Uncompared::kCapturedCnp), 1u);
  EXPECT_EQ(t.c.counts().of(Uncompared::kModelCnp), 2u);
}

TEST(AnswerCompare, DifferencesAreListedUpToALimit) {
  Compare t({.differences_kept = 5});
  t.requests(0, 20);
  for (std::uint32_t p = 0; p < 20; ++p) t.captured(t.answer(p, p + 1));
  t.c.finish();
  EXPECT_EQ(t.c.counts().different, 20u);
  EXPECT_EQ(t.c.differences().size(), 5u);
  t.expect_notified();
}

TEST(AnswerCompare, AModelFarAheadOrFarBehindEndsInABoundedList) {
  Compare t;
  constexpr std::uint32_t kMany = AnswerCompare::kMostHeldByQp + 1000;
  t.requests(0, kMany);
  for (std::uint32_t p = 0; p < kMany; ++p) t.model(t.answer(p, p + 1));
  for (std::uint32_t p = 0; p < kMany; ++p) t.captured(t.answer(p, p + 1));
  t.requests(kMany, 2 * kMany);
  for (std::uint32_t p = kMany; p < 2 * kMany; ++p) t.captured(t.answer(p, p + 1));
  t.c.finish();
  EXPECT_EQ(t.c.counts().compared, 2u * kMany);
  EXPECT_EQ(t.c.counts().equal, kMany);
  EXPECT_EQ(t.c.counts().of(Uncompared::kNoAnswer), 1000u);
  t.expect_notified();
}

// The captured receiver agrees with itself, in every capture and from both sides.
TEST(AnswerCompare, ACaptureEqualsItself) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(RXNIC_SHARED_DIR) / "captures";
  if (!fs::exists(folder)) GTEST_SKIP() << "there is no " << folder;
  std::uint64_t compared = 0;
  for (const char* sub : {"soft_roce", "nic"}) {
    for (const fs::directory_entry& file : fs::directory_iterator(folder / sub)) {
      CaptureReader reader(file.path().string());
      const CaptureSurvey s = survey_capture(reader);
      for (const EndpointCounts& e : s.endpoints()) {
        AnswerCompare c(s.of_receiver(e.address));
        reader.rewind();
        for (CapturedFrame f; reader.next(f);) {
          Headers h;
          if (parse(f.bytes, f.link, h) != ParseStatus::kOk) continue;
          if (h.destination == e.address) c.request(h);
          if (h.source != e.address) continue;
          c.captured(h, f.number);
          c.model(h, f.number);
        }
        c.finish();
        compared += c.counts().compared;
        EXPECT_EQ(c.counts().different, 0u)
            << file.path() << " " << e.address.text() << ": " << c.differences().front();
        EXPECT_EQ(c.counts().of(Uncompared::kNoAnswer), 0u) << file.path();
      }
    }
  }
  EXPECT_GT(compared, 200u);
}

}  // namespace
}  // namespace rxnic::answer_compare_test
