// SPDX-License-Identifier: Apache-2.0
// Rule R13 of model/blocks/requester.h: CNPs slow a QP. The rates are tested in send_rate_test.cpp.
#include <random>

#include "testbench/unit/model/blocks/requester_fixture.h"

namespace rxnic::requester_rate_test {
namespace {

using Fixture = RequesterFixture;
constexpr std::uint32_t kReadCycles = Fixture::kReadCycles, kLatency = Fixture::kLatency;
constexpr std::uint32_t kPackets = 16;
constexpr std::uint64_t kFirst = 10 + kReadCycles + kLatency;
constexpr std::uint64_t kFrameBytes = 14 + 20 + 8 + 12 + Fixture::kMtu + 4;
constexpr std::uint64_t kLine = 100'000'000;  // kb/s

// Time that a frame takes at a rate in kb/s, in ps.
constexpr std::uint64_t distance(std::uint64_t kbps) { return (kFrameBytes * 8'000'000'000 + kbps - 1) / kbps; }

void post_stream(Fixture& fixture, std::uint64_t at, Qpn qpn = Fixture::kQpn) {
  fixture.post(at, {{.sge = {Fixture::segment(kPackets * Fixture::kMtu)}}}, qpn);
}
void cnp(Fixture& fixture, std::uint64_t at, Qpn qpn = Fixture::kQpn) {
  fixture.answer(at, AnswerKind::kCnp, 0, 0, qpn);
}
std::uint64_t cycles(Fixture& fixture, Activity a) {
  fixture.bench.engine().settle();
  return fixture.dut.account()[static_cast<std::size_t>(a)];
}

TEST(RequesterRate, ACnpHalvesTheRate) {
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context());
  cnp(fixture, 9);
  post_stream(fixture, 10);
  bench.run();
  ASSERT_EQ(fixture.tx.size(), kPackets);
  for (std::uint64_t n = 0; n < kPackets; ++n) {
    EXPECT_EQ(fixture.tx.cycle(n), Cycle{kFirst + (n * distance(kLine / 2) + 999) / 1000}) << n;
  }
  EXPECT_EQ(fixture.dut.counters().cnps, 1u);
  EXPECT_EQ(fixture.dut.counters().paced, kPackets);
  EXPECT_EQ(fixture.dut.counters().rate_increases, 0u);
  const std::uint64_t stream = fixture.tx.cycle(kPackets - 1).count - kFirst;
  const std::uint64_t making = 3 + 2 * (kPackets - 2), leaving = 2 * (kPackets - 2);  // before the last is made
  EXPECT_EQ(cycles(fixture, Activity::kWaitRate), stream - making - leaving);
}

// A packet that was made before an RNR NAK and leaves during the wait does not end or prolong the wait.
TEST(RequesterRate, APacketThatLeavesDoesNotDisturbAnRnrWait) {
  for (const std::uint8_t timeout : {0, 1}) {
    Bench bench;
    Fixture fixture(bench);
    SendQpContext c = Fixture::context();
    c.timeout = timeout;
    fixture.create(c);
    fixture.payload_reads.set_latency(300);
    cnp(fixture, 9);
    fixture.post(10, {inline_send(), {.sge = {Fixture::segment(8)}}});
    fixture.answer(120, AnswerKind::kRnrNak, 100, 0x21);
    const std::uint64_t again = 120 + 10'000 + Fixture::kReadCycles + Fixture::kLatency;
    fixture.answer(again + 1000, AnswerKind::kAck, 101);
    bench.run();
    ASSERT_GE(fixture.tx.size(), 3u);
    EXPECT_EQ(fixture.psns()[2], 100u);
    EXPECT_EQ(fixture.tx.cycle(2), Cycle{again});
  }
}

TEST(RequesterRate, ACnpDuringAStreamSlowsWhatFollows) {
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context());
  post_stream(fixture, 10);
  cnp(fixture, 10 + 6);  // packets are made in 10, 13, 15, 17...
  cnp(fixture, 10 + 8);
  bench.run();
  ASSERT_EQ(fixture.tx.size(), kPackets);
  EXPECT_EQ(fixture.tx.cycle(2), Cycle{kFirst + 5});
  EXPECT_EQ(fixture.tx.cycle(3), Cycle{kFirst + 7}) << "a distance that began before the CNP";
  const std::uint64_t at_half = (distance(kLine / 2) + 999) / 1000;
  EXPECT_EQ(fixture.tx.cycle(4), Cycle{kFirst + 7 + at_half}) << "and one that began before the second";
  const std::uint64_t from = (kFirst + 7) * 1000 + distance(kLine / 2);
  for (std::uint64_t n = 5; n < kPackets; ++n) {
    EXPECT_EQ(fixture.tx.cycle(n), Cycle{(from + (n - 4) * distance(kLine / 4) + 999) / 1000}) << n;
  }
}

TEST(RequesterRate, TheByteCounterBringsTheRateBack) {
  RequesterParams params = Fixture::params();
  params.dcqcn_increase_bytes = 4 * kFrameBytes;
  Bench bench;
  Fixture fixture(bench, params);
  fixture.create(Fixture::context());
  cnp(fixture, 9);
  post_stream(fixture, 10);
  bench.run();
  ASSERT_EQ(fixture.tx.size(), kPackets);
  std::uint64_t rate = kLine / 2, at_ps = kFirst * 1000;
  for (std::uint64_t n = 0; n < kPackets; ++n) {
    EXPECT_EQ(fixture.tx.cycle(n), Cycle{(at_ps + 999) / 1000}) << n;
    if (n % 4 == 3) rate = (rate + kLine) / 2;
    at_ps += distance(rate);
  }
  EXPECT_EQ(fixture.dut.counters().rate_increases, 4u);
}

TEST(RequesterRate, TheTimerBringsTheRateBack) {
  RequesterParams params = Fixture::params();
  params.dcqcn_increase_timer_ps = 1'000'000;
  Bench bench;
  Fixture fixture(bench, params);
  fixture.create(Fixture::context());
  cnp(fixture, 20);  // increases in 1020, 2020...
  post_stream(fixture, 1500);
  post_stream(fixture, 100'000);
  bench.run();
  ASSERT_EQ(fixture.tx.size(), 2 * kPackets);
  std::uint64_t at_ps = (1500 + kReadCycles + kLatency) * 1000;
  for (std::uint64_t n = 0; n < kPackets; ++n) {
    ASSERT_EQ(fixture.tx.cycle(n), Cycle{(at_ps + 999) / 1000}) << n;
    at_ps += distance(fixture.tx.cycle(n) < Cycle{2020 + kReadCycles + kLatency} ? kLine * 3 / 4 : kLine * 7 / 8);
  }
  EXPECT_GE(fixture.tx.cycle(kPackets - 1), Cycle{2020});
  EXPECT_EQ(fixture.dut.counters().rate_recoveries, 1u);
  EXPECT_EQ(fixture.tx.cycle(kPackets + 5).count - fixture.tx.cycle(kPackets + 4).count, 2u) << "as without a limit";
  EXPECT_EQ(fixture.dut.counters().paced, kPackets + 1) << "the first of the second stream finds the limit's end";
}

TEST(RequesterRate, OtherQpsGoOn) {
  Bench bench;
  Fixture fixture(bench);
  fixture.create(Fixture::context(Transport::kRc, Qpn{1}));
  fixture.create(Fixture::context(Transport::kUc, Qpn{2}));
  cnp(fixture, 9, Qpn{1});
  post_stream(fixture, 10, Qpn{1});
  post_stream(fixture, 10, Qpn{2});
  bench.run();
  ASSERT_EQ(fixture.tx.size(), 2 * kPackets);
  std::vector<std::uint64_t> fast;
  for (std::size_t n = 0; n < fixture.tx.size(); ++n) {
    if (opcode_info(fixture.frame(n).opcode).transport == Transport::kUc) fast.push_back(fixture.tx.cycle(n).count);
  }
  ASSERT_EQ(fast.size(), kPackets);
  EXPECT_LT(fast.back() - fast.front(), 2 * kPackets + 8);
  EXPECT_GT(fixture.tx.cycle(2 * kPackets - 1), Cycle{kFirst + 15 * 50});
}

TEST(RequesterRate, WithoutDcqcnACnpIsOnlyCounted) {
  RequesterParams params = Fixture::params();
  params.dcqcn = false;
  Bench bench;
  Fixture fixture(bench, params);
  fixture.create(Fixture::context());
  cnp(fixture, 9);
  post_stream(fixture, 10);
  bench.run();
  ASSERT_EQ(fixture.tx.size(), kPackets);
  EXPECT_EQ(fixture.tx.cycle(kPackets - 1), Cycle{kFirst + 3 + 2 * (kPackets - 2)});
  EXPECT_EQ(fixture.dut.counters().cnps, 1u);
  EXPECT_EQ(fixture.dut.counters().paced, 0u);
  EXPECT_EQ(fixture.frame(0).traffic_class, 0u);
}

TEST(RequesterRate, ConnectedQpsAreEcnCapable) {
  struct Row {
    Transport transport;
    const char* to;
    std::uint8_t gid_index, asked, sent;
  };
  constexpr Row kRows[] = {{Transport::kRc, "10.0.0.2", 2, 0x00, 0x02},
                           {Transport::kUc, "fe80::2", 1, 0x68, 0x6a},
                           {Transport::kRc, "10.0.0.2", 2, 0x69, 0x69},
                           {Transport::kRc, "fe80::2", 0, 0x68, 0x68},
                           {Transport::kUd, "10.0.0.2", 2, 0x68, 0x68}};
  for (const Row& row : kRows) {
    Bench bench;
    Fixture fixture(bench);
    SendQpContext c = Fixture::context(row.transport);
    c.path = Fixture::path(row.to, row.gid_index);
    c.path.traffic_class = row.asked;
    fixture.create(c);
    WqeSpec spec = inline_send();
    spec.address = c.path;
    fixture.post(10, {spec});
    bench.run();
    ASSERT_EQ(fixture.tx.size(), 1u);
    EXPECT_EQ(fixture.frame(0).traffic_class, row.sent) << row.to << " " << static_cast<int>(row.asked);
  }
}

// At 10 Mb/s a packet takes 251 us; the timeout is 8.192 us, and ACKs are asked for every 8 packets.
TEST(RequesterRate, WaitingForTheRateIsNoTimeout) {
  RequesterParams params = Fixture::params();
  params.dcqcn_min_mbps = 10;
  params.dcqcn_increase_timer_ps = 1'000'000'000'000;
  Bench bench;
  Fixture fixture(bench, params);
  SendQpContext c = Fixture::context();
  c.timeout = 1;
  fixture.create(c);
  for (std::uint64_t n = 0; n < 20; ++n) cnp(fixture, 11 + n);
  post_stream(fixture, 100);
  const std::uint64_t apart = distance(10'000) / 1000, last = kFirst + 90 + (kPackets - 1) * apart;
  fixture.answer(last + 100, AnswerKind::kAck, 100 + kPackets - 1);
  bench.run();
  ASSERT_EQ(fixture.tx.size(), kPackets);
  EXPECT_EQ(fixture.tx.cycle(kPackets - 1), Cycle{last});
  EXPECT_EQ(fixture.dut.counters().timeouts, 0u);
}

TEST(RequesterRate, AResetEndsTheLimit) {
  Bench bench;
  Fixture fixture(bench);
  SendQpContext c = Fixture::context();
  fixture.create(c);
  cnp(fixture, 20);
  fixture.command(30, SendQueueOperation::kReset, c);
  fixture.command(40, SendQueueOperation::kModify, c);
  bench.at(Cycle{45}, [&](Cycle) { post_stream(fixture, 50); });
  bench.run();
  ASSERT_EQ(fixture.tx.size(), kPackets);
  EXPECT_EQ(fixture.dut.counters().paced, 0u);
}

TEST(RequesterRate, ModesAndOrdersAgree) {
  const std::uint64_t seed = test_seed(21);
  expect_equal_in_all_orders([seed](Bench& bench) {
    std::mt19937_64 random(seed);
    RequesterParams params = Fixture::params();
    params.dcqcn_increase_timer_ps = 1'000'000;
    params.dcqcn_alpha_timer_ps = 1'000'000;
    params.dcqcn_increase_bytes = 1024;
    Fixture fixture(bench, params);
    for (std::uint32_t n = 1; n <= 3; ++n) fixture.create(Fixture::context(Transport::kUc, Qpn{n}));
    std::uint64_t at = 10, heard = 10;
    for (int i = 0; i < 40; ++i) {
      at += random() % 300;
      fixture.post(at, {{.sge = {Fixture::segment(static_cast<std::uint32_t>(random() % 3000 + 1))}}},
                   Qpn{static_cast<std::uint32_t>(1 + i % 3)});
      heard += random() % 1200;
      cnp(fixture, heard, Qpn{static_cast<std::uint32_t>(1 + random() % 3)});
    }
    bench.run();
    EXPECT_GT(fixture.dut.counters().paced, 50u);
    EXPECT_GT(fixture.dut.counters().rate_increases, 20u);
    return bench.state_hash();
  });
}

}  // namespace
}  // namespace rxnic::requester_rate_test
