// SPDX-License-Identifier: Apache-2.0
#include "bridge/rxnic/workload/network.h"

#include <algorithm>
#include <utility>

#include "bridge/rxnic/workload/page_keys.h"

namespace rxnic {

namespace {

constexpr std::uint64_t kToNic = 0, kFromNic = 1;  // links
constexpr std::uint64_t kPsPerNs = 1000;
constexpr std::uint8_t kCongestionExperienced = 0x03;

ImpairmentRate rate(std::uint64_t ppm, const std::string& at) {
  ImpairmentRate r;
  r.ppm = static_cast<std::uint32_t>(ppm);
  parse_packets(at, r.at);
  return r;
}

ImpairmentPlan plan_of(const NetworkPage& page, std::uint64_t seed) {
  ImpairmentPlan plan;
  plan.seed = seed;
  plan[Impairment::kLoss] = rate(page.loss_ppm, page.lose);
  plan[Impairment::kCorruption] = rate(page.corrupt_ppm, page.corrupt);
  plan[Impairment::kDuplication] = rate(page.duplicate_ppm, page.duplicate);
  plan[Impairment::kReordering] = rate(page.reorder_ppm, page.reorder);
  plan[Impairment::kMark] = rate(page.mark_ppm, page.mark);
  plan[Impairment::kPause] = rate(page.pause_ppm, page.pause);
  return plan;
}

ImpairmentPlan plan_of_answers(const NetworkPage& page, std::uint64_t seed) {
  ImpairmentPlan plan;
  plan.seed = seed;
  plan[Impairment::kLoss] = rate(page.answer_loss_ppm, page.lose_answers);
  return plan;
}

}  // namespace

WorkloadNetwork::WorkloadNetwork(const NetworkPage& page, std::uint64_t seed)
    : impairments_(plan_of(page, seed)),
      answers_impairments_(plan_of_answers(page, seed)),
      depth_(page.reorder_depth),
      pause_ps_(page.pause_time) {}

void WorkloadNetwork::begin(Headers& h) {
  fate_ = impairments_.any() ? impairments_.fate_of(kToNic, ++number_) : FrameFate{};
  if (!fate_.has(Impairment::kMark)) return;
  h.traffic_class |= kCongestionExperienced;
  ++counts_.marked;
}

// R4
std::uint64_t WorkloadNetwork::in_order(std::uint64_t time_ps) {
  last_ps_ = std::max(last_ps_, (time_ps + kPsPerNs - 1) / kPsPerNs * kPsPerNs);
  return last_ps_;
}

void WorkloadNetwork::deliver(std::span<std::uint8_t> frame, std::uint64_t time_ps) {
  if (fate_.empty()) {
    if (!held_.empty() || !ready_.empty()) return pass(frame, time_ps);
    only_ = frame;
    in_order(time_ps);
    ++passed_;
    return;
  }
  if (fate_.has(Impairment::kPause)) {  // R3
    ++counts_.pauses;
    in_order(std::max(time_ps, last_ps_) + pause_ps_);
  }
  if (fate_.has(Impairment::kLoss)) {
    ++counts_.lost;
    return;
  }
  if (fate_.has(Impairment::kCorruption)) {
    ++counts_.corrupted;
    impairments_.corrupt(frame, LinkLayer::kEthernet, kToNic, number_);
  }
  if (fate_.has(Impairment::kReordering)) {  // R2
    ++counts_.reordered;
    held_.push_back({{frame.begin(), frame.end()}, passed_ + depth_, time_ps + kLongestWaitPs});
    return;
  }
  pass(frame, time_ps);
  if (!fate_.has(Impairment::kDuplication)) return;
  ++counts_.duplicated;
  pass(frame, time_ps);
}

void WorkloadNetwork::pass(Bytes frame, std::uint64_t time_ps) {
  ready_.push_back({{frame.begin(), frame.end()}, in_order(time_ps)});
  ++passed_;
  while (!held_.empty() && held_.front().after <= passed_) {
    ready_.push_back({std::move(held_.front().frame), in_order(time_ps)});
    held_.pop_front();
  }
}

void WorkloadNetwork::release() {
  for (; !held_.empty(); held_.pop_front()) {
    ready_.push_back({std::move(held_.front().frame), in_order(held_.front().until_ps)});
  }
}

bool WorkloadNetwork::next(Bytes& frame, std::uint64_t& time_ps) {
  if (!only_.empty()) {
    frame = std::exchange(only_, {});
    time_ps = last_ps_;
    return true;
  }
  if (ready_.empty()) return false;
  given_ = std::move(ready_.front().frame);
  time_ps = ready_.front().time_ps;
  ready_.pop_front();
  frame = given_;
  return true;
}

bool WorkloadNetwork::answer_arrives() {
  if (!answers_impairments_.any()) return true;
  const bool lost = answers_impairments_.fate_of(kFromNic, ++answers_).has(Impairment::kLoss);
  counts_.answers_lost += lost ? 1 : 0;
  return !lost;
}

}  // namespace rxnic
