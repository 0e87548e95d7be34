// SPDX-License-Identifier: Apache-2.0
// What the data path records about an object: set up at its creation, cleared when its QP is moved to RESET.
#include <algorithm>
#include <mutex>
#include <numeric>

#include "bridge/verbs/data_path.h"

namespace rxnic::verbs {

bool allocate_bookkeeping(Srq& srq) {
  const auto records = [&srq](auto& of, std::size_t count) { return allocate(of, srq.srq.pd, RecordsOf::kSrq, count); };
  if (!records(srq.wr_ids, srq.slots) || !records(srq.busy, srq.slots) || !records(srq.next, srq.slots)) return false;
  std::fill_n(srq.wr_ids.get(), srq.slots, 0);
  std::fill_n(srq.busy.get(), srq.slots, std::uint8_t{0});
  if (!srq.linked_list) {  // not cleared: pages that are never needed are never touched
    if (!records(srq.waiting, std::size_t{srq.slots} * srq.stride) || !records(srq.waiting_wr_ids, srq.slots)) {
      return false;
    }
  }
  for (std::uint32_t i = 0; i < srq.slots; ++i) srq.next[i] = static_cast<std::uint16_t>((i + 1) & (srq.slots - 1));
  srq.head = 0;
  srq.tail = srq.slots - 1;
  if (srq.tags == nullptr) return true;
  TagList& list = *srq.tags;
  if (!records(list.ops, list.slots) || !records(list.wr_ids, list.max_tags) || !records(list.added, list.max_tags) ||
      !records(list.used, list.max_tags) || !records(list.free, list.max_tags)) {
    return false;
  }
  std::fill_n(list.ops.get(), list.slots, TagOp{});
  std::fill_n(list.wr_ids.get(), list.max_tags, 0);
  std::fill_n(list.added.get(), list.max_tags, 0);
  std::fill_n(list.used.get(), list.max_tags, std::uint8_t{0});
  std::iota(list.free.get(), list.free.get() + list.max_tags, 0u);
  list.free_handles = list.max_tags;
  return true;
}

bool allocate_bookkeeping(Qp& qp) {
  ibv_pd* const pd = qp.qp.qp_base.pd;
  if (!allocate(qp.send.sent, pd, RecordsOf::kQp, qp.send.slots) ||
      !allocate(qp.receive.wr_ids, pd, RecordsOf::kQp, qp.receive.slots)) {
    return false;
  }
  std::fill_n(qp.send.sent.get(), qp.send.slots, SentWr{});
  std::fill_n(qp.receive.wr_ids.get(), qp.receive.slots, 0);
  return true;
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
