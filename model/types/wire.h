// SPDX-License-Identifier: Apache-2.0
// Packets as they are on the wire: parse and build. Byte order, lengths and offsets are decided here and nowhere else.
//
//   R1  A parse never reads past the frame it was given and never allocates.
//   R2  When a frame has several errors, the first one in the order of ParseStatus is reported.
//   R3  Link padding after the IP datagram (Ethernet's 60-byte minimum), a trailing FCS and a VCRC are not part of the
//       packet. The packet's end comes from the IP, GRH and LRH lengths.
//   R4  build(parse(frame)) gives the same bytes from the network header to the ICRC. Not kept: IPv4 options, a wrong
//       IPv4 header checksum (parse does not check it), bits that the standards reserve, pad bytes other than zero.
//   R5  From BTH to ICRC a packet is a multiple of 4 bytes; with a GRH or LRH the lengths in both agree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "model/types/address.h"
#include "model/types/ids.h"
#include "model/types/opcode.h"
#include "model/types/wire_constants.h"
#include "model/types/wire_frame.h"

namespace rxnic {

inline constexpr std::size_t kMaxFrameBytes = 4352;  // MTU 4096 with every header, two VLAN tags, ICRC, FCS

enum class Encapsulation : std::uint8_t { kNone, kRoceV2Ipv4, kRoceV2Ipv6, kRoceV1, kIbLocal, kIbGlobal };

// All header fields of one packet, native byte order. Fields of headers that are absent are zero.
struct Headers {
  // Offsets in the frame, in bytes from its start.
  std::uint16_t network_offset = 0;  // IPv4, IPv6 or GRH; LRH's end for a local InfiniBand packet
  std::uint16_t bth_offset = 0;
  std::uint16_t payload_offset = 0;
  std::uint16_t payload_bytes = 0;  // without pad and ICRC
  std::uint16_t icrc_offset = 0;

  LinkLayer link = LinkLayer::kEthernet;
  Encapsulation encapsulation = Encapsulation::kNone;
  bool has_grh = false;            // an IPv6 header or a GRH stands before the BTH (RoCEv2/IPv4: false)
  bool may_fragment = false;       // IPv4: DF is clear (RoCEv2 asks for DF)
  std::uint8_t traffic_class = 0;  // with ECN in the low two bits
  std::uint8_t hop_limit = 0;
  std::uint8_t service_level = 0;  // LRH
  std::uint8_t virtual_lane = 0;   // LRH
  std::uint8_t vlan_tags = 0;      // 0..2; build writes one as well when only `vlan` is set
  std::uint16_t vlan = 0;          // TCI of the inner tag, 0 without
  std::uint16_t outer_vlan = 0;    // TCI of the outer of two tags
  std::uint16_t udp_source_port = 0;
  std::uint16_t udp_checksum = 0;  // kept as it was, never computed: RoCEv2 senders leave it 0
  std::uint16_t ip_identification = 0;
  std::uint32_t flow_label = 0;  // IPv6, GRH: 20 bits
  // LRH. In a local packet they equal `source` and `destination`, and build() takes them from there.
  std::uint16_t source_lid = 0, destination_lid = 0;
  std::array<std::uint8_t, 6> source_mac{}, destination_mac{};
  Address source, destination;

  // BTH
  std::uint8_t opcode = 0;
  bool solicited = false;
  bool migrated = false;
  std::uint8_t pad = 0;
  std::uint8_t version = 0;
  bool fecn = false, becn = false;
  bool ack_request = false;
  std::uint16_t pkey = 0;
  Qpn destination_qp{};
  Psn psn;

  // Extension headers
  std::uint8_t syndrome = 0;    // AETH
  std::uint32_t msn = 0;        // AETH
  std::uint64_t va = 0;         // RETH, AtomicETH
  Key rkey{};                   // RETH, AtomicETH
  std::uint32_t length = 0;     // RETH
  std::uint64_t swap_add = 0;   // AtomicETH
  std::uint64_t compare = 0;    // AtomicETH
  std::uint64_t original = 0;   // AtomicAckETH
  std::uint32_t qkey = 0;       // DETH
  Qpn source_qp{};              // DETH
  std::uint32_t immediate = 0;  // ImmDt, the rkey of IETH, or FETH
  Srqn xrc_srq{};               // XRCETH

  bool operator==(const Headers&) const = default;
};
static_assert(sizeof(Headers) <= 176, "one per packet in flight");

enum class ParseStatus : std::uint8_t {
  kOk,
  kNotRdma,          // another protocol: not an error. Also a frame that ends before its protocol is known
  kFragment,         // UDP that may be RoCEv2 in an IP fragment
  kExtensionHeader,  // RoCEv2 after an IPv6 extension header
  kTooShort,         // RDMA by its link or UDP port, but it ends before the end of its BTH and ICRC
  kBadLength,        // the IP, UDP, GRH or LRH length disagrees with the frame or with another one, or with R5
  kUnknownOpcode,
  kVendorOpcode,    // 0xc0 to 0xff: the manufacturer's
  kMissingHeaders,  // shorter than the extension headers of its opcode
  kPad,             // its pad count is larger than what follows its headers
};

// Whether BTH and lengths were read: the checksums can be looked at.
constexpr bool lengths_agree(ParseStatus s) { return s == ParseStatus::kOk || s >= ParseStatus::kUnknownOpcode; }

// Reads the headers of one frame that starts at the link layer. On kNotRdma nothing else is valid; on the other errors
// the fields read so far are valid. When the frame does not say where a BTH is (a later fragment), bth_offset is 0.
ParseStatus parse(Bytes frame, LinkLayer link, Headers& out);

// Application data of a packet that parse() accepted or build() wrote.
inline Bytes payload_of(Bytes frame, const Headers& h) { return frame.subspan(h.payload_offset, h.payload_bytes); }

// Writes a whole frame from `h` and the payload: link header to ICRC, with pad, IP checksum and lengths, without
// Ethernet padding and FCS. On InfiniBand there is room for a VCRC. The ICRC is left zero: model/core/wire/icrc.h seals
// the frame. Offsets, link, has_grh and pad in `h` are set here. Returns the number of bytes, 0 when it does not fit
// into `out` or into the length fields, or when `h` has no encapsulation.
std::size_t build(Headers& h, Bytes payload, std::span<std::uint8_t> out);

// Same with the payload already in place at payload_offset_for(h): nothing is copied.
std::size_t build_in_place(Headers& h, std::size_t payload_bytes, std::span<std::uint8_t> out);
std::size_t payload_offset_for(const Headers& h);

// Big-endian fields.
constexpr std::uint16_t load_be16(const std::uint8_t* p) { return static_cast<std::uint16_t>(p[0] << 8 | p[1]); }
constexpr std::uint32_t load_be32(const std::uint8_t* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
}
constexpr std::uint64_t load_be64(const std::uint8_t* p) {
  return std::uint64_t{load_be32(p)} << 32 | load_be32(p + 4);
}
constexpr void store_be16(std::uint8_t* p, std::uint16_t v) {
  p[0] = static_cast<std::uint8_t>(v >> 8);
  p[1] = static_cast<std::uint8_t>(v);
}
constexpr void store_be32(std::uint8_t* p, std::uint32_t v) {
  store_be16(p, static_cast<std::uint16_t>(v >> 16));
  store_be16(p + 2, static_cast<std::uint16_t>(v));
}
constexpr void store_be64(std::uint8_t* p, std::uint64_t v) {
  store_be32(p, static_cast<std::uint32_t>(v >> 32));
  store_be32(p + 4, static_cast<std::uint32_t>(v));
}

}  // namespace rxnic
