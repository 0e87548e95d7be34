// SPDX-License-Identifier: Apache-2.0
#include "model/system/table_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/types/completion_codes.h"
#include "model/types/drop_reason.h"
#include "model/types/event.h"
#include "model/types/opcode.h"
#include "model/types/syndrome.h"

namespace rxnic {

namespace {

void add(StationWaits& to, const StationWaits& waits) {
  for (std::size_t n = 0; n < to.size(); ++n) to[n] += waits[n];
}

// The rows that are the sickest, and the others together.
void collect_qps(std::span<const Latencies* const> nics, std::uint64_t period_ps, RunTables& t) {
  struct Found {
    std::uint32_t nic;
    const NicTables::Qp* qp;
    TableFigures figures;
  };
  std::vector<Found> all;
  for (std::uint32_t n = 0; n < nics.size(); ++n) {
    for (const NicTables::Qp& qp : nics[n]->tables().qps()) {
      all.push_back({n, &qp, figures_of(qp.counts, &qp.waits, qp.latency_ns, period_ps)});
    }
  }
  std::ranges::sort(all, [](const Found& a, const Found& b) {
    return std::tuple(b.figures.sickness(), a.nic, a.qp->number) <
           std::tuple(a.figures.sickness(), b.nic, b.qp->number);
  });
  TableCounts others;
  StationWaits waits{};
  CoarseHistogram latency_ns;
  std::uint64_t count = 0;
  for (Found& found : all) {
    const NicTables::Qp& qp = *found.qp;
    if (t.qps.size() < RunTables::kMostQps && qp.number != NicTables::kNoQp) {
      const bool known = qp.peer.kind != Address::Kind::kNone;
      t.qps.push_back(
          {found.nic, qp.number, known ? qp.peer.text() : "", known ? qp.peer_qp : 0, std::move(found.figures)});
      continue;
    }
    ++count;
    others.add(qp.counts);
    add(waits, qp.waits);
    latency_ns.add(qp.latency_ns);
  }
  if (count != 0) t.other_qps = OtherQps{count, figures_of(others, &waits, latency_ns, period_ps)};
}

struct Sum {
  TableCounts counts;
  Histogram latency_ns;
  void add(const NicTables::Cell& cell) {
    counts.add(cell.counts);
    latency_ns.add(cell.latency_ns);
  }
};

void collect_cells(std::span<const Latencies* const> nics, std::uint64_t period_ps, RunTables& t) {
  std::map<std::uint32_t, Sum> sizes, opcodes;
  for (const Latencies* nic : nics) {
    for (const NicTables::Cell& cell : nic->tables().cells()) {
      sizes[cell.size].add(cell);
      opcodes[cell.opcode].add(cell);
    }
  }
  for (const auto& [size, sum] : sizes) {
    const std::uint64_t least = size == 0 ? 0 : std::uint64_t{1} << (size - 1);
    t.sizes.push_back(
        {least, size == 0 ? 0 : least - 1 + least, figures_of(sum.counts, nullptr, sum.latency_ns, period_ps)});
  }
  for (const auto& [opcode, sum] : opcodes) {
    const bool read = opcode != NicTables::kNoOpcode;
    t.opcodes.push_back({read ? opcode_name(static_cast<std::uint8_t>(opcode)) : "not readable",
                         figures_of(sum.counts, nullptr, sum.latency_ns, period_ps)});
  }
}

void collect_incidents(std::span<const Latencies* const> nics, std::uint64_t period_ps, RunIncidents& to) {
  std::vector<Incident> all;
  std::array<std::uint64_t, static_cast<std::size_t>(QpEventKind::kCount)> counts{};
  for (std::uint32_t n = 0; n < nics.size(); ++n) {
    for (Incident incident : nics[n]->tables().incidents()) {
      incident.nic = n;
      all.push_back(incident);
    }
    const std::span<const std::uint64_t> of_nic = nics[n]->tables().incident_counts();
    for (std::size_t k = 0; k < counts.size(); ++k) counts[k] += of_nic[k];
  }
  std::ranges::sort(all, {}, &Incident::order);
  if (all.size() > RunIncidents::kMost) all.resize(RunIncidents::kMost);
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] != 0) to.counts.emplace_back(name_of(static_cast<QpEventKind>(k)), counts[k]);
  }
  for (const Incident& i : all) {
    to.first.push_back(
        {i.cycle * period_ps, i.nic, name_of(i.event.kind), i.event.number, i.event.packet, cause_of(i.event)});
  }
}

}  // namespace

void collect_tables(std::span<const Latencies* const> nics, std::uint64_t period_ps, RunResult& r) {
  RunTables& t = r.tables.emplace();
  collect_qps(nics, period_ps, t);
  collect_cells(nics, period_ps, t);
  for (std::uint32_t n = 0; n < nics.size(); ++n) {
    TableCounts sum;
    StationWaits waits{};
    for (const NicTables::Qp& qp : nics[n]->tables().qps()) {
      sum.add(qp.counts);
      add(waits, qp.waits);
    }
    t.nics.push_back({n, figures_of(sum, &waits, nics[n]->receives(), period_ps)});
  }
  collect_incidents(nics, period_ps, r.incidents.emplace());
}

const char* name_of(QpEventKind kind) {
  constexpr const char* kNames[] = {"drop",  "psn_gap", "nak",      "timeout",   "error_cqe", "network",
                                    "event", "cnp",     "rnr_wait", "went_back", "sent_again"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(QpEventKind::kCount));
  return kNames[static_cast<std::size_t>(kind)];
}

std::string cause_of(const QpEvent& event) {
  switch (event.kind) {
    case QpEventKind::kDrop:
      return std::string(name_of(static_cast<DropReason>(event.detail)));
    case QpEventKind::kGap:
      return fmt::format("{} PSN{} missing", event.detail, event.detail == 1 ? "" : "s");
    case QpEventKind::kNak: {
      const auto syndrome = static_cast<std::uint8_t>(event.detail);
      if (ack_kind(syndrome) == AckKind::kRnrNak) return fmt::format("rnr, {} us", rnr_timer_us(syndrome));
      constexpr const char* kCodes[] = {"psn_sequence", "invalid_request", "remote_access", "remote_operational"};
      const std::size_t code = syndrome - kNakSequence;
      return fmt::format("{:#x}{}{}", syndrome, code < 4 ? " " : "", code < 4 ? kCodes[code] : "");
    }
    case QpEventKind::kErrorCqe:
      return std::string(name_of(static_cast<WcStatus>(event.detail)));
    case QpEventKind::kNetwork: {
      constexpr const char* kHarms[] = {"lost", "corrupted", "duplicated", "reordered", "switch_full"};
      static_assert(std::size(kHarms) == static_cast<std::size_t>(NetworkHarm::kCount));
      return event.detail < std::size(kHarms) ? kHarms[event.detail] : "";
    }
    case QpEventKind::kAsync:
      return std::string(name_of(static_cast<EventType>(event.detail)));
    default:
      return "";
  }
}

}  // namespace rxnic
