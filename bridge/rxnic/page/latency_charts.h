// SPDX-License-Identifier: Apache-2.0
// How long messages took, from the events of a run: distributions by stage, opcode and size.
//
//   R1  Stages are those of the report (model/system/latencies.h, R4 and R5), of receives and WRITEs.
//   R2  A distribution is given by the times that so many per cent of the messages do not exceed. It goes from the
//       fastest message to the slowest one, above 99.9 % in steps of a hundredth.
#pragma once

#include <array>
#include <vector>

#include "bridge/rxnic/explain/tables.h"
#include "bridge/rxnic/page/chart.h"

namespace rxnic {

class LatencyCharts {
 public:
  explicit LatencyCharts(std::uint64_t period_ps) : period_ps_(period_ps) {}
  void add(const PacketRow& row);                               // a WRITE ends, or nothing
  void add(const PacketRow* packet, const CompletionRow& row);  // message_join.h
  std::vector<Chart> charts(const TableMaker& tables) const;

 private:
  void add_stages(const PacketRow& row, std::uint64_t visible, Station last);

  std::uint64_t period_ps_;
  std::array<Histogram, kStations> stages_;  // ns, by the station that it ends at
};

}  // namespace rxnic
