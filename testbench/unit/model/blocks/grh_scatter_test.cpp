// SPDX-License-Identifier: Apache-2.0
// Rules R1..R6 of model/blocks/grh_scatter.h.
#include "model/blocks/grh_scatter.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "model/core/receive_queue/wqe_slots.h"
#include "model/types/descriptor_bits.h"
#include "model/types/descriptor_text.h"
#include "testbench/unit/model/blocks/grh_scatter_harness.h"
#include "testbench/unit/model/engine/harness.h"
#include "testbench/unit/request_packets.h"

namespace rxnic::grh_scatter_test {
namespace {

struct Fixture : GrhScatterHarness {
  explicit Fixture(Bench& b, const GrhScatterParams& params = {}, Transport transport = Transport::kRc,
                   std::uint32_t out_places = 8)
      : GrhScatterHarness(b, params_with(&Params::grh_scatter, params), {.out = out_places}),
        qp(place_qp(shared, test_qp(transport))) {}

  ScatterJob packet(Operation operation, std::uint32_t payload, Encapsulation e = Encapsulation::kRoceV2Ipv4) {
    return packet(qp, operation, payload, e);
  }
  ScatterJob packet(QpContext& of, Operation operation, std::uint32_t payload,
                    Encapsulation e = Encapsulation::kRoceV2Ipv4) {
    const Headers h = request_headers(e, of.transport, operation, Psn{1});
    return accept_packet(shared, of, place_frame(shared, h, counting_bytes(payload)));
  }
  // A packet with a WQE of its own.
  ScatterJob with_wqe(ScatterJob p, const ReceiveWqe& wqe) {
    p.wqe_slot = slots.allocate();
    shared.wqes[p.wqe_slot] = wqe;
    p.wqe_bytes = static_cast<std::uint32_t>(wqe.total_bytes);
    return p;
  }
  ScatterJob send(std::uint32_t payload, const std::vector<std::uint32_t>& lengths,
                  Operation operation = Operation::kSendOnly) {
    return with_wqe(packet(operation, payload), wqe_of(lengths));
  }
  // The pieces of a packet, in the order in which they left.
  std::vector<ScatteredSegment> pieces_of(const ScatterJob& p) const {
    std::vector<ScatteredSegment> found;
    std::copy_if(out.values().begin(), out.values().end(), std::back_inserter(found),
                 [&](const ScatteredSegment& s) { return s.buffer == p.buffer; });
    return found;
  }
  // The only segment of a packet that writes nothing or one piece.
  ScatteredSegment only_piece_of(const ScatterJob& p) const {
    const std::vector<ScatteredSegment> pieces = pieces_of(p);
    EXPECT_EQ(pieces.size(), 1u);
    if (pieces.size() != 1) return {};
    EXPECT_TRUE(pieces[0].first && pieces[0].last);
    return pieces[0];
  }
  const ScatterList& wqe(const ScatterJob& p) const { return shared.wqes[p.wqe_slot]; }
  const std::uint8_t* data(const ScatteredSegment& s) const {
    return area_of(shared.packets[s.buffer], s.area) + s.offset;
  }

  WqeSlots slots{{}};
  QpContext& qp;
};

TEST(GrhScatter, APacketLeavesAfterLatencyCycles) {  // R1
  for (const std::uint32_t latency : {1u, 4u, 9u}) {
    GrhScatterParams params;
    params.latency_cycles = latency;
    Bench bench;
    Fixture fixture(bench, params);
    fixture.in.push(Cycle{9}, fixture.send(64, {64}));  // taken in cycle 10
    bench.run_to(Cycle{10 + latency});                  // the sink takes it one later
    EXPECT_EQ(fixture.out.size(), 0u);
    bench.run_to(Cycle{10 + latency + 1});
    ASSERT_EQ(fixture.out.size(), 1u);
    EXPECT_EQ(fixture.out.cycle(0), Cycle{10 + latency});
    EXPECT_EQ(fixture.shared.packets[fixture.out.value(0).buffer].stamped(Station::kGrhScatter), Cycle{10 + latency});
    EXPECT_EQ(fixture.shared.packets[fixture.out.value(0).buffer].taken(Station::kGrhScatter), Cycle{10});
  }
}

TEST(GrhScatter, ItsPiecesLeaveSgesPerCycle) {  // R1
  for (const std::uint32_t per_cycle : {1u, 2u, 3u, 5u}) {
    for (const std::uint32_t latency : {1u, 4u}) {
      GrhScatterParams params;
      params.latency_cycles = latency;
      params.sges_per_cycle = per_cycle;
      Bench bench;
      Fixture fixture(bench, params, Transport::kRc, 16);
      fixture.out.set_width(8);
      const ScatterJob p = fixture.send(7, {1, 1, 1, 1, 1, 1, 1});
      const ScatterJob next = fixture.send(1, {1});
      fixture.in.push(Cycle{9}, p);
      fixture.in.push(Cycle{9}, next);
      bench.run();
      ASSERT_EQ(fixture.out.size(), 8u);
      for (std::uint32_t n = 0; n < 7; ++n) {
        const ScatteredSegment& s = fixture.out.value(n);
        EXPECT_EQ(fixture.out.cycle(n), Cycle{10 + latency + n / per_cycle}) << per_cycle;
        EXPECT_EQ(s.first, n == 0);
        EXPECT_EQ(s.last, n == 6);
        EXPECT_EQ(s.va, fixture.wqe(p).sge[n].address);
        EXPECT_EQ(s.key, Key{(n + 1) << 8});
        EXPECT_EQ(s.bytes, 1u);
        EXPECT_EQ(*fixture.data(s), counting_bytes(7)[n]);
      }
      EXPECT_EQ(fixture.out.value(7).buffer, next.buffer);
      EXPECT_EQ(fixture.out.cycle(7), Cycle{10 + latency + (7 + per_cycle - 1) / per_cycle});
      EXPECT_EQ(fixture.shared.packets[p.buffer].stamped(Station::kGrhScatter), fixture.out.cycle(6))
          << "with its last piece";
    }
  }
}

TEST(GrhScatter, PiecesLieWithinAPageAndCarryThePacket) {  // R1
  Bench bench;
  Fixture fixture(bench);
  ScatterJob p = fixture.with_wqe(fixture.packet(Operation::kSendOnly, 1000), wqe_of({1000}, 0x100000 + 4096 - 300));
  p.access = kRemoteWrite;
  p.cqe_flags = kCqeTagMatch;
  fixture.in.push(Cycle{9}, p);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.out.value(0).bytes, 300u);
  EXPECT_EQ(fixture.out.value(1).va, 0x100000u + 4096);
  EXPECT_EQ(fixture.out.value(1).bytes, 700u);
  CompletionRequest expected = p;
  expected.byte_count = 1000;
  for (const ScatteredSegment& s : fixture.out.values()) {
    EXPECT_EQ(s.access, kRemoteWrite);
    EXPECT_EQ(first_difference<CompletionRequest>(s, expected), "");
  }
  EXPECT_EQ(fixture.dut.counters().segments, 2u);
  EXPECT_EQ(fixture.dut.counters().packets, 1u);
}

TEST(GrhScatter, APacketThatWritesNothingLeavesAsOnePieceWithoutBytes) {  // R1
  Bench bench;
  Fixture fixture(bench);
  const ScatterJob empty = fixture.send(0, {64});
  const ScatterJob read = fixture.packet(Operation::kReadRequest, 0);
  ScatterJob internal;  // without a buffer
  internal.role = PacketRole::kLastWqe;
  internal.line = fixture.qp.line;
  for (const ScatterJob& p : {empty, read, internal}) fixture.in.push(Cycle{9}, p);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 3u);
  for (std::uint32_t n = 0; n < 3; ++n) {
    EXPECT_EQ(fixture.out.cycle(n), Cycle{10 + GrhScatterParams{}.latency_cycles + n});
    EXPECT_TRUE(fixture.out.value(n).first && fixture.out.value(n).last);
    EXPECT_EQ(fixture.out.value(n).bytes, 0u);
  }
  EXPECT_EQ(fixture.out.value(2).role, PacketRole::kLastWqe);
  EXPECT_EQ(fixture.out.value(2).line, fixture.qp.line);
  EXPECT_EQ(fixture.dut.counters().segments, 0u);
}

// Cycles between a packet's first piece and the next packet's.
std::uint64_t occupation_by(Bench& bench, const GrhScatterParams& params, std::uint32_t payload, const ReceiveWqe& wqe,
                            Transport transport = Transport::kRc) {
  Fixture fixture(bench, params, transport, 64);
  fixture.out.set_width(16);
  const ScatterJob p = fixture.with_wqe(fixture.packet(Operation::kSendOnly, payload), wqe);
  const ScatterJob next = fixture.send(0, {64});
  fixture.in.push(Cycle{0}, p);
  fixture.in.push(Cycle{0}, next);
  bench.run();
  const std::size_t pieces = fixture.pieces_of(p).size();
  EXPECT_EQ(fixture.out.size(), pieces + 1);
  EXPECT_EQ(fixture.out.values().back().buffer, next.buffer);
  return fixture.out.cycle(pieces).count - fixture.out.cycle(0).count;
}
std::uint64_t occupation(Bench& bench, const GrhScatterParams& params, std::uint32_t payload,
                         const std::vector<std::uint32_t>& lengths, Transport transport = Transport::kRc) {
  return occupation_by(bench, params, payload, wqe_of(lengths), transport);
}

TEST(GrhScatter, BytesOccupyIt) {  // R2
  const std::vector<std::pair<std::uint32_t, std::uint64_t>> cases{{0, 1},  {1, 1},     {64, 1},
                                                                   {65, 2}, {1024, 16}, {1025, 17}};
  for (const auto& [payload, cycles] : cases) {
    Bench bench;
    EXPECT_EQ(occupation(bench, {}, payload, {4096}), cycles) << payload;
  }
}

TEST(GrhScatter, ElementsOccupyIt) {  // R2
  for (const std::uint32_t per_cycle : {1u, 2u, 5u}) {
    for (std::uint32_t n = 1; n <= 16; ++n) {
      GrhScatterParams params;
      params.sges_per_cycle = per_cycle;
      Bench bench;
      EXPECT_EQ(occupation(bench, params, n, std::vector<std::uint32_t>(n, 1)), (n + per_cycle - 1) / per_cycle);
    }
  }
}

TEST(GrhScatter, ElementsThatArePassedOverOccupyIt) {  // R2
  Bench bench;
  EXPECT_EQ(occupation(bench, {}, 2, {1, 0, 0, 0, 1}), 5u);
}

TEST(GrhScatter, PiecesOccupyItWhenTheyAreMoreThanElements) {  // R2
  for (const std::uint32_t per_cycle : {1u, 2u, 3u}) {
    for (std::uint32_t n = 1; n <= 16; ++n) {
      GrhScatterParams params;
      params.sges_per_cycle = per_cycle;
      Bench bench;  // each element lies across a page
      const ReceiveWqe wqe = wqe_of(std::vector<std::uint32_t>(n, 2), 0x100000 + 4095);
      EXPECT_EQ(occupation_by(bench, params, 2 * n, wqe), (2 * n + per_cycle - 1) / per_cycle);
    }
  }
}

TEST(GrhScatter, APieceLeavesLatencyCyclesAfterItsLook) {  // R1
  for (const std::uint32_t per_cycle : {1u, 2u, 4u}) {
    GrhScatterParams params;
    params.sges_per_cycle = per_cycle;
    Bench bench;
    Fixture fixture(bench, params);
    fixture.in.push(Cycle{9}, fixture.send(1, {0, 0, 0, 0, 1}));  // found by the fifth look
    bench.run();
    ASSERT_EQ(fixture.out.size(), 1u);
    EXPECT_EQ(fixture.out.cycle(0), Cycle{10 + params.latency_cycles + 4 / per_cycle}) << per_cycle;
  }
}

TEST(GrhScatter, AGrhAreaThatIsLeftAloneIsPassedOver) {  // R1
  Bench bench;
  Fixture fixture(bench, {}, Transport::kUd);
  const auto local = [&](std::uint32_t payload, const std::vector<std::uint32_t>& lengths) {
    return fixture.with_wqe(fixture.packet(Operation::kSendOnly, payload, Encapsulation::kIbLocal), wqe_of(lengths));
  };
  fixture.in.push(Cycle{9}, local(10, {20, 20, 10}));  // taken in cycle 10: three looks
  fixture.in.push(Cycle{9}, local(10, {16, 100}));     // in cycle 13: two
  fixture.in.push(Cycle{9}, local(0, {16, 16, 16}));   // in cycle 15: three, without a piece
  fixture.in.push(Cycle{9}, local(0, {100}));          // in cycle 18: one
  fixture.in.push(Cycle{9}, local(10, {100}));         // in cycle 19: one
  bench.run();
  ASSERT_EQ(fixture.out.size(), 5u);
  const std::uint64_t latency = GrhScatterParams{}.latency_cycles;
  const std::uint64_t last_look[] = {12, 14, 17, 18, 19};
  for (std::size_t n = 0; n < 5; ++n) EXPECT_EQ(fixture.out.cycle(n), Cycle{last_look[n] + latency}) << n;
}

TEST(GrhScatter, ListsAreReadInCyclesWithLooksAtElements) {  // R6
  for (const std::uint32_t per_cycle : {1u, 2u}) {
    GrhScatterParams params;
    params.sges_per_cycle = per_cycle;
    Bench bench(EngineMode::kPerCycle);
    Fixture fixture(bench, params);
    const ScatterJob sent = fixture.send(4, {1, 1, 1, 1});
    ScatterJob written = fixture.packet(Operation::kWriteOnly, 8);
    fixture.in.push(Cycle{9}, sent);
    fixture.in.push(Cycle{9}, written);
    fixture.in.push(Cycle{9}, fixture.send(0, {1}));
    std::vector<std::pair<std::uint64_t, std::uint32_t>> reads;
    bench.engine().add_probe([&](Cycle now) {
      if (fixture.dut.lists.last_read() != now) return;
      std::uint32_t bits[2] = {};
      fixture.dut.lists.pack_address(bits);
      const auto at = unpack<ScatterListRead>(bits);
      EXPECT_EQ(at.wqe_slot, sent.wqe_slot);
      reads.emplace_back(now.count, at.element);
    });
    bench.run();
    std::vector<std::pair<std::uint64_t, std::uint32_t>> expected;
    for (std::uint32_t n = 0; n < 4; n += per_cycle) expected.emplace_back(10 + n / per_cycle, n);
    EXPECT_EQ(reads, expected);
  }
}

TEST(GrhScatter, ThereAreNoLooksWithoutAPlaceForTheirPieces) {  // R5
  GrhScatterParams params;
  params.latency_cycles = 3;
  Bench bench;
  Fixture fixture(bench, params, Transport::kRc, 1);
  fixture.out.stall(Cycle{0}, Cycle{100});
  for (int n = 0; n < 6; ++n) fixture.in.push(Cycle{9}, fixture.send(1, {1}));
  bench.run_to(Cycle{99});
  EXPECT_EQ(fixture.dut.counters().packets, 4u) << "one in the link, three in the pipeline";
  bench.run_to(Cycle{101});  // the sink takes one in cycle 100, whose place is filled in cycle 101
  EXPECT_EQ(fixture.dut.counters().packets, 5u);
  bench.run();
  EXPECT_EQ(fixture.out.size(), 6u);
}

TEST(GrhScatter, TheGrhAreaOccupiesItToo) {  // R2
  Bench bench;
  EXPECT_EQ(occupation(bench, {}, 24, {4096}, Transport::kUd), 2u) << "two pieces";
  Bench other;
  EXPECT_EQ(occupation(other, {}, 25, {4096}, Transport::kUd), 2u);
  GrhScatterParams wide;
  wide.sges_per_cycle = 2;
  Bench third;
  EXPECT_EQ(occupation(third, wide, 24, {4096}, Transport::kUd), 1u);
  Bench fourth;
  EXPECT_EQ(occupation(fourth, wide, 25, {4096}, Transport::kUd), 2u) << "65 bytes";
}

TEST(GrhScatter, AMessageFillsItsWqePacketByPacket) {  // R3
  Bench bench;
  Fixture fixture(bench);
  const ScatterJob first = fixture.send(1024, {1500, 1500}, Operation::kSendFirst);
  ScatterJob last = fixture.packet(Operation::kSendLast, 1000);
  last.wqe_slot = first.wqe_slot;
  last.wqe_bytes = first.wqe_bytes;
  QpContext& other = place_qp(fixture.shared, test_qp(Transport::kRc));
  const ScatterJob between = fixture.with_wqe(fixture.packet(other, Operation::kSendOnly, 10), wqe_of({64}));
  for (const ScatterJob& p : {first, between, last}) fixture.in.push(Cycle{0}, p);
  bench.run();
  const std::vector<ScatteredSegment> pieces = fixture.pieces_of(last);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].va, fixture.wqe(first).sge[0].address + 1024);
  EXPECT_EQ(pieces[0].bytes, 476u);
  EXPECT_EQ(pieces[1].va, fixture.wqe(first).sge[1].address);
  EXPECT_EQ(pieces[1].bytes, 524u);
  EXPECT_EQ(pieces[1].byte_count, 2024u);
  EXPECT_EQ(fixture.only_piece_of(between).byte_count, 10u);
}

TEST(GrhScatter, TheNextMessageMayTakeTheSameSlot) {  // R3
  Bench bench;
  Fixture fixture(bench);
  const ScatterJob a = fixture.send(100, {200});
  ScatterJob b = fixture.packet(Operation::kSendOnly, 50);
  b.wqe_slot = a.wqe_slot;
  b.wqe_bytes = a.wqe_bytes;
  fixture.in.push(Cycle{0}, a);
  fixture.in.push(Cycle{0}, b);
  bench.run();
  EXPECT_EQ(fixture.only_piece_of(b).byte_count, 50u);
  EXPECT_EQ(fixture.only_piece_of(b).va, fixture.only_piece_of(a).va);
}

TEST(GrhScatter, AMessageLongerThanItsWqeFailsAndThoseBehindAreSquashed) {  // R4
  Bench bench;
  Fixture fixture(bench);
  const ScatterJob before = fixture.send(64, {64});
  const ScatterJob failing = fixture.send(65, {64});
  const ScatterJob behind = fixture.send(10, {64});
  for (const ScatterJob& p : {before, failing, behind}) fixture.in.push(Cycle{0}, p);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 3u);  // in order
  EXPECT_EQ(fixture.out.value(0).buffer, before.buffer);
  EXPECT_EQ(fixture.out.value(0).outcome, Outcome::kExecute);
  EXPECT_EQ(fixture.out.value(0).bytes, 64u);
  EXPECT_EQ(fixture.out.value(1).buffer, failing.buffer);
  EXPECT_EQ(fixture.out.value(1).outcome, Outcome::kNak);
  EXPECT_EQ(fixture.out.value(1).status, WcStatus::kLocalLength);
  EXPECT_EQ(fixture.out.value(1).bytes, 0u);
  EXPECT_EQ(fixture.out.value(2).buffer, behind.buffer);
  EXPECT_EQ(fixture.out.value(2).drop_reason, DropReason::kSquashed);
  EXPECT_EQ(fixture.out.value(2).bytes, 0u);
  EXPECT_EQ(fixture.out.value(2).status, WcStatus::kFlushed);
  EXPECT_FALSE(fixture.out.value(2).completes) << "its WQE is flushed by the completion generator";
  EXPECT_EQ(fixture.dut.counters().failed, 1u);
  EXPECT_EQ(fixture.dut.counters().squashed, 1u);
  ASSERT_EQ(fixture.refusals.size(), 1u);
  EXPECT_EQ(fixture.refusals.value(0).kind, RefusalKind::kError);
  EXPECT_EQ(fixture.refusals.value(0).line, fixture.qp.line);
}

TEST(GrhScatter, UdOfEveryEncapsulationHas40BytesMore) {
  Bench bench;
  Fixture fixture(bench, {}, Transport::kUd);
  std::vector<ScatterJob> sent;
  for (const Encapsulation e : {Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6, Encapsulation::kRoceV1}) {
    sent.push_back(fixture.with_wqe(fixture.packet(Operation::kSendOnly, 100, e), wqe_of({40, 100})));
    fixture.in.push(Cycle{0}, sent.back());
  }
  bench.run();
  for (const ScatterJob& p : sent) {
    const std::vector<ScatteredSegment> pieces = fixture.pieces_of(p);
    ASSERT_EQ(pieces.size(), 2u);
    EXPECT_EQ(pieces[0].bytes, 40u);
    EXPECT_EQ(pieces[1].area, BufferArea::kFrame);
    EXPECT_EQ(pieces[1].offset, p.payload_offset);
    EXPECT_EQ(pieces[1].bytes, 100u);
    EXPECT_EQ(pieces[1].byte_count, 140u);
    const std::uint8_t* header = fixture.shared.packets[p.buffer].frame.data() + p.network_offset;
    const bool v4 = p.network_header == NetworkHeader::kIpv4;
    EXPECT_EQ(pieces[0].area, v4 ? BufferArea::kScratch : BufferArea::kFrame);
    EXPECT_EQ(std::memcmp(fixture.data(pieces[0]) + (v4 ? 20 : 0), header, v4 ? 20 : 40), 0);
  }
  EXPECT_EQ(fixture.dut.counters().grh_areas, 3u);
}

TEST(GrhScatter, EveryCycleIsAccountedFor) {
  Bench bench;
  Fixture fixture(bench, {}, Transport::kRc, 1);
  fixture.out.stall(Cycle{0}, Cycle{41});
  fixture.in.push(Cycle{9}, fixture.send(64, {64}));
  fixture.in.push(Cycle{9}, fixture.send(640, {640}));
  bench.run();
  fixture.dut.settle(Cycle{100});
  const CycleAccount& account = fixture.dut.account();
  const auto spent = [&](Activity a) { return account[static_cast<std::size_t>(a)]; };
  // Taken in 10 and 11; the first leaves in 14, the second is due in 15 and leaves in 42. Its bytes keep the engine
  // busy up to cycle 20, but these cycles count as blocked.
  EXPECT_EQ(spent(Activity::kBusy), 5u);
  EXPECT_EQ(spent(Activity::kBlocked), 27u);
  EXPECT_EQ(spent(Activity::kStarved), 68u);
}

TEST(GrhScatter, AFullLinkHoldsPiecesAndPacketsBack) {  // R1: none is lost, and they stay in order
  for (const std::uint32_t per_cycle : {1u, 3u}) {
    GrhScatterParams params;
    params.sges_per_cycle = per_cycle;
    Bench bench;
    Fixture fixture(bench, params, Transport::kRc, 2);
    fixture.out.accept_when([](Cycle c) { return c.count % 5 == 0; });
    std::vector<ScatterJob> sent;
    for (int i = 0; i < 30; ++i) {
      sent.push_back(
          fixture.send(8, std::vector<std::uint32_t>(static_cast<std::size_t>(1 + i % 8), 8 / (1 + i % 8) + 1)));
      fixture.in.push(Cycle{0}, sent.back());
    }
    bench.run();
    std::size_t n = 0;
    for (const ScatterJob& p : sent) {
      std::uint32_t bytes = 0;
      do {
        ASSERT_LT(n, fixture.out.size());
        ASSERT_EQ(fixture.out.value(n).buffer, p.buffer);
        ASSERT_EQ(fixture.out.value(n).first, bytes == 0);
        bytes += fixture.out.value(n).bytes;
      } while (!fixture.out.value(n++).last);
      EXPECT_EQ(bytes, 8u);
    }
    EXPECT_EQ(n, fixture.out.size());
  }
}

TEST(GrhScatter, ModesAndOrdersAgreeOnRandomTraffic) {
  const std::uint64_t seed = test_seed(12);
  expect_equal_in_all_orders([seed](Bench& bench) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    GrhScatterParams params;
    params.latency_cycles = 1 + below(6);
    params.sges_per_cycle = 1 + below(3);
    Fixture fixture(bench, params);
    std::vector<QpContext*> qps;
    for (const Transport t : {Transport::kRc, Transport::kUc, Transport::kUd, Transport::kXrc}) {
      for (int i = 0; i < 8; ++i) qps.push_back(&place_qp(fixture.shared, test_qp(t)));
    }
    StateHash digest;
    std::size_t packets = 0;
    fixture.out.accept_when([](Cycle c) { return c.count / 16 % 3 != 0; });
    fixture.out.on_value([&](Cycle now, const ScatteredSegment& s) {
      digest.mix(now.count);
      digest.mix(static_cast<std::uint64_t>(s.outcome) << 32 | s.first << 1 | s.last);
      digest.mix(s.va << 16 ^ s.bytes);
      if (!s.last) return;
      ++packets;
      if (s.completes && s.wqe_slot != kNoWqeSlot) fixture.slots.release(s.wqe_slot);
      fixture.shared.packets.release(s.buffer);
    });
    std::uint64_t cycle = 0;
    for (int i = 0; i < 500; ++i) {
      QpContext& qp = *qps[below(qps.size())];
      const bool writes = below(4) == 0 && qp.transport != Transport::kUd;
      ScatterJob p = fixture.packet(qp, writes ? Operation::kWriteOnly : Operation::kSendOnly, below(1025));
      if (writes) {
        p.local_va = random();
        p.local_key = Key{5};
      } else {
        std::vector<std::uint32_t> lengths(1 + below(6));
        for (auto& length : lengths) length = below(700);
        p = fixture.with_wqe(p, wqe_of(lengths, below(5000)));
      }
      cycle += below(40);
      fixture.in.push(Cycle{cycle}, p);
    }
    bench.run();
    EXPECT_EQ(packets, 500u);
    EXPECT_GT(fixture.dut.counters().failed, 10u);
    EXPECT_GT(fixture.dut.counters().squashed, 10u);
    digest.mix(bench.state_hash());
    return digest.value();
  });
}

}  // namespace
}  // namespace rxnic::grh_scatter_test
