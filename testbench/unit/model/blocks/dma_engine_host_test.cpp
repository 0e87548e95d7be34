// SPDX-License-Identifier: Apache-2.0
// Rules R10 and R11 of model/blocks/dma_engine.h: doorbells and tag operations down, events and interrupts up.
#include <random>

#include "testbench/unit/model/blocks/dma_engine_fixture.h"

namespace rxnic::dma_engine_host_test {
namespace {

constexpr std::uint32_t kHeader = 24;  // of a write, byte_a_cycle()

Doorbell doorbell(std::uint32_t value) { return {DoorbellKind::kReceive, false, 7, value}; }

TEST(DmaEngineHost, ADoorbellTakesItsBytesOnTheLinkDown) {  // R10
  for (const std::uint32_t bytes : {8u, 64u}) {
    Bench bench;
    DmaEngineParams params = byte_a_cycle();
    params.doorbell_bytes = bytes;
    DmaEngineFixture fixture(bench, params);
    fixture.receive_doorbells.push(Cycle{9}, doorbell(3));
    bench.run();
    ASSERT_EQ(fixture.receive_rung.size(), 1u);
    EXPECT_EQ(fixture.receive_rung.cycle(0), Cycle{10 + kHeader + bytes});
    EXPECT_EQ(fixture.receive_rung.value(0).value, 3u);
    EXPECT_EQ(fixture.receive_rung.value(0).number, 7u);
    EXPECT_EQ(fixture.dut.counters().doorbells, 1u);
    EXPECT_EQ(fixture.dut.counters().tlps_down, 1u);
    EXPECT_EQ(fixture.dut.counters().link_bytes_down, kHeader + bytes);
    EXPECT_EQ(fixture.dut.counters().link_bytes_up, 0u);
  }
}

TEST(DmaEngineHost, WritesOfAllKindsShareTheLinkDownInOrder) {  // R10
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  fixture.send_doorbells.push(Cycle{9}, doorbell(1));
  fixture.receive_doorbells.push(Cycle{9}, doorbell(2));
  fixture.completion_doorbells.push(Cycle{9}, doorbell(3));
  fixture.tag_operations.push(Cycle{9}, {});
  fixture.receive_doorbells.push(Cycle{9}, doorbell(4));
  bench.run();
  ASSERT_EQ(fixture.receive_rung.size(), 2u);
  EXPECT_EQ(fixture.receive_rung.cycle(0), Cycle{10 + 32});
  EXPECT_EQ(fixture.completion_rung.cycle(0), Cycle{10 + 2 * 32});
  EXPECT_EQ(fixture.tags_given.cycle(0), Cycle{10 + 2 * 32 + kHeader + 64});
  EXPECT_EQ(fixture.receive_rung.cycle(1), Cycle{10 + 4 * 32 + kHeader + 64}) << "begun when the first had come";
  EXPECT_EQ(fixture.send_rung.cycle(0), fixture.receive_rung.cycle(1)) << "a receive before a send";
  EXPECT_EQ(fixture.receive_rung.value(1).value, 4u);
}

TEST(DmaEngineHost, ADoorbellGoesBetweenCompletionsAndPutsTheNextOff) {  // R10
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  fixture.requests[kWqeClient]->push(Cycle{9}, fixture.read(1, 64));      // its data comes from 10 + 24 + 100 on
  fixture.requests[kContextClient]->push(Cycle{9}, fixture.read(2, 64));  // 24 cycles later
  fixture.receive_doorbells.push(Cycle{19}, doorbell(1));
  bench.run();
  EXPECT_EQ(fixture.receive_rung.cycle(0), Cycle{20 + 32}) << "not behind data that the host does not have yet";
  const std::uint64_t both = 10 + 24 + 100 + 2 * (20 + 64);
  EXPECT_EQ(fixture.completions[kContextClient]->cycle(0), Cycle{10 + 24 + 100 + 84});
  EXPECT_EQ(fixture.completions[kWqeClient]->cycle(0), Cycle{both + 32});
}

TEST(DmaEngineHost, ADoorbellThatFindsNoPlaceWaitsAndHoldsUpNoOther) {  // R10
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  fixture.completion_rung.stall(Cycle{0}, Cycle{2000});
  for (std::uint32_t n = 0; n < 20; ++n) fixture.completion_doorbells.push(Cycle{9}, doorbell(n));
  fixture.send_doorbells.push(Cycle{999}, doorbell(99));
  bench.run_to(Cycle{1999});
  EXPECT_EQ(fixture.completion_doorbells.pushed(), 8u + 8u) << "8 in each of the two links";
  EXPECT_EQ(fixture.send_rung.cycle(0), Cycle{1000 + 32});
  bench.run();
  ASSERT_EQ(fixture.completion_rung.size(), 20u);
  for (std::uint32_t n = 0; n < 20; ++n) EXPECT_EQ(fixture.completion_rung.value(n).value, n);
}

// A receive that was posted before a message is sent is there when the message comes.
TEST(DmaEngineHost, ASendDoorbellFollowsTheReceivesBeforeIt) {  // R10
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  for (std::uint32_t n = 0; n < 5; ++n) fixture.receive_doorbells.push(Cycle{9}, doorbell(n));
  fixture.send_doorbells.push(Cycle{10}, doorbell(99));
  fixture.receive_doorbells.push(Cycle{11}, doorbell(5));
  bench.run();
  ASSERT_EQ(fixture.receive_rung.size(), 6u);
  ASSERT_EQ(fixture.send_rung.size(), 1u);
  EXPECT_EQ(fixture.send_rung.cycle(0), fixture.receive_rung.cycle(4));
  EXPECT_LT(fixture.send_rung.cycle(0), fixture.receive_rung.cycle(5)) << "rung after it";
}

TEST(DmaEngineHost, ACommandFollowsTheDoorbellsBeforeIt) {  // R10
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  fixture.completion_rung.stall(Cycle{0}, Cycle{500});
  for (std::uint32_t n = 0; n < 10; ++n) fixture.completion_doorbells.push(Cycle{9}, doorbell(n));
  fixture.commands.push(Cycle{400}, {});
  fixture.completion_doorbells.push(Cycle{401}, doorbell(99));  // after it
  fixture.commands.push(Cycle{2000}, {});
  bench.run();
  ASSERT_EQ(fixture.completion_rung.size(), 11u);
  ASSERT_EQ(fixture.commands_given.size(), 2u);
  EXPECT_GE(fixture.commands_given.cycle(0), fixture.completion_rung.cycle(9));
  EXPECT_LT(fixture.commands_given.cycle(0), fixture.completion_rung.cycle(10));
  EXPECT_EQ(fixture.commands_given.cycle(1), Cycle{2001 + 32}) << "at once";
}

TEST(DmaEngineHost, ADoorbellACycle) {  // R10
  DmaEngineParams params = byte_a_cycle();
  params.tlp_rate_mbps = 8000 * 64;
  Bench bench;
  DmaEngineFixture fixture(bench, params);
  for (std::uint32_t n = 0; n < 20; ++n) fixture.receive_doorbells.push(Cycle{9}, doorbell(n));
  bench.run();
  ASSERT_EQ(fixture.receive_rung.size(), 20u);
  for (std::uint32_t n = 0; n < 20; ++n) EXPECT_EQ(fixture.receive_rung.cycle(n), Cycle{11 + n});
}

TEST(DmaEngineHost, AWqeTakesThePlaceOfTheDoorbellThatItCameWith) {  // R10
  struct Row {
    std::uint32_t wqe, longest, bytes, tlps;
  };
  for (const Row& row : {Row{0, 64, 8, 1}, {64, 64, 64, 1}, {65, 64, 65, 2}, {192, 64, 192, 3}, {192, 256, 192, 1}}) {
    Bench bench;
    DmaEngineParams params = byte_a_cycle();
    params.host_write_bytes = row.longest;
    DmaEngineFixture fixture(bench, params);
    Doorbell rung = doorbell(3);
    rung.wqe_bytes = static_cast<std::uint16_t>(row.wqe);
    fixture.send_doorbells.push(Cycle{9}, rung);
    fixture.send_doorbells.push(Cycle{9}, doorbell(4));
    bench.run();
    const std::uint64_t bytes = std::uint64_t{row.tlps} * kHeader + row.bytes;
    ASSERT_EQ(fixture.send_rung.size(), 2u);
    EXPECT_EQ(fixture.send_rung.cycle(0), Cycle{10 + bytes}) << row.wqe;
    EXPECT_EQ(fixture.send_rung.value(0).wqe_bytes, row.wqe);
    EXPECT_EQ(fixture.send_rung.cycle(1), Cycle{10 + bytes + kHeader + 8});
    EXPECT_EQ(fixture.dut.counters().tlps_down, row.tlps + 1u);
    EXPECT_EQ(fixture.dut.counters().link_bytes_down, bytes + kHeader + 8);
  }
}

TEST(DmaEngineHost, AReadWithoutABufferTakesItsTime) {
  Bench bench;
  FaultyMemory unmapped;
  unmapped.unmap_all();
  DmaEngineFixture fixture(bench, byte_a_cycle(), 1000, &unmapped);
  DmaRequest read = fixture.read(5, 64);
  read.data = nullptr;
  fixture.requests[kWqeClient]->push(Cycle{9}, read);
  bench.run();
  ASSERT_EQ(fixture.completions[kWqeClient]->size(), 1u);
  EXPECT_EQ(fixture.completions[kWqeClient]->cycle(0), Cycle{10 + 24 + 100 + 84});
  EXPECT_TRUE(fixture.completions[kWqeClient]->value(0).ok) << "and touches no memory";
  EXPECT_EQ(fixture.dut.counters().read_bytes, 64u);
}

TEST(DmaEngineHost, AnEventIsTwoWritesAndComesWithTheSecond) {  // R11
  for (const auto& [event, interrupt] : {std::pair{64u, 4u}, {16u, 8u}}) {
    Bench bench;
    DmaEngineParams params = byte_a_cycle();
    params.event_bytes = event;
    params.interrupt_bytes = interrupt;
    DmaEngineFixture fixture(bench, params);
    fixture.completion_events.push(Cycle{9}, {EventType::kCompletion, 5});
    bench.run();
    ASSERT_EQ(fixture.completion_raised.size(), 1u);
    const std::uint64_t bytes = 2 * kHeader + event + interrupt;
    EXPECT_EQ(fixture.completion_raised.cycle(0), Cycle{10 + bytes + 50});
    EXPECT_EQ(fixture.completion_raised.value(0).number, 5u);
    EXPECT_EQ(fixture.dut.counters().events, 1u);
    EXPECT_EQ(fixture.dut.counters().events_of[static_cast<std::size_t>(EventType::kCompletion)], 1u);
    EXPECT_EQ(fixture.dut.counters().tlps_up, 2u);
    EXPECT_EQ(fixture.dut.counters().link_bytes_up, bytes);
    EXPECT_EQ(fixture.dut.counters().write_bytes, event + interrupt);
  }
}

TEST(DmaEngineHost, AnEventFollowsTheCompletionBeforeIt) {  // R4, R11
  Bench bench;
  DmaEngineParams params = byte_a_cycle();
  params.write_latency_spread_ps = 400'000;
  DmaEngineFixture fixture(bench, params);
  fixture.requests[kCqeClient]->push(Cycle{9}, fixture.write(3, 64, 0x1000, 1));
  fixture.completion_events.push(Cycle{10}, {EventType::kCompletion, 3});
  bench.run();
  ASSERT_EQ(fixture.landed.size(), 1u);
  ASSERT_EQ(fixture.completion_raised.size(), 1u);
  EXPECT_GE(fixture.completion_raised.cycle(0), fixture.landed.cycle(0));
}

TEST(DmaEngineHost, AReplyToACommandIsTwoWritesAndComesWithTheSecond) {  // R11
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  fixture.replies.push(Cycle{9}, {.id = 7});
  fixture.completion_events.push(Cycle{9}, {EventType::kCompletion, 5});
  fixture.replies.push(Cycle{9}, {.id = 8});
  bench.run();
  constexpr std::uint64_t kEach = 2 * kHeader + 64 + 4;
  ASSERT_EQ(fixture.replied.size(), 2u);
  EXPECT_EQ(fixture.completion_raised.cycle(0), Cycle{10 + kEach + 50});
  EXPECT_EQ(fixture.replied.value(0).id, 7u);
  EXPECT_EQ(fixture.replied.cycle(0), Cycle{10 + 2 * kEach + 50}) << "in turn";
  EXPECT_EQ(fixture.replied.value(1).id, 8u);
  EXPECT_EQ(fixture.replied.cycle(1), Cycle{10 + 3 * kEach + 50});
  EXPECT_EQ(fixture.dut.counters().replies, 2u);
  EXPECT_EQ(fixture.dut.counters().events, 1u);
  EXPECT_EQ(fixture.dut.counters().write_bytes, 3u * 68);
}

TEST(DmaEngineHost, EventsOfAllSourcesTakeTurns) {  // R11
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  for (std::uint32_t n = 0; n < 20; ++n) {
    fixture.receive_events.push(Cycle{9}, {EventType::kSrqLimitReached, n});
    fixture.completion_events.push(Cycle{9}, {EventType::kCompletion, n});
    fixture.send_events.push(Cycle{9}, {EventType::kQpSqDrained, n});
    fixture.page_requests.push(Cycle{9}, {EventType::kPageRequest, n, Key{7}, 8});
  }
  bench.run_to(Cycle{300});
  EXPECT_LT(fixture.receive_events.pushed(), 20u) << "the link is full, its block waits";
  bench.run();
  constexpr std::uint64_t kEach = 2 * kHeader + 64 + 4;
  const std::array<Sink<Event>*, 4> out{&fixture.receive_raised, &fixture.completion_raised, &fixture.send_raised,
                                        &fixture.page_raised};
  for (std::size_t s = 0; s < out.size(); ++s) {
    ASSERT_EQ(out[s]->size(), 20u);
    for (std::uint32_t n = 0; n < 20; ++n) {
      EXPECT_EQ(out[s]->value(n).number, n);
      EXPECT_EQ(out[s]->cycle(n), Cycle{10 + (4 * n + s + 1) * kEach + 50}) << s << " " << n;
    }
  }
}

TEST(DmaEngineHost, EventsTakeTurnsWithPayload) {  // R1, R11
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  fixture.write_packet(Cycle{9}, fixture.packet({4096}));
  fixture.completion_events.push(Cycle{9}, {EventType::kCompletion, 5});
  bench.run();
  // One write of 256 bytes before the event, one more before its interrupt.
  EXPECT_LE(fixture.completion_raised.cycle(0), Cycle{10 + 2 * (kHeader + 256) + 2 * kHeader + 68 + 50});
  EXPECT_GE(fixture.completion_raised.cycle(0), Cycle{10 + (kHeader + 256) + 2 * kHeader + 68 + 50});
}

TEST(DmaEngineHost, AnEventWaitsForCredit) {  // R6, R11
  Bench bench;
  DmaEngineParams params = byte_a_cycle();
  params.posted_header_credits = 1;
  DmaEngineFixture fixture(bench, params);
  fixture.completion_events.push(Cycle{9}, {EventType::kCompletion, 5});
  bench.run();
  const std::uint64_t first = 10 + kHeader + 64 + 50;
  EXPECT_EQ(fixture.completion_raised.cycle(0), Cycle{first + kHeader + 4 + 50});
}

TEST(DmaEngineHost, ModesAndOrdersAgree) {
  const std::uint64_t seed = test_seed(31);
  expect_equal_in_all_orders([seed](Bench& bench) {
    std::mt19937_64 random(seed);
    DmaEngineParams params = byte_a_cycle();
    params.tlp_rate_mbps = static_cast<std::uint32_t>(8000 * (1 + random() % 40));
    DmaEngineFixture fixture(bench, params);
    std::uint64_t at = 10;
    for (std::uint32_t n = 0; n < 300; ++n) {
      at += random() % 40;
      const Cycle when{at};
      switch (random() % 6) {
        case 0:
          fixture.receive_doorbells.push(when, doorbell(n));
          break;
        case 1:
          fixture.send_doorbells.push(when, doorbell(n));
          break;
        case 2:
          fixture.tag_operations.push(when, {});
          break;
        case 3:
          fixture.completion_events.push(when, {EventType::kCompletion, n});
          break;
        case 4:
          fixture.requests[kWqeClient]->push(when, fixture.read(n, static_cast<std::uint32_t>(1 + random() % 900)));
          break;
        default:
          fixture.write_packet(when, fixture.packet({static_cast<std::uint32_t>(1 + random() % 900)}));
      }
    }
    bench.run();
    EXPECT_GT(fixture.dut.counters().doorbells, 50u);
    EXPECT_GT(fixture.dut.counters().events, 20u);
    return bench.state_hash();
  });
}

}  // namespace
}  // namespace rxnic::dma_engine_host_test
