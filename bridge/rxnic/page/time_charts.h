// SPDX-License-Identifier: Apache-2.0
// What happened over time, from the events of a run.
//
//   R1  Time is cut into at most 500 parts, from the first packet's arrival to the end of the run. When events
//       are kept of a part of the run, it is that part.
//   R2  The payload of a packet that was carried out counts when it arrived, a frame's when the frame had left.
//   R3  An occupancy is the mean number of packets in front of a block, or in it: their cycles there by those of the
//       part.
//   R4  Counters are sampled every 4096 cycles, so parts of their charts are multiples of that.
#pragma once

#include <memory>
#include <vector>

#include "bridge/rxnic/explain/packet_life.h"
#include "bridge/rxnic/page/chart.h"
#include "bridge/rxnic/page/time_bins.h"

namespace rxnic {

class TimeCharts {
 public:
  // `cycles`: of the whole run. `nics`: those that get charts of their own.
  TimeCharts(RunEvents& events, std::uint64_t cycles, std::vector<std::uint32_t> nics);
  ~TimeCharts();
  // `stays`: stays_of(row).
  void add(const PacketRow& row, const std::vector<StationStay>& stays);
  void add(const FrameRow& row);
  void add(const ActivityRow& row);
  void add(const CounterRow& row);
  // After the last row.
  std::vector<Chart> charts();

 private:
  struct OfNic;
  struct OfBlock;
  OfNic* nic(std::uint64_t n);
  std::vector<double> times(const TimeGrid& grid) const;
  Chart chart(const char* id, const char* title, const char* about, Axis y, const TimeGrid& grid) const;
  void add_charts(std::vector<Chart>& all, std::uint32_t n, OfNic& of);

  RunEvents& events_;
  std::vector<std::uint32_t> chosen_;
  TimeGrid grid_, slow_grid_;
  std::vector<std::unique_ptr<OfNic>> nics_;  // by number; null: has no charts
  std::vector<std::unique_ptr<OfBlock>> blocks_;
  std::vector<TimeBins*> counters_;  // by number; null: in no chart
  std::vector<std::uint64_t> counter_values_;
};

}  // namespace rxnic
