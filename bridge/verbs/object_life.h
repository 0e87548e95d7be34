// SPDX-License-Identifier: Apache-2.0
// The parts of an object's life that a QP, a CQ and an SRQ have in common, and the locks of a QP's CQs.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "bridge/channel/shared_mapping.h"
#include "bridge/verbs/mapping.h"
#include "bridge/verbs/objects.h"

namespace rxnic::verbs {

// Ring and doorbell record of a queue that is being created. They are freed unless keep() was called.
class QueueMemory {
 public:
  QueueMemory(Mapping& mapping, channel::Board board) : mapping_(mapping), board_(board) {}
  QueueMemory(const QueueMemory&) = delete;
  QueueMemory& operator=(const QueueMemory&) = delete;
  ~QueueMemory() {
    mapping_.free(ring_);
    if (has_record_) mapping_.free_record(board_, record_);
  }
  bool allocate(std::uint64_t bytes) {
    has_record_ = mapping_.allocate_record(board_, record_);
    return has_record_ && mapping_.allocate(bytes, ring_);
  }
  void keep() {
    ring_ = {};
    has_record_ = false;
  }
  const Ring& ring() const { return ring_; }
  std::uint32_t record() const { return record_; }

 private:
  Mapping& mapping_;
  channel::Board board_;
  Ring ring_;
  std::uint32_t record_ = 0;
  bool has_record_ = false;
};

// Waits until the program has acknowledged every event of the object. `completed` is the public count, guarded by the
// object's mutex; `reported` does not grow any more.
template <class Public>
void wait_for_acks(Public& object, const std::uint32_t& completed, std::uint32_t reported) {
  pthread_mutex_lock(&object.mutex);
  while (completed != reported) pthread_cond_wait(&object.cond, &object.mutex);
  pthread_mutex_unlock(&object.mutex);
}

// The public part of a QP that has no number yet.
inline void begin_qp(ibv_qp& p, ibv_context* context, void* qp_context, ibv_qp_type type) {
  p.context = context;
  p.qp_context = qp_context;
  p.qp_type = type;
  p.state = IBV_QPS_RESET;
  pthread_mutex_init(&p.mutex, nullptr);
  pthread_cond_init(&p.cond, nullptr);
}

// A ring may have more slots than the device allows WRs: it is a power of two.
inline ibv_qp_cap capabilities(const Qp& qp) {
  const std::uint32_t most = context_of(qp.qp.qp_base.context).attributes.max_qp_wrs;
  return {std::min(qp.send.slots, most), std::min(qp.receive.slots, most), qp.send.max_sge, qp.receive.max_sge,
          qp.send.max_inline};
}

// Adds to the users of the CQs and the SRQ. Context::objects is held.
inline void count_user(const Qp& qp, std::uint32_t one) {
  const ibv_qp& p = qp.qp.qp_base;
  if (p.send_cq != nullptr) cq_of(p.send_cq).users += one;
  if (p.recv_cq != nullptr) cq_of(p.recv_cq).users += one;
  if (p.srq != nullptr) srq_of(p.srq).users += one;
}

// The PD or the XRC domain.
inline std::atomic<std::uint32_t>& users_of_domain(const Qp& qp) {
  return qp.xrcd != nullptr ? xrcd_of(qp.xrcd).users : pd_of(qp.qp.qp_base.pd).users;
}

// 0 stays 0.
constexpr std::uint32_t power_of_two(std::uint32_t n) { return n == 0 ? 0 : std::bit_ceil(n); }

// The CQs of a QP, in the order of objects.h R2. It may have none.
class CqLocks {
 public:
  explicit CqLocks(const ibv_qp& qp) {
    Cq* const a = qp.send_cq == nullptr ? nullptr : &cq_of(qp.send_cq);
    Cq* const b = qp.recv_cq == nullptr ? nullptr : &cq_of(qp.recv_cq);
    first_ = std::min(a, b);
    second_ = a == b ? nullptr : std::max(a, b);
    if (first_ != nullptr) first_->lock.lock();
    if (second_ != nullptr) second_->lock.lock();
  }
  CqLocks(const CqLocks&) = delete;
  CqLocks& operator=(const CqLocks&) = delete;
  ~CqLocks() {
    if (second_ != nullptr) second_->lock.unlock();
    if (first_ != nullptr) first_->lock.unlock();
  }

 private:
  Cq* first_;
  Cq* second_;
};

}  // namespace rxnic::verbs
