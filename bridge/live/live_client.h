// SPDX-License-Identifier: Apache-2.0
// One opened device of a live program, as the port keeps it: mapping, descriptors, pipes of events.
//
//   R1  The device is opened only when its descriptors are of the expected kinds (mapping: live_mapping.h; eventfd;
//       pipes). The one for the program's memory may be of another kind: then it is not used.
//   R2  Nothing here waits for the program: pipes are opened again, because the program may change the flags of its own
//       descriptors.
//   R3  Events of a pipe stay in order. Those that do not fit wait, at most kBacklog of them; further ones are lost and
//       counted. Events of a pipe without a reader are dropped.
//       The events of an object that the program frees leave the pipe, and a pipe without others cannot be read then;
//       the others keep their order. The simulator takes them out, as it is the only one that writes: nothing comes in
//       between, and the program's descriptor stays what it is (in an epoll set, for example).
//   R4  Channels have numbers from 1, never used twice; 0 is the pipe of asynchronous events. kMostChannels at once.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "bridge/channel/protocol.h"
#include "bridge/channel/socket.h"
#include "bridge/device/host_port.h"
#include "bridge/live/live_mapping.h"

namespace rxnic {

// The write end of a pipe of EventRecords. (R2, R3)
class EventPipe {
 public:
  static constexpr std::size_t kBacklog = 65536;
  // The caller keeps `descriptor`. 0 or a positive errno.
  int open(int descriptor);
  // False: the event is lost.
  bool write(const channel::EventRecord& event);
  // Writes the events that wait. False: some still wait.
  bool flush();
  // Takes out the events of the object that such a request frees.
  void discard(channel::Request frees, std::uint32_t number);

 private:
  channel::Descriptor end_;
  std::deque<channel::EventRecord> backlog_;
};

using Identity = std::array<std::uint8_t, channel::kIdentityBytes>;

class LiveClient {
 public:
  static constexpr std::size_t kMostChannels = 256;
  // `serial`: of this client alone, while ids are used again. `process`: its pidfd, -1: none; the caller keeps it.
  LiveClient(ClientId id, std::uint64_t serial, pid_t pid, int process, std::string program)
      : id_(id), serial_(serial), pid_(pid), process_(process), program_(std::move(program)) {}
  // With the descriptors of a kOpen. 0, or a positive errno and the reason in words. (R1)
  int open(channel::Received& request, std::string& why);

  ClientId id() const { return id_; }
  std::uint64_t serial() const { return serial_; }
  int process() const { return process_; }
  pid_t pid() const { return pid_; }  // 0: not known in this PID name space
  const std::string& program() const { return program_; }
  const LiveMapping& mapping() const { return mapping_; }
  LiveMapping& mapping() { return mapping_; }
  // The program's /proc/self/mem; -1: it passed none.
  int own_memory() const { return own_memory_.get(); }
  // Its /proc/PID/maps; -1: it cannot be read.
  int maps() const { return maps_.get(); }
  // Where its memory holds what (channel::Open); 0: nowhere.
  std::uint64_t identity_at() const { return identity_at_; }
  const Identity& identity() const { return identity_; }

  int wake() const { return wake_.get(); }
  // The program has written to its eventfd: resets it.
  void woken();

  // The caller keeps `descriptor`. 0 or a positive errno.
  int add_channel(int descriptor, std::uint32_t& number);
  void remove_channel(std::uint32_t number) { channels_.erase(number); }
  // False: the event is lost.
  bool notify(std::uint32_t channel, const channel::EventRecord& event);
  // False: some events still wait.
  bool flush();
  // Of an object that is freed.
  void discard(channel::Request frees, std::uint32_t number);

 private:
  ClientId id_;
  std::uint64_t serial_;
  pid_t pid_;
  int process_;
  std::string program_;
  LiveMapping mapping_;
  channel::Descriptor wake_;
  channel::Descriptor own_memory_, maps_;
  std::uint64_t identity_at_ = 0;
  Identity identity_{};
  EventPipe events_;
  std::unordered_map<std::uint32_t, EventPipe> channels_;
  std::uint32_t last_channel_ = 0;
};

}  // namespace rxnic
