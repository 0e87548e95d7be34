// SPDX-License-Identifier: Apache-2.0
// One-way latency of a ping-pong of 32 bytes, measured by a program with the ordinary API. It begins with the device's
// clock, read before the doorbell while the model is idle and its time stands still. It ends with the receiver's
// completion timestamp, the time at which the CQE was built. verbs_check.py compares the printed median with the
// report.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "testbench/live/verbs_pair.h"

namespace rxnic::live::latency_test {
namespace {

constexpr int kRounds = 500;
constexpr std::size_t kBytes = 32;

// A side whose receive CQ writes completion timestamps.
struct TimedSide {
  explicit TimedSide(std::uint32_t nic) : world(nic), send_cq(world.cq()), arena(world, kPage) {
    ibv_cq_init_attr_ex init{};
    init.cqe = 64;
    init.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
    timed = ibv_create_cq_ex(world.context.get(), &init);
    if (timed == nullptr) throw std::runtime_error("ibv_create_cq_ex");
    receive_cq.reset(ibv_cq_ex_to_cq(timed));
    ibv_device_attr_ex attr{};
    must(ibv_query_device_ex(world.context.get(), nullptr, &attr), "ibv_query_device_ex");
    khz = static_cast<double>(attr.hca_core_clock);
    QpShape shape;
    shape.inline_bytes = kBytes;
    qp = make_qp(world, send_cq.get(), receive_cq.get(), shape);
  }

  double now_ns() const {
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    must(ibv_query_rt_values_ex(world.context.get(), &values), "ibv_query_rt_values_ex");
    return static_cast<double>(values.raw_clock.tv_sec) * 1e9 + static_cast<double>(values.raw_clock.tv_nsec);
  }

  // The clock while the model is idle: two readings in a row are as far apart as the two before.
  double quiet_ns() const {
    double before = now_ns(), apart = -1;
    for (int i = 0; i < 10000; ++i) {
      const double now = now_ns(), last = std::exchange(apart, now - before);
      if (std::abs(apart - last) < 4) return now;
      before = now;
    }
    throw std::runtime_error("the model does not become idle");
  }

  // When the next message became visible, ns.
  double take_ns() const {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    ibv_poll_cq_attr attr{};
    int found;
    while ((found = ibv_start_poll(timed, &attr)) == ENOENT) {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("no completion came");
    }
    must(found, "ibv_start_poll");
    EXPECT_EQ(timed->status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_wc_read_byte_len(timed), kBytes);
    const double ns = static_cast<double>(ibv_wc_read_completion_ts(timed)) * 1e6 / khz;
    ibv_end_poll(timed);
    return ns;
  }

  World world;
  Owned<ibv_cq> send_cq, receive_cq;
  Arena arena;
  ibv_cq_ex* timed = nullptr;
  double khz = 0;
  Owned<ibv_qp> qp;
};

struct Trip {
  double rung = 0, built = 0;  // ns: the sender's doorbell, the receiver's CQE
};
Trip trip(TimedSide& from, TimedSide& to) {
  std::array<ibv_sge, 1> source{from.arena.sge(0, kBytes)}, sink{to.arena.sge(1024, kBytes)};
  post_receive(to.qp.get(), sink);
  ibv_send_wr wr = send_wr(IBV_WR_SEND, source);
  wr.send_flags |= IBV_SEND_INLINE;
  Trip t;
  t.rung = from.quiet_ns();
  post(from.qp.get(), wr);
  t.built = to.take_ns();
  EXPECT_EQ(take(from.send_cq.get()).status, IBV_WC_SUCCESS);
  return t;
}

TEST(Latency, MedianOfAPingPong) {
  TimedSide a(0), b(1);
  connect_both(a.qp.get(), a.world, b.qp.get(), b.world);
  std::vector<double> samples;
  for (int i = 0; i < kRounds; ++i) {
    for (const Trip& t : {trip(a, b), trip(b, a)}) samples.push_back(t.built - t.rung);
  }
  std::nth_element(samples.begin(), samples.begin() + kRounds, samples.end());
  std::printf("one way: %zu samples, median %.1f ns to the CQE\n", samples.size(), samples[kRounds]);
}

// Model time that a program reads does not go backwards, and a completion lies between two readings around it.
TEST(Latency, ClockAndTimestampsAgree) {
  TimedSide a(0), b(1);
  connect_both(a.qp.get(), a.world, b.qp.get(), b.world);
  for (int i = 0; i < 100; ++i) {
    const double before = b.now_ns();
    const Trip t = trip(a, b);
    EXPECT_GE(t.rung, before);
    EXPECT_GT(t.built, t.rung);
    EXPECT_GE(b.now_ns(), t.built);
  }
}

}  // namespace
}  // namespace rxnic::live::latency_test
