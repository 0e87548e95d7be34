// SPDX-License-Identifier: Apache-2.0
// A what-if of a recorded run: its programs' inputs (what_if_plan.h) to NICs with other parameters.
//
//   R1  First the run is repeated exactly (recorded_run.h): its plan and its figures come from that. A record that
//       cannot be repeated has no what-if.
//   R2  Parameters that say how programs lay their queues out cannot change: std::invalid_argument.
//   R3  With the parameters of the record every figure is that of the record.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bridge/rtl/rtl_request.h"
#include "bridge/rxnic/events/event_request.h"
#include "bridge/rxnic/record/what_if_programs.h"
#include "model/engine/engine.h"
#include "model/system/run_region.h"
#include "model/system/run_result.h"
#include "model/system/waves_request.h"

namespace rxnic {

struct WhatIfOptions {
  std::optional<std::string> config;   // instead of the record's parameters
  std::vector<std::string> overrides;  // on top of these
  Loop loop = Loop::kClosed;
  EngineMode mode = EngineMode::kFast;
  StepOrder order{};
  WavesRequest waves{};  // of the what-if; need kPerCycle
  RtlRequest rtl{};      // the same; lockstep needs kPerCycle
  EventRequest events{};
  RegionRequest region{};
  std::function<void(const std::string&)> say{};  // what the user should know besides the result
};

struct WhatIfRun {
  RunResult result;
  std::string repeat_difference;  // the repeated run's; then there is no what-if
  std::string difference;         // why the what-if ended early; empty: it did not
};

// Throws TraceError, ConfigError and std::invalid_argument.
WhatIfRun run_what_if(const std::string& folder, const WhatIfOptions& options);

// Figures of both: their model time, what happened, latencies and traffic.
std::vector<ComparedFigure> compared_figures(const RunResult& recorded, const RunResult& what_if);

}  // namespace rxnic
