// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/report/summary_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "model/system/units.h"

namespace rxnic {

namespace {

constexpr std::size_t kSickShown = 5, kTroublesShown = 4;
constexpr std::size_t kPeerColumns = 17;  // a longer address is an IPv6 one, whose end says most

struct TroubleColumn {
  const char* title;
  std::uint64_t (*count)(const TableFigures& f);
};
constexpr TroubleColumn kTroubles[] = {
    {"NAKs", [](const TableFigures& f) { return f.naks[1] + f.naks[2] + f.naks[3]; }},
    {"CQE err", [](const TableFigures& f) { return f.error_cqes; }},
    {"refused", [](const TableFigures& f) { return f.not_carried_out; }},
    {"RNR", [](const TableFigures& f) { return f.rnr_naks; }},
    {"timeout", [](const TableFigures& f) { return f.timeouts; }},
    {"PSN gap", [](const TableFigures& f) { return f.naks[0] + f.psn_gaps; }},
    {"again", [](const TableFigures& f) { return f.repeats + f.sent_again; }},
    {"CE", [](const TableFigures& f) { return f.marked; }},
    {"CNP", [](const TableFigures& f) { return f.cnps_sent + f.cnps_received; }},
};

std::string peer_of(const QpRow& row) {
  if (row.peer.size() < kPeerColumns) return row.peer;
  return ".." + row.peer.substr(row.peer.size() - (kPeerColumns - 3));
}

}  // namespace

void sickest_qps(SummaryWriter& w, const RunResult& r) {
  if (!r.tables) return;
  const std::vector<QpRow>& rows = r.tables->qps;
  const auto healthy = std::ranges::find_if_not(rows, [](const QpRow& row) { return row.figures.sick(); });
  const auto sick = static_cast<std::size_t>(healthy - rows.begin());
  const std::size_t shown = std::min(sick, kSickShown);
  std::uint64_t besides = sick - shown;
  if (r.tables->other_qps && r.tables->other_qps->figures.sick()) besides += r.tables->other_qps->qps;
  if (shown == 0) return;

  std::vector<const TroubleColumn*> troubles;
  for (const TroubleColumn& t : kTroubles) {
    const auto has = [&](const QpRow& row) { return t.count(row.figures) != 0; };
    if (troubles.size() < kTroublesShown && std::any_of(rows.begin(), rows.begin() + shown, has)) {
      troubles.push_back(&t);
    }
  }
  const bool of_nics = r.tables->nics.size() > 1;
  w.heading("the sickest QPs");
  std::string head = fmt::format("  {:<13}{:<{}}{:>8}", of_nics ? "NIC, QP" : "QP", "peer", kPeerColumns, "packets");
  for (const TroubleColumn* t : troubles) head += fmt::format("{:>8}", t->title);
  w.raw(head + fmt::format("{:>8}\n", "p99 ns"));
  const auto number = [](std::uint64_t n) {
    return n < 1'000'000 ? count_text(n) : with_prefix(static_cast<double>(n));
  };
  for (std::size_t n = 0; n < shown; ++n) {
    const QpRow& row = rows[n];
    const std::string name = of_nics ? fmt::format("{}, {:#x}", row.nic, row.qp) : fmt::format("{:#x}", row.qp);
    std::string line =
        fmt::format("  {:<13}{:<{}}{:>8}", name, peer_of(row), kPeerColumns, number(row.figures.packets));
    for (const TroubleColumn* t : troubles) line += fmt::format("{:>8}", number(t->count(row.figures)));
    w.raw(line + fmt::format("{:>8}\n", row.figures.latency_count == 0 ? "" : number(row.figures.p99_ns)));
  }
  if (besides != 0) w.raw(fmt::format("  and {} more: rxnic report --by qp DIR\n", count_text(besides)));
}

void workload(SummaryWriter& w, const WorkloadResult& r) {
  const auto items = [](std::initializer_list<std::pair<const char*, std::uint64_t>> counts) {
    std::string out;
    for (const auto& [name, value] : counts) {
      if (value != 0) out += fmt::format("{}{} {}", out.empty() ? "" : "   ", name, count_text(value));
    }
    return out;
  };
  w.line("workload", r.about);
  w.line("senders", items({{"packets", r.packets},
                           {"messages", r.messages},
                           {"answered", r.answered},
                           {"packets sent again", r.repeated},
                           {"timeouts", r.timeouts},
                           {"failed QPs", r.failed_qps}}));
  const std::string network = items({{"lost", r.lost},
                                     {"corrupted", r.corrupted},
                                     {"duplicated", r.duplicated},
                                     {"reordered", r.reordered},
                                     {"marked", r.marked},
                                     {"pauses", r.pauses},
                                     {"answers lost", r.answers_lost}});
  if (!network.empty()) w.line("network", network);
}

}  // namespace rxnic
