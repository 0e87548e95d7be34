// SPDX-License-Identifier: Apache-2.0
// The rules are those of bridge/driver/programs_bridge.h, tested with programs that behave as verbs programs do.
#include "bridge/driver/programs_bridge.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "testbench/unit/bridge/driver/bridge_program.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic::programs_bridge_test {
namespace {

using channel::EventKind;
using channel::Request;

void fill(std::uint8_t* at, std::size_t bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < bytes; ++i) at[i] = static_cast<std::uint8_t>(random());
}

class ProgramsBridgeSend : public testing::TestWithParam<std::tuple<QpType, bool, int>> {};

TEST_P(ProgramsBridgeSend, MovesTheBytesAndCompletesBothSides) {
  const auto [type, loopback, gid] = GetParam();
  Lab lab(2);
  ConnectedPair p(lab, type, 0, loopback ? 0 : 1, static_cast<std::uint8_t>(gid));
  constexpr std::uint32_t kBytes = 5000;
  fill(p.a.bytes(p.left.buffer), kBytes, 1);
  p.b.post_receive(p.right.qp, p.right.sge(kBytes + 1));
  p.b.ring_receive(p.right.qp);
  p.a.post_send(p.left.qp, {.opcode = SendOpcode::kSendImm, .sge = p.left.sge(kBytes)});
  p.a.ring_send(p.left.qp);
  const Cqe received = p.b.wait_for(p.right.cq);
  EXPECT_EQ(received.status, WcStatus::kSuccess);
  EXPECT_EQ(received.opcode, CqeOpcode::kReceive);
  EXPECT_EQ(received.qp_number, p.right.qp.number);
  EXPECT_EQ(received.byte_count, kBytes);
  EXPECT_EQ(received.immediate_or_rkey, 0x1234u);
  EXPECT_EQ(std::memcmp(p.a.bytes(p.left.buffer), p.b.bytes(p.right.buffer), kBytes), 0);
  EXPECT_EQ(p.b.bytes(p.right.buffer)[kBytes], 0);
  const Cqe sent = p.a.wait_for(p.left.cq);
  EXPECT_EQ(sent.status, WcStatus::kSuccess);
  EXPECT_EQ(sent.opcode, CqeOpcode::kSend);
  EXPECT_EQ(sent.qp_number, p.left.qp.number);
  lab.run(1000);  // the port is notified when they are visible, but the test reads its memory earlier
  EXPECT_EQ(lab.own_port.completions[p.a.id], 1u);
  EXPECT_EQ(lab.own_port.completions[p.b.id], 1u);
}
INSTANTIATE_TEST_SUITE_P(All, ProgramsBridgeSend,
                         testing::Combine(testing::Values(QpType::kRc, QpType::kUc), testing::Bool(),
                                          testing::Values(0, 1, 2)));

// A program that waits for a completion would wait for ever. (R4)
TEST(ProgramsBridge, DoesNotWaitForProgramsWhileACompletionArrives) {
  for (const std::uint64_t cqes : {1, 2, 3}) {  // visible with others and alone
    Lab lab(2);
    ConnectedPair p(lab, QpType::kRc, 0, 1);
    lab.own_port.look_cycles = 1;
    lab.own_port.known_at_waits.clear();
    for (std::uint64_t n = 0; n < cqes; ++n) {
      p.a.post_send(p.left.qp, {.opcode = SendOpcode::kWrite, .sge = p.left.sge(16), .remote = p.right.remote(0)});
    }
    p.a.ring_send(p.left.qp);
    lab.run(20'000);
    ASSERT_GT(lab.own_port.known_at_waits.size(), 0u);
    for (auto& known : lab.own_port.known_at_waits) EXPECT_EQ(known[p.a.id], cqes);
  }
}

TEST(ProgramsBridge, DatagramsBringTheirHeader) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kUd, 0, 1);
  fill(p.a.bytes(p.left.buffer), 100, 2);
  p.b.post_receive(p.right.qp, p.right.sge(140));
  p.b.ring_receive(p.right.qp);
  p.a.post_send(p.left.qp, {.sge = p.left.sge(100), .path = Program::path_to(1), .remote_qpn = p.right.qp.number},
                true);
  p.a.ring_send(p.left.qp);
  const Cqe received = p.b.wait_for(p.right.cq);
  EXPECT_EQ(received.status, WcStatus::kSuccess);
  EXPECT_EQ(received.byte_count, 140u);
  EXPECT_EQ(received.source_qp, p.left.qp.number);
  EXPECT_EQ(p.b.bytes(p.right.buffer)[20], 0x45);  // the IPv4 header
  EXPECT_EQ(std::memcmp(p.a.bytes(p.left.buffer), p.b.bytes(p.right.buffer) + 40, 100), 0);
  EXPECT_EQ(p.a.wait_for(p.left.cq).status, WcStatus::kSuccess);
}

// The request is taken in the cycle in which the doorbell is rung, and would overtake it.
TEST(ProgramsBridge, WhatIsPostedBeforeItsQpIsDestroyedIsSent) {  // driver.h R6
  const std::string overrides[] = {"host.doorbell_latency_ps=50000000", "command_processor.command_ps=20000000"};
  Lab lab(2, EngineMode::kFast, nullptr, overrides);
  ConnectedPair p(lab, QpType::kUd, 0, 1);
  for (int i = 0; i < 2; ++i) {
    p.b.post_receive(p.right.qp, p.right.sge(140, i * 256));
    p.a.post_send(p.left.qp, {.sge = p.left.sge(100), .path = Program::path_to(1), .remote_qpn = p.right.qp.number},
                  true);
  }
  p.b.ring_receive(p.right.qp);
  p.a.ring_send(p.left.qp);
  EXPECT_EQ(p.a.free(Request::kFreeQp, p.left.qp.number), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(p.b.wait_for(p.right.cq).source_qp, p.left.qp.number);
}

TEST(ProgramsBridge, RemoteMemoryIsWrittenReadAndChanged) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  fill(p.a.bytes(p.left.buffer), 9000, 3);
  p.a.post_send(p.left.qp, {.opcode = SendOpcode::kWrite, .sge = p.left.sge(9000), .remote = p.right.remote(16384)});
  p.a.post_send(p.left.qp,
                {.opcode = SendOpcode::kRead, .sge = p.left.sge(9000, 32768), .remote = p.right.remote(16384)});
  RemoteSegment add = p.right.remote(0);
  add.compare_add = 5;
  p.a.post_send(p.left.qp, {.opcode = SendOpcode::kFetchAdd, .sge = p.left.sge(8, 60000), .remote = add});
  p.a.ring_send(p.left.qp);
  const std::uint64_t before = 37;
  std::memcpy(p.b.bytes(p.right.buffer), &before, 8);
  for (const CqeOpcode opcode : {CqeOpcode::kRdmaWrite, CqeOpcode::kRdmaRead, CqeOpcode::kFetchAdd}) {
    const Cqe cqe = p.a.wait_for(p.left.cq);
    EXPECT_EQ(cqe.status, WcStatus::kSuccess);
    EXPECT_EQ(cqe.opcode, opcode);
  }
  EXPECT_EQ(std::memcmp(p.a.bytes(p.left.buffer), p.b.bytes(p.right.buffer) + 16384, 9000), 0);
  EXPECT_EQ(std::memcmp(p.a.bytes(p.left.buffer), p.a.bytes(p.left.buffer) + 32768, 9000), 0);
  std::uint64_t was = 0, is = 0;
  std::memcpy(&was, p.a.bytes(p.left.buffer) + 60000, 8);
  std::memcpy(&is, p.b.bytes(p.right.buffer), 8);
  EXPECT_EQ(was, 37u);
  EXPECT_EQ(is, 42u);
}

TEST(ProgramsBridge, SharedReceiveQueueServesTwoQps) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  auto srq = p.b.create_srq(p.right.pd);
  std::vector<Program::Qp> senders, receivers;
  for (int i = 0; i < 2; ++i) {
    auto asked = p.b.qp_request(QpType::kRc, p.right.pd, p.right.cq.number, p.right.cq.number);
    asked.has_srq = 1;
    asked.srqn = srq.number;
    receivers.push_back(p.b.create_qp(asked));
    senders.push_back(p.a.create_qp(QpType::kRc, p.left.pd, p.left.cq));
    p.a.connect(senders[i], QpType::kRc, 1, receivers[i].number);
    p.b.connect(receivers[i], QpType::kRc, 0, senders[i].number);
  }
  EXPECT_EQ(p.b.free(Request::kFreeSrq, srq.number), EBUSY);
  for (std::uint32_t i = 0; i < 6; ++i) p.b.post_receive(srq, p.right.sge(64, i * 64));
  p.b.ring_receive(srq);
  const auto armed = p.b.call(Request::kModifySrq, [&](auto& b) {
    b.srq = {};
    b.srq.srqn = srq.number;
    b.srq.limit = 3;
  });
  EXPECT_EQ(armed.status, 0);
  const auto query = [&] {
    return p.b.call(Request::kQuerySrq, [&](auto& b) {
      b.srq = {};
      b.srq.srqn = srq.number;
    });
  };
  EXPECT_EQ(query().body.srq.limit, 3u);
  for (std::uint32_t i = 0; i < 4; ++i) {
    p.a.post_send(senders[i % 2], {.sge = p.left.sge(64)});
    p.a.ring_send(senders[i % 2]);
    const Cqe cqe = p.b.wait_for(p.right.cq);
    EXPECT_EQ(cqe.qp_number, receivers[i % 2].number);
    EXPECT_EQ(cqe.srq_number, srq.number);
    EXPECT_EQ(cqe.wqe_index, i);
  }
  lab.run(5000);
  EXPECT_EQ(p.b.notices(EventKind::kSrqLimitReached), 1u);
  EXPECT_EQ(p.b.notices().back().channel, 0u);
  EXPECT_EQ(query().body.srq.limit, 0u);
}

TEST(ProgramsBridge, ACompletionChannelIsNotifiedOnceForEachArming) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  EXPECT_EQ(p.b.free(Request::kCreateChannel, 7), 0);
  auto cq = p.b.create_cq(64, 7);
  EXPECT_EQ(p.b.free(Request::kFreeChannel, 7), EBUSY);
  auto qp = p.b.create_qp(QpType::kRc, p.right.pd, cq);
  auto peer = p.a.create_qp(QpType::kRc, p.left.pd, p.left.cq);
  p.b.connect(qp, QpType::kRc, 0, peer.number);
  p.a.connect(peer, QpType::kRc, 1, qp.number);
  for (int i = 0; i < 2; ++i) {
    p.b.ring(channel::Board::kArm, cq.record, cq.consumer);
    for (int k = 0; k < 2; ++k) p.b.post_receive(qp, p.right.sge(64));
    p.b.ring_receive(qp);
    for (int k = 0; k < 2; ++k) p.a.post_send(peer, {.sge = p.left.sge(64)});
    p.a.ring_send(peer);
    p.b.wait_for(cq);
    p.b.wait_for(cq);
    lab.run(5000);
    ASSERT_EQ(p.b.notices(EventKind::kCompletion), std::size_t(i + 1));
    EXPECT_EQ(p.b.notices().back().channel, 7u);
    EXPECT_EQ(p.b.notices().back().event.number, cq.number);
  }
}

// shared_mapping.h R4: of several armings between two looks the device sees the last.
TEST(ProgramsBridge, AnArmingForAnyThatWasNotSeenIsNotUndoneByOneForSolicited) {
  const auto armed = [](std::uint64_t for_any, bool solicited) {
    return (solicited ? channel::kArmSolicited : 0) | for_any << channel::kArmedForAnyShift;
  };
  Lab lab(2);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  EXPECT_EQ(p.b.free(Request::kCreateChannel, 7), 0);
  auto cq = p.b.create_cq(64, 7);
  auto qp = p.b.create_qp(QpType::kRc, p.right.pd, cq);
  auto peer = p.a.create_qp(QpType::kRc, p.left.pd, p.left.cq);
  p.b.connect(qp, QpType::kRc, 0, peer.number);
  p.a.connect(peer, QpType::kRc, 1, qp.number);
  std::size_t events = 0;
  for (const auto& [value, has_one] : {std::pair{armed(1, true), true}, std::pair{armed(1, true), false},
                                       std::pair{armed(2, false), true}, std::pair{armed(2, true), false}}) {
    p.b.ring(channel::Board::kArm, cq.record, value | cq.consumer);
    p.b.post_receive(qp, p.right.sge(64));
    p.b.ring_receive(qp);
    p.a.post_send(peer, {.sge = p.left.sge(64)});
    p.a.ring_send(peer);
    p.b.wait_for(cq);
    lab.run(5000);
    events += has_one;
    ASSERT_EQ(p.b.notices(EventKind::kCompletion), events);
  }
}

TEST(ProgramsBridge, TheEventsOfAFreedObjectGoBeforeTheReply) {  // R9
  Lab lab(1);
  Program program(lab, 0);
  const std::uint32_t pd = program.create_pd();
  const auto cq = program.create_cq();
  const auto srq = program.create_srq(pd);
  const auto qp = program.create_qp(QpType::kRc, pd, cq);
  EXPECT_NE(program.free(Request::kFreeCq, cq.number), 0) << "in use";
  EXPECT_TRUE(lab.own_port.discards.empty());
  const auto& replies = lab.own_port.replies[program.id];
  std::vector<TestPort::Discard> wanted;
  for (const auto& [frees, number] : {std::pair{Request::kFreeQp, qp.number}, std::pair{Request::kFreeSrq, srq.number},
                                      std::pair{Request::kFreeCq, cq.number}}) {
    wanted.push_back({program.id, frees, number, replies.size()});
    EXPECT_EQ(program.free(frees, number), 0);
  }
  EXPECT_EQ(program.free(Request::kFreePd, pd), 0) << "it has no events";
  EXPECT_EQ(lab.own_port.discards, wanted);
}

TEST(ProgramsBridge, ADoorbellArrivesAfterItsLatencyAndNotBefore) {  // R2
  struct Taken final : ProgramObserver {
    void on_event(Cycle now, const ProgramEvent& event) override {
      if (event.kind == ProgramEvent::Kind::kDoorbell) at = now;
    }
    Cycle at = kNever;
  } taken;
  Lab lab(1, EngineMode::kFast, &taken);
  Program a(lab, 0);
  const auto pd = a.create_pd();
  auto cq = a.create_cq();
  auto qp = a.create_qp(QpType::kRc, pd, cq);
  const std::uint64_t latency =
      (lab.params.host.doorbell_latency_ps + lab.params.nic.clock_period_ps - 1) / lab.params.nic.clock_period_ps;
  a.ring(channel::Board::kReceive, qp.receive_record, 1);
  while (taken.at == kNever) lab.run(1);
  EXPECT_EQ(lab.at(), taken.at);
  const auto rung = [&] { return lab.nics[0]->receive_doorbells.transfers(); };
  lab.run_to(taken.at + (latency - 1));
  EXPECT_EQ(rung(), 0u);
  lab.run_to(taken.at + latency);
  EXPECT_EQ(rung(), 1u);
}

TEST(ProgramsBridge, ReadingTheClockTakesAsLongAsARegister) {
  for (const std::uint64_t ps : {1'000'000u, 30'000'000u}) {
    const std::vector<std::string> overrides{"nic.register_read_ps=" + std::to_string(ps)};
    Lab lab(1, EngineMode::kFast, nullptr, overrides);
    Program a(lab, 0);
    const std::uint64_t period = lab.params.nic.clock_period_ps;
    std::uint64_t last = a.call(Request::kReadClock).body.clock.model_time_ps;
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t next = a.call(Request::kReadClock).body.clock.model_time_ps;
      EXPECT_GE(next - last, ps);
      EXPECT_LE(next - last, ps + 2000 * period);
      EXPECT_EQ(next % period, 0u);
      last = next;
    }
  }
}

TEST(ProgramsBridge, ResizingACqTakesTheTimeOfACommand) {
  for (const std::uint64_t ps : {0u, 20'000'000u, 50'000'000u}) {
    const std::vector<std::string> overrides{"command_processor.command_ps=" + std::to_string(ps)};
    Lab lab(1, EngineMode::kFast, nullptr, overrides);
    Program a(lab, 0);
    const auto cq = a.create_cq();
    channel::CompletionQueue asked;
    asked.cqn = cq.number;
    asked.slots = 128;
    asked.ring = a.heap(128 * 64, 0xff);
    const std::uint64_t before = lab.at().count;
    EXPECT_EQ(a.call(Request::kResizeCq, [&](auto& b) { b.cq = asked; }).status, 0);
    const std::uint64_t took_ps = (lab.at().count - before) * lab.params.nic.clock_period_ps;
    EXPECT_GE(took_ps, ps);
    EXPECT_LE(took_ps, ps + 2000 * lab.params.nic.clock_period_ps);
  }
}

TEST(ProgramsBridge, TimersPassOnlyInWait) {  // R4
  Lab lab(2);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  const std::uint64_t before = lab.own_port.waits;
  p.a.post_send(p.left.qp, {.sge = p.left.sge(64)});  // nothing is posted there: RNR timer of 10 us
  p.a.ring_send(p.left.qp);
  lab.run(2'000'000'000 / lab.params.nic.clock_period_ps);
  EXPECT_GT(lab.own_port.waits, before + 10);
  p.b.post_receive(p.right.qp, p.right.sge(64));
  p.b.ring_receive(p.right.qp);
  EXPECT_EQ(p.a.wait_for(p.left.cq).status, WcStatus::kSuccess);
}

TEST(ProgramsBridge, TheSendersDoorbellComesWithTheCompletion) {
  struct Visible final : ProgramObserver {
    void on_event(Cycle now, const ProgramEvent& event) override {
      if (event.kind == ProgramEvent::Kind::kDoorbell && event.board == channel::Board::kSend) rung = now;
    }
    void on_visible(Cycle now, std::uint32_t nic, Cqn, WcStatus, const MessageTimes& times) override {
      seen.push_back({nic, now, times.posted});
    }
    struct Seen {
      std::uint32_t nic;
      Cycle at, posted;
    };
    Cycle rung{};
    std::vector<Seen> seen;
  } observer;
  Lab lab(2, EngineMode::kFast, &observer);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  for (int i = 0; i < 3; ++i) {
    p.b.post_receive(p.right.qp, p.right.sge(64));
    p.b.ring_receive(p.right.qp);
    p.a.post_send(p.left.qp, {.sge = p.left.sge(32)});
    p.a.ring_send(p.left.qp);
    p.b.wait_for(p.right.cq);
    p.a.wait_for(p.left.cq);
    lab.run(1000);
    ASSERT_EQ(observer.seen.size(), std::size_t(i + 1));  // not those of the sender
    EXPECT_EQ(observer.seen.back().nic, 1u);
    EXPECT_EQ(observer.seen.back().posted, observer.rung);
    const std::uint64_t ns = (observer.seen.back().at - observer.rung).count * lab.params.nic.clock_period_ps / 1000;
    EXPECT_GT(ns, 500u);
    EXPECT_LT(ns, 4000u);  // the first one finds its caches empty
    RecordProperty("one_way_ns", static_cast<int>(ns));
  }
}

// Several receive completions in one write: each has its own sender's doorbell, and none is left out or reported late.
TEST(ProgramsBridge, CompressedCompletionsAreReportedWithTheirOwnDoorbells) {  // R7
  struct Visible final : ProgramObserver {
    void on_event(Cycle now, const ProgramEvent& event) override {
      if (event.kind == ProgramEvent::Kind::kDoorbell && event.board == channel::Board::kSend) rung.push_back(now);
    }
    void on_visible(Cycle now, std::uint32_t, Cqn cq, WcStatus, const MessageTimes& times) override {
      seen.push_back({cq, now, times.posted});
    }
    struct Seen {
      Cqn cq;
      Cycle at, posted;
    };
    std::vector<Cycle> rung;
    std::vector<Seen> seen;
  } observer;
  const std::array<std::string, 5> compressed{"cqe_generator.compression=true", "cqe_generator.compression_max=4",
                                              "cqe_generator.compression_timeout_cycles=5000",
                                              "dma_engine.posted_header_credits=1",  // back-pressure of the host
                                              "address_translator.queue_depth=2"};
  Lab lab(2, EngineMode::kFast, &observer, compressed);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  for (int i = 0; i < 10; ++i) p.b.post_receive(p.right.qp, p.right.sge(64));
  p.b.ring_receive(p.right.qp);
  lab.run(2000);
  for (std::uint32_t i = 0; i < 10; ++i) {
    p.a.post_send(p.left.qp, {.sge = p.left.sge(32)});
    p.a.ring_send(p.left.qp);
    lab.run(20);
  }
  lab.run(20'000);
  ASSERT_EQ(observer.rung.size(), 10u);
  ASSERT_EQ(observer.seen.size(), 10u);
  std::size_t blocks = 0;
  for (std::size_t i = 0, last = 0; i < 10; ++i) {
    EXPECT_EQ(observer.seen[i].cq, Cqn{p.right.cq.number});
    EXPECT_EQ(observer.seen[i].posted, observer.rung[i]) << i;
    if (i > 0 && i <= last) continue;
    ++blocks;
    for (last = i; last + 1 < 10 && observer.seen[last + 1].at == observer.seen[i].at;) ++last;
    EXPECT_LE(last - i, 3u) << "a block holds four";
    EXPECT_GT(observer.seen[i].at, observer.rung[last]) << i;
  }
  EXPECT_LE(blocks, 5u) << "most of them in blocks of several";
  EXPECT_EQ(lab.bridge->not_landed(0) + lab.bridge->not_landed(1), 0u);
  EXPECT_EQ(lab.bridge->counters().completions, 20u) << "those of the sender included";
}

TEST(ProgramsBridge, AResetQpBeginsAnew) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  for (int round = 0; round < 3; ++round) {
    p.b.post_receive(p.right.qp, p.right.sge(64));
    p.b.ring_receive(p.right.qp);
    p.a.post_send(p.left.qp, {.sge = p.left.sge(64)});
    p.a.ring_send(p.left.qp);
    EXPECT_EQ(p.a.wait_for(p.left.cq).status, WcStatus::kSuccess);
    EXPECT_EQ(p.b.wait_for(p.right.cq).wqe_index, 0u);
    // Doorbells that are on their way when the QP is reset have no effect afterwards.
    p.b.post_receive(p.right.qp, p.right.sge(64));
    p.b.ring_receive(p.right.qp);
    EXPECT_EQ(p.a.to_state(p.left.qp, QpState::kReset), 0);
    EXPECT_EQ(p.b.to_state(p.right.qp, QpState::kReset), 0);
    EXPECT_EQ(p.b.state(p.right.qp), QpState::kReset);
    p.left.qp.posted_sends = p.right.qp.posted_receives = 0;
    p.a.connect(p.left.qp, QpType::kRc, 1, p.right.qp.number);
    p.b.connect(p.right.qp, QpType::kRc, 0, p.left.qp.number);
  }
}

TEST(ProgramsBridge, AQpInTheErrorStateIsFlushed) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  for (int i = 0; i < 3; ++i) p.b.post_receive(p.right.qp, p.right.sge(64));
  p.b.ring_receive(p.right.qp);
  lab.run(1000);
  EXPECT_EQ(p.b.to_state(p.right.qp, QpState::kError), 0);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const Cqe cqe = p.b.wait_for(p.right.cq);
    EXPECT_EQ(cqe.status, WcStatus::kFlushed);
    EXPECT_EQ(cqe.wqe_index, i);
  }
  p.b.post_send(p.right.qp, {.sge = p.right.sge(64)});
  p.b.ring_send(p.right.qp);
  EXPECT_EQ(p.b.wait_for(p.right.cq).status, WcStatus::kFlushed);
}

TEST(ProgramsBridge, SqdReportsWhenItIsDrained) {
  const std::vector<std::string> overrides{"command_processor.command_ps=0"};  // the command is done in the traffic
  Lab lab(2, EngineMode::kFast, nullptr, overrides);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  p.b.post_receive(p.right.qp, p.right.sge(60000));
  p.b.ring_receive(p.right.qp);
  p.a.post_send(p.left.qp, {.sge = p.left.sge(60000)});
  p.a.ring_send(p.left.qp);
  lab.run(1500);  // it has begun
  channel::QpAttributes sqd;
  sqd.qpn = p.left.qp.number;
  sqd.mask = kAttrState | kAttrDrainedNotify;
  sqd.state = static_cast<std::uint32_t>(QpState::kSqd);
  sqd.drained_notify = 1;
  EXPECT_EQ(p.a.modify(sqd), 0);
  EXPECT_EQ(p.a.notices(EventKind::kQpSqDrained), 0u);
  EXPECT_EQ(p.a.wait_for(p.left.cq).status, WcStatus::kSuccess);
  lab.run(100);
  EXPECT_EQ(p.a.notices(EventKind::kQpSqDrained), 1u);
  p.b.post_receive(p.right.qp, p.right.sge(64));
  p.b.ring_receive(p.right.qp);
  p.a.post_send(p.left.qp, {.sge = p.left.sge(64)});
  p.a.ring_send(p.left.qp);
  lab.run(20'000);
  Cqe cqe;
  EXPECT_FALSE(p.a.poll(p.left.cq, cqe));
  channel::QpAttributes rts;
  rts.qpn = p.left.qp.number;
  rts.mask = kAttrState;
  rts.state = static_cast<std::uint32_t>(QpState::kRts);
  EXPECT_EQ(p.a.modify(rts), 0);
  EXPECT_EQ(p.a.wait_for(p.left.cq).status, WcStatus::kSuccess);
}

TEST(ProgramsBridge, AResizedCqKeepsWhatWasNotPolled) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  for (std::uint32_t i = 0; i < 6; ++i) p.b.post_receive(p.right.qp, p.right.sge(64));
  p.b.ring_receive(p.right.qp);
  for (std::uint32_t i = 0; i < 6; ++i) p.a.post_send(p.left.qp, {.sge = p.left.sge(64)});
  p.a.ring_send(p.left.qp);
  for (std::uint32_t i = 0; i < 6; ++i) p.a.wait_for(p.left.cq);
  EXPECT_EQ(p.b.wait_for(p.right.cq).wqe_index, 0u);
  lab.run(1000);
  channel::CompletionQueue asked;
  asked.cqn = p.right.cq.number;
  asked.slots = 128;
  asked.ring = p.b.heap(128 * 64, 0xff);
  asked.consumer = p.right.cq.consumer;
  channel::CompletionQueue small = asked;
  small.slots = 4;
  EXPECT_EQ(p.b.call(Request::kResizeCq, [&](auto& b) { b.cq = small; }).status, EINVAL);
  const auto reply = p.b.call(Request::kResizeCq, [&](auto& b) { b.cq = asked; });
  EXPECT_EQ(reply.status, 0);
  p.right.cq.ring = asked.ring;
  p.right.cq.slots = 128;
  p.right.cq.consumer = reply.body.cq.consumer;
  for (std::uint32_t i = 1; i < 6; ++i) EXPECT_EQ(p.b.wait_for(p.right.cq).wqe_index, i);
  Cqe cqe;
  EXPECT_FALSE(p.b.poll(p.right.cq, cqe));
}

}  // namespace
}  // namespace rxnic::programs_bridge_test
