// SPDX-License-Identifier: Apache-2.0
// The port and the memory of live programs, as `rxnic run` and `rxnic serve` need them.
#pragma once

#include <functional>
#include <string>

#include "bridge/device/live_memory.h"
#include "bridge/device/live_port.h"
#include "model/params/params.h"
#include "testbench/sim/run_log.h"
#include "testbench/sim/session_options.h"

namespace rxnic {

struct LiveHost {
  // Makes the log in the options' folder and listens at `address`; throws std::runtime_error when that cannot be.
  // `on_signal`: `signals` can be read.
  LiveHost(const SessionOptions& options, const Params& params, const std::string& address, int signals,
           std::function<void()> on_signal, std::function<void()> on_tick);

  RunLog log;
  LivePort port;
  LiveMemory memory;
};

}  // namespace rxnic
