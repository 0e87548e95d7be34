// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/explain/packet_life.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "model/types/completion.h"
#include "model/types/opcode.h"
#include "model/types/receive_path.h"

namespace rxnic {

namespace {

constexpr std::size_t kFirstStop = static_cast<std::size_t>(Station::kRxParser);
constexpr std::size_t kLastStop = static_cast<std::size_t>(Station::kAckGenerator);

std::uint32_t traits_of(const PacketRow& row) { return opcode_info(static_cast<std::uint8_t>(row.opcode)).traits; }

void add(std::vector<Cause>& to, const Cause& cause) {
  const auto same = [&](const Cause& c) { return c.station == cause.station && c.activity == cause.activity; };
  const auto found = std::ranges::find_if(to, same);
  if (found == to.end()) {
    to.push_back(cause);
  } else {
    found->cycles += cause.cycles;
  }
}

class Causes {
 public:
  Causes(const RunEvents& events, const ActivityTimes& activities) : events_(events), activities_(activities) {}
  std::vector<Cause> of(const PacketRow& row, Station station, Interval time) const {
    std::vector<Cause> all;
    look(row, station, time, all);
    std::ranges::stable_sort(all, std::ranges::greater{}, &Cause::cycles);
    return all;
  }

 private:
  // (R2)
  void look(const PacketRow& row, Station station, Interval time, std::vector<Cause>& all) const {
    const std::optional<Station> next = next_of(row, station);
    for (const ActivityTimes::Part& part : activities_.of(events_.block_of(row.nic, station), time)) {
      if (part.activity == Activity::kBlocked && next) {
        look(row, *next, part.time, all);
      } else {
        add(all, {station, part.activity, part.time.to - part.time.from});
      }
    }
  }
  // The block behind. Only packets of QPs with tag matching pass the tag matcher.
  static std::optional<Station> next_of(const PacketRow& row, Station station) {
    if (station == Station::kAckGenerator) return std::nullopt;
    auto next = static_cast<Station>(static_cast<std::size_t>(station) + 1);
    if (next == Station::kTagMatchCam && row.at(next).left == kNoTime) next = Station::kSrqWqeFetcher;
    return next;
  }

  const RunEvents& events_;
  const ActivityTimes& activities_;
};

void add_answer(PacketLife& life, const FrameRow& frame) {
  constexpr std::size_t kMost = 64;  // of a READ there are more
  if (life.answers.size() < kMost) life.answers.push_back(frame);
}

// The packets that left each block, of those that may have held up others.
class Leavers {
 public:
  void add(const PacketRow& row) {
    for (std::size_t s = kFirstStop; s <= kLastStop; ++s) {
      const std::uint64_t left = s == kLastStop ? row.left : row.at(static_cast<Station>(s)).left;
      if (left != kNoTime) left_[{row.nic, s}].push_back({left, row.number, row.qp});
    }
  }
  void sort() {
    for (auto& [place, all] : left_)
      std::ranges::sort(all, {}, [](const Leaver& l) { return std::pair(l.left, l.number); });
  }
  // (R3)
  void find(const PacketRow& row, StationStay& stay) const {
    const auto place = left_.find({row.nic, static_cast<std::size_t>(stay.station)});
    if (place == left_.end() || stay.wait <= 1) return;
    const std::uint64_t taken = stay.from + stay.wait;
    auto after = std::ranges::upper_bound(place->second, taken, {}, &Leaver::left);
    while (after != place->second.begin()) {
      const Leaver& leaver = *--after;
      if (leaver.left <= stay.from) return;
      if (leaver.number == row.number) continue;
      stay.held_by = leaver.number;
      stay.holder_qp = leaver.qp;
      return;
    }
  }

 private:
  struct Leaver {
    std::uint64_t left, number, qp;
  };
  std::map<std::pair<std::uint64_t, std::size_t>, std::vector<Leaver>> left_;
};

}  // namespace

std::vector<StationStay> stays_of(const PacketRow& row) {
  std::vector<StationStay> all;
  all.reserve(kStations);
  std::uint64_t from = row.arrived;
  const auto stay = [&](Station station, std::uint64_t taken, std::uint64_t left) {
    const std::uint64_t to = std::clamp(left, from, row.left);
    const std::uint64_t begun = taken == kNoTime ? from : std::clamp(taken, from, to);
    all.push_back({station, from, begun - from, to - begun, {}, {}, 0, 0});
    from = to;
  };
  for (std::size_t s = kFirstStop; s < kLastStop; ++s) {
    const auto station = static_cast<Station>(s);
    if (row.at(station).left != kNoTime) stay(station, row.at(station).taken, row.at(station).left);
  }
  if (row.has(kPacketChecked)) stay(Station::kAckGenerator, row.left, row.left);
  if (from < row.left && !all.empty()) {  // dropped within the block behind
    const auto next = static_cast<Station>(std::min(static_cast<std::size_t>(all.back().station) + 1, kLastStop));
    stay(next, kNoTime, row.left);
  } else if (from < row.left) {
    stay(Station::kRxParser, kNoTime, row.left);
  }
  return all;
}

bool ends_message(const PacketRow& row) {
  return row.has(kPacketEndsMessage) && row.reason == static_cast<std::uint64_t>(DropReason::kNone) &&
         row.outcome == static_cast<std::uint64_t>(Outcome::kExecute);
}

bool is_receive(const CompletionRow& row) {
  const bool matched = (row.flags & (kCqeTagMatch | kCqeTagDataValid)) == kCqeTagMatch;
  return row.opcode >= static_cast<std::uint64_t>(CqeOpcode::kReceive) && !matched;
}

std::optional<std::uint64_t> write_cycles(const PacketRow& row) {
  const std::uint32_t traits = traits_of(row);
  if (!ends_message(row) || (traits & kWrite) == 0 || (traits & kHasImm) != 0) return {};
  std::uint64_t visible = row.at(Station::kHostMemory).left;
  if (visible == kNoTime) visible = row.at(Station::kDmaEngine).left;  // it has no bytes
  if (row.message_start == kNoTime || visible < row.message_start) return {};
  return visible - row.message_start;
}

bool PacketQuery::has(const PacketRow& row, std::uint64_t message_number) const {
  const bool dropped = row.reason != static_cast<std::uint64_t>(DropReason::kNone);
  const auto in = [&](const EventRange& range) { return range.has(row.number); };
  return (packets.empty() || std::ranges::any_of(packets, in)) &&
         (numbers.empty() || std::ranges::binary_search(numbers, row.number)) &&
         (!message || *message == message_number) && (!nic || *nic == row.nic) && (!qp || *qp == row.qp) &&
         (!psn || *psn == row.psn) && (!drops || dropped);
}

std::vector<PacketLife> lives_of(RunEvents& events, const PacketQuery& query, std::uint64_t& found) {
  std::vector<PacketLife> lives;
  std::uint64_t messages = 0;
  found = 0;
  events.for_each<PacketRow>(EventTable::kPackets, [&](const PacketRow& row) {
    const std::uint64_t message = ends_message(row) ? ++messages : 0;
    if (row.nic >= events.nics() || row.left < row.arrived || !query.has(row, message)) return;
    if (++found > query.most) return;
    lives.push_back({row, message, stays_of(row), {}, {}});
  });
  if (lives.empty()) return lives;

  std::vector<Interval> times;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_number;
  std::multimap<std::pair<std::uint64_t, std::uint64_t>, std::size_t> by_answer;  // peer's QP and PSN
  for (std::size_t n = 0; n < lives.size(); ++n) {
    const PacketRow& row = lives[n].row;
    times.push_back({row.arrived, row.left + 1});
    if (row.number != 0) by_number[row.number].push_back(n);
    if (row.has(kPacketAcknowledges)) by_answer.emplace(std::pair(row.peer_qp, row.answer_psn), n);
  }
  const bool all_packets = events.has_all_packets();
  for (PacketLife& life : lives) life.message = all_packets ? life.message : 0;
  const Intervals intervals(std::move(times));
  const ActivityTimes activities(events, intervals);
  const Causes causes(events, activities);
  Leavers leavers;
  events.for_each<PacketRow>(EventTable::kPackets, [&](const PacketRow& row) {
    if (intervals.meets(row.arrived, row.left + 1)) leavers.add(row);
  });
  leavers.sort();
  for (PacketLife& life : lives) {
    for (StationStay& stay : life.stays) {
      stay.waited_for = causes.of(life.row, stay.station, {stay.from, stay.from + stay.wait});
      stay.inside = causes.of(life.row, stay.station, {stay.from + stay.wait, stay.from + stay.wait + stay.block});
      if (all_packets) leavers.find(life.row, stay);
    }
  }
  events.for_each<CompletionRow>(EventTable::kCompletions, [&](const CompletionRow& row) {
    const auto of = by_number.find(row.packet);
    if (row.packet == 0 || of == by_number.end()) return;
    for (const std::size_t n : of->second) {
      if (lives[n].row.nic == row.nic) lives[n].completion = row;
    }
  });
  events.for_each<FrameRow>(EventTable::kFrames, [&](const FrameRow& row) {
    if (row.answered != 0) {
      const auto of = by_number.find(row.answered);
      if (of == by_number.end()) return;
      for (const std::size_t n : of->second) add_answer(lives[n], row);
      return;
    }
    if ((opcode_info(static_cast<std::uint8_t>(row.opcode)).traits & kResponse) == 0) return;
    const auto [from, to] = by_answer.equal_range({row.peer_qp, row.psn});
    for (auto at = from; at != to; ++at) {
      const PacketRow& packet = lives[at->second].row;
      if (packet.nic == row.nic && row.left_ps >= packet.left * events.period_ps()) {
        add_answer(lives[at->second], row);
      }
    }
  });
  return lives;
}

std::vector<SlowMessage> slowest(RunEvents& events, const PacketQuery& query, std::size_t count) {
  std::vector<SlowMessage> all;
  const auto slower = [](const SlowMessage& a, const SlowMessage& b) {
    return std::pair(b.cycles, a.packet) < std::pair(a.cycles, b.packet);
  };
  const auto add = [&](const SlowMessage& m) {
    if ((query.nic && *query.nic != m.nic) || (query.qp && *query.qp != m.qp) || count == 0) return;
    all.push_back(m);
    std::ranges::push_heap(all, slower);
    if (all.size() <= count) return;
    std::ranges::pop_heap(all, slower);
    all.pop_back();
  };
  events.for_each<CompletionRow>(EventTable::kCompletions, [&](const CompletionRow& row) {
    const bool good = row.status == static_cast<std::uint64_t>(WcStatus::kSuccess);
    if (!is_receive(row) || !good || row.begun == kNoTime || row.packet == 0) return;
    add({row.visible - row.begun, row.nic, row.packet, row.qp, false});
  });
  events.for_each<PacketRow>(EventTable::kPackets, [&](const PacketRow& row) {
    if (const auto cycles = write_cycles(row)) add({*cycles, row.nic, row.number, row.qp, true});
  });
  std::ranges::sort(all, slower);
  return all;
}

}  // namespace rxnic
