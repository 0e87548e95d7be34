// SPDX-License-Identifier: Apache-2.0
// Live programs, their memory and the log of what they do, as `rxnic run` and `rxnic serve` need them.
#pragma once

#include <functional>
#include <string>

#include "bridge/live/live_memory.h"
#include "bridge/live/live_programs.h"
#include "bridge/rxnic/live/run_log.h"
#include "bridge/rxnic/live/session_options.h"
#include "model/params/params.h"

namespace rxnic {

struct LiveSource {
  struct Hooks {
    int signals = -1;                                    // a descriptor
    std::function<void()> on_signal;                     // it can be read
    std::function<void()> on_tick;                       // every now and then
    std::function<void(const std::string&)> on_death{};  // of a program (live_programs.h R5)
  };
  // Makes the log in the options' folder and listens at `address`; throws std::runtime_error when that cannot be.
  LiveSource(const SessionOptions& options, const Params& params, const std::string& address, Hooks hooks);

  RunLog log;
  LivePrograms programs;
  LiveMemory memory;
};

}  // namespace rxnic
