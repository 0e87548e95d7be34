// SPDX-License-Identifier: Apache-2.0
// Completion channels and asynchronous events of bridge/verbs (events.cpp).
#include <cerrno>

#include "testbench/unit/bridge/verbs/verbs_fixture.h"

namespace rxnic::verbs::verbs_events_test {
namespace {

using channel::EventKind;
using channel::EventRecord;

class VerbsEvents : public VerbsTest {
 protected:
  VerbsEvents() {
    EXPECT_EQ(pipe(ends), 0);
    comp_channel.channel.context = public_context();
    comp_channel.channel.fd = ends[0];
    for (Cq* c : {&cq, &other}) {
      c->cq.channel = &comp_channel.channel;
      c->cq.cq_context = c;
      pthread_mutex_init(&c->cq.mutex, nullptr);
      pthread_cond_init(&c->cq.cond, nullptr);
    }
    for (const int fd : {ends[0], async_events[0]}) fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  ~VerbsEvents() override {
    close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
  }
  static void notify(int fd, EventKind kind, std::uint32_t number) {
    const EventRecord record{kind, number};
    ASSERT_EQ(write(fd, &record, sizeof record), static_cast<ssize_t>(sizeof record));
  }
  // The CQ of the channel's next event; nullptr with errno.
  Cq* get() {
    ibv_cq* found = nullptr;
    void* cq_context = nullptr;
    if (get_cq_event(&comp_channel.channel, &found, &cq_context) != 0) return nullptr;
    EXPECT_EQ(cq_context, found);
    return &cq_of(found);
  }
  int get_async() { return get_async_event(public_context(), &event); }

  Cq& cq = make_cq(8);
  Cq& other = make_cq(8);
  Channel comp_channel;
  int ends[2] = {-1, -1};
  ibv_async_event event{};
};

TEST_F(VerbsEvents, ChannelReportsItsCqsInOrder) {
  notify(ends[1], EventKind::kCompletion, other.number);
  notify(ends[1], EventKind::kCompletion, cq.number);
  EXPECT_EQ(get(), &other);
  EXPECT_EQ(get(), &cq);
  EXPECT_EQ(get(), nullptr);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(cq.comp_events_reported, 1u);
  ack_cq_events(ibv_cq_ex_to_cq(&cq.cq), 1);
  EXPECT_EQ(cq.cq.comp_events_completed, 1u);
}

TEST_F(VerbsEvents, EventsOfCqsThatAreGoneOrElsewhereAreSkipped) {
  Cq& elsewhere = make_cq(8);
  notify(ends[1], EventKind::kCompletion, 0x777);
  notify(ends[1], EventKind::kCompletion, elsewhere.number);
  notify(ends[1], EventKind::kCompletion, cq.number);
  EXPECT_EQ(get(), &cq);
}

TEST_F(VerbsEvents, DeadSimulatorNotifiesEachArmedCqOnce) {
  req_notify_cq(ibv_cq_ex_to_cq(&cq.cq), 0);
  close(ends[1]);
  ends[1] = -1;
  EXPECT_EQ(get(), &cq);
  EXPECT_TRUE(context.dead.load());
  EXPECT_EQ(get(), nullptr);
  EXPECT_EQ(errno, EIO);
  req_notify_cq(ibv_cq_ex_to_cq(&other.cq), 1);
  EXPECT_EQ(get(), &other);
  EXPECT_EQ(get(), nullptr);
}

TEST_F(VerbsEvents, AsynchronousEventsNameTheirObject) {
  Srq& srq = make_srq(8, true);
  Qp& qp = make_qp(IBV_QPT_RC, cq, cq, &srq);
  const std::uint32_t qpn = qp.qp.qp_base.qp_num;
  struct Case {
    EventKind kind;
    std::uint32_t number;
    ibv_event_type type;
    void* element;
  };
  const Case cases[] = {{EventKind::kCqError, cq.number, IBV_EVENT_CQ_ERR, &cq},
                        {EventKind::kQpFatal, qpn, IBV_EVENT_QP_FATAL, &qp},
                        {EventKind::kQpAccessError, qpn, IBV_EVENT_QP_ACCESS_ERR, &qp},
                        {EventKind::kQpRequestError, qpn, IBV_EVENT_QP_REQ_ERR, &qp},
                        {EventKind::kQpLastWqeReached, qpn, IBV_EVENT_QP_LAST_WQE_REACHED, &qp},
                        {EventKind::kQpSqDrained, qpn, IBV_EVENT_SQ_DRAINED, &qp},
                        {EventKind::kSrqLimitReached, srq.number, IBV_EVENT_SRQ_LIMIT_REACHED, &srq},
                        {EventKind::kSrqError, srq.number, IBV_EVENT_SRQ_ERR, &srq}};
  for (const Case& c : cases) {
    notify(async_events[1], c.kind, c.number);
    ASSERT_EQ(get_async(), 0);
    EXPECT_EQ(event.event_type, c.type);
    EXPECT_EQ(static_cast<void*>(event.element.cq), c.element);
    ack_async_event(&event);
  }
  EXPECT_EQ(cq.async_events_reported, 1u);
  EXPECT_EQ(cq.cq.async_events_completed, 1u);
  EXPECT_EQ(qp.async_events_reported, 5u);
  EXPECT_EQ(qp.qp.qp_base.events_completed, 5u);
  EXPECT_EQ(srq.async_events_reported, 2u);
  EXPECT_EQ(srq.srq.events_completed, 2u);
  EXPECT_EQ(get_async(), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(VerbsEvents, EventsOfObjectsThatAreGoneAreSkipped) {
  notify(async_events[1], EventKind::kQpFatal, 0x777);
  notify(async_events[1], EventKind::kSrqError, 0x777);
  notify(async_events[1], EventKind::kCqError, 0x777);
  notify(async_events[1], static_cast<EventKind>(99), 1);
  EXPECT_EQ(get_async(), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(VerbsEvents, DeviceIsFatalOnce) {
  kill_simulator();
  ASSERT_EQ(get_async(), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_DEVICE_FATAL);
  ack_async_event(&event);
  EXPECT_TRUE(context.dead.load());
  EXPECT_EQ(get_async(), -1);
  EXPECT_EQ(errno, EIO);
}

TEST_F(VerbsEvents, DeviceReportsThatItGoesAway) {
  notify(async_events[1], EventKind::kDeviceFatal, 0);
  ASSERT_EQ(get_async(), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_DEVICE_FATAL);
  EXPECT_TRUE(context.dead.load());
}

}  // namespace
}  // namespace rxnic::verbs::verbs_events_test
