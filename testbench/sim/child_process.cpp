// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace rxnic {

namespace {

constexpr int kNotStarted = 127;  // what a shell says
constexpr int kGenerations = 100;

sigset_t our_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&set, number);
  return set;
}

int status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

std::vector<pid_t> children() {
  std::vector<pid_t> out;
  std::error_code gone;  // a process may end while it is looked at
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream stat(entry.path() / "stat");
    std::string text;
    std::getline(stat, text);
    const std::size_t after_name = text.rfind(") ");  // "pid (name) state parent ..."
    if (after_name == std::string::npos || text.size() < after_name + 5) continue;
    if (std::strtol(text.c_str() + after_name + 4, nullptr, 10) == getpid()) out.push_back(std::stoi(name));
  }
  return out;
}

}  // namespace

SignalDescriptor::SignalDescriptor() {
  const sigset_t set = our_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  descriptor_.reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor_) throw std::runtime_error(std::string("signalfd: ") + std::strerror(errno));
}

SignalDescriptor::~SignalDescriptor() {
  while (take()) {
  }
  release();
}

void SignalDescriptor::release() const {
  const sigset_t set = our_signals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

std::optional<SignalDescriptor::Signal> SignalDescriptor::take() {
  signalfd_siginfo info{};
  if (read(descriptor_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return Signal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

ChildProcess::ChildProcess(const std::vector<std::string>& argv, const Environment& environment,
                           const SignalDescriptor& signals) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::string("pipe2: ") + std::strerror(errno));
  channel::Descriptor why(ends[0]);  // the child writes errno here when it cannot become the program
  channel::Descriptor child_end(ends[1]);
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // (R3)
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (pid_ == 0) {
    signals.release();
    ::signal(SIGPIPE, SIG_DFL);                   // ignored while there is a LivePort
    prctl(PR_SET_PDEATHSIG, SIGTERM);             // (R2)
    if (getppid() != parent) _exit(kNotStarted);  // it died before
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(child_end.get(), &error, sizeof error);
    _exit(kNotStarted);
  }
  ended_ = false;
  child_end.reset();
  int error = 0;
  ssize_t got = 0;
  do got = ::read(why.get(), &error, sizeof error);
  while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof error)) return;  // closed by execve
  start_error_ = error;
  waitpid(pid_, nullptr, 0);
  ended_ = true;
  status_ = kNotStarted;
}

void ChildProcess::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid != pid_) continue;
    ended_ = true;
    status_ = status_of(status);
  }
}

void ChildProcess::send(int signal) const {
  if (!ended_) ::kill(pid_, signal);
}

void ChildProcess::kill_all() {
  // What those that are killed leave behind comes here in turn.
  for (int generation = 0; generation < kGenerations; ++generation) {
    bool any = false;
    for (const pid_t pid : children()) {
      if (::kill(pid, SIGKILL) != 0) continue;  // another user's
      any = true;
      int status = 0;
      if (waitpid(pid, &status, 0) != pid || pid != pid_) continue;
      ended_ = true;
      status_ = status_of(status);
    }
    if (!any) return;
  }
}

}  // namespace rxnic
