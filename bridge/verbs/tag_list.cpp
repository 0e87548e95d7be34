// SPDX-License-Identifier: Apache-2.0
#include "bridge/verbs/tag_list.h"

#include <cerrno>
#include <cstring>
#include <mutex>

#include "bridge/channel/tag_ring.h"
#include "bridge/verbs/data_path.h"
#include "bridge/verbs/receive_queue.h"
#include "bridge/verbs/wait.h"
#include "model/types/work_queue.h"

namespace rxnic::verbs {

namespace {

constexpr int kKnownFlags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC;

std::uint32_t take_handle(TagList& list, std::uint64_t recv_wr_id) {
  const std::uint32_t handle = list.free[list.next_free];
  list.next_free = list.next_free + 1 == list.max_tags ? 0 : list.next_free + 1;
  --list.free_handles;
  list.used[handle] = 1;
  list.wr_ids[handle] = recv_wr_id;
  list.added[handle] = list.written;
  return handle;
}

void free_handle(TagList& list, std::uint32_t handle) {  // (R3)
  if (handle >= list.max_tags || list.used[handle] == 0) return;
  list.used[handle] = 0;
  const std::uint32_t end = list.next_free + list.free_handles;
  list.free[end >= list.max_tags ? end - list.max_tags : end] = handle;
  ++list.free_handles;
}

int write_op(TagList& list, ibv_ops_wr& wr) {
  if (list.written - list.carried_out == list.slots) return ENOMEM;
  if ((wr.flags & ~kKnownFlags) != 0) return EINVAL;
  channel::TagWrite write;
  write.flags = static_cast<std::uint8_t>(((wr.flags & IBV_OPS_SIGNALED) != 0 ? channel::kTagWriteSignaled : 0) |
                                          ((wr.flags & IBV_OPS_TM_SYNC) != 0 ? channel::kTagWriteSync : 0));
  write.unexpected_count = static_cast<std::uint16_t>(wr.tm.unexpected_cnt);
  switch (wr.opcode) {
    case IBV_WR_TAG_ADD: {
      const auto& add = wr.tm.add;
      if (add.num_sge < 0 || add.num_sge > 1) return EINVAL;
      if (list.free_handles == 0) return ENOMEM;
      write.kind = channel::TagWriteKind::kAdd;
      write.tag = add.tag;
      write.mask = add.mask;
      const bool empty = add.num_sge == 0 || add.sg_list->length == 0;
      write.buffer = empty ? DataSegment{0, raw(kInvalidKey), 0}
                           : DataSegment{add.sg_list->length, add.sg_list->lkey, add.sg_list->addr};
      write.handle = wr.tm.handle = take_handle(list, add.recv_wr_id);
      break;
    }
    case IBV_WR_TAG_DEL:
      if (wr.tm.handle >= list.max_tags) return EINVAL;
      write.kind = channel::TagWriteKind::kDelete;
      write.handle = wr.tm.handle;
      break;
    case IBV_WR_TAG_SYNC:
      write.kind = channel::TagWriteKind::kSync;
      break;
    default:
      return EINVAL;
  }
  const std::uint32_t slot = list.written & (list.slots - 1);
  list.ops[slot] = {wr.wr_id, write.handle, wr.opcode};
  std::memcpy(list.ring + std::size_t{slot} * sizeof write, &write, sizeof write);
  ++list.written;
  return 0;
}

// The device has carried out the operations before number `end`; it would have reported a removal that failed. (R2, R3)
void carry_out(TagList& list, std::uint32_t end) {
  if (end - list.carried_out > list.written - list.carried_out) return;  // it was known
  for (; list.carried_out != end; ++list.carried_out) {
    const TagOp& op = list.ops[list.carried_out & (list.slots - 1)];
    if (op.opcode == IBV_WR_TAG_DEL) free_handle(list, op.handle);
  }
}

std::uint64_t complete_op(TagList& list, const Cqe& cqe) {
  const std::uint32_t slot = cqe.wqe_index & (list.slots - 1);
  TagOp& op = list.ops[slot];
  const bool failed = cqe.status != WcStatus::kSuccess;
  if (failed && op.opcode == IBV_WR_TAG_ADD) free_handle(list, op.handle);
  if (failed) op.opcode = IBV_WR_TAG_SYNC;  // a removal that came too late: the message frees its handle
  carry_out(list, list.carried_out + ((slot - list.carried_out) & (list.slots - 1)) + 1);
  return op.wr_id;
}

bool names_entry(const Cqe& cqe) { return (cqe.flags & (kCqeTagMatch | kCqeTagDataValid)) != 0; }

}  // namespace

int post_srq_ops(ibv_srq* srq, ibv_ops_wr* wr, ibv_ops_wr** bad_wr) {
  Srq& s = srq_of(srq);
  if (s.tags == nullptr) {
    *bad_wr = wr;
    return EINVAL;
  }
  const std::lock_guard guard(s.lock);
  const std::uint32_t first = s.tags->written;
  int error = 0;
  for (; wr != nullptr; wr = wr->next) {
    error = write_op(*s.tags, *wr);
    if (error != 0) {
      *bad_wr = wr;
      break;
    }
  }
  if (s.tags->written != first) {
    ring_doorbell(context_of(srq->context), channel::Board::kTags, s.tags->doorbell, s.tags->written);
    made_progress();
  }
  return error;
}

std::uint64_t complete_tagged(Srq& srq, const Cqe& cqe) {
  const bool operation =
      cqe.opcode == CqeOpcode::kTagAdd || cqe.opcode == CqeOpcode::kTagDelete || cqe.opcode == CqeOpcode::kTagSync;
  if (!operation && !names_entry(cqe)) return complete_receive(srq, cqe.wqe_index);
  const std::lock_guard guard(srq.lock);
  TagList& list = *srq.tags;
  if (operation) return complete_op(list, cqe);
  const std::uint32_t handle = cqe.wqe_index;
  if (handle >= list.max_tags) return 0;
  const std::uint64_t wr_id = list.wr_ids[handle];
  carry_out(list, list.added[handle] + 1);
  if ((cqe.flags & kCqeTagDataValid) != 0 || cqe.status != WcStatus::kSuccess) free_handle(list, handle);
  return wr_id;
}

bool flush_tag(Srq& srq, std::uint64_t& wr_id) {
  const std::lock_guard guard(srq.lock);
  TagList& list = *srq.tags;
  if (list.free_handles == list.max_tags) return false;
  std::uint32_t handle = 0;
  while (list.used[handle] == 0) ++handle;
  wr_id = list.wr_ids[handle];
  free_handle(list, handle);
  return true;
}

}  // namespace rxnic::verbs
