// SPDX-License-Identifier: Apache-2.0
// For tests that record a run of the programs of bridge_program.h.
#pragma once

#include "testbench/sim/recorder.h"
#include "testbench/unit/bridge/device/bridge_program.h"

namespace rxnic {

// The run ends: all programs are gone.
inline void end_recording(Lab& lab, Recorder& recorder) {
  lab.own_port.over = true;
  lab.run(100'000);
  std::uint64_t cqes = 0;
  for (const auto& nic : lab.nics) cqes += nic->cqe_generator.counters().cqes;
  recorder.close(lab.engine.now(), cqes);
}

}  // namespace rxnic
