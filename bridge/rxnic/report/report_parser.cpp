// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bridge/rxnic/report/report.h"
#include "model/params/config.h"

namespace rxnic {

namespace {

using Json = nlohmann::ordered_json;

// A value of the report and where it stands, as a JSON pointer. Whatever is read is refused when it is of another kind.
class Place {
 public:
  Place(const Json& json, const std::string& file, std::string where = "")
      : json_(json), file_(file), where_(std::move(where)) {}

  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    throw std::invalid_argument(
        fmt::format("{}: {}: found {}; expected {}", file_, where_.empty() ? "/" : where_, found, expected));
  }
  bool has(const char* key) const { return json_.is_object() && json_.contains(key); }
  Place at(const std::string& key) const {
    if (!json_.is_object()) refuse(printed(), "an object");
    const auto it = json_.find(key);
    Place place(it == json_.end() ? json_ : *it, file_, where_ + "/" + key);
    if (it == json_.end()) place.refuse("nothing", "a value");
    return place;
  }
  std::uint64_t count(std::uint64_t greatest = std::numeric_limits<std::uint64_t>::max()) const {
    if (!json_.is_number_unsigned() || json_.get<std::uint64_t>() > greatest) {
      refuse(printed(), fmt::format("a whole number from 0 to {}", greatest));
    }
    return json_.get<std::uint64_t>();
  }
  std::uint64_t count_if_any(const std::string& key) const { return has(key.c_str()) ? at(key).count() : 0; }
  double number() const {
    if (!json_.is_number() || json_.get<double>() < 0) refuse(printed(), "a number from 0");
    return json_.get<double>();
  }
  bool truth() const {
    if (!json_.is_boolean()) refuse(printed(), "true or false");
    return json_.get<bool>();
  }
  std::string text() const {
    if (!json_.is_string()) refuse(printed(), "a string");
    return json_.get<std::string>();
  }
  // A value of a parameter, as --set takes it.
  std::string value() const {
    if (json_.is_structured()) refuse(printed(), "a value");
    return json_.is_string() ? json_.get<std::string>() : json_.dump();
  }
  std::vector<std::pair<std::string, Place>> members() const {
    if (!json_.is_object()) refuse(printed(), "an object");
    std::vector<std::pair<std::string, Place>> out;
    for (const auto& [key, value] : json_.items()) out.emplace_back(key, Place(value, file_, where_ + "/" + key));
    return out;
  }
  std::vector<Place> elements() const {
    if (!json_.is_array()) refuse(printed(), "an array");
    std::vector<Place> out;
    for (std::size_t i = 0; i < json_.size(); ++i) out.emplace_back(json_[i], file_, fmt::format("{}/{}", where_, i));
    return out;
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> out;
    for (const Place& place : elements()) out.push_back(place.text());
    return out;
  }

 private:
  std::string printed() const {
    if (json_.is_object()) return "an object";
    if (json_.is_array()) return "an array";
    return json_.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60);
  }

  const Json& json_;
  const std::string& file_;
  std::string where_;
};

std::vector<NamedCount> named_counts(const Place& j) {
  std::vector<NamedCount> out;
  for (const auto& [name, value] : j.members()) out.emplace_back(name, value.count());
  return out;
}

BlockResult parse_block(const std::string& stem, const Place& j) {
  BlockResult b;
  b.stem = stem;
  b.counters = named_counts(j.at("counters"));
  b.busy_at_most = j.has("busy_at_most") && j.at("busy_at_most").truth();
  const Place waiting = j.at("waiting");
  for (std::size_t i = 0; i < kActivities; ++i) {
    const std::string name(name_of(static_cast<Activity>(i)));
    const bool waits = i >= static_cast<std::size_t>(Activity::kWaitContext);
    b.account[i] = waits ? waiting.count_if_any(name.substr(5)) : j.at(name).count();
  }
  return b;
}

Params parse_params(const Place& values) {
  std::vector<std::string> overrides;
  for (const auto& [section, keys] : values.members()) {
    for (const auto& [key, value] : keys.members()) {
      overrides.push_back(fmt::format("{}.{}={}", section, key, value.value()));
    }
  }
  try {
    return load_config(kDefaultConfig, overrides);
  } catch (const ConfigError& e) {
    values.refuse(fmt::format("{}: {}", e.key(), e.found()), e.expected());
  }
}

void parse_packets(const Place& j, LedgerCounters& p) {
  p.seen = j.at("seen").count();
  p.accepted = j.at("accepted").count();
  p.not_rdma = j.at("not_rdma").count();
  const Place dropped = j.at("dropped");
  for (std::size_t i = 1; i < kDropReasons; ++i) {
    p.dropped[i] = dropped.count_if_any(std::string(name_of(static_cast<DropReason>(i))));
  }
}

LatencyResult parse_latency(const Place& j) {
  return {j.at("count").count(), j.at("p50").count(),  j.at("p90").count(),
          j.at("p99").count(),   j.at("p999").count(), j.at("max").count()};
}

StageTimes parse_times(const Place& j) { return {j.at("mean").number(), j.at("p50").count(), j.at("p99").count()}; }

void parse_nic(const Place& j, NicResult& r) {
  parse_packets(j.at("packets"), r.packets);
  r.messages = j.at("messages").count();
  r.cqes = j.at("cqes").count();
  r.error_cqes = j.at("error_cqes").count();
  r.bytes = j.at("bytes").count();
  r.latency_ns = parse_latency(j.at("latency_ns"));
  r.handed_over_ns = parse_latency(j.at("handed_over_latency_ns"));
  r.write_ns = parse_latency(j.at("write_latency_ns"));
  r.read_ns = parse_latency(j.at("read_latency_ns"));
  for (const auto& [name, s] : j.at("stages_ns").members()) {
    r.stages.push_back(
        {name, parse_times(s), s.at("max").count(), parse_times(s.at("wait")), parse_times(s.at("block"))});
  }
  if (j.has("match_latency_ns")) r.match_ns = parse_latency(j.at("match_latency_ns"));
  if (j.has("no_end_latency_ns")) r.no_end_ns = parse_latency(j.at("no_end_latency_ns"));
  if (j.at("rates").has("steady_payload_gbps")) r.steady_gbps = j.at("rates").at("steady_payload_gbps").number();
  if (j.has("one_way_latency_ns")) r.one_way_ns = parse_latency(j.at("one_way_latency_ns"));
  r.transport = named_counts(j.at("transport"));
  r.events = named_counts(j.at("events"));
  if (!j.has("blocks")) return;
  for (const auto& [stem, b] : j.at("blocks").members()) r.blocks.push_back(parse_block(stem, b));
}

CapturedQp parse_qp(const Place& j) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const auto number = [&](const char* key) { return static_cast<std::uint32_t>(j.at(key).count(kMost)); };
  CapturedQp q{number("qp"),
               j.at("peer").text(),
               number("peer_qp"),
               j.at("paired_by").text(),
               j.at("ambiguous").truth(),
               j.at("transport").text(),
               number("mtu"),
               j.at("requests").count(),
               j.at("sent_again").count(),
               j.at("psns_missing").count(),
               j.at("lost").count(),
               {}};
  for (const Place& n : j.at("naks").elements()) {
    CapturedNaks naks{n.at("kind").text(), static_cast<std::uint32_t>(n.at("psn").count(kMost)), {}};
    for (const Place& packet : n.at("packets").elements()) naks.packets.push_back(packet.count());
    q.naks.push_back(std::move(naks));
  }
  return q;
}

SnifferResult parse_sniffer(const Place& j) {
  return {j.at("copies").count(),      j.at("reordered").count(),   j.at("reused_qps").count(),
          j.at("clock_steps").count(), j.at("one_in").count(),      j.at("sampled_psns").count(),
          j.at("late_frames").count(), j.at("most_late_ns").count()};
}

void parse_rest(const Place& j, RunResult& r) {
  for (const Place& p : j.at("receiver").at("possible").elements()) {
    r.receivers.push_back({p.at("address").text(), p.at("requests").count(), p.at("bytes").count()});
  }
  for (const Place& u : j.at("unreadable").elements()) {
    UnreadableResult& to = r.unreadable.emplace_back();
    to = {u.at("reason").text(), u.at("packets").count(), {}, u.at("words").text()};
    for (const Place& n : u.at("first").elements()) to.first.push_back(n.count());
  }
  for (const Place& t : j.at("tunnels").elements()) {
    r.tunnels.push_back(
        {t.at("kind").text(), t.at("source").text(), t.at("destination").text(), t.at("packets").count()});
  }
  const Place congestion = j.at("congestion");
  r.congestion.marked = congestion.at("marked").count();
  r.congestion.cnps_sent = congestion.at("cnps_sent").count();
  r.congestion.cnps_received = congestion.at("cnps_received").count();
  for (const auto& [of, p] : congestion.at("pauses").members()) {
    r.congestion.pauses.push_back({of, p.at("frames").count(), p.at("paused_ps").count()});
  }
}

void parse_capture(const Place& j, RunResult& r) {
  r.trace = j.at("trace").text();
  r.receiver = j.at("receiver").at("address").text();
  r.receiver_choice = j.at("receiver").at("choice").text();
  r.pace = j.at("run").at("pace").text();
  r.psn = j.at("run").at("psn").text();
  r.host = j.at("run").at("host").text();
  r.assumptions = j.at("assumptions").texts();
  for (const Place& qp : j.at("qps").elements()) r.qps.push_back(parse_qp(qp));
  r.captured = j.at("packets").at("captured").count();
  r.from_receiver = j.at("packets").at("from_receiver").count();
  r.to_others = j.at("packets").at("to_others").count();
  r.sniffer = parse_sniffer(j.at("sniffer"));
  const Place answers = j.at("answers");
  r.answers_sent = answers.at("sent").count();
  r.answers.compared = answers.at("compared").count();
  r.answers.equal = answers.at("equal").count();
  r.answers.given = answers.at("given").count();
  r.answers.different = answers.at("different").count();
  r.answers.uncompared = named_counts(answers.at("uncompared"));
  r.answers.differences = answers.at("differences").texts();
  r.answers.rules = answers.at("rules").texts();
  r.answers.to_unreadable = answers.at("to_unreadable").count();
  r.answers.unreadable = answers.at("unreadable").texts();
  parse_rest(j, r);
}

void parse_programs(const Place& j, RunResult& r) {
  r.command = j.at("command").texts();
  for (const Place& p : j.at("programs").elements()) {
    const auto nic = p.at("nic").count(std::numeric_limits<std::uint32_t>::max());
    r.programs.push_back({p.at("name").text(), static_cast<std::uint32_t>(nic), p.at("clients").count()});
  }
  for (const Place& nic : j.at("nics").elements()) parse_nic(nic, r.nics.emplace_back());
  r.fabric = named_counts(j.at("fabric"));
}

WhatIfResult parse_what_if(const Place& j) {
  WhatIfResult w;
  w.loop = j.at("loop").text();
  w.config = j.at("record").at("config").text();
  w.overrides = j.at("record").at("overrides").texts();
  w.inputs = j.at("inputs").count();
  w.given_up = j.at("given_up").count();
  w.unposted_bytes = j.at("unposted_bytes").count();
  w.unknown_bytes = j.at("unknown_bytes").count();
  w.different_bytes = j.at("different_bytes").count();
  for (const auto& [name, f] : j.at("figures").members()) {
    w.figures.push_back({name, f.at("record").number(), f.at("what_if").number()});
  }
  return w;
}

std::uint64_t parse_hash(const Place& j) {
  const std::string digits = j.text();
  const char* const end = digits.data() + digits.size();
  std::uint64_t hash = 0;
  const auto [at, error] = std::from_chars(digits.data(), end, hash, 16);
  if (error != std::errc{} || at != end) j.refuse("\"" + digits.substr(0, 60) + "\"", "16 hexadecimal digits");
  return hash;
}

}  // namespace

RunResult parse_report(const std::string& text, const std::string& file) {
  Json document;
  try {
    document = Json::parse(text);
  } catch (const nlohmann::json::exception& e) {
    throw std::invalid_argument(file + ": is not a report: " + e.what());
  }
  const Place j(document, file);
  if (const std::string schema = j.at("schema").text(); schema != kReportSchema) {
    j.at("schema").refuse(schema, kReportSchema);
  }
  RunResult r;
  r.config = j.at("config").at("name").text();
  r.overrides = j.at("config").at("overrides").texts();
  r.params = parse_params(j.at("config").at("values"));
  r.seed = j.at("seed").count();
  r.mode = j.at("run").at("mode").text();
  r.warnings = j.at("warnings").texts();
  r.cycles = j.at("cycles").count();
  r.time_ps = j.at("time_ps").count();
  parse_nic(j, r);
  if (j.has("nics")) {
    parse_programs(j, r);
    if (j.has("what_if")) r.what_if = parse_what_if(j.at("what_if"));
  } else {
    parse_capture(j, r);
  }
  if (j.has("rtl")) {
    for (const Place& u : j.at("rtl").elements()) {
      r.rtl.uses.push_back(
          {u.at("block").text(), u.at("use").text(), u.at("clocked").count(), u.at("transactions").count()});
    }
  }
  r.state_hash = parse_hash(j.at("state_hash"));
  return r;
}

}  // namespace rxnic
