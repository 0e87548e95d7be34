// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/qp_attributes.h"

#include "bridge/verbs/address.h"
#include "bridge/verbs/connection.h"
#include "bridge/verbs/control_path.h"
#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

channel::QpAttributes to_channel(const ibv_qp_attr& a, int mask) {
  channel::QpAttributes c{};
  const auto has = [mask](int bit) { return (mask & bit) != 0; };
  c.mask = static_cast<std::uint32_t>(mask);
  if (has(IBV_QP_STATE)) c.state = a.qp_state;
  if (has(IBV_QP_CUR_STATE)) c.current_state = a.cur_qp_state;
  if (has(IBV_QP_EN_SQD_ASYNC_NOTIFY)) c.drained_notify = a.en_sqd_async_notify;
  if (has(IBV_QP_ACCESS_FLAGS)) c.access = a.qp_access_flags;
  if (has(IBV_QP_PKEY_INDEX)) c.pkey_index = a.pkey_index;
  if (has(IBV_QP_PORT)) c.port = a.port_num;
  if (has(IBV_QP_QKEY)) c.qkey = a.qkey;
  if (has(IBV_QP_AV)) {
    c.is_global = a.ah_attr.is_global;
    c.remote_lid = a.ah_attr.dlid;
  }
  if (has(IBV_QP_PATH_MTU)) c.path_mtu = a.path_mtu;
  if (has(IBV_QP_TIMEOUT)) c.timeout = a.timeout;
  if (has(IBV_QP_RETRY_CNT)) c.retry_count = a.retry_cnt;
  if (has(IBV_QP_RNR_RETRY)) c.rnr_retry = a.rnr_retry;
  if (has(IBV_QP_RQ_PSN)) c.rq_psn = a.rq_psn & k24Bits;
  if (has(IBV_QP_SQ_PSN)) c.sq_psn = a.sq_psn & k24Bits;
  if (has(IBV_QP_MAX_QP_RD_ATOMIC)) c.max_rd_atomic = a.max_rd_atomic;
  if (has(IBV_QP_MAX_DEST_RD_ATOMIC)) c.max_dest_rd_atomic = a.max_dest_rd_atomic;
  if (has(IBV_QP_MIN_RNR_TIMER)) c.min_rnr_timer = a.min_rnr_timer;
  if (has(IBV_QP_DEST_QPN)) c.remote_qpn = a.dest_qp_num;
  return c;
}

ibv_qp_attr from_channel(const channel::QpAttributes& c) {
  ibv_qp_attr a{};
  a.qp_state = static_cast<ibv_qp_state>(c.state);
  a.cur_qp_state = a.qp_state;
  a.path_mtu = static_cast<ibv_mtu>(c.path_mtu);
  a.path_mig_state = IBV_MIG_MIGRATED;
  a.qkey = c.qkey;
  a.rq_psn = c.rq_psn;
  a.sq_psn = c.sq_psn;
  a.dest_qp_num = c.remote_qpn;
  a.qp_access_flags = c.access;
  if (c.is_global != 0) a.ah_attr = attributes_of(c.path, c.port);
  a.pkey_index = static_cast<std::uint16_t>(c.pkey_index);
  a.en_sqd_async_notify = static_cast<std::uint8_t>(c.drained_notify);
  a.max_rd_atomic = static_cast<std::uint8_t>(c.max_rd_atomic);
  a.max_dest_rd_atomic = static_cast<std::uint8_t>(c.max_dest_rd_atomic);
  a.min_rnr_timer = static_cast<std::uint8_t>(c.min_rnr_timer);
  a.port_num = static_cast<std::uint8_t>(c.port);
  a.timeout = static_cast<std::uint8_t>(c.timeout);
  a.retry_cnt = static_cast<std::uint8_t>(c.retry_count);
  a.rnr_retry = static_cast<std::uint8_t>(c.rnr_retry);
  return a;
}

namespace {

// The opcode moves data into memory of a QP of that type: of a READ the local one.
bool writes_data_here(ibv_qp_type type, ibv_wr_opcode opcode) {
  const bool reliable = type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
  switch (opcode) {
    case IBV_WR_RDMA_READ:
      return reliable;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return type == IBV_QPT_RC || type == IBV_QPT_UC || type == IBV_QPT_XRC_RECV;
    case IBV_WR_SEND_WITH_INV:
      return type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV;
    case IBV_WR_SEND_WITH_IMM:
      return type != IBV_QPT_XRC_SEND && type != IBV_QPT_RAW_PACKET;
    case IBV_WR_SEND:
      return type != IBV_QPT_XRC_SEND;
    default:
      return false;
  }
}

}  // namespace

// Payload is written in the order of its bytes, unless the device writes it with relaxed ordering.
int query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode opcode, std::uint32_t flags) {
  const bool in_order = context_of(qp->context).attributes.data_in_order != 0;
  return flags == 0 && in_order && writes_data_here(qp->qp_type, opcode) ? 1 : 0;
}

}  // namespace rxnic::verbs
