// SPDX-License-Identifier: Apache-2.0
#include "model/system/tag_schedule.h"

#include <algorithm>
#include <utility>

namespace rxnic {

TagSchedule::TagSchedule(const TagListParams& params, std::vector<TagPost> posts)
    : params_(params), posts_(std::move(posts)), receives_(params.entries) {
  for (std::uint32_t handle = 0; handle < params.entries; ++handle) free_.push(handle);
}

std::optional<std::uint64_t> TagSchedule::next_ps() const {
  if (next_ == posts_.size() || free_.empty()) return std::nullopt;  // (R2)
  return posts_[next_].time_ps;
}

TagSchedule::Action TagSchedule::post() {  // (R1)
  const TagPost& p = posts_[next_++];
  const auto found = std::find_if(unexpected_.begin(), unexpected_.end(),
                                  [&p](const Message& m) { return (m.tag & p.mask) == p.tag; });
  unexpected_depths_.add(static_cast<std::uint64_t>(found - unexpected_.begin()));  // (R5)
  if (found != unexpected_.end()) {
    unexpected_.erase(found);
    return {};
  }
  const std::uint32_t handle = free_.top();
  free_.pop();
  receives_[handle] = {p.tag, p.mask, ++appended_, true};
  posted_[appended_] = handle;
  return {Action::Kind::kAppend, handle};
}

TagSchedule::Action TagSchedule::completed(const Cqe& cqe) {
  const bool failed = cqe.status != WcStatus::kSuccess;
  if (cqe.opcode == CqeOpcode::kTagDelete) {  // (R3)
    if (deleting_.empty() || deleting_.front().handle != cqe.wqe_index) return {};
    const Deletion deletion = deleting_.front();
    deleting_.pop_front();
    if (failed) {
      keep(deletion.message);
    } else {
      free_.push(deletion.handle);
    }
    return {};
  }
  if (cqe.opcode != CqeOpcode::kTagReceive) return {};
  if (!TagProgram::is_unexpected(cqe)) {
    const bool ends = (cqe.flags & kCqeTagDataValid) != 0 || (failed && (cqe.flags & kCqeTagMatch) != 0);
    if (cqe.wqe_index < receives_.size()) {
      Receive& r = receives_[cqe.wqe_index];
      if (r.posted) posted_.erase(r.number);
      r.posted = false;
      if (ends) free_.push(cqe.wqe_index);
    }
    return {};
  }
  const Message message{cqe.tag, ++came_};
  if (failed) return {};
  const auto found = std::find_if(posted_.begin(), posted_.end(), [&](const auto& p) {
    return (message.tag & receives_[p.second].mask) == receives_[p.second].tag;
  });
  if (found == posted_.end()) {
    keep(message);
    return {};
  }
  const std::uint32_t handle = found->second;
  posted_.erase(found);
  receives_[handle].posted = false;
  deleting_.push_back({handle, message});
  return {Action::Kind::kDelete, handle};
}

void TagSchedule::keep(const Message& message) {
  const auto younger = std::find_if(unexpected_.begin(), unexpected_.end(),
                                    [&message](const Message& m) { return m.number > message.number; });
  unexpected_.insert(younger, message);
}

std::optional<TagOperation> TagSchedule::operation(const Action& action) {
  TagOperation op;
  op.srq = params_.srq;
  op.wqe_index = action.entry;
  op.tm_sync = true;  // (R4)
  op.unexpected_count = static_cast<std::uint16_t>(came_);
  op.entry.handle = action.entry;
  if (action.kind == Action::Kind::kDelete) {
    op.opcode = TagOpcode::kDelete;
    op.signaled = true;
    return op;
  }
  op.opcode = TagOpcode::kAdd;
  const Receive& r = receives_[action.entry];
  const std::uint64_t buffer =
      params_.buffer_base + action.entry % params_.buffers * std::uint64_t{params_.buffer_bytes};
  op.entry = {action.entry, r.tag, r.mask, {params_.buffer_bytes, raw(params_.lkey), buffer}};
  return op;
}

}  // namespace rxnic
