// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/diagnose/link_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bridge/rxnic/diagnose/occurrence_words.h"
#include "model/system/units.h"
#include "model/types/syndrome.h"

namespace rxnic {

namespace {

constexpr std::size_t kMostTimeline = 4096;

using Mac = std::array<std::uint8_t, 6>;

// The pauses of one sender and priority. A pause lasts from its first frame until its time is over or a frame ends it.
struct Pauses {
  std::uint64_t count = 0, frames = 0, total_ps = 0;
  std::uint64_t longest_ps = 0, longest_from_ps = 0;
  std::uint64_t first_ps = 0, from_ps = 0, until_ps = 0;  // the one at hand
  bool running = false, resumed = false;                  // the last one was ended by a frame
  std::vector<std::uint64_t> packets;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;  // the first ones

  void end(std::uint64_t at_ps) {
    if (!running) return;
    running = false;
    const std::uint64_t lasted = at_ps - from_ps;
    total_ps += lasted;
    if (spans.size() < 64) spans.emplace_back(from_ps, at_ps);
    if (lasted <= longest_ps) return;
    longest_ps = lasted;
    longest_from_ps = from_ps;
  }
  void add(const PauseFrame& f, std::uint64_t quantum_ps) {
    if (running && until_ps < f.time_ps) end(until_ps);
    if (!running && f.quanta == 0) return;
    if (!running) {
      running = true;
      from_ps = f.time_ps;
      if (count++ == 0) first_ps = from_ps;
    }
    ++frames;
    if (packets.size() < Finding::kMostPackets) packets.push_back(f.number);
    until_ps = f.time_ps + f.quanta * quantum_ps;
    resumed = f.quanta == 0;
    if (resumed) end(f.time_ps);
  }
};

std::string mac_text(const Mac& m) {
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", m[0], m[1], m[2], m[3], m[4], m[5]);
}

std::string pause_of(std::uint8_t priority) {
  return priority == CaptureCensus::kLinkPause ? "all of the link" : fmt::format("priority {}", priority);
}

// "7 CE marks from 1.00 us to 5.00 us"
std::string marks_text(const Marks& marks, const char* what) {
  if (marks.count == 1) return fmt::format("1 {} at {}", what, time_text(marks.first.ps));
  return fmt::format("{} {}s from {} to {}", marks.count, what, time_text(marks.first.ps), time_text(marks.last.ps));
}

std::string pkey_text(std::uint16_t pkey) {
  return fmt::format("{:#06x} ({} member)", pkey, (pkey & ~kPkeyBase & 0xffff) != 0 ? "full" : "limited");
}

}  // namespace

void find_congestion(const Connections& connections, const std::vector<PauseFrame>& pauses, Diagnosis& d) {
  constexpr std::uint64_t kTimeForCnpPs = 100'000'000;
  for (const Direction& q : connections.directions()) {
    const std::pair<const Marks*, const char*> all[] = {
        {&q.marks(), "CE"}, {&q.response_marks(), "CE"}, {&q.cnps(), "CNP"}, {&q.cnps_to_responder(), "CNP"}};
    Finding f = finding_of(q, FindingCause::kCongestion, Weight::kCostsTime);
    f.from_ps = ~std::uint64_t{0};
    for (const auto& [marks, kind] : all) {
      if (marks->count == 0) continue;
      f.count += marks->count;
      f.from_ps = std::min(f.from_ps, marks->first.ps);
      const std::vector<std::uint64_t> packets = marks->packets();
      f.packets.insert(f.packets.end(), packets.begin(), packets.end());
      d.timeline_left_out += marks->count - marks->kept.size();
      for (const At& at : marks->kept) d.timeline.push_back({at.ps, at.number, kind, q.ends().qpn});
    }
    if (f.count == 0) continue;
    std::ranges::sort(f.packets);
    if (f.packets.size() > Finding::kMostPackets) f.packets.resize(Finding::kMostPackets);
    std::vector<std::string> words;
    const Marks &ce = q.marks(), &response_ce = q.response_marks();
    if (ce.count != 0) words.push_back(fmt::format("{} on {} requests", marks_text(ce, "CE mark"), q.requests()));
    if (response_ce.count != 0) words.push_back(marks_text(response_ce, "CE mark") + " on its answers");
    if (q.cnps().count != 0) words.push_back(fmt::format("{} to {}", marks_text(q.cnps(), "CNP"), f.requester));
    if (q.cnps_to_responder().count != 0) {
      words.push_back(fmt::format("{} to {}", marks_text(q.cnps_to_responder(), "CNP"), f.responder));
    }
    if (ce.count == 0 && response_ce.count == 0)
      words.push_back("no CE mark in the capture: marked behind the sniffer");
    const bool answered = q.responses() != 0 && ce.count != 0 && ce.last.ps + kTimeForCnpPs < d.duration_ps;
    if (answered && q.cnps().count == 0) words.push_back(fmt::format("no CNP of {} was captured", f.responder));
    std::string text;
    for (const std::string& one : words) text += (text.empty() ? "" : ", ") + one;
    f.words = fmt::format("{}: {}", direction_text(q.ends()), text);
    d.findings.push_back(std::move(f));
  }
  for (const auto& [flow, cnp] : connections.other_cnps()) {
    Finding f;
    f.cause = FindingCause::kCongestion;
    f.qp = flow.qpn;
    f.requester = flow.destination.text();
    f.responder = flow.source.text();
    f.count = cnp.count;
    f.packets = cnp.packets();
    f.from_ps = cnp.first.ps;
    f.words = fmt::format("{} from {} to QP {:#x} at {}, whose partner the capture does not show",
                          marks_text(cnp, "CNP"), f.responder, raw(flow.qpn), f.requester);
    for (const At& at : cnp.kept) d.timeline.push_back({at.ps, at.number, "CNP", flow.qpn});
    d.findings.push_back(std::move(f));
  }
  for (const PauseFrame& p : pauses) {
    d.timeline.push_back({p.time_ps, p.number, p.quanta == 0 ? "resume" : "pause", std::nullopt});
  }
  std::ranges::stable_sort(d.timeline, {}, &CongestionEvent::packet);
  if (d.timeline.size() > kMostTimeline) {
    d.timeline_left_out += d.timeline.size() - kMostTimeline;
    d.timeline.resize(kMostTimeline);
  }
}

void find_pauses(const Connections& connections, const std::vector<PauseFrame>& pauses, std::uint64_t quantum_ps,
                 Diagnosis& d) {
  std::map<std::pair<Mac, std::uint8_t>, Pauses> all;
  for (const PauseFrame& f : pauses) all[{f.sender, f.priority}].add(f, quantum_ps);
  for (auto& [of, p] : all) {
    p.end(std::min(p.until_ps, std::max(d.duration_ps, p.from_ps)));
    if (p.count == 0) continue;
    std::size_t active = 0;
    for (const Direction& q : connections.directions()) {
      active += q.requests() != 0 && std::ranges::any_of(p.spans, [&q](const auto& span) {
                  return q.first().ps <= span.second && q.last().ps >= span.first;
                });
    }
    Finding f;
    f.cause = FindingCause::kPause;
    f.weight = active == 0 ? Weight::kHint : Weight::kCostsTime;
    f.packets = p.packets;
    f.count = p.count;
    f.from_ps = p.first_ps;
    f.stalled_ps = p.total_ps;
    const std::string who = fmt::format("{} pauses {}", mac_text(of.first), pause_of(of.second));
    const std::string frames = fmt::format("{} frame{}", p.frames, p.frames == 1 ? "" : "s");
    const std::string qps = active == 0
                                ? "no QP had requests around that time"
                                : fmt::format("{} QP{} had requests around that time", active, active == 1 ? "" : "s");
    if (p.count == 1) {
      f.words = fmt::format(
          "{} from {} (packet {}) for {}, by {}, {}; {}", who, time_text(p.first_ps), p.packets.front(),
          time_text(p.total_ps), frames,
          p.resumed ? fmt::format("until packet {} ended it", p.packets.back()) : "until its time was over", qps);
    } else {
      f.words =
          fmt::format("{} {} times for {} in all, by {}, the first time at {} (packet {}), for longest {} at {}; {}",
                      who, p.count, time_text(p.total_ps), frames, time_text(p.first_ps), p.packets.front(),
                      time_text(p.longest_ps), time_text(p.longest_from_ps), qps);
    }
    d.findings.push_back(std::move(f));
  }
}

void find_orphan_naks(const Connections& connections, Diagnosis& d) {
  for (const auto& [flow, naks] : connections.orphan_naks()) {
    for (const auto& [syndrome, marks] : naks) {
      const bool rnr = ack_kind(syndrome) == AckKind::kRnrNak;
      Finding f;
      f.cause = rnr                               ? FindingCause::kRnr
                : syndrome == kNakSequence        ? FindingCause::kLostBehindSniffer
                : syndrome == kNakInvalidRequest  ? FindingCause::kInvalidRequest
                : syndrome == kNakRemoteAccess    ? FindingCause::kRemoteAccess
                : syndrome == kNakRemoteOperation ? FindingCause::kRemoteOperation
                                                  : FindingCause::kOtherNak;
      f.weight = rnr || syndrome == kNakSequence ? Weight::kCostsTime : Weight::kFatal;
      f.qp = flow.qpn;
      f.requester = flow.destination.text();
      f.responder = flow.source.text();
      f.count = marks.count;
      f.packets = marks.packets();
      f.from_ps = marks.first.ps;
      f.words = fmt::format(
          "{} to QP {:#x} at {}, whose requests the capture does not hold: {} refused them ({}); where and why is not "
          "known",
          marks_text(marks, rnr ? "RNR NAK" : fmt::format("NAK {:#x}", syndrome).c_str()), raw(flow.qpn), f.requester,
          f.responder, rnr ? "no receive was posted" : title_of(f.cause));
      if (syndrome == kNakSequence) {
        f.words = fmt::format("{} to QP {:#x} at {}, whose requests the capture does not hold: {} lacks PSNs of them",
                              marks_text(marks, "NAK 0x60"), raw(flow.qpn), f.requester, f.responder);
      }
      d.findings.push_back(std::move(f));
    }
  }
}

namespace {

// A P_Key that the responder does not have. When it answers, or nothing came again, that is not known.
void find_pkey(const Direction& q, const std::map<Address, std::map<std::uint16_t, std::uint64_t>>& pkeys,
               Diagnosis& d) {
  std::optional<std::uint16_t> theirs = q.responder_pkey();
  if (!theirs) {
    const auto found = pkeys.find(q.ends().responder);
    if (found != pkeys.end() && found->second.size() == 1) theirs = found->second.begin()->first;
  }
  if (!theirs || (q.pkey() & kPkeyBase) == 0 || (*theirs & kPkeyBase) == 0) return;
  const bool limited = ((q.pkey() | *theirs) & ~kPkeyBase & 0xffff) == 0;
  if ((q.pkey() & kPkeyBase) == (*theirs & kPkeyBase) && !limited) return;
  Finding f = finding_of(q, FindingCause::kPkey, q.responses() == 0 ? Weight::kFatal : Weight::kHint);
  const auto unanswered = std::ranges::find_if(d.findings, [&f](const Finding& other) {
    return (other.cause == FindingCause::kNoAnswer || other.cause == FindingCause::kAckTimeout) && other.qp == f.qp &&
           other.responder == f.responder && other.requester == f.requester;
  });
  if (q.responses() == 0) {
    if (unanswered == d.findings.end()) return;
    f.packets = unanswered->packets;
    f.stalled_ps = unanswered->stalled_ps;
    d.findings.erase(unanswered);
  }
  f.packets.insert(f.packets.begin(), q.first().number);
  std::ranges::sort(f.packets);
  f.packets.erase(std::unique(f.packets.begin(), f.packets.end()), f.packets.end());
  f.count = q.requests();
  f.from_ps = q.first().ps;
  f.words =
      fmt::format("{}: {} with P_Key {}, {} sends {}: {}{}", direction_text(q.ends()),
                  q.requests() == 1 ? "1 request" : fmt::format("{} requests", q.requests()), pkey_text(q.pkey()),
                  f.responder, pkey_text(*theirs),
                  limited ? "two limited members cannot talk to each other" : "a NIC without this P_Key drops them",
                  q.responses() == 0 ? "; none was answered" : "; they were answered");
  d.findings.push_back(std::move(f));
}

}  // namespace

void find_keys(const Connections& connections, Diagnosis& d) {
  // What each address sends by itself, and the Q_Keys that come to each QP.
  std::map<Address, std::map<std::uint16_t, std::uint64_t>> pkeys;
  std::map<std::pair<Address, std::uint32_t>, std::map<std::uint32_t, std::uint64_t>> qkeys;
  for (const Direction& q : connections.directions()) {
    if (q.responder_pkey()) pkeys[q.ends().responder][*q.responder_pkey()] += q.responses();
    for (const auto& [qkey, marks] : q.qkeys()) {
      qkeys[{q.ends().responder, raw(q.ends().qpn)}][qkey] += marks.count;
    }
  }
  for (const Direction& q : connections.directions()) {
    if (q.requests() == 0) continue;
    find_pkey(q, pkeys, d);
    if (q.qkeys().empty()) continue;
    const auto& used = qkeys[{q.ends().responder, raw(q.ends().qpn)}];
    const auto most = std::ranges::max_element(used, {}, [](const auto& k) { return k.second; });
    for (const auto& [qkey, marks] : q.qkeys()) {
      if (qkey == most->first || used.at(qkey) >= most->second) continue;
      Finding f = finding_of(q, FindingCause::kQkey, Weight::kCostsTime);
      f.count = marks.count;
      f.packets = marks.packets();
      f.from_ps = marks.first.ps;
      f.words = fmt::format(
          "{}: {} datagram{} with Q_Key {:#x}, {} to this QP have {:#x}: dropped in silence when that is the right one",
          direction_text(q.ends()), marks.count, marks.count == 1 ? "" : "s", qkey, most->second, most->first);
      d.findings.push_back(std::move(f));
    }
  }
}

void find_keep_alive(const Connections& connections, Diagnosis& d) {
  for (const Direction& q : connections.directions()) {
    if (!q.only_empty() || q.ends().transport == Transport::kUd) continue;
    Finding f = finding_of(q, FindingCause::kKeepAlive, Weight::kHint);
    f.count = q.requests();
    f.packets = {q.first().number, q.last().number};
    f.from_ps = q.first().ps;
    f.words = fmt::format("{}: all {} requests, from packet {} to {}, are empty: the connection is only kept alive",
                          direction_text(q.ends()), q.requests(), q.first().number, q.last().number);
    d.findings.push_back(std::move(f));
  }
}

void note_sniffer(const SnifferEffects& effects, Diagnosis& d) {
  const auto add = [&d](FindingCause cause, std::uint64_t count, std::vector<std::uint64_t> packets,
                        std::string words) {
    Finding f;
    f.cause = cause;
    f.weight = Weight::kHint;
    f.count = count;
    f.packets = std::move(packets);
    f.words = std::move(words);
    d.findings.push_back(std::move(f));
  };
  if (effects.copies != 0) {
    add(FindingCause::kCopies, effects.copies, {},
        fmt::format("{} of {} packets were captured twice (a mirror of both ports, or two interfaces): no repeats",
                    effects.copies, d.packets));
  }
  if (!effects.moves.empty()) {
    std::vector<std::uint64_t> packets;
    for (const SnifferEffects::Move& m : effects.moves) {
      if (packets.size() < Finding::kMostPackets) packets.push_back(m.first);
    }
    add(FindingCause::kReordered, effects.moves.size(), std::move(packets),
        fmt::format(
            "{} packet{} overtaken within microseconds, first packet {}: by the sniffer, or on the way to a NIC "
            "that takes them so",
            effects.moves.size(), effects.moves.size() == 1 ? " was" : "s were", effects.moves.front().first));
  }
  if (effects.one_in != 0) {
    std::erase_if(d.findings, [](const Finding& f) {
      return f.cause == FindingCause::kPsnGap || f.cause == FindingCause::kLostBySniffer ||
             f.cause == FindingCause::kUcLoss;
    });
    add(FindingCause::kSampled, 0, {},
        fmt::format("the capture looks like 1-in-{} sampling: missing PSNs are no losses", effects.one_in));
  }
  for (const SnifferEffects::NewConnection& c : effects.restarts) {
    d.notes.push_back(
        fmt::format("QP {:#x} at {}: a new connection from packet {} on, with a QPN that was in use before",
                    raw(c.flow.qpn), c.flow.destination.text(), c.packet));
    if (d.notes.size() > 64) break;
  }
}

}  // namespace rxnic
