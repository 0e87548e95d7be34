// SPDX-License-Identifier: Apache-2.0
// Stages of a run beside the simulation, each in a thread of its own: before it (Ahead) or behind it (Behind).
//
//   R1  Items come out in the order in which they went in. Nothing else passes between two stages, so no result depends
//       on the threads.
//   R2  kSlots items wait between two stages at most: the faster one waits for the other. It goes on when the slower
//       one has done half of them, so that it does not wake up for each.
//   R3  Items are swapped: who gives one gets back one that was used before, with its memory.
//   R4  An error in a stage comes out of it where the next item would. Ahead throws it behind what was made before,
//       Behind from the next add() or finish(). A stage that is destroyed ends its thread.
//   R5  Without threads an item is made when it is asked for, and used when it is given. A process that may use one
//       core alone has no threads. Nor has one that may not start any (RLIMIT_NPROC, a limit of its cgroup).
#pragma once

#include <sched.h>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace rxnic {

// Whether this process may run on more than one core (R5).
inline bool has_second_core() {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_COUNT(&cores) > 1;
}

// Without a thread when the system has none (R5).
template <class Run>
std::jthread thread_if_any(Run run) {
  try {
    return std::jthread(std::move(run));
  } catch (const std::system_error&) {
    return {};
  }
}

// Between two threads: one puts, the other takes. They never both wait: all slots are full, or none is.
template <class T>
class Exchange {
 public:
  static constexpr std::size_t kSlots = 8;
  // Waits for room. False: closed, and `item` is not taken.
  bool put(T& item) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || waiting_ < kSlots; });
    if (closed_) return false;
    std::swap(slots_[(first_ + waiting_++) % kSlots], item);
    if (waiting_ >= kSlots / 2) changed_.notify_one();
    return true;
  }
  // Waits for an item. False: closed, and none is left.
  bool take(T& item) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || waiting_ != 0; });
    if (waiting_ == 0) return false;
    std::swap(slots_[first_], item);
    first_ = (first_ + 1) % kSlots;
    --waiting_;
    if (waiting_ <= kSlots / 2) changed_.notify_one();
    return true;
  }
  void close() {
    const std::unique_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<T, kSlots> slots_{};
  std::size_t first_ = 0, waiting_ = 0;
  bool closed_ = false;
};

// Makes items before they are asked for.
template <class T>
class Ahead {
 public:
  using Make = std::function<bool(T&)>;  // false: there is no more
  Ahead(Make make, bool thread) : make_(std::move(make)) {
    if (thread) thread_ = thread_if_any([this] { run(); });
  }
  ~Ahead() { made_.close(); }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;
  // The next item. False: there is no more. Throws what `make` throws (R4).
  bool next(T& item) {
    if (!thread_.joinable()) return make_(item);
    if (made_.take(item)) return true;
    if (error_) std::rethrow_exception(error_);
    return false;
  }

 private:
  void run() {
    try {
      for (T item{}; make_(item) && made_.put(item);) {
      }
    } catch (...) {
      error_ = std::current_exception();
    }
    made_.close();
  }

  Make make_;
  Exchange<T> made_;
  std::exception_ptr error_;
  std::jthread thread_;  // joined first
};

// Uses items after they were given.
template <class T>
class Behind {
 public:
  using Use = std::function<void(T&)>;  // leaves the item as one that was never used, but for its memory
  Behind(Use use, bool thread) : use_(std::move(use)) {
    if (thread) thread_ = thread_if_any([this] { run(); });
  }
  ~Behind() { given_.close(); }
  Behind(const Behind&) = delete;
  Behind& operator=(const Behind&) = delete;
  // Throws what `use` throws (R4).
  void add(T& item) {
    if (!thread_.joinable()) return use_(item);
    if (!given_.put(item)) std::rethrow_exception(error_);
  }
  // Waits until all have been used. Throws likewise.
  void finish() {
    given_.close();
    if (thread_.joinable()) thread_.join();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void run() {
    try {
      for (T item{}; given_.take(item);) use_(item);
    } catch (...) {
      error_ = std::current_exception();
      given_.close();
    }
  }

  Use use_;
  Exchange<T> given_;
  std::exception_ptr error_;
  std::jthread thread_;  // joined first
};

}  // namespace rxnic
