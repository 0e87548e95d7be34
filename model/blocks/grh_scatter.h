// SPDX-License-Identifier: Apache-2.0
// Scatter engine: splits each packet's bytes into pieces, by the scatter list of its receive WQE or the one memory
// range that they go to.
// The decisions are model/core/memory/scatter_plan.
//
//   R1  A packet taken in cycle n is planned in cycle n; its first piece leaves in cycle n + latency_cycles, then
//       sges_per_cycle pieces in each cycle. Each piece lies within one page and carries the packet's descriptor; a
//       packet that writes nothing leaves as one without bytes.
//   R2  It occupies the engine for max(1, ceil(bytes moved / bytes_per_cycle), ceil(n / sges_per_cycle)) cycles, where
//       n is the number of elements looked at or of pieces, whichever is more; the next packet is taken no earlier than
//       after them. The bytes of the GRH area count.
//   R3  The fill level of a WQE is kept by its slot of the WQE store, from the packet that takes the WQE on.
//   R4  A packet behind one of its QP that failed here is squashed. Failed and squashed packets go on in order, without
//       bytes.
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

  In<ScatterJob> in{"in"};
  Out<ScatteredSegment> out{"out"};
  Out<Refusal> refusals{"refusals"};

 private:
  void take(Cycle now);
  void send(const ScatterJob& p, Cycle now);
  void fill(ScatteredSegment& s, const ScatterJob& p, std::uint32_t n) const;
  std::uint32_t cycles_of(const ScatterWork& work) const;
  bool full() const { return pipeline_.size() >= stages_; }

  GrhScatterParams params_;
  NicShared& shared_;
  std::vector<ScatterCursor> cursors_;  // by slot of the WQE store (R3)
  Refusals refused_;
  PieceList pieces_;  // of the packet at hand
  const std::uint32_t stages_;
  DelayLine<ScatteredSegment> pipeline_;  // the stages, and the pieces of the last packet
  Cycle last_leaves_{};                   // of segments that were sent at once
  Cycle next_accept_{};
  GrhScatterCounters counters_;
};

}  // namespace rxnic
