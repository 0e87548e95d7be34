// SPDX-License-Identifier: Apache-2.0
// What the data path records about an object: set up at its creation, cleared when its QP is moved to RESET.
#include <mutex>
#include <new>

#include "bridge/verbs/data_path.h"

namespace rxnic::verbs {

bool allocate_bookkeeping(Srq& srq) {
  srq.wr_ids.reset(new (std::nothrow) std::uint64_t[srq.slots]());
  srq.busy.reset(new (std::nothrow) std::uint8_t[srq.slots]());
  srq.next.reset(new (std::nothrow) std::uint16_t[srq.slots]());
  if (srq.wr_ids == nullptr || srq.busy == nullptr || srq.next == nullptr) return false;
  if (!srq.linked_list) {  // not cleared: pages that are never needed are never touched
    srq.waiting.reset(new (std::nothrow) std::uint8_t[std::size_t{srq.slots} * srq.stride]);
    srq.waiting_wr_ids.reset(new (std::nothrow) std::uint64_t[srq.slots]);
    if (srq.waiting == nullptr || srq.waiting_wr_ids == nullptr) return false;
  }
  for (std::uint32_t i = 0; i < srq.slots; ++i) srq.next[i] = static_cast<std::uint16_t>((i + 1) & (srq.slots - 1));
  srq.head = 0;
  srq.tail = srq.slots - 1;
  return true;
}

bool allocate_bookkeeping(Qp& qp) {
  qp.send.sent.reset(new (std::nothrow) SentWr[qp.send.slots]());
  qp.receive.wr_ids.reset(new (std::nothrow) std::uint64_t[qp.receive.slots]());
  return qp.send.sent != nullptr && qp.receive.wr_ids != nullptr;
}

void reset_queues(Qp& qp) {
  {
    const std::lock_guard guard(qp.send.lock);
    qp.send.producer = qp.send.consumer = 0;
  }
  const std::lock_guard guard(qp.receive.lock);
  qp.receive.producer = qp.receive.consumer = 0;
}

}  // namespace rxnic::verbs
