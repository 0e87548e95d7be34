// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/timeline/konata.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "bridge/rxnic/explain/explain.h"
#include "model/engine/output_file.h"
#include "model/types/opcode.h"

namespace rxnic {

namespace {

// By station: what a stage is called.
constexpr std::string_view kStages[] = {"Wi", "Ps", "Cx", "Tc", "Tm", "Wq", "Sc", "At", "Dm", "Cq", "Ak", "Hm"};
static_assert(std::size(kStages) == kStations);

// What stands in a tooltip has no tabs and one line.
std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else if (c != '\t') {
      line += c;
    }
  }
  return line;
}

}  // namespace

KonataCounts write_konata(RunEvents& events, const std::string& path, std::uint64_t most_packets) {
  KonataCounts counts;
  PacketQuery all;
  all.most = most_packets;
  std::uint64_t found = 0;
  std::vector<PacketLife> lives = lives_of(events, all, found);
  counts.packets = lives.size();
  counts.left_out = found - lives.size();
  std::ranges::stable_sort(lives, {}, [](const PacketLife& l) { return std::pair(l.row.arrived, l.row.number); });

  std::unordered_map<std::uint64_t, std::size_t> by_number;
  for (std::size_t n = 0; n < lives.size(); ++n) by_number[lives[n].row.number] = n;
  std::map<std::uint64_t, std::vector<std::string>> commands;  // by cycle
  for (std::size_t n = 0; n < lives.size(); ++n) {
    const PacketLife& life = lives[n];
    const PacketRow& r = life.row;
    auto& begin = commands[r.arrived];
    begin.push_back(fmt::format("I\t{}\t{}\t{}", n, r.number, r.nic));
    begin.push_back(fmt::format("L\t{}\t0\t{}: {} QP {:#x} PSN {:#x}", n, r.number,
                                r.has(kPacketNotRdma) ? "not RDMA" : opcode_name(static_cast<std::uint8_t>(r.opcode)),
                                r.qp, r.psn));
    begin.push_back(fmt::format("L\t{}\t1\t{}", n, one_line(explain_text(events, life))));
    std::uint64_t longest = 0, holder = 0;
    for (const StationStay& s : life.stays) {
      const std::string_view stage = kStages[static_cast<std::size_t>(s.station)];
      const auto part = [&](const std::string& name, std::uint64_t from, std::uint64_t cycles) {
        if (cycles == 0) return;
        commands[from].push_back(fmt::format("S\t{}\t0\t{}", n, name));
        commands[from + cycles].push_back(fmt::format("E\t{}\t0\t{}", n, name));
      };
      part(fmt::format("w{}", stage), s.from, s.wait);
      part(std::string(stage), s.from + s.wait, s.block);
      if (s.held_by != 0 && s.wait > longest) {
        longest = s.wait;
        holder = s.held_by;
      }
    }
    if (const auto of = by_number.find(holder); holder != 0 && of != by_number.end()) {
      commands[r.left].push_back(fmt::format("W\t{}\t{}\t0", n, of->second));
    }
    const bool flushed = r.reason != static_cast<std::uint64_t>(DropReason::kNone);
    commands[r.left].push_back(fmt::format("R\t{}\t{}\t{}", n, r.number, flushed ? 1 : 0));
  }
  OutputFile file(path);
  file.text() += "Kanata\t0004\n";
  std::uint64_t now = 0;
  for (const auto& [cycle, lines] : commands) {
    file.text() += now == 0 ? fmt::format("C=\t{}\n", cycle) : fmt::format("C\t{}\n", cycle - now);
    now = std::max<std::uint64_t>(cycle, 1);
    for (const std::string& line : lines) file.text() += line + '\n';
    file.flush_when_long();
  }
  file.close();
  return counts;
}

}  // namespace rxnic
