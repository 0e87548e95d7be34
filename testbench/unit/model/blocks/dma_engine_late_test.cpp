// SPDX-License-Identifier: Apache-2.0
// Reads of host memory that are carried out together, before their data is complete (dma_engine.h R2).
#include <algorithm>
#include <vector>

#include "model/types/syndrome.h"
#include "testbench/unit/model/blocks/dma_engine_fixture.h"

namespace rxnic::dma_engine_late_test {
namespace {

// Late reads are carried out when they are settled; the bytes from n << 16 on are n.
void prepare(FaultyMemory& memory) {
  for (std::uint8_t n = 1; n <= 4; ++n) {
    memory.write(BusAddress{std::uint64_t{n} << 16}, std::vector<std::uint8_t>(0x10000, n));
  }
  memory.reads_together = true;
}

TEST(DmaEngineLate, LastSegmentsAreReadTogetherBeforeTheFirstIsComplete) {  // R2, R8
  FaultyMemory memory;
  prepare(memory);
  memory.unmap(BusAddress{0x20000});
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle(), 1000, &memory);
  const auto two = fixture.response({4, 8}, 0x10000), refused = fixture.response({4}, 0x20000),
             one = fixture.response({4}, 0x30000), later = fixture.response({4}, 0x40000);
  for (const auto& r : {two, refused, one}) fixture.gather_response(Cycle{9}, r);
  fixture.gather_response(Cycle{1000}, later);
  bench.run();
  EXPECT_EQ(memory.together, (std::vector<std::size_t>{3, 1}));
  ASSERT_EQ(fixture.gathered.size(), 4u);
  for (const std::size_t n : {0u, 2u, 3u}) EXPECT_EQ(fixture.gathered.value(n).syndrome, 0u) << n;
  EXPECT_EQ(fixture.gathered.value(1).syndrome, kNakRemoteOperation);
  EXPECT_FALSE(fixture.gathered.value(1).gone);
  EXPECT_EQ(fixture.dut.counters().failed, 1u);
  EXPECT_EQ(fixture.shared.packets[two[0].buffer].frame[11], 1u);
  EXPECT_EQ(fixture.shared.packets[one[0].buffer].frame[3], 3u);
  EXPECT_EQ(fixture.shared.packets[later[0].buffer].frame[3], 4u);
}

TEST(DmaEngineLate, OfAProgramThatHasEndedAreGone) {  // R8
  FaultyMemory memory;
  prepare(memory);
  memory.unmap(BusAddress{0x20000});
  memory.is_gone = memory.is_unmapped;
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle(), 1000, &memory);
  fixture.gather_response(Cycle{9}, fixture.response({4, 8}, 0x10000));
  fixture.gather_response(Cycle{9}, fixture.response({4}, 0x20000));
  fixture.gather_response(Cycle{9}, fixture.response({4}, 0x30000));
  for (const std::uint64_t at : {0x10000u, 0x20000u}) {
    DmaRequest r = fixture.read(1, 4, at);
    r.data = fixture.buffer;
    fixture.requests[kWqeClient]->push(Cycle{9}, r);
  }
  bench.run();
  ASSERT_EQ(fixture.gathered.size(), 3u);
  EXPECT_FALSE(fixture.gathered.value(0).gone);
  EXPECT_TRUE(fixture.gathered.value(1).gone);
  EXPECT_FALSE(fixture.gathered.value(2).gone);
  ASSERT_EQ(fixture.completions[kWqeClient]->size(), 2u);
  EXPECT_FALSE(fixture.completions[kWqeClient]->value(0).gone);
  EXPECT_FALSE(fixture.completions[kWqeClient]->value(1).ok);
  EXPECT_TRUE(fixture.completions[kWqeClient]->value(1).gone);
}

TEST(DmaEngineLate, ReadsOfClientsAreReadTogetherBeforeTheFirstIsComplete) {  // R2, R8
  FaultyMemory memory;
  prepare(memory);
  memory.unmap(BusAddress{0x20000});
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle(), 1000, &memory);
  const auto read = [&](std::size_t client, Cycle when, std::uint32_t at, std::uint32_t bytes) {
    DmaRequest r = fixture.read(at, bytes, std::uint64_t{at} << 16);
    r.data = fixture.buffer + 1024 * at;
    fixture.requests[client]->push(when, r);
  };
  read(kWqeClient, Cycle{9}, 1, 4);
  read(kWqeClient, Cycle{9}, 2, 4);
  read(kContextClient, Cycle{9}, 3, 4);
  read(kWqeClient, Cycle{1000}, 4, 1000);
  bench.run();
  EXPECT_EQ(memory.together, (std::vector<std::size_t>{3, 1}));
  ASSERT_EQ(fixture.completions[kWqeClient]->size(), 3u);
  EXPECT_TRUE(fixture.completions[kWqeClient]->value(0).ok);
  EXPECT_FALSE(fixture.completions[kWqeClient]->value(1).ok) << "the others are read nevertheless";
  EXPECT_TRUE(fixture.completions[kWqeClient]->value(2).ok) << "one completion for two TLPs";
  EXPECT_TRUE(fixture.completions[kContextClient]->value(0).ok);
  EXPECT_EQ(fixture.dut.counters().failed, 1u);
  for (const std::uint32_t n : {1u, 3u, 4u}) EXPECT_EQ(fixture.buffer[1024 * n], n);
}

TEST(DmaEngineLate, AFenceFollowsTheReadsOfItsClient) {  // R12
  FaultyMemory memory;
  prepare(memory);
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle(), 1000, &memory);
  auto& fences = bench.source(fixture.dut.fences);
  auto& fenced = bench.sink(fixture.dut.fenced);
  fixture.requests[kWqeClient]->push(Cycle{9}, fixture.read(1, 4, 0x10000));
  fences.push(Cycle{9}, {true, DmaClient::kWqe, 0});
  bench.run_to(Cycle{60});
  ASSERT_EQ(fenced.size(), 1u);
  EXPECT_EQ(fixture.completions[kWqeClient]->size(), 0u) << "its data takes longer";
  EXPECT_EQ(memory.together, (std::vector<std::size_t>{1})) << "but the program's memory is not read any more";
}

}  // namespace
}  // namespace rxnic::dma_engine_late_test
