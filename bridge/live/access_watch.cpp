// SPDX-License-Identifier: Apache-2.0
#include "bridge/live/access_watch.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <string_view>

#include "bridge/channel/socket.h"
#include "bridge/live/page_rights.h"

namespace rxnic {

namespace {

bool asked_to_end() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
         sigismember(&pending, SIGHUP) == 1;
}

void say(std::string_view line) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

// Whether a FUSE connection has requests that its process has not answered.
bool has_waiting(const std::string& connection) {
  const channel::Descriptor file(open((connection + "/waiting").c_str(), O_RDONLY | O_CLOEXEC));
  char digit = '0';
  return file && read(file.get(), &digit, 1) == 1 && digit != '0';
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
  std::uint32_t ticks = 0, acted = 0, asked = 0;  // of this access; with act(); since the simulator was asked to end
  for (std::unique_lock lock(mutex_); !changed_.wait_for(lock, tick, [this] { return over_; });) {
    const std::uint64_t access = access_.load(std::memory_order_acquire);
    if (access == 0 || access != last) {
      last = access;
      ticks = acted = asked = 0;
      continue;
    }
    ++ticks;
    asked = asked_to_end() ? asked + 1 : 0;
    if (ticks < options_.most_ticks && asked == 0) continue;
    looked_.store(access, std::memory_order_seq_cst);
    if (access_.load(std::memory_order_seq_cst) != access) continue;  // ended; if not, its end() waits from now on
    const Access& accessed = *accessed_.load(std::memory_order_relaxed);
    act(accessed, acted++, asked != 0 ? options_.end_ticks / 2 : options_.most_ticks);
    if (asked > options_.end_ticks) {  // R2
      say("rxnic: an access to a program's memory does not end: killed\n");
      kill(getpid(), SIGKILL);
    }
  }
}

// R1; after `patience` ticks R5.
void AccessWatch::act(const Access& access, std::uint32_t tick, std::uint32_t patience) {
  if (tick == 0) {
    cost_.killed = true;
    if (access.process >= 0) syscall(SYS_pidfd_send_signal, access.process, SIGKILL, nullptr, 0);
  }
  if (tick < patience) return;
  std::string why;
  try {
    if (abort_one(access, why) || tick != patience) return;
    say("rxnic: an access to the memory of process " + std::to_string(access.pid) +
        " does not end, although the process was killed: " + why + "\n");
  } catch (const std::exception&) {  // no memory: the next tick tries again
  }
}

bool AccessWatch::abort_one(const Access& access, std::string& why) {
  why = "its /proc/PID/maps does not say of which file the page is";
  if (access.maps < 0) return false;
  for (const iovec& range : access.ranges) {
    const auto begin = reinterpret_cast<std::uint64_t>(range.iov_base);
    for (std::uint64_t at = begin; at < begin + range.iov_len;) {
      const PageRights::Range found = PageRights::range_at(access.maps, at);
      if (found.end <= at) break;
      at = found.end;
      if (!found.has_file()) continue;
      // Connections have the number of the device as the kernel stores it.
      const std::string number = std::to_string(std::uint64_t{found.major} << 20 | found.minor);
      const std::string connection = std::string(kConnections) + "/" + number;
      if (::access(connection.c_str(), F_OK) != 0) {
        why = "the file system of the page (device " + std::to_string(found.major) + ":" + std::to_string(found.minor) +
              ") does not answer. One in user space (FUSE) can be aborted: run `mount -t " + "fusectl none " +
              kConnections + "`, or end its process";
        continue;
      }
      if (!has_waiting(connection)) continue;
      const channel::Descriptor file(open((connection + "/abort").c_str(), O_WRONLY | O_CLOEXEC));
      if (file && write(file.get(), "1", 1) == 1) {
        cost_.aborted += (cost_.aborted.empty() ? "" : ", ") + number;
        return true;
      }
      why = "the file system in user space of the page does not answer, and cannot be aborted by " + connection +
            "/abort (" + std::strerror(errno) + "); end its process";
      return false;
    }
  }
  return false;
}

}  // namespace rxnic
