// SPDX-License-Identifier: Apache-2.0
// The simulator's view of a program's shared mapping (bridge/channel/shared_mapping.h).
//
//   R1  Accepted only when the descriptor is a memfd of ordinary pages, sealed against shrinking and growing, of the
//       size that its header states. It is no larger than a ring can lie in it (kMappingBytes). So every byte can be
//       accessed whatever the program does, and all programs together leave the simulator its address space. Another
//       version is EPROTO, anything else that does not fit EINVAL.
//   R2  After that only `rung`, `waiting` and `left` are read from the header. They decide whether to look for
//       doorbells, whether to wake threads, and whether the program's end counts as its death; nothing else.
//   R3  wake() is one system call for all the completions since the last one, and none when no thread waits. The first
//       wake-up clears `waiting`, so that threads that were woken but do not run yet are not woken again.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "bridge/channel/shared_mapping.h"

namespace rxnic {

class LiveMapping {
 public:
  LiveMapping() = default;
  LiveMapping(LiveMapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  LiveMapping& operator=(LiveMapping&&) = delete;
  ~LiveMapping();
  // The descriptor can be closed afterwards. 0, or a positive errno and the reason in words.
  int open(int descriptor, std::string& why);

  channel::MappingHeader& header() const { return *static_cast<channel::MappingHeader*>(base_); }
  void* base() const { return base_; }
  std::uint64_t bytes() const { return bytes_; }
  // shared_mapping.h R7.
  bool left() const { return header().left.load(std::memory_order_acquire) != 0; }
  // A CQE is visible. A thread that begins to wait from now on returns at once; one that waits already needs wake().
  void completed();
  void wake();

 private:
  void* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  bool completed_ = false;  // since the last wake()
};

}  // namespace rxnic
