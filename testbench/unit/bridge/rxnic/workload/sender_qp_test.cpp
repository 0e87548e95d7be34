// SPDX-License-Identifier: Apache-2.0
// What a sender's QP sends next after the answers of a receiver: rules of sender_qp.h.
#include "bridge/rxnic/workload/sender_qp.h"

#include <gtest/gtest.h>

#include <string>

#include "model/types/opcode.h"
#include "model/types/syndrome.h"

namespace rxnic {
namespace {

constexpr std::uint64_t kTimeoutPs = 1000;

class SenderQpTest : public testing::Test {
 protected:
  void post(const char* name, std::uint32_t bytes = 64) {
    for (const MixKind& kind : mix_kinds()) {
      if (kind.name == name) qp.post({.kind = &kind, .bytes = bytes});
    }
  }
  // The PSN of the next packet, counted from the first; -1: there is none.
  int send() {
    if (!qp.can_send(now)) return -1;
    header = Headers{};
    payload = qp.next(header);
    qp.sent(now);
    return header.psn - first;
  }
  std::uint32_t answer(Operation operation, int psn, std::uint8_t syndrome = kAckUnlimited) {
    Headers h;
    h.opcode = opcode_of(limits.transport, operation);
    h.psn = first + static_cast<std::uint32_t>(psn);
    h.syndrome = syndrome;
    return qp.on_answer(h, now);
  }

  SenderQp::Limits limits{Transport::kRc, 1024, 2, kTimeoutPs, 2};
  Psn first{0xfffffe};  // wraps
  SenderQp qp{&limits, first};
  Headers header;
  SenderPayload payload;
  std::uint64_t now = 0;
};

TEST_F(SenderQpTest, MessageIsCutAtTheMtuAndItsLastPacketAsksForAnAck) {
  post("send", 2500);
  EXPECT_EQ(send(), 0);
  EXPECT_EQ(header.opcode, opcode_of(Transport::kRc, Operation::kSendFirst));
  EXPECT_FALSE(header.ack_request);
  EXPECT_EQ(send(), 1);
  EXPECT_EQ(send(), 2);
  EXPECT_EQ(payload.bytes, 2500u - 2048u);
  EXPECT_TRUE(header.ack_request);
  EXPECT_EQ(send(), -1);
  EXPECT_EQ(answer(Operation::kAck, 2), 1u);
  EXPECT_EQ(qp.under_way(), 0u);
  EXPECT_EQ(qp.alarm_ps(), 0u);
}

TEST_F(SenderQpTest, OneAckAnswersAllMessagesBeforeIt) {
  for (int i = 0; i < 4; ++i) post("write"), send();
  EXPECT_EQ(answer(Operation::kAck, 2), 3u);
  EXPECT_EQ(answer(Operation::kAck, 2), 0u) << "a duplicate";
  EXPECT_EQ(answer(Operation::kAck, 7), 0u) << "of a packet that was never sent";
  EXPECT_EQ(qp.under_way(), 1u);
}

TEST_F(SenderQpTest, SequenceNakLetsItGoBack) {
  for (int i = 0; i < 4; ++i) post("send"), send();
  EXPECT_EQ(answer(Operation::kAck, 1, kNakSequence), 1u);
  EXPECT_EQ(send(), 1);
  EXPECT_EQ(send(), 2);
  EXPECT_EQ(send(), 3);
  EXPECT_EQ(send(), -1);
  EXPECT_EQ(qp.repeated(), 3u);
  EXPECT_EQ(answer(Operation::kAck, 3), 3u);
}

TEST_F(SenderQpTest, RnrNakBlocksForItsTime) {
  post("send"), post("send");
  send(), send();
  constexpr std::uint8_t kTimer = 1;  // 10 us
  EXPECT_EQ(answer(Operation::kAck, 0, rnr_nak(kTimer)), 0u);
  EXPECT_EQ(qp.alarm_ps(), 10'000'000u);
  now = 9'999'999;
  EXPECT_EQ(send(), -1);
  now = 10'000'000;
  qp.on_alarm(now);
  EXPECT_EQ(send(), 0);
  EXPECT_EQ(send(), 1);
  EXPECT_FALSE(qp.failed());
}

TEST_F(SenderQpTest, TimeoutSendsTheOldestAgainUntilItFails) {
  post("send", 2048);
  send(), send();
  for (int retry = 0; retry < 2; ++retry) {
    EXPECT_EQ(qp.alarm_ps(), now + kTimeoutPs);
    now += kTimeoutPs - 1;
    qp.on_alarm(now);
    EXPECT_EQ(send(), -1) << "too early";
    now += 1;
    qp.on_alarm(now);
    EXPECT_EQ(send(), 0);
    EXPECT_EQ(send(), 1);
  }
  now += kTimeoutPs;
  qp.on_alarm(now);
  EXPECT_TRUE(qp.failed());
  EXPECT_EQ(send(), -1);
  EXPECT_EQ(qp.timeouts(), 3u);
}

TEST_F(SenderQpTest, AnAnswerBeginsTheRetriesAnew) {
  post("send"), post("send");
  send(), send();
  now += kTimeoutPs;
  qp.on_alarm(now);
  EXPECT_EQ(answer(Operation::kAck, 0), 1u);
  EXPECT_EQ(send(), 1) << "the rest of what was to be repeated";
  for (int retry = 0; retry < 2; ++retry) {
    now += kTimeoutPs;
    qp.on_alarm(now);
    EXPECT_FALSE(qp.failed());
    EXPECT_EQ(send(), 1);
  }
}

TEST_F(SenderQpTest, OtherNaksEndTheQp) {
  post("write"), send();
  EXPECT_EQ(answer(Operation::kAck, 0, kNakRemoteAccess), 0u);
  EXPECT_TRUE(qp.failed());
}

TEST_F(SenderQpTest, ReadTakesAsManyPsnsAsItsResponses) {
  post("read", 3000), post("send");
  EXPECT_EQ(send(), 0);
  EXPECT_EQ(header.length, 3000u);
  EXPECT_EQ(send(), 3);
  EXPECT_EQ(answer(Operation::kReadResponseFirst, 0), 0u);
  EXPECT_EQ(answer(Operation::kReadResponseMiddle, 1), 0u);
  EXPECT_EQ(answer(Operation::kReadResponseLast, 2), 1u);
  EXPECT_EQ(answer(Operation::kAck, 3), 1u);
}

TEST_F(SenderQpTest, ReadAsksForWhatIsMissing) {
  post("read", 3000);
  send();
  const std::uint64_t va = header.va;
  answer(Operation::kReadResponseFirst, 0);
  EXPECT_EQ(answer(Operation::kReadResponseLast, 2), 0u) << "the one before is missing";
  EXPECT_EQ(send(), 1);
  EXPECT_EQ(header.va, va + 1024);
  EXPECT_EQ(header.length, 3000u - 1024u);
  EXPECT_EQ(answer(Operation::kReadResponseFirst, 1), 0u);
  EXPECT_EQ(answer(Operation::kReadResponseLast, 2), 1u);
}

TEST_F(SenderQpTest, AckBeyondAReadDoesNotAnswerIt) {
  post("read"), post("send");
  send(), send();
  EXPECT_EQ(answer(Operation::kAck, 1), 0u);
  EXPECT_EQ(send(), 0) << "it goes back to the READ";
  EXPECT_EQ(send(), 1);
  EXPECT_EQ(answer(Operation::kReadResponseOnly, 0), 1u);
  EXPECT_EQ(answer(Operation::kAck, 1), 1u);
}

TEST_F(SenderQpTest, SoManyReadsAndAtomicsAreUnderWay) {
  post("read"), post("fetch_add"), post("read"), post("send");
  EXPECT_EQ(send(), 0);
  EXPECT_EQ(send(), 1);
  EXPECT_EQ(send(), -1) << "two are under way";
  EXPECT_EQ(answer(Operation::kReadResponseOnly, 0), 1u);
  EXPECT_EQ(send(), 2);
  EXPECT_EQ(send(), 3) << "a SEND needs none";
  EXPECT_EQ(answer(Operation::kAtomicAck, 1), 1u);
  EXPECT_EQ(answer(Operation::kReadResponseOnly, 2), 1u);
}

TEST_F(SenderQpTest, UnreliableMessagesAreAnsweredWhenSent) {
  limits.transport = Transport::kUc;
  post("write", 2048);
  send();
  EXPECT_EQ(qp.take_sent(), 0u);
  send();
  EXPECT_EQ(qp.take_sent(), 1u);
  EXPECT_EQ(qp.take_sent(), 0u);
  EXPECT_EQ(qp.alarm_ps(), 0u);
  EXPECT_EQ(answer(Operation::kAck, 1), 0u);
}

}  // namespace
}  // namespace rxnic
