// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/workload_command.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bridge/rxnic/output/csv.h"
#include "bridge/rxnic/output/exit_status.h"
#include "bridge/rxnic/output/standard_streams.h"
#include "bridge/rxnic/workload/page_reader.h"
#include "bridge/rxnic/workload/page_text.h"

namespace rxnic {

namespace {

// A row for each key, with its table.
nlohmann::ordered_json key_rows() {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const auto tables = nlohmann::ordered_json::parse(workload_keys_json());
  for (const auto& [table, keys] : tables.items()) {
    for (const auto& [key, about] : keys.items()) {
      nlohmann::ordered_json row = {{"table", table}, {"key", key}};
      row.update(about);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace

void WorkloadCommand::describe(CLI::App& app) {
  auto* page = app.add_option("page", page_,
                              "A workload: a page (FILE.toml) or the name of one that comes along. It is checked, and\n"
                              "printed with the value of every key. Without it: the names of those that come along")
                   ->type_name("PAGE");
  app.add_flag("--keys", keys_, "Print every key of a page: default, unit, range, meaning")->excludes(page);
  auto* as_json = app.add_flag("--json", format_.json, "As JSON: --format json");
  format_.describe(app)->excludes(as_json);
}

int WorkloadCommand::run() const {
  const Format format = format_.format();
  if (!page_.empty()) {
    if (format != Format::kText) {
      throw std::invalid_argument("--format: found a page; expected text: a page is TOML");
    }
    print_output(workload_toml(load_workload(page_)));
    return kDone;
  }
  if (format == Format::kText) {
    print_output(keys_ ? workload_keys_text() : named_workloads_text());
  } else if (format == Format::kJson) {
    print_output(keys_ ? workload_keys_json() : named_workloads_json());
  } else {
    print_output(csv_of(keys_ ? key_rows() : nlohmann::ordered_json::parse(named_workloads_json())));
  }
  return kDone;
}

}  // namespace rxnic
