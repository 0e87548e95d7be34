// SPDX-License-Identifier: Apache-2.0
// What `rxnic run` and `rxnic serve` have in common: the fabric, the record, the status line, the report.
#pragma once

#include <memory>
#include <string>

#include "bridge/rxnic/fabric/fabric_simulation.h"
#include "bridge/rxnic/live/live_source.h"
#include "bridge/rxnic/output/status_line.h"
#include "bridge/rxnic/record/recorder.h"

namespace rxnic {

class LiveSession {
 public:
  // `files`: the folder of the device files; empty: none. Throws ConfigError, TraceError or std::runtime_error (of a
  // file that cannot be written).
  LiveSession(const SessionOptions& options, const Params& params, LiveSource& source, const std::string& files);
  ~LiveSession();
  LiveSession(const LiveSession&) = delete;

  void run() { simulation_.run(); }
  void stop() { simulation_.stop(); }
  // Something to say on standard error; the log has it, too.
  void say(const std::string& text) { log_.say(text); }
  // Now and then, for the status line.
  void tick();
  // Ends the record, writes the report and says so. False: the record or the log is not whole, which was said. Throws
  // std::runtime_error: the report or the waveforms cannot be completed; NothingCompared.
  bool finish();

 private:
  void show_counters(const std::string& files);
  void say_end(const RunResult& result, const std::string& report);

  SessionOptions options_;
  Params params_;
  LivePrograms& programs_;
  RunLog& log_;
  StatusLine status_;
  StatusLine::Clock::time_point started_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<NicRtl> rtl_;  // lives longer than the NICs
  FabricSimulation simulation_;
  std::unique_ptr<NicWaves> waves_;
  std::vector<std::string> no_effect_;  // warnings: parameters that were set and cannot act
};

}  // namespace rxnic
