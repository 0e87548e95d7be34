// SPDX-License-Identifier: Apache-2.0
// The time that a serial link, PCI Express or Ethernet, takes to carry bytes.
//
//   R1  Link time is exact: its unit is a fraction of a cycle of which a byte and a picosecond are whole multiples.
//   R2  A transfer on a line starts when its data is there, or without a gap after the transfer before it. Transfers
//       may be promised ahead of their time; one of the other kind that comes meanwhile goes between them.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

#include "model/types/ids.h"

namespace rxnic {

// A point in time, or a span of time: cycles and a fraction, in units of LinkTime.
struct Instant {
  std::uint64_t cycle = 0;
  std::uint64_t fraction = 0;
  constexpr auto operator<=>(const Instant&) const = default;
  constexpr Cycle floor() const { return Cycle{cycle}; }                      // the cycle that it lies in
  constexpr Cycle ceiling() const { return Cycle{cycle + (fraction != 0)}; }  // the first that starts at or after it
};

// The unit of time in which one byte on the link and one picosecond are both whole: 1 / (rate in Mb/s) ps. (R1)
class LinkTime {
 public:
  LinkTime(std::uint32_t rate_mbps, std::uint32_t clock_period_ps)
      : period_ps_(clock_period_ps), per_cycle_(std::uint64_t{rate_mbps} * clock_period_ps), per_ps_(rate_mbps) {}
  Instant after_bytes(Instant from, std::uint64_t bytes) const { return after(from, bytes * kPerByte); }
  Instant after_ps(Instant from, std::uint64_t ps) const { return after(from, ps * per_ps_); }
  Instant after_span(Instant from, Instant span) const {
    Instant to{from.cycle + span.cycle, from.fraction + span.fraction};
    if (to.fraction >= per_cycle_) {
      to.fraction -= per_cycle_;
      ++to.cycle;
    }
    return to;
  }
  // Whole picoseconds, what is left is cut off.
  std::uint64_t to_ps(Instant t) const { return t.cycle * period_ps_ + t.fraction / per_ps_; }

 private:
  static constexpr std::uint64_t kPerByte = 8'000'000;  // 8 bits at 1 Mb/s take 8,000,000 ps
  Instant after(Instant from, std::uint64_t units) const {
    units += from.fraction;
    if (units < per_cycle_) return {from.cycle, units};
    return {from.cycle + units / per_cycle_, units % per_cycle_};
  }
  std::uint64_t period_ps_;
  std::uint64_t per_cycle_;
  std::uint64_t per_ps_;
};

// The first cycle that begins at that time or later.
inline Cycle cycle_at_or_after(double time_ps, std::uint64_t period_ps) {
  const double cycles = time_ps / static_cast<double>(period_ps);
  const auto whole = static_cast<std::int64_t>(cycles);  // std::ceil() would cost five times as much
  return Cycle{static_cast<std::uint64_t>(whole + (static_cast<double>(whole) < cycles))};
}

// One direction of a link. (R2)
class Line {
 public:
  explicit Line(const LinkTime& time) : time_(time) {}
  // Carries `bytes` from `earliest` on, or from when the line is free; returns when the last byte has passed.
  Instant carry(Instant earliest, std::uint64_t bytes) {
    if (bytes != carried_) {
      carried_ = bytes;
      span_ = time_.after_bytes({}, bytes);
    }
    free_ = time_.after_span(std::max(earliest, free_), span_);
    return free_;
  }
  // Carries `bytes` that come now between what was promised for later, which the next transfer is put off by.
  Instant carry_between(Instant now, std::uint64_t bytes) {
    const Instant from = std::max(now, between_);
    between_ = time_.after_bytes(from, bytes);
    free_ = time_.after_bytes(std::max(free_, from), bytes);
    return between_;
  }
  // Carries nothing before `until`.
  void hold(Instant until) { free_ = std::max(free_, until); }
  Instant free() const { return free_; }

 private:
  LinkTime time_;
  std::uint64_t carried_ = 0;  // bytes of the last transfer,
  Instant span_;               // and how long they take: most are as many as those before
  Instant free_;
  Instant between_;  // the last byte of carry_between() has passed
};

}  // namespace rxnic
