// SPDX-License-Identifier: Apache-2.0
// Rules R1..R7 of model/system/latencies.h, mostly on a whole NIC at a low rate: nothing waits for another packet.
#include "model/system/latencies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "testbench/unit/model/system/traffic_run.h"

namespace rxnic::latencies_test {
namespace {

constexpr std::uint64_t kPackets = 200;

NicResult run(const TrafficMix& mix, const std::vector<std::string>& overrides = {}) {
  TrafficConfig config;
  config.rc_qps = 8;
  config.mix = mix;
  const TrafficRun run(config, kPackets, overrides, {Pace::Kind::kRate, 0.05});
  NicResult r;
  run.latencies.collect(r);
  return r;
}

constexpr TrafficMix kSends{};
constexpr TrafficMix kWrites{.send = 0, .write = 1};
constexpr TrafficMix kReads{.send = 0, .read = 1};

// `of`: the latency that the mix has. It takes as much longer as the parameter is larger.
void expect_contains(const TrafficMix& mix, LatencyResult NicResult::*of, const std::string& parameter,
                     std::uint64_t fast_ns, std::uint64_t slow_ns) {
  const auto run_with = [&](std::uint64_t ns) { return run(mix, {parameter + "=" + std::to_string(ns * 1000)}); };
  const NicResult fast = run_with(fast_ns), slow = run_with(slow_ns);
  EXPECT_EQ((fast.*of).count, kPackets);
  EXPECT_EQ(fast.latency_ns.count + fast.write_ns.count + fast.read_ns.count, kPackets) << "each is of one kind";
  const auto longer = static_cast<double>(slow_ns - fast_ns);
  EXPECT_NEAR(static_cast<double>((slow.*of).p50 - (fast.*of).p50), longer, 0.01 * longer);
  EXPECT_EQ(slow.handed_over_ns.p50, fast.handed_over_ns.p50) << "the hand-over comes before";
}

TEST(Latencies, AReceiveEndsWhenItsCqeIsVisible) {  // R1
  expect_contains(kSends, &NicResult::latency_ns, "dma_engine.write_latency_ps", 250, 5000);
  const NicResult r = run(kSends, {"dma_engine.write_latency_ps=250000"});
  EXPECT_EQ(r.handed_over_ns.count, kPackets);
  EXPECT_GE(r.latency_ns.p50, r.handed_over_ns.p50 + 250);
}

TEST(Latencies, AWriteEndsWhenItsDataIsVisible) {  // R2
  expect_contains(kWrites, &NicResult::write_ns, "dma_engine.write_latency_ps", 250, 5000);
}

TEST(Latencies, AReadContainsThatOfItsData) {  // R3
  expect_contains(kReads, &NicResult::read_ns, "dma_engine.read_latency_ps", 300, 1300);
}

TEST(Latencies, TheStagesAreTheWholeTime) {  // R4
  for (const TrafficMix& mix : {kSends, kWrites}) {
    const NicResult r = run(mix);
    ASSERT_GE(r.stages.size(), 8u);
    EXPECT_EQ(r.stages.front().name, "wire");
    EXPECT_EQ(r.stages.back().name, "host_memory");
    const double sum = std::accumulate(r.stages.begin(), r.stages.end(), 0.0,
                                       [](double all, const StageResult& s) { return all + s.stay.mean; });
    const LatencyResult& whole = mix.write != 0 ? r.write_ns : r.latency_ns;
    // At this rate all but the first few, whose contexts and translations are read, take the same time.
    EXPECT_GE(sum, static_cast<double>(whole.p50) - 5);
    EXPECT_LE(sum, static_cast<double>(whole.max) + 5);
  }
}

TEST(Latencies, AWaitAppearsInItsStage) {  // R4
  const auto mean_of = [](const NicResult& r, const std::string& stage) {
    for (const StageResult& s : r.stages) {
      if (s.name == stage) return s.stay.mean;
    }
    ADD_FAILURE() << stage;
    return 0.0;
  };
  // Room for one QP context: most packets wait for theirs.
  const NicResult r = run(kSends, {"qp_context_cache.sets=1", "qp_context_cache.ways=1"});
  const NicResult quick = run(kSends);
  EXPECT_GT(mean_of(r, "qp_context_cache"), mean_of(quick, "qp_context_cache") + 200);
  EXPECT_NEAR(mean_of(r, "rx_parser"), mean_of(quick, "rx_parser"), 1);
  EXPECT_NEAR(mean_of(r, "grh_scatter"), mean_of(quick, "grh_scatter"), 1);
}

// A WRITE is visible while its packet still waits in the DMA engine for room in the blocks behind.
TEST(Latencies, NoStageEndsAfterTheDataIsVisible) {  // R4
  TrafficConfig config;
  config.rc_qps = 8;
  config.mix = {.send = 1, .write = 1};
  const TrafficRun run(config, kPackets, {"cqe_generator.cycles_per_cqe=64"});
  NicResult r;
  run.latencies.collect(r);
  ASSERT_FALSE(r.stages.empty());
  for (const StageResult& s : r.stages) EXPECT_LE(s.max, std::max(r.latency_ns.max, r.write_ns.max)) << s.name;
}

double steady_gbps(const Latencies& latencies) {
  NicResult r;
  latencies.collect(r);
  return r.steady_gbps;
}

// What waited in a buffer drains faster than the line, here by ten packets a cycle.
TEST(Latencies, PayloadHasTheTimeOfItsArrival) {  // R6
  constexpr std::uint64_t kPeriodPs = 1000, kApart = 10;
  constexpr std::uint32_t kBytes = 125;
  Latencies latencies(kPeriodPs);
  Packet buffer;
  AckRequest p;
  p.outcome = Outcome::kExecute;
  p.payload_bytes = kBytes;
  for (std::uint64_t n = 0; n < 1000; ++n) {
    buffer.stamp(Station::kWire, Cycle{100 + n * kApart});
    latencies.on_retire(p, buffer, Cycle{20'000 + n / 10});
  }
  EXPECT_NEAR(steady_gbps(latencies), kBytes * 8.0 / kApart, 1);
}

TEST(Latencies, PayloadComesAndGoesNoFasterThanTheLine) {  // R6
  constexpr double kLineGbps = 100;
  for (const TrafficMix& mix : {kSends, kWrites, kReads}) {
    TrafficConfig config;
    config.rc_qps = 8;
    config.mix = mix;
    config.min_bytes = config.max_bytes = 4000;
    const TrafficRun run(config, 1000);
    EXPECT_GT(steady_gbps(run.latencies), 10);
    EXPECT_LE(steady_gbps(run.latencies), kLineGbps);
  }
}

// A receive in error has no time on the way either, nor has one whose end never came.
TEST(Latencies, OnlyAReceiveWithItsEndHasATimeOnTheWay) {  // R1, R7
  Latencies latencies(1000);
  MessageTimes times;
  times.posted = Cycle{50};
  times.begun = Cycle{100};
  latencies.on_visible(WcStatus::kSuccess, times, Cycle{200});
  times.leaves(Station::kWire, Cycle{120});
  latencies.on_visible(WcStatus::kFlushed, times, Cycle{200});
  latencies.on_visible(WcStatus::kLocalLength, times, Cycle{200});
  NicResult r;
  latencies.collect(r);
  EXPECT_EQ(r.one_way_ns.count, 0u);
  times.leaves(Station::kCqeGenerator, Cycle{180});
  latencies.on_visible(WcStatus::kSuccess, times, Cycle{200});
  times.posted = {};
  latencies.on_visible(WcStatus::kSuccess, times, Cycle{200});
  latencies.collect(r);
  EXPECT_EQ(r.one_way_ns.count, 1u) << "of one the sender is known";
  EXPECT_EQ(r.one_way_ns.max, 150u);
}

MessageTimes times_of(std::initializer_list<std::pair<Station, Passage>> passed) {
  MessageTimes times{{}, Cycle{100}, {}};
  for (const auto& [station, p] : passed) times.passed[static_cast<std::size_t>(station)] = p;
  return times;
}

struct Split {
  std::uint64_t wait, block;
  bool operator==(const Split&) const = default;
};
Split at(const Stays& stays, Station s) {
  const Stay& stay = stays[static_cast<std::size_t>(s)];
  EXPECT_TRUE(stay.passed);
  return {stay.wait, stay.block};
}

TEST(Latencies, AStageIsWaitAndBlock) {  // R5
  const MessageTimes times = times_of({{Station::kWire, {{}, Cycle{120}}},
                                       {Station::kRxParser, {Cycle{123}, Cycle{130}}},
                                       {Station::kDmaEngine, {Cycle{131}, Cycle{150}}},
                                       {Station::kCqeGenerator, {Cycle{160}, Cycle{164}}},
                                       {Station::kAckGenerator, {{}, Cycle{166}}},
                                       {Station::kHostMemory, {Cycle{170}, Cycle{140}}}});
  const Stays stays = stays_of(times, Cycle{200});
  EXPECT_EQ(at(stays, Station::kWire), (Split{0, 20}));
  EXPECT_EQ(at(stays, Station::kRxParser), (Split{3, 7}));
  EXPECT_EQ(at(stays, Station::kDmaEngine), (Split{1, 19}));
  EXPECT_EQ(at(stays, Station::kCqeGenerator), (Split{10, 4}));
  EXPECT_EQ(at(stays, Station::kHostMemory), (Split{6, 30})) << "the CQE's way, not the payload's";
  EXPECT_FALSE(stays[static_cast<std::size_t>(Station::kTagMatchCam)].passed);
  EXPECT_FALSE(stays[static_cast<std::size_t>(Station::kAckGenerator)].passed) << "the message is not slower for it";
}

TEST(Latencies, AWriteIsCutWhereItIsVisible) {  // R4, R5
  const MessageTimes times =
      times_of({{Station::kWire, {{}, Cycle{100}}}, {Station::kDmaEngine, {Cycle{110}, Cycle{150}}}});
  const Stays stays = stays_of(times, Cycle{140});
  EXPECT_EQ(at(stays, Station::kDmaEngine), (Split{10, 30}));
  EXPECT_EQ(at(stays, Station::kHostMemory), (Split{0, 0}));
}

// Checks each message of a run: all stations are stamped, in order, and what they say adds up to the whole time.
struct EachMessage final : CompletionObserver, PacketObserver {
  void on_written(Cqn, const Cqe& cqe, const MessageTimes& times, Cycle) override {
    if (cqe.status == WcStatus::kSuccess) check(times, times.left(Station::kCqeGenerator) + 100, receives);
  }
  void on_retire(const AckRequest& p, const Packet& buffer, Cycle) override {
    if (!p.has(kWrite) || !p.ends_message || p.outcome != Outcome::kExecute) return;
    MessageTimes times{{}, Cycle{p.message_start}, buffer.stamps};
    times.leaves(Station::kCqeGenerator, Cycle{});
    check(times, times.left(Station::kHostMemory), writes);
  }
  void check(const MessageTimes& times, Cycle visible, std::uint64_t& messages) {
    ++messages;
    Cycle from = times.begun;
    for (std::size_t n = 0; n <= static_cast<std::size_t>(Station::kCqeGenerator); ++n) {
      const auto& [taken, left] = times.passed[n];
      if (left == Cycle{}) continue;
      SCOPED_TRACE(name_of(static_cast<Station>(n)));
      if (static_cast<Station>(n) != Station::kWire) {
        EXPECT_GT(taken, from) << "a link takes a cycle";
      }
      EXPECT_GE(left, taken);
      from = left;
    }
    std::uint64_t sum = 0;
    for (const Stay& s : stays_of(times, visible)) sum += s.wait + s.block;
    EXPECT_EQ(sum, (visible - times.begun).count);
  }
  std::uint64_t receives = 0, writes = 0;
};

TEST(Latencies, WaitsAndBlocksAreTheWholeTimeOfEachMessage) {  // R4, R5
  for (const std::string config : {"tiny", "nic_100g_gen3"}) {
    TrafficConfig traffic;
    traffic.rc_qps = 40;
    traffic.mix = {.send = 1, .write = 1};
    traffic.min_bytes = 1;
    traffic.max_bytes = 9000;
    TrafficStream stream(traffic, 4000);
    Simulation sim({.params = load_config(config), .pace = {Pace::Kind::kLineRate, 0}}, stream);
    EachMessage each;
    sim.nic.cqe_generator.set_observer(&each);
    sim.nic.shared.ledger.set_observer(&each);
    set_up(sim, make_host_plan(stream.survey(), parse_host_options("")));
    sim.run();
    EXPECT_GT(each.receives, 300u);
    EXPECT_GT(each.writes, 300u);
  }
}

const StageResult& stage_of(const NicResult& r, const std::string& name) {
  static const StageResult kNone{};
  const auto at = std::ranges::find(r.stages, name, &StageResult::name);
  EXPECT_NE(at, r.stages.end()) << name;
  return at == r.stages.end() ? kNone : *at;
}

// A cycle of 1 ns, at a low rate: all waits are the cycle in the link.
TEST(Latencies, ALatencyOfTheBlockIsNoWait) {  // R5
  struct Parameter {
    std::string block, name;
    std::uint64_t fast, slow, unit;
  };
  for (const Parameter& p : std::vector<Parameter>{{"rx_parser", "header_cycles", 4, 20, 1},
                                                   {"qp_context_cache", "hit_cycles", 2, 18, 1},
                                                   {"transport_checker", "latency_cycles", 6, 22, 1},
                                                   {"srq_wqe_fetcher", "hit_cycles", 2, 18, 1},
                                                   {"grh_scatter", "latency_cycles", 4, 20, 1},
                                                   {"address_translator", "hit_cycles", 2, 18, 1},
                                                   {"cqe_generator", "latency_cycles", 4, 20, 1},
                                                   {"host_memory", "write_latency_ps", 100, 116, 1000}}) {
    SCOPED_TRACE(p.block);
    const std::string section = p.block == "host_memory" ? "dma_engine" : p.block;
    const auto run_with = [&](std::uint64_t value) {
      return run(kSends, {"nic.clock_period_ps=1000", section + "." + p.name + "=" + std::to_string(value * p.unit)});
    };
    const NicResult quick = run_with(p.fast), late = run_with(p.slow);
    const StageResult &fast = stage_of(quick, p.block), &slow = stage_of(late, p.block);
    EXPECT_EQ(slow.block.p50, fast.block.p50 + 16);
    EXPECT_EQ(slow.wait.p50, fast.wait.p50);
    for (const StageResult& s : late.stages) {
      if (s.name == "wire" || s.name == "rx_parser") continue;
      EXPECT_EQ(s.wait.p50, 1u) << s.name;
    }
    EXPECT_EQ(stage_of(late, "wire").wait.p50, 0u);
    EXPECT_EQ(stage_of(late, "rx_parser").wait.p50, 3u) << "two links and the packet buffer";
  }
}

// At the line's rate a transport checker that takes a packet every 64 cycles holds all up in front of it.
TEST(Latencies, APacketThatIsHeldUpInFrontOfABlockWaits) {  // R5
  TrafficConfig config;
  config.rc_qps = 8;
  const TrafficRun held_up(config, 2000, {"nic.clock_period_ps=1000", "transport_checker.cycles_per_packet=64"});
  NicResult late;
  held_up.latencies.collect(late);
  const NicResult quick = run(kSends, {"nic.clock_period_ps=1000"});
  const StageResult &fast = stage_of(quick, "transport_checker"), &slow = stage_of(late, "transport_checker");
  EXPECT_GT(slow.wait.p50, fast.wait.p50 + 64);
  EXPECT_EQ(slow.block.p50, fast.block.p50);
  EXPECT_EQ(slow.block.p99, fast.block.p99);
  EXPECT_NEAR(slow.stay.mean, slow.wait.mean + slow.block.mean, 1e-6);
}

// Contexts are read in the block, and a CQE that PCIe has no room for waits in front of the way to memory.
TEST(Latencies, WhereAMissAndAFullLinkAppear) {  // R5
  const NicResult misses = run(kSends, {"qp_context_cache.sets=1", "qp_context_cache.ways=1"});
  const NicResult quick = run(kSends);
  EXPECT_GT(stage_of(misses, "qp_context_cache").block.mean, stage_of(quick, "qp_context_cache").block.mean + 200);
  EXPECT_NEAR(stage_of(misses, "qp_context_cache").wait.mean, stage_of(quick, "qp_context_cache").wait.mean, 3);
  TrafficConfig config;
  config.rc_qps = 8;
  config.min_bytes = config.max_bytes = 4096;
  const TrafficRun full(config, 2000, {"dma_engine.tlp_rate_mbps=50000"});
  NicResult r;
  full.latencies.collect(r);
  EXPECT_GT(stage_of(r, "host_memory").wait.p50, stage_of(quick, "host_memory").wait.p50 + 10);
  EXPECT_GT(stage_of(r, "dma_engine").wait.p50, stage_of(quick, "dma_engine").wait.p50 + 10);
}

// What a READ request brings a NIC, and what its response does.
std::uint64_t payload_of_a_read(Latencies::Reads reads, Operation operation) {
  Latencies latencies(1000, reads);
  AckRequest p;
  p.opcode = opcode_of(Transport::kRc, operation);
  p.outcome = Outcome::kExecute;
  p.local_bytes = p.payload_bytes = 1000;
  latencies.on_retire(p, Packet{}, Cycle{5});
  return latencies.bytes();
}

TEST(Latencies, APayloadOfAReadIsCountedWhereItIsReceived) {  // R6
  using Reads = Latencies::Reads;
  EXPECT_EQ(payload_of_a_read(Reads::kReceived, Operation::kReadRequest), 0u);
  EXPECT_EQ(payload_of_a_read(Reads::kReceived, Operation::kReadResponseOnly), 1000u);
  EXPECT_EQ(payload_of_a_read(Reads::kServed, Operation::kReadRequest), 1000u)
      << "of a capture, whose requester is none";
}

TEST(Latencies, AMessageThatNoPacketEndsIsInNoFigureOfABlock) {  // R1
  Latencies latencies(1000);
  MessageTimes times = times_of({});
  times.leaves(Station::kCqeGenerator, Cycle{5000});
  latencies.on_visible(WcStatus::kSuccess, times, Cycle{5100});
  latencies.on_matched(WcStatus::kSuccess, times, Cycle{300});
  latencies.on_matched(WcStatus::kFlushed, times, Cycle{300});
  NicResult r;
  latencies.collect(r);
  EXPECT_EQ(r.no_end_ns.count, 1u);
  EXPECT_EQ(r.no_end_ns.max, 5000u);
  EXPECT_EQ(r.match_ns.count, 1u);
  EXPECT_EQ(r.match_ns.max, 200u);
  EXPECT_EQ(r.latency_ns.count + r.handed_over_ns.count, 0u);
  EXPECT_TRUE(r.stages.empty());
}

TEST(Latencies, NothingIsSaidOfWhatDidNotHappen) {
  Latencies none(2325);
  NicResult r;
  none.collect(r);
  EXPECT_EQ(r.latency_ns.count, 0u);
  EXPECT_TRUE(r.stages.empty());
}

}  // namespace
}  // namespace rxnic::latencies_test
