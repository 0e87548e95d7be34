// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/diagnose/both_ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <tuple>

#include "bridge/rxnic/output/progress.h"
#include "model/core/wire/icrc.h"
#include "model/system/units.h"
#include "traces/sniffer.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kNotThere = 0;

struct SeenPacket {
  std::uint64_t digest = 0;  // R1
  std::uint32_t flow = 0;
  std::uint32_t psn = 0;
  std::uint64_t number = 0, ps = 0;
};

struct MatchedPacket {
  std::uint32_t psn = 0;
  std::uint64_t number[2] = {kNotThere, kNotThere};
  std::uint64_t ps[2] = {0, 0};
};

std::uint64_t mixed(std::uint64_t digest, std::uint64_t word) {
  digest = (digest ^ word) * 0x9e3779b97f4a7c15u;
  return digest ^ digest >> 29;
}

// R1: what every capture holds of a packet, and no switch changes.
std::uint64_t headers_digest(const CapturedFrame& frame, const Headers& h) {
  std::uint64_t digest =
      mixed(std::uint64_t{h.udp_source_port} << 32 | std::uint64_t{h.ip_identification} << 16, h.payload_bytes);
  constexpr std::size_t kChangedByte = 4, kBthBytes = 12;  // of the BTH: bits that a switch may set
  for (std::size_t n = 0; n < kBthBytes; ++n) {
    if (n != kChangedByte) digest = mixed(digest, frame.bytes[h.bth_offset + n]);
  }
  return digest;
}

class BothEnds {
 public:
  BothEnds(const DiagnoseOptions& o, const std::string& second) : names_{o.capture, second} {
    for (std::size_t side = 0; side < 2; ++side) read(o, side);
    match();
  }

  void tell(Diagnosis& d) {
    std::map<std::pair<Address, Address>, std::vector<std::uint32_t>> by_addresses;
    std::uint64_t both = 0;
    for (std::uint32_t n = 0; n < flows_.size(); ++n) {
      by_addresses[{flows_[n].source, flows_[n].destination}].push_back(n);
      for (const MatchedPacket& p : matched_[n]) both += p.number[0] != kNotThere && p.number[1] != kNotThere;
    }
    if (both == 0) {
      d.notes.push_back(fmt::format("{} and {} have no packet in common: nothing is compared", names_[0], names_[1]));
      return;
    }
    d.notes.push_back(
        fmt::format("{} packets are in both captures; what else is found is of {}", count_text(both), names_[0]));
    for (const auto& [ends, flows] : by_addresses) tell_of(ends, flows, by_addresses, d);
  }

 private:
  void read(const DiagnoseOptions& o, std::size_t side) {
    CaptureReader reader(names_[side]);
    reader.fill_cut_payloads(&seal);
    reader.read_as_roce(o.udp_ports, &icrc_matches, &seal);
    Progress progress("compare", o.progress);
    for (CapturedFrame frame; reader.next(frame);) {
      if (frame.number % 4096 == 0) progress.update(reader.position(), reader.size(), names_[side]);
      if (frame.truncated && frame.filled_bytes == 0 && frame.wire_bytes <= kMaxFrameBytes) {  // cut in its headers
        padded_.assign(frame.bytes.begin(), frame.bytes.end());
        padded_.resize(frame.wire_bytes);
        frame.set_bytes(padded_);
      }
      if (frame.status != ParseStatus::kOk) continue;
      const Headers& h = frame.headers;
      const SniffedFlow flow{h.source, h.destination, h.destination_qp};
      const auto [place, fresh] = index_.try_emplace(flow, static_cast<std::uint32_t>(flows_.size()));
      if (fresh) flows_.push_back(flow);
      const std::uint64_t digest = headers_digest(frame, h);
      if (seen_[side].empty()) begin_ps_[side] = frame.time_ps;
      end_ps_[side] = frame.time_ps;
      seen_[side].push_back({digest, place->second, h.psn.value, frame.number, frame.time_ps});
    }
    if (reader.frames() == 0) throw TraceError(names_[side], 0, "no packet", "a capture with packets");
  }

  // R1: by flow, in no order of packets. Those that are there once go first: they show how the times differ.
  void match() {
    matched_.resize(flows_.size());
    const auto key = [](const SeenPacket& p) { return std::tuple(p.flow, p.digest); };
    for (std::vector<SeenPacket>& seen : seen_) std::ranges::stable_sort(seen, {}, key);
    std::vector<std::array<std::size_t, 4>> several;  // first and last of a group in each capture
    std::size_t first = 0, second = 0;
    while (first < seen_[0].size() || second < seen_[1].size()) {
      const bool only_second =
          first == seen_[0].size() || (second < seen_[1].size() && key(seen_[1][second]) < key(seen_[0][first]));
      const auto of = only_second ? key(seen_[1][second]) : key(seen_[0][first]);
      const std::size_t from[2] = {first, second};
      while (first < seen_[0].size() && key(seen_[0][first]) == of) ++first;
      while (second < seen_[1].size() && key(seen_[1][second]) == of) ++second;
      if (first - from[0] == 1 && second - from[1] == 1) {
        add(&seen_[0][from[0]], &seen_[1][from[1]]);
      } else {
        several.push_back({from[0], first, from[1], second});
      }
    }
    std::map<std::pair<Address, Address>, std::vector<std::int64_t>> differences;
    for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
      for (const MatchedPacket& p : matched_[flow]) {
        differences[{flows_[flow].source, flows_[flow].destination}].push_back(difference_of(p));
      }
    }
    for (auto& [ends, all] : differences) std::ranges::sort(all);
    for (const auto& [from, to, second_from, second_to] : several) {
      const SniffedFlow& flow = flows_[from < to ? seen_[0][from].flow : seen_[1][second_from].flow];
      const auto found = differences.find({flow.source, flow.destination});
      const bool known = found != differences.end();
      match_group({seen_[0].data() + from, to - from}, {seen_[1].data() + second_from, second_to - second_from}, known,
                  known ? found->second[found->second.size() / 2] : 0);
    }
    for (std::vector<SeenPacket>& seen : seen_) seen = {};
  }

  // Equal packets, such as a request and its repeats, in the order of time. `usual`: how much later the second capture
  // has a packet; when that is not `known`, the n-th belongs to the n-th.
  void match_group(std::span<const SeenPacket> first, std::span<const SeenPacket> second, bool known,
                   std::int64_t usual) {
    const auto off = [usual](const SeenPacket& a, const SeenPacket& b) {
      return std::abs(static_cast<std::int64_t>(b.ps) - static_cast<std::int64_t>(a.ps) - usual);
    };
    while (!first.empty() && !second.empty()) {
      if (known && first.size() > 1 && off(first[1], second[0]) < off(first[0], second[0])) {
        add(&first[0], nullptr);
        first = first.subspan(1);
      } else if (known && second.size() > 1 && off(first[0], second[1]) < off(first[0], second[0])) {
        add(nullptr, &second[0]);
        second = second.subspan(1);
      } else {
        add(&first[0], &second[0]);
        first = first.subspan(1);
        second = second.subspan(1);
      }
    }
    for (const SeenPacket& p : first) add(&p, nullptr);
    for (const SeenPacket& p : second) add(nullptr, &p);
  }

  void add(const SeenPacket* first, const SeenPacket* second) {
    MatchedPacket m;
    const SeenPacket* const seen[2] = {first, second};
    for (std::size_t side = 0; side < 2; ++side) {
      if (seen[side] == nullptr) continue;
      m.psn = seen[side]->psn;
      m.number[side] = seen[side]->number;
      m.ps[side] = seen[side]->ps;
    }
    matched_[(first != nullptr ? first : second)->flow].push_back(m);
  }

  static std::int64_t difference_of(const MatchedPacket& p) {
    return static_cast<std::int64_t>(p.ps[1]) - static_cast<std::int64_t>(p.ps[0]);
  }

  // What the second capture's time of a packet is more than the first one's.
  struct Differences {
    std::int64_t least = 0, median = 0, most = 0;
  };
  std::optional<Differences> differences(const std::vector<std::uint32_t>& flows) const {
    std::vector<std::int64_t> all;
    for (const std::uint32_t flow : flows) {
      for (const MatchedPacket& p : matched_[flow]) {
        if (p.number[0] == kNotThere || p.number[1] == kNotThere) continue;
        all.push_back(difference_of(p));
      }
    }
    if (all.empty()) return std::nullopt;
    std::ranges::sort(all);
    return Differences{all.front(), all[all.size() / 2], all.back()};
  }

  void tell_of(const std::pair<Address, Address>& ends, const std::vector<std::uint32_t>& flows,
               const std::map<std::pair<Address, Address>, std::vector<std::uint32_t>>& all, Diagnosis& d) {
    const std::optional<Differences> there = differences(flows);
    if (!there) return;
    const auto back_flows = all.find({ends.second, ends.first});
    const std::optional<Differences> back = back_flows == all.end() ? std::nullopt : differences(back_flows->second);
    const bool forward = !back || there->median >= back->median;  // R2
    std::int64_t offset = there->least;
    if (back) offset = forward ? (there->least + back->most) / 2 : (there->most + back->least) / 2;
    const std::size_t near = forward ? 0 : 1, far = 1 - near;
    std::vector<std::uint64_t> delays;
    for (const std::uint32_t flow : flows) {
      for (const MatchedPacket& p : matched_[flow]) {
        if (p.number[0] == kNotThere || p.number[1] == kNotThere) continue;
        const std::int64_t difference = difference_of(p) - offset;
        delays.push_back(static_cast<std::uint64_t>(std::max<std::int64_t>(forward ? difference : -difference, 0)));
      }
      tell_of_flow(flow, near, far, offset, d);
    }
    std::ranges::sort(delays);
    d.notes.push_back(
        fmt::format("{} packets from {} to {} took {} at least, {} in the median, {} at most from {} to {}{}",
                    count_text(delays.size()), ends.first.text(), ends.second.text(), time_text(delays.front()),
                    time_text(delays[delays.size() / 2]), time_text(delays.back()), names_[near], names_[far],
                    back ? ", with both directions equally fast at best"
                         : ", counted from the fastest one: the clocks cannot be compared"));
  }

  void tell_of_flow(std::uint32_t flow, std::size_t near, std::size_t far, std::int64_t offset, Diagnosis& d) const {
    const auto on_first = [offset](std::size_t side, std::uint64_t ps) {  // times on the clock of the first capture
      return static_cast<std::int64_t>(ps) - (side == 1 ? offset : 0);
    };
    // R3
    const std::int64_t from = std::max(on_first(0, begin_ps_[0]), on_first(1, begin_ps_[1]));
    const std::int64_t to = std::min(on_first(0, end_ps_[0]), on_first(1, end_ps_[1]));
    std::vector<const MatchedPacket*> lost, unseen, overtaken;
    std::uint64_t furthest = 0;
    std::vector<const MatchedPacket*> in_order;
    for (const MatchedPacket& p : matched_[flow]) {
      const std::size_t side = p.number[near] != kNotThere ? near : far;
      const std::int64_t at = on_first(side, p.ps[side]);
      if (p.number[0] == kNotThere || p.number[1] == kNotThere) {
        if (at >= from && at <= to) (side == near ? lost : unseen).push_back(&p);
      } else {
        in_order.push_back(&p);
      }
    }
    std::ranges::sort(in_order, {}, [near](const MatchedPacket* p) { return p->number[near]; });
    for (const MatchedPacket* p : in_order) {  // R4
      if (p->number[far] < furthest) overtaken.push_back(p);
      furthest = std::max(furthest, p->number[far]);
    }
    add(flow, FindingCause::kLostBetween, Weight::kCostsTime, near, lost,
        fmt::format("{} holds what {} lacks: lost between the two", names_[near], names_[far]), d);
    add(flow, FindingCause::kLostBySniffer, Weight::kHint, far, unseen,
        fmt::format("only {} holds what passed {} before: lost by that sniffer", names_[far], names_[near]), d);
    add(flow, FindingCause::kOvertakenBetween, Weight::kCostsTime, near, overtaken,
        fmt::format("{} has them in another order than {}", names_[far], names_[near]), d);
  }

  void add(std::uint32_t flow, FindingCause cause, Weight weight, std::size_t side,
           std::vector<const MatchedPacket*>& packets, const std::string& what, Diagnosis& d) const {
    if (packets.empty()) return;
    std::ranges::sort(packets, {}, [side](const MatchedPacket* p) { return p->number[side]; });
    Finding f;
    f.cause = cause;
    f.weight = weight;
    f.qp = flows_[flow].qpn;
    f.requester = flows_[flow].source.text();
    f.responder = flows_[flow].destination.text();
    f.count = packets.size();
    f.psn = Psn{packets.front()->psn};
    f.from_ps = packets.front()->ps[side];
    std::string psns;
    for (const MatchedPacket* p : packets) {
      if (f.packets.size() < Finding::kMostPackets) f.packets.push_back(p->number[side]);
      if (f.packets.size() <= 8) psns += fmt::format("{}{}", psns.empty() ? "" : ", ", p->psn);
    }
    f.words = fmt::format("packets to QP {:#x} at {} (from {}): {} of them, PSN{} {}{}: {}; numbers are those of {}",
                          raw(*f.qp), f.responder, f.requester, f.count, f.count == 1 ? "" : "s", psns,
                          f.count > 8 ? "..." : "", what, names_[side]);
    d.findings.push_back(std::move(f));
  }

  std::string names_[2];
  std::vector<std::uint8_t> padded_;  // working space
  std::map<SniffedFlow, std::uint32_t> index_;
  std::vector<SniffedFlow> flows_;
  std::vector<SeenPacket> seen_[2];
  std::uint64_t begin_ps_[2] = {0, 0}, end_ps_[2] = {0, 0};
  std::vector<std::vector<MatchedPacket>> matched_;  // by flow
};

}  // namespace

void compare_ends(const DiagnoseOptions& o, const std::string& second, Diagnosis& d) {
  BothEnds ends(o, second);
  d.captures.push_back(second);
  ends.tell(d);
}

}  // namespace rxnic
