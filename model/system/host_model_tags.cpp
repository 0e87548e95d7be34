// SPDX-License-Identifier: Apache-2.0
// The program's tag lists: what completions and the time ask of them.
#include <utility>

#include "model/system/host_model.h"

namespace rxnic {

void HostModel::add_tag_list(TagListParams params) {
  const auto list = static_cast<std::uint32_t>(tag_lists_.size());
  for (std::uint32_t i = 0; i < params.entries; ++i) {
    tag_steps_.push({list, {TagProgram::Action::Kind::kAppend, i}}, Cycle{0});
  }
  params.max_tags = max_tags_;
  tag_index_[params.srq_number] = list;
  tag_lists_.emplace_back(TagProgram(std::move(params)));
}

void HostModel::add_tag_list(const TagListParams& params, std::vector<TagPost> posts) {
  tag_index_[params.srq_number] = static_cast<std::uint32_t>(tag_lists_.size());
  tag_lists_.emplace_back(TagSchedule(params, std::move(posts)));
  scheduled_ = true;
}

void HostModel::schedule_tag(const TagStep& step, Cycle now) {
  if (step.action.kind == TagProgram::Action::Kind::kNone) return;
  tag_steps_.push(step, now + latest(repost_latency_, Cycle{1}));
}

bool HostModel::send_tag(const TagStep& step, Cycle now) {  // (R5)
  if (!tag_operations.can_push(now)) return false;
  std::visit(
      [&](auto& list) {
        if (const auto operation = list.operation(step.action)) tag_operations.push(now, *operation);
        for (auto next = list.follow_up(); next.kind != TagProgram::Action::Kind::kNone; next = list.follow_up()) {
          tag_steps_.push({step.list, next}, now + 1);
        }
      },
      tag_lists_[step.list]);
  return true;
}

void HostModel::tag_completed(const Cqe& cqe, Cycle now) {
  if (cqe.opcode != CqeOpcode::kTagReceive && cqe.opcode != CqeOpcode::kTagDelete) return;
  const auto tags = tag_index_.find(cqe.srq_number);
  if (tags == tag_index_.end()) return;
  const TagStep step{tags->second,
                     std::visit([&cqe](auto& list) { return list.completed(cqe); }, tag_lists_[tags->second])};
  const bool received = step.action.kind == TagProgram::Action::Kind::kAppend && cqe.opcode == CqeOpcode::kTagReceive;
  if (application_.serves() && received && cqe.status == WcStatus::kSuccess) {  // (R7)
    serving_.push({application_.serve(now), ++served_, 0, 0, true, step});
  } else {
    schedule_tag(step, now);
  }
}

// Receives whose time has come. (R5)
bool HostModel::post_due(Cycle now) {
  bool worked = false;
  for (std::uint32_t n = 0; scheduled_ && n < tag_lists_.size(); ++n) {
    auto* const list = std::get_if<TagSchedule>(&tag_lists_[n]);
    while (list != nullptr && list->next_ps() && cycles(*list->next_ps()) <= now) {
      const TagStep step{n, list->post()};
      if (step.action.kind != TagProgram::Action::Kind::kNone) tag_steps_.push(step, now);
      worked = true;
    }
  }
  return worked;
}

Cycle HostModel::next_post() const {
  Cycle next = kNever;
  for (const TagList& tags : tag_lists_) {
    const auto* const list = std::get_if<TagSchedule>(&tags);
    if (list != nullptr && list->next_ps()) next = earliest(next, cycles(*list->next_ps()));
  }
  return next;
}

Histogram HostModel::unexpected_depths() const {
  Histogram all;
  for (const TagList& tags : tag_lists_) {
    all.add(std::visit([](const auto& list) -> const Histogram& { return list.unexpected_depths(); }, tags));
  }
  return all;
}

}  // namespace rxnic
