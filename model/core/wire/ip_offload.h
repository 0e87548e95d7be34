// SPDX-License-Identifier: Apache-2.0
// What a NIC does for a program with an IP packet: checksums, and the headers of TCP segments. The packet is in an
// Ethernet frame (RAW_PACKET), or in a datagram of IP over InfiniBand (UD).
//
//   R1  Before the IP header stands an Ethernet header with at most two VLAN tags. Or IPoIB's encapsulation stands
//       there (RFC 4391, 4: the EtherType and two bytes that are reserved). An IPv4 header may have options; an IPv6
//       header is followed by TCP or UDP, not by an extension header.
//   R2  Nothing is read or written behind the bytes that are given. The packet ends where its IP header says: what
//       Ethernet has padded is no part of it. Bytes whose header says more than there is are no IP packet.
//   R3  fill_checksums() writes the checksum of an IPv4 header, whatever was in its place. It writes the checksum of
//       TCP or UDP likewise, unless the packet is a fragment or too short for its header. A UDP checksum of 0 is
//       written as ffff (RFC 768). Bytes that are no IP packet stay as they are.
//   R4  checksums_ok(): an IPv4 packet, no fragment, with a good header checksum and a good one of TCP or UDP. UDP may
//       have none (0). (ibv_poll_cq(3): IBV_WC_IP_CSUM_OK)
//   R5  set_segment_header(): a header that ends with those of IP and TCP becomes that of one segment. It gets IP's
//       length. IPv4's identification counts the segments, TCP's sequence number their bytes. Only the last segment has
//       FIN and PSH, only the first has CWR (RFC 3168, 6.1.2). Its checksums are for R3. Any other header stays as it
//       is.
#pragma once

#include <cstdint>
#include <span>

#include "model/types/wire.h"

namespace rxnic {

enum class IpFraming : std::uint8_t { kEthernet, kIpoib };

// One of the segments that a message is cut into.
struct IpSegment {
  std::uint32_t number = 0;  // counts from 0
  std::uint32_t offset = 0;  // of its first byte in the message
  std::uint32_t bytes = 0;   // without the header
  bool last = false;
};

void fill_checksums(std::span<std::uint8_t> message, IpFraming framing);
bool checksums_ok(Bytes message, IpFraming framing);
void set_segment_header(std::span<std::uint8_t> header, IpFraming framing, const IpSegment& segment);

}  // namespace rxnic
