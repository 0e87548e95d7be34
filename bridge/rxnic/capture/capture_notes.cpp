// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/capture/capture_notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "traces/unreadable_requests.h"

namespace rxnic {

namespace {

constexpr std::size_t kMostReceivers = 16;
constexpr std::size_t kMostWords = 200;
constexpr std::uint64_t kFewInAll = 10;  // fewer than one in so many packets: no warning

std::string counted(std::uint64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

const char* protocol(const Unreadable& u, DropReason reason) {
  if (reason == DropReason::kFragment && !u.shows_bth) return "UDP packet";  // their port is in other fragments
  return u.over_udp ? "RoCEv2 packet" : u.over_infiniband ? "InfiniBand packet" : "RoCEv1 packet";
}

std::string numbers(const Unreadable& u) {
  std::string out;
  for (const std::uint64_t n : u.first) out += fmt::format("{}{}", out.empty() ? "" : ", ", n);
  return fmt::format("{} {}{}", u.packets == 1 ? "packet" : "packets", out, u.packets > u.first.size() ? "..." : "");
}

std::string opcodes(const Unreadable& u) {
  std::string out;
  for (const auto& [opcode, packets] : u.opcodes) {
    out += fmt::format("{}{}{}", out.empty() ? " " : ", ", opcode_words(opcode),
                       u.opcodes.size() == 1 ? "" : fmt::format(" ({})", packets));
  }
  return out;
}

const char* hint(const std::string& reason) {
  if (reason == name_of(DropReason::kIcrc)) return "; --icrc ignore accepts them";
  if (reason != name_of(DropReason::kTruncatedInCapture)) return "";
  return "; --truncated fill puts zeros there, where their headers are whole";
}

// A damaged packet now and then is a line of the report. When there are many, or the capture cut them, there is a
// warning as well.
void note_unreadable(const CaptureSurvey& survey, RunResult& r) {
  const std::uint64_t rdma = survey.counts().rdma + survey.counts().damaged;
  r.unreadable = unreadable_of(survey);
  for (const UnreadableResult& u : r.unreadable) {
    const bool cut = u.reason == name_of(DropReason::kTruncatedInCapture);
    if (!cut && u.packets * kFewInAll < rdma) continue;
    r.warnings.push_back(fmt::format("{}; those to the receiver are dropped{}", u.words, hint(u.reason)));
  }
}

std::string protocol_name(const CountedProtocol& p) {
  constexpr std::uint8_t kIcmp = 1, kTcp = 6, kEsp = 50, kAuthentication = 51;
  switch (p.ether_type) {
    case 0:
      return "too short for an EtherType";
    case kEtherTypeIpv4:
    case kEtherTypeIpv6:
      if (p.without_port != 0) return fmt::format("UDP ({} cut before its port)", p.without_port);
      if (p.ip == kProtocolUdp) return "UDP";
      if (p.ip == kTcp) return "TCP";
      if (p.ip == kIcmp) return "ICMP";
      if (p.ip == kEsp) return "IPsec ESP";
      if (p.ip == kAuthentication) return "IPsec AH";
      return fmt::format("IP protocol {}", p.ip);
    case 0x0806:
      return "ARP";
    case 0x8808:
      return "pause";
    case 0x88cc:
      return "LLDP";
    case 0x88e5:
      return "MACsec";
    default:
      return fmt::format("EtherType {:#06x}", p.ether_type);
  }
}

// A capture without RDMA: what there is instead.
void note_nothing(const CaptureSurvey& survey, RunResult& r) {
  if (survey.counts().rdma + survey.counts().damaged != 0) return;
  std::vector<CountedProtocol> all = survey.census().protocols();
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.packets > b.packets; });
  std::string text;
  for (const CountedProtocol& p : all) {
    text += fmt::format("{}{} {}", text.empty() ? ": " : ", ", p.packets, protocol_name(p));
    if (text.size() > kMostWords) break;
  }
  r.warnings.push_back(fmt::format("nothing is replayed, the capture has no RDMA that can be seen{}", text));
}

void note_tunnels(const CaptureCensus& census, RunResult& r) {
  for (const CountedTunnel& t : census.tunnels()) {
    const bool addressed = t.tunnel.source.kind != Address::Kind::kNone;
    r.tunnels.push_back({tunnel_name(t.tunnel.kind), addressed ? t.tunnel.source.text() : "",
                         addressed ? t.tunnel.destination.text() : "", t.packets});
    const std::string ends =
        addressed ? fmt::format(" from {} to {}", t.tunnel.source.text(), t.tunnel.destination.text()) : "";
    r.assumptions.push_back(fmt::format("{} in {}{}: the frames inside are replayed, answers go out without it",
                                        counted(t.packets, "packet"), tunnel_name(t.tunnel.kind), ends));
  }
}

std::string ports_text(const std::vector<std::uint16_t>& ports) {
  std::string out;
  for (const std::uint16_t port : ports) out += fmt::format("{}{}", out.empty() ? "" : ", ", port);
  return out;
}

}  // namespace

std::vector<UnreadableResult> unreadable_of(const CaptureSurvey& survey) {
  std::vector<UnreadableResult> all;
  for (std::size_t i = 1; i < kDropReasons; ++i) {
    const auto reason = static_cast<DropReason>(i);
    const Unreadable& u = survey.census().unreadable(reason);
    if (u.packets == 0) continue;
    all.push_back({std::string(name_of(reason)), u.packets, u.first,
                   fmt::format("{}, {}{} ({})", counted(u.packets, protocol(u, reason)), unreadable_words(reason),
                               opcodes(u), numbers(u))});
  }
  return all;
}

std::vector<std::string> other_ports_of(const CaptureCensus& census) {
  std::vector<std::string> all;
  for (const CountedUdpPort& p : census.ports()) {
    const std::string good = p.icrc_right == p.packets ? "a good ICRC" : fmt::format("a good ICRC in {}", p.icrc_right);
    all.push_back(fmt::format("{} {} like BTH with {}; --udp-port {} reads {} as RoCEv2",
                              counted(p.packets, fmt::format("UDP/{} payload", p.port).c_str()),
                              p.packets == 1 ? "looks" : "look", p.icrc_right == 0 ? "a wrong ICRC" : good, p.port,
                              p.packets == 1 ? "it" : "them"));
  }
  return all;
}

void note_capture(const ReplayOptions& o, const CaptureReader& reader, const CaptureSurvey& survey, RunResult& r) {
  if (reader.cut_short()) r.warnings.push_back("the trace ends early: " + reader.cut_reason());
  if (reader.cut_by_mirror() != 0) {
    r.assumptions.push_back(fmt::format(
        "{} end before the length in their headers, although the capture calls them whole: a mirror cut them",
        counted(reader.cut_by_mirror(), "packet")));
  }
  if (o.fill_truncated && reader.cut_payloads() != 0) {
    r.assumptions.push_back(
        fmt::format("the capture cut the payloads of {}: what is missing is zeros, and their ICRCs, "
                    "which cannot be checked, are taken as right",
                    counted(reader.cut_payloads(), "packet")));
  }
  if (!o.udp_ports.empty()) {
    r.assumptions.push_back(fmt::format("{} to UDP port {} read as RoCEv2's 4791 (--udp-port)",
                                        counted(reader.on_other_udp_ports(), "packet"), ports_text(o.udp_ports)));
  }
  if (o.ignore_icrcs) {
    r.assumptions.push_back(fmt::format("the ICRCs of {} are wrong and taken as right (--icrc ignore)",
                                        counted(reader.icrcs_made_right(), "packet")));
  }
  note_nothing(survey, r);
  note_tunnels(survey.census(), r);
  for (std::string& words : other_ports_of(survey.census())) r.warnings.push_back(std::move(words));
  note_unreadable(survey, r);
}

std::vector<PossibleReceiver> receivers_of(const CaptureSurvey& survey) {
  std::vector<PossibleReceiver> all;
  for (const EndpointCounts& e : survey.endpoints()) {
    if (e.requests_received == 0 || e.address.is_multicast()) continue;
    all.push_back({e.address.text(), e.requests_received, e.request_bytes});
  }
  std::ranges::stable_sort(all, [](const PossibleReceiver& a, const PossibleReceiver& b) {
    return std::pair(a.requests, a.bytes) > std::pair(b.requests, b.bytes);
  });
  return all;
}

void note_receiver(const CaptureSurvey& survey, const Address& receiver, RunResult& r) {
  for (const EndpointCounts& e : survey.endpoints()) {
    if (e.address == receiver) {
      r.congestion.marked = e.marked_received;
      r.congestion.cnps_sent = e.cnps_sent;
      r.congestion.cnps_received = e.cnps_received;
    }
  }
  r.receivers = receivers_of(survey);
  if (r.receivers.size() > kMostReceivers) r.receivers.resize(kMostReceivers);
  const CaptureCensus::Pauses pauses = survey.census().pauses();
  for (std::size_t i = 0; i < pauses.size(); ++i) {
    if (pauses[i].frames == 0) continue;
    const std::string name = i == CaptureCensus::kLinkPause ? "link" : fmt::format("priority_{}", i);
    r.congestion.pauses.push_back({name, pauses[i].frames, pauses[i].paused_ps});
  }
}

}  // namespace rxnic
