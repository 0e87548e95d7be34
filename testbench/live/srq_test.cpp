// SPDX-License-Identifier: Apache-2.0
// Shared receive queues: how receives are posted (rules 1), and what is created and changed (rules 2).
#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::srq_test {
namespace {

constexpr std::size_t kPlace = 256;  // of a receive, in B's arena
constexpr std::uint32_t kSges = 3;

class Srq : public PairTest {
 protected:
  void SetUp() override {
    ibv_srq_init_attr init{};
    init.attr = {16, kSges, 5};
    srq = own(ibv_create_srq(b.world.pd.get(), &init), "ibv_create_srq");
    most = init.attr.max_wr;
    make_qps();
  }
  void TearDown() override { b.qp.reset(); }
  void make_qps() {
    a.qp = make_qp(a.world, a.send_cq.get(), a.receive_cq.get());
    b.qp = make_qp(b.world, b.send_cq.get(), b.receive_cq.get(), {.srq = srq.get()});
    connect_both(a.qp.get(), a.world, b.qp.get(), b.world, {.min_rnr_timer = 1});
  }

  // Receives of one list; `wr_id` n has place n. The pointers of a copy are its own.
  struct List {
    List(Arena& arena, std::uint32_t first, std::uint32_t count, std::size_t bytes = kPlace) : sges(count), wrs(count) {
      for (std::uint32_t n = 0; n < count; ++n) {
        sges[n] = arena.sge((first + n) * kPlace, bytes);
        wrs[n] = {first + n, n + 1 < count ? &wrs[n + 1] : nullptr, &sges[n], 1};
      }
    }
    List(const List&) = delete;
    List& operator=(const List&) = delete;
    std::vector<ibv_sge> sges;
    std::vector<ibv_recv_wr> wrs;
  };
  int post_list(List& list) { return ibv_post_srq_recv(srq.get(), list.wrs.data(), &bad); }
  void post_receives(std::uint32_t first, std::uint32_t count, std::size_t bytes = kPlace) {
    List list(b.arena, first, count, bytes);
    must(post_list(list), "ibv_post_srq_recv");
  }
  // A sends `bytes`, and waits for the acknowledgement: the device has taken a receive.
  void send(std::size_t bytes = 100) {
    std::array<ibv_sge, 1> list{a.arena.sge(sent_++, bytes)};
    ibv_send_wr wr = send_wr(IBV_WR_SEND, list);
    post(a.qp.get(), wr);
    ASSERT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
  }
  // The next completion is that of receive n, which has message number `message`.
  void expect_received(std::uint32_t n, std::size_t message, std::size_t bytes = 100) {
    const ibv_wc wc = take(b.receive_cq.get());
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    EXPECT_EQ(wc.wr_id, n);
    EXPECT_EQ(wc.byte_len, bytes);
    b.arena.expect(n * kPlace, a.arena.bytes(message, bytes));
  }
  std::uint32_t limit() const {
    ibv_srq_attr attr{};
    must(ibv_query_srq(srq.get(), &attr), "ibv_query_srq");
    EXPECT_EQ(attr.max_wr, most);
    return attr.srq_limit;
  }
  int set(std::uint32_t value, int mask = IBV_SRQ_LIMIT) {
    ibv_srq_attr attr{2 * most, kSges, value};
    return ibv_modify_srq(srq.get(), &attr, mask);
  }
  bool has_event() {
    limit();  // a command that the device answers behind what it has reported
    pollfd ready{b.world.context->async_fd, POLLIN, 0};
    return poll(&ready, 1, 0) == 1;
  }

  Owned<ibv_srq> srq;
  std::uint32_t most = 0;  // receives that it takes
  ibv_recv_wr* bad = nullptr;
  std::size_t sent_ = 0;
};

// rules 1.1
TEST_P(Srq, AListStopsAtTheFirstThatIsRefused) {
  List list(b.arena, 0, 4);
  list.wrs[2].num_sge = kSges + 1;
  EXPECT_EQ(post_list(list), EINVAL);
  EXPECT_EQ(bad, &list.wrs[2]);
  for (std::uint32_t n = 0; n < 2; ++n) {
    send();
    expect_received(n, n);
  }
  post_receives(9, 1);
  send();
  expect_received(9, 2);  // the one behind it was not posted, either
  expect_nothing_else_written();
}

// rules 1.1
TEST_P(Srq, AFullQueueRefusesTheNextAndKeepsTheOrder) {
  List list(b.arena, 0, most + 2);
  EXPECT_EQ(post_list(list), ENOMEM);
  EXPECT_EQ(bad, &list.wrs[most]);
  for (std::uint32_t n = 0; n < most; ++n) send();
  for (std::uint32_t n = 0; n < most; ++n) expect_received(n, n);
  expect_nothing_else_written();
}

// rules 1.2
TEST_P(Srq, AReceiveIsFreeWhenItsCompletionHasBeenPolled) {
  post_receives(0, most);
  send();  // the device has taken one, but the program does not know
  List more(b.arena, most, 1);
  EXPECT_EQ(post_list(more), ENOMEM);
  expect_received(0, 0);
  EXPECT_EQ(post_list(more), 0);
  EXPECT_EQ(post_list(more), ENOMEM);
  for (std::uint32_t n = 1; n <= most; ++n) send();
  for (std::uint32_t n = 1; n <= most; ++n) expect_received(n, n);
  expect_nothing_else_written();
}

// rules 1.5: what the slot of a short list held before is not scattered to.
TEST_P(Srq, AShortListEndsWhereItEnds) {
  for (std::uint32_t n = 0; n < most; ++n) {
    std::array<ibv_sge, kSges> parts;
    for (std::uint32_t part = 0; part < kSges; ++part) parts[part] = b.arena.sge((n * kSges + part) * kPlace, 40);
    post_receive(srq.get(), parts, n);
  }
  for (std::uint32_t n = 0; n < most; ++n) {
    send();
    EXPECT_EQ(take(b.receive_cq.get()).wr_id, n);
    for (std::uint32_t part = 0; part < kSges; ++part) {
      b.arena.expect((n * kSges + part) * kPlace, a.arena.bytes(n + part * 40, std::min(40u, 100 - part * 40)));
    }
  }
  expect_nothing_else_written();
  post_receives(200, most, 40);
  const std::size_t message = sent_;
  send(40);  // into the slot that the list kept back before
  expect_received(200, message, 40);
  std::array<ibv_sge, 1> source{a.arena.sge(0, 100)};
  ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
  post(a.qp.get(), wr);
  EXPECT_EQ(take(a.send_cq.get()).status, IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(take(b.receive_cq.get()).status, IBV_WC_LOC_LEN_ERR);
  b.arena.accept(201 * kPlace, 40);  // a part of it may have been written
  expect_nothing_else_written();
}

// rules 1.5: slots that are freed out of order are handed out in that order; the list still is the order of posting.
TEST_P(Srq, CompletionsPolledOutOfOrderLeaveTheOrderOfPosting) {
  const Owned<ibv_cq> other_cq = b.world.cq();
  Owned<ibv_qp> other = make_qp(b.world, b.send_cq.get(), other_cq.get(), {.srq = srq.get()});
  Owned<ibv_qp> to_other = make_qp(a.world, a.send_cq.get(), a.receive_cq.get());
  connect_both(to_other.get(), a.world, other.get(), b.world);
  std::uint32_t receive = 0, message = 0;
  for (int round = 0; round < 6; ++round) {
    const std::uint32_t first = receive, begin = message;
    post_receives(receive, most);
    receive += most;
    for (std::uint32_t n = 0; n < most; ++n) {  // each second one over the other QP
      if (n % 2 == 1) std::swap(a.qp, to_other);
      send();
      if (n % 2 == 1) std::swap(a.qp, to_other);
      ++message;
    }
    for (std::uint32_t n = 1; n < most; n += 2) {
      const ibv_wc wc = take(other_cq.get());
      EXPECT_EQ(wc.wr_id, first + n);
      b.arena.expect((first + n) * kPlace, a.arena.bytes(begin + n, 100));
    }
    for (std::uint32_t n = 0; n < most; n += 2) expect_received(first + n, begin + n);
  }
  expect_nothing_else_written();
}

// rules 2.1
TEST_P(Srq, SizesAreAtLeastThoseThatWereAskedFor) {
  EXPECT_GE(most, 16u);
  EXPECT_EQ(limit(), 0u) << "the limit of the creation is ignored";
  EXPECT_EQ(ibv_destroy_srq(srq.get()), EBUSY) << "a QP is attached";
  for (const std::uint32_t wrs : {1u, 2u, 3u, 4u, 31u, 32u, 33u, 1000u}) {
    for (const std::uint32_t sges : {1u, 2u, 3u, 5u}) {
      ibv_srq_init_attr init{};
      init.attr = {wrs, sges, 0};
      const Owned<ibv_srq> made = own(ibv_create_srq(b.world.pd.get(), &init), "ibv_create_srq");
      EXPECT_GE(init.attr.max_wr, wrs);
      EXPECT_GE(init.attr.max_sge, sges);
      std::vector<ibv_sge> list(init.attr.max_sge, b.arena.sge(0, 1));
      for (std::uint32_t n = 0; n < init.attr.max_wr; ++n) post_receive(made.get(), list);
      ibv_recv_wr wr{0, nullptr, list.data(), 1};
      EXPECT_EQ(ibv_post_srq_recv(made.get(), &wr, &bad), ENOMEM) << "one more than it returned";
    }
  }
}

// rules 2.2; of a TM SRQ in tags_test.
TEST_P(Srq, WhatEachTypeNeedsIsChecked) {
  ibv_xrcd_init_attr domain{};
  domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  domain.fd = -1;
  domain.oflags = O_CREAT;
  const Owned<ibv_xrcd> xrcd = own(ibv_open_xrcd(b.world.context.get(), &domain), "ibv_open_xrcd");
  const auto make = [&](ibv_srq_type type, std::uint32_t mask) {
    ibv_srq_init_attr_ex init{};
    init.attr = {4, 1, 0};
    init.comp_mask = mask;
    init.srq_type = type;
    init.pd = b.world.pd.get();
    init.cq = b.receive_cq.get();
    init.xrcd = xrcd.get();
    errno = 0;
    return Owned<ibv_srq>(ibv_create_srq_ex(b.world.context.get(), &init));
  };
  constexpr std::uint32_t kBasic = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  constexpr std::uint32_t kXrc = kBasic | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  EXPECT_NE(make(IBV_SRQT_BASIC, kBasic), nullptr);
  EXPECT_NE(make(IBV_SRQT_XRC, kXrc), nullptr);
  const struct {
    ibv_srq_type type;
    std::uint32_t mask;
    int error;
  } refused[] = {{IBV_SRQT_BASIC, IBV_SRQ_INIT_ATTR_TYPE, EINVAL},
                 {IBV_SRQT_XRC, kXrc & ~std::uint32_t{IBV_SRQ_INIT_ATTR_PD}, EINVAL},
                 {IBV_SRQT_XRC, kXrc & ~std::uint32_t{IBV_SRQ_INIT_ATTR_XRCD}, EINVAL},
                 {IBV_SRQT_XRC, kXrc & ~std::uint32_t{IBV_SRQ_INIT_ATTR_CQ}, EINVAL},
                 {IBV_SRQT_BASIC, kBasic | IBV_SRQ_INIT_ATTR_RESERVED, EOPNOTSUPP}};
  for (const auto& r : refused) {
    EXPECT_EQ(make(r.type, r.mask), nullptr) << "mask " << r.mask;
    EXPECT_EQ(errno, r.error) << "mask " << r.mask;
  }
}

// rules 2.3
TEST_P(Srq, TheLimitIsReportedOnce) {
  post_receives(0, 10);
  ASSERT_EQ(set(7), 0);
  EXPECT_EQ(limit(), 7u);
  for (std::uint32_t n = 0; n < 3; ++n) send();
  EXPECT_FALSE(has_event()) << "7 are left";
  EXPECT_EQ(limit(), 7u);
  send();
  EXPECT_EQ(take_event(b.world.context.get()), IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(limit(), 0u);
  for (std::uint32_t n = 4; n < 8; ++n) send();
  EXPECT_FALSE(has_event());
  ASSERT_EQ(set(7), 0);
  EXPECT_FALSE(has_event()) << "it is looked at when a receive is taken";
  send();
  EXPECT_EQ(take_event(b.world.context.get()), IBV_EVENT_SRQ_LIMIT_REACHED);
  for (std::uint32_t n = 0; n < 9; ++n) expect_received(n, n);
  expect_nothing_else_written();
}

// rules 2.3
TEST_P(Srq, AChangeIsAllOrNothing) {
  ibv_device_attr device{};
  must(ibv_query_device(b.world.context.get(), &device), "ibv_query_device");
  ASSERT_EQ(device.device_cap_flags & IBV_DEVICE_SRQ_RESIZE, 0u);
  ASSERT_EQ(set(3), 0);
  EXPECT_EQ(set(0, IBV_SRQ_MAX_WR), EINVAL);
  EXPECT_EQ(set(5, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL);
  EXPECT_EQ(limit(), 3u);
  EXPECT_EQ(set(most + 1), EINVAL);
  EXPECT_EQ(limit(), 3u);
  EXPECT_EQ(set(most), 0);
  EXPECT_EQ(limit(), most);
  EXPECT_EQ(set(0), 0);
  EXPECT_EQ(limit(), 0u);
}

RXNIC_ON_ONE_AND_TWO_NICS(Srq);

// rules 1.4. Alone in its run: verbs_check.py compares the doorbells that the device took with the calls.
class SrqDoorbells : public Srq {};

TEST_P(SrqDoorbells, OneForEachCall) {
  for (std::uint32_t call = 0; call < 10; ++call) {
    const std::uint32_t count = 1 + call;
    const std::size_t first = sent_;
    post_receives(0, count);
    for (std::uint32_t n = 0; n < count; ++n) send();
    for (std::uint32_t n = 0; n < count; ++n) expect_received(n, first + n);
  }
  expect_nothing_else_written();
}

RXNIC_ON_ONE_AND_TWO_NICS(SrqDoorbells);

}  // namespace
}  // namespace rxnic::live::srq_test
