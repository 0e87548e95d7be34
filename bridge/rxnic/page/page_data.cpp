// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/page/page_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <tuple>
#include <utility>

#include "bridge/rxnic/events/event_request.h"
#include "bridge/rxnic/explain/message_join.h"
#include "bridge/rxnic/explain/tables.h"
#include "bridge/rxnic/output/files.h"
#include "bridge/rxnic/page/latency_charts.h"
#include "bridge/rxnic/page/run_charts.h"
#include "bridge/rxnic/page/time_charts.h"
#include "bridge/rxnic/page/trouble_tables.h"
#include "bridge/rxnic/report/report.h"
#include "bridge/rxnic/report/verdict.h"

namespace rxnic {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNicCharts = 8, kMostQpRows = 5000;  // (R3)
constexpr const char* kNoEvents = "needs the events of the run: rxnic replay --events keeps them, --html does, too";

Json verdict_json(const Verdict& v) {
  Json parameters = Json::array();
  for (const VerdictParameter& p : v.parameters) {
    parameters.push_back({{"name", p.name}, {"value", p.value}, {"evidence", p.evidence}});
  }
  return {{"bound_by", v.bound_by}, {"words", v.words},     {"distrust", v.distrust},
          {"next", v.next},         {"backlog", v.backlog}, {"parameters", parameters}};
}

std::string joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : " ") + one;
  return text;
}

// What was run, by what name each is known.
Json facts_of(const RunResult& r) {
  Json facts = Json::object();
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts[name] = value;
  };
  add("trace", r.trace);
  add("receiver", r.receiver.empty() ? "" : fmt::format("{} ({})", r.receiver, r.receiver_choice));
  add("host", r.host);
  add("pace", r.pace);
  add("PSN", r.psn);
  add("command", joined(r.command));
  if (r.of_programs()) add("NICs", std::to_string(r.nics.size()));
  add("configuration", r.config);
  add("set", joined(r.overrides));
  add("seed", std::to_string(r.seed));
  add("cycles", fmt::format("{} of {} ps", r.cycles, r.params.nic.clock_period_ps));
  if (r.region) {
    add("region", fmt::format("from {} ps to {} ps of {} ps", r.region->from_ps, r.region->to_ps, r.region->run_ps));
  }
  add("state hash", fmt::format("{:016x}", r.state_hash));
  return facts;
}

Json figures_json(const RunResult& r) {
  Json list = Json::array();
  for (const Figure& f : figures_of(r)) {
    list.push_back({{"name", f.name},
                    {"value", number_json(f.value)},
                    {"unit", f.unit},
                    {"less", f.less_is_better},
                    {"key", f.key}});
  }
  return list;
}

std::uint64_t cycles_of_run(const RunResult& r) {
  const std::uint64_t period = std::max<std::uint64_t>(r.params.nic.clock_period_ps, 1);
  return r.region ? std::max(r.region->run_ps / period, r.cycles) : r.cycles;
}

Table table_of(const char* id, const char* title, const char* about, Json rows, std::size_t most = 0) {
  Table t;
  t.id = id, t.title = title, t.about = about;
  t.most = most;
  if (rows.empty()) t.absent = "no packet came";
  t.rows = std::move(rows);
  return t;
}

void add_events(Json& run, const std::string& folder, const RunResult& r, const std::vector<std::uint32_t>& nics) {
  RunEvents events(folder);
  TimeCharts times(events, cycles_of_run(r), nics);
  LatencyCharts latencies(events.period_ps());
  TableMaker tables(events, {TableBy::kQp, TableBy::kSize, TableBy::kOpcode, TableBy::kNic});
  TroubleTables troubles(events);
  MessageJoin join;
  const auto completed = [&](const PacketRow* packet, const CompletionRow& row) {
    tables.add(packet, row);
    latencies.add(packet, row);
  };
  events.for_each_row(RowVisitor{[&](const PacketRow& row) {
                                   if (row.nic >= events.nics() || row.left < row.arrived) return;
                                   const std::vector<StationStay> stays = stays_of(row);
                                   times.add(row, stays);
                                   tables.add(row, stays);
                                   latencies.add(row);
                                   troubles.add(row);
                                   join.add(row, completed);
                                 },
                                 [&](const CompletionRow& row) { join.add(row, completed); },
                                 [&](const auto& row) { times.add(row); }});
  join.finish(completed);
  for (const Chart& c : times.charts()) run["charts"].push_back(chart_json(c));
  for (const Chart& c : latencies.charts(tables)) run["charts"].push_back(chart_json(c));
  const Table all[] = {
      table_of("qps", "QPs, the sickest first",
               "Sick are those with NAKs that end the QP and completions in error, then those with packets that were "
               "not carried out, repeats, marks, and the longest latencies.",
               tables.rows(TableBy::kQp), kMostQpRows),
      troubles.drops(),
      troubles.naks(),
      table_of("by_size", "By message size", "Of packets that end no message: by their payload.",
               tables.rows(TableBy::kSize)),
      table_of("by_opcode", "By opcode", "", tables.rows(TableBy::kOpcode)),
      table_of("by_nic", "By NIC", "", tables.rows(TableBy::kNic))};
  for (const Table& t : all) run["tables"].push_back(table_json(t));
  run["all_events"] = events.has_all_packets() && events.has_all_activities();
}

void add_absent(Json& run) {
  constexpr const char* kCharts[][3] = {{"throughput", "Throughput", "time"},
                                        {"trouble", "Drops, NAKs, repeats, marks", "time"},
                                        {"waiting", "Packets that wait in front of blocks", "time"},
                                        {"busy", "How busy blocks are", "time"},
                                        {"cdf_stage", "Latency by stage, distribution", "latency"},
                                        {"opcodes", "Latency by opcode", "latency"},
                                        {"sizes", "Latency by message size", "latency"},
                                        {"caches", "Caches", "caches"},
                                        {"tags", "Tag matching", "caches"}};
  for (const auto& [id, title, section] : kCharts) {
    Chart c;
    c.id = id, c.title = title, c.section = section, c.kind = "time";
    c.absent = kNoEvents;
    run["charts"].push_back(chart_json(c));
  }
  for (const auto& [id, title] :
       {std::pair{"drops", "Packets that were not carried out"}, {"naks", "Packets that were answered with a NAK"}}) {
    Table t;
    t.id = id, t.title = title;
    t.absent = kNoEvents;
    run["tables"].push_back(table_json(t));
  }
}

// Tables that the report has without events. There a row leaves out what is 0.
void add_tables_of_report(Json& run, const RunResult& r) {
  constexpr const char* kNamed[] = {"nic", "qp", "peer", "bytes_from", "bytes_to", "opcode", "waits_most_at"};
  const Json tables = Json::parse(report_json(r))["tables"];
  for (const auto& [key, id, title, most] : {std::tuple{"qp", "qps", "QPs, the sickest first", kMostQpRows},
                                             {"size", "by_size", "By message size", std::size_t{0}},
                                             {"opcode", "by_opcode", "By opcode", std::size_t{0}},
                                             {"nic", "by_nic", "By NIC", std::size_t{0}}}) {
    Json rows = tables.value(key, Json::array());
    Json zero = Json::object();
    for (const Json& row : rows) {
      for (const auto& [column, value] : row.items()) {
        const bool named = std::ranges::find(kNamed, column) != std::end(kNamed);
        if (!zero.contains(column)) zero[column] = named && value.is_string() ? Json("") : Json(0);
      }
    }
    for (Json& row : rows) {
      Json whole = zero;
      whole.update(row);
      row = whole;
    }
    run["tables"].push_back(table_json(table_of(id, title, "", std::move(rows), most)));
  }
}

}  // namespace

RunResult read_result(const std::string& folder) {
  const std::string path = fs::path(folder) / "report.json";
  return parse_report(read_file(path, "the report of a run"), path);
}

Json run_data(const std::string& folder, const RunResult& r, const std::string& name) {
  const std::vector<std::uint32_t> nics = busiest_nics(r, kMostNicCharts);
  Json run = {{"name", name}};
  run["title"] = r.of_programs() ? joined(r.command) : fs::path(r.trace).filename().string();
  run["verdict"] = verdict_json(verdict_of(r));
  run["figures"] = figures_json(r);
  run["facts"] = facts_of(r);
  run["assumptions"] = r.assumptions;
  run["warnings"] = r.warnings;
  run["nics"] = nics;
  run["nics_left_out"] = (r.of_programs() ? r.nics.size() : 1) - nics.size();
  run["charts"] = Json::array();
  run["tables"] = Json::array();
  for (const Chart& c : run_charts(r, nics)) run["charts"].push_back(chart_json(c));
  std::error_code ignored;
  if (fs::exists(fs::path(folder) / kEventsFile, ignored)) {
    add_events(run, folder, r, nics);
  } else {
    add_absent(run);
    add_tables_of_report(run, r);
  }
  run["tables"].push_back(table_json(configuration_table(r)));
  return run;
}

Json page_data(Json runs) { return {{"schema", kPageSchema}, {"runs", std::move(runs)}}; }

}  // namespace rxnic
