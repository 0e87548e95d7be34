// SPDX-License-Identifier: Apache-2.0
// Many CQs and receive queues with few lines in their context caches: everything completes, and the report shows what
// that costs.
#include <map>

#include "testbench/unit/model/nic/nic_fixture.h"

namespace rxnic::nic_contexts_test {
namespace {

using Op = Operation;

class NicContexts : public NicTest {
 protected:
  static constexpr std::uint32_t kQueues = 1000, kRounds = 2, kBytes = 24;
  void set_lines(std::uint32_t entries) {
    set("cqe_generator.cq_contexts=" + std::to_string(entries));
    set("srq_wqe_fetcher.queue_contexts=" + std::to_string(entries));
  }
  // An RQ and a CQ for each QP; each gets a message in each round.
  void run_queues(std::uint32_t queues) {
    const Region memory = region(queues * kRounds * kBytes, {});
    std::uint32_t piece = 0;
    for (std::uint32_t n = 0; n < queues; ++n) {
      cq(Cqn{100 + n}, 16);
      Queue& q = rq(0x100 + n);
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        buffers.push_back(memory.piece(piece++ * kBytes, kBytes));
        post(q, {buffers.back()});
      }
      ring(q, 10 + n * 1000);
      QpContext& one = qp(Transport::kRc, 0x100 + n, &q);
      one.receive_cq = Cqn{100 + n};
      qps.push_back(&one);
    }
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      at(1'500'000 + round * 3'000'000);
      for (std::uint32_t n = 0; n < queues; ++n) {
        const ByteVector bytes = send(*qps[n], {.op = Op::kSendOnly, .psn = kFirstPsn + round, .bytes = kBytes});
        expect_written(buffers[n * kRounds + round].address, bytes);
      }
    }
    run();
    EXPECT_EQ(ledger().dropped_total(), 0u);
    ASSERT_EQ(cqes.size(), std::size_t{queues} * kRounds);
    std::map<std::uint32_t, std::uint32_t> seen;
    for (const Completion& c : cqes) {
      EXPECT_EQ(c.cqe.status, WcStatus::kSuccess);
      EXPECT_EQ(c.cqe.qp_number - 0x100, raw(c.cq) - 100);
      EXPECT_EQ(c.cqe.wqe_index, seen[raw(c.cq)]++);
    }
    EXPECT_EQ(seen.size(), queues);
    EXPECT_EQ(answers.size(), std::size_t{queues} * kRounds);
  }
  const CqeGeneratorCounters& cqs() { return sim().nic.cqe_generator.counters(); }
  const SrqWqeFetcherCounters& queues() { return sim().nic.srq_wqe_fetcher.counters(); }

  std::vector<DataSegment> buffers;
  std::vector<QpContext*> qps;
};

TEST_F(NicContexts, AThousandQueuesOnEightLinesLoseNothing) {
  set_lines(8);
  run_queues(kQueues);
  EXPECT_GT(cqs().context_misses, kQueues * kRounds * 9 / 10);
  EXPECT_GT(cqs().context_write_backs, kQueues);
  EXPECT_GT(queues().context_misses, kQueues * kRounds * 9 / 10);
  EXPECT_GT(queues().context_write_backs, kQueues);
  Nic& nic = sim().nic;
  nic.cqe_generator.settle(sim().engine.now());
  nic.srq_wqe_fetcher.settle(sim().engine.now());
  EXPECT_GT(nic.cqe_generator.account()[static_cast<std::size_t>(Activity::kWaitCqContext)], kQueues);
  EXPECT_GT(nic.srq_wqe_fetcher.account()[static_cast<std::size_t>(Activity::kWaitQueueContext)], kQueues);
  const auto& requests = nic.dma_engine.counters().client_requests;
  EXPECT_EQ(requests[static_cast<std::size_t>(DmaClient::kCqContext)], cqs().context_reads + cqs().context_write_backs);
  EXPECT_EQ(requests[static_cast<std::size_t>(DmaClient::kQueueContext)],
            queues().context_reads + queues().context_write_backs);
}

TEST_F(NicContexts, TheDefaultSizesHoldAThousand) {
  run_queues(kQueues);
  EXPECT_EQ(cqs().context_misses, 0u);
  EXPECT_EQ(queues().context_misses, 0u);
}

TEST_F(NicContexts, OneLineIsEnough) {
  set_lines(1);
  run_queues(20);
  EXPECT_GT(cqs().context_misses, 20u);
  EXPECT_GT(queues().context_misses, 20u);
}

}  // namespace
}  // namespace rxnic::nic_contexts_test
