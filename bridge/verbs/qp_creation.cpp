// SPDX-License-Identifier: Apache-2.0
// Creation of queue pairs.
//
//   R1  The capabilities are returned as allocated, never less than what was asked for; more than the device has is
//       refused.
//   R2  A QP on a TM SRQ is RC and has no send queue: the device sends on it (rendezvous).
//   R3  XRC. An XRC_RECV QP has a domain instead of a PD (it shows one that it was given), and neither CQs nor queues.
//       An XRC_SEND QP has no receive queue; an SRQ and a receive CQ that are given for it are ignored, as by the
//       kernel's uverbs.
//   R4  The QP of a receive WQ has no send queue; an RSS QP none at all (receive_wq.cpp).
#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>

#include "bridge/verbs/connection.h"
#include "bridge/verbs/control_path.h"
#include "bridge/verbs/data_path.h"
#include "bridge/verbs/object_life.h"
#include "bridge/verbs/objects.h"
#include "bridge/verbs/send_queue.h"

namespace rxnic::verbs {

namespace {

constexpr std::uint32_t kQpHasXrcd = 1;  // rdma-core's VERBS_QP_XRCD

std::uint32_t max_tso_header(const ibv_qp_init_attr_ex& a) {
  return (a.comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER) != 0 ? a.max_tso_header : 0;
}

int validate(ibv_context* context, const ibv_qp_init_attr_ex& a) {
  const channel::DeviceAttributes& device = context_of(context).attributes;
  constexpr std::uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
                                   IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  if ((a.comp_mask & ~kKnown) != 0) return EOPNOTSUPP;
  if ((a.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0 && a.create_flags != 0) return EOPNOTSUPP;
  if (a.qp_type == IBV_QPT_XRC_RECV) {  // R3
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
  if (tagged && (a.qp_type != IBV_QPT_RC || a.cap.max_send_wr != 0)) return EINVAL;  // R2
  const bool receives = a.srq == nullptr && !sends_xrc;  // with an SRQ the capabilities of the receive side are ignored
  if (a.cap.max_send_wr > device.max_qp_wrs || (receives && a.cap.max_recv_wr > device.max_qp_wrs)) return EINVAL;
  const std::uint32_t tso_header = max_tso_header(a);
  if (tso_header > kMaxTsoHeaderBytes || (tso_header != 0 && check_opcode(a.qp_type, IBV_WR_TSO) != 0)) return EINVAL;
  if (a.cap.max_send_sge > device.max_sge || (receives && a.cap.max_recv_sge > device.max_sge)) return EINVAL;
  return a.cap.max_inline_data > device.max_inline ? EINVAL : 0;
}

static_assert(send_data_offset(kMaxTsoHeaderBytes) + kMaxSge * sizeof(DataSegment) <= kMaxSendStride);

// Programs rely on the slots that hardware adds by rounding up. `ib_send_lat -e` asks for one WR and posts the next
// when the event of the previous one has come, whether that was polled or not.
constexpr std::uint32_t kMinSendSlots = 16;

// R1. The strides are defined in work_queue.h and send_work_queue.h.
void shape(Qp& qp, const ibv_qp_cap& asked, std::uint32_t tso_header, bool receives, std::uint32_t most_inline) {
  SendQueue& s = qp.send;
  const ibv_srq* const srq = qp.qp.qp_base.srq;
  const bool tagged = srq != nullptr && srq_of(const_cast<ibv_srq*>(srq)).tags != nullptr;
  const bool sends = !tagged && qp.qp.qp_base.qp_type != IBV_QPT_XRC_RECV && !qp.receives_only;  // R2, R3, R4
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

channel::Message creation(const Qp& qp, const QueueMemory& send, const QueueMemory& receive) {
  const ibv_qp& p = qp.qp.qp_base;
  channel::Message message = request(channel::Request::kCreateQp);
  channel::QueuePair& q = message.body.qp;
  q = {};
  q.type = p.qp_type;
  if (p.pd != nullptr && qp.xrcd == nullptr) q.pd = p.pd->handle;
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

enum class Kind { kOrdinary, kManagement, kReceiver /* R4 */ };

Qp* create(ibv_context* context, const ibv_qp_init_attr_ex& a, Kind kind = Kind::kOrdinary) {
  int status = validate(context, a);
  Qp* qp = status == 0 ? new (std::nothrow) Qp : nullptr;
  if (status == 0 && qp == nullptr) status = ENOMEM;
  if (status == 0) {
    ibv_qp& p = qp->qp.qp_base;
    begin_qp(p, context, a.qp_context, a.qp_type);
    if (a.qp_type == IBV_QPT_XRC_RECV) {  // R3
      qp->comp_mask = kQpHasXrcd;
      qp->xrcd = a.xrcd;
      // Only for programs to read, as librdmacm does.
      if ((a.comp_mask & IBV_QP_INIT_ATTR_PD) != 0) p.pd = a.pd;
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

}  // namespace rxnic::verbs
