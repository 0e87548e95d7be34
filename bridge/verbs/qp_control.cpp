// SPDX-License-Identifier: Apache-2.0
// Queue pairs: creation, modification and destruction. Posting is in the data path.
//
//   R1  The capabilities are returned as allocated, never less than what was asked for; more than the device has is
//       refused.
//   R2  Which transition needs which attributes is the device's decision (bridge/device); here an attribute that the
//       library does not know is refused, and a path is resolved.
//   R3  RESET empties the queues: the doorbell records are cleared before the request to the device, the QP's CQEs are
//       removed after its reply.
//   R4  A QP on a TM SRQ is RC and has no send queue: the device sends on it (rendezvous).
//   R5  XRC. An XRC_RECV QP has a domain instead of a PD, and neither CQs nor queues. An XRC_SEND QP has no receive
//       queue; an SRQ and a receive CQ that are given for it are ignored, as by the kernel's uverbs.
//   R6  The QP of a receive WQ has no send queue; an RSS QP none at all (receive_wq.cpp).
#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>

#include "bridge/verbs/address.h"
#include "bridge/verbs/connection.h"
#include "bridge/verbs/control_path.h"
#include "bridge/verbs/data_path.h"
#include "bridge/verbs/object_life.h"
#include "bridge/verbs/objects.h"
#include "bridge/verbs/qp_attributes.h"
#include "bridge/verbs/send_queue.h"

namespace rxnic::verbs {

namespace {

constexpr int kAttributes = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_ACCESS_FLAGS |
                            IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY | IBV_QP_AV | IBV_QP_PATH_MTU |
                            IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_SQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                            IBV_QP_DEST_QPN;
constexpr std::uint32_t kQpHasXrcd = 1;  // rdma-core's VERBS_QP_XRCD
constexpr int kKnownAttributes = kAttributes | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE | IBV_QP_CAP | IBV_QP_RATE_LIMIT;

std::uint32_t max_tso_header(const ibv_qp_init_attr_ex& a) {
  return (a.comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER) != 0 ? a.max_tso_header : 0;
}

int validate(ibv_context* context, const ibv_qp_init_attr_ex& a) {
  const channel::DeviceAttributes& device = context_of(context).attributes;
  constexpr std::uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
                                   IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  if ((a.comp_mask & ~kKnown) != 0) return EOPNOTSUPP;
  if ((a.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && a.create_flags != 0) return EOPNOTSUPP;
  if (a.qp_type == IBV_QPT_XRC_RECV) {  // R5
    const bool good = (a.comp_mask & IBV_QP_INIT_ATTR_XRCD) != 0 && a.xrcd != nullptr && a.xrcd->context == context;
    return good ? 0 : EINVAL;
  }
  const bool sends_xrc = a.qp_type == IBV_QPT_XRC_SEND;
  const bool raw = a.qp_type == IBV_QPT_RAW_PACKET;
  const bool known = a.qp_type == IBV_QPT_RC || a.qp_type == IBV_QPT_UC || a.qp_type == IBV_QPT_UD || raw || sends_xrc;
  if (!known) return EOPNOTSUPP;
  if ((a.comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || a.pd == nullptr || a.pd->context != context) return EINVAL;
  if (a.send_cq == nullptr || a.send_cq->context != context) return EINVAL;
  if (!sends_xrc && (a.recv_cq == nullptr || a.recv_cq->context != context)) return EINVAL;
  if (raw && a.srq != nullptr) return EINVAL;
  const bool takes_srq = a.srq != nullptr && !sends_xrc;
  if (takes_srq && (a.srq->context != context || srq_of(a.srq).xrcd != nullptr)) return EINVAL;
  const bool tagged = takes_srq && srq_of(a.srq).tags != nullptr;
  if (tagged && (a.qp_type != IBV_QPT_RC || a.cap.max_send_wr != 0)) return EINVAL;  // R4
  const bool receives = a.srq == nullptr && !sends_xrc;  // with an SRQ the capabilities of the receive side are ignored
  if (a.cap.max_send_wr > device.max_qp_wrs || (receives && a.cap.max_recv_wr > device.max_qp_wrs)) return EINVAL;
  const std::uint32_t tso_header = max_tso_header(a);
  if (tso_header > kMaxTsoHeaderBytes || (tso_header != 0 && check_opcode(a.qp_type, IBV_WR_TSO) != 0)) return EINVAL;
  if (a.cap.max_send_sge > device.max_sge || (receives && a.cap.max_recv_sge > device.max_sge)) return EINVAL;
  return a.cap.max_inline_data > device.max_inline ? EINVAL : 0;
}

static_assert(send_data_offset(kMaxTsoHeaderBytes) + kMaxSge * sizeof(DataSegment) <= kMaxSendStride);

// Programs rely on the slots that hardware adds by rounding up: `ib_send_lat -e` asks for one WR and posts the next
// when the event of the previous one has come, whether it was polled or not.
constexpr std::uint32_t kMinSendSlots = 16;

// R1. The strides are defined in work_queue.h and send_work_queue.h.
void shape(Qp& qp, const ibv_qp_cap& asked, std::uint32_t tso_header, bool receives, std::uint32_t most_inline) {
  SendQueue& s = qp.send;
  const ibv_srq* const srq = qp.qp.qp_base.srq;
  const bool tagged = srq != nullptr && srq_of(const_cast<ibv_srq*>(srq)).tags != nullptr;
  const bool sends = !tagged && qp.qp.qp_base.qp_type != IBV_QPT_XRC_RECV && !qp.receives_only;  // R4, R5, R6
  s.max_sge = std::max(asked.max_send_sge, 1u);
  s.max_tso_header = tso_header;
  s.slots = sends ? power_of_two(std::max(asked.max_send_wr, kMinSendSlots)) : 0;
  const std::uint32_t segments = send_data_offset(tso_header) + s.max_sge * std::uint32_t{sizeof(DataSegment)};
  s.stride = power_of_two(std::max(segments, kSendHeaderBytes + asked.max_inline_data));
  s.max_inline = std::min(s.stride - kSendHeaderBytes, most_inline);
  if (!receives || asked.max_recv_wr == 0) return;
  ReceiveQueue& r = qp.receive;
  r.max_sge = std::max(asked.max_recv_sge, 1u);
  r.slots = power_of_two(asked.max_recv_wr);
  r.stride = power_of_two(std::max<std::uint32_t>(32, r.max_sge * std::uint32_t{sizeof(DataSegment)}));
}

ibv_qp_cap capabilities(const Qp& qp) {
  return {qp.send.slots, qp.receive.slots, qp.send.max_sge, qp.receive.max_sge, qp.send.max_inline};
}

channel::Message creation(const Qp& qp, const QueueMemory& send, const QueueMemory& receive) {
  const ibv_qp& p = qp.qp.qp_base;
  channel::Message message = request(channel::Request::kCreateQp);
  channel::QueuePair& q = message.body.qp;
  q = {};
  q.type = p.qp_type;
  if (p.pd != nullptr) q.pd = p.pd->handle;
  if (p.send_cq != nullptr) q.send_cq = p.send_cq->handle;
  if (p.recv_cq != nullptr) q.receive_cq = p.recv_cq->handle;
  if (qp.xrcd != nullptr) q.xrcd = xrcd_of(qp.xrcd).number;
  q.has_srq = p.srq != nullptr ? 1 : 0;
  q.srqn = p.srq != nullptr ? p.srq->handle : 0;
  q.all_signaled = qp.all_signaled ? 1 : 0;
  q.management = qp.management ? 1 : 0;
  q.send_ring = send.ring().offset;
  q.send_slots = qp.send.slots;
  q.send_stride = qp.send.stride;
  q.send_doorbell = qp.send.doorbell;
  q.receive_ring = receive.ring().offset;
  q.receive_slots = qp.receive.slots;
  q.receive_stride = qp.receive.stride;
  q.receive_doorbell = qp.receive.doorbell;
  return message;
}

// Adds to the users of the CQs and the SRQ. Context::objects is held.
void count_user(const Qp& qp, std::uint32_t one) {
  const ibv_qp& p = qp.qp.qp_base;
  if (p.send_cq != nullptr) cq_of(p.send_cq).users += one;
  if (p.recv_cq != nullptr) cq_of(p.recv_cq).users += one;
  if (p.srq != nullptr) srq_of(p.srq).users += one;
}

// The PD or the XRC domain.
std::atomic<std::uint32_t>& users_of_domain(const Qp& qp) {
  return qp.xrcd != nullptr ? xrcd_of(qp.xrcd).users : pd_of(qp.qp.qp_base.pd).users;
}

// Has the device create the QP. The public part and the shape of `qp` are filled in already.
int create(Context& context, Qp& qp) {
  Mapping& mapping = context.connection->mapping();
  QueueMemory send(mapping, channel::Board::kSend), receive(mapping, channel::Board::kReceive);
  if (!allocate_bookkeeping(qp)) return ENOMEM;
  if (qp.send.slots != 0) {
    if (!send.allocate(std::uint64_t{qp.send.slots} * qp.send.stride)) return ENOMEM;
    qp.send.ring = send.ring().memory;
    qp.send.doorbell = send.record();
  }
  if (qp.receive.slots != 0) {
    if (!receive.allocate(std::uint64_t{qp.receive.slots} * qp.receive.stride)) return ENOMEM;
    qp.receive.ring = receive.ring().memory;
    qp.receive.doorbell = receive.record();
  }
  channel::Message message = creation(qp, send, receive);
  if (const int status = call(context, message); status != 0) return status;
  ibv_qp& p = qp.qp.qp_base;
  p.qp_num = p.handle = message.body.qp.qpn;
  const std::lock_guard guard(context.objects);
  if (!context.qps.set(p.qp_num, &qp)) {
    free_object(context, channel::Request::kFreeQp, p.qp_num);
    return ENOMEM;
  }
  count_user(qp, 1);
  send.keep();
  receive.keep();
  return 0;
}

enum class Kind { kOrdinary, kManagement, kReceiver /* R6 */ };

Qp* create(ibv_context* context, const ibv_qp_init_attr_ex& a, Kind kind = Kind::kOrdinary) {
  int status = validate(context, a);
  Qp* qp = status == 0 ? new (std::nothrow) Qp : nullptr;
  if (status == 0 && qp == nullptr) status = ENOMEM;
  if (status == 0) {
    ibv_qp& p = qp->qp.qp_base;
    begin_qp(p, context, a.qp_context, a.qp_type);
    if (a.qp_type == IBV_QPT_XRC_RECV) {  // R5
      qp->comp_mask = kQpHasXrcd;
      qp->xrcd = a.xrcd;
    } else {
      p.pd = a.pd;
      p.send_cq = a.send_cq;
    }
    if (a.qp_type != IBV_QPT_XRC_RECV && a.qp_type != IBV_QPT_XRC_SEND) {
      p.recv_cq = a.recv_cq;
      p.srq = a.srq;
    }
    qp->all_signaled = a.sq_sig_all != 0;
    qp->management = kind == Kind::kManagement;
    qp->receives_only = kind == Kind::kReceiver;
    const ibv_qp_cap cap = a.qp_type == IBV_QPT_XRC_RECV ? ibv_qp_cap{} : a.cap;
    shape(*qp, cap, max_tso_header(a), p.recv_cq != nullptr && p.srq == nullptr,
          context_of(context).attributes.max_inline);
    if ((a.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) {
      status = set_up_qp_ex(*qp, a.send_ops_flags);
      qp->extended = true;
    }
  }
  if (status == 0) status = create(context_of(context), *qp);
  if (status == 0) {
    users_of_domain(*qp).fetch_add(1);
    return qp;
  }
  delete qp;
  errno = status;
  return nullptr;
}

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

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  // The caller's struct may be the extended one or only its prefix: only the prefix is read.
  ibv_qp_init_attr_ex a{};
  a.qp_context = attributes->qp_context;
  a.send_cq = attributes->send_cq;
  a.recv_cq = attributes->recv_cq;
  a.srq = attributes->srq;
  a.cap = attributes->cap;
  a.qp_type = attributes->qp_type;
  a.sq_sig_all = attributes->sq_sig_all;
  a.comp_mask = IBV_QP_INIT_ATTR_PD;
  a.pd = pd;
  Qp* qp = create(pd->context, a);
  if (qp == nullptr) return nullptr;
  attributes->cap = capabilities(*qp);
  return &qp->qp.qp_base;
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  if (is_rss(*attributes)) return create_rss_qp(context, *attributes);
  Qp* qp = create(context, *attributes);
  if (qp == nullptr) return nullptr;
  attributes->cap = capabilities(*qp);
  return &qp->qp.qp_base;
}

ibv_qp* create_management_qp(ibv_context* context, const ibv_qp_init_attr_ex& attributes) {
  Qp* qp = create(context, attributes, Kind::kManagement);
  return qp == nullptr ? nullptr : &qp->qp.qp_base;
}

Qp* create_receiver(ibv_context* context, const ibv_qp_init_attr_ex& attributes) {
  return create(context, attributes, Kind::kReceiver);
}

ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes) {
  constexpr std::uint32_t kNeeded = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  const ibv_qp_open_attr& a = *attributes;
  int status = 0;
  if ((a.comp_mask & ~(kNeeded | IBV_QP_OPEN_ATTR_CONTEXT)) != 0) {
    status = EOPNOTSUPP;
  } else if ((a.comp_mask & kNeeded) != kNeeded || a.qp_type != IBV_QPT_XRC_RECV || a.xrcd == nullptr ||
             a.xrcd->context != context) {
    status = EINVAL;
  }
  channel::Message message = request(channel::Request::kOpenQp);
  Qp* const qp = status == 0 ? new (std::nothrow) Qp : nullptr;
  if (status == 0 && qp == nullptr) status = ENOMEM;
  if (status == 0) {
    message.body.qp = {};
    message.body.qp.qpn = a.qp_num;
    message.body.qp.xrcd = xrcd_of(a.xrcd).number;
    status = call(context_of(context), message);
  }
  if (status != 0) {
    delete qp;
    errno = status;
    return nullptr;
  }
  ibv_qp& p = qp->qp.qp_base;
  // Its state: until it is queried, as with rdma-core.
  begin_qp(p, context, (a.comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0 ? a.qp_context : nullptr, a.qp_type);
  p.qp_num = p.handle = a.qp_num;
  qp->comp_mask = kQpHasXrcd;
  qp->xrcd = a.xrcd;
  users_of_domain(*qp).fetch_add(1);
  Context& c = context_of(context);
  const std::lock_guard guard(c.objects);
  if (c.qps.find(p.qp_num) == nullptr) {
    c.qps.set(p.qp_num, qp);
  } else {
    c.more_qps.push_back(qp);
  }
  return &p;
}

ibv_qp_ex* qp_to_qp_ex(ibv_qp* qp) { return qp_of(qp).extended ? &qp_of(qp).qp : nullptr; }

int query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int, ibv_qp_init_attr* init) {
  if (qp_of(qp).table != nullptr) return EOPNOTSUPP;  // R6
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
  if (qp_of(qp).table != nullptr) return EOPNOTSUPP;  // R6
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
  if (resets) clear_doorbells(context, qp_of(qp));  // R3
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
