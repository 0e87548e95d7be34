// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "bridge/verbs/connection.h"
#include "bridge/verbs/control_path.h"
#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

namespace {

constexpr std::uint16_t kNoVlan = 0xffff;

bool is_ipv4(const std::uint8_t header[20]) {
  if (header[0] != 0x45 || header[9] != kProtocolUdp) return false;
  std::uint32_t sum = 0;
  for (int i = 0; i < 20; i += 2) sum += std::uint32_t{header[i]} << 8 | header[i + 1];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

void map_ipv4(const std::uint8_t address[4], std::uint8_t gid[16]) {
  std::memset(gid, 0, 10);
  gid[10] = gid[11] = 0xff;
  std::memcpy(gid + 12, address, 4);
}

bool is_mapped_ipv4(const std::uint8_t gid[16]) {
  const std::uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(prefix, prefix + 12, gid);
}

bool is_group(const std::uint8_t gid[16]) { return gid[0] == 0xff || (is_mapped_ipv4(gid) && gid[12] >> 4 == 0xe); }

int multicast(ibv_qp* qp, const ibv_gid* gid, channel::Request type) {
  if (qp->qp_type != IBV_QPT_UD || !is_group(gid->raw)) return EINVAL;
  channel::Message message = request(type);
  message.body.multicast = {};
  message.body.multicast.qpn = qp->qp_num;
  std::memcpy(message.body.multicast.gid.data(), gid->raw, sizeof gid->raw);
  return call(context_of(qp->context), message);
}

}  // namespace

int resolve(Context& context, const ibv_ah_attr& attributes, AddressVector& path) {
  const ibv_global_route& grh = attributes.grh;
  if (attributes.is_global == 0 || attributes.port_num != 1 || grh.sgid_index >= channel::kGids ||
      context.attributes.gids[grh.sgid_index].type == channel::GidType::kNone) {
    return EINVAL;
  }
  channel::Message message = request(channel::Request::kResolve);
  message.body.resolve = {};
  AddressVector& p = message.body.resolve.path;
  std::memcpy(p.destination_gid.data(), grh.dgid.raw, sizeof grh.dgid.raw);
  p.source_gid_index = grh.sgid_index;
  p.traffic_class = grh.traffic_class;
  p.flow_label = grh.flow_label & 0xfffff;
  p.hop_limit = grh.hop_limit != 0 ? grh.hop_limit : kDefaultHopLimit;  // 0 would end at the first router
  p.service_level = attributes.sl;
  if (const int status = call(context, message); status != 0) return status;
  path = p;
  return 0;
}

ibv_ah_attr attributes_of(const AddressVector& path, std::uint32_t port) {
  ibv_ah_attr a{};
  std::memcpy(a.grh.dgid.raw, path.destination_gid.data(), sizeof a.grh.dgid.raw);
  a.grh.flow_label = path.flow_label;
  a.grh.sgid_index = path.source_gid_index;
  a.grh.hop_limit = path.hop_limit;
  a.grh.traffic_class = path.traffic_class;
  a.sl = path.service_level;
  a.is_global = 1;
  a.port_num = static_cast<std::uint8_t>(port);
  return a;
}

Route parse_grh(const ibv_grh& grh) {
  Route route{};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&grh);
  if (const std::uint8_t* ipv4 = bytes + (kGrhBytes - kIpv4Bytes); is_ipv4(ipv4)) {
    map_ipv4(ipv4 + 12, route.source);
    map_ipv4(ipv4 + 16, route.destination);
    route.traffic_class = ipv4[1];
    route.hop_limit = ipv4[8];
    route.type = channel::GidType::kRoceV2;
  } else if (bytes[0] >> 4 == 6 && (grh.next_hdr == kProtocolUdp || grh.next_hdr == kNextHeaderIba)) {
    const std::uint32_t word = ntohl(grh.version_tclass_flow);
    std::memcpy(route.source, grh.sgid.raw, sizeof route.source);
    std::memcpy(route.destination, grh.dgid.raw, sizeof route.destination);
    route.traffic_class = static_cast<std::uint8_t>(word >> 20);
    route.flow_label = word & 0xfffff;
    route.hop_limit = grh.hop_limit;
    route.type = grh.next_hdr == kProtocolUdp ? channel::GidType::kRoceV2 : channel::GidType::kRoceV1;
  }
  return route;
}

ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attributes) {
  auto* ah = new (std::nothrow) Ah;
  const int status = ah == nullptr ? ENOMEM : resolve(context_of(pd->context), *attributes, ah->path);
  if (status != 0) {
    delete ah;
    errno = status;
    return nullptr;
  }
  ah->ah.context = pd->context;
  ah->ah.pd = pd;
  pd_of(pd).users.fetch_add(1);
  return &ah->ah;
}

int destroy_ah(ibv_ah* ah) {
  pd_of(ah->pd).users.fetch_sub(1);
  delete &ah_of(ah);
  return 0;
}

int init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc* wc, ibv_grh* grh, ibv_ah_attr* attributes) {
  *attributes = {};
  if (port != 1 || (wc->wc_flags & IBV_WC_GRH) == 0 || grh == nullptr) return EINVAL;
  const Route route = parse_grh(*grh);
  if (route.type == channel::GidType::kNone) return EPROTONOSUPPORT;
  const auto& gids = context_of(context).attributes.gids;
  // The destination of a multicast datagram is a group: the reply's source is the port's first GID of that type and of
  // the sender's kind.
  const bool group = is_group(route.destination);
  const auto answers = [&](const channel::Gid& gid) {
    if (gid.type != route.type) return false;
    return group ? is_mapped_ipv4(gid.bytes.data()) == is_mapped_ipv4(route.source)
                 : std::equal(gid.bytes.begin(), gid.bytes.end(), route.destination);
  };
  const auto index = std::find_if(gids.begin(), gids.end(), answers) - gids.begin();
  if (index == channel::kGids) return ENOENT;
  attributes->is_global = 1;
  attributes->port_num = port;
  attributes->dlid = wc->slid;
  attributes->sl = wc->sl;
  attributes->src_path_bits = wc->dlid_path_bits;
  std::memcpy(attributes->grh.dgid.raw, route.source, sizeof route.source);
  attributes->grh.sgid_index = static_cast<std::uint8_t>(index);
  attributes->grh.flow_label = route.flow_label;
  attributes->grh.traffic_class = route.traffic_class;
  attributes->grh.hop_limit = kDefaultHopLimit;
  return 0;
}

int resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attributes, std::uint8_t mac[6], std::uint16_t* vlan) {
  AddressVector path;
  if (const int status = resolve(context_of(context), *attributes, path); status != 0) return status;
  std::copy(path.destination_mac.begin(), path.destination_mac.end(), mac);
  if (vlan != nullptr) *vlan = kNoVlan;
  return 0;
}

int attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t) {
  return multicast(qp, gid, channel::Request::kAttachMulticast);
}

int detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t) {
  return multicast(qp, gid, channel::Request::kDetachMulticast);
}

}  // namespace rxnic::verbs
