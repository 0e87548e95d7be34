// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/sender_group.h"

#include <algorithm>
#include <cmath>

#include "model/types/tag_matching.h"
#include "traces/mpi_tag.h"
#include "traces/traffic_layout.h"

namespace rxnic {

namespace {

enum DrawPurpose : std::uint64_t { kSizeDraws = 16, kKindDraws, kTimeDraws, kChoiceDraws, kTargetDraws, kPurposes };
constexpr double kPsPerBit = 1000;  // at 1 Gb/s

std::uint64_t purpose_of(std::size_t group, DrawPurpose p) { return group * kPurposes + p; }

}  // namespace

SenderGroup::SenderGroup(const WorkloadPage& page, const WorkloadLayout& layout, std::size_t number,
                         std::uint64_t link_gbps, const MpiJob* job, std::uint64_t& tagged)
    : page_(page.senders[number]),
      layout_(layout),
      first_(layout.first_qp(number)),
      count_(layout.qps_of(number)),
      sizes_(page_),
      targets_(page.receiver, layout.region_bytes()),
      size_random_(page.seed, purpose_of(number, kSizeDraws)),
      kind_random_(page.seed, purpose_of(number, kKindDraws)),
      time_random_(page.seed, purpose_of(number, kTimeDraws)),
      choice_random_(page.seed, purpose_of(number, kChoiceDraws)),
      target_random_(page.seed, purpose_of(number, kTargetDraws)),
      interval_ps_(static_cast<double>(page_.interval)),
      time_ps_(static_cast<double>(page_.start)),
      waiting_(count_),
      gone_(count_),
      job_(job),
      tagged_(tagged) {
  for (const MixKind& kind : mix_kinds()) weights_ += page_.mix.*kind.weight;
  if (page_.choice == QpChoice::kZipf) zipf_.emplace(count_, page_.zipf_s);
  if (page_.load != 0) {
    const double gbps = static_cast<double>(link_gbps) * page_.load / 100;
    interval_ps_ = std::max(sizes_.mean(), 1.0) * 8 * kPsPerBit / gbps;
  }
}

void SenderGroup::begin(std::vector<std::uint32_t>& post) {
  switch (page_.arrivals) {
    case ArrivalKind::kClosed:
      for (std::uint64_t n = 0; n < page_.window; ++n) {
        for (std::uint32_t k = 0; k < count_; ++k) post.push_back(first_ + k);
      }
      break;
    case ArrivalKind::kIncast:
    case ArrivalKind::kAllToAll:
      step_of_all(post);
      break;
    case ArrivalKind::kRing:
      for (std::uint32_t k = 0; k < count_; k += static_cast<std::uint32_t>(page_.peers)) post.push_back(first_ + k);
      break;
    default:
      break;
  }
}

// A round of all QPs (R3), or of those of one peer (R5). A step whose QPs have all failed is left out.
void SenderGroup::step_of_all(std::vector<std::uint32_t>& post) {
  const bool all = page_.arrivals == ArrivalKind::kIncast;
  const auto peers = static_cast<std::uint32_t>(page_.peers);
  for (std::uint32_t tries = 0; expected_ == 0 && tries < peers; ++tries) {
    const auto begin = all ? 0 : static_cast<std::uint32_t>(step_++ % peers);
    for (std::uint32_t k = begin; k < count_; k += all ? 1 : peers) {
      if (gone_[k] != 0) continue;
      post.push_back(first_ + k);
      ++expected_;
    }
  }
}

std::optional<std::uint64_t> SenderGroup::next_arrival() {
  const bool first = !std::exchange(arrived_, true);
  switch (page_.arrivals) {
    case ArrivalKind::kPoisson:
      time_ps_ += exponential_quantile(time_random_.unit(), interval_ps_);
      break;
    case ArrivalKind::kConstant:
      if (!first) time_ps_ += interval_ps_;
      break;
    case ArrivalKind::kOnOff: {
      if (first) break;
      const auto on = static_cast<double>(page_.on);
      const auto period = static_cast<double>(page_.on + page_.off);
      const auto start = static_cast<double>(page_.start);
      time_ps_ += interval_ps_;
      const double burst = std::floor((time_ps_ - start) / period);
      if (time_ps_ - start - burst * period >= on) time_ps_ = start + (burst + 1) * period;
      break;
    }
    case ArrivalKind::kMpi:
      if (next_call_ == job_->messages.size()) return std::nullopt;
      return job_->messages[next_call_].time_ps;
    default:
      return std::nullopt;
  }
  return static_cast<std::uint64_t>(time_ps_);
}

std::optional<std::uint32_t> SenderGroup::arrive(const std::vector<SenderQp>& qps) {
  if (job_ != nullptr) {  // (R6)
    const std::uint32_t sender = job_->messages[next_call_].sender;
    return first_ + sender - (sender > job_->rank ? 1 : 0);
  }
  if (burst_left_ == 0) {
    burst_left_ = page_.burst;
    switch (page_.choice) {
      case QpChoice::kInOrder:
        chosen_ = in_order_;
        in_order_ = (in_order_ + 1) % count_;
        break;
      case QpChoice::kUniform:
        chosen_ = static_cast<std::uint32_t>(choice_random_.below(count_));
        break;
      case QpChoice::kZipf:
        chosen_ = static_cast<std::uint32_t>(zipf_->quantile(choice_random_.unit()));
        break;
    }
  }
  --burst_left_;
  if (qps[first_ + chosen_].under_way() < page_.window) return first_ + chosen_;
  ++waiting_[chosen_];
  return std::nullopt;
}

bool SenderGroup::take_waiting(std::uint32_t qp) {
  std::uint64_t& waiting = waiting_[qp - first_];
  if (waiting == 0) return false;
  --waiting;
  return true;
}

void SenderGroup::answered(std::uint32_t qp, std::vector<std::uint32_t>& post) {
  if (gone_[qp - first_] != 0) return;
  switch (page_.arrivals) {
    case ArrivalKind::kClosed:
    case ArrivalKind::kRing:
      post.push_back(qp);
      break;
    case ArrivalKind::kIncast:
    case ArrivalKind::kAllToAll:
      if (--expected_ == 0) step_of_all(post);
      break;
    default:
      break;
  }
}

void SenderGroup::failed(std::uint32_t qp, std::vector<std::uint32_t>& post) {
  if (std::exchange(gone_[qp - first_], 1) != 0) return;
  const bool rounds = page_.arrivals == ArrivalKind::kIncast || page_.arrivals == ArrivalKind::kAllToAll;
  if (rounds && expected_ != 0 && --expected_ == 0) step_of_all(post);
}

const MixKind& SenderGroup::draw_kind() {
  std::uint64_t at = kind_random_.below(weights_);
  for (const MixKind& kind : mix_kinds()) {
    const std::uint64_t weight = page_.mix.*kind.weight;
    if (at < weight) return kind;
    at -= weight;
  }
  return mix_kinds().front();
}

// (R6)
SenderMessage SenderGroup::mpi_message() {
  const MpiMessage& sent = job_->messages[next_call_++];
  SenderMessage m;
  m.kind = &*std::ranges::find_if(mix_kinds(), [](const MixKind& kind) { return kind.tag == TagUse::kEager; });
  m.tag = sent.tag;
  m.announced = sent.bytes;
  m.bytes = kTmhBytes + sent.bytes;
  ++messages_;
  return m;
}

SenderMessage SenderGroup::message() {
  if (job_ != nullptr) return mpi_message();
  SenderMessage m;
  m.rkey = traffic::kDataKey;
  m.kind = &draw_kind();
  ++messages_;
  if (m.kind->opcode == SendOpcode::kSendInvalidate && next_invalidated_ == traffic::kInvalidatedKeys) {
    m.kind = &mix_kinds().front();
  }
  std::uint64_t bytes = sizes_.quantile(size_random_.unit());
  if (page_.arrivals == ArrivalKind::kRing || page_.arrivals == ArrivalKind::kAllToAll) {
    bytes = (bytes + page_.peers) / (page_.peers + 1);  // R4, R5
  }
  const std::uint32_t traits = request_info(m.kind->opcode).traits;
  if ((traits & kAtomic) != 0) bytes = kAtomicBytes;
  if ((traits & (kWrite | kRead | kAtomic)) != 0) {
    const RegionTarget target = targets_.next(bytes, target_random_);
    m.va = layout_.region_va(target.region) + target.offset;
    m.rkey = WorkloadLayout::region_key(target.region);
  }
  if ((traits & kAtomic) != 0) {
    m.va -= m.va % kAtomicBytes;
    m.swap_add = target_random_.next() >> 48;
    m.compare = target_random_.below(4);
  }
  if (m.kind->opcode == SendOpcode::kSendInvalidate) {
    m.immediate = raw(traffic::invalidated_key(next_invalidated_++));
  } else if ((traits & kHasImm) != 0) {
    m.immediate = static_cast<std::uint32_t>(messages_);
  }
  m.bytes = static_cast<std::uint32_t>(bytes);
  if (m.kind->tag != TagUse::kNone) {
    m.tag = mpi_tag(static_cast<std::uint32_t>(tagged_++ % page_.tags), 0, 0);  // (R7)
    m.announced = m.bytes;
    m.bytes = m.kind->tag == TagUse::kEager ? kTmhBytes + m.bytes : kTmhBytes + kRvhBytes;
  }
  return m;
}

}  // namespace rxnic
