// SPDX-License-Identifier: Apache-2.0
// Programs that die, and those that exchange messages with them (HostBridge R6, protocol.h R7).
#include <gtest/gtest.h>

#include "testbench/unit/timed/bridge_program.h"

namespace rxnic {
namespace {

using channel::EventKind;
using channel::Request;

channel::Peers peers_of(Program& p) { return p.call(Request::kQueryPeers).body.peers; }

// What the one knows whose peer has died.
void expect_loss(Program& p, std::uint64_t lost, std::uint64_t living) {
  const channel::Peers peers = peers_of(p);
  EXPECT_EQ(peers.lost, lost);
  EXPECT_EQ(peers.living, living);
}

void die(Lab& lab, Program& p, bool orderly = false) {
  const std::uint64_t before = lab.bridge->counters().closed;
  p.close(orderly);
  ASSERT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == before + 1; }));
}

void send_datagram(ConnectedPair& p) {
  p.b.post_receive(p.right.qp, p.right.sge(140));
  p.b.ring_receive(p.right.qp);
  p.a.post_send(p.left.qp, {.sge = p.left.sge(100), .path = Program::path_to(1), .remote_qpn = p.right.qp.number},
                true);
  p.a.ring_send(p.left.qp);
  EXPECT_EQ(p.b.wait_for(p.right.cq).status, WcStatus::kSuccess);
}

void resolve(Program& p, std::uint32_t nic) {
  EXPECT_EQ(p.call(Request::kResolve, [&](auto& b) { b.resolve.path = Program::path_to(nic); }).status, 0);
}

// R6: died in the middle of a transfer.
TEST(HostBridgePeers, PeersOfAProgramThatDiedAreTold) {
  for (const bool orderly : {false, true}) {
    Lab lab(2);
    ConnectedPair p(lab, QpType::kRc, 0, 1);
    Program bystander(lab, 1);
    const auto pd = bystander.create_pd();
    auto cq = bystander.create_cq();
    bystander.create_qp(QpType::kRc, pd, cq);
    for (int i = 0; i < 8; ++i) p.b.post_receive(p.right.qp, p.right.sge(60000));
    p.b.ring_receive(p.right.qp);
    for (int i = 0; i < 16; ++i) p.a.post_send(p.left.qp, {.sge = p.left.sge(60000)});
    p.a.ring_send(p.left.qp);
    p.b.wait_for(p.right.cq);
    p.a.close(orderly);
    expect_loss(p.b, orderly ? 0 : 1, 0);  // at once, while it is being cleaned up after
    EXPECT_EQ(lab.bridge->counters().closed, 0u);
    ASSERT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == 1; }));
    lab.run(100'000);
    EXPECT_EQ(lab.bridge->device(0).objects(), 0u);
    EXPECT_EQ(p.b.notices(EventKind::kQpFatal), orderly ? 0u : 1u);
    EXPECT_EQ(p.b.state(p.right.qp), orderly ? QpState::kRts : QpState::kError);
    EXPECT_TRUE(bystander.notices().empty());
    Cqe cqe;
    std::size_t flushed = 0, good = 1;
    while (p.b.poll(p.right.cq, cqe)) {
      if (cqe.status == WcStatus::kSuccess) {
        EXPECT_EQ(flushed, 0u);
        ++good;
      } else {
        EXPECT_EQ(cqe.status, WcStatus::kFlushed);
        ++flushed;
      }
    }
    if (!orderly) {
      EXPECT_EQ(good + flushed, 8u);
      EXPECT_GT(flushed, 0u);
    }
    // And the NIC goes on: a new program on the same NIC talks to the old one.
    EXPECT_EQ(p.b.to_state(p.right.qp, QpState::kReset), 0);
    Program again(lab, 0);
    const auto pd2 = again.create_pd();
    auto cq2 = again.create_cq();
    auto qp2 = again.create_qp(QpType::kRc, pd2, cq2);
    const auto buffer = again.local(4096);
    const auto lkey = again.create_mr(pd2, buffer, 4096);
    auto right = p.b.create_qp(QpType::kRc, p.right.pd, p.right.cq);
    again.connect(qp2, QpType::kRc, 1, right.number);
    p.b.connect(right, QpType::kRc, 0, qp2.number);
    p.b.post_receive(right, p.right.sge(64));
    p.b.ring_receive(right);
    again.post_send(qp2, {.sge = {64, lkey, buffer}});
    again.ring_send(qp2);
    EXPECT_EQ(again.wait_for(cq2).status, WcStatus::kSuccess);
  }
}

// Two programs die at once, and a peer frees its QP meanwhile: nobody waits for anybody.
TEST(HostBridgePeers, BothSidesMayDieTogether) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  ConnectedPair q(lab, QpType::kUc, 0, 0);
  p.a.post_send(p.left.qp, {.sge = p.left.sge(60000)});
  p.a.ring_send(p.left.qp);
  lab.run(700);
  channel::Message free_qp;
  free_qp.type = Request::kFreeQp;
  free_qp.body.handle.number = q.right.qp.number;
  p.a.close(false);
  p.b.close(false);
  q.b.send(free_qp);
  q.a.close(false);
  ASSERT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == 3; }));
  EXPECT_EQ(q.b.notices(EventKind::kQpFatal), 0u);
  EXPECT_EQ(lab.own_port.replies[q.b.id].back().status, 0);
  q.b.close();
  ASSERT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == 4; }));
  EXPECT_EQ(lab.bridge->device(0).objects() + lab.bridge->device(1).objects(), 0u);
}

TEST(HostBridgePeers, AConnectionIsOne) {
  for (const QpType type : {QpType::kRc, QpType::kUc}) {
    Lab lab(2);
    ConnectedPair p(lab, type, 0, 1), q(lab, type, 0, 1);
    expect_loss(p.b, 0, 0);
    die(lab, p.a);
    expect_loss(p.b, 1, 0);
    expect_loss(q.b, 0, 0);
    die(lab, q.b);
    expect_loss(q.a, 2, 0);
    expect_loss(p.b, 1, 0);  // not its loss
    // A QP that begins anew has lost nobody.
    EXPECT_EQ(p.b.to_state(p.right.qp, QpState::kReset), 0);
    expect_loss(p.b, 0, 0);
    EXPECT_EQ(q.a.free(Request::kFreeQp, q.left.qp.number), 0);
    expect_loss(q.a, 0, 0);
  }
}

TEST(HostBridgePeers, WhoLeavesInOrderIsNoLoss) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  die(lab, p.a, true);
  expect_loss(p.b, 0, 0);
}

TEST(HostBridgePeers, AnotherPeerIsStillThere) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  Program c(lab, 0);
  const auto pd = c.create_pd();
  auto cq = c.create_cq();
  auto one = c.create_qp(QpType::kRc, pd, cq);
  auto other = p.b.create_qp(QpType::kRc, p.right.pd, p.right.cq);
  c.connect(one, QpType::kRc, 1, other.number);
  p.b.connect(other, QpType::kRc, 0, one.number);
  die(lab, p.a);
  expect_loss(p.b, 1, 1);
  c.close(true);
  expect_loss(p.b, 1, 0);
}

TEST(HostBridgePeers, TheLastDatagramIsOne) {
  for (const bool sender_dies : {false, true}) {
    Lab lab(2);
    ConnectedPair p(lab, QpType::kUd, 0, 1), q(lab, QpType::kUd, 0, 1);
    send_datagram(p);
    die(lab, sender_dies ? p.a : p.b);
    expect_loss(sender_dies ? p.b : p.a, 1, 0);
    expect_loss(q.a, 0, 0);
    expect_loss(q.b, 0, 0);
    if (sender_dies) continue;
    EXPECT_EQ(p.a.to_state(p.left.qp, QpState::kReset), 0);
    expect_loss(p.a, 0, 0);
  }
}

// Before the first datagram an address handle is all that is known.
TEST(HostBridgePeers, AResolvedPathIsOneUntilTheFirstDatagram) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kUd, 0, 1), q(lab, QpType::kUd, 0, 1), r(lab, QpType::kUd, 0, 1);
  resolve(p.a, 1);
  die(lab, r.b);
  expect_loss(p.a, 1, 2);
  expect_loss(p.b, 0, 0);  // it has done nothing
  expect_loss(q.a, 0, 0);
  send_datagram(p);
  expect_loss(p.a, 1, 1);
  die(lab, q.b);
  expect_loss(p.a, 1, 1);
  resolve(q.a, 1);
  die(lab, p.b);
  expect_loss(p.a, 3, 0);
  expect_loss(q.a, 3, 0);
  die(lab, p.a);
  expect_loss(q.a, 3, 0);  // no loss of its own
}

// Who waits for its first peer has not lost it, whatever others said that they would do with it.
TEST(HostBridgePeers, AStrangersDeathIsNoLoss) {
  for (const QpType type : {QpType::kUd, QpType::kRc}) {
    Lab lab(2);
    Program waits(lab, 1), stranger(lab, 0);
    const auto qp_of = [type](Program& p) {
      const auto pd = p.create_pd();
      auto cq = p.create_cq();
      return p.create_qp(type, pd, cq);
    };
    const Program::Qp waiting = qp_of(waits);
    EXPECT_EQ(waits.modify(Program::to_init(waiting, type)), 0);
    if (type == QpType::kUd) {
      EXPECT_EQ(waits.modify(Program::to_rtr(waiting, type, 0, 0)), 0);
    }
    Program::Qp strange = qp_of(stranger);
    stranger.connect(strange, type, 1, waiting.number);
    resolve(stranger, 1);
    // A datagram to a QP that takes none.
    Program other(lab, 0);
    const auto pd = other.create_pd();
    auto cq = other.create_cq();
    Program::Qp datagrams = other.create_qp(QpType::kUd, pd, cq);
    other.connect(datagrams, QpType::kUd, 1, 0);
    other.post_send(datagrams, {.path = Program::path_to(1), .remote_qpn = waiting.number}, true);
    other.ring_send(datagrams);
    other.wait_for(cq);
    die(lab, stranger);
    expect_loss(waits, 0, 0);
    die(lab, other);
    expect_loss(waits, type == QpType::kUd ? 2 : 0, 0);
  }
}

// It was about to speak to the dead one.
TEST(HostBridgePeers, WhoSpeaksToALostQpHasLostItToo) {
  for (const QpType type : {QpType::kUc, QpType::kUd}) {
    Lab lab(2);
    ConnectedPair p(lab, QpType::kUc, 0, 1);
    Program c(lab, 0);
    const auto pd = c.create_pd();
    auto cq = c.create_cq();
    auto qp = c.create_qp(type, pd, cq);
    die(lab, p.b);
    expect_loss(c, 0, 0);
    c.connect(qp, type, 1, p.right.qp.number);
    if (type == QpType::kUd) {
      expect_loss(c, 0, 0);
      c.post_send(qp, {.path = Program::path_to(1), .remote_qpn = p.right.qp.number}, true);
      c.ring_send(qp);
      c.wait_for(cq);
    }
    expect_loss(c, 1, 0);
    for (std::uint64_t n = 0; n < HostBridge::kLossesKept; ++n) {  // not for ever
      expect_loss(c, 1, 0);
      Program other(lab, 0);
      other.create_pd();
      die(lab, other);
    }
    expect_loss(c, 0, 0);
    EXPECT_EQ(c.to_state(qp, QpState::kReset), 0);
  }
}

// A datagram that is not taken makes nobody a peer.
TEST(HostBridgePeers, TheKeyMustFit) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kUd, 0, 1);
  channel::QpAttributes a;
  a.qpn = p.right.qp.number;
  a.mask = kAttrQkey;
  a.qkey = 0x2222'2222;
  EXPECT_EQ(p.b.modify(a), 0);
  p.a.post_send(p.left.qp, {.path = Program::path_to(1), .remote_qpn = p.right.qp.number}, true);
  p.a.ring_send(p.left.qp);
  p.a.wait_for(p.left.cq);
  die(lab, p.a);
  expect_loss(p.b, 0, 0);
}

TEST(HostBridgePeers, WhatIsSettledIsNotLookedAt) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kRc, 0, 1), q(lab, QpType::kRc, 0, 1);
  auto other = p.b.create_qp(QpType::kRc, p.right.pd, p.right.cq);
  p.b.connect(other, QpType::kRc, 0, q.left.qp.number);
  die(lab, p.a);
  expect_loss(p.b, 1, 1);
  const auto settled = p.b.call(Request::kQueryPeers, [](auto& b) { b.peers.lost = 1; }).body.peers;
  EXPECT_EQ(settled.lost, 1u);
  EXPECT_EQ(settled.living, 0u);
}

TEST(HostBridgePeers, ActivityIsDoorbellsAndOtherRequests) {
  Lab lab(2);
  ConnectedPair p(lab, QpType::kRc, 0, 1);
  const std::uint64_t before = peers_of(p.b).activity;
  EXPECT_EQ(peers_of(p.b).activity, before);
  p.b.post_receive(p.right.qp, p.right.sge(64));
  p.b.ring_receive(p.right.qp);
  EXPECT_EQ(peers_of(p.b).activity, before + 1);
  p.b.query(p.right.qp);
  EXPECT_EQ(peers_of(p.b).activity, before + 2);
}

}  // namespace
}  // namespace rxnic
