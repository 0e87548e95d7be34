// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/receive_queue.h"

#include <cerrno>
#include <cstring>
#include <mutex>

#include "bridge/verbs/data_path.h"
#include "bridge/verbs/wait.h"

namespace rxnic::verbs {

namespace {

// Writes the data segments of a WR into the `bytes` bytes at `to`.
void write_segments(const ibv_recv_wr& wr, std::uint8_t* to, std::uint32_t bytes) {
  const std::uint8_t* const end = to + bytes;
  for (int i = 0; i < wr.num_sge; ++i) {
    const ibv_sge& sge = wr.sg_list[i];
    if (sge.length == 0) continue;  // (R2)
    const DataSegment segment{sge.length, sge.lkey, sge.addr};
    std::memcpy(to, &segment, sizeof segment);
    to += sizeof segment;
  }
  if (to == end) return;
  const DataSegment last{0, raw(kInvalidKey), 0};
  std::memcpy(to, &last, sizeof last);
}

bool too_many_sges(const ibv_recv_wr& wr, std::uint32_t max_sge) {
  return wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > max_sge;
}

int write_wr(ReceiveQueue& queue, std::uint32_t index, const ibv_recv_wr& wr) {
  if (index - queue.consumer.load(std::memory_order_acquire) >= queue.slots) return ENOMEM;
  if (too_many_sges(wr, queue.max_sge)) return EINVAL;
  const std::uint32_t slot = index & (queue.slots - 1);
  write_segments(wr, queue.ring + static_cast<std::size_t>(slot) * queue.stride, queue.stride);
  queue.wr_ids[slot] = wr.wr_id;
  return 0;
}

// The WQE in `slot` of the ring is complete: hands it to the device with the next doorbell.
void take_slot(Srq& srq, std::uint32_t slot, std::uint64_t wr_id) {
  srq.wr_ids[slot] = wr_id;
  srq.busy[slot] = 1;
  ++srq.producer;
}

void write_linked(Srq& srq, const ibv_recv_wr& wr) {  // (R4)
  const std::uint32_t slot = srq.head;
  std::uint8_t* wqe = srq.ring + static_cast<std::size_t>(slot) * srq.stride;
  NextSegment next;
  next.next_wqe_index = srq.next[slot];
  std::memcpy(wqe, &next, sizeof next);
  write_segments(wr, wqe + sizeof next, srq.stride - std::uint32_t{sizeof next});
  srq.head = srq.next[slot];
  take_slot(srq, slot, wr.wr_id);
}

void write_cyclic(Srq& srq, const ibv_recv_wr& wr) {  // (R5)
  const std::uint32_t slot = srq.accepted & (srq.slots - 1);
  const std::size_t offset = static_cast<std::size_t>(slot) * srq.stride;
  if (srq.accepted == srq.producer && srq.busy[slot] == 0) {
    write_segments(wr, srq.ring + offset, srq.stride);
    take_slot(srq, slot, wr.wr_id);
  } else {
    write_segments(wr, srq.waiting.get() + offset, srq.stride);
    srq.waiting_wr_ids[slot] = wr.wr_id;
  }
}

int write_wr(Srq& srq, const ibv_recv_wr& wr) {
  if (too_many_sges(wr, srq.max_sge)) return EINVAL;
  if (srq.posted >= srq.max_wr) return ENOMEM;
  if (srq.linked_list) {
    write_linked(srq, wr);
  } else {
    write_cyclic(srq, wr);
  }
  ++srq.accepted;
  ++srq.posted;
  return 0;
}

// Moves waiting WRs into the ring as far as its slots are free (R5).
void move_in(Srq& srq) {
  const std::uint32_t first = srq.producer;
  while (srq.producer != srq.accepted) {
    const std::uint32_t slot = srq.producer & (srq.slots - 1);
    if (srq.busy[slot] != 0) break;
    const std::size_t offset = static_cast<std::size_t>(slot) * srq.stride;
    std::memcpy(srq.ring + offset, srq.waiting.get() + offset, srq.stride);
    take_slot(srq, slot, srq.waiting_wr_ids[slot]);
  }
  if (srq.producer == first) return;
  ring_doorbell(context_of(srq.srq.context), channel::Board::kReceive, srq.doorbell, srq.producer);
}

}  // namespace

int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  Qp& q = qp_of(qp);
  ReceiveQueue& queue = q.receive;
  const std::lock_guard guard(queue.lock);
  const std::uint32_t first = queue.producer.load(std::memory_order_relaxed);
  std::uint32_t producer = first;
  const bool refused = queue.slots == 0 || __atomic_load_n(&qp->state, __ATOMIC_RELAXED) == IBV_QPS_RESET;  // (R1)
  int error = 0;
  for (; wr != nullptr; wr = wr->next, ++producer) {
    error = refused ? EINVAL : write_wr(queue, producer, *wr);
    if (error != 0) {
      *bad_wr = wr;
      break;
    }
  }
  if (producer != first) {
    queue.producer.store(producer, std::memory_order_release);
    ring_doorbell(context_of(qp->context), channel::Board::kReceive, queue.doorbell, producer);
    made_progress();
  }
  return error;
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  Srq& s = srq_of(srq);
  const std::lock_guard guard(s.lock);
  const std::uint32_t first = s.producer;
  int error = 0;
  for (; wr != nullptr; wr = wr->next) {
    error = write_wr(s, *wr);
    if (error != 0) {
      *bad_wr = wr;
      break;
    }
  }
  if (s.producer != first) {
    ring_doorbell(context_of(srq->context), channel::Board::kReceive, s.doorbell, s.producer);
    made_progress();
  }
  return error;
}

std::uint64_t complete_receive(ReceiveQueue& queue, std::uint32_t slot) {  // (R3)
  if (queue.slots == 0) return 0;
  slot &= queue.slots - 1;
  const std::uint32_t producer = queue.producer.load(std::memory_order_acquire);
  const std::uint32_t consumer = queue.consumer.load(std::memory_order_relaxed);
  const std::uint64_t wr_id = queue.wr_ids[slot];
  const std::uint32_t distance = (slot - consumer) & (queue.slots - 1);
  if (distance < producer - consumer) queue.consumer.store(consumer + distance + 1, std::memory_order_release);
  return wr_id;
}

std::uint64_t complete_receive(Srq& srq, std::uint32_t slot) {  // (R4)
  const std::lock_guard guard(srq.lock);
  slot &= srq.slots - 1;
  const std::uint64_t wr_id = srq.wr_ids[slot];
  if (srq.busy[slot] == 0) return wr_id;
  srq.busy[slot] = 0;
  --srq.posted;
  if (srq.linked_list) {
    srq.next[srq.tail] = static_cast<std::uint16_t>(slot);
    srq.tail = slot;
  } else {
    move_in(srq);
  }
  return wr_id;
}

}  // namespace rxnic::verbs
