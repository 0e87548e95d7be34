// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/old_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bridge/rxnic/capture/replay.h"
#include "bridge/rxnic/record/recorded_run.h"

namespace rxnic {

namespace {

namespace fs = std::filesystem;

std::string chosen(const CLI::App& command, const char* option) {
  const CLI::Option* const found = command.get_option_no_throw(option);
  if (found == nullptr) return {};
  return found->results().empty() ? found->get_default_str() : found->results().back();
}

bool is_report(const fs::path& file) {
  constexpr std::string_view kBegin = "{\n  \"schema\": \"rxnic.report/";
  std::ifstream in(file, std::ios::binary);
  std::string begin(kBegin.size(), '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == kBegin;
}

void remove_result(const fs::path& file, const std::string& trace) {
  std::error_code ignored, failed;
  if (!fs::is_regular_file(fs::symlink_status(file, ignored))) return;
  if (!trace.empty() && fs::equivalent(file, trace, ignored)) return;
  fs::remove(file, failed);
  if (failed) throw std::runtime_error(fmt::format("{}: of an earlier run: {}", file.string(), failed.message()));
}

// nicN.BLOCK.vcd, nicN.BLOCK.gtkw
bool is_mismatch_wave(const fs::path& name) {
  const fs::path nic = name.stem().stem();
  const std::string number = nic.string().substr(std::min<std::size_t>(nic.string().size(), 3));
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return (name.extension() == ".vcd" || name.extension() == ".gtkw") && nic.string().starts_with("nic") &&
         !nic.has_extension() && !number.empty() && std::all_of(number.begin(), number.end(), digit) &&
         name.stem().extension().string().size() > 1;
}

void remove_mismatch_waves(const fs::path& folder, const std::string& trace) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored)) {
    if (is_mismatch_wave(at->path().filename())) found.push_back(at->path());
  }
  for (const fs::path& file : found) remove_result(file, trace);
}

void remove_of(const CLI::App& command) {
  const CLI::Option* const out = command.get_option_no_throw("--out");
  if (out == nullptr) return;
  const fs::path folder(chosen(command, "--out"));
  const std::string trace = chosen(command, "trace");
  const bool of_record = !trace.empty() && is_recorded_run(trace);
  std::error_code ignored;
  if (of_record && (out->count() == 0 || fs::equivalent(trace, folder, ignored))) return;
  if (is_report(folder / "report.json")) remove_result(folder / "report.json", trace);
  if (const CLI::Option* lockstep = command.get_option_no_throw("--lockstep"); lockstep && lockstep->count() != 0) {
    remove_mismatch_waves(folder, trace);
  }
  if (trace.empty() || of_record) return;
  const std::string responses = folder / "responses.pcap";
  remove_result(responses, trace);
  for (const LinkLayer link : {LinkLayer::kEthernet, LinkLayer::kInfiniband}) {
    remove_result(other_responses(responses, link), trace);
  }
}

}  // namespace

void remove_old_results(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) remove_of(*command);
}

}  // namespace rxnic
