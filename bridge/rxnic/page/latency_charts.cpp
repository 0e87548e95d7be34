// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/page/latency_charts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "model/types/completion_codes.h"
#include "model/types/station.h"

namespace rxnic {

namespace {

using NamedTimes = std::vector<std::pair<std::string, const Histogram*>>;

// In per cent. (R2)
std::vector<double> shares() {
  std::vector<double> all;
  for (int n = 0; n < 99; ++n) all.push_back(n);
  for (int n = 990; n < 999; ++n) all.push_back(n / 10.0);
  for (int n = 9990; n < 10000; ++n) all.push_back(n / 100.0);
  all.push_back(100);
  return all;
}

Chart distribution(const char* id, const char* title, const char* about, const NamedTimes& times) {
  Chart c;
  c.id = id, c.title = title, c.about = about;
  c.section = "latency", c.kind = "cdf";
  c.x = {"messages", "%"}, c.y = {"latency", "ns"};
  c.places = shares();
  for (const auto& [name, ns] : times) {
    Series s{name, {}};
    for (const double share : c.places) s.values.push_back(static_cast<double>(ns->percentile(share / 100)));
    c.series.push_back(std::move(s));
  }
  if (times.empty()) c.absent = "no message was received to its end";
  return c;
}

Chart percentiles(const char* id, const char* title, const char* category, const NamedTimes& times) {
  Chart c;
  c.id = id, c.title = title;
  c.about = "The times that half of the messages, nine tenths and 99 % of them do not exceed, and the slowest one.";
  c.section = "latency", c.kind = "bars";
  c.x = {category, ""}, c.y = {"latency", "ns"};
  c.series = {{"p50", {}}, {"p90", {}}, {"p99", {}}, {"max", {}}};
  for (const auto& [name, ns] : times) {
    c.categories.push_back(name);
    const std::uint64_t values[] = {ns->percentile(0.5), ns->percentile(0.9), ns->percentile(0.99), ns->max()};
    for (std::size_t n = 0; n < c.series.size(); ++n) c.series[n].values.push_back(static_cast<double>(values[n]));
  }
  if (times.empty()) c.absent = "no message was received to its end";
  return c;
}

}  // namespace

void LatencyCharts::add_stages(const PacketRow& row, std::uint64_t visible, Station last) {
  std::uint64_t from = row.message_start;
  const auto stage = [&](std::size_t n, std::uint64_t left) {
    const std::uint64_t to = std::max(from, std::min(left, visible));
    stages_[n].add((to - from) * period_ps_ / 1000);
    from = to;
  };
  for (std::size_t n = 0; n <= static_cast<std::size_t>(last); ++n) {
    const std::uint64_t left = row.left_at(static_cast<Station>(n));
    if (left != kNoTime) stage(n, left);
  }
  stage(static_cast<std::size_t>(Station::kHostMemory), std::max(from, visible));
}

void LatencyCharts::add(const PacketRow& row) {
  if (const auto cycles = write_cycles(row)) add_stages(row, row.message_start + *cycles, Station::kDmaEngine);
}

void LatencyCharts::add(const PacketRow* packet, const CompletionRow& row) {
  const bool good = row.status == static_cast<std::uint64_t>(WcStatus::kSuccess);
  if (packet == nullptr || !good || !is_receive(row) || row.begun == kNoTime) return;
  PacketRow of = *packet;
  of.message_start = row.begun;
  of.stays[static_cast<std::size_t>(Station::kCqeGenerator) - 1].left = row.handed_over;
  add_stages(of, std::max(row.visible, row.begun), Station::kCqeGenerator);
}

std::vector<Chart> LatencyCharts::charts(const TableMaker& tables) const {
  NamedTimes stages;
  for (std::size_t n = 0; n < stages_.size(); ++n) {
    if (stages_[n].count() == 0) continue;
    const auto station = static_cast<Station>(n);
    stages.emplace_back(station == Station::kWire         ? "arrival"
                        : station == Station::kHostMemory ? "until visible"
                                                          : std::string(name_of(station)),
                        &stages_[n]);
  }
  const NamedTimes opcodes = tables.latencies(TableBy::kOpcode), sizes = tables.latencies(TableBy::kSize);
  return {distribution("cdf_stage", "Latency by stage, distribution",
                       "Receives and WRITEs: the time at each stage of the message's last packet, waits contained.",
                       stages),
          distribution("cdf_opcode", "Latency by opcode, distribution",
                       "Receives until their CQE can be seen in host memory, WRITEs until their last byte can, by the "
                       "opcode of their last packet.",
                       opcodes),
          distribution("cdf_size", "Latency by message size, distribution",
                       "Receives and WRITEs, by the size of the message.", sizes),
          percentiles("opcodes", "Latency by opcode", "opcode", opcodes),
          percentiles("sizes", "Latency by message size", "message size", sizes)};
}

}  // namespace rxnic
