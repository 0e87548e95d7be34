// SPDX-License-Identifier: Apache-2.0
// `rxnic run`: a verbs program on the model, from its start to its end.
//
//   R1  The program finds the drop-in library through LD_LIBRARY_PATH: in RXNIC_LIBRARY_DIR, otherwise beside this
//       program in its build folder. It is told the socket and, when one is chosen, the NIC (protocol.h).
//   R2  The socket is in the abstract name space: whatever ends the simulator, no file is left.
//   R3  The run ends when the program has ended and no program has a NIC open any more. Its status is the program's,
//       128 + signal when a signal ended it, 127 when there is no such program, 126 when it cannot be executed.
//   R4  SIGINT, SIGTERM and SIGHUP are passed on to the program (unless the terminal has done that); what has not ended
//       kGrace later, or at the second signal, is killed with everything that it started.
#pragma once

#include <chrono>
#include <optional>

#include "testbench/sim/live_session.h"

namespace rxnic {

inline constexpr auto kGrace = std::chrono::seconds(3);

struct RunOptions : SessionOptions {
  std::optional<std::uint32_t> nic;  // the only one that the program sees
};

int run_verbs_program(const RunOptions& options);

}  // namespace rxnic
