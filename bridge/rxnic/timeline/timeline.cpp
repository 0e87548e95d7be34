// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/timeline/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "model/engine/output_file.h"
#include "model/types/completion_codes.h"
#include "model/types/opcode.h"
#include "model/types/station.h"
#include "model/types/syndrome.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kThreadsOfBlock = 1000;  // numbers of threads: the waits first, then the lanes
constexpr std::uint64_t kInstants = 1;           // the thread of instants

class Writer {
 public:
  Writer(const std::string& path, std::uint64_t period_ps) : file_(path), period_ps_(period_ps) {
    file_.text() += "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  }
  void event(std::string_view phase, std::uint64_t nic, std::uint64_t thread, const std::string& time,
             const std::string& rest) {
    file_.text() += fmt::format("{}{{\"ph\":\"{}\",\"pid\":{},\"tid\":{}{}{}}}", first_ ? "" : ",\n", phase, nic + 1,
                                thread, time, rest);
    first_ = false;
    file_.flush_when_long();
  }
  void name(std::string_view what, std::uint64_t nic, std::uint64_t thread, const std::string& name) {
    event("M", nic, thread, "", fmt::format(",\"name\":\"{}\",\"args\":{{\"name\":\"{}\"}}", what, name));
  }
  void order(std::uint64_t nic, std::uint64_t thread) {
    event("M", nic, thread, "", fmt::format(",\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{}}}", thread));
  }
  // ",\"ts\":12.345678": in us.
  std::string at(std::uint64_t cycle) const { return ",\"ts\":" + us(cycle * period_ps_); }
  std::string at_ps(std::uint64_t ps) const { return ",\"ts\":" + us(ps); }
  std::string during(std::uint64_t from, std::uint64_t to) const {
    return at(from) + ",\"dur\":" + us((to - from) * period_ps_);
  }
  void close() {
    file_.text() += "\n]}\n";
    file_.close();
  }

 private:
  static std::string us(std::uint64_t ps) { return fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000); }
  OutputFile file_;
  std::uint64_t period_ps_;
  bool first_ = true;
};

std::uint64_t thread_of(Station station, std::size_t lane) {
  return (static_cast<std::uint64_t>(station) + 1) * kThreadsOfBlock + 1 + lane;
}

// (R1) The threads of a block: when each is free.
class Lanes {
 public:
  // The first one that is free, made when there is none; `made`: it is new.
  std::size_t take(std::uint64_t from, std::uint64_t to, bool& made) {
    const auto lane = std::ranges::find_if(free_from_, [&](std::uint64_t free) { return free <= from; });
    made = lane == free_from_.end();
    const auto number = static_cast<std::size_t>(lane - free_from_.begin());
    if (made) free_from_.push_back(0);
    free_from_[number] = std::max(to, from + 1);
    return number;
  }

 private:
  std::vector<std::uint64_t> free_from_;
};

struct Slice {
  std::uint64_t from = 0, to = 0, nic = 0;
  std::size_t packet = 0;  // index
  Station station{};
  std::uint64_t wait = 0;
};

}  // namespace

TimelineCounts write_timeline(RunEvents& events, const std::string& path, std::uint64_t most_packets) {
  TimelineCounts counts;
  Writer out(path, events.period_ps());
  for (std::uint32_t nic = 0; nic < events.nics(); ++nic) {
    out.name("process_name", nic, 0, fmt::format("nic{}", nic));
    out.name("thread_name", nic, kInstants, "not carried out, NAKs, errors");
    out.order(nic, kInstants);
  }
  // Packets, their slices by time.
  std::vector<PacketRow> packets;
  std::vector<Slice> slices;
  events.for_each<PacketRow>(EventTable::kPackets, [&](const PacketRow& row) {
    if (row.nic >= events.nics() || row.left < row.arrived) return;
    if (packets.size() >= most_packets) {
      ++counts.left_out;
      return;
    }
    for (const StationStay& stay : stays_of(row)) {
      slices.push_back({stay.from + stay.wait, stay.from + stay.wait + stay.block, row.nic, packets.size(),
                        stay.station, stay.wait});
    }
    packets.push_back(row);
  });
  counts.packets = packets.size();
  std::ranges::sort(slices, {}, [](const Slice& s) { return std::tuple(s.nic, s.station, s.from, s.packet); });
  std::map<std::pair<std::uint64_t, Station>, Lanes> lanes;
  std::vector<std::size_t> thread(slices.size());
  std::vector<std::vector<std::size_t>> of_packet(packets.size());
  for (std::size_t n = 0; n < slices.size(); ++n) {
    const Slice& s = slices[n];
    bool made = false;
    const std::size_t lane = lanes[{s.nic, s.station}].take(s.from, s.to, made);
    thread[n] = thread_of(s.station, lane);
    if (made) {
      const std::string number = lane == 0 ? std::string() : fmt::format(" {}", lane + 1);
      out.name("thread_name", s.nic, thread[n], fmt::format("{}{}", name_of(s.station), number));
      out.order(s.nic, thread[n]);
    }
    const PacketRow& p = packets[s.packet];
    out.event(
        "X", s.nic, thread[n], out.during(s.from, s.to),
        fmt::format(",\"name\":\"packet {}\",\"cat\":\"packet\",\"args\":{{\"packet\":{},\"opcode\":\"{}\",\"qp\":{},"
                    "\"psn\":{},\"bytes\":{},\"waited_cycles\":{}}}",
                    p.number, p.number,
                    p.has(kPacketNotRdma) ? "not RDMA" : opcode_name(static_cast<std::uint8_t>(p.opcode)), p.qp, p.psn,
                    p.payload_bytes, s.wait));
    of_packet[s.packet].push_back(n);
    ++counts.slices;
  }
  // (R2)
  for (std::size_t n = 0; n < packets.size(); ++n) {
    if (!ends_message(packets[n]) || of_packet[n].size() < 2) continue;
    ++counts.flows;
    std::ranges::sort(of_packet[n], {}, [&](std::size_t i) { return std::pair(slices[i].from, slices[i].station); });
    for (std::size_t i = 0; i < of_packet[n].size(); ++i) {
      const std::size_t slice = of_packet[n][i];
      const char* const phase = i == 0 ? "s" : i + 1 == of_packet[n].size() ? "f" : "t";
      out.event(phase, packets[n].nic, thread[slice], out.at(slices[slice].from),
                fmt::format(",\"name\":\"message\",\"cat\":\"packet\",\"id\":{},\"bp\":\"e\"", counts.flows));
    }
  }
  // (R4)
  std::map<std::pair<std::uint64_t, Station>, std::map<std::uint64_t, std::int64_t>> changes;
  for (const Slice& s : slices) {
    if (s.wait == 0) continue;
    auto& of = changes[{s.nic, s.station}];
    ++of[s.from - s.wait];
    --of[s.from];
  }
  for (const auto& [place, of] : changes) {
    std::int64_t depth = 0;
    for (const auto& [cycle, change] : of) {
      if (change == 0) continue;
      depth += change;
      out.event("C", place.first, 0, out.at(cycle),
                fmt::format(",\"name\":\"in front of {}\",\"args\":{{\"packets\":{}}}", name_of(place.second), depth));
    }
  }
  for (const PacketRow& p : packets) {
    if (p.reason == static_cast<std::uint64_t>(DropReason::kNone)) continue;
    ++counts.drops;
    out.event(
        "i", p.nic, kInstants, out.at(p.left),
        fmt::format(",\"s\":\"t\",\"name\":\"{}\",\"cat\":\"drop\",\"args\":{{\"packet\":{},\"qp\":{},\"psn\":{}}}",
                    p.reason < kDropReasons ? name_of(static_cast<DropReason>(p.reason)) : "?", p.number, p.qp, p.psn));
  }
  events.for_each<FrameRow>(EventTable::kFrames, [&](const FrameRow& f) {
    const bool ack = (opcode_info(static_cast<std::uint8_t>(f.opcode)).traits & kAckKind) != 0;
    if (f.nic >= events.nics() || !ack || ack_kind(static_cast<std::uint8_t>(f.syndrome)) == AckKind::kAck) return;
    ++counts.naks;
    const bool rnr = ack_kind(static_cast<std::uint8_t>(f.syndrome)) == AckKind::kRnrNak;
    out.event(
        "i", f.nic, kInstants, out.at_ps(f.left_ps),
        fmt::format(",\"s\":\"t\",\"name\":\"{} {:#04x}\",\"cat\":\"nak\",\"args\":{{\"answers\":{},\"peer_qp\":{},"
                    "\"psn\":{}}}",
                    rnr ? "RNR NAK" : "NAK", f.syndrome, f.answered, f.peer_qp, f.psn));
  });
  events.for_each<CompletionRow>(EventTable::kCompletions, [&](const CompletionRow& c) {
    if (c.nic >= events.nics() || c.status == static_cast<std::uint64_t>(WcStatus::kSuccess)) return;
    out.event(
        "i", c.nic, kInstants, out.at(c.visible),
        fmt::format(",\"s\":\"t\",\"name\":\"CQE {}\",\"cat\":\"error\",\"args\":{{\"cq\":{},\"qp\":{},\"wqe\":{}}}",
                    name_of(static_cast<WcStatus>(c.status)), c.cq, c.qp, c.wqe));
  });
  // (R3)
  std::map<std::uint64_t, std::pair<std::uint64_t, Station>> blocks;
  for (std::uint32_t nic = 0; nic < events.nics(); ++nic) {
    for (std::size_t s = 0; s < kStations; ++s) {
      const std::uint64_t block = events.block_of(nic, static_cast<Station>(s));
      if (block != RunEvents::kNoBlock) blocks[block] = {nic, static_cast<Station>(s)};
    }
  }
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
  for (const PacketRow& p : packets) first = std::min(first, p.arrived), last = std::max(last, p.left);
  std::map<std::uint64_t, ActivityRow> now;
  std::set<std::uint64_t> named;
  const auto slice = [&](const ActivityRow& row, std::uint64_t to) {
    const auto of = blocks.find(row.block);
    if (of == blocks.end() || row.activity < static_cast<std::uint64_t>(Activity::kBlocked) ||
        row.activity >= static_cast<std::uint64_t>(Activity::kCount) || row.from >= last || to <= first ||
        to < row.from) {
      return;
    }
    const auto& [nic, station] = of->second;
    const std::uint64_t waits = thread_of(station, 0) - 1;
    if (named.insert(row.block).second) {
      out.name("thread_name", nic, waits, fmt::format("{} waits", name_of(station)));
      out.order(nic, waits);
    }
    out.event("X", nic, waits, out.during(row.from, to),
              fmt::format(",\"name\":\"{}\",\"cat\":\"activity\"", name_of(static_cast<Activity>(row.activity))));
  };
  events.for_each<ActivityRow>(EventTable::kActivityChanges, [&](const ActivityRow& row) {
    if (const auto before = now.find(row.block); before != now.end()) slice(before->second, row.from);
    now[row.block] = row;
  });
  for (const auto& [block, row] : now) slice(row, std::max(last, row.from));
  out.close();
  return counts;
}

}  // namespace rxnic
