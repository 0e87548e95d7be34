// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/workload_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "bridge/rtl/nic_rtl.h"
#include "bridge/rxnic/capture/host_setup.h"
#include "bridge/rxnic/capture/response_file.h"
#include "bridge/rxnic/events/event_recorder.h"
#include "bridge/rxnic/output/files.h"
#include "bridge/rxnic/report/cqe_log.h"
#include "bridge/rxnic/workload/page_reader.h"
#include "bridge/rxnic/workload/page_text.h"
#include "bridge/rxnic/workload/workload_stream.h"
#include "bridge/rxnic/workload/written_stream.h"
#include "model/params/config.h"
#include "model/params/params_table.h"
#include "model/system/latencies.h"
#include "model/system/nic_waves.h"
#include "model/system/table_result.h"
#include "traces/mpi_job.h"

namespace rxnic {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPageName = "workload.toml";
constexpr const char* kParametersName = "parameters.toml";
constexpr const char* kWireName = "wire.pcap";
constexpr std::uint8_t kRnrTimer = 12;              // code of 0.64 ms, perftest's
constexpr std::uint64_t kMpiStartPs = 100'000'000;  // the host has posted its receive WQEs long before

// What the NIC sends: to the senders, into responses.pcap.
class WorkloadAnswers final : public FrameObserver {
 public:
  WorkloadAnswers(const ReplayOptions& o, FrameObserver* senders)
      : options_(o), file_(o.responses_path, o.responses_limit, {}), senders_(senders) {}
  void on_frame(const Packet& p, std::uint64_t time_ps) override {
    file_.write(p.frame_view(), p.link, time_ps, file_.takes(p.frame_bytes));
    if (options_.on_answer) options_.on_answer(p.id, time_ps);
    if (senders_ != nullptr) senders_->on_frame(p, time_ps);
  }
  ResponseFile& file() { return file_; }

 private:
  const ReplayOptions& options_;
  ResponseFile file_;
  FrameObserver* senders_;
};

// Writes R1's wire.pcap.
class WireFile {
 public:
  WireFile(const std::string& folder, WorkloadStream& stream) {
    if (folder.empty()) return;
    writer_ = std::make_unique<CaptureWriter>((fs::path(folder) / kWireName).string(), LinkLayer::kEthernet);
    stream.set_copy([this](Bytes frame, std::uint64_t time_ps) { writer_->write(time_ps, frame); });
  }
  void close() const {
    if (writer_) writer_->close();
  }

 private:
  std::unique_ptr<CaptureWriter> writer_;
};

void write_page(const std::string& folder, WorkloadPage page, const Params& params) {
  if (page.mpi.any()) page.mpi.trace = fs::absolute(page.mpi.trace).lexically_normal().string();
  for (std::size_t i = 0; i < page.senders.size(); ++i) {
    SendersPage& s = page.senders[i];
    if (s.size != SizeKind::kCdf) continue;
    std::string text;
    for (const CdfPoint& p : s.cdf_points) text += fmt::format("{} {}\n", p.bytes, p.share);
    s.cdf = fmt::format("sizes-{}.txt", i + 1);
    write_file(fs::path(folder) / s.cdf, text);
  }
  write_file(fs::path(folder) / kPageName, workload_toml(page));
  write_file(fs::path(folder) / kParametersName, params_toml(params));
}

// Overrides of keys of the page, or of parameters.
std::vector<std::string> overrides_of(const WorkloadOptions& o, bool page) {
  std::vector<std::string> found;
  for (const std::string& text : o.run.overrides) {
    if (is_page_override(text) == page) found.push_back(text);
  }
  return found;
}

WorkloadPage page_of(const WorkloadOptions& o, bool written) {
  const std::vector<std::string> overrides = overrides_of(o, true);
  for (const std::string& text : overrides) {
    if (!written || text.starts_with("workload.receiver.")) continue;
    throw ConfigError("--set", 0, text.substr(0, text.find('=')), "a workload that was written to files",
                      "a key of receiver, or a page: what comes to the NIC is in wire.pcap");
  }
  WorkloadPage page = load_workload(written ? (fs::path(o.run.trace) / kPageName).string() : o.run.trace, overrides);
  if (o.seeded) page.seed = o.run.seed;
  return page;
}

MpiJob mpi_job_of(const WorkloadPage& page, const Params& params) {
  MpiJobOptions options;
  options.rank = static_cast<std::uint32_t>(page.mpi.rank);
  options.start_ps = kMpiStartPs;
  options.delay_ps = page.network.delay;
  options.gap_ps = page.mpi.order_gap;
  options.speedup = page.mpi.speedup;
  options.link_gbps = static_cast<double>(page.network.link_gbps != 0 ? page.network.link_gbps : params.nic.link_gbps);
  return make_mpi_job(*page.mpi.calls, page.mpi.trace, options);
}

void check_tags(const HostOptions& host, const Params& params) {
  if (host.tags <= params.tag_match_cam.max_tags) return;
  throw std::invalid_argument(
      fmt::format("receiver.tags.ahead: found {}; expected at most {}, parameter "
                  "tag_match_cam.max_tags",
                  host.tags, params.tag_match_cam.max_tags));
}

WorkloadResult result_of(const WorkloadPage& page, const WorkloadStream& stream) {
  const SenderCounts& s = stream.counts();
  const NetworkCounts& n = stream.network();
  return {page.about, stream.packets(), s.messages,   s.answered,  s.repeated, s.timeouts, s.failed_qps,
          n.lost,     n.corrupted,      n.duplicated, n.reordered, n.marked,   n.pauses,   n.answers_lost};
}

}  // namespace

bool is_written_workload(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(fs::path(path) / kPageName, ignored) &&
         fs::is_regular_file(fs::path(path) / kWireName, ignored);
}

RunResult run_workload(const WorkloadOptions& options) {
  const ReplayOptions& o = options.run;
  const bool written = is_written_workload(o.trace);
  const WorkloadPage page = page_of(options, written);
  RunResult r;
  r.trace = o.trace;
  r.config = o.config;
  r.overrides = o.overrides;
  const bool own_parameters = written && !options.configured;
  r.params = load_config(own_parameters ? (fs::path(o.trace) / kParametersName).string() : o.config,
                         overrides_of(options, false));
  if (own_parameters) r.config = kParametersName;
  r.seed = page.seed;
  r.mode = engine_mode_name(o.mode);
  r.pace = "workload";
  r.psn = "strict";

  // (1) the two sides
  const WorkloadLayout layout(page);
  HostOptions host = host_options(page.receiver);
  host.resynchronise = false;
  host.seed = page.seed;
  host.responder_resources = r.params.transport_checker.responder_resources;
  complete_host_options(host, r.params);
  std::optional<MpiJob> job;
  if (page.mpi.any()) {
    job = mpi_job_of(page, r.params);
    host.tags =
        static_cast<std::uint32_t>(std::clamp<std::size_t>(job->posts.size(), 1, r.params.tag_match_cam.max_tags));
  } else if (page.receiver.receive == PageReceive::kTagMatchingSrq) {
    host.counting_tags = page.senders[0].tags;
  }
  check_tags(host, r.params);
  HostPlan plan = make_host_plan(layout.survey(), host);
  for (QpPlan& qp : plan.qps) qp.context.min_rnr_timer = kRnrTimer;
  if (job) plan.tag_lists[0].posts = job->posts;
  r.receiver = layout.receiver().text();
  r.receiver_choice = "of the workload";
  r.host = host_text(host, plan);
  RunFeatures features = features_of(host, plan);
  if (page.network.mark_ppm != 0 || !page.network.mark.empty()) features.add(RunFeature::kMarked);
  r.warnings = parameters_without_effect(r.params, r.config, overrides_of(options, false), features);
  r.assumptions = plan.notes;
  if (job) r.assumptions.insert(r.assumptions.end(), job->notes.begin(), job->notes.end());
  Progress progress("workload", o.progress);
  WorkloadStream stream(page, layout, r.params.nic.link_gbps, progress, job ? &*job : nullptr);
  std::unique_ptr<WrittenStream> wire;
  if (written) wire = std::make_unique<WrittenStream>((fs::path(o.trace) / kWireName).string(), progress);
  if (!options.write_to.empty()) write_page(options.write_to, page, r.params);
  WireFile file(options.write_to, stream);
  WorkloadAnswers answers(o, written ? nullptr : &stream);

  // (2) build
  Latencies latencies(r.params.nic.clock_period_ps);
  std::unique_ptr<CqeLog> cqes;
  if (!o.cqes_path.empty()) cqes = std::make_unique<CqeLog>(o.cqes_path, r.params.nic.clock_period_ps);
  const std::unique_ptr<NicRtl> rtl = NicRtl::make(o.rtl, r.params);
  Simulation::Options simulation{params_for(plan, r.params), o.mode, {}, &answers, cqes.get(), &latencies, o.order};
  simulation.region = o.region;
  if (rtl) simulation.blocks = rtl->blocks();
  StimulusStream& stimulus = written ? static_cast<StimulusStream&>(*wire) : stream;
  Simulation sim(simulation, stimulus);
  if (!written) stream.begin(sim);
  sim.nic.rx_parser.add_address(layout.receiver());
  set_up(sim, plan);
  const std::unique_ptr<NicWaves> waves = NicWaves::make(o.waves, sim.engine);
  if (waves) waves->add(sim.nic);
  if (rtl) rtl->add(sim.nic, sim.engine);
  std::unique_ptr<EventRecorder> events;
  if (o.events.wanted()) {
    events = std::make_unique<EventRecorder>(o.events, r, sim.engine, 1);
    events->nic(0).pass_on_to(&latencies, &answers);
    sim.observe(events->nic(0));
    latencies.tables().pass_incidents_to(&events->nic(0));
  }

  // (3) run
  sim.run();

  // (4) collect
  file.close();
  answers.file().close(LinkLayer::kEthernet);
  const std::string left_out = answers.file().left_out_text(sim.sink.frames());
  if (!left_out.empty()) r.warnings.push_back(left_out);
  if (cqes) cqes->close();
  for (const std::string& text : {waves ? waves->finish() : std::string(), events ? events->finish() : std::string()}) {
    if (!text.empty() && o.say) o.say(text);
  }
  if (rtl) r.rtl = rtl->finish();
  sim.collect(r);
  if (rtl) rtl->refuse_packets_inside(sim.nic.shared.ledger.counters(), sim.engine.now());
  if (rtl) rtl->leave_unknown_out(r);
  r.captured = written ? wire->packets() : stream.packets();
  r.workload = result_of(page, stream);
  r.workload->packets = r.captured;
  latencies.collect(r);
  r.tag_depths.unexpected = depth_result(sim.host.unexpected_depths());
  collect_tables(std::array{&std::as_const(latencies)}, r.params.nic.clock_period_ps, r);
  return r;
}

}  // namespace rxnic
