// SPDX-License-Identifier: Apache-2.0
#include "model/types/wire.h"

#include <algorithm>
#include <cstring>

namespace rxnic {
namespace {

constexpr std::size_t kMacHeaderBytes = 12;  // both addresses, before the first EtherType
constexpr std::size_t kMaxVlanTags = 2;

std::uint32_t load_be24(const std::uint8_t* p) { return load_be32(p) & k24Bits; }  // p[0] is another field

// Everything from the BTH on. `end` is the packet's end by its own lengths, already found to be inside the frame and to
// leave room for BTH and ICRC.
ParseStatus parse_transport(Bytes frame, std::size_t end, Headers& h) {
  if (end > kMaxEnd || ((end - h.bth_offset) & 3) != 0) return ParseStatus::kBadLength;  // R5
  const std::uint8_t* p = frame.data() + h.bth_offset;
  h.opcode = p[0];
  h.solicited = (p[1] & 0x80) != 0;
  h.migrated = (p[1] & 0x40) != 0;
  h.pad = p[1] >> 4 & 3;
  h.version = p[1] & 15;
  h.pkey = load_be16(p + 2);
  h.fecn = (p[4] & 0x80) != 0;
  h.becn = (p[4] & 0x40) != 0;
  h.destination_qp = Qpn{load_be24(p + 4)};
  h.ack_request = (p[8] & 0x80) != 0;
  h.psn = Psn{load_be24(p + 8)};

  const OpcodeInfo& info = opcode_info(h.opcode);
  const std::uint32_t traits = info.traits;
  if (is_vendor_opcode(h.opcode)) return ParseStatus::kVendorOpcode;
  if (!(traits & kKnown)) return ParseStatus::kUnknownOpcode;
  const std::size_t payload = h.bth_offset + kBthBytes + info.extension_bytes;
  const std::size_t icrc = end - kIcrcBytes;
  if (payload > icrc) return ParseStatus::kMissingHeaders;
  if (payload + h.pad > icrc) return ParseStatus::kPad;
  h.payload_offset = static_cast<std::uint16_t>(payload);
  h.icrc_offset = static_cast<std::uint16_t>(icrc);
  h.payload_bytes = static_cast<std::uint16_t>(icrc - h.pad - payload);

  // In the order in which they stand on the wire.
  p += kBthBytes;
  if (traits & kHasXrceth) {
    h.xrc_srq = Srqn{load_be24(p)};
    p += kXrcethBytes;
  }
  if (traits & kHasDeth) {
    h.qkey = load_be32(p);
    h.source_qp = Qpn{load_be24(p + 4)};
    p += kDethBytes;
  }
  if (traits & kHasFeth) {
    h.immediate = load_be32(p);
    p += kFethBytes;
  }
  if (traits & kHasReth) {
    h.va = load_be64(p);
    h.rkey = Key{load_be32(p + 8)};
    h.length = load_be32(p + 12);
    p += kRethBytes;
  }
  if (traits & kHasAtomicEth) {
    h.va = load_be64(p);
    h.rkey = Key{load_be32(p + 8)};
    h.swap_add = load_be64(p + 12);
    h.compare = load_be64(p + 20);
    p += kAtomicEthBytes;
  }
  if (traits & kHasAeth) {
    h.syndrome = p[0];
    h.msn = load_be24(p);
    p += kAethBytes;
  }
  if (traits & kHasAtomicAckEth) {
    h.original = load_be64(p);
    p += kAtomicAckEthBytes;
  }
  if (traits & (kHasImm | kHasIeth)) h.immediate = load_be32(p);
  return ParseStatus::kOk;
}

// `end` is the datagram's end by the IP header. The caller has seen the destination port.
ParseStatus parse_udp(Bytes frame, std::size_t udp, std::size_t end, Headers& h) {
  h.bth_offset = static_cast<std::uint16_t>(udp + kUdpBytes);
  if (std::min(frame.size(), end) < udp + kUdpBytes + kBthBytes + kIcrcBytes) return ParseStatus::kTooShort;
  const std::uint8_t* p = frame.data() + udp;
  h.udp_source_port = load_be16(p);
  h.udp_checksum = load_be16(p + 6);
  if (end > frame.size() || load_be16(p + 4) != end - udp) return ParseStatus::kBadLength;
  return parse_transport(frame, end, h);
}

bool is_udp_to(Bytes frame, std::size_t udp, std::uint16_t port) {
  return frame.size() >= udp + 4 && load_be16(frame.data() + udp + 2) == port;
}

void set_ipv4(Address& to, const std::uint8_t* four) {
  to.kind = Address::Kind::kIpv4;
  to.bytes[10] = to.bytes[11] = 0xff;
  std::memcpy(&to.bytes[12], four, 4);
}

void set_ipv6(Address& to, const std::uint8_t* sixteen) {
  to.kind = Address::Kind::kIpv6;
  std::memcpy(to.bytes.data(), sixteen, 16);
}

ParseStatus parse_ipv4(Bytes frame, std::size_t at, Headers& h) {
  if (frame.size() < at + kIpv4Bytes) return ParseStatus::kNotRdma;
  const std::uint8_t* p = frame.data() + at;
  const std::size_t header_bytes = std::size_t{p[0] & 15u} * 4;
  if (p[0] >> 4 != 4 || header_bytes < kIpv4Bytes || p[9] != kProtocolUdp) return ParseStatus::kNotRdma;
  const std::size_t udp = at + header_bytes;
  const unsigned fragment = load_be16(p + 6);
  const bool later_fragment = (fragment & 0x1fff) != 0;  // its ports are in another frame
  if (!later_fragment && !is_udp_to(frame, udp, kRoceV2Port)) return ParseStatus::kNotRdma;
  h.encapsulation = Encapsulation::kRoceV2Ipv4;
  h.network_offset = static_cast<std::uint16_t>(at);
  h.traffic_class = p[1];
  h.ip_identification = load_be16(p + 4);
  h.may_fragment = (fragment & 0x4000) == 0;
  h.hop_limit = p[8];
  set_ipv4(h.source, p + 12);
  set_ipv4(h.destination, p + 16);
  if (!later_fragment) h.bth_offset = static_cast<std::uint16_t>(udp + kUdpBytes);
  if (fragment & 0x3fff) return ParseStatus::kFragment;
  return parse_udp(frame, udp, at + load_be16(p + 2), h);
}

// What the extension headers that start with type `next` at `at` lead to, when that may be a UDP datagram for us:
// kFragment or kExtensionHeader. `at` becomes the offset of UDP's header, 0 when that is in another fragment.
ParseStatus skip_extensions(Bytes frame, std::uint8_t next, std::size_t& at) {
  constexpr std::uint8_t kHopByHop = 0, kRouting = 43, kFragmentHeader = 44, kDestinationOptions = 60;
  ParseStatus found = ParseStatus::kExtensionHeader;
  while (next == kHopByHop || next == kRouting || next == kFragmentHeader || next == kDestinationOptions) {
    if (frame.size() < at + 8) return ParseStatus::kNotRdma;
    const std::uint8_t* p = frame.data() + at;
    const bool fragment = next == kFragmentHeader;
    if (fragment) found = ParseStatus::kFragment;
    next = p[0];
    if (fragment && (load_be16(p + 2) & 0xfff8) != 0) {
      at = 0;
      return next == kProtocolUdp ? found : ParseStatus::kNotRdma;
    }
    at += fragment ? 8 : (std::size_t{p[1]} + 1) * 8;
  }
  return next == kProtocolUdp && is_udp_to(frame, at, kRoceV2Port) ? found : ParseStatus::kNotRdma;
}

// The 40 bytes that an IPv6 header and a GRH share.
void read_ipv6_header(const std::uint8_t* p, std::size_t at, Headers& h) {
  const std::uint32_t first = load_be32(p);
  h.has_grh = true;
  h.network_offset = static_cast<std::uint16_t>(at);
  h.traffic_class = static_cast<std::uint8_t>(first >> 20);
  h.flow_label = first & 0xfffff;
  h.hop_limit = p[7];
  set_ipv6(h.source, p + 8);
  set_ipv6(h.destination, p + 24);
}

ParseStatus parse_ipv6(Bytes frame, std::size_t at, Headers& h) {
  if (frame.size() < at + kIpv6Bytes) return ParseStatus::kNotRdma;
  const std::uint8_t* p = frame.data() + at;
  const std::size_t udp = at + kIpv6Bytes;
  if (p[0] >> 4 != 6) return ParseStatus::kNotRdma;
  const bool direct = p[6] == kProtocolUdp;
  std::size_t behind = udp;
  const ParseStatus hidden = direct ? ParseStatus::kOk : skip_extensions(frame, p[6], behind);
  if (hidden == ParseStatus::kNotRdma || (direct && !is_udp_to(frame, udp, kRoceV2Port))) return ParseStatus::kNotRdma;
  h.encapsulation = Encapsulation::kRoceV2Ipv6;
  read_ipv6_header(p, at, h);
  if (!direct) {
    if (behind != 0 && behind <= kMaxEnd - kUdpBytes) h.bth_offset = static_cast<std::uint16_t>(behind + kUdpBytes);
    return hidden;
  }
  return parse_udp(frame, udp, udp + load_be16(p + 4), h);
}

// `limit` is the packet's end by the link header, 0 when the link header has no length.
ParseStatus parse_grh(Bytes frame, std::size_t at, std::size_t limit, Headers& h) {
  const std::uint8_t* p = frame.data() + at;
  if (frame.size() > at && p[0] >> 4 != 6) return ParseStatus::kNotRdma;
  if (frame.size() > at + 6 && p[6] != kNextHeaderIba) return ParseStatus::kNotRdma;
  if (frame.size() < at + kGrhBytes) return ParseStatus::kTooShort;
  read_ipv6_header(p, at, h);
  h.bth_offset = static_cast<std::uint16_t>(at + kGrhBytes);
  const std::size_t end = at + kGrhBytes + load_be16(p + 4);
  if (limit == 0) limit = end;
  if (std::min({frame.size(), end, limit}) < h.bth_offset + kBthBytes + kIcrcBytes) return ParseStatus::kTooShort;
  if (end > frame.size() || end != limit) return ParseStatus::kBadLength;
  return parse_transport(frame, end, h);
}

// Native InfiniBand: LRH is VL:4 LVer:4 | SL:4 reserved:2 LNH:2 | DLID:16 | reserved:5 PktLen:11 | SLID:16. PktLen
// counts 4-byte words from the LRH's first byte to the ICRC's last.
ParseStatus parse_infiniband(Bytes frame, Headers& h) {
  constexpr unsigned kLocal = 2, kGlobal = 3;
  const std::uint8_t* p = frame.data();
  if (!frame.empty() && (p[0] & 15) != 0) return ParseStatus::kNotRdma;
  if (frame.size() > 1 && (p[1] & 3u) != kLocal && (p[1] & 3u) != kGlobal) return ParseStatus::kNotRdma;  // raw
  h.link = LinkLayer::kInfiniband;
  if (frame.size() < kLrhBytes) return ParseStatus::kTooShort;
  h.virtual_lane = p[0] >> 4;
  h.service_level = p[1] >> 4;
  h.destination_lid = load_be16(p + 2);
  h.source_lid = load_be16(p + 6);
  const std::size_t end = (load_be16(p + 4) & 0x7ffu) * std::size_t{4};
  if ((p[1] & 3u) == kGlobal) {
    h.encapsulation = Encapsulation::kIbGlobal;
    return parse_grh(frame, kLrhBytes, end == 0 ? kLrhBytes : end, h);
  }
  h.encapsulation = Encapsulation::kIbLocal;
  h.source = Address::lid(h.source_lid);
  h.destination = Address::lid(h.destination_lid);
  h.network_offset = h.bth_offset = kLrhBytes;
  if (std::min(frame.size(), end) < kLrhBytes + kBthBytes + kIcrcBytes) return ParseStatus::kTooShort;
  if (end > frame.size()) return ParseStatus::kBadLength;
  return parse_transport(frame, end, h);
}

// Skips addresses and VLAN tags. `type` is the EtherType behind them, 0 when the frame ends before it.
std::size_t skip_mac(Bytes frame, std::uint16_t& type, Headers& h) {
  std::size_t at = kMacHeaderBytes;
  type = 0;
  if (frame.size() < at + 2) return at;
  const std::uint8_t* p = frame.data();
  std::memcpy(h.destination_mac.data(), p, 6);
  std::memcpy(h.source_mac.data(), p + 6, 6);
  std::uint16_t found = load_be16(p + at);
  while ((found == kEtherTypeVlan || found == kEtherTypeServiceVlan) && h.vlan_tags < kMaxVlanTags) {
    if (frame.size() < at + 6) return at;
    h.outer_vlan = h.vlan;
    h.vlan = load_be16(p + at + 2);
    ++h.vlan_tags;
    at += 4;
    found = load_be16(p + at);
  }
  type = found;
  return at + 2;
}

ParseStatus parse_ethernet(Bytes frame, Headers& h) {
  std::uint16_t type = 0;
  const std::size_t at = skip_mac(frame, type, h);
  switch (type) {
    case kEtherTypeIpv4:
      return parse_ipv4(frame, at, h);
    case kEtherTypeIpv6:
      return parse_ipv6(frame, at, h);
    case kEtherTypeRoceV1:
      h.encapsulation = Encapsulation::kRoceV1;
      return parse_grh(frame, at, 0, h);
    default:
      return ParseStatus::kNotRdma;
  }
}

}  // namespace

ParseStatus parse(Bytes frame, LinkLayer link, Headers& out) {
  out = Headers{};
  return link == LinkLayer::kInfiniband ? parse_infiniband(frame, out) : parse_ethernet(frame, out);
}

}  // namespace rxnic
