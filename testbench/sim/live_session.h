// SPDX-License-Identifier: Apache-2.0
// What `rxnic run` and `rxnic serve` have in common: the fabric, the record, the status line, the report.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "testbench/sim/fabric_simulation.h"
#include "testbench/sim/recorder.h"
#include "testbench/sim/status_line.h"

namespace rxnic {

struct SessionOptions {
  std::string config;
  std::vector<std::string> overrides;
  std::uint32_t nics = 1;
  std::string out;  // folder; exists
  std::uint64_t seed = 1;
  bool record = false;
  bool quiet = false;
  std::vector<std::string> command;  // empty: programs attach by themselves
};

class LiveSession {
 public:
  // Throws ConfigError, TraceError (of a file that cannot be written).
  LiveSession(const SessionOptions& options, const Params& params, HostPort& port, ProgramMemory& memory);

  void run() { simulation_.run(); }
  void stop() { simulation_.stop(); }
  // Something to say on standard error.
  void say(const std::string& text);
  // Now and then, for the status line.
  void tick();
  // Ends the record, writes the report and says so.
  void finish();

 private:
  SessionOptions options_;
  Params params_;
  StatusLine status_;
  StatusLine::Clock::time_point started_;
  std::unique_ptr<Recorder> recorder_;
  FabricSimulation simulation_;
};

}  // namespace rxnic
