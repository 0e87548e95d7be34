// SPDX-License-Identifier: Apache-2.0
// N NICs on a fabric and the programs that drive them, in a kernel of their own. Live runs and their replays have this
// simulation in common. The Programs and the ProgramMemory decide whether the programs are live or recorded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "bridge/driver/nic_memory.h"
#include "bridge/driver/programs_bridge.h"
#include "bridge/rtl/nic_rtl.h"
#include "bridge/rxnic/events/event_recorder.h"
#include "bridge/rxnic/fabric/counter_files.h"
#include "bridge/rxnic/fabric/live_statistics.h"
#include "bridge/rxnic/output/status_line.h"
#include "model/engine/engine.h"
#include "model/nic/fabric.h"
#include "model/nic/nic.h"
#include "model/system/kernel.h"
#include "model/system/nic_waves.h"
#include "model/system/run_region.h"
#include "model/system/run_result.h"

namespace rxnic {

class FabricSimulation {
 public:
  struct Options {
    Params params;
    EngineMode mode = EngineMode::kFast;
    std::uint32_t nics = 1;
    NicAddresses addresses{};
    ProgramObserver* host = nullptr;
    FabricObserver* frames = nullptr;
    StepOrder order{};
    NicRtl* rtl = nullptr;  // beside the NICs' blocks or in their place
    RegionRequest region{};
  };
  FabricSimulation(const Options& options, Programs& programs, ProgramMemory& memory);
  ~FabricSimulation();

  // Waves of all NICs, before run(); nullptr when none are wanted. They need kPerCycle.
  std::unique_ptr<NicWaves> make_waves(const WavesRequest& request);
  // The events of all NICs, before run(); nullptr when none are wanted. `about`: what was run, for their description.
  std::unique_ptr<EventRecorder> record_events(const EventRequest& request, const RunResult& about);
  // Before run(): the NICs' counters as files in `files`, the folder of the device files. Throws std::runtime_error;
  // the NIC whose files cannot be made has none then, and those behind it.
  void show_counters(const std::filesystem::path& files);
  // Brings them up to date; or only when a program reads them.
  void publish_counters() { memory_.publish(); }
  void publish_counters_if_read() { memory_.publish_if_read(); }
  // Until the programs say that the run is over, or stop().
  void run();
  void stop() { engine.stop(); }
  Cycle now() const { return engine.now(); }
  std::uint64_t cqes() const;  // written so far
  LiveFigures figures() const;
  // Everything of a report but what was run.
  void collect(RunResult& result);

 private:
  Kernel kernel_;

 public:
  Engine engine;

 private:
  RegionCounts count();
  struct Station;  // a NIC and what belongs to it
  LiveStatistics statistics_;
  CountedMemory memory_;
  std::vector<std::unique_ptr<Station>> stations_;
  SentBytes sent_;
  FabricObserver* frames_;  // besides the events' (EventFrames)
  Fabric fabric_;
  std::unique_ptr<FabricObserver> event_frames_;
  std::unique_ptr<RunRegion> region_;
  ProgramsBridge bridge_;
};

}  // namespace rxnic
