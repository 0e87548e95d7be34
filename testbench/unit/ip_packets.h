// SPDX-License-Identifier: Apache-2.0
// IP packets as a program's TCP/IP stack writes them, and their checksums word by word, for tests.
#pragma once

#include <cstdint>
#include <vector>

#include "model/types/wire.h"

namespace rxnic {

using PacketBytes = std::vector<std::uint8_t>;

struct IpSpec {
  bool v6 = false;
  std::uint8_t protocol = kProtocolTcp;
  bool ipoib = false;           // behind IPoIB's encapsulation, else behind an Ethernet header
  std::size_t vlan_tags = 0;    // Ethernet
  std::size_t options = 0;      // bytes, of IPv4
  std::size_t tcp_options = 0;  // bytes
  std::uint16_t fragment = 0;   // IPv4: flags and offset
  std::uint16_t identification = 0xfffe;
  std::uint32_t sequence = 0xffffff00;
  std::uint8_t tcp_flags = 0x99;  // CWR, ACK, PSH, FIN
  std::size_t payload = 100;

  std::size_t ip_at() const { return ipoib ? 4 : 14 + 4 * vlan_tags; }
  std::size_t transport_at() const { return ip_at() + (v6 ? 40 : 20 + options); }
  std::size_t payload_at() const {
    return transport_at() + (protocol == kProtocolTcp ? 20 + tcp_options : protocol == kProtocolUdp ? 8 : 0);
  }
  std::size_t checksum_at() const { return transport_at() + (protocol == kProtocolTcp ? 16 : 6); }
};

inline std::uint8_t ip_payload_byte(std::size_t n) { return static_cast<std::uint8_t>(n * 37 + (n >> 8)); }

// With 5a5a in the place of every checksum.
inline PacketBytes ip_packet(const IpSpec& s) {
  PacketBytes p(s.payload_at() + s.payload);
  const std::uint16_t type = s.v6 ? kEtherTypeIpv6 : kEtherTypeIpv4;
  if (!s.ipoib) {
    p[0] = 2;
    for (std::size_t n = 0; n < s.vlan_tags; ++n) store_be16(&p[12 + 4 * n], kEtherTypeVlan);
  }
  store_be16(&p[s.ipoib ? 0 : s.ip_at() - 2], type);
  std::uint8_t* const ip = &p[s.ip_at()];
  const std::size_t behind = p.size() - s.transport_at();
  if (s.v6) {
    ip[0] = 0x60;
    store_be16(ip + 4, static_cast<std::uint16_t>(behind));
    ip[6] = s.protocol;
    for (std::size_t n = 8; n < 40; ++n) ip[n] = static_cast<std::uint8_t>(0x20 + n * 5);
  } else {
    ip[0] = static_cast<std::uint8_t>(0x40 | (5 + s.options / 4));
    store_be16(ip + 2, static_cast<std::uint16_t>(p.size() - s.ip_at()));
    store_be16(ip + 4, s.identification);
    store_be16(ip + 6, s.fragment);
    ip[8] = 64;
    ip[9] = s.protocol;
    store_be16(ip + 10, 0x5a5a);
    store_be32(ip + 12, 0x0a000001);
    store_be32(ip + 16, 0x0a0000fe);
    for (std::size_t n = 20; n < 20 + s.options; ++n) ip[n] = 1;
  }
  std::uint8_t* const t = &p[s.transport_at()];
  if (s.protocol == kProtocolTcp) {
    store_be16(t, 5001);
    store_be16(t + 2, 443);
    store_be32(t + 4, s.sequence);
    t[12] = static_cast<std::uint8_t>((5 + s.tcp_options / 4) << 4);
    t[13] = s.tcp_flags;
    for (std::size_t n = 20; n < 20 + s.tcp_options; ++n) t[n] = 1;
  } else if (s.protocol == kProtocolUdp) {
    store_be16(t, 5001);
    store_be16(t + 2, 53);
    store_be16(t + 4, static_cast<std::uint16_t>(behind));
  }
  if (s.protocol == kProtocolTcp || s.protocol == kProtocolUdp) store_be16(&p[s.checksum_at()], 0x5a5a);
  for (std::size_t n = 0; n < s.payload; ++n) p[s.payload_at() + n] = ip_payload_byte(n);
  return p;
}

// RFC 1071, of bytes `from` to `to`, with what is added for a pseudo header.
inline std::uint16_t internet_checksum(const PacketBytes& p, std::size_t from, std::size_t to, std::uint32_t sum = 0) {
  for (std::size_t n = from; n < to; n += 2) {
    sum += static_cast<std::uint32_t>(p[n] << 8 | (n + 1 < to ? p[n + 1] : 0));
    if (sum > 0xffff) sum -= 0xffff;
  }
  while (sum > 0xffff) sum -= 0xffff;
  return static_cast<std::uint16_t>(~sum);
}
// The checksum of TCP or UDP, with the field as it is: 0 when the checksum in the packet is good.
inline std::uint16_t transport_checksum(const PacketBytes& p, const IpSpec& s, std::size_t end) {
  std::uint32_t pseudo = s.protocol + static_cast<std::uint32_t>(end - s.transport_at());
  const std::size_t from = s.ip_at() + (s.v6 ? 8 : 12);
  pseudo += static_cast<std::uint16_t>(~internet_checksum(p, from, from + (s.v6 ? 32 : 8)));
  return internet_checksum(p, s.transport_at(), end, pseudo);
}
// Both checksums, or the one that there is, are good; of a packet that ends at `end`.
inline bool has_good_checksums(const PacketBytes& p, const IpSpec& s, std::size_t end) {
  const bool header = s.v6 || internet_checksum(p, s.ip_at(), s.transport_at()) == 0;
  return header && transport_checksum(p, s, end) == 0;
}

}  // namespace rxnic
