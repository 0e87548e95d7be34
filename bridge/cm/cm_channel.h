// SPDX-License-Identifier: Apache-2.0
// What a program's /dev/infiniband/rdma_cm (bridge/device_files) and the agent say to each other, over a SOCK_SEQPACKET
// socket for each open file.
//
//   R1  The first packet is a Hello. The answer is a CallReply with one descriptor: the end of a pipe that can be read,
//       with one byte for each event that waits. An event that goes with its ID takes its byte along.
//   R2  A Call is followed, in the same packet, by `in` bytes: the command as the program wrote it, without its header.
//       The bytes of the option follow the command SET_OPTION. With MIGRATE_ID comes the descriptor of the other file,
//       the end of its pipe: it proves that the program has the file. The answer is a CallReply and `bytes` bytes for
//       the place that the command names.
//   R3  GET_EVENT never waits: EAGAIN.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rxnic::cm {

inline constexpr const char* kCmSuffix = "-cm";  // the agent's address is the simulator's with this behind it
inline constexpr std::uint32_t kCmVersion = 2;
inline constexpr std::size_t kMaxCommandBytes = 2048;
inline constexpr std::size_t kMaxReplyBytes = 1024;

struct Hello {
  std::uint32_t version = kCmVersion;
  std::uint32_t only_nic = ~0u;  // that the program sees; ~0: all
};
struct Call {
  std::uint32_t command = 0;  // as enum of rdma_user_cm.h
  std::uint32_t in = 0;       // bytes that follow
  std::uint32_t out = 0;      // bytes that the program takes
  std::uint32_t reserved = 0;
};
struct CallReply {
  std::int32_t status = 0;  // 0 or a positive errno
  std::uint32_t bytes = 0;
};

}  // namespace rxnic::cm
