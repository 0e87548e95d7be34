// SPDX-License-Identifier: Apache-2.0
// What a program sees when the simulator has died: data_path.h R3, poll.h R6.
#include <sys/socket.h>
#include <time.h>

#include <cerrno>
#include <set>
#include <thread>

#include "bridge/verbs/poll.h"
#include "testbench/unit/bridge/verbs/verbs_fixture.h"

namespace rxnic::verbs::verbs_flush_test {
namespace {

class VerbsFlush : public VerbsTest {
 protected:
  Cq& cq = make_cq(16);
};

TEST_F(VerbsFlush, EverythingPostedCompletesTheFirstOfAQpFatal) {
  Qp& a = make_qp(IBV_QPT_RC, cq, cq);
  Qp& b = make_qp(IBV_QPT_RC, cq, cq);
  for (std::uint64_t i = 0; i < 3; ++i) send(a, 10 + i, 0);  // unsignaled ones, too
  for (std::uint64_t i = 0; i < 2; ++i) receive(a, 20 + i);
  send(b, 30);
  write_cqe(cq, send_cqe(a, 0));  // what the device wrote before counts
  simulator_gone(context);
  EXPECT_EQ(poll(cq).at(0).status, IBV_WC_SUCCESS);
  const auto wcs = poll(cq);
  ASSERT_EQ(wcs.size(), 5u);
  const std::uint64_t wr_ids[] = {11, 12, 20, 21, 30};
  const ibv_wc_status statuses[] = {IBV_WC_FATAL_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR,
                                    IBV_WC_FATAL_ERR};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(wcs[i].wr_id, wr_ids[i]);
    EXPECT_EQ(wcs[i].status, statuses[i]);
    EXPECT_EQ(wcs[i].qp_num, (i < 4 ? a : b).qp.qp_base.qp_num);
  }
  EXPECT_EQ(wcs[2].opcode, IBV_WC_RECV);
}

TEST_F(VerbsFlush, AfterThatPollingIsAnError) {
  Qp& qp = make_qp(IBV_QPT_RC, cq, cq);
  send(qp, 1);
  simulator_gone(context);
  EXPECT_EQ(poll(cq).size(), 1u);
  poll(cq);
  EXPECT_EQ(last_poll, -EIO);
  EXPECT_EQ(send(qp, 2), 0);  // as to a QP in the error state: it completes flushed
  EXPECT_EQ(poll(cq).at(0).status, IBV_WC_WR_FLUSH_ERR);
  poll(cq);
  EXPECT_EQ(last_poll, -EIO);
}

TEST_F(VerbsFlush, NoMoreThanAskedFor) {
  Qp& qp = make_qp(IBV_QPT_RC, cq, cq);
  for (std::uint64_t i = 0; i < 5; ++i) send(qp, i);
  simulator_gone(context);
  EXPECT_EQ(poll(cq, 2).size(), 2u);
  EXPECT_EQ(poll(cq, 2).size(), 2u);
  EXPECT_EQ(poll(cq, 2).at(0).wr_id, 4u);
}

TEST_F(VerbsFlush, EachCqReportsOnlyItsOwn) {
  Cq& receive_cq = make_cq(16);
  Qp& qp = make_qp(IBV_QPT_RC, cq, receive_cq);
  send(qp, 1);
  receive(qp, 2);
  simulator_gone(context);
  const auto received = poll(receive_cq);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].wr_id, 2u);
  EXPECT_EQ(received[0].status, IBV_WC_FATAL_ERR);
  const auto sent = poll(cq);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].wr_id, 1u);
  EXPECT_EQ(sent[0].status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(VerbsFlush, SrqsAreFlushedForOneOfTheirQps) {
  for (const bool list : {false, true}) {
    Cq& shared_cq = make_cq(16);
    Srq& srq = make_srq(8, list);
    make_qp(IBV_QPT_RC, shared_cq, shared_cq, &srq);
    make_qp(IBV_QPT_RC, shared_cq, shared_cq, &srq);
    for (std::uint64_t i = 0; i < 6; ++i) receive(srq, i);
    context.dead = true;
    std::set<std::uint64_t> wr_ids;
    for (const ibv_wc& wc : poll(shared_cq)) wr_ids.insert(wc.wr_id);
    EXPECT_EQ(wr_ids, (std::set<std::uint64_t>{0, 1, 2, 3, 4, 5}));
    poll(shared_cq);
    EXPECT_EQ(last_poll, -EIO);
    context.dead = false;
  }
}

TEST_F(VerbsFlush, AThreadThatPollsFindsOut) {  // wait.h R5
  Qp& qp = make_qp(IBV_QPT_RC, cq, cq);
  send(qp, 1);
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  context.verbs.context.cmd_fd = ends[0];
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(poll(cq).empty());
  EXPECT_FALSE(context.dead.load());
  std::thread simulator([&] {
    while (header().waiting.load() == 0) std::this_thread::yield();
    close(ends[1]);
  });
  int polls = 0;
  while (poll(cq, 1).empty() && ++polls < 100000) {
  }
  simulator.join();
  close(ends[0]);
  EXPECT_LT(polls, 100000);
  EXPECT_TRUE(context.dead.load());
}

// A thread that works between its polls, so that it never waits.
TEST_F(VerbsFlush, AThreadThatSeldomPollsFindsOut) {  // wait.h R5
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  context.verbs.context.cmd_fd = ends[0];
  close(ends[1]);
  for (std::uint32_t i = 0; i < kEmptyPolls; ++i) {
    EXPECT_FALSE(context.dead.load());
    timespec work{0, 2 * kPollNs};
    nanosleep(&work, nullptr);
    poll(cq);
  }
  EXPECT_TRUE(context.dead.load());
  close(ends[0]);
}

}  // namespace
}  // namespace rxnic::verbs::verbs_flush_test
