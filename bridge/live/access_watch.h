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
//   R5  Pages of a file system in user space (FUSE) that another process serves do not end with the program. The kernel
//       waits for them where not even SIGKILL is heeded. So a file system is aborted when the access goes on for
//       most_ticks after the program was killed. When the simulator is asked to end it is half of end_ticks. The file
//       system is one that the accessed pages are mapped from and that has requests waiting. There is one in each tick
//       until the access fails. It is aborted through fusectl, which has to be mounted at kConnections, by root or by
//       its owner. Where that cannot be, a line on standard error says what can be done. Until then the access lasts,
//       and no signal ends the simulator. It helps to mount fusectl later, or to end the file system's process. A file
//       system of the kernel whose server does not answer (NFS) cannot be aborted, nor one where /proc/PID/maps cannot
//       be read.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace rxnic {

struct AccessWatchOptions {
  std::uint32_t tick_ms = 100;
  std::uint32_t most_ticks = 10;
  std::uint32_t end_ticks = 10;
};

// What is accessed, and whose it is.
struct Access {
  pid_t pid = 0;
  int process = -1;  // pidfd; -1: not known
  int maps = -1;     // /proc/PID/maps; -1: it cannot be read
  std::span<const iovec> ranges;
};

class AccessWatch {
 public:
  static constexpr char kConnections[] = "/sys/fs/fuse/connections";  // R5

  // Throws std::system_error. (R3)
  explicit AccessWatch(const AccessWatchOptions& options);
  ~AccessWatch();
  AccessWatch(const AccessWatch&) = delete;
  AccessWatch& operator=(const AccessWatch&) = delete;

  // What an access took.
  struct Cost {
    bool killed = false;  // the program was
    std::string aborted;  // the names of FUSE's connections that were (R5)
  };

  // Around each access. What `access` leads to stays as it is until end().
  void begin(const Access& access) {
    accessed_.store(&access, std::memory_order_relaxed);
    access_.store(++accesses_, std::memory_order_release);
  }
  Cost end() {
    access_.store(0, std::memory_order_seq_cst);
    if (looked_.load(std::memory_order_seq_cst) != accesses_) return {};
    const std::lock_guard guard(mutex_);  // the thread may still look
    return std::exchange(cost_, {});
  }

 private:
  void watch();
  void act(const Access& access, std::uint32_t tick, std::uint32_t patience);
  bool abort_one(const Access& access, std::string& why);

  const AccessWatchOptions options_;
  std::uint64_t accesses_ = 0;            // of the thread that accesses
  std::atomic<std::uint64_t> access_{0};  // the one under way; 0: none
  std::atomic<std::uint64_t> looked_{0};  // the last one that takes too long: `accessed_` is looked at
  std::atomic<const Access*> accessed_{nullptr};
  std::mutex mutex_;  // held by the thread, except while it waits
  std::condition_variable changed_;
  Cost cost_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace rxnic
