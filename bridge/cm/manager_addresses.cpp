// SPDX-License-Identifier: Apache-2.0
// Addresses, ports, routes and multicast groups (R2, R11, R12 of manager.h).

#include <arpa/inet.h>

#include <cerrno>
#include <cstddef>

#include "bridge/cm/manager.h"
#include "bridge/cm/manager_details.h"

namespace rxnic::cm {

namespace {

constexpr std::uint32_t kMulticastQpn = 0xffffff;

}  // namespace

std::optional<std::uint32_t> Manager::nic_of(const Endpoint& address) const {
  for (std::uint32_t n = 0; n < nics_.size(); ++n) {
    if (address.ip == nics_[n].v4.bytes || address.ip == nics_[n].v6.bytes) return n;
  }
  return std::nullopt;
}

bool Manager::sees(const Id& id, std::uint32_t nic) const {
  const auto& only = files_.at(id.file).only_nic;
  return !only || *only == nic;
}

bool Manager::is_own(const Endpoint& address) const {
  return address.is_loopback() || (!nic_of(address) && surroundings_.is_of_host(address.ip));
}

std::uint32_t Manager::first_nic(const Id& id) const { return files_.at(id.file).only_nic.value_or(0); }

// To which NIC an address of the host leads. Ports belong to the host: at most one program listens at it.
std::uint32_t Manager::nic_of_host(const Id& id, const Endpoint& destination) const {
  for (const auto& [number, l] : ids_) {
    if (!l->listening || l->port_space != id.port_space || l->source.port != destination.port) continue;
    if (!l->takes_family_of(destination) || !(l->source.is_any() || is_own(l->source))) continue;
    const bool at_own = l->nic ? *l->nic == *id.nic : sees(*l, *id.nic);
    return at_own ? *id.nic : l->nic.value_or(first_nic(*l));
  }
  return *id.nic;  // nobody
}

const NicAddress::Gid& Manager::own_gid(const Id& id) const {
  const NicAddress& nic = nics_[id.nic.value_or(0)];
  return id.source.ip == nic.v6.bytes ? nic.v6 : nic.v4;
}

// Why the ID cannot have the port of this address; 0: it can. (R11, R12)
int Manager::check_port(const Id& id, const Endpoint& address, bool reuses) const {
  std::uint64_t last = 0;
  int error = 0;
  for (const auto& [number, o] : ids_) {
    if (o->source.port != address.port || o->port_space != id.port_space || (reuses && o->reuses)) continue;
    if (o.get() == &id || o->bound <= last) continue;
    const bool same_family = o->source.v4 == address.v4;
    if (!same_family && o->is_of_one_family(o->source) && id.is_of_one_family(address)) continue;
    const bool any = o->source.is_any() || address.is_any();
    if (!any && !(same_family && o->source.ip == address.ip)) continue;
    last = o->bound;
    error = any ? EADDRNOTAVAIL : EADDRINUSE;
  }
  return error;
}

// Gives the ID the address, with a free port when it has none.
int Manager::take_port(Id& id, Endpoint address) {
  if (address.port != 0) {
    if (const int error = check_port(id, address, id.reuses)) return error;
  }
  for (unsigned tries = 0; address.port == 0; ++tries) {
    if (tries > kLastFreePort - kFirstFreePort) return EADDRNOTAVAIL;
    last_port_ = last_port_ >= kLastFreePort ? kFirstFreePort : static_cast<std::uint16_t>(last_port_ + 1);
    Endpoint with_port = address;
    with_port.port = last_port_;
    if (check_port(id, with_port, false) == 0) address = with_port;
  }
  id.source = address;
  id.bound = ++last_bound_;
  return 0;
}

int Manager::bind(Id& id, Endpoint address) {
  if (id.source.known) return EINVAL;
  if (!address.is_any()) {
    const auto nic = is_own(address) ? first_nic(id) : nic_of(address);
    if (!nic) return EADDRNOTAVAIL;
    if (!sees(id, *nic)) return ENODEV;
    id.nic = nic;
  }
  if (nics_.empty()) return ENODEV;
  const int error = take_port(id, address);
  if (error != 0) id.nic.reset();
  return error;
}

int Manager::resolve_address(Id& id, const std::optional<Endpoint>& source, const Endpoint& destination) {
  if (id.addressed || id.listening) return EINVAL;
  if (id.errors >= kMostErrors) return ENOMEM;  // (R9)
  if (!id.source.known && source) {
    if (const int error = bind(id, *source)) return error;
  }
  const bool own = destination.is_any() || is_own(destination);
  const auto reached = nic_of(destination);
  if (!id.nic) id.nic = reached && sees(id, *reached) ? *reached : first_nic(id);
  Endpoint from = id.source;
  if (!from.known || from.is_any()) {
    const NicAddress& nic = nics_[*id.nic];
    from.known = true;
    from.v4 = destination.v4;
    from.ip = destination.v4 ? nic.v4.bytes : nic.v6.bytes;
    if (!id.source.known) {
      if (const int error = take_port(id, from)) return error;
    } else {
      id.source = from;
    }
  }
  id.destination = destination;
  if (own) {
    const NicAddress& to = nics_[nic_of_host(id, destination)];
    id.destination.ip = destination.v4 ? to.v4.bytes : to.v6.bytes;
  }
  id.addressed = own || reached || destination.is_multicast();
  raise(id, id.addressed ? kAddressResolved : kAddressError, id.addressed ? 0 : -EHOSTUNREACH);
  return 0;
}

int Manager::resolve_route(Id& id) {
  if (!id.addressed || id.routed) return EINVAL;  // (R9)
  id.routed = true;
  raise(id, kRouteResolved);
  return 0;
}

void Manager::fill_path(const Id& id, ib_user_path_rec& path) const {
  std::copy_n(id.destination.ip.begin(), 16, path.dgid);
  std::copy_n(own_gid(id).bytes.begin(), 16, path.sgid);
  path.reversible = 1;
  path.mtu = nics_[*id.nic].mtu;
  path.pkey = htons(kPkey);
  path.hop_limit = kHopLimit;
  path.traffic_class = id.tos;
  path.numb_path = 1;
  path.mtu_selector = path.rate_selector = path.packet_life_time_selector = 2;  // exactly
  path.packet_life_time = kAckTimeout - 1;
}

int Manager::query_route(const Id& id, std::size_t out, Output& reply) const {
  rdma_ucm_query_route_resp r{};
  write_sockaddr(id.source, bytes_of(r.src_addr));
  write_sockaddr(id.destination, bytes_of(r.dst_addr));
  r.ibdev_index = ~0u;
  if (id.nic) {
    r.node_guid = nics_[*id.nic].node_guid;
    r.port_num = kPort;
    if (id.routed) {
      r.num_paths = 1;
      fill_path(id, r.ib_route[0]);
    } else if (id.addressed) {
      std::copy_n(id.destination.ip.begin(), 16, r.ib_route[0].dgid);
      std::copy_n(own_gid(id).bytes.begin(), 16, r.ib_route[0].sgid);
      r.ib_route[0].pkey = htons(kPkey);
    }
  }
  put(r, out, reply);
  return 0;
}

int Manager::query(const Id& id, std::uint32_t option, std::size_t out, Output& reply) const {
  if (option == RDMA_USER_CM_QUERY_PATH) {
    put(rdma_ucm_query_path_resp{}, out, reply);  // over Ethernet there are no path records
    return 0;
  }
  if (option == RDMA_USER_CM_QUERY_GID) return EOPNOTSUPP;  // addresses of family AF_IB
  if (option != RDMA_USER_CM_QUERY_ADDR) return ENOSYS;
  if (out < offsetof(rdma_ucm_query_addr_resp, ibdev_index)) return ENOSPC;
  rdma_ucm_query_addr_resp r{};
  r.ibdev_index = ~0u;
  if (id.nic) {
    r.node_guid = nics_[*id.nic].node_guid;
    r.port_num = kPort;
    r.pkey = htons(kPkey);
  }
  r.src_size = static_cast<std::uint16_t>(write_sockaddr(id.source, bytes_of(r.src_addr)));
  r.dst_size = static_cast<std::uint16_t>(write_sockaddr(id.destination, bytes_of(r.dst_addr)));
  put(r, out, reply);
  return 0;
}

ib_uverbs_ah_attr Manager::path_to(const Id& id, const GidBytes& to) const {
  ib_uverbs_ah_attr a{};
  std::copy(to.begin(), to.end(), a.grh.dgid);
  a.grh.sgid_index = own_gid(id).index;
  a.grh.hop_limit = kHopLimit;
  a.grh.traffic_class = id.tos;
  a.is_global = 1;
  a.port_num = kPort;
  return a;
}

int Manager::join(Id& id, const Endpoint& group, std::uint64_t uid, Output& reply) {
  if (!id.nic || !group.is_multicast()) return EINVAL;
  if (!has_room(id.file)) return ENOMEM;
  Multicast m{++last_group_, uid, group, 0, id.place};
  rdma_ucm_event_resp event = event_of(id, kMulticastJoin);
  event.uid = uid;
  event.id = m.number;
  event.param.ud.qp_num = kMulticastQpn;
  event.param.ud.qkey = kUdpQkey;
  event.param.ud.ah_attr = path_to(id, group.ip);
  put(rdma_ucm_create_id_resp{m.number}, sizeof(rdma_ucm_create_id_resp), reply);
  id.groups[m.number] = m;
  raise(id, event, m.number);
  return 0;
}

int Manager::leave(File file, std::span<const std::uint8_t> in, Output& reply) {
  const std::uint32_t number = read<rdma_ucm_destroy_id>(in).id;
  for (const auto& [key, id] : ids_) {
    const auto group = id->groups.find(number);
    if (group == id->groups.end()) continue;
    if (id->file != file) return EINVAL;
    put(rdma_ucm_destroy_id_resp{group->second.events_reported}, sizeof(rdma_ucm_destroy_id_resp), reply);
    std::erase_if(files_.at(file).events, [number](const Event& e) { return e.multicast == number; });
    retract(file);
    id->groups.erase(group);
    return 0;
  }
  return ENOENT;
}

}  // namespace rxnic::cm
