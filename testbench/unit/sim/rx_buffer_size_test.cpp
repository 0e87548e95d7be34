// SPDX-License-Identifier: Apache-2.0
// Parameter wire.rx_buffer_bytes on a whole NIC that is slower than its wire: it alone decides what is dropped.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "model/params/config.h"
#include "testbench/sim/host_setup.h"
#include "testbench/sim/simulation.h"
#include "testbench/sim/traffic_stream.h"

namespace rxnic {
namespace {

constexpr std::uint64_t kPackets = 3000;

std::uint64_t drops(std::uint64_t buffer_bytes) {
  TrafficConfig config;
  config.rc_qps = 16;
  config.min_bytes = config.max_bytes = 1024;
  TrafficStream traffic(config, kPackets);
  Simulation::Options options;
  const std::array<std::string, 3> overrides{"wire.rx_buffer_bytes=" + std::to_string(buffer_bytes),
                                             "wire.rx_full=drop", "dma_engine.tlp_rate_mbps=16000"};
  options.params = load_config(kDefaultConfig, overrides);
  options.pace = {Pace::Kind::kLineRate, 0};
  Simulation sim(options, traffic);
  set_up(sim, make_host_plan(traffic.survey(), {}));
  sim.run();
  const LedgerCounters& ledger = sim.nic.shared.ledger.counters();
  EXPECT_EQ(ledger.seen, kPackets);
  return ledger.dropped[static_cast<std::size_t>(DropReason::kRxBufferFull)];
}

TEST(RxBufferSize, DecidesWhatIsDropped) {
  const std::uint64_t small = drops(64 << 10), middle = drops(256 << 10), large = drops(64 << 20);
  EXPECT_GT(small, middle + 100);
  EXPECT_GT(middle, large + 100);
  EXPECT_EQ(large, 0u) << "it holds all of them";
}

}  // namespace
}  // namespace rxnic
