// SPDX-License-Identifier: Apache-2.0
// Programs that die, and those that exchange messages with them (ProgramsBridge R6).
#include <gtest/gtest.h>

#include <algorithm>

#include "testbench/unit/bridge/driver/bridge_program.h"

namespace rxnic::programs_bridge_death_test {
namespace {

using channel::EventKind;
using channel::Request;

void wait_for_closed(Lab& lab, std::uint64_t clients) {
  ASSERT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == clients; }));
}

// A new program on the NIC of the dead one sends to the one that still runs.
void expect_a_new_peer_is_served(Lab& lab, Program& left, ConnectedPair::Side& side) {
  Program again(lab, 0);
  const auto pd = again.create_pd();
  auto cq = again.create_cq();
  auto sender = again.create_qp(QpType::kRc, pd, cq);
  const auto buffer = again.local(4096);
  const auto lkey = again.create_mr(pd, buffer, 4096);
  auto receiver = left.create_qp(QpType::kRc, side.pd, side.cq);
  again.connect(sender, QpType::kRc, 1, receiver.number);
  left.connect(receiver, QpType::kRc, 0, sender.number);
  left.post_receive(receiver, side.sge(64));
  left.ring_receive(receiver);
  again.post_send(sender, {.sge = {64, lkey, buffer}});
  again.ring_send(sender);
  EXPECT_EQ(again.wait_for(cq).status, WcStatus::kSuccess);
}

// The sender dies in the middle of a transfer.
TEST(ProgramsBridgeDeath, WhoReceivesIsNotNotified) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  for (int i = 0; i < 8; ++i) p.b.post_receive(p.right.qp, p.right.sge(60000));
  p.b.ring_receive(p.right.qp);
  for (int i = 0; i < 16; ++i) p.a.post_send(p.left.qp, {.sge = p.left.sge(60000)});
  p.a.ring_send(p.left.qp);
  p.b.wait_for(p.right.cq);
  p.a.die();
  wait_for_closed(lab, 1);
  EXPECT_EQ(lab.bridge->driver(0).objects(), 0u);
  lab.run(5'000'000);
  EXPECT_EQ(p.b.state(p.right.qp), QpState::kRts);
  EXPECT_TRUE(p.b.notices().empty());
  Cqe cqe;
  std::size_t received = 1;
  for (; p.b.poll(p.right.cq, cqe); ++received) EXPECT_EQ(cqe.status, WcStatus::kSuccess);
  EXPECT_LT(received, 8u);
  expect_a_new_peer_is_served(lab, p.b, p.right);
}

// The receiver dies in the middle of a transfer.
TEST(ProgramsBridgeDeath, WhoSendsOverRcHasItsRetriesExceeded) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kRc, 1, 0);
  for (int i = 0; i < 2; ++i) p.b.post_receive(p.right.qp, p.right.sge(60000));
  p.b.ring_receive(p.right.qp);
  for (int i = 0; i < 3; ++i) p.a.post_send(p.left.qp, {.sge = p.left.sge(60000)});
  p.a.ring_send(p.left.qp);
  EXPECT_EQ(p.a.wait_for(p.left.cq).status, WcStatus::kSuccess);
  p.b.die();
  const Cycle begin = lab.at();
  Cqe cqe = p.a.wait_for(p.left.cq);
  if (cqe.status == WcStatus::kSuccess) cqe = p.a.wait_for(p.left.cq);
  EXPECT_EQ(cqe.status, WcStatus::kRetryExceeded);
  // timeout 8, retry_count 3: by the transport timer, not at once.
  EXPECT_GT((lab.at().count - begin.count) * lab.params.nic.clock_period_ps, 4 * 4096ull * 256 * 1000);
  EXPECT_EQ(p.a.state(p.left.qp), QpState::kError);
  EXPECT_EQ(p.a.notices(EventKind::kQpFatal), 0u);
}

// The sender dies with messages posted that the device has not read: its memory is lost before its QPs are freed.
TEST(ProgramsBridgeDeath, WhatCannotBeReadAnyMoreIsNotSent) {
  for (const QpType type : {QpType::kRc, QpType::kUc}) {
    Lab lab(2);
    ConnectedPair p(lab, type, 0, 1);
    std::memset(p.a.bytes(p.left.buffer), 7, ConnectedPair::kBytes);
    std::memset(p.b.bytes(p.right.buffer), 9, ConnectedPair::kBytes);
    for (int i = 0; i < 8; ++i) p.b.post_receive(p.right.qp, p.right.sge(60000));
    p.b.ring_receive(p.right.qp);
    for (int i = 0; i < 8; ++i) p.a.post_send(p.left.qp, {.sge = p.left.sge(60000)});
    p.a.ring_send(p.left.qp);
    const std::uint8_t* const received = p.b.bytes(p.right.buffer);
    ASSERT_TRUE(lab.run_until([&] { return received[30000] == 7; }));
    p.a.lose_memory();
    lab.run(20'000);
    p.a.close();
    wait_for_closed(lab, 1);
    lab.run(5'000'000);
    EXPECT_EQ(std::count(received, received + 60000, 7) + std::count(received, received + 60000, 9), 60000);
    EXPECT_TRUE(p.b.notices().empty());
    Cqe cqe;
    int messages = 0;
    for (; p.b.poll(p.right.cq, cqe); ++messages) EXPECT_EQ(cqe.status, WcStatus::kSuccess);
    EXPECT_LT(messages, 8) << "the device had read all of them";
    expect_a_new_peer_is_served(lab, p.b, p.right);
  }
}

// The target of READs and atomics dies, whether or not its death is noticed at once.
TEST(ProgramsBridgeDeath, WhoReadsItsMemoryHasItsRetriesExceeded) {
  for (const SendOpcode opcode : {SendOpcode::kRead, SendOpcode::kFetchAdd}) {
    for (const std::uint64_t unnoticed : {0u, 100'000'000u}) {
      Lab lab(2);
      ConnectedPair p(lab, QpType::kRc, 0, 1);
      const std::uint32_t bytes = opcode == SendOpcode::kRead ? 60000 : 8;
      std::memset(p.a.bytes(p.left.buffer), 9, bytes);
      std::memset(p.b.bytes(p.right.buffer), 7, bytes);
      p.a.post_send(p.left.qp, {.opcode = opcode, .sge = p.left.sge(bytes), .remote = p.right.remote()});
      p.a.ring_send(p.left.qp);
      if (opcode == SendOpcode::kRead) {
        ASSERT_TRUE(lab.run_until([&] { return p.a.bytes(p.left.buffer)[30000] == 7; }));
      }
      p.b.lose_memory();
      Cqe cqe;
      if (unnoticed == 0) {
        p.b.close();
        cqe = p.a.wait_for(p.left.cq);
      } else {
        EXPECT_TRUE(lab.run_until([&] { return p.a.poll(p.left.cq, cqe); }, unnoticed));
      }
      EXPECT_EQ(cqe.status, WcStatus::kRetryExceeded);
      const std::uint8_t* const read = p.a.bytes(p.left.buffer);
      EXPECT_EQ(std::count(read, read + bytes, 7) + std::count(read, read + bytes, 9), bytes) << "nothing is made up";
    }
  }
}

// Two programs die at once, and the peer of one of them frees its QP meanwhile: none has to wait for another.
TEST(ProgramsBridgeDeath, BothSidesMayDieTogether) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  ConnectedPair q(lab, QpType::kUc, 0, 0);
  p.a.post_send(p.left.qp, {.sge = p.left.sge(60000)});
  p.a.ring_send(p.left.qp);
  lab.run(700);
  channel::Message free_qp;
  free_qp.type = Request::kFreeQp;
  free_qp.body.handle.number = q.right.qp.number;
  p.a.die();
  p.b.die();
  q.b.send(free_qp);
  q.a.die();
  wait_for_closed(lab, 3);
  EXPECT_TRUE(q.b.notices().empty());
  EXPECT_EQ(lab.own_port.replies[q.b.id].back().status, 0);
  q.b.close();
  wait_for_closed(lab, 4);
  EXPECT_EQ(lab.bridge->driver(0).objects() + lab.bridge->driver(1).objects(), 0u);
}

// R8: the pages of its on-demand region are looked at for its request, and for the NIC.
TEST(ProgramsBridgeDeath, AFaultWhileARequestIsCarriedOutEndsItsProgramAlone) {
  Lab lab(1);
  Program unlucky(lab, 0), other(lab, 0);
  const auto pd = unlucky.create_pd();
  const auto mr = unlucky.create_mr(pd, unlucky.local(4096), 4096, kLocalWrite | kAccessOnDemand);
  unlucky.break_memory();
  channel::Message advise;
  advise.type = Request::kAdviseMemory;
  advise.body.advice = {pd, mr, kAdvicePrefetchWrite, kAdviceFlush, unlucky.local(0) - 4096, 4096, 0};
  unlucky.send(advise);
  wait_for_closed(lab, 1);
  EXPECT_EQ(lab.own_port.failures.count(unlucky.id), 1u);
  EXPECT_EQ(lab.own_port.replies[unlucky.id].size(), 2u) << "it has no reply";
  EXPECT_EQ(lab.own_port.released_clients, std::vector{unlucky.id});
  EXPECT_EQ(lab.bridge->counters().failed, 1u);
  EXPECT_EQ(lab.bridge->driver(0).objects(), 0u);
  EXPECT_NE(other.create_pd(), 0u);
}

// R8: its QP is to be silenced, and there is no memory for the command.
TEST(ProgramsBridgeDeath, AFaultWhileAProgramEndsLeavesTheOthersAlone) {
  Lab lab(2);
  ConnectedPair unlucky(lab, QpType::kRc, 0, 1), innocent(lab, QpType::kRc, 0, 1);
  lab.driver_memories[0]->throws = true;
  unlucky.a.close();
  ASSERT_TRUE(lab.run_until([&] { return lab.bridge->counters().failed == 1; }));
  lab.driver_memories[0]->throws = false;
  EXPECT_EQ(lab.own_port.failures.count(unlucky.a.id), 1u);
  EXPECT_EQ(lab.bridge->clients(), 3u);
  // What it has left behind is in nobody's way, and nobody gets its id, by which the NIC still knows it.
  EXPECT_TRUE(lab.own_port.released_clients.empty());
  unlucky.a.ring_send(unlucky.left.qp);
  unlucky.b.post_send(unlucky.right.qp, {.sge = unlucky.right.sge(64)});
  unlucky.b.ring_send(unlucky.right.qp);
  innocent.b.post_receive(innocent.right.qp, innocent.right.sge(64));
  innocent.b.ring_receive(innocent.right.qp);
  innocent.a.post_send(innocent.left.qp, {.sge = innocent.left.sge(64)});
  innocent.a.ring_send(innocent.left.qp);
  EXPECT_EQ(innocent.b.wait_for(innocent.right.cq).status, WcStatus::kSuccess);
  expect_a_new_peer_is_served(lab, innocent.b, innocent.right);
  innocent.a.close();
  innocent.b.close();
  unlucky.b.close();
  wait_for_closed(lab, 3);
  EXPECT_EQ(lab.bridge->counters().failed, 1u);
  EXPECT_EQ(lab.bridge->driver(1).objects(), 0u);
}

}  // namespace
}  // namespace rxnic::programs_bridge_death_test
