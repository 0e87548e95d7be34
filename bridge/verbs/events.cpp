// SPDX-License-Identifier: Apache-2.0
// Completion channels and asynchronous events. Both are pipes of EventRecords, whose write ends only the simulator has.
// The pipes can be polled, honour O_NONBLOCK, and reach their end of file when the simulator ends. The simulator takes
// the unread events of an object out of the pipes when the program destroys the object. An event that another thread
// has read at that moment, and not looked up yet, is skipped, as if it had been read later.
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "bridge/channel/protocol.h"
#include "bridge/verbs/data_path.h"

namespace rxnic::verbs {

namespace {

using channel::EventKind;
using channel::EventRecord;

enum class Read { kEvent, kFailed, kEnd };

// Records are written and read in one piece.
Read read_event(int fd, EventRecord& event) {
  const ssize_t bytes = read(fd, &event, sizeof event);
  if (bytes == sizeof event) return Read::kEvent;
  return bytes < 0 ? Read::kFailed : Read::kEnd;
}

bool report(Cq& cq, ibv_cq** to, void** cq_context) {
  cq.armed.store(false, std::memory_order_relaxed);
  cq.event_taken.store(true, std::memory_order_relaxed);
  ++cq.comp_events_reported;
  *to = ibv_cq_ex_to_cq(&cq.cq);
  *cq_context = cq.cq.cq_context;
  return true;
}

// Reports an armed CQ of a channel whose simulator is gone: its flushed completions can be polled. False: none.
bool report_armed(Context& context, const ibv_comp_channel* channel, ibv_cq** to, void** cq_context) {
  const std::lock_guard objects(context.objects);
  bool found = false;
  context.cqs.for_each([&](Cq& cq) {
    if (found || cq.cq.channel != channel || !cq.armed.load(std::memory_order_relaxed)) return;
    found = report(cq, to, cq_context);
  });
  return found;
}

bool fill_cq_event(Context& context, const EventRecord& record, ibv_async_event& event) {
  Cq* cq = context.cqs.find(record.number);
  if (cq == nullptr) return false;
  ++cq->async_events_reported;
  event.element.cq = ibv_cq_ex_to_cq(&cq->cq);
  event.event_type = IBV_EVENT_CQ_ERR;
  return true;
}

bool fill_srq_event(Context& context, const EventRecord& record, ibv_async_event& event) {
  Srq* srq = context.srqs.find(record.number);
  if (srq == nullptr) return false;
  ++srq->async_events_reported;
  event.element.srq = &srq->srq;
  event.event_type = record.kind == EventKind::kSrqLimitReached ? IBV_EVENT_SRQ_LIMIT_REACHED : IBV_EVENT_SRQ_ERR;
  return true;
}

// Its queue cannot go on, for whatever reason.
bool fill_wq_event(Wq& wq, ibv_async_event& event) {
  ++wq.async_events_reported;
  event.element.wq = &wq.wq;
  event.event_type = IBV_EVENT_WQ_FATAL;
  return true;
}

bool fill_qp_event(Context& context, const EventRecord& record, ibv_async_event& event) {
  Qp* qp = context.qps.find(record.number);
  if (qp == nullptr) return false;
  if (qp->wq != nullptr) return fill_wq_event(*qp->wq, event);
  switch (record.kind) {
    case EventKind::kQpFatal:
      event.event_type = IBV_EVENT_QP_FATAL;
      break;
    case EventKind::kQpAccessError:
      event.event_type = IBV_EVENT_QP_ACCESS_ERR;
      break;
    case EventKind::kQpRequestError:
      event.event_type = IBV_EVENT_QP_REQ_ERR;
      break;
    case EventKind::kQpLastWqeReached:
      event.event_type = IBV_EVENT_QP_LAST_WQE_REACHED;
      break;
    case EventKind::kQpSqDrained:
      event.event_type = IBV_EVENT_SQ_DRAINED;
      break;
    case EventKind::kQpCommunicationEstablished:
      event.event_type = IBV_EVENT_COMM_EST;
      break;
    default:
      return false;
  }
  ++qp->async_events_reported;
  event.element.qp = &qp->qp.qp_base;
  return true;
}

bool fill(Context& context, const EventRecord& record, ibv_async_event& event) {
  const std::lock_guard objects(context.objects);
  event = {};
  switch (record.kind) {
    case EventKind::kCqError:
      return fill_cq_event(context, record, event);
    case EventKind::kSrqLimitReached:
    case EventKind::kSrqError:
      return fill_srq_event(context, record, event);
    default:
      return fill_qp_event(context, record, event);
  }
}

// Counts an acknowledged event; the object's destruction waits for it.
template <class Object>
void acknowledge(Object& object, std::uint32_t& completed, std::uint32_t events) {
  pthread_mutex_lock(&object.mutex);
  completed += events;
  pthread_cond_signal(&object.cond);
  pthread_mutex_unlock(&object.mutex);
}

}  // namespace

int get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  Context& context = context_of(channel->context);
  for (;;) {
    EventRecord record;
    switch (read_event(channel->fd, record)) {
      case Read::kFailed:
        return -1;
      case Read::kEnd:
        simulator_gone(context);
        if (report_armed(context, channel, cq, cq_context)) return 0;
        errno = EIO;
        return -1;
      case Read::kEvent:
        break;
    }
    const std::lock_guard objects(context.objects);
    Cq* found = record.kind == EventKind::kCompletion ? context.cqs.find(record.number) : nullptr;
    if (found == nullptr || found->cq.channel != channel) continue;
    report(*found, cq, cq_context);
    return 0;
  }
}

void ack_cq_events(ibv_cq* cq, unsigned int events) { acknowledge(*cq, cq->comp_events_completed, events); }

int get_async_event(ibv_context* context, ibv_async_event* event) {
  Context& c = context_of(context);
  for (;;) {
    EventRecord record;
    switch (read_event(context->async_fd, record)) {
      case Read::kFailed:
        return -1;
      case Read::kEnd:
        record = {EventKind::kDeviceFatal, 0};
        break;
      case Read::kEvent:
        break;
    }
    if (record.kind != EventKind::kDeviceFatal) {
      if (!fill(c, record, *event)) continue;
      return 0;
    }
    simulator_gone(c);
    if (c.fatal_reported.exchange(true)) {
      errno = EIO;
      return -1;
    }
    *event = {};
    event->event_type = IBV_EVENT_DEVICE_FATAL;
    return 0;
  }
}

void ack_async_event(ibv_async_event* event) {
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR: {
      ibv_cq* cq = event->element.cq;
      return acknowledge(*cq, cq->async_events_completed, 1);
    }
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED: {
      ibv_qp* qp = event->element.qp;
      return acknowledge(*qp, qp->events_completed, 1);
    }
    case IBV_EVENT_WQ_FATAL: {
      ibv_wq* wq = event->element.wq;
      return acknowledge(*wq, wq->events_completed, 1);
    }
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED: {
      ibv_srq* srq = event->element.srq;
      return acknowledge(*srq, srq->events_completed, 1);
    }
    default:
      return;
  }
}

}  // namespace rxnic::verbs
