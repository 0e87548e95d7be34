// SPDX-License-Identifier: Apache-2.0
// The processes below this one: its children, their children, and so on.
//
//   R1  After adopt_orphans() whoever loses its parent becomes a child of this process: nobody gets away by a parent
//       that ends.
//   R2  A signal never goes to a process that was not below this one, though numbers are used again.
//   R3  Processes that run as another user cannot be signalled and are passed over.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace rxnic {

void adopt_orphans();

// Sends `signal` to all of them, parents first; "process 12 (name)" of those that it has reached.
std::vector<std::string> signal_descendants(int signal);

// Kills all of them and waits for their ends; the same of those. on_end: a child of this process and its status, as of
// waitpid.
std::vector<std::string> kill_descendants(const std::function<void(pid_t, int)>& on_end);

}  // namespace rxnic
