// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/explain/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <tuple>
#include <utility>

#include "bridge/rxnic/explain/message_join.h"
#include "model/system/histogram.h"
#include "model/system/table_counts.h"
#include "model/system/units.h"
#include "model/types/completion.h"
#include "model/types/opcode.h"
#include "model/types/receive_path.h"
#include "model/types/syndrome.h"

namespace rxnic {

using Json = nlohmann::ordered_json;

struct TableMaker::Figures {
  TableCounts counts;
  StationWaits waits{};
  Histogram latency;  // ns

  void add(const PacketRow& p, const std::vector<StationStay>& stays) {
    TableCounts& c = counts;
    ++c.packets;
    c.messages += ends_message(p);
    c.payload_bytes += p.payload_bytes;
    c.first = std::min(c.first, p.arrived);
    c.last = std::max(c.last, p.left);
    const auto outcome = static_cast<Outcome>(p.outcome);
    const auto reason = static_cast<DropReason>(p.reason);
    c.not_carried_out += reason != DropReason::kNone;
    c.psn_ahead += reason == DropReason::kPsnAhead;
    c.repeats += outcome == Outcome::kAckAgain || outcome == Outcome::kReplay;
    c.marked += p.has(kPacketCongested);
    if (outcome == Outcome::kNak && p.has(kPacketAcknowledges)) c.count_nak(static_cast<std::uint8_t>(p.syndrome));
    c.cycles += p.left - p.arrived;
    for (const StationStay& s : stays) {
      c.wait_cycles += s.wait;
      waits[static_cast<std::size_t>(s.station)] += s.wait;
    }
  }
};

namespace {

std::pair<std::uint64_t, std::uint64_t> key_of(const PacketRow& p, TableBy by) {
  switch (by) {
    case TableBy::kQp:
      return {p.nic, p.qp};
    case TableBy::kSize:
      return {0, std::bit_width(ends_message(p) ? p.message_bytes : p.payload_bytes)};
    case TableBy::kOpcode:
      return {0, p.opcode & 0xff};
    case TableBy::kNic:
      return {p.nic, 0};
  }
  return {};
}

}  // namespace

TableMaker::TableMaker(RunEvents& events, std::vector<TableBy> by)
    : events_(events), by_(std::move(by)), figures_(by_.size()) {}
TableMaker::~TableMaker() = default;

void TableMaker::add(const PacketRow& p, const std::vector<StationStay>& stays) {
  if (p.has(kPacketNotRdma) || p.nic >= events_.nics() || p.left < p.arrived) return;
  const std::optional<std::uint64_t> write = write_cycles(p);
  for (std::size_t n = 0; n < by_.size(); ++n) {
    Figures& figures = figures_[n][key_of(p, by_[n])];
    figures.add(p, stays);
    const bool with_writes = by_[n] == TableBy::kSize || by_[n] == TableBy::kOpcode;  // (R2)
    if (with_writes && write) figures.latency.add(ns(*write));
  }
}

void TableMaker::add(const PacketRow* packet, const CompletionRow& c) {
  if (c.nic >= events_.nics()) return;
  const bool good = c.status == static_cast<std::uint64_t>(WcStatus::kSuccess);
  for (std::size_t n = 0; n < by_.size(); ++n) {
    Figures* figures = nullptr;
    if (packet != nullptr) {
      figures = &figures_[n][key_of(*packet, by_[n])];
    } else if (by_[n] == TableBy::kQp || by_[n] == TableBy::kNic) {
      const auto found = figures_[n].find(by_[n] == TableBy::kQp ? Key{c.nic, c.qp} : Key{c.nic, 0});
      if (found != figures_[n].end()) figures = &found->second;
    }
    if (figures == nullptr) continue;
    figures->counts.error_cqes += !good;
    if (good && is_receive(c) && c.begun != kNoTime && c.visible >= c.begun && c.packet != 0) {
      figures->latency.add(ns(c.visible - c.begun));
    }
  }
}

std::uint64_t TableMaker::ns(std::uint64_t cycles) const { return cycles * events_.period_ps() / 1000; }

Json TableMaker::rows(TableBy by) const {
  std::vector<std::pair<Key, TableFigures>> order;
  for (const auto& [key, f] : figures_[static_cast<std::size_t>(std::ranges::find(by_, by) - by_.begin())]) {
    order.emplace_back(key, figures_of(f.counts, &f.waits, f.latency, events_.period_ps()));
  }
  if (by == TableBy::kQp) {  // (R1)
    std::ranges::stable_sort(order,
                             [](const auto& a, const auto& b) { return a.second.sickness() > b.second.sickness(); });
  }
  Json list = Json::array();
  for (const auto& [key, figures] : order) list.push_back(row(by, key, figures));
  return list;
}

Json TableMaker::row(TableBy by, const Key& key, const TableFigures& f) const {
  Json j;
  if (by == TableBy::kQp || by == TableBy::kNic) j["nic"] = key.first;
  if (by == TableBy::kQp) {
    j["qp"] = key.second;
    j["peer"] = events_.peer_of(key.first, key.second);
  } else if (by == TableBy::kSize) {
    const std::uint64_t least = key.second == 0 ? 0 : std::uint64_t{1} << (key.second - 1);
    j["bytes_from"] = least;
    j["bytes_to"] = key.second == 0 ? 0 : least - 1 + least;
  } else if (by == TableBy::kOpcode) {
    j["opcode"] = opcode_name(static_cast<std::uint8_t>(key.second));
  }
  j["packets"] = f.packets;
  j["messages"] = f.messages;
  j["payload_bytes"] = f.payload_bytes;
  j["payload_gbps"] = f.payload_gbps;
  j["not_carried_out"] = f.not_carried_out;
  j["psn_ahead"] = f.psn_ahead;
  j["repeats"] = f.repeats;
  j["rnr_naks"] = f.rnr_naks;
  for (std::size_t n = 0; n < f.naks.size(); ++n) j[fmt::format("nak_0x{:x}", kNakSequence + n)] = f.naks[n];
  j["error_cqes"] = f.error_cqes;
  j["marked"] = f.marked;
  j["latency_count"] = f.latency_count;
  j["p50_ns"] = f.p50_ns;
  j["p99_ns"] = f.p99_ns;
  j["max_ns"] = f.max_ns;
  j["mean_ns"] = f.mean_ns;
  j["wait_ns"] = f.wait_ns;
  j["waits_most_at"] = f.waits_most_at;
  return j;
}

namespace {

struct Column {
  const char* key;
  const char* title;
  int width;
};
constexpr int kNameColumns = 20;
constexpr Column kFigureColumns[] = {{"packets", "packets", 8}, {"messages", "msgs", 8}, {"not_carried_out", "bad", 7},
                                     {"repeats", "again", 7},   {"rnr_naks", "rnr", 7},  {"marked", "CE", 7},
                                     {"p50_ns", "p50 ns", 8},   {"p99_ns", "p99 ns", 8}};

// "RC WRITE_LAST_IMM"
std::string short_opcode(std::string name) {
  constexpr std::pair<std::string_view, std::string_view> kShorter[] = {
      {"RDMA_", ""}, {"_WITH_IMMEDIATE", "_IMM"}, {"_WITH_INVALIDATE", "_INV"}, {"_RESPONSE", "_RESP"}};
  for (const auto& [from, to] : kShorter) {
    if (const std::size_t at = name.find(from); at != name.npos) name.replace(at, from.size(), to);
  }
  return name.substr(0, kNameColumns - 1);
}

std::string name_of_row(const Json& row, TableBy by) {
  switch (by) {
    case TableBy::kQp:
      return fmt::format("nic{} {:#x}", row["nic"].get<std::uint64_t>(), row["qp"].get<std::uint64_t>());
    case TableBy::kSize:
      return fmt::format("to {} B", count_text(row["bytes_to"].get<std::uint64_t>()));
    case TableBy::kOpcode:
      return short_opcode(row["opcode"].get<std::string>());
    case TableBy::kNic:
      return fmt::format("nic{}", row["nic"].get<std::uint64_t>());
  }
  return {};
}

}  // namespace

TableBy table_of_name(const std::string& name) {
  return name == "qp"     ? TableBy::kQp
         : name == "size" ? TableBy::kSize
         : name == "nic"  ? TableBy::kNic
                          : TableBy::kOpcode;
}

std::vector<std::pair<std::string, const Histogram*>> TableMaker::latencies(TableBy by) const {
  std::vector<std::pair<std::string, const Histogram*>> all;
  for (const auto& [key, figures] : figures_[static_cast<std::size_t>(std::ranges::find(by_, by) - by_.begin())]) {
    if (figures.latency.count() != 0)
      all.emplace_back(
          name_of_row(row(by, key, figures_of(figures.counts, &figures.waits, figures.latency, events_.period_ps())),
                      by),
          &figures.latency);
  }
  return all;
}

nlohmann::ordered_json table_by(RunEvents& events, TableBy by) {
  TableMaker table(events, {by});
  MessageJoin join;
  const auto add = [&](const PacketRow* packet, const CompletionRow& row) { table.add(packet, row); };
  events.for_each_row(RowVisitor{[&](const PacketRow& row) {
                                   table.add(row, stays_of(row));
                                   join.add(row, add);
                                 },
                                 [&](const CompletionRow& row) { join.add(row, add); }, [](const auto&) {}});
  join.finish(add);
  return table.rows(by);
}

std::string table_text(const Json& rows, TableBy by, std::size_t most) {
  constexpr const char* kTitles[] = {"QP, sickest first", "message size", "opcode", "NIC"};
  std::string out = fmt::format("{:<{}}", kTitles[static_cast<std::size_t>(by)], kNameColumns);
  for (const Column& c : kFigureColumns) out += fmt::format("{:>{}}", c.title, c.width);
  out += '\n';
  for (std::size_t n = 0; n < std::min(rows.size(), most); ++n) {
    out += fmt::format("{:<{}}", name_of_row(rows[n], by), kNameColumns);
    for (const Column& c : kFigureColumns) {
      const auto count = rows[n].value(c.key, std::uint64_t{0});
      std::string text = count_text(count);
      if (text.size() >= static_cast<std::size_t>(c.width)) text = with_prefix(static_cast<double>(count));
      out += fmt::format("{:>{}}", text, c.width);
    }
    out += '\n';
    if (by != TableBy::kQp) continue;
    std::string trouble;
    for (const char* key : {"nak_0x60", "nak_0x61", "nak_0x62", "nak_0x63", "error_cqes", "timeouts", "rnr_waits",
                            "sent_again", "psn_gaps", "cnps_sent", "cnps_received"}) {
      const auto count = rows[n].value(key, std::uint64_t{0});
      if (count != 0) trouble += fmt::format("{}{} {}", trouble.empty() ? "  " : "   ", key, count_text(count));
    }
    if (!trouble.empty()) out += trouble + '\n';
  }
  if (rows.size() > most) out += fmt::format("and {} more: --most\n", count_text(rows.size() - most));
  return out;
}

}  // namespace rxnic
