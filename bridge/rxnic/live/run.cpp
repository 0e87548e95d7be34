// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/run.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <random>

#include "bridge/driver/attributes.h"
#include "bridge/rtl/nic_rtl.h"
#include "bridge/rxnic/live/child_process.h"
#include "bridge/rxnic/live/cm_agent.h"
#include "bridge/rxnic/live/device_files.h"
#include "bridge/rxnic/live/library_folder.h"
#include "bridge/rxnic/live/live_source.h"
#include "bridge/rxnic/live/lost_preload.h"
#include "bridge/rxnic/live/own_network.h"
#include "bridge/rxnic/live/process_tree.h"
#include "bridge/rxnic/live/supervisor.h"
#include "bridge/rxnic/output/exit_status.h"
#include "bridge/rxnic/output/files.h"
#include "model/params/config.h"

namespace rxnic {

namespace {

constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;
constexpr int kEndingTickMs = 20;

// (R2)
std::string private_address() {
  std::random_device random;
  return fmt::format("@rxnic-{}-{:08x}{:08x}", getpid(), random(), random());
}

// The program's life, seen from the run. (R3, R4, R5)
class Keeper {
 public:
  Keeper(const RunOptions& o, ChildProcess& child, SignalDescriptor& signals, LivePrograms& programs,
         LiveSession& session, CmAgent& agent, LostPreload& lost)
      : child_(child),
        signals_(signals),
        programs_(programs),
        session_(session),
        agent_(agent),
        lost_(lost),
        name_(o.command[0]),
        ending_(
            o.grace, [this](const std::string& line) { session_.say(line); },
            [this](pid_t pid, int status) { child_.on_end(pid, status); }) {}

  void on_signal() {
    while (const auto signal = signals_.take()) {
      if (signal->number == SIGCHLD) {
        child_.reap();
      } else if (interrupted_) {
        ending_.finish();
      } else {
        interrupted_ = true;
        if (!signal->from_terminal) child_.send(signal->number);
        ending_.begin("");
      }
    }
    if (child_.signal() != 0)
      ending_.begin(fmt::format("{} was killed by signal {}", name_, signal_text(child_.signal())));
    if (child_.ended()) programs_.end_when_idle();
    if (ending_.finished()) programs_.stop();
  }

  void on_death(const std::string& who) { ending_.begin(who + " has died with its device open"); }

  void on_tick() {
    session_.tick();
    agent_.tick();
    look_for_lost();
    ending_.advance();
    if (ending_.finished()) programs_.stop();
  }

  void look_for_lost() {  // (R7)
    if (const std::string news = lost_.news(); !news.empty()) session_.say(news);
  }

  // Nothing is left to simulate, but what a death has left behind may still be there. (R4)
  void await_ending() {
    while (ending_.under_way() && has_descendants()) {
      pollfd waits{signals_.descriptor(), POLLIN, 0};
      poll(&waits, 1, kEndingTickMs);
      on_signal();
      ending_.advance();
    }
  }

  bool interrupted() const { return interrupted_; }

 private:
  ChildProcess& child_;
  SignalDescriptor& signals_;
  LivePrograms& programs_;
  LiveSession& session_;
  CmAgent& agent_;
  LostPreload& lost_;
  std::string name_;
  Ending ending_;
  bool interrupted_ = false;
};

ChildProcess::Environment environment(const RunOptions& o, const std::string& address) {
  const std::string folder = library_folder();
  ChildProcess::Environment e = {{"LD_LIBRARY_PATH", library_path(folder)}, {channel::kSocketVariable, address}};
  if (o.device_files) e.emplace_back("LD_PRELOAD", preload_path(folder));
  if (o.nic) e.emplace_back(channel::kNicVariable, std::to_string(*o.nic));
  return e;
}

}  // namespace

int run_verbs_program(const RunOptions& o) {
  if (const auto status = supervise(o.grace)) return *status;
  const Params params = load_config(o.config, o.overrides);
  const std::string address = private_address();
  ChildProcess::Environment variables = environment(o, address);
  make_folder("--out", o.out);
  if (o.own_network) enter_own_network(o.nics, o.addresses);  // (R8)

  // (1) listen, (2) set the fabric up, (3) start the program
  const DescriptorLimit limit;
  SignalDescriptor signals;
  std::unique_ptr<Keeper> keeper;
  LiveSource source(o, params, address,
                    {signals.descriptor(), [&] { keeper->on_signal(); }, [&] { keeper->on_tick(); },
                     [&](const std::string& who) { keeper->on_death(who); }});
  CmAgent agent(library_folder(), address);
  std::string files;
  if (o.device_files) {
    if (!agent.error().empty()) source.log.say(agent.error());
    const auto say = [&source](const std::string& why) { source.log.say(why); };
    files = write_device_files(o, params, o.own_network, say);
    variables.emplace_back("RXNIC_DEVICE_FILES", files);
  }
  LiveSession session(o, params, source, files);
  LostPreload lost(files, kPreloadedLibrary);
  ChildProcess child(o.command, variables, signals, &limit);
  if (child.start_error() != 0) {
    session.say(fmt::format("{}: {}", o.command[0], std::strerror(child.start_error())));
    return child.start_error() == ENOENT ? kNotFound : kNotExecutable;
  }
  keeper = std::make_unique<Keeper>(o, child, signals, source.programs, session, agent, lost);

  // (4) simulate until the program has ended and no program has a NIC open
  session.run();
  keeper->look_for_lost();
  if (!child.ended()) child.kill_all();  // the simulation ended by itself: it was stopped
  if (!keeper->interrupted()) keeper->await_ending();
  if (keeper->interrupted()) child.kill_all();
  try {
    const bool whole = session.finish();
    return child.status() != kDone || whole ? child.status() : kOther;
  } catch (const NothingCompared& e) {  // a program that fails does little: its status says more (R3)
    if (child.status() == kDone) throw;
    session.say(e.what());
    return child.status();
  }
}

}  // namespace rxnic
