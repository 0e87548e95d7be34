// SPDX-License-Identifier: Apache-2.0
#include "bridge/driver/nic_addresses.h"

#include <algorithm>
#include <stdexcept>

namespace rxnic {

namespace {

constexpr std::uint64_t kLeast = 0x01000000, kGreatest = 0xdfffffff;  // 1.0.0.0, 223.255.255.255
constexpr std::uint64_t kLoopback = 0x7f000000, kLoopbackEnd = 0x7fffffff;

}  // namespace

std::optional<NicAddresses> NicAddresses::parse(const std::string& first, std::uint32_t nics) {
  Address address;
  try {
    address = Address::parse(first);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
  if (address.kind != Address::Kind::kIpv4) return std::nullopt;
  const std::uint64_t from = load_be32(&address.bytes[12]), to = from + std::max(nics, 1u) - 1;
  if (from < kLeast || to > kGreatest || (to >= kLoopback && from <= kLoopbackEnd)) return std::nullopt;  // (R2)
  return NicAddresses{static_cast<std::uint32_t>(from)};
}

}  // namespace rxnic
