// SPDX-License-Identifier: Apache-2.0
#include "model/nic/fabric_routes.h"

#include <cstring>

namespace rxnic {

void FabricRoutes::add(const PortAddress& address, std::uint32_t nic) {
  by_mac_[address.mac] = nic;
  for (const Address& a : address.addresses) by_address_[a] = nic;
}

std::uint32_t FabricRoutes::of(const Packet& p) const {
  if (p.destination.is_multicast()) return kEverybody;
  if (p.destination.kind == Address::Kind::kNone) {
    std::array<std::uint8_t, 6> mac;
    std::memcpy(mac.data(), p.frame.data(), mac.size());
    const auto it = by_mac_.find(mac);
    return it == by_mac_.end() ? kEverybody : it->second;
  }
  const auto it = by_address_.find(p.destination);
  return it == by_address_.end() ? kNobody : it->second;
}

}  // namespace rxnic
