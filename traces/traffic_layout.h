// SPDX-License-Identifier: Apache-2.0
// Numbers that generated traffic uses: QPs, keys and addresses of the receiver.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/types/ids.h"

namespace rxnic::traffic {

inline constexpr std::uint32_t kFirstQpn = 0x100;
inline constexpr std::uint32_t kFirstPeerQpn = 0x800000;
inline constexpr std::uint32_t kQkey = 0x11111111;
inline constexpr Srqn kXrcSrq{0x51};
inline constexpr Key kDataKey{0x100001};  // all rights
inline constexpr Key kReadOnlyKey{0x100101};
inline constexpr Key kNoKey{0x7fff01};  // of no region
// What each SEND WITH INVALIDATE invalidates; behind the last one there is none.
inline constexpr std::uint32_t kInvalidatedKeys = 4096;
constexpr Key invalidated_key(std::uint32_t n) { return Key{0x100201 + (n << 8)}; }
inline constexpr std::uint64_t kDataVa = 0x7f00'0000'0000;
inline constexpr std::uint64_t kReadOnlyVa = 0x7f10'0000'0000;
inline constexpr std::uint64_t kInvalidatedVa = 0x7f20'0000'0000;

// Bytes of each of the first two regions: at least 1 MiB, and four times the largest message.
constexpr std::uint64_t region_bytes(std::uint32_t largest_message) {
  return std::max<std::uint64_t>(std::uint64_t{1} << 20, std::uint64_t{largest_message} * 4);
}

}  // namespace rxnic::traffic
