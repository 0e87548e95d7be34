// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bridge/rxnic/explain/drop_rules.h"
#include "bridge/rxnic/explain/packet_words.h"
#include "model/system/units.h"
#include "model/types/completion_codes.h"
#include "model/types/opcode.h"
#include "model/types/send_opcode.h"

namespace rxnic {

namespace {

constexpr std::size_t kMostTroubles = 100;

// kCount: it is not kept.
std::string_view activity_name(Activity activity) {
  return activity == Activity::kCount ? std::string_view("not kept") : name_of(activity);
}

std::string cycles_text(std::uint64_t n, std::uint64_t period_ps) {
  return fmt::format("{} cycle{} ({})", count_text(n), n == 1 ? "" : "s", time_text(n * period_ps));
}

// Whether a cause says more than that the block had work.
bool tells(const std::vector<Cause>& causes) {
  return std::ranges::any_of(
      causes, [](const Cause& c) { return c.activity != Activity::kBusy && c.activity != Activity::kStarved; });
}

nlohmann::ordered_json causes_json(const std::vector<Cause>& causes) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Cause& c : causes) {
    all.push_back({{"block", name_of(c.station)}, {"activity", activity_name(c.activity)}, {"cycles", c.cycles}});
  }
  return all;
}

// The longest causes of a wait, a line each, and the others together.
void add_causes(std::string& out, const char* what, const std::vector<Cause>& causes, Station of) {
  constexpr std::size_t kMost = 3, kColumns = 66;
  const auto line = [&](std::uint64_t cycles, const std::string& text) {
    out += fmt::format("{:>18} {:>9}  {}\n", what, cycles, text);
    what = "";
  };
  std::uint64_t others = 0;
  for (std::size_t n = 0; n < causes.size(); ++n) {
    const Cause& c = causes[n];
    if (n >= kMost) {
      others += c.cycles;
      continue;
    }
    std::string text(activity_name(c.activity));
    if (c.station != of) text += fmt::format(" in {}", name_of(c.station));
    if (c.activity > Activity::kBlocked && c.activity < Activity::kCount &&
        text.size() + words_of(c.activity).size() <= kColumns) {
      text += ": " + words_of(c.activity);
    }
    line(c.cycles, text);
  }
  if (others != 0) line(others, "other");
}

// What lies behind a stay, below its line.
void add_reasons(std::string& out, const StationStay& s) {
  const auto works = [](const Cause& c) { return c.activity != Activity::kStarved; };
  if (s.wait > 1 && std::ranges::any_of(s.waited_for, works)) add_causes(out, "wait:", s.waited_for, s.station);
  if (s.wait > 1 && s.held_by != 0) {
    out += fmt::format("{:>18}            behind packet {} of QP {:#x}\n", "", s.held_by, s.holder_qp);
  }
  if (s.block > 1 && tells(s.inside)) add_causes(out, "in:", s.inside, s.station);
}

}  // namespace

std::string decision_words(const PacketRow& row) { return decision(row.outcome, row.reason, row.syndrome); }

std::string explain_text(RunEvents& events, const PacketLife& life) {
  const PacketRow& r = life.row;
  const std::uint64_t period = events.period_ps();
  if (r.has(kPacketNotRdma)) {
    return fmt::format("packet {} at nic{}: another protocol, not RDMA; it left after {}\n", r.number, r.nic,
                       cycles_text(life.cycles(), period));
  }
  const std::string peer = r.has(kPacketChecked) ? events.peer_of(r.nic, r.qp) : "";
  std::string out = fmt::format("packet {} at nic{}: {}, {} bytes, to QP {:#x}{}, PSN {:#x}\n", r.number, r.nic,
                                opcode_name(static_cast<std::uint8_t>(r.opcode)), count_text(r.payload_bytes), r.qp,
                                peer.empty() ? "" : fmt::format("\n  from {}", peer), r.psn);
  out += fmt::format("  {}\n", decision(r.outcome, r.reason, r.syndrome));
  if (r.has(kPacketCongested)) out += "  a switch had marked it Congestion Experienced\n";
  if (r.has(kPacketChecked) && r.message_start != kNoTime &&
      r.outcome == static_cast<std::uint64_t>(Outcome::kExecute)) {
    out += fmt::format("  message {} of its QP{}{}\n", r.message,
                       r.message_start < r.arrived
                           ? fmt::format(", which began {} before", cycles_text(r.arrived - r.message_start, period))
                           : std::string(", its first packet"),
                       life.message != 0 ? fmt::format(";\n  it ends message {} of the run, of {} bytes", life.message,
                                                       count_text(r.message_bytes))
                                         : std::string());
  }
  out += fmt::format("  arrived in cycle {} ({}), left {} later\n\n", r.arrived, time_text(r.arrived * period),
                     cycles_text(life.cycles(), period));
  out += "       cycle    wait      in  block\n";
  std::uint64_t wait = 0, block = 0;
  for (const StationStay& s : life.stays) {
    out += fmt::format("{:>12} {:>7} {:>7}  {}\n", s.from, s.wait, s.block, name_of(s.station));
    add_reasons(out, s);
    wait += s.wait;
    block += s.block;
  }
  out += fmt::format("{:>12} {:>7} {:>7}  left\n", r.left, wait, block);
  if (life.completion) {
    const CompletionRow& c = *life.completion;
    out += fmt::format(
        "\n  WQE: slot {}{}\n  CQE: CQ {}, {} {}, {} bytes; handed over in cycle {}, visible in cycle {},\n"
        "       {} after the {} arrived\n",
        c.wqe, (c.flags & kCqeSrq) != 0 ? fmt::format(" of SRQ {}", c.srq) : fmt::format(" of QP {:#x}", c.qp), c.cq,
        name_of(value_of<CqeOpcode>(c.opcode)), name_of(value_of<WcStatus>(c.status)), count_text(c.bytes),
        c.handed_over, c.visible, cycles_text(c.visible - std::min(c.visible, c.begun), period),
        c.begun < r.arrived ? "message" : "packet");
  }
  for (const FrameRow& f : life.answers) {
    const std::uint64_t left = r.left * period;
    out += fmt::format("{}  answer: {}, PSN {:#x}, MSN {}, to QP {:#x}, on the wire {}\n",
                       life.completion || &f != &life.answers.front() ? "" : "\n", answer_name(f), f.psn, f.msn,
                       f.peer_qp, f.left_ps >= left ? time_text(f.left_ps - left) + " later" : "before it left");
  }
  if (life.answers.empty() && r.has(kPacketAcknowledges)) {
    out += "\n  answer: none of its own; a later one acknowledges it, or it is not kept\n";
  }
  return out;
}

nlohmann::ordered_json explain_json(RunEvents& events, const PacketLife& life) {
  const PacketRow& r = life.row;
  const auto reason = value_of<DropReason>(r.reason);
  const auto outcome = value_of<Outcome>(r.outcome);
  nlohmann::ordered_json j{{"packet", r.number}, {"nic", r.nic}, {"rdma", !r.has(kPacketNotRdma)}};
  j["arrived_cycle"] = r.arrived;
  j["left_cycle"] = r.left;
  j["cycles"] = life.cycles();
  j["ns"] = static_cast<double>(life.cycles() * events.period_ps()) / 1e3;
  if (r.has(kPacketNotRdma)) return j;
  j["opcode"] = opcode_name(static_cast<std::uint8_t>(r.opcode));
  j["qp"] = r.qp;
  if (const std::string peer = events.peer_of(r.nic, r.qp); r.has(kPacketChecked) && !peer.empty()) j["peer"] = peer;
  j["psn"] = r.psn;
  j["payload_bytes"] = r.payload_bytes;
  j["outcome"] = name_of(outcome);
  j["reason"] = name_of(reason);
  j["rule"] = reason != DropReason::kNone ? rule_of(reason) : rule_of(outcome);
  j["words"] = decision(r.outcome, r.reason, r.syndrome);
  j["syndrome"] = r.syndrome;
  j["congested"] = r.has(kPacketCongested);
  if (life.message != 0) j["ends_message"] = life.message;
  nlohmann::ordered_json stays = nlohmann::ordered_json::array();
  for (const StationStay& s : life.stays) {
    nlohmann::ordered_json stay{{"block", name_of(s.station)},
                                {"from_cycle", s.from},
                                {"wait_cycles", s.wait},
                                {"block_cycles", s.block},
                                {"waited_for", causes_json(s.waited_for)},
                                {"inside", causes_json(s.inside)}};
    if (s.held_by != 0) stay["behind"] = {{"packet", s.held_by}, {"qp", s.holder_qp}};
    stays.push_back(stay);
  }
  j["stays"] = stays;
  if (life.completion) {
    const CompletionRow& c = *life.completion;
    j["completion"] = {{"cq", c.cq},
                       {"wqe", c.wqe},
                       {"opcode", name_of(value_of<CqeOpcode>(c.opcode))},
                       {"status", name_of(value_of<WcStatus>(c.status))},
                       {"bytes", c.bytes},
                       {"begun_cycle", c.begun},
                       {"handed_over_cycle", c.handed_over},
                       {"visible_cycle", c.visible}};
  }
  nlohmann::ordered_json answers = nlohmann::ordered_json::array();
  for (const FrameRow& f : life.answers) {
    answers.push_back({{"name", answer_name(f)},
                       {"psn", f.psn},
                       {"msn", f.msn},
                       {"syndrome", f.syndrome},
                       {"peer_qp", f.peer_qp},
                       {"left_ps", f.left_ps}});
  }
  j["answers"] = answers;
  return j;
}

std::vector<QpLife> qps_of(RunEvents& events, std::uint64_t qp, std::optional<std::uint64_t> nic) {
  std::map<std::uint64_t, QpLife> found;  // by NIC
  events.for_each<PacketRow>(EventTable::kPackets, [&](const PacketRow& row) {
    if (row.qp != qp || (nic && row.nic != *nic) || row.has(kPacketNotRdma) || row.nic >= events.nics()) return;
    QpLife& life = found[row.nic];
    if (life.packets == 0) {
      life.nic = row.nic;
      life.qp = qp;
      life.first = row.arrived;
      life.outcomes.resize(Enumeration<Outcome>::kValues.size());
      life.reasons.resize(kDropReasons);
    }
    if (row.outcome >= life.outcomes.size() || row.reason >= life.reasons.size()) return;
    ++life.packets;
    life.messages += ends_message(row);
    life.payload_bytes += row.payload_bytes;
    life.first = std::min(life.first, row.arrived);
    life.last = std::max(life.last, row.left);
    life.marked += row.has(kPacketCongested);
    ++life.outcomes[row.outcome];
    ++life.reasons[row.reason];
    const auto outcome = value_of<Outcome>(row.outcome);
    const bool well = row.reason == static_cast<std::uint64_t>(DropReason::kNone) &&
                      (outcome == Outcome::kExecute || outcome == Outcome::kAnswer);
    if (well) return;
    if (life.troubles.size() < kMostTroubles) {
      life.troubles.push_back({row.number, row.left, row.psn, row.outcome, row.reason, row.syndrome});
    }
    ++life.troubles_in_all;
  });
  events.for_each<CompletionRow>(EventTable::kCompletions, [&](const CompletionRow& row) {
    const auto of = found.find(row.nic);
    if (of == found.end() || row.qp != qp) return;
    const bool good = row.status == static_cast<std::uint64_t>(WcStatus::kSuccess);
    ++of->second.completions;
    of->second.completions_in_error += !good;
    const bool received = row.opcode >= static_cast<std::uint64_t>(CqeOpcode::kReceive);
    if (good && received && row.begun != kNoTime && row.visible >= row.begun) {
      of->second.latencies.push_back(row.visible - row.begun);
    }
  });
  std::vector<QpLife> lives;
  for (auto& [number, life] : found) {
    std::ranges::sort(life.latencies);
    lives.push_back(std::move(life));
  }
  return lives;
}

std::string explain_text(RunEvents& events, const QpLife& life) {
  const std::uint64_t period = events.period_ps();
  const std::string peer = events.peer_of(life.nic, life.qp);
  std::string out =
      fmt::format("QP {:#x} of nic{}{}\n", life.qp, life.nic, peer.empty() ? "" : fmt::format(", peer {}", peer));
  out += fmt::format("  {} packets with {} bytes of payload, {} messages, from {} to {}\n", count_text(life.packets),
                     count_text(life.payload_bytes), count_text(life.messages), time_text(life.first * period),
                     time_text(life.last * period));
  for (std::size_t n = 0; n < life.outcomes.size(); ++n) {
    if (life.outcomes[n] != 0) {
      out += fmt::format("  {:>12}  {}\n", count_text(life.outcomes[n]),
                         n == static_cast<std::size_t>(Outcome::kExecute) ? std::string("carried out")
                         : n == static_cast<std::size_t>(Outcome::kDrop)  ? std::string("dropped")
                                                                          : std::string(name_of(value_of<Outcome>(n))));
    }
  }
  for (std::size_t n = 1; n < life.reasons.size(); ++n) {
    if (life.reasons[n] == 0) continue;
    const auto reason = value_of<DropReason>(n);
    out += fmt::format("  {:>12}  of these {}: {}\n", count_text(life.reasons[n]), name_of(reason), words_of(reason));
  }
  if (life.marked != 0) out += fmt::format("  {:>12}  marked Congestion Experienced\n", count_text(life.marked));
  out += fmt::format("  {:>12}  completions, {} of them in error\n", count_text(life.completions),
                     count_text(life.completions_in_error));
  if (!life.latencies.empty()) {
    const auto at = [&](double part) {
      return time_text(life.latencies[static_cast<std::size_t>(part * static_cast<double>(life.latencies.size() - 1))] *
                       period);
    };
    out += fmt::format("  a receive took {} (median), {} (99 %), {} at most\n", at(0.5), at(0.99), at(1));
  }
  if (life.troubles.empty()) return out + "  nothing was refused, dropped or repeated\n";
  out += "\n      packet           at         PSN  what became of it\n";
  for (const QpLife::Trouble& t : life.troubles) {
    out += fmt::format("{:>12} {:>12}  {:>#10x}  {}\n", t.number, time_text(t.at * period), t.psn,
                       decision(t.outcome, t.reason, t.syndrome));
  }
  if (life.troubles_in_all > life.troubles.size()) {
    out += fmt::format("  and {} more\n", count_text(life.troubles_in_all - life.troubles.size()));
  }
  return out;
}

nlohmann::ordered_json explain_json(RunEvents& events, const QpLife& life) {
  nlohmann::ordered_json j{{"qp", life.qp}, {"nic", life.nic}, {"peer", events.peer_of(life.nic, life.qp)}};
  j["packets"] = life.packets;
  j["messages"] = life.messages;
  j["payload_bytes"] = life.payload_bytes;
  j["first_cycle"] = life.first;
  j["last_cycle"] = life.last;
  j["marked"] = life.marked;
  for (std::size_t n = 0; n < life.outcomes.size(); ++n) {
    if (life.outcomes[n] != 0) j["outcomes"][std::string(name_of(value_of<Outcome>(n)))] = life.outcomes[n];
  }
  j["dropped"] = nlohmann::ordered_json::object();
  for (std::size_t n = 1; n < life.reasons.size(); ++n) {
    if (life.reasons[n] != 0) j["dropped"][std::string(name_of(value_of<DropReason>(n)))] = life.reasons[n];
  }
  j["completions"] = life.completions;
  j["completions_in_error"] = life.completions_in_error;
  nlohmann::ordered_json troubles = nlohmann::ordered_json::array();
  for (const QpLife::Trouble& t : life.troubles) {
    troubles.push_back({{"packet", t.number},
                        {"cycle", t.at},
                        {"psn", t.psn},
                        {"reason", name_of(value_of<DropReason>(t.reason))},
                        {"words", decision(t.outcome, t.reason, t.syndrome)}});
  }
  j["troubles"] = troubles;
  j["troubles_in_all"] = life.troubles_in_all;
  return j;
}

}  // namespace rxnic
