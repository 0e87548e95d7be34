// SPDX-License-Identifier: Apache-2.0
// Events that nobody has read when their object is destroyed go with the object. The channel is as if they had never
// come, and the events of others stay, in order. Events that were read are waited for until they are acknowledged.
// raw_test has the events of a WQ.
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <future>
#include <thread>
#include <vector>

#include "testbench/live/event_queue.h"
#include "testbench/live/verbs_pair.h"

namespace rxnic::live::unread_events_test {
namespace {

using std::chrono::milliseconds;

// A set with one descriptor in it.
class Watch {
 public:
  Watch(int fd, std::uint32_t how) : set_(epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event event{};
    event.events = EPOLLIN | how;
    must(epoll_ctl(set_, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() { close(set_); }
  bool is_ready() const {
    epoll_event event{};
    return epoll_wait(set_, &event, 1, 0) == 1;
  }

 private:
  int set_;
};

void go(ibv_qp* qp, ibv_qp_state state, int mask = 0) {
  ibv_qp_attr attr{};
  attr.qp_state = state;
  attr.en_sqd_async_notify = 1;
  must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask), "ibv_modify_qp");
}

void wait_for_event(int fd) {
  pollfd ready{fd, POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, static_cast<int>(milliseconds(Patience::current()).count())), 1) << "no event came";
}

void do_not_wait(int fd) { ASSERT_EQ(fcntl(fd, F_SETFL, O_NONBLOCK), 0); }

class UnreadEvents : public PairTest {
 protected:
  UnreadEvents() : context(b.world.context.get()), asynchronous(context->async_fd) { do_not_wait(asynchronous); }

  Owned<ibv_comp_channel> channel() const { return own(ibv_create_comp_channel(context), "ibv_create_comp_channel"); }
  Owned<ibv_cq> cq_of(ibv_comp_channel* c) const {
    return own(ibv_create_cq(context, 16, nullptr, c, 0), "ibv_create_cq");
  }
  // The CQ gets a completion, a flushed receive, and with it an event.
  void raise(ibv_cq* cq) {
    must(ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
    const Owned<ibv_qp> qp = make_qp(b.world, cq, cq);
    connect(qp.get(), b.world, qp->qp_num);
    std::array<ibv_sge, 1> sink{b.arena.sge(0, 8)};
    post_receive(qp.get(), sink);
    go(qp.get(), IBV_QPS_ERR);
    take(cq);
  }
  static ibv_cq* get(ibv_comp_channel* c) {
    ibv_cq* cq = nullptr;
    void* of = nullptr;
    if (ibv_get_cq_event(c, &cq, &of) != 0) return nullptr;
    ibv_ack_cq_events(cq, 1);
    return cq;
  }
  bool has_no_asynchronous_event() const {
    ibv_async_event event{};
    return !has_event(asynchronous) && ibv_get_async_event(context, &event) == -1 && errno == EAGAIN;
  }

  ibv_context* const context;
  const int asynchronous;
  const Patience patience_{std::chrono::seconds{10}};
};

TEST_P(UnreadEvents, OfACqGoWithItAndThoseOfOthersStay) {
  const Owned<ibv_comp_channel> c = channel();
  const Watch level(c->fd, 0), edge(c->fd, EPOLLET);
  Owned<ibv_cq> first = cq_of(c.get());
  const Owned<ibv_cq> second = cq_of(c.get());
  const int descriptor = c->fd;
  for (ibv_cq* cq : {first.get(), second.get()}) raise(cq);
  wait_for_event(c->fd);
  EXPECT_TRUE(edge.is_ready());
  ASSERT_EQ(ibv_destroy_cq(first.release()), 0);
  EXPECT_TRUE(has_event(c->fd) && level.is_ready()) << "that of the second";
  EXPECT_EQ(get(c.get()), second.get());
  EXPECT_FALSE(has_event(c->fd) || level.is_ready());
  first = cq_of(c.get());
  raise(first.get());
  wait_for_event(c->fd);
  ASSERT_EQ(ibv_destroy_cq(first.release()), 0);
  EXPECT_FALSE(has_event(c->fd) || level.is_ready() || edge.is_ready()) << "there is none any more";
  EXPECT_EQ(c->fd, descriptor);
  do_not_wait(c->fd);
  EXPECT_EQ(get(c.get()), nullptr);
  EXPECT_EQ(errno, EAGAIN);
  raise(second.get());
  wait_for_event(c->fd);
  EXPECT_EQ(get(c.get()), second.get());
}

// It waited before the event came that goes, and gets the next one.
TEST_P(UnreadEvents, AThreadThatWaitsIsNotDisturbed) {
  const Owned<ibv_comp_channel> c = channel();
  const Owned<ibv_cq> stays = cq_of(c.get());
  auto waits = std::async(std::launch::async, [&] { return get(c.get()); });
  for (int n = 0; n < 20; ++n) {  // armed, and destroyed without an event
    const Owned<ibv_cq> goes = cq_of(c.get());
    must(ibv_req_notify_cq(goes.get(), 0), "ibv_req_notify_cq");
  }
  EXPECT_EQ(waits.wait_for(milliseconds(5)), std::future_status::timeout);
  raise(stays.get());
  EXPECT_EQ(waits.get(), stays.get());
}

// The event is on its way when the object is destroyed.
TEST_P(UnreadEvents, NoneComesBehindADestruction) {
  const Owned<ibv_comp_channel> c = channel();
  ibv_srq_init_attr init{nullptr, {16, 1, 0}};
  const Owned<ibv_srq> srq = own(ibv_create_srq(b.world.pd.get(), &init), "ibv_create_srq");
  for (int n = 0; n < 50; ++n) {
    const Owned<ibv_cq> cq = cq_of(c.get());
    must(ibv_req_notify_cq(cq.get(), 0), "ibv_req_notify_cq");
    const Owned<ibv_qp> qp = make_qp(b.world, cq.get(), cq.get(), {.srq = srq.get()});
    connect(qp.get(), b.world, qp->qp_num);
    std::array<ibv_sge, 1> source{b.arena.sge(0, 8)};
    ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
    go(qp.get(), IBV_QPS_ERR);  // IBV_EVENT_QP_LAST_WQE_REACHED
    post(qp.get(), wr);         // completes in error, with an event of the CQ
  }
  EXPECT_FALSE(has_event(c->fd));
  EXPECT_TRUE(has_no_asynchronous_event());
}

TEST_P(UnreadEvents, OfAQpGoWithIt) {
  reconnect({.all_signaled = true});
  // IBV_EVENT_QP_ACCESS_ERR
  EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, a.arena.sge(0, 8), b.arena.address(0), b.arena.region->rkey + 1),
            IBV_WC_REM_ACCESS_ERR);
  wait_for_event(asynchronous);
  b.qp.reset();
  EXPECT_TRUE(has_no_asynchronous_event());
  reconnect({.all_signaled = true});
  std::array<ibv_sge, 1> list{a.arena.sge(0, 8)};
  ibv_send_wr wr = send_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, list);
  wr.wr.atomic = {b.arena.address(4), 1, 0, b.arena.region->rkey};  // not aligned: IBV_EVENT_QP_REQ_ERR
  post(a.qp.get(), wr);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_REM_INV_REQ_ERR);
  wait_for_event(asynchronous);
  b.qp.reset();
  EXPECT_TRUE(has_no_asynchronous_event());
  reconnect();
  go(b.qp.get(), IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY);  // IBV_EVENT_SQ_DRAINED
  wait_for_event(asynchronous);
  b.qp.reset();
  EXPECT_TRUE(has_no_asynchronous_event());
}

TEST_P(UnreadEvents, OfAnSrqGoWithItAndThoseOfItsQpStay) {
  ibv_srq_init_attr init{nullptr, {16, 1, 0}};
  Owned<ibv_srq> srq = own(ibv_create_srq(b.world.pd.get(), &init), "ibv_create_srq");
  Owned<ibv_srq> other = own(ibv_create_srq(b.world.pd.get(), &init), "ibv_create_srq");
  ibv_srq_attr limit{0, 0, 3};  // there are fewer: at once
  for (ibv_srq* one : {srq.get(), other.get()}) {
    a.qp = make_qp(a.world, a.send_cq.get(), a.receive_cq.get(), {.all_signaled = true});
    b.qp = make_qp(b.world, b.send_cq.get(), b.receive_cq.get(), {.srq = one});
    connect_both(a.qp.get(), a.world, b.qp.get(), b.world);
    std::array<ibv_sge, 1> sink{b.arena.sge(0, 8)};
    for (int n = 0; n < 3; ++n) post_receive(one, sink);
    must(ibv_modify_srq(one, &limit, IBV_SRQ_LIMIT), "ibv_modify_srq");
    EXPECT_EQ(carry_out(IBV_WR_SEND, a.arena.sge(0, 8), 0, 0), IBV_WC_SUCCESS);  // IBV_EVENT_SRQ_LIMIT_REACHED
  }
  wait_for_event(asynchronous);
  go(b.qp.get(), IBV_QPS_ERR);  // IBV_EVENT_QP_LAST_WQE_REACHED
  ASSERT_EQ(ibv_destroy_srq(srq.release()), 0);
  const ibv_async_event of_other = take_whole_event(context);
  EXPECT_EQ(of_other.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(of_other.element.srq, other.get());
  EXPECT_EQ(take_event(context), IBV_EVENT_QP_LAST_WQE_REACHED);
  EXPECT_TRUE(has_no_asynchronous_event());
  b.qp.reset();
}

TEST_P(UnreadEvents, OfACqThatOverranGoWithIt) {
  Owned<ibv_cq> small = b.world.cq(4);
  {
    const Owned<ibv_qp> qp = make_qp(b.world, small.get(), small.get());
    connect(qp.get(), b.world, qp->qp_num);
    std::array<ibv_sge, 1> sink{b.arena.sge(0, 8)};
    for (int n = 0; n < small->cqe + 2; ++n) post_receive(qp.get(), sink);
    go(qp.get(), IBV_QPS_ERR);
    EXPECT_EQ(take_event(context), IBV_EVENT_CQ_ERR);
  }
  small = b.world.cq(4);
  {
    const Owned<ibv_qp> qp = make_qp(b.world, small.get(), small.get());
    connect(qp.get(), b.world, qp->qp_num);
    std::array<ibv_sge, 1> sink{b.arena.sge(0, 8)};
    for (int n = 0; n < small->cqe + 2; ++n) post_receive(qp.get(), sink);
    go(qp.get(), IBV_QPS_ERR);
    wait_for_event(asynchronous);
  }
  small.reset();
  EXPECT_TRUE(has_no_asynchronous_event());
}

// What was read is acknowledged before the object goes; what is unread beside it is not waited for.
TEST_P(UnreadEvents, ADestructionWaitsForTheAcknowledgementOfThoseThatWereRead) {
  const Owned<ibv_comp_channel> c = channel();
  ibv_cq* const cq = cq_of(c.get()).release();
  for (int n = 0; n < 2; ++n) raise(cq);
  wait_for_event(c->fd);
  ibv_cq* found = nullptr;
  void* of = nullptr;
  ASSERT_EQ(ibv_get_cq_event(c.get(), &found, &of), 0);
  auto destroys = std::async(std::launch::async, [&] { return ibv_destroy_cq(cq); });
  EXPECT_EQ(destroys.wait_for(milliseconds(20)), std::future_status::timeout);
  ibv_ack_cq_events(found, 1);
  EXPECT_EQ(destroys.get(), 0);
  EXPECT_FALSE(has_event(c->fd));

  ibv_srq_init_attr init{nullptr, {16, 1, 0}};
  const Owned<ibv_srq> srq = own(ibv_create_srq(b.world.pd.get(), &init), "ibv_create_srq");
  ibv_qp* const qp = make_qp(b.world, b.send_cq.get(), b.receive_cq.get(), {.srq = srq.get()}).release();
  connect(qp, b.world, qp->qp_num);
  go(qp, IBV_QPS_ERR);  // IBV_EVENT_QP_LAST_WQE_REACHED
  wait_for_event(asynchronous);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(context, &event), 0);
  destroys = std::async(std::launch::async, [&] { return ibv_destroy_qp(qp); });
  EXPECT_EQ(destroys.wait_for(milliseconds(20)), std::future_status::timeout);
  ibv_ack_async_event(&event);
  EXPECT_EQ(destroys.get(), 0);
}

RXNIC_ON_ONE_AND_TWO_NICS(UnreadEvents);

}  // namespace
}  // namespace rxnic::live::unread_events_test
