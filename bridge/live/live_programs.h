// SPDX-License-Identifier: Apache-2.0
// The live end of the channel: accepts programs, takes their requests and doorbells, and notifies them of completions
// and events. It keeps model time in step with wall time. For one thread, except stop().
//
//   R1  Only programs of the simulator's user are accepted, by the kernel's credentials. Others are disconnected, and
//       so are those whose process has ended already: whoever has their connection then is not known.
//   R2  kHello and kOpen are checked here: version (EPROTO, with a line that names both), descriptors, limits (EMFILE).
//       A packet that is no message ends its connection, a message out of place is refused with EINVAL. A connection
//       that has not opened a NIC within hello_ms is closed. At most 64 connections more than clients may exist:
//       further ones are refused with EUSERS.
//   R3  A client's requests are taken in order, the next one after the reply to the one before.
//   R4  One look takes the doorbells of all clients: send, arm, receive, consumer. They take effect in the order
//       receive, consumer, arm, send, and before the requests found in the same look. So what a program did before a
//       send, or another program that it waited for, is never seen after that send (shared_mapping.h R5).
//   R5  A client ends with its connection or with its process, whichever is first; kClose follows the reply to a
//       request that is being carried out. A client that ends without having left (shared_mapping.h R7) has died:
//       on_death.
//   R6  While the model works, mappings are looked at every look_cycles. Sockets are looked at in each
//       looks_per_poll-th of these looks, because a system call costs more than a look.
//   R7  wait(): sets `simulator_sleeps`, so that doorbells wake the simulator, looks at the mappings once more, and
//       sleeps. With a timer due model time advances as wall time does; with nothing due it stands still.
//   R8  stop(): clients get kDeviceFatal, are disconnected and closed; then wait() returns kNever. When the model has
//       not closed them within stop_ms, take() gives nothing more and the run ends at once (next_look() is kNever).
//       At the end of LivePrograms the clients are ended likewise, without notifying the model. No file is left behind.
//   R9  The process ignores SIGPIPE while LivePrograms exists: in a child the default has to be restored.
//   R10 Threads that wait for a completion are woken by a look after it, at most in each looks_per_wake-th look. The
//       reason: a wake-up costs more than a message. They are woken at the latest before the model waits (R7).
//   R11 However much programs ring, send and connect, sockets, signals and stop() are looked at after at most
//       kEventsPerPoll events. A poll takes a bounded number of connections and messages. Lines about them are limited
//       (line_limiter.h), and no descriptor whose close might take long gets here (doorkeeper.h). From a program with
//       too many descriptors that are not closed yet no further packet with descriptors is received, until there are
//       less. When their closes do not end, the program is disconnected.
//   R12 A client's id is given to another one when the bridge has released it, the one released first. While the device
//       holds anything of a client nobody else has its id.
//   R13 A kImport... names another client by a descriptor of its socket; EBADF: none that has opened a NIC has it.
//   R14 on_show is called at the beginning of wait().
//   R15 Whatever goes wrong while a program's connection or request is looked at, memory that runs out for example,
//       ends that connection and no other. A line says so.
//   R16 A client that rings without a pause takes no other one's time. Beyond DoorbellBudget::kMost doorbells at once
//       it has kOfLook in each look, on average, and all such clients have these together. The rest is taken in later
//       looks, sends and arms only when everything that goes before them has been taken (R4). A client that is held
//       back is seen late, by others too, and holds nobody back.
//   R17 Completion channels take the descriptors that clients and connections do not need, or a quarter of all where
//       that would be less. A further one is EMFILE. When half of them are taken no program gets more than
//       kChannelShare, however many NICs it has opened. So others can attach, and have some channels, too.
//   R18 What the model has done to the programs' memory may be shown to them later (ShownLater), and then completions,
//       too. So a program that is notified of a completion finds its CQE. There is a show in a look that takes
//       something from a program, that finds completions or that is due for it. There is one before each reply and
//       event, and before wait().
#pragma once

#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "bridge/channel/acceptor.h"
#include "bridge/channel/doorkeeper.h"
#include "bridge/channel/socket.h"
#include "bridge/driver/programs.h"
#include "bridge/live/line_limiter.h"
#include "bridge/live/live_client.h"

namespace rxnic {

struct LiveOptions {
  std::string address;                               // of the socket (socket.h R1)
  std::uint32_t cycle_ps = 1000;                     // of the model
  std::uint32_t nics = 1;                            // reported to programs
  std::array<std::uint64_t, 16> node_guids{};        // reported to programs, as in memory
  std::uint64_t look_cycles = 64;                    // R6
  std::uint32_t looks_per_poll = 64;                 // R6
  std::uint32_t looks_per_wake = 16;                 // R10
  std::uint32_t spin_us = 20;                        // looks at the mappings before it sleeps, yielding the CPU
  std::uint32_t most_clients = 200;                  // at once; each takes six descriptors and one per channel
  std::uint64_t descriptors = 0;                     // that the process may have (R17); 0: as RLIMIT_NOFILE says
  std::uint32_t hello_ms = 10'000;                   // R2
  std::uint32_t stop_ms = 1000;                      // R8
  std::uint32_t tick_ms = 100;                       // shortest time between calls of on_tick, busy or idle
  std::function<void()> on_tick;                     // for example a status line
  int extra = -1;                                    // a descriptor (signals): on_extra when it can be read
  std::function<void()> on_extra;                    // has to read it
  std::function<void(const std::string&)> log;       // a line that the user should see; default: stderr
  std::function<void(const std::string&)> note;      // a line on each program that comes or goes; default: dropped
  std::function<void(const std::string&)> on_death;  // gets "process 12 (name)" (R5); default: dropped
};

struct LiveCounters {
  std::uint64_t clients = 0;      // opened devices until now
  std::uint64_t refused = 0;      // connections and opens that were refused
  std::uint64_t requests = 0;     // control messages carried out
  std::uint64_t doorbells = 0;    // taken from mappings
  std::uint64_t completions = 0;  // CQEs that programs were notified of
  std::uint64_t wakes = 0;        // times that programs with completions were woken, if they waited
  std::uint64_t events = 0;       // written to pipes
  std::uint64_t lost_events = 0;  // a program did not read its pipe
  std::uint64_t looks = 0;        // at the mappings
  std::uint64_t polls = 0;        // of the sockets
  std::uint64_t waits = 0;        // calls of wait()
  std::uint64_t sleeps = 0;       // those that gave up the CPU
  std::uint64_t waited_ns = 0;    // wall time in wait()
};

// What the model has done to the memory of programs and they do not see yet. (R18)
class ShownLater {
 public:
  virtual ~ShownLater() = default;
  virtual bool waits() const = 0;                     // there is something
  virtual bool is_due(std::uint64_t look) const = 0;  // it is to be shown in this look at the latest
  virtual void show(bool idle) = 0;                   // idle: the model waits for programs next
};

class LivePrograms final : public Programs {
 public:
  static constexpr std::uint32_t kMoreConnections = 64;  // besides clients: to list devices, or to be refused (R2)
  static constexpr std::size_t kChannelShare = 8;        // R17
  explicit LivePrograms(LiveOptions options);
  LivePrograms(const LivePrograms&) = delete;
  ~LivePrograms() override;
  // Listens. On failure `error` says why.
  bool open(std::string& error);

  bool take(Cycle now, ProgramEvent& event) override;
  void opened(ClientId client, std::int32_t status, const channel::DeviceAttributes& attributes) override;
  void reply(ClientId client, const channel::Message& message) override;
  void completed(ClientId client, Cqn cq, std::uint32_t count) override;
  void notify(ClientId client, std::uint32_t channel, const channel::EventRecord& event) override;
  void failed(ClientId client, const std::string& why) override;
  void discard_events(ClientId client, channel::Request frees, std::uint32_t number) override;
  void released(ClientId client) override;
  Cycle wait(Cycle now, Cycle due) override;
  Cycle next_look(Cycle now) override;

  // `later` gets what is not shown at once; nullptr: nothing does. (R18)
  void set_later(ShownLater* later) { later_ = later; }
  void show() { show_all(false); }
  // What shows programs something of the model. (R14)
  void set_on_show(std::function<void()> on_show) { on_show_ = std::move(on_show); }

  // From any thread or signal handler.
  void stop();
  // wait() returns kNever as soon as no program is connected.
  void end_when_idle() { until_idle_ = true; }

  // Null: there is no such client, or its kClose was taken.
  const LiveClient* find(ClientId client) const {
    return raw(client) < clients_.size() ? clients_[raw(client)] : nullptr;
  }
  // The mapping of a client until it is released: the device may still read WQEs and write CQEs of a client whose
  // kClose was taken.
  const LiveMapping* mapping_of(ClientId client) const;
  std::size_t clients() const { return active_.size(); }
  // A line for the user. (R11)
  void say(const std::string& line) const { log_.say(line); }
  const LiveCounters& counters() const { return counters_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t kEventsPerPoll = 4096;  // R11
  enum class Source : std::uint8_t { kListener, kStop, kExtra, kSocket, kProcess, kDoorbell };
  enum class State : std::uint8_t { kNew, kOpening, kOpen };
  struct Connection {
    std::uint64_t serial = 0;
    channel::Descriptor socket;
    channel::Descriptor process;  // pidfd; empty: of a PID namespace that is not seen from here
    channel::Peer peer;
    std::string program;
    std::uint64_t cookie = 0;  // of the program's end, as it says
    std::uint32_t nic = 0;     // that it has opened
    State state = State::kNew;
    std::unique_ptr<LiveClient> client;  // kOpening, kOpen
    channel::Message request;            // the one that is being carried out
    bool busy = false;                   // there is one
    bool gone = false;
  };
  struct Doorbell {
    ClientId client;
    channel::Board board;
    std::uint32_t index;
    std::uint64_t value;
  };

  void look(Cycle now);
  void begin_look(LiveClient& client);
  void take_board(LiveClient& client, channel::Board b);
  void wake_programs();
  void show_all(bool idle);
  bool rung() const;
  bool spin(std::chrono::nanoseconds longest) const;
  void report_sleeping(bool sleeps);
  bool pending() const { return next_doorbell_ < doorbells_.size() || !events_.empty(); }
  bool over() const;

  void poll(std::chrono::nanoseconds longest);
  bool watch(int descriptor, Source source, std::uint64_t serial, std::uint32_t how = 0);
  void unwatch(int descriptor);
  void accept_all();
  bool accept_one();
  bool watch_connection(Connection& connection);
  void turn_away(Connection& connection, int status);
  void close_socket(Connection& connection);
  void close_silent();
  bool take_id(ClientId& id);
  void receive(Connection& connection);
  void receive_all(Connection& connection);
  void break_off(Connection& connection, const std::string& why);
  void handle(Connection& connection, channel::Received& received);
  void handle_open(Connection& connection, channel::Received& received);
  void answer(Connection& connection, channel::Message message, std::int32_t status);
  void disconnect(Connection& connection);
  void close_client(Connection& connection);
  void forget(Connection& connection);
  void end_all(bool notify_model);
  Connection* connection_of(ClientId client);
  const Connection* whose(const channel::Received& request) const;
  bool has_room_for_channel(const LiveClient& client) const;
  static std::string name_of(const Connection& connection);
  // Whose descriptors they are: of one program, however many connections it has.
  static std::uint64_t owner_of(const channel::Peer& peer) { return static_cast<std::uint32_t>(peer.pid); }
  void refuse(const Connection& connection, const std::string& why);

  LiveOptions options_;
  LiveCounters counters_;
  mutable LineLimiter log_;
  LineLimiter notes_;
  channel::Doorkeeper doorkeeper_;
  channel::Acceptor acceptor_;
  EventBudget waiting_events_;       // of all clients
  std::uint64_t most_channels_ = 0;  // of all clients (R17)
  channel::Listener listener_;
  channel::Descriptor epoll_, stop_event_;
  std::unordered_map<std::uint64_t, Connection> connections_;  // by serial
  std::vector<LiveClient*> clients_;                           // by id; null: gone
  std::vector<std::uint64_t> serials_;                         // by id
  std::deque<ClientId> free_ids_;                              // in the order of release (R12)
  std::vector<LiveClient*> active_;                            // opened, kClose not taken
  std::map<ClientId, LiveMapping> kept_;                       // kClose taken, not released
  std::vector<Doorbell> doorbells_;                            // of the last look, in the order of effect
  std::size_t next_doorbell_ = 0;
  std::vector<Doorbell> taken_[channel::kBoards];  // while a look is under way
  std::deque<ProgramEvent> events_;                // all except doorbells
  std::vector<std::uint64_t> dead_;                // connections that poll() erases at its end
  struct Deadline {
    Clock::time_point when;
    std::uint64_t serial;
  };
  std::deque<Deadline> silent_;  // connections by age: by then they have opened a NIC
  std::uint64_t last_serial_ = 0, last_client_ = 0;
  Cycle next_look_{};
  std::uint32_t looks_to_poll_ = 0;
  std::uint32_t looks_to_wake_ = 0;
  std::function<void()> on_show_ = [] {};
  ShownLater* later_ = nullptr;
  bool completions_wait_ = false;  // for show_all(): of some client (LiveClient::completions)
  bool wake_due_ = false;          // a program has completions that it was not woken for
  Clock::time_point next_tick_{}, next_flush_{};
  bool backlog_ = false;  // events wait for room in a pipe
  bool until_idle_ = false;
  std::atomic<bool> stopping_{false};
  bool ended_ = false;
  Clock::time_point cut_off_at_{};  // ended_: when the run ends although clients are not closed
  bool cut_off_ = false;            // it has (R8)
  std::uint32_t events_to_poll_ = kEventsPerPoll;
  std::int64_t held_back_ = 0;  // clients without a doorbell left at the end of the last look that took any (R16)
  struct sigaction old_pipe_action_ = {};
};

}  // namespace rxnic
