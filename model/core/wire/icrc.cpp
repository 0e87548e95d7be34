// SPDX-License-Identifier: Apache-2.0
#include "model/core/wire/icrc.h"

#include <libdeflate.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace rxnic {
namespace {

constexpr std::size_t kMaxPrefixBytes = kLrhBytes + kMaxIpv4Bytes + kUdpBytes + kBthBytes;
constexpr std::size_t kMaxCopiedBytes = 256;  // behind the BTH: copying them takes less time than a second CRC call

// R2 for the 40 bytes of an IPv6 header or a GRH.
void mask_ipv6(std::uint8_t* p) {
  p[0] |= 0x0f;
  p[1] = p[2] = p[3] = 0xff;
  p[7] = 0xff;
}

void mask_network(Encapsulation encapsulation, std::size_t network_bytes, std::uint8_t* p) {
  switch (encapsulation) {
    case Encapsulation::kRoceV2Ipv4:
      p[1] = 0xff;
      p[8] = 0xff;
      p[10] = p[11] = 0xff;
      break;
    case Encapsulation::kRoceV2Ipv6:
    case Encapsulation::kRoceV1:
    case Encapsulation::kIbGlobal:
      mask_ipv6(p);
      break;
    default:
      return;
  }
  if (encapsulation == Encapsulation::kRoceV2Ipv4 || encapsulation == Encapsulation::kRoceV2Ipv6) {
    p[network_bytes - 2] = p[network_bytes - 1] = 0xff;  // UDP checksum
  }
}

// CRC-16 with polynomial 0x100B, least significant bit first, eight bytes at a time. Row k of the table holds the
// effect of a byte that is followed by k more.
constexpr std::uint16_t kVcrcPolynomial = 0xd008;  // 0x100B with its bits reversed
constexpr std::size_t kSlices = 8;
using VcrcTable = std::array<std::array<std::uint16_t, 256>, kSlices>;

constexpr VcrcTable kVcrcTable = [] {
  VcrcTable table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kVcrcPolynomial : 0u);
    table[0][byte] = static_cast<std::uint16_t>(crc);
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const std::uint16_t before = table[slice - 1][byte];
      table[slice][byte] = static_cast<std::uint16_t>(before >> 8 ^ table[0][before & 0xff]);
    }
  }
  return table;
}();

std::uint32_t load_le32(const std::uint8_t* p) {
  return std::uint32_t{p[3]} << 24 | std::uint32_t{p[2]} << 16 | std::uint32_t{p[1]} << 8 | p[0];
}

// A copy of what stands before the packet and of the packet up to so many bytes of the BTH, masked. (R1, R2)
std::size_t masked_prefix(Bytes frame, const Headers& h, std::size_t bth_bytes, std::uint8_t* prefix) {
  const std::size_t network_bytes = std::size_t{h.bth_offset} - h.network_offset;
  if (h.encapsulation == Encapsulation::kIbLocal) {  // R1
    std::memcpy(prefix, frame.data(), kLrhBytes);
    prefix[0] |= 0xf0;
  } else {
    std::memset(prefix, 0xff, kLrhBytes);
  }
  std::uint8_t* network = prefix + kLrhBytes;
  std::memcpy(network, frame.data() + h.network_offset, network_bytes + bth_bytes);
  mask_network(h.encapsulation, network_bytes, network);
  network[network_bytes + 4] = 0xff;
  return kLrhBytes + network_bytes + bth_bytes;
}

}  // namespace

std::uint32_t icrc(Bytes frame, const Headers& h) {
  // The prefix with masked fields is a copy, and so is a short rest behind it; a long one is hashed where it lies.
  std::uint8_t prefix[kMaxPrefixBytes + kMaxCopiedBytes];
  const std::size_t prefix_bytes = masked_prefix(frame, h, kBthBytes, prefix);
  const std::size_t rest = std::size_t{h.bth_offset} + kBthBytes;
  const std::size_t rest_bytes = h.icrc_offset - rest;
  if (rest_bytes <= kMaxCopiedBytes) {
    std::memcpy(prefix + prefix_bytes, frame.data() + rest, rest_bytes);
    return libdeflate_crc32(0, prefix, prefix_bytes + rest_bytes);
  }
  const std::uint32_t crc = libdeflate_crc32(0, prefix, prefix_bytes);
  return libdeflate_crc32(crc, frame.data() + rest, rest_bytes);
}

std::uint32_t icrc_begun(Bytes frame, const Headers& h, std::size_t bth_bytes) {
  std::uint8_t prefix[kMaxPrefixBytes];
  return libdeflate_crc32(0, prefix, masked_prefix(frame, h, bth_bytes, prefix));
}

std::uint32_t icrc_continued(std::uint32_t begun, Bytes rest) {
  return libdeflate_crc32(begun, rest.data(), rest.size());
}

void store_icrc(std::uint32_t value, std::uint8_t* to) {  // R3
  for (int byte = 0; byte < 4; ++byte) to[byte] = static_cast<std::uint8_t>(value >> (8 * byte));
}

bool icrc_matches(Bytes frame, const Headers& h) {
  return load_le32(frame.data() + h.icrc_offset) == icrc(frame, h);  // R3
}

std::uint16_t vcrc(Bytes packet) {
  unsigned crc = 0xffff;
  const std::uint8_t* p = packet.data();
  std::size_t left = packet.size();
  for (; left >= kSlices; left -= kSlices, p += kSlices) {
    crc = kVcrcTable[7][p[0] ^ (crc & 0xff)] ^ kVcrcTable[6][p[1] ^ (crc >> 8)] ^ kVcrcTable[5][p[2]] ^
          kVcrcTable[4][p[3]] ^ kVcrcTable[3][p[4]] ^ kVcrcTable[2][p[5]] ^ kVcrcTable[1][p[6]] ^ kVcrcTable[0][p[7]];
  }
  for (; left > 0; --left, ++p) crc = crc >> 8 ^ kVcrcTable[0][(crc ^ *p) & 0xff];
  return static_cast<std::uint16_t>(~crc);
}

bool has_vcrc(Bytes frame, const Headers& h) {
  return h.link == LinkLayer::kInfiniband && frame.size() >= h.icrc_offset + kIcrcBytes + kVcrcBytes;
}

bool vcrc_matches(Bytes frame, const Headers& h) {  // R4
  if (!has_vcrc(frame, h)) return true;
  const std::size_t end = h.icrc_offset + kIcrcBytes;
  return vcrc(frame.first(end)) == static_cast<std::uint16_t>(frame[end] | frame[end + 1] << 8);
}

bool ipv4_checksum_matches(Bytes frame, const Headers& h) {  // R5
  if (h.encapsulation != Encapsulation::kRoceV2Ipv4) return true;
  const std::uint8_t* const p = frame.data() + h.network_offset;
  const std::size_t bytes = std::size_t{p[0] & 15u} * 4;
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes; i += 4) {
    const std::uint32_t word = load_be32(p + i);
    sum += (word >> 16) + (word & 0xffff);
  }
  sum = (sum & 0xffff) + (sum >> 16);
  return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

bool udp_checksum_matches(Bytes frame, const Headers& h) {  // R6
  const bool v4 = h.encapsulation == Encapsulation::kRoceV2Ipv4;
  if (h.udp_checksum == 0 || (!v4 && h.encapsulation != Encapsulation::kRoceV2Ipv6)) return true;
  const Bytes datagram = frame.subspan(h.bth_offset - kUdpBytes);
  const std::size_t bytes = load_be16(datagram.data() + 4);
  std::uint64_t sum = kProtocolUdp + bytes;
  const auto add = [&sum](Bytes words) {
    std::size_t at = 0;
    for (; at + 2 <= words.size(); at += 2) sum += load_be16(words.data() + at);
    if (at < words.size()) sum += std::uint64_t{words[at]} << 8;
  };
  add(frame.subspan(h.network_offset + (v4 ? 12u : 8u), v4 ? 8 : 32));
  add(datagram.first(bytes));
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

void seal(std::span<std::uint8_t> frame, const Headers& h) {
  std::uint8_t* p = frame.data() + h.icrc_offset;
  store_icrc(icrc(frame, h), p);
  const std::size_t end = h.icrc_offset + kIcrcBytes;
  if (h.link != LinkLayer::kInfiniband || frame.size() < end + kVcrcBytes) return;
  const std::uint16_t variant = vcrc(frame.first(end));  // R4
  p[4] = static_cast<std::uint8_t>(variant);
  p[5] = static_cast<std::uint8_t>(variant >> 8);
}

}  // namespace rxnic
