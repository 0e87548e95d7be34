// SPDX-License-Identifier: Apache-2.0
// Completion channels as programs use them: an event comes after the completion that it reports, one for each time that
// the CQ was armed. A CQ that is armed while it holds unpolled completions raises an event at once, but none for the
// completion whose event was taken last.
#include <array>

#include "testbench/live/event_queue.h"
#include "testbench/live/verbs_pair.h"

namespace rxnic::live::events_test {
namespace {

class Events : public PairTest {
 protected:
  Events() {
    a.qp = make_qp(a.world, sent_.cq.get(), a.receive_cq.get());
    b.qp = make_qp(b.world, b.send_cq.get(), received_.cq.get());
    connect_both(a.qp.get(), a.world, b.qp.get(), b.world);
  }
  ~Events() override {  // before the CQs that they use
    a.qp.reset();
    b.qp.reset();
  }
  void send(std::size_t bytes, unsigned flags = 0, ibv_wr_opcode opcode = IBV_WR_SEND) {
    std::array<ibv_sge, 1> source{a.arena.sge(0, bytes)}, sink{b.arena.sge(0, bytes)};
    post_receive(b.qp.get(), sink);
    ibv_send_wr wr = send_wr(opcode, source);
    wr.send_flags |= flags;
    wr.wr.rdma = {b.arena.address(kPage), b.arena.region->rkey};
    post(a.qp.get(), wr);
  }

  EventQueue sent_{a.world}, received_{b.world};
};

TEST_P(Events, ComeBehindTheCompletionTheyReport) {
  sent_.arm();
  received_.arm();
  for (int i = 0; i < 200; ++i) {
    send(i % 2 == 0 ? 16 : 60000);
    for (const EventQueue* queue : {&received_, &sent_}) {
      queue->take_event();
      queue->arm();
      ibv_wc wc{};
      ASSERT_EQ(ibv_poll_cq(queue->cq.get(), 1, &wc), 1) << "round " << i;
      ASSERT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    }
  }
}

TEST_P(Events, WhatIsThereWhenItIsArmedHasOne) {
  constexpr int kMessages = 20;
  for (int i = 0; i < kMessages; ++i) send(16);
  for (int i = 0; i < kMessages; ++i) EXPECT_EQ(take(sent_.cq.get()).status, IBV_WC_SUCCESS);
  int found = 0;
  while (found < kMessages) {  // some at a time: the rest raises an event again
    received_.arm();
    received_.take_event();
    std::array<ibv_wc, 6> wcs;
    found += ibv_poll_cq(received_.cq.get(), 6, wcs.data());
  }
  EXPECT_EQ(found, kMessages);
}

TEST_P(Events, ArmedOnceThereIsOne) {
  received_.arm();
  for (int i = 0; i < 3; ++i) send(16);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(take(received_.cq.get()).status, IBV_WC_SUCCESS);
  received_.take_event();
  send(16);
  EXPECT_EQ(take(received_.cq.get()).status, IBV_WC_SUCCESS);
  EXPECT_FALSE(received_.has_event(0));
}

// rules 3.5 and 4.3: SOLICITED is for SENDs and WRITEs with immediate.
TEST_P(Events, ArmedForSolicitedOnlyOthersHaveNone) {
  for (const ibv_wr_opcode opcode : {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM}) {
    received_.arm(true);
    send(16, 0, opcode);
    EXPECT_EQ(take(received_.cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_FALSE(received_.has_event(0));
    send(16, IBV_SEND_SOLICITED, opcode);
    received_.take_event();
    EXPECT_EQ(take(received_.cq.get()).status, IBV_WC_SUCCESS);
  }
}

TEST_P(Events, ArmedForAnyItIsNotWeakenedByArmingForSolicitedOnly) {
  for (int n = 0; n < 50; ++n) {
    received_.arm();
    received_.arm(true);
    send(16);
    received_.take_event();
    EXPECT_EQ(take(received_.cq.get()).status, IBV_WC_SUCCESS);
    received_.arm(true);  // the event that was raised is not asked for any more
    send(16);
    EXPECT_EQ(take(received_.cq.get()).status, IBV_WC_SUCCESS);
    EXPECT_FALSE(received_.has_event(0));
    received_.arm();
    send(16);
    received_.take_event();
    EXPECT_EQ(take(received_.cq.get()).status, IBV_WC_SUCCESS);
    for (int m = 0; m < 3; ++m) EXPECT_EQ(take(sent_.cq.get()).status, IBV_WC_SUCCESS);
  }
}

RXNIC_ON_ONE_AND_TWO_NICS(Events);

}  // namespace
}  // namespace rxnic::live::events_test
