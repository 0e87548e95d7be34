// SPDX-License-Identifier: Apache-2.0
// Generated loads for the whole receive path, by name: what replay_bench.cpp times, and scripts/bench --instructions
// counts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "bridge/rxnic/capture/traffic_stream.h"
#include "model/system/simulation.h"
#include "traces/host_options.h"

namespace rxnic {

struct Load {
  TrafficConfig traffic;
  std::uint32_t idle_qps = 0;  // RC, set up behind those of the traffic, which are all RC
  HostOptions host;
  std::uint64_t packets = 1'000'000;
  Pace pace{Pace::Kind::kLineRate, 0};
};
struct NamedLoad {
  const char* name;
  Load (*make)();
};
std::span<const NamedLoad> named_loads();

// A stream of frames made beforehand, so that what is measured is the model.
class PreparedStream final : public StimulusStream {
 public:
  PreparedStream(StimulusStream& from, std::uint64_t packets);
  void rewind() { next_ = 0; }
  bool next(Stimulus& item) override;

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<Stimulus> items_;
  std::size_t next_ = 0;
};

// The NIC and its host for a load whose frames are `stream`'s.
std::unique_ptr<Simulation> make_simulation(const Load& load, const TrafficStream& traffic, PreparedStream& stream);

// One run of the load of this name, of so many packets. Throws std::invalid_argument when there is no such load.
void run_load(std::string_view name, std::uint64_t packets);

}  // namespace rxnic
