// SPDX-License-Identifier: Apache-2.0
// RQs and SRQs of bridge/verbs: rules R1..R4 of receive_queue.h, the WQEs as the device parses them.
#include "bridge/verbs/receive_queue.h"

#include <cerrno>
#include <deque>
#include <random>

#include "testbench/unit/bridge/verbs/verbs_fixture.h"

namespace rxnic::verbs::verbs_receive_queue_test {
namespace {

class VerbsReceiveQueue : public VerbsTest {
 protected:
  Cq& cq = make_cq(64);
};

// Takes WQEs off an SRQ as the device does: it knows the producer index and the first slot, and reads the rest.
class SrqReader {
 public:
  explicit SrqReader(const Srq& srq) : srq_(srq) {}
  std::uint32_t take() {
    const std::uint32_t slot = srq_.linked_list ? next_ : next_ & (srq_.slots - 1);
    next_ = srq_.linked_list ? next_wqe_index({srq_.ring + std::size_t{slot} * srq_.stride, srq_.stride}, srq_.slots)
                             : next_ + 1;
    return slot;
  }

 private:
  const Srq& srq_;
  std::uint32_t next_ = 0;
};

TEST_F(VerbsReceiveQueue, DeviceReadsWhatWasPosted) {
  Qp& qp = make_qp(IBV_QPT_RC, cq, cq);
  ibv_sge sges[3] = {{0x1000, 10, 0x11}, {0x2000, 0, 0x22}, {0x3000, 30, 0x33}};
  ibv_recv_wr wr = receive_wr(1, sges);
  wr.num_sge = 3;
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(post_recv(&qp.qp.qp_base, &wr, &bad), 0);
  const ReceiveWqe wqe = parsed(qp.receive.ring, 0, qp.receive.stride, WqLayout::kCyclic);
  ASSERT_EQ(wqe.sge_count, 2);  // that of length 0 is left out
  EXPECT_EQ(wqe.sge[0].address, 0x1000u);
  EXPECT_EQ(wqe.sge[1].address, 0x3000u);
  EXPECT_EQ(wqe.sge[1].lkey, 0x33u);
  EXPECT_EQ(wqe.sge[1].length, 30u);
  EXPECT_EQ(rung(channel::Board::kReceive), std::vector<std::uint64_t>{1});
}

TEST_F(VerbsReceiveQueue, FullSlotHasNoEndMark) {
  for (const bool list : {false, true}) {
    Srq& srq = make_srq(8, list, list ? 3 : 2);
    ibv_sge sges[3] = {{0x1000, 10, 1}, {0x2000, 20, 2}, {0x3000, 30, 3}};
    ibv_recv_wr wr = receive_wr(1, sges);
    wr.num_sge = static_cast<int>(srq.max_sge);
    ibv_recv_wr* bad = nullptr;
    std::memset(srq.ring + srq.stride, 0xee, srq.stride);
    ASSERT_EQ(post_srq_recv(&srq.srq, &wr, &bad), 0);
    const ReceiveWqe wqe = parsed(srq.ring, 0, srq.stride, list ? WqLayout::kLinkedList : WqLayout::kCyclic);
    EXPECT_EQ(wqe.sge_count, srq.max_sge);
    EXPECT_EQ(srq.ring[srq.stride], 0xee);  // the next slot is untouched
  }
}

TEST_F(VerbsReceiveQueue, StopsAtTheFirstFailureAndKeepsTheEarlierOnes) {
  Qp& qp = make_qp(IBV_QPT_RC, cq, cq);
  Srq& srq = make_srq(8, true);
  ibv_sge sges[4] = {{1, 1, 1}, {2, 2, 2}, {3, 3, 3}, {4, 4, 4}};
  ibv_recv_wr wrs[3] = {receive_wr(0, sges), receive_wr(1, sges), receive_wr(2, sges)};
  wrs[0].next = &wrs[1];
  wrs[1].next = &wrs[2];
  wrs[1].num_sge = 4;
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(post_recv(&qp.qp.qp_base, wrs, &bad), EINVAL);
  EXPECT_EQ(bad, &wrs[1]);
  bad = nullptr;
  EXPECT_EQ(post_srq_recv(&srq.srq, wrs, &bad), EINVAL);
  EXPECT_EQ(bad, &wrs[1]);
  EXPECT_EQ(rung(channel::Board::kReceive), (std::vector<std::uint64_t>{1, 1}));
}

TEST_F(VerbsReceiveQueue, OneDoorbellAPostCall) {
  Srq& srq = make_srq(8, true);
  ibv_sge sge{1, 1, 1};
  ibv_recv_wr wrs[3] = {receive_wr(0, &sge), receive_wr(1, &sge), receive_wr(2, &sge)};
  wrs[0].next = &wrs[1];
  wrs[1].next = &wrs[2];
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(post_srq_recv(&srq.srq, wrs, &bad), 0);
  EXPECT_EQ(rung(channel::Board::kReceive), std::vector<std::uint64_t>{3});
}

TEST_F(VerbsReceiveQueue, StatesOfTheQp) {
  Srq& srq = make_srq(8, true);
  Qp& qp = make_qp(IBV_QPT_RC, cq, cq);
  Qp& shared = make_qp(IBV_QPT_RC, cq, cq, &srq);
  qp.qp.qp_base.state = IBV_QPS_RESET;
  EXPECT_EQ(receive(qp, 1), EINVAL);
  for (const auto state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR}) {
    qp.qp.qp_base.state = state;
    EXPECT_EQ(receive(qp, 1), 0);
  }
  EXPECT_EQ(receive(shared, 1), EINVAL);  // it has no RQ of its own
}

TEST_F(VerbsReceiveQueue, RqIsFullUntilACompletionIsPolled) {
  Qp& qp = make_qp(IBV_QPT_RC, cq, cq);
  std::uint64_t posted = 0, polled = 0;
  while (receive(qp, posted) == 0) ++posted;
  EXPECT_EQ(posted, 8u);
  EXPECT_EQ(receive(qp, posted), ENOMEM);
  for (int i = 0; i < 50; ++i) {  // around the ring
    write_cqe(cq, receive_cqe(qp, static_cast<std::uint32_t>(polled % 8)));
    EXPECT_EQ(receive(qp, posted), ENOMEM);  // completed, but not polled
    ASSERT_EQ(poll(cq).at(0).wr_id, polled++);
    EXPECT_EQ(receive(qp, posted), 0);
    ++posted;
  }
}

TEST_F(VerbsReceiveQueue, LinkedListOfNSlotsHoldsNMinusOne) {
  Srq& srq = make_srq(8, true);
  for (std::uint64_t i = 0; i < 7; ++i) EXPECT_EQ(receive(srq, i), 0);
  EXPECT_EQ(receive(srq, 7), ENOMEM);
}

TEST_F(VerbsReceiveQueue, CyclicSrqReusesASlotOnlyAfterItsOwnCompletion) {
  Srq& srq = make_srq(4, false);
  Qp& qp = make_qp(IBV_QPT_RC, cq, cq, &srq);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(receive(srq, i), 0);
  EXPECT_EQ(receive(srq, 4), ENOMEM);
  write_cqe(cq, receive_cqe(qp, 2, &srq));
  EXPECT_EQ(poll(cq).at(0).wr_id, 2u);
  rung(channel::Board::kReceive);
  EXPECT_EQ(receive(srq, 4), 0);  // accepted, but slot 0 is next
  EXPECT_TRUE(rung(channel::Board::kReceive).empty());
  EXPECT_EQ(parsed(srq.ring, 0, srq.stride, WqLayout::kCyclic).sge[0].address, 0u);  // still that of wr_id 0
  write_cqe(cq, receive_cqe(qp, 0, &srq));
  EXPECT_EQ(poll(cq).at(0).wr_id, 0u);
  EXPECT_EQ(rung(channel::Board::kReceive), std::vector<std::uint64_t>{5});
  EXPECT_EQ(parsed(srq.ring, 0, srq.stride, WqLayout::kCyclic).sge[0].address, 0x4000u);
}

// WQEs complete in a random order; the device always finds them in the order in which they were posted.
class VerbsSrqOrder : public VerbsReceiveQueue, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Layouts, VerbsSrqOrder, ::testing::Bool());

TEST_P(VerbsSrqOrder, StaysWholeWhateverTheOrderOfCompletions) {
  const char* given = std::getenv("RXNIC_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
  SCOPED_TRACE("RXNIC_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  Srq& srq = make_srq(16, GetParam());
  const WqLayout layout = srq.linked_list ? WqLayout::kLinkedList : WqLayout::kCyclic;
  Qp& qp = make_qp(IBV_QPT_RC, cq, cq, &srq);
  SrqReader reader(srq);
  std::uint64_t posted = 0, taken = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> open;  // slot and wr_id of WQEs that the device has taken
  for (int step = 0; step < 20000; ++step) {
    switch (random() % 3) {
      case 0: {
        const int error = receive(srq, posted);
        EXPECT_EQ(error, posted - taken + open.size() == srq.max_wr ? ENOMEM : 0);
        if (error == 0) ++posted;
        break;
      }
      case 1:
        if (taken == doorbell(channel::Board::kReceive, srq.doorbell)) break;
        open.emplace_back(reader.take(), taken);
        EXPECT_EQ(parsed(srq.ring, open.back().first, srq.stride, layout).sge[0].address, taken * 0x1000);
        ++taken;
        break;
      default:
        if (open.empty()) break;
        std::swap(open[random() % open.size()], open.back());
        write_cqe(cq, receive_cqe(qp, open.back().first, &srq));
        ASSERT_EQ(poll(cq).at(0).wr_id, open.back().second);
        open.pop_back();
    }
  }
  EXPECT_GT(taken, 1000u);
}

}  // namespace
}  // namespace rxnic::verbs::verbs_receive_queue_test
