// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/replay_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "bridge/rtl/nic_rtl.h"
#include "bridge/rxnic/annotate/annotate.h"
#include "bridge/rxnic/capture/response_file.h"
#include "bridge/rxnic/command/parse_text.h"
#include "bridge/rxnic/diagnose/diagnose.h"
#include "bridge/rxnic/output/exit_status.h"
#include "bridge/rxnic/output/files.h"
#include "bridge/rxnic/output/standard_streams.h"
#include "bridge/rxnic/page/page_file.h"
#include "bridge/rxnic/record/recorded_run.h"
#include "bridge/rxnic/record/recorder.h"
#include "bridge/rxnic/record/what_if.h"
#include "bridge/rxnic/workload/page_reader.h"
#include "model/params/quantity.h"
#include "model/system/units.h"

namespace rxnic {

namespace {

// Options that say something about a capture: a recorded run says it itself.
constexpr const char* kOfCaptures[] = {"--receiver",        "--host",      "--psn",  "--pace", "--cqes",    "--seed",
                                       "--responses-limit", "--truncated", "--pair", "--icrc", "--udp-port"};

// Those that say something about a capture alone: a workload's page says it.
constexpr const char* kNotOfWorkloads[] = {"--receiver", "--host", "--psn",      "--pace",    "--truncated",
                                           "--pair",     "--icrc", "--udp-port", "--annotate"};

// A run never writes over the trace that it reads.
void refuse_trace_as_output(const std::string& trace, const std::string& written) {
  std::error_code ignored;
  if (!written.empty() && std::filesystem::equivalent(trace, written, ignored)) {
    throw std::invalid_argument(fmt::format("{}: found the trace itself; expected another file to write", written));
  }
}

Pace parse_pace(const std::string& text) {
  if (text == "captured") return {Pace::Kind::kCaptured, 0};
  if (text == "line-rate") return {Pace::Kind::kLineRate, 0};
  double gbps = 0;
  if (const auto rate = quantity(text, "b/s")) {
    gbps = static_cast<double>(*rate) * 1e-9;
  } else {
    std::size_t used = 0;
    try {
      gbps = std::stod(text, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used != text.size()) gbps = 0;
  }
  if (!(gbps >= 0.001 && gbps <= 10000)) {
    throw std::invalid_argument(
        fmt::format("--pace: found '{}'; expected captured, line-rate, or a rate of 0.001 to 10000 Gb/s", text));
  }
  return {Pace::Kind::kRate, gbps};
}

// What of the RTL was compared or used.
std::string rtl_text(const RunResult& result) {
  std::string text = result.rtl.lines.empty() ? "" : "\n";
  for (const std::string& line : result.rtl.lines) text += line + '\n';
  return text;
}

int end_of(const RunResult& result) {
  refuse_nothing_compared(result.rtl);
  return kDone;
}

}  // namespace

void ReplayCommand::describe(CLI::App& app) {
  app_ = &app;
  common_.describe(app);
  app.add_option("trace", options_.trace,
                 "Capture to replay: pcap or pcapng, also compressed with gzip or zstd; Ethernet with RoCEv2 or\n"
                 "RoCEv1, Linux cooked (tcpdump -i any), raw IP, InfiniBand or ERF;\n"
                 "or a workload: a page (FILE.toml), the name of one that comes along, the folder of one as files\n"
                 "(rxnic workload);\n"
                 "or the folder of a recorded run, which is repeated without its programs and compared;\n"
                 "with --set or --config: what if its NICs had other parameters")
      ->required()
      ->type_name("TRACE");
  app.add_option("--loop", loop_,
                 "Of a recorded run with --set or --config: its programs' posts and control messages come\n"
                 "closed  each after as many completions, events, replies and bytes of data as in the record, as\n"
                 "        long after the last of these: a slower NIC gets its posts later\n"
                 "open    at their recorded times (counted from the last reply to a control message)\n"
                 "The report compares with the record")
      ->check(CLI::IsMember({"closed", "open"}))
      ->capture_default_str();
  app.add_option("--receiver", options_.receiver,
                 "Address of the host whose NIC is modelled: IPv4, IPv6, GID or lid:N\n"
                 "(default: the host that gets the most requests); all: each host that gets requests, one after the\n"
                 "other, with a folder of its own in --out");
  app.add_option("--host", options_.host,
                 "The synthesised host, key=value,...:\n"
                 "receive=rq|srq|tm_srq  an RQ for each QP, or one SRQ, or one with tag matching\n"
                 "qps_per_srq=N, qps_per_cq=N  QPs that share an SRQ, a CQ (default: all)\n"
                 "depth=N, buffer=BYTES, sges=N  receives kept posted, bytes and SGEs of each (or sge_bytes=64+4032)\n"
                 "refill=on_completion|batch:N  when receives are posted again\n"
                 "layout=linked_list|cyclic  of an SRQ\n"
                 "wqe_order=completion|sequential|shuffled  order of a linked list's slots (shuffled: by --seed)\n"
                 "tags=N, mask=HEX  tags of the next messages kept posted (with tm_srq), bits that are compared\n"
                 "tag_order=in_order|reversed|shuffled, tag_window=N  tags of so many messages in another order\n"
                 "unexpected_ppm=N, unexpected_lag=N  messages whose receive is posted so many messages later\n"
                 "any_source_ppm=N, any_tag_ppm=N, delete_ppm=N, failing_ppm=N  tags with wildcards, deleted ones,\n"
                 "operations that fail; sync_lag=N  unexpected messages that are reported late\n"
                 "service=NS, service_time=fixed|exponential, workers=N  the program serves each message first\n"
                 "completions=polled|events, moderation_count=N, moderation_period=US  events instead of polling\n"
                 "page=4K|2M|1G  pages of memory regions and buffers\n"
                 "cqes=N, cq_compression=on|off  slots of a CQ, whether completions are compressed");
  app.add_option("--pair", options_.pairs,
                 "QP of the receiver = QP of its peer, ...: which QPs are connected, where the capture does not show\n"
                 "it (the report lists the pairs and what they were found by)")
      ->type_name("QP=PEER_QP,...");
  app.add_option("--psn", psn_,
                 "When a PSN is ahead of the expected one: resynchronise (accept it: the capture lost\npackets) or "
                 "strict (answer with a NAK)")
      ->check(CLI::IsMember({"resynchronise", "strict"}))
      ->capture_default_str();
  app.add_option("--pace", pace_,
                 "When packets arrive: captured (as in the trace), line-rate, or a rate: 40 (Gb/s), 40G, 800M")
      ->capture_default_str();
  app.add_option("--truncated", truncated_,
                 "Packets whose payload the capture cut short (a snap length): drop, or fill (zeros for what is\n"
                 "missing, up to the length in their headers; their ICRCs cannot be checked). A packet that is\n"
                 "shorter than its IP length was cut by a mirror")
      ->check(CLI::IsMember({"drop", "fill"}))
      ->capture_default_str();
  app.add_option("--icrc", icrc_,
                 "Packets with a wrong ICRC, as FPGAs, switches and mirrors that change packets write them: check\n"
                 "(they are dropped), or ignore (they are taken as right, answers of the captured receiver, too)")
      ->check(CLI::IsMember({"check", "ignore"}))
      ->capture_default_str();
  app.add_option("--udp-port", udp_ports_,
                 "A UDP port that carries RoCEv2 besides 4791; may be given several times. A warning names ports\n"
                 "with what looks like it")
      ->check(CLI::Range(1, 65535))
      ->type_name("PORT");
  app.add_option(
         "--out", out_,
         "Folder for report.json and responses.pcap (times are the capture's: mergecap puts both in one file);\n"
         "created when it does not exist, for its user alone, as the files are; links in it are not followed")
      ->capture_default_str();
  app.add_option(
         "--responses-limit", options_.responses_limit,
         "Size of responses.pcap (a number, or with K, M or G): no further frame is written, and a warning says\n"
         "how many were left out; 0: any size")
      ->transform(&size_in_bytes)
      ->type_name("SIZE")
      ->default_str("64M");
  app.add_option("--cqes", options_.cqes_path, "Also write every completion to this file, as CSV")->type_name("FILE");
  describe_seed(app, options_.seed);
  app.add_flag("--step-all", step_all_, "Step every block in every cycle: slower, with the same result");
  app.add_flag("--per-cycle", per_cycle_, "One SystemC activation a cycle: slower, with the same result");
  step_order_.describe(app);
  app.add_option(
         "--from", from_,
         "The figures are of the run from this time of the model on: 800ns, 1.5us, 2ms. The run itself is the same")
      ->type_name("TIME");
  app.add_option("--to", to_, "The same, up to this time")->type_name("TIME");
  app.add_option("--warmup", warmup_,
                 "The same, from this long after the first packet on; 0ns: without the idle time before it")
      ->type_name("TIME")
      ->excludes("--from");
  waves_.describe(app);
  events_.describe(app);
  rtl_.describe(app);
  app.add_flag("--quiet", quiet_, "Print no summary and no progress");
}

bool ReplayCommand::reads(const std::string& file) const {
  return file == options_.trace || file == wire_file(options_.trace) || file == host_log_file(options_.trace);
}

int ReplayCommand::run() {
  options_.config = common_.config;
  options_.overrides = common_.overrides;
  options_.pace = parse_pace(pace_);
  options_.strict_psn = psn_ == "strict";
  options_.fill_truncated = truncated_ == "fill";
  options_.ignore_icrcs = icrc_ == "ignore";
  options_.udp_ports.assign(udp_ports_.begin(), udp_ports_.end());
  const bool per_cycle = per_cycle_ || waves_.wanted() || rtl_.per_cycle();
  if (step_all_ && per_cycle) {
    throw std::invalid_argument("--step-all and --per-cycle (of --waves and --lockstep, too) exclude each other");
  }
  options_.mode = step_all_ ? EngineMode::kStepAll : per_cycle ? EngineMode::kPerCycle : EngineMode::kFast;
  request_files();
  options_.region = region();
  options_.say = [](const std::string& text) { print_message(text); };
  options_.order = step_order_.order();
  options_.progress = !quiet_;
  const bool other_parameters = app_->get_option("--set")->count() != 0 || app_->get_option("--config")->count() != 0;
  const bool of_run = is_recorded_run(options_.trace) && !is_written_workload(options_.trace);
  if (app_->get_option("--loop")->count() != 0 && !(of_run && other_parameters)) {
    throw std::invalid_argument(
        fmt::format("--loop: found {}; expected only with the folder of a recorded run and --set or --config",
                    of_run ? "neither --set nor --config" : "a capture"));
  }
  of_workload_ = !of_run && (is_workload(options_.trace) || is_written_workload(options_.trace));
  if (of_workload_) {
    refuse_options(kNotOfWorkloads, "a workload");
    if (is_written_workload(options_.trace)) refuse_trace_as_output(options_.trace, out_);
  }
  if (!of_run) return replay_capture();
  refuse_options(kOfCaptures, "the folder of a recorded run");
  if (other_parameters && events_.annotates()) {
    throw std::invalid_argument(
        "--annotate: found a recorded run with other parameters; expected a capture, or the run as it was recorded: "
        "other parameters put other frames on the wire than the record has");
  }
  return other_parameters ? replay_what_if() : replay_folder();
}

// What is to be written into out_, besides the report.
void ReplayCommand::request_files() {
  options_.waves = waves_.request(out_);
  options_.rtl = rtl_.request(out_);
  options_.events = events_.request(out_);
}

RegionRequest ReplayCommand::region() const {
  RegionRequest r;
  if (from_) r.from_ps = parse_time("--from", *from_);
  if (to_) r.to_ps = parse_time("--to", *to_);
  if (warmup_) r.warmup_ps = parse_time("--warmup", *warmup_);
  if (r.to_ps <= r.from_ps) {
    throw std::invalid_argument(fmt::format("--to: found {}; expected a time after {}", *to_,
                                            from_ ? "--from " + *from_ : std::string("the beginning")));
  }
  return r;
}

void ReplayCommand::refuse_options(std::span<const char* const> options, const char* found) const {
  for (const char* option : options) {
    if (app_->get_option(option)->count() != 0) {
      throw std::invalid_argument(fmt::format("{}: found with {}; expected only with a capture", option, found));
    }
  }
}

// Whether a report is to be written. Makes its folder.
bool ReplayCommand::prepare_out() const {
  const bool writes = app_->get_option("--out")->count() != 0;
  if (writes) {
    make_folder("--out", out_);
    refuse_trace_as_output(options_.trace, out_);
  }
  if (options_.waves.wanted() || options_.events.wanted()) make_folder("--out", out_);  // or the folder of the record
  return writes;
}

// A record of an earlier run that stands there is not of this report. It stays when its wire is what was replayed.
void ReplayCommand::write_report(const RunResult& result) const {
  const std::filesystem::path folder(out_);
  std::error_code ignored;
  if (!std::filesystem::equivalent(options_.trace, wire_file(out_), ignored)) remove_record(out_);
  write_file(folder / "report.json", report_json(result));
}

// What --timeline, --konata and --annotate make of the events. What is to be said of it.
std::string ReplayCommand::write_pictures(const std::string& capture, const RunResult& result,
                                          const PacketNotes* notes) const {
  std::string said = events_.write_pictures(options_.events, result);
  if (!events_.annotates()) return said;
  ReplayOptions of_capture = options_;
  of_capture.trace = capture;
  CaptureReader reader = open_capture(of_capture);
  RunEvents events(options_.events.path);
  const std::string file = std::filesystem::path(options_.events.path).parent_path() / kAnnotatedFile;
  DiagnoseOptions look;
  look.capture = capture;
  look.udp_ports = options_.udp_ports;
  look.config = options_.config;
  look.overrides = options_.overrides;
  look.progress = options_.progress;
  annotate(reader, events, notes, words_by_packet(diagnose(look)), file);
  return said + fmt::format("         {}\n", file);
}

WorkloadOptions ReplayCommand::workload_options() const {
  WorkloadOptions o;
  o.run = options_;
  o.seeded = app_->get_option("--seed")->count() != 0;
  o.configured = app_->get_option("--config")->count() != 0;
  return o;
}

// Into out_. `said`: nullptr, or what is to be said of the run.
RunResult ReplayCommand::replay_receiver(std::string* said) {
  make_folder("--out", out_);
  const std::filesystem::path folder(out_);
  options_.responses_path = folder / "responses.pcap";
  for (const std::string& file :
       {options_.responses_path, other_responses(options_.responses_path, LinkLayer::kEthernet),
        other_responses(options_.responses_path, LinkLayer::kInfiniband), (folder / "report.json").string(),
        options_.cqes_path, options_.waves.path, options_.events.path, (folder / EventsOption::kTimeline).string(),
        (folder / EventsOption::kKonata).string(), (folder / kAnnotatedFile).string(), (folder / kPageFile).string()}) {
    refuse_trace_as_output(options_.trace, file);
  }
  PacketNotes notes;
  if (events_.annotates()) options_.notes = &notes;
  RunResult result = of_workload_ ? run_workload(workload_options()) : replay(options_);
  notes.sort();
  for (const std::string& text : result.warnings) print_message("warning: " + text);
  write_report(result);
  const std::string pictures = write_pictures(options_.trace, result, &notes);
  if (said == nullptr) return result;
  std::string& text = *said;
  text = report_summary(result, terminal_style(STDOUT_FILENO));
  text += rtl_text(result);
  text += fmt::format("\nwritten: {}\n         {}\n", (folder / "report.json").string(), options_.responses_path);
  if (!options_.cqes_path.empty()) text += fmt::format("         {}\n", options_.cqes_path);
  if (options_.waves.wanted()) text += fmt::format("         {}\n", options_.waves.path);
  if (options_.events.wanted()) text += fmt::format("         {}\n", options_.events.path);
  text += pictures;
  return result;
}

int ReplayCommand::replay_capture() {
  if (options_.receiver == kEveryReceiver) return replay_every_receiver();
  std::string text;
  const RunResult result = replay_receiver(quiet_ ? nullptr : &text);
  if (!quiet_) print_output(text);
  return end_of(result);
}

int ReplayCommand::replay_what_if() {
  WhatIfOptions o;
  if (app_->get_option("--config")->count() != 0) o.config = common_.config;
  o.overrides = common_.overrides;
  o.loop = loop_ == "open" ? Loop::kOpen : Loop::kClosed;
  o.mode = options_.mode;
  o.order = options_.order;
  o.waves = options_.waves;
  o.rtl = options_.rtl;
  o.events = options_.events;
  o.region = options_.region;
  o.say = options_.say;
  const bool writes = prepare_out();
  const WhatIfRun run = run_what_if(options_.trace, o);
  if (!run.repeat_difference.empty()) {
    print_message(fmt::format("{}: differs from the recorded run: {}", options_.trace, run.repeat_difference));
    return kOther;
  }
  if (!run.difference.empty()) {
    print_message(fmt::format("{}: no what-if: {}", options_.trace, run.difference));
    return kOther;
  }
  if (writes) write_report(run.result);
  const std::string pictures = events_.write_pictures(options_.events, run.result);
  if (quiet_) return end_of(run.result);
  std::string text = report_summary(run.result, terminal_style(STDOUT_FILENO));
  text += rtl_text(run.result);
  if (options_.waves.wanted()) text += fmt::format("\nwritten: {}\n", options_.waves.path);
  if (options_.events.wanted()) text += fmt::format("\nwritten: {}\n{}", options_.events.path, pictures);
  print_output(text);
  return end_of(run.result);
}

int ReplayCommand::replay_folder() {
  const bool writes = prepare_out();
  const RecordedRun run = replay_recorded_run(
      options_.trace,
      {options_.mode, options_.order, options_.waves, options_.rtl, options_.events, options_.region, options_.say});
  if (writes) write_report(run.result);
  if (!run.difference.empty()) {
    print_message(fmt::format("{}: differs from the recorded run: {}", options_.trace, run.difference));
    return kOther;
  }
  const std::string pictures = write_pictures(wire_file(options_.trace), run.result, nullptr);
  if (quiet_) return end_of(run.result);
  std::string text = report_summary(run.result, terminal_style(STDOUT_FILENO));
  text += fmt::format(
      "\nequal to the recorded run{}: {} cycles, {} events of programs,\n"
      "{} reads and {} writes of their memory ({} CQEs among them),\n"
      "{} frames on the wire{}\n",
      run.cut.empty() ? "" : " as far as it is recorded", count_text(run.cycles), count_text(run.events),
      count_text(run.reads), count_text(run.writes), count_text(run.cqes), count_text(run.frames),
      run.report_compared ? ", the report" : "");
  text += rtl_text(run.result);
  if (options_.waves.wanted()) text += fmt::format("\nwritten: {}\n", options_.waves.path);
  if (options_.events.wanted()) text += fmt::format("\nwritten: {}\n{}", options_.events.path, pictures);
  print_output(text);
  return end_of(run.result);
}

}  // namespace rxnic
