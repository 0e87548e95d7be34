// SPDX-License-Identifier: Apache-2.0
// What a replay makes of packets that the captured receiver did not take, with others on their way behind them.
// READs and atomics that are asked for again.
#include <gtest/gtest.h>

#include "model/types/syndrome.h"
#include "testbench/unit/bridge/rxnic/capture/capture_scene.h"

namespace rxnic::capture_repetitions_test {
namespace {

using O = Operation;

constexpr SceneQp kQp{};
constexpr std::uint8_t kRnr = rnr_nak(14);

void expect_no_difference(const RunResult& r) {
  EXPECT_EQ(r.answers.different, 0u) << (r.answers.differences.empty() ? "" : r.answers.differences[0]);
  EXPECT_EQ(count_of(r.answers.uncompared, "no_answer"), 0u);
}

// Adds requests and answers, a microsecond from one to the next.
struct Steps {
  CaptureScene scene;
  std::uint64_t ns = 0;

  void request(std::uint32_t psn, Operation op = O::kSendOnly, std::uint32_t bytes = 64) {
    scene.request(ns += 1000, kQp, psn, op, bytes);
  }
  void answer(std::uint32_t psn, std::uint32_t msn, std::uint8_t syndrome = CaptureScene::kAckCredits) {
    scene.answer(ns += 1000, kQp, psn, msn, syndrome);
  }
  void read(std::uint32_t psn, std::uint32_t length) {
    Headers h = CaptureScene::request_headers(kQp, psn, O::kReadRequest);
    h.length = length;
    scene.add(ns += 1000, h, 0);
  }
  void responses(std::uint32_t psn, std::uint32_t msn, std::uint32_t packets) {
    for (std::uint32_t n = 0; n < packets; ++n) {
      const Operation op = packets == 1       ? O::kReadResponseOnly
                           : n == 0           ? O::kReadResponseFirst
                           : n + 1 == packets ? O::kReadResponseLast
                                              : O::kReadResponseMiddle;
      Headers h = CaptureScene::answer_headers(kQp, psn + n, msn, CaptureScene::kAckCredits, op);
      if (op == O::kReadResponseMiddle) h.msn = h.syndrome = 0;
      scene.add(ns += 200, h, 1024);
    }
  }
};

// The network lost the LAST of a message, and the next message was behind it: a receive holds all of the first one.
TEST(CaptureRepetitions, AMessageWhoseEndCameAgainHasItsWholeLength) {
  Steps s;
  s.request(0, O::kSendFirst, 1024);
  s.request(1, O::kSendMiddle, 1024);
  s.request(3);
  s.answer(2, 0, kNakSequence);
  s.request(2, O::kSendLast, 8);
  s.answer(2, 1);
  s.request(3);
  s.answer(3, 2);
  const RunResult r = s.scene.replay();
  expect_no_difference(r);
  EXPECT_EQ(r.messages, 2u);
  EXPECT_EQ(r.bytes, 2048u + 8 + 64);
  EXPECT_EQ(count_of(r.transport, "invalid_requests"), 0u);
}

// A receiver that has no WQE for PSN 1 takes nothing of what is on its way behind it.
TEST(CaptureRepetitions, NothingIsTakenBetweenAnRnrNakAndTheRepetition) {
  Steps s;
  s.request(0);
  s.answer(0, 1);
  for (std::uint32_t psn = 1; psn < 4; ++psn) s.request(psn);
  s.answer(1, 1, kRnr);
  s.ns += 300'000;
  for (std::uint32_t psn = 1; psn < 4; ++psn) {
    s.request(psn);
    s.answer(psn, psn + 1);
  }
  const RunResult r = s.scene.replay();
  expect_no_difference(r);
  EXPECT_EQ(r.answers.given, 1u);
  EXPECT_EQ(r.messages, 4u);
  EXPECT_EQ(count_of(r.transport, "duplicates"), 0u);
  EXPECT_EQ(r.packets.dropped[static_cast<std::size_t>(DropReason::kPsnAhead)], 2u);
}

// When the capture does not show the repetition the QP goes on all the same.
TEST(CaptureRepetitions, AnRnrNakWithoutARepetitionStopsNoQp) {
  Steps s;
  s.request(0);
  s.answer(0, 1);
  s.request(1);
  s.answer(1, 1, kRnr);
  for (std::uint32_t psn = 2; psn < 6; ++psn) s.request(psn);
  const RunResult r = s.scene.replay();
  EXPECT_EQ(r.messages, 5u);
  EXPECT_EQ(r.packets.dropped[static_cast<std::size_t>(DropReason::kPsnAhead)], 0u);
}

// The receives before an RNR NAK are those that the receiver used, not those of packets that it did not take.
TEST(CaptureRepetitions, AnRnrNakBehindALossIsForTheWqeThatIsMissing) {
  Steps s;
  s.request(0);
  s.answer(0, 1);
  s.request(2);
  s.request(3);
  s.answer(1, 1, kNakSequence);
  s.request(1);
  s.answer(1, 1, kRnr);
  s.ns += 300'000;
  for (std::uint32_t psn = 1; psn < 4; ++psn) {
    s.request(psn);
    s.answer(psn, psn + 1);
  }
  const RunResult r = s.scene.replay();
  expect_no_difference(r);
  EXPECT_EQ(r.answers.given, 2u) << "both NAKs";
  EXPECT_EQ(r.messages, 4u);
}

// The capture begins behind a loss: what it has of the QP before the repetition was not taken.
TEST(CaptureRepetitions, ANakOfAPsnBeforeTheFirstRequestIsWhereTheQpBegins) {
  for (const std::uint8_t nak : {std::uint8_t{kNakSequence}, kRnr}) {
    Steps s;
    s.request(5);
    s.request(6);
    s.answer(4, 30, nak);
    s.ns += 300'000;
    for (std::uint32_t psn = 4; psn < 8; ++psn) {
      s.request(psn);
      s.answer(psn, psn + 27);
    }
    const RunResult r = s.scene.replay();
    EXPECT_EQ(r.answers.different, 0u) << (r.answers.differences.empty() ? "" : r.answers.differences[0]);
    EXPECT_EQ(r.answers.compared, nak == kRnr ? 4u : 5u) << "the packet that was not ready is not in the capture";
    EXPECT_EQ(r.messages, 4u);
    EXPECT_EQ(count_of(r.transport, "duplicates"), 0u);
    ASSERT_EQ(r.qps.size(), 1u);
    EXPECT_EQ(r.qps[0].lost, nak == kRnr ? 0u : 1u);
  }
}

// Its request was sent before the capture began.
TEST(CaptureRepetitions, AnRnrNakBeforeItsRequestIsNotCompared) {
  Steps s;
  s.answer(4, 30, kRnr);
  s.ns += 300'000;
  s.request(4);
  s.answer(4, 31);
  const RunResult r = s.scene.replay();
  EXPECT_EQ(r.answers.different, 0u) << (r.answers.differences.empty() ? "" : r.answers.differences[0]);
  EXPECT_EQ(count_of(r.answers.uncompared, "no_request"), 1u);
}

// READs say nothing of the MTU until the PSN after one of them comes; a loss between them is one all the same.
TEST(CaptureRepetitions, ALossAmongReadsIsALoss) {
  Steps s;
  s.read(0, 3072);
  s.responses(0, 1, 3);
  s.read(3, 3072);
  s.responses(3, 2, 3);
  s.read(7, 1024);
  s.answer(6, 2, kNakSequence);
  s.read(6, 1024);
  s.responses(6, 3, 1);
  s.read(7, 1024);
  s.responses(7, 4, 1);
  const RunResult r = s.scene.replay();
  expect_no_difference(r);
  EXPECT_EQ(r.answers.given, 1u);
  EXPECT_EQ(r.messages, 4u);
  ASSERT_EQ(r.qps.size(), 1u);
  EXPECT_EQ(r.qps[0].lost, 1u);
}

TEST(CaptureRepetitions, EachAnswerToAReadIsComparedWithOneOfTheModels) {
  Steps s;
  s.read(0, 3072);
  s.responses(0, 1, 3);
  s.ns += 500'000;
  s.read(0, 3072);
  s.responses(0, 1, 3);
  const RunResult r = s.scene.replay();
  expect_no_difference(r);
  EXPECT_EQ(r.answers_sent, 6u);
  EXPECT_EQ(r.answers.equal, 6u);
}

TEST(CaptureRepetitions, EachAnswerToAnAtomicIsComparedWithOneOfTheModels) {
  Steps s;
  for (int times = 0; times < 2; ++times) {
    s.request(0, O::kFetchAdd, 0);
    Headers h = CaptureScene::answer_headers(kQp, 0, 1, CaptureScene::kAckCredits, O::kAtomicAck);
    h.original = 7;
    s.scene.add(s.ns += 1000, h, 0);
    s.ns += 500'000;
  }
  const RunResult r = s.scene.replay();
  expect_no_difference(r);
  EXPECT_EQ(r.answers.compared, 2u);
}

// The first answer was lost behind the receiver: what the capture has is the second one, with a later MSN.
TEST(CaptureRepetitions, AnAnswerThatWasLostDoesNotStandForTheNextOne) {
  Steps s;
  s.read(0, 512);
  s.request(1);
  s.answer(1, 2);
  s.ns += 500'000;
  s.read(0, 512);
  Headers h = CaptureScene::answer_headers(kQp, 0, 2, CaptureScene::kAckCredits, O::kReadResponseOnly);
  s.scene.add(s.ns += 1000, h, 512);
  const RunResult r = s.scene.replay();
  EXPECT_EQ(r.answers.different, 0u) << (r.answers.differences.empty() ? "" : r.answers.differences[0]);
  EXPECT_EQ(r.answers.equal, 2u);
  EXPECT_EQ(count_of(r.answers.uncompared, "no_answer"), 1u) << "the first one";
}

}  // namespace
}  // namespace rxnic::capture_repetitions_test
