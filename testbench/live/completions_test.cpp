// SPDX-License-Identifier: Apache-2.0
// Completions (rules 3): what an error says, a CQ that overruns, moderation, RESET, requests that are not signaled.
#include <algorithm>
#include <array>
#include <cerrno>

#include "testbench/live/event_queue.h"
#include "testbench/live/verbs_pair.h"

namespace rxnic::live::completions_test {
namespace {

constexpr std::size_t kBytes = 24, kPlace = 64;

class Completions : public PairTest {
 protected:
  // B receives on this CQ.
  void connect_to(ibv_cq* receive_cq, ibv_srq* srq = nullptr, const Path& path = {}) {
    a.qp = make_qp(a.world, a.send_cq.get(), a.receive_cq.get());
    b.qp = make_qp(b.world, b.send_cq.get(), receive_cq, {.srq = srq});
    connect_both(a.qp.get(), a.world, b.qp.get(), b.world, path);
  }
  // A sends messages, each from and to a place of its own, all with one call.
  void send(std::uint32_t count, unsigned int flags = IBV_SEND_SIGNALED, std::uint64_t id = 0) {
    std::vector<ibv_sge> sges(count);
    std::vector<ibv_send_wr> wrs(count);
    for (std::uint32_t n = 0; n < count; ++n) {
      sges[n] = a.arena.sge(n * kPlace, kBytes);
      wrs[n] = send_wr(IBV_WR_SEND, {&sges[n], 1}, id + n);
      wrs[n].send_flags = flags;
      wrs[n].next = n + 1 < count ? &wrs[n + 1] : nullptr;
    }
    post(a.qp.get(), wrs.front());
  }
  ibv_sge sink(std::uint32_t n) const { return b.arena.sge(n * kPlace, kBytes); }
  void receive(std::uint32_t count) {
    for (std::uint32_t n = 0; n < count; ++n) {
      std::array<ibv_sge, 1> list{sink(n)};
      post_receive(b.qp.get(), list, 100 + n);
    }
  }
  void expect_sent(std::uint32_t count) {
    for (std::uint32_t n = 0; n < count; ++n) {
      const ibv_wc wc = take(a.send_cq.get());
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
      EXPECT_EQ(wc.wr_id, n);
    }
  }
  void expect_received(ibv_cq* cq, std::uint32_t count) {
    for (std::uint32_t n = 0; n < count; ++n) {
      const ibv_wc wc = take(cq);
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
      EXPECT_EQ(wc.wr_id, 100 + n);
      EXPECT_EQ(wc.byte_len, kBytes);
      b.arena.expect(n * kPlace, a.arena.bytes(n * kPlace, kBytes));
    }
  }
  ibv_qp_state state(ibv_qp* qp) const {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    must(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
    return attr.qp_state;
  }
  void reset(ibv_qp* qp) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RESET;
    must(ibv_modify_qp(qp, &attr, IBV_QP_STATE), "ibv_modify_qp(RESET)");
  }
  std::uint64_t now_ns() const {
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    must(ibv_query_rt_values_ex(b.world.context.get(), &values), "ibv_query_rt_values_ex");
    return static_cast<std::uint64_t>(values.raw_clock.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(values.raw_clock.tv_nsec);
  }
};

// rules 3.1: two QPs complete on the same CQ.
TEST_P(Completions, AnErrorNamesItsRequestAndItsQp) {
  connect_to(b.receive_cq.get());
  const Owned<ibv_qp> other_a = std::move(a.qp), other_b = std::move(b.qp);
  connect_to(b.receive_cq.get());
  std::array<ibv_sge, 1> source{a.arena.sge(0, kBytes)}, small{b.arena.sge(0, kBytes - 1)};
  post_receive(b.qp.get(), small, 41);
  ibv_send_wr wr = send_wr(IBV_WR_SEND, source, 42);
  post(a.qp.get(), wr);
  const ibv_wc sent = take(a.send_cq.get()), received = take(b.receive_cq.get());
  EXPECT_EQ(sent.status, IBV_WC_REM_INV_REQ_ERR) << ibv_wc_status_str(sent.status);
  EXPECT_EQ(sent.wr_id, 42u);
  EXPECT_EQ(sent.qp_num, a.qp->qp_num);
  EXPECT_EQ(received.status, IBV_WC_LOC_LEN_ERR) << ibv_wc_status_str(received.status);
  EXPECT_EQ(received.wr_id, 41u);
  EXPECT_EQ(received.qp_num, b.qp->qp_num);
  EXPECT_NE(received.vendor_err, 0u);
  b.arena.accept(0, kBytes - 1);
  std::array<ibv_sge, 1> sink{b.arena.sge(kPlace, kBytes)};
  post_receive(other_b.get(), sink, 43);
  post(other_a.get(), wr);
  EXPECT_EQ(take(a.send_cq.get()).qp_num, other_a->qp_num);
  EXPECT_EQ(take(b.receive_cq.get()).qp_num, other_b->qp_num);
  b.arena.expect(kPlace, a.arena.bytes(0, kBytes));
  expect_nothing_else_written();
}

// rules 3.2
TEST_P(Completions, AnOverrunIsAnEventAndEndsTheCq) {
  const Owned<ibv_cq> cq = b.world.cq(4);
  const auto room = static_cast<std::uint32_t>(cq->cqe);
  connect_to(cq.get());
  receive(room + 3);
  send(room + 1);
  expect_sent(room);
  EXPECT_NE(take(a.send_cq.get()).status, IBV_WC_SUCCESS) << "its receive could not complete";
  EXPECT_EQ(take_event(b.world.context.get()), IBV_EVENT_CQ_ERR);
  EXPECT_EQ(state(b.qp.get()), IBV_QPS_ERR);
  expect_received(cq.get(), room);
  EXPECT_TRUE(is_empty(cq.get())) << "the CQ is dead";
  b.arena.accept(room * kPlace, kBytes);  // the one whose completion was lost
  expect_nothing_else_written();
  b.qp.reset();
}

// rules 3.2
TEST_P(Completions, AnOverrunThatIsIgnoredEndsNothing) {
  ibv_cq_init_attr_ex init{};
  init.cqe = 4;
  init.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  init.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  ibv_cq_ex* const ex = ibv_create_cq_ex(b.world.context.get(), &init);
  must(ex == nullptr ? errno : 0, "ibv_create_cq_ex");
  const Owned<ibv_cq> cq(ibv_cq_ex_to_cq(ex));
  ibv_poll_cq_attr poll{};
  EXPECT_EQ(ibv_start_poll(ex, &poll), ENOENT);
  connect_to(cq.get());
  const std::uint32_t count = 3 * static_cast<std::uint32_t>(cq->cqe);
  receive(count);
  send(count);
  expect_sent(count);
  EXPECT_EQ(state(b.qp.get()), IBV_QPS_RTS);
  for (std::uint32_t n = 0; n < count; ++n) b.arena.expect(n * kPlace, a.arena.bytes(n * kPlace, kBytes));
  expect_nothing_else_written();
  b.qp.reset();
}

// rules 3.3. Model time passes while the event is due, however long the program waits. It passes beside wall time while
// the timer of an earlier event runs, too. So the soonest of several events shows that an event comes soon.
TEST_P(Completions, ModerationHoldsAnEventForItsPeriodOrUpToItsCount) {
  constexpr std::uint64_t kMicrosecond = 1000;  // ns
  const EventQueue events(b.world);
  connect_to(events.cq.get());
  const auto wait = [&](std::uint16_t count, std::uint16_t period_us, std::uint32_t messages) {
    ibv_modify_cq_attr moderation{IBV_CQ_ATTR_MODERATE, {count, period_us}};
    must(ibv_modify_cq(events.cq.get(), &moderation), "ibv_modify_cq");
    events.arm();
    receive(messages);
    const std::uint64_t before = now_ns();
    send(messages);
    events.take_event();
    const std::uint64_t waited = now_ns() - before;
    expect_sent(messages);
    expect_received(events.cq.get(), messages);
    return waited;
  };
  const auto soonest = [&](std::uint16_t count, std::uint16_t period_us, std::uint32_t messages) {
    std::uint64_t least = wait(count, period_us, messages);
    for (int again = 0; again < 4; ++again) least = std::min(least, wait(count, period_us, messages));
    return least;
  };
  EXPECT_LT(soonest(0, 0, 1), 60000 * kMicrosecond) << "no moderation yet";
  EXPECT_GE(wait(100, 1000, 1), 1000 * kMicrosecond) << "one completion of a hundred waits for the period";
  EXPECT_GE(wait(100, 3000, 5), 3000 * kMicrosecond);
  EXPECT_LT(soonest(5, 60000, 5), 60000 * kMicrosecond) << "the fifth does not";
  EXPECT_LT(soonest(0, 0, 1), 60000 * kMicrosecond) << "no more moderation";
  expect_nothing_else_written();
  b.qp.reset();
}

// rules 3.3: many alike, so that a CQ that compresses has something to do (verbs_check.py runs this suite with both).
TEST_P(Completions, ManyOfOneKindComeInOrder) {
  connect_to(b.receive_cq.get());
  constexpr std::uint32_t kMany = 100;
  for (int round = 0; round < 5; ++round) {
    receive(kMany);
    send(kMany);
    expect_sent(kMany);
    expect_received(b.receive_cq.get(), kMany);
  }
  expect_nothing_else_written();
}

// rules 3.4
TEST_P(Completions, ResetRemovesThoseOfTheQpAndNoOthers) {
  connect_to(b.receive_cq.get());
  Owned<ibv_qp> other_a = std::move(a.qp), other_b = std::move(b.qp);
  connect_to(b.receive_cq.get());
  receive(3);
  std::array<ibv_sge, 1> list{sink(5)};
  post_receive(other_b.get(), list, 55);
  send(2);
  expect_sent(2);
  std::swap(a.qp, other_a);
  send(1);
  expect_sent(1);
  reset(b.qp.get());
  const ibv_wc wc = take(b.receive_cq.get());
  EXPECT_EQ(wc.wr_id, 55u);
  EXPECT_EQ(wc.qp_num, other_b->qp_num);
  EXPECT_TRUE(is_empty(b.receive_cq.get())) << "and the third receive is not flushed";
  for (std::uint32_t n = 0; n < 2; ++n) b.arena.expect(n * kPlace, a.arena.bytes(n * kPlace, kBytes));
  b.arena.expect(5 * kPlace, a.arena.bytes(0, kBytes));
  expect_nothing_else_written();
}

// rules 3.4: a completion that is removed frees its receive of an SRQ.
TEST_P(Completions, ResetFreesTheReceivesOfRemovedCompletions) {
  ibv_srq_init_attr init{};
  init.attr = {4, 1, 0};
  const Owned<ibv_srq> srq = own(ibv_create_srq(b.world.pd.get(), &init), "ibv_create_srq");
  for (int round = 0; round < 3; ++round) {
    connect_to(b.receive_cq.get(), srq.get());
    for (std::uint32_t n = 0; n < init.attr.max_wr; ++n) {
      std::array<ibv_sge, 1> list{sink(n)};
      post_receive(srq.get(), list, 100 + n);
    }
    send(init.attr.max_wr);
    expect_sent(init.attr.max_wr);
    for (std::uint32_t n = 0; n < init.attr.max_wr; ++n) {
      b.arena.expect(n * kPlace, a.arena.bytes(n * kPlace, kBytes));
    }
    expect_nothing_else_written();
    reset(b.qp.get());
    EXPECT_TRUE(is_empty(b.receive_cq.get()));
  }
  b.qp.reset();
}

// rules 3.5
TEST_P(Completions, ARequestThatIsNotSignaledCompletesOnlyInError) {
  connect_to(b.receive_cq.get());
  receive(2);
  send(1, 0, 9);
  expect_received(b.receive_cq.get(), 1);
  send(1);
  expect_sent(1);  // the first one has none
  EXPECT_EQ(take(b.receive_cq.get()).wr_id, 101u);
  b.arena.expect(kPlace, a.arena.bytes(0, kBytes));
  std::array<ibv_sge, 1> wrong{ibv_sge{a.arena.address(0), 8, a.arena.region->lkey ^ 0x5a5a00}};
  ibv_send_wr wr = send_wr(IBV_WR_SEND, wrong, 77);
  wr.send_flags = 0;
  live::post(a.qp.get(), wr);  // not logged: nothing of it comes to the wire
  const ibv_wc wc = take(a.send_cq.get());
  EXPECT_EQ(wc.status, IBV_WC_LOC_PROT_ERR) << ibv_wc_status_str(wc.status);
  EXPECT_EQ(wc.wr_id, 77u);
  expect_nothing_else_written();
}

// rules 3.5
TEST_P(Completions, AQpMayHaveAllItsRequestsSignaled) {
  connect_to(b.receive_cq.get());
  a.qp = make_qp(a.world, a.send_cq.get(), a.receive_cq.get(), {.all_signaled = true});
  b.qp = make_qp(b.world, b.send_cq.get(), b.receive_cq.get());
  connect_both(a.qp.get(), a.world, b.qp.get(), b.world);
  receive(3);
  send(3, 0);
  expect_sent(3);
  expect_received(b.receive_cq.get(), 3);
  expect_nothing_else_written();
}

RXNIC_ON_ONE_AND_TWO_NICS(Completions);

}  // namespace
}  // namespace rxnic::live::completions_test
