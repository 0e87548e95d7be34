// SPDX-License-Identifier: Apache-2.0
// The device's own memory: R13 of model/blocks/dma_engine.h.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/types/context.h"
#include "testbench/unit/model/blocks/dma_engine_fixture.h"

namespace rxnic::dma_engine_device_test {
namespace {

constexpr std::uint64_t kDevice = raw(icm::kDeviceMemory);

DmaEngineParams params_of_device(std::uint32_t beat_bytes, std::uint32_t cycles) {
  DmaEngineParams p = byte_a_cycle();
  p.device_memory_beat_bytes = beat_bytes;
  p.device_memory_cycles = cycles;
  return p;
}

void expect_no_tlps(const DmaEngine& dut) {
  EXPECT_EQ(dut.counters().tlps_up, 0u);
  EXPECT_EQ(dut.counters().tlps_down, 0u);
  EXPECT_EQ(dut.counters().writes + dut.counters().reads, 0u);
}

TEST(DmaEngineDevice, PayloadIsDoneAfterItsBeatsAndTheLatency) {
  for (const std::uint32_t cycles : {1u, 8u}) {
    for (const std::uint32_t bytes : {1u, 64u, 65u, 1000u}) {
      Bench bench;
      DmaEngineFixture fixture(bench, params_of_device(64, cycles));
      auto segments = fixture.packet({bytes}, kDevice + 128);
      fixture.shared.packets[segments[0].buffer].frame[0] = 0x5a;
      fixture.write_packet(Cycle{9}, segments);  // taken and started in 10
      const std::uint64_t due = 10 + (bytes + 63) / 64 + cycles;
      bench.run_to(Cycle{due});  // the sink takes it one later
      EXPECT_EQ(fixture.payload_done.size(), 0u);
      bench.run_to(Cycle{due + 1});
      ASSERT_EQ(fixture.payload_done.size(), 1u);
      EXPECT_EQ(fixture.payload_done.cycle(0), Cycle{due});
      EXPECT_EQ(fixture.memory.load<std::uint8_t>(BusAddress{kDevice + 128}), 0x5a);
      EXPECT_EQ(fixture.dut.counters().device_accesses, 1u);
      EXPECT_EQ(fixture.dut.counters().device_bytes, bytes);
      expect_no_tlps(fixture.dut);
    }
  }
}

TEST(DmaEngineDevice, OneAccessAtATimeAndTheOthersGoOn) {
  Bench bench;
  DmaEngineFixture fixture(bench, params_of_device(8, 5));
  fixture.requests[kCqeClient]->push(Cycle{9}, fixture.write(0, 100, 0x5000, 1));    // on the link from 10 to 134
  fixture.write_packet(Cycle{9}, fixture.packet({800}, kDevice));                    // from 134 to 234
  fixture.write_packet(Cycle{9}, fixture.packet({8}, kDevice + 4096));               // waits for 234
  fixture.requests[kCqeClient]->push(Cycle{139}, fixture.write(0, 100, 0x5000, 1));  // does not: from 140 to 264
  bench.run();
  ASSERT_EQ(fixture.landed.size(), 2u);
  EXPECT_EQ(fixture.landed.cycle(0), Cycle{134 + 50});
  EXPECT_EQ(fixture.landed.cycle(1), Cycle{264 + 50});
  ASSERT_EQ(fixture.payload_done.size(), 2u);
  EXPECT_EQ(fixture.payload_done.cycle(0), Cycle{234 + 5});
  EXPECT_EQ(fixture.payload_done.cycle(1), Cycle{264 + 1 + 5});
}

TEST(DmaEngineDevice, APacketLeavesWhenItsLastByteIsInEitherMemory) {
  Bench bench;
  DmaEngineFixture fixture(bench, params_of_device(8, 100));
  auto segments = fixture.packet({16, 8}, kDevice);
  segments[1].address = BusAddress{0x3000};  // 32 bytes on the link
  fixture.write_packet(Cycle{9}, segments);
  bench.run();
  ASSERT_EQ(fixture.payload_done.size(), 1u);
  EXPECT_EQ(fixture.payload_done.cycle(0), Cycle{10 + 2 + 100});
}

TEST(DmaEngineDevice, ResponsesAreGatheredFromIt) {
  Bench bench;
  DmaEngineFixture fixture(bench, params_of_device(64, 8));
  fixture.memory.store(BusAddress{kDevice + 64}, std::uint64_t{0x0123456789abcdef});
  GatherRead s;
  s.buffer = fixture.shared.packets.allocate(PacketClass::kResponse);
  s.address = BusAddress{kDevice + 64};
  s.bytes = 128;
  s.offset = 40;
  s.last = true;
  fixture.gather_response(Cycle{9}, {s});
  bench.run();
  ASSERT_EQ(fixture.gathered.size(), 1u);
  EXPECT_EQ(fixture.gathered.cycle(0), Cycle{10 + 2 + 8});
  EXPECT_EQ(fixture.shared.packets[s.buffer].frame[40], 0xef);
  expect_no_tlps(fixture.dut);
}

TEST(DmaEngineDevice, ClientsReadItWriteItAndAddToIt) {
  constexpr auto kResponse = static_cast<std::size_t>(DmaClient::kResponse);
  Bench bench;
  DmaEngineFixture fixture(bench, params_of_device(64, 8));
  DmaRequest write = fixture.write(7, 100, kDevice);
  write.notify = true;
  std::fill_n(fixture.buffer, 100, std::uint8_t{0});
  fixture.buffer[0] = 41;
  DmaRequest add = fixture.read(8, 8, kDevice);
  add.kind = DmaKind::kFetchAdd;
  add.operand = 1;
  std::uint64_t original = 0;
  add.data = reinterpret_cast<std::uint8_t*>(&original);
  fixture.requests[kResponse]->push(Cycle{9}, write);
  fixture.requests[kResponse]->push(Cycle{99}, add);
  bench.run();
  ASSERT_EQ(fixture.completions[kResponse]->size(), 2u);
  EXPECT_EQ(fixture.completions[kResponse]->cycle(0), Cycle{10 + 2 + 8});
  EXPECT_EQ(fixture.completions[kResponse]->cycle(1), Cycle{100 + 1 + 8});
  EXPECT_EQ(original, 41u);
  EXPECT_EQ(fixture.memory.load<std::uint64_t>(BusAddress{kDevice}), 42u);
  EXPECT_EQ(fixture.dut.counters().client_requests[kResponse], 2u);
  EXPECT_EQ(fixture.dut.tags_in_use(), 0u);
  expect_no_tlps(fixture.dut);
}

TEST(DmaEngineDevice, ThoseThatWaitForTheirTurnToCompleteAreBounded) {  // there is a place for each tag
  Bench bench;
  DmaEngineParams params = params_of_device(64, 1);
  params.tags = 2;
  DmaEngineFixture fixture(bench, params);
  for (std::uint32_t n = 0; n < 12; ++n) {
    fixture.requests[kWqeClient]->push(Cycle{9}, fixture.read(n, 64, n % 2 == 0 ? 0x1000 : kDevice));
  }
  bench.run();
  ASSERT_EQ(fixture.completions[kWqeClient]->size(), 12u);
  std::uint32_t seen = 0;
  for (std::uint32_t n = 0; n < 12; ++n) seen |= 1u << fixture.completions[kWqeClient]->value(n).cookie;
  EXPECT_EQ(seen, 0xfffu) << "each once";
}

TEST(DmaEngineDevice, PacketsBehindThoseThatLeaveAreTakenInTime) {
  for (const std::uint32_t depth : {1u, 2u, 8u}) {
    std::vector<std::uint64_t> left;
    for (const EngineMode mode : {EngineMode::kFast, EngineMode::kPerCycle}) {
      Bench bench(mode, 1000);
      DmaEngineParams params = params_of_device(64, 40);  // near enough to be sent ahead
      params.leaving_depth = depth;
      DmaEngineFixture fixture(bench, params);
      for (int n = 0; n < 20; ++n) fixture.write_packet(Cycle{9}, fixture.packet({64}, kDevice));
      bench.run_to(Cycle{20'000});
      ASSERT_EQ(fixture.payload_done.size(), 20u);
      left.push_back(fixture.payload_done.cycle(19).count);
    }
    EXPECT_EQ(left[0], left[1]) << depth;
  }
}

TEST(DmaEngineDevice, APacketThatEndsWithoutBytesLeavesWithThoseBefore) {
  Bench bench;
  DmaEngineFixture fixture(bench, params_of_device(64, 100));
  auto segments = fixture.packet({64, 1}, kDevice);
  segments[1].bytes = 0;
  fixture.write_packet(Cycle{9}, segments);
  fixture.write_packet(Cycle{299}, fixture.packet({4}));  // host memory: 28 cycles on the link
  bench.run();
  ASSERT_EQ(fixture.payload_done.size(), 2u);
  EXPECT_EQ(fixture.payload_done.cycle(0), Cycle{10 + 1 + 100});
  EXPECT_EQ(fixture.payload_done.cycle(1), Cycle{300 + 28});
}

TEST(DmaEngineDevice, ItIsBusyWhileTheMemoryIs) {
  Bench bench;
  DmaEngineFixture fixture(bench, params_of_device(8, 5));
  fixture.write_packet(Cycle{9}, fixture.packet({800}, kDevice));
  bench.run_to(Cycle{200});
  EXPECT_EQ(fixture.dut.account()[static_cast<std::size_t>(Activity::kBusy)], 100u);
}

// A client's read of host memory and its next one of device memory. (R9)
TEST(DmaEngineDevice, ItsReadsDoNotWaitForThoseOfHostMemory) {
  for (const DmaClient client : {DmaClient::kWqe, DmaClient::kTag}) {
    const auto c = static_cast<std::size_t>(client);
    Bench bench;
    DmaEngineFixture fixture(bench, params_of_device(64, 1));
    fixture.requests[c]->push(Cycle{9}, fixture.read(1, 64));
    fixture.requests[c]->push(Cycle{9}, fixture.read(2, 64, kDevice));
    bench.run();
    ASSERT_EQ(fixture.completions[c]->size(), 2u);
    EXPECT_EQ(fixture.completions[c]->value(0).cookie, client == DmaClient::kTag ? 1u : 2u);
    EXPECT_EQ(fixture.completions[c]->value(1).cookie, client == DmaClient::kTag ? 2u : 1u);
  }
}

}  // namespace
}  // namespace rxnic::dma_engine_device_test
