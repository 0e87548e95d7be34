// SPDX-License-Identifier: Apache-2.0
// Rules of model/nic/fabric_routes.h.
#include "model/nic/fabric_routes.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rxnic::fabric_routes_test {
namespace {

using Mac = std::array<std::uint8_t, 6>;

constexpr Mac kMacs[] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};

FabricRoutes two_nics() {
  FabricRoutes routes;
  for (std::uint32_t n = 0; n < 2; ++n) {
    routes.add({kMacs[n], {Address::ipv4(0x0a000001 + n), Address::ipv4(0x0b000001 + n)}}, n);
  }
  return routes;
}

TEST(FabricRoutes, AFrameGoesWhereItsAddressIs) {  // R1
  const FabricRoutes routes = two_nics();
  Packet p;
  const auto to = [&](std::uint32_t ipv4) {
    p.destination = Address::ipv4(ipv4);
    return routes.of(p);
  };
  EXPECT_EQ(to(0x0a000001), 0u);
  EXPECT_EQ(to(0x0a000002), 1u);
  EXPECT_EQ(to(0x0b000002), 1u) << "each of a NIC's addresses";
  EXPECT_EQ(to(0x0a000003), FabricRoutes::kNobody);
  EXPECT_EQ(to(0xe0000001), FabricRoutes::kEverybody);
}

TEST(FabricRoutes, AFrameWithoutAnAddressGoesByItsMac) {  // R2
  const FabricRoutes routes = two_nics();
  std::array<std::uint8_t, 64> frame{};
  Packet p;
  p.frame = frame;
  const auto to = [&](const Mac& mac) {
    std::copy(mac.begin(), mac.end(), frame.begin());
    return routes.of(p);
  };
  EXPECT_EQ(to(kMacs[0]), 0u);
  EXPECT_EQ(to(kMacs[1]), 1u);
  EXPECT_EQ(to({2, 0, 0, 0, 0, 3}), FabricRoutes::kEverybody);
}

}  // namespace
}  // namespace rxnic::fabric_routes_test
