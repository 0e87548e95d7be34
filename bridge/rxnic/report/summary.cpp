// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bridge/rxnic/report/report.h"
#include "bridge/rxnic/report/summary_tables.h"
#include "bridge/rxnic/report/summary_writer.h"
#include "bridge/rxnic/report/verdict.h"
#include "model/system/units.h"

namespace rxnic {

namespace {

constexpr unsigned kBarColumns = 20;
constexpr double kMostlyIdle = 0.9;  // share of starved cycles of the busiest block

constexpr Part kBusy{"█", "\033[32m", "busy"};
constexpr Part kWaiting{"▓", "\033[33m", "waiting"};
constexpr Part kBlocked{"▒", "\033[31m", "blocked"};
constexpr Part kStarved{"·", "\033[90m", "starved"};

std::string count(std::uint64_t n) { return count_text(n); }

std::string with_prefix_if_long(std::uint64_t n) {
  return n < 1'000'000 ? count_text(n) : with_prefix(static_cast<double>(n));
}

std::string scaled(double value, const char* unit) { return with_prefix(value) + unit; }

std::string list(const std::vector<NamedCount>& counts) {
  std::string out;
  for (const auto& [name, value] : counts) {
    if (value == 0) continue;
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    out += fmt::format("{}{} {}", out.empty() ? "" : "   ", words, count(value));
  }
  return out.empty() ? "none" : out;
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
  std::string text(std::uint64_t ns) const { return unit_ == 0 ? count(ns) : short_text(static_cast<double>(ns), 1e4); }
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

void latencies(SummaryWriter& w, const NicResult& r, bool region) {
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

// Where the time of a message went, block by block: its last packet. The longest mean stay fills the bar: first the
// wait in front of the block, then the time in it.
void stages(SummaryWriter& w, const NicResult& r) {
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

void packets(SummaryWriter& w, const NicResult& r) {
  w.line("packets",
         fmt::format("seen {}   accepted {}   not RDMA {}   dropped {}", count(r.packets.seen),
                     count(r.packets.accepted), count(r.packets.not_rdma), count(r.packets.dropped_total())));
  std::vector<NamedCount> dropped;
  for (std::size_t i = 1; i < kDropReasons; ++i) {
    dropped.emplace_back(name_of(static_cast<DropReason>(i)), r.packets.dropped[i]);
  }
  if (r.packets.dropped_total() != 0) w.line("dropped", list(dropped));
  w.line("messages", fmt::format("{}   completions {} (in error {})   payload {}", count(r.messages), count(r.cqes),
                                 count(r.error_cqes), scaled(static_cast<double>(r.bytes), "B")));
  std::vector<NamedCount> transport = r.transport;
  std::erase_if(transport, [](const NamedCount& c) { return c.first == "messages"; });  // in the line above
  if (const std::string text = list(transport); text != "none") w.line("transport", text);
  if (const std::string text = list(r.events); text != "none") w.line("events", text);
}

void answers(SummaryWriter& w, const RunResult& r) {
  const std::string given = r.answers.given == 0 ? "" : fmt::format("   given {}", count(r.answers.given));
  w.line("answers",
         fmt::format("sent {}   compared with the capture {}   equal {}{}   different {}", count(r.answers_sent),
                     count(r.answers.compared), count(r.answers.equal), given, count(r.answers.different)));
  for (std::size_t i = 0; i < std::min<std::size_t>(r.answers.rules.size(), 5); ++i) w.line("", r.answers.rules[i]);
  if (!r.answers.uncompared.empty()) w.line("uncompared", list(r.answers.uncompared));
  for (std::size_t i = 0; i < std::min<std::size_t>(r.answers.differences.size(), 5); ++i) {
    w.line("", r.answers.differences[i]);
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(r.answers.unreadable.size(), 5); ++i) {
    w.line(i == 0 ? "answered" : "", r.answers.unreadable[i]);
  }
}

// Marks, CNPs and pauses of the capture: "CE 25   CNP sent 5   pause 4 on priority 3, 12.3 us".
void congestion(SummaryWriter& w, const CongestionResult& c) {
  if (!c.any()) return;
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : "   ") + part; };
  if (c.marked != 0) add(fmt::format("CE {}", count(c.marked)));
  if (c.cnps_sent != 0) add(fmt::format("CNP {} by the receiver", count(c.cnps_sent)));
  if (c.cnps_received != 0) add(fmt::format("CNP {} to the receiver", count(c.cnps_received)));
  for (const PauseResult& p : c.pauses) {
    std::string of = p.of == "link" ? "the link" : p.of;
    std::replace(of.begin(), of.end(), '_', ' ');
    add(fmt::format("pause {} on {}, {}", count(p.frames), of, time_text(p.paused_ps)));
  }
  w.line("congestion", text);
}

void possible_receivers(SummaryWriter& w, const std::vector<PossibleReceiver>& all) {
  constexpr std::size_t kShown = 8;
  if (all.size() < 3) return;  // the receiver and its peer
  for (std::size_t i = 0; i < std::min(all.size(), kShown); ++i) {
    w.line(i == 0 ? "possible" : "", fmt::format("{}   {} requests, {}", all[i].address, count(all[i].requests),
                                                 scaled(static_cast<double>(all[i].bytes), "B")));
  }
  if (all.size() > kShown) w.line("", fmt::format("and {} more (--receiver ADDRESS)", all.size() - kShown));
}

void speed(SummaryWriter& w, const RunResult& r) {
  const double seconds = static_cast<double>(r.time_ps) * 1e-12;
  w.heading("how fast, in model time");
  w.line("time",
         fmt::format("{}   {} cycles of {} ps", time_text(r.time_ps), count(r.cycles), r.params.nic.clock_period_ps));
  if (r.region) {
    w.line("region", fmt::format("from {} to {} of a run of {}", time_text(r.region->from_ps),
                                 time_text(r.region->to_ps), time_text(r.region->run_ps)));
  }
  if (seconds > 0) {
    w.line("rate",
           fmt::format("{}   payload {}{}", scaled(static_cast<double>(r.packets.accepted) / seconds, "packets/s"),
                       scaled(static_cast<double>(r.bytes) * 8 / seconds, "b/s"),
                       r.steady_gbps == 0
                           ? ""
                           : fmt::format("   {} while nine tenths of it came", scaled(r.steady_gbps * 1e9, "b/s"))));
  }
  latencies(w, r, r.region.has_value());
}

constexpr std::size_t kQpsShown = 8;

// The capture's QPs, and what its receiver refused.
void qps(SummaryWriter& w, const RunResult& r) {
  for (std::size_t i = 0; i < std::min(r.qps.size(), kQpsShown); ++i) {
    const CapturedQp& q = r.qps[i];
    std::string how = q.paired_by;
    std::replace(how.begin(), how.end(), '_', ' ');
    const std::string peer = q.paired_by == "none"
                                 ? q.peer + ", not paired"
                                 : fmt::format("{} QP {:#x} ({}{})", q.peer, q.peer_qp, how, q.ambiguous ? "?" : "");
    w.line(i == 0 ? "QPs" : "", fmt::format("{:#x} with {}", q.qp, peer));
  }
  if (r.qps.size() > kQpsShown) w.line("", fmt::format("and {} more (report.json)", count(r.qps.size() - kQpsShown)));
  std::size_t shown = 0, left = 0;
  for (const CapturedQp& q : r.qps) {
    for (const CapturedNaks& n : q.naks) {
      if (shown == kQpsShown) {
        ++left;
        continue;
      }
      std::string packets;
      for (std::size_t i = 0; i < std::min<std::size_t>(n.packets.size(), 6); ++i) {
        packets += fmt::format("{}{}", i == 0 ? "" : ", ", n.packets[i]);
      }
      if (n.packets.size() > 6) packets += ", ...";
      std::string kind = n.kind;
      std::replace(kind.begin(), kind.end(), '_', ' ');
      w.line(shown++ == 0 ? "captured" : "",
             fmt::format("QP {:#x}: {} {} NAK{} of PSN {} (packet{} {})", q.qp, count(n.packets.size()), kind,
                         n.packets.size() == 1 ? "" : "s", n.psn, n.packets.size() == 1 ? "" : "s", packets));
    }
    if (shown != 0 && shown < kQpsShown && q.lost != 0) {
      w.line("", fmt::format("QP {:#x}: {} lost in the network, {} packets sent again", q.qp, count(q.lost),
                             count(q.sent_again)));
      ++shown;
    }
  }
  if (left != 0) w.line("", fmt::format("and {} more (report.json)", count(left)));
}

void verdict(SummaryWriter& w, const Verdict& v) {
  for (std::size_t n = 0; n < v.words.size(); ++n) w.line(n == 0 ? "verdict" : "", v.words[n]);
  for (std::size_t n = 0; n < v.distrust.size(); ++n) w.line(n == 0 ? "distrust" : "", v.distrust[n]);
}

void next(SummaryWriter& w, const Verdict& v) {
  if (v.next.empty()) return;
  w.heading("what to try next");
  for (const std::string& text : v.next) w.raw("  " + text + '\n');
}

void capture_summary(SummaryWriter& w, const RunResult& r) {
  const Verdict of = verdict_of(r);
  w.heading(fmt::format("rxnic replay {}", r.trace));
  verdict(w, of);
  w.line("receiver", fmt::format("{} ({})", r.receiver, r.receiver_choice));
  possible_receivers(w, r.receivers);
  w.line("model", fmt::format("{}, pace {}, PSN {}, {}", r.config, r.pace, r.psn, r.host));
  for (const std::string& text : r.assumptions) w.line("assumed", text);
  for (const std::string& text : r.warnings) w.line("warning", text);

  w.heading("what happened");
  if (r.workload) workload(w, *r.workload);
  if (!r.workload)
    w.line("trace", list({{"frames", r.captured},
                          {"sent by the receiver", r.from_receiver},
                          {"between others", r.to_others},
                          {"copies", r.sniffer.copies}}));
  packets(w, r);
  for (const UnreadableResult& u : r.unreadable) w.line("unreadable", u.words);
  congestion(w, r.congestion);
  qps(w, r);
  if (!r.workload) answers(w, r);
  sickest_qps(w, r);
  speed(w, r);
  stages(w, r);
  cycle_stacks(w, "where the cycles went", r.blocks);
  next(w, of);
}

std::string figure_text(double value) {
  return value == std::floor(value) ? count(static_cast<std::uint64_t>(value)) : fmt::format("{:.3f}", value);
}

void what_if(SummaryWriter& w, const WhatIfResult& result) {
  w.heading("against the record");
  w.raw(fmt::format("  {:<36}{:>16} {:>16} {:>8}\n", "", "record", "what-if", "ratio"));
  for (const ComparedFigure& f : result.figures) {
    const std::string ratio =
        f.recorded == 0 ? (f.what_if == 0 ? "" : "-") : fmt::format("{:.3f}", f.what_if / f.recorded);
    w.raw(fmt::format("  {:<36}{:>16} {:>16} {:>8}\n", f.name, figure_text(f.recorded), figure_text(f.what_if), ratio));
  }
}

void program_summary(SummaryWriter& w, const RunResult& r) {
  std::string command = r.command.empty() ? "rxnic serve" : "rxnic run --";
  for (const std::string& part : r.command) command += " " + part;
  const Verdict of = verdict_of(r);
  w.heading(command);
  verdict(w, of);
  w.line("model", fmt::format("{}, {} NIC{}", r.config, r.nics.size(), r.nics.size() == 1 ? "" : "s"));
  if (r.what_if) {
    std::string set;
    for (const std::string& override : r.overrides) set += " --set " + override;
    w.line("what if", fmt::format("{} loop,{}{}", r.what_if->loop,
                                  r.config == r.what_if->config ? "" : " --config " + r.config, set));
  }
  for (const ProgramResult& p : r.programs) {
    w.line("program", fmt::format("{} on NIC {}{}", p.name, p.nic,
                                  p.clients == 1 ? std::string() : fmt::format(", {} times", count(p.clients))));
  }
  for (const std::string& text : r.warnings) w.line("warning", text);
  if (r.programs.empty()) return;  // nothing has happened

  w.heading("what happened");
  packets(w, r);
  w.line("fabric", list(r.fabric));
  sickest_qps(w, r);
  speed(w, r);
  stages(w, r);
  for (std::size_t n = 0; n < r.nics.size(); ++n) {
    const NicResult& nic = r.nics[n];
    if (r.nics.size() > 1) {
      w.heading(fmt::format("NIC {}", n));
      packets(w, nic);
      latencies(w, nic, r.region.has_value());
    }
    if (nic.packets.seen == 0) continue;
    cycle_stacks(w, r.nics.size() > 1 ? fmt::format("where the cycles of NIC {} went", n) : "where the cycles went",
                 nic.blocks);
  }
  if (r.what_if) what_if(w, *r.what_if);
  next(w, of);
}

}  // namespace

std::string report_summary(const RunResult& r, const SummaryStyle& style) {
  SummaryWriter w(style);
  if (r.of_programs()) {
    program_summary(w, r);
  } else {
    capture_summary(w, r);
  }
  return w.text();
}

}  // namespace rxnic
