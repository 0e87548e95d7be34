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

class TraceEventFile {
 public:
  TraceEventFile(const std::string& path, std::uint64_t period_ps) : file_(path), period_ps_(period_ps) {
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
  std::uint64_t thread = 0;
};

class Timeline {
 public:
  Timeline(RunEvents& events, const std::string& path) : events_(events), out_(path, events.period_ps()) {}

  TimelineCounts write(std::uint64_t most_packets) {
    for (std::uint32_t nic = 0; nic < events_.nics(); ++nic) {
      out_.name("process_name", nic, 0, fmt::format("nic{}", nic));
      out_.name("thread_name", nic, kInstants, "not carried out, NAKs, errors");
      out_.order(nic, kInstants);
    }
    read_packets(most_packets);
    write_slices();
    write_flows();
    write_depths();
    write_instants();
    write_waits();
    out_.close();
    return counts_;
  }

 private:
  void read_packets(std::uint64_t most) {
    events_.for_each<PacketRow>(EventTable::kPackets, [&](const PacketRow& row) {
      if (row.nic >= events_.nics() || row.left < row.arrived) return;
      if (packets_.size() >= most) {
        ++counts_.left_out;
        return;
      }
      for (const StationStay& stay : stays_of(row)) {
        const std::uint64_t taken = stay.from + stay.wait;
        slices_.push_back({taken, taken + stay.block, row.nic, packets_.size(), stay.station, stay.wait, 0});
      }
      packets_.push_back(row);
    });
    counts_.packets = packets_.size();
    std::ranges::sort(slices_, {}, [](const Slice& s) { return std::tuple(s.nic, s.station, s.from, s.packet); });
  }

  // (R1)
  void write_slices() {
    std::map<std::pair<std::uint64_t, Station>, Lanes> lanes;
    for (Slice& s : slices_) {
      bool made = false;
      const std::size_t lane = lanes[{s.nic, s.station}].take(s.from, s.to, made);
      s.thread = thread_of(s.station, lane);
      if (made) {
        const std::string number = lane == 0 ? std::string() : fmt::format(" {}", lane + 1);
        out_.name("thread_name", s.nic, s.thread, fmt::format("{}{}", name_of(s.station), number));
        out_.order(s.nic, s.thread);
      }
      const PacketRow& p = packets_[s.packet];
      out_.event("X", s.nic, s.thread, out_.during(s.from, s.to),
                 fmt::format(",\"name\":\"packet {}\",\"cat\":\"packet\",\"args\":{{\"packet\":{},\"opcode\":\"{}\","
                             "\"qp\":{},\"psn\":{},\"bytes\":{},\"waited_cycles\":{}}}",
                             p.number, p.number, opcode_of(p), p.qp, p.psn, p.payload_bytes, s.wait));
      ++counts_.slices;
    }
  }
  static std::string opcode_of(const PacketRow& p) {
    return p.has(kPacketNotRdma) ? "not RDMA" : opcode_name(static_cast<std::uint8_t>(p.opcode));
  }

  // (R2)
  void write_flows() {
    std::vector<std::vector<std::size_t>> of_packet(packets_.size());
    for (std::size_t n = 0; n < slices_.size(); ++n) of_packet[slices_[n].packet].push_back(n);
    for (std::size_t n = 0; n < packets_.size(); ++n) {
      std::vector<std::size_t>& way = of_packet[n];
      if (!ends_message(packets_[n]) || way.size() < 2) continue;
      ++counts_.flows;
      std::ranges::sort(way, {}, [&](std::size_t i) { return std::pair(slices_[i].from, slices_[i].station); });
      for (std::size_t i = 0; i < way.size(); ++i) {
        const Slice& s = slices_[way[i]];
        const char* const phase = i == 0 ? "s" : i + 1 == way.size() ? "f" : "t";
        out_.event(phase, s.nic, s.thread, out_.at(s.from),
                   fmt::format(",\"name\":\"message\",\"cat\":\"packet\",\"id\":{},\"bp\":\"e\"", counts_.flows));
      }
    }
  }

  // (R4)
  void write_depths() {
    std::map<std::pair<std::uint64_t, Station>, std::map<std::uint64_t, std::int64_t>> changes;
    for (const Slice& s : slices_) {
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
        out_.event(
            "C", place.first, 0, out_.at(cycle),
            fmt::format(",\"name\":\"in front of {}\",\"args\":{{\"packets\":{}}}", name_of(place.second), depth));
      }
    }
  }

  // (R4)
  void write_instants() {
    for (const PacketRow& p : packets_) {
      if (p.reason == static_cast<std::uint64_t>(DropReason::kNone)) continue;
      ++counts_.drops;
      const auto reason = p.reason < kDropReasons ? name_of(static_cast<DropReason>(p.reason)) : std::string_view("?");
      instant(p.nic, out_.at(p.left), std::string(reason), "drop",
              fmt::format("\"packet\":{},\"qp\":{},\"psn\":{}", p.number, p.qp, p.psn));
    }
    events_.for_each<FrameRow>(EventTable::kFrames, [&](const FrameRow& f) {
      const bool ack = (opcode_info(static_cast<std::uint8_t>(f.opcode)).traits & kAckKind) != 0;
      const AckKind kind = ack_kind(static_cast<std::uint8_t>(f.syndrome));
      if (f.nic >= events_.nics() || !ack || kind == AckKind::kAck) return;
      ++counts_.naks;
      instant(f.nic, out_.at_ps(f.left_ps),
              fmt::format("{} {:#04x}", kind == AckKind::kRnrNak ? "RNR NAK" : "NAK", f.syndrome), "nak",
              fmt::format("\"answers\":{},\"peer_qp\":{},\"psn\":{}", f.answered, f.peer_qp, f.psn));
    });
    events_.for_each<CompletionRow>(EventTable::kCompletions, [&](const CompletionRow& c) {
      if (c.nic >= events_.nics() || c.status == static_cast<std::uint64_t>(WcStatus::kSuccess)) return;
      instant(c.nic, out_.at(c.visible), fmt::format("CQE {}", name_of(static_cast<WcStatus>(c.status))), "error",
              fmt::format("\"cq\":{},\"qp\":{},\"wqe\":{}", c.cq, c.qp, c.wqe));
    });
  }
  void instant(std::uint64_t nic, const std::string& time, const std::string& name, const char* category,
               const std::string& arguments) {
    out_.event("i", nic, kInstants, time,
               fmt::format(",\"s\":\"t\",\"name\":\"{}\",\"cat\":\"{}\",\"args\":{{{}}}", name, category, arguments));
  }

  // (R3) While there are packets.
  void write_waits() {
    for (const PacketRow& p : packets_) {
      first_ = std::min(first_, p.arrived);
      last_ = std::max(last_, p.left);
    }
    for (std::uint32_t nic = 0; nic < events_.nics(); ++nic) {
      for (std::size_t s = 0; s < kStations; ++s) {
        const std::uint64_t block = events_.block_of(nic, static_cast<Station>(s));
        if (block != RunEvents::kNoBlock) blocks_[block] = {nic, static_cast<Station>(s)};
      }
    }
    std::map<std::uint64_t, ActivityRow> now;
    events_.for_each<ActivityRow>(EventTable::kActivityChanges, [&](const ActivityRow& row) {
      if (const auto before = now.find(row.block); before != now.end()) write_wait(before->second, row.from);
      now[row.block] = row;
    });
    for (const auto& [block, row] : now) write_wait(row, std::max(last_, row.from));
  }
  void write_wait(const ActivityRow& row, std::uint64_t to) {
    to = std::min(to, events_.kept().to);
    const auto of = blocks_.find(row.block);
    const bool waits = row.activity >= static_cast<std::uint64_t>(Activity::kBlocked) &&
                       row.activity < static_cast<std::uint64_t>(Activity::kCount);
    if (of == blocks_.end() || !waits || row.from >= last_ || to <= first_ || to < row.from) return;
    const std::uint64_t nic = of->second.first;
    const Station station = of->second.second;
    const std::uint64_t thread = thread_of(station, 0) - 1;
    if (named_.insert(row.block).second) {
      out_.name("thread_name", nic, thread, fmt::format("{} waits", name_of(station)));
      out_.order(nic, thread);
    }
    out_.event("X", nic, thread, out_.during(row.from, to),
               fmt::format(",\"name\":\"{}\",\"cat\":\"activity\"", name_of(static_cast<Activity>(row.activity))));
  }

  RunEvents& events_;
  TraceEventFile out_;
  TimelineCounts counts_;
  std::vector<PacketRow> packets_;
  std::vector<Slice> slices_;  // by NIC, block and time
  std::uint64_t first_ = ~std::uint64_t{0}, last_ = 0;
  std::map<std::uint64_t, std::pair<std::uint64_t, Station>> blocks_;  // by number
  std::set<std::uint64_t> named_;                                      // whose thread of waits has its name
};

}  // namespace

TimelineCounts write_timeline(RunEvents& events, const std::string& path, std::uint64_t most_packets) {
  return Timeline(events, path).write(most_packets);
}

}  // namespace rxnic
