// SPDX-License-Identifier: Apache-2.0
#include "traces/other_udp_ports.h"

#include <algorithm>

#include "traces/tunnels.h"

namespace rxnic {
namespace {

// Bits of the BTH that the standard reserves, or that only a switch sets.
bool reserved_bits_are_zero(const std::uint8_t* bth) {
  constexpr std::uint8_t kBehindBecn = 0x3f, kBehindAckRequest = 0x7f;
  return (bth[4] & kBehindBecn) == 0 && (bth[8] & kBehindAckRequest) == 0;
}

std::uint16_t port_of(Bytes frame, const UdpAt& at) { return load_be16(frame.data() + at.udp + 2); }

// Whether the length fields leave room for a BTH and an ICRC and end at a multiple of 4 bytes behind it.
bool may_hold_bth(Bytes frame, const UdpAt& at) {
  const std::size_t bytes = load_be16(frame.data() + at.udp + 4);
  return bytes == at.end - at.udp && bytes >= kUdpBytes + kBthBytes + kIcrcBytes && (bytes - kUdpBytes) % 4 == 0 &&
         at.end <= frame.size();
}

}  // namespace

std::optional<OtherUdpPort> looks_like_roce(Bytes frame, IcrcCheck check) {
  if (frame.size() > kMaxFrameBytes) return {};
  const std::optional<UdpAt> at = find_udp(frame);
  if (!at || !may_hold_bth(frame, *at)) return {};
  std::vector<std::uint8_t> copy(frame.begin(), frame.end());
  store_be16(&copy[at->udp + 2], kRoceV2Port);
  Headers h;
  if (parse(copy, LinkLayer::kEthernet, h) != ParseStatus::kOk) return {};
  const bool icrc_right = check != nullptr && (check(frame, h) || check(copy, h));
  constexpr std::uint16_t kPartition = 0x7fff;  // without the bit that says full member
  const bool plausible = h.version == 0 && raw(h.destination_qp) != 0 && (h.pkey & kPartition) == kPartition &&
                         reserved_bits_are_zero(frame.data() + h.bth_offset);
  if (!icrc_right && !plausible) return {};
  return OtherUdpPort{port_of(frame, *at), icrc_right};
}

bool to_roce_port(Bytes frame, std::span<const std::uint16_t> ports, IcrcCheck check, IcrcSeal seal,
                  std::vector<std::uint8_t>& to) {
  if (ports.empty()) return false;
  const std::optional<UdpAt> at = find_udp(frame);
  if (!at || std::find(ports.begin(), ports.end(), port_of(frame, *at)) == ports.end()) return false;
  std::vector<std::uint8_t> copy(frame.begin(), frame.end());
  store_be16(&copy[at->udp + 2], kRoceV2Port);
  Headers h;
  if (parse(copy, LinkLayer::kEthernet, h) == ParseStatus::kOk) {
    const bool as_it_is = check(frame, h);
    if (as_it_is || check(copy, h)) store_be16(&copy[at->udp + 6], 0);
    if (as_it_is) seal(copy, h);
  }
  to = std::move(copy);
  return true;
}

}  // namespace rxnic
