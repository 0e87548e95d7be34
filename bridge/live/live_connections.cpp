// SPDX-License-Identifier: Apache-2.0
// The connections of live_port.h: which are accepted, which requests are answered here, how a client ends.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "bridge/live/live_port.h"

namespace rxnic {

using channel::Message;
using channel::Received;
using channel::Request;
using channel::Waiting;
using std::chrono::nanoseconds;

namespace {

constexpr std::uint16_t kLastClient = 0x3fff;   // host_port.h
constexpr std::uint32_t kMoreConnections = 64;  // besides clients: to list devices, or to be refused with a reply
constexpr int kMessagesAtOnce = 16;             // of a connection, before the others are read
constexpr int kConnectionsAtOnce = 64;
constexpr nanoseconds kBacklogRetry{1'000'000};  // how often full pipes are tried again

// A program chooses its name, and the name is printed in messages.
std::string printable(const char (&name)[64]) {
  std::string text(name, strnlen(name, sizeof name));
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return text;
}

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

}  // namespace

bool LivePort::open(std::string& error) {
  if (!listener_.open(options_.address, error)) return false;
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  spare_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (watch(listener_.get(), Source::kListener, 0) && watch(stop_event_.get(), Source::kStop, 0) &&
      (options_.extra < 0 || watch(options_.extra, Source::kExtra, 0))) {
    return true;
  }
  error = "cannot wait for programs at '" + options_.address + "': " + std::strerror(errno);
  listener_.close();
  return false;
}

bool LivePort::watch(int descriptor, Source source, std::uint64_t serial, std::uint32_t how) {
  epoll_event event{};
  event.events = EPOLLIN | how;
  event.data.u64 = serial << 3 | static_cast<std::uint64_t>(source);
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

// To be called before the descriptor is closed: the program may hold the same file open, and epoll would watch it for
// ever.
void LivePort::unwatch(int descriptor) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr); }

void LivePort::poll(nanoseconds longest) {
  ++counters_.polls;
  if (backlog_) {
    bool done = true;
    for (LiveClient* client : active_) done = client->flush() && done;
    backlog_ = !done;
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

std::string LivePort::name_of(const Connection& connection) {
  std::string who = "process " + std::to_string(connection.peer.pid);
  if (!connection.program.empty()) who += " (" + connection.program + ")";
  return who;
}

void LivePort::refuse(const Connection& connection, const std::string& why) {
  ++counters_.refused;
  say("refused " + name_of(connection) + ": " + why);
}

void LivePort::accept_all() {
  for (int i = 0; i < kConnectionsAtOnce; ++i) {
    channel::Descriptor socket = listener_.accept();
    if (!socket) {
      if ((errno != EMFILE && errno != ENFILE) || !spare_) return;
      // No descriptor is left, so the connection cannot even be refused, and epoll would report it again at once: the
      // spare descriptor is given up for it.
      spare_.reset();
      const bool turned_away = static_cast<bool>(listener_.accept());
      spare_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      ++counters_.refused;
      say("refused a program: the simulator has no file descriptor left");
      if (!turned_away) return;
      continue;
    }
    Connection connection;
    const bool known = channel::peer_of(socket.get(), connection.peer);
    if (!known || connection.peer.uid != geteuid()) {  // R1
      refuse(connection, "it is of user " + std::to_string(connection.peer.uid) + ", this simulator of user " +
                             std::to_string(geteuid()));
      close_socket(std::move(socket));
      continue;
    }
    if (connections_.size() >= options_.most_clients + kMoreConnections) {
      refuse(connection, "there are " + std::to_string(connections_.size()) + " connections already");
      turn_away(std::move(socket));
      continue;
    }
    connection.serial = ++last_serial_;
    connection.socket = std::move(socket);
    if (connection.peer.pid != 0) {
      connection.process.reset(static_cast<int>(syscall(SYS_pidfd_open, connection.peer.pid, 0)));
    }
    if (!watch(connection.socket.get(), Source::kSocket, connection.serial)) continue;
    if (connection.process) watch(connection.process.get(), Source::kProcess, connection.serial);
    const std::uint64_t serial = connection.serial;
    silent_.push_back({Clock::now() + std::chrono::milliseconds{options_.hello_ms}, serial});
    receive(connections_.emplace(serial, std::move(connection)).first->second);  // often its kHello is there already
  }
}

// R2.
void LivePort::turn_away(channel::Descriptor socket) {
  Message refusal;
  refusal.type = Request::kHello;
  refusal.sequence = 1;
  refusal.status = EUSERS;
  channel::send_message(socket.get(), refusal, {}, Waiting::kNo);
  close_socket(std::move(socket));
}

void LivePort::close_socket(channel::Descriptor socket) {
  if (socket) channel::drain(socket.get(), closer_);
}

void LivePort::close_silent() {
  for (const auto now = Clock::now(); !silent_.empty() && silent_.front().when <= now; silent_.pop_front()) {
    const auto found = connections_.find(silent_.front().serial);
    if (found == connections_.end() || found->second.gone || found->second.state != State::kNew) continue;
    refuse(found->second, "it has opened no NIC for " + std::to_string(options_.hello_ms) + " ms");
    disconnect(found->second);
  }
}

void LivePort::receive(Connection& connection) {
  for (int i = 0; i < kMessagesAtOnce && !connection.busy; ++i) {
    Received received;
    switch (channel::receive_message(connection.socket.get(), received, Waiting::kNo, closer_)) {
      case 0:
        handle(connection, received);
        for (channel::Descriptor& not_kept : received.descriptors) closer_.take(std::move(not_kept));
        if (connection.gone) return;
        break;
      case EAGAIN:
        return;
      case EBADMSG:
        refuse(connection, "it sent a packet that is no message of the channel");
        answer(connection, received.message, EPROTO);
        [[fallthrough]];
      default:
        return disconnect(connection);
    }
  }
}

// R2.
void LivePort::handle(Connection& connection, Received& received) {
  Message& message = received.message;
  if (message.version != channel::kVersion) {
    refuse(connection, "it speaks version " + std::to_string(message.version) +
                           " of the channel, this simulator version " + std::to_string(channel::kVersion));
    return answer(connection, message, EPROTO);
  }
  if (message.type == Request::kHello) {
    connection.program = printable(message.body.hello.program);
    channel::Hello& hello = message.body.hello;
    hello.nics = options_.nics;
    hello.simulator_pid = static_cast<std::uint32_t>(getpid());
    hello.node_guids = options_.node_guids;
    return answer(connection, message, 0);
  }
  if (message.type == Request::kOpen) return handle_open(connection, received);
  if (connection.state != State::kOpen || message.type < Request::kHello || message.type > channel::kLastRequest) {
    return answer(connection, message, EINVAL);
  }
  connection.request = message;
  if (message.type == Request::kCreateChannel) {
    std::uint32_t number = 0;
    const int status =
        received.descriptor_count != 1 ? EINVAL : connection.client->add_channel(received.descriptors[0].get(), number);
    if (status != 0) return answer(connection, message, status);
    connection.request.body.handle = {number};
  }
  connection.busy = true;
  HostEvent& event = events_.emplace_back();
  event.kind = HostEvent::Kind::kRequest;
  event.client = connection.client->id();
  event.message = connection.request;
}

void LivePort::handle_open(Connection& connection, Received& received) {
  const Message& message = received.message;
  if (connection.state != State::kNew) return answer(connection, message, EBUSY);
  ClientId id{};
  if (active_.size() >= options_.most_clients || !take_id(id)) {
    refuse(connection, "too many devices are open already");
    return answer(connection, message, EMFILE);
  }
  std::string why;
  auto client = std::make_unique<LiveClient>(id, ++last_client_, connection.peer.pid, connection.process.get(),
                                             connection.program);
  if (const int status = client->open(received, why); status != 0) {
    free_ids_.push_front(id);  // nobody has seen it
    refuse(connection, why);
    return answer(connection, message, status);
  }
  connection.request = message;
  connection.busy = true;
  connection.state = State::kOpening;
  HostEvent& event = events_.emplace_back();
  event.kind = HostEvent::Kind::kOpen;
  event.client = id;
  event.nic = message.body.open.nic;
  event.pid = static_cast<std::uint32_t>(connection.peer.pid);
  event.program = connection.program;
  clients_[raw(id)] = client.get();
  serials_[raw(id)] = connection.serial;
  connection.client = std::move(client);
}

// An id that was never used, or the one that was released first. (R12)
bool LivePort::take_id(ClientId& id) {
  if (clients_.size() <= kLastClient) {
    id = ClientId{static_cast<std::uint16_t>(clients_.size())};
    clients_.push_back(nullptr);
    serials_.push_back(0);
    return true;
  }
  if (free_ids_.empty()) return false;
  id = free_ids_.front();
  free_ids_.pop_front();
  return true;
}

void LivePort::opened(ClientId id, std::int32_t status, const channel::DeviceAttributes& attributes) {
  Connection* connection = connection_of(id);
  if (connection == nullptr || connection->state != State::kOpening) return;
  LiveClient& client = *connection->client;
  connection->busy = false;
  Message message = connection->request;
  message.body.open.client = raw(id);
  message.body.open.attributes = attributes;
  if (status != 0) {
    refuse(*connection, "its NIC could not be opened: " + std::string(std::strerror(status)));
    clients_[raw(id)] = nullptr;
    connection->client.reset();
    released(id);
    connection->state = State::kNew;
    if (connection->gone) return forget(*connection);
    return answer(*connection, connection->request, status);
  }
  ++counters_.clients;
  connection->state = State::kOpen;
  active_.push_back(&client);
  notes_.say(name_of(*connection) + " has opened NIC " + std::to_string(message.body.open.nic));
  if (connection->gone) return close_client(*connection);
  // Once for each write: as a semaphore, the program's eventfd stays readable after it was read.
  watch(client.wake(), Source::kDoorbell, connection->serial, EPOLLET);
  answer(*connection, message, 0);
}

void LivePort::reply(ClientId id, const Message& message) {
  Connection* connection = connection_of(id);
  if (connection == nullptr || !connection->busy || connection->state != State::kOpen) return;
  connection->busy = false;
  const Message& request = connection->request;
  if (request.type == (message.status == 0 ? Request::kFreeChannel : Request::kCreateChannel)) {
    connection->client->remove_channel(request.body.handle.number);
  }
  if (connection->gone) return close_client(*connection);
  Message sent = message;
  sent.type = request.type;
  sent.sequence = request.sequence;
  answer(*connection, sent, message.status);
}

void LivePort::answer(Connection& connection, Message message, std::int32_t status) {
  message.version = channel::kVersion;
  message.status = status;
  // EAGAIN: the socket is full, because the program does not read its replies. EPIPE is left to poll(): there may still
  // be messages to read.
  if (channel::send_message(connection.socket.get(), message, {}, Waiting::kNo) == EAGAIN) disconnect(connection);
}

// R5.
void LivePort::disconnect(Connection& connection) {
  if (connection.gone) return;
  connection.gone = true;
  unwatch(connection.socket.get());
  close_socket(std::move(connection.socket));
  if (connection.process) unwatch(connection.process.get());  // closed with the client, which is killed by it
  if (connection.state == State::kOpen) unwatch(connection.client->wake());
  if (connection.state == State::kNew) {
    dead_.push_back(connection.serial);  // erased later: the caller may still use it
  } else if (!connection.busy) {
    close_client(connection);
  }
}

void LivePort::close_client(Connection& connection) {
  HostEvent& event = events_.emplace_back();
  event.kind = HostEvent::Kind::kClose;
  event.client = connection.client->id();
  if (ended_) return;  // the port has ended it
  const std::string who = name_of(connection);
  if (connection.client->mapping().left()) return notes_.say(who + " has closed its device");
  notes_.say(who + " has died with its device open");
  options_.on_death(who);
}

void LivePort::forget(Connection& connection) {
  if (connection.client) {
    std::erase(active_, connection.client.get());
    clients_[raw(connection.client->id())] = nullptr;
  }
  connections_.erase(connection.serial);
}

// R8.
void LivePort::end_all(bool notify_model) {
  ended_ = true;
  listener_.close();
  for (LiveClient* client : active_) {
    client->notify(0, {channel::EventKind::kDeviceFatal, 0});
    client->mapping().header().simulator_sleeps.store(0, std::memory_order_seq_cst);
  }
  std::vector<std::uint64_t> serials;
  for (const auto& [serial, connection] : connections_) serials.push_back(serial);
  std::sort(serials.begin(), serials.end());
  for (const std::uint64_t serial : serials) {
    if (const auto found = connections_.find(serial); found != connections_.end()) disconnect(found->second);
  }
  // Wakes threads that wait for a completion, so that they find out at once.
  for (LiveClient* client : active_) {
    client->mapping().completed();
    client->mapping().wake();
  }
  if (!notify_model) connections_.clear();
}

LivePort::Connection* LivePort::connection_of(ClientId client) {
  if (raw(client) >= clients_.size() || clients_[raw(client)] == nullptr) return nullptr;
  return &connections_.at(serials_[raw(client)]);
}

}  // namespace rxnic
