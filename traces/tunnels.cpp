// SPDX-License-Identifier: Apache-2.0
#include "traces/tunnels.h"

#include <array>
#include <cstring>

namespace rxnic {
namespace {

constexpr std::size_t kBothMacs = 12;
constexpr std::uint16_t kEtherTypeMpls = 0x8847, kEtherTypeMplsMulticast = 0x8848, kEtherTypeBridged = 0x6558,
                        kEtherTypeErspan = 0x88be, kEtherTypeErspan3 = 0x22eb;
constexpr std::uint8_t kIpv4InIp = 4, kIpv6InIp = 41, kGre = 47, kMplsInIp = 137;
constexpr std::uint16_t kVxlanPort = 4789, kOldVxlanPort = 8472, kVxlanGpePort = 4790, kGenevePort = 6081,
                        kGtpUPort = 2152;
constexpr std::uint16_t kEtherTypePppoe = 0x8864, kEtherTypeOldVlan = 0x9100, kEtherTypeOlderVlan = 0x9200,
                        kEtherTypeETag = 0x893f, kEtherTypeVnTag = 0x8926;
constexpr std::size_t kMplsLabels = 16;  // more are no label stack

// An IP header, and what follows it.
struct Ip {
  Address source, destination;
  std::uint8_t protocol = 0;
  std::size_t at = 0, payload = 0, end = 0;
};

Address ipv4_of(const std::uint8_t* p) { return Address::ipv4(load_be32(p)); }
Address ipv6_of(const std::uint8_t* p) {
  Address a;
  a.kind = Address::Kind::kIpv6;
  std::memcpy(a.bytes.data(), p, 16);
  return a;
}

// Skips addresses and VLAN tags; `at` becomes the offset behind the EtherType, which is 0 when the frame ends before.
std::uint16_t ether_type(Bytes frame, std::size_t& at) {
  at = kBothMacs;
  for (int tags = 0; at + 2 <= frame.size(); ++tags, at += kVlanTagBytes) {
    const std::uint16_t type = load_be16(frame.data() + at);
    if ((type == kEtherTypeVlan || type == kEtherTypeServiceVlan) && tags < 2) continue;
    at += 2;
    return type;
  }
  return 0;
}

std::optional<Ip> ipv4_at(Bytes frame, std::size_t at) {
  if (frame.size() < at + kIpv4Bytes) return {};
  const std::uint8_t* p = frame.data() + at;
  const std::size_t header = std::size_t{p[0] & 15u} * 4;
  const std::size_t total = load_be16(p + 2);
  const bool fragment = (load_be16(p + 6) & (kFragmentOffset | kMoreFragments)) != 0;
  if (p[0] >> 4 != 4 || header < kIpv4Bytes || total < header || fragment) return {};
  return Ip{ipv4_of(p + 12), ipv4_of(p + 16), p[9], at, at + header, at + total};
}

std::optional<Ip> ipv6_at(Bytes frame, std::size_t at) {
  if (frame.size() < at + kIpv6Bytes) return {};
  const std::uint8_t* p = frame.data() + at;
  if (p[0] >> 4 != 6) return {};
  Ip ip{ipv6_of(p + 8), ipv6_of(p + 24), p[6], at, at + kIpv6Bytes, at + kIpv6Bytes + load_be16(p + 4)};
  constexpr std::uint8_t kHopByHop = 0, kRouting = 43, kDestinationOptions = 60;
  while (ip.protocol == kHopByHop || ip.protocol == kRouting || ip.protocol == kDestinationOptions) {
    if (frame.size() < ip.payload + 8) return {};
    ip.protocol = frame[ip.payload];
    ip.payload += (std::size_t{frame[ip.payload + 1]} + 1) * 8;
  }
  return ip.payload <= ip.end ? std::optional(ip) : std::nullopt;
}

std::optional<Ip> ip_of(Bytes frame) {
  std::size_t at = 0;
  const std::uint16_t type = ether_type(frame, at);
  if (type == kEtherTypeIpv4) return ipv4_at(frame, at);
  return type == kEtherTypeIpv6 ? ipv6_at(frame, at) : std::nullopt;
}

bool has_bytes(Bytes frame, std::size_t begin, std::size_t bytes) {
  return begin <= frame.size() && frame.size() - begin >= bytes;
}
bool is_ip(std::uint16_t type) { return type == kEtherTypeIpv4 || type == kEtherTypeIpv6; }
std::uint16_t type_of_ip(std::uint8_t first) {
  return first >> 4 == 4 ? kEtherTypeIpv4 : first >> 4 == 6 ? kEtherTypeIpv6 : std::uint16_t{0};
}

using Found = std::optional<Carried>;
Found carried(const Ip& ip, TunnelKind kind, std::size_t begin, std::uint16_t type = 0) {
  if (begin > ip.end) return {};
  return Carried{{kind, ip.source, ip.destination}, begin, ip.end, type};
}

Found in_gre(Bytes frame, const Ip& ip) {
  if (!has_bytes(frame, ip.payload, 4)) return {};
  const std::uint16_t flags = load_be16(frame.data() + ip.payload);
  const std::uint16_t type = load_be16(frame.data() + ip.payload + 2);
  constexpr std::uint16_t kChecksum = 0x8000, kRouting = 0x4000, kKey = 0x2000, kSequence = 0x1000, kVersion = 7;
  if ((flags & (kRouting | kVersion)) != 0) return {};
  std::size_t at = ip.payload + 4;
  for (const std::uint16_t optional : {kChecksum, kKey, kSequence}) at += (flags & optional) != 0 ? 4 : 0;
  if (type == kEtherTypeBridged) return carried(ip, flags & kKey ? TunnelKind::kNvgre : TunnelKind::kGre, at);
  if (type == kEtherTypeErspan && (flags & kSequence) == 0) return carried(ip, TunnelKind::kErspan1, at);
  if (type == kEtherTypeErspan) return carried(ip, TunnelKind::kErspan2, at + 8);
  if (type == kEtherTypeErspan3) {
    constexpr std::size_t kHeader = 12, kPlatform = 8;
    constexpr std::uint16_t kOptional = 1, kFrameType = 0x7c00, kIpFrame = 2u << 10;
    if (!has_bytes(frame, at, kHeader)) return {};
    const std::uint16_t last = load_be16(frame.data() + at + 10);
    at += kHeader + ((last & kOptional) != 0 ? kPlatform : 0);
    if ((last & kFrameType) == 0) return carried(ip, TunnelKind::kErspan3, at);
    if ((last & kFrameType) != kIpFrame || !has_bytes(frame, at, 1)) return {};
    const std::uint16_t bare = type_of_ip(frame[at]);
    return bare == 0 ? Found() : carried(ip, TunnelKind::kErspan3, at, bare);
  }
  if (is_ip(type) || type == kEtherTypeMpls) return carried(ip, TunnelKind::kGre, at, type);
  return {};
}

Found in_vxlan(Bytes frame, const Ip& ip, std::size_t at) {
  constexpr std::size_t kHeader = 8;
  constexpr std::uint8_t kVniValid = 0x08;
  if (!has_bytes(frame, at, kHeader) || (frame[at] & kVniValid) == 0) return {};
  return carried(ip, TunnelKind::kVxlan, at + kHeader);
}

Found in_vxlan_gpe(Bytes frame, const Ip& ip, std::size_t at) {  // draft-ietf-nvo3-vxlan-gpe
  constexpr std::size_t kHeader = 8;
  constexpr std::uint8_t kVniValid = 0x08, kHasNext = 0x04;
  if (!has_bytes(frame, at, kHeader) || (frame[at] & kVniValid) == 0) return {};
  enum : std::uint8_t { kNextIpv4 = 1, kNextIpv6 = 2, kNextEthernet = 3, kNextMpls = 5 };
  const std::uint8_t next = (frame[at] & kHasNext) != 0 ? frame[at + 3] : std::uint8_t{kNextEthernet};
  const std::uint16_t type = next == kNextIpv4   ? kEtherTypeIpv4
                             : next == kNextIpv6 ? kEtherTypeIpv6
                             : next == kNextMpls ? kEtherTypeMpls
                                                 : std::uint16_t{0};
  return type != 0 || next == kNextEthernet ? carried(ip, TunnelKind::kVxlan, at + kHeader, type) : Found();
}

Found in_geneve(Bytes frame, const Ip& ip, std::size_t at) {
  constexpr std::size_t kHeader = 8;
  if (!has_bytes(frame, at, kHeader) || frame[at] >> 6 != 0) return {};
  const std::uint16_t type = load_be16(frame.data() + at + 2);
  const std::size_t inner = at + kHeader + (frame[at] & 0x3fu) * std::size_t{4};
  if (type == kEtherTypeBridged) return carried(ip, TunnelKind::kGeneve, inner);
  return is_ip(type) ? carried(ip, TunnelKind::kGeneve, inner, type) : Found();
}

Found in_gtp(Bytes frame, const Ip& ip, std::size_t at) {
  constexpr std::size_t kHeader = 8;
  constexpr std::uint8_t kVersionAndType = 0xf0, kVersion1 = 0x30, kData = 0xff, kOptional = 7, kExtension = 4;
  if (!has_bytes(frame, at, kHeader) || (frame[at] & kVersionAndType) != kVersion1 || frame[at + 1] != kData) return {};
  std::size_t inner = at + kHeader;
  if ((frame[at] & kOptional) != 0) {
    inner += 4;
    bool more = (frame[at] & kExtension) != 0;
    while (more) {  // the last byte of each part is the type of the next extension header
      if (!has_bytes(frame, inner, 1) || frame[inner - 1] == 0) break;
      const std::size_t bytes = frame[inner] * std::size_t{4};
      if (bytes == 0) return {};
      inner += bytes;
    }
  }
  if (!has_bytes(frame, inner, 1)) return {};
  const std::uint16_t type = type_of_ip(frame[inner]);
  return type == 0 ? Found() : carried(ip, TunnelKind::kGtpU, inner, type);
}

Found in_udp(Bytes frame, const Ip& ip) {
  if (!has_bytes(frame, ip.payload, kUdpBytes)) return {};
  const std::size_t inner = ip.payload + kUdpBytes;
  switch (load_be16(frame.data() + ip.payload + 2)) {
    case kVxlanPort:
    case kOldVxlanPort:
      return in_vxlan(frame, ip, inner);
    case kVxlanGpePort:
      return in_vxlan_gpe(frame, ip, inner);
    case kGenevePort:
      return in_geneve(frame, ip, inner);
    case kGtpUPort:
      return in_gtp(frame, ip, inner);
    default:
      return {};
  }
}

// Whether a frame with a packet for us may begin there: by its EtherType.
bool is_ethernet(Bytes frame, std::size_t at) {
  if (!has_bytes(frame, at, kBothMacs + 2)) return false;
  const std::uint16_t type = load_be16(frame.data() + at + kBothMacs);
  return is_ip(type) || type == kEtherTypeRoceV1 || type == kEtherTypeVlan || type == kEtherTypeServiceVlan;
}

// The labels do not say what follows them. It is an IP packet by its version, else a frame, which a control word that
// begins with four zero bits may precede (RFC 4385).
Found in_mpls(Bytes frame, std::size_t at, std::size_t end) {
  bool last = false;
  for (std::size_t labels = 0; !last && labels < kMplsLabels; ++labels, at += 4) {
    if (!has_bytes(frame, at, 4)) return {};
    last = (frame[at + 2] & 1) != 0;
  }
  if (!last || !has_bytes(frame, at, 1) || at > end) return {};
  Carried found{{TunnelKind::kMpls, {}, {}}, at, end, type_of_ip(frame[at])};
  if (frame[at] >> 4 == 0 && at + 4 <= end && !is_ethernet(frame, at)) found.begin += 4;
  return found;
}

// Version 1, type 1, code 0: data of a session.
Found in_pppoe(Bytes frame, std::size_t at) {
  constexpr std::size_t kHeader = 6, kProtocol = 2;
  constexpr std::uint16_t kData = 0x1100, kPppIpv4 = 0x0021, kPppIpv6 = 0x0057;
  if (!has_bytes(frame, at, kHeader + kProtocol) || load_be16(frame.data() + at) != kData) return {};
  const std::uint16_t protocol = load_be16(frame.data() + at + kHeader);
  if (protocol != kPppIpv4 && protocol != kPppIpv6) return {};
  const std::size_t begin = at + kHeader + kProtocol, end = at + kHeader + load_be16(frame.data() + at + 4);
  if (begin > end) return {};
  return Carried{{TunnelKind::kPppoe, {}, {}}, begin, end, protocol == kPppIpv4 ? kEtherTypeIpv4 : kEtherTypeIpv6};
}

// Bytes of the tag with that EtherType; 0: it is none.
std::size_t tag_bytes(std::uint16_t type) {
  switch (type) {
    case kEtherTypeVlan:
    case kEtherTypeServiceVlan:
    case kEtherTypeOldVlan:
    case kEtherTypeOlderVlan:
      return kVlanTagBytes;
    case kEtherTypeVnTag:
      return 6;
    case kEtherTypeETag:
      return 8;
    default:
      return 0;
  }
}

Found in_tags(Bytes frame, std::size_t wire_bytes) {
  std::size_t at = kBothMacs;
  while (has_bytes(frame, at, 2)) {
    const std::uint16_t type = load_be16(frame.data() + at);
    const std::size_t bytes = tag_bytes(type);
    if (bytes == 0) return Carried{{TunnelKind::kTags, {}, {}}, at + 2, wire_bytes, type};
    at += bytes;
  }
  return {};
}

}  // namespace

const char* tunnel_name(TunnelKind k) {
  constexpr std::array kNames{"VXLAN",     "Geneve",     "GTP-U",    "GRE",  "NVGRE", "ERSPAN I",
                              "ERSPAN II", "ERSPAN III", "IP in IP", "MPLS", "PPPoE", "tags"};
  static_assert(kNames.size() == static_cast<std::size_t>(TunnelKind::kCount));
  return kNames[static_cast<std::size_t>(k)];
}

std::optional<Carried> open_tunnel(Bytes frame, std::size_t wire_bytes) {
  std::size_t at = 0;
  const std::uint16_t type = ether_type(frame, at);
  if (type == kEtherTypeMpls || type == kEtherTypeMplsMulticast) return in_mpls(frame, at, wire_bytes);
  if (type == kEtherTypePppoe) return in_pppoe(frame, at);
  if (tag_bytes(type) != 0) return in_tags(frame, wire_bytes);
  const std::optional<Ip> ip = ip_of(frame);
  if (!ip) return {};
  switch (ip->protocol) {
    case kProtocolUdp:
      return in_udp(frame, *ip);
    case kGre:
      return in_gre(frame, *ip);
    case kIpv4InIp:
      return carried(*ip, TunnelKind::kIpInIp, ip->payload, kEtherTypeIpv4);
    case kIpv6InIp:
      return carried(*ip, TunnelKind::kIpInIp, ip->payload, kEtherTypeIpv6);
    case kMplsInIp:
      return carried(*ip, TunnelKind::kIpInIp, ip->payload, kEtherTypeMpls);
    default:
      return {};
  }
}

std::optional<UdpFragment> find_udp_fragment(Bytes frame) {
  std::size_t at = 0;
  const std::uint16_t type = ether_type(frame, at);
  if (type == kEtherTypeIpv4 && has_bytes(frame, at, kIpv4Bytes)) {
    const std::uint8_t* p = frame.data() + at;
    const unsigned fragment = load_be16(p + 6) & (kFragmentOffset | kMoreFragments);
    if (p[0] >> 4 != 4 || p[9] != kProtocolUdp || fragment == 0) return {};
    return UdpFragment{ipv4_of(p + 12), ipv4_of(p + 16), load_be16(p + 4), (fragment & kFragmentOffset) == 0};
  }
  constexpr std::uint8_t kFragmentHeader = 44;
  constexpr std::size_t kFragmentBytes = 8;
  const std::optional<Ip> ip = type == kEtherTypeIpv6 ? ipv6_at(frame, at) : std::nullopt;
  if (!ip || ip->protocol != kFragmentHeader || !has_bytes(frame, ip->payload, kFragmentBytes)) return {};
  const std::uint8_t* p = frame.data() + ip->payload;
  if (p[0] != kProtocolUdp) return {};
  return UdpFragment{ip->source, ip->destination, load_be32(p + 4), load_be16(p + 2) >> 3 == 0};
}

std::optional<UdpAt> find_udp(Bytes frame) {
  const std::optional<Ip> ip = ip_of(frame);
  if (!ip || ip->protocol != kProtocolUdp || !has_bytes(frame, ip->payload, kUdpBytes)) return {};
  return UdpAt{ip->at, ip->payload, ip->end, ip->source, ip->destination};
}

}  // namespace rxnic
