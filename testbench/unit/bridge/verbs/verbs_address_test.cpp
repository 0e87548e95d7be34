// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstring>

#include "bridge/verbs/port_speed.h"

namespace rxnic::verbs::verbs_address_test {
namespace {

// 198.18.0.2 -> 198.18.0.1, UDP, with the right checksum, in the area's last 20 bytes.
ibv_grh ipv4_area(std::uint8_t first_byte = 0) {
  ibv_grh area{};
  auto* bytes = reinterpret_cast<std::uint8_t*>(&area);
  bytes[0] = first_byte;
  std::uint8_t* h = bytes + 20;
  const std::uint8_t header[20] = {0x45, 0x08, 0, 60, 0, 0, 0x40, 0, 63, 17, 0, 0, 198, 18, 0, 2, 198, 18, 0, 1};
  std::memcpy(h, header, sizeof header);
  std::uint32_t sum = 0;
  for (int i = 0; i < 20; i += 2) sum += std::uint32_t{h[i]} << 8 | h[i + 1];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  h[10] = static_cast<std::uint8_t>(~sum >> 8);
  h[11] = static_cast<std::uint8_t>(~sum);
  return area;
}

ibv_grh ipv6_area(std::uint8_t next_header) {
  ibv_grh area{};
  area.version_tclass_flow = htonl(0x6u << 28 | 0x21u << 20 | 0x12345);
  area.next_hdr = next_header;
  area.hop_limit = 7;
  area.sgid.raw[0] = 0xfe, area.sgid.raw[15] = 2;
  area.dgid.raw[0] = 0xfe, area.dgid.raw[15] = 1;
  return area;
}

TEST(VerbsAddress, Ipv4HeaderIsInTheLast20Bytes) {  // R3
  const Route route = parse_grh(ipv4_area());
  const std::uint8_t source[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 18, 0, 2};
  EXPECT_EQ(route.type, channel::GidType::kRoceV2);
  EXPECT_EQ(std::memcmp(route.source, source, 16), 0);
  EXPECT_EQ(route.destination[15], 1);
  EXPECT_EQ(route.traffic_class, 0x08);
  EXPECT_EQ(route.hop_limit, 63);
}

TEST(VerbsAddress, UndefinedFirst20BytesDoNotHideAnIpv4Header) {  // R3
  EXPECT_EQ(parse_grh(ipv4_area(0x60)).source[15], 2);
}

TEST(VerbsAddress, Ipv6HeaderAndGrhFillTheArea) {  // R3
  const Route v2 = parse_grh(ipv6_area(17)), v1 = parse_grh(ipv6_area(0x1b));
  EXPECT_EQ(v2.type, channel::GidType::kRoceV2);
  EXPECT_EQ(v1.type, channel::GidType::kRoceV1);
  EXPECT_EQ(v2.source[0], 0xfe);
  EXPECT_EQ(v2.source[15], 2);
  EXPECT_EQ(v2.destination[15], 1);
  EXPECT_EQ(v2.traffic_class, 0x21);
  EXPECT_EQ(v2.flow_label, 0x12345u);
}

TEST(VerbsAddress, NeitherHeaderIsNoRoute) {  // R3
  ibv_grh broken = ipv4_area();
  reinterpret_cast<std::uint8_t*>(&broken)[20 + 12] ^= 1;
  EXPECT_EQ(parse_grh(broken).type, channel::GidType::kNone);
  EXPECT_EQ(parse_grh(ipv6_area(6)).type, channel::GidType::kNone);
}

TEST(VerbsPortSpeed, RatesOfKnownLinks) {
  const auto is = [](std::uint32_t mbps, int width, int speed) {
    const PortSpeed s = port_speed(mbps);
    EXPECT_EQ(s.width, width) << mbps;
    EXPECT_EQ(s.speed, speed) << mbps;
  };
  is(10'000, 2, 1);
  is(25'000, 1, 32);
  is(40'000, 2, 4);
  is(100'000, 2, 32);
  is(200'000, 2, 64);
  is(400'000, 2, 128);
  is(1'000, 1, 1);
  is(105'000, 2, 32);  // the fastest below
}

}  // namespace
}  // namespace rxnic::verbs::verbs_address_test
