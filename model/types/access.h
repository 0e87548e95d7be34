// SPDX-License-Identifier: Apache-2.0
// Access rights of a memory region, and of a QP's peer.
#pragma once

#include <cstdint>

namespace rxnic {

enum AccessFlag : std::uint8_t {  // bits as enum ibv_access_flags
  kLocalWrite = 1u << 0,
  kRemoteWrite = 1u << 1,
  kRemoteRead = 1u << 2,
  kRemoteAtomic = 1u << 3,
  kBindWindow = 1u << 4,  // memory windows may be bound to it
  kZeroBased = 1u << 5,   // its first byte has address 0
  // FLUSH, whatever its placement type. Bit 6 means something else to verbs. No program can grant this right, since the
  // verbs of rdma-core 44 have no FLUSH; the host of a capture does.
  kRemoteFlush = 1u << 6,
};
inline constexpr std::uint8_t kRemoteRights = kRemoteWrite | kRemoteRead | kRemoteAtomic;

}  // namespace rxnic
