// SPDX-License-Identifier: Apache-2.0
// Several threads of a program on the same queues, against a device that runs in a thread, too.
#include <atomic>
#include <thread>

#include "testbench/unit/bridge/verbs/verbs_fixture.h"

namespace rxnic::verbs::verbs_threads_test {
namespace {

constexpr std::uint64_t kWrs = 20000;

class VerbsThreads : public VerbsTest {
 protected:
  Cq& cq = make_cq(32);
  Srq& srq = make_srq(16, true);
  Qp& qp = make_qp(IBV_QPT_RC, cq, cq, &srq, 16);

  // Completes what is posted, in order: a receive for each send. No more CQEs than the CQ holds.
  void serve(const std::atomic<bool>& stop) {
    std::uint32_t sends = 0, receives = 0, slot = 0;
    const auto ring_value = [&](channel::Board board, std::uint32_t record) {
      return static_cast<std::uint32_t>(doorbell(board, record));
    };
    while (!stop.load(std::memory_order_relaxed)) {
      const std::uint32_t room = cq.slots - (produced(cq) - ring_value(channel::Board::kConsumer, cq.doorbell));
      if (room < 2) {
        std::this_thread::yield();
      } else if (sends != ring_value(channel::Board::kSend, qp.send.doorbell) &&
                 receives != ring_value(channel::Board::kReceive, srq.doorbell)) {
        complete(send_cqe(qp, sends++ % qp.send.slots));
        const std::uint32_t next = next_wqe_index({srq.ring + std::size_t{slot} * srq.stride, srq.stride}, srq.slots);
        complete(receive_cqe(qp, slot, &srq));
        slot = next;
        ++receives;
      } else {
        std::this_thread::yield();
      }
    }
  }
  // As write_slot() does it, the owner bit last: what a DMA engine guarantees and a memcpy does not.
  void complete(const Cqe& cqe) {
    std::uint32_t& index = produced(cq);
    std::uint8_t* slot = cq.ring + std::size_t{index % cq.slots} * 64;
    std::uint8_t bytes[64];
    write_slot(cqe, index++, cq.slots, 64, bytes);
    std::memcpy(slot, bytes, 63);
    std::atomic_ref(slot[63]).store(bytes[63], std::memory_order_release);
    header().completions.fetch_add(1);
  }
};

TEST_F(VerbsThreads, PostersAndPollersTogether) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> sent{0}, received{0}, sum{0};
  std::thread device_thread([&] { serve(stop); });
  const auto post_all = [&](auto&& post, std::uint64_t first) {
    for (std::uint64_t i = 0; i < kWrs / 2;) {
      if (post(first + i) == 0) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  };
  std::vector<std::thread> threads;
  for (const std::uint64_t half : {std::uint64_t{0}, kWrs / 2}) {
    threads.emplace_back([&, half] { post_all([&](std::uint64_t id) { return send(qp, id); }, half); });
    threads.emplace_back([&, half] { post_all([&](std::uint64_t id) { return receive(srq, id); }, half); });
    threads.emplace_back([&] {
      ibv_wc wcs[4];
      while (sent.load() + received.load() < 2 * kWrs) {
        const int found = poll_cq(ibv_cq_ex_to_cq(&cq.cq), 4, wcs);
        for (int i = 0; i < found; ++i) {
          (wcs[i].opcode == IBV_WC_RECV ? received : sent).fetch_add(1);
          sum.fetch_add(wcs[i].wr_id);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  device_thread.join();
  EXPECT_EQ(sent.load(), kWrs);
  EXPECT_EQ(received.load(), kWrs);
  EXPECT_EQ(sum.load(), kWrs * (kWrs - 1));  // every wr_id once for each direction
}

}  // namespace
}  // namespace rxnic::verbs::verbs_threads_test
