// SPDX-License-Identifier: Apache-2.0
// The rate of a QP's requests under congestion: the reaction point of DCQCN. The source is Zhu et al., "Congestion
// Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3 and figure 7.
//
//   R1  A QP has no limit before its first CNP, nor after R5. A CNP finds it then at the line's rate with alpha = 1.
//   R2  A CNP reduces the rate: the current rate is multiplied by 1 - alpha / 2, with dcqcn_least_percent of it and
//       dcqcn_min_mbps as lower bounds. Then alpha becomes (1 - g) alpha + g with g = 2^-dcqcn_alpha_shift. Timers,
//       byte counter and the stages of both begin anew. A CNP that comes less than dcqcn_reduce_period after the last
//       reduction only raises alpha, and alpha's timer begins anew.
//   R3  After each dcqcn_alpha_timer without a CNP alpha becomes (1 - g) alpha.
//   R4  The rate is increased after each dcqcn_increase_timer and after each dcqcn_increase_bytes sent; each of the two
//       counts its increases, its stage. While no stage is past dcqcn_fast_stages the current rate goes half the way to
//       the target (fast recovery). Beyond, the target is raised before that, and at most to the line's rate. It is
//       raised by dcqcn_additive_mbps when one stage is past, by dcqcn_hyper_mbps when both are.
//   R5  The limit ends when the current rate has come to the line's.
//   R6  A packet of b bytes (link header to ICRC) is followed by the next one b / rate later at the earliest. The rate
//       is that after the packet was counted. Fractions of a cycle are kept while a QP sends as soon as it may. A CNP
//       does not change a distance that has begun.
//   R7  Rates are whole kb/s, alpha is a multiple of 2^-20. What was due at a time is done when the QP is looked at
//       next: nothing happens in between that could see it.
//   R8  Before a reduction the target becomes the current rate, as the parameter says. It does so always
//       (dcqcn_target), when the rate was increased since the reduction before (`increased`), or when the byte counter
//       increased it (`byte_counter`). So the CNPs of one burst do not take along what the rate returns to. At the
//       first CNP (R1) it is the line's rate.
#pragma once

#include <cstdint>

#include "model/params/params.h"
#include "model/types/ids.h"

namespace rxnic {

// The parameters, in the units of the computation.
struct SendRateRules {
  SendRateRules(const RequesterParams& params, std::uint32_t link_gbps, std::uint32_t clock_period_ps);
  std::uint64_t period_ps;
  std::uint64_t line_kbps, min_kbps, additive_kbps, hyper_kbps;
  std::uint64_t alpha_timer_ps, increase_timer_ps;
  std::uint64_t reduce_period_ps;
  std::uint32_t increase_bytes, fast_stages, alpha_shift, least_percent;
  DcqcnTarget target;
};

class SendRate {
 public:
  static constexpr std::uint32_t kAlphaOne = 1u << 20;

  bool limited() const { return limited_; }
  std::uint64_t current_kbps() const { return current_kbps_; }  // valid while it is limited, like those below
  std::uint64_t target_kbps() const { return target_kbps_; }
  std::uint32_t alpha() const { return alpha_; }  // of kAlphaOne
  void reset() { *this = {}; }

  // What has come due until `now` (R3, R4); returns the number of increases. Cycles never decrease from call to call.
  std::uint32_t advance(const SendRateRules& rules, Cycle now);
  // Precondition of both: advance() to `now`.
  void cnp(const SendRateRules& rules, Cycle now);  // (R2)
  // A packet of so many bytes leaves; returns the number of increases that it brings. (R4)
  std::uint32_t sent(const SendRateRules& rules, Cycle now, std::uint32_t bytes);
  // The first cycle in which the next packet may leave. (R6)
  Cycle next() const { return next_; }

 private:
  void increase(const SendRateRules& rules);

  bool moves_target(const SendRateRules& rules) const;

  bool limited_ = false;
  std::uint32_t alpha_ = kAlphaOne;
  std::uint32_t time_stage_ = 0, byte_stage_ = 0;
  std::uint64_t bytes_ = 0;  // since the last increase by the byte counter
  std::uint64_t current_kbps_ = 0, target_kbps_ = 0;
  std::uint64_t alpha_due_ps_ = 0, increase_due_ps_ = 0;
  std::uint64_t reduce_from_ps_ = 0;  // no reduction before
  std::uint64_t next_ps_ = 0;         // time from which on the next packet may leave
  Cycle next_{};
};

}  // namespace rxnic
