// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/supervisor.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "bridge/rxnic/live/child_process.h"
#include "bridge/rxnic/live/process_tree.h"
#include "bridge/rxnic/output/standard_streams.h"

namespace rxnic {

namespace {

constexpr int kTickMs = 100;

class Supervisor {
 public:
  Supervisor(pid_t simulator, const Ending::Grace& grace)
      : simulator_(simulator),
        ending_(
            grace, [](const std::string& line) { print_message(line); },
            [this](pid_t pid, int status) { on_end(pid, status); }) {}

  int run() {
    SignalDescriptor signals;
    for (;;) {
      const bool nobody_left = reap() || ending_.finished() || only_doorkeepers();
      if (status_ && (!dead_ || nobody_left)) return *status_;
      ending_.advance();
      pollfd waits{signals.descriptor(), POLLIN, 0};
      poll(&waits, 1, dead_ ? kTickMs : -1);
      while (const auto signal = signals.take()) {
        if (signal->number != SIGCHLD) on_signal(*signal);
      }
    }
  }

 private:
  // True: no child is left.
  bool reap() {
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) on_end(pid, status);
    return pid < 0;
  }

  // Those that have not ended by now are kept by the kernel.
  bool only_doorkeepers() const {
    return dead_ && Ending::Clock::now() - dead_since_ >= kPatience && !has_descendants();
  }

  void on_end(pid_t pid, int status) {
    if (pid != simulator_) return;
    status_ = status_of(status);
    dead_ = WIFSIGNALED(status);
    if (dead_) {
      dead_since_ = Ending::Clock::now();
      ending_.begin(
          fmt::format("the simulator (process {}) was killed by signal {}", simulator_, signal_text(WTERMSIG(status))));
    }
  }

  void on_signal(const SignalDescriptor::Signal& signal) {  // (R3)
    if (dead_) {
      ending_.finish();
    } else if (!signal.from_terminal) {
      kill(simulator_, signal.number);
    }
  }

  const pid_t simulator_;
  std::optional<int> status_;  // of the simulator
  bool dead_ = false;          // a signal has killed it
  Ending::Clock::time_point dead_since_;
  Ending ending_;
};

}  // namespace

std::optional<int> supervise(const Ending::Grace& grace) {
  adopt_orphans();
  std::fflush(nullptr);
  const pid_t supervisor = getpid();
  const pid_t simulator = fork();
  if (simulator < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (simulator != 0) return Supervisor(simulator, grace).run();
  prctl(PR_SET_PDEATHSIG, SIGTERM);             // (R3)
  if (getppid() != supervisor) raise(SIGTERM);  // it died before
  return std::nullopt;
}

}  // namespace rxnic
