// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/command/workload_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bridge/rxnic/output/csv.h"
#include "bridge/rxnic/output/exit_status.h"
#include "bridge/rxnic/output/files.h"
#include "bridge/rxnic/output/standard_streams.h"
#include "bridge/rxnic/workload/page_reader.h"
#include "bridge/rxnic/workload/page_text.h"
#include "bridge/rxnic/workload/workload_run.h"

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
  app_ = &app;
  auto* page = app.add_option("page", page_,
                              "A workload: a page (FILE.toml) or the name of one that comes along. It is checked, and\n"
                              "printed with the value of every key. Without it: the names of those that come along")
                   ->type_name("PAGE");
  app.add_flag("--keys", keys_, "Print every key of a page: default, unit, range, meaning")->excludes(page);
  auto* out =
      app.add_option("--out", out_,
                     "Write the workload as files into this folder, for rxnic replay DIR: what comes to the NIC\n"
                     "(wire.pcap), the page with the value of every key, and the parameters. Senders that wait\n"
                     "for answers depend on the NIC, which runs for this")
          ->needs(page)
          ->type_name("DIR");
  describe_seed(app, seed_);
  common_.describe(app);
  for (const char* option : {"--seed", "--config"}) app.get_option(option)->needs(out);
  auto* as_json = app.add_flag("--json", format_.json, "As JSON: --format json");
  format_.describe(app)->excludes(as_json);
}

int WorkloadCommand::run() {
  const Format format = format_.format();
  const std::vector<std::string>& set = common_.overrides;
  if (out_.empty()) {
    for (const std::string& text : set) {
      if (is_page_override(text) && !page_.empty()) continue;
      throw std::invalid_argument(
          fmt::format("--set: found {}; expected workload.KEY=VALUE (rxnic workload --keys), with PAGE", text));
    }
  }
  if (!page_.empty()) {
    if (format != Format::kText) {
      throw std::invalid_argument("--format: found a page; expected text: a page is TOML");
    }
    if (!out_.empty()) return write();
    print_output(workload_toml(load_workload(page_, set)));
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

int WorkloadCommand::write() {
  make_folder("--out", out_);
  WorkloadOptions o;
  o.run.trace = page_;
  o.run.config = common_.config;
  o.run.overrides = common_.overrides;
  o.run.seed = seed_;
  o.run.say = [](const std::string& text) { print_message(text); };
  o.run.progress = true;
  o.seeded = app_->get_option("--seed")->count() != 0;
  o.configured = app_->get_option("--config")->count() != 0;
  o.write_to = out_;
  const RunResult result = run_workload(o);
  print_output(fmt::format("written: {}\n{} packets, {} cycles, state hash {:016x}\nto run it: rxnic replay {}\n", out_,
                           result.captured, result.cycles, result.state_hash, out_));
  return kDone;
}

}  // namespace rxnic
