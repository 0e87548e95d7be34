// SPDX-License-Identifier: Apache-2.0
// Repeats a run of programs from its record (recorder.h), without the programs, and compares.
//
//   R1  Equal means: every access to the programs' memory has its cycle and its bytes (CQEs among them). Every frame of
//       the wire has its bytes and its time. The number of cycles and of CQEs is equal, and the report, byte for byte,
//       when there is one. For a record that was cut (host_log.h R6): what it holds is equal, up to the cycle in which
//       it ends.
//   R2  A record that cannot be read is a TraceError.
//   R3  A parameter that a record does not have came later than the record: it has its default.
#pragma once

#include <functional>
#include <string>

#include "bridge/driver/nic_addresses.h"
#include "bridge/rtl/rtl_request.h"
#include "bridge/rxnic/events/event_request.h"
#include "bridge/rxnic/record/what_if_planner.h"
#include "model/engine/engine.h"
#include "model/system/run_region.h"
#include "model/system/run_result.h"
#include "model/system/waves_request.h"
#include "traces/host_log.h"

namespace rxnic {

// A folder that has a host log, or any folder at all (whose host log is then missed by name).
bool is_recorded_run(const std::string& path);
std::string host_log_file(const std::string& folder);
std::string wire_file(const std::string& folder);

struct RecordedRun {
  RunResult result;
  std::string difference;              // the first one, in words; empty: equal
  std::uint64_t cycles = 0, cqes = 0;  // of the whole run
  std::uint64_t events = 0, reads = 0, writes = 0, frames = 0;
  bool report_compared = false;
  std::string cut;  // why the record ends before the run did; empty: it does not
};

struct RecordedRunOptions {
  EngineMode mode = EngineMode::kFast;
  StepOrder order{};
  WavesRequest waves{};  // need kPerCycle
  RtlRequest rtl{};      // lockstep needs kPerCycle
  EventRequest events{};
  RegionRequest region{};
  std::function<void(const std::string&)> say{};  // what the user should know besides the result
  WhatIfPlanner* planner = nullptr;               // gets all inputs, outputs and accesses to memory
};
RecordedRun replay_recorded_run(const std::string& folder, const RecordedRunOptions& options);

// The parameters of a recorded run; the addresses of its NICs, whose number is checked, too. Both throw TraceError.
Params recorded_params(const HostLogHeader& header, const std::string& log);
NicAddresses recorded_addresses(const HostLogHeader& header, const std::string& log);
// The parameters as the text of a configuration, with the defaults of later ones. (R3)
std::string recorded_config(const HostLogHeader& header);

}  // namespace rxnic
