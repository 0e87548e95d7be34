// SPDX-License-Identifier: Apache-2.0
// Counts what leaves the receive path of one NIC, for the report.
#pragma once

#include "model/blocks/ledger.h"
#include "testbench/sim/histogram.h"
#include "testbench/sim/run_result.h"

namespace rxnic {

inline LatencyResult latency_result(const Histogram& h) {
  return {h.count(), h.percentile(0.5), h.percentile(0.9), h.percentile(0.99), h.percentile(0.999), h.max()};
}

class Retired final : public PacketObserver {
 public:
  explicit Retired(std::uint64_t period_ps) : period_ps_(period_ps) {}
  void on_retire(const AckRequest& p, const Packet& buffer, Cycle) override {
    if (p.drop_reason != DropReason::kNone) return;
    const bool executed = p.outcome == Outcome::kExecute;
    if (executed || p.outcome == Outcome::kAnswer) bytes += p.has(kRead) ? p.local_bytes : p.payload_bytes;
    if (!executed || !p.ends_message) return;
    ++messages;
    const std::uint64_t cycles = buffer.stamped(Station::kCqeGenerator).count - p.message_start;
    latency_ns.add(cycles * period_ps_ / 1000);
  }
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  Histogram latency_ns;

 private:
  std::uint64_t period_ps_;
};

}  // namespace rxnic
