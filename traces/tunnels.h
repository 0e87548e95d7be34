// SPDX-License-Identifier: Apache-2.0
// Ethernet frames inside of tunnels: what a capture holds that was taken in front of a tunnel's end, or that a switch's
// mirror sent. A NIC decodes none of them.
//
//   R1  VXLAN (RFC 7348; UDP 4789, and 8472 as older Linux has it), Geneve (RFC 8926; UDP 6081), GTP-U (3GPP TS 29.281;
//       UDP 2152). VXLAN-GPE (UDP 4790) with an Ethernet frame, an IP packet or MPLS in it. GRE (RFC 2784, 2890) with
//       the same in it. NVGRE (RFC 7637: GRE with a key and an Ethernet frame). ERSPAN I, II and III
//       (draft-foschiano-erspan: GRE 0x88be without and with a sequence number, GRE 0x22eb). IP in IP (IPv4 or IPv6 in
//       either, MPLS, RFC 2003, 2473, 4023). MPLS (RFC 3032, 4385) with an IP packet or an Ethernet frame. PPPoE
//       sessions (RFC 2516) with an IP packet. Tags that no NIC expects: more than two of a VLAN, those of EtherTypes
//       0x9100 and 0x9200, E-tags (IEEE 802.1BR) and VN-tags.
//   R2  What is inside ends where the lengths outside say, which may be behind the last byte that was captured.
//   R3  Nothing is read behind the frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "model/types/address.h"
#include "model/types/wire.h"

namespace rxnic {

enum class TunnelKind : std::uint8_t {
  kVxlan,
  kGeneve,
  kGtpU,
  kGre,
  kNvgre,
  kErspan1,
  kErspan2,
  kErspan3,
  kIpInIp,
  kMpls,
  kPppoe,
  kTags,
  kCount,
};
const char* tunnel_name(TunnelKind k);

struct Tunnel {
  TunnelKind kind = TunnelKind::kVxlan;
  Address source, destination;  // of the outer IP header; none of kMpls, kPppoe and kTags
  bool operator==(const Tunnel&) const = default;
};

// What a frame carries.
struct Carried {
  Tunnel tunnel;
  std::size_t begin = 0, end = 0;  // in the frame; `end` may be behind it (R2)
  std::uint16_t ether_type = 0;    // of a packet that stands there without an Ethernet header; 0: a whole frame
};

// `wire_bytes`: length of the Ethernet frame on the wire.
std::optional<Carried> open_tunnel(Bytes frame, std::size_t wire_bytes);

// A fragment of a UDP datagram: all fragments of one have the same key.
struct UdpFragment {
  Address source, destination;
  std::uint32_t identification = 0;
  bool first = false;
};
std::optional<UdpFragment> find_udp_fragment(Bytes frame);

// Where the UDP header of an Ethernet frame is, behind an IPv4 or IPv6 header that is whole and no fragment's.
struct UdpAt {
  std::size_t network = 0, udp = 0, end = 0;  // end: by the IP header
  Address source, destination;
};
std::optional<UdpAt> find_udp(Bytes frame);

}  // namespace rxnic
