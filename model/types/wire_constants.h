// SPDX-License-Identifier: Apache-2.0
// Numbers that the protocols fix, each once. They are sizes of headers, types that name what follows, the MTUs, and the
// values of fields that have a meaning of their own. Sizes are bytes.
//
//   R1  InfiniBand: IBTA volume 1, 5.2 (headers), 7.3 and 7.4 (LRH, GRH, CRCs), 9 (BTH and extension headers).
//   R2  RoCE: annexes A16 (RoCEv1) and A17 (RoCEv2); IPv4: RFC 791; IPv6: RFC 8200; UDP: RFC 768.
//   R3  A path MTU is 256 << n, n = 0..4. Where a field holds its code, the code is n + 1 (IBTA volume 1, 12.6 and
//       ibv_mtu).
//   R4  A message of n bytes is max(1, ceil(n / MTU)) packets, and has at most 2^31 bytes (rules 6).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "model/types/ids.h"

namespace rxnic {

// Below the BTH. (R1) (R2)
inline constexpr std::size_t kEthernetBytes = 14;  // without VLAN tags
inline constexpr std::size_t kEtherTypeAt = 12;
inline constexpr std::size_t kVlanTagBytes = 4;
inline constexpr std::uint32_t kMostLinkHeaderBytes = kEthernetBytes + 2 * kVlanTagBytes;
inline constexpr std::uint32_t kMinFrameBytes = 60;  // of an Ethernet frame without its FCS (IEEE 802.3, 4.2.3.3)
inline constexpr std::size_t kLrhBytes = 8;
inline constexpr std::size_t kGrhBytes = 40;
inline constexpr std::size_t kIpv4Bytes = 20;  // without options
inline constexpr std::size_t kMaxIpv4Bytes = 60;
inline constexpr std::uint16_t kFragmentOffset = 0x1fff, kMoreFragments = 0x2000;  // of the field at byte 6
inline constexpr std::size_t kIpv6Bytes = 40;
inline constexpr std::size_t kUdpBytes = 8;
inline constexpr std::size_t kIcrcBytes = 4;
inline constexpr std::size_t kVcrcBytes = 2;    // InfiniBand links
inline constexpr std::size_t kFcsBytes = 4;     // Ethernet
inline constexpr std::size_t kMaxEnd = 0xffff;  // of a packet in its buffer: offsets in it have 16 bits

// The BTH and its extension headers. (R1)
inline constexpr std::size_t kBthBytes = 12;
inline constexpr std::size_t kRethBytes = 16;
inline constexpr std::size_t kAtomicEthBytes = 28;
inline constexpr std::size_t kAethBytes = 4;
inline constexpr std::size_t kAtomicAckEthBytes = 8;
inline constexpr std::size_t kImmDtBytes = 4;
inline constexpr std::size_t kIethBytes = 4;
inline constexpr std::size_t kFethBytes = 4;
inline constexpr std::size_t kDethBytes = 8;
inline constexpr std::size_t kXrcethBytes = 4;
inline constexpr std::size_t kCnpReservedBytes = 16;

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherTypeIpv6 = 0x86dd;
inline constexpr std::uint16_t kEtherTypeVlan = 0x8100;
inline constexpr std::uint16_t kEtherTypeServiceVlan = 0x88a8;
inline constexpr std::uint16_t kEtherTypeRoceV1 = 0x8915;
inline constexpr std::uint8_t kProtocolTcp = 6;  // IPv4's protocol, IPv6's next header
inline constexpr std::uint8_t kProtocolUdp = 17;
inline constexpr std::uint8_t kNextHeaderIba = 0x1b;  // of a GRH: a BTH follows
inline constexpr std::uint16_t kRoceV2Port = 4791;

inline constexpr std::uint32_t k24Bits = 0xff'ffff;  // a QPN, SRQN, PSN or MSN
inline constexpr Qpn kGsiQpn{1};                     // of connection management
inline constexpr Qpn kMulticastQpn{k24Bits};         // the destination of a multicast packet
// FETH (IBTA volume 1, annex on memory placement extensions). Bits 4 and 5 are the selectivity level, 0 a range, 1 the
// whole region. Bits 0 to 3 are the placement type.
inline constexpr std::uint32_t kFethLevelMask = 0x30, kFethRegion = 0x10;
inline constexpr std::uint16_t kPkeyBase = 0x7fff;     // the partition; the bit above: full member
inline constexpr std::uint16_t kDefaultPkey = 0xffff;  // a full member of the default partition
inline constexpr std::uint8_t kDefaultHopLimit = 64;   // senders start from it
inline constexpr std::uint32_t kAtomicBytes = 8;       // an atomic's operand and result

// (R3)
inline constexpr std::size_t kMinMtu = 256;
inline constexpr std::size_t kMaxMtu = 4096;
inline constexpr std::uint32_t kMaxMtuCode = 5;
constexpr bool is_mtu_code(std::uint32_t code) { return code >= 1 && code <= kMaxMtuCode; }
constexpr std::uint16_t mtu_of_code(std::uint32_t code) { return static_cast<std::uint16_t>(kMinMtu / 2 << code); }
// The code of the largest MTU that is not above `bytes`; 1 below 256.
constexpr std::uint32_t mtu_code(std::size_t bytes) {
  return static_cast<std::uint32_t>(std::bit_width(std::clamp(bytes, kMinMtu, kMaxMtu) / kMinMtu));
}

// (R4)
inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 31;
constexpr std::uint32_t packets_of(std::uint32_t bytes, std::uint32_t mtu) {
  return bytes == 0 ? 1 : bytes / mtu + (bytes % mtu != 0);
}

}  // namespace rxnic
