// SPDX-License-Identifier: Apache-2.0
// Rules of bridge/cm/mad.h and endpoint.h. Offsets are those of IBTA volume 1, tables 106 to 120, plus 24.
#include "bridge/cm/mad.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "bridge/cm/endpoint.h"

namespace rxnic::cm::mad_test {
namespace {

std::uint64_t at(const Mad& mad, std::size_t byte, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t n = 0; n < bytes; ++n) value = value << 8 | mad[24 + byte + n];
  return value;
}

TEST(Mad, HeaderIsOfCommunicationManagement) {  // R1
  const Mad mad = write(Ready{.local_id = 1, .remote_id = 2}, 0x1122334455667788);
  EXPECT_EQ((std::vector<int>(mad.begin(), mad.begin() + 4)), (std::vector<int>{1, 7, 2, 3}));
  EXPECT_EQ(at(mad, 8 - 24, 8), 0x1122334455667788u);
  EXPECT_EQ(at(mad, 16 - 24, 2), 0x14u);
  EXPECT_EQ(at(mad, 0, 4), 1u);
  EXPECT_EQ(at(mad, 4, 4), 2u);
}

TEST(Mad, FieldsOfARequestLieWhereTheSpecificationHasThem) {  // R1
  Request m;
  m.local_id = 0x01020304;
  m.service_id = 0x0000000001060708;
  m.qpn = 0xabcdef;
  m.responder_resources = 5;
  m.initiator_depth = 6;
  m.remote_response_timeout = 20;
  m.service = Service::kUc;
  m.starting_psn = 0x123456;
  m.local_response_timeout = 19;
  m.retry_count = 7;
  m.pkey = 0xffff;
  m.mtu = 5;
  m.rnr_retry = 6;
  m.max_cm_retries = 15;
  m.srq = true;
  m.remote_gid[15] = 9;
  m.hop_limit = 64;
  m.ack_timeout = 18;
  m.data[0] = 0x77;
  m.data[91] = 0x88;
  const Mad mad = write(m, 0);
  EXPECT_EQ(at(mad, 0, 4), 0x01020304u);
  EXPECT_EQ(at(mad, 8, 8), 0x0000000001060708u);
  EXPECT_EQ(at(mad, 32, 4), 0xabcdef05u);
  EXPECT_EQ(at(mad, 39, 1), 6u);
  EXPECT_EQ(at(mad, 43, 1), 20u << 3 | 1 << 1);
  EXPECT_EQ(at(mad, 44, 4), 0x12345600u | 19u << 3 | 7);
  EXPECT_EQ(at(mad, 48, 2), 0xffffu);
  EXPECT_EQ(at(mad, 50, 1), 5u << 4 | 6);
  EXPECT_EQ(at(mad, 51, 1), 15u << 4 | 1 << 3);
  EXPECT_EQ(at(mad, 72 + 15, 1), 9u);
  EXPECT_EQ(at(mad, 93, 1), 64u);
  EXPECT_EQ(at(mad, 95, 1), 18u << 3);
  EXPECT_EQ(at(mad, 140, 1), 0x77u);
  EXPECT_EQ(at(mad, 231, 1), 0x88u);
}

// Every byte of a message that is written again as it was read has the value that it had. Or the byte is 0 because no
// field covers it. So each field is read from where it is written.
TEST(Mad, WhatIsReadIsWhatWasWritten) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Mad mad = write(Ready{}, random());
    mad[17] = static_cast<std::uint8_t>(0x10 + round % 9);
    for (std::size_t n = 24; n < mad.size(); ++n) mad[n] = static_cast<std::uint8_t>(random());
    const auto received = parse(mad);
    ASSERT_TRUE(received);
    const Mad again = write(received->message, received->transaction);
    ASSERT_TRUE(std::equal(mad.begin(), mad.begin() + 24, again.begin()));
    std::size_t same = 0;
    for (std::size_t n = 24; n < mad.size(); ++n) {
      ASSERT_EQ(again[n] & ~mad[n], 0) << "attribute " << int(mad[17]) << " byte " << n;
      same += again[n] == mad[n];
    }
    ASSERT_GT(same, mad[17] == 0x11 ? 5u : 160u) << "MRA has no data here";
  }
}

TEST(Mad, WhatIsNoMessageOfTheManagerIsNone) {  // R2
  const Mad good = write(Ready{}, 1);
  EXPECT_TRUE(parse(good));
  EXPECT_FALSE(parse(std::span(good).first(255)));
  for (std::size_t byte : {0u, 1u, 2u, 3u, 16u, 17u}) {
    Mad mad = good;
    mad[byte] ^= 0x40;
    EXPECT_FALSE(parse(mad)) << byte;
  }
}

TEST(Endpoint, AnIpv4AddressIsTheGidThatItIsMappedTo) {  // R1
  const Endpoint e = ipv4_endpoint(0xc6120002, 7471);
  EXPECT_EQ(e.ip, (GidBytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 18, 0, 2}));
  std::array<std::uint8_t, 128> sockaddr_bytes{};
  EXPECT_EQ(write_sockaddr(e, sockaddr_bytes), sizeof(sockaddr_in));
  EXPECT_EQ(endpoint_of(sockaddr_bytes), e);
  EXPECT_TRUE(ipv4_endpoint(0).is_any());
  EXPECT_TRUE(ipv4_endpoint(0x7f000001).is_loopback());
  EXPECT_TRUE(ipv4_endpoint(0xe0000105).is_multicast());
  EXPECT_FALSE(e.is_any() || e.is_loopback() || e.is_multicast());
  sockaddr_bytes[0] = 99;
  EXPECT_FALSE(endpoint_of(sockaddr_bytes));
  EXPECT_FALSE(endpoint_of(std::span(sockaddr_bytes).first(1)));
}

TEST(Endpoint, HeaderOfARequest) {  // R3
  std::array<std::uint8_t, 92> data{};
  write_header(ipv4_endpoint(0xc6120001, 0x1234), ipv4_endpoint(0xc6120002, 9), data);
  EXPECT_EQ(data[1], 0x40);
  EXPECT_EQ(data[2] << 8 | data[3], 0x1234);
  EXPECT_EQ(data[4 + 12], 198);
  EXPECT_EQ(data[4 + 15], 1);
  EXPECT_EQ(data[20 + 15], 2);
  EXPECT_EQ(data[4 + 10], 0) << "not mapped";
  const auto header = parse_header(data);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->source, ipv4_endpoint(0xc6120001, 0x1234));
  EXPECT_EQ(header->destination, ipv4_endpoint(0xc6120002));
  data[0] = 1;
  EXPECT_FALSE(parse_header(data));
  data[0] = 0;
  data[1] = 0x50;
  EXPECT_FALSE(parse_header(data));
  EXPECT_EQ(service_id(0x0106, 7471), 0x01061d2fu);
}

}  // namespace
}  // namespace rxnic::cm::mad_test
