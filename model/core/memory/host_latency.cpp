// SPDX-License-Identifier: Apache-2.0
#include "model/core/memory/host_latency.h"

#include <algorithm>

#include "model/types/splitmix.h"

namespace rxnic {

namespace {

constexpr std::array<std::uint64_t, 6> kPercentiles = {0, 500'000, 900'000, 990'000, 999'000, 1'000'000};  // millionths

// Each value at least the one before it.
std::array<std::uint64_t, 6> rising(std::array<std::uint64_t, 6> values) {
  for (std::size_t i = 1; i < values.size(); ++i) values[i] = std::max(values[i], values[i - 1]);
  return values;
}

}  // namespace

HostLatency::HostLatency(const DmaEngineParams& p, const LinkTime& time)
    : time_(time),
      shape_(p.read_latency),
      read_(time.after_ps({}, p.read_latency_ps)),
      write_(time.after_ps({}, p.write_latency_ps)),
      spread_(p.write_latency_spread_ps),
      percentiles_(rising({p.read_latency_min_ps, p.read_latency_p50_ps, p.read_latency_p90_ps, p.read_latency_p99_ps,
                           p.read_latency_p999_ps, p.read_latency_max_ps})),
      read_state_(splitmix64(p.latency_seed)),
      write_state_(~read_state_) {
  if (shape_ == ReadLatency::kRange) {
    percentiles_.back() = std::max(p.read_latency_min_ps, p.read_latency_max_ps);
  }
}

std::uint64_t HostLatency::drawn(std::uint64_t& state, std::uint64_t greatest) {
  state += kSplitmixStep;
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(splitmix64(state)) * (greatest + 1)) >> 64);
}

std::uint64_t HostLatency::drawn_read() {
  if (shape_ == ReadLatency::kRange) {  // (R2)
    return percentiles_.front() + drawn(read_state_, percentiles_.back() - percentiles_.front());
  }
  const std::uint64_t at = drawn(read_state_, kPercentiles.back());  // (R3)
  std::size_t i = 1;
  while (at > kPercentiles[i]) ++i;
  const std::uint64_t low = percentiles_[i - 1], high = percentiles_[i];
  return low + (high - low) * (at - kPercentiles[i - 1]) / (kPercentiles[i] - kPercentiles[i - 1]);
}

}  // namespace rxnic
