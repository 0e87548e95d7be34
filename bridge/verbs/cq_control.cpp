// SPDX-License-Identifier: Apache-2.0
// Completion queues and completion channels: creation, modification and destruction. Polling and events are in the data
// path.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>

#include "bridge/verbs/connection.h"
#include "bridge/verbs/control_path.h"
#include "bridge/verbs/data_path.h"
#include "bridge/verbs/object_life.h"
#include "bridge/verbs/objects.h"
#include "bridge/verbs/wait.h"

namespace rxnic::verbs {

namespace {

constexpr std::uint32_t kAttributeFlags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;

int validate(const ibv_context* context, const channel::DeviceAttributes& device, const ibv_cq_init_attr_ex& a) {
  if (a.cqe == 0 || a.cqe > device.max_cqes) return EINVAL;
  if (a.comp_vector >= static_cast<std::uint32_t>(context->num_comp_vectors)) return EINVAL;
  if (a.channel != nullptr && a.channel->context != context) return EINVAL;
  if ((a.comp_mask & ~std::uint32_t{IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD}) != 0) return EINVAL;
  const bool in_domain = (a.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0;
  if (in_domain && (a.parent_domain == nullptr || a.parent_domain->context != context ||
                    pd_of(a.parent_domain).protection == nullptr)) {
    return EINVAL;  // a PD alone is no parent domain
  }
  const bool flags = (a.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
  return flags && (a.flags & ~kAttributeFlags) != 0 ? EOPNOTSUPP : 0;
}

// A ring may have more slots than the device allows CQEs: it is a power of two.
int reported_cqes(const Context& context, std::uint32_t slots) {
  return static_cast<int>(std::min(slots, context.attributes.max_cqes));
}

// Has the device create the CQ. The public part of `cq` is filled in already.
int create(Context& context, Cq& cq, const ibv_cq_init_attr_ex& a) {
  Mapping& mapping = context.connection->mapping();
  QueueMemory memory(mapping, channel::Board::kConsumer);
  cq.cqe_bytes = context.attributes.cqe_bytes;
  cq.slots = power_of_two(a.cqe);
  const std::uint64_t bytes = std::uint64_t{cq.slots} * cq.cqe_bytes;
  if (!memory.allocate(bytes)) return ENOMEM;
  std::memset(memory.ring().memory, 0xff, bytes);  // completion.h R2
  cq.ring = memory.ring().memory;
  cq.doorbell = memory.record();

  channel::Message message = request(channel::Request::kCreateCq);
  channel::CompletionQueue& q = message.body.cq;
  q = {};
  q.slots = cq.slots;
  q.ring = memory.ring().offset;
  q.doorbell = cq.doorbell;
  q.channel = a.channel == nullptr ? 0 : channel_of(a.channel).number;
  q.ignore_overrun =
      (a.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 && (a.flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN) != 0;
  if (const int status = call(context, message); status != 0) return status;
  cq.number = cq.cq.handle = q.cqn;
  cq.cq.cqe = reported_cqes(context, cq.slots);
  const std::lock_guard guard(context.objects);
  if (!context.cqs.set(cq.number, &cq)) {
    free_object(context, channel::Request::kFreeCq, cq.number);
    return ENOMEM;
  }
  if (a.channel != nullptr) ++a.channel->refcnt;
  memory.keep();
  return 0;
}

Cq* create(ibv_context* context, const ibv_cq_init_attr_ex& a, bool extended) {
  Context& c = context_of(context);
  int status = validate(context, c.attributes, a);
  Cq* cq = status == 0 ? new (std::nothrow) Cq : nullptr;
  if (status == 0 && cq == nullptr) status = ENOMEM;
  if (status == 0) {
    cq->cq.context = context;
    cq->cq.channel = a.channel;
    cq->cq.cq_context = a.cq_context;
    pthread_mutex_init(&cq->cq.mutex, nullptr);
    pthread_cond_init(&cq->cq.cond, nullptr);
    cq->wc_flags = a.wc_flags;
    cq->single_threaded =
        (a.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 && (a.flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0;
    if ((a.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0) cq->domain = &pd_of(a.parent_domain);
    if (extended) status = set_up_cq_ex(*cq);
  }
  if (status == 0) status = create(c, *cq, a);
  if (status == 0) {
    if (cq->domain != nullptr) cq->domain->users.fetch_add(1);
    return cq;
  }
  delete cq;
  errno = status;
  return nullptr;
}

}  // namespace

ibv_comp_channel* create_comp_channel(ibv_context* context) {
  auto* channel = new (std::nothrow) Channel;
  rxnic::channel::Descriptor read_end, write_end;
  int status = channel == nullptr ? ENOMEM : make_event_pipe(read_end, write_end);
  rxnic::channel::Message message = request(rxnic::channel::Request::kCreateChannel);
  if (status == 0) {
    const int descriptors[] = {write_end.get()};
    status = call(context_of(context), message, descriptors);
  }
  if (status != 0) {
    delete channel;
    errno = status;
    return nullptr;
  }
  channel->number = message.body.handle.number;
  channel->channel = {context, read_end.release(), 0};
  return &channel->channel;
}

int destroy_comp_channel(ibv_comp_channel* channel) {
  Context& context = context_of(channel->context);
  {
    const std::lock_guard guard(context.objects);
    if (channel->refcnt != 0) return EBUSY;
  }
  const int status = free_object(context, rxnic::channel::Request::kFreeChannel, channel_of(channel).number);
  if (status != 0) return status;
  close(channel->fd);
  delete &channel_of(channel);
  return 0;
}

ibv_cq* create_cq(ibv_context* context, int cqes, void* cq_context, ibv_comp_channel* channel, int vector) {
  ibv_cq_init_attr_ex a{};
  a.cqe = cqes < 0 ? 0 : static_cast<std::uint32_t>(cqes);
  a.cq_context = cq_context;
  a.channel = channel;
  a.comp_vector = static_cast<std::uint32_t>(vector);  // a negative number becomes one that is too large
  Cq* cq = create(context, a, false);
  return cq == nullptr ? nullptr : reinterpret_cast<ibv_cq*>(&cq->cq);
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  Cq* cq = create(context, *attributes, true);
  return cq == nullptr ? nullptr : &cq->cq;
}

int resize_cq(ibv_cq* cq, int cqes) {
  Cq& q = cq_of(cq);
  Context& context = context_of(cq->context);
  if (cqes <= 0 || static_cast<std::uint32_t>(cqes) > context.attributes.max_cqes) return EINVAL;
  const std::uint32_t slots = power_of_two(static_cast<std::uint32_t>(cqes));
  Mapping& mapping = context.connection->mapping();
  const std::lock_guard guard(q.lock);
  if (slots == q.slots) return 0;
  Ring ring;
  if (!mapping.allocate(std::uint64_t{slots} * q.cqe_bytes, ring)) return ENOMEM;
  std::memset(ring.memory, 0xff, ring.bytes);
  begin_resize(context, q);
  channel::Message message = request(channel::Request::kResizeCq);
  channel::CompletionQueue& r = message.body.cq;
  r = {};
  r.cqn = q.number;
  r.slots = slots;
  r.ring = ring.offset;
  r.doorbell = q.doorbell;
  r.consumer = q.consumer;
  if (const int status = call(context, message); status != 0) {
    mapping.free(ring);
    ring_doorbell(context, channel::Board::kConsumer, q.doorbell, q.consumer);  // begin_resize has cleared it
    return status;
  }
  std::uint8_t* const old_ring = q.ring;
  const std::uint64_t old_bytes = std::uint64_t{q.slots} * q.cqe_bytes;
  finish_resize(q, ring.memory, slots, r.consumer);
  mapping.free(old_ring, old_bytes);
  cq->cqe = reported_cqes(context, slots);
  return 0;
}

int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attributes) {
  if ((attributes->attr_mask & ~std::uint32_t{IBV_CQ_ATTR_MODERATE}) != 0) return EOPNOTSUPP;
  if (attributes->attr_mask == 0) return 0;
  channel::Message message = request(channel::Request::kModifyCq);
  message.body.cq = {};
  message.body.cq.cqn = cq_of(cq).number;
  message.body.cq.moderation_count = attributes->moderate.cq_count;
  message.body.cq.moderation_period_us = attributes->moderate.cq_period;
  return call(context_of(cq->context), message);
}

int destroy_cq(ibv_cq* cq) {
  Cq& q = cq_of(cq);
  Context& context = context_of(cq->context);
  {
    const std::lock_guard guard(context.objects);
    if (q.users != 0) return EBUSY;
  }
  if (const int status = free_object(context, channel::Request::kFreeCq, q.number); status != 0) return status;
  std::uint32_t completions, async;
  {
    const std::lock_guard guard(context.objects);
    context.cqs.erase(q.number);
    if (cq->channel != nullptr) --cq->channel->refcnt;
    completions = q.comp_events_reported;
    async = q.async_events_reported;
  }
  wait_for_acks(*cq, cq->comp_events_completed, completions);
  wait_for_acks(*cq, cq->async_events_completed, async);
  Mapping& mapping = context.connection->mapping();
  mapping.free(q.ring, std::uint64_t{q.slots} * q.cqe_bytes);
  mapping.free_record(channel::Board::kConsumer, q.doorbell);
  if (q.domain != nullptr) q.domain->users.fetch_sub(1);
  delete &q;
  return 0;
}

}  // namespace rxnic::verbs
