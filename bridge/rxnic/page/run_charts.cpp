// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/page/run_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "model/params/config.h"
#include "model/params/descriptor.h"
#include "model/types/activity.h"

namespace rxnic {

namespace {

struct NamedLatency {
  const char* name;
  LatencyResult NicResult::*member;
};
constexpr NamedLatency kLatencies[] = {
    {"receive", &NicResult::latency_ns}, {"receive, handed over to DMA", &NicResult::handed_over_ns},
    {"match", &NicResult::match_ns},     {"receive without end", &NicResult::no_end_ns},
    {"WRITE", &NicResult::write_ns},     {"READ or atomic", &NicResult::read_ns},
    {"one way", &NicResult::one_way_ns},
};

struct CacheOfBlock {
  const char* name;
  const char* block;
  const char* hits;
  const char* misses;
};
constexpr CacheOfBlock kCachesOfBlocks[] = {
    {"QP contexts", "qp_context_cache", "hits", "misses"},
    {"memory regions (MPT)", "address_translator", "mpt_hits", "mpt_misses"},
    {"pages (MTT)", "address_translator", "mtt_hits", "mtt_misses"},
    {"receive queues", "srq_wqe_fetcher", "context_hits", "context_misses"},
    {"CQs", "cqe_generator", "context_hits", "context_misses"},
};

Chart bars(const char* id, const char* title, const char* about, const char* section, Axis x, Axis y) {
  Chart c;
  c.id = id, c.title = title, c.about = about;
  c.section = section, c.kind = "bars";
  c.x = std::move(x), c.y = std::move(y);
  return c;
}

Chart cycle_stack_chart(const std::vector<BlockResult>& blocks, int nic) {
  Chart c = bars("cycles", "Where the cycles went, by block",
                 "Every cycle of every block: busy, blocked by the block behind, waiting for a resource, or without "
                 "work (starved).",
                 "blocks", {"block", ""}, {"cycles", "%"});
  c.nic = nic;
  c.stacked = true;
  std::vector<Activity> order{Activity::kBusy};
  for (std::size_t a = static_cast<std::size_t>(Activity::kWaitContext); a < kActivities; ++a) {
    order.push_back(static_cast<Activity>(a));
  }
  order.insert(order.end(), {Activity::kBlocked, Activity::kStarved});
  for (const BlockResult& b : blocks) c.categories.push_back(b.stem);
  for (const Activity a : order) {
    Series s{std::string(name_of(a)), {}};
    for (const BlockResult& b : blocks) {
      double total = 0;
      for (const std::uint64_t cycles : b.account) total += static_cast<double>(cycles);
      const auto part = static_cast<double>(b.account[static_cast<std::size_t>(a)]);
      s.values.push_back(total > 0 ? 100 * part / total : 0);
    }
    c.series.push_back(std::move(s));
  }
  if (c.empty()) c.absent = "the report has no cycles of blocks";
  return c;
}

Chart cache_chart(const std::vector<BlockResult>& blocks, int nic) {
  Chart c =
      bars("cache_totals", "Caches, the whole run", "Lookups that found what they looked for, and those that read it.",
           "caches", {"cache", ""}, {"lookups", ""});
  c.nic = nic;
  c.stacked = true;
  c.series = {{"hits", {}}, {"misses", {}}};
  for (const CacheOfBlock& cache : kCachesOfBlocks) {
    c.categories.emplace_back(cache.name);
    const auto block = std::ranges::find(blocks, std::string_view(cache.block), &BlockResult::stem);
    const auto count = [&](const char* name) {
      if (block == blocks.end()) return 0.0;
      const auto found = std::ranges::find(block->counters, std::string_view(name), &NamedCount::first);
      return found == block->counters.end() ? 0.0 : static_cast<double>(found->second);
    };
    c.series[0].values.push_back(count(cache.hits));
    c.series[1].values.push_back(count(cache.misses));
  }
  if (c.empty()) c.absent = "nothing was looked up";
  return c;
}

Chart stage_chart(const RunResult& r) {
  Chart c = bars("stages", "Where a message's time went",
                 "Mean of receives and WRITEs, at each stage of the message's last packet: in front of the block, "
                 "waiting, and in it.",
                 "latency", {"stage", ""}, {"time", "ns"});
  c.stacked = true;
  c.series = {{"waiting in front of it", {}}, {"in it", {}}};
  for (const StageResult& s : r.stages) {
    c.categories.push_back(s.name == "wire" ? "arrival" : s.name == "host_memory" ? "until visible" : s.name);
    c.series[0].values.push_back(s.wait.mean);
    c.series[1].values.push_back(s.block.mean);
  }
  if (r.stages.empty()) c.absent = "no message was received to its end";
  return c;
}

Chart stage_percentiles(const RunResult& r) {
  Chart c = bars("stage_percentiles", "Latency by stage", "Waits contained: p50, p99 and the longest.", "latency",
                 {"stage", ""}, {"time", "ns"});
  c.series = {{"p50", {}}, {"p99", {}}, {"max", {}}};
  for (const StageResult& s : r.stages) {
    c.categories.push_back(s.name == "wire" ? "arrival" : s.name == "host_memory" ? "until visible" : s.name);
    const std::uint64_t values[] = {s.stay.p50, s.stay.p99, s.max};
    for (std::size_t n = 0; n < c.series.size(); ++n) c.series[n].values.push_back(static_cast<double>(values[n]));
  }
  if (r.stages.empty()) c.absent = "no message was received to its end";
  return c;
}

Chart latency_chart(const RunResult& r) {
  Chart c = bars("latencies", "Latency by kind of message", "p50 to p99.9 and the longest, of all NICs.", "latency",
                 {"kind", ""}, {"latency", "ns"});
  c.series = {{"p50", {}}, {"p90", {}}, {"p99", {}}, {"p99.9", {}}, {"max", {}}};
  for (const NamedLatency& named : kLatencies) {
    const LatencyResult& l = r.*named.member;
    if (l.count == 0) continue;
    c.categories.emplace_back(named.name);
    const std::uint64_t values[] = {l.p50, l.p90, l.p99, l.p999, l.max};
    for (std::size_t n = 0; n < c.series.size(); ++n) c.series[n].values.push_back(static_cast<double>(values[n]));
  }
  if (c.categories.empty()) c.absent = "no message was carried out";
  return c;
}

// The configuration without --set; none: a file that is not there any more, whose defaults stand in.
Params base_of(const RunResult& r, std::string& name) {
  for (const NamedConfig& named : named_configs()) {
    if (named.name != r.config) continue;
    name = r.config;
    return load_config(r.config);
  }
  name = kDefaultConfig;
  return load_config();
}

}  // namespace

std::string param_value_text(const ParamDescriptor& d, const Params& params) {
  const std::uint64_t value = d.get(params);
  if (d.type == ParamType::kBool) return value != 0 ? "true" : "false";
  if (d.type == ParamType::kEnum) return value < d.values.size() ? std::string(d.values[value]) : "?";
  return std::to_string(value);
}

std::vector<Figure> figures_of(const RunResult& r) {
  std::vector<Figure> all;
  const auto add = [&](std::string name, double value, const char* unit, bool less = false, bool key = true) {
    all.push_back({std::move(name), value, unit, less, key});
  };
  const double seconds = static_cast<double>(r.time_ps) * 1e-12;
  add("packets seen", static_cast<double>(r.packets.seen), "");
  add("packets accepted", static_cast<double>(r.packets.accepted), "");
  add("packets dropped", static_cast<double>(r.packets.dropped_total()), "", true);
  add("messages", static_cast<double>(r.messages), "");
  add("completions", static_cast<double>(r.cqes), "", false, false);
  add("completions in error", static_cast<double>(r.error_cqes), "", true);
  add("payload", static_cast<double>(r.bytes), "B");
  add("time", static_cast<double>(r.time_ps) * 1e-6, "us", true);
  add("payload rate", seconds > 0 ? static_cast<double>(r.bytes) * 8e-9 / seconds : 0, "Gb/s");
  if (r.steady_gbps > 0) add("payload rate, steady", r.steady_gbps, "Gb/s");
  add("packet rate", seconds > 0 ? static_cast<double>(r.packets.accepted) * 1e-6 / seconds : 0, "M/s");
  for (const NamedLatency& named : kLatencies) {
    const LatencyResult& l = r.*named.member;
    if (l.count == 0) continue;
    const bool key = named.member != &NicResult::handed_over_ns;
    add(fmt::format("{} p50", named.name), static_cast<double>(l.p50), "ns", true, key);
    add(fmt::format("{} p99", named.name), static_cast<double>(l.p99), "ns", true, key);
    add(fmt::format("{} max", named.name), static_cast<double>(l.max), "ns", true, false);
  }
  return all;
}

std::vector<Chart> run_charts(const RunResult& r, const std::vector<std::uint32_t>& nics) {
  std::vector<Chart> all;
  for (const std::uint32_t n : nics) {
    const std::vector<BlockResult>& blocks = r.of_programs() ? r.nics[n].blocks : r.blocks;
    all.push_back(cycle_stack_chart(blocks, static_cast<int>(n)));
    all.push_back(cache_chart(blocks, static_cast<int>(n)));
  }
  all.push_back(stage_chart(r));
  all.push_back(stage_percentiles(r));
  all.push_back(latency_chart(r));
  return all;
}

Table configuration_table(const RunResult& r) {
  Table t;
  std::string base;
  const Params before = base_of(r, base);
  t.id = "configuration", t.title = "Configuration";
  t.about = fmt::format("Every parameter of the run beside {}; those that differ come first.", base);
  Json same = Json::array();
  for (const ParamDescriptor& d : param_descriptors()) {
    const bool differs = d.get(r.params) != d.get(before);
    Json row = {{"parameter", fmt::format("{}.{}", d.section, d.key)},
                {"value", param_value_text(d, r.params)},
                {"unit", d.unit},
                {"base", param_value_text(d, before)},
                {"differs", differs ? "yes" : ""},
                {"evidence", kEvidenceNames[static_cast<std::size_t>(d.evidence)]},
                {"meaning", d.sentence}};
    (differs ? t.rows : same).push_back(std::move(row));
  }
  for (Json& row : same) t.rows.push_back(std::move(row));
  return t;
}

std::vector<std::uint32_t> busiest_nics(const RunResult& r, std::size_t most) {
  std::vector<std::uint32_t> all(r.of_programs() ? r.nics.size() : 1);
  std::iota(all.begin(), all.end(), 0);
  if (all.size() <= most) return all;
  std::ranges::stable_sort(all, std::greater(), [&](std::uint32_t n) { return r.nics[n].packets.seen; });
  all.resize(most);
  std::ranges::sort(all);
  return all;
}

}  // namespace rxnic
