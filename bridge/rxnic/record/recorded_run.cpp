// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/record/recorded_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "bridge/rxnic/fabric/fabric_simulation.h"
#include "bridge/rxnic/record/recorded_programs.h"
#include "bridge/rxnic/record/recorder.h"
#include "bridge/rxnic/report/report.h"
#include "model/params/config.h"
#include "model/params/no_effect.h"
#include "traces/capture_reader.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kPsPerNanosecond = 1000;
constexpr std::uint32_t kParamsLine = 1;  // of the log: its header

// The frames of a repeated run against those of wire.pcap.
class FrameCheck final : public FabricObserver {
 public:
  FrameCheck(const std::string& path, const std::string& log, ReplayState& state)
      : reader_(path), log_(log), state_(state) {}

  void on_frame(std::uint32_t, std::uint32_t, Bytes frame, std::uint64_t time_ps) override {
    if (state_.over()) return;
    ++frames_;
    if (cut_) return;
    // As the reader gives times: whole nanoseconds since the first frame, never backwards.
    const std::uint64_t whole = time_ps / kPsPerNanosecond * kPsPerNanosecond;
    if (frames_ == 1) first_ps_ = whole;
    time_ps_ = std::max(time_ps_, whole < first_ps_ ? 0 : whole - first_ps_);
    CapturedFrame recorded;
    if (!reader_.next(recorded)) {
      cut_ = is_cut_host_log(log_);
      if (cut_) return;
      state_.differs(fmt::format("found frame {} on the wire; recorded: {} frames{}", frames_, frames_ - 1,
                                 reader_.cut_short() ? " (" + reader_.cut_reason() + ")" : ""));
    } else if (recorded.time_ps != time_ps_) {
      state_.differs(fmt::format("found frame {} on the wire {} ns after the first; recorded: {} ns", frames_,
                                 time_ps_ / kPsPerNanosecond, recorded.time_ps / kPsPerNanosecond));
    } else if (!std::equal(frame.begin(), frame.end(), recorded.bytes.begin(), recorded.bytes.end())) {
      const auto [ours, theirs] =
          std::mismatch(frame.begin(), frame.end(), recorded.bytes.begin(), recorded.bytes.end());
      state_.differs(fmt::format("found other bytes in frame {} on the wire than were recorded, from byte {} on",
                                 frames_, ours - frame.begin()));
    }
  }
  void finish() {
    if (state_.over()) return;
    CapturedFrame recorded;
    if (reader_.next(recorded)) {
      state_.differs(
          fmt::format("found no frame on the wire after frame {}; recorded: frame {}", frames_, recorded.number));
    } else if (reader_.cut_short()) {
      state_.differs(fmt::format("found {} frames on the wire; recorded: {}", frames_, reader_.cut_reason()));
    }
  }
  std::uint64_t frames() const { return frames_; }

 private:
  CaptureReader reader_;
  std::string log_;
  ReplayState& state_;
  bool cut_ = false;  // the wire of a cut record: no further frame can be compared
  std::uint64_t frames_ = 0;
  std::uint64_t first_ps_ = 0;
  std::uint64_t time_ps_ = 0;
};

void expect_equal(ReplayState& state, const char* what, std::uint64_t found, std::uint64_t recorded) {
  if (found != recorded) state.differs(fmt::format("found {} {} at the end; recorded: {}", found, what, recorded));
}

// A report that cannot be read is an empty one: the comparison of its text finds what is wrong.
RunResult read_report(const std::string& report, const std::string& path) {
  try {
    return parse_report(report, path);
  } catch (const std::invalid_argument&) {
    return {};
  }
}

// Makes of a result what the recorded run would have reported. The result of a run with waves is per-cycle, and RTL in
// the place of a block counts less than the block.
void adopt_settings(RunResult& ours, RunResult recorded) {
  if (recorded.mode.empty()) return;
  ours.mode = recorded.mode;
  std::swap(ours.rtl.uses, recorded.rtl.uses);
  std::vector<RtlUse> uses = ours.rtl.uses;
  uses.insert(uses.end(), recorded.rtl.uses.begin(), recorded.rtl.uses.end());
  for (const RtlUse& u : uses) {
    if (u.use != "rtl") continue;
    const std::string stem = u.block.substr(u.block.rfind('.') + 1);
    for (std::size_t n = 0; n < std::min(ours.nics.size(), recorded.nics.size()); ++n) {
      std::vector<BlockResult>& blocks = ours.nics[n].blocks;
      for (std::size_t b = 0; b < std::min(blocks.size(), recorded.nics[n].blocks.size()); ++b) {
        if (blocks[b].stem == stem) blocks[b] = recorded.nics[n].blocks[b];
      }
    }
    ours.state_hash = recorded.state_hash;
  }
}

// A report without the keys that another one does not have, which an earlier version wrote.
std::string without_new_keys(const std::string& report, const std::string& other) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(report);
  const auto others = nlohmann::ordered_json::parse(other, nullptr, false);
  std::vector<std::string> unknown;
  for (const auto& [key, value] : json.items()) {
    if (others.is_object() && !others.contains(key)) unknown.push_back(key);
  }
  if (unknown.empty()) return report;
  for (const std::string& key : unknown) json.erase(key);
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void compare_report(const std::string& path, RecordedRun& run, ReplayState& state) {
  std::error_code ignored;
  std::ifstream in;
  if (std::filesystem::is_regular_file(path, ignored)) in.open(path, std::ios::binary);
  if (!in.is_open() || state.over()) return;
  std::stringstream recorded;
  recorded << in.rdbuf();
  RunResult report = read_report(recorded.str(), path);
  if (!report.trace.empty()) return;  // of a capture: wire.pcap was replayed into the folder
  run.report_compared = true;
  RunResult as_recorded = run.result;
  adopt_settings(as_recorded, std::move(report));
  run.result.mode = as_recorded.mode;
  std::istringstream ours(without_new_keys(report_json(as_recorded), recorded.str()));
  if (recorded.str() == ours.str()) return;
  std::uint64_t number = 1;
  std::string found, expected;
  for (; std::getline(ours, found) && std::getline(recorded, expected) && found == expected;) ++number;
  state.differs(
      fmt::format("the report differs from {}: line {}: found {}; recorded: {}", path, number, found, expected));
}

}  // namespace

std::string host_log_file(const std::string& folder) { return std::filesystem::path(folder) / kHostLogFile; }
std::string wire_file(const std::string& folder) { return std::filesystem::path(folder) / kWireFile; }

std::string recorded_config(const HostLogHeader& header) {
  return fmt::format("base = \"{}\"\n{}", kDefaultConfig, header.params);
}

Params recorded_params(const HostLogHeader& header, const std::string& log) {
  try {
    return parse_config(recorded_config(header), log);
  } catch (const ConfigError& e) {
    throw TraceError::at_line(log, kParamsLine, fmt::format("the parameter {}: {}", e.key(), e.found()), e.expected());
  }
}

NicAddresses recorded_addresses(const HostLogHeader& header, const std::string& log) {
  if (header.nics == 0 || header.nics > channel::kMaxNics) {
    throw TraceError::at_line(log, kParamsLine, fmt::format("{} NICs", header.nics),
                              fmt::format("1 to {}", channel::kMaxNics));
  }
  const auto addresses = NicAddresses::parse(header.first_address, header.nics);
  if (!addresses) {
    throw TraceError::at_line(log, kParamsLine, fmt::format("\"first_address\": \"{}\"", header.first_address),
                              NicAddresses::kExpected);
  }
  return *addresses;
}

bool is_recorded_run(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

RecordedRun replay_recorded_run(const std::string& folder, const RecordedRunOptions& o) {
  const std::string log = host_log_file(folder);
  ReplayState state;
  RecordedPrograms programs(log, state);
  LogMemory memory(log, state);
  FrameCheck frames(wire_file(folder), log, state);
  const HostLogHeader& header = programs.header();

  RecordedRun run;
  RunResult& r = run.result;
  r.command = header.program;
  r.config = header.config;
  r.overrides = header.overrides;
  r.params = recorded_params(header, log);
  r.seed = header.seed;
  r.mode = "fast";  // the recorded run's, unless its report says otherwise
  const NicAddresses addresses = recorded_addresses(header, log);

  std::optional<PlanningPrograms> planning;
  std::optional<PlanningMemory> planning_memory;
  if (o.planner != nullptr) {
    const auto now = [&state] { return state.now(); };
    planning.emplace(programs, *o.planner, now);
    planning_memory.emplace(memory, *o.planner, now);
  }
  const std::unique_ptr<NicRtl> rtl = NicRtl::make(o.rtl, r.params);
  FabricSimulation simulation(
      {r.params, o.mode, header.nics, addresses, nullptr, &frames, o.order, rtl.get(), o.region},
      planning ? static_cast<Programs&>(*planning) : programs,
      planning_memory ? static_cast<ProgramMemory&>(*planning_memory) : memory);
  const std::unique_ptr<NicWaves> waves = simulation.make_waves(o.waves);
  const std::unique_ptr<EventRecorder> events = simulation.record_events(o.events, r);
  state.connect([&simulation] { simulation.stop(); }, [&simulation] { return simulation.now(); });
  simulation.run();
  state.rethrow();
  const std::string notice = waves ? waves->finish() : std::string();
  if (!notice.empty() && o.say) o.say(notice);
  const std::string left_out = events ? events->finish() : std::string();
  if (!left_out.empty() && o.say) o.say(left_out);
  if (rtl) r.rtl = rtl->finish();

  run.cycles = simulation.now().count + 1;
  run.cqes = simulation.cqes();
  simulation.collect(r);
  if (rtl) rtl->leave_unknown_out(r);
  const RunFeatures features = features_of_programs(r.params, header.nics);
  const auto no_effect = parameters_without_effect(r.params, r.config, r.overrides, features);
  r.warnings.insert(r.warnings.end(), no_effect.begin(), no_effect.end());
  if (!state.over() && !programs.finished()) state.differs("found the end of the run; recorded: further events");
  if (programs.finished()) run.cut = programs.end().cut;
  if (!run.cut.empty()) r.warnings.push_back("the record ends before the run did: " + run.cut);
  memory.finish();
  if (run.cut.empty()) frames.finish();
  if (!state.over()) {
    expect_equal(state, "cycles", run.cycles, programs.end().cycle + 1);
    if (run.cut.empty()) {
      expect_equal(state, "CQEs", run.cqes, programs.end().cqes);
      expect_equal(state, "frames", frames.frames(), programs.end().frames);
    }
    expect_equal(state, "reads", memory.reads(), programs.end().reads);
    expect_equal(state, "writes", memory.writes(), programs.end().writes);
    if (memory.digest() != programs.end().digest) state.differs("found other writes than were recorded");
  }
  run.events = programs.events();
  run.reads = memory.reads();
  run.writes = memory.writes();
  run.frames = frames.frames();
  if (run.cut.empty() && !r.region)
    compare_report((std::filesystem::path(folder) / "report.json").string(), run, state);
  run.difference = state.difference();
  return run;
}

}  // namespace rxnic
