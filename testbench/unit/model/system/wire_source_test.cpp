// SPDX-License-Identifier: Apache-2.0
// Rule R5 of model/system/wire_source.h on a whole NIC.
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

}  // namespace
}  // namespace rxnic::wire_source_test
