// SPDX-License-Identifier: Apache-2.0
#include "bridge/channel/doorkeeper.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "bridge/channel/door_process.h"

namespace rxnic::channel {

namespace {

constexpr std::chrono::milliseconds kRetry{10};
constexpr int kEndMs = 500;

// Whether a connection that is shut down has no packet. Every packet has credentials from now on, the end has none.
bool is_empty(int connection) {
  const int on = 1;
  setsockopt(connection, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  int failed = 0;
  socklen_t bytes = sizeof failed;
  getsockopt(connection, SOL_SOCKET, SO_ERROR, &failed, &bytes);  // takes an error (ECONNRESET) away
  return !has_descriptors(connection);
}

}  // namespace

Doorkeeper::Doorkeeper(std::chrono::milliseconds answer_time) : answer_time_(answer_time) { start(); }

Doorkeeper::~Doorkeeper() { stop(); }

void Doorkeeper::start() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  socket_.reset(ends[0]);
  Descriptor theirs(ends[1]);
  sigset_t all, before;  // a signal to the whole process group is not for it
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t process = fork();
  if (process == 0) keep_door(theirs.get());
  if (process > 0) process_.reset(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!process_) {
    socket_.reset();  // with which it ends, if it was started
    throw std::system_error(error, std::generic_category(), "fork");
  }
  // Others know it by its name, which it has from then on. However late it comes: as an answer it would be wrong.
  theirs.reset();
  char named = 0;
  ssize_t bytes;
  do bytes = recv(socket_.get(), &named, sizeof named, 0);
  while (bytes < 0 && errno == EINTR);
  if (bytes != ssize_t{sizeof named}) {
    stop();
    throw std::system_error(ECHILD, std::generic_category(), "the process that receives from programs has ended");
  }
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(answer_time_).count();
  const timeval limit{static_cast<time_t>(us / 1'000'000), static_cast<suseconds_t>(us % 1'000'000)};
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

// It may have been killed, and somebody here may have taken notice of that.
void Doorkeeper::stop() {
  socket_.reset();
  if (!process_) return;
  pollfd ends{process_.get(), POLLIN, 0};
  if (poll(&ends, 1, kEndMs) == 0) syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
  siginfo_t end;
  waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(process_.get()), &end, WEXITED);
  process_.reset();
}

bool Doorkeeper::send(const DoorRequest& request, int connection) {
  const std::span<const std::uint8_t> bytes{reinterpret_cast<const std::uint8_t*>(&request), sizeof request};
  for (int tries = 0; tries < 2; ++tries) {
    try {
      if (!socket_) start();
    } catch (const std::system_error&) {
      return false;
    }
    if (send_packet(socket_.get(), bytes, {&connection, 1}, Waiting::kYes) == 0) return true;
    stop();  // it was killed
  }
  return false;
}

int Doorkeeper::receive(std::uint64_t owner, int socket, std::span<std::uint8_t> to, std::size_t most, Packet& packet,
                        Passed& passed) {
  packet = {};
  passed = {};
  iovec data{to.data(), to.size()};
  msghdr header{};  // without room for descriptors (R1)
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  ssize_t bytes;
  do bytes = recvmsg(socket, &header, MSG_PEEK | MSG_DONTWAIT);
  while (bytes < 0 && errno == EINTR);
  if (bytes < 0) return errno == ECONNRESET || errno == ENOTCONN ? EPIPE : errno;
  if ((header.msg_flags & MSG_CTRUNC) != 0) {
    if (most == 0) return EBADMSG;
    DoorRequest request;
    request.owner = owner;
    request.most = static_cast<std::uint32_t>(most);
    request.bytes = static_cast<std::uint32_t>(std::min(to.size(), kMostBytes));
    return ask(request, socket, to, packet, passed);
  }
  if (bytes == 0) return EPIPE;
  packet.bytes = static_cast<std::size_t>(bytes);
  do bytes = recv(socket, to.data(), to.size(), MSG_DONTWAIT);
  while (bytes < 0 && errno == EINTR);
  return (header.msg_flags & MSG_TRUNC) == 0 ? 0 : EBADMSG;
}

int Doorkeeper::ask(const DoorRequest& request, int connection, std::span<std::uint8_t> to, Packet& packet,
                    Passed& passed) {
  const auto full = full_.find(request.owner);
  if (full != full_.end() && Clock::now() < full->second) return EBUSY;
  if (!send(request, connection)) return EIO;
  DoorAnswer answer;
  iovec parts[] = {{&answer, sizeof answer}, {to.data(), to.size()}};
  alignas(cmsghdr) unsigned char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  msghdr header{};
  header.msg_iov = parts;
  header.msg_iovlen = 2;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t bytes = -1;
  for (int tries = 0; tries < 2 && bytes < 0; ++tries) {  // this process may have been stopped, the doorkeeper not
    do bytes = recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC);
    while (bytes < 0 && errno == EINTR);
  }
  if (bytes < static_cast<ssize_t>(sizeof answer)) {  // (R6)
    stop();
    return EIO;
  }
  std::array<Descriptor, kMaxDescriptors> came;
  const std::size_t count = take_descriptors(header, came);
  if (answer.status == EBUSY) {
    full_[request.owner] = Clock::now() + kRetry;
  } else if (full != full_.end()) {
    full_.erase(full);
  }
  if (answer.status != 0) return answer.status;
  if ((header.msg_flags & MSG_CTRUNC) != 0) return EMFILE;
  packet = {static_cast<std::size_t>(bytes) - sizeof answer, answer.descriptors};
  passed.count = answer.descriptors;
  passed.files = answer.files;
  for (std::size_t n = 0, next = 0; n < passed.count; ++n) {
    if (answer.quick[n] && next < count) passed.descriptors[n] = std::move(came[next++]);
  }
  return 0;
}

int Doorkeeper::receive(std::uint64_t owner, int socket, Received& received) {
  Packet packet;
  Passed passed;
  const std::span<std::uint8_t> to{reinterpret_cast<std::uint8_t*>(&received.message), sizeof received.message};
  const int status = receive(owner, socket, to, kMaxDescriptors, packet, passed);
  received.descriptor_count = 0;
  if (status != 0) return status;
  if (packet.bytes != sizeof(Message)) return EBADMSG;
  received.descriptor_count = passed.count;
  received.descriptors = std::move(passed.descriptors);
  received.files = passed.files;
  return 0;
}

// The doorkeeper's copy is to be the last one: it is told when there is no other.
void Doorkeeper::end(std::uint64_t owner, Descriptor connection) {
  if (!connection) return;
  shutdown(connection.get(), SHUT_RDWR);  // no further packet comes
  full_.erase(owner);
  if (is_empty(connection.get())) return;
  DoorRequest request;
  request.owner = owner;
  request.closes = true;
  if (!send(request, connection.get())) return;  // nobody else can close it
  connection.reset();
  send_packet(socket_.get(), {reinterpret_cast<const std::uint8_t*>(&request), sizeof request}, {}, Waiting::kYes);
}

}  // namespace rxnic::channel
