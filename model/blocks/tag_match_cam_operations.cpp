// SPDX-License-Identifier: Apache-2.0
// Operations on the tag lists: appends, removals, syncs.
#include <algorithm>
#include <utility>

#include "model/blocks/tag_match_cam.h"

namespace rxnic {

bool TagMatchCam::accept_operation(Cycle now) {
  const bool waited = std::exchange(operation_waits_, false);
  const TagOperation& op = *operations.peek(now);
  List* const list = find(op.srq);
  if (list == nullptr) {
    operations.pop(now);
    ++counters_.operations;
    ++counters_.failed_operations;
    return true;
  }
  const bool own_job = job_.kind == JobKind::kRemove;
  if (!own_job && (!returns_.empty() || job_.list == op.srq)) {
    operation_waits_ = true;
    return false;
  }
  Taken taken = Taken::kDone;
  if (op.opcode == TagOpcode::kAdd) taken = place(*list, op.entry.handle, now);
  if (op.opcode == TagOpcode::kDelete) taken = remove(*list, op);
  if (taken == Taken::kWaits) {  // packets may pass it from now on, or its removal begins
    return (waited && !operation_waits_) || (!own_job && job_.kind == JobKind::kRemove);
  }
  ++counters_.operations;
  if (op.tm_sync) list->tags.acknowledge(op.unexpected_count);
  const bool ok = taken != Taken::kFails;
  if (ok && op.opcode == TagOpcode::kAdd) add(*list, op, taken, now);
  const bool occupies = op.opcode != TagOpcode::kSync;
  cam_free_ = now + (occupies ? params_.append_cycles : 1);  // (R3)
  counters_.failed_operations += !ok;
  if (op.signaled || !ok) complete(op, *list, ok, cam_free_);  // (R13)
  operations.pop(now);
  return true;
}

// Where a new entry goes: kDone, the CAM; kOverflows, the overflow.
TagMatchCam::Taken TagMatchCam::place(List& list, std::uint32_t handle, Cycle now) {
  const TagMatchList& tags = list.tags;
  if (!tags.accepts(handle)) return Taken::kFails;
  const bool all_on_its_way = list.in_flight > 0 && list.overflow.unread() == list.overflow.tail() && !list.failed;
  if (room() > 0 && (tags.in_overflow() == 0 || all_on_its_way)) return Taken::kDone;  // (R5)
  if (list.failed) return Taken::kFails;                                               // (R9)
  operation_waits_ = list.overflow.full();
  if (operation_waits_) return Taken::kWaits;
  lacks_dma_ = !can_ask(now);
  return lacks_dma_ ? Taken::kWaits : Taken::kOverflows;
}

void TagMatchCam::add(List& list, const TagOperation& op, Taken taken, Cycle now) {
  const std::uint64_t sequence = list.tags.append(op.entry, taken == Taken::kDone);
  if (observer_ != nullptr) observer_->on_append(op.srq, op.entry.handle);
  if (taken == Taken::kDone) {
    ++cam_used_;
    return;
  }
  request_write(now, TagMatchList::bytes_of(op.entry, sequence), address(op.srq, list, list.overflow.append()), 0,
                static_cast<std::uint32_t>(sizeof(TagOverflowEntry)));
  note_spilled(op.srq, list);
  ++counters_.overflow_appends;
}

TagMatchCam::Taken TagMatchCam::remove(List& list, const TagOperation& op) {
  const std::uint32_t handle = op.entry.handle;
  if (job_.kind == JobKind::kRemove) {
    if (!job_.decided) {
      operation_waits_ = true;
      return Taken::kWaits;
    }
    const bool found = job_.found != kNoTagEntry;
    job_ = {};
    return found ? removed(op) : Taken::kFails;
  }
  if (!list.tags.in_overflow(handle)) {
    if (!list.tags.remove(handle)) return Taken::kFails;
    --cam_used_;
    return removed(op);
  }
  if (list.failed) return Taken::kFails;  // (R9)
  operation_waits_ = true;
  if (job_.kind == JobKind::kNone && bursts_used_ == 0) {  // (R8)
    job_ = {};
    job_.kind = JobKind::kRemove;
    job_.list = op.srq;
    job_.handle = handle;
    job_.position = list.overflow.head();
    job_.reads = true;
  }
  return Taken::kWaits;
}

TagMatchCam::Taken TagMatchCam::removed(const TagOperation& op) {
  if (observer_ != nullptr) observer_->on_remove(op.srq, op.entry.handle);
  return Taken::kDone;
}

void TagMatchCam::complete(const TagOperation& op, const List& list, bool ok, Cycle when) {
  Result result;
  WqeRequest& p = result.packet;
  p.role = PacketRole::kTagOperation;
  p.outcome = Outcome::kExecute;
  p.completes = true;
  p.ends_message = true;
  p.status = ok ? WcStatus::kSuccess : WcStatus::kTagMatch;
  p.cq = list.srq.cq;
  p.queue = op.srq;
  p.wqe_index = op.wqe_index;
  p.cqe_opcode = op.opcode == TagOpcode::kAdd      ? CqeOpcode::kTagAdd
                 : op.opcode == TagOpcode::kDelete ? CqeOpcode::kTagDelete
                                                   : CqeOpcode::kTagSync;
  p.cqe_flags = kCqeSrq;
  if (!list.tags.in_phase()) p.cqe_flags |= kCqeTagSyncRequest;  // (R12)
  pipeline_.push(result, when);
}

void TagMatchCam::repeat_setup(const Give& give) const {
  std::vector<std::pair<std::uint32_t, TagListCommand>> made;
  for (std::uint32_t n = 0; n < lists_.size(); ++n) {
    if (lists_[n] == nullptr) continue;
    const WqContext& srq = lists_[n]->srq;
    made.emplace_back(lists_[n]->generation, TagListCommand{true, WqId{n}, srq.pd, srq.cq});
  }
  std::sort(made.begin(), made.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [generation, command] : made) give(lists, operations_of<TagListCommand>(), &command);
}

}  // namespace rxnic
