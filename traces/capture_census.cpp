// SPDX-License-Identifier: Apache-2.0
#include "traces/capture_census.h"

#include <algorithm>

namespace rxnic {
namespace {

constexpr std::uint16_t kEtherTypeControl = 0x8808;
constexpr std::uint16_t kPauseOpcode = 0x0001, kPriorityPauseOpcode = 0x0101;

// The entry that `is` finds, a new one, or the last one when there is no room. (R4)
template <class T, class Is>
T& entry_of(std::vector<T>& all, const T& fresh, Is&& is) {
  const auto found = std::find_if(all.begin(), all.end(), is);
  if (found != all.end()) return *found;
  if (all.size() == CaptureCensus::kMostKept) return all.back();
  return all.emplace_back(fresh);
}

}  // namespace

void CaptureCensus::unreadable(DropReason reason, const Headers& h, std::uint64_t number) {
  Unreadable& u = unreadable_[static_cast<std::size_t>(reason)];
  ++u.packets;
  if (u.first.size() < Unreadable::kNamed) u.first.push_back(number);
  u.over_udp |= h.encapsulation == Encapsulation::kRoceV2Ipv4 || h.encapsulation == Encapsulation::kRoceV2Ipv6;
  u.shows_bth |= h.bth_offset != 0;
  u.over_infiniband |= h.link == LinkLayer::kInfiniband;
  if (reason == DropReason::kUnknownOpcode || reason == DropReason::kVendorOpcode) ++u.opcodes[h.opcode];
}

void CaptureCensus::tunnel(const Tunnel& t) {
  ++entry_of(tunnels_, {t, 0}, [&t](const CountedTunnel& c) { return c.tunnel == t; }).packets;
}

void CaptureCensus::other(const CapturedFrame& frame, IcrcCheck check) {
  if (frame.link != LinkLayer::kEthernet) return;
  protocol(frame);
  if (pause(frame)) return;
  const std::optional<UdpFragment> fragment = find_udp_fragment(frame.bytes);
  if (fragment && datagrams_.size() < kMostDatagrams) {
    datagrams_.emplace(fragment->source, fragment->destination, fragment->identification);
  }
  const std::optional<OtherUdpPort> found = looks_like_roce(frame.bytes, check);
  if (!found) return;
  CountedUdpPort& port = entry_of(ports_, CountedUdpPort{.port = found->port},
                                  [&found](const CountedUdpPort& c) { return c.port == found->port; });
  ++port.packets;
  port.icrc_right += found->icrc_right;
}

bool CaptureCensus::is_of_another_port(Bytes frame) {
  const std::optional<UdpFragment> f = find_udp_fragment(frame);
  if (!f) return false;
  const Datagram datagram{f->source, f->destination, f->identification};
  if (f->first) datagrams_.erase(datagram);  // a new one with that number, for RoCEv2
  return datagrams_.contains(datagram);
}

void CaptureCensus::protocol(const CapturedFrame& frame) {
  const Bytes bytes = frame.bytes;
  CountedProtocol fresh;
  std::size_t at = kEtherTypeAt;
  const auto type_at = [&] { return bytes.size() >= at + 2 ? load_be16(bytes.data() + at) : std::uint16_t{0}; };
  while (type_at() == kEtherTypeVlan || type_at() == kEtherTypeServiceVlan) at += kVlanTagBytes;
  fresh.ether_type = type_at();
  const std::size_t ip = at + 2;
  const bool v4 = fresh.ether_type == kEtherTypeIpv4, v6 = fresh.ether_type == kEtherTypeIpv6;
  const std::size_t protocol_at = ip + (v4 ? 9 : 6);
  if ((v4 || v6) && bytes.size() > protocol_at) fresh.ip = bytes[protocol_at];
  CountedProtocol& counted = entry_of(protocols_, fresh, [&fresh](const CountedProtocol& c) {
    return c.ether_type == fresh.ether_type && c.ip == fresh.ip;
  });
  ++counted.packets;
  const std::size_t header = v4 && bytes.size() > ip ? (bytes[ip] & 15u) * std::size_t{4} : std::size_t{kIpv6Bytes};
  counted.without_port += fresh.ip == kProtocolUdp && frame.truncated && bytes.size() < ip + header + 4;
}

bool CaptureCensus::pause(const CapturedFrame& frame) {  // (R3)
  constexpr std::size_t kOpcodeAt = kEtherTypeAt + 2, kFirstTime = kOpcodeAt + 4;
  const std::uint8_t* const p = frame.bytes.data();
  if (frame.bytes.size() < kOpcodeAt + 4 || load_be16(p + kEtherTypeAt) != kEtherTypeControl) return false;
  Sender fresh;
  std::copy_n(p + fresh.mac.size(), fresh.mac.size(), fresh.mac.begin());
  Sender& sender = entry_of(senders_, fresh, [&fresh](const Sender& s) { return s.mac == fresh.mac; });
  const std::uint16_t opcode = load_be16(p + kOpcodeAt);
  if (opcode == kPauseOpcode) set_pause(sender, kLinkPause, load_be16(p + kOpcodeAt + 2), frame.number);
  if (opcode != kPriorityPauseOpcode || frame.bytes.size() < kFirstTime + 2 * kPriorities) return true;
  const std::uint16_t enabled = load_be16(p + kOpcodeAt + 2);
  for (std::size_t i = 0; i < kPriorities; ++i) {
    if ((enabled >> i & 1) != 0) set_pause(sender, i, load_be16(p + kFirstTime + 2 * i), frame.number);
  }
  return true;
}

void CaptureCensus::set_pause(Sender& sender, std::size_t priority, std::uint16_t quanta, std::uint64_t number) {
  CountedPause& counted = pauses_[priority];
  Running& running = sender.running[priority];
  ++counted.frames;
  counted.paused_ps += std::min(running.until_ps, now_ps_) - std::min(running.from_ps, now_ps_);
  running = {now_ps_, now_ps_ + quanta * quantum_ps_};
  if (pause_frames_.size() == kMostPauseFrames) return;
  pause_frames_.push_back({number, now_ps_, sender.mac, static_cast<std::uint8_t>(priority), quanta});
}

CaptureCensus::Pauses CaptureCensus::pauses() const {
  Pauses all = pauses_;
  for (const Sender& sender : senders_) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Running& running = sender.running[i];
      all[i].paused_ps += std::min(running.until_ps, now_ps_) - std::min(running.from_ps, now_ps_);
    }
  }
  return all;
}

}  // namespace rxnic
