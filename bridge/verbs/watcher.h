// SPDX-License-Identifier: Apache-2.0
// A thread for each opened device that waits for what no call of the program waits for: what the simulator has to say
// to the user, and its end.
//
//   R1  It sleeps until there is something. The program's signals are not its own. It is detached: a program that ends
//       with its devices open owes it nothing.
//   R2  A line of the simulator (protocol.h R6) is shown on stderr.
//   R3  The end of the pipe is the simulator's: simulator_gone().
//   R4  A program that kept a CPU busy for kNotice after that and was told of nothing (Context::told) spins on its own
//       memory, as ib_write_lat does, and would for ever: SIGTERM ends it. RXNIC_ON_LOSS=stay lets it be.
#pragma once

#include "bridge/channel/socket.h"

namespace rxnic::verbs {

struct Context;

inline constexpr int kNoticeMs = 1000;  // R4

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
  void end_spinning();

  Context* context_ = nullptr;
  channel::Descriptor notices_;
  channel::Descriptor stop_, stopped_;  // eventfds: it shall end; it touches nothing of this any more
  int notice_ms_ = kNoticeMs;
  bool running_ = false;
};

}  // namespace rxnic::verbs
