// SPDX-License-Identifier: Apache-2.0
// Rules R4 to R7 of model/blocks/dma_engine.h: credit of all kinds, latencies that are drawn, and the order of what
// becomes visible.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "testbench/unit/model/blocks/dma_engine_fixture.h"

namespace rxnic::dma_engine_credit_test {
namespace {

constexpr std::uint64_t kFirst = 10 + 24 + 100;  // when the host has the data of a read that can be popped in cycle 10

// Three reads of 4 bytes, pushed at once, of which `p` lets two be in flight; the third starts in cycle `start`.
void expect_the_third_waits(const DmaEngineParams& p, std::uint64_t start) {
  Bench bench;
  DmaEngineFixture fixture(bench, p);
  for (std::uint32_t i = 0; i < 3; ++i) fixture.requests[kWqeClient]->push(Cycle{9}, fixture.read(i, 4));
  fixture.requests[kCqeClient]->push(Cycle{80}, fixture.write(0, 16));  // the other kind goes on (R7)
  bench.run_to(Cycle{kFirst - 1});
  EXPECT_EQ(fixture.dut.tags_in_use(), 2u);
  EXPECT_EQ(fixture.dut.activity(), Activity::kWaitDmaCredit);
  EXPECT_EQ(fixture.dut.counters().writes, 1u);
  bench.run();
  const auto& out = *fixture.completions[kWqeClient];
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out.cycle(0), Cycle{kFirst + 24});
  EXPECT_EQ(out.cycle(1), Cycle{kFirst + 2 * 24});
  EXPECT_EQ(out.cycle(2), Cycle{start + 24 + 100 + 24});
  EXPECT_EQ(fixture.dut.tags_in_use(), 0u);
}

TEST(DmaEngineCredit, ReadsHaveRoomForTheirData) {  // R5
  DmaEngineParams p = byte_a_cycle();
  p.read_buffer_bytes = 32;
  expect_the_third_waits(p, kFirst + 24);  // the first is completed
}

TEST(DmaEngineCredit, ReadsHaveRoomForTheirCompletions) {  // R5
  DmaEngineParams p = byte_a_cycle();
  p.completion_credits = 2;
  expect_the_third_waits(p, kFirst + 24);
}

TEST(DmaEngineCredit, TheHostHoldsSoManyReads) {  // R5: until it has the data
  DmaEngineParams p = byte_a_cycle();
  p.non_posted_header_credits = 2;
  expect_the_third_waits(p, kFirst);
}

TEST(DmaEngineCredit, AReadThatIsLargerThanAllRoomStillRuns) {  // core/memory/pcie.h R5
  DmaEngineParams p = byte_a_cycle();
  p.read_buffer_bytes = 256;
  p.completion_credits = 1;
  Bench bench;
  DmaEngineFixture fixture(bench, p);
  fixture.requests[kWqeClient]->push(Cycle{9}, fixture.read(0, 512));
  bench.run();
  EXPECT_EQ(fixture.completions[kWqeClient]->size(), 1u);
}

TEST(DmaEngineCredit, TheHostHoldsSoManyOperands) {  // R5: units of 16 bytes, reads need none
  DmaEngineParams p = byte_a_cycle();
  p.atomic_operations = AtomicOperations::kPcie;
  p.non_posted_data_credits = 1;
  Bench bench;
  DmaEngineFixture fixture(bench, p);
  DmaRequest add = fixture.read(0, 8);
  add.kind = DmaKind::kFetchAdd;
  fixture.requests[kWqeClient]->push(Cycle{9}, fixture.read(0, 8));
  for (std::uint32_t i = 1; i < 3; ++i) {
    add.cookie = i;
    fixture.requests[kWqeClient]->push(Cycle{9}, add);
  }
  bench.run();
  const auto& out = *fixture.completions[kWqeClient];
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out.cycle(0), Cycle{kFirst + 28});
  const std::uint64_t ready = 10 + 24 + 32 + 100;  // of the first atomic: behind the read, 24 + 8 bytes
  EXPECT_EQ(out.cycle(1), Cycle{ready + 28});
  EXPECT_EQ(out.cycle(2), Cycle{ready + 32 + 100 + 28});
}

TEST(DmaEngineCredit, TheHostHoldsSoManyWrites) {  // R6
  DmaEngineParams p = byte_a_cycle();
  p.posted_header_credits = 2;
  Bench bench;
  DmaEngineFixture fixture(bench, p);
  fixture.write_packet(Cycle{9}, fixture.packet({8, 8, 8}));
  bench.run();
  ASSERT_EQ(fixture.payload_done.size(), 1u);
  EXPECT_EQ(fixture.payload_done.cycle(0), Cycle{10 + 32 + 50 + 32}) << "the third left when the first had landed";
}

DmaEngineParams drawn_latency() {
  DmaEngineParams p = byte_a_cycle();
  p.read_latency = ReadLatency::kRange;
  p.read_latency_min_ps = 100'000;
  p.read_latency_max_ps = 2'000'000;
  return p;
}

// The cookies of 200 reads of a client, as they are completed.
std::vector<std::uint32_t> completed(DmaClient client, std::uint32_t bytes) {
  const auto c = static_cast<std::size_t>(client);
  Bench bench;
  DmaEngineFixture fixture(bench, drawn_latency());
  for (std::uint32_t i = 0; i < 200; ++i) fixture.requests[c]->push(Cycle{9}, fixture.read(i, bytes));
  bench.run();
  EXPECT_EQ(fixture.dut.tags_in_use(), 0u);
  std::vector<std::uint32_t> cookies;
  for (std::size_t i = 0; i < fixture.completions[c]->size(); ++i) {
    cookies.push_back(fixture.completions[c]->value(i).cookie);
  }
  return cookies;
}

TEST(DmaEngineCredit, OnlyTheTagCamsReadsAreCompletedInTheirOrder) {  // R9
  for (const std::uint32_t bytes : {64u, 1500u}) {                    // of one TLP, and of three
    std::vector<std::uint32_t> cookies = completed(DmaClient::kTag, bytes);
    ASSERT_EQ(cookies.size(), 200u);
    EXPECT_TRUE(std::ranges::is_sorted(cookies));
    for (const DmaClient client : {DmaClient::kContext, DmaClient::kWqe, DmaClient::kSendPayload}) {
      cookies = completed(client, bytes);
      ASSERT_EQ(cookies.size(), 200u);
      EXPECT_FALSE(std::ranges::is_sorted(cookies)) << static_cast<int>(client);
      std::ranges::sort(cookies);
      for (std::uint32_t i = 0; i < 200; ++i) EXPECT_EQ(cookies[i], i) << "each once";
    }
  }
}

TEST(DmaEngineCredit, GatheredResponsesComeWhenTheirDataIsComplete) {  // R9, R12
  Bench bench;
  DmaEngineFixture fixture(bench, drawn_latency());
  auto& fences = bench.source(fixture.dut.fences);
  auto& fenced = bench.sink(fixture.dut.fenced);
  std::vector<PacketHandle> asked;
  for (std::uint32_t i = 0; i < 20; ++i) {
    const auto segments = fixture.response({64, 700});
    asked.push_back(segments[0].buffer);
    fixture.gather_response(Cycle{9}, segments);
  }
  fences.push(Cycle{9}, {false, DmaClient::kWqe, 30});
  bench.run();
  ASSERT_EQ(fixture.gathered.size(), asked.size());
  std::vector<std::size_t> places;
  Cycle fifteen{};
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto at = std::ranges::find(asked, fixture.gathered.value(i).buffer);
    ASSERT_NE(at, asked.end());
    places.push_back(static_cast<std::size_t>(at - asked.begin()));
    if (places.back() < 15) fifteen = fixture.gathered.cycle(i);
  }
  EXPECT_FALSE(std::ranges::is_sorted(places));
  ASSERT_EQ(fenced.size(), 1u);
  EXPECT_EQ(fenced.cycle(0), fifteen) << "the first 30 segments are those of 15 responses, in whichever order";
}

TEST(DmaEngineCredit, ASlowReadKeepsOnlyItsOwnTag) {  // R5, R9
  DmaEngineParams p = drawn_latency();
  p.tags = 2;
  p.read_latency = ReadLatency::kTable;  // one read in ten takes 50 us
  p.read_latency_p50_ps = p.read_latency_p90_ps = p.read_latency_min_ps;
  p.read_latency_p99_ps = p.read_latency_p999_ps = p.read_latency_max_ps = 50'000'000;
  for (const DmaClient client : {DmaClient::kWqe, DmaClient::kTag}) {
    const auto c = static_cast<std::size_t>(client);
    Bench bench;
    DmaEngineFixture fixture(bench, p);
    for (std::uint32_t i = 0; i < 40; ++i) fixture.requests[c]->push(Cycle{9}, fixture.read(i, 64));
    bench.run();
    std::size_t apart = 0;
    for (std::size_t i = 1; i < 40; ++i) {
      apart += fixture.completions[c]->cycle(i).count - fixture.completions[c]->cycle(i - 1).count > 10'000;
    }
    EXPECT_GT(fixture.completions[c]->cycle(39).count, 10'000u) << "some were slow";
    EXPECT_LT(fixture.completions[c]->cycle(39).count, 200'000u) << "and those behind them were not";
    EXPECT_LE(apart, 4u);
  }
}

// A write of 64 bytes leaves in 10 + 88 and is visible in 598. A read of 64 bytes behind the write leaves in 98 + 24,
// and its latency ends in 222.
DmaEngineParams slow_write(bool relaxed) {
  DmaEngineParams p = byte_a_cycle();
  p.write_latency_ps = 500'000;
  p.relaxed_ordering = relaxed;
  return p;
}

TEST(DmaEngineCredit, AReadFollowsTheWritesBeforeIt) {  // R5
  for (const bool relaxed : {false, true}) {
    Bench bench;
    DmaEngineFixture fixture(bench, slow_write(relaxed));
    fixture.requests[kCqeClient]->push(Cycle{9}, fixture.write(1, 64));
    fixture.requests[kWqeClient]->push(Cycle{20}, fixture.read(2, 64));
    bench.run();
    ASSERT_EQ(fixture.completions[kWqeClient]->size(), 1u);
    EXPECT_EQ(fixture.completions[kWqeClient]->cycle(0), Cycle{598 + 84});
  }
}

TEST(DmaEngineCredit, RelaxedPayloadIsReadBeforeTheWritesBeforeIt) {  // R5
  constexpr auto kSendPayload = static_cast<std::size_t>(DmaClient::kSendPayload);
  for (const bool relaxed : {false, true}) {
    const Cycle expected{(relaxed ? 222u : 598u) + 84};
    for (const bool gathers : {false, true}) {
      Bench bench;
      DmaEngineFixture fixture(bench, slow_write(relaxed));
      fixture.requests[kCqeClient]->push(Cycle{9}, fixture.write(1, 64));
      if (gathers) {
        fixture.gather_response(Cycle{20}, fixture.response({64}));
      } else {
        fixture.requests[kSendPayload]->push(Cycle{20}, fixture.read(2, 64));
      }
      bench.run();
      ASSERT_EQ(fixture.gathered.size() + fixture.completions[kSendPayload]->size(), 1u);
      EXPECT_EQ(gathers ? fixture.gathered.cycle(0) : fixture.completions[kSendPayload]->cycle(0), expected);
    }
  }
}

TEST(DmaEngineCredit, AReadPassesAnotherClientsSlowerOne) {  // R5
  Bench bench;
  DmaEngineFixture fixture(bench, drawn_latency());
  std::array<std::size_t, 2> clients{kContextClient, kWqeClient};
  for (std::uint32_t i = 0; i < 50; ++i) {
    for (const std::size_t c : clients) fixture.requests[c]->push(Cycle{10 + 10'000 * i}, fixture.read(i, 64));
  }
  bench.run();
  std::uint32_t passed[2] = {};
  for (std::uint32_t i = 0; i < 50; ++i) {
    const Cycle first = fixture.completions[kContextClient]->cycle(i),
                second = fixture.completions[kWqeClient]->cycle(i);
    ++passed[second < first];
    const std::uint64_t sent = 11 + 10'000 * i + 24;
    for (const Cycle c : {first, second}) {
      EXPECT_GE(c.count, sent + 100 + 84);
      EXPECT_LE(c.count, sent + 24 + 2000 + 2 * 84);
    }
  }
  EXPECT_GT(passed[0], 10u);
  EXPECT_GT(passed[1], 10u);
}

TEST(DmaEngineCredit, ASlowReadDoesNotHoldUpTheLink) {  // R5, R9
  DmaEngineParams p = drawn_latency();
  p.read_latency = ReadLatency::kTable;
  p.read_latency_p50_ps = p.read_latency_p90_ps = p.read_latency_min_ps;
  p.read_latency_p99_ps = p.read_latency_p999_ps = p.read_latency_max_ps = 50'000'000;
  int apart = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    p.latency_seed = seed;
    Bench bench;
    DmaEngineFixture fixture(bench, p);
    for (std::uint32_t i = 0; i < 20; ++i) {
      fixture.requests[i % 2 == 0 ? kContextClient : kWqeClient]->push(Cycle{9}, fixture.read(i, 64));
    }
    bench.run();
    const std::uint64_t first = fixture.completions[kContextClient]->cycle(9).count;
    const std::uint64_t second = fixture.completions[kWqeClient]->cycle(9).count;
    apart += std::max(first, second) > 10'000 && std::min(first, second) < 3'000;
  }
  EXPECT_GT(apart, 2) << "one client had a slow read, and the other did not wait for it";
}

TEST(DmaEngineCredit, LatenciesAreThoseOfTheSeed) {
  const auto last = [](std::uint64_t seed) {
    DmaEngineParams p = drawn_latency();
    p.latency_seed = seed;
    Bench bench;
    DmaEngineFixture fixture(bench, p);
    fixture.requests[kWqeClient]->push(Cycle{9}, fixture.read(0, 64));
    bench.run();
    return fixture.completions[kWqeClient]->cycle(0);
  };
  EXPECT_EQ(last(1), last(1));
  EXPECT_NE(last(1), last(2));
}

DmaEngineParams late_writes(bool relaxed) {
  DmaEngineParams p = byte_a_cycle();
  p.write_latency_spread_ps = 2'000'000;
  p.relaxed_ordering = relaxed;
  return p;
}

// When packets of one write of 64 bytes, one behind the other on the link, are visible.
std::vector<Cycle> visible(bool relaxed) {
  Bench bench;
  DmaEngineFixture fixture(bench, late_writes(relaxed));
  std::vector<PacketHandle> buffers;
  for (std::uint32_t i = 0; i < 50; ++i) {
    const auto segments = fixture.packet({64});
    fixture.write_packet(Cycle{9}, segments);
    buffers.push_back(segments[0].buffer);
  }
  bench.run();
  std::vector<Cycle> out;
  for (const PacketHandle b : buffers) {
    out.push_back(fixture.shared.packets[b].stamped(Station::kHostMemory));
  }
  return out;
}

TEST(DmaEngineCredit, PayloadIsVisibleInItsOrderUnlessThatIsRelaxed) {  // R4
  const std::vector<Cycle> strict = visible(false), relaxed = visible(true);
  EXPECT_TRUE(std::ranges::is_sorted(strict));
  EXPECT_FALSE(std::ranges::is_sorted(relaxed));
  Cycle latest{};
  for (std::size_t i = 0; i < strict.size(); ++i) {
    latest = std::max(latest, relaxed[i]);
    EXPECT_EQ(strict[i], latest) << "not before those before it";
    const std::uint64_t left = 10 + 88 * (i + 1);
    EXPECT_GE(relaxed[i].count, left + 50);
    EXPECT_LE(relaxed[i].count, left + 50 + 2000);
  }
}

TEST(DmaEngineCredit, CompletionsStayBehindAllPayload) {  // R4
  for (const bool relaxed : {false, true}) {
    DmaEngineParams p = late_writes(relaxed);
    Bench bench;
    DmaEngineFixture fixture(bench, p);
    for (std::uint32_t i = 0; i < 100; ++i) {
      fixture.write_packet(Cycle{9}, fixture.packet({64}));
      fixture.requests[kCqeClient]->push(Cycle{9}, fixture.write(i, 64, 0x1000, 1));
    }
    bench.run();
    ASSERT_EQ(fixture.landed.size(), 100u);
    for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(fixture.landed.value(i).number, i);
  }
}

}  // namespace
}  // namespace rxnic::dma_engine_credit_test
