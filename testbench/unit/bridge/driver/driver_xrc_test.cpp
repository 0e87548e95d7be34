// SPDX-License-Identifier: Apache-2.0
// XRC domains of programs, and what lies in them (driver.h R11).
#include <gtest/gtest.h>

#include <cerrno>

#include "testbench/unit/bridge/driver/bridge_program.h"

namespace rxnic::driver_xrc_test {
namespace {

using channel::Request;

class DriverXrc : public testing::Test {
 protected:
  DriverXrc() : lab(2), a(lab, 0), b(lab, 0), pd(a.create_pd()), cq(a.create_cq()) {}

  static std::int32_t close(Program& program, std::uint32_t xrcd) {
    return program.call(Request::kCloseXrcd, [&](auto& body) { body.xrcd.number = xrcd; }).status;
  }
  static std::uint32_t open(Program& program, std::uint64_t file = 0) {
    const auto reply = program.open_xrcd(file);
    EXPECT_EQ(reply.status, 0);
    return reply.body.xrcd.number;
  }
  static std::int32_t open_qp(Program& program, std::uint32_t qpn, std::uint32_t xrcd) {
    return program
        .call(Request::kOpenQp,
              [&](auto& body) {
                body.qp = {};
                body.qp.qpn = qpn;
                body.qp.xrcd = xrcd;
              })
        .status;
  }
  std::size_t objects() const { return lab.bridge->driver(0).objects(); }

  Lab lab;
  Program a, b;
  std::uint32_t pd;
  Program::Cq cq;
};

TEST_F(DriverXrc, ADomainOfAFileIsOpenedAsTheFileWouldBe) {
  EXPECT_EQ(a.open_xrcd(7, false).status, EAGAIN);
  EXPECT_EQ(a.open_xrcd(0, false).status, EINVAL);
  EXPECT_EQ(a.open_xrcd(7, true, true).status, 0);
  EXPECT_EQ(b.open_xrcd(7, true, true).status, EEXIST);
  EXPECT_EQ(b.open_xrcd(8, false).status, EAGAIN);
  EXPECT_EQ(b.open_xrcd(7, false).status, 0);
  EXPECT_EQ(b.open_xrcd(7, true).status, 0);
}

TEST_F(DriverXrc, ADomainGoesWithItsLastHandle) {
  const std::uint32_t first = open(a, 7), second = open(b, 7);
  EXPECT_EQ(close(b, first), EINVAL) << "a's";
  EXPECT_EQ(close(a, first), 0);
  EXPECT_EQ(close(a, first), EINVAL);
  EXPECT_EQ(a.open_xrcd(7, false).status, 0) << "b has it still";
  b.close();
  ASSERT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == 1; }));
  EXPECT_EQ(a.open_xrcd(7, false).status, 0);
  a.close();
  ASSERT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == 2; }));
  EXPECT_EQ(objects(), 0u);
  Program c(lab, 0);
  EXPECT_EQ(c.open_xrcd(7, false).status, EAGAIN);
  EXPECT_GT(second, 0u);
}

TEST_F(DriverXrc, AHandleInUseIsNotClosed) {
  const std::uint32_t xrcd = open(a);
  const auto srq = a.create_xrc_srq(pd, cq, xrcd);
  EXPECT_EQ(close(a, xrcd), EBUSY);
  const auto qp = a.create_qp(Program::xrc_receive_request(xrcd));
  EXPECT_EQ(a.free(Request::kFreeSrq, srq.number), 0);
  EXPECT_EQ(close(a, xrcd), EBUSY);
  EXPECT_EQ(a.free(Request::kFreeQp, qp.number), 0);
  EXPECT_EQ(close(a, xrcd), 0);
  EXPECT_EQ(a.free(Request::kFreeCq, cq.number), 0);
}

TEST_F(DriverXrc, WhatAnSrqAndQpsNeedIsChecked) {
  const std::uint32_t xrcd = open(a), foreign = open(b);
  const auto srq = [&](auto change) {
    auto asked = a.srq_request(pd);
    asked.type = kSrqXrc;
    asked.cqn = cq.number;
    asked.xrcd = xrcd;
    change(asked);
    return a.call(Request::kCreateSrq, [&](auto& body) { body.srq = asked; }).status;
  };
  EXPECT_EQ(srq([](auto&) {}), 0);
  EXPECT_EQ(srq([&](auto& asked) { asked.xrcd = foreign; }), EINVAL);
  EXPECT_EQ(srq([](auto& asked) { asked.xrcd = 0; }), EINVAL);
  EXPECT_EQ(srq([](auto& asked) { asked.cqn = 99; }), EINVAL);
  const auto qp = [&](channel::QueuePair asked, auto change) {
    change(asked);
    return a.call(Request::kCreateQp, [&](auto& body) { body.qp = asked; }).status;
  };
  const auto receiver = Program::xrc_receive_request(xrcd);
  EXPECT_EQ(qp(receiver, [](auto&) {}), 0);
  EXPECT_EQ(qp(receiver, [&](auto& asked) { asked.xrcd = foreign; }), EINVAL);
  EXPECT_EQ(qp(receiver, [](auto& asked) { asked.has_srq = 1; }), EINVAL);
  EXPECT_EQ(qp(receiver, [](auto& asked) { asked.send_slots = 16; }), EINVAL);
  EXPECT_EQ(qp(receiver, [](auto& asked) { asked.receive_slots = 16; }), EINVAL);
  auto sender = a.qp_request(QpType::kXrcSend, pd, cq.number, 0);
  sender.receive_slots = 0;
  EXPECT_EQ(qp(sender, [](auto& asked) { asked.receive_slots = 16; }), EINVAL);
  EXPECT_EQ(qp(sender, [](auto& asked) { asked.send_cq = 0; }), EINVAL);
  EXPECT_EQ(qp(sender, [](auto& asked) { asked.pd = 0; }), EINVAL);
  EXPECT_EQ(qp(sender, [](auto&) {}), 0);
}

TEST_F(DriverXrc, AQpBelongsToAllWhoHaveOpenedIt) {
  const std::uint32_t first = open(a, 7), second = open(b, 7), other = open(b);
  const auto qp = a.create_qp(Program::xrc_receive_request(first));
  EXPECT_EQ(b.to_state(qp, QpState::kReset), EINVAL) << "not opened yet";
  EXPECT_EQ(open_qp(b, qp.number, other), EINVAL) << "another domain";
  EXPECT_EQ(open_qp(b, qp.number + 1, second), EINVAL) << "no such QP";
  EXPECT_EQ(open_qp(b, qp.number, second), 0);
  EXPECT_EQ(open_qp(b, qp.number, second), 0);
  EXPECT_EQ(b.modify(Program::to_init(qp, QpType::kXrcReceive)), 0);
  EXPECT_EQ(a.state(qp), QpState::kInit);
  EXPECT_EQ(a.free(Request::kFreeQp, qp.number), 0);
  EXPECT_EQ(a.free(Request::kFreeQp, qp.number), EINVAL) << "a has it no more";
  ASSERT_EQ(lab.own_port.discards.size(), 1u) << "its events went with it";
  EXPECT_EQ(lab.own_port.discards[0].client, a.id);
  EXPECT_EQ(close(a, first), 0);
  EXPECT_EQ(b.state(qp), QpState::kInit);
  EXPECT_EQ(b.free(Request::kFreeQp, qp.number), 0);
  EXPECT_EQ(close(b, second), EBUSY);
  EXPECT_EQ(b.state(qp), QpState::kInit);
  EXPECT_EQ(lab.own_port.discards.size(), 1u) << "b has it once more, and its events";
  EXPECT_EQ(b.free(Request::kFreeQp, qp.number), 0);
  ASSERT_EQ(lab.own_port.discards.size(), 2u);
  EXPECT_EQ(lab.own_port.discards[1].client, b.id);
  EXPECT_EQ(close(b, second), 0);
  EXPECT_EQ(open_qp(b, qp.number, other), EINVAL) << "it is gone";
}

// The owner dies in the middle: its QP goes on under the other's hands.
TEST_F(DriverXrc, AQpOutlivesItsOwner) {
  const std::uint32_t first = open(a, 7), second = open(b, 7);
  const auto qp = a.create_qp(Program::xrc_receive_request(first));
  const std::uint32_t b_pd = b.create_pd();
  auto b_cq = b.create_cq();
  auto srq = b.create_xrc_srq(b_pd, b_cq, second);
  EXPECT_EQ(open_qp(b, qp.number, second), 0);
  Program c(lab, 1);
  const std::uint32_t c_pd = c.create_pd();
  auto c_cq = c.create_cq();
  auto asked = c.qp_request(QpType::kXrcSend, c_pd, c_cq.number, 0);
  asked.receive_slots = 0;
  auto sender = c.create_qp(asked);
  a.connect(qp, QpType::kXrcReceive, 1, sender.number);
  c.connect(sender, QpType::kXrcSend, 0, qp.number);
  a.die();
  ASSERT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == 1; }));
  const std::uint64_t to = b.local(4096), from = c.local(4096);
  const std::uint32_t key = b.create_mr(b_pd, to, 4096), own_key = c.create_mr(c_pd, from, 4096);
  b.post_receive(srq, {100, key, to});
  b.ring_receive(srq);
  Program::Wr wr;
  wr.sge = {64, own_key, from};
  const std::uint64_t slot = sender.send_ring;
  c.post_send(sender, wr);
  SendControl control;
  std::memcpy(&control, c.at(slot), sizeof control);
  control.remote_srqn = srq.number;
  c.store(slot, control);
  c.ring_send(sender);
  Cqe cqe;
  ASSERT_TRUE(lab.run_until([&] { return b.poll(b_cq, cqe); }));
  EXPECT_EQ(cqe.status, WcStatus::kSuccess);
  EXPECT_EQ(cqe.srq_number, srq.number);
  EXPECT_EQ(cqe.qp_number, qp.number);
  EXPECT_EQ(cqe.byte_count, 64u);
  b.close();
  ASSERT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == 2; }));
  EXPECT_EQ(objects(), 0u);
}

// Its owner is being closed: the QP goes with it, and nobody can open it any more.
TEST_F(DriverXrc, AQpThatIsGoingIsNotOpened) {
  const std::uint32_t first = open(a, 7), second = open(b, 7);
  const auto qp = a.create_qp(Program::xrc_receive_request(first));
  a.close();
  EXPECT_EQ(open_qp(b, qp.number, second), EINVAL);
  ASSERT_TRUE(lab.run_until([&] { return lab.bridge->counters().closed == 1; }));
  EXPECT_EQ(close(b, second), 0);
}

TEST_F(DriverXrc, EventsOfAQpGoToAllWhoHaveIt) {
  const std::uint32_t first = open(a, 7), second = open(b, 7);
  const auto qp = a.create_qp(Program::xrc_receive_request(first));
  for (int n = 0; n < 2; ++n) EXPECT_EQ(open_qp(b, qp.number, second), 0);
  const Driver::Notice notice{a.id, 0, {channel::EventKind::kQpFatal, qp.number}};
  EXPECT_EQ(lab.bridge->driver(0).other_holders(notice), std::vector<ClientId>{b.id});
  const Driver::Notice of_cq{a.id, 0, {channel::EventKind::kCqError, qp.number}};
  EXPECT_TRUE(lab.bridge->driver(0).other_holders(of_cq).empty());
}

}  // namespace
}  // namespace rxnic::driver_xrc_test
