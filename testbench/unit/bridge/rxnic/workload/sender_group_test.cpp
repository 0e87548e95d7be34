// SPDX-License-Identifier: Apache-2.0
// When senders send, and which QP is next: rules of sender_group.h.
#include "bridge/rxnic/workload/sender_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "model/types/tag_matching.h"
#include "traces/mpi_tag.h"

namespace rxnic {
namespace {

using Qps = std::vector<std::uint32_t>;
constexpr std::uint64_t kLinkGbps = 100;

class SenderGroupTest : public testing::Test {
 protected:
  SenderGroupTest() {
    page.seed = 54;
    page.senders.emplace_back();
  }
  SendersPage& senders() { return page.senders.front(); }
  // After the page is complete.
  SenderGroup& group() {
    if (!layout_) {
      layout_.emplace(page);
      group_.emplace(page, *layout_, 0, kLinkGbps, nullptr, tagged);
      for (std::uint32_t qp = 0; qp < layout_->qps(); ++qp) qps.emplace_back(&limits, Psn{0});
    }
    return *group_;
  }
  Qps begin() {
    Qps post;
    group().begin(post);
    return post;
  }
  Qps answered(std::uint32_t qp) {
    Qps post;
    group().answered(qp, post);
    return post;
  }

  WorkloadPage page;
  SenderQp::Limits limits;
  std::uint64_t tagged = 0;
  std::vector<SenderQp> qps;

 private:
  std::optional<WorkloadLayout> layout_;
  std::optional<SenderGroup> group_;
};

TEST_F(SenderGroupTest, ClosedLoopFillsTheWindowAndAnAnswerPostsTheNext) {
  senders().qps = 2;
  senders().window = 3;
  EXPECT_EQ(begin(), (Qps{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(answered(1), (Qps{1}));
  EXPECT_FALSE(group().next_arrival());
}

TEST_F(SenderGroupTest, QpsOfPeersTakeTurns) {
  senders().peers = 3;
  senders().qps = 2;
  const WorkloadLayout layout(page);
  ASSERT_EQ(layout.qps(), 6u);
  for (std::uint32_t qp = 0; qp < 6; ++qp) EXPECT_EQ(layout.place(qp).peer, qp % 3);
}

TEST_F(SenderGroupTest, PoissonArrivalsHaveExponentialDistances) {
  senders().arrivals = ArrivalKind::kPoisson;
  senders().interval = 1'000'000;
  constexpr int kArrivals = 20000;
  std::vector<double> distances;
  std::uint64_t last = 0;
  for (int i = 0; i < kArrivals; ++i) {
    const std::uint64_t time = *group().next_arrival();
    distances.push_back(static_cast<double>(time - last));
    last = time;
  }
  std::ranges::sort(distances);
  double most = 0;  // Kolmogorov-Smirnov
  for (int i = 0; i < kArrivals; ++i) {
    const double f = 1 - std::exp(-distances[i] / 1e6);
    most = std::max({most, f - static_cast<double>(i) / kArrivals, static_cast<double>(i + 1) / kArrivals - f});
  }
  EXPECT_LT(most, 1.949 / std::sqrt(kArrivals)) << "seed " << page.seed;
}

TEST_F(SenderGroupTest, ConstantArrivalsKeepTheirDistance) {
  senders().arrivals = ArrivalKind::kConstant;
  senders().interval = 700;
  senders().start = 50;
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(group().next_arrival(), 50 + 700 * i);
}

TEST_F(SenderGroupTest, BurstsBeginWithAMessageAndEndInSilence) {
  senders().arrivals = ArrivalKind::kOnOff;
  senders().interval = 400;
  senders().on = 1000;
  senders().off = 9000;
  std::vector<std::uint64_t> times;
  for (int i = 0; i < 7; ++i) times.push_back(*group().next_arrival());
  EXPECT_EQ(times, (std::vector<std::uint64_t>{0, 400, 800, 10000, 10400, 10800, 20000}));
}

TEST_F(SenderGroupTest, LoadIsAShareOfTheLink) {
  senders().arrivals = ArrivalKind::kConstant;
  senders().bytes = 1000;
  senders().load = 40;
  group().next_arrival();
  EXPECT_EQ(group().next_arrival(), 200'000u);  // 8000 bits at 40 Gb/s
}

TEST_F(SenderGroupTest, MessagesGoToQpsInOrderInUniformAndZipfShares) {
  constexpr int kMessages = 20000;
  for (const QpChoice choice : {QpChoice::kInOrder, QpChoice::kUniform, QpChoice::kZipf}) {
    WorkloadPage one = page;
    one.senders.front().arrivals = ArrivalKind::kPoisson;
    one.senders.front().qps = 8;
    one.senders.front().choice = choice;
    const WorkloadLayout layout(one);
    SenderGroup senders_of(one, layout, 0, kLinkGbps, nullptr, tagged);
    const std::vector<SenderQp> idle(8, SenderQp(&limits, Psn{0}));
    std::array<double, 8> counts{};
    for (int i = 0; i < kMessages; ++i) counts.at(*senders_of.arrive(idle)) += 1;
    double sum = 0, statistic = 0;
    const auto share = [&](int k) { return choice == QpChoice::kZipf ? 1.0 / (k + 1) : 1.0; };
    for (int k = 0; k < 8; ++k) sum += share(k);
    for (int k = 0; k < 8; ++k) {
      const double expected = kMessages * share(k) / sum;
      statistic += (counts[static_cast<std::size_t>(k)] - expected) * (counts[static_cast<std::size_t>(k)] - expected) /
                   expected;
    }
    EXPECT_LT(statistic, 24.32) << "chi-square at 0.999 with 7 degrees of freedom, seed " << page.seed;
    EXPECT_EQ(statistic == 0, choice == QpChoice::kInOrder);
  }
}

TEST_F(SenderGroupTest, SoManyMessagesInSuccessionGoToOneQp) {
  senders().arrivals = ArrivalKind::kConstant;
  senders().qps = 3;
  senders().burst = 2;
  Qps chosen;
  group();
  for (int i = 0; i < 6; ++i) chosen.push_back(*group().arrive(qps));
  EXPECT_EQ(chosen, (Qps{0, 0, 1, 1, 2, 2}));
}

TEST_F(SenderGroupTest, AMessageWaitsForItsQpsWindow) {
  senders().arrivals = ArrivalKind::kConstant;
  senders().window = 1;
  group();
  EXPECT_EQ(group().arrive(qps), 0u);
  EXPECT_FALSE(group().take_waiting(0));
  qps[0].post(group().message());
  EXPECT_FALSE(group().arrive(qps));
  EXPECT_TRUE(group().take_waiting(0));
  EXPECT_FALSE(group().take_waiting(0));
}

TEST_F(SenderGroupTest, IncastBeginsTheNextRoundBehindTheLastAnswer) {
  senders().arrivals = ArrivalKind::kIncast;
  senders().peers = 3;
  EXPECT_EQ(begin(), (Qps{0, 1, 2}));
  EXPECT_EQ(answered(2), Qps{});
  EXPECT_EQ(answered(0), Qps{});
  EXPECT_EQ(answered(1), (Qps{0, 1, 2}));
}

TEST_F(SenderGroupTest, IncastGoesOnWithoutAQpThatFailed) {
  senders().arrivals = ArrivalKind::kIncast;
  senders().peers = 3;
  begin();
  answered(0), answered(1);
  Qps post;
  group().failed(2, post);
  EXPECT_EQ(post, (Qps{0, 1}));
  EXPECT_EQ(answered(0), Qps{});
  EXPECT_EQ(answered(1), (Qps{0, 1}));
}

TEST_F(SenderGroupTest, AllToAllStepsFromPeerToPeer) {
  senders().arrivals = ArrivalKind::kAllToAll;
  senders().peers = 2;
  senders().qps = 2;
  senders().bytes = 900;
  EXPECT_EQ(begin(), (Qps{0, 2}));
  EXPECT_EQ(group().message().bytes, 300u) << "a third: two peers and the NIC";
  EXPECT_EQ(answered(0), Qps{});
  EXPECT_EQ(answered(2), (Qps{1, 3}));
  answered(3);
  EXPECT_EQ(answered(1), (Qps{0, 2}));
}

TEST_F(SenderGroupTest, RingSendsChunksFromTheFirstPeer) {
  senders().arrivals = ArrivalKind::kRing;
  senders().peers = 3;
  senders().qps = 2;
  senders().bytes = 4000;
  EXPECT_EQ(begin(), (Qps{0, 3}));
  EXPECT_EQ(group().message().bytes, 1000u);
  EXPECT_EQ(answered(3), (Qps{3}));
}

TEST_F(SenderGroupTest, KindsHaveTheSharesOfTheirWeights) {
  senders().mix = {.send = 1, .read = 3, .fetch_add = 2};
  std::map<SendOpcode, double> counts;
  constexpr int kMessages = 12000;
  for (int i = 0; i < kMessages; ++i) counts[group().message().kind->opcode] += 1;
  const double statistic = std::pow(counts[SendOpcode::kSend] - 2000, 2) / 2000 +
                           std::pow(counts[SendOpcode::kRead] - 6000, 2) / 6000 +
                           std::pow(counts[SendOpcode::kFetchAdd] - 4000, 2) / 4000;
  EXPECT_LT(statistic, 13.82) << "chi-square at 0.999 with 2 degrees of freedom, seed " << page.seed;
  EXPECT_EQ(counts.size(), 3u);
}

TEST_F(SenderGroupTest, AtomicsGoToTheRegionsAsWritesDo) {  // region_targets.h R3
  page.receiver.regions = 8;
  page.receiver.region_bytes = 4096;
  senders().mix = {.send = 0, .compare_swap = 1, .fetch_add = 1};
  std::set<std::uint64_t> places;
  std::set<std::uint32_t> keys;
  for (int i = 0; i < 4000; ++i) {
    const SenderMessage m = group().message();
    EXPECT_EQ(m.va % 8, 0u);
    EXPECT_EQ(m.bytes, 8u);
    places.insert(m.va);
    keys.insert(raw(m.rkey));
  }
  EXPECT_EQ(keys.size(), 8u);
  EXPECT_GT(places.size(), 8 * 512u / 2) << "of 512 in each region";
}

TEST_F(SenderGroupTest, TagsCountUpAndEagerMessagesBearThem) {
  senders().mix = {.send = 0, .eager = 1};
  senders().tags = 3;
  for (const std::uint32_t tag : {0, 1, 2, 0}) {
    const SenderMessage m = group().message();
    EXPECT_EQ(m.tag, mpi_tag(tag, 0, 0));
    EXPECT_EQ(m.bytes, 64 + kTmhBytes);
  }
}

TEST_F(SenderGroupTest, ARendezvousAnnouncesItsMessage) {
  senders().mix = {.send = 0, .rendezvous = 1};
  senders().bytes = 100'000;
  const SenderMessage m = group().message();
  EXPECT_EQ(m.bytes, kTmhBytes + kRvhBytes);
  EXPECT_EQ(m.announced, 100'000u);
}

TEST_F(SenderGroupTest, NoKeyIsInvalidatedTwice) {
  senders().mix = {.send = 0, .send_inv = 1};
  std::set<std::uint32_t> keys;
  int sends = 0;
  for (int i = 0; i < 5000; ++i) {
    const SenderMessage m = group().message();
    if (m.kind->opcode == SendOpcode::kSend) {
      ++sends;
    } else {
      keys.insert(m.immediate);
    }
  }
  EXPECT_EQ(keys.size(), 4096u);
  EXPECT_EQ(sends, 5000 - 4096);
}

}  // namespace
}  // namespace rxnic
