// SPDX-License-Identifier: Apache-2.0
// Receives from programs that are not trusted, for everybody who listens: the simulator, the agent of rdma_cm, the
// testbench with RTL.
//
// To close a descriptor can take as long as the program that has passed it pleases, however it is closed. Examples are
// a socket with SO_LINGER, and a file system in user space (FUSE) that does not answer FLUSH. No signal ends such a
// close, SIGKILL neither, and the process does not end before the close does. Descriptors of programs are therefore
// received by another process, which is small:
//
//   R1  A packet is looked at without its descriptors. A packet that has none is received here. A packet that has some
//       is received by the doorkeeper, from its copy of the connection. The doorkeeper passes on what the packet says
//       and which files its descriptors are of. It also passes on those descriptors whose close is over at once:
//       memfds, pipes, eventfds and /proc/PID/mem. No others ever are descriptors of this process.
//   R2  Nothing that the doorkeeper does before it answers asks a file system that might let it wait.
//   R3  It has a child for each packet, which ends with its answer, so that closes that take long are part of that end.
//       Nobody waits for the end, not the doorkeeper (vfork: it goes on as soon as the child has done with its memory).
//   R4  An owner is a program. When kMostOfOwner children (R3) of an owner have not ended, no further packet with
//       descriptors is received from the owner. The error is EBUSY, to be tried again, and EDQUOT after kPatience.
//       Nobody else's children are counted: how many programs a user has is bounded by the kernel (RLIMIT_NPROC).
//   R5  A connection that has ended is closed without receiving what is still in it; when there is something, by a
//       child of the doorkeeper.
//   R6  The doorkeeper has no descriptor but its connection to this process, and ends with this process. When it was
//       killed or does not answer, another one is started. It exists from the beginning, however long a held machine
//       takes to start it, or the constructor throws std::system_error. Its name is kName. Its standard output and
//       error lead nowhere. Otherwise what the C library or a sanitizer writes there would be written to what a program
//       has passed.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>

#include "bridge/channel/packet.h"

namespace rxnic::channel {

struct DoorRequest;

// What comes with a packet. A descriptor is empty when it is not of the kinds of R1.
struct Passed {
  std::array<Descriptor, kMaxDescriptors> descriptors;
  std::array<FileIdentity, kMaxDescriptors> files;
  std::size_t count = 0;
};

class Doorkeeper {
 public:
  static constexpr std::size_t kMostOfOwner = 8;
  static constexpr std::size_t kMostBytes = 4096;  // of a packet with descriptors
  static constexpr std::chrono::milliseconds kPatience{1000};
  static constexpr char kName[] = "rxnic-door";  // as of PR_GET_NAME

  // Whose process is started anew when it does not answer twice as long.
  explicit Doorkeeper(std::chrono::milliseconds answer_time = std::chrono::seconds{5});
  ~Doorkeeper();
  Doorkeeper(const Doorkeeper&) = delete;
  Doorkeeper& operator=(const Doorkeeper&) = delete;

  // The next packet, with at most `most` descriptors; never waits. 0, or a positive errno. EAGAIN: there is none.
  // EPIPE. EBADMSG: the packet does not fit. EBUSY and EDQUOT: R4. Others: the packet cannot be received, as when there
  // is no descriptor or process left. After all but EAGAIN and EBUSY the connection is to be ended.
  int receive(std::uint64_t owner, int socket, std::span<std::uint8_t> to, std::size_t most, Packet& packet,
              Passed& passed);
  // As receive() above, for a Message.
  int receive(std::uint64_t owner, int socket, Received& received);
  void end(std::uint64_t owner, Descriptor connection);  // (R5)

 private:
  using Clock = std::chrono::steady_clock;
  void start();
  void stop();
  bool send(const DoorRequest& request, int connection);
  int ask(const DoorRequest& request, int connection, std::span<std::uint8_t> to, Packet& packet, Passed& passed);

  const std::chrono::milliseconds answer_time_;
  Descriptor socket_, process_;
  std::map<std::uint64_t, Clock::time_point> full_;  // owners of whom nothing is received until then
};

}  // namespace rxnic::channel
