// SPDX-License-Identifier: Apache-2.0
// What a row of a table is counted from, while a run goes on or from its events.
#pragma once

#include <array>
#include <cstdint>

#include "model/system/table_rows.h"
#include "model/types/packet.h"

namespace rxnic {

using StationWaits = std::array<std::uint64_t, kStations>;  // cycles of waits, by the block behind

struct TableCounts : RowCounts {
  std::uint64_t first = ~std::uint64_t{0}, last = 0;  // cycles: a packet arrived first, one left last
  std::uint64_t longest_pause = 0;                    // cycles
  std::uint64_t cycles = 0;                           // from their arrival until they left: all packets
  std::uint64_t wait_cycles = 0;                      // of these cycles, in front of blocks

  void count_nak(std::uint8_t syndrome);
  // A QP counts what happens to it besides its packets.
  void count(const QpEvent& event);
  void add(const TableCounts& other);
};

// Without latencies. `waits`: the wait_cycles, when they are known by block.
TableFigures figures_of(const TableCounts& counts, const StationWaits* waits, std::uint64_t period_ps);

template <class H>
TableFigures figures_of(const TableCounts& counts, const StationWaits* waits, const H& latency_ns,
                        std::uint64_t period_ps) {
  TableFigures f = figures_of(counts, waits, period_ps);
  f.latency_count = latency_ns.count();
  f.p50_ns = latency_ns.percentile(0.5);
  f.p99_ns = latency_ns.percentile(0.99);
  f.max_ns = latency_ns.max();
  return f;
}

}  // namespace rxnic
