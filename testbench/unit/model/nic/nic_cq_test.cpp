// SPDX-License-Identifier: Apache-2.0
// Completion queues through the whole NIC (rules 3): overrun, moderation, arming, compression; and the completions of
// our own requests as their responses arrive.
#include "testbench/unit/model/nic/nic_fixture.h"

namespace rxnic::nic_cq_test {
namespace {

using Op = Operation;

class NicCq : public NicTest {
 protected:
  static constexpr std::uint32_t kQpn = 0x21;
  void make(std::uint32_t wqes, std::uint32_t bytes = 64, Transport transport = Transport::kRc) {
    queue = &rq(kQpn, 128);
    q = &qp(transport, kQpn, queue);
    if (wqes > 0) buffer = buffers(*queue, wqes, bytes);
  }
  // SEND ONLY number n, into buffer n.
  void send_nth(std::uint32_t n, bool solicited = false) {
    expect_written(buffer[n].address, send(*q, {.psn = 100 + n, .bytes = 8, .solicited = solicited}));
  }
  Queue* queue = nullptr;
  QpContext* q = nullptr;
  std::vector<DataSegment> buffer;
};

// ---- overrun: the QP to the error state and IBV_EVENT_CQ_ERR once, on every transport
class NicCqFull : public NicCq, public testing::WithParamInterface<Transport> {};
INSTANTIATE_TEST_SUITE_P(Transports, NicCqFull, testing::Values(Transport::kRc, Transport::kUc), transport_name);

TEST_P(NicCqFull, MovesTheQpToTheErrorStateAndReportsOnce) {
  set("host.poll_latency_ps=400000000");
  make(8, 64, GetParam());
  Queue& other_queue = rq(0x22);
  QpContext& other = qp(GetParam(), 0x22, &other_queue);
  const auto other_buffer = buffers(other_queue, 3, 64);
  cq(kRecvCq, 4);
  for (std::uint32_t i = 0; i < 5; ++i) send_nth(i);
  at(20'000);
  send(*q, {.psn = 105, .bytes = 8});
  expect_written(other_buffer[0].address, send(other, {.psn = 100, .bytes = 8}));
  at(40'000);
  send(*q, {.psn = 105, .bytes = 8});
  send(other, {.psn = 101, .bytes = 8});
  run();
  EXPECT_EQ(events(EventType::kCqError), 1u);
  ASSERT_EQ(cqes.size(), 4u);
  for (std::uint32_t i = 0; i < 4; ++i) expect_receive(i, kQpn, i, 8);
  EXPECT_EQ(dropped(DropReason::kCqOverrun), 2u);      // one of each QP
  EXPECT_EQ(dropped(DropReason::kQpTypeOrState), 3u);  // both are in the error state
  if (GetParam() == Transport::kUc) {
    EXPECT_TRUE(answers.empty());
    return;
  }
  expect_answers(6);
  expect_ack(3, 103, 4);
  expect_ack(4, 104, 4, 0x63);
  expect_ack(5, 100, 0, 0x63);
}

TEST_F(NicCq, FullCqStopsAUdQp) {
  set("host.poll_latency_ps=400000000");
  make(8, 64, Transport::kUd);
  cq(kRecvCq, 2);
  for (std::uint32_t i = 0; i < 3; ++i) {
    expect_written(buffer[i].address + 40, send(*q, {.psn = i, .bytes = 8, .encapsulation = Encapsulation::kIbLocal}));
  }
  at(20'000);
  send(*q, {.psn = 1, .bytes = 8, .encapsulation = Encapsulation::kIbLocal});
  run();
  EXPECT_EQ(events(EventType::kCqError), 1u);
  EXPECT_EQ(cqes.size(), 2u);
  EXPECT_EQ(dropped(DropReason::kQpTypeOrState), 1u);
}

TEST_F(NicCq, IgnoredOverrunWritesOn) {
  set("host.poll_latency_ps=400000000");
  make(10);
  cq(kRecvCq, 4, [](CqContext& c) { c.ignore_overrun = true; });
  for (std::uint32_t i = 0; i < 10; ++i) send_nth(i);
  run();
  EXPECT_EQ(events(EventType::kCqError), 0u);
  EXPECT_EQ(ledger().dropped_total(), 0u);
  expect_answers(10);
  for (std::uint32_t i = 0; i < 10; ++i) expect_ack(i, 100 + i, i + 1);
  // Slots 2 and 3 hold completions 6 and 7, slots 0 and 1 those of the third round.
  for (const std::uint32_t n : {6u, 7u, 8u, 9u}) {
    const auto cqe = sim().memory.load<Cqe>(BusAddress{0x9'0000'0000u + raw(kRecvCq) * 0x10'0000u} + n % 4 * 64);
    EXPECT_EQ(cqe.wqe_index, n);
    EXPECT_EQ(cqe.owner, n / 4 % 2);
  }
}

TEST_F(NicCq, CqThatIsPolledInTimeGoesRoundForEver) {
  make(30);
  cq(kRecvCq, 4);
  for (std::uint32_t i = 0; i < 30; ++i) {
    at(1000 * i);
    send_nth(i);
  }
  run();
  ASSERT_EQ(cqes.size(), 30u);
  for (std::uint32_t i = 0; i < 30; ++i) expect_receive(i, kQpn, i, 8);
  EXPECT_EQ(events(EventType::kCqError), 0u);
}

TEST_F(NicCq, SlotsOf128BytesAreReadTheSame) {
  set("cqe_generator.cqe_bytes=128");
  make(9);
  cq(kRecvCq, 4);
  for (std::uint32_t i = 0; i < 9; ++i) {
    at(1000 * i);
    send_nth(i);
  }
  run();
  ASSERT_EQ(cqes.size(), 9u);
  for (std::uint32_t i = 0; i < 9; ++i) expect_receive(i, kQpn, i, 8);
}

// ---- events
TEST_F(NicCq, ArmedCqNotifiesOnceAnUnarmedOneNever) {
  set("host.poll_latency_ps=400000000");  // the doorbells of the test alone say what was consumed
  make(6);
  send_nth(0);
  at_time(20'000, [&] { EXPECT_EQ(events(EventType::kCompletion), 0u); });
  arm(kRecvCq, 1, false, 20'000);  // CQEs before it were consumed
  at_time(30'000, [&] { EXPECT_EQ(events(EventType::kCompletion), 0u); });
  at(30'000);
  for (std::uint32_t i = 1; i < 4; ++i) send_nth(i);
  at_time(50'000, [&] { EXPECT_EQ(events(EventType::kCompletion), 1u); });
  arm(kRecvCq, 3, false, 60'000);  // one is there that the program has not seen
  run();
  EXPECT_EQ(events(EventType::kCompletion), 2u);
}

TEST_F(NicCq, ArmedForSolicitedOnlyWaitsForOne) {
  make(4);
  arm(kRecvCq, 0, true, 0);
  send_nth(0);
  send_nth(1);
  at_time(20'000, [&] { EXPECT_EQ(events(EventType::kCompletion), 0u); });
  at(20'000);
  send_nth(2, true);
  send_nth(3, true);
  run();
  EXPECT_EQ(events(EventType::kCompletion), 1u);
}

TEST_F(NicCq, ErrorCountsAsSolicited) {
  make(2);
  arm(kRecvCq, 0, true, 0);
  send_nth(0);
  at_time(20'000, [&] { EXPECT_EQ(events(EventType::kCompletion), 0u); });
  at(20'000);
  send(*q, {.op = Op::kSendMiddle, .psn = 101, .bytes = 8});
  run();
  expect_flushed(1, kQpn, 1, 1);
  EXPECT_EQ(events(EventType::kCompletion), 1u);
}

TEST_F(NicCq, ModerationCountHoldsTheEventBack) {
  make(8);
  cq(kRecvCq, 64, [](CqContext& c) { c.moderation_count = 4; });
  arm(kRecvCq, 0, false, 0);
  for (std::uint32_t i = 0; i < 4; ++i) {
    at(20'000 * i);
    send_nth(i);
    at_time(20'000 * i + 15'000, [&, i] { EXPECT_EQ(events(EventType::kCompletion), i < 3 ? 0u : 1u) << i; });
  }
  run();
  EXPECT_EQ(events(EventType::kCompletion), 1u);
}

TEST_F(NicCq, ModerationPeriodEndsTheWait) {
  make(2);
  cq(kRecvCq, 64, [](CqContext& c) {
    c.moderation_count = 100;
    c.moderation_period_us = 50;
  });
  arm(kRecvCq, 0, false, 0);
  send_nth(0);
  at(30'000);
  send_nth(1);
  // The completion is written about 1 us after its packet's arrival, the event follows its cause by 1 us.
  at_time(50'500, [&] { EXPECT_EQ(events(EventType::kCompletion), 0u); });
  at_time(54'000, [&] { EXPECT_EQ(events(EventType::kCompletion), 1u); });
  run();
  EXPECT_EQ(events(EventType::kCompletion), 1u);
}

// ---- compression: the host finds the same completions with and without
class NicCompression : public NicCq, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Compression, NicCompression, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& on) { return on.param ? "On" : "Off"; });

TEST_P(NicCompression, HostFindsTheSameCompletions) {
  set("cqe_generator.compression=true");
  set("cqe_generator.compression_max=14");
  set("dma_engine.posted_header_credits=1");  // back-pressure of the host
  set("dma_engine.write_latency_ps=60000");   // another write before the session times out
  set("address_translator.queue_depth=2");
  make(60, 200);
  cq(kRecvCq, 16, [&](CqContext& c) { c.compress = GetParam(); });
  struct Expected {
    std::uint32_t bytes;
    bool immediate;
  };
  std::vector<Expected> expected;
  for (std::uint32_t i = 0; i < 60; ++i) {
    const bool immediate = i % 17 == 5;
    const std::uint32_t bytes = i % 9 * 20;
    if (i % 10 == 0) at(6'000 * (i / 10));
    expect_written(
        buffer[i].address,
        send(*q, {.op = immediate ? Op::kSendOnlyImm : Op::kSendOnly, .psn = 100 + i, .bytes = bytes, .immediate = i}));
    expected.push_back({bytes, immediate});
  }
  run();
  ASSERT_EQ(cqes.size(), 60u);
  for (std::uint32_t i = 0; i < 60; ++i) {
    expect_receive(i, kQpn, i, expected[i].bytes);
    EXPECT_EQ((cqes[i].cqe.flags & kCqeImmediate) != 0, expected[i].immediate);
    if (expected[i].immediate) {
      EXPECT_EQ(cqes[i].cqe.immediate_or_rkey, i);
    }
  }
  EXPECT_EQ(events(EventType::kCqError), 0u);
  const std::uint64_t slots = sim().nic.cqe_generator.counters().slots;
  if (GetParam()) {
    EXPECT_LT(slots, 40u);
  } else {
    EXPECT_EQ(slots, 60u);
  }
}

TEST_P(NicCompression, ErrorEndsTheSessionAndKeepsTheOrder) {
  set("cqe_generator.compression=true");
  make(8, 200);
  cq(kRecvCq, 64, [&](CqContext& c) { c.compress = GetParam(); });
  for (std::uint32_t i = 0; i < 3; ++i) send_nth(i);
  send(*q, {.psn = 103, .bytes = 201});
  run();
  for (std::uint32_t i = 0; i < 3; ++i) expect_receive(i, kQpn, i, 8);
  expect_error(3, kQpn, 3, WcStatus::kLocalLength);
  expect_flushed(4, kQpn, 4, 7);
}

// ---- responses to our own requests
class NicRequester : public ReliableTest {
 protected:
  void answer(Op op, std::uint32_t psn, std::uint8_t syndrome, std::size_t bytes = 0, std::uint64_t original = 0) {
    last_ = send({.op = op, .psn = psn, .bytes = bytes, .ack = 0, .amend = [=](Headers& h) {
                    h.syndrome = syndrome;
                    h.original = original;
                  }});
  }
  void ours(CqeOpcode opcode, std::uint32_t psn, std::uint32_t wqe, std::uint32_t count = 1, bool signaled = true,
            const DataSegment& buffer_of = {}) {
    request_of_ours({.qpn = Qpn{kQpn},
                     .first_psn = Psn{psn},
                     .psn_count = count,
                     .opcode = opcode,
                     .signaled = signaled,
                     .wqe_index = wqe,
                     .bytes = buffer_of.length,
                     .va = buffer_of.address,
                     .lkey = Key{buffer_of.lkey}});
  }
  void expect_sent(std::size_t n, std::uint32_t wqe, CqeOpcode opcode, WcStatus status = WcStatus::kSuccess) {
    ASSERT_GT(cqes.size(), n);
    EXPECT_EQ(cqes[n].cq, kSendCq);
    EXPECT_EQ(cqes[n].cqe.wqe_index, wqe);
    EXPECT_EQ(cqes[n].cqe.opcode, opcode);
    EXPECT_EQ(static_cast<int>(cqes[n].cqe.status), static_cast<int>(status));
    EXPECT_EQ(cqes[n].cqe.qp_number, kQpn);
  }
  ByteVector last_;
};
INSTANTIATE_TEST_SUITE_P(Transports, NicRequester, testing::Values(Transport::kRc, Transport::kXrc), transport_name);

TEST_P(NicRequester, OneAckCompletesAllBeforeIt) {
  make();
  ours(CqeOpcode::kSend, 10, 0);
  ours(CqeOpcode::kRdmaWrite, 11, 1, 3);
  ours(CqeOpcode::kSend, 14, 2, 1, false);
  ours(CqeOpcode::kSend, 15, 3);
  ours(CqeOpcode::kSend, 16, 4);
  answer(Op::kAck, 15, kAckUnlimited);
  run();
  ASSERT_EQ(cqes.size(), 3u);
  expect_sent(0, 0, CqeOpcode::kSend);
  expect_sent(1, 1, CqeOpcode::kRdmaWrite);
  expect_sent(2, 3, CqeOpcode::kSend);
  EXPECT_TRUE(answers.empty());
}

TEST_P(NicRequester, NakCompletesWhatIsBeforeItAndNothingElse) {
  make();
  for (std::uint32_t i = 0; i < 3; ++i) ours(CqeOpcode::kSend, 10 + i, i);
  answer(Op::kAck, 11, 0x60);
  answer(Op::kAck, 11, 0x20 | 3);
  run();
  ASSERT_EQ(cqes.size(), 1u);
  expect_sent(0, 0, CqeOpcode::kSend);
}

TEST_P(NicRequester, ReadResponsesFillTheBuffer) {
  make();
  const Region r = region(3 * kMtu, {kLocalWrite, kPd, 3000});
  ours(CqeOpcode::kSend, 9, 4);
  ours(CqeOpcode::kRdmaRead, 10, 5, 3, true, r.piece(7, 2 * kMtu + 50));
  answer(Op::kReadResponseFirst, 10, kAckUnlimited, kMtu);
  expect_written(r.va + 7, last_);
  answer(Op::kReadResponseMiddle, 11, 0, kMtu);
  expect_written(r.va + 7 + kMtu, last_);
  answer(Op::kReadResponseLast, 12, kAckUnlimited, 50);
  expect_written(r.va + 7 + 2 * kMtu, last_);
  run();
  ASSERT_EQ(cqes.size(), 2u);
  expect_sent(0, 4, CqeOpcode::kSend);
  expect_sent(1, 5, CqeOpcode::kRdmaRead);
  EXPECT_EQ(cqes[1].cqe.byte_count, 2 * kMtu + 50);
}

TEST_P(NicRequester, AtomicAckBringsTheOldValue) {
  make();
  const Region r = region(24, {kLocalWrite, kPd, 4080});
  ours(CqeOpcode::kCompareSwap, 10, 6, 1, true, r.piece(8, 8));
  answer(Op::kAtomicAck, 10, kAckUnlimited, 0, 0x1234567890abcdef);
  expect_written(r.va + 8, little_endian(0x1234567890abcdef));
  run();
  ASSERT_EQ(cqes.size(), 1u);
  expect_sent(0, 6, CqeOpcode::kCompareSwap);
  EXPECT_EQ(cqes[0].cqe.byte_count, 8u);
}

TEST_P(NicRequester, AnswerThatNothingAskedForIsDropped) {
  make();
  answer(Op::kAck, 10, kAckUnlimited);
  answer(Op::kReadResponseOnly, 11, kAckUnlimited, 20);
  answer(Op::kAtomicAck, 12, kAckUnlimited, 0, 5);
  run();
  EXPECT_TRUE(cqes.empty());
  EXPECT_EQ(dropped(DropReason::kUnsolicitedAnswer), 3u);
}

TEST_P(NicRequester, ReadResponseLongerThanAskedForWritesNothing) {
  make();
  const Region r = region(100);
  ours(CqeOpcode::kRdmaRead, 10, 5, 1, true, r.piece(0, 40));
  answer(Op::kReadResponseOnly, 10, kAckUnlimited, 41);
  run();
  EXPECT_EQ(ledger().dropped_total(), 1u);
}

// Our own memory is wrong: no NAK, the request completes in error, the QP and its RQ with it.
TEST_P(NicRequester, BadLocalBufferCompletesTheRequestInErrorWithoutANak) {
  make(2, 64);
  const Region r = region(64, {kRemoteRead});
  ours(CqeOpcode::kRdmaRead, 10, 5, 1, true, r.piece(0, 40));
  answer(Op::kReadResponseOnly, 10, kAckUnlimited, 40);
  send({.psn = 100, .bytes = 8});
  at(50'000);
  send({.psn = 100, .bytes = 8});
  run();
  EXPECT_TRUE(answers.empty());
  expect_sent(0, 5, CqeOpcode::kRdmaRead, WcStatus::kLocalProtection);
  EXPECT_EQ(events(EventType::kQpLastWqeReached), xrc() ? 1u : 0u);
  if (!xrc()) expect_flushed(1, kQpn, 0, 1);
  EXPECT_EQ(dropped(DropReason::kQpTypeOrState), 1u);
}

// The response fails between the packets of a message to us, whose last packet has passed the WQE fetcher by then. The
// message's WQE is flushed once.
TEST_P(NicRequester, MessageAroundABadAnswerIsFlushedOnce) {
  make(3, 3000);
  ours(CqeOpcode::kRdmaRead, 10, 5, 1, true, {40, 0x77700, 0x1000});
  expect_written(buffer[0].address, send({.op = Op::kSendFirst, .psn = 100, .bytes = kMtu}));
  answer(Op::kReadResponseOnly, 10, kAckUnlimited, 40);
  send({.op = Op::kSendLast, .psn = 101, .bytes = 8});
  run();
  EXPECT_TRUE(answers.empty());
  expect_sent(0, 5, CqeOpcode::kRdmaRead, WcStatus::kLocalProtection);
  expect_flushed(1, kQpn, 0, xrc() ? 0 : 2);
  EXPECT_EQ(cqes[1].cq, xrc() ? kSrqCq : kRecvCq);
  EXPECT_EQ(events(EventType::kQpLastWqeReached), xrc() ? 1u : 0u);
}

// A response behind a request that was refused is not squashed with it.
TEST_P(NicRequester, AnswersGoOnBehindAnRnr) {
  make();
  ours(CqeOpcode::kSend, 10, 1);
  send({.psn = 100, .bytes = 8});
  answer(Op::kAck, 10, kAckUnlimited);
  run();
  expect_answers(1);
  expect_ack(0, 100, 0, 0x20 | kRnrTimer);
  ASSERT_EQ(cqes.size(), 1u);
  expect_sent(0, 1, CqeOpcode::kSend);
}

}  // namespace
}  // namespace rxnic::nic_cq_test
