// SPDX-License-Identifier: Apache-2.0
#include "model/system/tag_program.h"

#include <algorithm>

#include "traces/mpi_tag.h"

namespace rxnic {

TagProgram::TagProgram(TagListParams params)
    : params_(std::move(params)), entries_(params_.entries), random_(params_.seed) {}

TagProgram::Action TagProgram::completed(const Cqe& cqe) {
  const bool failed = cqe.status != WcStatus::kSuccess;
  if (cqe.opcode == CqeOpcode::kTagDelete) {  // (R3) (R6)
    if (deleting_.empty() || deleting_.front().entry != cqe.wqe_index) return {};
    const Deletion deletion = deleting_.front();
    deleting_.pop_front();
    if (!failed) {
      if (deletion.again) again_.push_back(deletion.tag);
      return {Action::Kind::kAppend, cqe.wqe_index};
    }
    if (!deletion.again) ++came_[deletion.tag];
    return {};
  }
  if (cqe.opcode != CqeOpcode::kTagReceive) return {};
  if (is_unexpected(cqe)) {
    ++messages_;
    ++unexpected_;
    return knows_tags() && !failed ? unexpected(cqe.tag & params_.mask) : Action{};
  }
  if (cqe.wqe_index >= entries_.size()) return {};
  if ((cqe.flags & kCqeTagMatch) != 0) {
    ++messages_;
    const Entry& entry = entries_[cqe.wqe_index];
    const bool expected = entry.posted || is_deleted_again(cqe.wqe_index);
    take_out(cqe.wqe_index);
    if (expected && entry.wildcard && !failed) {
      const Action also = matched_other(cqe.tag & params_.mask, entry.tag);
      if (also.kind != Action::Kind::kNone) follow_ups_.push_back(also);
    }
  }
  take_out(cqe.wqe_index);
  const bool ends = (cqe.flags & kCqeTagDataValid) != 0 || (failed && (cqe.flags & kCqeTagMatch) != 0);
  return ends ? Action{Action::Kind::kAppend, cqe.wqe_index} : Action{};  // (R1)
}

TagProgram::Action TagProgram::unexpected(std::uint64_t tag) {
  const auto late = late_.find(tag);
  if (late != late_.end()) {  // (R6)
    if (--late->second == 0) late_.erase(late);
    asked_at_.push_back(messages_ + params_.policy.unexpected_lag);
    return {};
  }
  return displace(tag);
}

// The receive of this tag has its message: its entry is deleted, or the tag is left out when its turn comes.
TagProgram::Action TagProgram::displace(std::uint64_t tag) {
  const auto oldest = posted_.lower_bound({tag, 0});
  if (oldest == posted_.end() || oldest->first != tag) {  // (R2)
    ++came_[tag];
    return {};
  }
  const std::uint32_t entry = by_number_.at(oldest->second);  // (R3)
  take_out(entry);
  deleting_.push_back({entry, tag, false});
  return {Action::Kind::kDelete, entry};
}

TagProgram::Action TagProgram::matched_other(std::uint64_t tag, std::uint64_t posted_for) {  // (R7)
  if (tag == posted_for) return {};
  again_.push_back(posted_for);
  const auto late = late_.find(tag);
  if (late == late_.end()) return displace(tag);
  if (--late->second == 0) late_.erase(late);  // its receive need not be posted at all
  return {};
}

bool TagProgram::is_deleted_again(std::uint32_t entry) const {
  return std::any_of(deleting_.begin(), deleting_.end(),
                     [entry](const Deletion& d) { return d.entry == entry && d.again; });
}

void TagProgram::take_out(std::uint32_t entry) {
  Entry& e = entries_[entry];
  if (!e.posted) return;
  e.posted = false;
  posted_.erase({e.tag, e.number});
  by_number_.erase(e.number);
}

// The receives of unexpected messages that are due: each finds the oldest of them. (R8)
void TagProgram::ask_late() {
  while (!asked_at_.empty() && asked_at_.front() <= messages_) {
    asked_at_.pop_front();
    unexpected_depths_.add(0);
  }
}

std::uint64_t TagProgram::tag_of_next() {
  const std::uint64_t n = next_++;
  if (params_.counting_tags == 0) return (*params_.tags)[n] & params_.mask;
  return mpi_tag(static_cast<std::uint32_t>(n % params_.counting_tags), 0, 0) & params_.mask;
}

bool TagProgram::next_in_order(std::uint64_t& tag) {
  if (!again_.empty()) {
    tag = again_.back();
    again_.pop_back();
    return true;
  }
  if (window_.empty()) {  // (R6)
    const TagPolicy& policy = params_.policy;
    while (window_.size() < policy.window && has_more()) window_.push_back(tag_of_next());
    if (policy.order != TagOrder::kReversed) std::reverse(window_.begin(), window_.end());
    for (std::size_t n = window_.size(); policy.order == TagOrder::kShuffled && n > 1; --n) {
      std::swap(window_[n - 1], window_[random_.below(n)]);
    }
  }
  if (window_.empty()) return false;
  tag = window_.back();
  window_.pop_back();
  return true;
}

bool TagProgram::next_tag(std::uint32_t entry, std::uint64_t& tag) {
  if (!knows_tags()) {  // (R4)
    tag = (params_.first_tag + entry) & params_.mask;
    return true;
  }
  while (next_in_order(tag)) {
    const auto came = came_.find(tag);
    if (came != came_.end()) {
      if (--came->second == 0) came_.erase(came);
      continue;
    }
    if (params_.policy.unexpected_ppm == 0 || !random_.chance(params_.policy.unexpected_ppm)) return true;
    ++late_[tag];
  }
  return false;
}

std::uint64_t TagProgram::mask_of(Entry& entry) {  // (R7)
  std::uint64_t mask = params_.mask;
  const TagPolicy& policy = params_.policy;
  if (policy.any_source_ppm != 0 && random_.chance(policy.any_source_ppm)) mask &= ~kMpiSourceMask;
  if (policy.any_tag_ppm != 0 && random_.chance(policy.any_tag_ppm)) mask &= ~kMpiTagMask;
  entry.wildcard = mask != params_.mask;
  return mask;
}

std::optional<TagOperation> TagProgram::operation(const Action& action) {
  ask_late();
  TagOperation op;
  op.srq = params_.srq;
  op.wqe_index = action.entry;
  op.tm_sync = true;  // (R5)
  op.unexpected_count = static_cast<std::uint16_t>(unexpected_ - unexpected_ % (params_.policy.sync_lag + 1));
  op.entry.handle = action.entry;
  if (action.kind == Action::Kind::kDelete || action.kind == Action::Kind::kFailingDelete) {
    op.opcode = TagOpcode::kDelete;
    op.signaled = true;
    return op;
  }
  op.opcode = TagOpcode::kAdd;
  if (action.kind == Action::Kind::kFailingAppend) return op;
  Entry& e = entries_[action.entry];
  if (!next_tag(action.entry, e.tag)) return std::nullopt;
  e.number = ++appended_;
  e.posted = true;
  e.wildcard = false;
  const std::uint64_t mask = knows_tags() ? mask_of(e) : params_.mask;
  if (knows_tags()) {
    unexpected_depths_.add(asked_at_.size());  // (R8)
    posted_.insert({e.tag, e.number});
    by_number_[e.number] = action.entry;
    const TagPolicy& policy = params_.policy;
    if (policy.failing_ppm != 0 && random_.chance(policy.failing_ppm)) {
      follow_ups_.push_back(
          {fail_append_ ? Action::Kind::kFailingAppend : Action::Kind::kFailingDelete, params_.max_tags});
      fail_append_ = !fail_append_;
    }
    if (policy.delete_ppm != 0 && random_.chance(policy.delete_ppm)) {
      follow_ups_.push_back({Action::Kind::kDelete, action.entry});
    }
  }
  const std::uint64_t buffer =
      params_.buffer_base + action.entry % params_.buffers * std::uint64_t{params_.buffer_bytes};
  op.entry = {action.entry, e.tag & mask, mask, {params_.buffer_bytes, raw(params_.lkey), buffer}};
  return op;
}

TagProgram::Action TagProgram::follow_up() {
  while (!follow_ups_.empty()) {
    Action action = follow_ups_.back();
    follow_ups_.pop_back();
    if (action.kind != Action::Kind::kDelete || !entries_[action.entry].posted) return action;
    const std::uint64_t tag = entries_[action.entry].tag;  // (R6)
    take_out(action.entry);
    deleting_.push_back({action.entry, tag, true});
    return action;
  }
  return {};
}

}  // namespace rxnic
