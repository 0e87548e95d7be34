// SPDX-License-Identifier: Apache-2.0
// What the manager hears from its peers (R3, R4, R6, R10 of manager.h).

#include <endian.h>
#include <infiniband/verbs.h>

#include <utility>

#include "bridge/cm/manager.h"
#include "bridge/cm/manager_details.h"

namespace rxnic::cm {

namespace {

// The private data of a message behind the manager's own header, as an event has it.
template <std::size_t N, class Param>
void give_data(const std::array<std::uint8_t, N>& data, std::size_t from, Param& to) {
  std::copy(data.begin() + static_cast<std::ptrdiff_t>(from), data.end(), to.private_data);
  to.private_data_len = static_cast<std::uint8_t>(N - from);
}

}  // namespace

// The connection that both sides know by these numbers. (R6)
Manager::Connection* Manager::of_peer(std::uint32_t local, std::uint32_t remote, std::uint32_t nic,
                                      const GidBytes& from) {
  const auto at = connections_.find(local);
  if (at == connections_.end()) return nullptr;
  Connection& c = *at->second;
  const bool known = c.state != State::kRequestSent && c.state != State::kLookupSent;
  return c.nic == nic && c.peer == from && (!known || c.remote == remote) ? &c : nullptr;
}

// The connection that its peer gave up before it knew this side's number. (R6, R10)
Manager::Connection* Manager::given_up(const Reject& m, std::uint32_t nic, const GidBytes& from) {
  const auto guid = read<std::uint64_t>(m.info);
  for (const auto& [local, c] : connections_) {
    if (guid != 0 && c->remote_guid == guid && c->remote == m.local_id && c->nic == nic && c->peer == from) {
      return c.get();
    }
  }
  return nullptr;
}

Manager::Id* Manager::listener_for(std::uint32_t nic, const GidBytes& to, std::uint64_t service,
                                   const CmHeader& header) {
  for (const auto& [number, id] : ids_) {
    if (!id->listening || service_id(id->port_space, id->source.port) != service || !sees(*id, nic)) continue;
    const Endpoint& s = id->source;
    if (!id->takes_family_of(header.destination)) continue;
    if (s.is_any() || s.ip == header.destination.ip || s.ip == to || (is_own(s) && id->nic == nic)) {
      return id.get();
    }
  }
  return nullptr;
}

std::unique_ptr<Manager::Id> Manager::accepted_id(Id& listener, std::uint32_t nic, const CmHeader& header,
                                                  std::uint64_t service) {
  auto id = std::make_unique<Id>();
  id->file = listener.file;
  id->place = listener.place;
  id->port_space = listener.port_space;
  id->qp_type = listener.qp_type;
  id->tos = listener.tos;
  id->source = header.destination;
  id->source.port = port_of(service);
  id->destination = header.source;
  id->nic = nic;
  id->addressed = id->routed = true;
  id->first_psn = static_cast<std::uint32_t>(random_()) & 0xffffff;
  return id;
}

void Manager::receive(std::uint32_t nic, const GidBytes& from, std::span<const std::uint8_t> mad, Time now) {
  const auto received = parse(mad);
  if (!received) return;
  std::visit([&](const auto& m) { take(m, nic, from, received->transaction, now); }, received->message);
}

void Manager::take(const Request& m, std::uint32_t nic, const GidBytes& from, std::uint64_t transaction, Time) {
  for (const auto& [local, c] : connections_) {  // once more
    if (c->remote != m.local_id || c->peer != from || c->nic != nic || c->transaction != transaction) continue;
    if (c->state == State::kReplySent) surroundings_.send(c->nic, c->gid_index, c->peer, c->repeated);
    return;
  }
  const auto header = parse_header(m.data);
  const bool v6 = m.remote_gid == nics_[nic].v6.bytes;
  const NicAddress::Gid& own = v6 ? nics_[nic].v6 : nics_[nic].v4;
  Id* const listener = header ? listener_for(nic, m.remote_gid, m.service_id, *header) : nullptr;
  if (listener == nullptr || listener->is_datagram()) {  // (R4)
    Reject no;
    no.remote_id = m.local_id;
    no.reason = kInvalidServiceId;
    surroundings_.send(nic, own.index, from, write(no, transaction));
    return;
  }
  if (listener->backlog == 0 || !has_room(listener->file)) return;  // (R4, R8)
  --listener->backlog;
  std::unique_ptr<Id> id = accepted_id(*listener, nic, *header, m.service_id);
  if (m.service == Service::kUc) id->qp_type = IBV_QPT_UC;
  if (m.service == Service::kExtended) id->qp_type = IBV_QPT_XRC_RECV;
  Connection& c = begin(id.get(), nic, own.index, from, State::kRequestReceived);
  c.transaction = transaction;
  c.remote = m.local_id;
  c.remote_guid = htobe64(m.node_guid);
  c.service = m.service_id;
  c.remote_qpn = m.qpn;
  c.sq_psn = m.starting_psn;
  c.responder_resources = m.initiator_depth;
  c.initiator_depth = m.responder_resources;
  c.retry_count = m.retry_count;
  c.rnr_retry = m.rnr_retry;
  c.mtu = std::min(m.mtu, nics_[nic].mtu);
  rdma_ucm_event_resp event = event_of(*listener, kConnectRequest);
  rdma_ucm_conn_param& p = event.param.conn;
  give_data(m.data, kCmHeaderBytes, p);
  p.responder_resources = c.responder_resources;
  p.initiator_depth = c.initiator_depth;
  p.flow_control = m.flow_control;
  p.retry_count = m.retry_count;
  p.rnr_retry_count = m.rnr_retry;
  p.srq = m.srq;
  p.qp_num = m.qpn;
  files_.at(listener->file).events.push_back({listener, 0, std::move(id), event});
  surroundings_.notify(listener->file);
}

void Manager::take(const MoreTime& m, std::uint32_t nic, const GidBytes& from, std::uint64_t, Time now) {
  Connection* const c = of_peer(m.remote_id, m.local_id, nic, from);
  if (c == nullptr || !c->due) return;
  c->due = now + kResponseTime + Time{4096ll << std::min<unsigned>(m.service_timeout, 31)};
}

void Manager::take(const Reject& m, std::uint32_t nic, const GidBytes& from, std::uint64_t, Time) {  // (R10)
  const bool numberless = m.reason == kTimeout && m.remote_id == 0;
  Connection* const c = numberless ? given_up(m, nic, from) : of_peer(m.remote_id, m.local_id, nic, from);
  if (c == nullptr) return;
  switch (c->state) {
    case State::kRequestSent:
    case State::kRequestReceived:
    case State::kReplySent:
    case State::kReplyReceived:
    case State::kEstablished:
    case State::kDisconnectSent: {
      Id* const id = c->id;
      end(*c);
      if (id == nullptr) return;
      rdma_ucm_event_resp event = event_of(*id, kRejected, m.reason);
      give_data(m.data, 0, event.param.conn);
      raise(*id, event);
      return;
    }
    default:
      return;
  }
}

void Manager::take(const cm::Reply& m, std::uint32_t nic, const GidBytes& from, std::uint64_t, Time) {
  Connection* const c = of_peer(m.remote_id, m.local_id, nic, from);
  if (c == nullptr || c->id == nullptr) return;
  if (c->state == State::kEstablished) {  // RTU was lost
    Ready again;
    again.local_id = c->local;
    again.remote_id = c->remote;
    send(*c, again);
    return;
  }
  if (c->state != State::kRequestSent) return;
  c->due.reset();
  c->state = State::kReplyReceived;
  c->remote = m.local_id;
  c->remote_guid = htobe64(m.node_guid);
  c->remote_qpn = m.qpn;
  c->sq_psn = m.starting_psn;
  c->rnr_retry = m.rnr_retry;
  c->responder_resources = m.initiator_depth;
  c->initiator_depth = m.responder_resources;
  rdma_ucm_event_resp event = event_of(*c->id, kConnectResponse);
  rdma_ucm_conn_param& p = event.param.conn;
  give_data(m.data, 0, p);
  p.responder_resources = c->responder_resources;
  p.initiator_depth = c->initiator_depth;
  p.flow_control = m.flow_control;
  p.rnr_retry_count = m.rnr_retry;
  p.srq = m.srq;
  p.qp_num = m.qpn;
  raise(*c->id, event);
}

void Manager::established(Connection& c) {
  c.due.reset();
  c.state = State::kEstablished;
  if (c.id != nullptr) raise(*c.id, EventKind::kEstablished);
}

void Manager::take(const Ready& m, std::uint32_t nic, const GidBytes& from, std::uint64_t, Time) {
  Connection* const c = of_peer(m.remote_id, m.local_id, nic, from);
  if (c != nullptr && c->state == State::kReplySent) established(*c);
}

void Manager::take(const Disconnect& m, std::uint32_t nic, const GidBytes& from, std::uint64_t transaction, Time now) {
  Connection* const c = of_peer(m.remote_id, m.local_id, nic, from);
  const auto answer = [&] {
    Disconnected yes;
    yes.local_id = m.remote_id;
    yes.remote_id = m.local_id;
    const std::uint8_t index = c != nullptr ? c->gid_index : nics_[nic].v4.index;
    surroundings_.send(nic, index, from, write(yes, transaction));
  };
  if (c == nullptr) return answer();  // (R6)
  switch (c->state) {
    case State::kEstablished:
    case State::kReplySent:
    case State::kReplyReceived:
      c->due.reset();
      c->state = State::kDisconnectReceived;
      c->transaction = transaction;
      if (c->id != nullptr) raise(*c->id, kDisconnected);
      return;
    case State::kDisconnectSent: {  // both at once
      answer();
      Id* const id = c->id;
      enter_time_wait(*c, now);
      if (id != nullptr) raise(*id, kDisconnected);
      return;
    }
    case State::kRequestSent:  // whose REP was lost (R6)
    case State::kTimeWait:
    case State::kEnded:
      return answer();
    default:
      return;
  }
}

void Manager::take(const Disconnected& m, std::uint32_t nic, const GidBytes& from, std::uint64_t, Time now) {
  Connection* const c = of_peer(m.remote_id, m.local_id, nic, from);
  if (c == nullptr || c->state != State::kDisconnectSent) return;
  if (c->id != nullptr) raise(*c->id, kDisconnected);
  enter_time_wait(*c, now);
}

void Manager::take(const Lookup& m, std::uint32_t nic, const GidBytes& from, std::uint64_t transaction, Time) {
  for (const auto& [local, c] : connections_) {  // once more
    if (c->remote == m.request_id && c->peer == from && c->nic == nic && c->transaction == transaction) return;
  }
  const auto header = parse_header(m.data);
  const bool v6 = header && !header->destination.v4;
  const NicAddress::Gid& own = v6 ? nics_[nic].v6 : nics_[nic].v4;
  Id* const listener = header ? listener_for(nic, own.bytes, m.service_id, *header) : nullptr;
  if (listener == nullptr || !listener->is_datagram()) {  // (R4)
    Found no;
    no.request_id = m.request_id;
    no.status = 1;
    no.service_id = m.service_id;
    surroundings_.send(nic, own.index, from, write(no, transaction));
    return;
  }
  if (listener->backlog == 0 || !has_room(listener->file)) return;  // (R4, R8)
  --listener->backlog;
  std::unique_ptr<Id> id = accepted_id(*listener, nic, *header, m.service_id);
  Connection& c = begin(id.get(), nic, own.index, from, State::kLookupReceived);
  c.transaction = transaction;
  c.remote = m.request_id;
  c.service = m.service_id;
  rdma_ucm_event_resp event = event_of(*listener, kConnectRequest);
  give_data(m.data, kCmHeaderBytes, event.param.ud);
  files_.at(listener->file).events.push_back({listener, 0, std::move(id), event});
  surroundings_.notify(listener->file);
}

void Manager::take(const Found& m, std::uint32_t nic, const GidBytes& from, std::uint64_t, Time) {
  const auto at = connections_.find(m.request_id);
  if (at == connections_.end()) return;
  Connection& c = *at->second;
  if (c.state != State::kLookupSent || c.nic != nic || c.peer != from) return;
  Id* const id = c.id;
  const GidBytes peer = c.peer;
  end(c);
  if (id == nullptr) return;
  const bool refused = m.status != 0;
  rdma_ucm_event_resp event = event_of(*id, refused ? kUnreachable : EventKind::kEstablished, m.status);
  give_data(m.data, 0, event.param.ud);
  if (!refused) {
    event.param.ud.qp_num = m.qpn;
    event.param.ud.qkey = m.qkey;
    event.param.ud.ah_attr = path_to(*id, peer);
  }
  raise(*id, event);
}

}  // namespace rxnic::cm
