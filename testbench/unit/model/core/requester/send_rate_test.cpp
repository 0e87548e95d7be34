// SPDX-License-Identifier: Apache-2.0
// Rules R1..R8 of model/core/requester/send_rate.h.
#include "model/core/requester/send_rate.h"

#include <gtest/gtest.h>

namespace rxnic::send_rate_test {
namespace {

constexpr std::uint64_t kMbps = 1000, kGbps = 1'000'000;  // in kb/s
constexpr std::uint32_t kOne = SendRate::kAlphaOne;

RequesterParams params() {
  RequesterParams p;
  p.dcqcn_alpha_shift = 4;
  p.dcqcn_alpha_timer_ps = 50'000'000;      // 50,000 cycles
  p.dcqcn_increase_timer_ps = 300'000'000;  // 300,000 cycles
  p.dcqcn_increase_bytes = 10'000;
  p.dcqcn_fast_stages = 2;
  p.dcqcn_additive_mbps = 5;
  p.dcqcn_hyper_mbps = 50;
  p.dcqcn_min_mbps = 10;
  p.dcqcn_target = DcqcnTarget::kAlways;  // each CNP reduces the rate and the target, as in the paper
  p.dcqcn_reduce_period_ps = 0;
  p.dcqcn_least_percent = 1;
  return p;
}

// Clock 1 ns, a line of 100 Gb/s.
struct Fixture {
  explicit Fixture(const RequesterParams& p = params(), std::uint32_t link_gbps = 100, std::uint32_t period_ps = 1000)
      : rules(p, link_gbps, period_ps) {}
  void cnp(std::uint64_t at) {
    rate.advance(rules, Cycle{at});
    rate.cnp(rules, Cycle{at});
  }
  std::uint32_t advance(std::uint64_t to) { return rate.advance(rules, Cycle{to}); }
  std::uint32_t sent(std::uint64_t at, std::uint32_t bytes) {
    const std::uint32_t timed = rate.advance(rules, Cycle{at});
    return timed + rate.sent(rules, Cycle{at}, bytes);
  }
  SendRateRules rules;
  SendRate rate;
};

TEST(SendRate, TheFirstCnpHalvesTheLinesRate) {  // R1, R2
  Fixture f;
  EXPECT_FALSE(f.rate.limited());
  f.cnp(100);
  EXPECT_TRUE(f.rate.limited());
  EXPECT_EQ(f.rate.current_kbps(), 50 * kGbps);
  EXPECT_EQ(f.rate.target_kbps(), 100 * kGbps);
  EXPECT_EQ(f.rate.alpha(), kOne);
}

TEST(SendRate, AlphaFallsWithItsTimerAndRisesWithCnps) {  // R2, R3
  Fixture f;
  f.cnp(100);
  f.advance(100 + 49'999);
  EXPECT_EQ(f.rate.alpha(), kOne);
  f.advance(100 + 50'000);
  EXPECT_EQ(f.rate.alpha(), kOne - kOne / 16);
  f.advance(100 + 100'000);
  EXPECT_EQ(f.rate.alpha(), kOne / 256 * 225);  // (15 / 16)^2
  const std::uint64_t before = f.rate.current_kbps();
  f.cnp(150'000);
  EXPECT_EQ(f.rate.target_kbps(), before);
  EXPECT_EQ(f.rate.current_kbps(), before - before * (kOne / 256 * 225) / (2 * kOne));
  EXPECT_EQ(f.rate.alpha(), kOne / 256 * 225 - kOne / 256 * 225 / 16 + kOne / 16);
  f.advance(150'000 + 49'999);
  const std::uint32_t alpha = f.rate.alpha();
  f.advance(150'000 + 50'000);
  EXPECT_EQ(f.rate.alpha(), alpha - (alpha >> 4)) << "the timer began anew with the CNP";
}

TEST(SendRate, FastRecoveryGoesHalfTheWayToTheTarget) {  // R4
  Fixture f;
  f.cnp(0);
  EXPECT_EQ(f.advance(299'999), 0u);
  EXPECT_EQ(f.rate.current_kbps(), 50 * kGbps);
  EXPECT_EQ(f.advance(300'000), 1u);
  EXPECT_EQ(f.rate.current_kbps(), 75 * kGbps);
  EXPECT_EQ(f.advance(600'000), 1u);
  EXPECT_EQ(f.rate.current_kbps(), 87'500 * kMbps);
  EXPECT_EQ(f.rate.target_kbps(), 100 * kGbps);
}

TEST(SendRate, TheByteCounterIncreasesToo) {  // R4
  Fixture f;
  f.cnp(0);
  EXPECT_EQ(f.sent(10, 9'999), 0u);
  EXPECT_EQ(f.rate.current_kbps(), 50 * kGbps);
  EXPECT_EQ(f.sent(20, 1), 1u);
  EXPECT_EQ(f.rate.current_kbps(), 75 * kGbps);
  EXPECT_EQ(f.sent(30, 9'999), 0u);
  f.cnp(40);
  EXPECT_EQ(f.sent(50, 9'999), 0u) << "the counter began anew with the CNP";
  EXPECT_EQ(f.sent(60, 1), 1u);
}

// A burst of three CNPs, then an increase, then one more: what the rate returns to.
struct Targets {
  std::uint64_t of_burst, later;
};
Targets targets(DcqcnTarget rule, bool by_bytes) {
  RequesterParams p = params();
  p.dcqcn_target = rule;
  Fixture f(p);
  for (int n = 0; n < 3; ++n) f.cnp(0);
  EXPECT_EQ(f.rate.current_kbps(), 12'500 * kMbps);
  Targets t{f.rate.target_kbps(), 0};
  EXPECT_EQ(by_bytes ? f.sent(0, 10'000) : f.advance(300'000), 1u);
  EXPECT_EQ(f.rate.current_kbps(), (12'500 * kMbps + t.of_burst) / 2);
  f.cnp(by_bytes ? 1 : 300'000);
  t.later = f.rate.target_kbps();
  return t;
}

TEST(SendRate, ABurstOfCnpsTakesTheTargetAlongOnlyWhenAsked) {  // R8
  constexpr std::uint64_t kUp = 56'250 * kMbps;                 // half the way from 12.5 to 100 Gb/s
  for (const bool by_bytes : {false, true}) {
    EXPECT_EQ(targets(DcqcnTarget::kAlways, by_bytes).of_burst, 25 * kGbps);
    EXPECT_EQ(targets(DcqcnTarget::kAlways, by_bytes).later, 18'750 * kMbps);
    EXPECT_EQ(targets(DcqcnTarget::kIncreased, by_bytes).of_burst, 100 * kGbps);
    EXPECT_EQ(targets(DcqcnTarget::kIncreased, by_bytes).later, kUp);
    EXPECT_EQ(targets(DcqcnTarget::kByteCounter, by_bytes).of_burst, 100 * kGbps);
    EXPECT_EQ(targets(DcqcnTarget::kByteCounter, by_bytes).later, by_bytes ? kUp : 100 * kGbps);
  }
}

TEST(SendRate, OneReductionInAPeriod) {  // R2
  RequesterParams p = params();
  p.dcqcn_reduce_period_ps = 4'000'000;
  Fixture f(p);
  f.cnp(100);
  f.sent(200, 9'999);
  f.cnp(100 + 3'999);
  EXPECT_EQ(f.rate.current_kbps(), 50 * kGbps);
  EXPECT_EQ(f.sent(100 + 3'999, 1), 1u) << "the byte counter went on";
  EXPECT_EQ(f.rate.current_kbps(), 75 * kGbps);
  f.cnp(100 + 4'000);
  EXPECT_EQ(f.rate.current_kbps(), 37'500 * kMbps);
  EXPECT_EQ(f.sent(100 + 4'000, 9'999), 0u) << "it began anew";
  f.cnp(100 + 7'999);
  EXPECT_EQ(f.rate.current_kbps(), 37'500 * kMbps);
}

TEST(SendRate, ACnpWithinThePeriodRaisesAlpha) {  // R2, R3
  RequesterParams p = params();
  p.dcqcn_reduce_period_ps = 1'000'000'000;
  Fixture f(p);
  f.cnp(0);
  f.advance(50'000);
  ASSERT_EQ(f.rate.alpha(), kOne / 16 * 15);
  f.cnp(60'000);
  EXPECT_EQ(f.rate.alpha(), kOne / 16 * 15 - kOne / 256 * 15 + kOne / 16);
  const std::uint32_t alpha = f.rate.alpha();
  f.advance(60'000 + 49'999);
  EXPECT_EQ(f.rate.alpha(), alpha) << "its timer began anew";
}

TEST(SendRate, AReductionLeavesTheLeastPart) {  // R2
  for (const std::uint32_t percent : {50u, 51u, 90u, 100u}) {
    RequesterParams p = params();
    p.dcqcn_least_percent = percent;
    Fixture f(p);
    f.cnp(0);
    EXPECT_EQ(f.rate.current_kbps(), percent * kGbps);
  }
}

TEST(SendRate, BeyondFastRecoveryTheTargetRises) {  // R4
  Fixture f;
  f.cnp(0);
  f.cnp(0);  // 25 Gb/s, to come back to 50
  ASSERT_EQ(f.rate.target_kbps(), 50 * kGbps);
  f.advance(600'000);  // two increases by the timer
  EXPECT_EQ(f.rate.target_kbps(), 50 * kGbps);
  f.advance(900'000);  // the third: additive
  EXPECT_EQ(f.rate.target_kbps(), 50 * kGbps + 5 * kMbps);
  for (int n = 0; n < 2; ++n) f.sent(900'000, 10'000);  // the timer's stage is past: additive
  EXPECT_EQ(f.rate.target_kbps(), 50 * kGbps + 15 * kMbps);
  f.sent(900'000, 10'000);  // both are past: hyper
  EXPECT_EQ(f.rate.target_kbps(), 50 * kGbps + 65 * kMbps);
  EXPECT_LT(f.rate.current_kbps(), f.rate.target_kbps());
}

TEST(SendRate, OneIncreaseForEachFullByteCount) {  // R4
  Fixture f;
  f.cnp(0);
  EXPECT_EQ(f.sent(0, 30'000), 3u);
}

TEST(SendRate, TheLimitEndsAtTheLinesRate) {  // R5, R1
  Fixture f;
  f.cnp(0);
  std::uint32_t increases = 0;
  while (f.rate.limited() && increases < 100) increases += f.advance((increases + 1) * 300'000);
  EXPECT_EQ(increases, 26u) << "50,000,000 kb/s is halved 26 times until nothing is left";
  f.cnp(100'000'000);
  EXPECT_EQ(f.rate.current_kbps(), 50 * kGbps) << "as the first CNP";
  EXPECT_EQ(f.rate.alpha(), kOne);
}

TEST(SendRate, CnpsDoNotSlowBelowTheLeastRate) {  // R2
  Fixture f;
  for (int n = 0; n < 40; ++n) f.cnp(0);
  EXPECT_EQ(f.rate.current_kbps(), 10 * kMbps);
  RequesterParams p = params();
  p.dcqcn_min_mbps = 1'600'000;
  Fixture above_the_line(p);
  above_the_line.cnp(0);
  EXPECT_EQ(above_the_line.rate.current_kbps(), 100 * kGbps);
}

TEST(SendRate, PacketsKeepTheirDistance) {  // R6
  Fixture f;
  f.cnp(0);
  // 314 bytes at 50 Gb/s: 50.24 ns.
  std::uint64_t at = 1000;
  for (std::uint64_t n = 1; n <= 30; ++n) {
    f.sent(at, 314);
    at = f.rate.next().count;
    EXPECT_EQ(at, 1000 + (n * 5024 + 99) / 100) << "fractions of a cycle are not lost";
  }
  f.sent(at + 5, 314);
  EXPECT_EQ(f.rate.next(), Cycle{at + 5 + 51}) << "a packet that was late has its whole distance";
}

TEST(SendRate, TheDistanceFollowsTheNewRate) {  // R6
  Fixture f;
  f.cnp(0);
  f.sent(0, 1000);  // 8,000 bits at 50 Gb/s
  EXPECT_EQ(f.rate.next(), Cycle{160});
  f.cnp(10);
  EXPECT_EQ(f.rate.next(), Cycle{160}) << "a distance that has begun";
  f.sent(160, 1000);  // at 25 Gb/s
  EXPECT_EQ(f.rate.next(), Cycle{160 + 320});
}

TEST(SendRate, NothingDependsOnWhenItIsLookedAt) {  // R7
  Fixture often, once;
  often.cnp(0);
  once.cnp(0);
  for (std::uint64_t at = 0; at <= 5'000'000; at += 7'777) often.advance(at);
  often.advance(5'000'000);
  once.advance(5'000'000);
  EXPECT_EQ(often.rate.current_kbps(), once.rate.current_kbps());
  EXPECT_EQ(often.rate.alpha(), once.rate.alpha());
}

TEST(SendRate, ResetEndsTheLimit) {
  Fixture f;
  f.cnp(0);
  f.rate.reset();
  EXPECT_FALSE(f.rate.limited());
}

}  // namespace
}  // namespace rxnic::send_rate_test
