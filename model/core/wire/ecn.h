// SPDX-License-Identifier: Apache-2.0
// Explicit congestion notification: the two lowest bits of the IPv4 TOS or IPv6 traffic class (RFC 3168).
//
//   R1  0: not ECN capable. 1, 2: ECN capable (ECT). 3: congestion experienced (CE), which a switch writes into a frame
//       that is ECN capable.
//   R2  An IPv4 header keeps a right checksum, a wrong one stays wrong (RFC 1624). The ICRC does not cover the field.
#pragma once

#include <cstdint>
#include <span>

namespace rxnic {

inline constexpr std::uint8_t kEcnMask = 3;
inline constexpr std::uint8_t kEct0 = 2;
inline constexpr std::uint8_t kCongestionExperienced = 3;

constexpr bool is_congested(std::uint8_t traffic_class) { return (traffic_class & kEcnMask) == kCongestionExperienced; }

// Marks an Ethernet frame, with any VLAN tags. False, and nothing has changed, when it is marked already or not ECN
// capable, or when it is no IP frame (RoCEv1 has no ECN).
bool mark_congested(std::span<std::uint8_t> frame);

}  // namespace rxnic
