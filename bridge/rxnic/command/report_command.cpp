// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/report_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bridge/rxnic/explain/incidents.h"
#include "bridge/rxnic/explain/tables.h"
#include "bridge/rxnic/output/csv.h"
#include "bridge/rxnic/output/exit_status.h"
#include "bridge/rxnic/output/files.h"
#include "bridge/rxnic/output/standard_streams.h"
#include "bridge/rxnic/page/page_data.h"
#include "bridge/rxnic/page/page_file.h"
#include "model/system/units.h"

namespace rxnic {

namespace {

// Those of the report, and how many it only counts.
std::string incidents_of_report(const Json& incidents, std::uint64_t most) {
  const Json& first = incidents["first"];
  std::uint64_t all = 0;
  for (const Json& count : incidents["counts"]) all += count.get<std::uint64_t>();
  std::string text = incidents_text(first, most);
  if (all > first.size()) {
    text += fmt::format("and {} that are only counted: replay with --events, then rxnic explain --incidents\n",
                        count_text(all - first.size()));
  }
  return text;
}

}  // namespace

void ReportCommand::describe(CLI::App& app) {
  CLI::Option* const run = app.add_option("run_dir", folder_, "Folder that a run wrote")->type_name("RUN_DIR");
  CLI::Option* const schema =
      app.add_flag("--schema", schema_, "Print the JSON Schema of report.json, which says what each key means")
          ->excludes(run);
  CLI::Option* const by =
      app.add_option("--by", by_,
                     "A table of the run by QP (the sickest first), message size, opcode or NIC: packets, messages,\n"
                     "rates, what was not carried out, repeats, NAKs, timeouts, marks, latencies, waits; all columns\n"
                     "with --format")
          ->check(CLI::IsMember({"qp", "size", "opcode", "nic"}))
          ->type_name("qp|size|opcode|nic")
          ->excludes(schema);
  app.add_flag("--incidents", incidents_,
               "What went wrong, in the order of time: drops, NAKs, gaps, timeouts, CQEs in error, events of the\n"
               "device, each with its NIC, QP, packet and cause")
      ->excludes(schema)
      ->excludes(by);
  app.add_option("--most", most_, "Rows of --by and --incidents that are printed as text; a line says how many more")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  CLI::Option* const html =
      app.add_flag(
             "--html", html_,
             "Write report.html into the folder instead: charts, tables and the verdict in one file, which opens\n"
             "in a browser without a network. With the events of the run (rxnic replay) it has charts over time")
          ->excludes(schema, by);
  CLI::Option* const data = app.add_flag("--data", data_, "Print what report.html draws, as JSON, for scripts/plot")
                                ->excludes(schema, by, html);
  format_.describe(app)->excludes(schema, html, data);
}

int ReportCommand::run() const {
  if (schema_) {
    print_output(report_schema());
    return kDone;
  }
  if (folder_.empty()) throw CLI::RequiredError("run_dir");
  if (html_) {
    const std::string script = page_script("--html");
    print_output(fmt::format("written: {}\n", write_page(folder_, read_result(folder_), script)));
    return kDone;
  }
  if (data_) {
    print_output(data_text(page_data({run_data(folder_, read_result(folder_), "")})) + '\n');
    return kDone;
  }
  const std::string path = std::filesystem::path(folder_) / "report.json";
  const std::string text = read_file(path, "the report of a run");
  const RunResult result = parse_report(text, path);
  Json json;
  std::string for_people;
  if (!by_.empty() || incidents_) {
    json = Json::parse(text);
    const char* const key = incidents_ ? "incidents" : "tables";
    if (!json.contains(key)) {
      throw std::invalid_argument(
          fmt::format("{}: found no {}; expected the report of a run of this version", path, key));
    }
    for_people =
        incidents_ ? incidents_of_report(json[key], most_) : table_text(json[key][by_], table_of_name(by_), most_);
    json = incidents_ ? json[key]["first"] : json[key][by_];
  } else if (format_.format() == Format::kText) {
    for_people = report_summary(result, terminal_style(STDOUT_FILENO));
  } else if (format_.format() == Format::kJson) {
    print_output(text);
    return kDone;
  } else {
    json = Json::parse(text);
  }
  print_output(format_.format() == Format::kText   ? for_people
               : format_.format() == Format::kJson ? json.dump(1) + '\n'
                                                   : csv_of(json));
  return kDone;
}

}  // namespace rxnic
