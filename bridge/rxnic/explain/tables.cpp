// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/explain/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>
#include <vector>

#include "model/system/histogram.h"
#include "model/system/table_counts.h"
#include "model/system/units.h"
#include "model/types/completion.h"
#include "model/types/opcode.h"
#include "model/types/syndrome.h"

namespace rxnic {

namespace {

using Json = nlohmann::ordered_json;

struct Figures {
  TableCounts counts;
  StationWaits waits{};
  Histogram latency;  // ns

  void add(const PacketRow& p) {
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
    for (const StationStay& s : stays_of(p)) {
      c.wait_cycles += s.wait;
      waits[static_cast<std::size_t>(s.station)] += s.wait;
    }
  }
};

class Tables {
 public:
  Tables(RunEvents& events, TableBy by) : events_(events), by_(by) {}

  Json rows() {
    events_.for_each<PacketRow>(EventTable::kPackets, [&](const PacketRow& p) {
      if (p.has(kPacketNotRdma) || p.nic >= events_.nics() || p.left < p.arrived) return;
      const Key key = key_of(p);
      figures_[key].add(p);
      if (ends_message(p)) of_packet_[{p.nic, p.number}] = key;
      add_write(p);
    });
    events_.for_each<CompletionRow>(EventTable::kCompletions, [&](const CompletionRow& c) { add(c); });
    return listed();
  }

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // NIC (of kQp, kNic) and QP, size or opcode

  Key key_of(const PacketRow& p) const {
    switch (by_) {
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

  // (R2)
  void add_write(const PacketRow& p) {
    const std::uint32_t traits = opcode_info(static_cast<std::uint8_t>(p.opcode)).traits;
    const bool write = (traits & kWrite) != 0 && (traits & kHasImm) == 0;
    if ((by_ != TableBy::kSize && by_ != TableBy::kOpcode) || !write || !ends_message(p)) return;
    std::uint64_t visible = p.at(Station::kHostMemory).left;
    if (visible == kNoTime) visible = p.at(Station::kDmaEngine).left;
    if (p.message_start != kNoTime && visible >= p.message_start) {
      figures_[key_of(p)].latency.add(ns(visible - p.message_start));
    }
  }

  void add(const CompletionRow& c) {
    if (c.nic >= events_.nics()) return;
    const bool good = c.status == static_cast<std::uint64_t>(WcStatus::kSuccess);
    const bool matched = (c.flags & (kCqeTagMatch | kCqeTagDataValid)) == kCqeTagMatch;
    const bool received = c.opcode >= static_cast<std::uint64_t>(CqeOpcode::kReceive) && !matched;
    const auto of = of_packet_.find({c.nic, c.packet});
    Figures* figures = nullptr;
    if (of != of_packet_.end() && c.packet != 0) {
      figures = &figures_[of->second];
    } else if (by_ == TableBy::kQp || by_ == TableBy::kNic) {
      const auto found = figures_.find(by_ == TableBy::kQp ? Key{c.nic, c.qp} : Key{c.nic, 0});
      if (found != figures_.end()) figures = &found->second;
    }
    if (figures == nullptr) return;
    figures->counts.error_cqes += !good;
    if (good && received && c.begun != kNoTime && c.visible >= c.begun && c.packet != 0) {
      figures->latency.add(ns(c.visible - c.begun));
    }
  }

  std::uint64_t ns(std::uint64_t cycles) const { return cycles * events_.period_ps() / 1000; }

  Json listed() const {
    std::vector<std::pair<Key, TableFigures>> order;
    for (const auto& [key, f] : figures_) {
      order.emplace_back(key, figures_of(f.counts, &f.waits, f.latency, events_.period_ps()));
    }
    if (by_ == TableBy::kQp) {  // (R1)
      std::ranges::stable_sort(order,
                               [](const auto& a, const auto& b) { return a.second.sickness() > b.second.sickness(); });
    }
    Json rows = Json::array();
    for (const auto& [key, figures] : order) rows.push_back(row(key, figures));
    return rows;
  }

  Json row(const Key& key, const TableFigures& f) const {
    Json j;
    if (by_ == TableBy::kQp || by_ == TableBy::kNic) j["nic"] = key.first;
    if (by_ == TableBy::kQp) {
      j["qp"] = key.second;
      j["peer"] = events_.peer_of(key.first, key.second);
    } else if (by_ == TableBy::kSize) {
      const std::uint64_t least = key.second == 0 ? 0 : std::uint64_t{1} << (key.second - 1);
      j["bytes_from"] = least;
      j["bytes_to"] = key.second == 0 ? 0 : least - 1 + least;
    } else if (by_ == TableBy::kOpcode) {
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

  RunEvents& events_;
  TableBy by_;
  std::map<Key, Figures> figures_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Key> of_packet_;  // by NIC and number, of those that end a message
};

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

nlohmann::ordered_json table_by(RunEvents& events, TableBy by) { return Tables(events, by).rows(); }

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
