// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/capture/capture_facts.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "model/types/syndrome.h"

namespace rxnic {

namespace {

const char* nak_name(std::uint8_t syndrome) {
  if (ack_kind(syndrome) == AckKind::kRnrNak) return "rnr";
  switch (syndrome) {
    case kNakSequence:
      return "sequence";
    case kNakInvalidRequest:
      return "invalid_request";
    case kNakRemoteAccess:
      return "remote_access";
    case kNakRemoteOperation:
      return "remote_operational";
    default:
      return "other";
  }
}

const char* transport_name(Transport t) {
  constexpr std::array kNames{"RC", "UC", "RD", "UD", "CNP", "XRC"};
  const auto at = static_cast<std::size_t>(t);
  return at < kNames.size() ? kNames[at] : "none";
}

std::string counted(std::uint64_t n, const std::string& what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::uint64_t take_out(std::vector<NamedCount>& counts, const std::string& name) {
  for (auto& [key, value] : counts) {
    if (key == name) return std::exchange(value, 0);
  }
  return 0;
}

}  // namespace

ChosenPairs parse_pairs(const std::string& text) {
  ChosenPairs pairs;
  const auto refuse = [](const std::string& found, const char* expected) {
    throw std::invalid_argument(fmt::format("--pair: found '{}'; expected {}", found, expected));
  };
  const auto number = [&](const std::string& digits) {
    const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
    std::uint32_t n = 0;
    const char* const end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data() + (hex ? 2 : 0), end, n, hex ? 16 : 10);
    if (error != std::errc{} || at != end || n > k24Bits) refuse(digits, "a QP number, such as 0x11 or 17");
    return n;
  };
  for (std::size_t at = 0; at < text.size() || (at != 0 && text.back() == ',');) {
    const std::string one = text.substr(at, text.find(',', at) - at);
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos) refuse(one, "QP=PEER_QP,...");
    const std::uint32_t own = number(one.substr(0, equals)), peer = number(one.substr(equals + 1));
    if (!pairs.emplace(own, peer).second) refuse(one, "each QP of the receiver once");
    if (at + one.size() == text.size()) break;
    at += one.size() + 1;
  }
  return pairs;
}

void check_pairs(const ChosenPairs& pairs, const ReceiverSurvey& seen) {
  for (const auto& [own, peer] : pairs) {
    std::string known;
    bool found = false;
    for (const SurveyedQp& qp : seen.qps) {
      if (!is_reliable(qp.transport) && qp.transport != Transport::kUc) continue;
      found |= raw(qp.qpn) == own;
      if (known.size() < 200) known += fmt::format("{}{:#x}", known.empty() ? "" : ", ", raw(qp.qpn));
    }
    if (found) continue;
    throw std::invalid_argument(fmt::format("--pair: found {:#x}={:#x}; expected a connected QP of the receiver: {}",
                                            own, peer, known.empty() ? "it has none" : known));
  }
}

CapturedQp captured_qp(const SurveyedQp& q) {
  CapturedQp c{raw(q.qpn),
               q.peer.text(),
               raw(q.peer_qpn),
               paired_by_name(q.paired_by),
               q.ambiguous,
               transport_name(q.transport),
               q.mtu,
               q.requests,
               q.repetitions,
               q.psns_missing,
               q.network_losses,
               {}};
  for (const SurveyedNak& n : q.naks) c.naks.push_back({nak_name(n.syndrome), n.psn.value, n.packets});
  return c;
}

void report_sniffer(const SnifferEffects& effects, const WireSource& source, RunResult& r) {
  SnifferResult& s = r.sniffer;
  const auto warn = [&r](std::string text) { r.warnings.push_back(std::move(text)); };
  if (s.copies != 0) {
    warn(
        fmt::format("the capture holds duplicates, packets that were captured twice (a mirror of both ports, or two "
                    "interfaces): {} of {} are left out",
                    s.copies, r.captured));
  }
  s.reordered = effects.moves.size();
  if (s.reordered != 0) {
    warn(counted(s.reordered, "packet") +
         " overtaken within microseconds, by the sniffer or on the way to a NIC that takes them so: put in order");
  }
  s.reused_qps = effects.restarts.size();
  if (s.reused_qps != 0) {
    const SnifferEffects::NewConnection& first = effects.restarts.front();
    warn(fmt::format("{} with a QPN that was in use before, the first one QP {:#x} from packet {} on: no PSN gap",
                     counted(s.reused_qps, "new connection"), raw(first.flow.qpn), first.packet));
  }
  if (s.clock_steps != 0) {
    warn("the clock of the capture steps back at " + counted(s.clock_steps, "packet") +
         ": older packets have the time of the latest one, and after more than 1 ms time goes on from there");
  }
  s.one_in = effects.one_in;
  if (s.one_in != 0) {
    take_out(r.transport, "psn_gaps");
    s.sampled_psns = take_out(r.transport, "psn_gap_packets");
    warn(fmt::format("the capture looks like 1-in-{} sampling: the PSNs between its packets are no gaps", s.one_in));
  }
  if (effects.no_times && s.clock_steps == 0) {
    r.assumptions.push_back(
        fmt::format("all {} packets have the same time: when they came is not known, they follow each other as fast as "
                    "the link carries them",
                    r.captured));
    return;
  }
  s.late_frames = source.late_frames();
  if (s.late_frames == 0) return;
  s.most_late_ns = static_cast<std::uint64_t>(source.most_late_ps() / 1000);
  warn(fmt::format("the capture is faster than the link of {} Gb/s: {} packets came more than 100 us late, up to {} us",
                   r.params.nic.link_gbps, s.late_frames, s.most_late_ns / 1000));
}

}  // namespace rxnic
