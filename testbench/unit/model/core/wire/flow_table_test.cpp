// SPDX-License-Identifier: Apache-2.0
// Rules of model/core/wire/flow_table.h.
#include "model/core/wire/flow_table.h"

#include <gtest/gtest.h>

#include <cstring>

namespace rxnic::flow_table_test {
namespace {

constexpr Qpn kA{0x11}, kB{0x12}, kC{0x13};

// An Ethernet frame of IPv4 or IPv6, with TCP or UDP.
struct Frame {
  const char* source = "66.9.149.187";
  const char* destination = "161.142.100.80";
  std::uint16_t source_port = 2794, destination_port = 1766;
  std::uint8_t protocol = kProtocolTcp;
  std::uint16_t vlan = 0;
  std::uint16_t fragment = 0;

  std::vector<std::uint8_t> bytes() const {
    std::vector<std::uint8_t> f{0x24, 0x8a, 7, 0xa5, 0x28, 0xc8, 0x24, 0x8a, 7, 0xa5, 0x28, 0xc7};
    const auto put16 = [&f](unsigned v) {
      f.push_back(static_cast<std::uint8_t>(v >> 8));
      f.push_back(static_cast<std::uint8_t>(v));
    };
    if (vlan != 0) {
      put16(0x8100);
      put16(vlan);
    }
    const Address from = Address::parse(source), to = Address::parse(destination);
    const bool ipv4 = from.kind == Address::Kind::kIpv4;
    put16(ipv4 ? kEtherTypeIpv4 : kEtherTypeIpv6);
    if (ipv4) {
      f.insert(f.end(), {0x45, 0x1c, 0, 40, 0, 0});
      put16(fragment);
      f.insert(f.end(), {64, protocol, 0, 0});
    } else {
      f.insert(f.end(), {0x61, 0xc1, 0x23, 0x45, 0, 20, protocol, 63});
    }
    const std::size_t skip = ipv4 ? 12 : 0;
    f.insert(f.end(), from.bytes.begin() + static_cast<std::ptrdiff_t>(skip), from.bytes.end());
    f.insert(f.end(), to.bytes.begin() + static_cast<std::ptrdiff_t>(skip), to.bytes.end());
    put16(source_port);
    put16(destination_port);
    f.resize(f.size() + 16);
    return f;
  }
  FlowKey key() const {
    FlowKey k;
    EXPECT_TRUE(read_flow_key(bytes(), k));
    return k;
  }
};

TEST(FlowTable, FieldsOfAFrame) {
  const FlowKey k = Frame{.vlan = 0x2005}.key();
  EXPECT_EQ(k.destination_mac, (std::array<std::uint8_t, 6>{0x24, 0x8a, 7, 0xa5, 0x28, 0xc8}));
  EXPECT_EQ(k.source_mac[5], 0xc7);
  EXPECT_EQ(load_be16(k.vlan.data()), 0x2005);
  EXPECT_EQ(load_be16(k.ether_type.data()), kEtherTypeIpv4);
  EXPECT_EQ(load_be32(k.source.data()), 0x420995bbu);
  EXPECT_EQ(load_be32(k.destination.data()), 0xa18e6450u);
  EXPECT_EQ(k.traffic_class, 0x1c);
  EXPECT_EQ(k.hop_limit, 64);
  EXPECT_EQ(k.protocol, kProtocolTcp);
  EXPECT_EQ(load_be16(k.source_port.data()), 2794);
  EXPECT_EQ(load_be16(k.destination_port.data()), 1766);
  const FlowKey six = Frame{.source = "3ffe::7", .destination = "3ffe::1", .protocol = kProtocolUdp}.key();
  EXPECT_EQ(load_be16(six.ether_type.data()), kEtherTypeIpv6);
  EXPECT_EQ(six.source[15], 7);
  EXPECT_EQ(six.destination[15], 1);
  EXPECT_EQ(six.traffic_class, 0x1c);
  EXPECT_EQ(load_be32(six.flow_label.data()), 0x12345u);
  EXPECT_EQ(six.hop_limit, 63);
  EXPECT_EQ(load_be16(six.destination_port.data()), 1766);
}

TEST(FlowTable, AFragmentHasNoPorts) {
  for (const std::uint16_t fragment : {std::uint16_t{0x2000}, std::uint16_t{1}}) {
    EXPECT_EQ(Frame{.fragment = fragment}.key().source_port[0], 0) << fragment;
  }
  EXPECT_EQ(load_be16(Frame{.fragment = 0x4000}.key().source_port.data()), 2794) << "may not be fragmented";
}

// However short a frame is, nothing behind its end is read: the sanitizers look on.
TEST(FlowTable, FramesThatEndEarly) {
  for (const char* source : {"66.9.149.187", "3ffe::7"}) {
    const Frame frame{.source = source, .destination = source, .vlan = 7};
    const std::vector<std::uint8_t> whole = frame.bytes();
    for (std::size_t n = 0; n < whole.size(); ++n) {
      const std::vector<std::uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
      FlowKey k;
      EXPECT_EQ(read_flow_key(cut, k), n >= 14) << n;
    }
  }
}

FlowTable::Flow to(Qpn qpn, std::uint16_t priority = 0, FlowKind kind = FlowKind::kNormal) {
  FlowTable::Flow flow;
  flow.qpn = qpn;
  flow.priority = priority;
  flow.kind = kind;
  return flow;
}
FlowTable::Flow of_port(Qpn qpn, std::uint16_t port, std::uint16_t mask = 0xffff, std::uint16_t priority = 0) {
  FlowTable::Flow flow = to(qpn, priority);
  store_be16(flow.value.destination_port.data(), port);
  store_be16(flow.mask.destination_port.data(), mask);
  return flow;
}

TEST(FlowTable, TheLowestPriorityThenTheFirst) {  // R1
  FlowTable table(8, 1);
  EXPECT_EQ(table.find(Frame{}.key()), std::nullopt);
  table.add(1, of_port(kA, 1766, 0xffff, 5));
  table.add(2, of_port(kB, 1766, 0xffff, 4));
  table.add(3, of_port(kC, 1766, 0xffff, 4));
  EXPECT_EQ(table.find(Frame{}.key()), kB);
  table.remove(2);
  EXPECT_EQ(table.find(Frame{}.key()), kC);
  table.remove(3);
  EXPECT_EQ(table.find(Frame{}.key()), kA);
  EXPECT_EQ(table.find(Frame{.destination_port = 1767}.key()), std::nullopt);
}

TEST(FlowTable, BitsOutsideTheMaskDoNotCount) {  // R1
  FlowTable table(8, 1);
  table.add(1, of_port(kA, 1766, 0xfff0));
  EXPECT_EQ(table.find(Frame{.destination_port = 1760}.key()), kA);
  EXPECT_EQ(table.find(Frame{.destination_port = 1775}.key()), kA);
  EXPECT_EQ(table.find(Frame{.destination_port = 1776}.key()), std::nullopt);
}

TEST(FlowTable, DefaultsComeLast) {  // R1
  FlowTable table(8, 1);
  table.add(1, to(kA, 0, FlowKind::kAllDefault));
  table.add(2, to(kB, 9, FlowKind::kMulticastDefault));
  table.add(3, of_port(kC, 1, 0xffff, 9));
  FlowKey key = Frame{}.key();
  EXPECT_EQ(table.find(key), kA);
  key.destination_mac[0] |= 1;
  EXPECT_EQ(table.find(key), kB);
  EXPECT_EQ(table.find(Frame{.destination_port = 1}.key()), kC);
}

TEST(FlowTable, IsAsLargeAsItIs) {  // R3
  FlowTable table(2, 1);
  EXPECT_TRUE(table.add(1, to(kA)));
  EXPECT_TRUE(table.add(2, to(kA)));
  EXPECT_FALSE(table.add(3, to(kA)));
  table.remove(1);
  EXPECT_TRUE(table.add(3, to(kA)));
  EXPECT_TRUE(table.set_rss(kA, {}));
  EXPECT_FALSE(table.set_rss(kB, {}));
  EXPECT_TRUE(table.set_rss(kA, {})) << "in its own place";
  table.clear_rss(kA);
  EXPECT_TRUE(table.set_rss(kB, {}));
}

// The key and the examples of Microsoft's verification suite.
constexpr std::array<std::uint8_t, kHashKeyBytes> kKey{0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                                       0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                                       0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                                       0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

TEST(FlowTable, HashesAreThoseOfTheVerificationSuite) {  // R2
  constexpr std::uint8_t kIp = kHashSourceIpv4 | kHashDestinationIpv4 | kHashSourceIpv6 | kHashDestinationIpv6;
  constexpr std::uint8_t kTcp = kIp | kHashSourcePortTcp | kHashDestinationPortTcp;
  struct Example {
    Frame frame;
    std::uint32_t ip, tcp;
  };
  const Example examples[] = {
      {{}, 0x323e8fc2, 0x51ccc178},
      {{.source = "199.92.111.2", .destination = "65.69.140.83", .source_port = 14230, .destination_port = 4739},
       0xd718262a,
       0xc626b0ea},
      {{.source = "3ffe:2501:200:1fff::7", .destination = "3ffe:2501:200:3::1"}, 0x2cc18cd5, 0x40207d3d},
  };
  for (const Example& e : examples) {
    EXPECT_EQ(rss_hash({kKey, kIp, {}}, e.frame.key()), e.ip) << e.frame.source;
    EXPECT_EQ(rss_hash({kKey, kTcp, {}}, e.frame.key()), e.tcp) << e.frame.source;
    Frame udp = e.frame;
    udp.protocol = kProtocolUdp;
    EXPECT_EQ(rss_hash({kKey, kTcp, {}}, udp.key()), e.ip) << "ports of TCP alone";
    EXPECT_EQ(rss_hash({kKey, kIp | kHashSourcePortUdp | kHashDestinationPortUdp, {}}, udp.key()), e.tcp);
    EXPECT_EQ(rss_hash({kKey, 0, {}}, e.frame.key()), 0u);
  }
}

TEST(FlowTable, AHashChoosesTheEntry) {  // R2
  FlowTable table(2, 2);
  table.add(1, to(kA));
  const RssContext context{kKey, kHashSourceIpv4 | kHashDestinationIpv4, {kB, kC, Qpn{0x14}, Qpn{0x15}}};
  ASSERT_TRUE(table.set_rss(kA, context));
  EXPECT_EQ(table.find(Frame{}.key()), Qpn{0x14}) << "0x323e8fc2 mod 4 = 2";
  table.clear_rss(kA);
  EXPECT_EQ(table.find(Frame{}.key()), kA);
}

TEST(FlowTable, AFlowCountsTheFramesThatItTakes) {  // R4
  FlowTable table(8, 1);
  table.add(1, of_port(kA, 1766));
  table.add(2, of_port(kB, 1767));
  table.find(Frame{}.key(), 100);
  table.find(Frame{}.key(), 64);
  table.find(Frame{.destination_port = 1768}.key(), 1000);
  EXPECT_EQ(table.counts(1).packets, 2u);
  EXPECT_EQ(table.counts(1).bytes, 164u);
  EXPECT_EQ(table.counts(2).packets, 0u);
  table.remove(1);
  EXPECT_EQ(table.counts(1).packets, 0u) << "it is gone";
}

}  // namespace
}  // namespace rxnic::flow_table_test
