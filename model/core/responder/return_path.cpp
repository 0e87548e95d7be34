// SPDX-License-Identifier: Apache-2.0
#include "model/core/responder/return_path.h"

#include <cstring>

#include "model/core/responder/response.h"
#include "model/core/wire/icrc.h"

namespace rxnic {

namespace {

constexpr std::size_t kEthernetBytes = 14;  // with the EtherType
constexpr std::size_t kPsnOffset = 8;       // of the BTH
constexpr std::size_t kMaskBytes = 72;

using Mask = std::array<std::uint8_t, kMaskBytes>;

// The bits of a request that decide about its answer. These are all up to the P_Key, and in the BTH's first bytes the
// transport and the migration state. Lengths, checksums, identification, fragment flags and hop limit do not count.
constexpr Mask mask_of(bool ipv6) {
  Mask mask{};
  const std::size_t network = kEthernetBytes;
  const std::size_t udp = network + (ipv6 ? kIpv6Bytes : kIpv4Bytes);
  const std::size_t bth = udp + kUdpBytes;
  for (std::size_t n = 0; n < udp + 4; ++n) mask[n] = 0xff;
  if (ipv6) {
    mask[network + 4] = mask[network + 5] = 0;  // payload length
    mask[network + 7] = 0;                      // hop limit
  } else {
    for (std::size_t n = 2; n < 9; ++n) mask[network + n] = 0;  // length, identification, flags and offset, TTL
    mask[network + 10] = mask[network + 11] = 0;                // checksum
  }
  mask[bth] = 0xe0;
  mask[bth + 1] = 0x40;
  mask[bth + 2] = mask[bth + 3] = 0xff;
  return mask;
}
constexpr std::array<Mask, 2> kMasks{mask_of(false), mask_of(true)};
constexpr std::size_t compared_bytes(bool ipv6) {
  return kEthernetBytes + (ipv6 ? kIpv6Bytes : kIpv4Bytes) + kUdpBytes + 4;
}

std::uint64_t masked_word(const std::uint8_t* frame, const Mask& mask, std::size_t n) {
  std::uint64_t word = 0;
  std::uint64_t bits = 0;
  std::memcpy(&word, frame + 8 * n, sizeof word);
  std::memcpy(&bits, mask.data() + 8 * n, sizeof bits);
  return word & bits;
}

}  // namespace

bool ReturnPath::is_of(Bytes request, LinkLayer link, Qpn peer) const {  // (R1)
  if (words_ == 0 || link != LinkLayer::kEthernet || peer != peer_ || request.size() < 8 * words_) return false;
  const Mask& mask = kMasks[ipv6_];
  std::uint64_t differs = 0;
  for (std::size_t n = 0; n < words_; ++n) differs |= masked_word(request.data(), mask, n) ^ request_[n];
  return differs == 0;
}

void ReturnPath::remember(Bytes request, const Headers& h, Qpn peer) {
  headers_ = answer_headers(h, peer);
  peer_ = peer;
  words_ = 0;
  ipv6_ = h.encapsulation == Encapsulation::kRoceV2Ipv6;
  const std::size_t bth = compared_bytes(ipv6_) - 4;
  const bool roce_v2 = ipv6_ || h.encapsulation == Encapsulation::kRoceV2Ipv4;
  if (!roce_v2 || h.vlan_tags != 0 || h.bth_offset != bth) return;  // (R2)
  words_ = static_cast<std::uint32_t>((compared_bytes(ipv6_) + 7) / 8);
  for (std::size_t n = 0; n < words_; ++n) request_[n] = masked_word(request.data(), kMasks[ipv6_], n);
  Headers ack = headers_;
  ack.psn = {};
  ack_.bytes = static_cast<std::uint8_t>(build_in_place(ack, 0, ack_.data));
  crc_ = icrc_begun({ack_.data.data(), ack_.bytes}, ack, kPsnOffset);
}

void ReturnPath::write_ack(Psn psn, std::uint8_t syndrome, std::uint32_t msn, AckFrame& out) const {  // (R3)
  out = ack_;
  std::uint8_t* const icrc = out.data.data() + ack_.bytes - kIcrcBytes;
  std::uint8_t* const at = icrc - kAethBytes - (kBthBytes - kPsnOffset);
  store_be32(at, psn.value);
  store_be32(at + 4, std::uint32_t{syndrome} << 24 | (msn & k24Bits));
  store_icrc(icrc_continued(crc_, {at, static_cast<std::size_t>(icrc - at)}), icrc);
}

}  // namespace rxnic
