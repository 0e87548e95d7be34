// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/cli.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "model/params/config.h"
#include "model/params/params_table.h"
#include "testbench/sim/replay.h"
#include "testbench/sim/report.h"
#include "traces/trace_error.h"

namespace rxnic {

namespace {

constexpr int kOther = 1;
constexpr int kUsage = 2;
constexpr int kTrace = 3;

constexpr const char* kAbout =
    "rxnic: a cycle-level model of an RDMA NIC's receive path.\n"
    "\n"
    "  rxnic replay capture.pcap                     what a receive path would have done with a capture\n"
    "  rxnic replay --set dma_engine.read_latency_ps=900000 capture.pcap\n"
    "                                                the same behind a slower PCIe\n"
    "  rxnic params                                  every size, width and latency, and where its value comes from\n";

struct Common {
  std::string config = std::string(kDefaultConfig);
  std::vector<std::string> overrides;
};

void add_common(CLI::App& app, Common& c) {
  std::string names;
  for (const NamedConfig& named : named_configs()) names += fmt::format("{}{}", names.empty() ? "" : ", ", named.name);
  app.add_option("--config", c.config, fmt::format("Configuration: a TOML file, or one of {}", names))
      ->capture_default_str();
  app.add_option("--set", c.overrides, "One parameter, section.key=value; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw std::runtime_error(fmt::format("{}: cannot be written", path));
}

SummaryStyle terminal_style() { return {isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr, 100}; }

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
  std::size_t used = 0;
  double gbps = 0;
  try {
    gbps = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used != text.size() || text.empty() || !(gbps >= 0.001 && gbps <= 10000)) {
    throw std::invalid_argument(
        fmt::format("--pace: found '{}'; expected captured, line-rate, or a rate of 0.001 to 10000 Gb/s", text));
  }
  return {Pace::Kind::kRate, gbps};
}

struct ReplayCommand {
  Common common;
  ReplayOptions options;
  std::string out = "rxnic-run";
  std::string pace = "captured";
  std::string psn = "resynchronise";
  bool step_all = false, per_cycle = false, waves = false, quiet = false;

  void describe(CLI::App& app) {
    add_common(app, common);
    app.add_option("trace", options.trace,
                   "Capture to replay: pcap or pcapng; Ethernet with RoCEv2 or RoCEv1, or InfiniBand")
        ->required()
        ->type_name("TRACE");
    app.add_option("--receiver", options.receiver,
                   "Address of the side that the model stands for: IPv4, IPv6, GID or lid:N\n"
                   "(default: the busier side)");
    app.add_option("--host", options.host,
                   "The synthesised host, key=value,...: receive=rq|srq|tm_srq, depth=N, buffer=BYTES, sges=N,\n"
                   "layout=linked_list|cyclic, refill=on_completion|batch:N, cqes=N");
    app.add_option("--psn", psn,
                   "A PSN ahead of the expected one: resynchronise (the sniffer lost packets) or\nstrict (NAK)")
        ->check(CLI::IsMember({"resynchronise", "strict"}))
        ->capture_default_str();
    app.add_option("--pace", pace, "When packets arrive: captured (as in the trace), line-rate, or a rate in Gb/s")
        ->capture_default_str();
    app.add_option("--out", out, "Folder for report.json and responses.pcap; made when absent")->capture_default_str();
    app.add_option("--cqes", options.cqes_path, "Also write every completion to this file, as CSV")->type_name("FILE");
    app.add_option("--seed", options.seed, "Seed of everything random")->capture_default_str();
    app.add_flag("--step-all", step_all, "Step every block in every cycle: slower, same result");
    app.add_flag("--per-cycle", per_cycle, "One SystemC activation a cycle: slower, same result");
    app.add_flag("--waves", waves, "Write waves.vcd into the folder (implies --per-cycle)");
    app.add_flag("--quiet", quiet, "No summary, no progress");
  }

  int run() {
    options.config = common.config;
    options.overrides = common.overrides;
    options.pace = parse_pace(pace);
    options.strict_psn = psn == "strict";
    if (step_all && (per_cycle || waves)) throw std::invalid_argument("--step-all and --per-cycle exclude each other");
    options.mode = step_all ? EngineMode::kStepAll : per_cycle || waves ? EngineMode::kPerCycle : EngineMode::kFast;
    options.progress = !quiet;
    std::error_code failed;
    std::filesystem::create_directories(out, failed);
    if (failed) throw std::invalid_argument(fmt::format("--out: {}: {}", out, failed.message()));
    const std::filesystem::path folder(out);
    options.responses_path = folder / "responses.pcap";
    if (waves) options.waves_path = folder / "waves.vcd";
    for (const std::string& file :
         {options.responses_path, (folder / "report.json").string(), options.cqes_path, options.waves_path}) {
      refuse_trace_as_output(options.trace, file);
    }
    const RunResult result = replay(options);
    write_file(folder / "report.json", report_json(result));
    if (quiet) return 0;
    std::cout << report_summary(result, terminal_style());
    std::cout << fmt::format("\nwritten: {}\n         {}\n", (folder / "report.json").string(), options.responses_path);
    if (!options.cqes_path.empty()) std::cout << fmt::format("         {}\n", options.cqes_path);
    if (waves) std::cout << fmt::format("         {}\n", options.waves_path);
    return 0;
  }
};

struct ParamsCommand {
  Common common;
  std::string section;
  bool evidence = false, json = false, toml = false;

  void describe(CLI::App& app) {
    add_common(app, common);
    app.add_option("section", section, "Only this section");
    app.add_flag("--evidence", evidence, "Also show where each default comes from");
    auto* as_json = app.add_flag("--json", json, "As JSON, with every field");
    app.add_flag("--toml", toml, "As a complete configuration file")->excludes(as_json);
  }

  int run() const {
    const Params params = load_config(common.config, common.overrides);
    if (toml) {
      std::cout << params_toml(params);
    } else if (json) {
      std::cout << params_json(params, {section, evidence}) << '\n';
    } else {
      std::cout << params_text(params, {section, evidence});
    }
    return 0;
  }
};

int show_report(const std::string& folder) {
  const std::string path = std::filesystem::path(folder) / "report.json";
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::invalid_argument(fmt::format("{}: found nothing to read; expected the report of a run", path));
  std::stringstream text;
  text << in.rdbuf();
  std::cout << report_summary(parse_report(text.str(), path), terminal_style());
  return 0;
}

int not_there_yet(const char* what) {
  std::cerr << fmt::format("rxnic {}: not there yet; captures can be replayed (rxnic replay --help)\n", what);
  return kUsage;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  CLI::App app(kAbout, "rxnic");
  app.require_subcommand(0, 1);  // none: refused below, after what was found instead
  app.set_version_flag("--version", "rxnic 0.1.0");
  app.set_help_all_flag("--help-all", "Help of every command");

  ReplayCommand replay_command;
  CLI::App* replay_app = app.add_subcommand("replay", "Replay a capture into the receive path");
  replay_command.describe(*replay_app);
  ParamsCommand params_command;
  CLI::App* params_app = app.add_subcommand("params", "Print every parameter: value, unit, range, evidence");
  params_command.describe(*params_app);
  std::string folder;
  CLI::App* report_app = app.add_subcommand("report", "Show the report of a run again");
  report_app->add_option("run_dir", folder, "Folder that a run wrote")->required()->type_name("RUN_DIR");
  CLI::App* run_app = app.add_subcommand("run", "Run a verbs program on the model (not there yet)");
  std::vector<std::string> program;  // behind "--", which CLI11 wants a positional for
  run_app->prefix_command()->allow_extras()->add_option("program", program, "-- PROGRAM and its arguments");
  CLI::App* serve_app = app.add_subcommand("serve", "Keep a fabric running for verbs programs (not there yet)");
  serve_app->prefix_command();

  try {
    app.parse(argc, argv);
    if (replay_app->parsed()) return replay_command.run();
    if (params_app->parsed()) return params_command.run();
    if (report_app->parsed()) return show_report(folder);
    if (run_app->parsed()) return not_there_yet("run");
    if (serve_app->parsed()) return not_there_yet("serve");
    std::cerr << "rxnic: found no command; expected replay, params, report, run or serve (rxnic --help)\n";
    return kUsage;
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kUsage;
  } catch (const TraceError& e) {
    std::cerr << "rxnic: " << e.what() << '\n';
    return e.file() == replay_command.options.trace ? kTrace : kOther;  // kOther: a file that is written
  } catch (const ConfigError& e) {
    std::cerr << "rxnic: " << e.what() << '\n';
    return kUsage;
  } catch (const std::invalid_argument& e) {
    std::cerr << "rxnic: " << e.what() << '\n';
    return kUsage;
  } catch (const std::exception& e) {
    std::cerr << "rxnic: " << e.what() << '\n';
    return kOther;
  }
}

}  // namespace rxnic
