// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/report/summary_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "model/system/units.h"

namespace rxnic {

namespace {

constexpr unsigned kBarColumns = 20;
constexpr double kMostlyIdle = 0.9;  // share of starved cycles of the busiest block

constexpr Part kBusy{"█", "\033[32m", "busy"};
constexpr Part kWaiting{"▓", "\033[33m", "waiting"};
constexpr Part kBlocked{"▒", "\033[31m", "blocked"};
constexpr Part kStarved{"·", "\033[90m", "starved"};

std::string with_prefix_if_long(std::uint64_t n) {
  return n < 1'000'000 ? count_text(n) : with_prefix(static_cast<double>(n));
}

// Whole columns for each part, largest remainder first, so that they add up.
std::array<std::size_t, 4> columns_of(const std::array<std::uint64_t, 4>& cycles) {
  // As doubles: a report may hold counts whose sum is no std::uint64_t.
  double total = 0;
  for (const std::uint64_t part : cycles) total += static_cast<double>(part);
  std::array<std::size_t, 4> columns{};
  if (total == 0) return columns;
  std::array<double, 4> rest{};
  std::size_t used = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const double exact = static_cast<double>(cycles[i]) * kBarColumns / total;
    columns[i] = static_cast<std::size_t>(exact);
    rest[i] = exact - static_cast<double>(columns[i]);
    used += columns[i];
  }
  while (used < kBarColumns) {
    const auto i = static_cast<std::size_t>(std::max_element(rest.begin(), rest.end()) - rest.begin());
    ++columns[i];
    rest[i] = -1;
    ++used;
  }
  return columns;
}

// A block's cycles by what they went into, and the resource that it waited for longest.
struct Stack {
  std::array<std::uint64_t, 4> parts{};  // busy, waiting, blocked, starved
  std::size_t longest_wait = static_cast<std::size_t>(Activity::kWaitContext);
  double share(std::size_t part) const {
    double total = 0;
    for (const std::uint64_t cycles : parts) total += static_cast<double>(cycles);
    return total == 0 ? 0.0 : static_cast<double>(parts[part]) / total;
  }
};

Stack stack_of(const BlockResult& b) {
  Stack s;
  s.parts = {b.account[static_cast<std::size_t>(Activity::kBusy)], 0,
             b.account[static_cast<std::size_t>(Activity::kBlocked)],
             b.account[static_cast<std::size_t>(Activity::kStarved)]};
  for (std::size_t i = s.longest_wait; i < kActivities; ++i) {
    s.parts[1] += b.account[i];
    if (b.account[i] > b.account[s.longest_wait]) s.longest_wait = i;
  }
  return s;
}

void cycle_stack(SummaryWriter& w, const BlockResult& b, const Stack& s, bool idle) {
  auto drawn = s.parts;
  if (idle) drawn[3] = 0;
  const auto columns = columns_of(drawn);
  std::string bar = w.paint(kBusy, columns[0]) + w.paint(kWaiting, columns[1]) + w.paint(kBlocked, columns[2]) +
                    w.paint(kStarved, columns[3]);
  for (std::size_t used = columns[0] + columns[1] + columns[2] + columns[3]; used < kBarColumns; ++used) bar += ' ';
  const std::string_view waits_for = name_of(static_cast<Activity>(s.longest_wait)).substr(5);
  const int digits = idle ? 2 : 1;
  w.raw(fmt::format("  {:<18} {} {:>5.{}f} {:>5.{}f} {:>5.{}f} {:>5.1f}{}{}{}\n", b.stem, bar, 100 * s.share(0), digits,
                    100 * s.share(1), digits, 100 * s.share(2), digits, 100 * s.share(3), s.parts[1] == 0 ? "" : "  ",
                    s.parts[1] == 0 ? "" : waits_for, b.busy_at_most ? "  busy at most (RTL)" : ""));
}

// The unit of a table of times: ns while the greatest of them is less than a millisecond, so that columns keep apart.
class TableUnit {
 public:
  explicit TableUnit(std::uint64_t greatest_ns) {
    while (greatest_ns >= 1'000'000 && unit_ + 1 < std::size(kNames)) {
      greatest_ns /= 1000;
      ns_ *= 1000;
      ++unit_;
    }
  }
  const char* name() const { return kNames[unit_]; }
  std::string text(std::uint64_t ns) const {
    return unit_ == 0 ? count_text(ns) : short_text(static_cast<double>(ns), 1e4);
  }
  std::string mean(double ns) const { return short_text(ns, unit_ == 0 ? 1e3 : 1e4); }

 private:
  // Without a decimal from `long_from` on.
  std::string short_text(double ns, double long_from) const {
    return fmt::format("{:.{}f}", ns / ns_, ns / ns_ < long_from ? 1 : 0);
  }

  static constexpr const char* kNames[] = {"ns", "us", "ms"};
  std::size_t unit_ = 0;
  double ns_ = 1;
};

void latency_row(SummaryWriter& w, const char* what, const LatencyResult& l, const TableUnit& unit) {
  if (l.count == 0) return;
  w.raw(fmt::format("  {:<25}{:>9}{:>9}{:>9}{:>9}{:>9}{:>8}\n", what, unit.text(l.p50), unit.text(l.p90),
                    unit.text(l.p99), unit.text(l.p999), unit.text(l.max), with_prefix_if_long(l.count)));
}

}  // namespace

void cycle_stacks(SummaryWriter& w, const std::string& where, const std::vector<BlockResult>& blocks) {
  std::vector<Stack> stacks;
  double least_starved = 1;
  for (const BlockResult& b : blocks) {
    stacks.push_back(stack_of(b));
    least_starved = std::min(least_starved, stacks.back().share(3));
  }
  const bool idle = least_starved > kMostlyIdle;
  w.heading(where + (idle ? " (idle most of the time: bars without idle cycles)" : ""));
  w.raw(fmt::format("  {:<18} {:<{}} {:>5} {:>5} {:>5} {:>5}  %, waits for\n", "", "", kBarColumns, kBusy.name, "wait",
                    "block", "idle"));
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    if (stacks[i].share(3) < 1) cycle_stack(w, blocks[i], stacks[i], idle);
  }
}

void latency_table(SummaryWriter& w, const NicResult& r, bool region) {
  const std::pair<const char*, const LatencyResult*> rows[] = {
      {"receive, to visible CQE", &r.latency_ns}, {"receive, to its DMA", &r.handed_over_ns},
      {"match before its data", &r.match_ns},     {"receive without an end", &r.no_end_ns},
      {"WRITE, to visible data", &r.write_ns},    {"READ, atomic", &r.read_ns},
      {"one way, from doorbell", &r.one_way_ns},
  };
  if (r.latency_ns.count + r.write_ns.count + r.read_ns.count + r.match_ns.count + r.no_end_ns.count == 0) {
    w.line("latency", region ? "no message began and ended within the region"
                             : "no receive completed, and no WRITE or READ was carried out");
    return;
  }
  std::uint64_t greatest = 0;
  for (const auto& [what, l] : rows) greatest = std::max(greatest, l->count == 0 ? 0 : l->max);
  const TableUnit unit(greatest);
  w.raw(fmt::format("  {:<25}{:>9}{:>9}{:>9}{:>9}{:>9}{:>8}\n", fmt::format("latency in {}", unit.name()), "p50", "p90",
                    "p99", "p99.9", "max", "of"));
  for (const auto& [what, l] : rows) latency_row(w, what, *l, unit);
  if (region) w.line("", "of messages that began and ended within the region");
}

void stage_bars(SummaryWriter& w, const NicResult& r) {
  if (r.stages.empty()) return;
  double longest = 0;
  std::uint64_t greatest = 0;
  for (const StageResult& s : r.stages) {
    longest = std::max(longest, s.stay.mean);
    greatest = std::max(greatest, s.max);
  }
  const TableUnit unit(greatest);
  const auto columns_in = [&](double ns) {
    const double share = longest == 0 ? 0 : std::clamp(ns / longest, 0.0, 1.0);
    return static_cast<std::size_t>(std::lround(share * kBarColumns));
  };
  w.heading(fmt::format("where a message's time went, in {} ({} in front of the block, waiting, {} in it)", unit.name(),
                        kWaiting.glyph, kBusy.glyph));
  w.raw(fmt::format("  {:<18} {:<{}}{:>7}{:>8}{:>8}{:>8}{:>8}\n", "", "", kBarColumns, "mean", "p50", "p99", "max",
                    "wait"));
  for (const StageResult& s : r.stages) {
    if (s.max == 0) continue;
    const std::string name = s.name == "wire" ? "arrival" : s.name == "host_memory" ? "until visible" : s.name;
    const std::size_t all = columns_in(s.stay.mean), waits = std::min(all, columns_in(s.wait.mean));
    const std::string bar =
        w.paint(kWaiting, waits) + w.paint(kBusy, all - waits) + std::string(kBarColumns - all, ' ');
    w.raw(fmt::format("  {:<18} {}{:>7}{:>8}{:>8}{:>8}{:>8}\n", name, bar, unit.mean(s.stay.mean),
                      unit.text(s.stay.p50), unit.text(s.stay.p99), unit.text(s.max), unit.mean(s.wait.mean)));
  }
}

}  // namespace rxnic
