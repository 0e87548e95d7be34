// SPDX-License-Identifier: Apache-2.0
// Rules R1..R12 of model/nic/fabric.h.
#include "model/nic/fabric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "testbench/unit/model/nic/fabric_fixture.h"

namespace rxnic::fabric_test {
namespace {

TEST(Fabric, AFrameTakesItsLengthTheSwitchAndBothCables) {  // R1
  // Pushed in cycle 9, it starts in cycle 10.
  const std::uint64_t due = 10 + FrameSource::line_bytes(64) + kAcross;
  for (const std::uint64_t until : {due - 1, due}) {
    Bench bench;
    Fixture fixture(bench, slow_link(), 2);
    fixture.requests[0]->push({Cycle{9}, 1, 64, 7});
    bench.run_to(Cycle{until});
    EXPECT_EQ(fixture.nics[1]->wire_in.transfers(), until == due ? 1u : 0u) << "cycle " << until;
    EXPECT_EQ(fixture.fabric->idle(), until == due);
  }
}

TEST(Fabric, ANicIsGivenAFrameWhenItsFirstBytesHaveCome) {  // R12
  Params p = slow_link();
  p.wire.cut_through_bytes = 256;
  const std::uint64_t first = 10 + kAcross, bytes = FrameSource::line_bytes(1000);
  for (const std::uint64_t until : {first + 255, first + 256}) {
    Bench bench;
    Fixture fixture(bench, p, 2);
    fixture.requests[0]->push({Cycle{9}, 1, 1000, 1});
    bench.run_to(Cycle{until});
    EXPECT_EQ(fixture.nics[1]->wire_in.transfers(), until == first + 256 ? 1u : 0u) << "cycle " << until;
  }
  Bench bench;
  Fixture fixture(bench, p, 2);
  fixture.requests[0]->push({Cycle{9}, 1, 1000, 1});
  fixture.requests[0]->push({Cycle{9}, 1, 1000, 2});
  fixture.requests[0]->push({Cycle{9}, 1, 64, 3});
  bench.run();
  ASSERT_EQ(fixture.arrivals(1).size(), 3u);
  EXPECT_EQ(fixture.arrivals(1)[0].when, Cycle{first + 256});
  EXPECT_EQ(fixture.arrivals(1)[1].when, Cycle{first + bytes + 256}) << "the line carries one after the other";
  EXPECT_EQ(fixture.arrivals(1)[2].when, Cycle{first + 2 * bytes + FrameSource::line_bytes(64)})
      << "a shorter one whole";
}

TEST(Fabric, WhatArrivesIsWhatWasSent) {  // R1
  Bench bench;
  Fixture fixture(bench, slow_link(), 2);
  fixture.requests[0]->push({Cycle{0}, 1, 1024, 7});
  bench.run();
  ASSERT_EQ(fixture.arrivals(1).size(), 1u);
  EXPECT_EQ(fixture.arrivals(1)[0].payload, counting_bytes(1024, 7));
  EXPECT_EQ(fixture.arrivals(1)[0].posted, Cycle{1007});
  EXPECT_EQ(fixture.nics[1]->rx_parser.counters().icrc_errors, 0u);
  EXPECT_EQ(fixture.fabric->counters().frames, 1u);
  EXPECT_EQ(fixture.fabric->counters().bytes, FrameSource::line_bytes(1024) - 24);
}

// Also where neither a byte nor the delay is a whole number of cycles: rounding errors do not add up.
TEST(Fabric, FramesFollowEachOtherWithoutAGap) {  // R1
  Params p = slow_link();
  p.nic.clock_period_ps = 2325;
  p.nic.link_gbps = 100;
  p.fabric.switch_latency_ps = 1;
  Bench bench(EngineMode::kFast, 2325);
  Fixture fixture(bench, p, 2);
  constexpr std::uint32_t kFrames = 200;
  for (std::uint32_t i = 0; i < kFrames; ++i) fixture.requests[0]->push({Cycle{0}, 1, 64, i});
  bench.run();
  ASSERT_EQ(fixture.arrivals(1).size(), kFrames);
  for (std::uint64_t i = 0; i < kFrames; ++i) {
    const std::uint64_t last_byte_ps = 2325 + (i + 1) * FrameSource::line_bytes(64) * 80 + 1 + 20'000;
    ASSERT_EQ(fixture.arrivals(1)[i].when.count, (last_byte_ps + 2324) / 2325) << "frame " << i;
  }
}

TEST(Fabric, RequestsAndAnswersTakeTurns) {  // R2
  Bench bench;
  Fixture fixture(bench, slow_link(), 2);
  for (std::uint32_t i = 0; i < 10; ++i) {
    fixture.requests[0]->push({Cycle{0}, 1, 256, i});
    fixture.answers[0]->push({Cycle{0}, 1, 4, 100 + i});
  }
  bench.run();
  ASSERT_EQ(fixture.arrivals(1).size(), 20u);
  for (std::size_t i = 2; i < 20; ++i) {
    EXPECT_NE(fixture.arrivals(1)[i].id >= 100, fixture.arrivals(1)[i - 1].id >= 100) << "frame " << i;
  }
}

TEST(Fabric, NumbersOfPacketsAreThoseOfTheFramesAsTheyLeave) {  // R11
  Bench bench;
  Fixture fixture(bench, slow_link(), 3);
  // A long frame starts first and leaves after two short ones; one to everybody follows.
  fixture.requests[0]->push({Cycle{0}, 2, 2048, 1});
  fixture.requests[1]->push({Cycle{1}, 2, 64, 2});
  fixture.requests[1]->push({Cycle{1}, 0, 64, 3});
  fixture.requests[1]->push({Cycle{2}, kEverybody, 64, 4});
  fixture.answers[2]->push({Cycle{3}, 1, 4, 5});
  bench.run();
  ASSERT_EQ(fixture.record.frames.size(), 5u);
  std::size_t arrived = 0;
  for (std::uint32_t nic = 0; nic < 3; ++nic) {
    for (const Arrival& a : fixture.arrivals(nic)) {
      ASSERT_TRUE(a.number >= 1 && a.number <= 5) << a.number;
      EXPECT_EQ(fixture.record.frames[a.number - 1].id, a.id) << "number " << a.number;
      ++arrived;
    }
  }
  EXPECT_EQ(arrived, 4u + 3u);
  EXPECT_GT(fixture.record.frames[4].bytes, 2048u);
}

TEST(Fabric, AnswersGoAloneWhenThereAreNoRequests) {  // R2
  Bench bench;
  Fixture fixture(bench, slow_link(), 2);
  for (std::uint32_t i = 0; i < 3; ++i) fixture.answers[1]->push({Cycle{0}, 0, 4, i});
  bench.run();
  ASSERT_EQ(fixture.arrivals(0).size(), 3u);
  EXPECT_EQ(fixture.arrivals(0)[2].when.count, 1 + 3 * FrameSource::line_bytes(4) + kAcross);
}

TEST(Fabric, AnUnknownAddressIsCountedAndGoesNowhere) {  // R3
  Bench bench;
  Fixture fixture(bench, slow_link(), 3);
  fixture.requests[0]->push({Cycle{0}, kNobody, 64, 1});
  fixture.requests[0]->push({Cycle{0}, 2, 64, 2});
  bench.run();
  EXPECT_EQ(fixture.fabric->counters().unroutable, 1u);
  EXPECT_EQ(fixture.arrivals(0).size() + fixture.arrivals(1).size(), 0u);
  ASSERT_EQ(fixture.arrivals(2).size(), 1u);
  EXPECT_EQ(fixture.arrivals(2)[0].id, 2u);
  EXPECT_EQ(fixture.arrivals(2)[0].when.count, 1 + 2 * FrameSource::line_bytes(64) + kAcross)
      << "behind the unroutable frame";
}

TEST(Fabric, AMulticastFrameGoesToEverybodyAndBack) {  // R3
  Bench bench;
  Fixture fixture(bench, slow_link(), 3);
  fixture.requests[1]->push({Cycle{0}, kEverybody, 64, 1});
  bench.run();
  const std::uint64_t left = 1 + FrameSource::line_bytes(64);
  for (const std::uint32_t nic : {0u, 1u, 2u}) {
    ASSERT_EQ(fixture.arrivals(nic).size(), 1u) << "nic " << nic;
    EXPECT_EQ(fixture.arrivals(nic)[0].when.count, left + (nic == 1 ? kLoopback : kAcross)) << "nic " << nic;
  }
}

TEST(Fabric, LoopbackTakesItsLatencyInsteadOfTheSwitch) {  // R4
  const std::uint64_t due = 10 + FrameSource::line_bytes(64) + kLoopback;
  for (const std::uint64_t until : {due - 1, due}) {
    Bench bench;
    Fixture fixture(bench, slow_link(), 2);
    fixture.requests[0]->push({Cycle{9}, 0, 64, 7});
    bench.run_to(Cycle{until});
    EXPECT_EQ(fixture.nics[0]->wire_in.transfers(), until == due ? 1u : 0u) << "cycle " << until;
    EXPECT_EQ(fixture.fabric->counters().loopback, 1u);
    EXPECT_EQ(fixture.fabric->counters().frames, 0u);
  }
}

TEST(Fabric, SendersShareAReceiversLineEvenly) {  // R1, R6
  Bench bench;
  Fixture fixture(bench, slow_link(), 4);
  constexpr std::uint32_t kEach = 30;
  for (std::uint32_t i = 0; i < kEach; ++i) {
    for (const std::uint32_t from : {0u, 1u, 3u}) fixture.requests[from]->push({Cycle{0}, 2, 512, from * 100 + i});
  }
  bench.run();
  const auto& arrivals = fixture.arrivals(2);
  ASSERT_EQ(arrivals.size(), 3u * kEach);
  for (std::uint32_t i = 0; i < arrivals.size(); ++i) {
    const std::uint32_t from = std::vector<std::uint32_t>{0, 1, 3}[i % 3];
    EXPECT_EQ(arrivals[i].id, from * 100 + i / 3) << "arrival " << i;
    EXPECT_EQ(arrivals[i].when.count, 1 + (i + 1) * FrameSource::line_bytes(512) + kAcross) << "arrival " << i;
  }
}

TEST(Fabric, TheLastOfSixtyFourNicsTalksToTheFirst) {
  Bench bench;
  Fixture fixture(bench, slow_link(), 64);
  fixture.requests[63]->push({Cycle{9}, 0, 64, 1});
  fixture.requests[0]->push({Cycle{9}, 63, 64, 2});
  fixture.answers[31]->push({Cycle{9}, 32, 4, 3});
  bench.run();
  for (const auto& [to, id] : {std::pair{0u, 1u}, std::pair{63u, 2u}, std::pair{32u, 3u}}) {
    ASSERT_EQ(fixture.arrivals(to).size(), 1u) << to;
    EXPECT_EQ(fixture.arrivals(to)[0].id, id);
    EXPECT_EQ(fixture.arrivals(to)[0].when.count, 10 + FrameSource::line_bytes(id == 3 ? 4 : 64) + kAcross);
  }
  EXPECT_EQ(fixture.fabric->counters().frames, 3u);
  EXPECT_TRUE(fixture.fabric->idle());
}

TEST(Fabric, TheFirstToComeIsTheFirstToArrive) {  // R6
  Bench bench;
  Fixture fixture(bench, slow_link(), 3);
  fixture.requests[1]->push({Cycle{4}, 0, 64, 1});
  fixture.requests[2]->push({Cycle{3}, 0, 64, 2});
  bench.run();
  ASSERT_EQ(fixture.arrivals(0).size(), 2u);
  EXPECT_EQ(fixture.arrivals(0)[0].id, 2u);
  EXPECT_EQ(fixture.arrivals(0)[1].when.count - fixture.arrivals(0)[0].when.count, FrameSource::line_bytes(64));
}

TEST(Fabric, ASendersBufferIsReleasedWithTheLastByte) {  // R7
  const std::uint64_t left = 10 + FrameSource::line_bytes(64);
  for (const std::uint64_t until : {left - 2, left - 1}) {
    Bench bench;
    Fixture fixture(bench, slow_link(), 2);
    fixture.requests[0]->push({Cycle{9}, 1, 64, 7});
    bench.run_to(Cycle{until});
    const bool gone = until == left - 1;  // the last byte takes that whole cycle
    EXPECT_EQ(fixture.nics[0]->shared.packets.in_use(), gone ? 0u : 1u);
    EXPECT_EQ(fixture.record.frames.size(), gone ? 1u : 0u);
  }
}

TEST(Fabric, TheObserverIsNotifiedOfEachFrameThatLeft) {
  Bench bench;
  Fixture fixture(bench, slow_link(), 2);
  fixture.requests[0]->push({Cycle{0}, 1, 64, 1});
  fixture.requests[0]->push({Cycle{0}, kNobody, 4, 2});
  fixture.answers[1]->push({Cycle{0}, kEverybody, 256, 3});
  bench.run();
  ASSERT_EQ(fixture.record.frames.size(), 3u);
  const auto expect = [&](std::size_t n, std::uint32_t from, std::uint32_t to, std::size_t bytes, std::uint64_t ns) {
    EXPECT_EQ(fixture.record.frames[n].from, from);
    EXPECT_EQ(fixture.record.frames[n].to, to);
    EXPECT_EQ(fixture.record.frames[n].bytes, bytes);
    EXPECT_EQ(fixture.record.frames[n].time_ps, ns * 1000);
  };
  expect(0, 0, 1, 122, 1 + 146);
  expect(1, 0, kNobody, 62, 1 + 146 + 86);
  expect(2, 1, kEverybody, 314, 1 + 338);
}

// No QP context is cached, so that the path needs a DMA read for each packet: far slower than the line.
Params overloaded() {
  Params p = slow_link();
  p.nic.link_gbps = 400;
  p.wire.rx_buffer_bytes = 16384;
  p.fabric.switch_buffer_bytes = 16384;
  p.qp_context_cache.misses_in_flight = 1;
  return p;
}

TEST(Fabric, NothingIsLostWhenAReceiverIsTooSlow) {  // R5
  Bench bench;
  Fixture fixture(bench, overloaded(), 4);
  constexpr std::uint32_t kEach = 400;
  for (std::uint32_t i = 0; i < kEach; ++i) {
    for (const std::uint32_t from : {0u, 1u, 3u}) fixture.requests[from]->push({Cycle{0}, 2, 256, from * 1000 + i});
  }
  std::uint32_t most = 0;
  for (std::uint64_t c = 1000; c < 100'000; c += 1000) {
    bench.at(Cycle{c}, [&](Cycle) { most = std::max(most, fixture.fabric->frames_in_flight()); });
  }
  bench.run();
  const auto& arrivals = fixture.arrivals(2);
  ASSERT_EQ(arrivals.size(), 3u * kEach);
  EXPECT_GT(fixture.fabric->counters().paused, 0u);
  EXPECT_LE(most, 3u * (16384 / 314 + 2)) << "the switch holds no more than its buffers";
  EXPECT_EQ(fixture.nics[2]->rx_buffer.counters().dropped, 0u);
  std::vector<std::uint32_t> next(4, 0);
  for (const Arrival& a : arrivals) EXPECT_EQ(a.id % 1000, next[a.id / 1000]++);
  // The senders were served evenly all the time.
  for (std::size_t i = 0; i + 3 <= 3u * kEach; i += 3) {
    EXPECT_NEAR(arrivals[i].id % 1000, i / 3, 60) << "arrival " << i;
  }
}

TEST(Fabric, AnswersPassPausedRequests) {  // R5
  Bench bench;
  Fixture fixture(bench, overloaded(), 3);
  for (std::uint32_t i = 0; i < 600; ++i) fixture.requests[0]->push({Cycle{0}, 2, 256, i});
  fixture.answers[0]->push({Cycle{20'000}, 1, 4, 5000});
  fixture.answers[0]->push({Cycle{20'000}, 2, 4, 5001});
  bench.run_to(Cycle{22'000});
  EXPECT_GT(fixture.fabric->counters().paused, 0u);
  EXPECT_EQ(fixture.arrivals(1).size(), 1u);
  const std::size_t left = fixture.record.frames.size();
  EXPECT_EQ(std::count_if(fixture.record.frames.begin(), fixture.record.frames.end(),
                          [](const auto& f) { return f.bytes == 62; }),
            2)
      << "of " << left;
  bench.run();
  EXPECT_EQ(fixture.arrivals(2).size(), 601u);
}

// Frames of 122 bytes from three NICs, whose first bytes come at the same time, and one within the receiver.
std::vector<std::uint32_t> marked_at(std::uint32_t threshold) {
  Params p = slow_link();
  p.fabric.ecn_threshold_bytes = threshold;
  Bench bench;
  Fixture fixture(bench, p, 4);
  for (const std::uint32_t from : {0u, 1u, 3u}) fixture.requests[from]->push({Cycle{0}, 2, 64, from});
  fixture.requests[2]->push({Cycle{kAcross - kLoopback}, 2, 64, 2});
  bench.run();
  EXPECT_EQ(fixture.arrivals(2).size(), 4u);
  std::vector<std::uint32_t> marked;
  for (const Arrival& a : fixture.arrivals(2)) {
    if (a.congested) marked.push_back(a.id);
  }
  EXPECT_EQ(fixture.fabric->counters().ecn_marked, marked.size());
  EXPECT_EQ(fixture.nics[2]->rx_parser.counters().ecn_marked, marked.size());
  EXPECT_EQ(fixture.nics[2]->rx_parser.counters().icrc_errors, 0u);
  EXPECT_EQ(fixture.nics[2]->rx_parser.counters().passed, 4u) << "their headers are intact";
  return marked;
}

TEST(Fabric, FramesAreMarkedFromTheThresholdOn) {  // R9, R10
  EXPECT_EQ(marked_at(0), Ids{});
  EXPECT_EQ(marked_at(1), (Ids{1, 3}));
  EXPECT_EQ(marked_at(122), (Ids{1, 3}));
  EXPECT_EQ(marked_at(123), Ids{3});
  EXPECT_EQ(marked_at(244), Ids{3});
  EXPECT_EQ(marked_at(245), Ids{});
}

TEST(Fabric, AFullSwitchDropsWhatHasNoRoom) {  // R8, R10
  Params p = slow_link();
  p.fabric.switch_full = SwitchFullPolicy::kDrop;
  p.fabric.switch_buffer_bytes = 3 * 4154;  // of a pair: three frames
  Bench bench;
  Fixture fixture(bench, p, 3);
  for (std::uint32_t n = 0; n < 10; ++n) {
    for (const std::uint32_t from : {0u, 1u}) fixture.requests[from]->push({Cycle{0}, 2, 4096, from * 100 + n});
  }
  bench.run();
  std::vector<std::uint32_t> came;
  for (const Arrival& a : fixture.arrivals(2)) came.push_back(a.id);
  // One of the line's two turns is each sender's: every second frame finds three before it.
  EXPECT_EQ(came, (std::vector<std::uint32_t>{0, 100, 1, 101, 2, 102, 3, 103, 4, 104, 5, 106, 7, 108, 9}));
  EXPECT_EQ(fixture.fabric->counters().dropped, 5u);
  EXPECT_EQ(fixture.fabric->counters().paused, 0u);
  EXPECT_EQ(fixture.fabric->counters().frames, 20u);
  EXPECT_TRUE(fixture.fabric->idle());
}

TEST(Fabric, LoopbackIsPausedAndNeverDropped) {  // R8
  Params p = overloaded();
  p.fabric.switch_full = SwitchFullPolicy::kDrop;
  Bench bench;
  Fixture fixture(bench, p, 2);
  for (std::uint32_t i = 0; i < 600; ++i) fixture.requests[0]->push({Cycle{0}, 0, 256, i});
  bench.run();
  EXPECT_EQ(fixture.arrivals(0).size(), 600u);
  EXPECT_EQ(fixture.fabric->counters().dropped, 0u);
  EXPECT_GT(fixture.fabric->counters().paused, 0u);
}

TEST(Fabric, AllModesAgree) {
  const std::uint64_t seed = test_seed(20);
  enum class Kind : std::uint8_t { kFast, kSlow, kMarks, kDrops };
  for (const Kind kind : {Kind::kFast, Kind::kSlow, Kind::kMarks, Kind::kDrops}) {
    expect_equal_in_all_modes(
        [&](Bench& bench) {
          std::mt19937_64 random(seed);
          const bool slow = kind != Kind::kFast;
          Params p = slow ? overloaded() : slow_link();
          if (!slow) p.nic.link_gbps = 100;
          if (kind == Kind::kMarks || kind == Kind::kDrops) p.fabric.ecn_threshold_bytes = 2000;
          if (kind == Kind::kDrops) {
            p.fabric.switch_full = SwitchFullPolicy::kDrop;
            p.fabric.switch_buffer_bytes = 4096;
          }
          p.nic.clock_period_ps = 700;
          Fixture fixture(bench, p, 3);
          for (std::uint32_t n = 0; n < 3; ++n) {
            Cycle when{}, when_answered{};
            for (std::uint32_t i = 0; i < 150; ++i) {
              when += random() % 200;
              when_answered += random() % 200;
              const std::uint64_t to = random() % 12;
              fixture.requests[n]->push({when,
                                         to == 0   ? kEverybody
                                         : to == 1 ? kNobody
                                                   : static_cast<std::uint32_t>(to % 3),
                                         static_cast<std::uint32_t>(random() % 256) * 4, i});
              fixture.answers[n]->push({when_answered, static_cast<std::uint32_t>(random() % 3), 4, 1000 + i});
            }
          }
          bench.run();
          EXPECT_TRUE(fixture.fabric->idle());
          EXPECT_EQ(fixture.fabric->counters().ecn_marked > 0, kind == Kind::kMarks || kind == Kind::kDrops);
          EXPECT_EQ(fixture.fabric->counters().dropped > 0, kind == Kind::kDrops);
          for (const Nic* nic : fixture.nics) EXPECT_EQ(nic->shared.packets.in_use(), 0u);
          return bench.state_hash();
        },
        700);
  }
}

}  // namespace
}  // namespace rxnic::fabric_test
