// SPDX-License-Identifier: Apache-2.0
// The writing half of wire.h, and addresses as text.
#include <cstring>

#include "model/types/wire.h"

namespace rxnic {
namespace {

constexpr std::size_t kMaxLrhWords = 0x7ff;

bool is_infiniband(Encapsulation e) { return e == Encapsulation::kIbLocal || e == Encapsulation::kIbGlobal; }

std::size_t vlan_tags_of(const Headers& h) {
  if (h.vlan_tags > 1) return 2;
  return h.vlan_tags == 1 || h.vlan != 0 ? 1 : 0;
}

std::size_t link_bytes(const Headers& h) {
  return is_infiniband(h.encapsulation) ? kLrhBytes : kEthernetBytes + kVlanTagBytes * vlan_tags_of(h);
}

std::size_t network_bytes(Encapsulation e) {
  switch (e) {
    case Encapsulation::kRoceV2Ipv4:
      return kIpv4Bytes + kUdpBytes;
    case Encapsulation::kRoceV2Ipv6:
      return kIpv6Bytes + kUdpBytes;
    case Encapsulation::kRoceV1:
    case Encapsulation::kIbGlobal:
      return kGrhBytes;
    default:
      return 0;
  }
}

std::uint16_t lid_of(const Address& a) { return load_be16(&a.bytes[14]); }

void write_lrh(Headers& h, std::size_t end, std::uint8_t* p) {
  const bool global = h.encapsulation == Encapsulation::kIbGlobal;
  if (!global) {
    h.source_lid = lid_of(h.source);
    h.destination_lid = lid_of(h.destination);
  }
  p[0] = static_cast<std::uint8_t>(h.virtual_lane << 4);
  p[1] = static_cast<std::uint8_t>(h.service_level << 4 | (global ? 3 : 2));
  store_be16(p + 2, h.destination_lid);
  store_be16(p + 4, static_cast<std::uint16_t>(end / 4));
  store_be16(p + 6, h.source_lid);
}

void write_mac(Headers& h, std::uint8_t* p) {
  std::memcpy(p, h.destination_mac.data(), 6);
  std::memcpy(p + 6, h.source_mac.data(), 6);
  p += 12;
  h.vlan_tags = static_cast<std::uint8_t>(vlan_tags_of(h));
  if (h.vlan_tags == 2) {
    store_be16(p, 0x88a8);
    store_be16(p + 2, h.outer_vlan);
    p += 4;
  }
  if (h.vlan_tags >= 1) {
    store_be16(p, kEtherTypeVlan);
    store_be16(p + 2, h.vlan);
    p += 4;
  }
  switch (h.encapsulation) {
    case Encapsulation::kRoceV2Ipv4:
      return store_be16(p, kEtherTypeIpv4);
    case Encapsulation::kRoceV2Ipv6:
      return store_be16(p, kEtherTypeIpv6);
    default:
      return store_be16(p, kEtherTypeRoceV1);
  }
}

void write_ipv4(const Headers& h, std::size_t total, std::uint8_t* p) {
  p[0] = 0x45;
  p[1] = h.traffic_class;
  store_be16(p + 2, static_cast<std::uint16_t>(total));
  store_be16(p + 4, h.ip_identification);
  store_be16(p + 6, h.may_fragment ? 0 : 0x4000);
  p[8] = h.hop_limit;
  p[9] = kProtocolUdp;
  store_be16(p + 10, 0);
  std::memcpy(p + 12, &h.source.bytes[12], 4);
  std::memcpy(p + 16, &h.destination.bytes[12], 4);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kIpv4Bytes; i += 2) sum += load_be16(p + i);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  store_be16(p + 10, static_cast<std::uint16_t>(~sum));
}

// IPv6 header or GRH.
void write_ipv6(const Headers& h, std::size_t payload, std::uint8_t next_header, std::uint8_t* p) {
  store_be32(p, 6u << 28 | std::uint32_t{h.traffic_class} << 20 | (h.flow_label & 0xfffff));
  store_be16(p + 4, static_cast<std::uint16_t>(payload));
  p[6] = next_header;
  p[7] = h.hop_limit;
  std::memcpy(p + 8, h.source.bytes.data(), 16);
  std::memcpy(p + 24, h.destination.bytes.data(), 16);
}

void write_udp(const Headers& h, std::size_t length, std::uint8_t* p) {
  store_be16(p, h.udp_source_port);
  store_be16(p + 2, kRoceV2Port);
  store_be16(p + 4, static_cast<std::uint16_t>(length));
  store_be16(p + 6, h.udp_checksum);
}

// BTH and extension headers.
void write_transport(const Headers& h, std::uint8_t* p) {
  p[0] = h.opcode;
  p[1] = static_cast<std::uint8_t>(h.solicited << 7 | h.migrated << 6 | h.pad << 4 | (h.version & 15));
  store_be16(p + 2, h.pkey);
  store_be32(p + 4, std::uint32_t{h.fecn} << 31 | std::uint32_t{h.becn} << 30 | (raw(h.destination_qp) & k24Bits));
  store_be32(p + 8, std::uint32_t{h.ack_request} << 31 | h.psn.value);
  p += kBthBytes;
  const OpcodeInfo& info = opcode_info(h.opcode);
  if (info.traits & kIsCnp) std::memset(p, 0, info.extension_bytes);
  if (info.traits & kHasXrceth) {
    store_be32(p, raw(h.xrc_srq) & k24Bits);
    p += kXrcethBytes;
  }
  if (info.traits & kHasDeth) {
    store_be32(p, h.qkey);
    store_be32(p + 4, raw(h.source_qp) & k24Bits);
    p += kDethBytes;
  }
  if (info.traits & kHasFeth) {
    store_be32(p, h.immediate);
    p += kFethBytes;
  }
  if (info.traits & kHasReth) {
    store_be64(p, h.va);
    store_be32(p + 8, raw(h.rkey));
    store_be32(p + 12, h.length);
    p += kRethBytes;
  }
  if (info.traits & kHasAtomicEth) {
    store_be64(p, h.va);
    store_be32(p + 8, raw(h.rkey));
    store_be64(p + 12, h.swap_add);
    store_be64(p + 20, h.compare);
    p += kAtomicEthBytes;
  }
  if (info.traits & kHasAeth) {
    store_be32(p, std::uint32_t{h.syndrome} << 24 | (h.msn & k24Bits));
    p += kAethBytes;
  }
  if (info.traits & kHasAtomicAckEth) {
    store_be64(p, h.original);
    p += kAtomicAckEthBytes;
  }
  if (info.traits & (kHasImm | kHasIeth)) store_be32(p, h.immediate);
}

}  // namespace

std::size_t payload_offset_for(const Headers& h) {
  return link_bytes(h) + network_bytes(h.encapsulation) + kBthBytes + opcode_info(h.opcode).extension_bytes;
}

std::size_t build_in_place(Headers& h, std::size_t payload_bytes, std::span<std::uint8_t> out) {
  if (h.encapsulation == Encapsulation::kNone || payload_bytes > kMaxEnd) return 0;
  const bool infiniband = is_infiniband(h.encapsulation);
  const std::size_t network = link_bytes(h);
  const std::size_t transport = network + network_bytes(h.encapsulation);
  const std::size_t payload = payload_offset_for(h);
  const std::size_t pad = (0 - payload_bytes) & 3;
  const std::size_t icrc = payload + payload_bytes + pad;
  const std::size_t end = icrc + kIcrcBytes;
  const std::size_t total = end + (infiniband ? kVcrcBytes : 0);
  if (total > out.size() || end > kMaxEnd || (infiniband && end / 4 > kMaxLrhWords)) return 0;

  h.link = infiniband ? LinkLayer::kInfiniband : LinkLayer::kEthernet;
  h.has_grh = h.encapsulation != Encapsulation::kRoceV2Ipv4 && h.encapsulation != Encapsulation::kIbLocal;
  h.network_offset = static_cast<std::uint16_t>(network);
  h.bth_offset = static_cast<std::uint16_t>(transport);
  h.payload_offset = static_cast<std::uint16_t>(payload);
  h.payload_bytes = static_cast<std::uint16_t>(payload_bytes);
  h.icrc_offset = static_cast<std::uint16_t>(icrc);
  h.pad = static_cast<std::uint8_t>(pad);

  std::uint8_t* p = out.data();
  if (infiniband) {
    write_lrh(h, end, p);
  } else {
    write_mac(h, p);
  }
  switch (h.encapsulation) {
    case Encapsulation::kRoceV2Ipv4:
      write_ipv4(h, end - network, p + network);
      write_udp(h, end - network - kIpv4Bytes, p + network + kIpv4Bytes);
      break;
    case Encapsulation::kRoceV2Ipv6:
      write_ipv6(h, end - network - kIpv6Bytes, 17, p + network);
      write_udp(h, end - network - kIpv6Bytes, p + network + kIpv6Bytes);
      break;
    case Encapsulation::kRoceV1:
    case Encapsulation::kIbGlobal:
      write_ipv6(h, end - network - kGrhBytes, kNextHeaderIba, p + network);
      break;
    default:
      break;
  }
  write_transport(h, p + transport);
  std::memset(p + icrc - pad, 0, pad + total - icrc);  // pad, ICRC, VCRC
  return total;
}

std::size_t build(Headers& h, Bytes payload, std::span<std::uint8_t> out) {
  const std::size_t at = payload_offset_for(h);
  if (at + payload.size() > out.size()) return 0;
  if (!payload.empty()) std::memmove(out.data() + at, payload.data(), payload.size());
  return build_in_place(h, payload.size(), out);
}

}  // namespace rxnic
