// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/live/live_session.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>

#include "bridge/rxnic/output/files.h"
#include "bridge/rxnic/output/standard_streams.h"
#include "bridge/rxnic/report/report.h"
#include "model/params/no_effect.h"
#include "model/params/params_table.h"
#include "model/system/units.h"

namespace rxnic {

namespace {

std::unique_ptr<Recorder> make_recorder(const SessionOptions& o, const Params& params, RunLog& log) {
  if (!o.record) {
    remove_record(o.out);
    return nullptr;
  }
  return std::make_unique<Recorder>(
      o.out,
      HostLogHeader{o.nics, o.addresses.of(0).text(), o.seed, o.command, o.config, o.overrides, params_toml(params)},
      [&log](const TraceError& error) {
        log.say(fmt::format("{}; the record ends here, the run goes on without it", error.what()));
      });
}

bool per_cycle(const SessionOptions& o) { return o.waves.wanted() || !o.rtl.lockstep.empty(); }

}  // namespace

LiveSession::LiveSession(const SessionOptions& options, const Params& params, LiveSource& source,
                         const std::string& files)
    : options_(options),
      params_(params),
      programs_(source.programs),
      log_(source.log),
      status_(!options.quiet),
      started_(StatusLine::Clock::now()),
      recorder_(make_recorder(options, params, log_)),
      rtl_(NicRtl::make(options.rtl, params)),
      simulation_({params, per_cycle(options) ? EngineMode::kPerCycle : EngineMode::kFast, options.nics,
                   options.addresses, recorder_.get(), recorder_.get(), options.order, rtl_.get()},
                  source.programs, source.memory),
      waves_(simulation_.make_waves(options.waves)),
      no_effect_(parameters_without_effect(params, options.config, options.overrides,
                                           features_of_programs(params, options.nics))) {
  for (const std::string& text : no_effect_) {
    if (!options.quiet) say("warning: " + text);
  }
  log_.set_clock([this] { return simulation_.now().count * params_.nic.clock_period_ps; });
  if (!files.empty()) show_counters(files);
}

LiveSession::~LiveSession() {
  log_.set_clock(nullptr);
  programs_.set_on_show([] {});
}

void LiveSession::show_counters(const std::string& files) {
  try {
    simulation_.show_counters(files);
  } catch (const std::runtime_error& e) {
    say(fmt::format("programs are shown not all counters of their NICs: {}", e.what()));
  }
  programs_.set_on_show([this] { simulation_.publish_counters_if_read(); });
}

void LiveSession::tick() {
  simulation_.publish_counters();
  const auto now = StatusLine::Clock::now();
  if (status_.due(now)) status_.show(now, simulation_.figures());
}

bool LiveSession::finish() {
  status_.clear();
  RunResult r;
  r.command = options_.command;
  r.config = options_.config;
  r.overrides = options_.overrides;
  r.params = params_;
  r.seed = options_.seed;
  r.mode = per_cycle(options_) ? "per-cycle" : "fast";
  if (rtl_) r.rtl = rtl_->finish();
  simulation_.collect(r);
  if (rtl_) rtl_->leave_unknown_out(r);
  r.warnings.insert(r.warnings.end(), no_effect_.begin(), no_effect_.end());
  if (recorder_) recorder_->close(simulation_.now(), r.cqes);
  const std::string report = std::filesystem::path(options_.out) / "report.json";
  write_file(report, report_json(r));
  if (options_.on_report) options_.on_report(r);
  const std::string notice = waves_ ? waves_->finish() : std::string();
  if (!notice.empty()) say(notice);
  for (const std::string& line : r.rtl.lines) say(line);
  const bool recorded = !recorder_ || !recorder_->failed();
  if (!options_.quiet) say_end(r, report);
  if (log_.error() != 0) print_message(fmt::format("{}: {}", log_.path(), std::strerror(log_.error())));
  refuse_nothing_compared(r.rtl);
  return recorded && log_.error() == 0;
}

void LiveSession::say_end(const RunResult& r, const std::string& report) {
  if (r.programs.empty()) {  // there is no time and no traffic to speak of
    say(fmt::format("{}; {}", r.warnings.front(), report));
    return;
  }
  const double wall_s = std::chrono::duration<double>(StatusLine::Clock::now() - started_).count();
  const double model_s = static_cast<double>(r.time_ps) * 1e-12;
  say(fmt::format("{} of model time in {:.2f} s (slowdown {:.0f}), {} packets, {} messages, {} completions; {}",
                  time_text(r.time_ps), wall_s, model_s > 0 ? wall_s / model_s : 0, count_text(r.packets.seen),
                  count_text(r.messages), count_text(r.cqes), report));
}

}  // namespace rxnic
