// SPDX-License-Identifier: Apache-2.0
// Generated traffic through one NIC and the host that it needs, without errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bridge/rxnic/capture/host_setup.h"
#include "bridge/rxnic/capture/traffic_stream.h"
#include "model/params/config.h"
#include "model/system/simulation.h"

namespace rxnic {

class TrafficRun {
 public:
  TrafficRun(const TrafficConfig& config, std::uint64_t packets, const std::vector<std::string>& overrides = {},
             const Pace& pace = {Pace::Kind::kLineRate, 0}, const std::string& host = "",
             std::string_view nic = kDefaultConfig)
      : traffic_(config, packets),
        params_(load_config(nic, overrides)),
        latencies(params_.nic.clock_period_ps),
        sim({.params = params_, .pace = pace, .latencies = &latencies}, traffic_) {
    set_up(sim, make_host_plan(traffic_.survey(), parse_host_options(host)));
    sim.run();
  }
  const LedgerCounters& packets() const { return sim.nic.shared.ledger.counters(); }

 private:
  TrafficStream traffic_;
  Params params_;

 public:
  Latencies latencies;
  Simulation sim;
};

}  // namespace rxnic
