// SPDX-License-Identifier: Apache-2.0
// Rules of model/types/wire_constants.h and model/types/syndrome.h, and multicast addresses. The numbers are written
// out a second time.
#include "model/types/wire_constants.h"

#include <gtest/gtest.h>

#include <utility>

#include "model/types/syndrome.h"
#include "model/types/wire.h"

namespace rxnic::wire_constants_test {
namespace {

TEST(WireConstants, CodesOfMtus) {  // (R3)
  const std::pair<std::uint32_t, std::uint16_t> codes[] = {{1, 256}, {2, 512}, {3, 1024}, {4, 2048}, {5, 4096}};
  for (const auto& [code, bytes] : codes) {
    EXPECT_TRUE(is_mtu_code(code));
    EXPECT_EQ(mtu_of_code(code), bytes);
    EXPECT_EQ(mtu_code(bytes), code);
    EXPECT_EQ(mtu_code(bytes + 1), code) << "the largest MTU that is not above it";
  }
  EXPECT_FALSE(is_mtu_code(0));
  EXPECT_FALSE(is_mtu_code(6));
  EXPECT_EQ(mtu_code(511), 1u);
  EXPECT_EQ(mtu_code(100), 1u);
  EXPECT_EQ(mtu_code(65536), 5u);
}

TEST(WireConstants, PacketsOfAMessage) {  // (R4)
  EXPECT_EQ(packets_of(0, 1024), 1u);
  EXPECT_EQ(packets_of(1, 1024), 1u);
  EXPECT_EQ(packets_of(1024, 1024), 1u);
  EXPECT_EQ(packets_of(1025, 1024), 2u);
  EXPECT_EQ(packets_of(0x80000000, 256), 0x800000u);
  EXPECT_EQ(packets_of(0xffffffff, 256), 0x1000000u);
}

TEST(Syndrome, UpperBitsAreTheKind) {  // (R1)
  EXPECT_EQ(ack_kind(0x00), AckKind::kAck);
  EXPECT_EQ(ack_kind(kAckUnlimited), AckKind::kAck);
  EXPECT_EQ(ack_kind(0x20), AckKind::kRnrNak);
  EXPECT_EQ(ack_kind(0x3f), AckKind::kRnrNak);
  for (const unsigned other : {0x40u, 0x60u, 0x64u, 0x80u, 0xa0u, 0xffu}) {
    EXPECT_EQ(ack_kind(static_cast<std::uint8_t>(other)), AckKind::kNak) << other;
  }
}

TEST(Syndrome, Codes) {
  EXPECT_EQ(kAckUnlimited, 0x1f);
  EXPECT_EQ(kNakSequence, 0x60);
  EXPECT_EQ(kNakInvalidRequest, 0x61);
  EXPECT_EQ(kNakRemoteAccess, 0x62);
  EXPECT_EQ(kNakRemoteOperation, 0x63);
  for (const std::uint8_t ends : {kNakInvalidRequest, kNakRemoteAccess, kNakRemoteOperation})
    EXPECT_TRUE(ends_qp(ends));
  for (const std::uint8_t goes_on : {kNakSequence, kAckUnlimited, rnr_nak(0)}) EXPECT_FALSE(ends_qp(goes_on));
}

TEST(Syndrome, RnrTimers) {  // (R3)
  EXPECT_EQ(rnr_nak(0), 0x20);
  EXPECT_EQ(rnr_nak(31), 0x3f);
  EXPECT_EQ(rnr_timer_us(rnr_nak(0)), 655360u);
  EXPECT_EQ(rnr_timer_us(rnr_nak(1)), 10u);
  EXPECT_EQ(rnr_timer_us(rnr_nak(12)), 640u);
  EXPECT_EQ(rnr_timer_us(rnr_nak(31)), 491520u);
  for (std::uint8_t code = 2; code <= kMaxRnrTimer; ++code) {
    EXPECT_GT(rnr_timer_us(rnr_nak(code)), rnr_timer_us(rnr_nak(code - 1))) << int{code};
  }
}

TEST(Address, Multicast) {
  for (const char* group : {"224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::ffff:e000:1", "lid:49152", "lid:65534"}) {
    EXPECT_TRUE(Address::parse(group).is_multicast()) << group;
  }
  for (const char* host : {"223.255.255.255", "240.0.0.1", "255.255.255.255", "10.0.0.1", "fe80::1", "::ffff:224.0.0.1",
                           "lid:1", "lid:49151", "lid:65535"}) {
    EXPECT_FALSE(Address::parse(host).is_multicast()) << host;
  }
  EXPECT_FALSE(Address{}.is_multicast());
}

}  // namespace
}  // namespace rxnic::wire_constants_test
