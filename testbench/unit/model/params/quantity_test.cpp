// SPDX-License-Identifier: Apache-2.0
#include "model/params/quantity.h"

#include <gtest/gtest.h>

#include "model/params/config.h"

namespace rxnic::quantity_test {
namespace {

TEST(Quantity, IsInTheUnitOfTheParameter) {
  EXPECT_EQ(quantity("900ns", "ps"), 900'000u);
  EXPECT_EQ(quantity("1.5us", "ps"), 1'500'000u);
  EXPECT_EQ(quantity("0.001ns", "ps"), 1u);
  EXPECT_EQ(quantity("2ms", "ps"), 2'000'000'000u);
  EXPECT_EQ(quantity("1s", "ps"), 1'000'000'000'000u);
  EXPECT_EQ(quantity("7ps", "ps"), 7u);
  EXPECT_EQ(quantity("100G", "Mb/s"), 100'000u);
  EXPECT_EQ(quantity("113.7Gb/s", "Mb/s"), 113'700u);
  EXPECT_EQ(quantity("1.6T", "Gb/s"), 1600u);
  EXPECT_EQ(quantity("64K", "bytes"), 65'536u);
  EXPECT_EQ(quantity("1.5MiB", "bytes"), 1'572'864u);
}

TEST(Quantity, NothingElseIsOne) {
  for (const char* text : {"", "900", "ns", "-1ns", "1 ns", "1e3ns", "0x10ns", "1nss", "1NS", "100G", "infns", "nans",
                           "0.0001ns", "99999999999s"}) {
    EXPECT_FALSE(quantity(text, "ps")) << text;
  }
  EXPECT_FALSE(quantity("1ns", "bytes"));
  EXPECT_FALSE(quantity("64K", "tags"));
  EXPECT_FALSE(quantity("1.5G", "Gb/s"));
}

TEST(Quantity, IsTakenWhereAParameterIsSet) {
  const Params p = load_config(kDefaultConfig,
                               std::vector<std::string>{"dma_engine.read_latency_ps=1.5us", "nic.link_gbps=200G",
                                                        "dma_engine.tlp_rate_mbps='200G'", "wire.rx_buffer_bytes=64K"});
  EXPECT_EQ(p.dma_engine.read_latency_ps, 1'500'000u);
  EXPECT_EQ(p.nic.link_gbps, 200u);
  EXPECT_EQ(p.dma_engine.tlp_rate_mbps, 200'000u);
  EXPECT_EQ(p.wire.rx_buffer_bytes, 65'536u);
  for (const char* wrong : {"dma_engine.read_latency_ps=1G", "nic.link_gbps=5000G", "wire.rx_buffer_bytes=1ns",
                            "tag_match_cam.entries=1K", "dma_engine.mps_bytes=0.3K"}) {
    EXPECT_THROW(load_config(kDefaultConfig, std::vector<std::string>{wrong}), ConfigError) << wrong;
  }
}

}  // namespace
}  // namespace rxnic::quantity_test
