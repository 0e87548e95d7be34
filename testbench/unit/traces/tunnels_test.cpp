// SPDX-License-Identifier: Apache-2.0
// Rules of traces/tunnels.h, and R7 of traces/capture_reader.h.
#include "traces/tunnels.h"

#include <gtest/gtest.h>

#include <string>

#include "testbench/unit/traces/roce_frames.h"
#include "traces/survey.h"

namespace rxnic::tunnels_test {
namespace {

struct Row {
  const char* name;
  Blob frame;
  TunnelKind kind;
  bool bare;  // the packet inside has no Ethernet header
};

Blob gre(std::uint16_t flags, std::uint16_t type, const Blob& options, const Blob& rest) {
  Blob b;
  put(b, flags, 2, true);
  put(b, type, 2, true);
  return joined(joined(b, options), rest);
}
Blob over_v4(std::uint8_t protocol, const Blob& rest) { return ethernet(0x0800, ipv4_packet(protocol, rest)); }

std::vector<Row> rows(const Blob& inner) {
  const Blob ip = without_ethernet(inner);
  const Blob words(8, 0);
  Blob erspan3(12, 0), erspan3_platform(20, 0), erspan3_ip(12, 0);
  erspan3_platform[11] = 1;
  erspan3_ip[10] = 2 << 2;
  const Blob vxlan{8, 0, 0, 0, 0, 0, 7, 0};
  const Blob geneve{1, 0, 0x65, 0x58, 0, 0, 7, 0, 9, 9, 9, 9}, geneve_ip{0, 0, 8, 0, 0, 0, 7, 0};
  Blob pppoe{0x11, 0, 0, 1};
  put(pppoe, ip.size() + 2, 2, true);
  put(pppoe, 0x21, 2, true);
  const Blob label{0, 1, 0x01, 64}, label_more{0, 1, 0x00, 64}, control(4, 0);
  return {
      {"VXLAN", over_v4(17, udp_datagram(4789, joined(vxlan, inner))), TunnelKind::kVxlan, false},
      {"VXLAN over IPv6", ethernet(0x86dd, ipv6_packet(17, udp_datagram(4789, joined(vxlan, inner)))),
       TunnelKind::kVxlan, false},
      {"VXLAN of older Linux", over_v4(17, udp_datagram(8472, joined(vxlan, inner))), TunnelKind::kVxlan, false},
      {"Geneve with an option", over_v4(17, udp_datagram(6081, joined(geneve, inner))), TunnelKind::kGeneve, false},
      {"Geneve of IP", over_v4(17, udp_datagram(6081, joined(geneve_ip, ip))), TunnelKind::kGeneve, true},
      {"GTP-U", over_v4(17, udp_datagram(2152, joined({0x30, 0xff, 0, 0, 0, 0, 0, 1}, ip))), TunnelKind::kGtpU, true},
      {"GTP-U with an extension header",
       over_v4(17, udp_datagram(2152, joined({0x34, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 0, 0}, ip))),
       TunnelKind::kGtpU, true},
      {"GRE of IP", over_v4(47, gre(0, 0x0800, {}, ip)), TunnelKind::kGre, true},
      {"GRE with checksum, key and sequence number", over_v4(47, gre(0xb000, 0x0800, Blob(12, 1), ip)),
       TunnelKind::kGre, true},
      {"GRE of Ethernet", over_v4(47, gre(0, 0x6558, {}, inner)), TunnelKind::kGre, false},
      {"NVGRE", over_v4(47, gre(0x2000, 0x6558, {0, 0, 7, 0}, inner)), TunnelKind::kNvgre, false},
      {"ERSPAN I", over_v4(47, gre(0, 0x88be, {}, inner)), TunnelKind::kErspan1, false},
      {"ERSPAN II", over_v4(47, gre(0x1000, 0x88be, joined({0, 0, 0, 1}, words), inner)), TunnelKind::kErspan2, false},
      {"ERSPAN III", over_v4(47, gre(0x1000, 0x22eb, joined({0, 0, 0, 1}, erspan3), inner)), TunnelKind::kErspan3,
       false},
      {"ERSPAN III with a platform header",
       over_v4(47, gre(0x1000, 0x22eb, joined({0, 0, 0, 1}, erspan3_platform), inner)), TunnelKind::kErspan3, false},
      {"ERSPAN III of IP", over_v4(47, gre(0x1000, 0x22eb, joined({0, 0, 0, 1}, erspan3_ip), ip)), TunnelKind::kErspan3,
       true},
      {"IPv4 in IPv4", over_v4(4, ip), TunnelKind::kIpInIp, true},
      {"IPv4 in IPv6", ethernet(0x86dd, ipv6_packet(4, ip)), TunnelKind::kIpInIp, true},
      {"MPLS in IP", over_v4(137, joined(label, ip)), TunnelKind::kIpInIp, true},
      {"MPLS", ethernet(0x8847, joined(label, ip)), TunnelKind::kMpls, true},
      {"MPLS, two labels", ethernet(0x8847, joined(joined(label_more, label), ip)), TunnelKind::kMpls, true},
      {"MPLS pseudowire without a control word", ethernet(0x8847, joined(label, inner)), TunnelKind::kMpls, false},
      {"MPLS pseudowire", ethernet(0x8847, joined(joined(label, control), inner)), TunnelKind::kMpls, false},
      {"VXLAN-GPE of Ethernet", over_v4(17, udp_datagram(4790, joined({0x0c, 0, 0, 3, 0, 0, 7, 0}, inner))),
       TunnelKind::kVxlan, false},
      {"VXLAN-GPE of IP", over_v4(17, udp_datagram(4790, joined({0x0c, 0, 0, 1, 0, 0, 7, 0}, ip))), TunnelKind::kVxlan,
       true},
      {"PPPoE", ethernet(0x8864, joined(pppoe, ip)), TunnelKind::kPppoe, true},
      {"three VLAN tags", ethernet(0x88a8, joined({0, 1, 0x81, 0, 0, 2, 0x81, 0, 0, 3, 8, 0}, ip)), TunnelKind::kTags,
       true},
      {"a tag of EtherType 0x9100", ethernet(0x9100, joined({0, 1, 8, 0}, ip)), TunnelKind::kTags, true},
      {"E-tag", ethernet(0x893f, joined({0, 0, 0, 1, 0, 0, 8, 0}, ip)), TunnelKind::kTags, true},
      {"VN-tag", ethernet(0x8926, joined({0, 0, 0, 1, 8, 0}, ip)), TunnelKind::kTags, true},
  };
}

// What a reader gives for a capture of this frame.
struct Read {
  Blob frame;
  std::uint32_t wire_bytes = 0;
  bool truncated = false;
  std::optional<Tunnel> tunnel;
};
Read read_one(const Blob& frame, std::uint32_t wire_bytes = 0) {
  const Blob file = pcap_file(kNano, false, 1, {{0, 0, frame, wire_bytes}});
  CaptureReader reader(opener_of(file), "memory");
  CapturedFrame f;
  EXPECT_TRUE(reader.next(f));
  return {Blob(f.bytes.begin(), f.bytes.end()), f.wire_bytes, f.truncated, f.tunnel};
}

TEST(Tunnels, TheReaderGivesTheFrameInside) {
  const Blob inner = send_frame(100);
  for (const Row& row : rows(inner)) {
    SCOPED_TRACE(row.name);
    const Read r = read_one(row.frame);
    ASSERT_TRUE(r.tunnel);
    EXPECT_EQ(r.tunnel->kind, row.kind);
    const bool has_no_ends =
        row.kind == TunnelKind::kMpls || row.kind == TunnelKind::kPppoe || row.kind == TunnelKind::kTags;
    EXPECT_EQ(r.tunnel->source.kind == Address::Kind::kNone, has_no_ends);
    EXPECT_EQ(without_ethernet(r.frame), without_ethernet(inner));
    if (!row.bare) {
      EXPECT_EQ(r.frame, inner);
    }
    EXPECT_FALSE(r.truncated);
    Headers h;
    EXPECT_EQ(parse(r.frame, LinkLayer::kEthernet, h), ParseStatus::kOk);
    EXPECT_TRUE(icrc_matches(r.frame, h));
  }
}

TEST(Tunnels, TheOuterAddressesAreKept) {
  const Read r = read_one(over_v4(4, without_ethernet(send_frame(1))));
  EXPECT_EQ(r.tunnel->source, Address::ipv4(kOuterSource));
  EXPECT_EQ(r.tunnel->destination, Address::ipv4(kOuterDestination));
}

TEST(Tunnels, InEachOtherUpToFour) {
  Blob frame = send_frame(100);
  for (int depth = 1; depth <= 5; ++depth) {
    frame = over_v4(47, gre(0, 0x6558, {}, frame));
    EXPECT_EQ(read_one(frame).tunnel.has_value(), depth <= 4) << depth;
  }
}

// R2: the length outside is that of the frame inside, although the capture holds less.
TEST(Tunnels, ACutFrameInsideIsCut) {
  const Blob inner = send_frame(100, 512);
  for (const Row& row : rows(inner)) {
    SCOPED_TRACE(row.name);
    Blob cut = row.frame;
    cut.erase(cut.end() - 100, cut.end());
    const Read r = read_one(cut, static_cast<std::uint32_t>(row.frame.size()));
    ASSERT_TRUE(r.tunnel);
    EXPECT_TRUE(r.truncated);
    EXPECT_EQ(r.wire_bytes, inner.size());
    EXPECT_EQ(r.frame.size(), inner.size() - 100);
  }
}

// R3, and whatever is no tunnel stays as it is.
TEST(Tunnels, AFrameThatEndsAnywhereIsNeverReadPast) {
  for (const Row& row : rows(send_frame(100))) {
    for (std::size_t bytes = 0; bytes < row.frame.size(); ++bytes) {
      const Blob cut(row.frame.begin(), row.frame.begin() + static_cast<std::ptrdiff_t>(bytes));
      const auto found = open_tunnel(cut, row.frame.size());
      if (found) {
        EXPECT_LE(found->begin, found->end) << row.name << ' ' << bytes;
      }
    }
  }
}

TEST(Tunnels, WhatIsNoTunnelOrHoldsNoRoceStaysAsItIs) {
  const Blob inner = send_frame(100);
  Blob tcp = inner;
  tcp[23] = 6;
  const Blob no_vni = over_v4(17, udp_datagram(4789, joined(Blob(8, 0), inner)));
  const Blob routed = over_v4(47, gre(0x4000, 0x6558, {}, inner));
  Blob fragment = over_v4(4, without_ethernet(inner));
  store_be16(&fragment[20], 0x2000);
  for (const Blob& frame : {inner, no_vni, routed, fragment, over_v4(47, gre(0, 0x6558, {}, tcp)), over_v4(6, inner)}) {
    const Read r = read_one(frame);
    EXPECT_EQ(r.frame, frame);
    EXPECT_FALSE(r.tunnel);
  }
}

TEST(Tunnels, TheSurveyCountsThemByKindAndEnds) {
  const Blob inner = send_frame(100);
  const Blob file = pcap_file(kNano, false, 1,
                              {{0, 0, over_v4(4, without_ethernet(inner))},
                               {0, 1, over_v4(4, without_ethernet(inner))},
                               {0, 2, ethernet(0x8847, joined({0, 1, 1, 64}, without_ethernet(inner)))},
                               {0, 3, inner}});
  CaptureReader reader(opener_of(file), "memory");
  const CaptureSurvey survey = survey_capture(reader);
  EXPECT_EQ(survey.counts().rdma, 4u);
  ASSERT_EQ(survey.census().tunnels().size(), 2u);
  EXPECT_EQ(survey.census().tunnels()[0].packets, 2u);
  EXPECT_EQ(std::string(tunnel_name(survey.census().tunnels()[0].tunnel.kind)), "IP in IP");
  EXPECT_EQ(survey.census().tunnels()[1].packets, 1u);
}

}  // namespace
}  // namespace rxnic::tunnels_test
