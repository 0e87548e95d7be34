// SPDX-License-Identifier: Apache-2.0
// Rules R1..R9 of model/core/requester/send_queue.h.
#include "model/core/requester/send_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace rxnic::send_queue_test {
namespace {

using S = SendOpcode;
constexpr std::uint32_t kMtu = 256;
constexpr Qpn kQpn{0x11};

class SendQueueTest : public testing::Test {
 protected:
  SendQueueTest() { start({}); }
  void start(SendQueueLimits l, std::uint32_t psn = 100) {
    l.mtu = kMtu;
    limits = l;
    q = {};
    q.set_limits(l);
    q.restart(Psn{psn});
    wqe = 0;
  }
  SendHold hold(S opcode = S::kSend, std::uint32_t bytes = 8, std::uint8_t flags = 0) {
    return q.hold(opcode, flags, bytes);
  }
  const SendRequest& begin(S opcode = S::kSend, std::uint32_t bytes = 8, std::uint8_t flags = 0) {
    EXPECT_EQ(hold(opcode, bytes, flags), SendHold::kNone);
    SendRequest r;
    r.wqe = wqe++;
    r.opcode = opcode;
    r.bytes = bytes;
    r.flags = flags;
    return q.begin(r);
  }
  RequestPacket send() {
    EXPECT_TRUE(q.has_packet());
    const RequestPacket p = q.packet();
    q.sent();
    return p;
  }
  // PSNs of all packets that can be sent now.
  std::vector<std::uint32_t> send_all() {
    std::vector<std::uint32_t> psns;
    while (q.has_packet()) psns.push_back(send().psn.value);
    return psns;
  }
  void post(S opcode = S::kSend, std::uint32_t bytes = 8) {
    begin(opcode, bytes);
    send_all();
  }
  SendVerdict answer(AnswerKind kind, std::uint32_t psn, std::uint8_t syndrome = 0) {
    return q.answer({kQpn, Psn{psn}, kind, syndrome}, status);
  }
  SendVerdict ack(std::uint32_t psn) { return answer(AnswerKind::kAck, psn); }
  SendVerdict nak(std::uint32_t psn, std::uint8_t syndrome = 0x60) { return answer(AnswerKind::kNak, psn, syndrome); }

  using Psns = std::vector<std::uint32_t>;
  SendQueueLimits limits;
  SendQueue q;
  std::uint32_t wqe = 0;
  WcStatus status = WcStatus::kSuccess;
};

TEST_F(SendQueueTest, AMessageIsCutAtTheMtu) {  // (R1)
  struct Row {
    std::uint32_t bytes, packets, last_bytes;
  };
  for (const Row row : {Row{0, 1, 0}, Row{1, 1, 1}, Row{kMtu, 1, kMtu}, Row{kMtu + 1, 2, 1}, Row{3 * kMtu, 3, kMtu}}) {
    start({});
    EXPECT_EQ(begin(S::kSend, row.bytes).psn_count, row.packets);
    for (std::uint32_t i = 0; i < row.packets; ++i) {
      const bool last = i + 1 == row.packets;
      const RequestPacket p = send();
      EXPECT_EQ(p.psn, Psn{100 + i});
      EXPECT_EQ(p.offset, i * kMtu);
      EXPECT_EQ(p.bytes, last ? row.last_bytes : kMtu);
      EXPECT_EQ(p.first, i == 0);
      EXPECT_EQ(p.last, last);
      EXPECT_FALSE(p.repeated);
    }
    EXPECT_FALSE(q.has_packet());
    EXPECT_EQ(q.next_psn(), Psn{100 + row.packets});
  }
}

TEST_F(SendQueueTest, AReadTakesThePsnsOfItsResponses) {  // (R1)
  begin(S::kRead, 3 * kMtu + 1);
  const RequestPacket p = send();
  EXPECT_TRUE(p.first && p.last);
  EXPECT_EQ(p.bytes, 3 * kMtu + 1);
  EXPECT_FALSE(q.has_packet());
  EXPECT_EQ(q.next_psn(), Psn{104});
  begin(S::kSend);
  EXPECT_EQ(send().psn, Psn{104});
}

TEST_F(SendQueueTest, AnAtomicTakesOnePsn) {  // (R1)
  EXPECT_EQ(begin(S::kFetchAdd, 8).psn_count, 1u);
  send();
  EXPECT_EQ(q.next_psn(), Psn{101});
}

TEST_F(SendQueueTest, PsnsWrap) {  // (R1)
  start({}, 0xffffff);
  begin(S::kSend, 2 * kMtu);
  EXPECT_EQ(send_all(), (Psns{0xffffff, 0}));
  EXPECT_EQ(ack(0xffffff), SendVerdict::kProgress);
  EXPECT_FALSE(q.empty());
  EXPECT_EQ(ack(0), SendVerdict::kProgress);
  EXPECT_TRUE(q.empty());
}

TEST_F(SendQueueTest, NoMoreThanTheWindowIsWithoutAnAnswer) {  // (R2)
  start({.window = 4, .max_rd_atomic = 8});
  begin(S::kSend, 10 * kMtu);
  EXPECT_EQ(send_all(), (Psns{100, 101, 102, 103}));
  ack(100);
  EXPECT_EQ(send_all(), (Psns{104}));
  ack(104);
  EXPECT_EQ(send_all(), (Psns{105, 106, 107, 108}));
  ack(108);
  EXPECT_EQ(send_all(), (Psns{109}));
  for (int i = 0; i < 3; ++i) post();
  EXPECT_EQ(hold(), SendHold::kWindow);
  ack(109);
  EXPECT_EQ(hold(), SendHold::kNone);
}

TEST_F(SendQueueTest, AReadCountsAsOnePacket) {  // (R2)
  start({.window = 4, .max_rd_atomic = 8});
  post();
  for (int i = 0; i < 3; ++i) post(S::kRead, 100 * kMtu);
  EXPECT_EQ(hold(), SendHold::kWindow);
  ack(100);
  EXPECT_EQ(hold(), SendHold::kNone);
  post();
  EXPECT_EQ(hold(), SendHold::kWindow);
  answer(AnswerKind::kReadResponse, 101);
  EXPECT_EQ(hold(), SendHold::kWindow) << "the READ waits for the rest";
  answer(AnswerKind::kReadResponse, 200);
  EXPECT_EQ(hold(), SendHold::kNone);
}

TEST_F(SendQueueTest, ReadsAndAtomicsHaveALimitOfTheirOwn) {  // (R2)
  start({.max_rd_atomic = 2});
  post(S::kRead, 2 * kMtu);
  post(S::kFetchAdd, 8);
  EXPECT_EQ(hold(S::kRead), SendHold::kData);
  EXPECT_EQ(hold(S::kCompareSwap), SendHold::kData);
  EXPECT_EQ(hold(S::kSend), SendHold::kNone);
  answer(AnswerKind::kReadResponse, 101);
  EXPECT_EQ(hold(S::kRead), SendHold::kNone);
}

TEST_F(SendQueueTest, AnAtomicWriteIsOnePacketAndOneOfTheAtomics) {  // (R1) (R2)
  start({.max_rd_atomic = 2});
  EXPECT_EQ(begin(S::kAtomicWrite, 8).psn_count, 1u);
  const RequestPacket p = send();
  EXPECT_TRUE(p.first && p.last && p.ack_request);
  EXPECT_EQ(p.bytes, 8u) << "of payload";
  post(S::kAtomicWrite, 8);
  EXPECT_EQ(hold(S::kAtomicWrite), SendHold::kData);
  EXPECT_EQ(hold(S::kRead), SendHold::kData);
  EXPECT_EQ(hold(S::kWrite), SendHold::kNone);
  EXPECT_EQ(hold(S::kSend, 8, kSendFence), SendHold::kFence);
  answer(AnswerKind::kReadResponse, 100);
  EXPECT_EQ(hold(S::kAtomicWrite), SendHold::kNone);
  EXPECT_EQ(hold(S::kSend, 8, kSendFence), SendHold::kFence);
  answer(AnswerKind::kReadResponse, 101);
  q.place(Psn{101});
  EXPECT_EQ(hold(S::kSend, 8, kSendFence), SendHold::kNone);
  EXPECT_TRUE(q.empty());
}

TEST_F(SendQueueTest, AFencedRequestWaitsForReadsAndAtomics) {  // (R2)
  start({.max_rd_atomic = 2});
  post(S::kSend);
  EXPECT_EQ(hold(S::kSend, 8, kSendFence), SendHold::kNone) << "not for SENDs";
  post(S::kRead, 8);
  EXPECT_EQ(hold(S::kSend, 8, kSendFence), SendHold::kFence);
  EXPECT_EQ(hold(S::kSend), SendHold::kNone);
  answer(AnswerKind::kReadResponse, 101);
  EXPECT_EQ(hold(S::kSend, 8, kSendFence), SendHold::kFence) << "its data is on its way to memory";
  q.place(Psn{101});
  EXPECT_EQ(hold(S::kSend, 8, kSendFence), SendHold::kNone);
}

TEST_F(SendQueueTest, AFencedRequestWaitsForTheDataOfTheNewest) {  // (R2)
  start({.max_rd_atomic = 4});
  post(S::kRead, 2 * kMtu);
  post(S::kFetchAdd, 8);
  answer(AnswerKind::kAtomicAck, 102);
  for (const std::uint32_t psn : {100u, 101u, 99u, 103u}) {
    q.place(Psn{psn});
    EXPECT_EQ(hold(S::kSend, 8, kSendFence), SendHold::kFence) << "placed up to " << psn;
  }
  q.place(Psn{102});
  EXPECT_EQ(hold(S::kSend, 8, kSendFence), SendHold::kNone);
  post(S::kSend);
  answer(AnswerKind::kAck, 103);
  EXPECT_EQ(hold(S::kSend, 8, kSendFence), SendHold::kNone);
}

TEST_F(SendQueueTest, OneRequestIsSentToItsEndBeforeTheNext) {
  begin(S::kSend, 2 * kMtu);
  EXPECT_EQ(hold(), SendHold::kUnsent);
  send();
  EXPECT_EQ(hold(), SendHold::kUnsent);
  send();
  EXPECT_EQ(hold(), SendHold::kNone);
}

TEST_F(SendQueueTest, PsnsOutstandingAreDistinguishable) {
  start({.max_rd_atomic = 16});
  constexpr std::uint32_t kLongest = kMaxSendBytes;  // 2^22 packets
  post(S::kRead, kLongest);
  EXPECT_EQ(hold(S::kRead, kLongest), SendHold::kWindow);
  EXPECT_EQ(hold(S::kRead, kLongest - kMtu), SendHold::kNone);
}

TEST_F(SendQueueTest, AckIsAskedForAtTheEndAndNowAndThen) {  // (R3)
  start({.window = 128, .ack_every = 4});
  begin(S::kSend, 10 * kMtu);
  std::vector<bool> asks;
  while (q.has_packet()) asks.push_back(send().ack_request);
  EXPECT_EQ(asks, (std::vector<bool>{false, false, false, true, false, false, false, true, false, true}));
  begin(S::kSend, 3 * kMtu);
  EXPECT_FALSE(send().ack_request) << "counted from the last that asked";
}

TEST_F(SendQueueTest, APacketThatFillsTheWindowAsksForAnAck) {  // (R3)
  start({.window = 4, .ack_every = 100});
  begin(S::kSend, 10 * kMtu);
  std::vector<bool> asks;
  while (q.has_packet()) asks.push_back(send().ack_request);
  EXPECT_EQ(asks, (std::vector<bool>{false, false, false, true}));
}

TEST_F(SendQueueTest, AnAckEndsWhatIsBeforeAndAtIt) {  // (R4)
  for (int i = 0; i < 3; ++i) post();
  EXPECT_EQ(ack(101), SendVerdict::kProgress);
  EXPECT_EQ(q.size(), 1u);
  EXPECT_EQ(q.oldest().wqe, 2u);
  EXPECT_TRUE(q.unanswered());
  EXPECT_EQ(ack(101), SendVerdict::kNothing) << "again";
  EXPECT_EQ(ack(99), SendVerdict::kNothing) << "an old one";
  EXPECT_EQ(ack(103), SendVerdict::kNothing) << "never sent";
  EXPECT_EQ(q.size(), 1u);
  EXPECT_EQ(ack(102), SendVerdict::kProgress);
  EXPECT_FALSE(q.unanswered());
}

TEST_F(SendQueueTest, ASequenceNakGoesBackToItsPsn) {  // (R5)
  begin(S::kSend, 3 * kMtu);
  send_all();
  post();
  EXPECT_EQ(nak(101), SendVerdict::kBack);
  EXPECT_TRUE(q.has_packet());
  const RequestPacket p = send();
  EXPECT_EQ(p.psn, Psn{101});
  EXPECT_EQ(p.offset, kMtu);
  EXPECT_FALSE(p.first);
  EXPECT_TRUE(p.repeated);
  EXPECT_EQ(send_all(), (Psns{102, 103}));
}

TEST_F(SendQueueTest, ARequestIsRepeatedOnceEachTimeThatItGoesBack) {  // (R5) (R7)
  const auto repeats = [&] {
    std::vector<bool> all;
    while (q.has_packet()) all.push_back(send().repeats_request);
    return all;
  };
  begin(S::kSend, 3 * kMtu);
  EXPECT_EQ(repeats(), (std::vector<bool>{false, false, false})) << "nothing is sent again";
  post();
  EXPECT_EQ(nak(101), SendVerdict::kBack);
  EXPECT_EQ(repeats(), (std::vector<bool>{true, false, true})) << "from its middle on, and the one behind";
  EXPECT_EQ(nak(103), SendVerdict::kBack);
  EXPECT_EQ(repeats(), (std::vector<bool>{true}));
  ack(103);
  begin(S::kRead, 3 * kMtu);
  EXPECT_EQ(repeats(), (std::vector<bool>{false}));
  answer(AnswerKind::kReadResponse, 104);
  EXPECT_EQ(answer(AnswerKind::kGap, 105), SendVerdict::kBack);
  EXPECT_EQ(repeats(), (std::vector<bool>{true})) << "the rest of a READ";
}

TEST_F(SendQueueTest, OnceForEachPsn) {  // (R5)
  for (int i = 0; i < 4; ++i) post();
  EXPECT_EQ(nak(101), SendVerdict::kBack);
  EXPECT_EQ(send_all(), (Psns{101, 102, 103}));
  EXPECT_EQ(nak(101), SendVerdict::kNothing);
  EXPECT_EQ(answer(AnswerKind::kGap, 101), SendVerdict::kNothing);
  EXPECT_EQ(nak(100), SendVerdict::kNothing) << "one of the past";
  EXPECT_EQ(nak(102), SendVerdict::kBack) << "another loss";
  EXPECT_EQ(send_all(), (Psns{102, 103}));
}

TEST_F(SendQueueTest, ANakForWhatWasNeverSentIsIgnored) {  // (R4)
  post();
  ack(100);
  EXPECT_EQ(nak(101), SendVerdict::kNothing);
  EXPECT_EQ(nak(101, 0x62), SendVerdict::kNothing);
  post();
  EXPECT_EQ(nak(100, 0x62), SendVerdict::kNothing) << "answered already";
}

TEST_F(SendQueueTest, AnAckThatComesAfterGoingBackSavesTheRepetition) {  // (R4) (R5)
  begin(S::kSend, 4 * kMtu);
  send_all();
  EXPECT_EQ(q.timeout(status), SendVerdict::kBack);
  EXPECT_EQ(send().psn, Psn{100});
  EXPECT_EQ(ack(102), SendVerdict::kProgress);
  EXPECT_EQ(send_all(), (Psns{103}));
  post();
  post();
  EXPECT_EQ(nak(103), SendVerdict::kBack);
  EXPECT_EQ(ack(104), SendVerdict::kProgress);
  EXPECT_EQ(send_all(), (Psns{105}));
}

TEST_F(SendQueueTest, ATimeoutGoesBackToTheFirstWithoutAnAnswer) {  // (R5)
  EXPECT_EQ(q.timeout(status), SendVerdict::kNothing) << "nothing was sent";
  for (int i = 0; i < 3; ++i) post();
  ack(100);
  EXPECT_EQ(q.timeout(status), SendVerdict::kBack);
  EXPECT_EQ(send_all(), (Psns{101, 102}));
}

TEST_F(SendQueueTest, RetriesAreCountedAndGivenBackByProgress) {  // (R6)
  start({.retry_count = 2});
  post();
  post();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(q.timeout(status), SendVerdict::kBack);
    send_all();
    EXPECT_EQ(q.timeout(status), SendVerdict::kBack);
    send_all();
    if (round == 0) {
      EXPECT_EQ(ack(100), SendVerdict::kProgress);
    }
  }
  EXPECT_EQ(q.timeout(status), SendVerdict::kFail);
  EXPECT_EQ(status, WcStatus::kRetryExceeded);
}

TEST_F(SendQueueTest, WithoutRetriesTheFirstTimeoutFails) {  // (R6)
  start({.retry_count = 0});
  post();
  EXPECT_EQ(q.timeout(status), SendVerdict::kFail);
  start({.retry_count = 0});
  post();
  EXPECT_EQ(nak(100), SendVerdict::kFail);
  EXPECT_EQ(status, WcStatus::kRetryExceeded);
}

TEST_F(SendQueueTest, AnRnrNakHoldsEverythingBackUntilItsTimeIsOver) {  // (R5)
  for (int i = 0; i < 3; ++i) post();
  EXPECT_EQ(answer(AnswerKind::kRnrNak, 101, 0x2e), SendVerdict::kWait);
  EXPECT_TRUE(q.waiting());
  EXPECT_EQ(q.size(), 2u) << "what is before it was acknowledged";
  EXPECT_FALSE(q.has_packet());
  EXPECT_EQ(hold(), SendHold::kUnsent);
  EXPECT_EQ(q.timeout(status), SendVerdict::kNothing);
  EXPECT_EQ(answer(AnswerKind::kRnrNak, 101, 0x2e), SendVerdict::kNothing) << "again";
  q.resume();
  EXPECT_EQ(send_all(), (Psns{101, 102}));
}

TEST_F(SendQueueTest, RnrRetriesAreCountedUnlessSevenWhichIsForEver) {  // (R6)
  const auto rounds_until_failure = [&](std::uint8_t rnr_retry, int most) {
    start({.retry_count = 0, .rnr_retry = rnr_retry});
    post();
    for (int n = 0; n < most; ++n) {
      if (answer(AnswerKind::kRnrNak, 100, 0x2e) == SendVerdict::kFail) return n;
      q.resume();
      send_all();
    }
    return most;
  };
  EXPECT_EQ(rounds_until_failure(0, 100), 0);
  EXPECT_EQ(status, WcStatus::kRnrRetryExceeded);
  EXPECT_EQ(rounds_until_failure(3, 100), 3);
  EXPECT_EQ(rounds_until_failure(7, 100), 100);
}

TEST_F(SendQueueTest, AReadGoesOnFromItsFirstMissingResponse) {  // (R7)
  start({.max_rd_atomic = 4});
  post();
  post(S::kRead, 5 * kMtu + 9);
  post();
  answer(AnswerKind::kReadResponse, 102);
  EXPECT_EQ(answer(AnswerKind::kGap, 103), SendVerdict::kBack);
  ASSERT_TRUE(q.has_packet());
  EXPECT_EQ(q.current().opcode, S::kRead);
  const RequestPacket p = send();
  EXPECT_EQ(p.number, 2u);
  EXPECT_EQ(p.psn, Psn{103});
  EXPECT_EQ(p.offset, 2 * kMtu);
  EXPECT_EQ(p.bytes, 3 * kMtu + 9);
  EXPECT_TRUE(p.last && p.repeated);
  EXPECT_EQ(send_all(), (Psns{107}));
  EXPECT_EQ(answer(AnswerKind::kReadResponse, 106), SendVerdict::kProgress);
  EXPECT_EQ(q.oldest().wqe, 2u);
}

TEST_F(SendQueueTest, AfterGoingBackTheWindowCountsAgain) {  // (R2) (R5)
  start({.window = 4, .max_rd_atomic = 4});
  post(S::kRead, 3 * kMtu);
  for (int i = 0; i < 3; ++i) post();
  answer(AnswerKind::kReadResponse, 100);
  EXPECT_EQ(q.timeout(status), SendVerdict::kBack);
  EXPECT_EQ(send_all(), (Psns{101, 103, 104, 105}));
  EXPECT_EQ(hold(), SendHold::kWindow);
  ack(105);
  EXPECT_TRUE(q.empty());
  EXPECT_EQ(hold(S::kRead), SendHold::kNone);
}

TEST_F(SendQueueTest, OtherNaksFailTheOldestRequest) {  // (R8)
  const std::pair<std::uint8_t, WcStatus> rows[] = {{0x61, WcStatus::kRemoteInvalidRequest},
                                                    {0x62, WcStatus::kRemoteAccess},
                                                    {0x63, WcStatus::kRemoteOperation},
                                                    {0x64, WcStatus::kRemoteInvalidRequest}};
  for (const auto& [syndrome, expected] : rows) {
    start({});
    for (int i = 0; i < 3; ++i) post();
    EXPECT_EQ(nak(101, syndrome), SendVerdict::kFail);
    EXPECT_EQ(status, expected);
    EXPECT_EQ(q.oldest().wqe, 1u) << "the one before was acknowledged";
  }
}

TEST_F(SendQueueTest, UnreliableRequestsAreDoneWhenSent) {  // (R9)
  start({.reliable = false, .window = 2});
  for (std::uint32_t i = 0; i < 20; ++i) {
    begin(S::kSend, 3 * kMtu);
    EXPECT_FALSE(send().ack_request);
    EXPECT_FALSE(q.empty());
    EXPECT_EQ(send_all(), (Psns{101 + 3 * i, 102 + 3 * i})) << "whatever the window";
    EXPECT_TRUE(q.empty());
    EXPECT_FALSE(q.unanswered());
  }
}

TEST_F(SendQueueTest, RestartForgetsEverything) {
  start({.window = 2, .max_rd_atomic = 1});
  post(S::kRead, 900 * kMtu);
  post();
  answer(AnswerKind::kRnrNak, 100, 0x2e);
  q.restart(Psn{7});
  EXPECT_TRUE(q.empty());
  EXPECT_FALSE(q.waiting());
  EXPECT_EQ(hold(S::kRead, 8, kSendFence), SendHold::kNone);
  EXPECT_EQ(ack(100), SendVerdict::kNothing);
  begin();
  EXPECT_EQ(send().psn, Psn{7});
}

TEST_F(SendQueueTest, AMessageIsCutAtItsMss) {  // (R1, R9)
  SendQueueLimits l;
  l.reliable = false;
  start(l);
  SendRequest r;
  r.opcode = S::kTso;
  r.bytes = 1001;
  r.mss = 500;  // more than the MTU of other messages here
  EXPECT_EQ(q.begin(r).psn_count, 3u);
  for (std::uint32_t n = 0; n < 3; ++n) {
    const RequestPacket p = send();
    EXPECT_EQ(p.number, n);
    EXPECT_EQ(p.psn.value, 100 + n);
    EXPECT_EQ(p.offset, n * 500);
    EXPECT_EQ(p.bytes, n == 2 ? 1u : 500u);
    EXPECT_EQ(p.first, n == 0);
    EXPECT_EQ(p.last, n == 2);
  }
  EXPECT_TRUE(q.empty());
  r.bytes = 0;
  EXPECT_EQ(q.begin(r).psn_count, 1u) << "the header alone";
}

}  // namespace
}  // namespace rxnic::send_queue_test
