// SPDX-License-Identifier: Apache-2.0
// Receive work queues by themselves, tables of them, and the QPs that spread frames over a table (RSS;
// ibv_create_wq(3), ibv_create_rwq_ind_table(3), ibv_create_qp_ex(3)).
//
//   R1  A WQ is the receive queue of a RAW_PACKET QP of its own, whose number it has; IBV_WQS_RDY is that QP's RTR.
//   R2  A table is the library's; the device learns of it with each QP that is made with it.
//   R3  An RSS QP has a number and flows, and no queues or state: it cannot be queried, modified or posted to.
//   R4  EOPNOTSUPP: VLAN stripping, FCS, delayed drops, end padding; inner headers, IPsec SPI; hash functions other
//       than Toeplitz's.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "bridge/verbs/connection.h"
#include "bridge/verbs/control_path.h"
#include "bridge/verbs/data_path.h"
#include "bridge/verbs/object_life.h"
#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

namespace {

constexpr std::uint64_t kHashFields = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_IPV6 |
                                      IBV_RX_HASH_DST_IPV6 | IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP |
                                      IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;
static_assert(unsigned{IBV_RX_HASH_SRC_IPV4} == unsigned{kHashSourceIpv4} &&
              unsigned{IBV_RX_HASH_DST_PORT_UDP} == unsigned{kHashDestinationPortUdp});

int post_wq_recv(ibv_wq* wq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  return post_recv(&wq_of(wq).queue->qp.qp_base, wr, bad_wr);
}

int move_to(Wq& wq, ibv_qp_state state) {
  ibv_qp_attr a{};
  a.qp_state = state;
  a.port_num = 1;
  return modify_qp(&wq.queue->qp.qp_base, &a, IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0));
}

int change_state(Wq& wq, ibv_wq_state from, ibv_wq_state to) {
  if (to == IBV_WQS_RESET) return move_to(wq, IBV_QPS_RESET);
  if (to == IBV_WQS_ERR) return from == IBV_WQS_RESET ? EINVAL : move_to(wq, IBV_QPS_ERR);
  if (from == IBV_WQS_RDY) return 0;
  if (from == IBV_WQS_ERR) return EINVAL;
  const int status = move_to(wq, IBV_QPS_INIT);
  return status != 0 ? status : move_to(wq, IBV_QPS_RTR);
}

int check(const ibv_qp_init_attr_ex& a) {
  constexpr std::uint32_t kNeeded = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
  if ((a.comp_mask & ~(kNeeded | IBV_QP_INIT_ATTR_CREATE_FLAGS)) != 0) return EOPNOTSUPP;
  if ((a.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && a.create_flags != 0) return EOPNOTSUPP;
  if ((a.comp_mask & kNeeded) != kNeeded || a.pd == nullptr || a.rwq_ind_tbl == nullptr) return EINVAL;
  if (a.qp_type != IBV_QPT_RAW_PACKET) return EOPNOTSUPP;
  if (a.send_cq != nullptr || a.recv_cq != nullptr || a.srq != nullptr || a.cap.max_send_wr != 0) return EINVAL;
  const ibv_rx_hash_conf& hash = a.rx_hash_conf;
  if (hash.rx_hash_function != IBV_RX_HASH_FUNC_TOEPLITZ) return EOPNOTSUPP;  // R4
  if ((hash.rx_hash_fields_mask & ~kHashFields) != 0) return EOPNOTSUPP;
  return hash.rx_hash_key_len == kHashKeyBytes && hash.rx_hash_key != nullptr ? 0 : EINVAL;
}

}  // namespace

ibv_wq* create_wq(ibv_context* context, ibv_wq_init_attr* attributes) {
  const ibv_wq_init_attr& a = *attributes;
  int status = 0;
  if ((a.comp_mask & ~std::uint32_t{IBV_WQ_INIT_ATTR_FLAGS}) != 0 || a.wq_type != IBV_WQT_RQ || a.max_wr == 0 ||
      a.pd == nullptr || a.cq == nullptr) {
    status = EINVAL;
  } else if ((a.comp_mask & IBV_WQ_INIT_ATTR_FLAGS) != 0 && a.create_flags != 0) {
    status = EOPNOTSUPP;  // R4
  }
  auto* const wq = status == 0 ? new (std::nothrow) Wq : nullptr;
  if (status == 0 && wq == nullptr) status = ENOMEM;
  if (status == 0) {
    ibv_qp_init_attr_ex q{};
    q.qp_type = IBV_QPT_RAW_PACKET;
    q.send_cq = q.recv_cq = a.cq;
    q.cap.max_recv_wr = a.max_wr;
    q.cap.max_recv_sge = a.max_sge;
    q.comp_mask = IBV_QP_INIT_ATTR_PD;
    q.pd = a.pd;
    wq->queue = create_receiver(context, q);
    if (wq->queue == nullptr) status = errno;
  }
  if (status != 0) {
    delete wq;
    errno = status;
    return nullptr;
  }
  wq->queue->wq = wq;
  const std::uint32_t number = wq->queue->qp.qp_base.qp_num;
  wq->wq = {};
  wq->wq.context = context;
  wq->wq.wq_context = a.wq_context;
  wq->wq.pd = a.pd;
  wq->wq.cq = a.cq;
  wq->wq.wq_num = wq->wq.handle = number;
  wq->wq.state = IBV_WQS_RESET;
  wq->wq.wq_type = a.wq_type;
  wq->wq.post_recv = post_wq_recv;
  attributes->max_wr = capabilities(*wq->queue).max_recv_wr;
  attributes->max_sge = wq->queue->receive.max_sge;
  return &wq->wq;
}

int modify_wq(ibv_wq* wq, ibv_wq_attr* attributes) {
  const ibv_wq_attr& a = *attributes;
  if ((a.attr_mask & IBV_WQ_ATTR_FLAGS) != 0) return EOPNOTSUPP;  // R4
  if ((a.attr_mask & ~std::uint32_t{IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE}) != 0) return EINVAL;
  const bool names_state = (a.attr_mask & IBV_WQ_ATTR_CURR_STATE) != 0;
  if (names_state && a.curr_wq_state != wq->state) return EINVAL;
  if ((a.attr_mask & IBV_WQ_ATTR_STATE) == 0) return 0;
  if (a.wq_state > IBV_WQS_ERR) return EINVAL;
  if (const int status = change_state(wq_of(wq), wq->state, a.wq_state)) return status;
  wq->state = a.wq_state;
  return 0;
}

int destroy_wq(ibv_wq* wq) {
  Wq& w = wq_of(wq);
  if (w.users.load() != 0) return EBUSY;
  if (const int status = destroy_qp(&w.queue->qp.qp_base); status != 0) return status;
  delete &w;
  return 0;
}

ibv_rwq_ind_table* create_rwq_ind_table(ibv_context* context, ibv_rwq_ind_table_init_attr* attributes) {
  const std::uint32_t log = attributes->log_ind_tbl_size;
  const bool good = attributes->comp_mask == 0 && log <= kMostLogRssEntries &&
                    std::all_of(attributes->ind_tbl, attributes->ind_tbl + (std::size_t{1} << log),
                                [&](const ibv_wq* wq) { return wq != nullptr && wq->context == context; });
  auto* const table = good ? new (std::nothrow) RwqTable : nullptr;
  if (table == nullptr) {
    errno = good ? ENOMEM : EINVAL;
    return nullptr;
  }
  table->table.context = context;
  table->log_entries = log;
  for (std::size_t n = 0; n < std::size_t{1} << log; ++n) {
    table->wqs[n] = &wq_of(attributes->ind_tbl[n]);
    table->wqs[n]->users.fetch_add(1);
  }
  return &table->table;
}

int destroy_rwq_ind_table(ibv_rwq_ind_table* table) {
  RwqTable& t = table_of(table);
  if (t.users.load() != 0) return EBUSY;
  for (std::size_t n = 0; n < std::size_t{1} << t.log_entries; ++n) t.wqs[n]->users.fetch_sub(1);
  delete &t;
  return 0;
}

bool is_rss(const ibv_qp_init_attr_ex& a) {
  return (a.comp_mask & (IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH)) != 0;
}

ibv_qp* create_rss_qp(ibv_context* context, const ibv_qp_init_attr_ex& a) {
  int status = check(a);
  Qp* const qp = status == 0 ? new (std::nothrow) Qp : nullptr;
  if (status == 0 && qp == nullptr) status = ENOMEM;
  channel::Message message = request(channel::Request::kCreateRss);
  if (status == 0) {
    qp->table = &table_of(a.rwq_ind_tbl);
    channel::Rss& r = message.body.rss;
    r = {};
    r.pd = a.pd->handle;
    r.fields = static_cast<std::uint8_t>(a.rx_hash_conf.rx_hash_fields_mask);
    r.log_entries = static_cast<std::uint8_t>(qp->table->log_entries);
    std::memcpy(r.key.data(), a.rx_hash_conf.rx_hash_key, r.key.size());
    for (std::size_t n = 0; n < std::size_t{1} << r.log_entries; ++n) r.queues[n] = qp->table->wqs[n]->wq.wq_num;
    status = call(context_of(context), message);
  }
  if (status != 0) {
    delete qp;
    errno = status;
    return nullptr;
  }
  ibv_qp& p = qp->qp.qp_base;
  begin_qp(p, context, a.qp_context, a.qp_type);
  p.pd = a.pd;
  p.qp_num = p.handle = message.body.rss.qpn;
  pd_of(a.pd).users.fetch_add(1);
  qp->table->users.fetch_add(1);
  return &p;
}

int destroy_rss_qp(Qp& qp) {
  ibv_qp& p = qp.qp.qp_base;
  if (const int status = free_object(context_of(p.context), channel::Request::kFreeRss, p.qp_num)) return status;
  qp.table->users.fetch_sub(1);
  pd_of(p.pd).users.fetch_sub(1);
  delete &qp;
  return 0;
}

}  // namespace rxnic::verbs
