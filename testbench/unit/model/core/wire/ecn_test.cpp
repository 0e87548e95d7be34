// SPDX-License-Identifier: Apache-2.0
// Rules R1 and R2 of model/core/wire/ecn.h.
#include "model/core/wire/ecn.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "model/core/wire/icrc.h"
#include "model/types/wire.h"

namespace rxnic::ecn_test {
namespace {

struct Built {
  Headers h;
  std::vector<std::uint8_t> frame;
};

Built frame_of(Encapsulation encapsulation, std::uint8_t traffic_class, std::uint8_t vlan_tags = 0) {
  Headers h;
  h.encapsulation = encapsulation;
  const bool ipv4 = encapsulation == Encapsulation::kRoceV2Ipv4;
  h.source = ipv4 ? Address::ipv4(0x0a000001) : Address::parse("fe80::1");
  h.destination = ipv4 ? Address::ipv4(0x0a000002) : Address::parse("fe80::2");
  h.traffic_class = traffic_class;
  h.hop_limit = 7;
  h.vlan_tags = vlan_tags;
  h.vlan = vlan_tags > 0 ? 5 : 0;
  h.opcode = opcode_of(Transport::kRc, Operation::kSendOnly);
  h.pkey = kDefaultPkey;
  h.destination_qp = Qpn{3};
  std::array<std::uint8_t, kMaxFrameBytes> out{};
  const std::vector<std::uint8_t> payload(16, 0xab);
  const std::size_t bytes = build(h, payload, out);
  seal({out.data(), bytes}, h);
  return {h, {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(bytes)}};
}

TEST(Ecn, ACapableFrameIsMarkedAndStaysIntact) {
  for (const Encapsulation e : {Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6}) {
    for (unsigned dscp = 0; dscp < 64; ++dscp) {
      for (const std::uint8_t ect : {1, 2}) {
        const auto tags = static_cast<std::uint8_t>(dscp % 3);
        Built b = frame_of(e, static_cast<std::uint8_t>(dscp << 2 | ect), tags);
        EXPECT_TRUE(mark_congested(b.frame));
        Headers h;
        ASSERT_EQ(parse(b.frame, LinkLayer::kEthernet, h), ParseStatus::kOk);
        EXPECT_EQ(h.traffic_class, dscp << 2 | 3);
        EXPECT_TRUE(ipv4_checksum_matches(b.frame, h));
        EXPECT_TRUE(icrc_matches(b.frame, h));
        h.traffic_class = b.h.traffic_class;
        EXPECT_EQ(h, b.h) << "nothing else has changed";
        EXPECT_FALSE(mark_congested(b.frame)) << "it is marked";
      }
    }
  }
}

TEST(Ecn, OtherFramesAreLeftAlone) {
  for (const Encapsulation e : {Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6, Encapsulation::kRoceV1}) {
    for (const std::uint8_t traffic_class : {0x68, 0x6b, 0x6a}) {
      if (traffic_class == 0x6a && e != Encapsulation::kRoceV1) continue;  // capable
      Built b = frame_of(e, traffic_class);
      const std::vector<std::uint8_t> before = b.frame;
      EXPECT_FALSE(mark_congested(b.frame));
      EXPECT_EQ(b.frame, before);
    }
  }
  std::vector<std::uint8_t> arp(60, 0);
  arp[12] = 8;
  arp[13] = 6;
  EXPECT_FALSE(mark_congested(arp));
}

TEST(Ecn, NothingIsReadBehindAFramesEnd) {
  const Built b = frame_of(Encapsulation::kRoceV2Ipv4, 0x02, 2);
  for (std::size_t n = 0; n < 22 + kIpv4Bytes; ++n) {
    std::vector<std::uint8_t> cut(b.frame.begin(), b.frame.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_FALSE(mark_congested(cut)) << n;
  }
}

TEST(Ecn, AWrongChecksumStaysWrong) {
  Built b = frame_of(Encapsulation::kRoceV2Ipv4, 0x02);
  b.frame[14 + 10] ^= 0x40;
  EXPECT_TRUE(mark_congested(b.frame));
  EXPECT_FALSE(ipv4_checksum_matches(b.frame, b.h));
}

TEST(Ecn, OnlyBothBitsSayCongestion) {
  for (std::uint8_t ecn = 0; ecn < 4; ++ecn) EXPECT_EQ(is_congested(static_cast<std::uint8_t>(0x68 | ecn)), ecn == 3);
}

}  // namespace
}  // namespace rxnic::ecn_test
