// SPDX-License-Identifier: Apache-2.0
// Rules R5 and R6 of model/system/wire_source.h on a whole NIC.
#include <gtest/gtest.h>

#include "testbench/unit/model/system/traffic_run.h"

namespace rxnic::wire_source_test {
namespace {

// So many doorbells take longer than the first frames would.
TEST(WireSource, TheFirstFramesFindTheReceivesOfThousandsOfQps) {
  TrafficConfig config;
  config.rc_qps = 4096;
  constexpr std::uint64_t kPackets = 6000;
  const TrafficRun run(config, kPackets);
  EXPECT_EQ(run.packets().seen, kPackets);
  EXPECT_EQ(run.packets().accepted, kPackets);
  EXPECT_EQ(run.packets().dropped_total(), 0u);
}

// R6: at a twentieth of the line's rate the source is busy for a twentieth of the time.
TEST(WireSource, IsBusyWhileTheLineCarriesAFrame) {
  TrafficConfig config;
  config.load = 0.05;
  const TrafficRun run(config, 2000, {}, {Pace::Kind::kCaptured, 0});
  const CycleAccount& account = run.sim.source.account();
  std::uint64_t all = 0;
  for (const std::uint64_t cycles : account) all += cycles;
  const auto share = [&](Activity a) {
    return static_cast<double>(account[static_cast<std::size_t>(a)]) / static_cast<double>(all);
  };
  EXPECT_NEAR(share(Activity::kBusy), 0.05, 0.005);
  EXPECT_NEAR(share(Activity::kStarved), 0.95, 0.005);
}

}  // namespace
}  // namespace rxnic::wire_source_test
