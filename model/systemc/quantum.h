// SPDX-License-Identifier: Apache-2.0
// The global quantum of TLM-2.0 as the bound of a system's run-ahead, for a program with temporal decoupling.
//
//     tlm::tlm_global_quantum::instance().set(sc_core::sc_time(1, sc_core::SC_US));
//     rxnic::follow_global_quantum(system);
//
//   R1  The model runs ahead of the kernel's time up to the next multiple of the global quantum, where initiators with
//       a quantum keeper synchronize, too. It goes on there with the first cycle that does not begin before.
//   R2  The program may change the global quantum at any time; a change acts when the model next synchronizes.
//   R3  A quantum of zero, as the global one is at first, or one below a cycle: the model synchronizes in each cycle.
#pragma once

#include <cstdint>
#include <systemc>
#include <tlm>

#include "model/system/system.h"

namespace rxnic {

// Takes the place of SystemOptions::quantum_cycles. The kernel's pending activity still bounds the run-ahead, too.
inline void follow_global_quantum(System& system) {
  system.engine.set_quantum([&engine = system.engine] {
    const std::uint64_t ahead = tlm::tlm_global_quantum::instance().compute_local_quantum().value();
    const std::uint64_t period = engine.time_of(Cycle{1}).value();
    return ahead / period + (ahead % period != 0);
  });
}

}  // namespace rxnic
