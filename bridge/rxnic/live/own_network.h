// SPDX-License-Identifier: Apache-2.0
// A network of its own for a run (`rxnic run --network own`).
//
//   R1  The calling process, and whatever it starts from then on, is in a network namespace of its own. The namespace
//       has lo, and for each NIC an interface rxnic<n> with its MAC, its IPv4 address and its link-local one, which are
//       its GIDs. They are in one subnet, a /24 or what is wide enough. No route leads out: nothing there reaches the
//       host's network.
//   R2  Who is not allowed to make one (no root) makes it in a user namespace: with the same user and group, without
//       capabilities. Other users and groups are nobody there, and set-user-ID programs have their caller's rights.
//   R3  The interfaces are of the first kind that the kernel has: dummy, ifb, bridge, tap. Nothing is ever sent by one.
//       The first two are running when they are up; a bridge without ports and a tap without a reader have no carrier.
//   R4  What cannot be done is a std::runtime_error that says what it was and what helps.
//   R5  Sockets with a path are reached across it, abstract ones (@name) are not.
#pragma once

#include <cstdint>

#include "bridge/driver/nic_addresses.h"

namespace rxnic {

// To be called by a process of one thread.
void enter_own_network(std::uint32_t nics, NicAddresses addresses);

// (R1) Of the subnet in which so many NICs are.
std::uint8_t prefix_bits(std::uint32_t nics, NicAddresses addresses);

}  // namespace rxnic
