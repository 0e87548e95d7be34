// SPDX-License-Identifier: Apache-2.0
// What a QP does after one of its sends has failed. UC and UD stop sending (SQE), receive on, and send again when
// software moves them to RTS (RAW_PACKET: raw_test). RC fails. And the PSNs that a query shows.
#include <array>
#include <cerrno>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::send_errors_test {
namespace {

constexpr std::uint32_t kQkey = Path{}.qkey;

struct States {
  ibv_qp_state state, current;
  bool operator==(const States&) const = default;
};

ibv_qp_attr query(ibv_qp* qp) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  must(ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_SQ_PSN | IBV_QP_RQ_PSN, &init), "ibv_query_qp");
  return attr;
}
States states(ibv_qp* qp) {
  const ibv_qp_attr attr = query(qp);
  return {attr.qp_state, attr.cur_qp_state};
}

class SendErrors : public PairTest {
 protected:
  void SetUp() override { event_fd = a.world.context->async_fd; }
  void make(ibv_qp_type type_) {
    type = type_;
    reconnect({.type = type, .all_signaled = true});
    if (type != IBV_QPT_UD) return;
    ibv_ah_attr to_a = address_of(a.world, {}), to_b = address_of(b.world, {});
    at_b = own(ibv_create_ah(a.world.pd.get(), &to_b), "ibv_create_ah");
    at_a = own(ibv_create_ah(b.world.pd.get(), &to_a), "ibv_create_ah");
  }
  void send(Side& from, std::uint64_t id, bool good = true) {
    std::array<ibv_sge, 1> list{from.arena.sge(0, 200)};
    if (!good) list[0].lkey ^= 0x5a5a00;
    ibv_send_wr wr = send_wr(IBV_WR_SEND, list, id);
    wr.wr.ud = {&from == &a ? at_b.get() : at_a.get(), (&from == &a ? b : a).qp->qp_num, kQkey};
    live::post(from.qp.get(), wr);
  }
  void receive(Side& at, std::uint64_t id) {
    std::array<ibv_sge, 1> sink{at.arena.sge(8 * kPage, 1024)};
    post_receive(at.qp.get(), sink, id);
  }
  void expect_sent(std::uint64_t id, ibv_wc_status status) {
    const ibv_wc wc = take(a.send_cq.get());
    EXPECT_EQ(wc.wr_id, id);
    EXPECT_EQ(wc.status, status) << ibv_wc_status_str(wc.status);
  }
  void expect_received(Side& at, std::uint64_t id) {
    const ibv_wc wc = take(at.receive_cq.get());
    EXPECT_EQ(wc.wr_id, id);
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
  }
  int change(int mask, ibv_qp_state state, ibv_qp_state current = IBV_QPS_SQE) {
    ibv_qp_attr attr{};
    attr.qp_state = state;
    attr.cur_qp_state = current;
    attr.qkey = kQkey;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    return ibv_modify_qp(a.qp.get(), &attr, mask);
  }
  // A second send of three fails.
  void fail() {
    receive(b, 1);
    for (const std::uint64_t id : {11, 12, 13}) send(a, id, id != 12);
    expect_sent(11, IBV_WC_SUCCESS);
    expect_sent(12, IBV_WC_LOC_PROT_ERR);
    expect_sent(13, IBV_WC_WR_FLUSH_ERR);
    expect_received(b, 1);
  }

  ibv_qp_type type = IBV_QPT_RC;
  Owned<ibv_ah> at_a, at_b;
  int event_fd = -1;
  const Patience patience_{std::chrono::seconds{10}};
};

TEST_P(SendErrors, ADatagramOrUcQpStopsSendingAndReceivesOn) {
  for (const ibv_qp_type t : {IBV_QPT_UD, IBV_QPT_UC}) {
    SCOPED_TRACE(t);
    make(t);
    receive(a, 2);
    fail();
    EXPECT_EQ(states(a.qp.get()), (States{IBV_QPS_SQE, IBV_QPS_SQE}));
    send(a, 14);
    expect_sent(14, IBV_WC_WR_FLUSH_ERR);
    send(b, 15);
    EXPECT_EQ(take(b.send_cq.get()).status, IBV_WC_SUCCESS);
    expect_received(a, 2);
    receive(a, 3);
    send(b, 16);
    EXPECT_EQ(take(b.send_cq.get()).status, IBV_WC_SUCCESS);
    expect_received(a, 3);
    EXPECT_FALSE(has_event(event_fd)) << "the completion says it";
  }
}

TEST_P(SendErrors, ItComesBackByRts) {
  for (const ibv_qp_type t : {IBV_QPT_UD, IBV_QPT_UC}) {
    for (const int more : {0, int{IBV_QP_CUR_STATE}, t == IBV_QPT_UD ? int{IBV_QP_QKEY} : int{IBV_QP_ACCESS_FLAGS}}) {
      SCOPED_TRACE(more);
      make(t);
      for (int n = 0; n < 2; ++n) {  // once more
        fail();
        ASSERT_EQ(change(IBV_QP_STATE | more, IBV_QPS_RTS), 0);
        EXPECT_EQ(states(a.qp.get()), (States{IBV_QPS_RTS, IBV_QPS_RTS}));
        for (std::uint64_t id = 20; id < 24; ++id) receive(b, id);
        for (std::uint64_t id = 20; id < 24; ++id) send(a, id);
        for (std::uint64_t id = 20; id < 24; ++id) {
          expect_sent(id, IBV_WC_SUCCESS);
          expect_received(b, id);
        }
      }
    }
  }
}

// Nobody waits for the flushed ones: what was posted before the change is flushed, what comes behind it is sent.
TEST_P(SendErrors, WhatWasPostedBeforeItComesBackIsFlushedInOrder) {
  make(IBV_QPT_UD);
  for (int round = 0; round < 20; ++round) {
    send(a, 1, false);
    for (std::uint64_t id = 2; id < 40; ++id) send(a, id);
    while (states(a.qp.get()).state == IBV_QPS_RTS) {
    }
    for (std::uint64_t id = 40; id < 60; ++id) send(a, id);
    ASSERT_EQ(change(IBV_QP_STATE, IBV_QPS_RTS), 0);
    receive(b, 60);
    send(a, 60);
    expect_sent(1, IBV_WC_LOC_PROT_ERR);
    for (std::uint64_t id = 2; id < 60; ++id) expect_sent(id, IBV_WC_WR_FLUSH_ERR);
    expect_sent(60, IBV_WC_SUCCESS);
    expect_received(b, 60);
  }
}

TEST_P(SendErrors, FromSqeItGoesWhereTheTableSays) {
  for (const ibv_qp_type t : {IBV_QPT_UD, IBV_QPT_UC}) {
    SCOPED_TRACE(t);
    make(t);
    receive(a, 2);
    fail();
    for (const ibv_qp_state to : {IBV_QPS_SQD, IBV_QPS_RTR, IBV_QPS_INIT, IBV_QPS_SQE}) {
      EXPECT_EQ(change(IBV_QP_STATE, to), EINVAL) << to;
    }
    EXPECT_EQ(change(IBV_QP_STATE | IBV_QP_CUR_STATE, IBV_QPS_RTS, IBV_QPS_RTS), EINVAL) << "that is not its state";
    EXPECT_EQ(change(IBV_QP_STATE | IBV_QP_TIMEOUT, IBV_QPS_RTS), EINVAL);
    EXPECT_EQ(change(t == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS, IBV_QPS_RTS), EINVAL) << "without a state";
    EXPECT_EQ(states(a.qp.get()), (States{IBV_QPS_SQE, IBV_QPS_SQE}));
    ASSERT_EQ(change(IBV_QP_STATE, IBV_QPS_ERR), 0);
    const ibv_wc wc = take(a.receive_cq.get());
    EXPECT_EQ(wc.wr_id, 2u);
    EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(change(IBV_QP_STATE, IBV_QPS_RTS), EINVAL);
    send(a, 5);
    expect_sent(5, IBV_WC_WR_FLUSH_ERR);
  }
  make(IBV_QPT_UD);
  fail();
  ASSERT_EQ(change(IBV_QP_STATE, IBV_QPS_RESET), 0);
  connect(a.qp.get(), b.world, b.qp->qp_num);
  receive(b, 30);
  send(a, 30);
  expect_sent(30, IBV_WC_SUCCESS);
  expect_received(b, 30);
}

TEST_P(SendErrors, AnRcQpFails) {
  make(IBV_QPT_RC);
  receive(a, 2);
  fail();
  EXPECT_EQ(states(a.qp.get()), (States{IBV_QPS_ERR, IBV_QPS_ERR}));
  const ibv_wc wc = take(a.receive_cq.get());
  EXPECT_EQ(wc.wr_id, 2u);
  EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(change(IBV_QP_STATE, IBV_QPS_RTS), EINVAL);
}

// A message of n packets moves both by n.
TEST_P(SendErrors, AQueryShowsThePsnsAsTheyAre) {
  for (const ibv_qp_type t : {IBV_QPT_RC, IBV_QPT_UC}) {
    SCOPED_TRACE(t);
    make(t);
    const auto after = [&](std::uint32_t packets) { return (Path{}.psn + packets) & 0xffffff; };
    EXPECT_EQ(query(a.qp.get()).sq_psn, after(0));
    EXPECT_EQ(query(b.qp.get()).rq_psn, after(0));
    for (std::uint32_t n = 1; n <= 20; ++n) {  // past the greatest PSN
      receive(b, n);
      send(a, n);
      expect_sent(n, IBV_WC_SUCCESS);
      expect_received(b, n);
      EXPECT_EQ(query(a.qp.get()).sq_psn, after(n));
      EXPECT_EQ(query(b.qp.get()).rq_psn, after(n));
    }
    EXPECT_EQ(query(b.qp.get()).sq_psn, after(0)) << "it has sent nothing";
    std::array<ibv_sge, 1> list{a.arena.sge(0, 3 * 1024 + 1)};
    ibv_send_wr wr = send_wr(IBV_WR_RDMA_WRITE, list, 30);
    wr.wr.rdma = {b.arena.address(0), b.arena.region->rkey};
    live::post(a.qp.get(), wr);
    expect_sent(30, IBV_WC_SUCCESS);
    receive(b, 31);
    send(a, 31);
    expect_sent(31, IBV_WC_SUCCESS);
    expect_received(b, 31);
    EXPECT_EQ(query(a.qp.get()).sq_psn, after(20 + 4 + 1));
    EXPECT_EQ(query(b.qp.get()).rq_psn, after(20 + 4 + 1));
  }
}

RXNIC_ON_ONE_AND_TWO_NICS(SendErrors);

}  // namespace
}  // namespace rxnic::live::send_errors_test
