// SPDX-License-Identifier: Apache-2.0
// Rules R1..R10 of model/blocks/dma_engine.h, with fixed latencies and ample credit.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/types/descriptor_text.h"
#include "model/types/syndrome.h"
#include "testbench/unit/model/blocks/dma_engine_fixture.h"

namespace rxnic::dma_engine_test {
namespace {

TEST(DmaEngine, PayloadLeavesWhenItsLastByteHasPassed) {  // R1, R3
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  fixture.write_packet(Cycle{9}, fixture.packet({64}));  // can be popped in cycle 10; 88 bytes on the link
  bench.run_to(Cycle{97});
  EXPECT_EQ(bench.engine().links()[1]->transfers(), 0u);  // the link of payload_done
  bench.run_to(Cycle{98});
  EXPECT_EQ(bench.engine().links()[1]->transfers(), 1u);
  bench.run();
  ASSERT_EQ(fixture.payload_done.size(), 1u);
  EXPECT_EQ(fixture.payload_done.cycle(0), Cycle{98});
  EXPECT_EQ(fixture.shared.packets[fixture.payload_done.value(0).buffer].stamped(Station::kDmaEngine), Cycle{98});
  EXPECT_EQ(fixture.shared.packets[fixture.payload_done.value(0).buffer].taken(Station::kDmaEngine), Cycle{10});
  EXPECT_EQ(fixture.dut.counters().packets_written, 1u);
}

TEST(DmaEngine, WhatCameWithThePacketIsHandedOn) {  // R3
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  auto segments = fixture.packet({64, 8});
  for (SegmentWrite& s : segments) {
    s.completes = s.ends_message = true;
    s.wqe_slot = 5;
    s.byte_count = 72;
    s.cq = Cqn{9};
    s.immediate = 0x1234;
  }
  fixture.write_packet(Cycle{9}, segments);
  bench.run();
  ASSERT_EQ(fixture.payload_done.size(), 1u);
  const CompletionRequest& sent = segments.back();
  EXPECT_EQ(first_difference(fixture.payload_done.value(0), sent), "");
}

TEST(DmaEngine, PayloadBytesAreInMemory) {  // R2
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  auto segments = fixture.packet({3, 2, 4});
  Packet& buffer = fixture.shared.packets[segments[0].buffer];
  std::copy_n("hello", 5, buffer.frame.data());
  std::copy_n("made up", 7, buffer.scratch.data());
  segments[2].area = BufferArea::kScratch;
  segments[2].offset = 3;
  fixture.write_packet(Cycle{0}, segments);
  bench.run();
  std::array<std::uint8_t, 3> first{};
  ASSERT_TRUE(fixture.memory.read(BusAddress{0x10000}, first));
  EXPECT_EQ(std::string(first.begin(), first.end()), "hel");
  EXPECT_EQ(fixture.memory.load<std::uint16_t>(BusAddress{0x12000}), 'l' | 'o' << 8);
  std::array<std::uint8_t, 4> third{};
  ASSERT_TRUE(fixture.memory.read(BusAddress{0x14000}, third));
  EXPECT_EQ(std::string(third.begin(), third.end()), "e up");
}

TEST(DmaEngine, ARequestTouchesMemoryAllAtOnce) {  // R2
  FaultyMemory memory;
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle(), 1000, &memory);
  using Access = FaultyMemory::Access;
  const auto written = [&](std::vector<Access> expected) { return memory.writes == expected; };
  fixture.write_packet(Cycle{9}, fixture.packet({1024, 8}));  // taken in 10, its TLPs take 280 cycles each
  fixture.requests[kCqeClient]->push(Cycle{19}, fixture.write(0, 512, 0x50000));  // its turn is in 290
  fixture.requests[kWqeClient]->push(Cycle{19}, fixture.read(0, 1024, 0x60000));  // after that, in 314 or so
  bench.run_to(Cycle{9});
  EXPECT_TRUE(written({}));
  bench.run_to(Cycle{10});
  EXPECT_TRUE(written({{BusAddress{0x10000}, 1024}}));
  bench.run_to(Cycle{600});
  EXPECT_TRUE(written({{BusAddress{0x10000}, 1024}, {BusAddress{0x50000}, 512}})) << "the segment is on the link still";
  EXPECT_EQ(fixture.dut.counters().writes, 0u);
  EXPECT_TRUE(memory.reads.empty()) << "its last TLP has not started";
  bench.run();
  EXPECT_EQ(memory.reads, (std::vector<Access>{{BusAddress{0x60000}, 1024}}));
  EXPECT_TRUE(written({{BusAddress{0x10000}, 1024}, {BusAddress{0x50000}, 512}, {BusAddress{0x12000}, 8}}));
}

TEST(DmaEngine, SoManyPacketsWaitToBeHandedOn) {  // leaving_depth
  for (const std::uint32_t depth : {1u, 8u}) {
    Bench bench;
    DmaEngineParams params = byte_a_cycle();
    params.leaving_depth = depth;
    DmaEngineFixture fixture(bench, params);
    fixture.payload_done.stall(Cycle{0}, Cycle{200});
    for (int i = 0; i < 40; ++i) fixture.write_packet(Cycle{9}, fixture.packet({}));
    bench.run_to(Cycle{199});
    EXPECT_EQ(fixture.payload.pushed(), 8 + depth + 8) << "8 in each of the two links";
    EXPECT_EQ(fixture.dut.activity(), Activity::kBlocked);
    bench.run();
    EXPECT_EQ(fixture.payload_done.size(), 40u);
  }
}

TEST(DmaEngine, SegmentsFollowEachOtherWithoutAGap) {  // R1
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  fixture.write_packet(Cycle{9}, fixture.packet({64, 257}));
  fixture.write_packet(Cycle{9}, fixture.packet({10}));
  bench.run();
  ASSERT_EQ(fixture.payload_done.size(), 2u);
  EXPECT_EQ(fixture.payload_done.cycle(0), Cycle{10 + 88 + 257 + 48});
  EXPECT_EQ(fixture.payload_done.cycle(1), Cycle{10 + 88 + 257 + 48 + 34});
}

TEST(DmaEngine, PacketWithoutSegmentsPassesInOneCycle) {  // R3
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  fixture.write_packet(Cycle{9}, fixture.packet({}));
  fixture.write_packet(Cycle{9}, fixture.packet({}));
  bench.run();
  ASSERT_EQ(fixture.payload_done.size(), 2u);
  EXPECT_EQ(fixture.payload_done.cycle(0), Cycle{11});
  EXPECT_EQ(fixture.payload_done.cycle(1), Cycle{12});
}

TEST(DmaEngine, ASegmentWithoutBytesTakesNoTurn) {  // R3
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  auto partly = fixture.packet({64, 0, 16, 0});  // as the translator leaves a segment that it refuses
  fixture.write_packet(Cycle{9}, partly);
  fixture.write_packet(Cycle{9}, fixture.packet({8}));
  bench.run();
  ASSERT_EQ(fixture.payload_done.size(), 2u);
  EXPECT_EQ(fixture.dut.counters().tlps_up, 3u);
  EXPECT_EQ(fixture.dut.counters().link_bytes_up, 64u + 16u + 8u + 3 * 24u);
  // The last segment is taken in the cycle in which the link has carried the one before it.
  EXPECT_EQ(fixture.payload_done.cycle(0), Cycle{10 + 88 + 1 + 40 + 1});
  EXPECT_EQ(fixture.payload_done.cycle(1), Cycle{10 + 88 + 1 + 40 + 1 + 32});
}

TEST(DmaEngine, PacketsKeepTheirOrder) {  // R3
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  std::vector<PacketHandle> sent, left;
  for (int i = 0; i < 20; ++i) {
    const auto segments = i % 3 == 0   ? fixture.packet({})
                          : i % 3 == 1 ? fixture.packet({static_cast<std::uint32_t>(100 - i)})
                                       : fixture.packet({8, static_cast<std::uint32_t>(300 - i)});
    sent.push_back(segments[0].buffer);
    fixture.write_packet(Cycle{0}, segments);
  }
  bench.run();
  for (const CompletionRequest& p : fixture.payload_done.values()) left.push_back(p.buffer);
  EXPECT_EQ(left, sent);
}

TEST(DmaEngine, WhatIsBehindAPacketThatFailedHereWritesNothing) {  // R8
  FaultyMemory memory;
  memory.unmap(BusAddress{0x10000});
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle(), 1000, &memory);
  auto& refusals = bench.sink(fixture.dut.refusals);
  fixture.write_packet(Cycle{0}, fixture.packet({8}, 0x10000, 3));
  fixture.write_packet(Cycle{0}, fixture.packet({8, 8, 8}, 0x20000, 3));
  fixture.write_packet(Cycle{0}, fixture.packet({8}, 0x30000, 4));  // of another QP
  auto later = fixture.packet({8}, 0x40000, 3);
  later[0].residence = 1;  // another QP on the line
  fixture.write_packet(Cycle{0}, later);
  bench.run();
  EXPECT_EQ(fixture.dut.counters().writes, 3u);
  EXPECT_EQ(memory.writes, (std::vector<FaultyMemory::Access>{{BusAddress{0x30000}, 8}, {BusAddress{0x40000}, 8}}));
  ASSERT_EQ(fixture.payload_done.size(), 4u);
  const CompletionRequest& failed = fixture.payload_done.value(0);
  EXPECT_EQ(failed.drop_reason, DropReason::kHostMemory);
  EXPECT_EQ(failed.outcome, Outcome::kNak);
  EXPECT_EQ(failed.syndrome, kNakRemoteOperation);
  EXPECT_TRUE(failed.fails_qp);
  const CompletionRequest& behind = fixture.payload_done.value(1);
  EXPECT_EQ(behind.drop_reason, DropReason::kSquashed);
  EXPECT_FALSE(behind.acknowledge || behind.completes || behind.fails_qp);
  for (const std::size_t n : {2u, 3u}) EXPECT_EQ(fixture.payload_done.value(n).drop_reason, DropReason::kNone);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals.value(0).kind, RefusalKind::kError);
  EXPECT_EQ(refusals.value(0).line, 3u);
}

TEST(DmaEngine, APacketEndsWithTheSegmentThatFails) {  // R8
  FaultyMemory memory;
  memory.unmap(BusAddress{0x12000});
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle(), 1000, &memory);
  fixture.write_packet(Cycle{9}, fixture.packet({64, 257, 8, 8}));
  fixture.write_packet(Cycle{9}, fixture.packet({16}, 0x30000, 1));
  bench.run();
  ASSERT_EQ(fixture.payload_done.size(), 2u) << "each packet once";
  EXPECT_EQ(fixture.payload_done.value(0).drop_reason, DropReason::kHostMemory);
  EXPECT_EQ(fixture.payload_done.value(0).message_sequence, 1u);
  EXPECT_EQ(fixture.payload_done.cycle(0), Cycle{10 + 88 + 257 + 48}) << "not before its bytes have left";
  EXPECT_EQ(fixture.payload_done.value(1).drop_reason, DropReason::kNone);
  EXPECT_EQ(fixture.payload_done.cycle(1), Cycle{10 + 88 + 257 + 48 + 2 + 40})
      << "two segments were dropped, one a cycle";
  EXPECT_EQ(memory.writes, (std::vector<FaultyMemory::Access>{{BusAddress{0x10000}, 64}, {BusAddress{0x30000}, 16}}));
  EXPECT_EQ(fixture.dut.counters().writes, 3u);
  EXPECT_EQ(fixture.dut.counters().failed, 1u);
  EXPECT_EQ(fixture.dut.counters().packets_written, 2u);
}

TEST(DmaEngine, AnAnswerThatFailsHereEndsWhatIsBehindIt) {  // R8, core/responder/refusal.h R5
  FaultyMemory memory;
  memory.unmap(BusAddress{0x10000});
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle(), 1000, &memory);
  auto& refusals = bench.sink(fixture.dut.refusals);
  for (std::uint32_t request = 1; request <= 3; ++request) {
    auto answer = fixture.packet({8, 8}, 0x10000 * request);
    for (SegmentWrite& s : answer) {
      s.opcode = opcode_of(Transport::kRc, Operation::kReadResponseOnly);
      s.outcome = Outcome::kAnswer;
      s.acknowledge = false;
      s.completes = s.ends_message = request != 2;  // the second one is not the last response
      s.message_sequence = request;
    }
    fixture.write_packet(Cycle{9}, answer);
  }
  bench.run();
  ASSERT_EQ(fixture.payload_done.size(), 3u);
  EXPECT_TRUE(memory.writes.empty());
  EXPECT_EQ(fixture.payload_done.value(0).drop_reason, DropReason::kHostMemory);
  EXPECT_EQ(fixture.payload_done.value(0).status, WcStatus::kLocalProtection);
  EXPECT_TRUE(fixture.payload_done.value(0).completes);
  EXPECT_FALSE(fixture.payload_done.value(1).completes);
  EXPECT_TRUE(fixture.payload_done.value(2).completes);
  EXPECT_EQ(fixture.payload_done.value(2).status, WcStatus::kFlushed);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals.value(0).kind, RefusalKind::kRequestError);
  EXPECT_EQ(refusals.value(0).request, 1u);
}

TEST(DmaEngine, ReadCompletesAfterRoundTripAndData) {  // R5
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  fixture.memory.store(BusAddress{0x1000}, std::uint64_t{0x1122334455667788});
  fixture.requests[kContextClient]->push(Cycle{9}, fixture.read(77, 64));
  // popped in 10, request gone at 34, first byte at 134, 84 bytes of completion
  auto& out = *fixture.completions[kContextClient];
  bench.run_to(Cycle{218});
  EXPECT_EQ(out.size(), 0u);
  bench.run();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out.cycle(0), Cycle{10 + 24 + 100 + 84});
  EXPECT_EQ(out.value(0).cookie, 77u);
  EXPECT_TRUE(out.value(0).ok);
  std::uint64_t got = 0;
  std::memcpy(&got, fixture.buffer, 8);
  EXPECT_EQ(got, 0x1122334455667788u);
}

TEST(DmaEngine, ReadDataQueuesOnTheLinkDown) {  // R5
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  fixture.requests[kContextClient]->push(Cycle{9}, fixture.read(1, 512));
  fixture.requests[kWqeClient]->push(Cycle{9}, fixture.read(2, 64));
  bench.run();
  EXPECT_EQ(fixture.completions[kContextClient]->cycle(0), Cycle{10 + 24 + 100 + 552});
  EXPECT_EQ(fixture.completions[kWqeClient]->cycle(0), Cycle{10 + 24 + 100 + 552 + 84});
}

TEST(DmaEngine, ALongReadIsCompletedOnceBehindItsLastTlp) {  // R1, R5
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  const std::uint64_t address = 0x1000 + 4096 - 100;
  for (std::uint64_t at = 0; at < 700; at += 4) fixture.memory.store(BusAddress{address + at}, 0x5a5a0000 + at);
  fixture.requests[kContextClient]->push(Cycle{9}, fixture.read(1, 700, address));  // TLPs of 100, 512 and 88 bytes
  const auto tags_until = [&](std::uint64_t last) {
    bench.run_to(Cycle{last});
    return fixture.dut.tags_in_use();
  };
  EXPECT_EQ(tags_until(10), 1u);
  EXPECT_EQ(tags_until(33), 1u);
  EXPECT_EQ(tags_until(34), 2u);
  EXPECT_EQ(tags_until(58), 3u);
  // Completions of 36 and 64 bytes; two of 256; 64 and 24.
  const std::uint64_t first = 34 + 100 + 36 + 64 + 2 * 20, second = first + 552, third = second + 88 + 2 * 20;
  EXPECT_EQ(tags_until(first - 1), 3u);
  EXPECT_EQ(tags_until(first), 2u) << "each request's tag is free with its own last completion";
  EXPECT_EQ(tags_until(second - 1), 2u);
  EXPECT_EQ(tags_until(second), 1u);
  EXPECT_EQ(tags_until(third - 1), 1u);
  EXPECT_EQ(tags_until(third), 0u);
  bench.run();
  ASSERT_EQ(fixture.completions[kContextClient]->size(), 1u);
  EXPECT_EQ(fixture.completions[kContextClient]->cycle(0), Cycle{third});
  std::vector<std::uint8_t> expected(700);
  fixture.memory.read(BusAddress{address}, expected);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), fixture.buffer));
  EXPECT_EQ(fixture.dut.counters().reads, 1u);
  EXPECT_EQ(fixture.dut.counters().read_bytes, 700u);
  EXPECT_EQ(fixture.dut.counters().tlps_up, 3u);
  EXPECT_EQ(fixture.dut.counters().tlps_down, 6u);
}

DmaEngineParams pcie_atomics() {
  DmaEngineParams p = byte_a_cycle();
  p.atomic_operations = AtomicOperations::kPcie;
  return p;
}

TEST(DmaEngine, AtomicsReturnTheOriginal) {  // R2, R5, R14
  Bench bench;
  DmaEngineFixture fixture(bench, pcie_atomics());
  fixture.memory.store(BusAddress{0x1000}, std::uint64_t{40});
  std::uint64_t added = 0, swapped = 0, kept = 0;
  const auto request = [](DmaKind kind, std::uint64_t& to, std::uint64_t operand, std::uint64_t compare) {
    return DmaRequest{kind, false, 0, 0, BusAddress{0x1000}, 8, reinterpret_cast<std::uint8_t*>(&to), operand, compare};
  };
  auto& in = *fixture.requests[static_cast<std::size_t>(DmaClient::kResponse)];
  in.push(Cycle{9}, request(DmaKind::kFetchAdd, added, 2, 0));
  in.push(Cycle{9}, request(DmaKind::kCompareSwap, swapped, 7, 42));
  in.push(Cycle{9}, request(DmaKind::kCompareSwap, kept, 9, 42));
  bench.run();
  EXPECT_EQ(added, 40u);
  EXPECT_EQ(swapped, 42u);
  EXPECT_EQ(kept, 7u);
  EXPECT_EQ(fixture.memory.load<std::uint64_t>(BusAddress{0x1000}), 7u);
  EXPECT_EQ(fixture.dut.counters().atomics, 3u);
  auto& out = *fixture.completions[static_cast<std::size_t>(DmaClient::kResponse)];
  EXPECT_EQ(out.cycle(0), Cycle{10 + 32 + 100 + 28});
}

TEST(DmaEngine, AnAtomicIsAReadAndAWrite) {  // R14
  for (const DmaKind kind : {DmaKind::kFetchAdd, DmaKind::kCompareSwap}) {
    for (const std::uint64_t compare : {40u, 41u}) {
      const bool writes = kind == DmaKind::kFetchAdd || compare == 40;
      Bench bench;
      DmaEngineFixture fixture(bench, byte_a_cycle());
      fixture.memory.store(BusAddress{0x1000}, std::uint64_t{40});
      std::uint64_t original = 0;
      fixture.requests[kResponseClient]->push(
          Cycle{9}, {kind, false, 0, 3, BusAddress{0x1000}, 8, reinterpret_cast<std::uint8_t*>(&original), 2, compare});
      bench.run();
      EXPECT_EQ(original, 40u);
      const std::uint64_t result = !writes ? 40 : kind == DmaKind::kFetchAdd ? 42 : 2;
      EXPECT_EQ(fixture.memory.load<std::uint64_t>(BusAddress{0x1000}), result);
      ASSERT_EQ(fixture.completions[kResponseClient]->size(), 1u);
      EXPECT_EQ(fixture.completions[kResponseClient]->value(0).cookie, 3u);
      // The request up, its latency, its completion down; the write up.
      const std::uint64_t read = 10 + 24 + 100 + 28;
      EXPECT_EQ(fixture.completions[kResponseClient]->cycle(0), Cycle{read + (writes ? 32 : 0)});
      EXPECT_EQ(fixture.dut.counters().atomics, 1u);
      EXPECT_EQ(fixture.dut.counters().tlps_up, writes ? 2u : 1u);
      EXPECT_EQ(fixture.dut.counters().link_bytes_up, writes ? 24u + 32 : 24u);
      EXPECT_EQ(fixture.dut.counters().write_bytes, writes ? 8u : 0u);
      EXPECT_EQ(fixture.dut.tags_in_use(), 0u);
    }
  }
}

TEST(DmaEngine, TheWriteOfAnAtomicWaitsForCredit) {  // R6, R14
  DmaEngineParams p = byte_a_cycle();
  p.posted_header_credits = 1;
  p.write_latency_ps = 1'000'000;
  Bench bench;
  DmaEngineFixture fixture(bench, p);
  std::uint64_t original = 0;
  fixture.requests[kResponseClient]->push(Cycle{9}, {DmaKind::kFetchAdd, false, 0, 3, BusAddress{0x1000}, 8,
                                                     reinterpret_cast<std::uint8_t*>(&original), 2, 0});
  fixture.requests[kCqeClient]->push(Cycle{50}, fixture.write(0, 16));  // visible in 51 + 40 + 1000
  bench.run();
  ASSERT_EQ(fixture.completions[kResponseClient]->size(), 1u);
  EXPECT_EQ(fixture.completions[kResponseClient]->cycle(0), Cycle{51 + 40 + 1000 + 32});
}

TEST(DmaEngine, ASwapWritesEightBytesAndCompletesAsAnAtomic) {  // R2, R5, R8
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  fixture.memory.store(BusAddress{0x1000}, std::uint64_t{40});
  fixture.memory.store(BusAddress{0x1008}, std::uint64_t{41});
  std::uint64_t unused = 7;
  auto& in = *fixture.requests[static_cast<std::size_t>(DmaClient::kResponse)];
  in.push(Cycle{9}, {DmaKind::kSwap, false, 0, 3, BusAddress{0x1000}, 8, reinterpret_cast<std::uint8_t*>(&unused),
                     0x1122334455667788, 0});
  bench.run();
  EXPECT_EQ(fixture.memory.load<std::uint64_t>(BusAddress{0x1000}), 0x1122334455667788u);
  EXPECT_EQ(fixture.memory.load<std::uint64_t>(BusAddress{0x1008}), 41u);
  EXPECT_EQ(unused, 7u) << "the original value is not asked for";
  auto& out = *fixture.completions[static_cast<std::size_t>(DmaClient::kResponse)];
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out.value(0).cookie, 3u);
  EXPECT_TRUE(out.value(0).ok);
  EXPECT_EQ(out.cycle(0), Cycle{10 + 32 + 100 + 28}) << "the cycle of a FETCH_ADD";
  EXPECT_EQ(fixture.dut.counters().atomics, 1u);
}

TEST(DmaEngine, NoticeComesWhenTheWriteIsVisible) {  // R4
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  fixture.requests[kCqeClient]->push(Cycle{9}, fixture.write(5, 64, 0x1000, 3));
  fixture.requests[kCqeClient]->push(Cycle{9}, fixture.write(6, 64, 0x1040, 0));
  bench.run();
  ASSERT_EQ(fixture.landed.size(), 1u);
  EXPECT_EQ(fixture.landed.value(0).number, 5u);
  EXPECT_EQ(fixture.landed.value(0).completions, 3u);
  EXPECT_EQ(fixture.landed.value(0).started, Cycle{10});
  EXPECT_EQ(fixture.landed.cycle(0), Cycle{10 + 88 + 50});
  ASSERT_EQ(fixture.completions[kCqeClient]->size(), 1u) << "the other write is posted";
  EXPECT_EQ(fixture.completions[kCqeClient]->value(0).cookie, 5u);
  EXPECT_EQ(fixture.completions[kCqeClient]->cycle(0), Cycle{10 + 88 + 50});
}

TEST(DmaEngine, TheHostIsNotifiedWithoutTheClient) {  // R4
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  DmaRequest write = fixture.write(5, 64, 0x1000, 1);
  write.notify = false;
  fixture.requests[kCqeClient]->push(Cycle{9}, write);
  bench.run();
  ASSERT_EQ(fixture.landed.size(), 1u);
  EXPECT_EQ(fixture.landed.cycle(0), Cycle{10 + 88 + 50});
  EXPECT_EQ(fixture.completions[kCqeClient]->size(), 0u);
}

TEST(DmaEngine, CompletionQueueEntryLandsAfterItsPayload) {  // R4
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  fixture.write_packet(Cycle{9}, fixture.packet({2048}));
  fixture.payload_done.on_value([&](Cycle now, const CompletionRequest&) {
    fixture.requests[kCqeClient]->push(now, fixture.write(5, 64, 0x1000, 3));
  });
  bench.run();
  ASSERT_EQ(fixture.landed.size(), 1u);
  const std::uint64_t payload_left = 10 + 2048 + 8 * 24;
  EXPECT_EQ(fixture.payload_done.cycle(0), Cycle{payload_left});
  EXPECT_GT(fixture.landed.cycle(0), Cycle{payload_left + 50});
}

TEST(DmaEngine, RequestersTakeTurns) {  // R1
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  for (int i = 0; i < 50; ++i) {
    fixture.write_packet(Cycle{0}, fixture.packet({64}));
    for (const std::size_t c : {kContextClient, kWqeClient, kCqeClient}) {
      fixture.requests[c]->push(Cycle{0}, fixture.write(0, 64));
    }
  }
  bench.run_to(Cycle{1 + 88 * 80});
  for (const std::size_t c : {kContextClient, kWqeClient, kCqeClient}) {
    EXPECT_NEAR(static_cast<double>(fixture.dut.counters().client_requests[c]), 20, 1);
  }
  EXPECT_NEAR(static_cast<double>(fixture.dut.counters().packets_written), 20, 1);
  bench.run();
}

// The lowest or the highest of those that ask, or nobody that does.
struct TestArbiter final : DmaArbiter {
  enum Choice { kHighest, kNobody };
  TestArbiter(Choice c, std::vector<std::uint32_t>& to) : choice(c), asked(to) {}
  std::size_t next(std::uint32_t asking, std::size_t) const override {
    asked.push_back(asking);
    return choice == kHighest ? static_cast<std::size_t>(std::bit_width(asking)) - 1 : 31;
  }
  const Choice choice;
  std::vector<std::uint32_t>& asked;
};

TEST(DmaEngine, AnArbiterDecidesWhoStarts) {  // core/memory/dma_arbiter.h
  const auto order = [](TestArbiter::Choice choice) {
    Bench bench;
    std::vector<std::uint32_t> asked;
    DmaEngineFixture fixture(bench, byte_a_cycle(), 1000, nullptr, std::make_unique<TestArbiter>(choice, asked));
    for (const std::size_t c : {kContextClient, kWqeClient, kCqeClient}) {
      for (int i = 0; i < 3; ++i) fixture.requests[c]->push(Cycle{0}, fixture.write(0, 64, 0x1000, 1));
    }
    bench.run();
    EXPECT_GE(asked.size(), 9u);
    std::vector<std::pair<Cycle, char>> ends;
    for (const auto& [c, name] :
         {std::pair{kContextClient, 'x'}, std::pair{kWqeClient, 'w'}, std::pair{kCqeClient, 'c'}}) {
      EXPECT_EQ(fixture.completions[c]->size(), 3u);
      for (std::size_t n = 0; n < fixture.completions[c]->size(); ++n) {
        ends.emplace_back(fixture.completions[c]->cycle(n), name);
      }
    }
    std::sort(ends.begin(), ends.end());
    std::string text;
    for (const auto& [cycle, name] : ends) text += name;
    return text;
  };
  const std::string highest = order(TestArbiter::kHighest), lowest = order(TestArbiter::kNobody);
  EXPECT_EQ(highest, std::string(lowest.rbegin(), lowest.rend()));
  EXPECT_EQ(highest.substr(0, 3), std::string(3, highest[0]));
  EXPECT_EQ(highest.substr(3, 3), std::string(3, highest[3]));
}

TEST(DmaEngine, AnArbiterIsAskedAgainWithoutTheOneThatCannotStart) {
  Bench bench;
  std::vector<std::uint32_t> asked;
  DmaEngineParams params = byte_a_cycle();
  params.tags = 1;
  DmaEngineFixture fixture(bench, params, 1000, nullptr, std::make_unique<TestArbiter>(TestArbiter::kHighest, asked));
  const auto [low, high] = std::minmax({kWqeClient, kCqeClient});
  fixture.requests[high]->push(Cycle{0}, fixture.read(0, 64));
  fixture.requests[high]->push(Cycle{0}, fixture.read(1, 64));  // lacks a tag until the first is complete
  fixture.requests[low]->push(Cycle{0}, fixture.write(0, 64));
  bench.run();
  EXPECT_LT(fixture.dut.counters().client_requests[low], 2u);
  EXPECT_EQ(fixture.completions[high]->size(), 2u);
  const auto with = std::find(asked.begin(), asked.end(), 1u << high | 1u << low);
  ASSERT_NE(with, asked.end());
  EXPECT_NE(std::find(with, asked.end(), 1u << low), asked.end()) << "the write starts while the second read waits";
}

TEST(DmaEngine, TurnsAreTakenTlpByTlp) {  // R1
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  fixture.write_packet(Cycle{9}, fixture.packet({1024}));                          // four TLPs of 280 cycles
  fixture.gather_response(Cycle{9}, fixture.response({1100}));                     // three of 24
  fixture.requests[kCqeClient]->push(Cycle{9}, fixture.write(0, 512, 0x1000, 1));  // two of 280
  fixture.requests[kWqeClient]->push(Cycle{9}, fixture.read(0, 64));               // one of 24
  // WQE, CQE, payload, gather, CQE, payload, gather, payload, gather, payload
  bench.run();
  const std::uint64_t wqe = 10 + 24, round = wqe + 280 + 280 + 24, cqe = round + 280;
  EXPECT_EQ(fixture.landed.cycle(0), Cycle{cqe + 50});
  EXPECT_EQ(fixture.completions[kWqeClient]->cycle(0), Cycle{wqe + 100 + 84});
  EXPECT_EQ(fixture.payload_done.cycle(0), Cycle{cqe + 280 + 24 + 280 + 24 + 280});
  EXPECT_EQ(fixture.dut.counters().tlps_up, 10u);
}

TEST(DmaEngine, AShortRequestWaitsForOneTlpOfALongOne) {  // R1
  for (const bool writes : {false, true}) {
    Bench bench;
    DmaEngineFixture fixture(bench, byte_a_cycle());
    fixture.write_packet(Cycle{9}, fixture.packet({4096}));  // from 10 on, a TLP every 280 cycles
    auto& client = *fixture.requests[kCqeClient];
    client.push(Cycle{299}, writes ? fixture.write(0, 64, 0x1000, 1) : fixture.read(0, 64));
    bench.run();
    const Cycle done = writes ? fixture.landed.cycle(0) : fixture.completions[kCqeClient]->cycle(0);
    EXPECT_EQ(done, Cycle{10u + 2 * 280 + (writes ? 88 + 50 : 24 + 100 + 84)});
    EXPECT_EQ(fixture.payload_done.cycle(0), Cycle{10u + 16 * 280 + (writes ? 88 : 24)});
  }
}

TEST(DmaEngine, TagsBoundTheReadsInFlight) {  // R5
  DmaEngineParams p = byte_a_cycle();
  p.tags = 2;
  Bench bench;
  DmaEngineFixture fixture(bench, p);
  for (std::uint32_t i = 0; i < 3; ++i) fixture.requests[kWqeClient]->push(Cycle{9}, fixture.read(i, 4));
  bench.run_to(Cycle{100});
  EXPECT_EQ(fixture.dut.tags_in_use(), 2u);
  EXPECT_EQ(fixture.dut.activity(), Activity::kWaitDmaTag);
  bench.run();
  auto& out = *fixture.completions[kWqeClient];
  ASSERT_EQ(out.size(), 3u);
  const std::uint64_t first = 10 + 24 + 100 + 24;
  EXPECT_EQ(out.cycle(0), Cycle{first});
  EXPECT_EQ(out.cycle(1), Cycle{first + 24});
  EXPECT_EQ(out.cycle(2), Cycle{first + 24 + 100 + 24});  // starts in the cycle in which the first is completed
  EXPECT_EQ(fixture.dut.tags_in_use(), 0u);
}

TEST(DmaEngine, ReadLongerThanAllTagsStillRuns) {  // R5
  DmaEngineParams p = byte_a_cycle();
  p.tags = 2;
  Bench bench;
  DmaEngineFixture fixture(bench, p);
  fixture.requests[kWqeClient]->push(Cycle{0}, fixture.read(1, 4096));
  bench.run();
  EXPECT_EQ(fixture.completions[kWqeClient]->size(), 1u);
}

TEST(DmaEngine, AReadThatLacksATagHoldsUpAllReads) {  // R7
  DmaEngineParams p = byte_a_cycle();
  p.tags = 1;
  Bench bench;
  DmaEngineFixture fixture(bench, p);
  for (std::uint32_t i = 0; i < 2; ++i) fixture.requests[kWqeClient]->push(Cycle{9}, fixture.read(i, 4));
  fixture.requests[kCqeClient]->push(Cycle{49}, fixture.read(0, 4));  // it would have the turn
  fixture.requests[kCqeClient]->push(Cycle{49}, fixture.write(0, 4));
  bench.run();
  const std::uint64_t round_trip = 24 + 100 + 24;
  EXPECT_EQ(fixture.completions[kWqeClient]->cycle(1), Cycle{10 + 2 * round_trip});
  EXPECT_EQ(fixture.completions[kCqeClient]->cycle(0), Cycle{10 + 3 * round_trip});
}

TEST(DmaEngine, LongReadIsNotStarvedOfTagsByShortOnes) {  // R7
  DmaEngineParams p = byte_a_cycle();
  p.tags = 4;
  Bench bench;
  DmaEngineFixture fixture(bench, p);
  for (std::uint32_t i = 0; i < 100; ++i) fixture.requests[kWqeClient]->push(Cycle{0}, fixture.read(i, 4));
  fixture.requests[kContextClient]->push(Cycle{50}, fixture.read(1000, 2048));  // four tags
  fixture.requests[kCqeClient]->push(Cycle{60}, fixture.write(0, 4));           // writes go on
  std::uint64_t before = 0;
  fixture.completions[kContextClient]->on_value(
      [&](Cycle, const DmaCompletion&) { before = fixture.completions[kWqeClient]->size(); });
  bench.run();
  EXPECT_EQ(fixture.completions[kContextClient]->size(), 1u);
  EXPECT_LE(before, 8u) << "four that have tags, and one before each of its TLPs: turns are TLP by TLP";
  EXPECT_EQ(fixture.dut.counters().writes, 1u);
}

TEST(DmaEngine, CreditBoundsTheWritesThatHaveNotLanded) {  // R6, R7
  DmaEngineParams p = byte_a_cycle();
  p.posted_credit_bytes = 4096;
  p.write_latency_ps = 10'000'000;
  Bench bench;
  DmaEngineFixture fixture(bench, p);
  fixture.requests[kCqeClient]->push(Cycle{0}, fixture.write(0, 4000));
  fixture.requests[kCqeClient]->push(Cycle{0}, fixture.write(0, 100));
  fixture.requests[kWqeClient]->push(Cycle{4500}, fixture.write(0, 16));  // would fit, must not pass
  fixture.requests[kContextClient]->push(Cycle{5000}, fixture.read(0, 4));
  bench.run_to(Cycle{6000});
  EXPECT_EQ(fixture.dut.counters().writes, 1u);
  EXPECT_EQ(fixture.dut.activity(), Activity::kWaitDmaCredit);
  EXPECT_EQ(fixture.dut.tags_in_use(), 1u) << "the read was started";
  EXPECT_EQ(fixture.completions[kContextClient]->size(), 0u) << "it follows the writes before it (R5)";
  const std::uint64_t landed = 1 + 256 + 24 + 10'000;  // the first TLP of the first write
  bench.run_to(Cycle{landed - 1});
  EXPECT_EQ(fixture.dut.counters().writes, 1u);
  bench.run_to(Cycle{landed});
  EXPECT_EQ(fixture.dut.counters().writes, 2u);
  bench.run();
  EXPECT_EQ(fixture.dut.counters().writes, 3u);
}

TEST(DmaEngine, AWriteTakesCreditTlpByTlp) {  // R6
  DmaEngineParams p = byte_a_cycle();
  p.posted_credit_bytes = 512;
  p.write_latency_ps = 10'000'000;
  Bench bench;
  DmaEngineFixture fixture(bench, p);
  fixture.write_packet(Cycle{9}, fixture.packet({700}));  // TLPs of 256, 256, 188
  bench.run_to(Cycle{10 + 280 + 9'999});
  EXPECT_EQ(fixture.dut.counters().tlps_up, 2u);
  EXPECT_EQ(fixture.dut.activity(), Activity::kWaitDmaCredit);
  EXPECT_EQ(fixture.payload_done.size(), 0u);
  bench.run_to(Cycle{10 + 280 + 10'000});
  EXPECT_EQ(fixture.dut.counters().tlps_up, 3u) << "the first has landed";
  bench.run();
  EXPECT_EQ(fixture.payload_done.cycle(0), Cycle{10 + 280 + 10'000 + 212});
}

// The link `payload` holds 8 segments.
struct Pressed {
  explicit Pressed(const DmaEngineParams& params = byte_a_cycle()) : fixture(bench, params) {}
  void write(Cycle when, std::initializer_list<std::uint32_t> sizes, int packets = 1) {
    for (int i = 0; i < packets; ++i) fixture.write_packet(when, fixture.packet(sizes));
  }
  std::string run() {  // a letter for each packet
    bench.run();
    std::string letters;
    for (const CompletionRequest& p : fixture.payload_done.values()) letters += p.pressed ? 'P' : '.';
    return letters;
  }
  Bench bench;
  DmaEngineFixture fixture;
};

TEST(DmaEngine, PacketsThatTheLinkHoldsUpArePressedButTheLastOnes) {  // R15
  Pressed sends;
  sends.write(Cycle{9}, {64}, 20);  // 7 wait behind the 13th, 6 behind the 14th
  EXPECT_EQ(sends.run(), ".PPPPPPPPPPPP.......");
  Pressed empty;
  empty.fixture.requests[kCqeClient]->push(Cycle{9}, empty.fixture.write(0, 256));
  empty.write(Cycle{9}, {}, 20);  // the second one waits for the CQE's TLP, the others find the link idle
  EXPECT_EQ(empty.run(), ".P" + std::string(18, '.'));
}

TEST(DmaEngine, PacketsThatLackCreditArePressed) {  // R6, R15
  DmaEngineParams p = byte_a_cycle();
  p.posted_header_credits = 1;  // a write in 74 cycles, of which the link is busy for 24 + 8
  Pressed sends(p);
  sends.write(Cycle{9}, {8}, 20);
  EXPECT_EQ(sends.run(), ".PPPPPPPPPPPP.......");
}

TEST(DmaEngine, NoPacketIsPressedByWhatIsNotThePathToMemory) {  // R15
  Pressed one;
  one.write(Cycle{9}, {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8});  // fills `payload` alone
  EXPECT_EQ(one.run(), ".");
  Pressed paced;  // as fast as the link, and no faster
  for (std::uint64_t n = 0; n < 20; ++n) paced.write(Cycle{9 + 88 * n}, {64});
  EXPECT_EQ(paced.run(), std::string(20, '.'));
  Pressed behind;  // those who take the packets are slow, the link is idle
  behind.fixture.payload_done.accept_when([](Cycle c) { return c.count % 200 == 0; });
  behind.write(Cycle{9}, {64}, 60);
  const std::string letters = behind.run();
  EXPECT_EQ(letters.size(), 60u);
  EXPECT_EQ(letters.find('P', 30), std::string::npos) << letters;
}

TEST(DmaEngine, GatherBringsAllSegments) {  // R5, R9
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  fixture.memory.store(BusAddress{0x10000}, std::uint32_t{0x11111111});
  fixture.memory.store(BusAddress{0x12000}, std::uint32_t{0x22222222});
  const auto both = fixture.response({4, 4});
  auto none = fixture.response({4});
  none[0].failed = true;
  auto& fences = bench.source(fixture.dut.fences);
  auto& fenced = bench.sink(fixture.dut.fenced);
  fences.push(Cycle{9}, {false, DmaClient::kContext, 2});  // R10
  fixture.gather_response(Cycle{9}, both);
  fixture.gather_response(Cycle{9}, none);
  bench.run();
  ASSERT_EQ(fixture.gathered.size(), 2u);
  EXPECT_EQ(fixture.gathered.value(0).buffer, none[0].buffer) << "it waits for no data";
  EXPECT_EQ(fixture.gathered.value(0).syndrome, kNakRemoteAccess);
  EXPECT_EQ(fixture.gathered.value(1).buffer, both[0].buffer);
  EXPECT_EQ(fixture.gathered.value(1).syndrome, 0u);
  EXPECT_EQ(fixture.gathered.cycle(1), Cycle{10 + 24 + 100 + 24 + 24});
  std::uint64_t got = 0;
  std::memcpy(&got, fixture.shared.packets[both[0].buffer].frame.data(), 8);
  EXPECT_EQ(got, 0x2222222211111111u);
  ASSERT_EQ(fenced.size(), 1u);
  EXPECT_EQ(fenced.cycle(0), fixture.gathered.cycle(1)) << "two segments have been gathered";
  EXPECT_EQ(fixture.dut.counters().packets_gathered, 2u);
}

TEST(DmaEngine, WhatTheRegionDoesNotAllowIsNotRead) {  // R8
  FaultyMemory memory;
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle(), 1000, &memory);
  auto first = fixture.response({4, 8, 16}, 0x10000), whole = fixture.response({32}, 0x20000);
  first[1].failed = true;
  auto only = fixture.response({4}, 0x30000);
  only[0].failed = true;
  for (const auto& r : {only, first, whole}) fixture.gather_response(Cycle{9}, r);
  bench.run();
  ASSERT_EQ(fixture.gathered.size(), 3u);
  EXPECT_EQ(fixture.gathered.cycle(0), Cycle{11}) << "takes no turn and no tag";
  EXPECT_EQ(fixture.gathered.value(0).syndrome, kNakRemoteAccess);
  EXPECT_EQ(fixture.gathered.value(1).syndrome, kNakRemoteAccess);
  EXPECT_EQ(fixture.gathered.value(2).syndrome, 0u) << "that of the one before it is forgotten";
  EXPECT_EQ(memory.reads, (std::vector<FaultyMemory::Access>{{BusAddress{0x10000}, 4}, {BusAddress{0x20000}, 32}}));
  EXPECT_EQ(fixture.dut.counters().failed, 0u) << "no memory failed";
  EXPECT_EQ(fixture.dut.tags_in_use(), 0u);
}

TEST(DmaEngine, AResponseReadsNothingBehindTheSegmentThatFails) {  // R8
  FaultyMemory memory;
  memory.unmap(BusAddress{0x12000});
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle(), 1000, &memory);
  auto response = fixture.response({4, 8, 16, 4});
  response[3].failed = true;  // the first failure gives the syndrome
  fixture.gather_response(Cycle{9}, response);
  fixture.gather_response(Cycle{9}, fixture.response({4}, 0x12000));
  fixture.gather_response(Cycle{9}, fixture.response({8}, 0x20000));
  bench.run();
  ASSERT_EQ(fixture.gathered.size(), 3u);
  EXPECT_EQ(fixture.gathered.value(0).syndrome, kNakRemoteOperation);
  EXPECT_EQ(fixture.gathered.value(1).syndrome, kNakRemoteOperation);
  EXPECT_EQ(fixture.gathered.value(2).syndrome, 0u) << "that of the one before it is forgotten";
  EXPECT_EQ(memory.reads, (std::vector<FaultyMemory::Access>{{BusAddress{0x10000}, 4}, {BusAddress{0x20000}, 8}}));
  EXPECT_EQ(fixture.dut.counters().failed, 2u);
  EXPECT_EQ(fixture.dut.counters().tlps_up, 4u);
}

TEST(DmaEngine, WhatItsProgramHasTakenAlongIsGone) {  // R8
  for (const bool ended : {false, true}) {
    FaultyMemory memory;
    memory.unmap(BusAddress{0x12000});
    memory.is_gone = [ended](BusAddress at) { return ended && at == BusAddress{0x12000}; };
    Bench bench;
    DmaEngineFixture fixture(bench, byte_a_cycle(), 1000, &memory);
    fixture.gather_response(Cycle{9}, fixture.response({4, 8, 16, 4}));
    fixture.gather_response(Cycle{9}, fixture.response({8}, 0x20000));
    for (const std::uint64_t at : {0x12000u, 0x30000u}) {
      DmaRequest atomic = fixture.read(1, 8, at);
      atomic.kind = DmaKind::kFetchAdd;
      atomic.data = fixture.buffer;
      fixture.requests[kResponseClient]->push(Cycle{9}, atomic);
    }
    bench.run();
    ASSERT_EQ(fixture.gathered.size(), 2u);
    EXPECT_EQ(fixture.gathered.value(0).syndrome, kNakRemoteOperation);
    EXPECT_EQ(fixture.gathered.value(0).gone, ended);
    EXPECT_FALSE(fixture.gathered.value(1).gone) << "that of the one before it is forgotten";
    ASSERT_EQ(fixture.completions[kResponseClient]->size(), 2u);
    EXPECT_FALSE(fixture.completions[kResponseClient]->value(0).ok);
    EXPECT_EQ(fixture.completions[kResponseClient]->value(0).gone, ended);
    EXPECT_TRUE(fixture.completions[kResponseClient]->value(1).ok);
    EXPECT_FALSE(fixture.completions[kResponseClient]->value(1).gone);
    EXPECT_EQ(fixture.dut.counters().failed, 2u);
  }
}

TEST(DmaEngine, GatheredDataGoesWhereItsSegmentsSay) {  // R2
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle());
  auto response = fixture.response({700, 500}, 0x10000);
  for (std::uint64_t at = 0; at < 0x4000; at += 8)
    fixture.memory.store(BusAddress{0x10000 + at}, at * 0x9e3779b97f4a7c15u);
  for (GatherRead& s : response) s.offset = static_cast<std::uint16_t>(s.offset + 70);
  fixture.gather_response(Cycle{9}, response);
  bench.run();
  std::vector<std::uint8_t> expected(1200);
  fixture.memory.read(BusAddress{0x10000}, std::span(expected).first(700));
  fixture.memory.read(BusAddress{0x12000}, std::span(expected).last(500));
  const auto& frame = fixture.shared.packets[response[0].buffer].frame;
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), frame.begin() + 70));
}

TEST(DmaEngine, UnmappedMemoryFailsWhoAsked) {  // R8
  FaultyMemory nothing;
  nothing.unmap_all();
  Bench bench;
  DmaEngineFixture fixture(bench, byte_a_cycle(), 1000, &nothing);
  fixture.requests[kWqeClient]->push(Cycle{0}, fixture.read(1, 4));
  fixture.requests[kContextClient]->push(Cycle{0}, fixture.read(2, 2000));
  fixture.write_packet(Cycle{0}, fixture.packet({4, 4, 4}));
  const auto read = fixture.response({4, 4});
  fixture.gather_response(Cycle{0}, read);
  bench.run();
  EXPECT_FALSE(fixture.completions[kWqeClient]->value(0).ok);
  ASSERT_EQ(fixture.completions[kContextClient]->size(), 1u);
  EXPECT_FALSE(fixture.completions[kContextClient]->value(0).ok) << "one completion for four TLPs";
  ASSERT_EQ(fixture.payload_done.size(), 1u);
  EXPECT_EQ(fixture.payload_done.value(0).drop_reason, DropReason::kHostMemory);
  EXPECT_TRUE(fixture.payload_done.value(0).fails_qp);
  EXPECT_EQ(fixture.dut.counters().writes, 1u);
  ASSERT_EQ(fixture.gathered.size(), 1u);
  EXPECT_EQ(fixture.gathered.value(0).buffer, read[0].buffer);
  EXPECT_EQ(fixture.gathered.value(0).syndrome, kNakRemoteOperation);
  EXPECT_EQ(fixture.dut.counters().failed, 4u);
}

TEST(DmaEngine, APacketsSegmentsAreWrittenInTheirOrder) {  // R2, R8
  for (const bool refuses : {false, true}) {
    FaultyMemory memory;
    Bench bench;
    DmaEngineFixture fixture(bench, byte_a_cycle(), 1000, &memory);
    const auto one = fixture.packet({4}), three = fixture.packet({4, 8, 4}, 0x20000);
    if (refuses) memory.unmap(three[1].address);
    fixture.write_packet(Cycle{0}, one);
    fixture.write_packet(Cycle{0}, three);
    bench.run();
    ASSERT_EQ(memory.writes.size(), refuses ? 2u : 4u);
    EXPECT_EQ(memory.writes[1].at, three[0].address);
    EXPECT_EQ(memory.writes.back().at, refuses ? three[0].address : three[2].address);
    EXPECT_EQ(fixture.dut.counters().failed, refuses ? 1u : 0u);
    EXPECT_EQ(fixture.dut.counters().writes, refuses ? 3u : 4u);
    ASSERT_EQ(fixture.payload_done.size(), 2u);
    EXPECT_EQ(fixture.payload_done.value(1).drop_reason, refuses ? DropReason::kHostMemory : DropReason::kNone);
  }
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
    p.tags = p.non_posted_header_credits = p.posted_header_credits = 1024;
    p.posted_credit_bytes = 1 << 20;
    EXPECT_NEAR(saturated_gbps(p, true, r.bytes), r.write, 0.005 * r.write) << r.rate_mbps << " write " << r.bytes;
    EXPECT_NEAR(saturated_gbps(p, false, r.bytes), r.read, 0.005 * r.read) << r.rate_mbps << " read " << r.bytes;
  }
}

TEST(DmaEngine, RatesStepWhereATlpIsAdded) {
  DmaEngineParams p;
  p.tags = p.non_posted_header_credits = 1024;
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

TEST(DmaEngine, AllModesAndOrdersAgreeOnRandomTraffic) {
  const std::uint64_t seed = test_seed(1);
  for (std::uint64_t round = 0; round < 10; ++round) {
    expect_equal_in_all_orders(
        [&](Bench& bench) {
          std::mt19937_64 random(seed + round);
          DmaEngineParams p;
          p.tags = 1 + random() % 16;
          p.posted_credit_bytes = 4096;
          p.posted_header_credits = 1 + random() % 64;
          p.non_posted_header_credits = 1 + random() % 16;
          p.completion_credits = 1 + random() % 16;
          p.read_buffer_bytes = 256 << random() % 6;
          p.read_latency = static_cast<ReadLatency>(random() % 3);
          p.write_latency_spread_ps = random() % 2 * 500'000;
          p.relaxed_ordering = random() % 2 == 0;
          p.latency_seed = random();
          p.tlp_rate_mbps = 20000 + random() % 400000;
          DmaEngineFixture fixture(bench, p, 2325);
          Cycle when[kDmaClients + 2] = {};
          const auto later = [&](Cycle& c) { return c += random() % 4 == 0 ? random() % 300 : random() % 6; };
          for (int i = 0; i < 600; ++i) {
            const std::size_t who = random() % (kDmaClients + 2);
            const auto bytes = static_cast<std::uint32_t>(1 + random() % 1500);
            const std::uint64_t address = random() % 100000;
            if (who == kDmaClients && fixture.shared.packets.available(PacketClass::kReceive)) {
              fixture.write_packet(later(when[who]),
                                   random() % 5 == 0 ? fixture.packet({}) : fixture.packet({bytes, 64}, address));
            } else if (who > kDmaClients && fixture.shared.packets.available(PacketClass::kResponse)) {
              auto response = fixture.response({bytes, bytes}, address);
              response[random() % 2].failed = random() % 8 == 0;
              fixture.gather_response(later(when[who]), response);
            } else if (who < kDmaClients) {
              fixture.requests[who]->push(later(when[who]), random() % 2 == 0
                                                                ? fixture.read(0, bytes, address)
                                                                : fixture.write(0, bytes, address, random() % 2 == 0));
            }
          }
          for (auto* sink : fixture.completions) sink->accept_when([](Cycle c) { return c.count % 7 < 3; });
          fixture.payload_done.accept_when([](Cycle c) { return c.count % 64 < 20; });
          fixture.landed.accept_when([](Cycle c) { return c.count % 64 > 30; });
          bench.run();
          return bench.state_hash() ^ fixture.memory.digest();
        },
        2325);
  }
}

}  // namespace
}  // namespace rxnic::dma_engine_test
