// SPDX-License-Identifier: Apache-2.0
#include "model/core/wire/ip_offload.h"

#include <optional>

namespace rxnic {

namespace {

constexpr std::size_t kIpoibBytes = 4;
constexpr std::size_t kTcpBytes = 20;  // without options
constexpr std::uint8_t kFin = 1u << 0, kPush = 1u << 3, kWindowReduced = 1u << 7;

struct IpHeader {
  bool v6 = false;
  bool fragment = false;
  std::uint8_t protocol = 0;
  std::size_t at = 0, transport = 0;  // offsets of the IP header and of what follows it
};

std::optional<IpHeader> find_ip(Bytes m, IpFraming framing) {  // (R1)
  std::size_t type_at = framing == IpFraming::kEthernet ? kEtherTypeAt : 0;
  std::size_t behind = framing == IpFraming::kEthernet ? kEtherTypeAt + 2 : kIpoibBytes;
  const auto type = [&] { return m.size() < behind ? std::uint16_t{0} : load_be16(m.data() + type_at); };
  for (int tags = 0; framing == IpFraming::kEthernet && tags < 2; ++tags) {
    if (type() != kEtherTypeVlan && type() != kEtherTypeServiceVlan) break;
    type_at += kVlanTagBytes;
    behind += kVlanTagBytes;
  }
  IpHeader ip;
  ip.at = behind;
  if (type() != kEtherTypeIpv4 && type() != kEtherTypeIpv6) return {};
  ip.v6 = type() == kEtherTypeIpv6;
  const Bytes packet = m.subspan(behind);
  if (packet.size() < (ip.v6 ? kIpv6Bytes : kIpv4Bytes) || packet[0] >> 4 != (ip.v6 ? 6 : 4)) return {};
  if (ip.v6) {
    ip.protocol = packet[6];
    ip.transport = behind + kIpv6Bytes;
    return ip;
  }
  const std::size_t header = (packet[0] & 0xf) * std::size_t{4};
  if (header < kIpv4Bytes || header > packet.size()) return {};
  ip.protocol = packet[9];
  ip.fragment = (load_be16(packet.data() + 6) & (kFragmentOffset | kMoreFragments)) != 0;
  ip.transport = behind + header;
  return ip;
}

// The bytes behind the IP header that have a checksum, empty: there are none; nothing: it is no IP packet. (R2)
std::optional<Bytes> find_transport(Bytes m, const IpHeader& ip) {
  const std::size_t length = load_be16(m.data() + ip.at + (ip.v6 ? 4 : 2));
  const std::size_t end = (ip.v6 ? ip.transport : ip.at) + length;
  if (end < ip.transport || end > m.size()) return {};
  const Bytes segment = m.subspan(ip.transport, end - ip.transport);
  if (ip.fragment) return Bytes{};
  if (ip.protocol == kProtocolTcp) return segment.size() < kTcpBytes ? Bytes{} : segment;
  if (ip.protocol != kProtocolUdp || segment.size() < kUdpBytes) return Bytes{};
  const std::size_t of_udp = load_be16(segment.data() + 4);
  return of_udp < kUdpBytes || of_udp > segment.size() ? Bytes{} : segment.first(of_udp);
}
std::size_t checksum_at(const IpHeader& ip) { return ip.protocol == kProtocolTcp ? 16 : 6; }

// The sum of the 16-bit words, not folded yet.
std::uint64_t sum(Bytes bytes) {
  std::uint64_t total = 0;
  std::size_t at = 0;
  for (; at + 4 <= bytes.size(); at += 4) total += load_be32(bytes.data() + at);
  if (at + 2 <= bytes.size()) {
    total += load_be16(bytes.data() + at);
    at += 2;
  }
  return at < bytes.size() ? total + (std::uint64_t{bytes[at]} << 8) : total;
}
std::uint16_t folded(std::uint64_t total) {
  while (total >> 16 != 0) total = (total & 0xffff) + (total >> 16);
  return static_cast<std::uint16_t>(total);
}
constexpr std::uint16_t kGood = 0xffff;  // the sum of all, the checksum among them

std::uint64_t transport_sum(Bytes m, const IpHeader& ip, Bytes segment) {
  const Bytes addresses = ip.v6 ? m.subspan(ip.at + 8, 32) : m.subspan(ip.at + 12, 8);
  return sum(addresses) + ip.protocol + segment.size() + sum(segment);
}

void fill(std::span<std::uint8_t> m, std::size_t at, std::uint16_t checksum) { store_be16(m.data() + at, checksum); }

}  // namespace

void fill_checksums(std::span<std::uint8_t> m, IpFraming framing) {  // (R3)
  const std::optional<IpHeader> ip = find_ip(m, framing);
  const std::optional<Bytes> segment = ip ? find_transport(m, *ip) : std::nullopt;
  if (!segment) return;
  if (!ip->v6) {
    const std::size_t at = ip->at + 10;
    fill(m, at, 0);
    fill(m, at, static_cast<std::uint16_t>(~folded(sum(m.subspan(ip->at, ip->transport - ip->at)))));
  }
  if (segment->empty()) return;
  const std::size_t at = ip->transport + checksum_at(*ip);
  fill(m, at, 0);
  const auto checksum = static_cast<std::uint16_t>(~folded(transport_sum(m, *ip, *segment)));
  fill(m, at, checksum == 0 && ip->protocol == kProtocolUdp ? 0xffff : checksum);
}

bool checksums_ok(Bytes m, IpFraming framing) {  // (R4)
  const std::optional<IpHeader> ip = find_ip(m, framing);
  if (!ip || ip->v6 || folded(sum(m.subspan(ip->at, ip->transport - ip->at))) != kGood) return false;
  const std::optional<Bytes> segment = find_transport(m, *ip);
  if (!segment || segment->empty()) return false;
  const bool none = ip->protocol == kProtocolUdp && load_be16(segment->data() + checksum_at(*ip)) == 0;
  return none || folded(transport_sum(m, *ip, *segment)) == kGood;
}

void set_segment_header(std::span<std::uint8_t> header, IpFraming framing, const IpSegment& s) {  // (R5)
  const std::optional<IpHeader> ip = find_ip(header, framing);
  if (!ip || ip->fragment || ip->protocol != kProtocolTcp || header.size() < ip->transport + kTcpBytes) return;
  std::uint8_t* const tcp = header.data() + ip->transport;
  if (ip->transport + (tcp[12] >> 4) * std::size_t{4} != header.size()) return;
  const std::size_t counted = header.size() - (ip->v6 ? ip->transport : ip->at) + s.bytes;
  std::uint8_t* const to = header.data() + ip->at;
  store_be16(to + (ip->v6 ? 4 : 2), static_cast<std::uint16_t>(counted));
  if (!ip->v6) store_be16(to + 4, static_cast<std::uint16_t>(load_be16(to + 4) + s.number));
  store_be32(tcp + 4, load_be32(tcp + 4) + s.offset);
  if (!s.last) tcp[13] &= static_cast<std::uint8_t>(~(kFin | kPush));
  if (s.number != 0) tcp[13] &= static_cast<std::uint8_t>(~kWindowReduced);
}

}  // namespace rxnic
