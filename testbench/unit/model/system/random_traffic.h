// SPDX-License-Identifier: Apache-2.0
// Random traffic of all opcodes and all error causes through one NIC, and what came of it.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "bridge/rxnic/capture/host_setup.h"
#include "bridge/rxnic/capture/replay_stream.h"
#include "bridge/rxnic/capture/traffic_stream.h"
#include "model/params/config.h"
#include "model/system/simulation.h"

namespace rxnic {

inline TrafficConfig random_traffic(std::uint64_t seed) {
  TrafficConfig t;
  t.seed = seed;
  t.rc_qps = 12;
  t.uc_qps = 3;
  t.ud_qps = 3;
  t.xrc_qps = 3;
  t.spare_qps = 200;
  t.mix = {6, 2, 1, 4, 2, 2, 1, 1, 1};
  t.min_bytes = 8;
  t.max_bytes = 5000;
  t.mtu = 1024;
  t.errors_per_million = 30'000;
  t.encapsulation = seed % 4 == 3   ? Encapsulation::kRoceV1
                    : seed % 4 == 2 ? Encapsulation::kRoceV2Ipv6
                                    : Encapsulation::kRoceV2Ipv4;
  if (t.encapsulation != Encapsulation::kRoceV2Ipv4) {
    t.sender = Address::parse("fe80::1");
    t.receiver = Address::parse("fe80::2");
  }
  return t;
}

struct TrafficOutcome {
  std::uint64_t hash = 0;    // of the engine, every block and the host's memory
  std::uint64_t memory = 0;  // digest of the host's memory alone
  std::uint64_t cycles = 0;
  std::uint64_t steps = 0;
  LedgerCounters ledger;
  std::array<std::uint64_t, kInjectedCauses> injected{};
  std::vector<StageTimes> stages;  // of each stage: all of it, wait, block
};

// A stream whose frames without a fault come decoded.
class DecodedStream final : public StimulusStream {
 public:
  explicit DecodedStream(StimulusStream& from) : from_(from) {}
  bool next(Stimulus& item) override {
    if (!from_.next(item)) return false;
    frame_.link = item.link;
    frame_.wire_bytes = item.wire_bytes;
    frame_.set_bytes(item.bytes);
    const bool good = ReplayStream::has_no_fault(frame_, ReplayStream::unreadable_reason(frame_));
    ++(good ? decoded : left);
    item.headers = good ? &frame_.headers : nullptr;
    return true;
  }

  std::uint64_t decoded = 0, left = 0;

 private:
  StimulusStream& from_;
  CapturedFrame frame_;
};

inline TrafficOutcome run_random_traffic(std::uint64_t seed, std::uint64_t packets, const std::string& config,
                                         EngineMode mode, StepOrder order = {}, bool decoded = false) {
  TrafficStream stream(random_traffic(seed), packets);
  DecodedStream decodes(stream);
  Simulation::Options options;
  options.params = load_config(config);
  Latencies latencies(options.params.nic.clock_period_ps);
  options.latencies = &latencies;
  options.mode = mode;
  options.order = order;
  options.pace = {Pace::Kind::kLineRate, 0};
  Simulation sim(options, decoded ? static_cast<StimulusStream&>(decodes) : stream);
  HostOptions host;
  host.resynchronise = seed % 3 == 0;
  host.receive = seed % 5 == 4 ? ReceiveKind::kSrq : ReceiveKind::kRq;
  host.srq_layout = seed % 10 == 9 ? WqLayout::kCyclic : WqLayout::kLinkedList;
  sim.nic.rx_parser.add_address(random_traffic(seed).receiver);
  set_up(sim, make_host_plan(stream.survey(), host));
  sim.run();
  if (decoded && (decodes.decoded < packets / 2 || decodes.left == 0)) throw std::logic_error("nothing was compared");
  NicResult result;
  latencies.collect(result);
  std::vector<StageTimes> stages;
  for (const StageResult& s : result.stages) stages.insert(stages.end(), {s.stay, s.wait, s.block});
  return {sim.state_hash(),
          sim.memory.digest(),
          sim.engine.now().count,
          sim.engine.steps(),
          sim.nic.shared.ledger.counters(),
          stream.injected(),
          stages};
}

}  // namespace rxnic
