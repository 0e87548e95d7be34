// SPDX-License-Identifier: Apache-2.0
// Which NIC of a fabric a frame goes to (R3 of fabric.h).
//
//   R1  The NIC that has the frame's destination address; nobody when no NIC has it. Everybody when it is a multicast
//       address.
//   R2  A frame without such an address (RAW_PACKET): the NIC that has the MAC address in its first bytes; everybody
//       when no NIC has it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "model/types/packet.h"

namespace rxnic {

// One NIC's addresses. GIDs as on the wire: IPv4 as ::ffff:a.b.c.d.
struct PortAddress {
  std::array<std::uint8_t, 6> mac{};
  std::vector<Address> addresses;
};

class FabricRoutes {
 public:
  static constexpr std::uint32_t kNobody = ~0u, kEverybody = ~1u;
  void add(const PortAddress& address, std::uint32_t nic);
  std::uint32_t of(const Packet& p) const;  // the number of a NIC, kNobody or kEverybody

 private:
  std::map<Address, std::uint32_t> by_address_;
  std::map<std::array<std::uint8_t, 6>, std::uint32_t> by_mac_;
};

}  // namespace rxnic
