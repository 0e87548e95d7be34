// SPDX-License-Identifier: Apache-2.0
#include "bridge/device_files/rdma_cm.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bridge/cm/cm_channel.h"

namespace {

using rxnic::cm::Call;
using rxnic::cm::CallReply;
using rxnic::cm::Hello;

constexpr int kMost = 1024;  // open at once, and descriptors below 65,536
constexpr int kGreatest = 1 << 16;
constexpr unsigned kMajor = 10, kMinor = 58;

// Which descriptors are rdma_cm's: every write() of the program looks here.
std::atomic<std::uint64_t> is_one[kGreatest / 64];

struct File {
  int fd = -1;
  int socket = -1;
  pthread_mutex_t calls = PTHREAD_MUTEX_INITIALIZER;  // one call at a time
};
File files[kMost];
pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t& mutex_;
};

File* find(int fd) {
  const Lock lock(table);
  for (File& file : files) {
    if (file.fd == fd) return &file;
  }
  return nullptr;
}

// The C library's own, without the functions of this library.
int really_close(int fd) {
  static auto* const kBehind = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "close"));
  return kBehind(fd);
}

// Why this program has no rdma_cm (R3): what it prints itself is often no more than "out of memory".
void complain(const char* what, const char* why) {
  std::fprintf(stderr, "rxnic: no /dev/infiniband/rdma_cm: %s: %s\n", what, why);
}

// Beside the simulator's socket; -1 and errno.
int connect_to_agent(const char* simulator) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(simulator) + std::strlen(rxnic::cm::kCmSuffix);
  const char* const where = address.sun_path;
  if (length >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::strcat(std::strcpy(address.sun_path, simulator), rxnic::cm::kCmSuffix);
  socklen_t size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  if (where[0] == '@') {
    address.sun_path[0] = '\0';
  } else {
    ++size;
  }
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&address), size) == 0) return fd;
  const int why = errno;
  really_close(fd);
  errno = why;
  return -1;
}

// The answer to the Hello: the pipe. Otherwise it says why there is none.
bool greet(int socket, int& events) {
  Hello hello;
  const char* const only = std::getenv("RXNIC_NIC");
  if (only != nullptr && *only != '\0') hello.only_nic = static_cast<std::uint32_t>(std::strtoul(only, nullptr, 10));
  const bool sent = send(socket, &hello, sizeof hello, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof hello);
  CallReply reply;
  iovec piece{&reply, sizeof reply};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = 0;
  do got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (!sent || got != static_cast<ssize_t>(sizeof reply)) {
    complain("the connection manager has ended, or serves another user", "the simulator's output may say why");
    return false;
  }
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (reply.status != 0 || header == nullptr || header->cmsg_type != SCM_RIGHTS) {
    complain("the connection manager refuses this program", strerror(reply.status));
    return false;
  }
  std::memcpy(&events, CMSG_DATA(header), sizeof events);
  return true;
}

// Where a command says that its reply is to be put; nullptr: it has none.
void* response_of(std::uint32_t command, const std::uint8_t* body, std::size_t length) {
  std::size_t at = 0;
  switch (command) {
    case RDMA_USER_CM_CMD_CREATE_ID:
      at = offsetof(rdma_ucm_create_id, response);
      break;
    case RDMA_USER_CM_CMD_DESTROY_ID:
    case RDMA_USER_CM_CMD_LEAVE_MCAST:
    case RDMA_USER_CM_CMD_QUERY_ROUTE:
    case RDMA_USER_CM_CMD_QUERY:
    case RDMA_USER_CM_CMD_INIT_QP_ATTR:
    case RDMA_USER_CM_CMD_GET_EVENT:
    case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
    case RDMA_USER_CM_CMD_JOIN_MCAST:
    case RDMA_USER_CM_CMD_MIGRATE_ID:
      break;
    default:
      return nullptr;
  }
  std::uint64_t address = 0;
  if (length < at + sizeof address) return nullptr;
  std::memcpy(&address, body + at, sizeof address);
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

// The command as the agent gets it (cm_channel.h R2): its length, or -1 and errno. `with`: a descriptor that goes with
// it.
ssize_t prepare(std::uint32_t command, const std::uint8_t* body, std::size_t length, std::uint8_t* to, int& with) {
  if (length > rxnic::cm::kMaxCommandBytes) {
    errno = EINVAL;
    return -1;
  }
  std::memcpy(to, body, length);
  if (command == RDMA_USER_CM_CMD_SET_OPTION && length >= sizeof(rdma_ucm_set_option)) {
    rdma_ucm_set_option option;
    std::memcpy(&option, body, sizeof option);
    if (option.optlen > rxnic::cm::kMaxCommandBytes - sizeof option) {
      errno = EINVAL;
      return -1;
    }
    std::memcpy(to + sizeof option, reinterpret_cast<void*>(static_cast<std::uintptr_t>(option.optval)), option.optlen);
    return static_cast<ssize_t>(sizeof option + option.optlen);
  }
  if (command == RDMA_USER_CM_CMD_MIGRATE_ID && length >= sizeof(rdma_ucm_migrate_id)) {
    rdma_ucm_migrate_id migrate;
    std::memcpy(&migrate, body, sizeof migrate);
    with = static_cast<int>(migrate.fd);
    if (find(with) == nullptr) {
      errno = ENOENT;
      return -1;
    }
  }
  return static_cast<ssize_t>(length);
}

// Whether the packet was sent; with a copy of the descriptor `with`, unless it is -1.
bool send_with(int socket, const std::uint8_t* packet, std::size_t bytes, int with) {
  iovec piece{const_cast<std::uint8_t*>(packet), bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (with >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof with);
    std::memcpy(CMSG_DATA(header), &with, sizeof with);
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

// 0 or a positive errno (EBADF: another thread has closed `fd`); the reply's bytes are at `to`.
int call(File& file, int fd, const std::uint8_t* packet, std::size_t bytes, int with, void* to, std::size_t room) {
  const Lock lock(file.calls);
  if (file.fd != fd) return EBADF;
  std::uint8_t answer[sizeof(CallReply) + rxnic::cm::kMaxReplyBytes];
  ssize_t got = 0;
  if (!send_with(file.socket, packet, bytes, with)) return EIO;
  do got = recv(file.socket, answer, sizeof answer, 0);
  while (got < 0 && errno == EINTR);
  CallReply reply;
  if (got < static_cast<ssize_t>(sizeof reply)) return EIO;
  std::memcpy(&reply, answer, sizeof reply);
  if (reply.status != 0 || to == nullptr) return reply.status;
  const std::size_t there = static_cast<std::size_t>(got) - sizeof reply;
  std::memcpy(to, answer + sizeof reply, there < room ? there : room);
  return 0;
}

}  // namespace

bool is_rdma_cm(const char* path) { return path != nullptr && std::strcmp(path, "/dev/infiniband/rdma_cm") == 0; }

bool is_rdma_cm(int fd) {
  return fd >= 0 && fd < kGreatest && (is_one[fd / 64].load(std::memory_order_acquire) >> fd % 64 & 1) != 0;
}

dev_t rdma_cm_number() { return makedev(kMajor, kMinor); }

int open_rdma_cm(int flags) {
  const char* const simulator = std::getenv("RXNIC_SOCKET");
  const bool named = simulator != nullptr && *simulator != '\0';
  const int socket = named ? connect_to_agent(simulator) : -1;
  if (socket < 0) complain(named ? simulator : "RXNIC_SOCKET", named ? strerror(errno) : "names no simulator");
  int events = -1;
  if (socket < 0 || !greet(socket, events) || events >= kGreatest) {
    if (socket >= 0) really_close(socket);
    if (events >= 0) really_close(events);
    errno = ENODEV;  // (R3)
    return -1;
  }
  if ((flags & O_CLOEXEC) == 0) fcntl(events, F_SETFD, 0);
  if ((flags & O_NONBLOCK) != 0) fcntl(events, F_SETFL, O_NONBLOCK);
  {
    const Lock lock(table);
    for (File& file : files) {
      const Lock after_its_call(file.calls);
      if (file.fd >= 0) continue;
      file.fd = events;
      file.socket = socket;
      is_one[events / 64].fetch_or(std::uint64_t{1} << events % 64, std::memory_order_release);
      return events;
    }
  }
  really_close(socket);
  really_close(events);
  errno = EMFILE;
  return -1;
}

void forget_rdma_cm(int fd) {
  is_one[fd / 64].fetch_and(~(std::uint64_t{1} << fd % 64), std::memory_order_release);
  const Lock lock(table);
  for (File& file : files) {
    if (file.fd != fd) continue;
    const Lock after_its_call(file.calls);
    really_close(file.socket);
    file.fd = file.socket = -1;
  }
}

ssize_t write_rdma_cm(int fd, const void* bytes, std::size_t length) {  // (R2)
  File* const file = find(fd);
  rdma_ucm_cmd_hdr header;
  if (file == nullptr || length < sizeof header) {
    errno = EINVAL;
    return -1;
  }
  std::memcpy(&header, bytes, sizeof header);
  if (header.in + sizeof header > length) {
    errno = EINVAL;
    return -1;
  }
  const auto* const body = static_cast<const std::uint8_t*>(bytes) + sizeof header;
  std::uint8_t packet[sizeof(Call) + rxnic::cm::kMaxCommandBytes];
  int with = -1;
  const ssize_t in = prepare(header.cmd, body, header.in, packet + sizeof(Call), with);
  if (in < 0) return -1;
  const Call asked{header.cmd, static_cast<std::uint32_t>(in), header.out, 0};
  std::memcpy(packet, &asked, sizeof asked);
  void* const response = response_of(header.cmd, body, header.in);
  const bool waits = header.cmd == RDMA_USER_CM_CMD_GET_EVENT;
  int status = 0;
  do {
    char event = 0;
    const ssize_t got = waits ? read(fd, &event, 1) : 1;
    if (got < 0 && is_rdma_cm(fd)) return -1;  // EAGAIN, EINTR
    const std::size_t sent = sizeof asked + static_cast<std::size_t>(in);
    status = got <= 0 ? EIO : call(*file, fd, packet, sent, with, response, header.out);
  } while (waits && status == EAGAIN);                          // the event went with its ID
  if (waits && status != 0 && !is_rdma_cm(fd)) return pause();  // another thread has closed it: a kernel waits on
  if (status == 0) return static_cast<ssize_t>(length);
  errno = status;
  return -1;
}
