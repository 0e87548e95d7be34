// SPDX-License-Identifier: Apache-2.0
// One NIC, its host and its wire in a kernel of their own: what a replay, a random test and a benchmark have in common.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/nic/nic_setup.h"
#include "model/system/host_model.h"
#include "model/system/kernel.h"
#include "model/system/latencies.h"
#include "model/system/run_region.h"
#include "model/system/run_result.h"
#include "model/system/wire_sink.h"
#include "model/system/wire_source.h"

namespace rxnic {

class Simulation {
 public:
  struct Options {
    Params params;
    EngineMode mode = EngineMode::kFast;
    Pace pace;
    FrameObserver* frames = nullptr;
    CqeObserver* cqes = nullptr;
    Latencies* latencies = nullptr;
    StepOrder order{};
    NicBlocks blocks{};
    RegionRequest region{};
  };
  Simulation(const Options& options, StimulusStream& stimulus);

  // Before run(). Throws std::invalid_argument when the NIC has no room: it names the parameter.
  void create_qp(const QpContext& qp);
  // Registers a region whose page n is at pages[n].
  void create_region(const MptEntry& entry, std::span<const BusAddress> pages) { setup_.create_region(entry, pages); }
  void create_cq(const CqContext& cq, bool armed = false);  // armed: HostModel, R8
  // Gives the queue its id; the host fills it with WQEs (`hold_after`: HostModel::add_queue).
  WqId create_queue(ReceiveRingParams params, const std::vector<std::uint64_t>& hold_after = {});

  // Packets, completions and frames are shown to `observer` instead, which passes packets and frames on.
  template <class Observer>
  void observe(Observer& observer) {
    nic.shared.ledger.set_observer(&observer);
    host.written().set_observer(&observer);
    sink.set_observer(&observer);
  }
  // Until nothing is left to do.
  void run();
  std::uint64_t state_hash();
  // Cycles, packets, blocks, events: what a report says of the model.
  void collect(RunResult& result);

 private:
  Kernel kernel_;

 public:
  LocalMemory memory;
  Engine engine;
  Nic nic;
  WireSource source;
  WireSink sink;
  HostModel host;

 private:
  NicResult count();

  Link<StepDone> ready_;
  NicSetup setup_;
  std::unique_ptr<RunRegion> region_;
};

}  // namespace rxnic
