// SPDX-License-Identifier: Apache-2.0
// What the manager says to its peers, and when it says it again (R3 of manager.h).

#include <endian.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>

#include "bridge/cm/manager.h"
#include "bridge/cm/manager_details.h"

namespace rxnic::cm {

namespace {

constexpr std::uint8_t kMaxRetries = 15;
constexpr std::uint16_t kPermissiveLid = 0xffff;
constexpr std::uint8_t kXrc = 1;  // extended transport
constexpr std::uint8_t kLookupRejected = 2;

// What the program says, behind the manager's header; it fits (R7).
template <std::size_t N>
void take_data(const rdma_ucm_conn_param& from, std::array<std::uint8_t, N>& to) {
  std::copy_n(from.private_data, from.private_data_len, to.begin() + kCmHeaderBytes);
}

}  // namespace

Manager::Connection& Manager::begin(Id* id, std::uint32_t nic, std::uint8_t gid_index, const GidBytes& peer,
                                    State state) {
  auto made = std::make_unique<Connection>();
  Connection& c = *made;
  do {
    c.local = ++last_local_;
  } while (c.local == 0 || connections_.contains(c.local));
  c.state = state;
  c.id = id;
  c.nic = nic;
  c.gid_index = gid_index;
  c.peer = peer;
  c.transaction = ++last_transaction_;
  if (id != nullptr) id->connection = &c;
  connections_[c.local] = std::move(made);
  return c;
}

// It is over. As long as its ID lives it stays, and says nothing more.
void Manager::end(Connection& c) {
  c.due.reset();
  c.state = State::kEnded;
  if (c.id == nullptr) connections_.erase(c.local);
}

void Manager::send(const Connection& c, const Message& message) {
  surroundings_.send(c.nic, c.gid_index, c.peer, write(message, c.transaction));
}

void Manager::send_repeated(Connection& c, const Message& message, Time now) {  // (R3)
  c.repeated = write(message, c.transaction);
  c.retries = 0;
  c.due = now + kResponseTime;
  surroundings_.send(c.nic, c.gid_index, c.peer, c.repeated);
}

void Manager::send_request(Connection& c, const rdma_ucm_conn_param& param, Time now) {
  const Id& id = *c.id;
  Request m;
  m.local_id = c.local;
  m.service_id = c.service = service_id(id.port_space, id.destination.port);
  m.node_guid = be64toh(nics_[c.nic].node_guid);
  m.qpn = param.qp_num & 0xffffff;
  m.responder_resources = param.responder_resources;
  m.initiator_depth = param.initiator_depth;
  m.remote_response_timeout = m.local_response_timeout = kTimeCode;
  m.service = id.qp_type == IBV_QPT_UC ? Service::kUc : id.qp_type == IBV_QPT_RC ? Service::kRc : Service::kExtended;
  m.extended_transport = m.service == Service::kExtended ? kXrc : 0;
  m.flow_control = param.flow_control != 0;
  m.starting_psn = id.first_psn;
  m.retry_count = c.retry_count;
  m.rnr_retry = c.rnr_retry;
  m.max_cm_retries = kMaxRetries;
  m.srq = param.srq != 0;
  m.pkey = kPkey;
  m.mtu = c.mtu;
  m.local_lid = m.remote_lid = kPermissiveLid;
  m.local_gid = own_gid(id).bytes;
  m.remote_gid = c.peer;
  m.hop_limit = kHopLimit;
  m.traffic_class = id.tos;
  m.ack_timeout = kAckTimeout;
  write_header(id.source, id.destination, m.data);
  take_data(param, m.data);
  send_repeated(c, m, now);
}

void Manager::send_lookup(Connection& c, const rdma_ucm_conn_param& param, Time now) {
  const Id& id = *c.id;
  Lookup m;
  m.request_id = c.local;
  m.pkey = kPkey;
  m.service_id = c.service = service_id(id.port_space, id.destination.port);
  write_header(id.source, id.destination, m.data);
  take_data(param, m.data);
  send_repeated(c, m, now);
}

void Manager::send_disconnect(Connection& c, Time now) {
  Disconnect m;
  m.local_id = c.local;
  m.remote_id = c.remote;
  m.remote_qpn = c.remote_qpn;
  c.state = State::kDisconnectSent;
  c.transaction = ++last_transaction_;
  send_repeated(c, m, now);
}

void Manager::enter_time_wait(Connection& c, Time now) {
  c.state = State::kTimeWait;
  c.due = now + kTimeWait;
}

void Manager::reject_request(const Connection& c, std::uint16_t reason, std::span<const std::uint8_t> data) {
  Reject m;
  m.local_id = c.local;
  m.remote_id = c.remote;
  m.message = c.state == State::kRequestReceived ? 0 : c.state == State::kReplyReceived ? 1 : 2;
  m.reason = reason;
  if (reason == kTimeout) {
    const auto guid = bytes_of(nics_[c.nic].node_guid);
    m.info_length = static_cast<std::uint8_t>(guid.size());
    std::copy(guid.begin(), guid.end(), m.info.begin());
  }
  std::copy(data.begin(), data.end(), m.data.begin());
  send(c, m);
}

void Manager::reject_lookup(const Connection& c, std::span<const std::uint8_t> data) {
  Found m;
  m.request_id = c.remote;
  m.status = kLookupRejected;
  m.service_id = c.service;
  std::copy(data.begin(), data.end(), m.data.begin());
  send(c, m);
}

std::optional<Time> Manager::next_due() const {
  std::optional<Time> next;
  for (const auto& [local, c] : connections_) {
    if (c->due && (!next || *c->due < *next)) next = c->due;
  }
  return next;
}

bool Manager::awaits_answers() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const auto& c) { return c.second->due && c.second->state != State::kTimeWait; });
}

void Manager::run_timers(Time now) {
  std::vector<std::uint32_t> due;
  for (const auto& [local, c] : connections_) {
    if (c->due && *c->due <= now) due.push_back(local);
  }
  for (const std::uint32_t local : due) time_out(*connections_.at(local), now);
}

void Manager::time_out(Connection& c, Time now) {
  if (c.state != State::kTimeWait && ++c.retries <= kRetries) {
    c.due = now + kResponseTime;
    surroundings_.send(c.nic, c.gid_index, c.peer, c.repeated);
    return;
  }
  Id* const id = c.id;
  const State state = c.state;
  end(c);
  if (id == nullptr) return;
  if (state == State::kTimeWait) {
    raise(*id, kTimeWaitExit);
  } else if (state == State::kDisconnectSent) {
    raise(*id, kDisconnected);
  } else {
    raise(*id, kUnreachable, -ETIMEDOUT);
  }
}

}  // namespace rxnic::cm
