// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/layout.h"

#include <algorithm>

#include "bridge/rxnic/workload/mix_kinds.h"
#include "bridge/rxnic/workload/page_checks.h"
#include "bridge/rxnic/workload/samplers.h"
#include "model/types/tag_matching.h"
#include "traces/region_planner.h"
#include "traces/traffic_layout.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kPsnPurpose = 1;
constexpr std::uint8_t kEcnCapable = 0x02;
// Regions besides the first one: indices of their keys, and addresses.
constexpr std::uint32_t kRegionKeys = 0x800000;
constexpr std::uint64_t kRegionsVa = 0x4000'0000'0000, kRegionsApart = std::uint64_t{1} << 21;

std::array<std::uint8_t, 6> mac(std::uint32_t host) {
  return {2,
          0,
          0,
          static_cast<std::uint8_t>(host >> 16),
          static_cast<std::uint8_t>(host >> 8),
          static_cast<std::uint8_t>(host)};
}

}  // namespace

WorkloadLayout::WorkloadLayout(const WorkloadPage& page) : page_(page) {
  std::uint64_t largest = 0;
  for (std::size_t g = 0; g < page.senders.size(); ++g) {
    const SendersPage& s = page.senders[g];
    first_qps_.push_back(qps());
    const auto peers = static_cast<std::uint32_t>(s.peers);
    for (std::uint32_t k = 0; k < s.peers * s.qps; ++k) {
      places_.push_back({static_cast<std::uint32_t>(g), peers_ + k % peers});
    }
    peers_ += peers;
    largest = std::max({largest, largest_message(s), s.mtu});
  }
  first_qps_.push_back(qps());
  region_bytes_ = page.receiver.region_bytes == 0 ? traffic::region_bytes(static_cast<std::uint32_t>(largest))
                                                  : std::max(page.receiver.region_bytes, largest);
}

Key WorkloadLayout::region_key(std::uint32_t region) {
  return region == 0 ? traffic::kDataKey : Key{(kRegionKeys + region) << 8 | 1};
}

std::uint64_t WorkloadLayout::region_va(std::uint32_t region) const {
  if (region == 0) return traffic::kDataVa;
  return kRegionsVa + region * round_up(region_bytes_, kRegionsApart);
}

Psn WorkloadLayout::first_psn(std::uint32_t qp) const {
  return Psn{static_cast<std::uint32_t>(RandomNumbers(page_.seed + qp, kPsnPurpose).next() >> 40)};
}

Qpn WorkloadLayout::qpn(std::uint32_t qp) const { return Qpn{traffic::kFirstQpn + qp}; }
Qpn WorkloadLayout::peer_qpn(std::uint32_t qp) const { return Qpn{traffic::kFirstPeerQpn + qp}; }

std::uint32_t WorkloadLayout::qp_of_peer(Qpn peer_qpn) const {
  const std::uint32_t n = raw(peer_qpn) - traffic::kFirstPeerQpn;
  return std::min(n, qps());
}

Address WorkloadLayout::address(std::uint32_t ipv4) const {
  if (page_.network.encapsulation == PageEncapsulation::kRoceV2Ipv4) return Address::ipv4(ipv4);
  std::array<std::uint8_t, 16> bytes{0xfd};
  store_be32(bytes.data() + 12, ipv4);
  return Address::ipv6(bytes);
}

Headers WorkloadLayout::headers(std::uint32_t qp) const {
  constexpr Encapsulation kEncapsulations[] = {Encapsulation::kRoceV2Ipv4, Encapsulation::kRoceV2Ipv6,
                                               Encapsulation::kRoceV1};
  const SenderPlace& at = places_[qp];
  Headers h;
  h.encapsulation = kEncapsulations[static_cast<std::size_t>(page_.network.encapsulation)];
  h.source = peer_address(at.peer);
  h.destination = receiver();
  h.source_mac = mac(0x10000 + at.peer);
  h.destination_mac = mac(2);
  h.hop_limit = kDefaultHopLimit;
  h.traffic_class = kEcnCapable;
  h.pkey = kDefaultPkey;
  h.destination_qp = qpn(qp);
  if (h.encapsulation != Encapsulation::kRoceV1) {
    h.udp_source_port = static_cast<std::uint16_t>(0xc000 | (raw(h.destination_qp) & 0x3fff));
  }
  const SenderTransport transport = page_.senders[at.group].transport;
  if (transport == SenderTransport::kUd) {
    h.qkey = traffic::kQkey;
    h.source_qp = peer_qpn(qp);
  }
  if (transport == SenderTransport::kXrc) h.xrc_srq = traffic::kXrcSrq;
  return h;
}

ReceiverSurvey WorkloadLayout::survey() const {
  ReceiverSurvey r;
  r.receiver = receiver();
  bool invalidates = false;
  for (const SendersPage& s : page_.senders) invalidates |= s.mix.send_inv != 0;
  for (std::uint32_t qp = 0; qp < qps(); ++qp) {
    const SendersPage& s = page_.senders[places_[qp].group];
    const bool tagged = s.mix.eager != 0 || s.mix.rendezvous != 0;
    SurveyedQp q;
    q.qpn = qpn(qp);
    q.transport = transport_of(s.transport);
    q.peer = peer_address(places_[qp].peer);
    q.peer_qpn = peer_qpn(qp);
    q.paired_by = PairedBy::kOption;
    q.mtu = static_cast<std::uint16_t>(s.mtu);
    q.mtu_from = MtuFrom::kPackets;
    q.assumed = false;
    q.qkey = s.transport == SenderTransport::kUd ? traffic::kQkey : 0;
    q.responder_resources = static_cast<std::uint8_t>(s.reads);
    q.has_requests = true;
    q.first_psn = first_psn(qp);
    q.msn_known = true;
    q.largest_message = largest_message(s);
    q.largest_send = q.largest_message + (tagged ? kTmhBytes : 0);
    q.strict = true;
    if (s.transport == SenderTransport::kXrc) q.xrc_srqs = {traffic::kXrcSrq};
    r.qps.push_back(std::move(q));
  }
  constexpr std::uint8_t kAll = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;
  for (std::uint32_t n = 0; n < page_.receiver.regions; ++n) {
    r.regions.push_back({region_key(n), region_va(n), region_va(n) + region_bytes_, kAll, 0, 0});
  }
  for (std::uint32_t n = 0; invalidates && n < traffic::kInvalidatedKeys; ++n) {
    const std::uint64_t va = traffic::kInvalidatedVa + n * std::uint64_t{4096};
    r.regions.push_back({traffic::invalidated_key(n), va, va + 64, kAll, 0, 0, true});
  }
  return r;
}

}  // namespace rxnic
