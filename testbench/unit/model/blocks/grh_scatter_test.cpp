// SPDX-License-Identifier: Apache-2.0
// Rules R1..R4 of model/blocks/grh_scatter.h.
#include "model/blocks/grh_scatter.h"

#include <gtest/gtest.h>

#include <random>

#include "testbench/unit/model/engine/harness.h"
#include "testbench/unit/request_packets.h"

namespace rxnic {
namespace {

struct Rig {
  explicit Rig(Bench& b, const GrhScatterParams& params = {}, Transport transport = Transport::kRc,
               std::uint32_t out_capacity = 8)
      : bench(b),
        shared(b.keep<NicShared>(PacketPool::Quotas{})),
        qp(b.keep<QpContext>(test_qp(transport))),
        dut(b.add<GrhScatter>("dut", params, shared)),
        in(b.source(dut.in)),
        out(b.sink(dut.out, out_capacity)) {}

  PacketHandle packet(Operation operation, std::uint32_t payload, Encapsulation e = Encapsulation::kRoceV2Ipv4) {
    return packet(qp, operation, payload, e);
  }
  PacketHandle packet(QpContext& of, Operation operation, std::uint32_t payload,
                      Encapsulation e = Encapsulation::kRoceV2Ipv4) {
    const PacketHandle h = shared.packets.allocate(PacketClass::kReceive);
    Packet& p = shared.packets[h];
    set_frame(p, request_headers(e, of.transport, operation, Psn{1}), counting_bytes(payload));
    accept_packet(p, of);
    return h;
  }
  // A SEND with a WQE of its own.
  PacketHandle send(std::uint32_t payload, const std::vector<std::uint32_t>& lengths,
                    Operation operation = Operation::kSendOnly) {
    const PacketHandle h = packet(operation, payload);
    Packet& p = shared.packets[h];
    p.wqe_slot = shared.wqes.allocate();
    shared.wqes[p.wqe_slot] = wqe_of(lengths);
    return h;
  }
  Packet& operator[](PacketHandle h) { return shared.packets[h]; }

  Bench& bench;
  NicShared& shared;
  QpContext& qp;
  GrhScatter& dut;
  Source<PacketHandle>& in;
  Sink<PacketHandle>& out;
};

TEST(GrhScatter, APacketLeavesAfterLatencyCycles) {
  for (const std::uint32_t latency : {1u, 4u, 9u}) {
    GrhScatterParams params;
    params.latency_cycles = latency;
    Bench bench;
    Rig rig(bench, params);
    rig.in.push(Cycle{9}, rig.send(64, {64}));  // taken in cycle 10
    bench.run_to(Cycle{10 + latency});          // the sink takes it one later
    EXPECT_EQ(rig.out.size(), 0u);
    bench.run_to(Cycle{10 + latency + 1});
    ASSERT_EQ(rig.out.size(), 1u);
    EXPECT_EQ(rig.out.cycle(0), Cycle{10 + latency});
    EXPECT_EQ(rig[rig.out.value(0)].stamped(Station::kGrhScatter), Cycle{10 + latency});
  }
}

// Cycles between a packet and the next one.
std::uint64_t occupation(Bench& bench, const GrhScatterParams& params, std::uint32_t payload,
                         const std::vector<std::uint32_t>& lengths, Transport transport = Transport::kRc) {
  Rig rig(bench, params, transport);
  rig.in.push(Cycle{0}, rig.send(payload, lengths));
  rig.in.push(Cycle{0}, rig.send(0, {64}));
  bench.run();
  EXPECT_EQ(rig.out.size(), 2u);
  return rig.out.cycle(1).count - rig.out.cycle(0).count;
}

TEST(GrhScatter, BytesOccupyIt) {
  const std::vector<std::pair<std::uint32_t, std::uint64_t>> cases{{0, 1},  {1, 1},     {64, 1},
                                                                   {65, 2}, {1024, 16}, {1025, 17}};
  for (const auto& [payload, cycles] : cases) {
    Bench bench;
    EXPECT_EQ(occupation(bench, {}, payload, {4096}), cycles) << payload;
  }
}

TEST(GrhScatter, ElementsOccupyIt) {
  for (const std::uint32_t per_cycle : {1u, 2u, 5u}) {
    for (std::uint32_t n = 1; n <= 16; ++n) {
      GrhScatterParams params;
      params.sges_per_cycle = per_cycle;
      Bench bench;
      EXPECT_EQ(occupation(bench, params, n, std::vector<std::uint32_t>(n, 1)), (n + per_cycle - 1) / per_cycle);
    }
  }
}

TEST(GrhScatter, TheGrhAreaOccupiesItToo) {
  Bench bench;
  EXPECT_EQ(occupation(bench, {}, 24, {4096}, Transport::kUd), 1u);
  Bench other;
  EXPECT_EQ(occupation(other, {}, 25, {4096}, Transport::kUd), 2u);
}

TEST(GrhScatter, AMessageFillsItsWqePacketByPacket) {
  Bench bench;
  Rig rig(bench);
  const PacketHandle first = rig.send(1024, {1500, 1500}, Operation::kSendFirst);
  const PacketHandle last = rig.packet(Operation::kSendLast, 1000);
  rig[last].wqe_slot = rig[first].wqe_slot;
  QpContext other = test_qp(Transport::kRc);
  const PacketHandle between = rig.packet(other, Operation::kSendOnly, 10);  // of another QP
  rig[between].wqe_slot = rig.shared.wqes.allocate();
  rig.shared.wqes[rig[between].wqe_slot] = wqe_of({64});
  for (const PacketHandle h : {first, between, last}) rig.in.push(Cycle{0}, h);
  bench.run();
  ASSERT_EQ(rig[last].segment_count, 2u);
  EXPECT_EQ(rig[last].segments[0].va, rig.shared.wqes[rig[first].wqe_slot].sge[0].address + 1024);
  EXPECT_EQ(rig[last].segments[0].bytes, 476u);
  EXPECT_EQ(rig[last].segments[1].bytes, 524u);
  EXPECT_EQ(rig[last].byte_count, 2024u);
  EXPECT_EQ(rig[between].byte_count, 10u);
}

TEST(GrhScatter, TheNextMessageMayTakeTheSameSlot) {
  Bench bench;
  Rig rig(bench);
  const PacketHandle a = rig.send(100, {200});
  const PacketHandle b = rig.packet(Operation::kSendOnly, 50);
  rig[b].wqe_slot = rig[a].wqe_slot;
  rig.in.push(Cycle{0}, a);
  rig.in.push(Cycle{0}, b);
  bench.run();
  EXPECT_EQ(rig[b].byte_count, 50u);
  EXPECT_EQ(rig[b].segments[0].va, rig[a].segments[0].va);
}

TEST(GrhScatter, AMessageLongerThanItsWqeFailsAndThoseBehindAreSquashed) {
  Bench bench;
  Rig rig(bench);
  const PacketHandle before = rig.send(64, {64});
  const PacketHandle failing = rig.send(65, {64});
  const PacketHandle behind = rig.send(10, {64});
  for (const PacketHandle h : {before, failing, behind}) rig.in.push(Cycle{0}, h);
  bench.run();
  ASSERT_EQ(rig.out.size(), 3u);  // (R4) in order
  EXPECT_EQ(rig.out.values(), (std::vector{before, failing, behind}));
  EXPECT_EQ(rig[before].outcome, Outcome::kExecute);
  EXPECT_EQ(rig[before].segment_count, 1u);
  EXPECT_EQ(rig[failing].outcome, Outcome::kNak);
  EXPECT_EQ(rig[failing].status, WcStatus::kLocalLength);
  EXPECT_EQ(rig[behind].drop_reason, DropReason::kSquashed);
  EXPECT_EQ(rig[behind].segment_count, 0u);
  EXPECT_EQ(rig[behind].status, WcStatus::kFlushed);
  EXPECT_FALSE(rig[behind].completes) << "its WQE is flushed by the completion generator";
  EXPECT_EQ(rig.dut.counters().failed, 1u);
  EXPECT_EQ(rig.dut.counters().squashed, 1u);
}

TEST(GrhScatter, UdOfEveryEncapsulationHas40BytesMore) {
  Bench bench;
  Rig rig(bench, {}, Transport::kUd);
  std::vector<PacketHandle> sent;
  for (const Encapsulation e : {Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6, Encapsulation::kRoceV1}) {
    const PacketHandle h = rig.packet(Operation::kSendOnly, 100, e);
    rig[h].wqe_slot = rig.shared.wqes.allocate();
    rig.shared.wqes[rig[h].wqe_slot] = wqe_of({40, 100});
    rig.in.push(Cycle{0}, h);
    sent.push_back(h);
  }
  bench.run();
  for (const PacketHandle h : sent) {
    const Packet& p = rig[h];
    ASSERT_EQ(p.segment_count, 2u);
    EXPECT_EQ(p.segments[0].bytes, 40u);
    EXPECT_EQ(p.segments[1].data, p.frame.data() + p.h.payload_offset);
    EXPECT_EQ(p.byte_count, 140u);
    const std::uint8_t* header = p.frame.data() + p.h.network_offset;
    const bool v4 = p.h.encapsulation == Encapsulation::kRoceV2Ipv4;
    EXPECT_EQ(std::memcmp(p.segments[0].data + (v4 ? 20 : 0), header, v4 ? 20 : 40), 0);
  }
  EXPECT_EQ(rig.dut.counters().grh_areas, 3u);
}

TEST(GrhScatter, EveryCycleIsAccountedFor) {
  Bench bench;
  Rig rig(bench, {}, Transport::kRc, 1);
  rig.out.stall(Cycle{0}, Cycle{41});
  rig.in.push(Cycle{9}, rig.send(64, {64}));
  rig.in.push(Cycle{9}, rig.send(640, {640}));
  bench.run();
  rig.dut.settle(Cycle{100});
  const CycleAccount& account = rig.dut.account();
  const auto spent = [&](Activity a) { return account[static_cast<std::size_t>(a)]; };
  // Taken in 10 and 11; the first leaves in 14, the second is ready in 15 and leaves in 42. Its bytes keep the engine
  // busy to cycle 20 as well, but being blocked is what counts.
  EXPECT_EQ(spent(Activity::kBusy), 5u);
  EXPECT_EQ(spent(Activity::kBlocked), 27u);
  EXPECT_EQ(spent(Activity::kStarved), 68u);
}

TEST(GrhScatter, ModesAgreeOnRandomTraffic) {
  const std::uint64_t seed = test_seed(12);
  expect_equal_in_all_modes([seed](Bench& bench) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    GrhScatterParams params;
    params.latency_cycles = 1 + below(6);
    params.sges_per_cycle = 1 + below(3);
    Rig rig(bench, params);
    std::vector<QpContext> qps;
    for (const Transport t : {Transport::kRc, Transport::kUc, Transport::kUd, Transport::kXrc}) {
      for (int i = 0; i < 8; ++i) {
        qps.push_back(test_qp(t));
        qps.back().line = static_cast<std::uint32_t>(qps.size() - 1);
      }
    }
    StateHash digest;
    rig.out.accept_when([](Cycle c) { return c.count / 16 % 3 != 0; });
    rig.out.on_value([&](Cycle now, const PacketHandle& h) {
      const Packet& p = rig[h];
      digest.mix(now.count);
      digest.mix(static_cast<std::uint64_t>(p.outcome) << 32 | p.segment_count);
      for (std::size_t s = 0; s < p.segment_count; ++s) digest.mix(p.segments[s].va << 16 ^ p.segments[s].bytes);
      if (p.completes && p.wqe_slot != kNoWqeSlot) rig.shared.wqes.release(p.wqe_slot);
      rig.shared.packets.release(h);
    });
    std::uint64_t cycle = 0;
    for (int i = 0; i < 500; ++i) {
      QpContext& qp = qps[below(qps.size())];
      const PacketHandle h =
          rig.packet(qp, below(4) == 0 && qp.transport != Transport::kUd ? Operation::kWriteOnly : Operation::kSendOnly,
                     below(1025));
      Packet& p = rig[h];
      if (p.has(kWrite)) {
        p.local_va = random();
        p.local_key = Key{5};
      } else {
        std::vector<std::uint32_t> lengths(1 + below(6));
        for (auto& length : lengths) length = below(700);
        p.wqe_slot = rig.shared.wqes.allocate();
        rig.shared.wqes[p.wqe_slot] = wqe_of(lengths, below(5000));
      }
      cycle += below(40);
      rig.in.push(Cycle{cycle}, h);
    }
    bench.run();
    EXPECT_EQ(rig.out.size(), 500u);
    EXPECT_GT(rig.dut.counters().failed, 10u);
    EXPECT_GT(rig.dut.counters().squashed, 10u);
    digest.mix(bench.state_hash());
    return digest.value();
  });
}

}  // namespace
}  // namespace rxnic
