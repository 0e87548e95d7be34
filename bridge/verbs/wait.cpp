// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/wait.h"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "bridge/verbs/data_path.h"

namespace rxnic::verbs {

namespace {

struct Idle {
  std::uint32_t polls = 0;        // in a row that found nothing
  std::uint32_t wait_us = 0;      // of the next wait
  std::uint64_t since = 0;        // ns: the first of them
  const void* context = nullptr;  // polled last; only compared
  bool mixed = false;             // (R3)
};
thread_local Idle idle;

std::uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

channel::MappingHeader& header(const Context& context) {
  return *static_cast<channel::MappingHeader*>(context.mapping);
}

// False: no CQE came.
bool wait_for_completion(Context& context, std::uint32_t seen, std::uint32_t us) {
  channel::MappingHeader& h = header(context);
  // Set before `completions` is compared with `seen`: a completion that comes too late for that comparison finds it set
  // and wakes this thread. The simulator clears it when it wakes. After a time-out it stays set, because another thread
  // may be waiting; if none is, the next wake-up has no effect.
  h.waiting.store(1, std::memory_order_seq_cst);
  if (h.completions.load(std::memory_order_seq_cst) != seen) return true;
  const timespec timeout{0, static_cast<long>(us) * 1000};
  return syscall(SYS_futex, &h.waiting, FUTEX_WAIT, 1, &timeout, nullptr, 0) == 0;
}

// Nobody holds the other end of the socket. No cancellation point, as the write() below.
bool simulator_has_ended(const Context& context) {
  pollfd socket{context.verbs.context.cmd_fd, 0, 0};
  const timespec at_once{};
  return syscall(SYS_ppoll, &socket, 1, &at_once, nullptr, 0) == 1 && (socket.revents & POLLHUP) != 0;
}

}  // namespace

std::uint32_t completions_seen(const Context& context) {
  return header(context).completions.load(std::memory_order_acquire);
}

void made_progress() { idle.polls = idle.wait_us = 0, idle.mixed = false; }

void found_nothing(Context& context, std::uint32_t seen) {
  if (idle.context != &context) {
    idle.mixed = idle.context != nullptr;
    idle.context = &context;
  }
  if (idle.polls++ == 0) idle.since = now_ns();
  if (idle.polls < kEmptyPolls) return;
  const std::uint64_t now = now_ns(), elapsed = now - idle.since;
  if (elapsed < kYieldNs) {  // (R4)
    sched_yield();
    if (now_ns() - now < kOthersNs) {
      --idle.polls;
      return;
    }
  }
  const int saved = errno;
  bool woken = false;
  if (elapsed < kEmptyPolls * kPollNs) {  // (R1)
    idle.wait_us = std::clamp(idle.wait_us * 2, kFirstWaitUs, kLongestWaitUs);
    woken = wait_for_completion(context, seen, idle.mixed ? kMixedWaitUs : idle.wait_us);  // (R2, R3)
  } else {
    sched_yield();
  }
  if (!woken && simulator_has_ended(context)) simulator_gone(context);  // (R5)
  idle.polls = 0;
  errno = saved;
}

void ring_doorbell(Context& context, channel::Board board, std::uint32_t index, std::uint64_t value) {
  if (!channel::ring(context.mapping, board, index, value)) return;
  const int saved = errno;
  const std::uint64_t one = 1;
  // A full eventfd (EAGAIN) wakes the simulator as well. syscall(), because write() is a cancellation point and the
  // thread may hold a lock.
  syscall(SYS_write, context.wake_fd, &one, sizeof one);
  errno = saved;
}

}  // namespace rxnic::verbs
