// SPDX-License-Identifier: Apache-2.0
// Rules R1..R3 of model/core/responder/return_path.h: every response is the one that core/responder/response.h builds.
#include "model/core/responder/return_path.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>

#include "model/core/responder/response.h"
#include "model/types/syndrome.h"
#include "testbench/unit/request_packets.h"

namespace rxnic::return_path_test {
namespace {

constexpr std::array kEncapsulations{Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6, Encapsulation::kRoceV1,
                                     Encapsulation::kIbLocal, Encapsulation::kIbGlobal};

// $RXNIC_SEED, or the given one; printed either way.
std::uint64_t test_seed(std::uint64_t fallback) {
  const char* text = std::getenv("RXNIC_SEED");
  const std::uint64_t seed = text == nullptr ? fallback : std::strtoull(text, nullptr, 0);
  std::cout << "RXNIC_SEED=" << seed << "\n";
  return seed;
}

struct Answer {
  Psn psn;
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;
};

// The response that is built from the request's headers.
std::vector<std::uint8_t> expected_ack(const Packet& request, Qpn peer, const Answer& a) {
  Headers h;
  EXPECT_EQ(parse(request.frame_view(), request.link, h), ParseStatus::kOk);
  auto p = std::make_unique<Packet>();
  p->h = answer_headers(h, peer);
  p->h.psn = a.psn;
  p->h.syndrome = a.syndrome;
  p->h.msn = a.msn;
  const WireFrame frame = build_answer(PacketHandle{1}, *p, 0);
  return {p->frame.begin(), p->frame.begin() + frame.bytes};
}

struct ReturnPathTest : testing::TestWithParam<Encapsulation> {
  void make(const Headers& h, std::size_t bytes = 8) {
    packet->hold(kMaxFrameBytes);
    set_frame(*packet, h, counting_bytes(bytes));
    packet->link = packet->h.link;
  }
  // Returns whether the way back was known; afterwards it is, if it can be.
  bool ask(Qpn peer) {
    const bool known = path.is_of(packet->frame_view(), packet->link, peer);
    if (!known) {
      Headers h;
      EXPECT_EQ(parse(packet->frame_view(), packet->link, h), ParseStatus::kOk);
      path.remember(packet->frame_view(), h, peer);
    }
    return known;
  }
  std::unique_ptr<Packet> packet = std::make_unique<Packet>();
  ReturnPath path;
};
INSTANTIATE_TEST_SUITE_P(Encapsulations, ReturnPathTest, testing::ValuesIn(kEncapsulations));

// Random requests of which each differs from the last one in a few fields, or in none.
TEST_P(ReturnPathTest, AnswersAreThoseOfTheRequestsHeaders) {  // (R1, R3)
  const Encapsulation e = GetParam();
  const bool remembers = e == Encapsulation::kRoceV2Ipv4 || e == Encapsulation::kRoceV2Ipv6;
  std::mt19937_64 random(test_seed(31));
  Headers h = request_headers(e, Transport::kRc, Operation::kSendOnly, Psn{1});
  Qpn peer{0x123};
  std::uint32_t known = 0;
  constexpr std::uint32_t kRequests = 4000;
  for (std::uint32_t n = 0; n < kRequests; ++n) {
    const auto r = random();
    switch (r % 24) {  // fields that a response copies, each by itself
      case 0:
        h.source_mac[3] = static_cast<std::uint8_t>(r >> 40);
        break;
      case 1:
        h.destination_mac[5] = static_cast<std::uint8_t>(r >> 40);
        break;
      case 2:
        h.source.bytes[15] = static_cast<std::uint8_t>(r >> 40);
        break;
      case 3:
        h.destination.bytes[12] = static_cast<std::uint8_t>(r >> 40);
        break;
      case 4:
        h.udp_source_port = static_cast<std::uint16_t>(r >> 40);
        break;
      case 5:
        h.traffic_class = static_cast<std::uint8_t>(r >> 40);
        break;
      case 6:
        h.flow_label = static_cast<std::uint32_t>(r >> 40) & 0xfffff;
        break;
      case 7:
        h.pkey = static_cast<std::uint16_t>(r >> 40);
        break;
      case 8:
        h.migrated = !h.migrated;
        break;
      case 9:
        peer = Qpn{static_cast<std::uint32_t>(r >> 41)};
        break;
      case 10:
        h.opcode = opcode_of((r >> 40 & 1) != 0 ? Transport::kRc : Transport::kXrc, Operation::kSendOnly);
        break;
      case 11:
        h.vlan_tags = static_cast<std::uint8_t>(r >> 40) % 2;
        h.vlan = static_cast<std::uint16_t>(h.vlan_tags * 5);
        break;
      default:
        break;
    }
    // Fields that it does not copy.
    h.psn = Psn{static_cast<std::uint32_t>(random()) & 0xffffff};
    h.ip_identification = static_cast<std::uint16_t>(random());
    h.hop_limit = static_cast<std::uint8_t>(1 + random() % 255);
    h.udp_checksum = static_cast<std::uint16_t>(random());
    h.solicited = random() % 2 == 0;
    h.ack_request = random() % 2 == 0;
    h.fecn = random() % 2 == 0;
    if (e == Encapsulation::kIbLocal || e == Encapsulation::kIbGlobal) h.vlan_tags = 0, h.vlan = 0;
    make(h, random() % 64);
    known += ask(peer);
    const Answer a{Psn{static_cast<std::uint32_t>(random()) & 0xffffff}, static_cast<std::uint8_t>(random()),
                   static_cast<std::uint32_t>(random()) & 0xffffff};
    Headers parsed;
    ASSERT_EQ(parse(packet->frame_view(), packet->link, parsed), ParseStatus::kOk);
    ASSERT_EQ(path.headers().destination, parsed.source);
    ASSERT_EQ(path.headers().opcode, answer_headers(parsed, peer).opcode);
    ASSERT_EQ(path.knows_ack(), remembers && parsed.vlan_tags == 0);
    if (!path.knows_ack()) continue;
    AckFrame ack;
    path.write_ack(a.psn, a.syndrome, a.msn, ack);
    ASSERT_EQ(std::vector<std::uint8_t>(ack.data.begin(), ack.data.begin() + ack.bytes), expected_ack(*packet, peer, a))
        << "request " << n;
  }
  if (remembers) {
    EXPECT_GT(known, kRequests / 5);
    EXPECT_LT(known, kRequests * 3 / 4);
  } else {
    EXPECT_EQ(known, 0u);
  }
}

TEST_P(ReturnPathTest, AFrameThatIsTooShortIsNotCompared) {
  const Headers h = request_headers(GetParam(), Transport::kRc, Operation::kSendOnly, Psn{1});
  make(h);
  ask(Qpn{5});
  for (std::size_t bytes = 0; bytes < 46; ++bytes) {
    const std::vector<std::uint8_t> cut(packet->frame.begin(),
                                        packet->frame.begin() + static_cast<std::ptrdiff_t>(bytes));
    EXPECT_FALSE(path.is_of(cut, packet->link, Qpn{5}));
  }
}

}  // namespace
}  // namespace rxnic::return_path_test
