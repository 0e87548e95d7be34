// SPDX-License-Identifier: Apache-2.0
// The process above the simulator of `rxnic run`. It outlives the simulator, so that somebody ends what the run has
// started whatever happens to it.
//
//   R1  What the simulator leaves behind when it dies becomes children of the supervisor (process_tree.h R1).
//   R2  A simulator that ends by itself: its status. One that a signal kills: what it leaves behind is ended
//       (ending.h); 128 + that signal as soon as all of it has ended.
//   R3  SIGINT, SIGTERM and SIGHUP are passed on to the simulator (unless the terminal has done that); when it is dead
//       they kill what is left. The simulator gets SIGTERM when the supervisor dies.
#pragma once

#include <optional>

#include "bridge/rxnic/live/ending.h"

namespace rxnic {

// Starts the process of the simulator and returns twice: nothing there; here, when it has ended, the status (R2).
// To be called by a process of one thread.
std::optional<int> supervise(const Ending::Grace& grace);

}  // namespace rxnic
