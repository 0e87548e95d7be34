// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/own_network.h"

#include <gtest/gtest.h>

namespace rxnic::own_network_test {
namespace {

int prefix(const char* first, std::uint32_t nics) {
  return prefix_bits(nics, NicAddresses::parse(first, nics).value());
}

TEST(OwnNetwork, TheSubnetHoldsAllNics) {  // R1
  EXPECT_EQ(prefix("198.18.0.1", 1), 24);
  EXPECT_EQ(prefix("198.18.0.1", 64), 24);
  EXPECT_EQ(prefix("198.18.0.254", 2), 24);
  EXPECT_EQ(prefix("198.18.0.254", 3), 23);
  EXPECT_EQ(prefix("9.255.255.255", 2), 6);  // 8.0.0.0/6
}

}  // namespace
}  // namespace rxnic::own_network_test
