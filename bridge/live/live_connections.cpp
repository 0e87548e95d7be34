// SPDX-License-Identifier: Apache-2.0
// The connections of live_programs.h: which requests are answered here, how a client ends.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "bridge/live/live_programs.h"

namespace rxnic {

using channel::Message;
using channel::Received;
using channel::Request;
using channel::Waiting;

namespace {

constexpr std::uint16_t kLastClient = 0x3fff;  // programs.h
constexpr int kMessagesAtOnce = 16;            // of a connection, before the others are read

// The request concerns an object of another client, whom a descriptor names.
constexpr bool is_import(Request type) { return type >= Request::kImportPd && type <= Request::kImportDeviceMemory; }

// A program chooses its name, and the name is printed in messages.
std::string printable(const char (&name)[64]) {
  std::string text(name, strnlen(name, sizeof name));
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return text;
}

// Sets `domain` to the file of which the request's descriptor is, if the request has a descriptor. 0 or an errno.
int name_file(const Received& request, channel::XrcDomain& domain) {
  if (request.descriptor_count > 1) return EINVAL;
  domain.has_file = static_cast<std::uint32_t>(request.descriptor_count);
  const channel::FileIdentity& file = request.files[0];
  domain.file_device = file.device;
  domain.file_number = file.number;
  return domain.has_file != 0 && file.number == 0 ? EBADF : 0;
}

}  // namespace

std::string LivePrograms::name_of(const Connection& connection) {
  std::string who = "process " + std::to_string(connection.peer.pid);
  if (!connection.program.empty()) who += " (" + connection.program + ")";
  return who;
}

void LivePrograms::refuse(const Connection& connection, const std::string& why) {
  ++counters_.refused;
  say("refused " + name_of(connection) + ": " + why);
}

// R15.
void LivePrograms::receive(Connection& connection) {
  try {
    receive_all(connection);
  } catch (const std::exception& e) {
    break_off(connection, e.what());
  }
}

// A request that is being carried out has no reply any more.
void LivePrograms::break_off(Connection& connection, const std::string& why) {
  say("ended the connection of " + name_of(connection) + ": " + why);
  connection.busy = false;
  disconnect(connection);
}

void LivePrograms::receive_all(Connection& connection) {
  for (int i = 0; i < kMessagesAtOnce && !connection.busy; ++i) {
    Received received;
    switch (const int status = doorkeeper_.receive(owner_of(connection.peer), connection.socket.get(), received)) {
      case 0:
        handle(connection, received);
        if (connection.gone) return;
        break;
      case EAGAIN:
      case EBUSY:  // R11
        return;
      case EPIPE:
        return disconnect(connection);
      case EDQUOT:  // R11
        refuse(connection, "descriptors that it has passed cannot be closed: no further ones are taken");
        return disconnect(connection);
      case EBADMSG:
        refuse(connection, "it sent a packet that is no message of the channel");
        answer(connection, received.message, EPROTO);
        return disconnect(connection);
      default:
        refuse(connection, std::string("what it sends cannot be received: ") + std::strerror(status));
        return disconnect(connection);
    }
  }
}

// R2.
void LivePrograms::handle(Connection& connection, Received& received) {
  Message& message = received.message;
  if (message.version != channel::kVersion) {
    refuse(connection, "it speaks version " + std::to_string(message.version) +
                           " of the channel, this simulator version " + std::to_string(channel::kVersion));
    return answer(connection, message, EPROTO);
  }
  if (message.type == Request::kHello) {
    connection.program = printable(message.body.hello.program);
    connection.cookie = message.body.hello.socket;
    channel::Hello& hello = message.body.hello;
    hello.nics = options_.nics;
    hello.simulator_pid = static_cast<std::uint32_t>(getpid());
    hello.node_guids = options_.node_guids;
    return answer(connection, message, 0);
  }
  if (message.type == Request::kOpen) return handle_open(connection, received);
  if (message.type == Request::kImportDevice) {
    const Connection* const from = whose(received);
    if (from == nullptr) return answer(connection, message, EBADF);
    message.body.import = {};
    message.body.import.number = from->nic;
    return answer(connection, message, 0);
  }
  if (connection.state != State::kOpen || message.type < Request::kHello || message.type > channel::kLastRequest) {
    return answer(connection, message, EINVAL);
  }
  connection.request = message;
  if (message.type == Request::kCreateChannel) {
    std::uint32_t number = 0;
    int status = EINVAL;
    if (received.descriptor_count == 1) {
      status = has_room_for_channel(*connection.client)
                   ? connection.client->add_channel(received.descriptors[0].get(), number)
                   : EMFILE;
    }
    if (status != 0) return answer(connection, message, status);
    connection.request.body.handle = {number};
  }
  if (message.type == Request::kOpenXrcd) {
    const int status = name_file(received, connection.request.body.xrcd);
    if (status != 0) return answer(connection, message, status);
  }
  if (is_import(message.type)) {
    const Connection* const from = whose(received);
    if (from == nullptr || from->nic != connection.nic) return answer(connection, message, EBADF);
    connection.request.body.import.client = raw(from->client->id());
  }
  ProgramEvent& event = events_.emplace_back();
  event.kind = ProgramEvent::Kind::kRequest;
  event.client = connection.client->id();
  event.message = connection.request;
  connection.busy = true;
}

// The connection that the request's descriptor is the program's end of. (R13)
const LivePrograms::Connection* LivePrograms::whose(const channel::Received& request) const {
  if (request.descriptor_count != 1) return nullptr;
  const std::uint64_t cookie = request.files[0].cookie;
  const auto is_it = [cookie](const auto& c) {
    return c.second.cookie == cookie && c.second.state == State::kOpen && !c.second.gone;
  };
  const auto it = cookie == 0 ? connections_.end() : std::find_if(connections_.begin(), connections_.end(), is_it);
  return it == connections_.end() ? nullptr : &it->second;
}

// R17.
bool LivePrograms::has_room_for_channel(const LiveClient& client) const {
  std::size_t all = 0, of_program = 0;
  for (const LiveClient* one : active_) {
    all += one->channels();
    if (one->pid() == client.pid()) of_program += one->channels();
  }
  return all < most_channels_ && (all < most_channels_ / 2 || of_program < kChannelShare);
}

void LivePrograms::handle_open(Connection& connection, Received& received) {
  const Message& message = received.message;
  if (connection.state != State::kNew) return answer(connection, message, EBUSY);
  ClientId id{};
  if (active_.size() >= options_.most_clients || !take_id(id)) {
    refuse(connection, "too many devices are open already");
    return answer(connection, message, EMFILE);
  }
  std::string why;
  auto client = std::make_unique<LiveClient>(id, ++last_client_, connection.peer.pid, connection.process.get(),
                                             connection.program, waiting_events_);
  if (const int status = client->open(received, why); status != 0) {
    free_ids_.push_front(id);  // nobody has seen it
    refuse(connection, why);
    return answer(connection, message, status);
  }
  ProgramEvent event;
  event.kind = ProgramEvent::Kind::kOpen;
  event.client = id;
  event.nic = message.body.open.nic;
  event.pid = static_cast<std::uint32_t>(connection.peer.pid);
  event.program = connection.program;
  events_.push_back(std::move(event));
  connection.request = message;
  connection.busy = true;
  connection.state = State::kOpening;
  connection.nic = message.body.open.nic;
  clients_[raw(id)] = client.get();
  serials_[raw(id)] = connection.serial;
  connection.client = std::move(client);
}

// An id that was never used, or the one that was released first. (R12)
bool LivePrograms::take_id(ClientId& id) {
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

void LivePrograms::opened(ClientId id, std::int32_t status, const channel::DeviceAttributes& attributes) {
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
  const char* const reached = client.own_memory() < 0 ? "; of its memory only its queues can be accessed" : "";
  notes_.say(name_of(*connection) + " has opened NIC " + std::to_string(message.body.open.nic) + reached);
  if (connection->gone) return close_client(*connection);
  // Once for each write: as a semaphore, the program's eventfd stays readable after it was read.
  if (!watch(client.wake(), Source::kDoorbell, connection->serial, EPOLLET)) {
    return break_off(*connection, std::string("its doorbells cannot be waited for: ") + std::strerror(errno));
  }
  answer(*connection, message, 0);
}

void LivePrograms::reply(ClientId id, const Message& message) {
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

void LivePrograms::failed(ClientId client, const std::string& why) {
  Connection* const connection = connection_of(client);
  if (connection != nullptr && !connection->gone) {
    return break_off(*connection, "a request of it failed in the simulator: " + why);
  }
  if (connection != nullptr && connection->busy) {
    connection->busy = false;
    say("a request of " + name_of(*connection) + ", which has ended, failed in the simulator: " + why);
    return close_client(*connection);
  }
  say("the objects of client " + std::to_string(raw(client)) + " cannot be freed: " + why);
}

void LivePrograms::answer(Connection& connection, Message message, std::int32_t status) {
  show();
  message.version = channel::kVersion;
  message.status = status;
  // EAGAIN: the socket is full, because the program does not read its replies. EPIPE is left to poll(): there may still
  // be messages to read.
  if (channel::send_message(connection.socket.get(), message, {}, Waiting::kNo) == EAGAIN) disconnect(connection);
}

// R5.
void LivePrograms::disconnect(Connection& connection) {
  if (connection.gone) return;
  connection.gone = true;
  unwatch(connection.socket.get());
  close_socket(connection);
  if (connection.process) unwatch(connection.process.get());  // closed with the client, which is killed by it
  if (connection.state == State::kOpen) unwatch(connection.client->wake());
  if (connection.state == State::kNew) {
    dead_.push_back(connection.serial);  // erased later: the caller may still use it
  } else if (!connection.busy) {
    close_client(connection);
  }
}

void LivePrograms::close_client(Connection& connection) {
  ProgramEvent& event = events_.emplace_back();
  event.kind = ProgramEvent::Kind::kClose;
  event.client = connection.client->id();
  if (ended_) return;  // it has been ended
  const std::string who = name_of(connection);
  if (connection.client->mapping().left()) return notes_.say(who + " has closed its device");
  notes_.say(who + " has died with its device open");
  options_.on_death(who);
}

void LivePrograms::forget(Connection& connection) {
  if (connection.client) {
    std::erase(active_, connection.client.get());
    clients_[raw(connection.client->id())] = nullptr;
  }
  connections_.erase(connection.serial);
}

// R8.
void LivePrograms::end_all(bool notify_model) {
  show();
  ended_ = true;
  acceptor_.close(listener_, doorkeeper_);
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

LivePrograms::Connection* LivePrograms::connection_of(ClientId client) {
  if (raw(client) >= clients_.size() || clients_[raw(client)] == nullptr) return nullptr;
  const auto found = connections_.find(serials_[raw(client)]);
  return found == connections_.end() ? nullptr : &found->second;
}

}  // namespace rxnic
