// SPDX-License-Identifier: Apache-2.0
#include "bridge/driver/nic_addresses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "bridge/driver/attributes.h"

namespace rxnic::nic_addresses_test {
namespace {

std::string last_of(const std::string& first, std::uint32_t nics) {
  const auto addresses = NicAddresses::parse(first, nics);
  return addresses ? addresses->of(nics - 1).text() : "none";
}

TEST(NicAddresses, AreOfTheNetworkForTests) {  // R1
  EXPECT_EQ(NicAddresses{}.of(0).text(), "198.18.0.1");
  EXPECT_EQ(NicAddresses{}.of(channel::kMaxNics - 1).text(), "198.18.0.64");
}

TEST(NicAddresses, CountAcrossOctets) {
  EXPECT_EQ(last_of("198.18.0.254", 4), "198.18.1.1");
  EXPECT_EQ(last_of("9.255.255.255", 2), "10.0.0.0");
  EXPECT_EQ(last_of("198.18.0.1", 300), "198.18.1.44");
}

TEST(NicAddresses, AreThoseOfHosts) {  // R2: the last one that is taken, and the next
  EXPECT_EQ(last_of("1.0.0.0", 1), "1.0.0.0");
  EXPECT_EQ(last_of("0.255.255.255", 2), "none");
  EXPECT_EQ(last_of("126.255.255.255", 1), "126.255.255.255");
  EXPECT_EQ(last_of("126.255.255.255", 2), "none");
  EXPECT_EQ(last_of("127.255.255.255", 1), "none");
  EXPECT_EQ(last_of("128.0.0.0", 2), "128.0.0.1");
  EXPECT_EQ(last_of("223.255.255.254", 2), "223.255.255.255");
  EXPECT_EQ(last_of("223.255.255.254", 3), "none");
  EXPECT_EQ(last_of("255.255.255.255", 64), "none");
  for (const char* text : {"", "somebody", "198.18.0", "198.18.0.256", "fe80::1", "::ffff:198.18.0.1", "lid:7"}) {
    EXPECT_EQ(last_of(text, 1), "none") << text;
  }
}

TEST(NicAddresses, AreInTheGidTableAndOnThePort) {  // attributes.h R2, R3
  const auto addresses = NicAddresses::parse("192.168.7.255", 2);
  ASSERT_TRUE(addresses);
  const GidBytes expected{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 8, 0};
  EXPECT_EQ(nic_gids(1, *addresses)[2].bytes, expected);
  EXPECT_EQ(device_attributes(1, Params{}, *addresses).gids[2].bytes, expected);
  EXPECT_EQ(source_gids(1, *addresses)[2].address.text(), "192.168.8.0");
  const auto port = port_address(1, *addresses).addresses;
  EXPECT_NE(std::find(port.begin(), port.end(), Address::parse("192.168.8.0")), port.end());
  EXPECT_EQ(resolve(expected, 2, *addresses), nic_mac(1));
  EXPECT_EQ(resolve(expected, 1, *addresses), std::nullopt) << "that NIC is not there";
  EXPECT_EQ(resolve(expected, 2, {}), std::nullopt) << "nobody has it by default";
}

}  // namespace
}  // namespace rxnic::nic_addresses_test
