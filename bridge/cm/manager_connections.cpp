// SPDX-License-Identifier: Apache-2.0
// What programs ask of connections (R3, R5, R12 of manager.h).

#include <endian.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <tuple>

#include "bridge/cm/manager.h"
#include "bridge/cm/manager_details.h"

namespace rxnic::cm {

namespace {

constexpr std::uint32_t kMaxBacklog = 1024;

template <class M>
constexpr std::size_t room_of(std::size_t header = 0) {
  return std::tuple_size_v<decltype(M::data)> - header;
}

}  // namespace

int Manager::listen(Id& id, std::uint32_t backlog) {
  if (id.connection != nullptr || id.addressed || id.listening) return EINVAL;
  if (!id.source.known) {
    if (const int error = bind(id, ipv4_endpoint(0))) return error;
  }
  if (id.reuses) {  // (R12)
    if (const int error = check_port(id, id.source, false)) return error;
    id.reuses = false;
  }
  id.listening = true;
  id.backlog = backlog > 0 && backlog < kMaxBacklog ? backlog : kMaxBacklog;
  return 0;
}

int Manager::connect(Id& id, const rdma_ucm_conn_param& param, Time now) {
  if (!id.routed || id.connection != nullptr) return EINVAL;
  const std::size_t room = id.is_datagram() ? room_of<Lookup>(kCmHeaderBytes) : room_of<Request>(kCmHeaderBytes);
  if (param.private_data_len > room) return EINVAL;            // (R7)
  if (connections_.size() >= kMostConnections) return ENOMEM;  // (R8)
  const NicAddress::Gid& own = own_gid(id);
  if (id.is_datagram()) {
    Connection& c = begin(&id, *id.nic, own.index, id.destination.ip, State::kLookupSent);
    send_lookup(c, param, now);
    return 0;
  }
  Connection& c = begin(&id, *id.nic, own.index, id.destination.ip, State::kRequestSent);
  c.responder_resources = param.responder_resources;
  c.initiator_depth = param.initiator_depth;
  c.retry_count = param.retry_count & 7;
  c.rnr_retry = param.rnr_retry_count & 7;
  c.mtu = nics_[*id.nic].mtu;
  send_request(c, param, now);
  return 0;
}

int Manager::accept(Id& id, const rdma_ucm_accept& asked, Time now) {
  Connection* const c = id.connection;
  const rdma_ucm_conn_param& p = asked.conn_param;
  if (c == nullptr) return EINVAL;
  const std::size_t length = p.private_data_len;
  if (c->state == State::kReplyReceived) {  // of the side that asked
    Ready m;
    m.local_id = c->local;
    m.remote_id = c->remote;
    send(*c, m);
    c->state = State::kEstablished;
    return 0;
  }
  if (p.valid == 0) return EINVAL;
  if (c->state == State::kLookupReceived) {
    Found m;
    m.request_id = c->remote;
    m.qpn = p.qp_num & 0xffffff;
    m.qkey = kUdpQkey;
    m.service_id = c->service;
    if (length > room_of<Found>()) return EINVAL;  // (R7)
    std::copy_n(p.private_data, length, m.data.begin());
    id.uid = asked.uid;
    send(*c, m);
    end(*c);
    return 0;
  }
  if (c->state != State::kRequestReceived) return EINVAL;
  cm::Reply m;
  if (length > room_of<cm::Reply>()) return EINVAL;  // (R7)
  m.local_id = c->local;
  m.remote_id = c->remote;
  m.qpn = p.qp_num & 0xffffff;
  m.starting_psn = id.first_psn;
  m.responder_resources = c->responder_resources = p.responder_resources;
  m.initiator_depth = c->initiator_depth = p.initiator_depth;
  m.target_ack_delay = 15;
  m.flow_control = p.flow_control != 0;
  m.rnr_retry = p.rnr_retry_count & 7;
  m.srq = p.srq != 0;
  m.node_guid = be64toh(nics_[c->nic].node_guid);
  std::copy_n(p.private_data, length, m.data.begin());
  id.uid = asked.uid;
  c->state = State::kReplySent;
  send_repeated(*c, m, now);
  return 0;
}

int Manager::reject(Id& id, const rdma_ucm_reject& asked) {
  Connection* const c = id.connection;
  if (c == nullptr) return EINVAL;
  const std::span data{asked.private_data, asked.private_data_len};
  if (c->state == State::kLookupReceived) {
    if (data.size() > room_of<Found>()) return EINVAL;  // (R7)
    reject_lookup(*c, data);
  } else if (c->state == State::kRequestReceived || c->state == State::kReplyReceived ||
             c->state == State::kReplySent) {
    if (data.size() > room_of<Reject>()) return EINVAL;  // (R7)
    reject_request(*c, asked.reason == 0 ? std::uint16_t{kConsumer} : asked.reason, data);
  } else {
    return EINVAL;
  }
  end(*c);
  return 0;
}

int Manager::disconnect(Id& id, Time now) {
  Connection* const c = id.connection;
  if (c == nullptr) return EINVAL;
  switch (c->state) {
    case State::kEstablished:
    case State::kReplySent:
    case State::kReplyReceived:
      send_disconnect(*c, now);
      return 0;
    case State::kDisconnectReceived: {
      Disconnected m;
      m.local_id = c->local;
      m.remote_id = c->remote;
      send(*c, m);
      enter_time_wait(*c, now);
      return 0;
    }
    case State::kDisconnectSent:
    case State::kTimeWait:
    case State::kEnded:
      return 0;
    default:
      return EINVAL;
  }
}

// The ID has gone, its peer is told. (R5)
void Manager::leave_connection(Connection& c, Time now) {
  if (c.id != nullptr) c.id->connection = nullptr;
  c.id = nullptr;
  switch (c.state) {
    case State::kEstablished:
      send_disconnect(c, now);
      return;
    case State::kRequestReceived:
    case State::kReplySent:
    case State::kReplyReceived:
      reject_request(c, kConsumer, {});
      break;
    case State::kLookupReceived:
      reject_lookup(c, {});
      break;
    case State::kRequestSent:
      reject_request(c, kTimeout, {});
      break;
    case State::kDisconnectReceived: {
      Disconnected m;
      m.local_id = c.local;
      m.remote_id = c.remote;
      send(c, m);
      break;
    }
    case State::kDisconnectSent:
      return;  // until it is answered
    default:
      break;
  }
  end(c);
}

int Manager::init_qp_attributes(const Id& id, std::uint32_t state, Output& reply) const {
  if (!id.nic) return EINVAL;
  const Connection* const c = id.connection;
  ib_uverbs_qp_attr a{};
  a.qp_state = state;
  a.port_num = kPort;
  a.qp_attr_mask = IBV_QP_STATE;
  if (id.is_datagram() || c == nullptr) {
    a.qp_attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    if (id.is_datagram()) {
      a.qkey = kUdpQkey;
      a.qp_attr_mask |= IBV_QP_QKEY;
    } else {
      a.qp_attr_mask |= IBV_QP_ACCESS_FLAGS;
    }
    put(a, sizeof a, reply);
    return 0;
  }
  const bool reliable = id.qp_type != IBV_QPT_UC;
  const bool receives = id.qp_type != IBV_QPT_XRC_SEND, sends = id.qp_type != IBV_QPT_XRC_RECV;
  switch (state) {
    case IBV_QPS_INIT:
      a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
      if (c->responder_resources > 0) a.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
      a.qp_attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
      break;
    case IBV_QPS_RTR:
      a.ah_attr = path_to(id, c->peer);
      a.path_mtu = c->mtu;
      a.dest_qp_num = c->remote_qpn;
      a.rq_psn = id.first_psn;
      a.qp_attr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
      if (reliable && receives) {
        a.max_dest_rd_atomic = c->responder_resources;
        a.qp_attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
      }
      break;
    case IBV_QPS_RTS:
      a.sq_psn = c->sq_psn;
      a.qp_attr_mask |= IBV_QP_SQ_PSN;
      if (reliable) {
        a.timeout = id.ack_timeout.value_or(kAckTimeout);
        a.qp_attr_mask |= IBV_QP_TIMEOUT;
      }
      if (reliable && sends) {
        a.retry_cnt = c->retry_count;
        a.rnr_retry = c->rnr_retry;
        a.max_rd_atomic = c->initiator_depth;
        a.qp_attr_mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
      }
      break;
    default:
      return EINVAL;
  }
  put(a, sizeof a, reply);
  return 0;
}

// A packet came before RTU did.
int Manager::notify(Id& id, std::uint32_t event) {
  Connection* const c = id.connection;
  if (event != IBV_EVENT_COMM_EST || c == nullptr) return EINVAL;
  if (c->state == State::kEstablished) return 0;
  if (c->state != State::kReplySent) return EINVAL;
  established(*c);
  return 0;
}

}  // namespace rxnic::cm
