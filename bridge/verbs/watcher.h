// SPDX-License-Identifier: Apache-2.0
// A thread for each opened device that waits for what no call of the program waits for: what the simulator has to say
// to the user, and its end. And it sees to it that no program waits for ever for what cannot come.
//
//   R1  It sleeps until there is something. The program's signals are not its own. It is detached: a program that ends
//       with its devices open owes it nothing.
//   R2  A line of the simulator (protocol.h R6), another program's death, is shown on stderr.
//   R3  The end of the pipe is the simulator's: simulator_gone().
//   R4  The program that died was a peer of this one (protocol.h R7), no peer was left then, the program is given no
//       error (Context::warned) and asks the device for nothing for kNotice: it waits for what cannot come, as
//       ibv_srq_pingpong does, whose SRQ's receives are not flushed with a QP, or any receiver of datagrams. Its device
//       is given up: everything goes on as if the simulator were gone. A program that was just about to speak to the
//       dead one is found, too: it is looked at kLooks times after each death.
//   R5  A program that kept a CPU busy for kNotice after the device's end, was told of nothing (Context::told) and has
//       no other device spins on its own memory, as ib_write_lat does, and would for ever: SIGTERM ends it. One that
//       computes looks the same.
//   R6  RXNIC_ON_LOSS=stay: neither R4 nor R5.
//   R7  Not found out: the receivers of a multicast group whose sender died; who waits for a first datagram and has no
//       address handle of its sender.
#pragma once

#include <cstdint>
#include <optional>

#include "bridge/channel/socket.h"

namespace rxnic::verbs {

struct Context;

inline constexpr int kNoticeMs = 400;  // R4, R5
inline constexpr int kLooks = 4;       // R4

class Watcher {
 public:
  Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher() { stop(); }
  // `notices`: the read end. 0 or a positive errno.
  int start(Context& context, channel::Descriptor notices, int notice_ms = kNoticeMs);
  // Ends the thread and waits for that.
  void stop();
  // In the child of a fork the thread does not exist.
  void become_child();

 private:
  static void* run(void* watcher);
  void watch();
  bool show_lines();
  bool may_wait_in_vain(bool waited);
  void end_spinning();

  Context* context_ = nullptr;
  channel::Descriptor notices_;
  channel::Descriptor stop_, stopped_;  // eventfds: it shall end; it touches nothing of this any more
  int notice_ms_ = kNoticeMs;
  bool stays_ = false;                     // R6
  int looks_ = 0;                          // that are left, while the program has lost nobody
  std::uint64_t settled_ = 0;              // the last loss that is no business of R4's any more
  std::optional<std::uint64_t> activity_;  // of the program, when it was asked for last
  bool running_ = false;
};

}  // namespace rxnic::verbs
