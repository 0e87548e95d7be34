// SPDX-License-Identifier: Apache-2.0
#include "model/core/wire/ecn.h"

#include "model/types/wire.h"

namespace rxnic {

namespace {

constexpr std::size_t kMacAddressesBytes = 12;
constexpr unsigned kTrafficClassShift = 4;  // IPv6: of the traffic class's lowest bit, in the first two bytes

bool is_markable(std::uint8_t ecn) { return ecn != 0 && ecn != kCongestionExperienced; }

// The sum of an IPv4 header's words grows by `more`; its checksum is the complement of that sum. (R2)
void add_to_checksum(std::uint8_t* checksum, std::uint32_t more) {
  std::uint32_t sum = (~std::uint32_t{load_be16(checksum)} & 0xffff) + more;
  sum = (sum & 0xffff) + (sum >> 16);
  store_be16(checksum, static_cast<std::uint16_t>(~sum));
}

}  // namespace

bool mark_congested(std::span<std::uint8_t> frame) {
  std::size_t at = kMacAddressesBytes;
  const auto type = [&] { return at + 2 <= frame.size() ? load_be16(&frame[at]) : std::uint16_t{0}; };
  while (type() == kEtherTypeVlan || type() == kEtherTypeServiceVlan) at += kVlanTagBytes;
  const std::uint16_t ether_type = type();
  at += 2;
  if (ether_type == kEtherTypeIpv4 && at + kIpv4Bytes <= frame.size()) {
    const std::uint8_t ecn = frame[at + 1] & kEcnMask;
    if (!is_markable(ecn)) return false;
    frame[at + 1] |= kCongestionExperienced;
    add_to_checksum(&frame[at + 10], kCongestionExperienced - ecn);
    return true;
  }
  if (ether_type == kEtherTypeIpv6 && at + kIpv6Bytes <= frame.size()) {
    const std::uint16_t first = load_be16(&frame[at]);
    if (!is_markable(static_cast<std::uint8_t>(first >> kTrafficClassShift) & kEcnMask)) return false;
    store_be16(&frame[at], static_cast<std::uint16_t>(first | kCongestionExperienced << kTrafficClassShift));
    return true;
  }
  return false;
}

}  // namespace rxnic
