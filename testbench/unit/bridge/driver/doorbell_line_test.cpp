// SPDX-License-Identifier: Apache-2.0
// Doorbells on their way to a NIC: when they arrive, and what is kept of them when the NIC takes them slowly.
#include "bridge/driver/doorbell_line.h"

#include <gmock/gmock.h>

#include "testbench/unit/model/engine/harness.h"

namespace rxnic::doorbell_line_test {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kLatency = 10;  // cycles

// Rings at given cycles and delivers, as the host bridge does.
class Ringer final : public Block {
 public:
  explicit Ringer(const sc_core::sc_module_name& name) : Block(name) {}
  void ring(Cycle when, std::uint32_t number, std::uint32_t value, DoorbellKind kind = DoorbellKind::kSend,
            bool solicited_only = false) {
    Doorbell d;
    d.kind = kind;
    d.number = number;
    d.value = value;
    d.solicited_only = solicited_only;
    d.wqe_bytes = 64;
    d.rung = when;
    rings_.push_back({when, d});
  }
  Cycle step(Cycle now) override {
    for (; next_ < rings_.size() && rings_[next_].first <= now; ++next_) {
      line.push(rings_[next_].second, now + kLatency);
    }
    const bool busy = line.deliver(out, now);
    most = std::max(most, line.size());
    Cycle next = busy ? now + 1 : line.next(now);
    if (next_ < rings_.size()) next = earliest(next, rings_[next_].first);
    return rest(now, busy ? Activity::kBusy : Activity::kStarved, next);
  }

  Out<Doorbell> out;
  DoorbellLine line;
  std::size_t most = 0;  // doorbells in the line

 private:
  std::vector<std::pair<Cycle, Doorbell>> rings_;
  std::size_t next_ = 0;
};

class DoorbellLineTest : public testing::Test {
 protected:
  std::vector<std::uint32_t> values() const {
    std::vector<std::uint32_t> found;
    for (const Doorbell& d : sink.values()) found.push_back(d.value);
    return found;
  }
  Bench bench;
  Ringer& ringer = bench.add<Ringer>("ringer");
  Sink<Doorbell>& sink = bench.sink(ringer.out, 2);
};

TEST_F(DoorbellLineTest, EachOneArrivesAfterItsLatencyInOrder) {  // R1
  ringer.ring(Cycle{5}, 1, 10);
  ringer.ring(Cycle{7}, 1, 11);
  ringer.ring(Cycle{9}, 2, 12);
  bench.run();
  EXPECT_THAT(values(), ElementsAre(10, 11, 12));
  EXPECT_EQ(sink.cycle(0), Cycle{5 + kLatency});
  EXPECT_EQ(sink.cycle(1), Cycle{7 + kLatency});
  EXPECT_EQ(sink.cycle(2), Cycle{9 + kLatency});
}

TEST_F(DoorbellLineTest, OfThoseThatWaitTheNewestValueIsKept) {  // R3
  sink.stall(Cycle{0}, Cycle{200});
  for (std::uint32_t n = 1; n <= 2; ++n) ringer.ring(Cycle{n}, 100 + n, n);  // fill the link
  for (std::uint32_t n = 0; n < 30; ++n) {
    ringer.ring(Cycle{20 + n}, 1, 1000 + n);
    ringer.ring(Cycle{20 + n}, 2, 2000 + n);
    ringer.ring(Cycle{20 + n}, 1, 3000 + n, DoorbellKind::kReceive);
  }
  bench.run();
  EXPECT_THAT(values(), ElementsAre(1, 2, 1029, 2029, 3029));
  EXPECT_EQ(sink.value(2).rung, Cycle{20});
  EXPECT_EQ(sink.value(1).wqe_bytes, 64u);
  EXPECT_EQ(sink.value(2).wqe_bytes, 0u) << "it posts several WQEs";
  EXPECT_LE(ringer.most, 3 + 3 * (kLatency + 1));
}

TEST_F(DoorbellLineTest, AnArmingForAllCompletionsStaysOne) {  // R3
  sink.stall(Cycle{0}, Cycle{200});
  for (std::uint32_t n = 1; n <= 2; ++n) ringer.ring(Cycle{n}, 100 + n, n);
  ringer.ring(Cycle{20}, 1, 5, DoorbellKind::kCqArm, false);
  ringer.ring(Cycle{21}, 1, 6, DoorbellKind::kCqArm, true);
  ringer.ring(Cycle{20}, 2, 7, DoorbellKind::kCqArm, true);
  ringer.ring(Cycle{21}, 2, 8, DoorbellKind::kCqArm, true);
  bench.run();
  ASSERT_THAT(values(), ElementsAre(1, 2, 6, 8));
  EXPECT_FALSE(sink.value(2).solicited_only);
  EXPECT_TRUE(sink.value(3).solicited_only);
}

TEST_F(DoorbellLineTest, DroppedOnesDoNotArriveAndLaterOnesDo) {  // R2
  sink.stall(Cycle{0}, Cycle{200});
  for (std::uint32_t n = 1; n <= 2; ++n) ringer.ring(Cycle{n}, 100 + n, n);
  ringer.ring(Cycle{20}, 1, 5);  // waits by then
  ringer.ring(Cycle{20}, 2, 6);
  ringer.ring(Cycle{45}, 1, 7);  // is on its way
  ringer.ring(Cycle{45}, 2, 8);
  bench.at(Cycle{50}, [&](Cycle) {
    EXPECT_TRUE(ringer.line.waits(1));
    ringer.line.drop(1);
    EXPECT_FALSE(ringer.line.waits(1));
    EXPECT_TRUE(ringer.line.waits(2));
  });
  ringer.ring(Cycle{60}, 1, 9);  // of the queue that has this number now
  bench.run();
  EXPECT_THAT(values(), ElementsAre(1, 2, 8, 9));
}

TEST(DoorbellLine, AllModesAgree) {
  expect_equal_in_all_modes([](Bench& bench) {
    auto& ringer = bench.add<Ringer>("ringer");
    auto& sink = bench.sink(ringer.out, 2);
    sink.accept_when([](Cycle now) { return now.count % 7 == 0; });
    for (std::uint32_t n = 0; n < 300; ++n) ringer.ring(Cycle{1 + n}, n % 5, n);
    bench.run();
    StateHash h;
    mix_all_of(h, sink);
    return h.value();
  });
}

}  // namespace
}  // namespace rxnic::doorbell_line_test
