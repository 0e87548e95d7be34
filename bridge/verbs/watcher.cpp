// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/watcher.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "bridge/channel/protocol.h"
#include "bridge/verbs/connection.h"
#include "bridge/verbs/data_path.h"
#include "bridge/verbs/fork_guard.h"

namespace rxnic::verbs {

namespace {

constexpr int kBusyShare = 8;  // this part of a CPU: others may want it, too

std::int64_t cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000;
}

bool stays() {
  const char* wish = std::getenv("RXNIC_ON_LOSS");
  return wish != nullptr && std::strcmp(wish, "stay") == 0;
}

}  // namespace

int Watcher::start(Context& context, channel::Descriptor notices, int notice_ms) {
  context_ = &context;
  notice_ms_ = notice_ms;
  notices_ = std::move(notices);
  stays_ = stays();
  stop_.reset(eventfd(0, EFD_CLOEXEC));
  stopped_.reset(eventfd(0, EFD_CLOEXEC));
  if (!stop_ || !stopped_) return errno;
  sigset_t all, before;  // (R1)
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int status = pthread_create(&thread, nullptr, run, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  running_ = status == 0;
  if (running_) pthread_detach(thread);
  return status;
}

void Watcher::stop() {
  if (!running_) return;
  running_ = false;
  eventfd_write(stop_.get(), 1);
  if (context_->connection != nullptr) context_->connection->hang_up();  // it may be waiting for an answer
  eventfd_t ended;
  while (eventfd_read(stopped_.get(), &ended) != 0 && errno == EINTR) continue;
}

void Watcher::become_child() {
  running_ = false;
  notices_.reset();
  stop_.reset();
  stopped_.reset();
}

void* Watcher::run(void* watcher) {
  auto& self = *static_cast<Watcher*>(watcher);
  const int stopped = self.stopped_.get();
  self.watch();
  eventfd_write(stopped, 1);
  return nullptr;
}

void Watcher::watch() {
  pollfd ready[] = {{stop_.get(), POLLIN, 0}, {notices_.get(), POLLIN, 0}};
  for (bool doubts = false;;) {
    const int found = poll(ready, 2, doubts ? notice_ms_ : -1);
    if (found < 0) continue;
    if (ready[0].revents != 0) return;
    if (found == 0 || show_lines()) {
      if (found != 0) looks_ = kLooks;
      doubts = may_wait_in_vain(found == 0);
      continue;
    }
    simulator_gone(*context_);  // (R3)
    const std::int64_t before = cpu_ms();
    if (poll(ready, 1, notice_ms_) == 0 && cpu_ms() - before >= notice_ms_ / kBusyShare) end_spinning();  // (R5)
    return;
  }
}

// (R2) False: there is nobody any more who writes.
bool Watcher::show_lines() {
  char text[16 * channel::kMaxNotice];
  const ssize_t bytes = read(notices_.get(), text, sizeof text);
  if (bytes <= 0) return false;
  // Lines are read as they were written: whole, but for the last of very many.
  for (std::string_view rest(text, static_cast<std::size_t>(bytes)); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    std::fprintf(stderr, "rxnic: %.*s\n", static_cast<int>(line.size()), line.data());
  }
  if (!activity_) context_->warned.store(false, std::memory_order_relaxed);
  return true;
}

// (R4) False: it does not. True: to be asked again, `waited` for so long.
bool Watcher::may_wait_in_vain(bool waited) {
  const std::optional<std::uint64_t> before = std::exchange(activity_, std::nullopt);
  channel::Message message = request(channel::Request::kQueryPeers);
  message.body.peers.lost = settled_;
  if (stays_ || context_->connection->ask(message) != 0) return false;
  const channel::Peers& peers = message.body.peers;
  if (peers.lost <= settled_) return --looks_ > 0;  // it falls when QPs begin anew
  if (peers.living == 0 && !context_->warned.load(std::memory_order_relaxed)) {
    activity_ = peers.activity;
    if (!waited || before != activity_) return true;
    std::fprintf(stderr,
                 "rxnic: every program that this one exchanges messages with has ended: %s has failed "
                 "(RXNIC_ON_LOSS=stay: keep it)\n",
                 context_->device->device.name);
    context_->given_up.store(true, std::memory_order_relaxed);
    context_->connection->hang_up();
  }
  settled_ = peers.lost;
  return false;
}

void Watcher::end_spinning() {
  if (stays_ || context_->told.load(std::memory_order_relaxed) || has_another(*context_)) return;
  std::fprintf(stderr,
               "rxnic: the program waits for what cannot come any more: ended (RXNIC_ON_LOSS=stay: let it be)\n");
  kill(getpid(), SIGTERM);
}

}  // namespace rxnic::verbs
