// SPDX-License-Identifier: Apache-2.0
// Rule R5 of testbench/sim/wire_source.h on a whole NIC.
#include <gtest/gtest.h>

#include "model/params/config.h"
#include "testbench/sim/host_setup.h"
#include "testbench/sim/simulation.h"
#include "testbench/sim/traffic_stream.h"

namespace rxnic {
namespace {

// So many doorbells take longer than the first frames would.
TEST(WireSource, TheFirstFramesFindTheReceivesOfThousandsOfQps) {
  TrafficConfig config;
  config.rc_qps = 4096;
  constexpr std::uint64_t kPackets = 6000;
  TrafficStream traffic(config, kPackets);
  Simulation::Options options;
  options.params = load_config();
  options.pace = {Pace::Kind::kLineRate, 0};
  Simulation sim(options, traffic);
  set_up(sim, make_host_plan(traffic.survey(), {}));
  sim.run();
  const LedgerCounters& ledger = sim.nic.shared.ledger.counters();
  EXPECT_EQ(ledger.seen, kPackets);
  EXPECT_EQ(ledger.accepted, kPackets);
  EXPECT_EQ(ledger.dropped_total(), 0u);
}

}  // namespace
}  // namespace rxnic
