// SPDX-License-Identifier: Apache-2.0
// RC and XRC through the whole NIC when a message finds no WQE (rules 6). The RNR NAK has the request's PSN and the
// QP's timer code; no state changes, and no WQE is used. Packets behind get no response and are not carried out. The
// retry is carried out as if it were the first attempt. All this is tested together with other errors, too.
#include "testbench/unit/model/nic/nic_fixture.h"

namespace rxnic::nic_rnr_test {
namespace {

using Op = Operation;

constexpr std::uint8_t kRnr = 0x20 | kRnrTimer;

class NicRnr : public ReliableTest {
 protected:
  // Posts `early` WQEs from the start, `late` more with a doorbell at 50 us.
  void make_late(std::uint32_t early, std::uint32_t late, std::uint32_t bytes = 2000) {
    make();
    if (early > 0) {
      buffer = buffers(*queue, early, bytes);
      ring(*queue, 0);
    }
    const auto more = buffers(*queue, late, bytes);
    buffer.insert(buffer.end(), more.begin(), more.end());
    ring(*queue, 50'000);
  }
};
INSTANTIATE_TEST_SUITE_P(Transports, NicRnr, testing::Values(Transport::kRc, Transport::kXrc), transport_name);

TEST_P(NicRnr, RetryAfterTheDoorbellSucceeds) {
  make_late(0, 1);
  q->msn = 41;
  message(false, {.psn = 100, .bytes = kMtu + 5});
  at(100'000);
  expect_written(buffer[0].address, message(false, {.psn = 100, .bytes = kMtu + 5}));
  run();
  expect_answers(2);
  expect_ack(0, 100, 41, kRnr);
  expect_ack(1, 101, 42);
  ASSERT_EQ(cqes.size(), 1u);
  expect_receive(0, kQpn, 0, kMtu + 5);
  EXPECT_EQ(dropped(DropReason::kNoReceiveWqe), 1u);
  EXPECT_EQ(events(EventType::kQpFatal) + events(EventType::kQpRequestError), 0u);
}

TEST_P(NicRnr, EachTryWithoutAWqeIsRefusedOnce) {
  make_late(0, 1);
  for (const std::uint64_t ns : {0u, 10'000u, 20'000u}) {
    at(ns);
    send({.psn = 100, .bytes = 4});
    send({.psn = 101, .bytes = 4});
  }
  run();
  expect_answers(3);
  for (std::size_t i = 0; i < 3; ++i) expect_ack(i, 100, 0, kRnr);
  EXPECT_TRUE(cqes.empty());
}

TEST_P(NicRnr, TimerCodeIsTheQps) {
  make();
  q->min_rnr_timer = 31;
  send({.psn = 100, .bytes = 4});
  run();
  expect_answers(1);
  expect_ack(0, 100, 0, 0x20 | 31);
}

// The packets behind arrive at the same time: they get no response, and nothing is carried out twice.
TEST_P(NicRnr, PacketsBehindAreSilentAndCarriedOutOnce) {
  make_late(1, 3);
  const Region never = region(4 * kMtu);
  const Region once = region(4 * kMtu);
  store(once.va, little_endian(70));
  expect_written(buffer[0].address, send({.psn = 100, .bytes = 40}));
  const auto burst = [&](const Region& r) {
    const ByteVector sent = message(false, {.psn = 101, .bytes = kMtu + 1});
    const ByteVector written = message(true, {.psn = 103, .bytes = kMtu + 2, .va = r.va + 100, .rkey = r.key});
    send({.op = Op::kFetchAdd, .psn = 105, .va = once.va, .rkey = once.key, .swap_add = 1});
    send({.op = Op::kReadRequest, .psn = 106, .va = once.va, .rkey = once.key, .length = 8});
    const ByteVector last = send({.psn = 107, .bytes = 50});
    if (raw(r.key) != raw(once.key)) return;
    expect_written(buffer[1].address, sent);
    expect_written(r.va + 100, written);
    expect_written(buffer[2].address, last);
    expect_written(once.va, little_endian(71));
  };
  burst(never);
  at(100'000);
  burst(once);
  run();
  expect_answers(7);
  expect_ack(0, 100, 1);
  expect_ack(1, 101, 1, kRnr);
  expect_ack(2, 102, 2);
  expect_ack(3, 104, 3);
  EXPECT_EQ(answers[4].h.original, 70u);
  EXPECT_EQ(answers[5].payload, little_endian(71));
  expect_ack(6, 107, 6);
  ASSERT_EQ(cqes.size(), 3u);
  expect_receive(1, kQpn, 1, kMtu + 1);
  expect_receive(2, kQpn, 2, 50);
}

TEST_P(NicRnr, WriteWithImmediateIsRefusedAtItsLastPacketAndGoesOnThere) {
  make_late(0, 1);
  const Region r = region(2 * kMtu);
  const Request w{.va = r.va, .rkey = r.key, .length = kMtu + 7, .immediate = 5};
  Request first = w;
  first.op = Op::kWriteFirst;
  first.psn = 100;
  first.bytes = kMtu;
  Request last = w;
  last.op = Op::kWriteLastImm;
  last.psn = 101;
  last.bytes = 7;
  expect_written(r.va, send(first));
  send(last);
  at(100'000);
  expect_written(r.va + kMtu, send(last));
  run();
  expect_answers(2);
  expect_ack(0, 101, 0, kRnr);
  expect_ack(1, 101, 1);
  ASSERT_EQ(cqes.size(), 1u);
  expect_receive(0, kQpn, 0, kMtu + 7);
}

// A packet behind the RNR failed already, earlier in the path: its NAK must not be sent, and the QP stays usable.
TEST_P(NicRnr, FailureBehindIsTakenBack) {
  make_late(0, 2);
  const auto bad = GetParam() == Transport::kRc ? Op::kSendMiddle : Op::kWriteLast;
  send({.psn = 100, .bytes = 40});
  send({.psn = 101, .bytes = 41});
  send({.op = bad, .psn = 102, .bytes = 3});  // 0x61
  send({.psn = 103, .bytes = 4});
  at(100'000);
  expect_written(buffer[0].address, send({.psn = 100, .bytes = 40}));
  expect_written(buffer[1].address, send({.psn = 101, .bytes = 41}));
  run();
  expect_answers(3);
  expect_ack(0, 100, 0, kRnr);
  expect_ack(1, 100, 1);
  expect_ack(2, 101, 2);
  EXPECT_EQ(cqes.size(), 2u);
  EXPECT_EQ(events(EventType::kQpRequestError) + events(EventType::kQpFatal), 0u);
  EXPECT_EQ(events(EventType::kQpLastWqeReached), 0u);
}

// A NAK 0x60 of PSN 102 would acknowledge the refused packet.
TEST_P(NicRnr, SequenceNakBehindIsNotSent) {
  make_late(0, 2);
  send({.psn = 100, .bytes = 40});
  send({.psn = 101, .bytes = 41});
  send({.psn = 105, .bytes = 41});
  at(100'000);
  expect_written(buffer[0].address, send({.psn = 100, .bytes = 40}));
  expect_written(buffer[1].address, send({.psn = 101, .bytes = 41}));
  run();
  expect_answers(3);
  expect_ack(0, 100, 0, kRnr);
  EXPECT_EQ(cqes.size(), 2u);
}

// The older packet fails later in the path than the younger one is refused: its NAK is the only response.
TEST_P(NicRnr, FailureInFrontWins) {
  make();
  send({.op = Op::kWriteOnly, .psn = 100, .bytes = 8, .rkey = Key{0x77700}});
  send({.psn = 101, .bytes = 40});
  send({.psn = 102, .bytes = 40});
  at(100'000);
  send({.psn = 100, .bytes = 8});
  run();
  expect_answers(1);
  expect_ack(0, 100, 0, 0x62);
  EXPECT_EQ(events(EventType::kQpAccessError), 1u);
}

// A lost doorbell of one QP's RQ holds up no other QP.
TEST_F(NicTest, RnrOfOneQpDoesNotTouchAnother) {
  Queue& qa = rq(0x21);
  Queue& qb = rq(0x22);
  const QpContext& a = qp(Transport::kRc, 0x21, &qa);
  const QpContext& b = qp(Transport::kRc, 0x22, &qb);
  const auto bufs = buffers(qb, 4, 64);
  for (std::uint32_t i = 0; i < 4; ++i) {
    send(a, {.psn = 100 + i, .bytes = 8});
    expect_written(bufs[i].address, send(b, {.psn = 100 + i, .bytes = 8}));
  }
  run();
  expect_answers(5);
  EXPECT_EQ(cqes.size(), 4u);
  std::size_t refused = 0;
  for (const Answer& answer : answers) refused += answer.h.syndrome == kRnr;
  EXPECT_EQ(refused, 1u);
}

// ---- captures that lost packets: the QP resynchronises
class NicResynchronise : public ReliableTest {};
INSTANTIATE_TEST_SUITE_P(Transports, NicResynchronise, testing::Values(Transport::kRc, Transport::kXrc),
                         transport_name);

TEST_P(NicResynchronise, MessageWhoseEndWasLostCompletesWithWhatCame) {
  make(2, 3000);
  q->resynchronise = true;
  expect_written(buffer[0].address, send({.op = Op::kSendFirst, .psn = 100, .bytes = kMtu}));
  expect_written(buffer[1].address, send({.psn = 103, .bytes = 9}));
  run();
  ASSERT_EQ(cqes.size(), 2u);
  expect_receive(0, kQpn, 0, kMtu);
  expect_receive(1, kQpn, 1, 9);
  EXPECT_EQ(cqes[0].cq, xrc() ? kSrqCq : kRecvCq);
  expect_answers(1);
}

TEST_P(NicResynchronise, MessageWhoseBeginningWasLostTakesItsWqeWhereItIs) {
  make(2, 3000);
  q->resynchronise = true;
  ByteVector all = send({.op = Op::kSendMiddle, .psn = 107, .bytes = kMtu});
  const ByteVector rest = send({.op = Op::kSendLast, .psn = 108, .bytes = 9});
  all.insert(all.end(), rest.begin(), rest.end());
  expect_written(buffer[0].address, all);
  expect_written(buffer[1].address, send({.psn = 109, .bytes = 9}));
  run();
  ASSERT_EQ(cqes.size(), 2u);
  expect_receive(0, kQpn, 0, kMtu + 9);
  expect_receive(1, kQpn, 1, 9);
}

}  // namespace
}  // namespace rxnic::nic_rnr_test
