// SPDX-License-Identifier: Apache-2.0
// The socket of the channel, for both sides: one Message a packet of a SOCK_SEQPACKET socket, with up to
// kMaxDescriptors descriptors.
//
//   R1  An address is a path, or @name in the abstract name space (no file; the kernel removes it with its owner).
//   R2  A socket file has mode 0600 whatever the umask is, and never more, not even for a moment. One whose owner is
//       gone is replaced; one whose owner lives, or a file that is no socket, is refused. Its owner removes it.
//       Who finds the file of an owner that is about to listen waits for that.
//   R3  Every descriptor that comes out of here is close-on-exec.
//   R4  A packet of the wrong size, or with more descriptors than fit, is EBADMSG, and its descriptors are closed.
//       After too many descriptors the connection is of no more use: their packet is not taken from it.
//   R5  No call raises SIGPIPE or throws; results are 0 or a positive errno. EPIPE: the other side is gone. EAGAIN: the
//       call would have to wait. EINTR is never returned.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "bridge/channel/protocol.h"

namespace rxnic::channel {

inline constexpr std::size_t kMaxDescriptors = 4;

// A file descriptor with an owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }
  void reset(int number = -1);  // closes what it owned; errno is left alone

 private:
  int number_ = -1;
};

enum class Waiting { kNo, kYes };

// Connects to the simulator that listens there, of this user or of root: another's would get the program's memory. On
// failure the result is empty and `error` says why in one sentence that names the address. A listener that does not
// accept within ten seconds is a failure, too.
Descriptor connect_to(const std::string& address, std::string& error);

// The next pending connection, non-blocking; empty when there is none. errno is accept4's.
Descriptor accept_from(int listener);

// A socket that listens, and its file.
class Listener {
 public:
  Listener() = default;
  Listener(Listener&&) = delete;
  ~Listener() { close(); }
  // On failure `error` says why (R2), and nothing listens.
  bool open(const std::string& address, std::string& error);
  Descriptor accept();
  void close();
  int get() const { return socket_.get(); }

 private:
  bool listen_at_file(const std::string& path, std::string& error);
  Descriptor socket_;
  std::string path_;       // empty: no file
  struct stat file_ = {};  // of the socket file: a file of another owner is not removed
};

// Credentials of the other side when it connected or listened; kept by the kernel, so they cannot be forged.
// A number that the socket has for itself, whoever has a descriptor of it (SO_COOKIE); 0: none.
std::uint64_t socket_cookie(int descriptor);

struct Peer {
  pid_t pid = 0;  // 0: a process of another PID name space
  uid_t uid = 0;
  gid_t gid = 0;
};
bool peer_of(int socket, Peer& peer);

// Sends `message` and copies of `descriptors` (at most kMaxDescriptors).
int send_message(int socket, const Message& message, std::span<const int> descriptors, Waiting waiting);

// Which file a descriptor is of, without it.
struct FileIdentity {
  std::uint64_t device = 0, number = 0;  // both 0: not known
  std::uint64_t cookie = 0;              // of a socket
};

struct Received {
  Message message;
  std::array<Descriptor, kMaxDescriptors> descriptors;
  std::array<FileIdentity, kMaxDescriptors> files;  // of what came through a doorkeeper (doorkeeper.h)
  std::size_t descriptor_count = 0;
};
// Receives the next message. Descriptors that `received` still owned are closed.
int receive_message(int socket, Received& received, Waiting waiting);

}  // namespace rxnic::channel
