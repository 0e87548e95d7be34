// SPDX-License-Identifier: Apache-2.0
#include "bridge/channel/descriptor_closer.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace rxnic::channel {

namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::uint64_t kConnections = std::uint64_t{1} << 63;  // of an owner: they wait for no descriptor of its

// The link's text is the kernel's own: no program can choose it for another kind of file, as paths begin with "/".
bool closes_at_once(int descriptor) {
  if (fcntl(descriptor, F_GET_SEALS) >= 0) return true;  // a memfd
  char target[32];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t bytes = readlink(link.c_str(), target, sizeof target);
  const std::string_view kind(target, bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
  return kind.starts_with("pipe:[") || kind == "anon_inode:[eventfd]";
}

// Whether a connection that is shut down has no packet. Every packet has credentials from now on, the end has none.
bool is_empty(int connection) {
  const int on = 1;
  setsockopt(connection, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  int failed = 0;
  socklen_t bytes = sizeof failed;
  getsockopt(connection, SOL_SOCKET, SO_ERROR, &failed, &bytes);  // takes an error (ECONNRESET) away
  return !has_descriptors(connection);
}

// While it exists its thread is interrupted every millisecond: a socket that lingers is not waited for. (R4)
class Interruptions {
 public:
  Interruptions() {
    struct sigaction nothing = {};
    nothing.sa_handler = [](int) {};
    nothing.sa_flags = SA_RESTART;
    sigaction(number(), &nothing, nullptr);
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, number());
    pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
    sigevent to_thread = {};
    to_thread.sigev_notify = SIGEV_THREAD_ID;
    to_thread.sigev_signo = number();
    to_thread._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    there_ = timer_create(CLOCK_MONOTONIC, &to_thread, &timer_) == 0;
    const itimerspec period{{0, 1'000'000}, {0, 1'000'000}};
    if (there_) timer_settime(timer_, 0, &period, nullptr);
  }
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;
  ~Interruptions() {
    if (there_) timer_delete(timer_);
  }

 private:
  static int number() { return SIGRTMAX - 1; }
  timer_t timer_{};
  bool there_ = false;
};

}  // namespace

struct DescriptorCloser::Shared {
  struct Job {
    Descriptor descriptor;
    bool connection = false;
  };
  struct Account {
    std::deque<Job> waiting;
    std::size_t held = 0;           // those that wait, and the one that is being closed
    SteadyClock::time_point since;  // when that was begun
    bool busy = false;
  };
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::map<std::uint64_t, Account> accounts;  // of owners that hold something
  std::deque<std::uint64_t> ready;            // owners with something that waits, and none that is being closed
  std::size_t held = 0;
  SteadyClock::time_point full_since;
  bool over = false;
  std::function<void(Descriptor)> close;

  void add(std::uint64_t owner, Job job) {
    Account& account = accounts[owner];
    account.waiting.push_back(std::move(job));
    ++account.held;
    if (++held == kMost) full_since = SteadyClock::now();
    if (!account.busy && account.waiting.size() == 1) ready.push_back(owner);
    changed.notify_one();
  }

  void run() {
    for (std::unique_lock lock(mutex);;) {
      changed.wait(lock, [this] { return over || !ready.empty(); });
      if (ready.empty()) return;
      const std::uint64_t owner = ready.front();
      ready.pop_front();
      Account& account = accounts.at(owner);  // stays: it is busy
      account.busy = true;
      account.since = SteadyClock::now();
      Job job = std::move(account.waiting.front());
      account.waiting.pop_front();
      lock.unlock();
      if (job.connection) {
        const Interruptions interruptions;
        job.descriptor.reset();
      } else {
        close(std::move(job.descriptor));
      }
      lock.lock();
      account.busy = false;
      --held;
      if (--account.held == 0) {
        accounts.erase(owner);
      } else {
        ready.push_back(owner);
      }
    }
  }
};

DescriptorCloser::DescriptorCloser(std::function<void(Descriptor)> close) : shared_(std::make_shared<Shared>()) {
  shared_->close = std::move(close);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    for (unsigned n = 0; n < kMostThreads; ++n) threads_.emplace_back([shared = shared_] { shared->run(); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    end_threads();
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

DescriptorCloser::~DescriptorCloser() { end_threads(); }

// Nothing is held: they end at once, and are waited for.
void DescriptorCloser::end_threads() {
  bool idle = false;
  {
    const std::lock_guard guard(shared_->mutex);
    idle = shared_->held == 0;
    shared_->over = true;
    shared_->changed.notify_all();
  }
  for (std::thread& thread : threads_) idle ? thread.join() : thread.detach();
}

void DescriptorCloser::take(std::uint64_t owner, Descriptor descriptor) {
  if (!descriptor || closes_at_once(descriptor.get())) return;
  const linger none{};
  setsockopt(descriptor.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);  // ENOTSOCK: then not
  hand_over(owner, std::move(descriptor), false);
}

void DescriptorCloser::end(std::uint64_t owner, Descriptor connection) {
  if (!connection) return;
  shutdown(connection.get(), SHUT_RDWR);  // no further packet comes
  if (is_empty(connection.get())) return connection.reset();
  hand_over(owner | kConnections, std::move(connection), true);
}

void DescriptorCloser::hand_over(std::uint64_t owner, Descriptor descriptor, bool connection) {
  const std::lock_guard guard(shared_->mutex);
  shared_->add(owner, {std::move(descriptor), connection});
}

DescriptorCloser::State DescriptorCloser::state(std::uint64_t owner) const {
  const std::lock_guard guard(shared_->mutex);
  const auto now = SteadyClock::now();
  const auto found = shared_->accounts.find(owner);
  if (found != shared_->accounts.end() && found->second.held >= kMostOfOwner) {
    const Shared::Account& account = found->second;
    return account.busy && now - account.since >= kPatience ? State::kStuck : State::kFull;
  }
  if (shared_->held < kMost) return State::kRoom;
  return now - shared_->full_since >= kPatience ? State::kStuck : State::kFull;
}

std::size_t DescriptorCloser::held() const {
  const std::lock_guard guard(shared_->mutex);
  return shared_->held;
}

}  // namespace rxnic::channel
