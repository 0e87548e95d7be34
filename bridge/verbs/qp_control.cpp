// SPDX-License-Identifier: Apache-2.0
// Queue pairs: queries, modification and destruction. Creation is in qp_creation.cpp, posting in the data path.
//
//   R1  Which transition needs which attributes is the device's decision (bridge/driver). Here an attribute that the
//       library does not know is refused, and a path is resolved.
//   R2  RESET empties the queues: the doorbell records are cleared before the request to the device, the QP's CQEs are
//       removed after its reply.
//   R3  An RSS QP can neither be queried nor modified (receive_wq.cpp).
#include <algorithm>
#include <cerrno>
#include <mutex>

#include "bridge/verbs/address.h"
#include "bridge/verbs/connection.h"
#include "bridge/verbs/control_path.h"
#include "bridge/verbs/data_path.h"
#include "bridge/verbs/object_life.h"
#include "bridge/verbs/objects.h"
#include "bridge/verbs/qp_attributes.h"

namespace rxnic::verbs {

namespace {

constexpr int kAttributes = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_ACCESS_FLAGS |
                            IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY | IBV_QP_AV | IBV_QP_PATH_MTU |
                            IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_SQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                            IBV_QP_DEST_QPN;
constexpr int kKnownAttributes = kAttributes | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE | IBV_QP_CAP | IBV_QP_RATE_LIMIT;

// Another object of the same QP takes its place. Context::objects is held.
void forget_object(Context& context, Qp& qp) {
  const std::uint32_t number = qp.qp.qp_base.qp_num;
  if (context.qps.find(number) == &qp) {
    context.qps.erase(number);
    const auto other = std::find_if(context.more_qps.begin(), context.more_qps.end(),
                                    [&](const Qp* q) { return q->qp.qp_base.qp_num == number; });
    if (other != context.more_qps.end()) {
      context.qps.set(number, *other);
      context.more_qps.erase(other);
    }
  } else {
    std::erase(context.more_qps, &qp);
  }
}

void clear_doorbells(Context& context, const Qp& qp) {
  Mapping& mapping = context.connection->mapping();
  if (qp.send.slots != 0) mapping.clear_record(channel::Board::kSend, qp.send.doorbell);
  if (qp.receive.slots != 0) mapping.clear_record(channel::Board::kReceive, qp.receive.doorbell);
}

// CqLocks are held.
void forget_all_completions(const ibv_qp& qp) {
  Srq* srq = qp.srq == nullptr ? nullptr : &srq_of(qp.srq);
  if (qp.recv_cq != nullptr) forget_completions(cq_of(qp.recv_cq), qp.qp_num, srq);
  if (qp.send_cq != nullptr && qp.send_cq != qp.recv_cq) forget_completions(cq_of(qp.send_cq), qp.qp_num, nullptr);
}

}  // namespace

ibv_qp_ex* qp_to_qp_ex(ibv_qp* qp) { return qp_of(qp).extended ? &qp_of(qp).qp : nullptr; }

int query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int, ibv_qp_init_attr* init) {
  if (qp_of(qp).table != nullptr) return EOPNOTSUPP;  // R3
  channel::Message message = request(channel::Request::kQueryQp);
  message.body.attributes = {};
  message.body.attributes.qpn = qp->qp_num;
  if (const int status = call(context_of(qp->context), message); status != 0) return status;
  *attributes = from_channel(message.body.attributes);
  attributes->cap = capabilities(qp_of(qp));
  *init = {};
  init->qp_context = qp->qp_context;
  init->send_cq = qp->send_cq;
  init->recv_cq = qp->recv_cq;
  init->srq = qp->srq;
  init->cap = attributes->cap;
  init->qp_type = qp->qp_type;
  init->sq_sig_all = qp_of(qp).all_signaled ? 1 : 0;
  __atomic_store_n(&qp->state, attributes->qp_state, __ATOMIC_RELAXED);
  return 0;
}

int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  if (qp_of(qp).table != nullptr) return EOPNOTSUPP;  // R3
  if ((mask & ~kKnownAttributes) != 0) return EINVAL;
  if ((mask & ~kAttributes) != 0) return EOPNOTSUPP;
  Context& context = context_of(qp->context);
  channel::Message message = request(channel::Request::kModifyQp);
  message.body.attributes = to_channel(*attributes, mask);
  message.body.attributes.qpn = qp->qp_num;
  if ((mask & IBV_QP_AV) != 0 && qp->qp_type != IBV_QPT_UD) {
    const int status = resolve(context, attributes->ah_attr, message.body.attributes.path);
    if (status != 0) return status;
  }
  const bool resets = (mask & IBV_QP_STATE) != 0 && attributes->qp_state == IBV_QPS_RESET;
  if (resets) clear_doorbells(context, qp_of(qp));  // R2
  if (const int status = call(context, message); status != 0) return status;
  if (resets) {
    {
      const CqLocks locks(*qp);
      forget_all_completions(*qp);
    }
    reset_queues(qp_of(qp));
  }
  if ((mask & IBV_QP_STATE) != 0) __atomic_store_n(&qp->state, attributes->qp_state, __ATOMIC_RELAXED);
  return 0;
}

int destroy_qp(ibv_qp* qp) {
  Qp& q = qp_of(qp);
  if (q.table != nullptr) return destroy_rss_qp(q);
  Context& context = context_of(qp->context);
  if (const int status = free_object(context, channel::Request::kFreeQp, qp->qp_num); status != 0) return status;
  std::uint32_t reported;
  {
    const std::lock_guard guard(context.objects);
    const CqLocks locks(*qp);
    forget_all_completions(*qp);
    forget_object(context, q);
    count_user(q, ~std::uint32_t{0});
    reported = q.wq != nullptr ? q.wq->async_events_reported : q.async_events_reported;
  }
  if (q.wq != nullptr) {
    wait_for_acks(q.wq->wq, q.wq->wq.events_completed, reported);
  } else {
    wait_for_acks(*qp, qp->events_completed, reported);
  }
  std::atomic<std::uint32_t>& users = users_of_domain(q);
  Mapping& mapping = context.connection->mapping();
  if (q.send.slots != 0) {
    mapping.free(q.send.ring, std::uint64_t{q.send.slots} * q.send.stride);
    mapping.free_record(channel::Board::kSend, q.send.doorbell);
  }
  if (q.receive.slots != 0) {
    mapping.free(q.receive.ring, std::uint64_t{q.receive.slots} * q.receive.stride);
    mapping.free_record(channel::Board::kReceive, q.receive.doorbell);
  }
  delete &q;
  users.fetch_sub(1);  // the QP's records were the domain's
  return 0;
}

}  // namespace rxnic::verbs
