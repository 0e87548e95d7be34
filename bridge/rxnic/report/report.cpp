// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/report/report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

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

Json times(const StageTimes& t) { return {{"mean", t.mean}, {"p50", t.p50}, {"p99", t.p99}}; }

Json stages(const std::vector<StageResult>& all) {
  Json j = Json::object();
  for (const StageResult& s : all) {
    j[s.name] = times(s.stay);
    j[s.name]["max"] = s.max;
    j[s.name]["wait"] = times(s.wait);
    j[s.name]["block"] = times(s.block);
  }
  return j;
}

Json block(const BlockResult& b) {
  const auto cycles = [&b](Activity a) { return b.account[static_cast<std::size_t>(a)]; };
  Json waiting = Json::object();
  for (std::size_t i = static_cast<std::size_t>(Activity::kWaitContext); i < kActivities; ++i) {
    if (b.account[i] != 0) waiting[std::string(name_of(static_cast<Activity>(i)).substr(5))] = b.account[i];
  }
  Json j = {{"busy", cycles(Activity::kBusy)},
            {"starved", cycles(Activity::kStarved)},
            {"blocked", cycles(Activity::kBlocked)},
            {"waiting", waiting},
            {"counters", counts(b.counters)}};
  if (b.busy_at_most) j["busy_at_most"] = true;
  return j;
}

Json rates(const NicResult& r, double seconds) {
  Json all = {{"packets_per_s", seconds > 0 ? static_cast<double>(r.packets.accepted) / seconds : 0.0},
              {"payload_gbps", seconds > 0 ? static_cast<double>(r.bytes) * 8e-9 / seconds : 0.0}};
  if (r.steady_gbps > 0) all["steady_payload_gbps"] = r.steady_gbps;
  return all;
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
  if (r.match_ns.count != 0) j["match_latency_ns"] = latency(r.match_ns);
  if (r.no_end_ns.count != 0) j["no_end_latency_ns"] = latency(r.no_end_ns);
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
  j["receiver"] = {{"address", r.receiver}, {"choice", r.receiver_choice}, {"possible", Json::array()}};
  for (const PossibleReceiver& p : r.receivers) {
    j["receiver"]["possible"].push_back({{"address", p.address}, {"requests", p.requests}, {"bytes", p.bytes}});
  }
}

// What the capture holds besides what was replayed.
void add_rest(Json& j, const RunResult& r) {
  j["unreadable"] = Json::array();
  for (const UnreadableResult& u : r.unreadable) {
    j["unreadable"].push_back({{"reason", u.reason}, {"packets", u.packets}, {"first", u.first}, {"words", u.words}});
  }
  j["tunnels"] = Json::array();
  for (const TunnelResult& t : r.tunnels) {
    j["tunnels"].push_back(
        {{"kind", t.kind}, {"source", t.source}, {"destination", t.destination}, {"packets", t.packets}});
  }
  Json pauses = Json::object();
  for (const PauseResult& p : r.congestion.pauses) pauses[p.of] = {{"frames", p.frames}, {"paused_ps", p.paused_ps}};
  j["congestion"] = {{"marked", r.congestion.marked},
                     {"cnps_sent", r.congestion.cnps_sent},
                     {"cnps_received", r.congestion.cnps_received},
                     {"pauses", pauses}};
}

Json sniffer(const SnifferResult& s) {
  return {{"copies", s.copies},           {"reordered", s.reordered},
          {"reused_qps", s.reused_qps},   {"clock_steps", s.clock_steps},
          {"one_in", s.one_in},           {"sampled_psns", s.sampled_psns},
          {"late_frames", s.late_frames}, {"most_late_ns", s.most_late_ns}};
}

Json qps(const std::vector<CapturedQp>& all) {
  Json j = Json::array();
  for (const CapturedQp& q : all) {
    Json naks = Json::array();
    for (const CapturedNaks& n : q.naks) naks.push_back({{"kind", n.kind}, {"psn", n.psn}, {"packets", n.packets}});
    j.push_back({{"qp", q.qp},
                 {"peer", q.peer},
                 {"peer_qp", q.peer_qp},
                 {"paired_by", q.paired_by},
                 {"ambiguous", q.ambiguous},
                 {"transport", q.transport},
                 {"mtu", q.mtu},
                 {"requests", q.requests},
                 {"sent_again", q.sent_again},
                 {"psns_missing", q.psns_missing},
                 {"lost", q.lost},
                 {"naks", naks}});
  }
  return j;
}

void add_programs(Json& j, const RunResult& r) {
  j["command"] = r.command;
  j["programs"] = Json::array();
  for (const ProgramResult& p : r.programs) {
    j["programs"].push_back({{"name", p.name}, {"nic", p.nic}, {"clients", p.clients}});
  }
}

Json rtl(const RtlResult& r) {
  Json all = Json::array();
  for (const RtlUse& u : r.uses) {
    all.push_back({{"block", u.block}, {"use", u.use}, {"clocked", u.clocked}, {"transactions", u.transactions}});
  }
  return all;
}

// Counts are whole numbers, rates are not.
Json figure(double value) {
  constexpr double kLargestWhole = 9007199254740992.0;  // every smaller count is a double
  if (value >= 0 && value < kLargestWhole && value == std::floor(value)) return static_cast<std::uint64_t>(value);
  return value;
}

Json what_if(const WhatIfResult& w) {
  Json figures = Json::object();
  for (const ComparedFigure& f : w.figures) {
    figures[f.name] = {{"record", figure(f.recorded)}, {"what_if", figure(f.what_if)}, {"ratio", nullptr}};
    if (f.recorded != 0) figures[f.name]["ratio"] = f.what_if / f.recorded;
  }
  return {{"loop", w.loop},
          {"record", {{"config", w.config}, {"overrides", w.overrides}}},
          {"inputs", w.inputs},
          {"given_up", w.given_up},
          {"unposted_bytes", w.unposted_bytes},
          {"unknown_bytes", w.unknown_bytes},
          {"different_bytes", w.different_bytes},
          {"figures", figures}};
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
    j["qps"] = qps(r.qps);
    j["sniffer"] = sniffer(r.sniffer);
  }
  if (!r.rtl.uses.empty()) j["rtl"] = rtl(r.rtl);
  if (r.what_if) j["what_if"] = what_if(*r.what_if);
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
                    {"rules", r.answers.rules},
                    {"to_unreadable", r.answers.to_unreadable},
                    {"unreadable", r.answers.unreadable}};
    add_rest(j, r);
  }
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(r.state_hash));
  j["state_hash"] = hash;
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rxnic
