// SPDX-License-Identifier: Apache-2.0
// What the network of a page does to frames: rules of network.h.
#include "bridge/rxnic/workload/network.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/core/wire/icrc.h"
#include "model/types/opcode.h"

namespace rxnic {
namespace {

constexpr std::uint64_t kStepPs = 1'000'000;

// What comes to the NIC: numbers of the frames sent, and times.
struct Arrived {
  std::vector<int> numbers;
  std::vector<std::uint64_t> times_ps;
  std::vector<bool> good;  // ICRC
  std::vector<bool> marked;
};

class WorkloadNetworkTest : public testing::Test {
 protected:
  // So many frames, a step apart.
  Arrived send(int frames, bool release = true) {
    WorkloadNetwork network(page, 1);
    Arrived arrived;
    std::array<std::uint8_t, 256> buffer{};
    for (int n = 1; n <= frames; ++n) {
      Headers h;
      h.encapsulation = Encapsulation::kRoceV2Ipv4;
      h.source = Address::ipv4(1);
      h.destination = Address::ipv4(2);
      h.traffic_class = 2;
      h.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
      h.psn = Psn{static_cast<std::uint32_t>(n)};
      network.begin(h);
      const std::size_t bytes = build_in_place(h, 64, buffer);
      seal({buffer.data(), bytes}, h);
      network.deliver({buffer.data(), bytes}, static_cast<std::uint64_t>(n) * kStepPs);
      take(network, arrived);
    }
    released_ps = network.release_ps();
    if (release) network.release();
    take(network, arrived);
    counts = network.counts();
    return arrived;
  }
  static void take(WorkloadNetwork& network, Arrived& arrived) {
    Bytes frame;
    std::uint64_t time_ps = 0;
    while (network.next(frame, time_ps)) {
      Headers h;
      ASSERT_EQ(parse(frame, LinkLayer::kEthernet, h), ParseStatus::kOk);
      arrived.numbers.push_back(static_cast<int>(h.psn.value));
      arrived.times_ps.push_back(time_ps);
      arrived.good.push_back(icrc_matches(frame, h));
      arrived.marked.push_back((h.traffic_class & 3) == 3);
    }
  }

  NetworkPage page;
  NetworkCounts counts;
  std::uint64_t released_ps = 0;
};

using Numbers = std::vector<int>;

TEST_F(WorkloadNetworkTest, NothingHappensByDefault) {
  const Arrived a = send(4);
  EXPECT_EQ(a.numbers, (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(a.times_ps[2], 3 * kStepPs);
  EXPECT_EQ(a.good, std::vector<bool>(4, true));
}

TEST_F(WorkloadNetworkTest, FramesAreLostByNumber) {
  page.lose = "2,4-5";
  EXPECT_EQ(send(6).numbers, (Numbers{1, 3, 6}));
  EXPECT_EQ(counts.lost, 3u);
}

TEST_F(WorkloadNetworkTest, FramesAreLostByRate) {
  page.loss_ppm = 100'000;
  send(10'000);
  EXPECT_NEAR(static_cast<double>(counts.lost), 1000, 100);  // more than three standard deviations
}

TEST_F(WorkloadNetworkTest, CorruptedFramesHaveAWrongIcrc) {
  page.corrupt = "2";
  EXPECT_EQ(send(3).good, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(counts.corrupted, 1u);
}

TEST_F(WorkloadNetworkTest, DuplicatesFollowTheirOriginal) {
  page.duplicate = "2";
  EXPECT_EQ(send(3).numbers, (Numbers{1, 2, 2, 3}));
}

TEST_F(WorkloadNetworkTest, SoManyFramesOvertakeAReorderedOne) {
  page.reorder = "2";
  page.reorder_depth = 2;
  const Arrived a = send(6);
  EXPECT_EQ(a.numbers, (Numbers{1, 3, 4, 2, 5, 6}));
  EXPECT_EQ(a.times_ps[3], a.times_ps[2]);
  EXPECT_EQ(counts.reordered, 1u);
}

TEST_F(WorkloadNetworkTest, AReorderedFrameDoesNotWaitForEver) {
  page.reorder = "3";
  const Arrived a = send(3);
  EXPECT_EQ(a.numbers, (Numbers{1, 2, 3}));
  EXPECT_EQ(released_ps, 3 * kStepPs + WorkloadNetwork::kLongestWaitPs);
  EXPECT_EQ(a.times_ps[2], released_ps);
}

TEST_F(WorkloadNetworkTest, MarksAreSetBeforeTheIcrc) {
  page.mark = "1";
  const Arrived a = send(2);
  EXPECT_EQ(a.marked, (std::vector<bool>{true, false}));
  EXPECT_EQ(a.good, (std::vector<bool>{true, true}));
}

TEST_F(WorkloadNetworkTest, APauseHoldsItsFrameAndWhatFollows) {
  page.pause = "2";
  page.pause_time = 5 * kStepPs;
  const Arrived a = send(4);
  EXPECT_EQ(a.times_ps[0], kStepPs);
  EXPECT_EQ(a.times_ps[1], 7 * kStepPs);
  EXPECT_EQ(a.times_ps[2], 7 * kStepPs);
  EXPECT_EQ(a.times_ps[3], 7 * kStepPs);
}

TEST_F(WorkloadNetworkTest, AnswersAreLostByTheirOwnNumbers) {
  page.lose_answers = "2";
  page.lose = "1";
  WorkloadNetwork network(page, 1);
  EXPECT_TRUE(network.answer_arrives());
  EXPECT_FALSE(network.answer_arrives());
  EXPECT_TRUE(network.answer_arrives());
  EXPECT_EQ(network.counts().answers_lost, 1u);
}

}  // namespace
}  // namespace rxnic
