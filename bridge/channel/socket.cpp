// SPDX-License-Identifier: Apache-2.0
#include "bridge/channel/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "bridge/channel/packet.h"

namespace rxnic::channel {

namespace {

constexpr int kBacklog = 128;
constexpr int kConnectSeconds = 10;

struct Name {
  sockaddr_un address{};
  socklen_t bytes = 0;
  bool file = false;
};

// R1.
bool parse(const std::string& text, Name& name, std::string& error) {
  const bool abstract = !text.empty() && text[0] == '@';
  // A path ends with a zero byte; an abstract name starts with one and is as long as the length says.
  if (text.size() <= (abstract ? 1u : 0u)) {
    error = "the address of a socket is a path or @name, not '" + text + "'";
    return false;
  }
  if (text.size() + (abstract ? 0u : 1u) > sizeof name.address.sun_path || text.find('\0') != std::string::npos) {
    error = "'" + text + "' is too long for a socket: " + std::to_string(text.size()) + " bytes, at most " +
            std::to_string(sizeof name.address.sun_path - (abstract ? 0u : 1u));
    return false;
  }
  name.address.sun_family = AF_UNIX;
  std::copy(text.begin(), text.end(), name.address.sun_path);
  if (abstract) name.address.sun_path[0] = '\0';
  name.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size() + (abstract ? 0u : 1u));
  name.file = !abstract;
  return true;
}

std::string because(int number) {
  char text[128];
  return strerror_r(number, text, sizeof text);  // the GNU one: the result need not be `text`
}

int gone(int number) { return number == ECONNRESET || number == ENOTCONN || number == ECONNREFUSED ? EPIPE : number; }

Descriptor seqpacket(int flags = 0) { return Descriptor{socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0)}; }

int connect_name(int socket, const Name& name) {
  while (connect(socket, reinterpret_cast<const sockaddr*>(&name.address), name.bytes) != 0) {
    if (errno == EINTR) continue;
    return errno;
  }
  return 0;
}

bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// The lock is held while a stale socket file is replaced, until the new socket listens. So only one of two simulators
// that find the file replaces it. A lock on the folder leaves no file behind. Other programs may lock the folder, too:
// after a second the lock is not waited for.
Descriptor lock_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  Descriptor lock{open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  for (int tries = 0; lock && tries < 100 && flock(lock.get(), LOCK_EX | LOCK_NB) != 0; ++tries) usleep(10'000);
  return lock;
}

}  // namespace

void Descriptor::reset(int number) {
  if (number_ >= 0) {
    const int kept = errno;
    ::close(number_);  // not repeated after EINTR: Linux has freed the number
    errno = kept;
  }
  number_ = number;
}

Descriptor connect_to(const std::string& address, std::string& error) {
  Name name;
  if (!parse(address, name, error)) return {};
  Descriptor socket = seqpacket();
  const timeval limit{kConnectSeconds, 0};  // for a full backlog, as of a stopped listener
  const timeval none{};
  int result = socket ? 0 : errno;
  if (result == 0) {
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    result = connect_name(socket.get(), name);
    if (result == ECONNREFUSED && name.file) {  // R2
      const Descriptor lock = lock_folder(address);
      result = connect_name(socket.get(), name);
    }
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
  }
  Peer listener;
  if (result == 0 && peer_of(socket.get(), listener) && (listener.uid == geteuid() || listener.uid == 0)) return socket;
  error = "no simulator answers at '" + address + "': " +
          (result == 0        ? "who listens there is user " + std::to_string(listener.uid)
           : result == EAGAIN ? "it does not accept connections"
                              : because(result));
  return {};
}

bool Listener::open(const std::string& address, std::string& error) {
  close();
  Name name;
  if (!parse(address, name, error)) return false;
  socket_ = seqpacket(SOCK_NONBLOCK);
  const std::string cannot = "cannot listen at '" + address + "': ";
  if (!socket_) {
    error = cannot + because(errno);
  } else if (name.file) {
    if (listen_at_file(address, error)) return true;
  } else if (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&name.address), name.bytes) == 0 &&
             listen(socket_.get(), kBacklog) == 0) {
    return true;
  } else {
    error = cannot + (errno == EADDRINUSE ? "another simulator listens there" : because(errno));
  }
  close();
  return false;
}

// R2. The folder stays locked until the socket listens: between bind() and listen() another simulator would take the
// file for a stale one.
bool Listener::listen_at_file(const std::string& path, std::string& error) {
  const std::string cannot = "cannot listen at '" + path + "': ";
  Name name;
  if (!parse(path, name, error)) return false;
  const Descriptor lock = lock_folder(path);
  struct stat found;
  if (lstat(path.c_str(), &found) == 0) {
    if (!S_ISSOCK(found.st_mode)) {
      error = cannot + "there is a file of that name that is no socket";
      return false;
    }
    // Non-blocking: a full backlog (EAGAIN) shows, too, that the owner lives.
    const Descriptor probe = seqpacket(SOCK_NONBLOCK);
    const int answer = probe ? connect_name(probe.get(), name) : errno;
    if (answer != ECONNREFUSED) {
      const bool lives = answer == 0 || answer == EAGAIN || answer == EPROTOTYPE;
      error = cannot + (lives ? "another program listens there" : because(answer));
      return false;
    }
    unlink(path.c_str());
  }
  // The mode of the socket's own inode is that of its file, less the umask.
  if (fchmod(socket_.get(), 0600) != 0 ||
      bind(socket_.get(), reinterpret_cast<const sockaddr*>(&name.address), name.bytes) != 0 ||
      lstat(path.c_str(), &file_) != 0) {
    error = cannot + because(errno);
    return false;
  }
  path_ = path;
  if ((file_.st_mode & 0777) != 0600) fchmodat(AT_FDCWD, path.c_str(), 0600, AT_SYMLINK_NOFOLLOW);
  if (listen(socket_.get(), kBacklog) == 0) return true;
  error = cannot + because(errno);
  return false;
}

Descriptor accept_from(int listener) {
  int number;
  do number = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  while (number < 0 && (errno == EINTR || errno == ECONNABORTED));
  return Descriptor{number};
}

Descriptor Listener::accept() { return accept_from(socket_.get()); }

void Listener::close() {
  struct stat found;
  if (!path_.empty() && lstat(path_.c_str(), &found) == 0 && same_file(found, file_)) unlink(path_.c_str());
  path_.clear();
  socket_.reset();
}

std::uint64_t socket_cookie(int descriptor) {
  std::uint64_t cookie = 0;
  socklen_t bytes = sizeof cookie;
  return getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &bytes) == 0 ? cookie : 0;
}

bool peer_of(int socket, Peer& peer) {
  ucred found{};
  socklen_t bytes = sizeof found;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &found, &bytes) != 0 || bytes != sizeof found) return false;
  peer = {found.pid, found.uid, found.gid};
  return true;
}

int send_message(int socket, const Message& message, std::span<const int> descriptors, Waiting waiting) {
  return send_packet(socket, {reinterpret_cast<const std::uint8_t*>(&message), sizeof message}, descriptors, waiting);
}

int send_packet(int socket, std::span<const std::uint8_t> packet, std::span<const int> descriptors, Waiting waiting) {
  if (descriptors.size() > kMaxDescriptors) return EINVAL;
  iovec data{const_cast<std::uint8_t*>(packet.data()), packet.size()};
  alignas(cmsghdr) unsigned char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  const int flags = MSG_NOSIGNAL | (waiting == Waiting::kNo ? MSG_DONTWAIT : 0);
  while (sendmsg(socket, &header, flags) < 0) {  // a packet goes as a whole or not at all
    if (errno != EINTR) return gone(errno);
  }
  return 0;
}

// The packet is looked at before it is received: of one with too many descriptors none that is surplus gets here.
int receive_packet(int socket, std::span<std::uint8_t> to, PacketDescriptors& into, std::size_t most, Packet& packet,
                   Waiting waiting) {
  packet = {};
  iovec data{to.data(), to.size()};
  alignas(cmsghdr) unsigned char control[CMSG_SPACE((kMaxDescriptors + 1) * sizeof(int))];
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = CMSG_LEN((kMaxDescriptors + 1) * sizeof(int));  // not more in the room for alignment
  const int flags = waiting == Waiting::kNo ? MSG_DONTWAIT : 0;
  ssize_t bytes;
  do bytes = recvmsg(socket, &header, flags | MSG_PEEK | MSG_CMSG_CLOEXEC);
  while (bytes < 0 && errno == EINTR);
  if (bytes < 0) return gone(errno);
  packet.bytes = static_cast<std::size_t>(bytes);
  packet.descriptors = take_descriptors(header, into);
  if (packet.descriptors > most || (header.msg_flags & MSG_CTRUNC) != 0) return EBADMSG;
  if (bytes == 0 && packet.descriptors == 0) return EPIPE;
  do bytes = recv(socket, to.data(), to.size(), flags);  // its descriptors are here already
  while (bytes < 0 && errno == EINTR);
  return (header.msg_flags & MSG_TRUNC) == 0 ? 0 : EBADMSG;
}

int receive_message(int socket, Received& received, Waiting waiting) {
  for (Descriptor& old : received.descriptors) old.reset();
  received.descriptor_count = 0;
  Packet packet;
  PacketDescriptors came;
  const std::span<std::uint8_t> to{reinterpret_cast<std::uint8_t*>(&received.message), sizeof received.message};
  if (const int status = receive_packet(socket, to, came, kMaxDescriptors, packet, waiting); status != 0) return status;
  if (packet.bytes != sizeof(Message)) return EBADMSG;  // R4
  received.descriptor_count = packet.descriptors;
  std::move(came.begin(), came.begin() + kMaxDescriptors, received.descriptors.begin());
  return 0;
}

std::size_t take_descriptors(msghdr& header, std::span<Descriptor> into) {
  std::size_t taken = 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count && taken < into.size(); ++i) {
      int number;
      std::memcpy(&number, CMSG_DATA(c) + i * sizeof number, sizeof number);
      into[taken++].reset(number);
    }
  }
  return taken;
}

bool has_descriptors(int socket) {
  char byte;
  iovec data{&byte, sizeof byte};
  msghdr header{};  // without room for descriptors: the flags say that there are some
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  return recvmsg(socket, &header, MSG_PEEK | MSG_DONTWAIT) >= 0 && (header.msg_flags & MSG_CTRUNC) != 0;
}

bool identify(int descriptor, FileIdentity& file) {
  struct statx found = {};
  if (statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &found) != 0) return false;
  file.device = std::uint64_t{found.stx_dev_major} << 32 | found.stx_dev_minor;
  file.number = found.stx_ino;
  file.cookie = socket_cookie(descriptor);
  return true;
}

}  // namespace rxnic::channel
