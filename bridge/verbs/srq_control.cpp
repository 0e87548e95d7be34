// SPDX-License-Identifier: Apache-2.0
// Shared receive queues: creation, modification and destruction (rules 2). Posting is in the data path.
//
//   R1  max_wr and max_sge are returned as allocated, never less than what was asked for (rules 2.1) nor more than the
//       device allows.
//   R2  A linked list of n slots holds n - 1 WQEs (work_queue.h R2), other rings hold n. The limit may be as many.
//   R3  A change is all or nothing; the size does not change (no IBV_DEVICE_SRQ_RESIZE).
//   R4  A TM or XRC SRQ has a CQ of its own for all its completions. A TM SRQ has max_num_tags handles, and room for as
//       many outstanding operations as it returns in max_ops, never less than what was asked for.
#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>

#include "bridge/channel/tag_ring.h"
#include "bridge/verbs/connection.h"
#include "bridge/verbs/control_path.h"
#include "bridge/verbs/data_path.h"
#include "bridge/verbs/object_life.h"
#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

namespace {

constexpr std::uint32_t kMinSlots = 2;  // that the driver takes

void shape(Srq& srq, const channel::DeviceAttributes& device, const ibv_srq_attr& asked) {
  srq.linked_list = device.srq_linked_list != 0;
  const std::uint32_t head = srq.linked_list ? std::uint32_t{sizeof(NextSegment)} : 0;
  const std::uint32_t unused = srq.linked_list ? 1 : 0;  // R2
  srq.max_sge = std::max(asked.max_sge, 1u);
  srq.slots = std::max(power_of_two(asked.max_wr + unused), kMinSlots);
  srq.max_wr = std::min(srq.slots - unused, device.max_srq_wrs);
  srq.stride = power_of_two(std::max<std::uint32_t>(32, head + srq.max_sge * std::uint32_t{sizeof(DataSegment)}));
}

// R4.
int shape_tags(Srq& srq, const channel::DeviceAttributes& device, const ibv_tm_cap& asked) {
  if (asked.max_num_tags == 0 || asked.max_num_tags > device.max_tags || asked.max_ops == 0 ||
      asked.max_ops > device.max_tag_operations) {
    return EINVAL;
  }
  srq.tags.reset(new (std::nothrow) TagList);
  if (srq.tags == nullptr) return ENOMEM;
  srq.tags->max_tags = asked.max_num_tags;
  srq.tags->slots = power_of_two(asked.max_ops);
  return 0;
}

std::uint64_t tag_ring_bytes(const Srq& srq) {
  return srq.tags == nullptr ? 0 : std::uint64_t{srq.tags->slots} * channel::kTagWriteBytes;
}

int create(Context& context, Srq& srq, const ibv_srq_attr& asked) {
  const channel::DeviceAttributes& device = context.attributes;
  if (asked.max_wr == 0 || asked.max_wr > device.max_srq_wrs || asked.max_sge > device.max_srq_sge) return EINVAL;
  shape(srq, device, asked);
  Mapping& mapping = context.connection->mapping();
  QueueMemory memory(mapping, channel::Board::kReceive), tags(mapping, channel::Board::kTags);
  if (!memory.allocate(std::uint64_t{srq.slots} * srq.stride) || !allocate_bookkeeping(srq)) return ENOMEM;
  if (srq.tags != nullptr && !tags.allocate(tag_ring_bytes(srq))) return ENOMEM;
  srq.ring = memory.ring().memory;
  srq.doorbell = memory.record();

  channel::Message message = request(channel::Request::kCreateSrq);
  channel::SharedReceiveQueue& q = message.body.srq;
  q = {};
  q.pd = srq.srq.pd->handle;
  q.type = srq.type;
  q.doorbell = srq.doorbell;
  q.ring = memory.ring().offset;
  q.slots = srq.slots;
  q.stride = srq.stride;
  if (srq.tags != nullptr) {
    srq.tags->ring = tags.ring().memory;
    srq.tags->doorbell = tags.record();
    q.tag_ring = tags.ring().offset;
    q.tag_slots = srq.tags->slots;
    q.tag_doorbell = srq.tags->doorbell;
  }
  if (srq.cq != nullptr) q.cqn = srq.cq->handle;
  if (srq.xrcd != nullptr) q.xrcd = srq.xrcd->number;
  if (const int status = call(context, message); status != 0) return status;
  srq.number = srq.srq.handle = q.srqn;
  const std::lock_guard guard(context.objects);
  if (!context.srqs.set(srq.number, &srq)) {
    free_object(context, channel::Request::kFreeSrq, srq.number);
    return ENOMEM;
  }
  if (srq.cq != nullptr) ++cq_of(srq.cq).users;
  if (srq.xrcd != nullptr) srq.xrcd->users.fetch_add(1);
  memory.keep();
  tags.keep();
  return 0;
}

// What a TM or XRC SRQ has besides a basic one.
int extend(Srq& srq, const Context& context, const ibv_srq_init_attr_ex& asked) {
  if (asked.cq == nullptr || asked.cq->context != srq.srq.context) return EINVAL;
  srq.cq = asked.cq;
  if (srq.type == IBV_SRQT_TM) return shape_tags(srq, context.attributes, asked.tm_cap);
  if (asked.xrcd == nullptr || asked.xrcd->context != srq.srq.context) return EINVAL;
  srq.xrcd = &xrcd_of(asked.xrcd);
  return 0;
}

// `extended`: the attributes of a TM or XRC SRQ, or nullptr.
ibv_srq* make_srq(ibv_pd* pd, ibv_srq_init_attr* attributes, ibv_srq_init_attr_ex* extended) {
  Context& context = context_of(pd->context);
  auto* srq = new (std::nothrow) Srq;
  int status = ENOMEM;
  if (srq != nullptr) {
    srq->srq.context = pd->context;
    srq->srq.srq_context = attributes->srq_context;
    srq->srq.pd = pd;
    srq->type = extended != nullptr ? extended->srq_type : IBV_SRQT_BASIC;
    pthread_mutex_init(&srq->srq.mutex, nullptr);
    pthread_cond_init(&srq->srq.cond, nullptr);
    status = extended == nullptr ? 0 : extend(*srq, context, *extended);
    if (status == 0) status = create(context, *srq, attributes->attr);
  }
  if (status != 0) {
    delete srq;
    errno = status;
    return nullptr;
  }
  pd_of(pd).users.fetch_add(1);
  attributes->attr.max_wr = srq->max_wr;  // R1
  attributes->attr.max_sge = srq->max_sge;
  if (srq->tags != nullptr) {  // R4
    extended->tm_cap.max_ops = std::min(srq->tags->slots, context.attributes.max_tag_operations);
  }
  return &srq->srq;
}

}  // namespace

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* attributes) {
  if (pd == nullptr) {  // librdmacm's rdma_create_srq of an ID that is not bound to a device
    errno = EINVAL;
    return nullptr;
  }
  return make_srq(pd, attributes, nullptr);
}

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes) {
  constexpr std::uint32_t kKnown = IBV_SRQ_INIT_ATTR_RESERVED - 1;
  const std::uint32_t mask = attributes->comp_mask;
  const ibv_srq_type type = (mask & IBV_SRQ_INIT_ATTR_TYPE) != 0 ? attributes->srq_type : IBV_SRQT_BASIC;
  int status = 0;
  if ((mask & ~kKnown) != 0) {
    status = EOPNOTSUPP;
  } else if ((mask & IBV_SRQ_INIT_ATTR_PD) == 0 || attributes->pd == nullptr || attributes->pd->context != context) {
    status = EINVAL;
  } else if (type == IBV_SRQT_TM || type == IBV_SRQT_XRC) {
    const std::uint32_t more = type == IBV_SRQT_TM ? IBV_SRQ_INIT_ATTR_TM : IBV_SRQ_INIT_ATTR_XRCD;
    const std::uint32_t needed = IBV_SRQ_INIT_ATTR_CQ | more;
    status = (mask & needed) == needed ? 0 : EINVAL;
  } else if (type != IBV_SRQT_BASIC) {
    status = EINVAL;
  }
  if (status != 0) {
    errno = status;
    return nullptr;
  }
  // The two structs have the same prefix.
  return make_srq(attributes->pd, reinterpret_cast<ibv_srq_init_attr*>(attributes),
                  type == IBV_SRQT_BASIC ? nullptr : attributes);
}

int modify_srq(ibv_srq* srq, ibv_srq_attr* attributes, int mask) {
  if ((mask & ~IBV_SRQ_LIMIT) != 0) return EINVAL;  // R3
  if (mask == 0) return 0;
  if (attributes->srq_limit > srq_of(srq).max_wr) return EINVAL;
  channel::Message message = request(channel::Request::kModifySrq);
  message.body.srq = {};
  message.body.srq.srqn = srq_of(srq).number;
  message.body.srq.limit = attributes->srq_limit;
  return call(context_of(srq->context), message);
}

int query_srq(ibv_srq* srq, ibv_srq_attr* attributes) {
  channel::Message message = request(channel::Request::kQuerySrq);
  message.body.srq = {};
  message.body.srq.srqn = srq_of(srq).number;
  if (const int status = call(context_of(srq->context), message); status != 0) return status;
  *attributes = {srq_of(srq).max_wr, srq_of(srq).max_sge, message.body.srq.limit};
  return 0;
}

int get_srq_num(ibv_srq* srq, std::uint32_t* number) {
  *number = srq_of(srq).number;
  return 0;
}

int destroy_srq(ibv_srq* srq) {
  Srq& q = srq_of(srq);
  Context& context = context_of(srq->context);
  {
    const std::lock_guard guard(context.objects);
    if (q.users != 0) return EBUSY;
  }
  if (const int status = free_object(context, channel::Request::kFreeSrq, q.number); status != 0) return status;
  std::uint32_t reported;
  {
    const std::lock_guard guard(context.objects);
    if (q.cq != nullptr) {
      Cq& cq = cq_of(q.cq);
      const std::lock_guard polls(cq.lock);  // a poll finds it in the table
      context.srqs.erase(q.number);
      --cq.users;
    } else {
      context.srqs.erase(q.number);
    }
    reported = q.async_events_reported;
  }
  wait_for_acks(*srq, srq->events_completed, reported);
  Pd& pd = pd_of(srq->pd);
  Mapping& mapping = context.connection->mapping();
  mapping.free(q.ring, std::uint64_t{q.slots} * q.stride);
  mapping.free_record(channel::Board::kReceive, q.doorbell);
  if (q.tags != nullptr) {
    mapping.free(q.tags->ring, tag_ring_bytes(q));
    mapping.free_record(channel::Board::kTags, q.tags->doorbell);
  }
  if (q.xrcd != nullptr) q.xrcd->users.fetch_sub(1);
  delete &q;
  pd.users.fetch_sub(1);  // the SRQ's records were the domain's
  return 0;
}

}  // namespace rxnic::verbs
