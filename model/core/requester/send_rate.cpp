// SPDX-License-Identifier: Apache-2.0
#include "model/core/requester/send_rate.h"

#include <algorithm>

namespace rxnic {

namespace {

constexpr std::uint64_t kPercent = 100;
constexpr std::uint64_t kKbpsPerMbps = 1000;
constexpr std::uint64_t kKbpsPerGbps = 1'000'000;
constexpr std::uint64_t kPsPerByteAtOneKbps = 8'000'000'000;

}  // namespace

SendRateRules::SendRateRules(const RequesterParams& p, std::uint32_t link_gbps, std::uint32_t clock_period_ps)
    : period_ps(clock_period_ps),
      line_kbps(link_gbps * kKbpsPerGbps),
      min_kbps(std::min(p.dcqcn_min_mbps * kKbpsPerMbps, line_kbps)),
      additive_kbps(p.dcqcn_additive_mbps * kKbpsPerMbps),
      hyper_kbps(p.dcqcn_hyper_mbps * kKbpsPerMbps),
      alpha_timer_ps(p.dcqcn_alpha_timer_ps),
      increase_timer_ps(p.dcqcn_increase_timer_ps),
      reduce_period_ps(p.dcqcn_reduce_period_ps),
      increase_bytes(p.dcqcn_increase_bytes),
      fast_stages(p.dcqcn_fast_stages),
      alpha_shift(p.dcqcn_alpha_shift),
      least_percent(p.dcqcn_least_percent),
      target(p.dcqcn_target) {}

void SendRate::cnp(const SendRateRules& rules, Cycle now) {
  const std::uint64_t now_ps = now.count * rules.period_ps;
  const bool first = !limited_;
  if (first) {  // (R1)
    limited_ = true;
    alpha_ = kAlphaOne;
    current_kbps_ = target_kbps_ = rules.line_kbps;
  }
  if (first || now_ps >= reduce_from_ps_) {
    if (moves_target(rules)) target_kbps_ = current_kbps_;
    const std::uint64_t least = current_kbps_ * rules.least_percent / kPercent;
    const std::uint64_t reduced = current_kbps_ - current_kbps_ * alpha_ / (2 * kAlphaOne);
    current_kbps_ = std::max({reduced, least, rules.min_kbps});
    time_stage_ = byte_stage_ = 0;
    bytes_ = 0;
    increase_due_ps_ = now_ps + rules.increase_timer_ps;
    reduce_from_ps_ = now_ps + rules.reduce_period_ps;
  }
  alpha_ += (kAlphaOne >> rules.alpha_shift) - (alpha_ >> rules.alpha_shift);
  alpha_due_ps_ = now_ps + rules.alpha_timer_ps;
}

bool SendRate::moves_target(const SendRateRules& rules) const {  // (R8)
  switch (rules.target) {
    case DcqcnTarget::kAlways:
      return true;
    case DcqcnTarget::kIncreased:
      return time_stage_ > 0 || byte_stage_ > 0;
    case DcqcnTarget::kByteCounter:
      return byte_stage_ > 0;
  }
  return true;
}

std::uint32_t SendRate::advance(const SendRateRules& rules, Cycle now) {
  std::uint32_t increases = 0;
  const std::uint64_t now_ps = now.count * rules.period_ps;
  for (; limited_ && increase_due_ps_ <= now_ps; increase_due_ps_ += rules.increase_timer_ps) {
    ++time_stage_;
    increase(rules);
    ++increases;
  }
  for (; limited_ && alpha_due_ps_ <= now_ps; alpha_due_ps_ += rules.alpha_timer_ps) {  // (R3)
    alpha_ -= alpha_ >> rules.alpha_shift;
  }
  return increases;
}

std::uint32_t SendRate::sent(const SendRateRules& rules, Cycle now, std::uint32_t bytes) {
  std::uint32_t increases = 0;
  for (bytes_ += bytes; limited_ && bytes_ >= rules.increase_bytes; bytes_ -= rules.increase_bytes) {
    ++byte_stage_;
    increase(rules);
    ++increases;
  }
  if (!limited_) return increases;
  const std::uint64_t now_ps = now.count * rules.period_ps;
  const bool in_time = next_ps_ <= now_ps && now_ps - next_ps_ < rules.period_ps;
  const std::uint64_t distance = (bytes * kPsPerByteAtOneKbps + current_kbps_ - 1) / current_kbps_;
  next_ps_ = (in_time ? next_ps_ : now_ps) + distance;  // (R6)
  next_ = Cycle{(next_ps_ + rules.period_ps - 1) / rules.period_ps};
  return increases;
}

void SendRate::increase(const SendRateRules& rules) {  // (R4)
  if (std::max(time_stage_, byte_stage_) > rules.fast_stages) {
    const bool both = std::min(time_stage_, byte_stage_) > rules.fast_stages;
    target_kbps_ = std::min(target_kbps_ + (both ? rules.hyper_kbps : rules.additive_kbps), rules.line_kbps);
  }
  current_kbps_ = (current_kbps_ + target_kbps_ + 1) / 2;
  limited_ = current_kbps_ < rules.line_kbps;  // (R5)
}

}  // namespace rxnic
