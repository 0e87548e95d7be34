// SPDX-License-Identifier: Apache-2.0
// What live_programs.h waits for: doorbells, sockets, ends of processes, new connections;
// and which of these are accepted.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <utility>

#include "bridge/live/live_programs.h"

namespace rxnic {

using channel::Message;
using channel::Request;
using channel::Waiting;
using std::chrono::nanoseconds;

namespace {

constexpr int kConnectionsAtOnce = 64;
constexpr int kPeerPidfd = 77;                   // SO_PEERPIDFD, which older headers do not have
constexpr nanoseconds kBacklogRetry{1'000'000};  // how often full pipes are tried again

int wait_for_events(int epoll, std::span<epoll_event> ready, nanoseconds longest) {
  const int room = static_cast<int>(ready.size());
  const bool for_ever = longest == nanoseconds::max();
  const timespec timeout{for_ever ? 0 : static_cast<time_t>(longest.count() / 1'000'000'000),
                         for_ever ? 0 : static_cast<long>(longest.count() % 1'000'000'000)};
  const int count = epoll_pwait2(epoll, ready.data(), room, for_ever ? nullptr : &timeout, nullptr);
  if (count >= 0 || errno != ENOSYS) return count;
  // An old kernel, or a filter of system calls: in milliseconds, rounded up.
  const auto ms = std::min<std::int64_t>((longest.count() + 999'999) / 1'000'000, 1'000'000);
  return epoll_wait(epoll, ready.data(), room, for_ever ? -1 : static_cast<int>(ms));
}

// A pidfd of the process that has connected, which has not ended; empty: errno says why not. Before Linux 6.5 it is of
// whoever has its number.
channel::Descriptor process_of(int socket, pid_t pid) {
  int number = -1;
  socklen_t bytes = sizeof number;
  if (getsockopt(socket, SOL_SOCKET, kPeerPidfd, &number, &bytes) != 0) {
    if (errno != ENOPROTOOPT) return {};
    number = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  }
  channel::Descriptor process(number);
  pollfd ended{number, POLLIN, 0};
  if (!process || ::poll(&ended, 1, 0) == 0) return process;
  errno = ESRCH;
  return {};
}

}  // namespace

bool LivePrograms::open(std::string& error) {
  if (!listener_.open(options_.address, error)) return false;
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  // When there was none for it, errno says so now.
  if (epoll_ && !stop_event_) stop_event_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (epoll_ && stop_event_ && watch(listener_.get(), Source::kListener, 0) &&
      watch(stop_event_.get(), Source::kStop, 0) && (options_.extra < 0 || watch(options_.extra, Source::kExtra, 0))) {
    return true;
  }
  error = "cannot wait for programs at '" + options_.address + "': " + std::strerror(errno);
  acceptor_.close(listener_, doorkeeper_);
  return false;
}

bool LivePrograms::watch(int descriptor, Source source, std::uint64_t serial, std::uint32_t how) {
  epoll_event event{};
  event.events = EPOLLIN | how;
  event.data.u64 = serial << 3 | static_cast<std::uint64_t>(source);
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

// To be called before the descriptor is closed: the program may hold the same file open, and epoll would watch it for
// ever.
void LivePrograms::unwatch(int descriptor) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr); }

void LivePrograms::poll(nanoseconds longest) {
  ++counters_.polls;
  if (backlog_) {
    if (const auto now = Clock::now(); now >= next_flush_) {
      const std::size_t before = waiting_events_.waiting;
      bool done = true;
      for (LiveClient* client : active_) done = client->flush() && done;
      backlog_ = !done;
      if (waiting_events_.waiting == before) next_flush_ = now + kBacklogRetry;  // nobody reads
    }
    if (backlog_) longest = std::min(longest, kBacklogRetry);
  }
  if (options_.on_tick) longest = std::min<nanoseconds>(longest, std::chrono::milliseconds{options_.tick_ms});
  if (ended_)
    longest = std::min<nanoseconds>(longest, std::max(nanoseconds{0}, nanoseconds{cut_off_at_ - Clock::now()}));
  if (!silent_.empty()) {
    longest =
        std::min<nanoseconds>(longest, std::max(nanoseconds{0}, nanoseconds{silent_.front().when - Clock::now()}));
  }
  epoll_event ready[64];
  const int count = wait_for_events(epoll_.get(), ready, longest);
  for (int i = 0; i < count; ++i) {
    const auto source = static_cast<Source>(ready[i].data.u64 & 7);
    if (source == Source::kListener) accept_all();
    if (source == Source::kExtra && options_.on_extra) options_.on_extra();
    // An earlier event of this batch may have ended the connection. Serials are never used twice.
    const auto found = connections_.find(ready[i].data.u64 >> 3);
    if (found == connections_.end() || found->second.gone) continue;
    Connection& connection = found->second;
    if (source == Source::kDoorbell) connection.client->woken();
    if (source == Source::kProcess) disconnect(connection);
    if (source == Source::kSocket) receive(connection);
  }
  if (stopping_.load(std::memory_order_relaxed) && !ended_) {
    unwatch(stop_event_.get());
    end_all(true);
    cut_off_at_ = Clock::now() + std::chrono::milliseconds{options_.stop_ms};
  }
  if (ended_ && !cut_off_ && Clock::now() >= cut_off_at_) {
    cut_off_ = true;
    notes_.say("the run ends before the objects of all programs are freed");
  }
  if (count < static_cast<int>(std::size(ready))) close_silent();  // what they have sent is taken
  log_.report();
  notes_.report();
  for (const std::uint64_t serial : dead_) connections_.erase(serial);
  dead_.clear();
  if (options_.on_tick && Clock::now() >= next_tick_) {
    next_tick_ = Clock::now() + std::chrono::milliseconds{options_.tick_ms};
    options_.on_tick();
  }
}

void LivePrograms::accept_all() {
  for (int i = 0; i < kConnectionsAtOnce; ++i) {
    try {
      if (!accept_one()) return;
    } catch (const std::exception& e) {  // (R15)
      ++counters_.refused;
      say(std::string("refused a program: ") + e.what());
    }
  }
}

// False: there is no further one.
bool LivePrograms::accept_one() {
  using Outcome = channel::Acceptor::Outcome;
  Connection connection;
  const Outcome outcome = acceptor_.accept(listener_.get(), connection.socket, connection.peer);
  if (outcome == Outcome::kNone) return false;
  if (outcome == Outcome::kNoDescriptor) {
    ++counters_.refused;
    say("refused a program: the simulator has no file descriptor left");
    close_socket(connection);
    return true;
  }
  if (outcome == Outcome::kOtherUser) {  // R1
    refuse(connection, "it is of user " + std::to_string(connection.peer.uid) + ", this simulator of user " +
                           std::to_string(geteuid()));
    close_socket(connection);
    return true;
  }
  if (connections_.size() >= options_.most_clients + kMoreConnections) {
    refuse(connection, "there are " + std::to_string(connections_.size()) + " connections already");
    turn_away(connection, EUSERS);
    return true;
  }
  connection.serial = ++last_serial_;
  if (!watch_connection(connection)) {  // its process, or what it sends, would not be noticed
    const int status = errno;
    refuse(connection, std::string("it cannot be waited for: ") + std::strerror(status));
    unwatch(connection.socket.get());
    turn_away(connection, status);
    return true;
  }
  const std::uint64_t serial = connection.serial;
  silent_.push_back({Clock::now() + std::chrono::milliseconds{options_.hello_ms}, serial});
  receive(connections_.emplace(serial, std::move(connection)).first->second);  // often its kHello is there already
  return true;
}

bool LivePrograms::watch_connection(Connection& connection) {
  if (!watch(connection.socket.get(), Source::kSocket, connection.serial)) return false;
  if (connection.peer.pid == 0) return true;
  connection.process = process_of(connection.socket.get(), connection.peer.pid);
  return connection.process && watch(connection.process.get(), Source::kProcess, connection.serial);
}

// R2.
void LivePrograms::turn_away(Connection& connection, int status) {
  Message refusal;
  refusal.type = Request::kHello;
  refusal.sequence = 1;
  refusal.status = status;
  channel::send_message(connection.socket.get(), refusal, {}, Waiting::kNo);
  close_socket(connection);
}

void LivePrograms::close_socket(Connection& connection) {
  doorkeeper_.end(owner_of(connection.peer), std::move(connection.socket));
}

void LivePrograms::close_silent() {
  for (const auto now = Clock::now(); !silent_.empty() && silent_.front().when <= now; silent_.pop_front()) {
    const auto found = connections_.find(silent_.front().serial);
    if (found == connections_.end() || found->second.gone || found->second.state != State::kNew) continue;
    refuse(found->second, "it has opened no NIC for " + std::to_string(options_.hello_ms) + " ms");
    disconnect(found->second);
  }
}

}  // namespace rxnic
