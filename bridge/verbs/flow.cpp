// SPDX-License-Identifier: Apache-2.0
// Flow steering (ibv_create_flow(3)): which frames that are not RDMA a RAW_PACKET QP gets.
//
//   R1  A specification's fields are compared where its mask has ones. A specification of IPv4 or IPv6 is also of that
//       EtherType, one of TCP or UDP of that protocol.
//   R2  EOPNOTSUPP: sniffers, DONT_TRAP and EGRESS, inner headers, tunnels, ESP, GRE, MPLS, and actions but counting.
//   R3  At most one specification names counters, of the flow's context.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>

#include "bridge/verbs/connection.h"
#include "bridge/verbs/control_path.h"
#include "bridge/verbs/objects.h"
#include "model/types/flow.h"
#include "model/types/wire_constants.h"

namespace rxnic::verbs {

namespace {

constexpr std::size_t kSpecHeader = offsetof(ibv_flow_spec_eth, val);

struct Match {
  FlowKey value, mask;
  Counters* counters = nullptr;
};

// `from` is big-endian, as the key is.
template <std::size_t N, class T>
void copy(std::array<std::uint8_t, N>& to, const T& from) {
  static_assert(sizeof from <= N);
  std::memcpy(to.data(), &from, sizeof from);
}

void set_type(Match& m, std::uint16_t type) {  // R1
  m.value.ether_type = {static_cast<std::uint8_t>(type >> 8), static_cast<std::uint8_t>(type)};
  m.mask.ether_type = {0xff, 0xff};
}

void add_eth(FlowKey& key, const ibv_flow_eth_filter& f) {
  copy(key.destination_mac, f.dst_mac);
  copy(key.source_mac, f.src_mac);
  copy(key.ether_type, f.ether_type);
  copy(key.vlan, f.vlan_tag);
}

void add_ipv4(FlowKey& key, const ibv_flow_ipv4_ext_filter& f) {
  copy(key.source, f.src_ip);
  copy(key.destination, f.dst_ip);
  key.protocol = f.proto;
  key.traffic_class = f.tos;
  key.hop_limit = f.ttl;
}

void add_ipv6(FlowKey& key, const ibv_flow_ipv6_filter& f) {
  copy(key.source, f.src_ip);
  copy(key.destination, f.dst_ip);
  copy(key.flow_label, f.flow_label);
  key.protocol = f.next_hdr;
  key.traffic_class = f.traffic_class;
  key.hop_limit = f.hop_limit;
}

void add_ports(FlowKey& key, const ibv_flow_tcp_udp_filter& f) {
  copy(key.source_port, f.src_port);
  copy(key.destination_port, f.dst_port);
}

int add(Match& m, const ibv_flow_spec& spec) {
  switch (spec.hdr.type) {
    case IBV_FLOW_SPEC_ETH:
      if (spec.hdr.size < sizeof spec.eth) return EINVAL;
      add_eth(m.value, spec.eth.val);
      add_eth(m.mask, spec.eth.mask);
      return 0;
    case IBV_FLOW_SPEC_IPV4:
      if (spec.hdr.size < sizeof spec.ipv4) return EINVAL;
      set_type(m, kEtherTypeIpv4);
      copy(m.value.source, spec.ipv4.val.src_ip);
      copy(m.value.destination, spec.ipv4.val.dst_ip);
      copy(m.mask.source, spec.ipv4.mask.src_ip);
      copy(m.mask.destination, spec.ipv4.mask.dst_ip);
      return 0;
    case IBV_FLOW_SPEC_IPV4_EXT:
      if (spec.hdr.size < sizeof spec.ipv4_ext) return EINVAL;
      if (spec.ipv4_ext.mask.flags != 0) return EOPNOTSUPP;
      set_type(m, kEtherTypeIpv4);
      add_ipv4(m.value, spec.ipv4_ext.val);
      add_ipv4(m.mask, spec.ipv4_ext.mask);
      return 0;
    case IBV_FLOW_SPEC_IPV6:
      if (spec.hdr.size < sizeof spec.ipv6) return EINVAL;
      set_type(m, kEtherTypeIpv6);
      add_ipv6(m.value, spec.ipv6.val);
      add_ipv6(m.mask, spec.ipv6.mask);
      return 0;
    case IBV_FLOW_SPEC_TCP:
    case IBV_FLOW_SPEC_UDP:
      if (spec.hdr.size < sizeof spec.tcp_udp) return EINVAL;
      m.value.protocol = spec.hdr.type == IBV_FLOW_SPEC_TCP ? kProtocolTcp : kProtocolUdp;
      m.mask.protocol = 0xff;
      add_ports(m.value, spec.tcp_udp.val);
      add_ports(m.mask, spec.tcp_udp.mask);
      return 0;
    case IBV_FLOW_SPEC_ACTION_COUNT:
      if (spec.hdr.size < sizeof spec.flow_count || spec.flow_count.counters == nullptr) return EINVAL;
      if (m.counters != nullptr) return EINVAL;  // R3
      m.counters = &counters_of(spec.flow_count.counters);
      return 0;
    default:
      return EOPNOTSUPP;  // R2
  }
}

// The specifications behind the attributes. 0 or a positive errno.
int read_specs(const ibv_flow_attr& attributes, Match& m) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(&attributes + 1);
  for (unsigned n = 0; n < attributes.num_of_specs; ++n) {
    ibv_flow_spec spec{};
    std::memcpy(&spec, at, kSpecHeader);
    if (spec.hdr.size < kSpecHeader) return EINVAL;
    std::memcpy(&spec, at, std::min<std::size_t>(spec.hdr.size, sizeof spec));
    if (const int error = add(m, spec)) return error;
    at += spec.hdr.size;
  }
  return 0;
}

int describe(const ibv_qp& qp, const ibv_flow_attr& a, channel::Flow& flow, Counters*& counters) {
  constexpr std::uint32_t kUnsupported = IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS;
  if (a.comp_mask != 0 || a.port != 1) return EINVAL;
  if ((a.flags & ~kUnsupported) != 0) return EINVAL;
  if (a.flags != 0 || a.type == IBV_FLOW_ATTR_SNIFFER) return EOPNOTSUPP;  // R2
  if (a.type > IBV_FLOW_ATTR_SNIFFER || (a.type != IBV_FLOW_ATTR_NORMAL && a.num_of_specs != 0)) return EINVAL;
  Match m;
  if (const int error = read_specs(a, m)) return error;
  if (m.counters != nullptr && m.counters->counters.context != qp.context) return EINVAL;  // R3
  counters = m.counters;
  flow.counters = counters == nullptr ? 0 : counters->number;
  flow.kind = static_cast<std::uint8_t>(a.type);
  flow.priority = a.priority;
  std::memcpy(flow.value.data(), &m.value, sizeof m.value);
  std::memcpy(flow.mask.data(), &m.mask, sizeof m.mask);
  return 0;
}

// One flow more or less has the counters.
void bind(Counters* counters, int one) {
  if (counters == nullptr) return;
  const std::lock_guard guard(counters->lock);
  counters->flows += static_cast<std::uint32_t>(one);
}

}  // namespace

ibv_flow* create_flow(ibv_qp* qp, ibv_flow_attr* attributes) {
  auto* const flow = new (std::nothrow) Flow;
  channel::Message message = request(channel::Request::kCreateFlow);
  message.body.flow = {};
  message.body.flow.qpn = qp->qp_num;
  int status = flow == nullptr ? ENOMEM : describe(*qp, *attributes, message.body.flow, flow->counters);
  if (status == 0) {
    bind(flow->counters, 1);
    status = call(context_of(qp->context), message);
    if (status != 0) bind(flow->counters, -1);
  }
  if (status != 0) {
    delete flow;
    errno = status;
    return nullptr;
  }
  flow->flow = {0, qp->context, message.body.flow.number};
  return &flow->flow;
}

int destroy_flow(ibv_flow* flow) {
  const int status = free_object(context_of(flow->context), channel::Request::kFreeFlow, flow->handle);
  if (status != 0) return status;
  bind(flow_of(flow).counters, -1);
  delete &flow_of(flow);
  return 0;
}

}  // namespace rxnic::verbs
