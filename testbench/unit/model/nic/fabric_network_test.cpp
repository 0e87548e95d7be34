// SPDX-License-Identifier: Apache-2.0
// Rules R13 to R15 of model/nic/fabric.h: frames that the network loses, corrupts, duplicates, reorders, marks, and
// lines that it pauses.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "testbench/unit/model/nic/fabric_fixture.h"

namespace rxnic::fabric_test {
namespace {

constexpr std::uint32_t kAlways = 1'000'000;
constexpr std::uint32_t kPayload = 64;

class Harms final : public QpObserver {
 public:
  void on_qp_event(const QpEvent& e, Cycle) override {
    EXPECT_EQ(e.kind, QpEventKind::kNetwork);
    EXPECT_EQ(e.number, raw(kTestQpn));
    seen.emplace_back(static_cast<NetworkHarm>(e.detail), e.packet);
  }
  using Seen = std::vector<std::pair<NetworkHarm, std::uint64_t>>;
  Seen seen;
};

std::vector<std::uint32_t> ids_of(const std::vector<Arrival>& arrivals) {
  std::vector<std::uint32_t> ids;
  for (const Arrival& a : arrivals) ids.push_back(a.id);
  return ids;
}

// What became of `count` frames that NIC 0 pushed at once for NIC 1.
struct Crossing {
  std::vector<std::uint32_t> ids;
  std::vector<Arrival> arrivals;
  FabricCounters counters;
  Harms::Seen harms;
  std::uint64_t icrc_errors = 0;
};

Crossing cross(const Params& p, std::uint32_t count, std::uint32_t nic = 0) {
  Bench bench;
  Fixture fixture(bench, p, 2);
  Harms harms;
  fixture.fabric->set_qp_observer(1 - nic, &harms);
  for (std::uint32_t i = 1; i <= count; ++i) fixture.requests[nic]->push({Cycle{0}, 1 - nic, kPayload, i});
  bench.run();
  EXPECT_TRUE(fixture.fabric->idle());
  EXPECT_EQ(fixture.record.frames.size(), count) << "what left a NIC is observed, whatever becomes of it";
  for (const Nic* one : fixture.nics) EXPECT_EQ(one->shared.packets.in_use(), 0u);
  const std::vector<Arrival>& arrivals = fixture.arrivals(1 - nic);
  return {ids_of(arrivals), arrivals, fixture.fabric->counters(), harms.seen,
          fixture.nics[1 - nic]->rx_parser.counters().icrc_errors};
}

Params only_frame(std::uint64_t number) {
  Params p = slow_link();
  p.fabric.impaired_first = p.fabric.impaired_last = number;
  return p;
}

TEST(FabricNetwork, AGivenFrameIsLost) {  // R13, R15
  Params p = only_frame(3);
  p.fabric.loss_ppm = kAlways;
  const Crossing c = cross(p, 5);
  EXPECT_EQ(c.ids, (Ids{1, 2, 4, 5}));
  EXPECT_EQ(c.counters.lost, 1u);
  EXPECT_EQ(c.counters.frames, 5u);
  EXPECT_EQ(c.harms, (Harms::Seen{{NetworkHarm::kLost, 3}}));
  const std::uint64_t line = FrameSource::line_bytes(kPayload);
  EXPECT_EQ(c.arrivals[2].when, c.arrivals[1].when + 2 * line) << "it has used its sender's line";
}

TEST(FabricNetwork, AGivenFrameIsCorrupted) {  // R13
  Params p = only_frame(3);
  p.fabric.corrupt_ppm = kAlways;
  const Crossing c = cross(p, 5);
  EXPECT_EQ(c.ids, (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(c.icrc_errors, 1u);
  EXPECT_EQ(c.counters.corrupted, 1u);
  EXPECT_EQ(c.harms, (Harms::Seen{{NetworkHarm::kCorrupted, 3}}));
}

TEST(FabricNetwork, AGivenFrameComesTwice) {  // R13
  Params p = only_frame(3);
  p.fabric.duplicate_ppm = kAlways;
  const Crossing c = cross(p, 5);
  EXPECT_EQ(c.ids, (Ids{1, 2, 3, 3, 4, 5}));
  EXPECT_EQ(c.counters.duplicated, 1u);
  EXPECT_EQ(c.harms, (Harms::Seen{{NetworkHarm::kDuplicated, 3}}));
  EXPECT_EQ(c.arrivals[2].number, 3u);
  EXPECT_EQ(c.arrivals[3].number, 3u) << "both are one frame";
  EXPECT_EQ(c.arrivals[3].when, c.arrivals[2].when + FrameSource::line_bytes(kPayload));
}

TEST(FabricNetwork, AGivenFrameIsOvertakenForItsDelay) {  // R13
  const std::uint64_t line = FrameSource::line_bytes(kPayload);
  for (const bool watches_queues : {false, true}) {
    // Held back for two frames' time, less or more a cycle: of those that come at the same time the older is first.
    for (const std::uint64_t delay : {2 * line - 1, 2 * line, 2 * line + 1}) {
      Params p = only_frame(2);
      if (watches_queues) p.fabric.ecn_threshold_bytes = 1'000'000;
      p.fabric.reorder_ppm = kAlways;
      p.fabric.reorder_delay_ps = delay * 1000;
      const Crossing c = cross(p, 5);
      EXPECT_EQ(c.ids, delay > 2 * line ? (Ids{1, 3, 4, 2, 5}) : (Ids{1, 3, 2, 4, 5})) << "delay " << delay;
      EXPECT_EQ(c.counters.reordered, 1u);
      EXPECT_EQ(c.harms, (Harms::Seen{{NetworkHarm::kReordered, 2}}));
    }
  }
}

TEST(FabricNetwork, ADuplicateIsAsTheFrameLeft) {  // R13
  Params p = only_frame(1);
  p.fabric.duplicate_ppm = p.fabric.corrupt_ppm = p.fabric.reorder_ppm = kAlways;
  p.fabric.reorder_delay_ps = 1'000'000'000;
  const Crossing c = cross(p, 2);
  EXPECT_EQ(c.ids, (Ids{1, 2, 1}));
  EXPECT_EQ(c.icrc_errors, 1u);
  EXPECT_EQ(c.arrivals[0].payload, counting_bytes(kPayload, 1)) << "the first to come is the duplicate";
  EXPECT_EQ(c.harms.size(), 3u);
}

TEST(FabricNetwork, MarksAreMadeOfCapableFrames) {  // R13
  Params p = slow_link();
  p.fabric.mark_ppm = 500'000;
  const Crossing c = cross(p, 200);
  const auto marked = std::ranges::count_if(c.arrivals, [](const Arrival& a) { return a.congested; });
  EXPECT_NEAR(static_cast<double>(marked), 100, 30);
  EXPECT_EQ(c.counters.ecn_marked, static_cast<std::uint64_t>(marked));
  EXPECT_EQ(c.icrc_errors, 0u);
  EXPECT_TRUE(c.harms.empty()) << "a mark is no harm";
}

TEST(FabricNetwork, APauseHoldsTheWholeLine) {  // R14
  const std::uint64_t line = FrameSource::line_bytes(kPayload);
  constexpr std::uint64_t kPause = 5000;
  for (const bool response : {false, true}) {
    Params p = only_frame(2);
    p.fabric.pause_ppm = kAlways;
    p.fabric.pause_ps = kPause * 1000;
    Bench bench;
    Fixture fixture(bench, p, 2);
    for (std::uint32_t i = 1; i <= 2; ++i) fixture.requests[0]->push({Cycle{0}, 1, kPayload, i});
    (response ? fixture.answers : fixture.requests)[0]->push({Cycle{2 * line}, 1, kPayload, 3});
    bench.run_to(Cycle{2 * line + 1000});
    EXPECT_FALSE(fixture.fabric->idle()) << "a frame waits for the paused line";
    bench.run();
    const std::vector<Arrival>& came = fixture.arrivals(1);
    ASSERT_EQ(ids_of(came), (Ids{1, 2, 3}));
    EXPECT_EQ(came[1].when, came[0].when + line);
    EXPECT_EQ(came[2].when, came[1].when + kPause + line);
    EXPECT_EQ(fixture.fabric->counters().pauses, 1u);
    EXPECT_EQ(fixture.fabric->counters().paused, 0u) << "that counts R5's";
  }
}

TEST(FabricNetwork, OneSendersFramesAlone) {  // R13
  Params p = slow_link();
  p.fabric.loss_ppm = kAlways;
  p.fabric.impaired_sender = 1;
  EXPECT_EQ(cross(p, 5, 0).ids.size(), 5u);
  EXPECT_EQ(cross(p, 5, 1).ids.size(), 0u);
}

TEST(FabricNetwork, LoopbackComesToNoHarm) {  // R13
  Params p = slow_link();
  p.fabric.loss_ppm = kAlways;
  Bench bench;
  Fixture fixture(bench, p, 2);
  fixture.requests[0]->push({Cycle{0}, 0, kPayload, 1});
  fixture.requests[0]->push({Cycle{0}, kEverybody, kPayload, 2});
  bench.run();
  EXPECT_EQ(fixture.arrivals(0).size(), 2u);
  EXPECT_TRUE(fixture.arrivals(1).empty());
  EXPECT_EQ(fixture.fabric->counters().lost, 1u);
}

TEST(FabricNetwork, CopiesToEverybodyHaveFatesOfTheirOwn) {  // R13, R14
  Params p = slow_link();
  p.fabric.loss_ppm = 500'000;
  p.fabric.pause_ppm = kAlways;
  Bench bench;
  Fixture fixture(bench, p, 3);
  constexpr std::uint32_t kFrames = 100;
  for (std::uint32_t i = 0; i < kFrames; ++i) fixture.requests[0]->push({Cycle{0}, kEverybody, 4, i});
  bench.run();
  EXPECT_NE(ids_of(fixture.arrivals(1)), ids_of(fixture.arrivals(2)));
  EXPECT_EQ(fixture.arrivals(0).size(), kFrames);
  EXPECT_EQ(fixture.fabric->counters().pauses, kFrames) << "one for each frame, not for each copy";
}

TEST(FabricNetwork, WhatAFullSwitchDropsIsReported) {  // R15
  Params p = slow_link();
  p.fabric.switch_full = SwitchFullPolicy::kDrop;
  p.fabric.switch_buffer_bytes = 3 * 4154;
  Bench bench;
  Fixture fixture(bench, p, 3);
  Harms harms;
  fixture.fabric->set_qp_observer(2, &harms);
  for (std::uint32_t n = 0; n < 10; ++n) {
    for (const std::uint32_t from : {0u, 1u}) fixture.requests[from]->push({Cycle{0}, 2, 4096, from * 100 + n});
  }
  bench.run();
  EXPECT_GT(fixture.fabric->counters().dropped, 0u);
  EXPECT_EQ(harms.seen.size(), fixture.fabric->counters().dropped);
  for (const auto& [what, packet] : harms.seen) EXPECT_EQ(what, NetworkHarm::kSwitchFull);
}

TEST(FabricNetwork, OneSeedOneResult) {  // R13
  const auto lost = [](std::uint64_t seed) {
    Params p = slow_link();
    p.fabric.loss_ppm = 200'000;
    p.fabric.impairment_seed = seed;
    return cross(p, 200).ids;
  };
  EXPECT_EQ(lost(1), lost(1));
  EXPECT_NE(lost(1), lost(2));
  EXPECT_NEAR(static_cast<double>(lost(1).size()), 160, 25);
}

TEST(FabricNetwork, AllModesAgree) {
  const std::uint64_t seed = test_seed(20);
  for (const bool drops : {false, true}) {
    expect_equal_in_all_modes(
        [&](Bench& bench) {
          std::mt19937_64 random(seed);
          Params p = slow_link();
          p.nic.link_gbps = 100;
          p.nic.clock_period_ps = 700;
          p.fabric.loss_ppm = p.fabric.corrupt_ppm = p.fabric.duplicate_ppm = p.fabric.reorder_ppm = 100'000;
          p.fabric.mark_ppm = p.fabric.pause_ppm = 100'000;
          p.fabric.reorder_delay_ps = 1'000'000;
          p.fabric.pause_ps = 100'000;
          if (drops) p.fabric.switch_full = SwitchFullPolicy::kDrop;
          Fixture fixture(bench, p, 3);
          for (std::uint32_t n = 0; n < 3; ++n) {
            Cycle when{}, when_answered{};
            for (std::uint32_t i = 0; i < 150; ++i) {
              when += random() % 200;
              when_answered += random() % 200;
              const std::uint64_t to = random() % 12;
              fixture.requests[n]->push({when, to == 0 ? kEverybody : static_cast<std::uint32_t>(to % 3),
                                         static_cast<std::uint32_t>(random() % 256) * 4, i});
              fixture.answers[n]->push({when_answered, static_cast<std::uint32_t>(random() % 3), 4, 1000 + i});
            }
          }
          bench.run();
          const FabricCounters& c = fixture.fabric->counters();
          for (const std::uint64_t n : {c.lost, c.corrupted, c.duplicated, c.reordered, c.ecn_marked, c.pauses}) {
            EXPECT_GT(n, 0u);
          }
          EXPECT_TRUE(fixture.fabric->idle());
          for (const Nic* nic : fixture.nics) EXPECT_EQ(nic->shared.packets.in_use(), 0u);
          return bench.state_hash();
        },
        700);
  }
}

}  // namespace
}  // namespace rxnic::fabric_test
