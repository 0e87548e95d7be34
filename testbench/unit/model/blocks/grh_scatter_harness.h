// SPDX-License-Identifier: Apache-2.0
// The scatter engine with a source or a sink at each of its ports.
#pragma once

#include "model/blocks/grh_scatter.h"
#include "testbench/unit/model/blocks/block_harness.h"

namespace rxnic {

// The places of the links at the ports.
struct GrhScatterLinks {
  std::uint32_t in = 8, out = 8;
};

struct GrhScatterHarness : BlockHarness<GrhScatter, GrhScatterPorts> {
  explicit GrhScatterHarness(Bench& b, const Params& params = {}, const GrhScatterLinks& links = {})
      : BlockHarness(b, &NicBlocks::grh_scatter, params, "grh_scatter"),
        in(b.source(dut.in, links.in)),
        out(b.sink(dut.out, links.out)),
        refusals(b.sink(dut.refusals)) {
    dut.lists.bind(shared.wqes);
  }
  Source<ScatterJob>& in;
  Sink<ScatteredSegment>& out;
  Sink<Refusal>& refusals;
};

}  // namespace rxnic
