// SPDX-License-Identifier: Apache-2.0
// Asynchronous events, each for the cause that the specification gives for it, and moderated completion events.
// QP_FATAL: rendezvous_test; WQ_FATAL: raw_test; DEVICE_FATAL: run_check.py.
#include <algorithm>
#include <array>
#include <cerrno>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::asynchronous_test {
namespace {

class Asynchronous : public PairTest {
 protected:
  void SetUp() override { reconnect({.all_signaled = true}); }
  void expect_no_further_event() const {
    for (const Side* side : {&a, &b}) EXPECT_FALSE(has_event(side->world.context->async_fd));
  }
  static void go(ibv_qp* qp, ibv_qp_state state, int mask = 0) {
    ibv_qp_attr attr{};
    attr.qp_state = state;
    attr.en_sqd_async_notify = 1;
    must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask), "ibv_modify_qp");
  }
};

TEST_P(Asynchronous, ARequestWithoutTheRightIsAnAccessErrorOfTheResponder) {
  EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, a.arena.sge(0, 8), b.arena.address(0), b.arena.region->rkey + 1),
            IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(take_event(b.world.context.get()), IBV_EVENT_QP_ACCESS_ERR);
  expect_no_further_event();
}

TEST_P(Asynchronous, ARequestThatIsMadeWrongIsARequestErrorOfTheResponder) {
  std::array<ibv_sge, 1> list{a.arena.sge(0, 8)};
  ibv_send_wr wr = send_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, list);
  wr.wr.atomic = {b.arena.address(4), 1, 0, b.arena.region->rkey};  // not aligned
  post(a.qp.get(), wr);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(take_event(b.world.context.get()), IBV_EVENT_QP_REQ_ERR);
  expect_no_further_event();
}

TEST_P(Asynchronous, TheFirstRequestForAQpInRtrEstablishesTheCommunication) {
  for (int n = 0; n < 2; ++n) {  // once more after a reset
    go(b.qp.get(), IBV_QPS_RESET);
    connect(b.qp.get(), a.world, a.qp->qp_num, {.ready_to_send = false});
    if (n == 1) {
      go(a.qp.get(), IBV_QPS_RESET);
      connect(a.qp.get(), b.world, b.qp->qp_num);
    }
    expect_no_further_event();
    for (int m = 0; m < 3; ++m) {
      EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, a.arena.sge(0, 8), b.arena.address(0), b.arena.region->rkey),
                IBV_WC_SUCCESS);
    }
    EXPECT_EQ(take_event(b.world.context.get()), IBV_EVENT_COMM_EST);
    expect_no_further_event();
  }
}

TEST_P(Asynchronous, ASendQueueIsDrainedWhenAllIsAnswered) {
  std::array<ibv_sge, 1> list{a.arena.sge(0, 60'000)};
  ibv_send_wr wr = send_wr(IBV_WR_RDMA_WRITE, list);
  wr.wr.rdma = {b.arena.address(0), b.arena.region->rkey};
  post(a.qp.get(), wr);
  go(a.qp.get(), IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY);
  EXPECT_EQ(take_event(a.world.context.get()), IBV_EVENT_SQ_DRAINED);
  post(a.qp.get(), wr);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  go(a.qp.get(), IBV_QPS_RTS);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS) << "what was posted meanwhile";
  expect_no_further_event();
}

TEST_P(Asynchronous, AnSrqHasALimitAndAQpOfItALastWqe) {
  ibv_srq_init_attr init{nullptr, {16, 1, 0}};
  const Owned<ibv_srq> srq = own(ibv_create_srq(b.world.pd.get(), &init), "ibv_create_srq");
  a.qp = make_qp(a.world, a.send_cq.get(), a.receive_cq.get(), {.all_signaled = true});
  b.qp = make_qp(b.world, b.send_cq.get(), b.receive_cq.get(), {.srq = srq.get()});
  connect_both(a.qp.get(), a.world, b.qp.get(), b.world);
  std::array<ibv_sge, 1> sink{b.arena.sge(0, 100)};
  for (int n = 0; n < 4; ++n) post_receive(srq.get(), sink);
  ibv_srq_attr limit{0, 0, 3};
  must(ibv_modify_srq(srq.get(), &limit, IBV_SRQ_LIMIT), "ibv_modify_srq");
  for (int n = 0; n < 3; ++n) EXPECT_EQ(carry_out(IBV_WR_SEND, a.arena.sge(0, 100), 0, 0), IBV_WC_SUCCESS);
  EXPECT_EQ(take_event(b.world.context.get()), IBV_EVENT_SRQ_LIMIT_REACHED);
  expect_no_further_event();
  go(b.qp.get(), IBV_QPS_ERR);
  EXPECT_EQ(take_event(b.world.context.get()), IBV_EVENT_QP_LAST_WQE_REACHED);
  expect_no_further_event();
  b.qp.reset();
}

TEST_P(Asynchronous, ACqThatIsFullIsAnError) {
  {
    const Owned<ibv_cq> small = a.world.cq(4);
    a.qp = make_qp(a.world, small.get(), a.receive_cq.get(), {.all_signaled = true});
    b.qp = make_qp(b.world, b.send_cq.get(), b.receive_cq.get());
    connect_both(a.qp.get(), a.world, b.qp.get(), b.world);
    std::array<ibv_sge, 1> list{a.arena.sge(0, 8)};
    ibv_send_wr wr = send_wr(IBV_WR_RDMA_WRITE, list);
    wr.wr.rdma = {b.arena.address(0), b.arena.region->rkey};
    for (int n = 0; n < small->cqe + 2; ++n) post(a.qp.get(), wr);
    EXPECT_EQ(take_event(a.world.context.get()), IBV_EVENT_CQ_ERR);
    a.qp.reset();
  }
}

// What never happens here has no bit that asks for it.
TEST_P(Asynchronous, ThereIsNoAlternatePath) {
  ibv_device_attr device{};
  must(ibv_query_device(a.world.context.get(), &device), "ibv_query_device");
  EXPECT_EQ(device.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG, 0);
  ibv_qp_attr attr{};
  attr.path_mig_state = IBV_MIG_REARM;
  EXPECT_EQ(ibv_modify_qp(a.qp.get(), &attr, IBV_QP_PATH_MIG_STATE), EOPNOTSUPP);
  EXPECT_EQ(ibv_modify_qp(a.qp.get(), &attr, IBV_QP_ALT_PATH), EOPNOTSUPP);
  ibv_qp_init_attr init{};
  must(ibv_query_qp(a.qp.get(), &attr, IBV_QP_PATH_MIG_STATE, &init), "ibv_query_qp");
  EXPECT_EQ(attr.path_mig_state, IBV_MIG_MIGRATED);
}

// Events of a CQ that is armed anew after each, while messages come one by one.
TEST_P(Asynchronous, AModeratedCqHasAnEventForSeveralCompletions) {
  constexpr int kMessages = 64;
  struct ChannelFreer {
    void operator()(ibv_comp_channel* p) const { ibv_destroy_comp_channel(p); }
  };
  const std::unique_ptr<ibv_comp_channel, ChannelFreer> channel(ibv_create_comp_channel(b.world.context.get()));
  const auto events = [&](std::uint16_t count, std::uint16_t period_us) {
    Owned<ibv_cq> cq = own(ibv_create_cq(b.world.context.get(), 256, nullptr, channel.get(), 0), "ibv_create_cq");
    ibv_modify_cq_attr attr{IBV_CQ_ATTR_MODERATE, {count, period_us}};
    must(ibv_modify_cq(cq.get(), &attr), "ibv_modify_cq");
    a.qp = make_qp(a.world, a.send_cq.get(), a.receive_cq.get(), {.all_signaled = true});
    b.qp = make_qp(b.world, b.send_cq.get(), cq.get());
    connect_both(a.qp.get(), a.world, b.qp.get(), b.world);
    std::array<ibv_sge, 1> sink{b.arena.sge(0, 8)};
    for (int n = 0; n < kMessages; ++n) post_receive(b.qp.get(), sink);
    int found = 0;
    must(ibv_req_notify_cq(cq.get(), 0), "ibv_req_notify_cq");
    for (int n = 0; n < kMessages; ++n) {
      EXPECT_EQ(carry_out(IBV_WR_SEND, a.arena.sge(0, 8), 0, 0), IBV_WC_SUCCESS);
      EXPECT_EQ(take(cq.get()).status, IBV_WC_SUCCESS);
      if (!has_event(channel->fd)) continue;
      ibv_cq* of = nullptr;
      void* context = nullptr;
      must(ibv_get_cq_event(channel.get(), &of, &context), "ibv_get_cq_event");
      ibv_ack_cq_events(of, 1);
      must(ibv_req_notify_cq(cq.get(), 0), "ibv_req_notify_cq");
      ++found;
    }
    b.qp.reset();
    return found;
  };
  // The period passes beside wall time: a program that is kept from running has more events than one that is not.
  const int plain = events(0, 0);
  const int moderated = std::min({events(16, 0xffff), events(16, 0xffff), events(16, 0xffff)});
  EXPECT_GE(plain, kMessages / 4);
  EXPECT_LE(moderated, kMessages / 16 + 1);
}

RXNIC_ON_ONE_AND_TWO_NICS(Asynchronous);

}  // namespace
}  // namespace rxnic::live::asynchronous_test
