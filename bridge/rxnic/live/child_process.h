// SPDX-License-Identifier: Apache-2.0
// The program of `rxnic run`, and the signals that concern it.
//
//   R1  Signals arrive through a descriptor, never as an interruption: SIGINT, SIGTERM, SIGHUP and SIGCHLD are blocked
//       while a SignalDescriptor lives. The child gets the mask that there was before, and SIGCHLD as SIG_DFL.
//   R2  Processes that the child leaves behind become children of this process (process_tree.h R1).
//   R3  Exit status as a shell gives it: the program's own, 128 + signal when a signal ended it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridge/channel/socket.h"
#include "bridge/live/descriptor_limit.h"

namespace rxnic {

int status_of(int wait_status);  // (R3)

class SignalDescriptor {
 public:
  SignalDescriptor();
  ~SignalDescriptor();
  SignalDescriptor(const SignalDescriptor&) = delete;
  SignalDescriptor& operator=(const SignalDescriptor&) = delete;

  struct Signal {
    int number = 0;
    bool from_terminal = false;  // the whole process group has got it
  };
  // Never waits.
  std::optional<Signal> take();
  int descriptor() const { return descriptor_.get(); }
  // Undoes R1, in a child.
  void release() const;

 private:
  channel::Descriptor descriptor_;
  sigset_t before_;
};

class ChildProcess {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;
  // Starts argv[0], searched in PATH, with `environment` set. start_error() is the reason when it cannot be started.
  ChildProcess(const std::vector<std::string>& argv, const Environment& environment, const SignalDescriptor& signals,
               const DescriptorLimit* limit = nullptr);
  ~ChildProcess() {
    if (!ended_) kill_all();
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int start_error() const { return start_error_; }  // errno, 0: it runs
  // Takes notice of children that have ended; of one, with its status as of waitpid.
  void reap();
  void on_end(pid_t pid, int status);
  bool ended() const { return ended_; }
  int status() const { return status_; }  // (R3), once it has ended
  int signal() const { return signal_; }  // that ended it, 0: none
  void send(int signal) const;
  // Ends it and everything that it has started, at once (process_tree.h). It has ended then, as far as it can be ended.
  void kill_all();

 private:
  pid_t pid_ = -1;
  bool ended_ = true;
  int status_ = 0;
  int signal_ = 0;
  int start_error_ = 0;
};

}  // namespace rxnic
