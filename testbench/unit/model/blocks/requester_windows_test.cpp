// SPDX-License-Identifier: Apache-2.0
// R15 of the requester: WQEs that the command processor carries out.
#include "testbench/unit/model/blocks/requester_fixture.h"

namespace rxnic::requester_windows_test {
namespace {

constexpr Key kWindow{0x4400'08};

WqeSpec bind(std::uint8_t flags = kSendSignaled) {
  WqeSpec spec{.opcode = SendOpcode::kBindWindow, .flags = flags, .immediate = raw(kWindow)};
  spec.window = {.va = 0x7000, .length = 1u << 20, .region = 0x1234'56, .access = kRemoteWrite};
  return spec;
}
WqeSpec invalidate(std::uint8_t flags = kSendSignaled) {
  return {.opcode = SendOpcode::kLocalInvalidate, .flags = flags, .immediate = raw(kWindow)};
}

struct Fixture : RequesterFixture {
  using RequesterFixture::RequesterFixture;
  // An answer of the command processor, which can be taken in cycle `at`.
  void done(std::uint64_t at, bool ok = true) { windows_done.push(Cycle{at - 1}, {ok}); }
};
using Ends = std::vector<RequesterFixture::Ended>;

TEST(RequesterWindows, WhatTheWqeSaysIsAskedFor) {
  Bench bench;
  Fixture f(bench);
  f.create(Fixture::context());
  f.post(10, {bind(), invalidate()});
  f.done(500);
  f.done(1000);
  bench.run();
  ASSERT_EQ(f.windows.size(), 2u);
  const WindowRequest &b = f.windows.value(0), &i = f.windows.value(1);
  EXPECT_EQ(b.operation, WindowOperation::kBind);
  EXPECT_EQ(b.qpn, f.kQpn);
  EXPECT_EQ(b.pd, f.kPd);
  EXPECT_EQ(b.key, kWindow);
  EXPECT_EQ(b.region, Key{0x1234'56});
  EXPECT_EQ(b.va, 0x7000u);
  EXPECT_EQ(b.length, 1u << 20);
  EXPECT_EQ(b.access, kRemoteWrite);
  EXPECT_EQ(i.operation, WindowOperation::kInvalidate);
  EXPECT_EQ(i.key, kWindow);
  EXPECT_EQ(i.pd, f.kPd);
  EXPECT_EQ(f.windows.cycle(1), Cycle{500}) << "the next is asked for when the one before is done";
  EXPECT_EQ(f.ended(), (Ends{{0, WcStatus::kSuccess}, {1, WcStatus::kSuccess}}));
  EXPECT_EQ(f.completion(0).opcode, CqeOpcode::kBindWindow);
  EXPECT_EQ(f.completion(1).opcode, CqeOpcode::kLocalInvalidate);
  EXPECT_EQ(f.tx.size(), 0u);
  EXPECT_EQ(f.dut.counters().window_requests, 2u);
  EXPECT_EQ(f.dut.counters().wqes, 2u);
}

TEST(RequesterWindows, GoesAfterTheAnswerToWhatIsBeforeAndHoldsUpWhatIsBehind) {
  Bench bench;
  Fixture f(bench);
  f.create(Fixture::context());
  f.post(10, {inline_send(), bind(), inline_send()});
  f.answer(400, AnswerKind::kAck, 100);
  f.done(600);
  bench.run_to(Cycle{400});
  EXPECT_EQ(f.windows.size(), 0u);
  EXPECT_EQ(f.tx.size(), 1u);
  bench.run_to(Cycle{401});
  EXPECT_EQ(f.windows.size(), 1u);
  bench.run_to(Cycle{600});
  EXPECT_EQ(f.tx.size(), 1u);
  EXPECT_EQ(f.completions.size(), 0u);
  bench.run();
  EXPECT_EQ(f.tx.size(), 2u);
  EXPECT_EQ(f.tx.cycle(1), Cycle{600 + f.kLatency});
  EXPECT_EQ(f.ended(), (Ends{{1, WcStatus::kSuccess}})) << "the SENDs of RC complete in the receive path";
}

TEST(RequesterWindows, OnUcItGoesWhenThePacketsBeforeItHaveLeft) {
  Bench bench;
  Fixture f(bench);
  f.create(Fixture::context(Transport::kUc));
  f.post(10, {inline_send(), bind(), inline_send()});
  f.done(600);
  bench.run();
  ASSERT_EQ(f.tx.size(), 2u);
  EXPECT_EQ(f.windows.cycle(0), f.tx.cycle(0));
  EXPECT_GE(f.tx.cycle(1), Cycle{600});
  EXPECT_EQ(f.ended(), (Ends{{0, WcStatus::kSuccess}, {1, WcStatus::kSuccess}, {2, WcStatus::kSuccess}}));
}

TEST(RequesterWindows, UnsignaledItCompletesInSilence) {
  Bench bench;
  Fixture f(bench);
  f.create(Fixture::context());
  f.post(10, {bind(0), invalidate()});
  f.done(500);
  f.done(600);
  bench.run();
  EXPECT_EQ(f.ended(), (Ends{{1, WcStatus::kSuccess}}));
}

TEST(RequesterWindows, OneThatIsRefusedFailsTheQp) {
  Bench bench;
  Fixture f(bench);
  f.create(Fixture::context());
  f.post(10, {bind(0), inline_send()});
  f.done(500, false);
  bench.run();
  EXPECT_EQ(f.ended(), (Ends{{0, WcStatus::kWindowBind}, {1, WcStatus::kFlushed}}));
  EXPECT_EQ(f.completion(0).opcode, CqeOpcode::kBindWindow);
  EXPECT_EQ(f.tx.size(), 0u);
}

TEST(RequesterWindows, AQpThatFailsMeanwhileFlushesIt) {
  Bench bench;
  Fixture f(bench);
  f.create(Fixture::context());
  f.post(10, {bind(), inline_send()});
  f.failed.push(Cycle{400}, {f.kQpn});
  f.done(500);
  bench.run();
  EXPECT_EQ(f.windows.size(), 1u);
  EXPECT_EQ(f.ended(), (Ends{{0, WcStatus::kFlushed}, {1, WcStatus::kFlushed}}));
}

// The answer to what was asked for before the reset is not that to what was asked for after it.
TEST(RequesterWindows, AResetForgetsWhatWasAskedFor) {
  Bench bench;
  Fixture f(bench);
  SendQpContext c = Fixture::context();
  f.create(c);
  f.post(10, {bind()});
  f.command(300, SendQueueOperation::kReset, c);
  f.command(310, SendQueueOperation::kModify, c, true);
  bench.at(Cycle{330}, [&](Cycle) { f.memory.write(c.queue.base, wqe_bytes(invalidate(), c.queue.stride)); });
  f.ring(340, 1);
  f.done(600, false);
  f.done(800);
  bench.run();
  EXPECT_EQ(f.windows.size(), 2u);
  EXPECT_EQ(f.ended(), (Ends{{0, WcStatus::kSuccess}}));
  EXPECT_EQ(f.completion(0).opcode, CqeOpcode::kLocalInvalidate);
}

TEST(RequesterWindows, QpsAskInTheOrderInWhichTheyComeToIt) {
  Bench bench;
  Fixture f(bench);
  for (std::uint32_t n = 0; n < 3; ++n) {
    f.create(Fixture::context(Transport::kRc, Qpn{0x30 - n}));
    f.post(10 + n, {bind()}, Qpn{0x30 - n});
  }
  bench.run_to(Cycle{300});
  ASSERT_EQ(f.windows.size(), 3u);
  for (std::uint32_t n = 0; n < 3; ++n) EXPECT_EQ(f.windows.value(n).qpn, Qpn{0x30 - n});
  f.done(400);
  f.done(401, false);
  f.done(402);
  bench.run();
  EXPECT_EQ(f.ended().size(), 3u);
  EXPECT_EQ(f.completion(1).qpn, Qpn{0x2f}) << "answers come in that order, too";
  EXPECT_EQ(f.completion(1).status, WcStatus::kWindowBind);
}

TEST(RequesterWindows, OneOfAQpInSqdIsNotBegunAndOneThatWasIsDoneBeforeItIsDrained) {
  Bench bench;
  Fixture f(bench);
  SendQpContext c = Fixture::context();
  f.create(c);
  f.post(10, {bind(), invalidate()});
  c.qp.state = QpState::kSqd;
  f.command(300, SendQueueOperation::kModify, c, false, true);
  f.done(600);
  bench.run();
  EXPECT_EQ(f.windows.size(), 1u);
  ASSERT_EQ(f.events.size(), 1u);
  EXPECT_GE(f.events.cycle(0), Cycle{600});
}

TEST(RequesterWindows, AFullLinkHoldsTheNextOneBack) {
  Bench bench;
  auto& f = bench.keep<Fixture>(bench);
  f.windows.stall(Cycle{0}, Cycle{1000});
  for (std::uint32_t n = 0; n < 4; ++n) {
    f.create(Fixture::context(Transport::kRc, Qpn{0x30 + n}));
    f.post(10, {bind()}, Qpn{0x30 + n});
    f.done(2000 + n);
  }
  bench.run();
  EXPECT_EQ(f.windows.size(), 4u);
  EXPECT_EQ(f.ended().size(), 4u);
}

}  // namespace
}  // namespace rxnic::requester_windows_test
