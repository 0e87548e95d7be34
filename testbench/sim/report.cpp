// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/report.h"

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

Json packets(const RunResult& r) {
  Json dropped = {{"total", r.packets.dropped_total()}};
  for (std::size_t i = 1; i < kDropReasons; ++i) {
    if (r.packets.dropped[i] != 0)
      dropped[std::string(drop_reason_name(static_cast<DropReason>(i)))] = r.packets.dropped[i];
  }
  return {{"captured", r.captured}, {"from_receiver", r.from_receiver}, {"to_others", r.to_others},
          {"seen", r.packets.seen}, {"accepted", r.packets.accepted},   {"not_rdma", r.packets.not_rdma},
          {"dropped", dropped}};
}

Json block(const BlockResult& b) {
  const auto cycles = [&b](Activity a) { return b.account[static_cast<std::size_t>(a)]; };
  Json waiting = Json::object();
  for (std::size_t i = static_cast<std::size_t>(Activity::kWaitContext); i < kActivities; ++i) {
    if (b.account[i] != 0) waiting[std::string(activity_name(static_cast<Activity>(i)).substr(5))] = b.account[i];
  }
  return {{"busy", cycles(Activity::kBusy)},
          {"starved", cycles(Activity::kStarved)},
          {"blocked", cycles(Activity::kBlocked)},
          {"waiting", waiting},
          {"counters", counts(b.counters)}};
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
    const std::string name(activity_name(static_cast<Activity>(i)));
    const bool waits = i >= static_cast<std::size_t>(Activity::kWaitContext);
    b.account[i] = waits ? j.at("waiting").value(name.substr(5), std::uint64_t{0}) : j.at(name).get<std::uint64_t>();
  }
  return b;
}

Params parse_params(const Json& values, const std::string& file) {
  std::vector<std::string> overrides;
  for (const auto& [section, keys] : values.items()) {
    for (const auto& [key, value] : keys.items()) {
      overrides.push_back(section + "." + key + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
  try {
    return load_config(kDefaultConfig, overrides);
  } catch (const ConfigError& e) {
    throw std::invalid_argument(file + ": " + e.what());
  }
}

void parse_packets(const Json& j, RunResult& r) {
  r.captured = j.at("captured");
  r.from_receiver = j.at("from_receiver");
  r.to_others = j.at("to_others");
  r.packets.seen = j.at("seen");
  r.packets.accepted = j.at("accepted");
  r.packets.not_rdma = j.at("not_rdma");
  for (std::size_t i = 1; i < kDropReasons; ++i) {
    r.packets.dropped[i] =
        j.at("dropped").value(std::string(drop_reason_name(static_cast<DropReason>(i))), std::uint64_t{0});
  }
}

}  // namespace

std::string report_json(const RunResult& r) {
  const double seconds = static_cast<double>(r.time_ps) * 1e-12;
  Json j;
  j["schema"] = kReportSchema;
  j["trace"] = r.trace;
  j["receiver"] = {{"address", r.receiver}, {"choice", r.receiver_choice}};
  j["config"] = {{"name", r.config}, {"overrides", r.overrides}, {"values", Json::parse(params_values_json(r.params))}};
  j["seed"] = r.seed;
  j["run"] = {{"mode", r.mode}, {"pace", r.pace}, {"psn", r.psn}, {"host", r.host}};
  j["assumptions"] = r.assumptions;
  j["warnings"] = r.warnings;
  j["cycles"] = r.cycles;
  j["time_ps"] = r.time_ps;
  j["packets"] = packets(r);
  j["messages"] = r.messages;
  j["cqes"] = r.cqes;
  j["error_cqes"] = r.error_cqes;
  j["bytes"] = r.bytes;
  j["rates"] = {{"packets_per_s", seconds > 0 ? static_cast<double>(r.packets.accepted) / seconds : 0.0},
                {"payload_gbps", seconds > 0 ? static_cast<double>(r.bytes) * 8e-9 / seconds : 0.0}};
  j["latency_ns"] = {{"count", r.latency_ns.count}, {"p50", r.latency_ns.p50},   {"p90", r.latency_ns.p90},
                     {"p99", r.latency_ns.p99},     {"p999", r.latency_ns.p999}, {"max", r.latency_ns.max}};
  j["answers"] = {{"sent", r.answers_sent},
                  {"compared", r.answers.compared},
                  {"equal", r.answers.equal},
                  {"different", r.answers.different},
                  {"uncompared", counts(r.answers.uncompared)},
                  {"differences", r.answers.differences}};
  j["transport"] = counts(r.transport);
  j["events"] = counts(r.events);
  j["blocks"] = Json::object();
  for (const BlockResult& b : r.blocks) j["blocks"][b.stem] = block(b);
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(r.state_hash));
  j["state_hash"] = hash;
  return j.dump(2) + "\n";
}

RunResult parse_report(const std::string& text, const std::string& file) {
  RunResult r;
  try {
    const Json j = Json::parse(text);
    const std::string schema = j.at("schema");
    if (schema != kReportSchema) {
      throw std::invalid_argument(file + ": schema: found " + schema + ", expected " + kReportSchema);
    }
    r.trace = j.at("trace");
    r.receiver = j.at("receiver").at("address");
    r.receiver_choice = j.at("receiver").at("choice");
    r.config = j.at("config").at("name");
    r.overrides = j.at("config").at("overrides").get<std::vector<std::string>>();
    r.params = parse_params(j.at("config").at("values"), file);
    r.seed = j.at("seed");
    r.mode = j.at("run").at("mode");
    r.pace = j.at("run").at("pace");
    r.psn = j.at("run").at("psn");
    r.host = j.at("run").at("host");
    r.assumptions = j.at("assumptions").get<std::vector<std::string>>();
    r.warnings = j.at("warnings").get<std::vector<std::string>>();
    r.cycles = j.at("cycles");
    r.time_ps = j.at("time_ps");
    parse_packets(j.at("packets"), r);
    r.messages = j.at("messages");
    r.cqes = j.at("cqes");
    r.error_cqes = j.at("error_cqes");
    r.bytes = j.at("bytes");
    const Json& latency = j.at("latency_ns");
    r.latency_ns = {latency.at("count"), latency.at("p50"),  latency.at("p90"),
                    latency.at("p99"),   latency.at("p999"), latency.at("max")};
    const Json& answers = j.at("answers");
    r.answers_sent = answers.at("sent");
    r.answers.compared = answers.at("compared");
    r.answers.equal = answers.at("equal");
    r.answers.different = answers.at("different");
    r.answers.uncompared = named_counts(answers.at("uncompared"));
    r.answers.differences = answers.at("differences").get<std::vector<std::string>>();
    r.transport = named_counts(j.at("transport"));
    r.events = named_counts(j.at("events"));
    for (const auto& [stem, b] : j.at("blocks").items()) r.blocks.push_back(parse_block(stem, b));
    r.state_hash = std::stoull(j.at("state_hash").get<std::string>(), nullptr, 16);
  } catch (const nlohmann::json::exception& e) {
    throw std::invalid_argument(file + ": is not a report: " + e.what());
  }
  return r;
}

}  // namespace rxnic
