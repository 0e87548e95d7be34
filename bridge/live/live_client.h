// SPDX-License-Identifier: Apache-2.0
// One opened device of a live program, as LivePrograms keeps it: mapping, descriptors, pipes of events.
//
//   R1  The device is opened only when its descriptors are of the expected kinds (mapping: live_mapping.h; eventfd;
//       pipes). The one for the program's memory may be of another kind: then it is not used (R5).
//   R2  Nothing here waits for the program: pipes are opened again, because the program may change the flags of its own
//       descriptors.
//   R3  Events of a pipe stay in order. Events that do not fit wait: EventBudget::kOfClient of a client at most, and of
//       all clients together kMost, beyond which nobody has more than kShare. Further ones are lost and counted. Events
//       of a pipe without a reader are dropped. A flush tries kTriedAtOnce of the full pipes, in turns.
//       The events of an object that the program frees leave the pipe, and a pipe without others cannot be read then.
//       The others keep their order. The simulator takes the events out, as it is the only one that writes. So nothing
//       comes in between, and the program's descriptor stays what it is (in an epoll set, for example). Only pipes that
//       have got events of the object are looked at, and no more is taken out than was written. When the program
//       writes to its pipe, too, it loses events: no more wait afterwards than before.
//   R4  Channels have numbers from 1, never used twice; 0 is the pipe of asynchronous events. kMostChannels at once.
//   R5  Its memory is that of the process that has connected, which is the one that access_watch.h kills. The
//       descriptor that it passes has to be of the /proc/PID/mem of that process, in the simulator's /proc. When it is
//       of another /proc (a container) the simulator opens that file itself, if it may. Then it looks there for what
//       the program says is in its memory (channel::Open). When the process is of a PID namespace that the simulator
//       does not see, only the mapping is accessed.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "bridge/channel/protocol.h"
#include "bridge/channel/socket.h"
#include "bridge/driver/programs.h"
#include "bridge/live/live_mapping.h"

namespace rxnic {

// Events that wait for programs to read their pipes, of all clients. (R3)
struct EventBudget {
  static constexpr std::size_t kOfClient = 65536, kMost = std::size_t{1} << 20, kShare = 4096;
  std::size_t waiting = 0;
};

// The write end of a pipe of EventRecords. (R2, R3)
class EventPipe {
 public:
  // The caller keeps `descriptor`. 0 or a positive errno.
  int open(int descriptor);
  // False: the event is lost, because it does not fit and must not wait.
  bool write(const channel::EventRecord& event, bool may_wait);
  // Writes the events that wait. False: some still wait.
  bool flush();
  // Takes out the events of the object that such a request frees. No more wait afterwards than before.
  void discard(channel::Request frees, std::uint32_t number);
  std::size_t waiting() const { return backlog_.size(); }

 private:
  channel::Descriptor end_;
  std::deque<channel::EventRecord> backlog_;
  std::size_t written_ = 0;  // at least as many as are in the pipe
};

using Identity = std::array<std::uint8_t, channel::kIdentityBytes>;

// How many doorbells of a client may be taken. What a look takes beyond that is owed. (live_programs.h R16)
struct DoorbellBudget {
  static constexpr std::int64_t kMost = channel::kBoards * channel::kDoorbells;  // all there are
  static constexpr std::int64_t kOfLook = 8;
  static constexpr std::int64_t kParts = 256;  // of a doorbell, in which `parts` is counted
  static constexpr std::int64_t kFull = kMost * kParts;
  std::int64_t parts = kFull;  // below 0: owed
  std::uint64_t look = 0;      // for which it was last brought up to date
  // In that look: what is rung that goes before sends, whether that is more than may be taken.
  std::uint32_t before_sends = 0;
  bool exceeded = false;
  // `held_back`: so many clients had nothing left.
  void begin(std::uint64_t number, std::int64_t held_back) {
    const auto looks = static_cast<std::int64_t>(number - look);
    parts = std::min(kFull, parts + looks * kOfLook * kParts / std::max<std::int64_t>(held_back, 1));
    look = number;
    before_sends = 0;
  }
  std::uint32_t left() const { return static_cast<std::uint32_t>(std::max<std::int64_t>(parts, 0) / kParts); }
  void spend(std::size_t doorbells) { parts -= static_cast<std::int64_t>(doorbells) * kParts; }
};

class LiveClient {
 public:
  DoorbellBudget doorbells;
  std::uint32_t completions = 0;  // that the program is not notified of yet (live_programs.h R18)
  static constexpr std::size_t kMostChannels = 256, kTriedAtOnce = 4;
  // `serial`: of this client alone, while ids are used again. `process`: its pidfd, -1: none; the caller keeps it.
  LiveClient(ClientId id, std::uint64_t serial, pid_t pid, int process, std::string program, EventBudget& budget)
      : id_(id), serial_(serial), pid_(pid), process_(process), program_(std::move(program)), budget_(budget) {}
  LiveClient(const LiveClient&) = delete;
  ~LiveClient() { budget_.waiting -= waiting_; }
  // With the descriptors of a kOpen. 0, or a positive errno and the reason in words. (R1)
  int open(channel::Received& request, std::string& why);

  ClientId id() const { return id_; }
  std::uint64_t serial() const { return serial_; }
  int process() const { return process_; }
  pid_t pid() const { return pid_; }  // 0: not known in this PID name space
  const std::string& program() const { return program_; }
  const LiveMapping& mapping() const { return mapping_; }
  LiveMapping& mapping() { return mapping_; }
  // The program's /proc/PID/mem; -1: there is none that can be used. (R5)
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
  void remove_channel(std::uint32_t number);
  std::size_t channels() const { return channels_.size(); }
  // False: the event is lost.
  bool notify(std::uint32_t channel, const channel::EventRecord& event);
  // False: some events still wait.
  bool flush();
  std::size_t waiting() const { return waiting_; }  // events
  // Discards the events of an object that is freed.
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
  int open_memory(channel::Descriptor passed, std::string& why);
  EventPipe* pipe_of(std::uint32_t channel);
  // Counts the events that wait in a pipe; `before`: so many did.
  void count(std::uint32_t channel, const EventPipe& pipe, std::size_t before);
  EventPipe events_;
  std::unordered_map<std::uint32_t, EventPipe> channels_;
  std::uint32_t last_channel_ = 0;
  EventBudget& budget_;
  std::size_t waiting_ = 0;         // events, in all its pipes
  std::deque<std::uint32_t> full_;  // channels in which some wait
  // Objects, by what frees them, with the channels that have got events of them.
  std::set<std::pair<std::pair<channel::Request, std::uint32_t>, std::uint32_t>> told_;
};

}  // namespace rxnic
