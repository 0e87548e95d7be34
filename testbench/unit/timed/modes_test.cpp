// SPDX-License-Identifier: Apache-2.0
// The three engine modes give one result: random traffic of all opcodes and all error causes, 10^6 packets over 20
// seeds.
#include <gtest/gtest.h>

#include <iostream>

#include "model/params/config.h"
#include "testbench/sim/host_setup.h"
#include "testbench/sim/simulation.h"
#include "testbench/sim/traffic_stream.h"

namespace rxnic {
namespace {

constexpr std::uint64_t kSeeds = 20;
constexpr std::uint64_t kPacketsPerSeed = 50'000;

TrafficConfig everything(std::uint64_t seed) {
  TrafficConfig t;
  t.seed = seed;
  t.rc_qps = 12;
  t.uc_qps = 3;
  t.ud_qps = 3;
  t.xrc_qps = 3;
  t.spare_qps = 200;
  t.mix = {6, 2, 1, 4, 2, 2, 1, 1, 1};
  t.min_bytes = 8;
  t.max_bytes = 5000;
  t.mtu = 1024;
  t.errors_per_million = 30'000;
  t.encapsulation = seed % 4 == 3   ? Encapsulation::kRoceV1
                    : seed % 4 == 2 ? Encapsulation::kRoceV2Ipv6
                                    : Encapsulation::kRoceV2Ipv4;
  if (t.encapsulation != Encapsulation::kRoceV2Ipv4) {
    t.sender = Address::parse("fe80::1");
    t.receiver = Address::parse("fe80::2");
  }
  return t;
}

struct Outcome3 {
  std::uint64_t hash = 0;
  std::uint64_t cycles = 0;
  std::uint64_t steps = 0;
  LedgerCounters ledger;
  std::array<std::uint64_t, kInjectedCauses> injected{};
};

Outcome3 run(std::uint64_t seed, EngineMode mode) {
  TrafficStream stream(everything(seed), kPacketsPerSeed);
  Simulation::Options options;
  options.params = load_config(seed % 2 == 0 ? "tiny" : "nic_100g_gen3");
  options.mode = mode;
  options.pace = {Pace::Kind::kLineRate, 0};
  Simulation sim(options, stream);
  HostOptions host;
  host.resynchronise = seed % 3 == 0;
  host.receive = seed % 5 == 4 ? ReceiveKind::kSrq : ReceiveKind::kRq;
  host.srq_layout = seed % 10 == 9 ? WqLayout::kCyclic : WqLayout::kLinkedList;
  sim.nic.rx_parser.add_address(everything(seed).receiver);
  set_up(sim, make_host_plan(stream.survey(), host));
  sim.run();
  return {sim.state_hash(), sim.engine.now().count, sim.engine.steps(), sim.nic.shared.ledger.counters(),
          stream.injected()};
}

class RandomTraffic : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomTraffic, GivesOneResultInAllModes) {
  const std::uint64_t seed = GetParam();
  std::cout << "seed " << seed << '\n';
  const Outcome3 fast = run(seed, EngineMode::kFast);
  const Outcome3 step_all = run(seed, EngineMode::kStepAll);
  const Outcome3 per_cycle = run(seed, EngineMode::kPerCycle);
  EXPECT_EQ(fast.hash, step_all.hash);
  EXPECT_EQ(fast.hash, per_cycle.hash);
  EXPECT_EQ(fast.cycles, step_all.cycles);
  EXPECT_LT(fast.steps, step_all.steps / 2) << "the fast mode skips nothing";
  // How much was compared.
  EXPECT_EQ(fast.ledger.seen, kPacketsPerSeed);
  EXPECT_EQ(fast.ledger.seen, fast.ledger.accepted + fast.ledger.not_rdma + fast.ledger.dropped_total());
  EXPECT_GT(fast.ledger.accepted, kPacketsPerSeed / 2);
  for (std::size_t i = 1; i < kInjectedCauses; ++i) {
    if (static_cast<Injected>(i) == Injected::kFragment && seed % 4 >= 2) continue;  // IPv4 only
    EXPECT_GT(fast.injected[i], 0u) << injected_name(static_cast<Injected>(i));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTraffic, testing::Range<std::uint64_t>(1, kSeeds + 1));

}  // namespace
}  // namespace rxnic
