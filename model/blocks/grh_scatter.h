// SPDX-License-Identifier: Apache-2.0
// Scatter engine: lays each packet's bytes over the scatter list of its receive WQE, or over the range that it names.
// The decisions are model/core/memory/scatter_plan.
//
//   R1  A packet taken in cycle n is planned in cycle n and leaves in cycle n + latency_cycles.
//   R2  It occupies the engine for max(1, ceil(bytes moved / bytes_per_cycle), ceil(elements looked at /
//       sges_per_cycle)) cycles; the next packet is taken no earlier than after them. The bytes of the GRH area count.
//   R3  How far a WQE is filled is kept by its slot of the WQE store, from the packet that takes the WQE on.
//   R4  A packet behind one of its QP that failed here is squashed. Failed and squashed packets go on in order, without
//       segments.
#pragma once

#include <vector>

#include "model/blocks/ledger.h"
#include "model/core/memory/scatter_plan.h"
#include "model/engine/delay_line.h"
#include "model/engine/link.h"
#include "model/params/params.h"
#include "model/types/grh_scatter_counters.h"

namespace rxnic {

class GrhScatter final : public Block {
 public:
  GrhScatter(const sc_core::sc_module_name& name, const GrhScatterParams& params, NicShared& shared);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  const GrhScatterCounters& counters() const { return counters_; }

  In<PacketHandle> in{"in"};
  Out<PacketHandle> out{"out"};
  Out<Refusal> refusals{"refusals"};

 private:
  void take(Cycle now);
  std::uint32_t cycles_of(const ScatterWork& work) const;

  GrhScatterParams params_;
  NicShared& shared_;
  std::vector<ScatterCursor> cursors_;  // by slot of the WQE store (R3)
  Refusals refused_;
  DelayLine<PacketHandle> pipeline_;  // at most one packet enters a cycle
  Cycle next_accept_{};
  GrhScatterCounters counters_;
};

}  // namespace rxnic
