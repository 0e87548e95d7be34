// SPDX-License-Identifier: Apache-2.0
// Rules R1..R7 of model/blocks/qp_context_cache.h.
#include "model/blocks/qp_context_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "model/blocks/dma_engine.h"
#include "model/nic/nic_shared.h"
#include "testbench/unit/model/engine/harness.h"

namespace rxnic::qp_context_cache_test {
namespace {

constexpr std::uint64_t kLatency = 100;        // of the test memory, from taking a request to its completion
constexpr std::uint64_t kRead = kLatency + 2;  // from a read's start to the cycle in which the context is used

QpContextCacheParams small() {
  QpContextCacheParams p;
  p.sets = 2;
  p.ways = 2;
  p.hit_cycles = 2;
  p.misses_in_flight = 4;
  return p;
}

struct Fixture {
  explicit Fixture(Bench& b, const QpContextCacheParams& params = small())
      : host(b.keep<LocalMemory>()),
        shared(b.keep<NicShared>(PacketPool::Quotas{})),
        dut(b.add<QpContextCache>("dut", params, shared.contexts, shared.ledger, shared.packets)),
        in(b.source(dut.in)),
        out(b.sink(dut.out)),
        memory(b.memory(dut.dma, dut.dma_done, host, kLatency)) {
    for (std::uint32_t n = 1; n <= 12; ++n) create(n);
  }
  void create(std::uint32_t n) {
    auto qp = StoredQpContext();  // zero in the padding between the members, too
    qp.valid = 1;
    qp.state = QpState::kRts;
    qp.qpn = Qpn{n};
    qp.qkey = 1000 + n;
    host.store(qp_context_address(Qpn{n}), qp);
  }
  StoredQpContext stored(std::uint32_t n) { return host.load<StoredQpContext>(qp_context_address(Qpn{n})); }
  // Behind the context's last member its slot in host memory is still zero: no state of the cache (pins, line,
  // residence, dirty flag) was written.
  bool is_clean_behind(std::uint32_t n) {
    const auto image = host.load<std::array<std::uint8_t, QpContextMemory::kLineBytes>>(qp_context_address(Qpn{n}));
    static const StoredQpContext last;
    const auto end = reinterpret_cast<const char*>(&last.flush_requested + 1) - reinterpret_cast<const char*>(&last);
    return std::all_of(image.begin() + end, image.end(), [](std::uint8_t byte) { return byte == 0; });
  }
  ParsedPacket packet(std::uint32_t qpn) {
    ParsedPacket p;
    p.buffer = shared.packets.allocate(PacketClass::kReceive);
    p.destination_qp = Qpn{qpn};
    p.psn = Psn{++packets};  // so that no two are equal
    return p;
  }
  QpContext& context(std::size_t n) { return shared.contexts[out.value(n).line]; }  // of the n-th packet that came out
  void retire(const ContextPacket& p, Cycle now) {
    AckRequest done;
    done.buffer = p.buffer;
    done.line = p.line;
    shared.ledger.retire(done, now);
  }
  // Every packet that comes out is retired `hold` cycles later.
  void retire_after(Bench& bench, std::uint64_t hold, bool change = false) {
    out.on_value([this, &bench, hold, change](Cycle now, const ContextPacket& p) {
      if (change) {
        ++shared.contexts[p.line].messages;
        shared.contexts[p.line].dirty = true;
      }
      bench.at(now + hold, [this, p](Cycle then) { retire(p, then); });
    });
  }
  LocalMemory& host;
  NicShared& shared;
  QpContextCache& dut;
  Source<ParsedPacket>& in;
  Sink<ContextPacket>& out;
  TestMemory& memory;
  std::uint32_t packets = 0;
};

TEST(QpContextCache, HitComesAfterHitCycles) {  // R1
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{0}, fixture.packet(1));
  ParsedPacket second = fixture.packet(1);
  second.id = 41;
  fixture.in.push(Cycle{999}, second);
  bench.run_to(Cycle{1002});
  EXPECT_EQ(fixture.out.size(), 1u) << "it can be popped one cycle after it left";
  bench.run_to(Cycle{1003});
  EXPECT_EQ(fixture.out.size(), 2u);
  bench.run();
  EXPECT_EQ(fixture.out.cycle(1), Cycle{1002});
  EXPECT_EQ(fixture.shared.packets[second.buffer].stamped(Station::kQpContextCache), Cycle{1002});
  EXPECT_EQ(fixture.shared.packets[second.buffer].taken(Station::kQpContextCache), Cycle{1000});
  EXPECT_EQ(fixture.dut.counters().hits, 1u);
  const ContextPacket& p = fixture.out.value(1);
  EXPECT_EQ(static_cast<const ParsedPacket&>(p), second) << "as it came";
  EXPECT_EQ(p.id, 41u);
  EXPECT_FALSE(p.is_completion);
  ASSERT_NE(p.line, kNoLine);
  EXPECT_EQ(fixture.context(1).qkey, 1001u);
  EXPECT_EQ(fixture.context(1).pins.count(), 2u);
  EXPECT_EQ(fixture.dut.find(Qpn{1}), &fixture.context(1));
  EXPECT_EQ(p.residence, fixture.context(1).residence);
}

TEST(QpContextCache, TheContextIsPinnedFromTheCycleOfTheHit) {  // R1
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{0}, fixture.packet(1));
  fixture.in.push(Cycle{999}, fixture.packet(1));  // taken in 1000
  bench.run_to(Cycle{999});
  EXPECT_EQ(fixture.dut.find(Qpn{1})->pins.count(), 1u);
  bench.run_to(Cycle{1000});
  EXPECT_EQ(fixture.dut.find(Qpn{1})->pins.count(), 2u);
}

TEST(QpContextCache, OnePacketACycle) {  // R1
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{0}, fixture.packet(1));
  for (int i = 0; i < 6; ++i) fixture.in.push(Cycle{999}, fixture.packet(1));
  bench.run();
  for (std::uint64_t i = 0; i < 6; ++i) EXPECT_EQ(fixture.out.cycle(1 + i), Cycle{1002 + i});
}

TEST(QpContextCache, MissReadsTheContext) {  // R2
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{9}, fixture.packet(3));
  bench.run_to(Cycle{10 + kRead - 1});
  EXPECT_EQ(fixture.dut.activity(), Activity::kWaitContext);
  EXPECT_TRUE(fixture.dut.moving(Qpn{3}));
  EXPECT_EQ(fixture.dut.find(Qpn{3}), nullptr);
  bench.run();
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{10 + kRead + 2});
  ASSERT_EQ(fixture.memory.log().size(), 1u);
  EXPECT_EQ(fixture.memory.log()[0].request.address, qp_context_address(Qpn{3}));
  EXPECT_EQ(fixture.memory.log()[0].request.bytes, kQpContextBytes);
}

TEST(QpContextCache, LeastRecentlyUsedGivesWay) {  // R3
  Bench bench;
  Fixture fixture(bench);
  fixture.retire_after(bench, 1);
  std::uint64_t when = 0;
  for (const std::uint32_t qpn : {2, 4, 2, 6})
    fixture.in.push(Cycle{when += 500}, fixture.packet(qpn));  // one set of two
  bench.run();
  EXPECT_NE(fixture.dut.find(Qpn{2}), nullptr);
  EXPECT_EQ(fixture.dut.find(Qpn{4}), nullptr);
  EXPECT_NE(fixture.dut.find(Qpn{6}), nullptr);
}

TEST(QpContextCache, PinnedContextsAreNotEvicted) {  // R3
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{0}, fixture.packet(2));
  fixture.in.push(Cycle{0}, fixture.packet(4));
  fixture.in.push(Cycle{500}, fixture.packet(6));
  bench.run_to(Cycle{2000});
  EXPECT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.dut.activity(), Activity::kWaitContextWay);
  EXPECT_EQ(fixture.dut.counters().reads, 2u);
  bench.at(Cycle{3000}, [&](Cycle now) { fixture.retire(fixture.out.value(1), now); });
  bench.run();
  ASSERT_EQ(fixture.out.size(), 3u);
  EXPECT_EQ(fixture.out.cycle(2), Cycle{3001 + kRead + 2});
  EXPECT_NE(fixture.dut.find(Qpn{2}), nullptr);
  EXPECT_EQ(fixture.dut.find(Qpn{4}), nullptr);
}

TEST(QpContextCache, ChangedContextIsWrittenBackFirst) {  // R4
  QpContextCacheParams p = small();
  p.sets = p.ways = 1;
  Bench bench;
  Fixture fixture(bench, p);
  fixture.retire_after(bench, 1, true);
  fixture.in.push(Cycle{0}, fixture.packet(1));
  fixture.in.push(Cycle{1000}, fixture.packet(2));
  fixture.in.push(Cycle{2000}, fixture.packet(1));
  bench.run();
  ASSERT_EQ(fixture.memory.log().size(), 5u);
  EXPECT_EQ(fixture.memory.log()[1].request.kind, DmaKind::kWrite);
  EXPECT_EQ(fixture.memory.log()[1].request.address, qp_context_address(Qpn{1}));
  EXPECT_EQ(fixture.memory.log()[2].request.kind, DmaKind::kRead);
  EXPECT_EQ(fixture.dut.counters().write_backs, 2u);
  EXPECT_EQ(fixture.dut.find(Qpn{1})->messages, 2u);
  EXPECT_EQ(fixture.stored(1).messages, 1u);
  EXPECT_TRUE(fixture.is_clean_behind(1));
  EXPECT_EQ(fixture.stored(2).messages, 1u);
}

TEST(QpContextCache, EachStayOnALineHasANumberOfItsOwn) {  // refusal.h R6: refusals are remembered by residence
  QpContextCacheParams p = small();
  p.sets = p.ways = 1;
  Bench bench;
  Fixture fixture(bench, p);
  fixture.retire_after(bench, 1);
  std::uint64_t when = 0;
  for (const std::uint32_t qpn : {1, 1, 2, 1}) fixture.in.push(Cycle{when += 1000}, fixture.packet(qpn));
  bench.run_to(Cycle{5000});
  ASSERT_EQ(fixture.out.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(fixture.out.value(i).line, 0u);
  EXPECT_EQ(fixture.out.value(1).residence, fixture.out.value(0).residence);
  EXPECT_NE(fixture.out.value(2).residence, fixture.out.value(1).residence);
  EXPECT_NE(fixture.out.value(3).residence, fixture.out.value(2).residence);
  EXPECT_NE(fixture.out.value(3).residence, fixture.out.value(0).residence);
}

TEST(QpContextCache, UnchangedContextIsNotWritten) {  // R4
  QpContextCacheParams p = small();
  p.sets = p.ways = 1;
  Bench bench;
  Fixture fixture(bench, p);
  fixture.retire_after(bench, 1);
  fixture.in.push(Cycle{0}, fixture.packet(1));
  fixture.in.push(Cycle{1000}, fixture.packet(2));
  bench.run();
  EXPECT_EQ(fixture.memory.count(DmaKind::kWrite), 0u);
}

TEST(QpContextCache, MissesOverlap) {  // R5
  Bench bench;
  Fixture fixture(bench);
  for (std::uint32_t n = 1; n <= 4; ++n) fixture.in.push(Cycle{9}, fixture.packet(n));
  bench.run();
  ASSERT_EQ(fixture.out.size(), 4u);
  EXPECT_LE(fixture.out.cycle(3), Cycle{10 + kRead + 2 + 4});
  EXPECT_EQ(fixture.dut.counters().reads_ahead, 3u);
}

TEST(QpContextCache, MissesInFlightAreBounded) {  // R5
  QpContextCacheParams p = small();
  p.misses_in_flight = 1;
  Bench bench;
  Fixture fixture(bench, p);
  for (std::uint32_t n = 1; n <= 4; ++n) fixture.in.push(Cycle{9}, fixture.packet(n));
  bench.run();
  EXPECT_GE(fixture.out.cycle(3), Cycle{10 + 4 * kRead});
}

TEST(QpContextCache, ContextIsReadOnceForAllThatWait) {  // R5
  Bench bench;
  Fixture fixture(bench);
  for (int i = 0; i < 6; ++i) fixture.in.push(Cycle{9}, fixture.packet(1));
  bench.run();
  EXPECT_EQ(fixture.dut.counters().reads, 1u);
  EXPECT_EQ(fixture.out.size(), 6u);
}

TEST(QpContextCache, PacketsKeepTheirOrder) {  // R1
  Bench bench;
  Fixture fixture(bench);
  fixture.retire_after(bench, 3);
  std::vector<ParsedPacket> sent;
  for (std::uint32_t i = 0; i < 60; ++i) {
    sent.push_back(fixture.packet(1 + i * 7 % 12));
    fixture.in.push(Cycle{0}, sent.back());
  }
  bench.run();
  ASSERT_EQ(fixture.out.size(), sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(static_cast<const ParsedPacket&>(fixture.out.value(i)), sent[i]) << i;
  }
}

TEST(QpContextCache, UnknownQpIsDropped) {  // R6
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{0}, fixture.packet(99));
  fixture.in.push(Cycle{0}, fixture.packet(99));
  fixture.in.push(Cycle{0}, fixture.packet(1));
  bench.run();
  EXPECT_EQ(fixture.shared.ledger.counters().dropped[static_cast<std::size_t>(DropReason::kQpNotFound)], 2u);
  EXPECT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.dut.counters().not_found, 2u);
  EXPECT_EQ(fixture.shared.packets.in_use(), 1u);
}

TEST(QpContextCache, QpThatIsCreatedLaterIsSeen) {  // R6
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{0}, fixture.packet(99));
  bench.at(Cycle{500}, [&](Cycle) { fixture.create(99); });
  fixture.in.push(Cycle{1000}, fixture.packet(99));
  bench.run();
  EXPECT_EQ(fixture.out.size(), 1u);
}

TEST(QpContextCache, FlushWritesChangedContexts) {
  Bench bench;
  Fixture fixture(bench);
  fixture.in.push(Cycle{0}, fixture.packet(1));
  bench.run();
  fixture.dut.find(Qpn{1})->msn = 77;
  fixture.dut.flush_to(fixture.host);
  EXPECT_EQ(fixture.stored(1).msn, 0u);  // it was not marked as changed
  fixture.dut.find(Qpn{1})->dirty = true;
  fixture.dut.flush_to(fixture.host);
  EXPECT_EQ(fixture.stored(1).msn, 77u);
  EXPECT_EQ(fixture.dut.find(Qpn{1})->pins.count(), 1u) << "its context is here and pinned";
  EXPECT_TRUE(fixture.is_clean_behind(1));
}

// The write-back and the read that follows it use the same line. With the model's DMA engine, which a slow link keeps
// busy.
TEST(QpContextCache, WriteBackIsNotOverwrittenByTheReadBehindIt) {  // R4
  QpContextCacheParams p = small();
  p.sets = p.ways = 1;
  DmaEngineParams slow;
  slow.tlp_rate_mbps = 1000;
  Bench bench;
  LocalMemory host;
  NicShared shared{PacketPool::Quotas{}};
  auto& dut = bench.add<QpContextCache>("dut", p, shared.contexts, shared.ledger, shared.packets);
  auto& engine = bench.add<DmaEngine>("dma", slow, 1000u, shared.packets, host);
  constexpr auto kClient = static_cast<std::size_t>(DmaClient::kContext);
  bench.connect(dut.dma, engine.requests[kClient], 2);
  bench.connect(engine.completions[kClient], dut.dma_done, 2);
  auto& in = bench.source(dut.in);
  auto& out = bench.sink(dut.out);
  out.on_value([&](Cycle now, const ContextPacket& packet) {
    ++shared.contexts[packet.line].messages;
    shared.contexts[packet.line].dirty = true;
    shared.contexts.unpin(packet.line, now);
  });
  for (std::uint32_t n = 1; n <= 3; ++n) {
    StoredQpContext qp;
    qp.valid = 1;
    qp.qpn = Qpn{n};
    host.store(qp_context_address(Qpn{n}), qp);
  }
  for (std::uint32_t i = 0; i < 30; ++i) {
    ParsedPacket packet;
    packet.buffer = shared.packets.allocate(PacketClass::kReceive);
    packet.destination_qp = Qpn{1 + i % 3};
    in.push(Cycle{0}, packet);
  }
  bench.run();
  dut.flush_to(host);
  for (std::uint32_t n = 1; n <= 3; ++n) {
    const auto stored = host.load<StoredQpContext>(qp_context_address(Qpn{n}));
    EXPECT_EQ(stored.messages, 10u);
    EXPECT_EQ(stored.qpn, Qpn{n});
  }
}

// Whichever contexts are evicted and read again, each packet finds the count that its QP's earlier packets left there.
TEST(QpContextCache, NoChangeIsLostUnderRandomTraffic) {
  const std::uint64_t seed = test_seed(1);
  for (std::uint64_t round = 0; round < 10; ++round) {
    expect_equal_in_all_modes([&](Bench& bench) {
      std::mt19937_64 random(seed + round);
      QpContextCacheParams p = small();
      p.sets = 1u << random() % 3;
      p.ways = static_cast<std::uint32_t>(1 + random() % 3);
      p.hit_cycles = static_cast<std::uint32_t>(1 + random() % 4);
      p.misses_in_flight = static_cast<std::uint32_t>(1 + random() % 4);
      Fixture fixture(bench, p);
      fixture.retire_after(bench, 1 + random() % 50, true);
      fixture.out.accept_when([](Cycle c) { return c.count % 64 < 40; });
      Cycle when;
      std::array<std::uint32_t, 15> sent{};
      for (int i = 0; i < 400; ++i) {
        const auto qpn = static_cast<std::uint32_t>(1 + random() % 14);  // two of them do not exist
        when += random() % 8 == 0 ? random() % 300 : random() % 3;
        ++sent[qpn];
        fixture.in.push(when, fixture.packet(qpn));
      }
      bench.run();
      fixture.dut.flush_to(fixture.host);
      for (std::uint32_t qpn = 1; qpn <= 12; ++qpn) EXPECT_EQ(fixture.stored(qpn).messages, sent[qpn]) << qpn;
      EXPECT_EQ(fixture.dut.counters().not_found, sent[13] + sent[14]);
      return bench.state_hash() ^ fixture.host.digest();
    });
  }
}

// ---- Completions of our own requests.

SendCompletion command(std::uint32_t qpn, std::uint32_t wqe = 5) {
  SendCompletion c;
  c.qpn = Qpn{qpn};
  c.wqe = wqe;
  c.wqe_index = wqe % 4;
  c.bytes = 100 + wqe;
  c.status = WcStatus::kRemoteAccess;
  return c;
}

TEST(QpContextCache, CommandsGoFirst) {  // R7
  Bench bench;
  Fixture fixture(bench);
  auto& commands = bench.source(fixture.dut.commands);
  fixture.in.push(Cycle{0}, fixture.packet(1));
  std::vector<ContextPacket> expected(5);
  for (std::uint32_t i = 0; i < 3; ++i) {
    expected[i].is_completion = true;
    expected[i].completion = command(1, i);
    expected[i].destination_qp = Qpn{1};
    commands.push(Cycle{999}, expected[i].completion);
  }
  for (std::size_t i = 3; i < 5; ++i) {  // no field is left from the completions
    static_cast<ParsedPacket&>(expected[i]) = fixture.packet(1);
    fixture.in.push(Cycle{999}, expected[i]);
  }
  bench.run();
  ASSERT_EQ(fixture.out.size(), 6u);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i].line = fixture.dut.find(Qpn{1})->line;
    expected[i].residence = fixture.dut.find(Qpn{1})->residence;
    EXPECT_EQ(fixture.out.value(1 + i), expected[i]) << i;
    EXPECT_EQ(fixture.out.cycle(1 + i), Cycle{1002 + i}) << i;
  }
  EXPECT_EQ(fixture.dut.counters().commands, 3u);
}

TEST(QpContextCache, ACommandWaitsForItsContextAndIsCountedByThePins) {  // R7
  Bench bench;
  Fixture fixture(bench);
  auto& commands = bench.source(fixture.dut.commands);
  commands.push(Cycle{9}, command(3));
  fixture.in.push(Cycle{9}, fixture.packet(5));  // read ahead meanwhile
  bench.run();
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{10 + kRead + 2});
  EXPECT_TRUE(fixture.out.value(0).is_completion);
  EXPECT_EQ(fixture.out.value(0).completion, command(3));
  EXPECT_FALSE(fixture.out.value(1).is_completion);
  EXPECT_EQ(fixture.dut.find(Qpn{3})->pins.count(), 1u);
  EXPECT_EQ(fixture.dut.counters().reads_ahead, 1u);
}

TEST(QpContextCache, ACommandWithoutAQpIsGivenUpAndNotCounted) {  // R7
  Bench bench;
  Fixture fixture(bench);
  auto& commands = bench.source(fixture.dut.commands);
  commands.push(Cycle{0}, command(99));
  commands.push(Cycle{500}, command(6));
  bench.run();
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.value(0).completion.qpn, Qpn{6});
  EXPECT_EQ(fixture.dut.counters().not_found, 0u);
  EXPECT_EQ(fixture.shared.ledger.counters().dropped_total(), 0u);
}

// Commands of the command processor. (R8)
struct CommandedFixture : Fixture {
  explicit CommandedFixture(Bench& b, const QpContextCacheParams& params = small())
      : Fixture(b, params),
        completions(b.source(dut.commands)),
        asked(b.source(dut.contexts)),
        replies(b.sink(dut.context_replies)) {}
  // Taken in cycle `at`.
  void ask(std::uint64_t at, ContextOperation operation, std::uint32_t qpn) {
    asked.push(Cycle{at - 1}, {operation, Qpn{qpn}});
  }
  Source<SendCompletion>& completions;
  Source<ContextCommand>& asked;
  Sink<ContextReply>& replies;
};

TEST(QpContextCache, ACommandHasItsContextBroughtAndKept) {  // R8
  Bench bench;
  QpContextCacheParams p = small();
  p.sets = p.ways = 1;
  CommandedFixture fixture(bench, p);
  fixture.retire_after(bench, 1);
  fixture.ask(10, ContextOperation::kBring, 2);
  fixture.in.push(Cycle{500}, fixture.packet(1));  // finds no way
  fixture.ask(1000, ContextOperation::kRelease, 2);
  fixture.ask(2000, ContextOperation::kBring, 99);
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 3u);
  EXPECT_TRUE(fixture.replies.value(0).found);
  EXPECT_EQ(fixture.replies.value(0).line, 0u);
  EXPECT_EQ(fixture.replies.cycle(0), Cycle{10 + kRead});
  EXPECT_EQ(fixture.replies.cycle(1), Cycle{1000});
  ASSERT_EQ(fixture.out.size(), 1u);
  EXPECT_EQ(fixture.out.cycle(0), Cycle{1000 + kRead + 2});
  EXPECT_EQ(fixture.shared.ledger.counters().dropped_total(), 0u);
}

TEST(QpContextCache, ACommandOnAContextThatIsHereIsAnsweredAtOnce) {  // R8
  Bench bench;
  CommandedFixture fixture(bench);
  fixture.in.push(Cycle{0}, fixture.packet(2));
  fixture.ask(500, ContextOperation::kBring, 2);
  fixture.ask(510, ContextOperation::kRelease, 2);
  fixture.ask(520, ContextOperation::kBring, 99);  // no such QP
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 3u);
  EXPECT_EQ(fixture.replies.cycle(0), Cycle{500});
  EXPECT_FALSE(fixture.replies.value(2).found);
  EXPECT_EQ(fixture.replies.cycle(2), Cycle{520 + kRead});
}

TEST(QpContextCache, AStoppedQpGetsNothingAndSettlesWhenNothingOfItIsHere) {  // R7, R8
  Bench bench;
  CommandedFixture fixture(bench);
  fixture.in.push(Cycle{0}, fixture.packet(5));
  fixture.ask(500, ContextOperation::kStop, 5);
  fixture.in.push(Cycle{510}, fixture.packet(5));
  fixture.in.push(Cycle{510}, fixture.packet(6));  // another QP
  for (int i = 0; i < 3; ++i) fixture.completions.push(Cycle{509}, command(5));
  fixture.ask(510, ContextOperation::kSettle, 5);
  bench.at(Cycle{700}, [&](Cycle now) { fixture.retire(fixture.out.value(0), now); });
  bench.run();
  ASSERT_EQ(fixture.replies.size(), 2u);
  EXPECT_EQ(fixture.replies.cycle(0), Cycle{500});
  EXPECT_EQ(fixture.replies.cycle(1), Cycle{701}) << "the packet that had pinned it has retired";
  ASSERT_EQ(fixture.out.size(), 2u);
  EXPECT_EQ(fixture.out.value(1).destination_qp, Qpn{6});
  EXPECT_EQ(fixture.shared.ledger.counters().dropped[static_cast<std::size_t>(DropReason::kQpTypeOrState)], 1u);
  EXPECT_EQ(fixture.dut.counters().not_found, 0u);
}

TEST(QpContextCache, ARenewedContextIsAsCreatedAndADroppedOneIsForgotten) {  // R8
  Bench bench;
  CommandedFixture fixture(bench);
  fixture.in.push(Cycle{0}, fixture.packet(5));
  bench.at(Cycle{400}, [&](Cycle now) { fixture.retire(fixture.out.value(0), now); });
  fixture.ask(500, ContextOperation::kStop, 5);
  fixture.ask(510, ContextOperation::kSettle, 5);
  fixture.ask(520, ContextOperation::kRenew, 5);
  fixture.in.push(Cycle{529}, fixture.packet(5));
  bench.run_to(Cycle{560});
  ASSERT_EQ(fixture.out.size(), 2u) << "its packets pass again";
  EXPECT_NE(fixture.out.value(1).residence, fixture.out.value(0).residence);
  EXPECT_EQ(fixture.context(1).state, QpState::kReset);
  EXPECT_EQ(fixture.context(1).qkey, 0u);
  EXPECT_EQ(fixture.context(1).valid, 1);
  EXPECT_TRUE(fixture.context(1).dirty);
  bench.at(Cycle{570}, [&](Cycle now) { fixture.retire(fixture.out.value(1), now); });
  fixture.ask(600, ContextOperation::kStop, 5);
  fixture.ask(610, ContextOperation::kSettle, 5);
  fixture.ask(620, ContextOperation::kDrop, 5);
  bench.run();
  EXPECT_EQ(fixture.replies.size(), 6u);
  EXPECT_EQ(fixture.dut.find(Qpn{5}), nullptr);
  EXPECT_EQ(fixture.stored(5).state, QpState::kRts) << "it was not written back";
}

TEST(QpContextCache, CommandsInTrafficAreTheSameInAllOrders) {  // R8
  const std::uint64_t seed = test_seed(7);
  expect_equal_in_all_orders([&](Bench& bench) {
    std::mt19937_64 random(seed);
    auto& fixture = bench.keep<CommandedFixture>(bench);
    fixture.retire_after(bench, 30, true);
    std::uint64_t when = 10, ask_at = 40;
    for (int i = 0; i < 300; ++i) fixture.in.push(Cycle{when += random() % 40}, fixture.packet(1 + random() % 12));
    for (int i = 0; i < 20; ++i) {
      const std::uint32_t qpn = 1 + random() % 12;
      fixture.ask(ask_at += 200, ContextOperation::kStop, qpn);
      fixture.ask(ask_at += 300, ContextOperation::kSettle, qpn);
      fixture.ask(ask_at += 300, ContextOperation::kRenew, qpn);
    }
    bench.run_to(Cycle{40'000});
    EXPECT_EQ(fixture.replies.size(), 60u);
    StateHash h;
    mix_all_of(h, fixture.replies);
    h.mix(bench.state_hash());
    return h.value();
  });
}

}  // namespace
}  // namespace rxnic::qp_context_cache_test
