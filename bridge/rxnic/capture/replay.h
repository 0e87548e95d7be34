// SPDX-License-Identifier: Apache-2.0
// Replays a capture into the receive path: surveys it, makes the host that it needs, runs, compares the answers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bridge/rtl/rtl_request.h"
#include "bridge/rxnic/annotate/packet_notes.h"
#include "bridge/rxnic/capture/stage.h"
#include "bridge/rxnic/events/event_request.h"
#include "model/engine/engine.h"
#include "model/system/run_region.h"
#include "model/system/run_result.h"
#include "model/system/waves_request.h"
#include "model/system/wire_source.h"
#include "traces/capture_reader.h"

namespace rxnic {

struct ReplayOptions {
  std::string trace;
  std::string receiver;  // address; empty: the busier side
  std::string host;      // traces/host_plan.h, "receive=srq,depth=1024,..."
  bool strict_psn = false;
  bool fill_truncated = false;           // traces/capture_reader.h, R5
  bool ignore_icrcs = false;             // R8
  std::vector<std::uint16_t> udp_ports;  // R8
  std::string pairs;                     // "0x11=0x21,...": QPs of the receiver and their peers' QPs
  Pace pace;
  std::string config;
  std::vector<std::string> overrides;
  std::uint64_t seed = 1;
  EngineMode mode = EngineMode::kFast;
  StepOrder order{};
  std::string responses_path;  // pcap of the model's answers, on the capture's clock; empty: none
  std::uint64_t responses_limit = std::uint64_t{64} << 20;  // bytes of it, 0: any; what follows is left out
  std::string cqes_path;                                    // CSV of every completion; empty: none
  WavesRequest waves;                                       // need kPerCycle
  RtlRequest rtl{};                                         // lockstep needs kPerCycle
  EventRequest events{};
  PacketNotes* notes = nullptr;  // what is found out about packets goes there
  RegionRequest region{};
  std::function<void(const std::string&)> say{};  // what the user should know besides the result
  // Each frame that the model sends: the number of the packet that it answers (0: none), and when its last byte left.
  std::function<void(std::uint64_t answered, std::uint64_t time_ps)> on_answer{};
  bool progress = false;
  bool threads = has_second_core();  // stages beside the simulation have threads of their own
};

// The capture as a replay reads it. Throws TraceError.
CaptureReader open_capture(const ReplayOptions& options);

// Throws TraceError, ConfigError, std::invalid_argument (a bad option), LockstepError.
RunResult replay(const ReplayOptions& options);

}  // namespace rxnic
