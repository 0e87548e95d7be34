// SPDX-License-Identifier: Apache-2.0
// Many threads and many QPs at once; threads that share a QP, a CQ and an SRQ; a process that forks.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::threads_test {
namespace {

constexpr std::size_t kThreads = 8;

class Threads : public PairTest {};

// `count` SENDs of `bytes` bytes from one QP to the other, each with its number in front, one after another.
void ping(Side& from, Side& to, std::uint32_t count, std::size_t bytes) {
  std::array<ibv_sge, 1> source{from.arena.sge(0, bytes)}, sink{to.arena.sge(8 * kPage, bytes)};
  for (std::uint32_t i = 0; i < count; ++i) {
    std::memcpy(from.arena.at(0), &i, sizeof i);
    post_receive(to.qp.get(), sink, i);
    ibv_send_wr wr = send_wr(IBV_WR_SEND, source, i);
    post(from.qp.get(), wr);
    const ibv_wc received = take(to.receive_cq.get()), sent = take(from.send_cq.get());
    ASSERT_EQ(received.status, IBV_WC_SUCCESS) << ibv_wc_status_str(received.status);
    ASSERT_EQ(sent.status, IBV_WC_SUCCESS) << ibv_wc_status_str(sent.status);
    ASSERT_EQ(received.wr_id, i);
    const auto there = to.arena.bytes(8 * kPage, bytes), here = from.arena.bytes(0, bytes);
    ASSERT_TRUE(std::equal(there.begin(), there.end(), here.begin())) << "message " << i;
  }
}

TEST_P(Threads, EachWithDevicesOfItsOwn) {
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      Side near(0), far(GetParam() - 1);
      near.qp = make_qp(near.world, near.send_cq.get(), near.receive_cq.get());
      far.qp = make_qp(far.world, far.send_cq.get(), far.receive_cq.get());
      connect_both(near.qp.get(), near.world, far.qp.get(), far.world);
      ping(near, far, 100, 100 + 500 * t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// 8 threads post to 64 QPs of one device; one CQ and one SRQ take everything on the other side.
TEST_P(Threads, SharingDevicesCqAndSrq) {
  constexpr std::uint32_t kQps = 64, kRounds = 25, kTotal = kQps * kRounds, kBytes = 48;
  ibv_srq_init_attr init{};
  init.attr = {kTotal, 1, 0};
  const Owned<ibv_srq> srq = own(ibv_create_srq(b.world.pd.get(), &init), "ibv_create_srq");
  const Owned<ibv_cq> all = b.world.cq(kTotal);
  Arena sinks(b.world, (kTotal * 64 + kPage - 1) / kPage * kPage);
  for (std::uint32_t i = 0; i < kTotal; ++i) {
    std::array<ibv_sge, 1> sink{sinks.sge(i * 64, kBytes)};
    post_receive(srq.get(), sink, i);
  }
  QpShape shape;
  shape.srq = srq.get();
  std::vector<Owned<ibv_cq>> cqs;
  std::vector<Owned<ibv_qp>> senders, receivers;
  for (std::uint32_t q = 0; q < kQps; ++q) {
    cqs.push_back(a.world.cq(64));
    senders.push_back(make_qp(a.world, cqs.back().get(), cqs.back().get()));
    receivers.push_back(make_qp(b.world, all.get(), all.get(), shape));
    connect_both(senders[q].get(), a.world, receivers[q].get(), b.world);
  }

  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        for (std::size_t q = t; q < kQps; q += kThreads) {
          std::array<ibv_sge, 1> source{a.arena.sge(q * 100, kBytes)};
          ibv_send_wr wr = send_wr(IBV_WR_SEND_WITH_IMM, source);
          wr.imm_data = round;
          post(senders[q].get(), wr);
          failures += take(cqs[q].get()).status != IBV_WC_SUCCESS;
        }
      }
    });
  }
  // Two threads poll one CQ; each completion comes to one of them.
  std::mutex lock;
  std::vector<std::uint32_t> rounds(kQps);
  std::atomic<std::uint32_t> taken{0};
  for (int poller = 0; poller < 2; ++poller) {
    threads.emplace_back([&] {
      while (taken < kTotal && failures == 0) {
        const std::lock_guard hold(lock);  // so that the order of a QP's messages can be checked
        ibv_wc wc{};
        if (ibv_poll_cq(all.get(), 1, &wc) != 1) continue;
        const auto receiver =
            std::find_if(receivers.begin(), receivers.end(), [&wc](const auto& qp) { return qp->qp_num == wc.qp_num; });
        const auto q = static_cast<std::size_t>(receiver - receivers.begin());
        const bool good = wc.status == IBV_WC_SUCCESS && q < kQps && wc.imm_data == rounds[q]++ &&
                          std::memcmp(sinks.at(wc.wr_id * 64), a.arena.at(q * 100), kBytes) == 0;
        failures += !good;
        ++taken;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(taken, kTotal);
}

// Threads that post to one QP: every message arrives once.
TEST_P(Threads, SharingOneQp) {
  constexpr std::uint32_t kEach = 100, kTotal = kEach * kThreads;
  QpShape shape;
  shape.wrs = kTotal;
  reconnect(shape);
  std::array<ibv_sge, 1> source{a.arena.sge(0, 16)}, sink{b.arena.sge(kPage, 16)};
  for (std::uint32_t i = 0; i < kTotal; ++i) post_receive(b.qp.get(), sink, i);
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < kEach; ++i) {
        ibv_send_wr wr = send_wr(IBV_WR_SEND_WITH_IMM, source);
        wr.imm_data = t * kEach + i;
        post(a.qp.get(), wr);
      }
    });
  }
  std::vector<bool> seen(kTotal);
  for (std::uint32_t i = 0; i < kTotal; ++i) {
    const ibv_wc wc = take(b.receive_cq.get());
    ASSERT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
    ASSERT_EQ(wc.wr_id, i);
    ASSERT_LT(wc.imm_data, kTotal);
    EXPECT_FALSE(seen[wc.imm_data]) << "message " << wc.imm_data;
    seen[wc.imm_data] = true;
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint32_t i = 0; i < kTotal; ++i) ASSERT_EQ(take(a.send_cq.get()).status, IBV_WC_SUCCESS);
}

// The child opens devices of its own while its parent's traffic goes on, and ends by _exit().
TEST_P(Threads, AChildOfAProgramThatGoesOn) {
  ASSERT_EQ(ibv_fork_init(), 0);
  reconnect();
  ping(a, b, 10, 100);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int status = 1;
    try {
      Side near(0), far(GetParam() - 1);
      near.qp = make_qp(near.world, near.send_cq.get(), near.receive_cq.get());
      far.qp = make_qp(far.world, far.send_cq.get(), far.receive_cq.get());
      connect_both(near.qp.get(), near.world, far.qp.get(), far.world);
      ping(near, far, 50, 2000);
      status = HasFailure() ? 2 : 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    _exit(status);
  }
  ping(a, b, 50, 3000);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  ping(b, a, 50, 3000);
}

RXNIC_ON_ONE_AND_TWO_NICS(Threads);

}  // namespace
}  // namespace rxnic::live::threads_test
