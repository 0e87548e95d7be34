// SPDX-License-Identifier: Apache-2.0
// Scatter engine: splits each packet's bytes into pieces, by the scatter list of its receive WQE or the one memory
// range that they go to.
// The decisions are model/core/memory/scatter_plan.
//
//   R1  A packet taken in cycle n has its first looks (core/memory/scatter_plan.h, R7) in cycle n, sges_per_cycle of
//       them in each cycle. The piece that a look finds leaves latency_cycles later. Each piece lies within one page of
//       4,096 bytes and carries the packet's descriptor. A packet that writes nothing leaves as one without bytes, with
//       its last look. The DMA engine cuts pieces at the link's maximum payload size (core/memory/pcie.h).
//   R2  It occupies the engine for max(ceil(bytes moved / bytes_per_cycle), cycles with looks) cycles; the next packet
//       is taken no earlier than after them. The bytes of the GRH area count.
//   R3  The fill level of a WQE is kept by its slot of the WQE store, from the packet that takes the WQE on.
//   R4  A packet behind one of its QP that failed here is squashed. Failed and squashed packets go on in order, without
//       bytes.
//   R5  The pipeline has latency_cycles * sges_per_cycle places, and sges_per_cycle - 1 more so that looks of one cycle
//       are never divided. While fewer than the former are free of pieces that wait for room behind the engine, there
//       are no looks, and no packet is taken.
//   R6  The elements of a cycle's looks are read over `lists`, from the first of them on, sges_per_cycle at once. There
//       is a read in each cycle with looks at elements, and in no other.
#pragma once

#include <vector>

#include "model/blocks/ledger.h"
#include "model/core/memory/scatter_plan.h"
#include "model/engine/behind_rtl.h"
#include "model/engine/delay_line.h"
#include "model/params/params.h"
#include "model/ports/grh_scatter_ports.h"
#include "model/types/packet_stamps.h"
#include "model/types/scatter_list.h"

namespace rxnic {

class GrhScatter final : public GrhScatterPorts, public BehindRtl {
 public:
  GrhScatter(const sc_core::sc_module_name& name, const GrhScatterParams& params, PacketStamps stamps);
  Cycle step(Cycle now) override;
  void hash(StateHash& h) const override;
  void stand_behind(Block&) override {}
  std::uint64_t* counter(std::string_view name) override { return counter_of(counters_, name); }
  const GrhScatterCounters& counters() const override { return counters_; }

 private:
  void take(Cycle now);
  void look(Cycle now);
  void look_once(Cycle now, Cycle cycle);
  void send(Cycle now, Cycle leaves, std::uint32_t n);
  void fill(ScatteredSegment& s, std::uint32_t n) const;
  bool full() const { return pipeline_.size() >= stages_; }  // (R5)
  bool looking() const { return looked_ < work_.looks; }

  GrhScatterParams params_;
  PacketStamps stamps_;
  std::vector<ScatterCursor> cursors_;  // by slot of the WQE store (R3)
  Refusals refused_;
  ScatterJob job_;  // the packet at hand, and its
  PieceList pieces_;
  ScatterWork work_;
  std::uint32_t looked_ = 1;  // looks that were made, of work_.looks
  std::uint32_t sent_ = 0;    // pieces that were found
  Cycle next_look_{};
  const std::uint32_t stages_;
  DelayLine<ScatteredSegment> pipeline_;  // the stages, and the pieces of the last packet
  Cycle last_leaves_{};                   // of segments that were sent at once
  Cycle next_accept_{};
  GrhScatterCounters counters_;
};

}  // namespace rxnic
