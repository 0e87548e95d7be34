// SPDX-License-Identifier: Apache-2.0
// The processes below this one: its children, their children, and so on.
//
//   R1  After adopt_orphans() whoever loses its parent becomes a child of this process: nobody gets away by a parent
//       that ends. The kernel keeps the status of each for this process, also where SIGCHLD was inherited as ignored
//       (`trap '' CHLD`).
//   R2  A signal never goes to a process that was not below this one, though numbers are used again.
//   R3  Processes that run as another user cannot be signalled and are passed over. So are doorkeepers
//       (bridge/channel/doorkeeper.h) of this program and of the agent of rdma_cm, which end by themselves. A
//       doorkeeper has the name of one, and runs one of these two programs. With a single thread and no program any
//       more it is about to end. A process that does not show its program (PR_SET_DUMPABLE) is none.
//   R4  A process whose first thread has ended lives as long as another thread of it does.
//   R5  A process that SIGKILL has not ended after kPatience is not waited for. The kernel may keep it for ever: it
//       may be closing a file of a file system in user space that does not answer.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace rxnic {

inline constexpr std::chrono::milliseconds kPatience{1000};

void adopt_orphans();

// Whether there are any.
bool has_descendants();

// Sends `signal` to all of them, parents first; "process 12 (name)" of those that it has reached.
std::vector<std::string> signal_descendants(int signal);

struct Killed {
  std::vector<std::string> names;     // of all
  std::vector<std::string> not_gone;  // of those that have not ended (R5)
};
// Kills all of them and waits for their ends. on_end: a child of this process and its status, as of waitpid.
Killed kill_descendants(const std::function<void(pid_t, int)>& on_end);

}  // namespace rxnic
