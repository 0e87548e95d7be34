// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "bridge/rxnic/live/process_tree.h"

namespace rxnic {

namespace {

constexpr int kNotStarted = 127;  // what a shell says

sigset_t our_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&set, number);
  return set;
}

}  // namespace

int status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

SignalDescriptor::SignalDescriptor() {
  const sigset_t set = our_signals();
  sigprocmask(SIG_BLOCK, &set, &before_);
  descriptor_.reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor_) throw std::runtime_error(std::string("signalfd: ") + std::strerror(errno));
}

SignalDescriptor::~SignalDescriptor() {
  while (take()) {
  }
  release();
}

void SignalDescriptor::release() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }

std::optional<SignalDescriptor::Signal> SignalDescriptor::take() {
  signalfd_siginfo info{};
  if (read(descriptor_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return Signal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

ChildProcess::ChildProcess(const std::vector<std::string>& argv, const Environment& environment,
                           const SignalDescriptor& signals, const DescriptorLimit* limit) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::string("pipe2: ") + std::strerror(errno));
  channel::Descriptor why(ends[0]);  // the child writes errno here when it cannot become the program
  channel::Descriptor child_end(ends[1]);
  adopt_orphans();  // (R2)
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (pid_ == 0) {
    signals.release();
    if (limit != nullptr) limit->restore();
    ::signal(SIGPIPE, SIG_DFL);  // ignored while there is a LivePrograms
    ::signal(SIGXFSZ, SIG_DFL);  // ignored by the program (standard_streams.h R3)
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

void ChildProcess::on_end(pid_t pid, int status) {
  if (pid != pid_) return;
  ended_ = true;
  status_ = status_of(status);
  signal_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void ChildProcess::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) on_end(pid, status);
}

void ChildProcess::send(int signal) const {
  if (!ended_) ::kill(pid_, signal);
}

void ChildProcess::kill_all() {
  kill_descendants([this](pid_t pid, int status) { on_end(pid, status); });
  if (!ended_) on_end(pid_, SIGKILL);
}

}  // namespace rxnic
