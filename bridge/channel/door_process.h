// SPDX-License-Identifier: Apache-2.0
// The doorkeeper's process (doorkeeper.h): requests, each with a connection, and its answers.
#pragma once

#include "bridge/channel/packet.h"

namespace rxnic::channel {

struct DoorRequest {
  std::uint64_t owner = 0;
  std::uint32_t most = 0;   // descriptors
  std::uint32_t bytes = 0;  // that there is room for
  bool closes = false;      // the connection, when a second request of this kind has come
};
struct DoorAnswer {  // the packet follows, and the descriptors that are quick
  std::int32_t status = 0;
  std::uint32_t descriptors = 0;
  std::array<FileIdentity, kMaxDescriptors> files;
  std::array<bool, kMaxDescriptors> quick{};
};

// In a process that was forked for it, with all signals blocked.
[[noreturn]] void keep_door(int socket);

}  // namespace rxnic::channel
