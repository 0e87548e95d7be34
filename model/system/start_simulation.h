// SPDX-License-Identifier: Apache-2.0
// Runs the current SystemC kernel.
#pragma once

#include <stdexcept>
#include <systemc>

namespace rxnic {

// Until nothing is due any more or the engine stops. An observer may throw during the run, for a file that cannot be
// written. The exception reaches the kernel, which makes an error report of its own out of it. This function throws
// std::runtime_error with the words that were thrown, and nothing of SystemC.
inline void start_simulation() {
  try {
    sc_core::sc_start();
  } catch (const sc_core::sc_report& report) {
    throw std::runtime_error(report.get_msg());
  }
}

}  // namespace rxnic
