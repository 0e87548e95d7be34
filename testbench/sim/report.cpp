// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "model/params/config.h"
#include "model/params/params_table.h"

namespace rxnic {

namespace {

using Json = nlohmann::ordered_json;

Json counts(const std::vector<NamedCount>& list) {
  Json out = Json::object();
  for (const auto& [name, value] : list) out[name] = value;
  return out;
}

Json packets(const LedgerCounters& p) {
  Json dropped = {{"total", p.dropped_total()}};
  for (std::size_t i = 1; i < kDropReasons; ++i) {
    if (p.dropped[i] != 0) dropped[std::string(name_of(static_cast<DropReason>(i)))] = p.dropped[i];
  }
  return {{"seen", p.seen}, {"accepted", p.accepted}, {"not_rdma", p.not_rdma}, {"dropped", dropped}};
}

Json latency(const LatencyResult& l) {
  return {{"count", l.count}, {"p50", l.p50}, {"p90", l.p90}, {"p99", l.p99}, {"p999", l.p999}, {"max", l.max}};
}

Json stages(const std::vector<StageResult>& all) {
  Json j = Json::object();
  for (const StageResult& s : all) j[s.name] = {{"mean", s.mean}, {"p50", s.p50}, {"p99", s.p99}, {"max", s.max}};
  return j;
}

Json block(const BlockResult& b) {
  const auto cycles = [&b](Activity a) { return b.account[static_cast<std::size_t>(a)]; };
  Json waiting = Json::object();
  for (std::size_t i = static_cast<std::size_t>(Activity::kWaitContext); i < kActivities; ++i) {
    if (b.account[i] != 0) waiting[std::string(name_of(static_cast<Activity>(i)).substr(5))] = b.account[i];
  }
  return {{"busy", cycles(Activity::kBusy)},
          {"starved", cycles(Activity::kStarved)},
          {"blocked", cycles(Activity::kBlocked)},
          {"waiting", waiting},
          {"counters", counts(b.counters)}};
}

Json rates(const NicResult& r, double seconds) {
  return {{"packets_per_s", seconds > 0 ? static_cast<double>(r.packets.accepted) / seconds : 0.0},
          {"payload_gbps", seconds > 0 ? static_cast<double>(r.bytes) * 8e-9 / seconds : 0.0}};
}

// What is said of one NIC, and of all together.
void add_nic(Json& j, const NicResult& r, bool of_programs, double seconds) {
  j["packets"] = packets(r.packets);
  j["messages"] = r.messages;
  j["cqes"] = r.cqes;
  j["error_cqes"] = r.error_cqes;
  j["bytes"] = r.bytes;
  j["rates"] = rates(r, seconds);
  j["latency_ns"] = latency(r.latency_ns);
  j["handed_over_latency_ns"] = latency(r.handed_over_ns);
  j["write_latency_ns"] = latency(r.write_ns);
  j["read_latency_ns"] = latency(r.read_ns);
  j["stages_ns"] = stages(r.stages);
  if (of_programs) j["one_way_latency_ns"] = latency(r.one_way_ns);
  j["transport"] = counts(r.transport);
  j["events"] = counts(r.events);
  if (r.blocks.empty()) return;
  j["blocks"] = Json::object();
  for (const BlockResult& b : r.blocks) j["blocks"][b.stem] = block(b);
}

void add_capture(Json& j, const RunResult& r) {
  j["trace"] = r.trace;
  j["receiver"] = {{"address", r.receiver}, {"choice", r.receiver_choice}};
}

void add_programs(Json& j, const RunResult& r) {
  j["command"] = r.command;
  j["programs"] = Json::array();
  for (const ProgramResult& p : r.programs) {
    j["programs"].push_back({{"name", p.name}, {"nic", p.nic}, {"clients", p.clients}});
  }
}

std::vector<NamedCount> named_counts(const Json& j) {
  std::vector<NamedCount> out;
  for (const auto& [name, value] : j.items()) out.emplace_back(name, value.get<std::uint64_t>());
  return out;
}

BlockResult parse_block(const std::string& stem, const Json& j) {
  BlockResult b;
  b.stem = stem;
  b.counters = named_counts(j.at("counters"));
  for (std::size_t i = 0; i < kActivities; ++i) {
    const std::string name(name_of(static_cast<Activity>(i)));
    const bool waits = i >= static_cast<std::size_t>(Activity::kWaitContext);
    b.account[i] = waits ? j.at("waiting").value(name.substr(5), std::uint64_t{0}) : j.at(name).get<std::uint64_t>();
  }
  return b;
}

Params parse_params(const Json& values, const std::string& file) {
  std::vector<std::string> overrides;
  for (const auto& [section, keys] : values.items()) {
    for (const auto& [key, value] : keys.items()) {
      overrides.push_back(
          fmt::format("{}.{}={}", section, key, value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
  try {
    return load_config(kDefaultConfig, overrides);
  } catch (const ConfigError& e) {
    throw std::invalid_argument(file + ": " + e.what());
  }
}

void parse_packets(const Json& j, LedgerCounters& p) {
  p.seen = j.at("seen");
  p.accepted = j.at("accepted");
  p.not_rdma = j.at("not_rdma");
  for (std::size_t i = 1; i < kDropReasons; ++i) {
    p.dropped[i] = j.at("dropped").value(std::string(name_of(static_cast<DropReason>(i))), std::uint64_t{0});
  }
}

LatencyResult parse_latency(const Json& j) {
  return {j.at("count"), j.at("p50"), j.at("p90"), j.at("p99"), j.at("p999"), j.at("max")};
}

void parse_nic(const Json& j, NicResult& r) {
  parse_packets(j.at("packets"), r.packets);
  r.messages = j.at("messages");
  r.cqes = j.at("cqes");
  r.error_cqes = j.at("error_cqes");
  r.bytes = j.at("bytes");
  r.latency_ns = parse_latency(j.at("latency_ns"));
  r.handed_over_ns = parse_latency(j.at("handed_over_latency_ns"));
  r.write_ns = parse_latency(j.at("write_latency_ns"));
  r.read_ns = parse_latency(j.at("read_latency_ns"));
  for (const auto& [name, s] : j.at("stages_ns").items()) {
    r.stages.push_back({name, s.at("mean"), s.at("p50"), s.at("p99"), s.at("max")});
  }
  if (j.contains("one_way_latency_ns")) r.one_way_ns = parse_latency(j.at("one_way_latency_ns"));
  r.transport = named_counts(j.at("transport"));
  r.events = named_counts(j.at("events"));
  if (!j.contains("blocks")) return;
  for (const auto& [stem, b] : j.at("blocks").items()) r.blocks.push_back(parse_block(stem, b));
}

void parse_capture(const Json& j, RunResult& r) {
  r.trace = j.at("trace");
  r.receiver = j.at("receiver").at("address");
  r.receiver_choice = j.at("receiver").at("choice");
  r.pace = j.at("run").at("pace");
  r.psn = j.at("run").at("psn");
  r.host = j.at("run").at("host");
  r.assumptions = j.at("assumptions").get<std::vector<std::string>>();
  r.captured = j.at("packets").at("captured");
  r.from_receiver = j.at("packets").at("from_receiver");
  r.to_others = j.at("packets").at("to_others");
  const Json& answers = j.at("answers");
  r.answers_sent = answers.at("sent");
  r.answers.compared = answers.at("compared");
  r.answers.equal = answers.at("equal");
  r.answers.given = answers.at("given");
  r.answers.different = answers.at("different");
  r.answers.uncompared = named_counts(answers.at("uncompared"));
  r.answers.differences = answers.at("differences").get<std::vector<std::string>>();
  r.answers.rules = answers.at("rules").get<std::vector<std::string>>();
}

void parse_programs(const Json& j, RunResult& r) {
  r.command = j.at("command").get<std::vector<std::string>>();
  for (const Json& p : j.at("programs")) r.programs.push_back({p.at("name"), p.at("nic"), p.at("clients")});
  for (const Json& nic : j.at("nics")) parse_nic(nic, r.nics.emplace_back());
  r.fabric = named_counts(j.at("fabric"));
}

}  // namespace

std::string report_json(const RunResult& r) {
  const double seconds = static_cast<double>(r.time_ps) * 1e-12;
  Json j;
  j["schema"] = kReportSchema;
  if (r.of_programs()) {
    add_programs(j, r);
  } else {
    add_capture(j, r);
  }
  j["config"] = {{"name", r.config}, {"overrides", r.overrides}, {"values", Json::parse(params_values_json(r.params))}};
  j["seed"] = r.seed;
  j["run"] = {{"mode", r.mode}};
  if (!r.of_programs()) {
    j["run"].update({{"pace", r.pace}, {"psn", r.psn}, {"host", r.host}});
    j["assumptions"] = r.assumptions;
  }
  j["warnings"] = r.warnings;
  j["cycles"] = r.cycles;
  j["time_ps"] = r.time_ps;
  add_nic(j, r, r.of_programs(), seconds);
  if (r.of_programs()) {
    j["fabric"] = counts(r.fabric);
    j["nics"] = Json::array();
    for (const NicResult& nic : r.nics) add_nic(j["nics"].emplace_back(), nic, true, seconds);
  } else {
    j["packets"].update({{"captured", r.captured}, {"from_receiver", r.from_receiver}, {"to_others", r.to_others}});
    j["answers"] = {{"sent", r.answers_sent},
                    {"compared", r.answers.compared},
                    {"equal", r.answers.equal},
                    {"given", r.answers.given},
                    {"different", r.answers.different},
                    {"uncompared", counts(r.answers.uncompared)},
                    {"differences", r.answers.differences},
                    {"rules", r.answers.rules}};
  }
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(r.state_hash));
  j["state_hash"] = hash;
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

RunResult parse_report(const std::string& text, const std::string& file) {
  RunResult r;
  try {
    const Json j = Json::parse(text);
    const std::string schema = j.at("schema");
    if (schema != kReportSchema) {
      throw std::invalid_argument(file + ": schema: found " + schema + ", expected " + kReportSchema);
    }
    r.config = j.at("config").at("name");
    r.overrides = j.at("config").at("overrides").get<std::vector<std::string>>();
    r.params = parse_params(j.at("config").at("values"), file);
    r.seed = j.at("seed");
    r.mode = j.at("run").at("mode");
    r.warnings = j.at("warnings").get<std::vector<std::string>>();
    r.cycles = j.at("cycles");
    r.time_ps = j.at("time_ps");
    parse_nic(j, r);
    if (j.contains("nics")) {
      parse_programs(j, r);
    } else {
      parse_capture(j, r);
    }
    r.state_hash = std::stoull(j.at("state_hash").get<std::string>(), nullptr, 16);
  } catch (const nlohmann::json::exception& e) {
    throw std::invalid_argument(file + ": is not a report: " + e.what());
  }
  return r;
}

}  // namespace rxnic
