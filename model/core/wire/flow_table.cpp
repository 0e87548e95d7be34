// SPDX-License-Identifier: Apache-2.0
#include "model/core/wire/flow_table.h"

#include <algorithm>
#include <cstring>

namespace rxnic {

namespace {

constexpr std::size_t kMacBytes = 6;
constexpr std::size_t kPortBytes = 4;

template <std::size_t N>
void copy(std::array<std::uint8_t, N>& to, const std::uint8_t* from, std::size_t bytes = N) {
  std::memcpy(to.data(), from, bytes);
}

void read_ports(Bytes segment, FlowKey& key) {
  const bool has_ports = key.protocol == kProtocolTcp || key.protocol == kProtocolUdp;
  if (!has_ports || segment.size() < kPortBytes) return;
  copy(key.source_port, segment.data());
  copy(key.destination_port, segment.data() + 2);
}

void read_ipv4(Bytes packet, FlowKey& key) {
  if (packet.size() < kIpv4Bytes) return;
  const std::size_t header = (packet[0] & 0xf) * std::size_t{4};
  if (packet[0] >> 4 != 4 || header < kIpv4Bytes || packet.size() < header) return;
  key.traffic_class = packet[1];
  key.hop_limit = packet[8];
  key.protocol = packet[9];
  copy(key.source, packet.data() + 12, 4);
  copy(key.destination, packet.data() + 16, 4);
  const bool fragment = (load_be16(packet.data() + 6) & (kFragmentOffset | kMoreFragments)) != 0;
  if (!fragment) read_ports(packet.subspan(header), key);
}

void read_ipv6(Bytes packet, FlowKey& key) {
  if (packet.size() < kIpv6Bytes || packet[0] >> 4 != 6) return;
  const std::uint32_t first = load_be32(packet.data());
  key.traffic_class = static_cast<std::uint8_t>(first >> 20);
  store_be32(key.flow_label.data(), first & 0xfffff);
  key.protocol = packet[6];
  key.hop_limit = packet[7];
  copy(key.source, packet.data() + 8);
  copy(key.destination, packet.data() + 24);
  read_ports(packet.subspan(kIpv6Bytes), key);
}

bool agrees(const FlowTable::Flow& flow, const FlowKey& key) {
  std::uint64_t value[8], mask[8], of[8];
  static_assert(sizeof value == kFlowKeyBytes);
  std::memcpy(value, &flow.value, sizeof value);
  std::memcpy(mask, &flow.mask, sizeof mask);
  std::memcpy(of, &key, sizeof of);
  for (std::size_t n = 0; n < 8; ++n) {
    if (((value[n] ^ of[n]) & mask[n]) != 0) return false;
  }
  return true;
}

std::uint16_t ether_type(const FlowKey& key) { return load_be16(key.ether_type.data()); }

}  // namespace

bool read_flow_key(Bytes frame, FlowKey& key) {
  key = {};
  if (frame.size() < kEtherTypeAt + 2) return false;
  copy(key.destination_mac, frame.data());
  copy(key.source_mac, frame.data() + kMacBytes);
  std::size_t at = kEtherTypeAt;
  for (std::uint16_t type = load_be16(frame.data() + at); type == kEtherTypeVlan || type == kEtherTypeServiceVlan;
       type = load_be16(frame.data() + at)) {
    if (frame.size() < at + 6) return true;
    copy(key.vlan, frame.data() + at + 2);
    at += 4;
  }
  copy(key.ether_type, frame.data() + at);
  if (ether_type(key) == kEtherTypeIpv4) read_ipv4(frame.subspan(at + 2), key);
  if (ether_type(key) == kEtherTypeIpv6) read_ipv6(frame.subspan(at + 2), key);
  return true;
}

// For each bit of the input that is 1 the 32 bits of the key that begin at its place.
std::uint32_t toeplitz(const std::array<std::uint8_t, kHashKeyBytes>& key, Bytes input) {
  std::uint32_t hash = 0;
  std::uint32_t window = load_be32(key.data());
  for (std::size_t bit = 0; bit < input.size() * 8; ++bit) {
    if ((input[bit / 8] >> (7 - bit % 8) & 1) != 0) hash ^= window;
    const std::size_t next = bit + 32;
    const auto into = static_cast<std::uint32_t>(key[next / 8 % kHashKeyBytes] >> (7 - next % 8) & 1);
    window = window << 1 | into;
  }
  return hash;
}

std::uint32_t rss_hash(const RssContext& context, const FlowKey& key) {  // (R2)
  std::array<std::uint8_t, 36> input;
  std::size_t bytes = 0;
  const auto add = [&](unsigned field, const auto& from, std::size_t length) {
    if ((context.fields & field) == 0) return;
    std::memcpy(input.data() + bytes, from.data(), length);
    bytes += length;
  };
  const bool ipv4 = ether_type(key) == kEtherTypeIpv4, ipv6 = ether_type(key) == kEtherTypeIpv6;
  if (ipv4) add(kHashSourceIpv4, key.source, 4);
  if (ipv4) add(kHashDestinationIpv4, key.destination, 4);
  if (ipv6) add(kHashSourceIpv6, key.source, 16);
  if (ipv6) add(kHashDestinationIpv6, key.destination, 16);
  const bool tcp = key.protocol == kProtocolTcp, udp = key.protocol == kProtocolUdp;
  if (tcp || udp) {
    add(tcp ? kHashSourcePortTcp : kHashSourcePortUdp, key.source_port, 2);
    add(tcp ? kHashDestinationPortTcp : kHashDestinationPortUdp, key.destination_port, 2);
  }
  return toeplitz(context.key, {input.data(), bytes});
}

bool FlowTable::add(std::uint32_t number, const Flow& flow) {
  if (flows_.size() >= most_flows_) return false;
  return flows_.emplace(number, flow).second;
}

bool FlowTable::set_rss(Qpn qpn, const RssContext& context) {
  if (contexts_.size() >= most_contexts_ && !contexts_.contains(qpn)) return false;
  contexts_[qpn] = context;
  return true;
}

FlowCounts FlowTable::counts(std::uint32_t number) const {
  const auto flow = flows_.find(number);
  return flow == flows_.end() ? FlowCounts{} : flow->second.counts;
}

std::optional<Qpn> FlowTable::find(const FlowKey& key, std::size_t frame_bytes) {
  const bool multicast = (key.destination_mac[0] & 1) != 0;
  const auto rank = [](const Flow& flow) {  // (R1)
    const unsigned kind = flow.kind == FlowKind::kNormal ? 0 : flow.kind == FlowKind::kMulticastDefault ? 1 : 2;
    return kind << 16 | flow.priority;
  };
  Flow* best = nullptr;
  for (auto& [number, flow] : flows_) {
    if (flow.kind == FlowKind::kMulticastDefault && !multicast) continue;
    if (flow.kind == FlowKind::kNormal && !agrees(flow, key)) continue;
    if (best == nullptr || rank(flow) < rank(*best)) best = &flow;
  }
  if (best == nullptr) return std::nullopt;
  ++best->counts.packets;  // (R4)
  best->counts.bytes += frame_bytes;
  const auto context = contexts_.find(best->qpn);
  if (context == contexts_.end() || context->second.qpns.empty()) return best->qpn;
  return context->second.qpns[rss_hash(context->second, key) % context->second.qpns.size()];
}

}  // namespace rxnic
