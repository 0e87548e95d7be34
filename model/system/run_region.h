// SPDX-License-Identifier: Apache-2.0
// The part of a run that its figures are of.
//
//   R1  A region begins with the cycle of `from`, or `warmup` after the first packet that reaches a NIC. It ends before
//       the cycle of `to`, or with the run.
//   R2  Counts are what was counted within it: their values at its end less those at its beginning. The cycles of
//       blocks are those of the region. What is greatest or lowest is of the run up to its end. Counters of blocks may
//       differ by a packet between engine modes: one that skips cycles counts some things sooner.
//   R3  A message counts in latencies when it began and could be seen within the region.
//   R4  The state hash is that of the whole run.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "model/engine/engine.h"
#include "model/system/run_result.h"

namespace rxnic {

struct RegionRequest {
  std::uint64_t from_ps = 0;
  std::uint64_t to_ps = std::numeric_limits<std::uint64_t>::max();
  std::optional<std::uint64_t> warmup_ps;  // after the first packet, instead of from_ps
  bool wanted() const { return from_ps != 0 || to_ps != std::numeric_limits<std::uint64_t>::max() || warmup_ps; }
};

// What has been counted so far: of the NICs in order, and of the fabric between them.
struct RegionCounts {
  std::vector<NicResult> nics;
  std::vector<NamedCount> fabric;
  std::uint64_t arrived = 0;  // frames that have been given to a NIC
};

class RunRegion {
 public:
  using Count = std::function<RegionCounts(Cycle)>;  // before that cycle; the engine has settled
  using Begin = std::function<void(Cycle from, Cycle to)>;
  // Before the simulation starts. `begun` is called when the region begins (R3).
  RunRegion(const RegionRequest& request, Engine& engine, Count count, Begin begun);

  // After the run, whose counts `all` are: those of the region, and in `r` how long it was and what it is. Throws
  // std::invalid_argument: the run was over before it began.
  RegionCounts finish(RegionCounts all, RunResult& r);

 private:
  struct Counted {
    Cycle at;
    RegionCounts counts;
  };
  Cycle at_begin(Cycle now);
  Cycle find_first_packet(Cycle now);
  Cycle at_end(Cycle now);

  RegionRequest request_;
  Engine& engine_;
  Count count_;
  Begin begun_;
  std::optional<Cycle> first_packet_;
  std::optional<Counted> last_;  // while no packet has come: in the last active cycle
  std::optional<RegionCounts> at_begin_, at_end_;
  std::optional<Cycle> from_;
  Cycle to_;  // kNever: the run's
};

}  // namespace rxnic
