// SPDX-License-Identifier: Apache-2.0
#include "testbench/sim/live_statistics.h"

#include <algorithm>

namespace rxnic {

void LiveStatistics::on_event(Cycle now, const HostEvent& e) {
  if (e.kind == HostEvent::Kind::kOpen) {
    ++clients_;
    const auto known = std::find_if(programs_.begin(), programs_.end(),
                                    [&e](const ProgramResult& p) { return p.name == e.program && p.nic == e.nic; });
    if (known != programs_.end()) {
      ++known->clients;
    } else {
      programs_.push_back({e.program, e.nic, 1});
    }
  } else if (e.kind == HostEvent::Kind::kClose) {
    --clients_;
  }
  if (next_ != nullptr) next_->on_event(now, e);
}

void LiveStatistics::on_read(Cycle now, ClientId client, std::uint64_t address, Bytes data, bool ok) {
  if (next_ != nullptr) next_->on_read(now, client, address, data, ok);
}

void LiveStatistics::on_write(Cycle now, ClientId client, std::uint64_t address, Bytes data, bool ok) {
  if (next_ != nullptr) next_->on_write(now, client, address, data, ok);
}

void LiveStatistics::on_visible(Cycle now, std::uint32_t nic, Cqn cq, WcStatus status, const MessageTimes& times) {
  if (nic < latencies_.size()) {
    latencies_[nic].on_visible(status, times, now);
    if (times.posted.count != 0) one_way_ns_[nic].add((now.count - times.posted.count) * period_ps_ / 1000);
  }
  if (next_ != nullptr) next_->on_visible(now, nic, cq, status, times);
}

}  // namespace rxnic
