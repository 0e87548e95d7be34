// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/cm_agent.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "bridge/channel/acceptor.h"
#include "bridge/channel/protocol.h"
#include "bridge/cm/cm_channel.h"
#include "bridge/rxnic/live/library_folder.h"

namespace rxnic {

namespace {

constexpr const char* kProgram = "rxnic_cm_agent";

bool can_be_read(int descriptor) {
  pollfd one{descriptor, POLLIN, 0};
  return poll(&one, 1, 0) == 1;
}

}  // namespace

CmAgent::CmAgent(const std::string& folder, const std::string& simulator)
    : program_(folder + "/" + kProgram), simulator_(simulator) {
  if (!listener_.open(simulator + cm::kCmSuffix, error_)) error_ = "programs find no rdma_cm: " + error_;
}

CmAgent::~CmAgent() {
  if (can_be_read(listener_.get())) turn_all_away();  // hardly ever: otherwise no doorkeeper is started for it
}

void CmAgent::turn_all_away() {
  try {
    channel::Doorkeeper doorkeeper;
    channel::Acceptor().turn_all_away(listener_.get(), doorkeeper);
  } catch (const std::system_error&) {  // there is no process left for it
  }
}

std::string CmAgent::program() {
  std::error_code failed;
  try {
    return std::filesystem::canonical(library_folder() + "/" + kProgram, failed);
  } catch (const std::runtime_error&) {
    return {};
  }
}

void CmAgent::tick() {
  if (!error_.empty()) return;
  if (process_ && can_be_read(process_.get())) {  // it has ended
    siginfo_t status;
    waitid(P_PIDFD, static_cast<id_t>(process_.get()), &status, WEXITED);
    process_.reset();
  }
  if (process_ || !can_be_read(listener_.get())) return;
  const std::string descriptor = std::to_string(listener_.get());
  const pid_t pid = fork();
  if (pid < 0) return;  // the next tick tries again
  if (pid == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    signal(SIGPIPE, SIG_DFL);
    setenv(channel::kSocketVariable, simulator_.c_str(), 1);
    fcntl(listener_.get(), F_SETFD, 0);
    execl(program_.c_str(), kProgram, descriptor.c_str(), nullptr);
    dprintf(STDERR_FILENO, "rxnic: programs find no rdma_cm: %s: %s\n", program_.c_str(), strerror(errno));
    turn_all_away();
    _exit(127);
  }
  process_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace rxnic
