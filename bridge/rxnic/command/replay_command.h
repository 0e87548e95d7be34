// SPDX-License-Identifier: Apache-2.0
// `rxnic replay TRACE`: a capture, a workload, or the folder of a recorded run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bridge/rxnic/capture/replay.h"
#include "bridge/rxnic/command/cli_options.h"
#include "bridge/rxnic/command/events_options.h"
#include "bridge/rxnic/command/rtl_options.h"
#include "bridge/rxnic/command/waves_options.h"
#include "bridge/rxnic/workload/workload_run.h"

namespace rxnic {

class ReplayCommand {
 public:
  void describe(CLI::App& app);
  int run();
  // Whether `file` is what is replayed, not something that is written.
  bool reads(const std::string& file) const;

 private:
  RegionRequest region() const;
  void request_files();
  RunResult replay_receiver(std::string* said);
  int replay_capture();
  int replay_every_receiver();  // every_receiver.cpp
  int replay_folder();
  int replay_what_if();
  void refuse_options(std::span<const char* const> options, const char* found) const;
  WorkloadOptions workload_options() const;
  bool prepare_out() const;
  void write_report(const RunResult& result) const;
  std::string write_pictures(const std::string& capture, const RunResult& result, const PacketNotes* notes) const;

  static constexpr const char* kEveryReceiver = "all";

  CLI::App* app_ = nullptr;
  CommonOptions common_;
  StepOrderOption step_order_;
  ReplayOptions options_;
  std::string out_ = "rxnic-run";
  WavesOption waves_;
  EventsOption events_;
  std::optional<std::string> from_, to_, warmup_;
  RtlOptions rtl_;
  std::string loop_ = "closed";
  std::string pace_ = "captured";
  std::string psn_ = "resynchronise";
  std::string truncated_ = "drop";
  std::string icrc_ = "check";
  std::vector<std::uint32_t> udp_ports_;
  bool of_workload_ = false;
  bool step_all_ = false, per_cycle_ = false, quiet_ = false;
};

}  // namespace rxnic
