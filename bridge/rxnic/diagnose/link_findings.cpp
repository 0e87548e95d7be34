// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/diagnose/link_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bridge/rxnic/diagnose/incident_words.h"
#include "model/system/units.h"

namespace rxnic {

namespace {

constexpr std::size_t kMostTimeline = 4096;

// One pause: from the first frame until its time is over or a frame ends it.
struct PauseSpan {
  std::uint8_t priority = 0;
  std::uint64_t from_ps = 0, until_ps = 0;
  std::vector<std::uint64_t> packets;
  bool resumed = false;
};

std::vector<PauseSpan> spans_of(const std::vector<PauseFrame>& frames, std::uint64_t quantum_ps) {
  std::vector<PauseSpan> all;
  std::array<std::ptrdiff_t, CaptureCensus::kPriorities + 1> open;
  open.fill(-1);
  for (const PauseFrame& f : frames) {
    std::ptrdiff_t& at = open[f.priority];
    if (at >= 0 && all[static_cast<std::size_t>(at)].until_ps < f.time_ps) at = -1;  // its time was over
    if (at < 0) {
      if (f.quanta == 0) continue;
      at = static_cast<std::ptrdiff_t>(all.size());
      all.push_back({f.priority, f.time_ps, 0, {}, false});
    }
    PauseSpan& span = all[static_cast<std::size_t>(at)];
    span.packets.push_back(f.number);
    span.until_ps = f.time_ps + f.quanta * quantum_ps;
    span.resumed = f.quanta == 0;
    if (span.resumed) at = -1;
  }
  return all;
}

std::string pause_of(std::uint8_t priority) {
  return priority == CaptureCensus::kLinkPause ? "all of the link" : fmt::format("priority {}", priority);
}

// "7 packets marked CE from 1.00 us to 5.00 us"
std::string marks_text(const Marks& marks, const char* what) {
  return fmt::format("{} {}{} from {} to {}", marks.count, what, marks.count == 1 ? "" : "s", time_text(marks.first.ps),
                     time_text(marks.last.ps));
}

std::string pkey_text(std::uint16_t pkey) {
  return fmt::format("{:#06x} ({} member)", pkey, (pkey & ~kPkeyBase & 0xffff) != 0 ? "full" : "limited");
}

}  // namespace

void find_congestion(const Connections& connections, const std::vector<PauseFrame>& pauses, Diagnosis& d) {
  for (const Direction& q : connections.directions()) {
    const Marks &ce = q.marks(), &cnp = q.cnps();
    if (ce.count == 0 && cnp.count == 0) continue;
    Finding f = finding_of(q, FindingCause::kCongestion, Weight::kCostsTime);
    f.count = ce.count + cnp.count;
    f.from_ps = ce.count == 0 ? cnp.first.ps : cnp.count == 0 ? ce.first.ps : std::min(ce.first.ps, cnp.first.ps);
    std::ranges::merge(ce.packets, cnp.packets, std::back_inserter(f.packets));
    if (f.packets.size() > Finding::kMostPackets) f.packets.resize(Finding::kMostPackets);
    std::string words;
    if (ce.count != 0) words = fmt::format("{} of {} requests", marks_text(ce, "CE mark"), q.requests());
    if (cnp.count != 0) {
      words += fmt::format("{}{} to {}", words.empty() ? "" : ", ", marks_text(cnp, "CNP"), f.requester);
    }
    if (ce.count == 0) words += ": marked behind the sniffer";
    if (cnp.count == 0)
      words += fmt::format("; no CNP of {} in the capture: the sender is not slowed down", f.responder);
    f.words = fmt::format("{}: {}", direction_text(q.ends()), words);
    for (const auto& [marks, kind] : {std::pair(&ce, "ce"), std::pair(&cnp, "cnp")}) {
      d.timeline_left_out += marks->count - marks->packets.size();
      for (const std::uint64_t packet : marks->packets) d.timeline.push_back({0, packet, kind, q.ends().qpn});
    }
    d.findings.push_back(std::move(f));
  }
  for (const auto& [flow, cnp] : connections.other_cnps()) {
    Finding f;
    f.cause = FindingCause::kCongestion;
    f.qp = flow.qpn;
    f.requester = flow.destination.text();
    f.responder = flow.source.text();
    f.count = cnp.count;
    f.packets = cnp.packets;
    f.from_ps = cnp.first.ps;
    f.words = fmt::format("{} from {} to QP {:#x} at {}, whose partner the capture does not show",
                          marks_text(cnp, "CNP"), f.responder, raw(flow.qpn), f.requester);
    for (const std::uint64_t packet : cnp.packets) d.timeline.push_back({0, packet, "cnp", flow.qpn});
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
  for (const PauseSpan& span : spans_of(pauses, quantum_ps)) {
    Finding f;
    f.cause = FindingCause::kPause;
    f.packets = span.packets;
    if (f.packets.size() > Finding::kMostPackets) f.packets.resize(Finding::kMostPackets);
    f.count = span.packets.size();
    f.from_ps = span.from_ps;
    f.stalled_ps = span.until_ps - span.from_ps;
    std::size_t active = 0;
    for (const Direction& q : connections.directions()) {
      active += q.first().ps <= span.until_ps && q.last().ps >= span.from_ps;
    }
    f.words = fmt::format(
        "{} paused from {} (packet {}) for {}, by {} frame{}, {}; {} QP{} had requests around that time",
        pause_of(span.priority), time_text(span.from_ps), span.packets.front(), time_text(f.stalled_ps), f.count,
        f.count == 1 ? "" : "s",
        span.resumed ? fmt::format("until packet {} ended it at {}", span.packets.back(), time_text(span.until_ps))
                     : "until its time was over",
        active, active == 1 ? "" : "s");
    d.findings.push_back(std::move(f));
  }
}

void find_keys(const Connections& connections, Diagnosis& d) {
  // What each address sends by itself, and to each QP the most frequent Q_Key.
  std::map<Address, std::map<std::uint16_t, std::uint64_t>> pkeys;
  std::map<std::pair<Address, std::uint32_t>, std::map<std::uint32_t, std::uint64_t>> qkeys;
  for (const Direction& q : connections.directions()) {
    if (q.responder_pkey()) pkeys[q.ends().responder][*q.responder_pkey()] += q.responses();
    if (q.ends().transport == Transport::kUd) {
      qkeys[{q.ends().responder, raw(q.ends().qpn)}][q.qkey()] += q.requests();
    }
  }
  for (const Direction& q : connections.directions()) {
    if (q.requests() == 0) continue;
    std::optional<std::uint16_t> theirs = q.responder_pkey();
    if (!theirs) {
      if (const auto found = pkeys.find(q.ends().responder); found != pkeys.end() && found->second.size() == 1) {
        theirs = found->second.begin()->first;
      }
    }
    const bool none = !theirs || (q.pkey() & kPkeyBase) == 0 || (*theirs & kPkeyBase) == 0;
    const bool limited = !none && ((q.pkey() | *theirs) & ~kPkeyBase & 0xffff) == 0;
    if (!none && ((q.pkey() & kPkeyBase) != (*theirs & kPkeyBase) || limited)) {
      Finding f = finding_of(q, FindingCause::kPkey, q.responses() == 0 ? Weight::kFatal : Weight::kHint);
      f.count = q.requests();
      f.packets = {q.first().number};
      f.from_ps = q.first().ps;
      f.words = fmt::format("{}: {} with P_Key {}, {} sends {}: {}{}", direction_text(q.ends()),
                            q.requests() == 1 ? "1 request" : fmt::format("{} requests", q.requests()),
                            pkey_text(q.pkey()), f.responder, pkey_text(*theirs),
                            limited ? "two limited members cannot talk to each other" : "it drops them in silence",
                            q.responses() == 0 ? "; none was answered" : "; they were answered");
      std::erase_if(d.findings, [&f](const Finding& other) {
        return other.cause == FindingCause::kNoAnswer && other.qp == f.qp && other.responder == f.responder &&
               other.requester == f.requester;
      });
      d.findings.push_back(std::move(f));
    }
    if (q.ends().transport != Transport::kUd) continue;
    const auto& used = qkeys[{q.ends().responder, raw(q.ends().qpn)}];
    const auto most = std::ranges::max_element(used, {}, [](const auto& k) { return k.second; });
    if (used.size() < 2 || most->first == q.qkey() || most->second <= q.requests()) continue;
    Finding f = finding_of(q, FindingCause::kQkey, Weight::kCostsTime);
    f.count = q.requests();
    f.packets = {q.first().number};
    f.from_ps = q.first().ps;
    f.words = fmt::format(
        "{}: {} datagrams with Q_Key {:#x}, others to this QP have {:#x}: dropped in silence when that is "
        "the right one",
        direction_text(q.ends()), q.requests(), q.qkey(), most->first);
    d.findings.push_back(std::move(f));
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
