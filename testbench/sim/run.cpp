// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <random>

#include "bridge/device/attributes.h"
#include "model/params/config.h"
#include "testbench/sim/child_process.h"
#include "testbench/sim/cli_options.h"
#include "testbench/sim/library_folder.h"
#include "testbench/sim/live_host.h"

namespace rxnic {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

// (R2)
std::string private_address() {
  std::random_device random;
  return fmt::format("@rxnic-{}-{:08x}{:08x}", getpid(), random(), random());
}

// The program's life, seen from the run. (R3, R4)
class Keeper {
 public:
  Keeper(ChildProcess& child, SignalDescriptor& signals) : child_(child), signals_(signals) {}
  void connect(LivePort& port, LiveSession& session) {
    port_ = &port;
    session_ = &session;
  }

  void on_signal() {
    while (const auto signal = signals_.take()) {
      if (signal->number == SIGCHLD) {
        child_.reap();
      } else if (interrupted_) {
        end_now();
      } else {
        interrupted_ = true;
        deadline_ = Clock::now() + kGrace;
        if (!signal->from_terminal) child_.send(signal->number);
      }
    }
    if (child_.ended()) port_->end_when_idle();
  }

  void on_tick() {
    session_->tick();
    if (interrupted_ && !ending_ && Clock::now() >= deadline_) end_now();
  }

  bool interrupted() const { return interrupted_; }

 private:
  void end_now() {
    if (ending_) return;
    ending_ = true;
    child_.kill_all();
    port_->stop();
  }

  ChildProcess& child_;
  SignalDescriptor& signals_;
  LivePort* port_ = nullptr;
  LiveSession* session_ = nullptr;
  bool interrupted_ = false;
  bool ending_ = false;
  Clock::time_point deadline_;
};

ChildProcess::Environment environment(const RunOptions& o, const std::string& address) {
  ChildProcess::Environment e = {{"LD_LIBRARY_PATH", library_path(library_folder())},
                                 {channel::kSocketVariable, address}};
  if (o.nic) e.emplace_back(channel::kNicVariable, std::to_string(*o.nic));
  return e;
}

}  // namespace

int run_verbs_program(const RunOptions& o) {
  const Params params = load_config(o.config, o.overrides);
  const std::string address = private_address();
  const ChildProcess::Environment variables = environment(o, address);
  make_folder("--out", o.out);

  // (1) listen, (2) set the fabric up, (3) start the program
  SignalDescriptor signals;
  Keeper* keeper = nullptr;
  LiveHost host(
      o, params, address, signals.descriptor(), [&keeper] { keeper->on_signal(); }, [&keeper] { keeper->on_tick(); });
  LiveSession session(o, params, host);
  ChildProcess child(o.command, variables, signals);
  if (child.start_error() != 0) {
    session.say(fmt::format("{}: {}", o.command[0], std::strerror(child.start_error())));
    return child.start_error() == ENOENT ? kNotFound : kNotExecutable;
  }
  Keeper keeps(child, signals);
  keeps.connect(host.port, session);
  keeper = &keeps;

  // (4) simulate until the program has ended and nobody is left
  session.run();
  while (!child.ended()) {  // the simulation ended by itself: it was stopped
    child.kill_all();
  }
  if (keeps.interrupted()) child.kill_all();
  session.finish();
  return child.status();
}

}  // namespace rxnic
