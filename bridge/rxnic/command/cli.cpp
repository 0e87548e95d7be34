// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "bridge/rtl/nic_rtl.h"
#include "bridge/rxnic/command/cli_options.h"
#include "bridge/rxnic/command/compare_command.h"
#include "bridge/rxnic/command/cost_table.h"
#include "bridge/rxnic/command/counters_table.h"
#include "bridge/rxnic/command/diagnose_command.h"
#include "bridge/rxnic/command/exercise_command.h"
#include "bridge/rxnic/command/explain_command.h"
#include "bridge/rxnic/command/manual.h"
#include "bridge/rxnic/command/memory_table.h"
#include "bridge/rxnic/command/old_results.h"
#include "bridge/rxnic/command/replay_command.h"
#include "bridge/rxnic/command/report_command.h"
#include "bridge/rxnic/command/run_command.h"
#include "bridge/rxnic/command/script_command.h"
#include "bridge/rxnic/command/workload_command.h"
#include "bridge/rxnic/output/csv.h"
#include "bridge/rxnic/output/exit_status.h"
#include "bridge/rxnic/output/standard_streams.h"
#include "model/params/config.h"
#include "model/params/params_table.h"
#include "model/params/suggestion.h"
#include "traces/trace_error.h"

namespace rxnic {

namespace {

constexpr const char* kAbout =
    "rxnic: a cycle-level model of an RDMA NIC's receive path.\n"
    "\n"
    "  rxnic run --nics 2 -- PROGRAM [ARG...]        a verbs program on the model\n"
    "  rxnic run --record -- PROGRAM [ARG...]        the same, and record it\n"
    "  rxnic replay rxnic-run                        repeat the recorded run without the program\n"
    "  rxnic replay --set dma_engine.read_latency_ps=900000 rxnic-run\n"
    "                                                what if its NICs were behind a slower PCIe\n"
    "  rxnic replay capture.pcap                     what a receive path would have done with a capture\n"
    "  rxnic replay --set dma_engine.read_latency_ps=900000 capture.pcap\n"
    "                                                the same behind a slower PCIe\n"
    "  rxnic replay --events capture.pcap            the same, keeping what happened to each packet\n"
    "  rxnic replay incast32                         the same with a workload; rxnic workload lists them\n"
    "  rxnic explain --packet 17 rxnic-run           what became of packet 17\n"
    "  rxnic diagnose capture.pcap                   what is wrong in a capture, the worst QP first\n"
    "  rxnic exercise grh_scatter=my_scatter.so      your RTL of a block under random stimulus\n"
    "  rxnic report --html rxnic-run                 a page of the run, for a browser\n"
    "  rxnic compare before after                    two runs side by side\n"
    "  rxnic sweep SWEEP.toml                        many points at once, and a table of all figures\n"
    "  rxnic params                                  every size, width and latency of the model\n"
    "  rxnic params --memory --config nic_400g_gen5  the bits of every on-chip memory\n"
    "  rxnic params --cost                           what the NIC costs: SRAM with ports, CAM, flip-flops, gates\n"
    "  rxnic why capture.pcap --pace line-rate       what binds, what it would bring, what its doubling costs\n"
    "  rxnic sensitivity capture.pcap                which parameters move rate and latency, and which do not\n"
    "  rxnic counters                                what each number of a report counts\n";

constexpr std::string_view kCommands =
    "run, serve, replay, workload, explain, diagnose, exercise, compare, params, counters, report, sweep, sensitivity, "
    "why, find or pareto (rxnic --help)";

using Json = nlohmann::ordered_json;

// A list of the innermost objects of {NAME: {NAME: {...}}}, each with its names, which are called `names`.
Json named(const Json& json, std::initializer_list<const char*> names) {
  Json list = Json::array();
  for (const auto& [outer, inside] : json.items()) {
    for (const auto& [inner, one] : inside.items()) {
      Json row = {{*names.begin(), outer}, {*(names.begin() + 1), inner}};
      row.update(one);
      list.push_back(row);
    }
  }
  return list;
}

struct ParamsCommand {
  CommonOptions common;
  std::string section;
  FormatOption format;
  bool evidence = false, toml = false, memory = false, cost = false;

  void describe(CLI::App& app) {
    common.describe(app);
    app.add_option("section", section, "Print this section only");
    app.add_flag("--evidence", evidence, "Also print what each default is based on");
    auto* as_json = app.add_flag("--json", format.json, "Print JSON, with every field: --format json");
    auto* as_format = format.describe(app)->excludes(as_json);
    auto* as_toml = app.add_flag("--toml", toml, "Print a complete configuration file")->excludes(as_json, as_format);
    auto* as_memory =
        app.add_flag("--memory", memory, "Print the bits of every on-chip memory instead, by block")->excludes(as_toml);
    app.add_flag("--cost", cost, "Print what the NIC costs instead: SRAM, CAM, flip-flops, gates")
        ->excludes(as_toml, as_memory);
  }

  int run() const {
    const Params params = load_config(common.config, common.overrides);
    if (cost) {
      const CostTable table = cost_of(params);
      print_output(format.format() == Format::kText   ? cost_text(table)
                   : format.format() == Format::kJson ? cost_json(table) + '\n'
                                                      : cost_csv(table));
    } else if (memory) {
      const std::vector<OnChipMemory> memories = memories_of(params);
      print_output(format.format() == Format::kText   ? memory_text(memories)
                   : format.format() == Format::kJson ? memory_json(memories) + '\n'
                                                      : csv_of(Json::parse(memory_json(memories))["memories"]));
    } else if (toml) {
      print_output(params_toml(params));
    } else if (format.format() == Format::kJson) {
      print_output(params_json(params, {section, evidence}) + '\n');
    } else if (format.format() == Format::kCsv) {
      print_output(csv_of(named(Json::parse(params_json(params, {section, evidence})), {"section", "key"})));
    } else {
      print_output(params_text(params, {section, evidence}));
    }
    return 0;
  }
};

struct CountersCommand {
  std::string section;
  FormatOption format;

  void describe(CLI::App& app) {
    app.add_option("section", section, "Only this section");
    auto* as_json = app.add_flag("--json", format.json, "As JSON: --format json");
    format.describe(app)->excludes(as_json);
  }

  int run() const {
    if (format.format() == Format::kCsv) {
      Json sections = Json::parse(counters_json(section));
      for (auto& [name, one] : sections.items()) one = Json(one["counters"]);
      print_output(csv_of(named(sections, {"section", "counter"})));
    } else {
      print_output(format.format() == Format::kJson ? counters_json(section) : counters_text(section));
    }
    return kDone;
  }
};

// An option that stands with the wrong command: what that command is told. Empty: no command has such an option.
std::string meant_option(const CLI::App& app) {
  for (const CLI::App* found : app.get_subcommands()) {
    for (const std::string& word : found->remaining(true)) {
      if (!word.starts_with("--") || word == "--") continue;
      const std::string option = word.substr(0, word.find('='));
      const auto others = app.get_subcommands(
          [&option](const CLI::App* other) { return other->get_option_no_throw(option) != nullptr; });
      if (others.empty()) continue;
      std::string names;
      for (const CLI::App* other : others) names += (names.empty() ? "" : ", ") + other->get_name();
      return fmt::format("{}: found {}, an option of {}; expected one of rxnic {} --help", found->get_name(), option,
                         names, found->get_name());
    }
  }
  return {};
}

std::string suggestion(const std::string& word, const std::vector<std::string>& names) {
  return suggest(word, std::vector<std::string_view>(names.begin(), names.end()));
}

// What was perhaps meant by a mistyped command or option. Empty: nothing is near.
std::string mistyped(const CLI::App& app) {
  if (app.get_subcommands().empty()) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(command->get_name());
    }
    for (const std::string& word : app.remaining()) {
      if (word.starts_with('-')) continue;
      return fmt::format("found '{}'; expected {}{}", word, kCommands, suggestion(word, names));
    }
    return {};
  }
  for (const CLI::App* found : app.get_subcommands()) {
    std::vector<std::string> names;
    for (const CLI::Option* option : found->get_options()) {
      if (!option->get_lnames().empty()) names.push_back("--" + option->get_lnames().front());
    }
    for (const std::string& word : found->remaining(true)) {
      if (!word.starts_with("--")) continue;
      const std::string option = word.substr(0, word.find('='));
      const std::string meant = suggestion(option, names);
      if (meant.empty()) continue;
      return fmt::format("{}: found {}; expected an option of rxnic {} --help{}", found->get_name(), option,
                         found->get_name(), meant);
    }
  }
  return {};
}

// For a command line that is refused.
void try_to_remove_old_results(const CLI::App& app) {
  try {
    remove_old_results(app);
  } catch (const std::exception& e) {
    print_message(e.what());
  }
}

// Prints what CLI11 has to say: help, or what is wrong.
int exit_after(const CLI::App& app, const CLI::ParseError& e) {
  std::ostringstream out, errors;
  const int status = app.exit(e, out, errors);
  if (status != 0) try_to_remove_old_results(app);
  std::fputs(errors.str().c_str(), stderr);
  if (out.str().empty()) return status == 0 ? kDone : kUsage;
  try {
    print_output(out.str());
  } catch (const std::exception& unwritten) {
    print_message(unwritten.what());
    return kOther;
  }
  return status == 0 ? kDone : kUsage;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  CLI::App app(kAbout, "rxnic");
  app.require_subcommand(0, 1);  // none: refused below, after what was found instead
  app.set_version_flag("--version", "rxnic 0.1.0");
  app.set_help_all_flag("--help-all", "Print the help of all commands");
  bool manual = false;
  app.add_flag("--manual", manual, "Print the manual page, for: rxnic --manual | man -l -");

  const auto add = [&app](auto& command, const char* name, const char* about) {
    CLI::App* const added = app.add_subcommand(name, about);
    command.describe(*added);
    return added;
  };
  ReplayCommand replay_command;
  const CLI::App* const replay_app = add(replay_command, "replay", "Replay a capture into the receive path");
  ParamsCommand params_command;
  const CLI::App* const params_app =
      add(params_command, "params", "Print every parameter: value, unit, range, evidence");
  CountersCommand counters_command;
  const CLI::App* const counters_app =
      add(counters_command, "counters", "Print every counter: unit, meaning, place in the report");
  ReportCommand report_command;
  const CLI::App* const report_app = add(report_command, "report", "Print the summary of an earlier run");
  ExplainCommand explain_command;
  const CLI::App* const explain_app =
      add(explain_command, "explain", "Say what became of a packet, a message or a QP of a run");
  DiagnoseCommand diagnose_command;
  const CLI::App* const diagnose_app =
      add(diagnose_command, "diagnose", "Say what is wrong in a capture, the worst QP first");
  ExerciseCommand exercise_command;
  const CLI::App* const exercise_app =
      add(exercise_command, "exercise", "Compare RTL of a block with its model under random stimulus");
  CompareCommand compare_command;
  const CLI::App* const compare_app = add(compare_command, "compare", "Print the figures of several runs side by side");
  WorkloadCommand workload_command;
  const CLI::App* const workload_app =
      add(workload_command, "workload", "Print the workloads that come along, or a page and its keys");
  RunCommand run_command;
  const CLI::App* const run_app =
      add(run_command, "run", "Run a verbs program on the model: rxnic run [OPTIONS] -- PROGRAM ...");
  ServeCommand serve_command;
  const CLI::App* const serve_app =
      add(serve_command, "serve", "Keep a fabric running for verbs programs to attach to");

  describe_script_commands(app);

  try {
    if (const std::optional<int> status = start_script_command(argc, argv)) return *status;
    app.parse(argc, argv);
    if (manual) {
      print_output(manual_page(app));
      return kDone;
    }
    remove_old_results(app);
    if (replay_app->parsed()) return replay_command.run();
    if (params_app->parsed()) return params_command.run();
    if (counters_app->parsed()) return counters_command.run();
    if (report_app->parsed()) return report_command.run();
    if (explain_app->parsed()) return explain_command.run();
    if (diagnose_app->parsed()) return diagnose_command.run();
    if (exercise_app->parsed()) return exercise_command.run(argc, argv);
    if (compare_app->parsed()) return compare_command.run();
    if (workload_app->parsed()) return workload_command.run();
    if (run_app->parsed()) return run_command.run();
    if (serve_app->parsed()) return serve_command.run();
    print_message(fmt::format("found no command; expected {}", kCommands));
    return kUsage;
  } catch (const CLI::ExtrasError& e) {
    std::string meant = meant_option(app);
    if (meant.empty()) meant = mistyped(app);
    if (meant.empty()) return exit_after(app, e);
    try_to_remove_old_results(app);
    print_message(meant);
    return kUsage;
  } catch (const CLI::ParseError& e) {
    return exit_after(app, e);
  } catch (const TraceError& e) {
    print_message(e.what());
    return replay_command.reads(e.file()) || diagnose_command.reads(e.file())
               ? kTrace
               : kOther;  // kOther: a file that is written
  } catch (const ConfigError& e) {
    print_message(e.what());
    return kUsage;
  } catch (const std::invalid_argument& e) {
    print_message(e.what());
    return kUsage;
  } catch (const LockstepError& e) {
    print_message(e.what());
    return kLockstep;
  } catch (const NothingCompared& e) {
    print_message(e.what());
    return kNothingCompared;
  } catch (const std::filesystem::filesystem_error& e) {  // in the words of all other messages
    const std::string path = e.path1().empty() ? "the working directory" : e.path1().string();
    print_message(path + ": " + e.code().message());
    return kOther;
  } catch (const std::exception& e) {
    print_message(e.what());
    return kOther;
  }
}

}  // namespace rxnic
