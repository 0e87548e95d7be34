// SPDX-License-Identifier: Apache-2.0
// Bounds how long an access to a program's memory may take.
//
//   R1  A page that its program supplies by itself (userfaultfd, FUSE) comes when the program pleases. Until then the
//       kernel waits where no signal but SIGKILL is heeded. A thread looks every tick. A program whose memory is still
//       accessed by the same access after most_ticks ticks is killed. Its pages end with the program, and the access
//       fails.
//   R2  The simulator itself may be asked to end meanwhile (SIGINT, SIGTERM or SIGHUP is pending). Then the program is
//       killed at once, and the simulator after end_ticks more when the access still does not end.
//   R3  The thread exists from the beginning: no program can make the simulator need it when there is none to be had.
//   R4  Ticks are counted, not time: a simulator that was stopped goes on as if nothing had happened.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace rxnic {

struct AccessWatchOptions {
  std::uint32_t tick_ms = 100;
  std::uint32_t most_ticks = 10;
  std::uint32_t end_ticks = 10;
};

class AccessWatch {
 public:
  // Throws std::system_error. (R3)
  explicit AccessWatch(const AccessWatchOptions& options);
  ~AccessWatch();
  AccessWatch(const AccessWatch&) = delete;
  AccessWatch& operator=(const AccessWatch&) = delete;

  // Around each access, to the memory of the process of this pidfd (-1: not known).
  void begin(int process) {
    process_.store(process, std::memory_order_relaxed);
    access_.store(++accesses_, std::memory_order_release);
  }
  // True: the program was killed during the access.
  bool end() {
    access_.store(0, std::memory_order_release);
    return killed_.load(std::memory_order_relaxed) == accesses_;
  }

 private:
  void watch();

  const AccessWatchOptions options_;
  std::uint64_t accesses_ = 0;            // of the thread that accesses
  std::atomic<std::uint64_t> access_{0};  // the one under way; 0: none
  std::atomic<std::uint64_t> killed_{0};  // the one whose program was killed
  std::atomic<int> process_{-1};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace rxnic
