// SPDX-License-Identifier: Apache-2.0
#include "bridge/live/access_watch.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <string_view>

namespace rxnic {

namespace {

bool asked_to_end() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
         sigismember(&pending, SIGHUP) == 1;
}

}  // namespace

AccessWatch::~AccessWatch() {
  {
    const std::lock_guard guard(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

AccessWatch::AccessWatch(const AccessWatchOptions& options) : options_(options) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { watch(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void AccessWatch::watch() {
  const std::chrono::milliseconds tick{options_.tick_ms};
  std::uint64_t last = 0;
  std::uint32_t ticks = 0, asked = 0;  // that this access has taken; since the simulator was asked to end
  for (std::unique_lock lock(mutex_); !changed_.wait_for(lock, tick, [this] { return over_; });) {
    const std::uint64_t access = access_.load(std::memory_order_acquire);
    if (access == 0 || access != last) {
      last = access;
      ticks = asked = 0;
      continue;
    }
    ++ticks;
    asked = asked_to_end() ? asked + 1 : 0;
    if (ticks < options_.most_ticks && asked == 0) continue;
    if (killed_.load(std::memory_order_relaxed) != access) {
      killed_.store(access, std::memory_order_relaxed);
      const int process = process_.load(std::memory_order_relaxed);
      if (process >= 0) syscall(SYS_pidfd_send_signal, process, SIGKILL, nullptr, 0);
    }
    if (asked > options_.end_ticks) {  // R2
      constexpr std::string_view kLast = "rxnic: an access to a program's memory does not end: killed\n";
      [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kLast.data(), kLast.size());
      kill(getpid(), SIGKILL);
    }
  }
}

}  // namespace rxnic
