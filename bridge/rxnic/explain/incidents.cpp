// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/explain/incidents.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/system/table_result.h"
#include "model/system/units.h"

namespace rxnic {

nlohmann::ordered_json incidents_of(RunEvents& events) {
  std::vector<Incident> all;
  events.for_each<IncidentEventRow>(EventTable::kIncidents, [&](const IncidentEventRow& row) {
    if (row.kind > static_cast<std::uint64_t>(QpEventKind::kAsync)) return;  // not of a run
    const QpEvent event{static_cast<QpEventKind>(row.kind), static_cast<std::uint32_t>(row.number),
                        static_cast<std::uint32_t>(row.detail), row.packet};
    all.push_back({row.at, static_cast<std::uint32_t>(row.nic), event});
  });
  std::ranges::sort(all, {}, &Incident::order);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Incident& i : all) {
    nlohmann::ordered_json row;
    row["time_ps"] = i.cycle * events.period_ps();
    row["nic"] = i.nic;
    row["kind"] = name_of(i.event.kind);
    row["number"] = i.event.number;
    if (i.event.packet != 0) row["packet"] = i.event.packet;
    row["cause"] = cause_of(i.event);
    rows.push_back(row);
  }
  return rows;
}

std::string incidents_text(const nlohmann::ordered_json& rows, std::uint64_t most) {
  std::string out;
  for (std::size_t n = 0; n < std::min<std::size_t>(rows.size(), most); ++n) {
    const nlohmann::ordered_json& row = rows[n];
    const auto packet = row.value("packet", std::uint64_t{0});
    out += fmt::format("{:>12}  nic{} {:<9} {:<15} {:<9}  {}\n", time_text(row["time_ps"].get<std::uint64_t>()),
                       row["nic"].get<std::uint64_t>(), fmt::format("{:#x}", row["number"].get<std::uint64_t>()),
                       packet == 0 ? "" : fmt::format("packet {}", packet), row["kind"].get<std::string>(),
                       row["cause"].get<std::string>());
  }
  if (rows.empty()) out = "nothing went wrong\n";
  if (rows.size() > most) out += fmt::format("and {} more: --most\n", count_text(rows.size() - most));
  return out;
}

nlohmann::ordered_json lost_frames_of(RunEvents& events, const PacketQuery& query) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  if (query.message || query.psn) return rows;
  const auto asks_for = [&](const IncidentEventRow& row) {
    const auto has = [&](const EventRange& range) { return range.has(row.packet); };
    return std::ranges::any_of(query.packets, has) && (!query.nic || *query.nic == row.nic) &&
           (!query.qp || *query.qp == row.number);
  };
  events.for_each<IncidentEventRow>(EventTable::kIncidents, [&](const IncidentEventRow& row) {
    const bool gone = row.detail == static_cast<std::uint64_t>(NetworkHarm::kLost) ||
                      row.detail == static_cast<std::uint64_t>(NetworkHarm::kSwitchFull);
    if (row.kind != static_cast<std::uint64_t>(QpEventKind::kNetwork) || !gone || !asks_for(row)) return;
    const QpEvent event{QpEventKind::kNetwork, static_cast<std::uint32_t>(row.number),
                        static_cast<std::uint32_t>(row.detail), row.packet};
    nlohmann::ordered_json one;
    one["packet"] = row.packet;
    one["nic"] = row.nic;
    one["qp"] = row.number;
    one["time_ps"] = row.at * events.period_ps();
    one["network"] = cause_of(event);
    rows.push_back(one);
  });
  return rows;
}

std::string lost_frame_text(const nlohmann::ordered_json& row) {
  return fmt::format("packet {} for QP {:#x} of nic{}: it never came there, {} on its way at {}\n",
                     row["packet"].get<std::uint64_t>(), row["qp"].get<std::uint64_t>(),
                     row["nic"].get<std::uint64_t>(), row["network"] == "lost" ? "lost" : "dropped by a full switch",
                     time_text(row["time_ps"].get<std::uint64_t>()));
}

}  // namespace rxnic
