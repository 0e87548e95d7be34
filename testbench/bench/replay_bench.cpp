// SPDX-License-Identifier: Apache-2.0
// The whole receive path under generated traffic, with the default configuration. Rates are per second of wall time:
// packets_per_s, and cycles_per_s of simulated cycles.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "testbench/bench/replay_loads.h"

namespace rxnic {
namespace {

void replay(benchmark::State& state, const Load& load) {
  std::uint64_t cycles = 0;
  std::uint64_t packets = 0;
  std::uint64_t steps = 0;
  std::uint64_t matches = 0;
  std::uint64_t most_waiting = 0;
  TrafficStream traffic(load.traffic, load.packets);
  PreparedStream stream(traffic, load.packets);
  for (auto _ : state) {
    state.PauseTiming();  // building a NIC and its host is not replay
    stream.rewind();
    std::unique_ptr<Simulation> sim = make_simulation(load, traffic, stream);
    state.ResumeTiming();
    sim->run();
    state.PauseTiming();
    const LedgerCounters& ledger = sim->nic.shared.ledger.counters();
    if (ledger.accepted != load.packets) throw std::logic_error("the benchmark's traffic was not accepted");
    packets += ledger.seen;
    cycles += sim->engine.now().count;
    steps += sim->engine.steps();
    matches += sim->nic.tag_match_cam.counters().matches;
    most_waiting = std::max<std::uint64_t>(most_waiting, sim->nic.rx_buffer.counters().high_water_bytes);
    sim.reset();
    state.ResumeTiming();
  }
  using benchmark::Counter;
  state.counters["packets_per_s"] = Counter(static_cast<double>(packets), Counter::kIsRate);
  state.counters["cycles_per_s"] = Counter(static_cast<double>(cycles), Counter::kIsRate);
  state.counters["cycles_per_packet"] = static_cast<double>(cycles) / static_cast<double>(packets);
  state.counters["steps_per_packet"] = static_cast<double>(steps) / static_cast<double>(packets);
  state.counters["most_buffered_bytes"] = static_cast<double>(most_waiting);
  if (matches != 0) state.counters["matched"] = static_cast<double>(matches) / static_cast<double>(packets);
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const NamedLoad& named : named_loads()) {
    benchmark::RegisterBenchmark((std::string("replay/") + named.name).c_str(), replay, named.make())
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace rxnic
