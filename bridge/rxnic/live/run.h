// SPDX-License-Identifier: Apache-2.0
// `rxnic run`: a verbs program on the model, from its start to its end.
//
//   R1  The program finds the drop-in library through LD_LIBRARY_PATH: in RXNIC_LIBRARY_DIR, otherwise beside this
//       program in its build folder. Its environment names the socket and, when one is chosen, the NIC (protocol.h).
//   R2  The socket is in the abstract name space: whatever ends the simulator, no file is left.
//   R3  The run ends when the program has ended and nobody has a NIC open any more. The run's status is the program's,
//       or 128 + signal when a signal ended the program. The status is 127 when there is no such program, 126 when it
//       cannot be executed. The program's failure goes before what else is wrong, but for RTL that differs (status 4):
//       that ends the run.
//   R4  The run owns the program and everything that this starts, as mpirun does. A program may be killed by a signal,
//       or a process that has a NIC open may die (live_programs.h R5). Then the others see what hardware would show
//       them, and what has not ended `grace` later is ended (ending.h). When the simulator dies the supervisor does so.
//   R5  SIGINT, SIGTERM and SIGHUP are passed on to the program, unless the terminal has done that. What has not ended
//       `grace` later is ended; at the second signal it is killed.
//   R6  Unless `device_files` is false the program is shown the files that a driver would have made for its NICs
//       (bridge/device_files). They are below `out`.
//   R7  A program that was started without what `run` preloads is named, with what helps (lost_preload.h).
//   R8  With `own_network` the simulator and all that it starts are in a network of their own (own_network.h).
#pragma once

#include <chrono>
#include <optional>

#include "bridge/rxnic/live/ending.h"
#include "bridge/rxnic/live/live_session.h"

namespace rxnic {

struct RunOptions : SessionOptions {
  std::optional<std::uint32_t> nic;  // the only one that the program sees
  Ending::Grace grace = std::chrono::seconds(2);
  bool device_files = true;
  bool own_network = false;
};

int run_verbs_program(const RunOptions& options);

}  // namespace rxnic
