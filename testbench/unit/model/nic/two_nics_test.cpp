// SPDX-License-Identifier: Apache-2.0
// Two NICs from doorbell to completion: requester, fabric, receive path, responses. Contents, completions on both
// sides, and the same result in every engine mode.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "model/params/config.h"
#include "testbench/unit/model/nic/test_host.h"

namespace rxnic::two_nics_test {
namespace {

constexpr std::uint32_t kPeriodPs = 2325;

using ByteVector = std::vector<std::uint8_t>;

ByteVector bytes_of(std::size_t n, unsigned seed) {
  ByteVector v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::uint8_t>(seed + i * 7 + (i >> 8) * 29);
  return v;
}

struct TwoNicsTest : testing::Test {
  Bench bench{EngineMode::kFast, kPeriodPs};
  TwoNics nics{bench};
  TestHost& a = nics.a;
  TestHost& b = nics.b;
  void run() {
    bench.run();
    nics.expect_quiet();
  }
  void expect(const TestHost& host, std::size_t n, const HostQp& qp, CqeOpcode opcode, std::uint32_t wqe,
              std::uint32_t bytes) {
    ASSERT_GT(host.completions.size(), n);
    const Cqe& cqe = host.completions[n].cqe;
    EXPECT_EQ(static_cast<int>(cqe.status), 0) << n;
    EXPECT_EQ(cqe.qp_number, raw(qp.qpn())) << n;
    EXPECT_EQ(static_cast<int>(cqe.opcode), static_cast<int>(opcode)) << n;
    EXPECT_EQ(cqe.wqe_index, wqe) << n;
    EXPECT_EQ(cqe.byte_count, bytes) << n;
  }
};

TEST_F(TwoNicsTest, ASendArrivesAndCompletesOnBothSides) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion from = a.region(10'000), to = b.region(20'000);
  const ByteVector data = bytes_of(5000, 3);
  a.write(from.va + 100, data);
  b.receive(*qb, to.piece(50, 6000));
  a.send(*qa, {.sges = {from.piece(100, 3000), from.piece(3100, 2000)}});
  run();
  EXPECT_EQ(b.read(to.va + 50, data.size()), data);
  ASSERT_EQ(b.completions.size(), 1u);
  ASSERT_EQ(a.completions.size(), 1u);
  expect(b, 0, *qb, CqeOpcode::kReceive, 0, 5000);
  expect(a, 0, *qa, CqeOpcode::kSend, 0, 5000);
}

// NUMBERS.md, Latency: 1.27 us, of which host.doorbell_latency_ps passes before the doorbell comes.
TEST(TwoNics, AShortMessageOfAFastNicTakesThePublishedTime) {
  const Params params = load_config("nic_400g_gen5", std::vector<std::string>{"fabric.switch_latency_ps=0"});
  Bench bench{EngineMode::kFast, params.nic.clock_period_ps};
  TwoNics nics(bench, params);
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion to = nics.b.region(4096);
  constexpr Cycle kSecond{20'000};  // the first one finds nothing in the caches
  const auto send = [&, qa = qa, qb = qb](Cycle) {
    nics.b.receive(*qb, to.whole());
    nics.a.send(*qa, {.inline_data = ByteVector(2, 1)});
  };
  send({});
  bench.at(kSecond, send);
  bench.run();
  nics.expect_quiet();
  ASSERT_EQ(nics.b.completions.size(), 2u);
  const double ns = static_cast<double>(nics.b.completions[1].seen.count - kSecond.count) +
                    static_cast<double>(params.host.doorbell_latency_ps) / 1000;
  EXPECT_NEAR(ns, 1270, 60);
}

// NUMBERS.md, Latency: 2.25 to 2.28 us at each MTU.
TEST(TwoNics, TheLatencyOfAMessageDoesNotDependOnTheMtu) {
  for (const std::uint64_t switch_ps : {0u, 300'000u}) {
    std::vector<double> ns;
    for (const std::uint32_t mtu : {256u, 1024u, 2048u, 4096u}) {
      Bench bench{EngineMode::kFast, kPeriodPs};
      Params params = load_config("nic_100g_gen3");
      params.fabric.switch_latency_ps = switch_ps;
      TwoNics nics(bench, params);
      nics.a.mtu = nics.b.mtu = mtu;
      const auto [qa, qb] = nics.connected(Transport::kRc);
      const HostRegion from = nics.a.region(4096), to = nics.b.region(4096);
      constexpr Cycle kSecond{20'000};  // the first one finds nothing in the caches
      const auto send = [&, qa = qa, qb = qb](Cycle) {
        nics.b.receive(*qb, to.whole());
        nics.a.send(*qa, {.sges = {from.whole()}});
      };
      send({});
      bench.at(kSecond, send);
      bench.run();
      nics.expect_quiet();
      ASSERT_EQ(nics.b.completions.size(), 2u);
      ns.push_back(static_cast<double>(nics.b.completions[1].seen.count - kSecond.count) * kPeriodPs / 1000);
      RecordProperty("ns_" + std::to_string(switch_ps) + "_" + std::to_string(mtu), std::to_string(ns.back()));
    }
    const auto [least, most] = std::ranges::minmax(ns);
    EXPECT_LT(most - least, 0.1 * least) << most << " ns; with whole packets gathered and received 0.35";
  }
}

TEST_F(TwoNicsTest, InlineSendsOfManyLengthsArriveInOrder) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion to = b.region(40 * 256);
  for (std::uint32_t i = 0; i < 40; ++i) b.receive(*qb, to.piece(i * 256, 200));
  for (std::uint32_t i = 0; i < 40; ++i) a.send(*qa, {.inline_data = bytes_of(1 + i * 4, i)});
  run();
  ASSERT_EQ(b.completions.size(), 40u);
  ASSERT_EQ(a.completions.size(), 40u);
  for (std::uint32_t i = 0; i < 40; ++i) {
    expect(b, i, *qb, CqeOpcode::kReceive, i, 1 + i * 4);
    expect(a, i, *qa, CqeOpcode::kSend, i, 1 + i * 4);
    EXPECT_EQ(b.read(to.va + i * 256, 1 + i * 4), bytes_of(1 + i * 4, i)) << i;
  }
}

TEST_F(TwoNicsTest, AWriteLandsWithoutTheOtherSide) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion from = a.region(9000), to = b.region(9000);
  const ByteVector data = bytes_of(8500, 5);
  a.write(from.va, data);
  a.send(*qa, {.opcode = SendOpcode::kWrite, .sges = {from.piece(0, 8500)}, .va = to.va + 77, .rkey = to.key});
  run();
  EXPECT_EQ(b.read(to.va + 77, data.size()), data);
  EXPECT_TRUE(b.completions.empty());
  ASSERT_EQ(a.completions.size(), 1u);
  expect(a, 0, *qa, CqeOpcode::kRdmaWrite, 0, 8500);
}

TEST_F(TwoNicsTest, AWriteWithImmediateCompletesAReceive) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion from = a.region(4096), to = b.region(4096);
  a.write(from.va, bytes_of(2000, 1));
  b.receive(*qb, to.piece(3000, 0));
  a.send(*qa, {.opcode = SendOpcode::kWriteImm,
               .sges = {from.piece(0, 2000)},
               .va = to.va,
               .rkey = to.key,
               .immediate = 0xabcd1234});
  run();
  EXPECT_EQ(b.read(to.va, 2000), bytes_of(2000, 1));
  ASSERT_EQ(b.completions.size(), 1u);
  expect(b, 0, *qb, CqeOpcode::kReceiveWriteImm, 0, 2000);
  EXPECT_EQ(b.completions[0].cqe.immediate_or_rkey, 0xabcd1234u);
}

TEST_F(TwoNicsTest, AReadBringsTheOtherSidesBytes) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion to = a.region(30'000), from = b.region(30'000);
  const ByteVector data = bytes_of(25'001, 9);
  b.write(from.va + 3, data);
  a.send(*qa, {.opcode = SendOpcode::kRead, .sges = {to.piece(11, 25'001)}, .va = from.va + 3, .rkey = from.key});
  run();
  EXPECT_EQ(a.read(to.va + 11, data.size()), data);
  ASSERT_EQ(a.completions.size(), 1u);
  expect(a, 0, *qa, CqeOpcode::kRdmaRead, 0, 25'001);
}

TEST_F(TwoNicsTest, AtomicsChangeTheValueAndReturnTheOldOne) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion results = a.region(64), value = b.region(64);
  b.write(value.va + 8 - value.va % 8, {10, 0, 0, 0, 0, 0, 0, 0});
  const std::uint64_t at = value.va + 8 - value.va % 8;
  const auto atomic = [&](SendOpcode opcode, std::uint32_t n, std::uint64_t compare_add, std::uint64_t swap) {
    a.send(*qa, {.opcode = opcode,
                 .sges = {results.piece(n * 8, 8)},
                 .va = at,
                 .rkey = value.key,
                 .compare_add = compare_add,
                 .swap = swap});
  };
  atomic(SendOpcode::kFetchAdd, 0, 5, 0);
  atomic(SendOpcode::kCompareSwap, 1, 15, 99);
  atomic(SendOpcode::kCompareSwap, 2, 15, 7);
  run();
  EXPECT_EQ(a.read(results.va, 8)[0], 10);
  EXPECT_EQ(a.read(results.va + 8, 8)[0], 15);
  EXPECT_EQ(a.read(results.va + 16, 8)[0], 99);
  EXPECT_EQ(b.read(at, 8)[0], 99);
  ASSERT_EQ(a.completions.size(), 3u);
  expect(a, 0, *qa, CqeOpcode::kFetchAdd, 0, 8);
  expect(a, 2, *qa, CqeOpcode::kCompareSwap, 2, 8);
}

TEST_F(TwoNicsTest, AnAtomicWriteStoresEightBytes) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion from = a.region(64), to = b.region(64);
  const ByteVector data = bytes_of(64, 5);
  a.write(from.va, data);
  const std::uint64_t at = to.va + 8 - to.va % 8;
  for (std::uint32_t n = 0; n < 3; ++n) {
    a.send(*qa, {.opcode = SendOpcode::kAtomicWrite,
                 .sges = {from.piece(n * 16, 3), from.piece(n * 16 + 8, 5)},
                 .va = at + n * 8,
                 .rkey = to.key});
  }
  run();
  for (std::uint32_t n = 0; n < 3; ++n) {
    ByteVector expected(data.begin() + n * 16, data.begin() + n * 16 + 3);
    expected.insert(expected.end(), data.begin() + n * 16 + 8, data.begin() + n * 16 + 13);
    EXPECT_EQ(b.read(at + n * 8, 8), expected);
  }
  EXPECT_TRUE(b.completions.empty());
  ASSERT_EQ(a.completions.size(), 3u);
  for (std::uint32_t n = 0; n < 3; ++n) expect(a, n, *qa, CqeOpcode::kAtomicWrite, n, 8);
}

TEST_F(TwoNicsTest, UnreliableConnectionsSendAndWrite) {
  const auto [qa, qb] = nics.connected(Transport::kUc);
  const HostRegion from = a.region(8192), to = b.region(8192);
  a.write(from.va, bytes_of(3000, 2));
  b.receive(*qb, to.piece(0, 4000));
  a.send(*qa, {.sges = {from.piece(0, 3000)}});
  a.send(*qa, {.opcode = SendOpcode::kWrite, .sges = {from.piece(0, 3000)}, .va = to.va + 4000, .rkey = to.key});
  run();
  EXPECT_EQ(b.read(to.va, 3000), bytes_of(3000, 2));
  EXPECT_EQ(b.read(to.va + 4000, 3000), bytes_of(3000, 2));
  EXPECT_EQ(b.completions.size(), 1u);
  EXPECT_EQ(a.completions.size(), 2u);
}

TEST_F(TwoNicsTest, DatagramsCarryTheirHeader) {
  const auto [qa, qb] = nics.connected(Transport::kUd);
  const HostRegion to = b.region(4096);
  b.receive(*qb, to.piece(0, 1064));
  a.send(*qa, {.inline_data = bytes_of(100, 4), .to = qb, .to_nic = 1});
  run();
  ASSERT_EQ(b.completions.size(), 1u);
  expect(b, 0, *qb, CqeOpcode::kReceive, 0, 140);
  EXPECT_EQ(b.completions[0].cqe.source_qp, raw(qa->qpn()));
  EXPECT_EQ(b.read(to.va + 40, 100), bytes_of(100, 4));
  EXPECT_EQ(b.read(to.va + 20, 1)[0], 0x45) << "an IPv4 header";
  EXPECT_EQ(a.completions.size(), 1u);
}

TEST_F(TwoNicsTest, TwoQpsOfOneNicTalkThroughLoopback) {
  HostQp& left = a.qp(Transport::kRc, nics.cq_a);
  HostQp& right = a.qp(Transport::kRc, nics.cq_a);
  a.connect(left, 0, right);
  a.connect(right, 0, left);
  const HostRegion to = a.region(4096);
  a.receive(right, to.piece(0, 2000));
  a.send(left, {.inline_data = bytes_of(100, 4)});
  run();
  EXPECT_EQ(a.read(to.va, 100), bytes_of(100, 4));
  EXPECT_EQ(a.completions.size(), 2u);
  EXPECT_EQ(nics.fabric.counters().frames, 0u);
  EXPECT_EQ(nics.fabric.counters().loopback, 2u);
}

TEST_F(TwoNicsTest, ASendThatFindsNoReceiveIsRepeatedUntilThereIsOne) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion to = b.region(4096);
  a.send(*qa, {.inline_data = bytes_of(100, 4)});
  bench.at(Cycle{20'000}, [&, peer = qb](Cycle) { b.receive(*peer, to.piece(0, 200)); });
  run();
  EXPECT_EQ(b.read(to.va, 100), bytes_of(100, 4));
  EXPECT_EQ(a.count(WcStatus::kSuccess), 1u);
  EXPECT_GT(a.nic.requester->counters().rnr_waits, 0u);
}

TEST_F(TwoNicsTest, AWrongRkeyFailsTheRequestAndBothQps) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion from = a.region(4096), to = b.region(4096, kLocalWrite | kRemoteRead);
  b.receive(*qb, to.piece(0, 100));
  a.receive(*qa, from.piece(0, 100));
  a.send(*qa, {.opcode = SendOpcode::kWrite, .sges = {from.piece(0, 50)}, .va = to.va, .rkey = to.key});
  a.send(*qa, {.inline_data = bytes_of(8, 1)});
  run();
  ASSERT_EQ(a.completions.size(), 3u) << "the WRITE, the SEND behind it, the receive";
  EXPECT_EQ(a.completions[0].cqe.status, WcStatus::kRemoteAccess);
  EXPECT_EQ(a.count(WcStatus::kFlushed), 2u);
  ASSERT_EQ(b.completions.size(), 1u);
  EXPECT_EQ(b.completions[0].cqe.status, WcStatus::kFlushed);
  EXPECT_TRUE(std::any_of(b.events.begin(), b.events.end(),
                          [](const Event& e) { return e.type == EventType::kQpAccessError; }));
}

TEST_F(TwoNicsTest, AReadOfMemoryThatIsNotThereFlushesTheResponder) {
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion to = a.region(4096), from = b.region(4096), buffer = b.region(4096);
  b.receive(*qb, buffer.piece(0, 100));
  b.memory.store(mpt_address(from.key), MptEntry{});
  a.send(*qa, {.opcode = SendOpcode::kRead, .sges = {to.piece(0, 50)}, .va = from.va, .rkey = from.key});
  run();
  ASSERT_EQ(a.completions.size(), 1u);
  EXPECT_EQ(a.completions[0].cqe.status, WcStatus::kRemoteAccess);
  EXPECT_EQ(b.count(WcStatus::kFlushed), 1u);
  ASSERT_FALSE(b.events.empty());
  EXPECT_EQ(b.events[0].type, EventType::kQpAccessError);
}

TEST_F(TwoNicsTest, TheReceiverKnowsWhenTheDoorbellWasRung) {
  struct Observer final : CompletionObserver {
    void on_written(Cqn, const Cqe& cqe, const MessageTimes& times, Cycle now) override {
      seen.push_back({cqe.opcode, times.posted, now});
    }
    struct Seen {
      CqeOpcode opcode;
      Cycle posted, now;
    };
    std::vector<Seen> seen;
  } observer;
  b.nic.cqe_generator.set_observer(&observer);
  const auto [qa, qb] = nics.connected(Transport::kRc);
  const HostRegion to = b.region(4096);
  b.receive(*qb, to.piece(0, 200));
  bench.at(Cycle{5000}, [&, from = qa](Cycle) { a.send(*from, {.inline_data = bytes_of(32, 1)}); });
  run();
  ASSERT_EQ(observer.seen.size(), 1u);
  EXPECT_EQ(observer.seen[0].posted, Cycle{5000});
  EXPECT_GT(observer.seen[0].now, Cycle{5000});
}

// Random work of all kinds both ways, in fast and step-all mode.
TEST(TwoNics, AllModesAgree) {
  const std::uint64_t seed = test_seed(11);
  const auto scenario = [&](EngineMode mode) {
    std::mt19937_64 random(seed);
    Bench bench(mode, kPeriodPs);
    TwoNics nics(bench);
    TestHost* const hosts[] = {&nics.a, &nics.b};
    const HostRegion regions[] = {nics.a.region(200'000), nics.b.region(200'000)};
    nics.a.write(regions[0].va, bytes_of(200'000, 1));
    nics.b.write(regions[1].va, bytes_of(200'000, 77));
    std::vector<std::pair<HostQp*, HostQp*>> pairs;
    for (int i = 0; i < 3; ++i) pairs.push_back(nics.connected(Transport::kRc, 64));
    pairs.push_back(nics.connected(Transport::kUc, 64));
    std::uint64_t when = 10;
    for (int i = 0; i < 160; ++i) {
      when += random() % 150;
      const std::size_t n = random() % pairs.size();
      const std::size_t from = random() % 2;
      HostQp& sender = from == 0 ? *pairs[n].first : *pairs[n].second;
      HostQp& receiver = from == 0 ? *pairs[n].second : *pairs[n].first;
      const bool reliable = sender.software.qp.transport == Transport::kRc;
      const auto bytes = static_cast<std::uint32_t>(random() % 6000 + 8);
      const std::uint64_t mine = random() % 100'000, theirs = 100'000 + random() % 90'000;
      Work work;
      work.opcode = std::array{SendOpcode::kSend, SendOpcode::kWrite, SendOpcode::kRead, SendOpcode::kFetchAdd,
                               SendOpcode::kAtomicWrite}[random() % (reliable ? 5u : 2u)];
      const bool atomic = work.opcode == SendOpcode::kFetchAdd || work.opcode == SendOpcode::kAtomicWrite;
      work.sges = {regions[from].piece(mine, atomic ? 8 : bytes)};
      work.rkey = regions[1 - from].key;
      work.va = regions[1 - from].va + theirs;
      if (atomic) work.va -= work.va % 8;
      work.compare_add = 3;
      TestHost& here = *hosts[from];
      TestHost& there = *hosts[1 - from];
      bench.at(Cycle{when}, [&, work, theirs, bytes, from](Cycle) {
        if (work.opcode == SendOpcode::kSend) there.receive(receiver, regions[1 - from].piece(theirs, bytes));
        here.send(sender, work);
      });
    }
    bench.run();
    nics.expect_quiet();
    EXPECT_EQ(nics.a.count(WcStatus::kSuccess), nics.a.completions.size());
    EXPECT_EQ(nics.b.count(WcStatus::kSuccess), nics.b.completions.size());
    EXPECT_GE(nics.a.completions.size() + nics.b.completions.size(), 160u);
    return bench.state_hash();
  };
  const std::uint64_t fast = scenario(EngineMode::kFast);
  EXPECT_EQ(scenario(EngineMode::kStepAll), fast);
  EXPECT_EQ(scenario(EngineMode::kPerCycle), fast);
}

}  // namespace
}  // namespace rxnic::two_nics_test
