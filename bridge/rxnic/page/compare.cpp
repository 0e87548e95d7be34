// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/page/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bridge/rxnic/page/run_charts.h"
#include "bridge/rxnic/report/verdict.h"
#include "model/params/descriptor.h"
#include "model/system/units.h"

namespace rxnic {

namespace {

struct FigureRow {
  Figure figure;                              // of the first run that has it
  std::vector<std::optional<double>> values;  // by run
};

std::vector<FigureRow> figure_rows(const std::vector<ComparedRun>& runs) {
  std::vector<FigureRow> rows;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    for (const Figure& f : figures_of(runs[n].result)) {
      auto row = std::ranges::find(rows, f.name, [](const FigureRow& r) { return r.figure.name; });
      if (row == rows.end()) row = rows.insert(rows.end(), {f, std::vector<std::optional<double>>(runs.size())});
      row->values[n] = f.value;
    }
  }
  return rows;
}

// In per cent. (R2)
std::optional<double> change(const FigureRow& row, std::size_t n) {
  if (n == 0 || !row.values[0] || !row.values[n] || *row.values[0] == 0) return {};
  return 100 * (*row.values[n] / *row.values[0] - 1);
}

struct DifferentParameter {
  std::string name;
  std::vector<std::string> values;  // by run
};

// What was run, and how: a difference between two of them is one of the runs, not only of the NIC. (R3)
std::vector<std::pair<const char*, std::string>> what_was_run(const RunResult& r) {
  std::string commands, region;
  for (const std::string& word : r.command) commands += (commands.empty() ? "" : " ") + word;
  if (r.region) region = fmt::format("{} to {}", time_text(r.region->from_ps), time_text(r.region->to_ps));
  std::string page;
  for (const std::string& o : r.overrides) {
    if (o.starts_with("workload.")) page += (page.empty() ? "" : " ") + o;
  }
  return {{"source", r.trace},      {"command", commands}, {"set in its page", page},
          {"receiver", r.receiver}, {"pace", r.pace},      {"psn", r.psn},
          {"host", r.host},         {"region", region},    {"seed", std::to_string(r.seed)}};
}

std::vector<DifferentParameter> different_runs(const std::vector<ComparedRun>& runs) {
  std::vector<DifferentParameter> all;
  const auto names = what_was_run(runs.front().result);
  for (std::size_t n = 0; n < names.size(); ++n) {
    DifferentParameter p{names[n].first, {}};
    for (const ComparedRun& run : runs) p.values.push_back(what_was_run(run.result)[n].second);
    if (std::ranges::adjacent_find(p.values, std::not_equal_to()) != p.values.end()) all.push_back(std::move(p));
  }
  return all;
}

std::vector<DifferentParameter> different_parameters(const std::vector<ComparedRun>& runs) {
  std::vector<DifferentParameter> all;
  for (const ParamDescriptor& d : param_descriptors()) {
    DifferentParameter p{fmt::format("{}.{}", d.section, d.key), {}};
    for (const ComparedRun& run : runs) p.values.push_back(param_value_text(d, run.result.params));
    if (std::ranges::adjacent_find(p.values, std::not_equal_to()) != p.values.end()) all.push_back(std::move(p));
  }
  return all;
}

std::string value_text(double value) {
  const Json j = number_json(value);
  return j.is_number_integer() ? count_text(static_cast<std::uint64_t>(value)) : j.dump();
}

}  // namespace

Json comparison_json(const std::vector<ComparedRun>& runs) {
  Json all = {
      {"runs", Json::array()}, {"ran", Json::array()}, {"parameters", Json::array()}, {"figures", Json::array()}};
  for (const ComparedRun& run : runs) {
    const Verdict v = verdict_of(run.result);
    all["runs"].push_back({{"name", run.name},
                           {"folder", run.folder},
                           {"config", run.result.config},
                           {"overrides", run.result.overrides},
                           {"bound_by", v.bound_by},
                           {"words", v.words}});
  }
  for (const DifferentParameter& p : different_runs(runs)) {
    Json row = {{"what", p.name}};
    for (std::size_t n = 0; n < runs.size(); ++n) row[runs[n].name] = p.values[n];
    all["ran"].push_back(std::move(row));
  }
  for (const DifferentParameter& p : different_parameters(runs)) {
    Json row = {{"parameter", p.name}};
    for (std::size_t n = 0; n < runs.size(); ++n) row[runs[n].name] = p.values[n];
    all["parameters"].push_back(std::move(row));
  }
  for (const FigureRow& f : figure_rows(runs)) {
    Json row = {{"figure", f.figure.name}, {"unit", f.figure.unit}};
    for (std::size_t n = 0; n < runs.size(); ++n) {
      row[runs[n].name] = f.values[n] ? number_json(*f.values[n], 6) : Json();
    }
    for (std::size_t n = 1; n < runs.size(); ++n) {
      const std::optional<double> by = change(f, n);
      row["change_" + runs[n].name] = by ? number_json(*by) : Json();
    }
    all["figures"].push_back(std::move(row));
  }
  return all;
}

std::string comparison_text(const std::vector<ComparedRun>& runs) {
  std::string out;
  for (const ComparedRun& run : runs) {
    const Verdict v = verdict_of(run.result);
    out += fmt::format("{}  {}\n   {}\n", run.name, run.folder, v.words.empty() ? "" : v.words.front());
  }
  const std::vector<DifferentParameter> ran = different_runs(runs);
  if (!ran.empty()) out += "\nnot the same run: what differs besides the NIC\n";
  for (const DifferentParameter& p : ran) {
    for (std::size_t n = 0; n < runs.size(); ++n) {
      out +=
          fmt::format("  {:<16} {}  {}\n", n == 0 ? p.name : "", runs[n].name, p.values[n].empty() ? "-" : p.values[n]);
    }
  }
  const std::vector<DifferentParameter> parameters = different_parameters(runs);
  out += parameters.empty() ? "\nall parameters of the NIC are the same\n" : "\nparameters that differ\n";
  for (const DifferentParameter& p : parameters) {
    out += fmt::format("  {:<44}", p.name);
    for (const std::string& value : p.values) out += fmt::format(" {:>12}", value);
    out += '\n';
  }
  out += fmt::format("\n{:<38}", "figures");
  for (const ComparedRun& run : runs)
    out += fmt::format("{:>14}{}", run.name, &run == &runs.front() ? "" : "     change");
  out += '\n';
  for (const FigureRow& f : figure_rows(runs)) {
    if (std::ranges::all_of(f.values, [](const auto& v) { return !v || *v == 0; })) continue;
    const std::string unit = f.figure.unit.empty() ? "" : fmt::format(" ({})", f.figure.unit);
    out += fmt::format("  {:<36}", f.figure.name + unit);
    for (std::size_t n = 0; n < runs.size(); ++n) {
      out += fmt::format("{:>14}", f.values[n] ? value_text(*f.values[n]) : "-");
      if (n == 0) continue;
      const std::optional<double> by = change(f, n);
      out += fmt::format(" {:>10}", !by ? "" : *by == 0 ? "=" : fmt::format("{:+.1f} %", *by));
    }
    out += '\n';
  }
  return out;
}

}  // namespace rxnic
