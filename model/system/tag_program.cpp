// SPDX-License-Identifier: Apache-2.0
#include "model/system/tag_program.h"

namespace rxnic {

TagProgram::TagProgram(TagListParams params) : params_(std::move(params)), entries_(params_.entries) {}

TagProgram::Action TagProgram::completed(const Cqe& cqe) {
  const bool failed = cqe.status != WcStatus::kSuccess;
  if (cqe.opcode == CqeOpcode::kTagDelete) {  // (R3)
    const auto deleted = deleting_.find(cqe.wqe_index);
    if (deleted == deleting_.end()) return {};
    const std::uint64_t tag = deleted->second;
    deleting_.erase(deleted);
    if (!failed) return {Action::Kind::kAppend, cqe.wqe_index};
    ++came_[tag];
    return {};
  }
  if (cqe.opcode != CqeOpcode::kTagReceive) return {};
  if (is_unexpected(cqe)) {
    ++unexpected_;
    return params_.tags && !failed ? unexpected(cqe.tag & params_.mask) : Action{};
  }
  if (cqe.wqe_index >= entries_.size()) return {};
  take_out(cqe.wqe_index);
  const bool ends = (cqe.flags & kCqeTagDataValid) != 0 || (failed && (cqe.flags & kCqeTagMatch) != 0);
  return ends ? Action{Action::Kind::kAppend, cqe.wqe_index} : Action{};  // (R1)
}

TagProgram::Action TagProgram::unexpected(std::uint64_t tag) {
  const auto oldest = posted_.lower_bound({tag, 0});
  if (oldest == posted_.end() || oldest->first != tag) {  // (R2)
    ++came_[tag];
    return {};
  }
  const std::uint32_t entry = by_number_.at(oldest->second);  // (R3)
  take_out(entry);
  deleting_[entry] = tag;
  return {Action::Kind::kDelete, entry};
}

void TagProgram::take_out(std::uint32_t entry) {
  Entry& e = entries_[entry];
  if (!e.posted) return;
  e.posted = false;
  posted_.erase({e.tag, e.number});
  by_number_.erase(e.number);
}

bool TagProgram::next_tag(std::uint32_t entry, std::uint64_t& tag) {
  if (!params_.tags) {  // (R4)
    tag = (params_.first_tag + entry) & params_.mask;
    return true;
  }
  while (next_ < params_.tags->size()) {
    tag = (*params_.tags)[next_++] & params_.mask;
    const auto came = came_.find(tag);
    if (came == came_.end()) return true;
    if (--came->second == 0) came_.erase(came);
  }
  return false;
}

std::optional<TagOperation> TagProgram::operation(const Action& action) {
  TagOperation op;
  op.srq = params_.srq;
  op.wqe_index = action.entry;
  op.tm_sync = true;  // (R5)
  op.unexpected_count = unexpected_;
  op.entry.handle = action.entry;
  if (action.kind == Action::Kind::kDelete) {
    op.opcode = TagOpcode::kDelete;
    op.signaled = true;
    return op;
  }
  Entry& e = entries_[action.entry];
  if (!next_tag(action.entry, e.tag)) return std::nullopt;
  e.number = ++appended_;
  e.posted = true;
  if (params_.tags) {
    posted_.insert({e.tag, e.number});
    by_number_[e.number] = action.entry;
  }
  op.opcode = TagOpcode::kAdd;
  const std::uint64_t buffer =
      params_.buffer_base + action.entry % params_.buffers * std::uint64_t{params_.buffer_bytes};
  op.entry = {action.entry, e.tag, params_.mask, {params_.buffer_bytes, raw(params_.lkey), buffer}};
  return op;
}

}  // namespace rxnic
