// SPDX-License-Identifier: Apache-2.0
// How long the host takes: the round trip of a read, and the time until a write is visible.
//
//   R1  `constant`: each read takes read_latency_ps.
//   R2  `range`: a whole number of ps from read_latency_min_ps to read_latency_max_ps, each as likely as another.
//   R3  `table`: the minimum, the 50th, 90th, 99th and 99.9th percentile and the maximum are joined by straight lines.
//       A read takes the time at a percentile that is drawn in steps of one millionth. A time below the one before it
//       counts as that one.
//   R4  A write is visible write_latency_ps after it has left, and up to write_latency_spread_ps later (as R2).
//   R5  The numbers are splitmix64's, from latency_seed on; reads and writes draw from sequences of their own.
#pragma once

#include <array>
#include <cstdint>

#include "model/core/wire/link_time.h"
#include "model/params/params.h"

namespace rxnic {

class HostLatency {
 public:
  HostLatency(const DmaEngineParams& params, const LinkTime& time);
  // Reads that start later are answered no earlier: no number is drawn.
  bool constant_reads() const { return shape_ == ReadLatency::kConstant; }
  Instant of_read() { return constant_reads() ? read_ : time_.after_ps({}, drawn_read()); }
  Instant of_write() { return spread_ == 0 ? write_ : time_.after_ps(write_, drawn(write_state_, spread_)); }

 private:
  static std::uint64_t drawn(std::uint64_t& state, std::uint64_t greatest);  // from 0 on
  std::uint64_t drawn_read();

  LinkTime time_;
  ReadLatency shape_;
  Instant read_;
  Instant write_;
  std::uint64_t spread_;
  std::array<std::uint64_t, 6> percentiles_;  // ps, by index of kPercentiles
  std::uint64_t read_state_;
  std::uint64_t write_state_;
};

}  // namespace rxnic
