// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/compare_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "bridge/rxnic/events/event_request.h"
#include "bridge/rxnic/output/csv.h"
#include "bridge/rxnic/output/exit_status.h"
#include "bridge/rxnic/output/files.h"
#include "bridge/rxnic/output/standard_streams.h"
#include "bridge/rxnic/page/compare.h"
#include "bridge/rxnic/page/page_data.h"
#include "bridge/rxnic/page/page_file.h"

namespace rxnic {

namespace {
constexpr std::size_t kMostRuns = 8;
}

void CompareCommand::describe(CLI::App& app) {
  app.add_option(
         "run_dirs", folders_,
         "Folders that runs wrote, two to eight: what differs in their configurations, then their figures, each\n"
         "with its change from the first run")
      ->required()
      ->type_name("RUN_DIR");
  CLI::Option* const html =
      app.add_option("--html", html_,
                     "Write this file instead: a page that shows the runs in the same charts, for a browser")
          ->type_name("FILE");
  format_.describe(app)->excludes(html);
}

int CompareCommand::run() const {
  if (folders_.size() < 2 || folders_.size() > kMostRuns) {
    throw std::invalid_argument(fmt::format("run_dirs: found {} folder{}; expected 2 to {}", folders_.size(),
                                            folders_.size() == 1 ? "" : "s", kMostRuns));
  }
  const std::string script = html_.empty() ? "" : page_script("--html");
  std::vector<ComparedRun> runs;
  for (const std::string& folder : folders_) {
    runs.push_back({std::string(1, static_cast<char>('A' + runs.size())), folder, read_result(folder)});
  }
  if (html_.empty()) {
    const Json json = comparison_json(runs);
    print_output(format_.format() == Format::kText   ? comparison_text(runs)
                 : format_.format() == Format::kJson ? json.dump(1) + '\n'
                                                     : csv_of(json["figures"]));
    return kDone;
  }
  Json all = Json::array();
  for (const ComparedRun& run : runs) all.push_back(run_data(run.folder, run.result, run.name));
  std::error_code ignored;
  for (const std::string& folder : folders_) {
    for (const char* file : {"report.json", kEventsFile}) {
      if (std::filesystem::equivalent(html_, std::filesystem::path(folder) / file, ignored)) {
        throw std::invalid_argument(fmt::format("--html: found {}, of a run; expected another file to write", html_));
      }
    }
  }
  write_file(html_, page_html(page_data(std::move(all)), script));
  print_output(fmt::format("written: {}\n", html_));
  return kDone;
}

}  // namespace rxnic
