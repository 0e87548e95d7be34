// SPDX-License-Identifier: Apache-2.0
// Parameter wire.rx_buffer_bytes on a whole NIC that is slower than its wire: it alone decides what is dropped.
#include <gtest/gtest.h>

#include <string>

#include "testbench/unit/model/system/traffic_run.h"

namespace rxnic::rx_buffer_size_test {
namespace {

std::uint64_t drops(std::uint64_t buffer_bytes) {
  constexpr std::uint64_t kPackets = 3000;
  TrafficConfig config;
  config.rc_qps = 16;
  config.min_bytes = config.max_bytes = 1024;
  const TrafficRun run(
      config, kPackets,
      {"wire.rx_buffer_bytes=" + std::to_string(buffer_bytes), "wire.rx_full=drop", "dma_engine.tlp_rate_mbps=16000"});
  EXPECT_EQ(run.packets().seen, kPackets);
  return run.packets().dropped[static_cast<std::size_t>(DropReason::kRxBufferFull)];
}

TEST(RxBufferSize, DecidesWhatIsDropped) {
  const std::uint64_t small = drops(64 << 10), middle = drops(256 << 10), large = drops(64 << 20);
  EXPECT_GT(small, middle + 100);
  EXPECT_GT(middle, large + 100);
  EXPECT_EQ(large, 0u) << "it holds all of them";
}

}  // namespace
}  // namespace rxnic::rx_buffer_size_test
