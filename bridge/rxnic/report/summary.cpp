// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bridge/rxnic/report/report.h"
#include "bridge/rxnic/report/summary_tables.h"
#include "bridge/rxnic/report/summary_times.h"
#include "bridge/rxnic/report/summary_writer.h"
#include "bridge/rxnic/report/verdict.h"
#include "model/system/units.h"

namespace rxnic {

namespace {

std::string count(std::uint64_t n) { return count_text(n); }

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
  latency_table(w, r, r.region.has_value());
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
  stage_bars(w, r);
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
  stage_bars(w, r);
  for (std::size_t n = 0; n < r.nics.size(); ++n) {
    const NicResult& nic = r.nics[n];
    if (r.nics.size() > 1) {
      w.heading(fmt::format("NIC {}", n));
      packets(w, nic);
      latency_table(w, nic, r.region.has_value());
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
