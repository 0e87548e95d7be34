// SPDX-License-Identifier: Apache-2.0
#include "bridge/driver/attributes.h"

#include <algorithm>
#include <cstring>

namespace rxnic {

namespace {

constexpr std::uint32_t kNoLimit = 0x7fffffff;
constexpr std::size_t kInterface = 8;  // of a GID: where its interface identifier begins

// EUI-64 of a MAC, universal/local bit inverted (RFC 4291, appendix A).
std::array<std::uint8_t, 8> eui64(const Mac& m) {
  return {static_cast<std::uint8_t>(m[0] ^ 2), m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]};
}
GidBytes link_local(std::uint32_t nic) {
  GidBytes gid{0xfe, 0x80};
  const auto id = eui64(nic_mac(nic));
  std::copy(id.begin(), id.end(), gid.begin() + kInterface);
  return gid;
}
GidBytes mapped_ipv4(std::uint32_t nic, NicAddresses addresses) {
  GidBytes gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  store_be32(&gid[12], addresses.first + nic);
  return gid;
}

bool is_mapped_ipv4(const GidBytes& gid) {
  static constexpr std::array<std::uint8_t, 12> kPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kPrefix.begin(), kPrefix.end(), gid.begin());
}

}  // namespace

Mac nic_mac(std::uint32_t nic) { return {0x02, 0x72, 0x78, 0, 0, static_cast<std::uint8_t>(nic + 1)}; }

std::array<channel::Gid, channel::kGids> nic_gids(std::uint32_t nic, NicAddresses addresses) {
  std::array<channel::Gid, channel::kGids> gids{};
  gids[0] = {link_local(nic), channel::GidType::kRoceV1, {}};
  gids[1] = {link_local(nic), channel::GidType::kRoceV2, {}};
  gids[2] = {mapped_ipv4(nic, addresses), channel::GidType::kRoceV2, {}};
  return gids;
}

Address address_of(const GidBytes& gid, channel::GidType type) {
  if (type == channel::GidType::kRoceV2 && is_mapped_ipv4(gid)) return Address::ipv4(load_be32(gid.data() + 12));
  return Address::ipv6(gid);
}

PortAddress port_address(std::uint32_t nic, NicAddresses addresses) {
  return {nic_mac(nic),
          {Address::ipv6(link_local(nic)), addresses.of(nic), Address::ipv6(mapped_ipv4(nic, addresses))}};
}

std::vector<SourceGid> source_gids(std::uint32_t nic, NicAddresses addresses) {
  std::vector<SourceGid> entries;
  for (const channel::Gid& gid : nic_gids(nic, addresses)) {
    SourceGid entry;
    if (gid.type != channel::GidType::kNone) entry.address = address_of(gid.bytes, gid.type);
    if (gid.type == channel::GidType::kRoceV1) entry.encapsulation = Encapsulation::kRoceV1;
    if (gid.type == channel::GidType::kRoceV2) {
      entry.encapsulation =
          entry.address.kind == Address::Kind::kIpv4 ? Encapsulation::kRoceV2Ipv4 : Encapsulation::kRoceV2Ipv6;
    }
    entries.push_back(entry);
  }
  return entries;
}

std::uint64_t node_guid(std::uint32_t nic) {
  const auto id = eui64(nic_mac(nic));
  std::uint64_t guid = 0;
  std::memcpy(&guid, id.data(), sizeof guid);
  return guid;
}

channel::DeviceAttributes device_attributes(std::uint32_t nic, const Params& params, NicAddresses addresses) {
  channel::DeviceAttributes a;
  a.node_guid = node_guid(nic);
  const Mac mac = nic_mac(nic);
  std::copy(mac.begin(), mac.end(), a.mac.begin());
  a.gids = nic_gids(nic, addresses);
  a.link_mbps = params.nic.link_gbps * 1000;
  a.max_qps = params.requester.send_queues;
  a.max_qp_wrs = params.device.max_qp_wrs;
  a.max_sge = kMaxSge;
  a.max_cqs = params.device.max_cqs;
  a.max_cqes = params.device.max_cqes;
  a.max_mrs = params.device.max_mrs;
  a.max_pds = params.device.max_pds;
  a.max_srqs = params.device.max_srqs;
  a.max_srq_wrs = params.device.max_srq_wrs;
  a.max_srq_sge = kMaxSge - 1;  // a slot of 512 bytes with its next segment
  a.max_ahs = kNoLimit;         // the program's memory alone
  a.max_inline = kMaxInlineBytes;
  a.max_tso = params.requester.max_tso_bytes;
  a.max_rd_atomic = params.device.max_rd_atomic;
  a.max_responder_resources = params.transport_checker.responder_resources;
  a.max_multicast_groups =
      params.rx_parser.own_addresses - static_cast<std::uint32_t>(port_address(nic).addresses.size());
  a.max_flows = params.rx_parser.flows;
  a.max_rss = params.rx_parser.rss_contexts;
  a.max_tags = params.tag_match_cam.max_tags;
  a.max_tag_operations = 2 * a.max_tags + 2;  // an append and a removal of each, and two syncs (rules 5.8)
  a.device_memory_bytes = params.dma_engine.device_memory_bytes;
  a.cqe_bytes = params.cqe_generator.cqe_bytes;
  a.active_mtu = kMaxMtu;
  a.srq_linked_list = params.srq_wqe_fetcher.srq_layout == SrqLayout::kLinkedList;
  const auto& dma = params.dma_engine;
  a.data_in_order = !dma.relaxed_ordering || dma.write_latency_spread_ps == 0;
  a.core_clock_khz = 1'000'000;  // programs read completion timestamps in ns of model time
  a.timestamp_period_ps = params.nic.clock_period_ps;
  return a;
}

std::optional<Mac> resolve(const GidBytes& gid, std::uint32_t nics, NicAddresses addresses) {
  for (std::uint32_t nic = 0; nic < nics; ++nic) {
    if (gid == link_local(nic) || gid == mapped_ipv4(nic, addresses)) return nic_mac(nic);
  }
  if (const Address group = address_of(gid, channel::GidType::kRoceV2); group.is_multicast()) {
    if (group.kind == Address::Kind::kIpv6) return Mac{0x33, 0x33, gid[12], gid[13], gid[14], gid[15]};
    return Mac{0x01, 0x00, 0x5e, static_cast<std::uint8_t>(gid[13] & 0x7f), gid[14], gid[15]};
  }
  const std::uint8_t* id = gid.data() + kInterface;
  if (gid[0] == 0xfe && gid[1] >> 6 == 2 && id[3] == 0xff && id[4] == 0xfe) {
    return Mac{static_cast<std::uint8_t>(id[0] ^ 2), id[1], id[2], id[5], id[6], id[7]};
  }
  return std::nullopt;
}

}  // namespace rxnic
