// SPDX-License-Identifier: Apache-2.0
// Completion channels as programs use them: an event comes after the completion that it reports, one for each time that
// the CQ was armed. A CQ that is armed while it holds unpolled completions raises an event at once, but none for the
// completion whose event was taken last.
#include <poll.h>

#include <array>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live {
namespace {

struct ChannelFreer {
  void operator()(ibv_comp_channel* p) const { ibv_destroy_comp_channel(p); }
};

// A CQ with a completion channel of its own.
struct EventQueue {
  explicit EventQueue(const World& world)
      : channel(ibv_create_comp_channel(world.context.get())),
        cq(own(ibv_create_cq(world.context.get(), 64, nullptr, channel.get(), 0), "ibv_create_cq")) {}

  void arm(bool solicited_only = false) const {
    must(ibv_req_notify_cq(cq.get(), solicited_only), "ibv_req_notify_cq");
  }
  bool has_event(int patience_ms) const {
    pollfd ready{channel->fd, POLLIN, 0};
    return poll(&ready, 1, patience_ms) == 1;
  }
  void take_event() const {
    if (!has_event(std::chrono::milliseconds(kPatience).count())) throw std::runtime_error("no event came");
    ibv_cq* of = nullptr;
    void* context = nullptr;
    must(ibv_get_cq_event(channel.get(), &of, &context), "ibv_get_cq_event");
    ibv_ack_cq_events(of, 1);
    if (of != cq.get()) throw std::runtime_error("an event of another CQ");
  }

  std::unique_ptr<ibv_comp_channel, ChannelFreer> channel;
  Owned<ibv_cq> cq;
};

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
  void send(std::size_t bytes, unsigned flags = 0) {
    std::array<ibv_sge, 1> source{a.arena.sge(0, bytes)}, sink{b.arena.sge(0, bytes)};
    post_receive(b.qp.get(), sink);
    ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
    wr.send_flags |= flags;
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

TEST_P(Events, ArmedForSolicitedOnlyOthersHaveNone) {
  received_.arm(true);
  send(16);
  EXPECT_EQ(take(received_.cq.get()).status, IBV_WC_SUCCESS);
  EXPECT_FALSE(received_.has_event(0));
  send(16, IBV_SEND_SOLICITED);
  received_.take_event();
  EXPECT_EQ(take(received_.cq.get()).status, IBV_WC_SUCCESS);
}

RXNIC_ON_ONE_AND_TWO_NICS(Events);

}  // namespace
}  // namespace rxnic::live
