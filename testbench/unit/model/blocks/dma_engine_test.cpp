// SPDX-License-Identifier: Apache-2.0
// Rules R1..R9 of model/blocks/dma_engine.h.
#include "model/blocks/dma_engine.h"

#include <gtest/gtest.h>

#include <random>

#include "model/core/responder/refusal.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic {
namespace {

constexpr auto kContextClient = static_cast<std::size_t>(DmaClient::kContext);
constexpr auto kWqeClient = static_cast<std::size_t>(DmaClient::kWqe);
constexpr auto kCqeClient = static_cast<std::size_t>(DmaClient::kCqe);

// A link that carries one byte in a cycle of 1 ns: latencies can be read off.
DmaEngineParams byte_a_cycle() {
  DmaEngineParams p;
  p.tlp_rate_mbps = 8000;
  p.mps_bytes = 256;
  p.mrrs_bytes = 512;
  p.rcb_bytes = 64;
  p.write_header_bytes = p.read_header_bytes = 24;
  p.completion_header_bytes = 20;
  p.tags = 64;
  p.posted_credit_bytes = 16384;
  p.read_latency_ps = 100'000;
  p.write_latency_ps = 50'000;
  return p;
}

class UnmappedMemory final : public HostMemory {
 public:
  bool read(BusAddress, std::span<std::uint8_t>) override { return false; }
  bool write(BusAddress, std::span<const std::uint8_t>) override { return false; }
};

// Refuses what is at one address, and remembers what was written together.
class PickyMemory final : public HostMemory {
 public:
  bool read(BusAddress, std::span<std::uint8_t>) override { return true; }
  bool write(BusAddress to, std::span<const std::uint8_t>) override {
    if (to == refused) return false;
    written.push_back(to);
    return true;
  }
  std::size_t write_all(std::span<const HostWrite> writes) override {
    together.push_back(writes.size());
    return HostMemory::write_all(writes);
  }
  BusAddress refused{};
  std::vector<BusAddress> written;
  std::vector<std::size_t> together;
};

// An engine with all its ports connected.
struct Rig {
  explicit Rig(Bench& b, const DmaEngineParams& params, std::uint32_t period_ps = 1000, HostMemory* other = nullptr)
      : bench(b),
        memory(b.keep<LocalMemory>()),
        shared(b.keep<NicShared>(PacketPool::Quotas{})),
        dut(b.add<DmaEngine>("dut", params, period_ps, shared, other == nullptr ? memory : *other)),
        payload(b.source(dut.payload)),
        payload_done(b.sink(dut.payload_done)),
        gather(b.source(dut.gather)),
        gathered(b.sink(dut.gathered)),
        landed(b.sink(dut.landed)) {
    for (std::size_t c = 0; c < kDmaClients; ++c) {
      requests[c] = &b.source(dut.requests[c]);
      completions[c] = &b.sink(dut.completions[c]);
    }
  }
  PacketHandle packet(std::initializer_list<std::uint32_t> segment_bytes, std::uint64_t bus = 0x10000) {
    const PacketHandle h = shared.packets.allocate(PacketClass::kReceive);
    Packet& p = shared.packets[h];
    p.qp = &qp;
    p.message_sequence = ++qp.messages;
    p.outcome = Outcome::kExecute;
    std::uint32_t offset = 0;
    for (const std::uint32_t bytes : segment_bytes) {
      Segment& s = p.segments[p.segment_count++];
      s.bus = BusAddress{bus + 8192u * (p.segment_count - 1u)};
      s.data = p.frame.data() + offset;
      s.bytes = bytes;
      offset += bytes;
    }
    return h;
  }
  DmaRequest read(std::uint32_t cookie, std::uint32_t bytes, std::uint64_t address = 0x1000) {
    return {DmaKind::kRead, false, 0, cookie, BusAddress{address}, bytes, buffer, 0, 0};
  }
  DmaRequest write(std::uint32_t cookie, std::uint32_t bytes, std::uint64_t address = 0x1000, std::uint16_t cqes = 0) {
    return {DmaKind::kWrite, cqes > 0, cqes, cookie, BusAddress{address}, bytes, buffer, 0, 0};
  }
  Bench& bench;
  LocalMemory& memory;
  NicShared& shared;
  DmaEngine& dut;
  Source<PacketHandle>& payload;
  Sink<PacketHandle>& payload_done;
  Source<PacketHandle>& gather;
  Sink<PacketHandle>& gathered;
  Sink<HostNotice>& landed;
  std::array<Source<DmaRequest>*, kDmaClients> requests{};
  std::array<Sink<DmaCompletion>*, kDmaClients> completions{};
  QpContext qp;
  std::uint8_t buffer[8192] = {};
};

TEST(DmaEngine, PayloadLeavesWhenItsLastByteHasPassed) {  // R1, R3
  Bench bench;
  Rig rig(bench, byte_a_cycle());
  rig.payload.push(Cycle{9}, rig.packet({64}));  // can be popped in cycle 10; 88 bytes on the link
  bench.run_to(Cycle{97});
  EXPECT_EQ(bench.engine().links()[1]->transfers(), 0u);  // the link at payload_done
  bench.run_to(Cycle{98});
  EXPECT_EQ(bench.engine().links()[1]->transfers(), 1u);
  bench.run();
  ASSERT_EQ(rig.payload_done.size(), 1u);
  EXPECT_EQ(rig.payload_done.cycle(0), Cycle{98});
  EXPECT_EQ(rig.shared.packets[rig.payload_done.value(0)].stamped(Station::kDmaEngine), Cycle{98});
  EXPECT_EQ(rig.dut.counters().packets_written, 1u);
}

TEST(DmaEngine, PayloadBytesAreInMemory) {  // R2
  Bench bench;
  Rig rig(bench, byte_a_cycle());
  const PacketHandle h = rig.packet({3, 2});
  std::copy_n("hello", 5, rig.shared.packets[h].frame.data());
  rig.payload.push(Cycle{0}, h);
  bench.run();
  std::array<std::uint8_t, 3> first{};
  ASSERT_TRUE(rig.memory.read(BusAddress{0x10000}, first));
  EXPECT_EQ(std::string(first.begin(), first.end()), "hel");
  EXPECT_EQ(rig.memory.load<std::uint16_t>(BusAddress{0x12000}), 'l' | 'o' << 8);
}

TEST(DmaEngine, SoManyPacketsWaitToBeHandedOn) {  // leaving_depth
  for (const std::uint32_t depth : {1u, 8u}) {
    Bench bench;
    DmaEngineParams params = byte_a_cycle();
    params.leaving_depth = depth;
    Rig rig(bench, params);
    rig.payload_done.stall(Cycle{0}, Cycle{200});
    for (int i = 0; i < 40; ++i) rig.payload.push(Cycle{9}, rig.packet({}));
    bench.run_to(Cycle{199});
    EXPECT_EQ(rig.payload.pushed(), 8 + depth + 8) << "8 in each of the two links";
    EXPECT_EQ(rig.dut.activity(), Activity::kBlocked);
    bench.run();
    EXPECT_EQ(rig.payload_done.size(), 40u);
  }
}

TEST(DmaEngine, SegmentsFollowEachOtherWithoutAGap) {  // R1
  Bench bench;
  Rig rig(bench, byte_a_cycle());
  rig.payload.push(Cycle{9}, rig.packet({64, 257}));
  rig.payload.push(Cycle{9}, rig.packet({10}));
  bench.run();
  ASSERT_EQ(rig.payload_done.size(), 2u);
  EXPECT_EQ(rig.payload_done.cycle(0), Cycle{10 + 88 + 257 + 48});
  EXPECT_EQ(rig.payload_done.cycle(1), Cycle{10 + 88 + 257 + 48 + 34});
}

TEST(DmaEngine, PacketWithoutSegmentsPassesInOneCycle) {  // R3
  Bench bench;
  Rig rig(bench, byte_a_cycle());
  rig.payload.push(Cycle{9}, rig.packet({}));
  rig.payload.push(Cycle{9}, rig.packet({}));
  bench.run();
  ASSERT_EQ(rig.payload_done.size(), 2u);
  EXPECT_EQ(rig.payload_done.cycle(0), Cycle{11});
  EXPECT_EQ(rig.payload_done.cycle(1), Cycle{12});
}

TEST(DmaEngine, PacketsKeepTheirOrder) {  // R3
  Bench bench;
  Rig rig(bench, byte_a_cycle());
  std::vector<PacketHandle> sent;
  for (int i = 0; i < 20; ++i) {
    sent.push_back(i % 3 == 0 ? rig.packet({}) : rig.packet({static_cast<std::uint32_t>(100 - i)}));
    rig.payload.push(Cycle{0}, sent.back());
  }
  bench.run();
  EXPECT_EQ(rig.payload_done.values(), sent);
}

TEST(DmaEngine, WhatIsBehindAPacketThatFailedHereWritesNothing) {  // R8
  Bench bench;
  UnmappedMemory nothing;
  Rig rig(bench, byte_a_cycle(), 1000, &nothing);
  auto& refusals = bench.sink(rig.dut.refusals);
  const PacketHandle first = rig.packet({8}), second = rig.packet({8}, 0x20000);
  rig.payload.push(Cycle{0}, first);
  rig.payload.push(Cycle{0}, second);
  bench.run();
  EXPECT_EQ(rig.dut.counters().writes, 1u);
  EXPECT_EQ(rig.shared.packets[first].drop_reason, DropReason::kHostMemory);
  EXPECT_EQ(rig.shared.packets[second].drop_reason, DropReason::kSquashed);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals.value(0).kind, Refusal::Kind::kError);
}

TEST(DmaEngine, ReadCompletesAfterRoundTripAndData) {  // R5
  Bench bench;
  Rig rig(bench, byte_a_cycle());
  rig.memory.store(BusAddress{0x1000}, std::uint64_t{0x1122334455667788});
  rig.requests[kContextClient]->push(Cycle{9}, rig.read(77, 64));
  // popped in 10, request gone at 34, first byte at 134, 84 bytes of completion
  auto& out = *rig.completions[kContextClient];
  bench.run_to(Cycle{218});
  EXPECT_EQ(out.size(), 0u);
  bench.run();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out.cycle(0), Cycle{10 + 24 + 100 + 84});
  EXPECT_EQ(out.value(0).cookie, 77u);
  EXPECT_TRUE(out.value(0).ok);
  std::uint64_t got = 0;
  std::memcpy(&got, rig.buffer, 8);
  EXPECT_EQ(got, 0x1122334455667788u);
}

TEST(DmaEngine, ReadDataQueuesOnTheLinkDown) {  // R5
  Bench bench;
  Rig rig(bench, byte_a_cycle());
  rig.requests[kContextClient]->push(Cycle{9}, rig.read(1, 512));
  rig.requests[kWqeClient]->push(Cycle{9}, rig.read(2, 64));
  bench.run();
  EXPECT_EQ(rig.completions[kContextClient]->cycle(0), Cycle{10 + 24 + 100 + 552});
  EXPECT_EQ(rig.completions[kWqeClient]->cycle(0), Cycle{10 + 24 + 100 + 552 + 84});
}

TEST(DmaEngine, AtomicsReturnTheOriginal) {  // R2, R5
  Bench bench;
  Rig rig(bench, byte_a_cycle());
  rig.memory.store(BusAddress{0x1000}, std::uint64_t{40});
  std::uint64_t added = 0, swapped = 0, kept = 0;
  const auto request = [](DmaKind kind, std::uint64_t& to, std::uint64_t operand, std::uint64_t compare) {
    return DmaRequest{kind, false, 0, 0, BusAddress{0x1000}, 8, reinterpret_cast<std::uint8_t*>(&to), operand, compare};
  };
  auto& in = *rig.requests[static_cast<std::size_t>(DmaClient::kResponse)];
  in.push(Cycle{9}, request(DmaKind::kFetchAdd, added, 2, 0));
  in.push(Cycle{9}, request(DmaKind::kCompareSwap, swapped, 7, 42));
  in.push(Cycle{9}, request(DmaKind::kCompareSwap, kept, 9, 42));
  bench.run();
  EXPECT_EQ(added, 40u);
  EXPECT_EQ(swapped, 42u);
  EXPECT_EQ(kept, 7u);
  EXPECT_EQ(rig.memory.load<std::uint64_t>(BusAddress{0x1000}), 7u);
  EXPECT_EQ(rig.dut.counters().atomics, 3u);
  auto& out = *rig.completions[static_cast<std::size_t>(DmaClient::kResponse)];
  EXPECT_EQ(out.cycle(0), Cycle{10 + 32 + 100 + 28});
}

TEST(DmaEngine, ASwapWritesEightBytesAndCompletesAsAnAtomic) {  // R2, R5, R8
  Bench bench;
  Rig rig(bench, byte_a_cycle());
  rig.memory.store(BusAddress{0x1000}, std::uint64_t{40});
  rig.memory.store(BusAddress{0x1008}, std::uint64_t{41});
  std::uint64_t unused = 7;
  auto& in = *rig.requests[static_cast<std::size_t>(DmaClient::kResponse)];
  in.push(Cycle{9}, {DmaKind::kSwap, false, 0, 3, BusAddress{0x1000}, 8, reinterpret_cast<std::uint8_t*>(&unused),
                     0x1122334455667788, 0});
  bench.run();
  EXPECT_EQ(rig.memory.load<std::uint64_t>(BusAddress{0x1000}), 0x1122334455667788u);
  EXPECT_EQ(rig.memory.load<std::uint64_t>(BusAddress{0x1008}), 41u);
  EXPECT_EQ(unused, 7u) << "the original value is not asked for";
  auto& out = *rig.completions[static_cast<std::size_t>(DmaClient::kResponse)];
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out.value(0).cookie, 3u);
  EXPECT_TRUE(out.value(0).ok);
  EXPECT_EQ(out.cycle(0), Cycle{10 + 32 + 100 + 28}) << "that of FETCH_ADD";
  EXPECT_EQ(rig.dut.counters().atomics, 1u);
}

TEST(DmaEngine, NoticeComesWhenTheWriteIsVisible) {  // R4
  Bench bench;
  Rig rig(bench, byte_a_cycle());
  rig.requests[kCqeClient]->push(Cycle{9}, rig.write(5, 64, 0x1000, 3));
  rig.requests[kCqeClient]->push(Cycle{9}, rig.write(6, 64, 0x1040, 0));
  bench.run();
  ASSERT_EQ(rig.landed.size(), 1u);
  EXPECT_EQ(rig.landed.value(0).number, 5u);
  EXPECT_EQ(rig.landed.value(0).completions, 3u);
  EXPECT_EQ(rig.landed.cycle(0), Cycle{10 + 88 + 50});
  ASSERT_EQ(rig.completions[kCqeClient]->size(), 1u) << "the other write is posted";
  EXPECT_EQ(rig.completions[kCqeClient]->value(0).cookie, 5u);
  EXPECT_EQ(rig.completions[kCqeClient]->cycle(0), Cycle{10 + 88 + 50});
}

TEST(DmaEngine, TheHostIsToldWithoutTheClient) {  // R4
  Bench bench;
  Rig rig(bench, byte_a_cycle());
  DmaRequest write = rig.write(5, 64, 0x1000, 1);
  write.told = false;
  rig.requests[kCqeClient]->push(Cycle{9}, write);
  bench.run();
  ASSERT_EQ(rig.landed.size(), 1u);
  EXPECT_EQ(rig.landed.cycle(0), Cycle{10 + 88 + 50});
  EXPECT_EQ(rig.completions[kCqeClient]->size(), 0u);
}

TEST(DmaEngine, CompletionQueueEntryLandsAfterItsPayload) {  // R4
  Bench bench;
  Rig rig(bench, byte_a_cycle());
  rig.payload.push(Cycle{9}, rig.packet({2048}));
  rig.payload_done.on_value(
      [&](Cycle now, PacketHandle) { rig.requests[kCqeClient]->push(now, rig.write(5, 64, 0x1000, 3)); });
  bench.run();
  ASSERT_EQ(rig.landed.size(), 1u);
  const std::uint64_t payload_left = 10 + 2048 + 8 * 24;
  EXPECT_EQ(rig.payload_done.cycle(0), Cycle{payload_left});
  EXPECT_GT(rig.landed.cycle(0), Cycle{payload_left + 50});
}

TEST(DmaEngine, RequestersTakeTurns) {  // R1
  Bench bench;
  Rig rig(bench, byte_a_cycle());
  for (int i = 0; i < 50; ++i) {
    rig.payload.push(Cycle{0}, rig.packet({64}));
    for (const std::size_t c : {kContextClient, kWqeClient, kCqeClient}) {
      rig.requests[c]->push(Cycle{0}, rig.write(0, 64));
    }
  }
  bench.run_to(Cycle{1 + 88 * 80});
  for (const std::size_t c : {kContextClient, kWqeClient, kCqeClient}) {
    EXPECT_NEAR(static_cast<double>(rig.dut.counters().client_requests[c]), 20, 1);
  }
  EXPECT_NEAR(static_cast<double>(rig.dut.counters().packets_written), 20, 1);
  bench.run();
}

TEST(DmaEngine, TagsBoundTheReadsInFlight) {  // R5
  DmaEngineParams p = byte_a_cycle();
  p.tags = 2;
  Bench bench;
  Rig rig(bench, p);
  for (std::uint32_t i = 0; i < 3; ++i) rig.requests[kWqeClient]->push(Cycle{9}, rig.read(i, 4));
  bench.run_to(Cycle{100});
  EXPECT_EQ(rig.dut.tags_in_use(), 2u);
  EXPECT_EQ(rig.dut.activity(), Activity::kWaitDmaTag);
  bench.run();
  auto& out = *rig.completions[kWqeClient];
  ASSERT_EQ(out.size(), 3u);
  const std::uint64_t first = 10 + 24 + 100 + 24;
  EXPECT_EQ(out.cycle(0), Cycle{first});
  EXPECT_EQ(out.cycle(1), Cycle{first + 24});
  EXPECT_EQ(out.cycle(2), Cycle{first + 24 + 100 + 24});  // starts in the cycle in which the first is completed
  EXPECT_EQ(rig.dut.tags_in_use(), 0u);
}

TEST(DmaEngine, ReadLongerThanAllTagsStillRuns) {  // R5
  DmaEngineParams p = byte_a_cycle();
  p.tags = 2;
  Bench bench;
  Rig rig(bench, p);
  rig.requests[kWqeClient]->push(Cycle{0}, rig.read(1, 4096));
  bench.run();
  EXPECT_EQ(rig.completions[kWqeClient]->size(), 1u);
}

TEST(DmaEngine, LongReadIsNotStarvedOfTagsByShortOnes) {  // R7
  DmaEngineParams p = byte_a_cycle();
  p.tags = 4;
  Bench bench;
  Rig rig(bench, p);
  for (std::uint32_t i = 0; i < 100; ++i) rig.requests[kWqeClient]->push(Cycle{0}, rig.read(i, 4));
  rig.requests[kContextClient]->push(Cycle{50}, rig.read(1000, 2048));  // four tags
  rig.requests[kCqeClient]->push(Cycle{60}, rig.write(0, 4));           // writes go on
  std::uint64_t before = 0;
  rig.completions[kContextClient]->on_value(
      [&](Cycle, const DmaCompletion&) { before = rig.completions[kWqeClient]->size(); });
  bench.run();
  EXPECT_EQ(rig.completions[kContextClient]->size(), 1u);
  EXPECT_LE(before, 4u);
  EXPECT_EQ(rig.dut.counters().writes, 1u);
}

TEST(DmaEngine, CreditBoundsTheWritesThatHaveNotLanded) {  // R6, R7
  DmaEngineParams p = byte_a_cycle();
  p.posted_credit_bytes = 4096;
  p.write_latency_ps = 10'000'000;
  Bench bench;
  Rig rig(bench, p);
  rig.requests[kCqeClient]->push(Cycle{0}, rig.write(0, 4000));
  rig.requests[kCqeClient]->push(Cycle{0}, rig.write(0, 100));
  rig.requests[kWqeClient]->push(Cycle{4500}, rig.write(0, 16));  // would fit, must not pass
  rig.requests[kContextClient]->push(Cycle{5000}, rig.read(0, 4));
  bench.run_to(Cycle{6000});
  EXPECT_EQ(rig.dut.counters().writes, 1u);
  EXPECT_EQ(rig.dut.activity(), Activity::kWaitDmaCredit);
  EXPECT_EQ(rig.completions[kContextClient]->size(), 1u);
  const std::uint64_t landed = 1 + 4000 + 16 * 24 + 10'000;
  bench.run_to(Cycle{landed - 1});
  EXPECT_EQ(rig.dut.counters().writes, 1u);
  bench.run_to(Cycle{landed});
  EXPECT_EQ(rig.dut.counters().writes, 2u);
  bench.run();
  EXPECT_EQ(rig.dut.counters().writes, 3u);
}

TEST(DmaEngine, GatherBringsAllSegments) {  // R5, R9
  Bench bench;
  Rig rig(bench, byte_a_cycle());
  rig.memory.store(BusAddress{0x10000}, std::uint32_t{0x11111111});
  rig.memory.store(BusAddress{0x12000}, std::uint32_t{0x22222222});
  const PacketHandle h = rig.packet({4, 4}), empty = rig.packet({});
  rig.gather.push(Cycle{9}, h);
  rig.gather.push(Cycle{9}, empty);
  bench.run();
  ASSERT_EQ(rig.gathered.size(), 2u);
  EXPECT_EQ(rig.gathered.value(0), h);
  EXPECT_EQ(rig.gathered.cycle(0), Cycle{10 + 24 + 100 + 24 + 24});
  EXPECT_EQ(rig.gathered.value(1), empty);
  std::uint64_t got = 0;
  std::memcpy(&got, rig.shared.packets[h].frame.data(), 8);
  EXPECT_EQ(got, 0x2222222211111111u);
}

TEST(DmaEngine, UnmappedMemoryFailsWhoAsked) {  // R8
  UnmappedMemory nothing;
  Bench bench;
  Rig rig(bench, byte_a_cycle(), 1000, &nothing);
  rig.requests[kWqeClient]->push(Cycle{0}, rig.read(1, 4));
  const PacketHandle written = rig.packet({4, 4, 4}), read = rig.packet({4, 4});
  rig.payload.push(Cycle{0}, written);
  rig.gather.push(Cycle{0}, read);
  bench.run();
  EXPECT_FALSE(rig.completions[kWqeClient]->value(0).ok);
  EXPECT_EQ(rig.shared.packets[written].drop_reason, DropReason::kHostMemory);
  EXPECT_TRUE(rig.shared.packets[written].fails_qp);
  EXPECT_EQ(rig.dut.counters().writes, 1u);
  ASSERT_EQ(rig.gathered.size(), 1u);
  EXPECT_EQ(rig.shared.packets[read].outcome, Outcome::kNak);
  EXPECT_EQ(rig.shared.packets[read].drop_reason, DropReason::kHostMemory);
  EXPECT_EQ(rig.dut.counters().failed, 3u);
}

TEST(DmaEngine, APacketsSegmentsAreWrittenTogether) {  // R2, R8
  for (const bool refuses : {false, true}) {
    PickyMemory memory;
    Bench bench;
    Rig rig(bench, byte_a_cycle(), 1000, &memory);
    const PacketHandle one = rig.packet({4}), three = rig.packet({4, 8, 4}, 0x20000);
    const Packet& p = rig.shared.packets[three];
    if (refuses) memory.refused = p.segments[1].bus;
    const BusAddress first = p.segments[0].bus, last = p.segments[2].bus;
    rig.payload.push(Cycle{0}, one);
    rig.payload.push(Cycle{0}, three);
    bench.run();
    EXPECT_EQ(memory.together, (std::vector<std::size_t>{3}));
    ASSERT_EQ(memory.written.size(), refuses ? 2u : 4u);
    EXPECT_EQ(memory.written[1], first);
    EXPECT_EQ(memory.written.back(), refuses ? first : last);
    EXPECT_EQ(rig.dut.counters().failed, refuses ? 1u : 0u);
    EXPECT_EQ(rig.dut.counters().writes, refuses ? 3u : 4u);
    EXPECT_EQ(p.drop_reason, refuses ? DropReason::kHostMemory : DropReason::kNone);
    EXPECT_EQ(rig.payload_done.size(), 2u);
  }
}

// Payload in Gb/s that a saturated engine moves, by bytes of a transfer; clock of 430 MHz.
double saturated_gbps(DmaEngineParams p, bool writes, std::uint32_t bytes) {
  constexpr std::uint32_t kPeriod = 2325;
  constexpr int kTransfers = 4000;
  Bench bench(EngineMode::kFast, kPeriod);
  Rig rig(bench, p, kPeriod);
  const auto& first = writes ? rig.write(0, bytes) : rig.read(0, bytes);
  for (int i = 0; i < kTransfers; ++i) rig.requests[kWqeClient]->push(Cycle{0}, first);
  bench.run();
  const std::uint64_t cycles =
      writes ? bench.engine().now().count
             : rig.completions[kWqeClient]->cycle(kTransfers - 1).count - rig.completions[kWqeClient]->cycle(0).count;
  return double{8.0} * bytes * kTransfers / (static_cast<double>(cycles) * kPeriod * 1e-3);
}

TEST(DmaEngine, SaturatedLinkMovesWhatTheArithmeticSays) {
  struct Row {
    std::uint32_t rate_mbps, bytes;
    double write, read;  // Gb/s, published link arithmetic
  };
  for (const Row& r :
       {Row{57885, 64, 42.10, 44.10}, Row{57885, 256, 52.92, 53.69}, Row{113700, 64, 82.69, 86.63},
        Row{113700, 256, 103.95, 105.46}, Row{227400, 64, 165.38, 173.26}, Row{227400, 256, 207.91, 210.92}}) {
    DmaEngineParams p;
    p.tlp_rate_mbps = r.rate_mbps;
    p.tags = 1024;
    p.posted_credit_bytes = 1 << 20;
    EXPECT_NEAR(saturated_gbps(p, true, r.bytes), r.write, 0.005 * r.write) << r.rate_mbps << " write " << r.bytes;
    EXPECT_NEAR(saturated_gbps(p, false, r.bytes), r.read, 0.005 * r.read) << r.rate_mbps << " read " << r.bytes;
  }
}

TEST(DmaEngine, RatesStepWhereATlpIsAdded) {
  DmaEngineParams p;
  p.tags = 1024;
  EXPECT_LT(saturated_gbps(p, false, 65), 0.85 * saturated_gbps(p, false, 64));
  EXPECT_LT(saturated_gbps(p, false, 257), 0.95 * saturated_gbps(p, false, 256));
  EXPECT_LT(saturated_gbps(p, true, 257), 0.95 * saturated_gbps(p, true, 256));
  EXPECT_GT(saturated_gbps(p, true, 65), saturated_gbps(p, true, 64));  // one TLP either way
}

TEST(DmaEngine, ThirtyFourReadsInFlightGiveThePublishedRate) {
  // pcie-bench, BDW: bulk reads of 64 B, 546 ns each, about 34 in flight, 62.3 M/s.
  DmaEngineParams p;
  p.tlp_rate_mbps = 57885;
  p.tags = 34;
  p.read_latency_ps = 546'000 - 3'300 - 11'600;  // without the request and its completion on the link
  EXPECT_NEAR(saturated_gbps(p, false, 64) / 512 * 1000, 62.3, 0.02 * 62.3);
}

TEST(DmaEngine, AllModesAgreeOnRandomTraffic) {
  const std::uint64_t seed = test_seed(1);
  for (std::uint64_t round = 0; round < 10; ++round) {
    expect_equal_in_all_modes(
        [&](Bench& bench) {
          std::mt19937_64 random(seed + round);
          DmaEngineParams p;
          p.tags = 1 + random() % 16;
          p.posted_credit_bytes = 4096;
          p.tlp_rate_mbps = 20000 + random() % 400000;
          Rig rig(bench, p, 2325);
          Cycle when[kDmaClients + 2] = {};
          const auto later = [&](Cycle& c) { return c += random() % 4 == 0 ? random() % 300 : random() % 6; };
          for (int i = 0; i < 600; ++i) {
            const std::size_t who = random() % (kDmaClients + 2);
            const auto bytes = static_cast<std::uint32_t>(1 + random() % 1500);
            const std::uint64_t address = random() % 100000;
            if (who == kDmaClients && rig.shared.packets.available(PacketClass::kReceive)) {
              const PacketHandle h = random() % 5 == 0 ? rig.packet({}) : rig.packet({bytes, 64}, address);
              rig.payload.push(later(when[who]), h);
            } else if (who > kDmaClients && rig.shared.packets.available(PacketClass::kReceive)) {
              rig.gather.push(later(when[who]), rig.packet({bytes, bytes}, address));
            } else if (who < kDmaClients) {
              rig.requests[who]->push(later(when[who]), random() % 2 == 0
                                                            ? rig.read(0, bytes, address)
                                                            : rig.write(0, bytes, address, random() % 2 == 0));
            }
          }
          for (auto* sink : rig.completions) sink->accept_when([](Cycle c) { return c.count % 7 < 3; });
          rig.payload_done.accept_when([](Cycle c) { return c.count % 64 < 20; });
          rig.landed.accept_when([](Cycle c) { return c.count % 64 > 30; });
          bench.run();
          return bench.state_hash() ^ rig.memory.digest();
        },
        2325);
  }
}

}  // namespace
}  // namespace rxnic
