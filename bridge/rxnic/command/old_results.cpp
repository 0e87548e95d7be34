// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/old_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/rxnic/annotate/annotate.h"
#include "bridge/rxnic/capture/response_file.h"
#include "bridge/rxnic/command/events_options.h"
#include "bridge/rxnic/command/waves_options.h"
#include "bridge/rxnic/page/page_file.h"
#include "bridge/rxnic/record/recorded_run.h"
#include "bridge/rxnic/report/cqe_log.h"
#include "bridge/rxnic/workload/workload_run.h"

namespace rxnic {

namespace {

namespace fs = std::filesystem;

std::string chosen(const CLI::App& command, const char* option) {
  const CLI::Option* const found = command.get_option_no_throw(option);
  if (found == nullptr) return {};
  return found->results().empty() ? found->get_default_str() : found->results().back();
}

// How files begin that rxnic writes. A user's own file of such a name is let be.
constexpr std::string_view kReport = "{\n  \"schema\": \"rxnic.report/";
constexpr std::string_view kWaves = "$version rxnic $end\n";
constexpr std::string_view kTimelineBegins = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
constexpr std::string_view kKonataBegins = "Kanata\t0004\n";
constexpr std::string_view kSaveFile = "[*] Save file of GTKWave, written by rxnic\n";

void remove_result(const fs::path& file, std::string_view begin, const std::string& trace) {
  std::error_code ignored, failed;
  if (!fs::is_regular_file(fs::symlink_status(file, ignored))) return;
  if (!trace.empty() && fs::equivalent(file, trace, ignored)) return;
  std::ifstream in(file, std::ios::binary);
  std::string found(begin.size(), '\0');
  in.read(found.data(), static_cast<std::streamsize>(found.size()));
  if (found != begin) return;
  fs::remove(file, failed);
  if (failed) throw std::runtime_error(fmt::format("{}: of an earlier run: {}", file.string(), failed.message()));
}

// waves.vcd, waves.gtkw, and of a mismatch nicN.BLOCK.vcd, nicN.BLOCK.gtkw
bool is_waves(const fs::path& name) {
  if (name.extension() != ".vcd" && name.extension() != ".gtkw") return false;
  if (name.stem() == fs::path(WavesOption::kFile).stem()) return true;
  const fs::path nic = name.stem().stem();
  const std::string number = nic.string().substr(std::min<std::size_t>(nic.string().size(), 3));
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return nic.string().starts_with("nic") && !nic.has_extension() && !number.empty() &&
         std::all_of(number.begin(), number.end(), digit) && name.stem().extension().string().size() > 1;
}

void remove_waves(const fs::path& folder, const std::string& trace) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored)) {
    if (is_waves(at->path().filename())) found.push_back(at->path());
  }
  for (const fs::path& file : found) remove_result(file, file.extension() == ".vcd" ? kWaves : kSaveFile, trace);
}

bool writes_waves(const CLI::App& command) {
  constexpr const char* kOptions[] = {"--waves", "--waves-from", "--waves-to", "--waves-around", "--lockstep"};
  return std::any_of(std::begin(kOptions), std::end(kOptions),
                     [&](const char* option) { return command.get_option(option)->count() != 0; });
}

void remove_events(const fs::path& folder, const std::string& trace) {
  remove_result(folder / EventsOption::kFile, kEventMagic, trace);
  remove_result(folder / EventsOption::kTimeline, kTimelineBegins, trace);
  remove_result(folder / EventsOption::kKonata, kKonataBegins, trace);
  remove_result(folder / kAnnotatedFile, annotated_begins(), trace);
  remove_result(folder / kPageFile, kPageBegins, trace);
}

bool writes_events(const CLI::App& command) {
  constexpr const char* kOptions[] = {"--events",     "--timeline",    "--konata",    "--annotate",
                                      "--html",       "--events-from", "--events-to", "--events-packets",
                                      "--events-qps", "--events-limit"};
  return std::any_of(std::begin(kOptions), std::end(kOptions), [&](const char* name) {
    const CLI::Option* const option = command.get_option_no_throw(name);
    return option != nullptr && option->count() != 0;
  });
}

void remove_reports(const fs::path& folder, const std::string& trace) {
  remove_result(folder / "report.json", kReport, trace);
  remove_events(folder, trace);
  const std::string responses = folder / "responses.pcap";
  remove_result(responses, "", trace);
  for (const LinkLayer link : {LinkLayer::kEthernet, LinkLayer::kInfiniband}) {
    remove_result(other_responses(responses, link), "", trace);
  }
}

void remove_of(const CLI::App& command) {
  const CLI::Option* const out = command.get_option_no_throw("--out");
  if (out == nullptr) return;
  const fs::path folder(chosen(command, "--out"));
  if (folder.empty()) return;  // nothing is written
  const std::string trace = chosen(command, "trace");
  const std::string cqes = chosen(command, "--cqes");
  if (!cqes.empty()) remove_result(cqes, CqeLog::kHeader, trace);
  const bool of_record = !trace.empty() && is_recorded_run(trace) && !is_written_workload(trace);
  std::error_code ignored;
  if (of_record && fs::equivalent(trace, folder, ignored)) return;
  if (!of_record || out->count() != 0) {
    remove_reports(folder, trace);
  } else {
    if (writes_events(command)) remove_events(folder, trace);
    if (!writes_waves(command)) return;
  }
  remove_waves(folder, trace);
}

}  // namespace

void remove_results_in(const std::string& folder, const std::string& trace) {
  remove_reports(folder, trace);
  remove_waves(folder, trace);
}

void remove_old_results(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) remove_of(*command);
}

}  // namespace rxnic
